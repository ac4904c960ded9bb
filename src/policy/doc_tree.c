/* SPDX-License-Identifier: Apache-2.0 */
/* Builds a document tree: nodes, keys, depth and text checks.
 *
 * Should:   take time proportional to the text, for any text.
 * Must not: accept a duplicate key in a table, or a tree deeper than
 *           DOC_DEPTH_MAX (readers recurse).
 * Fails:    closed, with file and line.
 *
 * Keys are found through a crit-bit tree per table: a branch names the first
 * bit in which its two sides differ.  A look-up costs at most one step per bit
 * of the key, so a file of a hundred thousand keys parses in milliseconds, and
 * unlike a hash there is no set of keys that makes it slow, and no seed. */
#include "policy/doc_tree.h"

#include "base/float.h"
#include "base/str.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

struct key_branch {
	struct node *leaf; /* set: the end of the path, and no other field counts */
	size_t at;         /* the byte, and the bit in it, that decide */
	unsigned char bit;
	struct key_branch *side[2];
};

int(doc_tree_err)(const struct tree *t, int line, struct err *e, const char *fmt, ...) {
	char what[sizeof e->what];
	char at[16] = "";
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(what, sizeof what, fmt, ap); /* truncation is acceptable in a message */
	va_end(ap);
	if (line > 0) {
		(void)snprintf(at, sizeof at, ":%d", line);
	}
	(void)err_set(e, ERR_USAGE, "policy", "%s%s: %s", t->name, at, what);
	str_hide_controls(e->what, false);
	return -1;
}

int doc_tree_too_deep(const struct tree *t, int line, struct err *e) {
	return doc_tree_err(t, line, e, "nested deeper than %d levels", DOC_DEPTH_MAX);
}

int doc_tree_check_text(const struct tree *t, const char *text, size_t len, bool plain_only,
			struct err *e) {
	const unsigned char *p = (const unsigned char *)text;
	int line = 1;

	for (size_t at = 0; at < len;) {
		size_t n = str_utf8_length(p + at, len - at);
		bool crlf = p[at] == '\r' && at + 1 < len && p[at + 1] == '\n';
		bool control =
			(p[at] < 0x20 && p[at] != '\t' && p[at] != '\n' && !crlf) || p[at] == 0x7F;
		if (n == 0) {
			return doc_tree_err(t, line, e, "the byte 0x%02X is not valid UTF-8",
					    p[at]);
		}
		if (p[at] == 0 || (plain_only && control)) {
			return doc_tree_err(t, line, e,
					    "the control character U+%04X is not allowed", p[at]);
		}
		line += p[at] == '\n' && line < INT_MAX;
		at += n;
	}
	return 0;
}

struct node *doc_tree_node(struct tree *t, enum doc_type type, int line) {
	struct node *n = arena_alloc(t->a, sizeof *n);
	if (n != NULL) {
		n->doc.type = type;
		n->doc.line = line;
	}
	return n;
}

/* Bytes after the end of a key count as NUL; keys contain no NUL, so they stay distinct. */
static int side_of(const struct key_branch *b, const char *key, size_t len) {
	unsigned char c = b->at < len ? (unsigned char)key[b->at] : 0;
	return (c & b->bit) != 0;
}

static struct node *nearest(const struct node *table, const char *key, size_t len) {
	const struct key_branch *b = table->keys;
	if (b == NULL) {
		return NULL;
	}
	while (b->leaf == NULL) {
		b = b->side[side_of(b, key, len)];
	}
	return b->leaf;
}

struct node *doc_node_find(const struct node *table, const char *key) {
	struct node *n = nearest(table, key, strlen(key));
	return n != NULL && streq(n->doc.key, key) ? n : NULL;
}

static bool decides_before(const struct key_branch *b, size_t at, unsigned char bit) {
	return b->at < at || (b->at == at && b->bit > bit);
}

/* Adds a child whose key is in no leaf yet. */
static int index_key(struct tree *t, struct node *table, struct node *child) {
	const char *key = child->doc.key;
	size_t len = strlen(key), at = 0;
	const struct node *near = nearest(table, key, len);
	struct key_branch *leaf = arena_alloc(t->a, sizeof *leaf);
	struct key_branch *fork = arena_alloc(t->a, sizeof *fork);

	if (leaf == NULL || fork == NULL) {
		return -1;
	}
	leaf->leaf = child;
	if (near == NULL) {
		table->keys = leaf;
		return 0;
	}
	while (key[at] == near->doc.key[at]) {
		at++;
	}
	unsigned char differ = (unsigned char)key[at] ^ (unsigned char)near->doc.key[at];
	fork->at = at;
	fork->bit = 0x80;
	while ((differ & fork->bit) == 0) {
		fork->bit >>= 1;
	}
	struct key_branch **place = &table->keys;
	while ((*place)->leaf == NULL && decides_before(*place, at, fork->bit)) {
		place = &(*place)->side[side_of(*place, key, len)];
	}
	int mine = side_of(fork, key, len);
	fork->side[mine] = leaf;
	fork->side[!mine] = *place;
	*place = fork;
	return 0;
}

static int link_child(struct tree *t, struct node *parent, struct node *child, struct err *e) {
	struct doc *p = &parent->doc;

	child->depth = parent->depth + 1;
	if ((child->doc.type == DOC_TABLE || child->doc.type == DOC_ARRAY) &&
	    child->depth > DOC_DEPTH_MAX) {
		return doc_tree_too_deep(t, child->doc.line, e);
	}
	if (p->last == NULL) {
		p->first = &child->doc;
	} else {
		p->last->next = &child->doc;
	}
	p->last = &child->doc;
	return 0;
}

int doc_tree_put(struct tree *t, struct node *table, const char *key, struct node *child,
		 struct err *e) {
	const struct node *old = doc_node_find(table, key);

	if (old != NULL && old->doc.line > 0) {
		return doc_tree_err(t, child->doc.line, e,
				    "the key \"%.60s\" is already set in line %d", key,
				    old->doc.line);
	}
	if (old != NULL) {
		return doc_tree_err(t, child->doc.line, e, "the key \"%.60s\" is set twice", key);
	}
	child->doc.key = key;
	if (index_key(t, table, child) != 0) {
		return err_memory(e, "policy");
	}
	return link_child(t, table, child, e);
}

int doc_tree_append(struct tree *t, struct node *array, struct node *child, struct err *e) {
	return link_child(t, array, child, e);
}

static unsigned digit_value(char c) {
	return c <= '9' ? (unsigned)(c - '0') : (unsigned)((c | 0x20) - 'a') + 10;
}

bool doc_number_int(const char *digits, size_t len, unsigned base, bool negative, int64_t *ret) {
	uint64_t n = 0, limit = (uint64_t)INT64_MAX + negative;

	for (size_t i = 0; i < len; i++) {
		if (digits[i] == '_') {
			continue;
		}
		if (__builtin_mul_overflow(n, base, &n) ||
		    __builtin_add_overflow(n, digit_value(digits[i]), &n) || n > limit) {
			return false;
		}
	}
	*ret = negative ? (int64_t)(0 - n) : (int64_t)n;
	return true;
}

double doc_number_float(const char *digits) {
	return float_read(digits);
}
