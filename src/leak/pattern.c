/* SPDX-License-Identifier: Apache-2.0 */
/* Parses the patterns of the leak scanner and compiles them to programs, while the project is
 * built.
 *
 * Should:   read the subset of PCRE2 that data/leak_kinds.h describes.
 * Must not: be linked into the library.
 * Fails:    by ending the build. */
#include "leak/pattern.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct parser {
	const char *whole, *at;
	bool fold; /* inside (?i: ) */
};

static _Noreturn void bad(const struct parser *p, const char *why) {
	(void)fprintf(stderr, "leak pattern %s: %s at offset %zu\n", p->whole, why,
		      (size_t)(p->at - p->whole));
	_exit(1);
}

#define NODES_MAX 20000

static struct node *new_node(void) {
	static struct node nodes[NODES_MAX];
	static size_t used;

	if (used == NODES_MAX) {
		(void)fprintf(stderr, "leak patterns: too many nodes\n");
		_exit(1);
	}
	struct node *n = &nodes[used++];
	n->min = n->max = 1;
	return n;
}

static void set_add(struct leak_set *set, unsigned char c) {
	set->bits[c >> 6] |= UINT64_C(1) << (c & 63);
}

static bool is_letter(unsigned c) {
	return ((c | 0x20) >= 'a' && (c | 0x20) <= 'z') && c < 128;
}

static void set_add_folded(struct leak_set *set, unsigned char c, bool fold) {
	set_add(set, c);
	if (fold && is_letter(c)) {
		set_add(set, c ^ 0x20);
	}
}

static void set_range(struct leak_set *set, unsigned from, unsigned to, bool fold) {
	for (unsigned c = from; c <= to; c++) {
		set_add_folded(set, (unsigned char)c, fold);
	}
}

/* \d, \w and \s; false for another letter. */
static bool named_class(struct leak_set *set, char name) {
	if (name == 'd' || name == 'w') {
		set_range(set, '0', '9', false);
	}
	if (name == 'w') {
		set_range(set, 'a', 'z', true);
		set_add(set, '_');
	}
	if (name == 's') {
		set_range(set, '\t', '\r', false);
		set_add(set, ' ');
	}
	return name == 'd' || name == 'w' || name == 's';
}

static unsigned char escaped(struct parser *p) {
	static const char from[] = "nrtfve0", to[] = "\n\r\t\f\v\033";
	const char *found = strchr(from, *p->at);

	if (*p->at == '\0') {
		bad(p, "nothing after the backslash");
	}
	if (found == NULL && is_letter((unsigned char)*p->at)) {
		bad(p, "unknown escape");
	}
	unsigned char c = found != NULL ? (unsigned char)to[found - from] : (unsigned char)*p->at;
	p->at++;
	return c;
}

/* One byte of a class, for a range. */
static unsigned char class_byte(struct parser *p) {
	if (*p->at == '\\') {
		p->at++;
		return escaped(p);
	}
	return (unsigned char)*p->at++;
}

static void parse_class(struct parser *p, struct leak_set *set) {
	bool negated = *p->at == '^';

	p->at += negated;
	for (bool first = true; first || *p->at != ']'; first = false) {
		if (*p->at == '\0') {
			bad(p, "class without end");
		}
		if (p->at[0] == '\\' && named_class(set, p->at[1])) {
			p->at += 2;
			continue;
		}
		unsigned char from = class_byte(p), to = from;
		if (p->at[0] == '-' && p->at[1] != ']' && p->at[1] != '\0') {
			p->at++;
			to = class_byte(p);
		}
		if (to < from) {
			bad(p, "range in the wrong order");
		}
		set_range(set, from, to, p->fold);
	}
	p->at++;
	for (size_t i = 0; negated && i < 4; i++) {
		set->bits[i] = ~set->bits[i];
	}
}

static struct node *parse_alternatives(struct parser *p);

