/* SPDX-License-Identifier: Apache-2.0 */
/* Clones, orders and reaps the early process (early.h has the theory).
 *
 * Should:   have the namespaces ready when the plan is.
 * Must not: touch memory of the supervisor, but its struct and its stack; leave a process behind.
 * Fails:    open: without it clone3() makes the namespaces, later. */
#include "linux/early.h"

#include "base/auto.h"
#include "base/fd.h"
#include "base/raw_call.h"
#include "base/signal_mask.h"
#include "linux/early_network.h"
#include "linux/kernel_api.h"
#include "linux/layers/unplanned.h"
#include "linux/processors.h"
#include "linux/signals_reset.h"

#include <errno.h>
#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>

/* The first process runs on it, too.  Pages that are not touched cost nothing. */
#define STACK ((size_t)1024 * 1024)
#define GUARD ((size_t)64 * 1024)
/* Of the network process, which makes system calls only. */
#define NETWORK_STACK ((size_t)64 * 1024)
/* From low addresses to high: guard, stack of the network process, guard, stack. */
#define MAPPED (GUARD + NETWORK_STACK + GUARD + STACK)
/* At the top of the mapping, for struct early. */
#define SLOT ((size_t)2048)

struct early {
	pid_t pid;
	pid_t parent;
	bool reaped;
	bool has_quotas;
	unsigned cpu;              /* the supervisor's, at the clone */
	struct processors allowed; /* the supervisor's mask */
	atomic_uint moved;         /* it may not use that CPU, or will not in a moment */
	atomic_uint begun;         /* it runs */
	atomic_uint ordered;       /* futex: 1 when the fields below are set */
	atomic_uint waits;         /* the early process sleeps on it */
	struct clone_args args;
	void (*child)(void *arg);
	void *arg;
	pid_t first; /* the pid of the first process, by CLONE_PARENT_SETTID; 0: none */
	int pidfd;
	int own_pidfd; /* a duplicate: the caller closes the other one; -1 */
	struct early_network network;
};
_Static_assert(sizeof(struct early) <= SLOT, "a struct that fits");

/* ---- the early process: system calls only (E8) ---- */

/* PR_SET_PDEATHSIG last: the kernel clears it when a process gets other credentials. */
static bool make_namespaces(const struct early *e) {
	return raw_call(SYS_unshare, CLONE_NEWUSER | EARLY_SPACES) == 0 &&
	       raw_call(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) == 0 && /* E8 */
	       raw_call(SYS_getppid, 0) == e->parent;
}

static long set_processors(pid_t pid, const struct processors *p) {
	return raw_call(SYS_sched_setaffinity, pid, (long)p->len, raw_pointer(p->mask));
}

/* Called by the supervisor after the clone and by the early process, whichever runs first.  Where
 * the kernel refuses, both take turns on one processor. */
static void leave_processor(struct early *e, pid_t pid) {
	struct processors others = e->allowed;

	processors_without(&others, e->cpu);
	(void)set_processors(pid, &others);
}

static void begin(struct early *e) {
	if (atomic_exchange(&e->moved, 1) == 0) {
		leave_processor(e, 0);
	}
	atomic_store(&e->begun, 1);
}

static void wait_for_order(struct early *e) {
	atomic_store(&e->waits, 1);
	while (atomic_load(&e->ordered) == 0) {
		(void)raw_call(SYS_futex, raw_pointer(&e->ordered), FUTEX_WAIT_PRIVATE, 0, 0);
	}
}

static bool clone_network(struct early *e) {
	char *stack_end = (char *)e + SLOT - STACK - GUARD;

	return early_network_clone(&e->network, stack_end) == 0;
}

static _Noreturn void early_run(struct early *e) {
	begin(e);
	if (make_namespaces(e) && clone_network(e) && capabilities_drop_bounding() == 0) {
		e->has_quotas = quotas_lower(false) == 0;
		signals_reset();
		wait_for_order(e);
		if (raw_call(SYS_clone3, raw_pointer(&e->args), sizeof e->args) == 0) {
			e->child(e->arg); /* the first process, with its own copy of memory */
		}
	}
	for (;;) {
		(void)raw_call(SYS_exit_group, 0);
	}
}

static int early_main(void *arg) {
	early_run(arg);
}

long early_join(const struct early *e, int supervisor) {
	return early_network_join(&e->network, supervisor);
}

bool early_has_quotas(const struct early *e) {
	return e != NULL && e->has_quotas;
}

/* ---- the supervisor ---- */

