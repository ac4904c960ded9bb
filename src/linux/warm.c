/* SPDX-License-Identifier: Apache-2.0 */
/* The slots of a session's commands, in pid 1 or the guard; warm.h has the theory.
 *
 * Should:   free the slot of a leader that was reaped; continue a leader that was stopped.
 * Must not: let a session go on whose zygote or leader was killed (Z6).
 * Fails:    closed: such a session ends. */
#include "linux/warm.h"

#include "base/raw_call.h"

#include <limits.h>
#include <linux/futex.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

/* So soon a sampler notices the end of an idle session. */
#define IDLE_NS 200000000

int warm_state_new(struct warm_state **ret, struct err *e) {
	void *place = mmap(NULL, sizeof(struct warm_state), PROT_READ | PROT_WRITE,
			   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (place == MAP_FAILED) {
		return err_sys(e, "session",
			       "cannot map memory that the session's processes share");
	}
	*ret = place; /* anonymous memory is zeroed */
	return 0;
}

void warm_state_free(struct warm_state *w) {
	if (w != NULL) {
		(void)munmap(w, sizeof *w); /* cannot fail for a mapping of this size */
	}
}

static struct warm_slot *slot_of_leader(struct warm_state *w, pid_t pid) {
	for (size_t i = 0; i < WARM_SLOTS; i++) {
		struct warm_slot *s = &w->slots[i];
		if (atomic_load(&s->exec) != 0 && atomic_load(&s->leader) == pid) {
			return s;
		}
	}
	return NULL;
}

/* True: the process was a leader. */
static bool free_slot_of(struct warm_state *w, pid_t pid) {
	struct warm_slot *s = slot_of_leader(w, pid);

	if (s != NULL) {
		atomic_store(&s->leader, 0);
		atomic_store(&s->exec, 0);
	}
	return s != NULL;
}

uint64_t warm_exec_of_leader(struct warm_state *w, pid_t pid) {
	const struct warm_slot *s = slot_of_leader(w, pid);

	return s == NULL || !warm_has_command(s) ? 0 : atomic_load(&s->exec);
}

/* The commands cannot be served without the zygote, nor told apart without their leaders: when one
 * was killed the session ends, and when one was stopped it is continued (Z6). */
bool warm_reap(struct warm_state *w, pid_t zygote, pid_t pid, int status) {
	if (WIFSTOPPED(status)) {
		if (pid == zygote || slot_of_leader(w, pid) != NULL) {
			(void)kill(pid, SIGCONT); /* it may have been killed since */
		}
		return false;
	}
	return free_slot_of(w, pid) && !(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

enum overrun warm_overrun_of(const struct warm_state *w, uint64_t exec, int64_t *ret_value) {
	for (size_t i = 0; w != NULL && exec != 0 && i < WARM_OVERRUNS; i++) {
		const struct warm_overrun *o = &w->overruns[i];
		if (atomic_load(&o->exec) == exec) {
			*ret_value = atomic_load(&o->value);
			return (enum overrun)atomic_load(&o->limit);
		}
	}
	return OVERRUN_NONE;
}

size_t warm_commands(const struct warm_state *w) {
	size_t n = 0;

	for (size_t i = 0; i < WARM_SLOTS; i++) {
		n += warm_has_command(&w->slots[i]);
	}
	return n;
}

/* The slot is set before `sleepers` is read, and a sampler counts itself before it reads the slots:
 * one of the two sees the other. */
void warm_begin(struct warm_state *w) {
	(void)atomic_fetch_add(&w->begun, 1);
	if (atomic_load(&w->sleepers) != 0) {
		/* It cannot fail for a word that is there. */
		(void)raw_call(SYS_futex, raw_pointer(&w->begun), FUTEX_WAKE, INT_MAX);
	}
}

bool warm_wait(struct warm_state *w) {
	const struct timespec most = {.tv_nsec = IDLE_NS};
	uint32_t begun = atomic_load(&w->begun);

	(void)atomic_fetch_add(&w->sleepers, 1);
	bool idle = warm_commands(w) == 0;
	if (idle) {
		/* A command, the time, or a signal ends it. */
		(void)raw_call(SYS_futex, raw_pointer(&w->begun), FUTEX_WAIT, begun,
			       raw_pointer(&most));
	}
	(void)atomic_fetch_sub(&w->sleepers, 1);
	return idle;
}
