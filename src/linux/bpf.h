/* SPDX-License-Identifier: Apache-2.0 */
/* Builds the seccomp program from the tables in data/syscalls.c. */
#ifndef CORRAL_LINUX_BPF_H
#define CORRAL_LINUX_BPF_H

#include "base/arena.h"
#include "base/err.h"

#include <linux/filter.h>
#include <stdbool.h>
#include <stdint.h>

enum bpf_arch { BPF_ARCH_X86_64, BPF_ARCH_AARCH64, BPF_ARCH_RISCV64, BPF_ARCHS };

struct bpf_options {
	enum bpf_arch arch;
	unsigned traits;    /* enum syscall_trait */
	const bool *denied; /* by enum syscall_id: also refused, with EPERM; NULL: none */
};

/* The architecture of this build. */
enum bpf_arch bpf_native(void);

/* The finished program, in the arena.  Any architecture's program can be built
 * on any other, for tests; only the native one can be loaded. */
int bpf_build(struct arena *a, const struct bpf_options *o, struct sock_fprog *ret, struct err *e);

#endif
