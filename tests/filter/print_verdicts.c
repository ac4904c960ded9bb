/* SPDX-License-Identifier: Apache-2.0 */
/* Prints a golden file for review: print_verdicts x86_64|aarch64 [VARIANT] > golden_….txt */
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

int main(int argc, char **argv) {
	struct bpf_options options = {.arch = BPF_ARCH_X86_64};
	struct sock_fprog program;
	struct arena arena;
	struct buf text;
	struct err e;

	const struct variant *v = variant_named(argc > 2 ? argv[2] : "");
	if (argc < 2 || v == NULL || (!streq(argv[1], "x86_64") && !streq(argv[1], "aarch64"))) {
		fprintf(stderr, "usage: print_verdicts x86_64|aarch64 "
				"[_standard|_names|_patterns|_exceptions|_changes_standard|_watch|"
				"_alone|_minimal|_gate|_gate_standard|_pinned|_pinned_standard|"
				"_exec|_exec_standard]\n");
		return 2;
	}
	options.traits = v->traits;
	if (streq(argv[1], "aarch64")) {
		options.arch = BPF_ARCH_AARCH64;
	}
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
