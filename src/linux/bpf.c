/* SPDX-License-Identifier: Apache-2.0 */
/* Compiles the tables of data/syscalls.c into a seccomp program (classic BPF).
 *
 * Should:   kill a call of another architecture, then search the number among runs of
 *           consecutive numbers with the same action, then test arguments if the rule has a
 *           check; with few instructions, because each run loads the program.
 * Must not: load 64 bits of an argument (checks compare the low word), or load an argument
 *           before the number is known.
 * Fails:    closed: a program that does not fit is an error, never truncated.
 *
 * The program is written from its last instruction to its first.  Jumps in classic BPF only
 * go forward, so every target exists when a jump to it is written and its distance is known;
 * if a distance does not fit the eight bits of a branch, a copy of the return instruction or
 * an unconditional jump (32 bits) is written within reach.
 *
 * Invariants, cited by the tests:
 *  B1  the first load is the architecture;
 *  B2  x32 calls need no separate test: bit 30 of their number puts them into the last
 *      run, which extends to the highest number and returns ENOSYS;
 *  B3  an allowed number without a check depends on arch and nr only, so that the kernel
 *      can cache the result in its bitmap and skip the program. */
#include "linux/bpf.h"

#include "data/syscalls.h"
#include "linux/bpf_runs.h"

#include <assert.h>
#include <errno.h>
#include <linux/audit.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <string.h>

/* Several times the size of the current program, and a quarter of BPF_MAXINSNS. */
#define PROGRAM_MAX 1024

/* A branch's offset has eight bits; a test sets less, so that long jumps are frequent. */
#ifndef JUMP_MAX
#define JUMP_MAX 255
#endif

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
	       "the low word of an argument is its first");
_Static_assert((int)BPF_ARCH_X86_64 == (int)SYSCALL_X86_64, "one numbering of architectures");
_Static_assert((int)BPF_ARCH_AARCH64 == (int)SYSCALL_AARCH64, "one numbering of architectures");
_Static_assert((int)BPF_ARCH_RISCV64 == (int)SYSCALL_RISCV64, "one numbering of architectures");

/* Up to this many tests are a chain, in which each test falls through to the next.  The kernel
 * translates a branch that jumps either way to two instructions, and the time to load a program
 * grows with their number: a chain has one such branch, a binary search one for each two runs. */
#define CHAIN_MAX 6
#define CHAIN_RUNS (2 * CHAIN_MAX + 1)

/* Allowed values that differ only in the lowest five bits are tested by a mask, if there are this
 * many: a mask is three instructions, a value one. */
#define WORD_BITS 32U
#define WORD_SHIFT 5
#define WORD_ROWS_MIN 4

/* The scratch memory of a program: the value that write_words looks for. */
#define MEMORY_VALUE 0

/* Either half of an ARG_PAIR. */
#define PAIR_BITS 16
#define PAIR_BOUND (1U << PAIR_BITS)

/* A label is the number of instructions after it. */
#define NOT_WRITTEN UINT32_MAX

struct program {
	uint32_t len;
	bool full;
	uint32_t leaf[LEAF_COUNT];               /* labels */
	struct sock_filter reverse[PROGRAM_MAX]; /* the last instruction first */
};

static uint32_t emit(struct program *p, uint16_t code, uint32_t jt, uint32_t jf, uint32_t k) {
	if (p->len == PROGRAM_MAX) {
		p->full = true;
		return PROGRAM_MAX - 1;
	}
	assert(jt <= JUMP_MAX && jf <= JUMP_MAX);
	p->reverse[p->len] = (struct sock_filter){code, (uint8_t)jt, (uint8_t)jf, k};
	return p->len++;
}

static uint32_t distance(const struct program *p, uint32_t label) {
	return p->len - label - 1;
}

/* A label within reach of the next instruction: the same, or that of a new long jump. */
static uint32_t near(struct program *p, uint32_t label) {
	const struct sock_filter *target = &p->reverse[label];

	if (distance(p, label) <= JUMP_MAX) {
		return label;
	}
	if (target->code == (BPF_RET | BPF_K)) {
		return emit(p, BPF_RET | BPF_K, 0, 0, target->k);
	}
	return emit(p, BPF_JMP | BPF_JA, 0, 0, distance(p, label));
}

