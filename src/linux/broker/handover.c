/* SPDX-License-Identifier: Apache-2.0 */
/* Installs descriptors in callers, on one processor where waking another one takes long.
 *
 * Theory.  In SECCOMP_IOCTL_NOTIF_ADDFD the guard wakes the caller, which installs the descriptor
 * itself, and sleeps until the caller wakes it.  Neither wake-up has the hint of
 * SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP, so on an idle machine the scheduler keeps the two on two
 * processors: each halts while the other one works, and every hand-over sends two interrupts.  In
 * a virtual machine that takes 80 µs, several times as long as all else that the broker does.
 *
 * So the guard pins itself to its processor, and for the time of the hand-over the caller, which
 * is blocked in its call, to the same one.  It installs the descriptor without answering, restores
 * the caller's CPU mask, and answers by SECCOMP_IOCTL_NOTIF_SEND, which has the hint.  That is two
 * context switches and three system calls more, about 8 µs.
 *
 * The guard judges hand-overs in groups.  A group to one thread that comes quickly, and whose
 * hand-overs take as long as waking a halted processor does, begins it; so it never begins where
 * processors wake up fast, nor with several threads, which are better off on several processors.
 * After some groups the guard measures again what a hand-over costs without it.  Where hand-overs
 * do not get faster the guard does without it for the rest of the run.
 *
 * Should:   leave no trace in the caller (K8): its CPU mask is read before, and restored while it
 *           is still blocked, so that neither it nor a child of it sees another one.  A thread
 *           of the run that sets the mask of the blocked caller in these microseconds loses.
 *           A thread that calls execve takes the id of the first thread, which may be the caller:
 *           so the guard checks that the caller waits, and restores no mask that it did not set.
 * Must not: be used for a caller that a signal can interrupt between the two steps: it would
 *           repeat its call with a descriptor too many (SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV).
 * Fails:    safe: in one step, where the kernel refuses to move the caller. */
#include "linux/broker/handover.h"

#include "base/auto.h"
#include "linux/broker/call.h"

#include <errno.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>

#define US ((int64_t)1000)

/* A hand-over that woke a halted processor.  A longer one waited for something else. */
#define SLOW_NS (30 * US)
#define LONG_NS (250 * US)
#define SLOW_MIN (HANDOVER_GROUP * 3 / 4)

/* Hand-overs that are further apart on average are not worth it. */
#define APART_NS (300 * US)

/* Groups after which the guard measures a group without: that costs about 2 % of the gain. */
#define GROUPS_PINNED 128

/* Groups in a row that were no faster on one processor. */
#define IN_VAIN_MAX 4

/* ---- CPU masks ---- */

/* Of up to 1024 processors.  On a larger machine the kernel returns EINVAL, and every hand-over is
 * made in one step. */
#define WORD_BITS (8 * sizeof(unsigned long))
#define WORDS (1024 / WORD_BITS)

struct mask {
	unsigned long words[WORDS];
	size_t len; /* bytes that the kernel uses */
};

static bool mask_read(pid_t tid, struct mask *ret) {
	memset(ret, 0, sizeof *ret);
	long len = syscall(SYS_sched_getaffinity, tid, sizeof ret->words, ret->words);

	ret->len = len > 0 ? (size_t)len : 0;
	return len > 0;
}

static bool mask_set(pid_t tid, const struct mask *m) {
	return syscall(SYS_sched_setaffinity, tid, m->len, m->words) == 0;
}

static bool mask_has(const struct mask *m, unsigned cpu) {
	return cpu / WORD_BITS < WORDS && (m->words[cpu / WORD_BITS] >> cpu % WORD_BITS & 1) != 0;
}

static struct mask mask_of(unsigned cpu, size_t len) {
	struct mask m = {.len = len};

	m.words[cpu / WORD_BITS] = 1UL << cpu % WORD_BITS;
	return m;
}

static bool mask_equal(const struct mask *a, const struct mask *b) {
	return memcmp(a->words, b->words, sizeof a->words) == 0;
}

static bool mask_has_several(const struct mask *m) {
	size_t words = 0;

	for (size_t i = 0; i < WORDS; i++) {
		if ((m->words[i] & (m->words[i] - 1)) != 0) {
			return true; /* two bits of one word */
		}
		words += m->words[i] != 0;
	}
	return words > 1;
}

/* ---- on one processor ---- */

/* Of this process, which has one thread: its processor while it is pinned, and its own mask. */
static struct {
	bool is_pinned;
	unsigned cpu;
	struct mask own;
} guard;

void handover_unpin(void) {
	if (guard.is_pinned) {
		/* EINVAL: none of these processors is left to us; then the kernel has chosen. */
		(void)mask_set(0, &guard.own);
		guard.is_pinned = false;
	}
}

