/* SPDX-License-Identifier: Apache-2.0 */
/* Chooses the CPU affinity mask of a run (sched_setaffinity).
 *
 * Should:   choose processors once, before the command exists.
 * Must not: choose one that the caller may not use.
 * Fails:    closed: an affinity that cannot be read stops the run. */
#include "linux/processors.h"

#include "base/raw_call.h"

#include <errno.h>
#include <string.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <unistd.h>

#define WHERE "limits"

static int is_set(const unsigned char *mask, size_t i) {
	return mask[i / 8] >> (i % 8) & 1;
}

int64_t processors_keep(unsigned char *mask, size_t len, int64_t count, size_t first) {
	int64_t left = 0;

	for (size_t i = 0; i < len * 8; i++) {
		size_t at = (first + i) % (len * 8);
		if (is_set(mask, at) && left < count) {
			left++;
		} else {
			mask[at / 8] &= (unsigned char)~(1U << (at % 8));
		}
	}
	return left;
}

static int64_t count_set(const unsigned char *mask, size_t len) {
	int64_t n = 0;

	for (size_t i = 0; i < len * 8; i++) {
		n += is_set(mask, i);
	}
	return n;
}

/* The number of the n-th set bit. */
static size_t nth(const unsigned char *mask, size_t len, int64_t n) {
	size_t at = 0;

	while (at < len * 8 && (!is_set(mask, at) || n-- > 0)) {
		at++;
	}
	return at;
}

int processors_choose(struct arena *a, int64_t count, unsigned char **ret, size_t *ret_len,
		      struct err *e) {
	unsigned char *mask = arena_alloc(a, PROCESSORS_SIZE);
	uint32_t random = 0;

	if (mask == NULL) {
		return err_memory(e, WHERE);
	}
	memset(mask, 0, PROCESSORS_SIZE);
	long len = syscall(SYS_sched_getaffinity, 0, PROCESSORS_SIZE, mask);
	if (len <= 0) {
		return err_sys(e, WHERE, "cannot read the CPU affinity of this process");
	}
	int64_t all = count_set(mask, (size_t)len);
	*ret = NULL;
	if (all <= count) {
		return 0;
	}
	if (getrandom(&random, sizeof random, 0) != (ssize_t)sizeof random) {
		return err_sys(e, WHERE, "cannot get random bytes to choose processors");
	}
	size_t first = nth(mask, (size_t)len, (int64_t)(random % (uint64_t)all));
	(void)processors_keep(mask, (size_t)len, count, first); /* the mask has more than `count` */
	*ret = mask;
	*ret_len = (size_t)len;
	return 0;
}

void processors_read(struct processors *ret) {
	long len = syscall(SYS_sched_getaffinity, 0, sizeof ret->mask, ret->mask);

	ret->len = len > 0 ? (size_t)len : 0;
}

bool processors_are_several(const struct processors *p) {
	return count_set(p->mask, p->len) > 1;
}

void processors_without(struct processors *p, unsigned number) {
	if (number / 8 < p->len) {
		p->mask[number / 8] &= (unsigned char)~(1U << number % 8);
	}
}

void processors_only(struct processors *p, unsigned number) {
	for (size_t i = 0; i < p->len; i++) {
		p->mask[i] = 0;
	}
	if (number / 8 < p->len) {
		p->mask[number / 8] = (unsigned char)(1U << number % 8);
	}
}

static long set(pid_t pid, const struct processors *p) {
	return raw_call(SYS_sched_setaffinity, pid, (long)p->len, raw_pointer(p->mask));
}

void processors_stay(void) {
	struct processors here;
	unsigned now = 0;

	here.len = sizeof here.mask;
	if (raw_call(SYS_getcpu, raw_pointer(&now), 0, 0) == 0 && now < 8 * sizeof here.mask) {
		processors_only(&here, now);
		here.len = now / 8 + 1; /* the kernel takes the others as 0 */
		(void)set(0, &here);    /* it is faster, no more */
	}
}

/* Where a filter around this run refuses the call, it has refused the moves, too. */
static bool is_unmoved(pid_t pid, const struct processors *p) {
	unsigned char now[PROCESSORS_SIZE];
	long len = raw_call(SYS_sched_getaffinity, pid, sizeof now, raw_pointer(now));
	return len == (long)p->len && memcmp(now, p->mask, (size_t)len) == 0;
}

long processors_restore(pid_t pid, const struct processors *p) {
	long rc = set(pid, p);
	if (rc == -EINVAL) { /* the host has taken all of them from its cgroup: all that it has */
		struct processors all = {.len = p->len};
		memset(all.mask, 0xff, all.len);
		rc = set(pid, &all);
	}
	return rc == 0 || is_unmoved(pid, p) ? 0 : rc;
}
