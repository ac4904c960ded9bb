/* SPDX-License-Identifier: Apache-2.0 */
/* The filter's answers for every architecture, through an interpreter. */
#include "unit/test.h"

#include "verdicts.h"

#include "base/arena.h"
#include "base/auto.h"
#include "base/fd.h"
#include "interpret.h"

#include <errno.h>
#include <linux/audit.h>
#include <stddef.h>
#include <time.h>

/* Upper bounds with a little room; a change that exceeds one is a decision. */
#define LENGTH_BOUND 340        /* instructions; a longer program costs at load */
#define SHARED_LENGTH_BOUND 480 /* of an engine without namespaces */
#define LONGEST_BOUND 45        /* the longest path of all: socket(), the most examined call */
#define ALLOWED_STEPS_BOUND 14  /* executed for an allowed number without a check */
#define OPENAT_STEPS_BOUND 15   /* the hottest call with a check */
#define BUILD_BOUND_NS 200000   /* for bpf_build; the best of many runs takes a twentieth of it */

static const char *const arch_names[] = {
	[BPF_ARCH_X86_64] = "x86_64",
	[BPF_ARCH_AARCH64] = "aarch64",
	[BPF_ARCH_RISCV64] = "riscv64",
};

static struct arena arena;

static struct sock_fprog build_for(enum bpf_arch arch, unsigned traits) {
	struct bpf_options options = {.arch = arch, .traits = traits};
	struct sock_fprog program;
	struct err e;

	if (bpf_build(&arena, &options, &program, &e) != 0) {
		abort();
	}
	return program;
}

static struct sock_fprog build(enum bpf_arch arch) {
	return build_for(arch, 0);
}

#define EACH_ARCH(arch) for (enum bpf_arch arch = BPF_ARCH_X86_64; arch < BPF_ARCHS; arch++)

TEST(names_are_sorted_and_numbers_are_unique) {
	EACH_ARCH(arch) {
		bool seen[SYSCALL_NEWEST + 1] = {false};
		int newest = -1;

		for (size_t i = 0; i < CALL_COUNT; i++) {
			int nr = syscall_names[i].nr[arch];

			CHECK(i == 0 ||
			      strcmp(syscall_names[i - 1].name, syscall_names[i].name) < 0);
			CHECK(nr >= -1 && nr <= SYSCALL_NEWEST);
			if (nr >= 0 && nr <= SYSCALL_NEWEST) {
				CHECK(!seen[nr]);
				seen[nr] = true;
				newest = nr > newest ? nr : newest;
			}
		}
		CHECK_INT(newest, SYSCALL_NEWEST);
	}
}

TEST(rules_are_sorted_unique_and_complete) {
	bool seen[CALL_COUNT] = {false};

	for (size_t i = 0; i < syscall_rules_count; i++) {
		const struct syscall_rule *r = &syscall_rules[i], *before = r - 1;

		CHECK(i == 0 || before->group < r->group ||
		      (before->group == r->group && before->id < r->id));
		CHECK(!seen[r->id]);
		seen[r->id] = true;
		CHECK((r->verdict == RULE_REFUSE) == (r->error > 0));
		CHECK((r->verdict == RULE_CHECK) == (r->check != CHECK_NONE));
		CHECK(r->reason != NULL && r->reason[0] != '\0');
		CHECK(syscall_group_names[r->group] != NULL);
	}
}

TEST(rules_of_shared_engines_are_sorted_and_complete) {
	for (size_t i = 0; i < shared_rules_count; i++) {
		const struct syscall_rule *r = &shared_rules[i].rule;

		CHECK(i == 0 || shared_rules[i - 1].rule.id <= r->id);
		CHECK((r->verdict == RULE_REFUSE) == (r->error > 0));
		CHECK((r->verdict == RULE_CHECK) == (r->check != CHECK_NONE));
		CHECK(r->reason != NULL && r->reason[0] != '\0');
		CHECK(shared_rules[i].with != 0);
	}
}

