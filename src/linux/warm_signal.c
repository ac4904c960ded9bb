/* SPDX-License-Identifier: Apache-2.0 */
/* Signals the commands of a session and their trees, in pid 1 or the guard; warm.h has the theory.
 *
 * A tree is listed from /proc (linux/census.h): the leader is a subreaper, so every process of the
 * command descends from it.  A process that forks while the list is made escapes one attempt.  So a
 * tree that has to be killed is marked, and killed again until its leader has ended; all marked
 * trees are killed with one list.  Some attempts stop the whole session meanwhile:
 * kill(-1, SIGSTOP) reaches a fork in progress too.  The leader kills its children as well
 * (zygote.c), because /proc hides processes that are not dumpable, and their children.
 *
 * Should:   signal the processes below one leader (Z5); end a marked tree without the supervisor
 *           (Z8).
 * Must not: signal a leader; keep the session stopped; take more than half of the time for lists.
 * Fails:    open: an attempt that lists nothing signals nothing, and is repeated. */
#include "linux/warm.h"

#include "base/clock.h"
#include "linux/census.h"
#include "linux/reaper.h"
#include "linux/spawn.h"

#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Between two attempts at a tree.  After each STEPS of them the time is doubled, LONGER times at
 * most: processes that are left then are in uninterruptible sleep. */
#define STEP_MS 10
#define STEPS 8
#define LONGER 6

/* A fork that was in progress at SIGSTOP has created its process by then. */
#define SETTLE_MS 2

/* ---- one command ---- */

static struct warm_slot *slot_of(struct warm_state *w, uint64_t exec) {
	for (size_t i = 0; exec != 0 && i < WARM_SLOTS; i++) {
		if (atomic_load(&w->slots[i].exec) == exec) {
			return &w->slots[i];
		}
	}
	return NULL;
}

/* Signals the process group of a command, if it runs. */
static void signal_group(struct warm_state *w, uint64_t exec, int number) {
	struct warm_slot *s = slot_of(w, exec);

	if (s == NULL) {
		return; /* it has ended */
	}
	/* The leader does not reap the command meanwhile, so its pid is not another's. */
	atomic_store(&s->signalling, 1);
	pid_t command = atomic_load(&s->command);
	if (command > 0 && atomic_load(&s->exec) == exec) {
		(void)kill(-command, number); /* ESRCH: it has just ended */
	}
	atomic_store(&s->signalling, 0);
}

/* ---- trees ---- */

/* The leaders of some commands. */
struct leaders {
	pid_t pids[WARM_SLOTS];
	size_t n;
};

static void add_leader(struct leaders *l, const struct warm_slot *s) {
	pid_t leader = atomic_load(&s->leader);

	if (leader > 0) { /* otherwise it has not started yet */
		l->pids[l->n++] = leader;
	}
}

/* Every process below them that can be found now. */
static void signal_beneath(struct warm_trees *t, const struct leaders *l, int number) {
	struct census_sum unused;

	if (l->n == 0) {
		return;
	}
	(void)census_take(&t->census, &unused); /* false: pid 1 itself is hidden */
	census_mark_beneath(&t->census, l->pids, l->n);
	for (size_t i = 0; i < t->census.count; i++) {
		if (t->census.rows[i].beneath) {
			(void)kill(t->census.rows[i].pid, number); /* it may have ended */
		}
	}
}

static bool open_census(struct warm_trees *t) {
	if (t->census.rows == NULL && !census_init(&t->census, getpid(), (uint64_t)4096)) {
		census_done(&t->census); /* the page size is for sums, which are not used */
	}
	return t->census.rows != NULL;
}

static void close_census(struct warm_trees *t) {
	if (t->census.rows != NULL) {
		census_done(&t->census);
	}
}

/* exec 0: of all commands. */
static void signal_tree(struct warm_trees *t, struct warm_state *w, uint64_t exec, int number) {
	struct leaders l = {.n = 0};

	for (size_t i = 0; i < WARM_SLOTS; i++) {
		const struct warm_slot *s = &w->slots[i];
		if (exec == 0 ? warm_has_command(s) : atomic_load(&s->exec) == exec) {
			add_leader(&l, s);
		}
	}
	if (!open_census(t)) {
		return;
	}
	signal_group(w, exec, number); /* also if /proc hides it */
	signal_beneath(t, &l, number);
	if (number == SIGTERM) {
		signal_beneath(t, &l, SIGCONT); /* a stopped process does not handle SIGTERM */
	}
	if (t->at < 0) {
		close_census(t);
	}
}

