/* SPDX-License-Identifier: Apache-2.0 */
/* Finds out whether this process runs in a sandbox of Corral.
 *
 * A hook of an agent that runs inside as a whole has nothing to add.  The answer must not depend
 * on anything that a project can set, such as a variable: it would switch the hook off.  So it
 * comes from the kernel: no_new_privs and a seccomp filter are set, and either the file
 * /proc/1/comm cannot be opened (EPERM, as for the first process of a sandbox with a pid
 * namespace), or a process above this one is Corral's guard.
 *
 * Should:   need all of that.
 * Must not: read the environment.
 * Fails:    with false: the command is then wrapped, and refuses to run twice inside. */
#include "agents/agents.h"

#include "base/auto.h"
#include "base/fd.h"
#include "base/str.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define STATUS_MAX ((size_t)64 * 1024)
/* A loop in the table of processes cannot be, a process that is replaced while it is read can. */
#define ANCESTORS_MAX 256

/* The number after "Name:" in /proc/PID/status; -1. */
static long status_field(long pid, const char *name) {
	char path[64];
	struct buf text;
	long value = -1;

	(void)snprintf(path, sizeof path, "/proc/%ld/status", pid);
	buf_init(&text);
	if (fd_read_file(path, STATUS_MAX, &text) == 0 && text.data != NULL) {
		const char *at = strstr(text.data, name);
		value = at == NULL ? -1 : strtol(at + strlen(name), NULL, 10);
	}
	buf_done(&text);
	return value;
}

static bool is_corral(long pid) {
	char path[64], name[32] = "";

	(void)snprintf(path, sizeof path, "/proc/%ld/comm", pid);
	auto_fd fd = open(path, O_RDONLY | O_CLOEXEC);
	return fd >= 0 && read(fd, name, sizeof name - 1) > 0 && streq(name, "corral\n");
}

static bool first_is_hidden(void) {
	auto_fd fd = open("/proc/1/comm", O_RDONLY | O_CLOEXEC);
	return fd < 0 && errno == EPERM;
}

bool agents_inside(void) {
	long pid = getpid();

	if (status_field(pid, "\nNoNewPrivs:") != 1 || status_field(pid, "\nSeccomp:") != 2) {
		return false;
	}
	if (first_is_hidden()) {
		return true;
	}
	for (int i = 0; i < ANCESTORS_MAX && pid > 1; i++) {
		pid = status_field(pid, "\nPPid:");
		if (pid > 0 && is_corral(pid)) {
			return true;
		}
	}
	return false;
}
