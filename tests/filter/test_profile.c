/* SPDX-License-Identifier: Apache-2.0 */
/* The profile for container engines against the BPF program of the same tables: each call, with
 * arguments that the checks know, their neighbours, and bits that the kernel ignores. */
#include "docker/seccomp_json.h"

#include "base/auto.h"
#include "filter/draw.h"
#include "filter/interpret.h"
#include "linux/bpf.h"
#include "unit/test.h"

#include <linux/audit.h>

#define ROUNDS 3000

/* A value of one of the check's own tests or answers, or any. */
static uint64_t argument(const struct syscall_check *c, unsigned arg) {
	uint64_t v = draw() % 3 == 0 ? draw() : draw() % 64;
	if (c->count > 0 && draw() % 4 != 0) {
		const struct syscall_refusal *r = &c->refusals[draw() % c->count];
		const struct arg_test *t = &r->tests[draw() % r->count];
		if (t->arg == arg) {
			v = t->count > 0 ? t->values[draw() % t->count] : t->mask & draw();
		}
	}
	if (c->answers != NULL && draw() % 4 != 0) {
		uint32_t row = c->answers->rows[draw() % c->answers->count].value;
		if (arg == c->answers->arg) {
			v = c->answers->pair ? row >> 16 : row;
		} else if (c->answers->pair && arg == c->answers->arg + 1U) {
			v = row & 0xffff;
		}
	}
	if (draw() % 8 == 0) {
		v ^= 1ULL << (draw() % 64); /* also above the 32nd bit */
	}
	return v;
}

static bool allows(const struct cubes *cubes, const struct seccomp_data *d) {
	for (size_t i = 0; i < cubes->count; i++) {
		bool inside = true;
		for (unsigned k = 0; k < CUBE_ARGS; k++) {
			inside = inside && ((uint32_t)d->args[k] & cubes->list[i].mask[k]) ==
						   cubes->list[i].value[k];
		}
		if (inside) {
			return true;
		}
	}
	return false;
}

static void compare(const struct sock_fprog *program, enum bpf_arch arch,
		    const struct syscall_rule *rule, const struct cubes *cubes, size_t *same) {
	static const uint32_t audit[] = {AUDIT_ARCH_X86_64, AUDIT_ARCH_AARCH64, AUDIT_ARCH_RISCV64};
	struct seccomp_data d = {.nr = syscall_names[rule->id].nr[arch], .arch = audit[arch]};

	for (int round = 0; round < ROUNDS; round++) {
		for (unsigned i = 0; i < CUBE_ARGS; i++) {
			d.args[i] = argument(&syscall_checks[rule->check], i);
		}
		bool yes = program_run(program, &d).action == SECCOMP_RET_ALLOW;
		CHECK(yes == allows(cubes, &d));
		*same += yes;
	}
}

TEST(the_profile_allows_the_arguments_that_the_program_allows) {
	for (enum bpf_arch arch = BPF_ARCH_X86_64; arch < BPF_ARCHS; arch++) {
		struct arena a;
		struct sock_fprog program;
		struct err e = {0};
		size_t same = 0, widest = 0;

		arena_init(&a);
		REQUIRE(bpf_build(&a, &(struct bpf_options){.arch = arch}, &program, &e) == 0);
		for (size_t i = 0; i < syscall_rules_count; i++) {
			const struct syscall_rule *rule = &syscall_rules[i];
			struct cubes cubes;
			if (rule->verdict != RULE_CHECK || syscall_names[rule->id].nr[arch] < 0) {
				continue;
			}
			REQUIRE(seccomp_json_cubes(&a, rule->check, &cubes) == 0);
			compare(&program, arch, rule, &cubes, &same);
			widest = cubes.count > widest ? cubes.count : widest;
		}
		CHECK(same > 1000);  /* not all of them are refused */
		CHECK(widest < 400); /* an engine compiles each to several instructions */
		arena_done(&a);
	}
}

TEST(a_denied_call_is_refused_and_a_refused_one_keeps_its_error) {
	static bool denied[CALL_COUNT];
	struct arena a;
	struct err e = {0};
	struct buf out;

	arena_init(&a);
	buf_init(&out);
	denied[CALL_bind] = denied[CALL_clone3] = true;
	REQUIRE(seccomp_json_write(&a, SYSCALL_X86_64, denied, &out, &e) == 0);
	CHECK(strstr(out.data,
		     "{\"names\":[\"bind\"],\"action\":\"SCMP_ACT_ERRNO\",\"errnoRet\":1}") !=
	      NULL);
	CHECK(strstr(out.data,
		     "{\"names\":[\"clone3\"],\"action\":\"SCMP_ACT_ERRNO\",\"errnoRet\":38}") !=
	      NULL);
	CHECK(strstr(out.data,
		     "{\"names\":[\"mount\"],\"action\":\"SCMP_ACT_ERRNO\",\"errnoRet\":1}") !=
	      NULL);
	CHECK(strstr(out.data,
		     "{\"names\":[\"read\"],\"action\":\"SCMP_ACT_ALLOW\",\"args\":[]}") != NULL);
	CHECK(strstr(out.data, "SCMP_CMP_NE") == NULL);
	buf_done(&out);
	arena_done(&a);
}

TESTS_MAIN