static struct node *parse_group(struct parser *p) {
	struct node *n = new_node();
	bool fold = p->fold;

	n->group = true;
	n->captures = true;
	if (*p->at == '?') {
		n->captures = false;
		if (strncmp(p->at, "?:", 2) == 0) {
			p->at += 2;
		} else if (strncmp(p->at, "?i:", 3) == 0) {
			p->at += 3;
			p->fold = true;
		} else {
			bad(p, "unknown group");
		}
	}
	n->alternatives = parse_alternatives(p);
	if (*p->at != ')') {
		bad(p, "group without end");
	}
	p->at++;
	p->fold = fold;
	return n;
}

static struct node *parse_atom(struct parser *p) {
	struct node *n;
	char c = *p->at;

	if (strchr("*+?{", c) != NULL) {
		bad(p, "quantifier without an atom");
	}
	if (c == '^' || c == '$' || c == ']') {
		bad(p, "not in the subset");
	}
	p->at++;
	if (c == '(') {
		return parse_group(p);
	}
	n = new_node();
	if (c == '[') {
		parse_class(p, &n->set);
	} else if (c == '.') {
		memset(&n->set, 0xff, sizeof n->set);
		n->set.bits[0] &= ~(UINT64_C(1) << '\n');
	} else if (c == '\\' && named_class(&n->set, *p->at)) {
		p->at++;
	} else if (c == '\\') {
		set_add_folded(&n->set, escaped(p), p->fold);
	} else {
		set_add_folded(&n->set, (unsigned char)c, p->fold);
	}
	return n;
}

static unsigned parse_number(struct parser *p) {
	char *end;
	unsigned long n = strtoul(p->at, &end, 10);

	if (end == p->at || n > 60000) {
		bad(p, "bad count");
	}
	p->at = end;
	return (unsigned)n;
}

static void parse_quantifier(struct parser *p, struct node *n) {
	if (*p->at == '?') {
		p->at++;
		n->min = 0;
	} else if (*p->at == '{') {
		p->at++;
		n->min = n->max = parse_number(p);
		if (*p->at == ',') {
			p->at++;
			n->max = parse_number(p);
		}
		if (*p->at != '}' || n->max < n->min || n->max == 0) {
			bad(p, "bad quantifier");
		}
		p->at++;
	}
	if (*p->at != '\0' && strchr("*+?", *p->at) != NULL) {
		bad(p, "not in the subset");
	}
}

static struct node *parse_sequence(struct parser *p) {
	struct node head = {0}, *last = &head;

	while (*p->at != '\0' && *p->at != '|' && *p->at != ')') {
		last->next = parse_atom(p);
		last = last->next;
		parse_quantifier(p, last);
	}
	if (head.next == NULL) {
		bad(p, "empty alternative");
	}
	return head.next;
}

static struct node *parse_alternatives(struct parser *p) {
	struct node *first = parse_sequence(p), *last = first;

	while (*p->at == '|') {
		p->at++;
		last->other = parse_sequence(p);
		last = last->other;
	}
	return first;
}

struct node *pattern_parse(const char *pattern) {
	struct parser p = {.whole = pattern, .at = pattern};
	struct node *n = new_node();

	n->group = true;
	n->alternatives = parse_alternatives(&p);
	if (*p.at != '\0') {
		bad(&p, "unexpected )");
	}
	return n->alternatives->other == NULL ? n->alternatives : n;
}

static size_t node_longest(const struct node *n) {
	size_t most = 1;

	if (n->group) {
		most = 0;
		for (const struct node *s = n->alternatives; s != NULL; s = s->other) {
			size_t len = pattern_longest(s);
			most = len > most ? len : most;
		}
	}
	return most * n->max;
}

size_t pattern_longest(const struct node *sequence) {
	size_t sum = 0;

	for (const struct node *n = sequence; n != NULL; n = n->next) {
		sum += node_longest(n);
	}
	return sum;
}