TEST(every_check_is_used_and_well_formed) {
	bool used[CHECK_COUNT] = {[CHECK_NONE] = true};

	for (size_t i = 0; i < syscall_rules_count; i++) {
		used[syscall_rules[i].check] = true;
	}
	for (size_t i = 0; i < shared_rules_count; i++) {
		used[shared_rules[i].rule.check] = true;
	}
	for (size_t c = CHECK_NONE + 1; c < CHECK_COUNT; c++) {
		CHECK(used[c]);
		CHECK(syscall_checks[c].count > 0 || syscall_checks[c].base != CHECK_NONE ||
		      syscall_checks[c].answers != NULL);
		CHECK(syscall_checks[c].answers == NULL || syscall_checks[c].base == CHECK_NONE);
		size_t base = c, steps = 0;
		while (base != CHECK_NONE && steps <= CHECK_COUNT) {
			base = syscall_checks[base].base;
			steps++;
		}
		CHECK(base == CHECK_NONE); /* no circle */
		for (size_t i = 0; i < syscall_checks[c].count; i++) {
			const struct syscall_refusal *r = &syscall_checks[c].refusals[i];

			CHECK(r->error >= ASK_BROKER && r->reason != NULL);
			CHECK(r->count > 0 && r->count <= ARG_TESTS_MAX);
			for (size_t t = 0; t < r->count; t++) {
				CHECK(r->tests[t].arg < 6 && r->tests[t].mask != 0);
				CHECK((r->tests[t].op == ARG_ANY_BIT) == (r->tests[t].count == 0));
			}
		}
	}
}

/* The allow lists, and a call that each decides. */
static const struct {
	const struct arg_answers *list;
	enum syscall_id id;
} lists[] = {
	{&ioctl_answers, CALL_ioctl},
	{&prctl_answers, CALL_prctl},
	{&sockopt_answers, CALL_setsockopt},
};

TEST(allow_lists_are_sorted_and_give_reasons) {
	for (size_t l = 0; l < ARRAY_LEN(lists); l++) {
		const struct arg_answers *a = lists[l].list;

		CHECK(a->count > 0 && a->count <= ARG_ANSWERS_MAX && a->otherwise > 0);
		for (size_t i = 0; i < a->count; i++) {
			CHECK(i == 0 || a->rows[i - 1].value < a->rows[i].value);
			CHECK(a->rows[i].error >= LET_THROUGH);
			CHECK(a->rows[i].error != a->otherwise); /* that needs no row */
			CHECK(a->rows[i].name[0] != '\0' && a->rows[i].reason[0] != '\0');
		}
	}
}

static uint32_t listed_action(const struct arg_answers *a, uint32_t value) {
	int error = a->otherwise;

	for (size_t i = 0; i < a->count; i++) {
		error = a->rows[i].value == value ? a->rows[i].error : error;
	}
	return error == LET_THROUGH ? SECCOMP_RET_ALLOW : SECCOMP_RET_ERRNO | (uint32_t)error;
}

static void compare_value(const struct sock_fprog *p, enum bpf_arch arch, size_t list,
			  uint32_t value) {
	const struct arg_answers *a = lists[list].list;
	uint32_t want = listed_action(a, value);

	for (uint64_t high = 0; high < 3; high++) {
		struct seccomp_data d = {0};

		entry_apply(arch, ENTRY_NATIVE, (uint32_t)syscall_names[lists[list].id].nr[arch],
			    &d);
		d.args[a->arg] = (a->pair ? value >> 16 : value) | high * 0x7fffffff00000000ull;
		d.args[a->arg + 1] = a->pair ? (value & 0xffff) | high << 40 : 0;
		if (program_run(p, &d).action != want) {
			printf("# %s %llx\n", syscall_names[lists[list].id].name,
			       (unsigned long long)d.args[a->arg]);
			test_failed = true;
		}
	}
}

/* Each row, what differs from it by one bit or by one, and every small number. */
TEST(allow_lists_decide_by_the_low_word_alone) {
	EACH_ARCH(arch) {
		struct sock_fprog p = build(arch);

		for (size_t l = 0; l < ARRAY_LEN(lists); l++) {
			const struct arg_answers *a = lists[l].list;

			for (size_t i = 0; i < a->count; i++) {
				uint32_t value = a->rows[i].value;

				compare_value(&p, arch, l, value);
				compare_value(&p, arch, l, value + 1);
				compare_value(&p, arch, l, value - 1);
				for (unsigned bit = 0; bit < 32; bit++) {
					compare_value(&p, arch, l, value ^ 1u << bit);
				}
			}
			for (uint32_t value = 0; value <= 0xffff; value++) {
				compare_value(&p, arch, l, value);
			}
		}
	}
}

