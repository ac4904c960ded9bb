/* The BPF builder on tables that nobody would write.
 *
 * The builder itself is included and reads tables of ours: other numbers for
 * calls, other rules, other checks, and branches that reach less far.  Its
 * program is run by the interpreter, and a naive reading of the same tables
 * says what the answer should be.  A program that does not fit is an error. */
#include "data/syscalls.h"
#include "linux/bpf.h"

static struct syscall_name fuzz_names[CALL_COUNT];
static struct syscall_rule fuzz_rules[CALL_COUNT];
static size_t fuzz_rules_count;
static struct syscall_check fuzz_checks[CHECK_COUNT];
static unsigned fuzz_jump_max;

#define syscall_names fuzz_names
#define syscall_rules fuzz_rules
#define syscall_rules_count fuzz_rules_count
#define syscall_checks fuzz_checks
#define JUMP_MAX fuzz_jump_max
#include "linux/bpf.c"
#undef syscall_names

#include "filter/interpret.h"
#include "fuzz.h"

/* Three refusals a check: more than any real one that has values in them. */
#define REFUSALS 3

static struct syscall_refusal refusals[CHECK_COUNT][REFUSALS];

/* ---- tables from an input ---- */

static int some_error(struct input *in) {
	return 1 + input_byte(in) % 133;
}

static void make_test(struct input *in, struct arg_test *t) {
	uint8_t shape = input_byte(in);
	*t = (struct arg_test){
		.arg = shape % 6,
		.op = (enum arg_op)(shape / 6 % 3),
		.mask = shape & 0x80 ? input_word(in) : UINT32_MAX,
		.count = 1 + shape % ARG_VALUES_MAX,
	};
	for (size_t i = 0; i < t->count; i++) {
		t->values[i] = shape & 0x40 ? input_word(in) : input_byte(in);
	}
}

static void make_checks(struct input *in) {
	for (size_t c = CHECK_NONE + 1; c < CHECK_COUNT; c++) {
		fuzz_checks[c] = (struct syscall_check){.refusals = refusals[c],
							.count = 1 + input_byte(in) % REFUSALS};
		for (size_t i = 0; i < fuzz_checks[c].count; i++) {
			struct syscall_refusal *r = &refusals[c][i];
			*r = (struct syscall_refusal){.count = 1 + input_byte(in) % ARG_TESTS_MAX,
						      .error = some_error(in)};
			for (size_t t = 0; t < r->count; t++) {
				make_test(in, &r->tests[t]);
			}
		}
	}
}

/* Two calls change places, or one is no longer there. */
static void edit_names(struct input *in) {
	memcpy(fuzz_names, syscall_names, sizeof fuzz_names);
	for (size_t n = input_byte(in) % 16; n > 0; n--) {
		size_t a = input_word(in) % CALL_COUNT, b = input_word(in) % CALL_COUNT;
		enum syscall_arch arch = input_byte(in) % SYSCALL_ARCHS;
		int16_t kept = fuzz_names[a].nr[arch];
		fuzz_names[a].nr[arch] = a == b ? -1 : fuzz_names[b].nr[arch];
		fuzz_names[b].nr[arch] = a == b ? -1 : kept;
	}
}

static bool has_rule(enum syscall_id id) {
	for (size_t i = 0; i < fuzz_rules_count; i++) {
		if (fuzz_rules[i].id == id) {
			return true;
		}
	}
	return false;
}

static void make_rules(struct input *in) {
	fuzz_rules_count = 0;
	while (in->left > 0 && fuzz_rules_count < CALL_COUNT) {
		uint8_t shape = input_byte(in);
		struct syscall_rule r = {
			.id = (enum syscall_id)(((unsigned)input_byte(in) << 8 | input_byte(in)) %
						CALL_COUNT),
			.verdict = (enum syscall_verdict)(shape % 3),
			.error = some_error(in),
			.check = (enum syscall_check_id)(1 + shape / 3 % (CHECK_COUNT - 1)),
		};
		if (!has_rule(r.id)) {
			fuzz_rules[fuzz_rules_count++] = r;
		}
	}
}

/* ---- the naive reading ---- */

static bool test_holds(const struct arg_test *t, const struct seccomp_data *d) {
	uint32_t low = (uint32_t)d->args[t->arg] & t->mask;
	bool listed = false;
	for (size_t i = 0; i < t->count; i++) {
		listed = listed || t->values[i] == low;
	}
	return t->op == ARG_ANY_BIT ? low != 0 : listed == (t->op == ARG_ONE_OF);
}

static uint32_t refused(int error) {
	return SECCOMP_RET_ERRNO | (uint32_t)error;
}

static uint32_t expect_check(const struct syscall_check *c, const struct seccomp_data *d) {
	for (size_t i = 0; i < c->count; i++) {
		bool all = true;
		for (size_t t = 0; t < c->refusals[i].count; t++) {
			all = all && test_holds(&c->refusals[i].tests[t], d);
		}
		if (all) {
			return refused(c->refusals[i].error);
		}
	}
	return SECCOMP_RET_ALLOW;
}