static uint32_t branch(struct program *p, uint16_t op, uint32_t k, uint32_t yes, uint32_t no) {
	yes = near(p, yes);
	no = near(p, no);
	yes = near(p, yes); /* the jump for the other label may have moved it out of reach */
	return emit(p, BPF_JMP | op | BPF_K, distance(p, yes), distance(p, no), k);
}

static uint32_t load(struct program *p, size_t offset) {
	return emit(p, BPF_LD | BPF_W | BPF_ABS, 0, 0, (uint32_t)offset);
}

/* The low word of an argument. */
static uint32_t load_arg(struct program *p, unsigned arg) {
	return load(p, offsetof(struct seccomp_data, args) + arg * sizeof(uint64_t));
}

/* The leaf's label within reach; nearby branches share one copy of it. */
static uint32_t leaf(struct program *p, unsigned id) {
	if (p->leaf[id] == NOT_WRITTEN) {
		assert(id >= LEAF_ERRNO);
		uint32_t answer = id == LEAF_ASK ? SECCOMP_RET_USER_NOTIF
						 : SECCOMP_RET_ERRNO | (id - LEAF_ERRNO);
		p->leaf[id] = emit(p, BPF_RET | BPF_K, 0, 0, answer);
	}
	p->leaf[id] = near(p, p->leaf[id]);
	return p->leaf[id];
}

static uint32_t leaf_errno(struct program *p, int error) {
	assert(error != LET_THROUGH);
	return leaf(p, bpf_runs_leaf(error, LEAF_ALLOW));
}

static uint32_t write_test(struct program *p, const struct arg_test *t, uint32_t yes, uint32_t no) {
	uint32_t next;

	if (t->op == ARG_ANY_BIT) {
		branch(p, BPF_JSET, t->mask, yes, no);
		return load_arg(p, t->arg);
	}
	next = t->op == ARG_ONE_OF ? no : yes;
	for (size_t i = t->count; i-- > 0;) {
		next = branch(p, BPF_JEQ, t->values[i], t->op == ARG_ONE_OF ? yes : no, next);
	}
	if (t->mask != UINT32_MAX) {
		emit(p, BPF_ALU | BPF_AND | BPF_K, 0, 0, t->mask);
	}
	return load_arg(p, t->arg);
}

static bool same_test(const struct arg_test *a, const struct arg_test *b) {
	return a->arg == b->arg && a->op == b->op && a->mask == b->mask && a->count == b->count &&
	       memcmp(a->values, b->values, a->count * sizeof a->values[0]) == 0;
}

/* The first of the refusals before `end` that have two tests, and the first of them in common. */
static size_t group_begin(const struct syscall_check *c, size_t end) {
	const struct syscall_refusal *r = c->refusals;
	size_t i = end - 1;

	while (i > 0 && r[i].count == 2 && r[i - 1].count == 2 &&
	       same_test(&r[i - 1].tests[0], &r[i].tests[0])) {
		i--;
	}
	return i;
}

/* The refusals of c, and `next` if none matches. */
static uint32_t write_refusals(struct program *p, const struct syscall_check *c, uint32_t next) {
	_Static_assert(ARG_TESTS_MAX == 2, "a test in common, and one of each refusal");

	for (size_t end = c->count, begin; end > 0; end = begin) {
		const struct syscall_refusal *r = c->refusals;
		uint32_t inner = next;

		begin = group_begin(c, end);
		for (size_t i = end; i-- > begin;) {
			uint32_t yes = leaf_errno(p, r[i].error);

			inner = write_test(p, &r[i].tests[r[i].count - 1], yes, inner);
		}
		next = r[begin].count == 2 ? write_test(p, &r[begin].tests[0], inner, next) : inner;
	}
	return next;
}

/* The tests of a few runs, one after another: for single values (JEQ), then for the first values of
 * the other runs from the highest down (JGE). */
struct chain {
	size_t nsingles, nrest;
	struct bpf_run singles[CHAIN_MAX];
	struct bpf_run rest[CHAIN_RUNS]; /* without the singles; the first needs no test */
};

