/* SPDX-License-Identifier: Apache-2.0 */
/* The seccomp filter of Corral as a profile for a container engine.
 *
 * A profile has no program, only lists of conditions that libseccomp compiles.  The tables of
 * data/syscalls.c refuse some values of an argument; here the allowed rest is written as cubes: in
 * each argument some bits are fixed.  A comparison of masked bits is the only one that ignores the
 * upper half of a register as the kernel does. */
#ifndef CORRAL_DOCKER_SECCOMP_JSON_H
#define CORRAL_DOCKER_SECCOMP_JSON_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "data/syscalls.h"

#define CUBE_ARGS 6

/* All calls whose arguments have these bits; a mask of 0 fixes nothing. */
struct cube {
	uint32_t mask[CUBE_ARGS], value[CUBE_ARGS];
};

struct cubes {
	struct cube *list;
	size_t count, cap;
};

/* The arguments with which the check allows a call.  -1: out of memory. */
int seccomp_json_cubes(struct arena *a, enum syscall_check_id check, struct cubes *ret);

/* denied: by enum syscall_id, from seccomp.extra_deny; NULL: none. */
int seccomp_json_write(struct arena *a, enum syscall_arch arch, const bool *denied, struct buf *out,
		       struct err *e);

#endif
