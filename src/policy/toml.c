/* SPDX-License-Identifier: Apache-2.0 */
/* Parses TOML 1.0 documents: keys, tables and arrays (toml_scalar.c: all other values).
 *
 * Should:   accept exactly TOML 1.0, in time proportional to the text.
 * Must not: let a later line change the meaning of an earlier one: a table, a key
 *           and an inline value are each defined once.
 * Fails:    closed, with the line and the expected token.
 *
 * Written by hand, because the distributions that Corral is built on package no C library
 * for TOML.  Three limits are Corral's and not the format's: 64-bit integers, no U+0000 in
 * strings, DOC_DEPTH_MAX levels.
 *
 * Which lines may add to a table depends on how it was defined (enum node_made):
 *
 *                     [a]        [a.b]      a.b = 1
 *     MADE_PASSING    yes        yes        yes
 *     MADE_HEADER     no         yes        no
 *     MADE_DOTTED     no         yes        yes
 *     MADE_VALUE      no         no         no
 *
 * TOML lets only the section that defined a dotted table add to it by dotted keys.  That
 * needs no check of its own: from any other section the path to it contains the first
 * section's table, which is MADE_HEADER. */
#include "policy/toml.h"

#include "base/auto.h"

#include <stdio.h>
#include <string.h>

struct path {
	const char *parts[DOC_DEPTH_MAX + 1]; /* the last may name a scalar, which adds no level */
	size_t count;
	int line;
};

static int read_value(struct toml *p, struct node *parent, const char *key, struct err *e);

int toml_expected(const struct toml *p, const char *what, struct err *e) {
	char found[32] = "the end of the file";
	int c = toml_peek(p);

	if (toml_newline(p) > 0) {
		(void)snprintf(found, sizeof found, "the end of the line");
	} else if (c >= 0x80) {
		(void)snprintf(found, sizeof found, "a non-ASCII character");
	} else if (c >= 0) {
		(void)snprintf(found, sizeof found, c == '\'' ? "\"%c\"" : "'%c'", c);
	}
	return doc_tree_err(&p->tree, p->line, e, "expected %s, found %s", what, found);
}

void toml_skip_blanks(struct toml *p) {
	while (toml_peek(p) == ' ' || toml_peek(p) == '\t') {
		p->at++;
	}
}

static void skip_comment(struct toml *p) {
	if (toml_peek(p) == '#') {
		const char *eol = memchr(p->at, '\n', (size_t)(p->end - p->at));
		p->at = eol == NULL ? p->end : eol;
	}
}

/* Skips white space, comments and line ends; true when there was a line end. */
static bool skip_lines(struct toml *p) {
	bool any = false;
	for (;;) {
		toml_skip_blanks(p);
		skip_comment(p);
		if (toml_newline(p) == 0) {
			return any;
		}
		p->at += toml_newline(p);
		p->line++;
		any = true;
	}
}

static bool is_bare(int c) {
	return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
	       c == '_' || c == '-';
}

static int read_key_part(struct toml *p, const char **ret, struct err *e) {
	int c = toml_peek(p);
	size_t len = 0;

	if (c == '"' || c == '\'') {
		return toml_key_string(p, ret, e);
	}
	while (is_bare(toml_ahead(p, len))) {
		len++;
	}
	if (len == 0) {
		return toml_expected(p, "a key", e);
	}
	*ret = arena_strndup(p->tree.a, p->at, len);
	if (*ret == NULL) {
		return err_memory(e, "policy");
	}
	p->at += len;
	return 0;
}

static int read_path(struct toml *p, struct path *ret, struct err *e) {
	ret->count = 0;
	ret->line = p->line;
	for (;;) {
		const char *part = NULL;
		if (ret->count == ARRAY_LEN(ret->parts)) {
			return doc_tree_too_deep(&p->tree, p->line, e);
		}
		if (read_key_part(p, &part, e) != 0) {
			return -1;
		}
		ret->parts[ret->count++] = part;
		toml_skip_blanks(p);
		if (toml_peek(p) != '.') {
			return 0;
		}
		p->at++;
		toml_skip_blanks(p);
	}
}