/* A single value between runs with the same leaf needs one test, and joins these two runs for the
 * tests that follow: each test removes two runs at most. */
static bool collect_chain(const struct bpf_run *r, size_t n, struct chain *ret) {
	struct bpf_run *rest = ret->rest;
	size_t singles = 0, m = 0;

	if (n > CHAIN_RUNS) {
		return false;
	}
	for (size_t i = 0; i < n; i++) {
		if (m >= 2 && rest[m - 2].leaf == r[i].leaf &&
		    rest[m - 1].first + 1 == r[i].first && singles < CHAIN_MAX) {
			ret->singles[singles++] = rest[--m];
		} else {
			rest[m++] = r[i];
		}
	}
	ret->nsingles = singles;
	ret->nrest = m;
	return singles + m - 1 <= CHAIN_MAX;
}

static uint32_t write_chain(struct program *p, const struct chain *c) {
	uint32_t next = leaf(p, c->rest[0].leaf);

	for (size_t i = 1; i < c->nrest; i++) {
		uint32_t yes = leaf(p, c->rest[i].leaf);

		next = branch(p, BPF_JGE, c->rest[i].first, yes, next);
	}
	for (size_t i = c->nsingles; i-- > 0;) {
		uint32_t yes = leaf(p, c->singles[i].leaf);

		next = branch(p, BPF_JEQ, c->singles[i].first, yes, next);
	}
	return next;
}

/* The run that begins nearest to the middle of the values below `end`.  Not the middle run: when
 * it loads a filter, the kernel executes it for each number, and most numbers are in few runs. */
static size_t middle(const struct bpf_run *r, size_t n, uint32_t end) {
	uint32_t half = r[0].first + (end - r[0].first) / 2;
	size_t i = 1;

	while (i + 1 < n && r[i].first < half) {
		i++;
	}
	bool nearer = i > 1 && r[i].first > half && half - r[i - 1].first < r[i].first - half;
	return nearer ? i - 1 : i;
}

/* A binary search of the values from r[0].first to `end` for the leaf of their run. */
static uint32_t write_tree(struct program *p, const struct bpf_run *r, size_t n, uint32_t end) {
	struct chain c;
	uint32_t above, below;
	size_t half;

	if (n == 1) {
		return leaf(p, r[0].leaf);
	}
	if (collect_chain(r, n, &c)) {
		return write_chain(p, &c);
	}
	half = middle(r, n, end);
	above = write_tree(p, r + half, n - half, end);
	below = write_tree(p, r, half, r[half].first);
	return branch(p, BPF_JGE, r[half].first, above, below);
}

/* Runs that begin at the same number: the later one counts. */
static void add_run(struct bpf_run *runs, size_t *n, uint32_t first, uint8_t leaf) {
	if (*n > 0 && runs[*n - 1].first == first) {
		(*n)--;
	}
	if (*n == 0 || runs[*n - 1].leaf != leaf) {
		runs[(*n)++] = (struct bpf_run){first, leaf};
	}
}

/* Loads two arguments as ARG_PAIR for the code written last, or jumps to `no` if one does not
 * fit 16 bits. */
static uint32_t write_pair(struct program *p, unsigned arg, uint32_t no) {
	uint32_t next = emit(p, BPF_ALU | BPF_OR | BPF_X, 0, 0, 0);

	branch(p, BPF_JGE, PAIR_BOUND, no, next);
	load_arg(p, arg + 1);
	emit(p, BPF_MISC | BPF_TAX, 0, 0, 0);
	next = emit(p, BPF_ALU | BPF_LSH | BPF_K, 0, 0, PAIR_BITS);
	branch(p, BPF_JGE, PAIR_BOUND, no, next);
	return load_arg(p, arg);
}

/* The allowed values with the same bits above the lowest five. */
struct word {
	uint32_t key, mask;
};

