/* SPDX-License-Identifier: Apache-2.0 */
/* The BPF program against a direct evaluation of the tables that it is compiled from.
 *
 * Should:   evaluate a table row by row, as data/syscalls.h describes it; choose arguments at the
 *           constants of a check, next to them, with one bit changed, and under high bits.
 * Must not: use the compiler's searches, masks, or order of tests. */
#include "unit/test.h"

#include "verdicts.h"

#include "base/arena.h"
#include "base/auto.h"
#include "draw.h"
#include "interpret.h"

#include <errno.h>
#include <string.h>

#define CALLS_OF_PROGRAM 1500 /* random calls for each program */
#define RANDOM_PROGRAMS 200   /* with traits and denied calls that no plan may have together */
#define ALL_TRAITS (2U * TRAIT_INNER - 1)
#define HIGH_BITS 0x8000000100000000ULL

/* ---- the tables, row by row ---- */

static bool test_is_true(const struct arg_test *t, const struct seccomp_data *d) {
	uint32_t value = (uint32_t)d->args[t->arg] & t->mask;
	bool listed = false;

	for (size_t i = 0; i < t->count; i++) {
		listed = listed || t->values[i] == value;
	}
	return t->op == ARG_ANY_BIT ? value != 0 : listed == (t->op == ARG_ONE_OF);
}

static uint32_t action_of(int error, uint32_t last) {
	if (error == ASK_BROKER) {
		return SECCOMP_RET_USER_NOTIF;
	}
	return error == LET_THROUGH ? last : SECCOMP_RET_ERRNO | (uint32_t)error;
}

static uint32_t answer_of(const struct arg_answers *a, const struct seccomp_data *d,
			  uint32_t last) {
	uint32_t value = (uint32_t)d->args[a->arg];

	if (a->pair) {
		uint32_t second = (uint32_t)d->args[a->arg + 1];

		if (value > 0xffff || second > 0xffff) {
			return action_of(a->otherwise, last);
		}
		value = ARG_PAIR(value, second);
	}
	for (size_t i = 0; i < a->count; i++) {
		if (a->rows[i].value == value) {
			return action_of(a->rows[i].error, last);
		}
	}
	return action_of(a->otherwise, last);
}

static uint32_t check_of(const struct syscall_check *c, const struct seccomp_data *d) {
	uint32_t last = c->ask ? SECCOMP_RET_USER_NOTIF : SECCOMP_RET_ALLOW;

	for (;; c = &syscall_checks[c->base]) {
		for (size_t i = 0; i < c->count; i++) {
			const struct syscall_refusal *r = &c->refusals[i];
			size_t t = 0;

			while (t < r->count && test_is_true(&r->tests[t], d)) {
				t++;
			}
			if (t == r->count) {
				return action_of(r->error, last);
			}
		}
		if (c->base == CHECK_NONE) {
			return c->answers != NULL ? answer_of(c->answers, d, last) : last;
		}
	}
}

/* The row that decides about a call; NULL: none, and the call is allowed. */
static const struct syscall_rule *rule_of(const struct bpf_options *o, enum syscall_id id) {
	for (size_t i = 0; i < shared_rules_count && o->traits != 0; i++) {
		const struct shared_rule *r = &shared_rules[i];

		if (r->rule.id == id && (o->traits & r->with) == r->with &&
		    (o->traits & r->without) == 0 &&
		    (r->archs == 0 || (r->archs >> o->arch & 1) != 0)) {
			return &r->rule;
		}
	}
	for (size_t i = 0; i < syscall_rules_count; i++) {
		if (syscall_rules[i].id == id) {
			return &syscall_rules[i];
		}
	}
	return NULL;
}

/* With TRAIT_WATCH the broker records the refusals of syscall_rules that return EPERM. */
static bool is_recorded(const struct bpf_options *o, const struct syscall_rule *r) {
	return (o->traits & TRAIT_WATCH) != 0 && r->verdict == RULE_REFUSE && r->error == EPERM &&
	       r >= syscall_rules && r < syscall_rules + syscall_rules_count;
}

static uint32_t expected(const struct bpf_options *o, enum syscall_id id,
			 const struct seccomp_data *d) {
	const struct syscall_rule *r = rule_of(o, id);
	bool refused = r != NULL && r->verdict == RULE_REFUSE && !is_recorded(o, r);

	if (o->denied != NULL && o->denied[id] && !refused) {
		return SECCOMP_RET_ERRNO | EPERM;
	}
	if (r == NULL || r->verdict == RULE_ALLOW) {
		return SECCOMP_RET_ALLOW;
	}
	if (r->verdict == RULE_CHECK) {
		return check_of(&syscall_checks[r->check], d);
	}
	return refused ? SECCOMP_RET_ERRNO | (uint32_t)r->error : SECCOMP_RET_USER_NOTIF;
}

/* ---- arguments ---- */

static uint32_t constant_of_answers(const struct arg_answers *a, unsigned arg) {
	uint32_t value = a->rows[draw() % a->count].value;

	if (!a->pair) {
		return value;
	}
	return arg == a->arg ? value >> 16 : value & 0xffff;
}

