/* SPDX-License-Identifier: Apache-2.0 */
/* Keeps a processor from halting while descriptors are handed over in quick succession.
 *
 * Theory.  SECCOMP_IOCTL_NOTIF_ADDFD wakes the caller without the hint that the guard is about to
 * sleep, so the scheduler chooses an idle processor for it.  In a virtual machine, waking a halted
 * processor takes 40 to 80 µs, several times as long as everything else that the broker does for
 * an open.  A thread with policy SCHED_IDLE that spins there keeps it from halting: the scheduler
 * counts such a processor as idle, and the caller preempts the thread at once.
 *
 * The guard judges hand-overs in groups.  A group that comes quickly, and whose hand-overs take as
 * long as waking a halted processor does, starts the thread; so it never starts where processors
 * wake up fast, nor on a busy machine, where none is halted.  It ends SPIN_NS after the last
 * hand-over, and after some groups, so that the guard measures again what a hand-over costs
 * without it.  Where hand-overs stay slow the guard does without it for the rest of the run.
 *
 * Should:   cost a plain run no system call; spin on time that no other process wants.
 * Must not: read or write anything but one word: the thread has no descriptor of its own, no
 *           memory but its stack, and it calls no libc, whose errno would be the guard's.  It is
 *           a thread of the guard, with its credentials, Landlock domain and blocked signals, and
 *           dies with it.  A helper process, which is a copy of the guard, has no such thread and
 *           must not create one (helper.c).
 * Fails:    open: hand-overs are slower without it. */
#include "linux/broker/spinner.h"

#include "base/auto.h"
#include "base/clock.h"
#include "linux/kernel_api.h"
#include "linux/raw_call.h"

#include <errno.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/syscall.h>

#define US ((int64_t)1000)

/* How long the thread spins after a hand-over. */
#define SPIN_NS (200 * US)

/* A hand-over that woke a halted processor.  A longer one waited for something else. */
#define SLOW_NS (30 * US)
#define LONG_NS (250 * US)
#define SLOW_MIN (SPINNER_GROUP * 3 / 4)

/* Hand-overs that are further apart on average are not worth a spinning processor. */
#define APART_NS (300 * US)

/* Groups after which the guard measures a group without the thread: that costs about 2 % of the
 * gain, and a thread on a machine that has become busy meanwhile is not renewed. */
#define GROUPS_SPUN 128

/* Groups in a row that were slow in spite of the thread, or because of it. */
#define IN_VAIN_MAX 4

/* ---- the thread ---- */

/* The word that guard and thread share.  Each change but the first and the last is a
 * compare-and-swap, so that no order is lost and no thread is created twice:
 *     GONE ──guard──> ORDERED ──thread──> SPINNING ──thread──> LEAVING ──kernel──> GONE
 *                        ^──────guard────────┘                        CLONE_CHILD_CLEARTID */
enum { GONE, ORDERED, SPINNING, LEAVING };
static _Alignas(64) atomic_uint word;

#define STACK 2048
static _Alignas(64) char stack[STACK];

/* Times that the thread reads the word before it looks at the clock: about a microsecond. */
#define READS 32

static bool change(unsigned from, unsigned to) {
	return atomic_compare_exchange_strong(&word, &from, to);
}

