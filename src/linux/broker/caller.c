/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the caller's memory, descriptors, working directory and /proc/PID/status.
 *
 * Should:   copy each argument once (K2), and check afterwards that the caller still waits, if
 *           its pid may be that of a process outside the run by now (is_of_run()).
 * Must not: read more than the call needs, or trust a pid that may have been reused.
 * Fails:    closed: a call with arguments that cannot be read is refused. */
#include "linux/broker/call.h"

#include "base/auto.h"
#include "base/interrupt_timer.h"
#include "base/str.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

/* A string is read up to a page boundary: the next page may not be mapped. */
#define PAGE ((uint64_t)4096)

#define PIDFD_THREAD_ ((unsigned)O_EXCL) /* Linux 6.9 */

void caller_text_add(struct text *t, const char *s) {
	while (*s != '\0' && t->len < sizeof t->s - 1) {
		t->s[t->len++] = *s++;
	}
	t->s[t->len] = '\0';
}

void caller_text_number(struct text *t, uint64_t n) {
	char digits[24];
	size_t at = sizeof digits - 1;

	digits[at] = '\0';
	do {
		digits[--at] = (char)('0' + n % 10);
		n /= 10;
	} while (n > 0);
	caller_text_add(t, digits + at);
}

struct text caller_fd_path(int fd) {
	struct text t = {.len = 0};

	caller_text_add(&t, "/proc/self/fd/");
	caller_text_number(&t, (uint64_t)fd);
	return t;
}

/* The number after "Pid:" is that of the procfs, not that of the process that reads it. */
static long entry_of(const struct call *c) {
	struct text path = {.len = 0};
	auto_fd thread = (int)syscall(SYS_pidfd_open, c->tid, PIDFD_THREAD_);

	if (thread < 0) {
		return -1;
	}
	caller_text_add(&path, "self/fdinfo/");
	caller_text_number(&path, (uint64_t)thread);
	return caller_number(c, path.s, "Pid:", 10);
}

pid_t caller_entry(const struct call *c) {
	struct proc_entry *kept = &c->b->entry;

	if (!c->b->plan->shares_proc) {
		return c->tid;
	}
	if (kept->id != c->id || kept->tid != c->tid) {
		*kept = (struct proc_entry){.id = c->id, .tid = c->tid, .pid = entry_of(c)};
	}
	return kept->pid <= 0 ? 0 : (pid_t)kept->pid;
}

bool caller_waits(const struct call *c) {
	uint64_t id = c->id;

	return call_ioctl(c->b, SECCOMP_IOCTL_NOTIF_ID_VALID, &id) == 0;
}

/* Whether data that was read by the caller's pid is data of this run.
 *
 * A caller that was killed leaves its pid to another process.  In the run's own pid namespace that
 * is a process of the run: the path is checked by the same rules, that process could have made the
 * call itself, and no process gets the answer, which names the notification.  It is none of the
 * guard's helpers either, because the guard forks none between receiving the call and here.  So
 * SECCOMP_IOCTL_NOTIF_ID_VALID would decide nothing, and a caller can be killed right after it as
 * well.  Without a pid namespace, or with the procfs of the one above, it may be a process of the
 * host. */
static bool is_of_run(const struct call *c) {
	return (c->b->quick && !c->b->plan->shares_proc) || caller_waits(c);
}

/* The caller's errno when process_vm_readv() or /proc failed with `error`. */
static int read_error(int error) {
	switch (error) {
	case EFAULT:
	case ESRCH:
	case EMFILE:
	case ENFILE:
	case ENOMEM:
		return -error;
	default:
		return -EPERM; /* not dumpable, or Yama or another LSM forbids it */
	}
}

/* Opens /proc/TID/mem, after the calls for the memory of a process failed: older seccomp profiles
 * of containers refuse these.  The kernel makes the same check of the caller for both.  -1 with
 * errno: `refused` where it cannot be opened either. */
static int open_memory(const struct call *c, int refused, int flags) {
	struct text path = {.len = 0};

	if (refused != EPERM && refused != ENOSYS) {
		errno = refused;
		return -1;
	}
	caller_text_number(&path, (uint64_t)caller_entry(c));
	caller_text_add(&path, "/mem");
	int fd = openat(c->b->proc, path.s, flags | O_CLOEXEC);
	if (fd < 0) {
		errno = refused;
	}
	return fd;
}