/* A value or mask of the check or of a base of it. */
static uint32_t constant_of(const struct syscall_check *c, unsigned arg) {
	while (c->base != CHECK_NONE && draw() % 2 == 0) {
		c = &syscall_checks[c->base];
	}
	if (c->answers != NULL) {
		return constant_of_answers(c->answers, arg);
	}
	if (c->count == 0) {
		return (uint32_t)draw();
	}
	const struct syscall_refusal *r = &c->refusals[draw() % c->count];
	const struct arg_test *t = &r->tests[draw() % r->count];
	return t->count > 0 && draw() % 4 != 0 ? t->values[draw() % t->count] : t->mask;
}

static uint64_t argument(const struct syscall_check *c, unsigned arg) {
	uint32_t value =
		c != NULL && draw() % 8 != 0 ? constant_of(c, arg) : (uint32_t)draw() % 512;

	switch (draw() % 8) {
	case 0:
		value += (uint32_t)(draw() % 3) - 1;
		break;
	case 1:
		value ^= 1U << draw() % 32;
		break;
	case 2:
		return value | HIGH_BITS;
	case 3:
		return draw();
	default:
		break;
	}
	return value;
}

/* ---- programs ---- */

static void compare(const struct bpf_options *o, const struct sock_fprog *p, enum syscall_id id,
		    struct seccomp_data *d) {
	entry_apply(o->arch, ENTRY_NATIVE, (uint32_t)syscall_names[id].nr[o->arch], d);
	uint32_t got = program_run(p, d).action, want = expected(o, id, d);
	if (got != want) {
		printf("# arch %d traits %#x %s(%#llx, %#llx, %#llx, %#llx, %#llx): %#x\n", o->arch,
		       o->traits, syscall_names[id].name, (unsigned long long)d->args[0],
		       (unsigned long long)d->args[1], (unsigned long long)d->args[2],
		       (unsigned long long)d->args[3], (unsigned long long)d->args[4], got);
	}
	CHECK_INT(got, want);
}

/* Each row of an allow list, the values next to it, and those of the next words of 32. */
static void compare_rows(const struct bpf_options *o, const struct sock_fprog *p,
			 enum syscall_id id, const struct arg_answers *a) {
	static const int32_t offsets[] = {-32, -1, 0, 1, 32};

	for (size_t i = 0; i < a->count * ARRAY_LEN(offsets); i++) {
		uint32_t value = a->rows[i / ARRAY_LEN(offsets)].value +
				 (uint32_t)offsets[i % ARRAY_LEN(offsets)];
		struct seccomp_data d = {.args = {0}};

		d.args[a->arg] = a->pair ? value >> 16 : value;
		if (a->pair) {
			d.args[a->arg + 1] = value & 0xffff;
		}
		compare(o, p, id, &d);
	}
}

static const struct syscall_check *check_for(const struct bpf_options *o, enum syscall_id id) {
	const struct syscall_rule *r = rule_of(o, id);

	return r != NULL && r->verdict == RULE_CHECK ? &syscall_checks[r->check] : NULL;
}

static void compare_program(const struct bpf_options *o) {
	struct sock_fprog p;
	struct arena arena;
	struct err e;

	arena_init(&arena);
	REQUIRE(bpf_build(&arena, o, &p, &e) == 0);
	REQUIRE(program_valid(&p));
	for (unsigned i = 0; i < CALLS_OF_PROGRAM; i++) {
		enum syscall_id id = (enum syscall_id)(draw() % CALL_COUNT);
		struct seccomp_data d = {.args = {0}};

		if (syscall_names[id].nr[o->arch] < 0) {
			continue;
		}
		for (unsigned arg = 0; arg < ARRAY_LEN(d.args); arg++) {
			d.args[arg] = argument(check_for(o, id), arg);
		}
		compare(o, &p, id, &d);
	}
	compare_rows(o, &p, CALL_ioctl, &ioctl_answers);
	compare_rows(o, &p, CALL_prctl, &prctl_answers);
	compare_rows(o, &p, CALL_setsockopt, &sockopt_answers);
	arena_done(&arena);
}

TEST(a_plans_program_decides_as_its_tables) {
	static const unsigned nested[] = {0, TRAIT_INNER, TRAIT_DOMAINS,
					  TRAIT_INNER | TRAIT_DOMAINS};

	for (size_t v = 0; v < variants_count * ARRAY_LEN(nested); v++) {
		for (enum bpf_arch arch = BPF_ARCH_X86_64; arch < BPF_ARCHS; arch++) {
			const struct bpf_options o = {
				.arch = arch,
				.traits = variants[v / ARRAY_LEN(nested)].traits |
					  nested[v % ARRAY_LEN(nested)]};

			compare_program(&o);
		}
	}
}

TEST(a_program_with_any_traits_and_denied_calls_decides_as_its_tables) {
	bool denied[CALL_COUNT];

	for (unsigned i = 0; i < RANDOM_PROGRAMS; i++) {
		const struct bpf_options o = {.arch = (enum bpf_arch)(draw() % BPF_ARCHS),
					      .traits = (unsigned)draw() & ALL_TRAITS,
					      .denied = draw() % 2 == 0 ? denied : NULL};

		for (size_t id = 0; id < CALL_COUNT; id++) {
			denied[id] = draw() % 8 == 0;
		}
		compare_program(&o);
	}
}

TESTS_MAIN