/* A half that does not fit into 16 bits must not run into the other. */
TEST(pairs_are_compared_as_pairs) {
	static const uint64_t odd[][2] = {{0x10001, 2},     {1, 0x10002},    {0, 0x10002},
					  {0x10000, 2},     {0xffffffff, 2}, {1, 0xffffffff},
					  {0x80000001, 2},  {1, 0x80000002}, {2, 1},
					  {0, 0x10000 | 2}, {0x60000, 1},    {0, 0x60001}};

	EACH_ARCH(arch) {
		struct sock_fprog p = build(arch);

		for (size_t i = 0; i < ARRAY_LEN(odd); i++) {
			struct seccomp_data d = {.args = {3, odd[i][0], odd[i][1]}};

			entry_apply(arch, ENTRY_NATIVE,
				    (uint32_t)syscall_names[CALL_setsockopt].nr[arch], &d);
			CHECK_INT(program_run(&p, &d).action, SECCOMP_RET_ERRNO | ENOPROTOOPT);
		}
	}
}

TEST(the_programs_would_pass_the_kernels_checker) {
	EACH_ARCH(arch) {
		struct sock_fprog p = build(arch);

		CHECK(program_valid(&p));
		CHECK_INT(p.filter[0].code, BPF_LD | BPF_W | BPF_ABS);
		CHECK_INT(p.filter[0].k, offsetof(struct seccomp_data, arch));
	}
}

/* Reports the first line that differs. */
static void compare_lines(const char *got, const char *want) {
	for (int line = 1; *got != '\0' || *want != '\0'; line++) {
		int g = (int)strcspn(got, "\n"), w = (int)strcspn(want, "\n");

		if (g != w || strncmp(got, want, (size_t)g) != 0) {
			printf("# line %d: got \"%.*s\", golden \"%.*s\"\n", line, g, got, w, want);
			test_failed = true;
			return;
		}
		got += g + (got[g] == '\n');
		want += w + (want[w] == '\n');
	}
}

static void compare_variant(enum bpf_arch arch, const struct variant *v) {
	struct sock_fprog p = build_for(arch, v->traits);
	struct buf got, want;
	char path[256];

	(void)snprintf(path, sizeof path, GOLDEN_DIR "/golden_%s%s.txt", arch_names[arch], v->name);
	buf_init(&got);
	buf_init(&want);
	verdicts_write(arch, &p, &got);
	if (fd_read_file(path, 1 << 20, &want) != 0) {
		printf("# cannot read %s\n", path);
		test_failed = true;
	} else {
		compare_lines(got.data, want.data);
	}
	buf_done(&got);
	buf_done(&want);
}

TEST(every_answer_is_the_golden_one) {
	EACH_ARCH(arch) {
		for (size_t i = 0; i < variants_count; i++) {
			compare_variant(arch, &variants[i]);
		}
	}
}

TEST(programs_of_shared_engines_are_valid_and_bounded) {
	EACH_ARCH(arch) {
		for (size_t i = 1; i < variants_count; i++) {
			struct sock_fprog p = build_for(arch, variants[i].traits);

			printf("# arch %d%s: %u instructions, longest path %u\n", arch,
			       variants[i].name, p.len, program_longest(&p));
			CHECK(program_valid(&p));
			CHECK(p.len <= SHARED_LENGTH_BOUND);
		}
	}
}

/* A question that nobody answers would make its caller wait for ever. */
TEST(nothing_is_asked_without_a_broker) {
	for (size_t i = 0; i < shared_rules_count; i++) {
		const struct shared_rule *r = &shared_rules[i];
		const struct syscall_check *c = &syscall_checks[r->rule.check];
		bool asks = r->rule.verdict == RULE_ASK || c->ask;

		for (size_t k = 0; k < c->count; k++) {
			asks = asks || c->refusals[k].error == ASK_BROKER;
		}
		CHECK(!asks || (r->with &
				~(unsigned)(TRAIT_NO_NAMESPACES | TRAIT_NO_NET | TRAIT_OPEN)) != 0);
	}
}

