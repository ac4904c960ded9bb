/* SPDX-License-Identifier: Apache-2.0 */
/* Finds and kills the processes of a run.
 *
 * Should:   follow a process that left its parent or its session after it was seen once.
 * Must not: signal a process that is not one of the run: pid and start time are compared right
 *           before the signal.
 * Fails:    open: a process that leaves both parent and session between two samples is not found;
 *           the report says so (lifetime is weaker).
 *
 * It has not been run. */
#include "macos/tree.h"

#include <libproc.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ATTEMPTS_MAX 200
#define BETWEEN_US 2000

static bool look_at(pid_t pid, struct proc_bsdinfo *ret) {
	return proc_pidinfo(pid, PROC_PIDTBSDINFO, 0, ret, sizeof *ret) == (int)sizeof *ret;
}

static uint64_t start_of(const struct proc_bsdinfo *p) {
	return p->pbi_start_tvsec * 1000000 + p->pbi_start_tvusec;
}

static bool has(const struct tree *t, pid_t pid, uint64_t started_us) {
	for (size_t i = 0; i < t->count; i++) {
		if (t->members[i].pid == pid && t->members[i].started_us == started_us) {
			return true;
		}
	}
	return false;
}

static bool has_pid(const struct tree *t, pid_t pid) {
	for (size_t i = 0; i < t->count; i++) {
		if (t->members[i].pid == pid) {
			return true;
		}
	}
	return false;
}

static void drop_ended(struct tree *t) {
	size_t kept = 0;
	for (size_t i = 0; i < t->count; i++) {
		struct proc_bsdinfo p;
		if (look_at(t->members[i].pid, &p) && start_of(&p) == t->members[i].started_us) {
			t->members[kept++] = t->members[i];
		}
	}
	t->count = kept;
}

static bool belongs(const struct tree *t, const struct proc_bsdinfo *p) {
	pid_t pid = (pid_t)p->pbi_pid;
	return pid == t->first || has_pid(t, (pid_t)p->pbi_ppid) || getsid(pid) == t->first;
}

/* One pass; a child may be listed before its parent, so the caller repeats it. */
static bool add_new(struct tree *t, const pid_t *pids, size_t n) {
	bool added = false;
	for (size_t i = 0; i < n; i++) {
		struct proc_bsdinfo p;
		if (pids[i] <= 1 || pids[i] == getpid() || !look_at(pids[i], &p) ||
		    has(t, pids[i], start_of(&p)) || !belongs(t, &p)) {
			continue;
		}
		if (t->count == TREE_MAX) {
			t->full = true;
			return false;
		}
		t->members[t->count++] = (struct member){pids[i], start_of(&p)};
		added = true;
	}
	return added;
}

static int find(struct tree *t) {
	int room = proc_listpids(PROC_ALL_PIDS, 0, NULL, 0);
	if (room <= 0) {
		return -1;
	}
	room += 256 * (int)sizeof(pid_t); /* processes that start meanwhile */
	pid_t *pids = malloc((size_t)room);
	if (pids == NULL) {
		return -1;
	}
	int got = proc_listpids(PROC_ALL_PIDS, 0, pids, room);
	drop_ended(t);
	while (got > 0 && add_new(t, pids, (size_t)got / sizeof *pids)) {
	}
	free(pids);
	return got > 0 ? 0 : -1;
}

int tree_sample(struct tree *t, struct tree_usage *ret) {
	*ret = (struct tree_usage){0};
	if (find(t) != 0) {
		return -1;
	}
	for (size_t i = 0; i < t->count; i++) {
		struct rusage_info_v2 use;
		if (proc_pid_rusage(t->members[i].pid, RUSAGE_INFO_V2, (rusage_info_t *)&use) ==
		    0) {
			ret->memory += use.ri_phys_footprint;
			ret->cpu_ns += use.ri_user_time + use.ri_system_time +
				       use.ri_child_user_time + use.ri_child_system_time;
			ret->processes++;
		}
	}
	return 0;
}

void tree_signal(struct tree *t, int signal) {
	for (size_t i = 0; i < t->count; i++) {
		struct proc_bsdinfo p;
		if (look_at(t->members[i].pid, &p) && start_of(&p) == t->members[i].started_us) {
			(void)kill(t->members[i].pid, signal); /* it may have ended */
		}
	}
}

bool tree_kill(struct tree *t) {
	for (int i = 0; i < ATTEMPTS_MAX; i++) {
		if (find(t) == 0 && t->count == 0) {
			return true;
		}
		tree_signal(t, SIGSTOP); /* a stopped process forks no more */
		tree_signal(t, SIGKILL);
		(void)usleep(BETWEEN_US);
	}
	return false;
}
