/* SPDX-License-Identifier: Apache-2.0 */
/* The supervisor's functions for struct child of this build, which the rows of the kernel and of
 * the container engines share.
 *
 * Should:   have the calls that a supervisor makes beside its row, in terms of no operating system.
 * Must not: make a system call that its supervisor does not need: each is on the path of a plain
 *           run.
 * Fails:    as the functions of spawn.h, follow.h and sampler.h. */
#include "backend/child.h"

#include "linux/cgroup.h"
#include "linux/follow.h"
#include "linux/spawn.h"
#include "linux/warm.h"

_Static_assert(sizeof(struct child) <= CHILD_ROOM, "a larger room");

int child_spawn(const struct backend *b, struct arena *a, const struct spawn_request *r,
		struct child_room *room, struct child **ret, struct err *e) {
	struct child *c = (struct child *)(void *)room->bytes;

	if (b->spawn(a, r, c, e) != 0) {
		return -1;
	}
	c->backend = b;
	*ret = c;
	return 0;
}

int child_supervise(const struct child *c, struct report *ret, int *ret_fd) {
	return c->backend->supervise(c, ret, ret_fd);
}

void child_finish(struct child *c, struct usage *ret) {
	c->backend->finish(c, ret);
}

int child_pidfd(const struct child *c) {
	return c->pidfd;
}

struct timings *child_timings(const struct child *c) {
	return c->timings;
}

struct run_state_copy child_state(const struct child *c) {
	return run_state_read(c->run_state);
}

/* ---- events ---- */

enum slot { SLOT_CHANNEL, SLOT_FIRST, SLOT_RESOLV, SLOT_SCAN, SLOT_SAMPLERS };
_Static_assert(SLOT_SAMPLERS + SAMPLERS == CHILD_SLOTS, "a slot for each descriptor");

void child_poll(const struct child *c, struct pollfd slots[CHILD_SLOTS]) {
	slots[SLOT_CHANNEL] = (struct pollfd){.fd = c->channel, .events = POLLIN};
	slots[SLOT_FIRST] = (struct pollfd){.fd = c->pidfd, .events = POLLIN};
	resolv_watch_poll(&c->gate.resolv_watch, &slots[SLOT_RESOLV]);
	gate_process_scan_poll(&c->gate, &slots[SLOT_SCAN]);
	for (size_t i = 0; i < SAMPLERS; i++) {
		slots[SLOT_SAMPLERS + i] =
			(struct pollfd){.fd = c->samplers.pidfd[i], .events = POLLIN};
	}
}

unsigned child_step(struct child *c, const struct pollfd slots[CHILD_SLOTS]) {
	unsigned events = 0;

	resolv_watch_step(&c->gate.resolv_watch, &slots[SLOT_RESOLV]);
	gate_process_scan_step(&c->gate, &slots[SLOT_SCAN]);
	if (slots[SLOT_CHANNEL].revents != 0) {
		events |= CHILD_REPORTS;
	}
	if (slots[SLOT_FIRST].revents != 0) {
		events |= CHILD_REPORTS | CHILD_ENDED;
	}
	for (size_t i = 0; i < SAMPLERS; i++) {
		if (slots[SLOT_SAMPLERS + i].revents != 0) {
			events |= CHILD_UNMEASURED;
		}
	}
	return events;
}

void child_unmeasured(const struct child *c) {
	samplers_lost(c->run_state);
}

void child_look(const struct child *c, int64_t now) {
	follow_look(c->follow, now);
}

int64_t child_wake(const struct child *c) {
	return follow_wake(c->follow);
}

void child_take_view(const struct child *c, int view) {
	follow_begin(c->follow, view);
}

void child_give_peer(const struct child *c, int master, int flags) {
	spawn_give_peer(c, master, flags);
}

int child_ask(const struct child *c) {
	return c->ask;
}

int child_ask_hosts(const struct child *c) {
	return c->gate.ask_line;
}

int child_order(const struct child *c, enum order_kind kind, uint64_t exec, int value) {
	return spawn_order_exec(c, kind, exec, value);
}

/* ---- records and the end ---- */

struct records child_records(const struct child *c) {
	return (struct records){c->journal, c->ledger, c->refusals};
}

struct records child_take_records(struct child *c) {
	struct records r = child_records(c);

	c->journal = NULL;
	c->ledger = c->refusals = NULL;
	return r;
}

bool child_may_leave(const struct child *c, bool complete) {
	for (size_t i = 0; i < SAMPLERS; i++) {
		if (c->samplers.pidfd[i] >= 0) {
			return false;
		}
	}
	return !complete || (c->gate.pidfd < 0 && run_state_read(c->run_state).counted);
}

void child_leave(struct child *c, struct usage *ret) {
	spawn_leave(c, ret);
}

/* ---- sessions ---- */

int64_t child_oom_kills(const struct child *c) {
	return cgroup_oom_kills(c->cgroup);
}

size_t child_commands(const struct child *c) {
	return warm_commands(c->warm);
}

enum overrun child_overrun(const struct child *c, uint64_t exec, int64_t *ret_value) {
	return warm_overrun_of(c->warm, exec, ret_value);
}