static bool has_row(enum bpf_arch arch, uint32_t nr) {
	return nr <= SYSCALL_NEWEST && strcmp(number_name(arch, nr), "-") != 0;
}

static void compare_unknown(const struct sock_fprog *p, enum bpf_arch arch, uint32_t nr) {
	for (int ones = 0; ones < 2; ones++) {
		uint64_t fill = ones ? ~0ull : 0;
		struct seccomp_data d = {.args = {fill, fill, fill, fill, fill, fill}};

		entry_apply(arch, ENTRY_NATIVE, nr, &d);
		CHECK_INT(program_run(p, &d).action, SECCOMP_RET_ERRNO | ENOSYS);
	}
}

/* A program's answer changes nowhere but at numbers that it compares with, so that these
 * and their neighbours stand for all: calls of newer kernels, x32, negative numbers. */
TEST(a_number_without_a_row_is_enosys) {
	EACH_ARCH(arch) {
		for (size_t v = 0; v < variants_count; v++) {
			struct sock_fprog p = build_for(arch, variants[v].traits);

			for (uint32_t nr = 0; nr <= 0x1000; nr++) {
				if (!has_row(arch, nr)) {
					compare_unknown(&p, arch, nr);
				}
				compare_unknown(&p, arch, nr | 0x40000000); /* x32 */
				compare_unknown(&p, arch, ~nr);
			}
			for (size_t i = 0; i < p.len; i++) {
				for (uint32_t nr = p.filter[i].k - 1; nr != p.filter[i].k + 2;
				     nr++) {
					if (!has_row(arch, nr)) {
						compare_unknown(&p, arch, nr);
					}
				}
			}
		}
	}
}

TEST(a_foreign_architecture_is_killed_whatever_the_number) {
	static const uint32_t foreign[] = {AUDIT_ARCH_I386,  AUDIT_ARCH_ARM,
					   AUDIT_ARCH_ARMEB, AUDIT_ARCH_MIPS,
					   AUDIT_ARCH_S390,  0,
					   0xffffffff,       AUDIT_ARCH_I386 | 0x80000000u};

	EACH_ARCH(arch) {
		struct sock_fprog p = build(arch);

		for (size_t i = 0; i < ARRAY_LEN(foreign); i++) {
			for (int nr = 0; nr < 1024; nr++) {
				struct seccomp_data d = {.nr = nr, .arch = foreign[i]};

				CHECK_INT(program_run(&p, &d).action, SECCOMP_RET_KILL_PROCESS);
			}
		}
	}
}

/* B3: the kernel's bitmap holds only answers that need neither arguments nor
 * the instruction pointer. */
TEST(a_call_without_a_check_is_decided_without_arguments) {
	EACH_ARCH(arch) {
		struct sock_fprog p = build(arch);
		bool checked[CALL_COUNT] = {false};

		for (size_t i = 0; i < syscall_rules_count; i++) {
			checked[syscall_rules[i].id] = syscall_rules[i].verdict == RULE_CHECK;
		}
		for (size_t i = 0; i < CALL_COUNT; i++) {
			struct seccomp_data d = {0};

			if (syscall_names[i].nr[arch] < 0) {
				continue;
			}
			entry_apply(arch, ENTRY_NATIVE, (uint32_t)syscall_names[i].nr[arch], &d);
			CHECK_INT(program_run(&p, &d).args > 0, checked[i]);
		}
	}
}

static unsigned steps_of(const struct sock_fprog *p, enum bpf_arch arch, enum syscall_id id) {
	struct seccomp_data d = {0};

	entry_apply(arch, ENTRY_NATIVE, (uint32_t)syscall_names[id].nr[arch], &d);
	return program_run(p, &d).steps;
}

