/* SPDX-License-Identifier: Apache-2.0 */
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
#include "linux/bpf_runs.c"

#include "linux/bpf.c"
#undef syscall_names

#include "filter/interpret.h"
#include "fuzz.h"

/* Three refusals a check: more than any real one that has values in them. */
#define REFUSALS 3

/* Rows of an allow list: the tree over them has several levels. */
#define ANSWERS_MAX_ 40

static struct syscall_refusal refusals[CHECK_COUNT][REFUSALS];
static struct arg_answers answers[CHECK_COUNT];
static struct arg_answer answer_rows[CHECK_COUNT][ANSWERS_MAX_];

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

/* Values that grow by steps of one, a few or many, so that runs of them form. */
static void make_answers(struct input *in, size_t c) {
	uint32_t value = 0;
	size_t n = input_byte(in) % (ANSWERS_MAX_ + 1);

	for (size_t i = 0; i < n; i++) {
		uint8_t shape = input_byte(in);
		uint32_t step = shape & 0x80 ? input_word(in) : 1U + shape % 4;
		if (i > 0 && value + step <= value) {
			n = i;
			break;
		}
		value += i == 0 && shape & 0x40 ? 0 : step;
		answer_rows[c][i] = (struct arg_answer){
			.value = value, .error = shape & 0x20 ? some_error(in) : LET_THROUGH};
	}
	answers[c] = (struct arg_answers){.arg = (uint8_t)(c % 5),
					  .pair = input_byte(in) % 2 == 0,
					  .otherwise = some_error(in),
					  .count = n,
					  .rows = answer_rows[c]};
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
		if (input_byte(in) % 4 == 0) {
			make_answers(in, c);
			fuzz_checks[c].answers = &answers[c];
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

static uint32_t expect_listed(const struct arg_answers *a, const struct seccomp_data *d) {
	uint32_t value = (uint32_t)d->args[a->arg];
	if (a->pair) {
		uint32_t second = (uint32_t)d->args[a->arg + 1];
		if (value > 0xffff || second > 0xffff) {
			return refused(a->otherwise);
		}
		value = value << 16 | second;
	}
	for (size_t i = 0; i < a->count; i++) {
		if (a->rows[i].value == value) {
			return a->rows[i].error == LET_THROUGH ? SECCOMP_RET_ALLOW
							       : refused(a->rows[i].error);
		}
	}
	return refused(a->otherwise);
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
	return c->answers == NULL ? SECCOMP_RET_ALLOW : expect_listed(c->answers, d);
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

/* The values of an allow list, and their neighbours. */
static void agree_on_listed(enum bpf_arch arch, const struct sock_fprog *p,
			    const struct arg_answers *a, struct seccomp_data *d) {
	for (size_t i = 0; a != NULL && i < a->count; i++) {
		for (uint32_t off = 0; off < 3; off++) {
			uint32_t value = a->rows[i].value + off - 1;
			d->args[a->arg] = a->pair ? value >> 16 : value;
			d->args[a->arg + 1] = a->pair ? value & 0xffff : i;
			agree(arch, p, d);
			d->args[a->arg + (off & 1)] ^= (uint64_t)1 << (i * 7 % 40);
			agree(arch, p, d);
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
			agree_on_listed(arch, p, fuzz_checks[r->check].answers, &d);
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