/* The sanitizer does not know the stack on which the first process would run. */
#if defined(__SANITIZE_ADDRESS__)
#define SANITIZED true
#elif defined(__has_feature)
#define SANITIZED __has_feature(address_sanitizer)
#else
#define SANITIZED false
#endif

static void unmap(struct early *e) {
	char *end = (char *)e + SLOT;

	(void)munmap(end - MAPPED, MAPPED); /* cannot fail for a mapping */
}

/* Without a system call: the vDSO has it. */
static unsigned current_processor(void) {
	int cpu = sched_getcpu();

	return cpu < 0 ? 0 : (unsigned)cpu;
}

/* The struct, at the end of a new mapping. */
static struct early *map_stacks(void) {
	const int anonymous = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK;
	char *place = mmap(NULL, MAPPED, PROT_NONE, anonymous, -1, 0);
	if (place == MAP_FAILED) {
		return NULL;
	}
	struct early *e = (struct early *)(void *)(place + MAPPED - SLOT);
	if (mprotect(place + MAPPED - STACK, STACK, PROT_READ | PROT_WRITE) != 0 ||
	    mprotect(place + GUARD, NETWORK_STACK, PROT_READ | PROT_WRITE) != 0) {
		unmap(e);
		return NULL;
	}
	return e;
}

struct early *early_start(void) {
	const int shared = CLONE_VM | CLONE_FILES;
	struct processors allowed;
	sigset_t all, before;

	processors_read(&allowed);
	struct early *e = SANITIZED || !processors_are_several(&allowed) ? NULL : map_stacks();
	if (e == NULL) {
		return NULL;
	}
	if (early_network_open(&e->network) != 0) {
		unmap(e);
		return NULL;
	}
	e->own_pidfd = -1;
	e->parent = getpid();
	e->allowed = allowed;
	e->cpu = current_processor();
	sigfillset(&all);
	signal_mask(SIG_SETMASK, &all, &before); /* E8 */
	e->pid = clone(early_main, e, shared, e);
	signal_mask(SIG_SETMASK, &before, NULL);
	if (e->pid < 0) {
		(void)early_network_end(&e->network, false); /* there is none */
		unmap(e);
		return NULL;
	}
	if (atomic_exchange(&e->moved, 1) == 0) {
		leave_processor(e, e->pid);
	}
	return e;
}

/* Returns true if it was killed. */
static bool reap(struct early *e) {
	e->reaped = true;
	return early_reap(e->pid);
}

/* This thread sleeps next, and waking another processor takes long.  A process that runs stays
 * where it is, but may come here when it has to wait for its processor. */
static void call_back(struct early *e) {
	struct processors here = e->allowed;

	if (atomic_load(&e->waits) != 0 || atomic_load(&e->begun) == 0) {
		processors_only(&here, current_processor());
	}
	(void)set_processors(e->pid, &here); /* it may have ended; then it is not moved */
}

long early_clone(struct early *e, const struct clone_args *args, void (*child)(void *arg),
		 void *arg, int *ret_pidfd) {
	*ret_pidfd = -1;
	if (e->reaped) {
		return 0; /* an attempt before this one has used it */
	}
	e->args = *args;
	e->args.flags |= CLONE_PARENT | CLONE_PARENT_SETTID;
	e->args.pidfd = (uint64_t)(uintptr_t)&e->pidfd;
	e->args.parent_tid = (uint64_t)(uintptr_t)&e->first;
	e->child = child;
	e->arg = arg;
	call_back(e);
	atomic_store(&e->ordered, 1);
	if (atomic_load(&e->waits) != 0) {
		/* It cannot fail for a word that is there. */
		(void)syscall(SYS_futex, &e->ordered, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
	}
	bool killed = reap(e);
	if (e->first > 0) {
		*ret_pidfd = e->pidfd;
		e->own_pidfd = fd_duplicate(e->pidfd, 3);
		if (killed) { /* or it ended by itself */
			(void)syscall(SYS_pidfd_send_signal, e->pidfd, SIGKILL, NULL, 0U);
		}
	} else if (killed) {
		errno = EOWNERDEAD;
		return -1;
	}
	return e->first;
}

void early_free(struct early *e) {
	if (e == NULL) {
		return;
	}
	if (!e->reaped) {
		(void)kill(e->pid, SIGKILL); /* not reaped: the pid is its own */
		(void)reap(e);
	}
	if (early_network_end(&e->network, e->first <= 0) && e->own_pidfd >= 0) {
		/* It may have sent the namespace before, or not. */
		(void)syscall(SYS_pidfd_send_signal, e->own_pidfd, SIGKILL, NULL, 0U);
	}
	drop_fd(&e->own_pidfd);
	unmap(e);
}
