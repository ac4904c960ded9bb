/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the processor time of a session (session/cpu_total.h).
 *
 * Should:   count no time twice, and never less than before.
 * Must not: wait, or read more than PROCESSES_MAX processes.
 * Fails:    open: a process that cannot be read is not counted. */
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

struct cpu_process {
	pid_t pid;
	int64_t start;
	int64_t own, waited; /* ticks: its own, and of the children that it has waited for */
};

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

/* The 14th to the 17th field: utime, stime, cutime and cstime; and the 22nd, the time of its start,
 * which tells it from another process of the same pid. */
static struct cpu_process process_of(const struct cpu_places *places, pid_t pid) {
	char path[PATH_MAX];
	struct buf text;
	struct cpu_process p = {.pid = pid};

	(void)snprintf(path, sizeof path, "%s/%d/stat", places->proc, (int)pid);
	const char *at = read_text(path, &text) ? strrchr(text.data, ')') : NULL;
	for (int field = 3; at != NULL && field <= 22; field++) {
		at = strchr(at + 1, ' ');
		int64_t value = at == NULL ? 0 : strtoll(at, NULL, 10);
		p.own += field == 14 || field == 15 ? value : 0;
		p.waited += field == 16 || field == 17 ? value : 0;
		p.start = field == 22 ? value : p.start;
	}
	buf_done(&text);
	return p;
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

/* ---- samples ---- */

static int by_pid(const void *a, const void *b) {
	const struct cpu_process *x = a, *y = b;

	return (x->pid > y->pid) - (x->pid < y->pid);
}

static const struct cpu_process *find(const struct cpu_process *list, size_t n,
				      const struct cpu_process *wanted) {
	const struct cpu_process *p =
		n == 0 ? NULL : bsearch(wanted, list, n, sizeof *list, by_pid);

	return p != NULL && p->start == wanted->start ? p : NULL;
}

/* Adds the time of `now` that the last sample did not have. */
static void add_sample(struct cpu_total *t, const struct cpu_process *now, size_t n) {
	int64_t own = 0, waited = 0, gone = 0;

	for (size_t i = 0; i < n; i++) {
		const struct cpu_process *before = find(t->seen, t->nseen, &now[i]);
		own += now[i].own - (before == NULL ? 0 : before->own);
		waited += now[i].waited - (before == NULL ? 0 : before->waited);
	}
	for (size_t i = 0; i < t->nseen; i++) {
		if (find(now, n, &t->seen[i]) == NULL) {
			gone += t->seen[i].own + t->seen[i].waited;
		}
	}
	/* A parent is read before its children: of one that ended in between, the next sample has
	 * the time in its parent's. */
	int64_t fresh = waited - gone - t->owed;
	t->owed = gone > waited ? gone - waited : 0;
	t->ticks += own + (fresh > 0 ? fresh : 0);
}

static int sample(const struct cpu_places *places, struct pids *p, struct cpu_total *t) {
	struct cpu_process *now = calloc(PROCESSES_MAX, sizeof *now);

	if (now == NULL) {
		return -1;
	}
	for (size_t i = 0; i < p->n; i++) {
		now[i] = process_of(places, p->items[i]);
		add_children(places, p->items[i], p);
	}
	qsort(now, p->n, sizeof *now, by_pid);
	add_sample(t, now, p->n);
	free(t->seen);
	t->nseen = p->n;
	struct cpu_process *smaller = realloc(now, p->n * sizeof *now);
	t->seen = smaller == NULL ? now : smaller;
	t->ms = t->ticks * 1000 / sysconf(_SC_CLK_TCK);
	t->by_cgroup = false;
	return 0;
}

int cpu_total_read(const struct cpu_places *places, pid_t supervisor, struct cpu_total *t) {
	auto_free struct pids *p = calloc(1, sizeof *p);
	int64_t ms = 0;

	if (p == NULL) {
		return -1;
	}
	add_children(places, supervisor, p);
	if (p->n == 0) {
		return -1;
	}
	if (read_group(places, supervisor, p->items[0], &ms)) {
		t->ms = ms;
		t->by_cgroup = true;
		return 0;
	}
	return sample(places, p, t);
}

void cpu_total_done(struct cpu_total *t) {
	free(t->seen);
	*t = (struct cpu_total){0};
}
