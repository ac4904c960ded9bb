/* SPDX-License-Identifier: Apache-2.0 */
/* The acts of `corral test` that need privileges or reach other processes: mount, create a user
 * namespace, make or open a device, set and use set-user-id bits, trace, read memory.
 *
 * Should:   make each attempt with the means of the caller outside: a mount, for one, in namespaces
 *           of its own, if it can create them.
 * Must not: change a mount of the host where it can create namespaces, read a device, or write to
 *           the memory of a process.
 * Fails:    as cli/probe.c does: the errno of the first call that failed. */
#include "cli/probe.h"

#include "base/auto.h"
#include "base/fd.h"
#include "data/acts.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/mount.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

/* Enough for the arguments of the sleeping process, at whose beginning the check points. */
#define MEMORY_MAX 256

/* An ordinary user may mount only in a user namespace of its own.  Without any new namespace the
 * attempt is made all the same, and the check removes a mount that it finds on the host. */
static void enter_namespaces(void) {
	if (unshare(CLONE_NEWUSER | CLONE_NEWNS) == 0 || unshare(CLONE_NEWNS) == 0) {
		/* If it fails, the mount that follows fails, too. */
		(void)syscall(SYS_mount, NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL);
	}
}

int act_mount(char **words) {
	enter_namespaces();
	if (syscall(SYS_mount, words[1], words[0], "tmpfs", MS_NOSUID | MS_NODEV, "size=4k") != 0) {
		return -1;
	}
	return probe_print_file("/proc/self/mountinfo");
}

int act_fsmount(char **words) {
	enter_namespaces();
	auto_fd context = (int)syscall(SYS_fsopen, "tmpfs", FSOPEN_CLOEXEC);
	if (context < 0 ||
	    syscall(SYS_fsconfig, context, FSCONFIG_SET_STRING, "source", words[1], 0) != 0 ||
	    syscall(SYS_fsconfig, context, FSCONFIG_CMD_CREATE, NULL, NULL, 0) != 0) {
		return -1;
	}
	auto_fd tree = (int)syscall(SYS_fsmount, context, FSMOUNT_CLOEXEC, MOUNT_ATTR_NODEV);
	if (tree < 0 ||
	    syscall(SYS_move_mount, tree, "", AT_FDCWD, words[0], MOVE_MOUNT_F_EMPTY_PATH) != 0) {
		return -1;
	}
	return probe_print_file("/proc/self/mountinfo");
}

/* The number of this process's user namespace; 0 when it cannot be read. */
static ino_t user_namespace(void) {
	struct stat st;
	return stat("/proc/self/ns/user", &st) == 0 ? st.st_ino : 0;
}

/* Without /proc the kernel's word for the call counts. */
static int print_if_new(ino_t before) {
	if (before != 0 && user_namespace() == before) {
		errno = EPERM;
		return -1;
	}
	return probe_print(PROBE_GAINED);
}

/* The other way to a user namespace: a child that starts in one. */
static int clone_userns(ino_t before) {
	int status = 0;
	long child = syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0);

	if (child == 0) {
		_exit(print_if_new(before) == 0 ? 0 : 1);
	}
	while (child > 0 && waitpid((pid_t)child, &status, 0) < 0 && errno == EINTR) {
	}
	if (child > 0 && status != 0) {
		errno = EPERM;
	}
	return child > 0 && status == 0 ? 0 : -1;
}

int act_userns(char **words) {
	ino_t before = user_namespace();
	(void)words;
	return unshare(CLONE_NEWUSER) == 0 ? print_if_new(before) : clone_userns(before);
}

int act_node(char **words) {
	return mknod(words[0], S_IFBLK | 0600, makedev(1, 0)); /* the first RAM disk */
}

int act_device(char **words) {
	struct stat st;
	auto_fd fd = open(words[0], O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) != 0) {
		return -1;
	}
	return S_ISBLK(st.st_mode) || S_ISCHR(st.st_mode) ? probe_print(PROBE_GAINED) : 0;
}

int act_set_id(char **words) {
	return chmod(words[0], S_ISUID | 0700);
}

int act_execute(char **words) {
	char word[] = PROBE_WORD, act[] = ACT_IDENTITY;
	return execv(words[0], (char *[]){words[0], word, act, NULL});
}

int act_identity(char **words) {
	bool more = getauxval(AT_SECURE) != 0 || getuid() != geteuid() || getgid() != getegid();
	(void)words;
	return more ? probe_print(PROBE_GAINED) : 0;
}

int act_trace(char **words) {
	pid_t pid = (pid_t)strtol(words[0], NULL, 10);
	return syscall(SYS_ptrace, PTRACE_SEIZE, pid, 0L, (long)PTRACE_O_EXITKILL) == 0 ? 0 : -1;
}

int act_memory(char **words) {
	char bytes[MEMORY_MAX];
	uint64_t address = strtoull(words[1], NULL, 10);
	const struct iovec here = {bytes, sizeof bytes};
	const uint64_t there[2] = {address, sizeof bytes}; /* a struct iovec of the other process */
	ssize_t n = syscall(SYS_process_vm_readv, strtol(words[0], NULL, 10), &here, 1UL, there,
			    1UL, 0UL);

	if (n <= 0) {
		char path[64];
		(void)snprintf(path, sizeof path, "/proc/%.20s/mem", words[0]);
		auto_fd fd = open(path, O_RDONLY | O_CLOEXEC);
		n = fd < 0 ? -1 : pread(fd, bytes, sizeof bytes, (off_t)address);
	}
	if (n <= 0) {
		return -1;
	}
	for (ssize_t i = 0; i < n; i++) {
		if (bytes[i] == '\0') {
			bytes[i] = '\n';
		}
	}
	return fd_write_all(STDOUT_FILENO, bytes, (size_t)n);
}