/* libc's would set errno, which this thread shares with the guard. */
static int64_t raw_now(void) {
	struct timespec t = {0};

	(void)raw_call(SYS_clock_gettime, CLOCK_MONOTONIC, raw_pointer(&t)); /* as clock_ms() */
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void relax(void) {
#if defined(__x86_64__)
	__asm__ volatile("pause");
#elif defined(__aarch64__)
	__asm__ volatile("isb");
#elif defined(__riscv)
	__asm__ volatile(".insn i 0x0F, 0, x0, x0, 0x010"); /* pause, a hint */
#endif
}

static void spin_until_left_alone(void) {
	int64_t until = 0;

	for (;;) {
		if (change(ORDERED, SPINNING)) {
			until = raw_now() + SPIN_NS;
		}
		for (int i = 0; i < READS && atomic_load(&word) == SPINNING; i++) {
			relax();
		}
		if (raw_now() >= until && change(SPINNING, LEAVING)) {
			return;
		}
	}
}

static _Noreturn void spinner_thread(void) {
	const struct sched_attributes idle = {.size = sizeof idle, .policy = SCHED_IDLE};

	/* It never spins with another policy (K8). */
	if (raw_call(SYS_sched_setattr, 0, raw_pointer(&idle), 0) == 0) {
		spin_until_left_alone();
	}
	for (;;) {
		(void)raw_call(SYS_exit, 0);
	}
}

/* The system call, whose child calls spinner_thread() on the stack that ends at `top`. */
#if defined(__x86_64__)
static long clone_call(long flags, long top) {
	long result;
	register long r10 __asm__("r10") = raw_pointer(&word);

	__asm__ volatile("syscall\n\t"
			 "test %%rax, %%rax\n\t"
			 "jnz 1f\n\t"
			 "xor %%ebp, %%ebp\n\t"
			 "call *%[thread]\n"
			 "1:"
			 : "=a"(result)
			 : "a"((long)SYS_clone), "D"(flags), "S"(top), "d"(0L),
			   "r"(r10), [thread] "r"(spinner_thread)
			 : "rcx", "r11", "memory");
	return result;
}
#elif defined(__aarch64__)
static long clone_call(long flags, long top) {
	register long x8 __asm__("x8") = SYS_clone;
	register long x0 __asm__("x0") = flags;
	register long x1 __asm__("x1") = top;
	register long x2 __asm__("x2") = 0;
	register long x3 __asm__("x3") = 0;
	register long x4 __asm__("x4") = raw_pointer(&word);

	__asm__ volatile("svc 0\n\t"
			 "cbnz x0, 1f\n\t"
			 "mov x29, xzr\n\t"
			 "blr %[thread]\n"
			 "1:"
			 : "+r"(x0)
			 : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), [thread] "r"(spinner_thread)
			 : "memory", "x30");
	return x0;
}
#elif defined(__riscv)
static long clone_call(long flags, long top) {
	register long a7 __asm__("a7") = SYS_clone;
	register long a0 __asm__("a0") = flags;
	register long a1 __asm__("a1") = top;
	register long a2 __asm__("a2") = 0;
	register long a3 __asm__("a3") = 0;
	register long a4 __asm__("a4") = raw_pointer(&word);

	__asm__ volatile("ecall\n\t"
			 "bnez a0, 1f\n\t"
			 "mv s0, zero\n\t"
			 "jalr %[thread]\n"
			 "1:"
			 : "+r"(a0)
			 : "r"(a7), "r"(a1), "r"(a2), "r"(a3), "r"(a4), [thread] "r"(spinner_thread)
			 : "memory", "ra");
	return a0;
}
#endif

/* clone(2) of a thread.  libc's function is not for threads that it does not know. */
static long clone_thread(void) {
	return clone_call(CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD |
				  CLONE_SYSVSEM | CLONE_CHILD_CLEARTID,
			  raw_pointer(stack + sizeof stack));
}

int spinner_spin(void) {
	if (!change(GONE, ORDERED)) {
		(void)change(SPINNING, ORDERED); /* it is leaving: the next hand-over creates one */
		return 0;
	}
	long made = clone_thread();
	if (made < 0) {
		atomic_store(&word, GONE);
	}
	return made < 0 ? (int)made : 0;
}

/* ---- the decision ---- */

static int64_t clock_ns(void) {
	struct timespec t = {0};

	(void)clock_gettime(CLOCK_MONOTONIC, &t); /* fails only for an unknown clock */
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* On one processor the caller runs where the guard ran, and a spinning thread only gets in the
 * way. */
static bool has_processors(void) {
	unsigned long mask[1024 / (8 * sizeof(unsigned long))] = {0};
	long len = syscall(SYS_sched_getaffinity, 0, sizeof mask, mask);
	size_t words = 0;

	if (len < 0) {
		return errno == EINVAL; /* more than 1024 processors */
	}
	for (size_t i = 0; i < ARRAY_LEN(mask); i++) {
		if ((mask[i] & (mask[i] - 1)) != 0) {
			return true; /* two bits of one word */
		}
		words += mask[i] != 0;
	}
	return words > 1;
}

static void begin_spinning(struct spinner *s) {
	if (has_processors()) {
		s->groups_left = GROUPS_SPUN;
		s->without = s->spent;
	} else {
		s->off = true;
	}
}

/* After a group with the thread: whether that helped. */
static void judge_thread(struct spinner *s, bool quick) {
	bool helped = s->spent < s->without / 10 * 9;

	s->in_vain = helped ? 0 : s->in_vain + 1;
	s->off = s->in_vain >= IN_VAIN_MAX;
	s->groups_left = quick ? s->groups_left - 1 : 0;
}

bool spinner_judge(struct spinner *s, int64_t begun, int64_t now) {
	int64_t took = now - begun;

	if (s->count == 0) {
		s->since = begun;
		s->spent = s->slow = 0;
	}
	s->spent += took;
	s->slow += took >= SLOW_NS && took <= LONG_NS;
	if (++s->count < SPINNER_GROUP) {
		return s->groups_left > 0;
	}
	s->count = 0;
	bool quick = now - s->since <= SPINNER_GROUP * APART_NS;
	if (s->groups_left > 0) {
		judge_thread(s, quick);
	} else if (quick && s->slow >= SLOW_MIN) {
		begin_spinning(s);
	}
	return s->groups_left > 0 && !s->off;
}

int64_t spinner_begin(const struct spinner *s) {
	return s->off ? 0 : clock_ns();
}

void spinner_handed_over(struct spinner *s, int64_t begun) {
	if (!s->off && spinner_judge(s, begun, clock_ns()) && spinner_spin() != 0) {
		s->off = true; /* no process is left to this run */
	}
}
