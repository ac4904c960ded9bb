/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the tables of the seccomp filter as the profile of a container engine.
 *
 * Should:   allow a call exactly where the BPF program of the same tables does.
 * Must not: use SCMP_CMP_NE: it compares 64 bits, so that a refused value with a bit above the
 *           32nd, which the kernel ignores, would pass.
 * Fails:    closed: a call that no line allows is refused; a profile that does not fit in memory is
 *           an error. */
#include "docker/seccomp_json.h"

#include "base/auto.h"
#include "base/emit.h"

#include <errno.h>

static const struct cube everything;

/* Bits of one argument. */
struct fixed {
	unsigned arg;
	uint32_t mask, value;
};

static int add(struct arena *a, struct cubes *to, const struct cube *c) {
	if (arena_grow(a, &to->list, to->count, &to->cap, sizeof *to->list) != 0) {
		return -1;
	}
	to->list[to->count++] = *c;
	return 0;
}

/* Fixes more bits of an argument; false: no value has both. */
static bool narrow(struct cube *c, unsigned arg, uint32_t mask, uint32_t value) {
	if (((c->value[arg] ^ value) & c->mask[arg] & mask) != 0) {
		return false;
	}
	c->mask[arg] |= mask;
	c->value[arg] |= value & mask;
	return true;
}

/* The part of a cube in which these bits of the test's argument have this value. */
static int add_part(struct arena *a, struct cubes *to, const struct cube *c,
		    const struct fixed *bits) {
	struct cube part = *c;
	return narrow(&part, bits->arg, bits->mask, bits->value) ? add(a, to, &part) : 0;
}

static bool listed(const struct arg_test *t, uint32_t mask, uint32_t value) {
	for (size_t i = 0; i < t->count; i++) {
		if ((t->values[i] & mask) == value) {
			return true;
		}
	}
	return false;
}

/* The values that are not in the list: from the highest bit down, each block that has none of
 * them. */
static int add_unlisted(struct arena *a, struct cubes *to, const struct cube *c,
			const struct arg_test *t) {
	for (size_t i = 0; i < t->count; i++) {
		uint32_t above = 0;
		for (uint32_t bit = 1U << 31; bit != 0; bit >>= 1) {
			if ((t->mask & bit) == 0) {
				continue;
			}
			uint32_t mask = above | bit, value = (t->values[i] ^ bit) & mask;
			bool seen = false; /* an earlier value has written the same block */
			for (size_t k = 0; k < i; k++) {
				seen = seen || ((t->values[k] ^ t->values[i]) & above) == 0;
			}
			if (!seen && !listed(t, mask, value) &&
			    add_part(a, to, c, &(struct fixed){t->arg, mask, value}) != 0) {
				return -1;
			}
			above = mask;
		}
	}
	return 0;
}

static int add_listed(struct arena *a, struct cubes *to, const struct cube *c,
		      const struct arg_test *t) {
	for (size_t i = 0; i < t->count; i++) {
		if (add_part(a, to, c, &(struct fixed){t->arg, t->mask, t->values[i]}) != 0) {
			return -1;
		}
	}
	return 0;
}

/* One bit of the mask is set: the highest one is this, or the next, … */
static int add_any_bit(struct arena *a, struct cubes *to, const struct cube *c,
		       const struct arg_test *t) {
	uint32_t above = 0;
	for (uint32_t bit = 1U << 31; bit != 0; bit >>= 1) {
		if ((t->mask & bit) == 0) {
			continue;
		}
		if (add_part(a, to, c, &(struct fixed){t->arg, above | bit, bit}) != 0) {
			return -1;
		}
		above |= bit;
	}
	return 0;
}

static int add_no_bit(struct arena *a, struct cubes *to, const struct cube *c,
		      const struct arg_test *t) {
	return add_part(a, to, c, &(struct fixed){t->arg, t->mask, 0});
}

/* The part of a cube for which the test is true, and the part for which it is not. */
static const struct {
	int (*yes)(struct arena *a, struct cubes *to, const struct cube *c,
		   const struct arg_test *t);
	int (*no)(struct arena *a, struct cubes *to, const struct cube *c,
		  const struct arg_test *t);
} parts[] = {
	[ARG_ANY_BIT] = {add_any_bit, add_no_bit},
	[ARG_ONE_OF] = {add_listed, add_unlisted},
	[ARG_NONE_OF] = {add_unlisted, add_listed},
};

/* A refusal leaves the calls for which one of its tests is false: the first; or the second, where
 * the first is true. */
static int refuse(struct arena *a, const struct syscall_refusal *r, const struct cube *c,
		  struct cubes *to) {
	struct cubes both = {0};

	if (parts[r->tests[0].op].no(a, to, c, &r->tests[0]) != 0) {
		return -1;
	}
	if (r->count == 1) {
		return 0;
	}
	if (parts[r->tests[0].op].yes(a, &both, c, &r->tests[0]) != 0) {
		return -1;
	}
	for (size_t i = 0; i < both.count; i++) {
		if (parts[r->tests[1].op].no(a, to, &both.list[i], &r->tests[1]) != 0) {
			return -1;
		}
	}
	return 0;
}

