/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the parent of a process: by an ioctl of its pidfd (Linux 6.13), else from /proc/PID/stat,
 * which takes ten times as long.
 *
 * Should:   accept any process name: it may contain spaces and parentheses.
 * Must not: be used to signal by pid alone: the kernel reuses pids.
 * Fails:    with -1, also without /proc. */
#include "base/parent_pid.h"

#include "base/auto.h"

#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* <linux/pidfd.h>; Debian 12's headers stop at Linux 6.1.  The first form of the struct: the kernel
 * fills as much as the request has room for. */
struct pidfd_info {
	uint64_t mask, cgroupid;
	uint32_t pid, tgid, ppid, ruid, rgid, euid, egid, suid, sgid, fsuid, fsgid;
	int32_t exit_code;
};
#define PIDFD_GET_INFO _IOWR(0xFF, 11, struct pidfd_info)
#define PIDFD_INFO_PID (UINT64_C(1) << 0)

pid_t parent_pid_of(int pidfd) {
	struct pidfd_info info = {.mask = PIDFD_INFO_PID};

	/* ioctl(3) of musl takes an int. */
	if (syscall(SYS_ioctl, pidfd, PIDFD_GET_INFO, &info) != 0 ||
	    (info.mask & PIDFD_INFO_PID) == 0) {
		return -1;
	}
	return info.ppid <= INT_MAX ? (pid_t)info.ppid : -1;
}

static pid_t from_stat(pid_t pid) {
	char path[48], text[512];

	(void)snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
	auto_fd fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
	if (n <= 0) {
		return -1;
	}
	text[n] = '\0';
	/* "PID (NAME) STATE PPID": the name ends at the last parenthesis. */
	const char *end = strrchr(text, ')');
	if (end == NULL || strlen(end) < strlen(") S 1")) {
		return -1;
	}
	long parent = strtol(end + strlen(") S "), NULL, 10);
	return parent > 0 && parent <= INT_MAX ? (pid_t)parent : 0;
}

pid_t parent_pid(pid_t pid) {
	auto_fd pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	pid_t parent = pidfd < 0 ? -1 : parent_pid_of(pidfd);

	return parent >= 0 ? parent : from_stat(pid);
}
