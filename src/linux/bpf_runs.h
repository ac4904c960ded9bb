/* SPDX-License-Identifier: Apache-2.0 */
/* The actions of all system call numbers, as runs of consecutive numbers, for bpf.c. */
#ifndef CORRAL_LINUX_BPF_RUNS_H
#define CORRAL_LINUX_BPF_RUNS_H

#include "data/syscalls.h"
#include "linux/bpf.h"

#include <stddef.h>
#include <stdint.h>

/* The leaves of a search: 0 is allow, then the checks, then one for every errno, and last
 * the notification of the broker (SECCOMP_RET_USER_NOTIF). */
enum {
	LEAF_ALLOW = 0,
	LEAF_CHECK = 0,
	LEAF_ERRNO = CHECK_COUNT,
	LEAF_ASK = 255,
	LEAF_COUNT = 256,
};

/* The numbers from `first` to the next run's `first`, with the same leaf. */
struct bpf_run {
	uint32_t first;
	uint8_t leaf;
};

/* One above the newest number, for the last run, which is unbounded. */
#define BPF_RUNS_MAX (SYSCALL_NEWEST + 2)

/* The leaf of an errno, or of ASK_BROKER; `last` for LET_THROUGH. */
uint8_t bpf_runs_leaf(int error, unsigned last);

/* The runs of all numbers, and how many they are. */
size_t bpf_runs_collect(const struct bpf_options *o, struct bpf_run runs[BPF_RUNS_MAX]);

#endif
