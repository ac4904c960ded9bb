/* SPDX-License-Identifier: Apache-2.0 */
/* A backtracking matcher for bounded patterns, with the results of PCRE2.
 *
 * Should:   return LEAK_MORE as soon as it needs a byte that is not known yet (PCRE2's hard partial
 *           match), so that a result never depends on how a stream was cut.
 * Must not: allocate, or take more than STEPS_MAX steps.
 * Fails:    open at STEPS_MAX: no pattern of the table comes near. */
#include "leak/match.h"

#include "leak/leak.h"

#define STEPS_MAX 200000U

struct matcher {
	const struct leak_op *ops;
	const struct leak_text *text;
	unsigned steps;
	bool open;
	struct leak_span *span;
};

static enum leak_outcome run(struct matcher *m, unsigned pc, size_t at);

/* True when only the end of the match follows this op. */
static bool is_last(const struct matcher *m, unsigned pc) {
	pc++;
	while (m->ops[pc].code == LEAK_OP_SAVE) {
		pc++;
	}
	return m->ops[pc].code == LEAK_OP_MATCH;
}

/* ---- bodies of open matches ---- */

#define MARK_MAX 12U /* longer than the numbers of cat -n and grep -n */

static bool is_mark_byte(unsigned char c) {
	return c == '-' || c == '+' || c == '>' || c == '|' || c == ':' || c == ' ' || c == '\t' ||
	       (c >= '0' && c <= '9');
}

/* True in the signs and numbers before a line of a patch, a quotation, cat -n or grep -n. */
static bool is_line_mark(const unsigned char *data, size_t at) {
	size_t i = at;

	if (!is_mark_byte(data[at])) {
		return false;
	}
	while (i > 0 && at - i < MARK_MAX && is_mark_byte(data[i - 1])) {
		i--;
	}
	return i > 0 && data[i - 1] == '\n';
}

size_t leak_body_end(const struct leak_set *set, const struct leak_text *t, struct leak_body body,
		     bool *ret_runs) {
	size_t at = body.from;
	bool ends = false;

	for (; at < t->len && at - body.from < body.most; at++) {
		if (leak_in(set, t->data[at])) {
			continue;
		}
		/* Two '-' begin the END line; whether there are two may not be known yet. */
		bool dash = t->data[at] == '-', last = at + 1 == t->len;
		ends = !is_line_mark(t->data, at) ||
		       (dash && (last ? t->final : t->data[at + 1] == '-'));
		if (ends || (dash && last)) {
			break;
		}
	}
	*ret_runs = !ends && !t->final && at - body.from < body.most;
	return at;
}

/* The last repetition of an open kind goes on without a bound of its own. */
static enum leak_outcome run_open(struct matcher *m, unsigned pc, size_t at) {
	bool runs;
	size_t end = leak_body_end(&leak_sets[m->ops[pc].a], m->text,
				   (struct leak_body){at, LEAK_BLOCK_MAX}, &runs);

	if (end - at < m->ops[pc].b) {
		return runs ? LEAK_MORE : LEAK_FAIL;
	}
	m->span->runs = runs;
	return run(m, pc + 1, end);
}

/* True when the op needs another byte than the one that is there. */
static bool is_hopeless(const struct matcher *m, unsigned pc, size_t at) {
	const struct leak_op *op = &m->ops[pc];

	return op->code == LEAK_OP_SET && at < m->text->len &&
	       !leak_in(&leak_sets[op->a], m->text->data[at]);
}

static enum leak_outcome run_repetition(struct matcher *m, unsigned pc, size_t at) {
	const struct leak_text *t = m->text;
	const struct leak_op *op = &m->ops[pc];
	const struct leak_set *set = &leak_sets[op->a];
	size_t n = 0, most = t->len - at < op->c ? t->len - at : op->c;

	while (n < most && leak_in(set, t->data[at + n])) {
		n++;
	}
	if (n == t->len - at && n < op->c && !t->final) {
		return LEAK_MORE;
	}
	for (; n >= op->b; n--) {
		enum leak_outcome o =
			is_hopeless(m, pc + 1, at + n) ? LEAK_FAIL : run(m, pc + 1, at + n);
		if (o != LEAK_FAIL) {
			return o;
		}
		if (n == 0) {
			break;
		}
	}
	return LEAK_FAIL;
}

/* Whether the byte at `at` is in the set, if it is known. */
static enum leak_outcome look(const struct matcher *m, unsigned set, size_t at) {
	const struct leak_text *t = m->text;

	if (at == t->len) {
		return t->final ? LEAK_FAIL : LEAK_MORE;
	}
	return leak_in(&leak_sets[set], t->data[at]) ? LEAK_MATCHED : LEAK_FAIL;
}

