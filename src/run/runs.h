/* SPDX-License-Identifier: Apache-2.0 */
/* The list of live runs of one user, for `corral ps`.
 *
 * Theory.  Corral's state has one file of fixed size, divided into slots.  A run locks a free
 * slot (open file description lock) and writes its record there; the kernel drops the lock
 * when the supervisor ends or is killed.  So no record has to be removed, a slot without a lock
 * is free, and a run costs three system calls. */
#ifndef CORRAL_RUN_RUNS_H
#define CORRAL_RUN_RUNS_H

#include "base/arena.h"
#include "base/err.h"
#include "base/run_id.h"
#include "plan/plan.h"

#include <stdint.h>
#include <sys/types.h>

/* The size of the slots; the bytes behind them are free for another use (the audit log's head). */
#define RUNS_SIZE ((off_t)8 * 1024 * 1024)

/* The file, open for reading and writing; -1 with errno. */
int runs_open(const char *state_dir);

/* Registers the run of this process until runs_leave(); -1 on failure, which does not stop the
 * run. */
int runs_enter(const struct host *host, const struct plan *plan, char *const *argv);
void runs_leave(int *fd);

struct run_entry {
	pid_t pid;        /* of the supervisor */
	int64_t since_ms; /* since 1970 */
	char id[RUN_ID_LENGTH + 1];
	const char *level, *net, *workspace;
	const char **argv;
	size_t argc;
	bool cut; /* argv was truncated */
};

/* In the order of their start time. */
int runs_list(struct arena *a, const char *state_dir, struct run_entry **ret, size_t *ret_n,
	      struct err *e);

#endif