size_t pattern_shortest(const struct node *sequence) {
	size_t sum = 0;

	for (const struct node *n = sequence; n != NULL; n = n->next) {
		size_t least = n->group ? SIZE_MAX : 1;
		for (const struct node *s = n->group ? n->alternatives : NULL; s != NULL;
		     s = s->other) {
			size_t len = pattern_shortest(s);
			least = len < least ? len : least;
		}
		sum += least * n->min;
	}
	return sum;
}

bool pattern_set_breaks(const struct leak_set *set) {
	return leak_in(set, '\n') && !leak_in(set, ' ');
}

bool pattern_has_break(const struct node *sequence) {
	for (const struct node *n = sequence; n != NULL; n = n->next) {
		if (!n->group && pattern_set_breaks(&n->set)) {
			return true;
		}
		for (const struct node *s = n->group ? n->alternatives : NULL; s != NULL;
		     s = s->other) {
			if (pattern_has_break(s)) {
				return true;
			}
		}
	}
	return false;
}

struct leak_set pattern_first(const struct node *sequence, bool *ret_empty) {
	struct leak_set set = {{0}};

	*ret_empty = true;
	for (const struct node *n = sequence; n != NULL && *ret_empty; n = n->next) {
		struct leak_set one = n->set;
		bool empty = false;
		for (const struct node *s = n->group ? n->alternatives : NULL; s != NULL;
		     s = s->other) {
			bool e;
			struct leak_set more = pattern_first(s, &e);
			empty = empty || e;
			for (size_t i = 0; i < 4; i++) {
				one.bits[i] |= more.bits[i];
			}
		}
		for (size_t i = 0; i < 4; i++) {
			set.bits[i] |= one.bits[i];
		}
		*ret_empty = empty || n->min == 0;
	}
	return set;
}

/* ---- programs ---- */

unsigned pattern_add_set(struct program_builder *b, const struct leak_set *set) {
	for (size_t i = 0; i < b->nsets; i++) {
		if (memcmp(&b->sets[i], set, sizeof *set) == 0) {
			return (unsigned)i;
		}
	}
	b->sets[b->nsets] = *set;
	return (unsigned)b->nsets++;
}

static size_t emit(struct program_builder *b, enum leak_opcode code, unsigned a, unsigned x,
		   unsigned y) {
	if (b->nops == b->cap) {
		(void)fprintf(stderr, "leak patterns: too many ops\n");
		_exit(1);
	}
	b->ops[b->nops] = (struct leak_op){(uint16_t)code, (uint16_t)a, (uint16_t)x, (uint16_t)y};
	return b->nops++;
}

static void compile_sequence(struct program_builder *b, const struct node *sequence, size_t base);

static void compile_once(struct program_builder *b, const struct node *n, size_t base) {
	size_t jumps[64], njumps = 0;

	if (n->captures) {
		(void)emit(b, LEAK_OP_SAVE, 0, 0, 0);
	}
	for (const struct node *s = n->alternatives; s != NULL; s = s->other) {
		if (s->other == NULL) {
			compile_sequence(b, s, base);
			break;
		}
		size_t split = emit(b, LEAK_OP_SPLIT, (unsigned)(b->nops - base + 1), 0, 0);
		compile_sequence(b, s, base);
		jumps[njumps++] = emit(b, LEAK_OP_JUMP, 0, 0, 0);
		b->ops[split].b = (uint16_t)(b->nops - base);
	}
	for (size_t i = 0; i < njumps; i++) {
		b->ops[jumps[i]].a = (uint16_t)(b->nops - base);
	}
	if (n->captures) {
		(void)emit(b, LEAK_OP_SAVE, 1, 0, 0);
	}
}

