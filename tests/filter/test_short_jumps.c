/* SPDX-License-Identifier: Apache-2.0 */
/* The same program with branches that reach only a few instructions: the
 * unconditional jumps and copies that a longer table would need. */
#include "linux/bpf.h"

#define JUMP_MAX 7
#define bpf_build bpf_build_short
#define bpf_native bpf_native_short
enum bpf_arch bpf_native_short(void);
int bpf_build_short(struct arena *a, const struct bpf_options *o, struct sock_fprog *ret,
		    struct err *e);
#include "linux/bpf.c"
#undef bpf_build
#undef bpf_native

#include "unit/test.h"

#include "base/auto.h"
#include "interpret.h"
#include "verdicts.h"

static char *verdicts(enum bpf_arch arch, struct sock_fprog *p) {
	struct buf text;

	buf_init(&text);
	verdicts_write(arch, p, &text);
	return buf_take(&text);
}

static void compare(const struct bpf_options *options) {
	struct sock_fprog longer, shorter;
	struct arena arena;
	struct err e;

	arena_init(&arena);
	REQUIRE(bpf_build(&arena, options, &shorter, &e) == 0);
	REQUIRE(bpf_build_short(&arena, options, &longer, &e) == 0);
	REQUIRE(program_valid(&longer));
	printf("# arch %d traits %#x: %u instructions instead of %u\n", options->arch,
	       options->traits, longer.len, shorter.len);
	CHECK(longer.len > shorter.len);
	for (size_t i = 0; i < longer.len; i++) {
		CHECK(longer.filter[i].jt <= JUMP_MAX && longer.filter[i].jf <= JUMP_MAX);
	}
	auto_free char *got = verdicts(options->arch, &longer);
	auto_free char *want = verdicts(options->arch, &shorter);
	CHECK_STR(got, want);
	arena_done(&arena);
}

TEST(far_targets_are_reached_by_trampolines) {
	for (size_t v = 0; v < variants_count; v++) {
		for (enum bpf_arch arch = BPF_ARCH_X86_64; arch < BPF_ARCHS; arch++) {
			compare(&(struct bpf_options){.arch = arch, .traits = variants[v].traits});
		}
	}
}

TEST(a_program_that_does_not_fit_is_an_error) {
	static struct program p;
	uint32_t label = emit(&p, BPF_RET | BPF_K, 0, 0, 0);

	for (size_t i = 0; i < 2 * PROGRAM_MAX; i++) {
		label = branch(&p, BPF_JEQ, 0, label, label);
	}
	CHECK(p.full);
	CHECK_INT(p.len, PROGRAM_MAX);
}

TESTS_MAIN