/* The words of a, and in `listed` which rows are in one. */
static size_t collect_words(const struct arg_answers *a, struct word *words, bool *listed) {
	size_t n = 0;

	for (size_t i = 0, next; i < a->count; i = next) {
		struct word w = {a->rows[i].value >> WORD_SHIFT, 0};

		for (next = i; next < a->count && a->rows[next].value >> WORD_SHIFT == w.key;
		     next++) {
			bool allowed = a->rows[next].error == LET_THROUGH;

			w.mask |= allowed ? 1U << a->rows[next].value % WORD_BITS : 0;
		}
		bool dense = __builtin_popcount(w.mask) >= WORD_ROWS_MIN;
		for (size_t row = i; row < next; row++) {
			listed[row] = dense && a->rows[row].error == LET_THROUGH;
		}
		if (dense) {
			words[n++] = w;
		}
	}
	return n;
}

/* Jumps to `yes` if the accumulator is a value of a word, otherwise to `no`, with the value in
 * MEMORY_VALUE.  The bits to shift by are masked here: what a shift by more than 31 does is
 * not documented. */
static void write_words(struct program *p, const struct word *words, size_t n, uint32_t yes,
			uint32_t no) {
	uint32_t mask[ARG_ANSWERS_MAX / WORD_ROWS_MIN], next = no, test;

	branch(p, BPF_JSET, 1, yes, no);
	test = emit(p, BPF_ALU | BPF_RSH | BPF_X, 0, 0, 0);
	for (size_t i = n; i-- > 0;) {
		if (i + 1 < n) {
			emit(p, BPF_JMP | BPF_JA, 0, 0, distance(p, test));
		}
		mask[i] = emit(p, BPF_LD | BPF_IMM, 0, 0, words[i].mask);
	}
	for (size_t i = 0; i < n; i++) {
		next = branch(p, BPF_JEQ, words[i].key, mask[i], next);
	}
	emit(p, BPF_ALU | BPF_RSH | BPF_K, 0, 0, WORD_SHIFT);
	emit(p, BPF_LD | BPF_MEM, 0, 0, MEMORY_VALUE);
	emit(p, BPF_MISC | BPF_TAX, 0, 0, 0);
	emit(p, BPF_ALU | BPF_AND | BPF_K, 0, 0, WORD_BITS - 1);
	emit(p, BPF_ST, 0, 0, MEMORY_VALUE);
}

/* The rows that are in no word, and every other value. */
static size_t collect_values(const struct arg_answers *a, const bool *listed, unsigned last,
			     struct bpf_run *runs) {
	uint8_t otherwise = bpf_runs_leaf(a->otherwise, last);
	size_t n = 0;

	add_run(runs, &n, 0, otherwise);
	for (size_t i = 0; i < a->count; i++) {
		if (listed[i]) {
			continue;
		}
		add_run(runs, &n, a->rows[i].value, bpf_runs_leaf(a->rows[i].error, last));
		if (a->rows[i].value != UINT32_MAX) {
			add_run(runs, &n, a->rows[i].value + 1, otherwise);
		}
	}
	return n;
}

/* Masks for the allowed values that are close together, then a search for the others; an allowed
 * value jumps to `last`. */
static uint32_t write_answers(struct program *p, const struct arg_answers *a, unsigned last) {
	struct bpf_run runs[2 * ARG_ANSWERS_MAX + 1];
	struct word words[ARG_ANSWERS_MAX / WORD_ROWS_MIN];
	bool listed[ARG_ANSWERS_MAX];

	assert(a->count <= ARG_ANSWERS_MAX);
	size_t nwords = collect_words(a, words, listed);
	size_t n = collect_values(a, listed, last, runs);
	/* Before the search: a load must come directly before the code that uses it. */
	uint32_t yes = leaf(p, last), no = leaf(p, bpf_runs_leaf(a->otherwise, last));
	if (n == 1 && nwords == 0) {
		return no;
	}
	if (n > 1) {
		write_tree(p, runs, n, UINT32_MAX); /* its first test is the last instruction */
	}
	if (nwords > 0) {
		uint32_t rest = n > 1 ? emit(p, BPF_LD | BPF_MEM, 0, 0, MEMORY_VALUE) : no;
		write_words(p, words, nwords, yes, rest);
	}
	return a->pair ? write_pair(p, a->arg, no) : load_arg(p, a->arg);
}