static bool pin_guard(void) {
	unsigned cpu = 0;

	if (guard.is_pinned) {
		return true;
	}
	if (!mask_read(0, &guard.own) || syscall(SYS_getcpu, &cpu, NULL, NULL) != 0 ||
	    !mask_has(&guard.own, cpu)) {
		return false;
	}
	const struct mask one = mask_of(cpu, guard.own.len);
	guard.cpu = cpu;
	guard.is_pinned = mask_set(0, &one);
	return guard.is_pinned;
}

/* The caller's own mask.  If the host has taken all processors of it from the run meanwhile, the
 * caller gets all that the run has. */
static void restore(pid_t tid, const struct mask *m) {
	if (!mask_set(tid, m) && errno == EINVAL) {
		struct mask all = {.len = m->len};

		memset(all.words, 0xff, sizeof all.words);
		(void)mask_set(tid, &all); /* ESRCH: it was killed */
	}
}

/* In two steps.  *ret_moved false: the caller cannot be moved, and nothing was done. */
static int add_pinned(const struct call *c, const struct seccomp_notif_addfd *add,
		      bool *ret_moved) {
	struct seccomp_notif_addfd first = *add;
	struct mask callers;

	*ret_moved = false;
	if (!pin_guard() || !mask_read(c->tid, &callers) || !mask_has(&callers, guard.cpu) ||
	    !caller_waits(c)) {
		return -1;
	}
	const struct mask one = mask_of(guard.cpu, callers.len);
	if (!mask_set(c->tid, &one)) {
		return -1;
	}
	*ret_moved = true;
	first.flags &= ~(uint32_t)SECCOMP_ADDFD_FLAG_SEND;
	int got = call_ioctl(c->b, SECCOMP_IOCTL_NOTIF_ADDFD, &first);
	int error = errno;

	struct mask now;
	/* After a failure the id may be that of a thread with a mask of its own. */
	if (got >= 0 || (mask_read(c->tid, &now) && mask_equal(&now, &one))) {
		restore(c->tid, &callers);
	}
	if (got >= 0) {
		struct seccomp_notif_resp answer = {.id = c->id, .val = got};
		(void)call_ioctl(c->b, SECCOMP_IOCTL_NOTIF_SEND, &answer); /* ENOENT: killed */
	}
	errno = error;
	return got;
}

/* ---- the decision ---- */

static int64_t clock_ns(void) {
	struct timespec t = {0};

	(void)clock_gettime(CLOCK_MONOTONIC, &t); /* fails only for an unknown clock */
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void begin_pinned(struct handover *h) {
	struct mask own;

	/* On one processor the scheduler has no choice either. */
	if (mask_read(0, &own) && mask_has_several(&own)) {
		h->groups_left = GROUPS_PINNED;
		h->without = h->spent;
	} else {
		h->off = true;
	}
}

/* After a group on one processor: whether that helped. */
static void judge_pinned(struct handover *h, bool again) {
	bool helped = h->spent < h->without / 10 * 9;

	if (!h->mixed) {
		h->in_vain = helped ? 0 : h->in_vain + 1;
	}
	h->off = h->in_vain >= IN_VAIN_MAX;
	h->groups_left = again && !h->off ? h->groups_left - 1 : 0;
}

bool handover_judge(struct handover *h, pid_t tid, int64_t begun, int64_t now) {
	int64_t took = now - begun;

	if (h->count == 0) {
		h->since = begun;
		h->spent = h->slow = 0;
		h->tid = tid;
		h->mixed = false;
	}
	h->mixed = h->mixed || tid != h->tid;
	h->spent += took;
	h->slow += took >= SLOW_NS && took <= LONG_NS;
	if (++h->count < HANDOVER_GROUP) {
		return h->groups_left > 0 && !h->mixed;
	}
	h->count = 0;
	bool quick = !h->mixed && now - h->since <= HANDOVER_GROUP * APART_NS;
	if (h->groups_left > 0) {
		judge_pinned(h, quick);
	} else if (quick && h->slow >= SLOW_MIN) {
		begin_pinned(h);
	}
	return h->groups_left > 0;
}

int handover_add(const struct call *c, struct seccomp_notif_addfd *add) {
	struct handover *h = &c->b->handover;
	bool moved = false;

	if (h->off || !c->b->killable || (add->flags & SECCOMP_ADDFD_FLAG_SEND) == 0) {
		return call_ioctl(c->b, SECCOMP_IOCTL_NOTIF_ADDFD, add);
	}
	int64_t begun = clock_ns();
	int got = h->groups_left > 0 && !h->mixed && c->tid == h->tid ? add_pinned(c, add, &moved)
								      : -1;
	if (!moved) {
		got = call_ioctl(c->b, SECCOMP_IOCTL_NOTIF_ADDFD, add);
	}
	if (got >= 0 && !handover_judge(h, c->tid, begun, clock_ns())) {
		handover_unpin();
	}
	return got;
}