static enum leak_outcome run(struct matcher *m, unsigned pc, size_t at) {
	while (++m->steps < STEPS_MAX) {
		const struct leak_op *op = &m->ops[pc];
		enum leak_outcome o;
		switch ((enum leak_opcode)op->code) {
		case LEAK_OP_SET:
			if ((o = look(m, op->a, at)) != LEAK_MATCHED) {
				return o;
			}
			at++;
			pc++;
			break;
		case LEAK_OP_REP:
			return m->open && op->c >= LEAK_OPEN_MIN && is_last(m, pc)
				       ? run_open(m, pc, at)
				       : run_repetition(m, pc, at);
		case LEAK_OP_SPLIT:
			if (!is_hopeless(m, op->a, at) && (o = run(m, op->a, at)) != LEAK_FAIL) {
				return o;
			}
			pc = op->b;
			break;
		case LEAK_OP_JUMP:
			pc = op->a;
			break;
		case LEAK_OP_SAVE:
			/* Set again on the way to the match that counts. */
			*(op->a == 0 ? &m->span->secret : &m->span->secret_end) = at;
			pc++;
			break;
		case LEAK_OP_EDGE:
			if ((o = look(m, op->a, at)) != LEAK_FAIL) {
				return o == LEAK_MORE ? o : LEAK_FAIL;
			}
			pc++;
			break;
		case LEAK_OP_MATCH:
			m->span->end = at;
			return LEAK_MATCHED;
		}
	}
	return LEAK_FAIL;
}

/* In a JSON or C string the letter of \n is no part of the following word. */
static bool is_escape_letter(const unsigned char *data, size_t at) {
	return at > 0 && data[at - 1] == '\\' &&
	       (data[at] == 'n' || data[at] == 't' || data[at] == 'r' || data[at] == 'f' ||
		data[at] == 'b');
}

#define CSI_MAX 32 /* longer than any colour */

/* The last byte of a terminal's control sequence, such as the m of ESC [ 31 m, is no part of the
 * following word. */
static bool ends_control(const unsigned char *data, size_t at) {
	size_t i = at;

	if (data[at] < 0x40 || data[at] > 0x7e) {
		return false;
	}
	while (i > 0 && at - i < CSI_MAX && data[i - 1] >= 0x20 && data[i - 1] <= 0x3f) {
		i--;
	}
	return i > 1 && data[i - 1] == '[' && data[i - 2] == 0x1b;
}

/* The sign before a line of a patch, or of a list. */
static bool is_line_sign(const unsigned char *data, size_t at) {
	return (data[at] == '-' || data[at] == '+') &&
	       (at == 0 || data[at - 1] == '\n' || ends_control(data, at - 1));
}

bool leak_is_mark(const struct leak_text *t, size_t start) {
	return is_escape_letter(t->data, start - 1) || ends_control(t->data, start - 1) ||
	       is_line_sign(t->data, start - 1);
}

static bool edge_before(const struct leak_program *p, const struct leak_text *t, size_t start) {
	return p->before == LEAK_NO_SET || start == 0 ||
	       !leak_in(&leak_sets[p->before], t->data[start - 1]) || leak_is_mark(t, start);
}

/* Most runs of a program end at the first bytes: a test without a run. */
static bool has_head(const struct leak_program *p, const struct leak_text *t, size_t start) {
	for (size_t i = 0; i < LEAK_HEAD && start + i < t->len; i++) {
		if (!leak_in(&leak_sets[p->head[i]], t->data[start + i])) {
			return false;
		}
	}
	return true;
}

enum leak_outcome leak_match(size_t kind, const struct leak_text *text, size_t start,
			     struct leak_span *ret) {
	const struct leak_program *p = &leak_programs[kind];

	if (!has_head(p, text, start) || !edge_before(p, text, start)) {
		return LEAK_FAIL;
	}
	struct leak_span span = {
		.start = start, .secret = SIZE_MAX, .secret_end = SIZE_MAX, .open = p->open};
	struct matcher m = {&leak_ops[p->ops], text, 0, p->open && text->open, &span};
	enum leak_outcome o = run(&m, 0, start);
	if (o == LEAK_MATCHED) {
		if (span.secret == SIZE_MAX || span.secret_end == SIZE_MAX) {
			span.secret = span.start;
			span.secret_end = span.end;
		}
		*ret = span;
	}
	return o;
}

const struct leak_set *leak_open_set(size_t kind) {
	const struct leak_op *op = &leak_ops[leak_programs[kind].ops];
	const struct leak_op *last = op;

	for (; op->code != LEAK_OP_MATCH; op++) {
		last = op->code == LEAK_OP_REP ? op : last;
	}
	return &leak_sets[last->a];
}