static void compile_group(struct program_builder *b, const struct node *n, size_t base) {
	size_t splits[128] = {0}, nsplits = 0;

	for (unsigned i = 0; i < n->min; i++) {
		compile_once(b, n, base);
	}
	for (unsigned i = n->min; i < n->max; i++) {
		if (nsplits == sizeof splits / sizeof splits[0]) {
			(void)fprintf(stderr, "leak patterns: group repeated too often\n");
			_exit(1);
		}
		splits[nsplits++] = emit(b, LEAK_OP_SPLIT, (unsigned)(b->nops - base + 1), 0, 0);
		compile_once(b, n, base);
	}
	for (size_t i = 0; i < nsplits; i++) {
		b->ops[splits[i]].b = (uint16_t)(b->nops - base);
	}
}

static void compile_sequence(struct program_builder *b, const struct node *sequence, size_t base) {
	for (const struct node *n = sequence; n != NULL; n = n->next) {
		if (n->group) {
			compile_group(b, n, base);
		} else if (n->min == 1 && n->max == 1) {
			(void)emit(b, LEAK_OP_SET, pattern_add_set(b, &n->set), 0, 0);
		} else {
			(void)emit(b, LEAK_OP_REP, pattern_add_set(b, &n->set), n->min, n->max);
		}
	}
}

size_t pattern_compile(struct program_builder *b, const struct node *sequence, unsigned after,
		       bool *ret_open) {
	size_t base = b->nops, last;

	compile_sequence(b, sequence, base);
	last = b->nops - 1;
	while (last > base && b->ops[last].code == LEAK_OP_SAVE) {
		last--;
	}
	*ret_open = b->ops[last].code == LEAK_OP_REP && b->ops[last].c >= LEAK_OPEN_MIN &&
		    after == LEAK_NO_SET;
	if (after != LEAK_NO_SET) {
		(void)emit(b, LEAK_OP_EDGE, after, 0, 0);
	}
	(void)emit(b, LEAK_OP_MATCH, 0, 0, 0);
	return b->nops - base;
}

static void add_bytes(const struct program_builder *b, const struct leak_op *program, unsigned pc,
		      unsigned place, struct leak_set *ret);

/* The byte may be in the repetition, or after 0 to `place` bytes of it. */
static void add_repeated(const struct program_builder *b, const struct leak_op *program,
			 unsigned pc, unsigned place, struct leak_set *ret) {
	const struct leak_op *op = &program[pc];

	for (size_t i = 0; op->c > place && i < 4; i++) {
		ret->bits[i] |= b->sets[op->a].bits[i];
	}
	for (unsigned n = op->b; n <= place && n <= op->c; n++) {
		add_bytes(b, program, pc + 1, place - n, ret);
	}
}

static void add_bytes(const struct program_builder *b, const struct leak_op *program, unsigned pc,
		      unsigned place, struct leak_set *ret) {
	const struct leak_op *op = &program[pc];

	switch ((enum leak_opcode)op->code) {
	case LEAK_OP_SET:
		for (size_t i = 0; place == 0 && i < 4; i++) {
			ret->bits[i] |= b->sets[op->a].bits[i];
		}
		if (place > 0) {
			add_bytes(b, program, pc + 1, place - 1, ret);
		}
		break;
	case LEAK_OP_REP:
		add_repeated(b, program, pc, place, ret);
		break;
	case LEAK_OP_SPLIT:
		add_bytes(b, program, op->a, place, ret);
		add_bytes(b, program, op->b, place, ret);
		break;
	case LEAK_OP_JUMP:
		add_bytes(b, program, op->a, place, ret);
		break;
	case LEAK_OP_SAVE:
		add_bytes(b, program, pc + 1, place, ret);
		break;
	case LEAK_OP_EDGE:
	case LEAK_OP_MATCH:
		memset(ret, 0xff, sizeof *ret);
		break;
	}
}

struct leak_set pattern_byte(const struct program_builder *b, const struct leak_op *program,
			     unsigned place) {
	struct leak_set set = {{0}};

	add_bytes(b, program, 0, place, &set);
	return set;
}