/* The check's own refusals, then those of its base, then an allow list. */
static uint32_t write_check(struct program *p, const struct syscall_check *c, unsigned last) {
	uint32_t next = c->base != CHECK_NONE ? write_check(p, &syscall_checks[c->base], last)
			: c->answers != NULL  ? write_answers(p, c->answers, last)
					      : leaf(p, last);

	return write_refusals(p, c, next);
}

/* Writes only the checks that a number uses. */
static void write_checks(struct program *p, const struct bpf_run *runs, size_t nruns) {
	bool used[CHECK_COUNT] = {false};

	for (size_t i = 0; i < nruns; i++) {
		if (runs[i].leaf > LEAF_CHECK && runs[i].leaf < LEAF_ERRNO) {
			used[runs[i].leaf - LEAF_CHECK] = true;
		}
	}
	for (unsigned c = CHECK_NONE + 1; c < CHECK_COUNT; c++) {
		if (used[c]) {
			unsigned last = syscall_checks[c].ask ? LEAF_ASK : LEAF_ALLOW;

			p->leaf[LEAF_CHECK + c] = write_check(p, &syscall_checks[c], last);
		}
	}
}

/* Neither loads nor computes: the accumulator stays the number. */
static bool only_branches(const struct program *p, uint32_t from) {
	for (uint32_t i = from; i < p->len; i++) {
		unsigned class = BPF_CLASS(p->reverse[i].code);

		if (class != BPF_JMP && class != BPF_RET) {
			return false;
		}
	}
	return true;
}

static void write_program(struct program *p, const struct bpf_options *o) {
	static const uint32_t audit_arch[] = {
		[BPF_ARCH_X86_64] = AUDIT_ARCH_X86_64,
		[BPF_ARCH_AARCH64] = AUDIT_ARCH_AARCH64,
		[BPF_ARCH_RISCV64] = AUDIT_ARCH_RISCV64,
	};
	struct bpf_run runs[BPF_RUNS_MAX];
	size_t nruns = bpf_runs_collect(o, runs);
	uint32_t native, kill;

	assert(runs[nruns - 1].leaf == LEAF_ERRNO + ENOSYS); /* B2 */
	p->leaf[LEAF_ALLOW] = emit(p, BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW);
	write_checks(p, runs, nruns);
	uint32_t tree = p->len;
	write_tree(p, runs, nruns, BPF_RUNS_MAX);
	assert(only_branches(p, tree)); /* B3 */
	native = load(p, offsetof(struct seccomp_data, nr));
	kill = emit(p, BPF_RET | BPF_K, 0, 0, SECCOMP_RET_KILL_PROCESS);
	branch(p, BPF_JEQ, audit_arch[o->arch], native, kill);
	load(p, offsetof(struct seccomp_data, arch));
}

enum bpf_arch bpf_native(void) {
#if defined(__x86_64__) && !defined(__ILP32__)
	return BPF_ARCH_X86_64;
#elif defined(__aarch64__)
	return BPF_ARCH_AARCH64;
#elif defined(__riscv) && __riscv_xlen == 64
	return BPF_ARCH_RISCV64;
#else
#error "the system call table has no column for this architecture"
#endif
}

int bpf_build(struct arena *a, const struct bpf_options *o, struct sock_fprog *ret, struct err *e) {
	struct program p = {.len = 0};
	struct sock_filter *code;

	for (size_t i = 0; i < LEAF_COUNT; i++) {
		p.leaf[i] = NOT_WRITTEN;
	}
	write_program(&p, o);
	if (p.full) {
		return err_set(e, ERR_SETUP, "seccomp", "the filter is longer than %d instructions",
			       PROGRAM_MAX);
	}
	code = arena_array(a, p.len, sizeof *code);
	if (code == NULL) {
		return err_memory(e, "seccomp");
	}
	for (uint32_t i = 0; i < p.len; i++) {
		code[i] = p.reverse[p.len - 1 - i];
	}
	assert(code[0].code == (BPF_LD | BPF_W | BPF_ABS) &&
	       code[0].k == offsetof(struct seccomp_data, arch)); /* B1 */
	*ret = (struct sock_fprog){(unsigned short)p.len, code};
	return 0;
}
