/* SPDX-License-Identifier: Apache-2.0 */
/* Finds out whether this process runs in a sandbox of Corral.
 *
 * A hook of an agent that runs inside as a whole has nothing to add.  The answer must not depend
 * on anything that a project can set, such as a variable: it would switch the hook off.  So it
 * comes from the kernel: no_new_privs and a seccomp filter are set, and either the file
 * /proc/1/comm cannot be opened and Corral's mask covers a file of /proc, or a process above this
 * one is Corral and has fewer filters.  Less is not enough: a service manager or a container
 * runtime sets no_new_privs and a filter too, and /proc with hidepid refuses /proc/1/comm.
 *
 * Should:   need all of that.
 * Must not: read the environment.
 * Fails:    with false: the command is then wrapped, and refuses to run twice inside. */
#include "agents/agents.h"

#include "base/auto.h"
#include "base/fd.h"
#include "base/str.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define STATUS_MAX ((size_t)64 * 1024)
#define MOUNTS_MAX ((size_t)4 * 1024 * 1024)
/* The root and the mount point in a line of mountinfo, where a space of a path is an escape: the
 * unlinked file that linux/layers/mounts.c mounts over hidden files. */
#define MASKED_PROC " /.mask//deleted /proc/"
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

/* EPERM, EACCES, or ENOENT: by the kernel's cache and the sandbox. */
static bool first_is_hidden(void) {
	auto_fd fd = open("/proc/1/comm", O_RDONLY | O_CLOEXEC);
	return fd < 0;
}

static bool proc_is_masked(void) {
	struct buf text;

	buf_init(&text);
	bool masked = fd_read_file("/proc/self/mountinfo", MOUNTS_MAX, &text) == 0 &&
		      text.data != NULL && strstr(text.data, MASKED_PROC) != NULL;
	buf_done(&text);
	return masked;
}

/* A process that Corral confines has a filter more than Corral.  Fields of a kernel that does not
 * count filters are equal. */
static bool has_more_filters(long pid, long than) {
	static const char count[] = "\nSeccomp_filters:";

	return status_field(pid, count) > status_field(than, count);
}

bool agents_inside(void) {
	const long own = getpid();
	long pid = own;

	if (status_field(pid, "\nNoNewPrivs:") != 1 || status_field(pid, "\nSeccomp:") != 2) {
		return false;
	}
	if (first_is_hidden() && proc_is_masked()) {
		return true;
	}
	for (int i = 0; i < ANCESTORS_MAX && pid > 1; i++) {
		pid = status_field(pid, "\nPPid:");
		if (pid > 0 && is_corral(pid) && has_more_filters(own, pid)) {
			return true;
		}
	}
	return false;
}
