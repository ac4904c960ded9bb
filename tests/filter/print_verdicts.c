/* SPDX-License-Identifier: Apache-2.0 */
/* Prints a golden file for review: print_verdicts x86_64|aarch64|riscv64 [VARIANT] > golden_….txt
 */
#include "verdicts.h"

#include "base/str.h"

static const struct variant *variant_named(const char *name) {
	for (size_t i = 0; i < variants_count; i++) {
		if (streq(variants[i].name, name)) {
			return &variants[i];
		}
	}
	return NULL;
}

static bool arch_named(const char *name, enum bpf_arch *ret) {
	static const char *const names[] = {[BPF_ARCH_X86_64] = "x86_64",
					    [BPF_ARCH_AARCH64] = "aarch64",
					    [BPF_ARCH_RISCV64] = "riscv64"};

	for (enum bpf_arch arch = 0; arch < BPF_ARCHS; arch++) {
		if (streq(names[arch], name)) {
			*ret = arch;
			return true;
		}
	}
	return false;
}

int main(int argc, char **argv) {
	struct bpf_options options = {.arch = BPF_ARCH_X86_64};
	struct sock_fprog program;
	struct arena arena;
	struct buf text;
	struct err e;

	const struct variant *v = variant_named(argc > 2 ? argv[2] : "");
	if (argc < 2 || v == NULL || !arch_named(argv[1], &options.arch)) {
		fprintf(stderr, "usage: print_verdicts x86_64|aarch64|riscv64 "
				"[_standard|_names|_patterns|_exceptions|_changes_standard|_watch|"
				"_alone|_minimal|_gate|_gate_standard|_pinned|_pinned_standard|"
				"_exec|_exec_standard]\n");
		return 2;
	}
	options.traits = v->traits;
	arena_init(&arena);
	buf_init(&text);
	if (bpf_build(&arena, &options, &program, &e) != 0) {
		fprintf(stderr, "%s: %s\n", e.where, e.what);
		return 1;
	}
	verdicts_write(options.arch, &program, &text);
	fputs(text.data, stdout);
	buf_done(&text);
	arena_done(&arena);
	return 0;
}