static ssize_t copy_some(const struct call *c, uint64_t address, void *out, size_t len) {
	struct iovec to = {out, len};
	uint64_t from[] = {address, len}; /* struct iovec, with the caller's address */
	ssize_t n = syscall(SYS_process_vm_readv, c->tid, &to, 1UL, from, 1UL, 0UL);

	if (n >= 0) {
		return n;
	}
	auto_fd fd = open_memory(c, errno, O_RDONLY);
	if (fd >= 0) {
		n = pread(fd, out, len, (off_t)address);
		errno = n < 0 && errno == EIO ? EFAULT : errno;
	}
	return n;
}

int caller_bytes(const struct call *c, uint64_t address, void *out, size_t len) {
	if (len == 0) {
		return 0;
	}
	ssize_t n = copy_some(c, address, out, len);
	if (n < 0) {
		return read_error(errno);
	}
	if ((size_t)n != len) {
		return -EFAULT;
	}
	return is_of_run(c) ? 0 : -ESRCH;
}

int caller_write(const struct call *c, uint64_t address, const void *data, size_t len) {
	/* Each a struct iovec, whose iov_base is neither const nor an address of the caller. */
	const uint64_t local[2] = {(uintptr_t)data, len}, remote[2] = {address, len};

	if (!caller_waits(c)) {
		return -ESRCH;
	}
	long n = syscall(SYS_process_vm_writev, c->tid, local, 1UL, remote, 1UL, 0UL);
	auto_fd fd = n >= 0 ? -1 : open_memory(c, errno, O_WRONLY);
	if (fd >= 0) {
		n = pwrite(fd, data, len, (off_t)address);
		errno = n < 0 && errno == EIO ? EFAULT : errno;
	}
	return n == (long)len ? 0 : (n < 0 ? read_error(errno) : -EFAULT);
}

/* Whether the string ends here.  Overwrites the bytes after it: they are the caller's, and in a new
 * program its environment follows the arguments. */
static bool has_nul(char *s, size_t len) {
	for (size_t i = 0; i < len; i++) {
		if (s[i] == '\0') {
			memset(s + i, 0, len - i);
			return true;
		}
	}
	return false;
}

int caller_copy(const struct call *c, uint64_t address, char *out, size_t cap) {
	for (size_t len = 0; len < cap;) {
		size_t want = (size_t)(PAGE - (address + len) % PAGE);

		want = want < cap - len ? want : cap - len;
		ssize_t n = copy_some(c, address + len, out + len, want);
		if (n < 0) {
			return read_error(errno);
		}
		if (n == 0) {
			return -EFAULT;
		}
		if (has_nul(out + len, (size_t)n)) {
			return 0;
		}
		len += (size_t)n;
	}
	return -ENAMETOOLONG;
}

int caller_string(const struct call *c, uint64_t address, char *out, size_t cap) {
	int r = caller_copy(c, address, out, cap);

	return r == 0 && !is_of_run(c) ? -ESRCH : r;
}

int caller_path(const struct call *c, uint64_t address, char out[PATH_MAX]) {
	int r = caller_copy(c, address, out, PATH_MAX);

	return r == 0 && out[0] == '/' && !is_of_run(c) ? -ESRCH : r;
}

int caller_strings(const struct call *c, const uint64_t address[2], char *first, char *second) {
	char *const out[2] = {first, second};
	struct iovec to[2];
	uint64_t from[2][2]; /* struct iovec, with the caller's address */

	for (int i = 0; i < 2; i++) {
		size_t len = (size_t)(PAGE - address[i] % PAGE);
		to[i] = (struct iovec){out[i], len};
		from[i][0] = address[i];
		from[i][1] = len;
	}
	/* At once, if both end before their page does.  Otherwise this copy is not used (K2). */
	if (syscall(SYS_process_vm_readv, c->tid, to, 2UL, from, 2UL, 0UL) ==
		    (long)(to[0].iov_len + to[1].iov_len) &&
	    has_nul(first, to[0].iov_len) && has_nul(second, to[1].iov_len)) {
		return is_of_run(c) ? 0 : -ESRCH;
	}
	int r = caller_copy(c, address[0], first, PATH_MAX);
	return r != 0 ? r : caller_string(c, address[1], second, PATH_MAX);
}

int caller_fd(const struct call *c, int fd) {
	struct text path = {.len = 0};

	caller_text_number(&path, (uint64_t)caller_entry(c));
	if (fd == AT_FDCWD) {
		caller_text_add(&path, "/cwd");
	} else if (fd < 0) {
		return -EBADF;
	} else {
		caller_text_add(&path, "/fd/");
		caller_text_number(&path, (uint64_t)fd);
	}
	auto_fd got = openat(c->b->proc, path.s, O_PATH | O_CLOEXEC);
	if (got < 0) {
		return errno == ENOENT && fd >= 0 ? -EBADF : read_error(errno);
	}
	return is_of_run(c) ? take_fd(&got) : -ESRCH;
}

