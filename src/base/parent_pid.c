/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the parent of a process from /proc/PID/stat.
 *
 * Should:   accept any process name: it may contain spaces and parentheses.
 * Must not: be used to signal by pid alone: the kernel reuses pids.
 * Fails:    with -1, also without /proc. */
#include "base/parent_pid.h"

#include "base/auto.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

pid_t parent_pid(pid_t pid) {
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
