/* SPDX-License-Identifier: Apache-2.0 */
/* Signals the commands of a session and their trees, in pid 1 or the guard; warm.h has the theory.
 *
 * A tree is listed from /proc (linux/census.h): the leader is a subreaper, so every process of the
 * command descends from it.  A process that forks while the list is made escapes one attempt.  The
 * supervisor repeats the order until the leader has ended, and after some time lets the whole
 * session be stopped meanwhile: kill(-1, SIGSTOP) reaches a fork in progress too.
 *
 * Should:   signal the processes below one leader (Z5).
 * Must not: signal a leader; keep the session stopped.
 * Fails:    open: an attempt that lists nothing signals nothing, and the supervisor repeats it. */
#include "linux/warm.h"

#include "linux/census.h"
#include "linux/reaper.h"
#include "linux/spawn.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* A fork that was in progress at SIGSTOP has created its process by then. */
#define SETTLE_MS 2

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

static bool has_command(const struct warm_slot *s) {
	uint64_t exec = atomic_load(&s->exec);

	return exec != 0 && exec != WARM_WAITS;
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

static struct warm_slot *slot_of(struct warm_state *w, uint64_t exec) {
	for (size_t i = 0; exec != 0 && i < WARM_SLOTS; i++) {
		if (atomic_load(&w->slots[i].exec) == exec) {
			return &w->slots[i];
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

	return s == NULL || !has_command(s) ? 0 : atomic_load(&s->exec);
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

/* Every process below the leader that can be found now. */
static void signal_listed(pid_t leader, int number) {
	struct census c;
	struct census_sum unused;

	if (!census_init(&c, leader, (uint64_t)4096)) { /* the page size is for sums only */
		return;
	}
	(void)census_take(&c, &unused); /* false: the leader itself is hidden */
	for (size_t i = 0; i < c.count; i++) {
		if (c.rows[i].ours && c.rows[i].pid != leader) {
			(void)kill(c.rows[i].pid, number); /* it may have ended */
		}
	}
	census_done(&c);
}

static void signal_slot(const struct warm_slot *s, int number) {
	pid_t leader = s == NULL ? 0 : atomic_load(&s->leader);

	if (leader <= 0) {
		return; /* not started yet, or it has ended */
	}
	signal_listed(leader, number);
	if (number == SIGTERM) {
		signal_listed(leader, SIGCONT); /* a stopped process does not handle SIGTERM */
	}
}

/* One attempt to signal every process of a command's tree, below its leader; exec 0: of all
 * commands. */
static void signal_tree(struct warm_state *w, uint64_t exec, int number) {
	if (exec != 0) {
		signal_slot(slot_of(w, exec), number);
		return;
	}
	for (size_t i = 0; i < WARM_SLOTS; i++) {
		if (has_command(&w->slots[i])) {
			signal_slot(&w->slots[i], number);
		}
	}
}

size_t warm_commands(const struct warm_state *w) {
	size_t n = 0;

	for (size_t i = 0; i < WARM_SLOTS; i++) {
		n += has_command(&w->slots[i]);
	}
	return n;
}

static void kill_frozen(struct warm_state *w, const struct reaper *r, uint64_t exec) {
	const struct timespec settle = {.tv_nsec = SETTLE_MS * 1000000L};

	reaper_signal(r, SIGSTOP);
	for (int i = 0; i < 2; i++) {
		/* Whatever it returns, the list is made. */
		(void)syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &settle, NULL);
		signal_tree(w, exec, SIGKILL);
	}
	reaper_signal(r, SIGCONT);
}

void warm_execute(struct warm_state *w, const struct reaper *r, const struct order *o) {
	switch ((enum order_kind)o->kind) {
	case ORDER_EXEC_SIGNAL:
		signal_group(w, o->exec, o->value);
		break;
	case ORDER_EXEC_TREE:
		signal_tree(w, o->exec, o->value);
		break;
	case ORDER_EXEC_FREEZE:
		kill_frozen(w, r, o->exec);
		break;
	case ORDER_SIGNAL:
	case ORDER_END:
	case ORDER_PEER:
	case ORDER_JOIN:
		break;
	}
}
