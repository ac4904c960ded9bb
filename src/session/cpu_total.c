/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the processor time of a session (session/cpu_total.h).
 *
 * Should:   count no process twice: a process is read before its children, so a child that ends in
 *           between is missing in this sample, and in the next one it is part of its parent's.
 * Must not: wait, or read more than PROCESSES_MAX processes.
 * Fails:    open: what cannot be read is not counted. */
#include "session/cpu_total.h"

#include "base/auto.h"
#include "base/buf.h"
#include "base/fd.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PROCESSES_MAX 4096
#define TEXT_MAX 4096

struct pids {
	pid_t items[PROCESSES_MAX];
	size_t n;
};

static bool read_text(const char *path, struct buf *ret) {
	buf_init(ret);
	return fd_read_file(path, TEXT_MAX, ret) == 0 && ret->data != NULL;
}

static void add_pids(const char *text, struct pids *p) {
	char *end = NULL;

	for (long pid; (pid = strtol(text, &end, 10)) > 0 && end != text; text = end) {
		if (p->n < PROCESSES_MAX) {
			p->items[p->n++] = (pid_t)pid;
		}
	}
}

/* Of every thread: each has its own list. */
static void add_children(const struct cpu_places *places, pid_t pid, struct pids *p) {
	char path[PATH_MAX];

	(void)snprintf(path, sizeof path, "%s/%d/task", places->proc, (int)pid);
	auto_dir tasks = opendir(path);
	for (const struct dirent *entry; tasks != NULL && (entry = readdir(tasks)) != NULL;) {
		struct buf text;
		if (entry->d_name[0] == '.') {
			continue;
		}
		(void)snprintf(path, sizeof path, "%s/%d/task/%s/children", places->proc, (int)pid,
			       entry->d_name); /* too long: not found */
		if (read_text(path, &text)) {
			add_pids(text.data, p);
		}
		buf_done(&text);
	}
}

/* utime, stime, cutime and cstime: the 14th to the 17th field. */
static int64_t ticks_of(const struct cpu_places *places, pid_t pid) {
	char path[PATH_MAX];
	struct buf text;
	int64_t sum = 0;

	(void)snprintf(path, sizeof path, "%s/%d/stat", places->proc, (int)pid);
	const char *at = read_text(path, &text) ? strrchr(text.data, ')') : NULL;
	for (int field = 3; at != NULL && field <= 17; field++) {
		at = strchr(at + 1, ' ');
		sum += at != NULL && field >= 14 ? strtoll(at, NULL, 10) : 0;
	}
	buf_done(&text);
	return sum;
}

/* The path of the process in the hierarchy of cgroup v2: "0::/path". */
static bool group_of(const struct cpu_places *places, pid_t pid, char ret[PATH_MAX]) {
	char path[PATH_MAX];
	struct buf text;

	(void)snprintf(path, sizeof path, "%s/%d/cgroup", places->proc, (int)pid);
	const char *at = read_text(path, &text) ? strstr(text.data, "0::/") : NULL;
	bool found = at != NULL && (at == text.data || at[-1] == '\n');
	if (found) {
		at += strlen("0::");
		(void)snprintf(ret, PATH_MAX, "%.*s", (int)strcspn(at, "\n"), at);
	}
	buf_done(&text);
	return found;
}

static bool read_group(const struct cpu_places *places, pid_t supervisor, pid_t inside,
		       int64_t *ret_ms) {
	char own[PATH_MAX], group[PATH_MAX], path[2 * PATH_MAX];
	struct buf text;

	if (!group_of(places, supervisor, own) || !group_of(places, inside, group) ||
	    strcmp(own, group) == 0) {
		return false;
	}
	(void)snprintf(path, sizeof path, "%s%s/cpu.stat", places->cgroup, group);
	const char *at = read_text(path, &text) ? strstr(text.data, "usage_usec ") : NULL;
	if (at != NULL) {
		*ret_ms = strtoll(at + strlen("usage_usec "), NULL, 10) / 1000;
	}
	buf_done(&text);
	return at != NULL;
}

int cpu_total_read(const struct cpu_places *places, pid_t supervisor, struct cpu_total *ret) {
	auto_free struct pids *p = calloc(1, sizeof *p);
	int64_t ticks = 0, ms = 0;

	if (p == NULL) {
		return -1;
	}
	add_children(places, supervisor, p);
	if (p->n == 0) {
		return -1;
	}
	if (read_group(places, supervisor, p->items[0], &ms)) {
		*ret = (struct cpu_total){.ms = ms, .by_cgroup = true};
		return 0;
	}
	for (size_t i = 0; i < p->n; i++) {
		ticks += ticks_of(places, p->items[i]);
		add_children(places, p->items[i], p);
	}
	*ret = (struct cpu_total){.ms = ticks * 1000 / sysconf(_SC_CLK_TCK)};
	return 0;
}
