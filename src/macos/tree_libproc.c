/* SPDX-License-Identifier: Apache-2.0 */
/* Lists, measures and kills the processes of a run, with libproc.
 *
 * Should:   list all processes before each decision.
 * Must not: signal a process that is not one of the run: pid and start time are compared right
 *           before the signal.
 * Fails:    open, as tree.c; without a list of processes with -1.
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

/* Those that can be looked at; one that ended meanwhile is left out. */
static size_t look_at_all(const pid_t *pids, size_t n, struct process *ret) {
	size_t count = 0;
	for (size_t i = 0; i < n; i++) {
		struct proc_bsdinfo p;
		if (pids[i] > 1 && look_at(pids[i], &p)) {
			ret[count++] = (struct process){.pid = pids[i],
							.parent = (pid_t)p.pbi_ppid,
							.session = getsid(pids[i]),
							.started_us = start_of(&p)};
		}
	}
	return count;
}

static int find(struct tree *t) {
	int room = proc_listpids(PROC_ALL_PIDS, 0, NULL, 0);
	if (room <= 0) {
		return -1;
	}
	room += 256 * (int)sizeof(pid_t); /* processes that start meanwhile */
	pid_t *pids = malloc((size_t)room);
	struct process *all = calloc((size_t)room / sizeof *pids, sizeof *all);
	int got = pids == NULL || all == NULL ? -1 : proc_listpids(PROC_ALL_PIDS, 0, pids, room);
	if (got > 0) {
		tree_update(t, all, look_at_all(pids, (size_t)got / sizeof *pids, all), getpid());
	}
	free(all);
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
