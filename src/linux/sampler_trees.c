/* SPDX-License-Identifier: Apache-2.0 */
/* Kills the tree of the command that has the largest part of an exceeded limit.
 *
 * Should:   kill the processes below one leader, until the leader has ended.
 * Must not: signal a leader, which would end the session; signal a pid that another process may
 *           have by now; call libc beyond system calls: it runs in the sampler.
 * Fails:    closed: without a tree to kill the caller ends the session. */
#include "linux/sampler_trees.h"

#include "base/auto.h"
#include "base/clock.h"
#include "linux/kernel_api.h"
#include "linux/warm.h"

#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

/* ---- the processes of one command ---- */

static bool is_leader(const struct sampler_trees *t, const struct census *c,
		      const struct census_row *row, pid_t leader) {
	return t->namespaces ? row->parent == c->root && census_inner_pid(c, row) == leader
			     : row->ours && row->pid == leader;
}

/* The leader's pid as the sampler sees it; 0: it has ended. */
static pid_t find_leader(const struct sampler_trees *t, const struct census *c, pid_t leader) {
	for (size_t i = 0; leader > 0 && i < c->count; i++) {
		if (is_leader(t, c, &c->rows[i], leader)) {
			return c->rows[i].pid;
		}
	}
	return 0;
}

/* Marks the processes of this command, and no others; false: there are none. */
static bool mark_tree(const struct sampler_trees *t, struct census *c, const struct warm_slot *s) {
	pid_t leader = find_leader(t, c, atomic_load(&s->leader));

	for (size_t i = 0; i < c->count; i++) {
		c->rows[i].beneath = false;
	}
	if (leader != 0) {
		census_mark_beneath(c, &leader, 1);
	}
	return leader != 0;
}

/* Its part of the limit. */
static uint64_t weigh_tree(const struct census *c, enum overrun limit) {
	uint64_t sum = 0;

	for (size_t i = 0; i < c->count; i++) {
		const struct census_row *row = &c->rows[i];
		if (row->beneath) {
			sum += limit == OVERRUN_MEMORY ? census_share(c, row) : row->threads;
		}
	}
	return sum;
}

static struct warm_slot *heaviest_tree(const struct sampler_trees *t, struct census *c,
				       enum overrun limit) {
	struct warm_slot *slots = t->warm->slots;
	struct warm_slot *found = NULL;
	uint64_t most = 0;

	for (size_t i = 0; i < WARM_SLOTS; i++) {
		if (!warm_has_command(&slots[i]) || !mark_tree(t, c, &slots[i])) {
			continue;
		}
		uint64_t weight = weigh_tree(c, limit);
		if (weight > most) {
			most = weight;
			found = &slots[i];
		}
	}
	return found;
}

/* A pidfd is of the process that has the pid now; if that is still the one of the row, no other
 * gets the signal. */
static void kill_row(const struct census *c, const struct census_row *row) {
	auto_fd process = (int)syscall(SYS_pidfd_open, row->pid, 0U);

	if (process >= 0 && census_is_same(c, row)) {
		(void)syscall(SYS_pidfd_send_signal, process, SIGKILL, NULL, 0U); /* or it ended */
	}
}

static void kill_tree(const struct sampler_trees *t, struct census *c, const struct warm_slot *s) {
	if (!mark_tree(t, c, s)) {
		return;
	}
	for (size_t i = 0; i < c->count; i++) {
		if (c->rows[i].beneath) {
			kill_row(c, &c->rows[i]);
		}
	}
}

/* ---- the command that is being killed ---- */

static struct warm_slot *doomed_slot(struct sampler_trees *t) {
	for (size_t i = 0; t->doomed != 0 && i < WARM_SLOTS; i++) {
		if (atomic_load(&t->warm->slots[i].exec) == t->doomed) {
			return &t->warm->slots[i];
		}
	}
	t->doomed = 0; /* its leader has ended */
	return NULL;
}

static void record(struct sampler_trees *t, enum overrun limit, int64_t value) {
	struct warm_overrun *o = &t->warm->overruns[t->noverruns++ % WARM_OVERRUNS];

	atomic_store(&o->exec, 0);
	atomic_store(&o->limit, (uint32_t)limit);
	atomic_store(&o->value, value);
	atomic_store(&o->exec, t->doomed);
}

bool sampler_trees_kill(struct sampler_trees *t, struct census *c, enum overrun limit,
			int64_t value) {
	if (t->warm == NULL) {
		return false;
	}
	struct warm_slot *s = doomed_slot(t);
	if (s == NULL) {
		s = heaviest_tree(t, c, limit);
		t->doomed = s == NULL ? 0 : atomic_load(&s->exec);
		if (t->doomed == 0 || t->doomed == WARM_WAITS) {
			return false;
		}
		t->since = clock_ms();
		record(t, limit, value);
	}
	kill_tree(t, c, s);
	return clock_ms() < t->since + TREES_GRACE_MS;
}

void sampler_trees_rest(struct sampler_trees *t, struct census *c) {
	const struct warm_slot *s = t->warm == NULL ? NULL : doomed_slot(t);

	if (s != NULL) {
		kill_tree(t, c, s);
	}
}