static struct node *container(struct toml *p, enum doc_type type, enum node_made made) {
	struct node *n = doc_tree_node(&p->tree, type, p->line);
	if (n != NULL) {
		n->made = made;
	}
	return n;
}

/* key is NULL when the parent is an array; n is NULL out of memory. */
static int attach(struct toml *p, struct node *parent, const char *key, struct node *n,
		  struct err *e) {
	if (n == NULL) {
		return err_memory(e, "policy");
	}
	return key == NULL ? doc_tree_append(&p->tree, parent, n, e)
			   : doc_tree_put(&p->tree, parent, key, n, e);
}

/* Finds the table that the leading parts of a dotted key name, and creates missing ones; an
 * error where a dotted key may not add to a table. */
static int enter_dotted(struct toml *p, const struct path *path, struct node **table,
			struct err *e) {
	for (size_t i = 0; i + 1 < path->count; i++) {
		const char *key = path->parts[i];
		struct node *n = doc_node_find(*table, key);
		if (n == NULL) {
			n = container(p, DOC_TABLE, MADE_DOTTED);
			if (attach(p, *table, key, n, e) != 0) {
				return -1;
			}
		}
		bool open = n->made == MADE_PASSING || n->made == MADE_DOTTED;
		if (n->doc.type != DOC_TABLE || !open) {
			return doc_tree_err(
				&p->tree, path->line, e,
				"a dotted key cannot add to \"%.60s\", which line %d defines", key,
				n->doc.line);
		}
		n->made = MADE_DOTTED;
		*table = n;
	}
	return 0;
}

static int read_key_value(struct toml *p, struct node *table, struct err *e) {
	struct path path;

	if (read_path(p, &path, e) != 0) {
		return -1;
	}
	if (toml_peek(p) != '=') {
		return toml_expected(p, "'=' after the key", e);
	}
	p->at++;
	toml_skip_blanks(p);
	if (enter_dotted(p, &path, &table, e) != 0) {
		return -1;
	}
	return read_value(p, table, path.parts[path.count - 1], e);
}

static int read_array(struct toml *p, struct node *array, struct err *e) {
	p->at++;
	(void)skip_lines(p); /* an array may span lines */
	while (toml_peek(p) != ']') {
		if (read_value(p, array, NULL, e) != 0) {
			return -1;
		}
		(void)skip_lines(p);
		if (toml_peek(p) == ']') {
			break;
		}
		if (toml_peek(p) != ',') {
			return toml_expected(p, "',' or ']' in the array", e);
		}
		p->at++;
		(void)skip_lines(p);
	}
	p->at++;
	return 0;
}

static int read_pairs(struct toml *p, struct node *table, struct err *e) {
	for (;;) {
		toml_skip_blanks(p);
		if (read_key_value(p, table, e) != 0) {
			return -1;
		}
		toml_skip_blanks(p);
		if (toml_peek(p) == '}') {
			p->at++;
			return 0;
		}
		if (toml_peek(p) != ',') {
			return toml_expected(p, "',' or '}' on the line of the inline table", e);
		}
		p->at++;
	}
}

static int read_inline_table(struct toml *p, struct node *table, struct err *e) {
	p->at++;
	toml_skip_blanks(p);
	if (toml_peek(p) == '}') {
		p->at++;
		return 0;
	}
	return read_pairs(p, table, e);
}

/* Containers are linked before they are filled, so that the depth is checked
 * before the recursion goes on. */
static int read_value(struct toml *p, struct node *parent, const char *key, struct err *e) {
	int c = toml_peek(p);
	struct node *n;

	if (c == '[') {
		n = container(p, DOC_ARRAY, MADE_VALUE);
		return attach(p, parent, key, n, e) != 0 ? -1 : read_array(p, n, e);
	}
	if (c == '{') {
		n = container(p, DOC_TABLE, MADE_VALUE);
		return attach(p, parent, key, n, e) != 0 ? -1 : read_inline_table(p, n, e);
	}
	if (toml_scalar(p, &n, e) != 0) {
		return -1;
	}
	n->made = MADE_VALUE;
	return attach(p, parent, key, n, e);
}

/* Finds the parent table of a header's last part.  The path may contain any table, and of an
 * array of tables its last element. */
