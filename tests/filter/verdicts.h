/* SPDX-License-Identifier: Apache-2.0 */
/* What the filter answers, as text for the golden files. */
#ifndef CORRAL_TESTS_FILTER_VERDICTS_H
#define CORRAL_TESTS_FILTER_VERDICTS_H

#include "base/buf.h"
#include "data/syscalls.h"
#include "linux/bpf.h"

#include <linux/seccomp.h>

/* What a plan may be, as far as the filter depends on it. */
struct variant {
	const char *name; /* "" for the namespaces engine */
	unsigned traits;
};

extern const struct variant variants[];
extern const size_t variants_count;

/* How a call can enter the kernel. */
enum entry { ENTRY_NATIVE, ENTRY_FOREIGN, ENTRY_X32, ENTRY_COUNT };

/* The architecture that seccomp_data carries for a call through this entry, and
 * the number; x86-64's foreign entry is i386, aarch64's is arm, riscv64's is riscv32. */
void entry_apply(enum bpf_arch arch, enum entry entry, uint32_t nr, struct seccomp_data *d);

/* The call's name, or "-" for a number that is in no row. */
const char *number_name(enum bpf_arch arch, uint32_t nr);

/* Every number through every entry, then the calls with arguments. */
void verdicts_write(enum bpf_arch arch, const struct sock_fprog *p, struct buf *out);

#endif