/* ---- trees that have to be killed ---- */

static void mark(struct warm_trees *t, struct warm_slot *s) {
	uint64_t exec = atomic_load(&s->exec);

	if (atomic_load(&s->doomed) != exec) {
		atomic_store(&s->doomed, exec);
		s->attempts = 0;
		t->at = 0; /* at once, together with others that are ordered now */
	}
}

static void mark_trees(struct warm_trees *t, struct warm_state *w, uint64_t exec) {
	struct warm_slot *one = slot_of(w, exec);

	if (one != NULL) {
		mark(t, one);
	}
	for (size_t i = 0; exec == 0 && i < WARM_SLOTS; i++) {
		if (warm_has_command(&w->slots[i])) {
			mark(t, &w->slots[i]);
		}
	}
}

static void kill_frozen(struct warm_trees *t, const struct reaper *r, const struct leaders *l) {
	const struct timespec settle = {.tv_nsec = SETTLE_MS * 1000000L};

	reaper_signal(r, SIGSTOP);
	for (int i = 0; i < 2; i++) {
		/* Whatever it returns, the list is made. */
		(void)syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &settle, NULL);
		signal_beneath(t, l, SIGKILL);
	}
	reaper_signal(r, SIGCONT);
}

/* Kills the command itself, and lets the leader kill its children. */
static void wake_leader(struct warm_state *w, const struct warm_slot *s) {
	pid_t leader = atomic_load(&s->leader);

	signal_group(w, atomic_load(&s->doomed), SIGKILL);
	if (leader > 0) {
		(void)kill(leader, WARM_MARKED); /* we alone reap it */
	}
}

/* The marked trees that are left, the fewest attempts at one of them, and whether one of them needs
 * the session to stop.  A tree that is left after that is in uninterruptible sleep, or traced. */
static void list_marked(struct warm_state *w, struct leaders *ret, uint32_t *fewest, bool *freeze) {
	*fewest = UINT32_MAX;
	*freeze = false;
	for (size_t i = 0; i < WARM_SLOTS; i++) {
		struct warm_slot *s = &w->slots[i];
		if (!warm_is_doomed(s)) {
			atomic_store(&s->doomed, 0); /* its leader has ended */
			continue;
		}
		wake_leader(w, s);
		add_leader(ret, s);
		*fewest = s->attempts < *fewest ? s->attempts : *fewest;
		*freeze = *freeze || (s->attempts >= STEPS && s->attempts < 2 * STEPS);
		s->attempts++;
	}
}

void warm_trees_kill(struct warm_trees *t, struct warm_state *w, const struct reaper *r,
		     int64_t now) {
	struct leaders l = {.n = 0};
	uint32_t fewest;
	bool freeze;

	if (t->at < 0 || now < t->at) {
		return;
	}
	list_marked(w, &l, &fewest, &freeze);
	if (fewest == UINT32_MAX) {
		t->at = -1;
		close_census(t);
		return;
	}
	if (open_census(t)) {
		if (freeze) {
			kill_frozen(t, r, &l);
		} else {
			signal_beneath(t, &l, SIGKILL);
		}
	}
	uint32_t longer = fewest / STEPS;
	int64_t step = (int64_t)STEP_MS << (longer < LONGER ? longer : LONGER);
	int64_t end = clock_ms();
	t->at = end + (end - now > step ? end - now : step);
}

void warm_trees_init(struct warm_trees *t) {
	*t = (struct warm_trees){.at = -1, .census = {.proc = -1}};
}

void warm_execute(struct warm_trees *t, struct warm_state *w, const struct order *o) {
	switch ((enum order_kind)o->kind) {
	case ORDER_EXEC_SIGNAL:
		signal_group(w, o->exec, o->value);
		break;
	case ORDER_EXEC_TREE:
		if (o->value == SIGKILL) {
			mark_trees(t, w, o->exec);
		} else {
			signal_tree(t, w, o->exec, o->value);
		}
		break;
	case ORDER_SIGNAL:
	case ORDER_END:
	case ORDER_PEER:
	case ORDER_JOIN:
		break;
	}
}
