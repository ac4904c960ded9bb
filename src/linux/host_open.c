/* SPDX-License-Identifier: Apache-2.0 */
/* Opens a file of the host, for `--ask`, so that its descriptor gives no more than the open.
 *
 * With a mount namespace the descriptor must not be on a mount of the host: a process could reopen
 * it for writing through /proc/self/fd, or change the mode of a file that it may only read.  So a
 * short-lived helper copies the host's mounts into a namespace of its own, owned by the sandbox's
 * user namespace, clones the one file as a detached mount, read-only for a file that is read, and
 * opens it there.  Without namespaces the supervisor opens the file itself: there Landlock refuses
 * to reopen it, and the broker checks changes of mode, owner and attributes.
 *
 * Should:   open exactly the file that `held` refers to, with the rights of the caller's user and
 *           without capabilities.
 * Must not: follow a symlink, wait for a lease or the other end of a FIFO, open anything but a
 *           regular file; run code of libc in the helper beyond system calls.
 * Fails:    closed: the file is not opened. */
#include "backend/host_open.h"

#include "base/auto.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/fdpass.h"
#include "base/signal_mask.h"
#include "linux/kernel_api.h"
#include "linux/mount_api.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#define NS_GET_USERNS _IO(0xb7, 1)

/* A helper takes about a millisecond; a file system may take longer. */
#define HELPER_MS 5000

/* Flags of the caller that an open of a regular file keeps. */
#define KEPT_FLAGS                                                                                 \
	(O_ACCMODE | O_APPEND | O_TRUNC | O_SYNC | O_DSYNC | O_NOATIME | O_LARGEFILE | O_DIRECT)

static bool writes(int flags) {
	return (flags & O_ACCMODE) != O_RDONLY || (flags & O_TRUNC) != 0;
}

/* "/proc/self/fd/N", by system calls only. */
static void link_of(int fd, char out[32]) {
	char digits[12];
	size_t n = 0, len = sizeof "/proc/self/fd/" - 1;

	memcpy(out, "/proc/self/fd/", len);
	do {
		digits[n++] = (char)('0' + fd % 10);
	} while ((fd /= 10) > 0);
	while (n > 0) {
		out[len++] = digits[--n];
	}
	out[len] = '\0';
}

static bool same_file(int a, int b) {
	struct stat x, y;

	return fstat(a, &x) == 0 && fstat(b, &y) == 0 && x.st_dev == y.st_dev &&
	       x.st_ino == y.st_ino;
}

/* at: the file, or the directory of a new one.  O_NONBLOCK: neither a lease nor a FIFO blocks us,
 * and for a regular file it means nothing else; the caller's own flags are set afterwards. */
static int open_at(const struct host_open *o, int at) {
	char path[32];
	struct stat st;
	int flags = (o->flags & KEPT_FLAGS) | O_NONBLOCK | O_NOCTTY;

	link_of(at, path);
	auto_fd fd =
		o->name != NULL
			? openat(at, o->name,
				 (flags & ~O_TRUNC) | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
				 o->mode)
			: open(path, flags | O_CLOEXEC);
	if (fd < 0) {
		return -errno;
	}
	if (fstat(fd, &st) != 0 || !(S_ISREG(st.st_mode) || S_ISDIR(st.st_mode)) ||
	    (o->name == NULL && !same_file(fd, o->held))) {
		return -ESTALE;
	}
	if ((o->flags & O_NONBLOCK) == 0 && fcntl(fd, F_SETFL, o->flags & KEPT_FLAGS) != 0) {
		return -errno;
	}
	return take_fd(&fd);
}

/* ---- the helper: system calls only, it is a copy of a program that may have threads ---- */

static int drop_capabilities(void) {
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {0};

	return (int)syscall(SYS_capset, &head, none);
}