TEST(the_programs_stay_within_their_bounds) {
	EACH_ARCH(arch) {
		struct sock_fprog p = build(arch);
		unsigned most = 0, total = 0, count = 0;

		for (uint32_t nr = 0; nr <= SYSCALL_NEWEST; nr++) {
			struct seccomp_data d = {0};
			struct outcome o;

			entry_apply(arch, ENTRY_NATIVE, nr, &d);
			o = program_run(&p, &d);
			if (o.action == SECCOMP_RET_ALLOW && o.args == 0) {
				most = o.steps > most ? o.steps : most;
				total += o.steps;
				count++;
			}
		}
		printf("# arch %d: %u instructions, longest path %u; allowed calls execute %u at "
		       "most, %.1f on average; openat %u\n",
		       arch, p.len, program_longest(&p), most, (double)total / count,
		       steps_of(&p, arch, CALL_openat));
		CHECK(p.len <= LENGTH_BOUND);
		CHECK(program_longest(&p) <= LONGEST_BOUND);
		CHECK(most <= ALLOWED_STEPS_BOUND);
		CHECK(steps_of(&p, arch, CALL_openat) <= OPENAT_STEPS_BOUND);
	}
}

static int64_t now_ns(void) {
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t); /* cannot fail with this clock */
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

TEST(building_takes_microseconds) {
	int64_t best = INT64_MAX;

	for (int i = 0; i < 200; i++) {
		int64_t start = now_ns(), took;

		(void)build(bpf_native());
		took = now_ns() - start;
		best = took < best ? took : best;
	}
	printf("# built in %lld ns\n", (long long)best);
#ifdef __SANITIZE_ADDRESS__
	SKIP("a sanitizer is measured here, not the program");
#endif
	if (getenv("CORRAL_TEST_TIMES") == NULL) {
		SKIP("compares times, which depend on the machine: `make proof` does");
	}
	CHECK(best < BUILD_BOUND_NS);
}

/* The filter's answer to a call with zero arguments. */
static uint32_t answer_to(const struct sock_fprog *p, enum bpf_arch arch, int nr) {
	struct seccomp_data d = {0};

	entry_apply(arch, ENTRY_NATIVE, (uint32_t)nr, &d);
	return program_run(p, &d).action;
}

/* seccomp.extra_deny. */
TEST(denied_calls_are_refused_and_no_other_call_changes) {
	bool denied[CALL_COUNT];

	for (size_t i = 0; i < CALL_COUNT; i++) {
		denied[i] = i % 3 == 0 || i == CALL_clone3 || i == CALL_ptrace;
	}
	for (size_t v = 0; v < variants_count; v++) {
		EACH_ARCH(arch) {
			struct bpf_options with = {
				.arch = arch, .traits = variants[v].traits, .denied = denied};
			struct sock_fprog narrow, wide = build_for(arch, variants[v].traits);
			struct err e;

			REQUIRE(bpf_build(&arena, &with, &narrow, &e) == 0);
			for (size_t i = 0; i < CALL_COUNT; i++) {
				int nr = syscall_names[i].nr[arch];
				if (nr < 0) {
					continue;
				}
				uint32_t before = answer_to(&wide, arch, nr);
				uint32_t after = answer_to(&narrow, arch, nr);
				bool refused =
					(before & SECCOMP_RET_ACTION_FULL) == SECCOMP_RET_ERRNO;
				if (!denied[i]) {
					CHECK_INT(after, before);
				} else if (!refused) {
					CHECK_INT(after, SECCOMP_RET_ERRNO | EPERM);
				} else { /* by its row, or for these arguments */
					CHECK((after & SECCOMP_RET_ACTION_FULL) ==
					      SECCOMP_RET_ERRNO);
				}
			}
			int clone3 = syscall_names[CALL_clone3].nr[arch];
			CHECK_INT(answer_to(&narrow, arch, clone3), SECCOMP_RET_ERRNO | ENOSYS);
		}
	}
}

TEST(a_call_is_found_by_its_name) {
	for (size_t i = 0; i < CALL_COUNT; i++) {
		CHECK_INT(syscall_by_name(syscall_names[i].name), i);
	}
	CHECK_INT(syscall_by_name("gotuid"), CALL_COUNT);
	CHECK_INT(syscall_by_name(""), CALL_COUNT);
	CHECK(syscall_needed(CALL_execve) != NULL && syscall_needed(CALL_ptrace) == NULL);
}

TEST(memory_is_returned) {
	arena_done(&arena);
	CHECK(arena.blocks == NULL);
}

TESTS_MAIN
