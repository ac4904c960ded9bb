/* SPDX-License-Identifier: Apache-2.0 */
/* Which processes belong to a run, from lists of all processes.
 *
 * Should:   follow a process that left its parent or its session after it was seen once.
 * Must not: take a process with a reused pid for one of the run: the start time is compared.
 * Fails:    open: a process that leaves both parent and session between two samples is not found;
 *           the report says so (lifetime is weaker).
 *
 * It makes no call of macOS: tree_libproc.c does. */
#include "macos/tree.h"

static bool is(const struct member *m, const struct process *p) {
	return m->pid == p->pid && m->started_us == p->started_us;
}

static bool has(const struct tree *t, const struct process *p) {
	for (size_t i = 0; i < t->count; i++) {
		if (is(&t->members[i], p)) {
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

static void drop_ended(struct tree *t, const struct process *all, size_t n) {
	size_t kept = 0;
	for (size_t i = 0; i < t->count; i++) {
		bool lives = false;
		for (size_t p = 0; !lives && p < n; p++) {
			lives = is(&t->members[i], &all[p]);
		}
		if (lives) {
			t->members[kept++] = t->members[i];
		}
	}
	t->count = kept;
}

static bool belongs(const struct tree *t, const struct process *p) {
	return p->pid == t->first || has_pid(t, p->parent) || p->session == t->first;
}

/* One pass; a child may be listed before its parent, so the caller repeats it. */
static bool add_new(struct tree *t, const struct process *all, size_t n, pid_t self) {
	bool added = false;
	for (size_t i = 0; i < n; i++) {
		const struct process *p = &all[i];
		if (p->pid <= 1 || p->pid == self || has(t, p) || !belongs(t, p)) {
			continue;
		}
		if (t->count == TREE_MAX) {
			t->full = true;
			return false;
		}
		t->members[t->count++] = (struct member){p->pid, p->started_us};
		added = true;
	}
	return added;
}

void tree_update(struct tree *t, const struct process *all, size_t n, pid_t self) {
	drop_ended(t, all, n);
	while (add_new(t, all, n, self)) {
	}
}
