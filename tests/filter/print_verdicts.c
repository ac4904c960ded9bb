/* Prints a golden file for review: print_verdicts x86_64|aarch64 > golden_….txt */
#include "verdicts.h"

#include "base/str.h"

int main(int argc, char **argv) {
	struct bpf_options options = {.arch = BPF_ARCH_X86_64};
	struct sock_fprog program;
	struct arena arena;
	struct buf text;
	struct err e;

	if (argc != 2 || (!streq(argv[1], "x86_64") && !streq(argv[1], "aarch64"))) {
		fprintf(stderr, "usage: print_verdicts x86_64|aarch64\n");
		return 2;
	}
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