/* An allow list; a pair fixes two arguments. */
static int answer(struct arena *a, const struct arg_answers *list, struct cubes *to) {
	for (size_t i = 0; i < list->count; i++) {
		struct cube c = everything;
		uint32_t value = list->rows[i].value;
		if (list->rows[i].error != LET_THROUGH) {
			continue;
		}
		(void)narrow(&c, list->arg, UINT32_MAX, list->pair ? value >> 16 : value);
		if (list->pair) {
			(void)narrow(&c, list->arg + 1U, UINT32_MAX, value & 0xffff);
		}
		if (add(a, to, &c) != 0) {
			return -1;
		}
	}
	return 0;
}

int seccomp_json_cubes(struct arena *a, enum syscall_check_id check, struct cubes *ret) {
	const struct syscall_check *c = &syscall_checks[check];
	struct cubes now = {0};

	if (c->answers != NULL ? answer(a, c->answers, &now) != 0
			       : add(a, &now, &everything) != 0) {
		return -1;
	}
	for (size_t i = 0; i < c->count; i++) {
		struct cubes left = {0};
		for (size_t k = 0; k < now.count; k++) {
			if (refuse(a, &c->refusals[i], &now.list[k], &left) != 0) {
				return -1;
			}
		}
		now = left;
	}
	*ret = now;
	return 0;
}

/* ---- JSON ---- */

static void begin_line(struct emit *j, const char *name, const char *action) {
	emit_object(j, NULL);
	emit_strings(j, "names", (const char *const[]){name}, 1);
	emit_string(j, "action", action);
}

static void refuse_call(struct emit *j, const char *name, int error) {
	begin_line(j, name, "SCMP_ACT_ERRNO");
	emit_int(j, "errnoRet", error);
	emit_end_object(j);
}

static void allow_cube(struct emit *j, const char *name, const struct cube *c) {
	begin_line(j, name, "SCMP_ACT_ALLOW");
	emit_array(j, "args");
	for (unsigned i = 0; i < CUBE_ARGS; i++) {
		if (c->mask[i] == 0) {
			continue;
		}
		emit_object(j, NULL);
		emit_int(j, "index", i);
		emit_int(j, "value", c->mask[i]);
		emit_int(j, "valueTwo", c->value[i]);
		emit_string(j, "op", "SCMP_CMP_MASKED_EQ");
		emit_end_object(j);
	}
	emit_end_array(j);
	emit_end_object(j);
}

/* Pid 1 is the command's own here, so its rows refuse nothing that the container needs. */
static bool is_of_first_process(const struct syscall_rule *r) {
	return r->verdict == RULE_CHECK && r->check == CHECK_FIRST_PROCESS;
}

static int write_call(struct arena *a, struct emit *j, const char *name,
		      const struct syscall_rule *r) {
	struct cubes allowed = {0};

	if (r != NULL && r->verdict == RULE_REFUSE) {
		refuse_call(j, name, r->error);
		return 0;
	}
	if (r == NULL || r->verdict == RULE_ALLOW || is_of_first_process(r)) {
		allow_cube(j, name, &everything);
		return 0;
	}
	if (seccomp_json_cubes(a, r->check, &allowed) != 0) {
		return -1;
	}
	for (size_t i = 0; i < allowed.count; i++) {
		allow_cube(j, name, &allowed.list[i]);
	}
	return 0;
}

static const struct syscall_rule *rule_of(enum syscall_id id) {
	for (size_t i = 0; i < syscall_rules_count; i++) {
		if (syscall_rules[i].id == id) {
			return &syscall_rules[i];
		}
	}
	return NULL;
}

int seccomp_json_write(struct arena *a, enum syscall_arch arch, const bool *denied, struct buf *out,
		       struct err *e) {
	static const char *const archs[] = {
		[SYSCALL_X86_64] = "SCMP_ARCH_X86_64",
		[SYSCALL_AARCH64] = "SCMP_ARCH_AARCH64",
		[SYSCALL_RISCV64] = "SCMP_ARCH_RISCV64",
	};
	struct emit j;
	int rc = 0;

	emit_init(&j, out, false);
	emit_object(&j, NULL);
	emit_string(&j, "defaultAction", "SCMP_ACT_ERRNO");
	emit_int(&j, "defaultErrnoRet", ENOSYS);
	emit_strings(&j, "architectures", &archs[arch], 1);
	emit_array(&j, "syscalls");
	for (enum syscall_id id = 0; id < CALL_COUNT && rc == 0; id++) {
		const char *name = syscall_names[id].name;
		const struct syscall_rule *r = rule_of(id);
		if (syscall_names[id].nr[arch] < 0) {
			continue;
		}
		if (denied != NULL && denied[id] && (r == NULL || r->verdict != RULE_REFUSE)) {
			refuse_call(&j, name, EPERM);
		} else {
			rc = write_call(a, &j, name, r);
		}
	}
	emit_end_array(&j);
	emit_end_object(&j);
	return rc != 0 || buf_failed(out) ? err_memory(e, "seccomp") : 0;
}
