/* SPDX-License-Identifier: Apache-2.0 */
/* Should:   know exactly the instructions that seccomp filters are made of.
 * Must not: guess: an instruction that it does not know makes a program invalid. */
#include "interpret.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LOAD (BPF_LD | BPF_W | BPF_ABS)

static bool is_branch(uint16_t code) {
	return code == (BPF_JMP | BPF_JEQ | BPF_K) || code == (BPF_JMP | BPF_JGT | BPF_K) ||
	       code == (BPF_JMP | BPF_JGE | BPF_K) || code == (BPF_JMP | BPF_JSET | BPF_K);
}

static bool instruction_valid(const struct sock_fprog *p, size_t at) {
	const struct sock_filter *f = &p->filter[at];
	size_t left = p->len - at - 1;

	if (f->code == (BPF_RET | BPF_K)) {
		return true;
	}
	if (f->code == (BPF_JMP | BPF_JA)) {
		return f->k < left;
	}
	if (is_branch(f->code)) {
		return f->jt < left && f->jf < left;
	}
	if (f->code == LOAD) {
		return left > 0 && f->k % 4 == 0 && f->k < sizeof(struct seccomp_data);
	}
	if (f->code == (BPF_ALU | BPF_LSH | BPF_K) || f->code == (BPF_ALU | BPF_RSH | BPF_K)) {
		return left > 0 && f->k < 32;
	}
	if (f->code == BPF_ST || f->code == (BPF_LD | BPF_MEM)) {
		return left > 0 && f->k < BPF_MEMWORDS;
	}
	return left > 0 &&
	       (f->code == (BPF_ALU | BPF_AND | BPF_K) || f->code == (BPF_ALU | BPF_OR | BPF_X) ||
		f->code == (BPF_ALU | BPF_RSH | BPF_X) || f->code == (BPF_LD | BPF_IMM) ||
		f->code == (BPF_MISC | BPF_TAX));
}

bool program_valid(const struct sock_fprog *p) {
	for (size_t i = 0; i < p->len; i++) {
		if (!instruction_valid(p, i)) {
			return false;
		}
	}
	return p->len > 0 && p->len <= BPF_MAXINSNS;
}

static bool branch_taken(const struct sock_filter *f, uint32_t acc) {
	switch (BPF_OP(f->code)) {
	case BPF_JEQ:
		return acc == f->k;
	case BPF_JGT:
		return acc > f->k;
	case BPF_JGE:
		return acc >= f->k;
	default:
		return (acc & f->k) != 0;
	}
}

struct registers {
	uint32_t acc, index, memory[BPF_MEMWORDS];
};

static void compute(const struct sock_filter *f, struct registers *r) {
	switch (f->code) {
	case BPF_LD | BPF_IMM:
		r->acc = f->k;
		break;
	case BPF_LD | BPF_MEM:
		r->acc = r->memory[f->k];
		break;
	case BPF_ST:
		r->memory[f->k] = r->acc;
		break;
	case BPF_MISC | BPF_TAX:
		r->index = r->acc;
		break;
	case BPF_ALU | BPF_AND | BPF_K:
		r->acc &= f->k;
		break;
	case BPF_ALU | BPF_OR | BPF_X:
		r->acc |= r->index;
		break;
	case BPF_ALU | BPF_LSH | BPF_K:
		r->acc <<= f->k;
		break;
	case BPF_ALU | BPF_RSH | BPF_K:
		r->acc >>= f->k;
		break;
	case BPF_ALU | BPF_RSH | BPF_X:
		if (r->index > 31) {
			abort(); /* not documented: the program must mask the bits */
		}
		r->acc >>= r->index;
		break;
	default:
		abort(); /* program_valid refuses it */
	}
}

struct outcome program_run(const struct sock_fprog *p, const struct seccomp_data *d) {
	struct registers r = {.acc = 0};
	struct outcome out = {0};

	for (size_t at = 0;; at++) {
		const struct sock_filter *f = &p->filter[at];

		out.steps++;
		if (f->code == (BPF_RET | BPF_K)) {
			out.action = f->k;
			return out;
		}
		if (f->code == LOAD) {
			memcpy(&r.acc, (const char *)d + f->k, sizeof r.acc);
			out.args += f->k > offsetof(struct seccomp_data, arch);
		} else if (f->code == (BPF_JMP | BPF_JA)) {
			at += f->k;
		} else if (is_branch(f->code)) {
			at += branch_taken(f, r.acc) ? f->jt : f->jf;
		} else {
			compute(f, &r);
		}
	}
}

unsigned program_longest(const struct sock_fprog *p) {
	unsigned *path = calloc(p->len, sizeof *path), longest;

	if (path == NULL) {
		abort();
	}
	for (size_t i = p->len; i-- > 0;) {
		const struct sock_filter *f = &p->filter[i];

		if (f->code == (BPF_RET | BPF_K)) {
			path[i] = 1;
		} else if (f->code == (BPF_JMP | BPF_JA)) {
			path[i] = 1 + path[i + 1 + f->k];
		} else if (is_branch(f->code)) {
			unsigned yes = path[i + 1 + f->jt], no = path[i + 1 + f->jf];

			path[i] = 1 + (yes > no ? yes : no);
		} else {
			path[i] = 1 + path[i + 1];
		}
	}
	longest = path[0];
	free(path);
	return longest;
}

const char *action_name(uint32_t action, char *space, size_t size) {
	static const struct {
		uint32_t action;
		const char *name;
	} names[] = {
		{SECCOMP_RET_ALLOW, "allow"},
		{SECCOMP_RET_KILL_PROCESS, "kill"},
		{SECCOMP_RET_USER_NOTIF, "ask"},
		{SECCOMP_RET_ERRNO, "undone"},
		{SECCOMP_RET_ERRNO | EACCES, "EACCES"},
		{SECCOMP_RET_ERRNO | EINVAL, "EINVAL"},
		{SECCOMP_RET_ERRNO | ENOMEM, "ENOMEM"},
		{SECCOMP_RET_ERRNO | ENOPROTOOPT, "ENOPROTOOPT"},
		{SECCOMP_RET_ERRNO | ENOTTY, "ENOTTY"},
		{SECCOMP_RET_ERRNO | EOPNOTSUPP, "EOPNOTSUPP"},
		{SECCOMP_RET_ERRNO | EPERM, "EPERM"},
		{SECCOMP_RET_ERRNO | ENOSYS, "ENOSYS"},
		{SECCOMP_RET_ERRNO | EAFNOSUPPORT, "EAFNOSUPPORT"},
		{SECCOMP_RET_ERRNO | EPROTONOSUPPORT, "EPROTONOSUPPORT"},
	};

	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
		if (names[i].action == action) {
			return names[i].name;
		}
	}
	(void)snprintf(space, size, "0x%08x", action);
	return space;
}
