/* SPDX-License-Identifier: Apache-2.0 */
/* Classic BPF as the kernel runs it for seccomp, for programs of any
 * architecture on any host. */
#ifndef CORRAL_TESTS_FILTER_INTERPRET_H
#define CORRAL_TESTS_FILTER_INTERPRET_H

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stdint.h>

struct outcome {
	uint32_t action; /* SECCOMP_RET_* with its data */
	unsigned steps;  /* instructions executed */
	unsigned args;   /* loads of anything but nr and arch */
};

/* True when the kernel would accept it: every path ends in a return, every
 * jump lands inside, every load is one aligned word of seccomp_data. */
bool program_valid(const struct sock_fprog *p);

/* Runs a valid program. */
struct outcome program_run(const struct sock_fprog *p, const struct seccomp_data *d);

/* Instructions on the longest path, whether or not any call takes it. */
unsigned program_longest(const struct sock_fprog *p);

/* "allow", "kill", "EPERM", …; a number in hexadecimal when it has no name here. */
const char *action_name(uint32_t action, char *space, size_t size);

#endif