/* Each known number of an architecture, with its rule or NULL. */
static struct {
	bool known;
	const struct syscall_rule *rule;
} numbers[SYSCALL_NEWEST + 1];

static void read_tables(enum bpf_arch arch) {
	memset(numbers, 0, sizeof numbers);
	for (size_t i = 0; i < CALL_COUNT; i++) {
		if (fuzz_names[i].nr[arch] >= 0) {
			numbers[fuzz_names[i].nr[arch]].known = true;
		}
	}
	for (size_t i = 0; i < fuzz_rules_count; i++) {
		int nr = fuzz_names[fuzz_rules[i].id].nr[arch];
		if (nr >= 0) {
			numbers[nr].rule = &fuzz_rules[i];
		}
	}
}

static uint32_t expect(enum bpf_arch arch, const struct seccomp_data *d) {
	if (d->arch != (arch == BPF_ARCH_X86_64 ? AUDIT_ARCH_X86_64 : AUDIT_ARCH_AARCH64)) {
		return SECCOMP_RET_KILL_PROCESS;
	}
	if (d->nr < 0 || d->nr > SYSCALL_NEWEST || !numbers[d->nr].known) {
		return refused(ENOSYS);
	}
	const struct syscall_rule *r = numbers[d->nr].rule;
	return r == NULL || r->verdict == RULE_ALLOW ? SECCOMP_RET_ALLOW
	       : r->verdict == RULE_REFUSE           ? refused(r->error)
						     : expect_check(&fuzz_checks[r->check], d);
}

/* ---- the comparison ---- */

static void agree(enum bpf_arch arch, const struct sock_fprog *p, const struct seccomp_data *d) {
	HOLDS(program_run(p, d).action == expect(arch, d));
}

/* Arguments that the tests of a check look at, and their neighbours. */
static void agree_on_arguments(enum bpf_arch arch, const struct sock_fprog *p,
			       const struct syscall_rule *r, struct seccomp_data *d) {
	for (size_t i = 0; i < fuzz_checks[r->check].count; i++) {
		const struct syscall_refusal *refusal = &fuzz_checks[r->check].refusals[i];
		for (size_t t = 0; t < refusal->count; t++) {
			const struct arg_test *test = &refusal->tests[t];
			for (size_t v = 0; v < test->count; v++) {
				d->args[test->arg] = test->values[v];
				agree(arch, p, d);
				d->args[test->arg] ^= (uint64_t)1 << (v * 7 % 40);
				agree(arch, p, d);
				d->args[test->arg] = test->values[v]; /* for the tests behind it */
			}
		}
	}
}

static void compare(enum bpf_arch arch, const struct sock_fprog *p) {
	static const uint32_t archs[] = {AUDIT_ARCH_X86_64, AUDIT_ARCH_AARCH64, AUDIT_ARCH_I386};
	static const int odd[] = {-1, 0x40000000, 0x40000001, INT32_MAX, INT32_MIN, 1024};
	read_tables(arch);
	for (size_t a = 0; a < ARRAY_LEN(archs); a++) {
		for (int nr = 0; nr < SYSCALL_NEWEST + 4; nr++) {
			struct seccomp_data d = {.nr = nr, .arch = archs[a]};
			agree(arch, p, &d);
		}
		for (size_t i = 0; i < ARRAY_LEN(odd); i++) {
			struct seccomp_data d = {.nr = odd[i], .arch = archs[a]};
			agree(arch, p, &d);
		}
	}
	for (size_t i = 0; i < fuzz_rules_count; i++) {
		const struct syscall_rule *r = &fuzz_rules[i];
		struct seccomp_data d = {.nr = fuzz_names[r->id].nr[arch], .arch = archs[arch]};
		if (r->verdict == RULE_CHECK && d.nr >= 0) {
			agree_on_arguments(arch, p, r, &d);
		}
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
	struct input in = {data, size};
	struct bpf_options options = {.arch = input_byte(&in) % 2 == 0 ? BPF_ARCH_X86_64
								       : BPF_ARCH_AARCH64};
	struct sock_fprog program;
	struct arena a;
	struct err e = {0};

	fuzz_jump_max = input_byte(&in);
	fuzz_jump_max = fuzz_jump_max < 4 ? 255 : fuzz_jump_max;
	edit_names(&in);
	make_checks(&in);
	make_rules(&in);
	arena_init(&a);
	if (bpf_build(&a, &options, &program, &e) == 0) {
		HOLDS(program.len <= PROGRAM_MAX && program_valid(&program));
		compare(options.arch, &program);
	} else {
		HOLDS(e.kind == ERR_SETUP);
	}
	arena_done(&a);
	return 0;
}