/* A pidfd for the process of the calling thread, where the kernel lacks PIDFD_THREAD: threads share
 * their descriptor table unless they called unshare(CLONE_FILES). */
static int caller_pidfd(const struct call *c) {
	int fd = (int)syscall(SYS_pidfd_open, c->tid, 0U);

	if (fd < 0 && (errno == EINVAL || errno == ENOENT)) {
		long process = caller_status(c, c->tid, "Tgid:", 10);

		if (process < 0) {
			return (int)process;
		}
		fd = (int)syscall(SYS_pidfd_open, (pid_t)process, 0U);
	}
	return fd < 0 ? read_error(errno) : fd;
}

void caller_wait_limit(struct wait_limit *l) {
	static bool handled; /* the disposition stays */

	if (!handled) {
		interrupt_timer_handle();
		handled = true;
	}
	interrupt_timer_unblock(&l->before);
	interrupt_timer_start();
}

void caller_wait_unlimited(const struct wait_limit *l) {
	interrupt_timer_stop();
	signal_mask(SIG_SETMASK, &l->before, NULL);
}

void caller_give_back(const int *fd) {
	struct wait_limit timer;

	if (*fd < 0) {
		return;
	}
	caller_wait_limit(&timer);
	(void)close(*fd); /* an error cannot be handled */
	caller_wait_unlimited(&timer);
}

/* Duplicates the descriptor by a kept pidfd: a program connects many sockets, often in one thread.
 * A thread pidfd only: a tid may be reused by a thread of another process, while the process of
 * the one before still runs.  A pidfd of a thread that has ended takes nothing. */
static int take_again(const struct call *c, int fd) {
	const struct kept_pidfd *kept = &c->b->pidfds[(unsigned)c->tid % BROKER_PIDFDS];

	return kept->tid == c->tid ? (int)syscall(SYS_pidfd_getfd, kept->fd, fd, 0U) : -1;
}

static void keep_pidfd(const struct call *c, int process) {
	struct kept_pidfd *kept = &c->b->pidfds[(unsigned)c->tid % BROKER_PIDFDS];

	if (kept->tid != 0) {
		drop_fd(&kept->fd);
	}
	*kept = (struct kept_pidfd){.tid = c->tid, .fd = process};
}

static int take_now(const struct call *c, int fd) {
	int process = (int)syscall(SYS_pidfd_open, c->tid, PIDFD_THREAD_);

	if (process >= 0) {
		keep_pidfd(c, process);
		return take_again(c, fd);
	}
	auto_fd other = caller_pidfd(c);
	if (other < 0) {
		errno = -other;
		return -1;
	}
	return (int)syscall(SYS_pidfd_getfd, other, fd, 0U);
}

int caller_take_fd(const struct call *c, int fd) {
	auto_taken got = take_again(c, fd);

	if (got < 0) {
		got = take_now(c, fd);
	}
	if (got < 0) {
		return errno == EBADF ? -EBADF : read_error(errno);
	}
	return caller_waits(c) ? take_fd(&got) : -ESRCH;
}

long caller_status_number(const char *text, const char *field, unsigned base) {
	size_t len = strlen(field);
	const char *at = text;

	while (strncmp(at, field, len) != 0) {
		at += strcspn(at, "\n");
		if (*at == '\0') {
			return -1;
		}
		at++;
	}
	at += len;
	while (*at == ' ' || *at == '\t') {
		at++;
	}
	if (*at == '-') {
		return 0; /* -1: the process has ended */
	}
	if (*at < '0' || *at > '9') {
		return -1;
	}
	long value = 0;
	for (; *at >= '0' && *at <= '9' && value < INT_MAX; at++) {
		value = value * (long)base + (*at - '0');
	}
	return value;
}

long caller_number(const struct call *c, const char *path, const char *field, unsigned base) {
	char text[1024]; /* the fields that we need are in the first lines */
	auto_fd fd = openat(c->b->proc, path, O_RDONLY | O_CLOEXEC);

	if (fd < 0) {
		return errno == ENOENT ? -ENOENT : read_error(errno);
	}
	ssize_t n = read(fd, text, sizeof text - 1);
	if (n < 0) {
		return -ENOENT; /* the process ended since open */
	}
	text[n] = '\0';
	long value = caller_status_number(text, field, base);
	return value < 0 ? -ENODATA : value;
}

long caller_status(const struct call *c, pid_t pid, const char *field, unsigned base) {
	struct text path = {.len = 0};

	caller_text_number(&path, (uint64_t)pid);
	caller_text_add(&path, "/status");
	long value = caller_number(c, path.s, field, base);
	return value == -ENOENT || value == -ENODATA ? -ESRCH : value;
}