static int enter_header(struct toml *p, const struct path *path, struct node **ret, struct err *e) {
	struct node *table = *ret;

	for (size_t i = 0; i + 1 < path->count; i++) {
		const char *key = path->parts[i];
		struct node *n = doc_node_find(table, key);
		if (n == NULL) {
			n = container(p, DOC_TABLE, MADE_PASSING);
			if (attach(p, table, key, n, e) != 0) {
				return -1;
			}
		}
		if (n->made == MADE_VALUE) {
			return doc_tree_err(
				&p->tree, path->line, e,
				"a table header cannot add to \"%.60s\", a value of line %d", key,
				n->doc.line);
		}
		table = n->doc.type == DOC_ARRAY ? (struct node *)n->doc.last : n;
	}
	*ret = table;
	return 0;
}

static int already_defined(const struct toml *p, const struct path *path, const struct node *old,
			   struct err *e) {
	return doc_tree_err(&p->tree, path->line, e, "\"%.60s\" is already defined in line %d",
			    path->parts[path->count - 1], old->doc.line);
}

static int open_table(struct toml *p, const struct path *path, struct node *parent, struct err *e) {
	const char *key = path->parts[path->count - 1];
	struct node *n = doc_node_find(parent, key);

	if (n == NULL) {
		p->table = container(p, DOC_TABLE, MADE_HEADER);
		return attach(p, parent, key, p->table, e);
	}
	if (n->made != MADE_PASSING) {
		return already_defined(p, path, n, e);
	}
	n->made = MADE_HEADER;
	n->doc.line = path->line;
	p->table = n;
	return 0;
}

static int open_element(struct toml *p, const struct path *path, struct node *parent,
			struct err *e) {
	const char *key = path->parts[path->count - 1];
	struct node *array = doc_node_find(parent, key);

	if (array == NULL) {
		array = container(p, DOC_ARRAY, MADE_HEADER);
		if (attach(p, parent, key, array, e) != 0) {
			return -1;
		}
	} else if (array->doc.type != DOC_ARRAY || array->made != MADE_HEADER) {
		return already_defined(p, path, array, e);
	}
	p->table = container(p, DOC_TABLE, MADE_HEADER);
	return attach(p, array, NULL, p->table, e);
}

static int read_header(struct toml *p, struct node *root, struct err *e) {
	bool element = toml_ahead(p, 1) == '[';
	struct node *parent = root;
	struct path path;

	p->at += element ? 2 : 1;
	toml_skip_blanks(p);
	if (read_path(p, &path, e) != 0) {
		return -1;
	}
	if (toml_peek(p) != ']' || (element && toml_ahead(p, 1) != ']')) {
		return toml_expected(p,
				     element ? "']]' after the name of the table"
					     : "']' after the name of the table",
				     e);
	}
	p->at += element ? 2 : 1;
	if (enter_header(p, &path, &parent, e) != 0) {
		return -1;
	}
	return element ? open_element(p, &path, parent, e) : open_table(p, &path, parent, e);
}

static int read_document(struct toml *p, struct err *e) {
	struct node *root = p->table;

	(void)skip_lines(p);
	while (toml_peek(p) >= 0) {
		int r = toml_peek(p) == '[' ? read_header(p, root, e)
					    : read_key_value(p, p->table, e);
		if (r != 0) {
			return -1;
		}
		if (!skip_lines(p) && toml_peek(p) >= 0) {
			return toml_expected(p, "the end of the line", e);
		}
	}
	return 0;
}

int doc_parse_toml(struct arena *a, const char *name, const char *text, size_t len,
		   struct doc **ret, struct err *e) {
	struct toml p = {.tree = {.a = a, .name = name}, .at = text, .end = text + len, .line = 1};
	struct node *root = doc_tree_node(&p.tree, DOC_TABLE, 1);

	if (root == NULL) {
		return err_memory(e, "policy");
	}
	if (doc_tree_check_text(&p.tree, text, len, true, e) != 0) {
		return -1;
	}
	root->made = MADE_HEADER;
	p.table = root;
	int r = read_document(&p, e);
	buf_done(&p.scratch);
	if (r == 0) {
		*ret = &root->doc;
	}
	return r;
}