static int open_detached(const struct host_open *o) {
	uint64_t attributes = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV |
			      (o->noexec ? MOUNT_ATTR_NOEXEC : 0) |
			      (o->name != NULL || writes(o->flags) ? 0 : MOUNT_ATTR_RDONLY);
	auto_fd user = (int)syscall(SYS_ioctl, o->view, NS_GET_USERNS);

	if (user < 0 || syscall(SYS_setns, user, CLONE_NEWUSER) != 0 ||
	    syscall(SYS_unshare, CLONE_NEWNS) != 0) {
		return -errno;
	}
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* after setns(2): new credentials clear it */
	auto_fd here =
		sys_openat2(AT_FDCWD, o->real, O_PATH, RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS);
	if (here < 0 || !same_file(here, o->held)) {
		return -ESTALE;
	}
	auto_fd tree = mount_tree_clone(here, attributes);
	if (tree < 0 || drop_capabilities() != 0) {
		return -errno;
	}
	(void)umask(0); /* the mode has the caller's umask already */
	return open_at(o, tree);
}

static _Noreturn void help(const struct host_open *o, int line) {
	const int kept[] = {o->view, o->held, line};

	fd_close_all_but(kept, ARRAY_LEN(kept));
	int got = open_detached(o);
	int error = got < 0 ? -got : 0;
	struct iovec body = {.iov_base = &error, .iov_len = sizeof error};
	(void)fdpass_send(line, body, &got, got >= 0 ? 1 : 0, 0); /* or the supervisor is gone */
	_exit(0);
}

/* ---- the supervisor ---- */

static int receive(int line) {
	struct pollfd slot = {.fd = line, .events = POLLIN};
	int64_t until = clock_ms() + HELPER_MS;
	int error = EIO, fds[FDPASS_MAX];
	struct iovec body = {.iov_base = &error, .iov_len = sizeof error};
	size_t n = 0;

	for (int64_t left = HELPER_MS; left > 0; left = until - clock_ms()) {
		int ready = poll(&slot, 1, (int)left);
		if (ready > 0 || (ready < 0 && errno != EINTR)) {
			break;
		}
	}
	int r = fdpass_receive(line, body, fds, &n);
	while (n > 1) {
		drop_fd(&fds[--n]);
	}
	return r != 0 ? -EIO : n == 1 ? fds[0] : -(error == 0 ? EIO : error);
}

/* Without an exit signal: the caller's own wait(2) never returns it. */
static int open_by_helper(const struct host_open *o) {
	int pair[2], pidfd = -1;
	sigset_t all, before;
	siginfo_t info;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0) {
		return -errno;
	}
	auto_fd line = pair[0], theirs = pair[1];
	sigfillset(&all);
	signal_mask(SIG_SETMASK, &all, &before); /* no handler runs in the copy */
	long pid = syscall(SYS_clone, CLONE_PIDFD, NULL, &pidfd, NULL, NULL);
	if (pid == 0) {
		help(o, theirs);
	}
	signal_mask(SIG_SETMASK, &before, NULL);
	if (pid < 0) {
		return -EAGAIN;
	}
	drop_fd(&theirs);
	int got = receive(line);
	(void)syscall(SYS_pidfd_send_signal, pidfd, SIGKILL, NULL, 0); /* usually it has exited */
	while (syscall(SYS_waitid, WAIT_PIDFD, pidfd, &info, WEXITED | __WALL, NULL) != 0 &&
	       errno == EINTR) {
	}
	drop_fd(&pidfd);
	return got;
}

int host_hold(const char *path, int flags) {
	return sys_openat2(AT_FDCWD, path, (uint64_t)(O_PATH | flags), RESOLVE_NO_MAGICLINKS);
}

bool host_has_rights(int held, int rights) {
	char path[32];

	link_of(held, path);
	return faccessat(AT_FDCWD, path, rights, AT_EACCESS) == 0;
}

int host_open(const struct host_open *o) {
	if (o->view >= 0) {
		return open_by_helper(o);
	}
	auto_fd got = open_at(o, o->held);
	/* The supervisor's own umask may have removed bits that the caller's would not. */
	if (got >= 0 && o->name != NULL && fchmod(got, o->mode) != 0) {
		return -errno;
	}
	return take_fd(&got);
}
