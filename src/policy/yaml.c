/* SPDX-License-Identifier: Apache-2.0 */
/* Parses YAML documents with libyaml's event parser.
 *
 * Should:   accept the part of YAML 1.2 that JSON can express: one document of
 *           mappings, sequences and scalars of the core schema.
 * Must not: accept anchors, aliases, tags, directives or keys that are not
 *           strings: with them a short file can have a meaning that its reader
 *           does not see.
 * Fails:    closed, with the line. */
#include "policy/doc_tree.h"

#include "base/auto.h"
#include "base/str.h"

#include <math.h>
#include <yaml.h>

#define auto_event __attribute__((cleanup(yaml_event_delete))) yaml_event_t

struct reader {
	struct tree tree;
	yaml_parser_t *parser;
};

static const struct {
	const char *text;
	enum doc_type type;
	double real;
	bool yes;
} words[] = {
	/* The empty text: "key:" without a value is null. */
	{"", DOC_NULL, 0, false},
	{"~", DOC_NULL, 0, false},
	{"null", DOC_NULL, 0, false},
	{"Null", DOC_NULL, 0, false},
	{"NULL", DOC_NULL, 0, false},
	{"true", DOC_BOOL, 0, true},
	{"True", DOC_BOOL, 0, true},
	{"TRUE", DOC_BOOL, 0, true},
	{"false", DOC_BOOL, 0, false},
	{"False", DOC_BOOL, 0, false},
	{"FALSE", DOC_BOOL, 0, false},
	{".inf", DOC_FLOAT, INFINITY, false},
	{".Inf", DOC_FLOAT, INFINITY, false},
	{".INF", DOC_FLOAT, INFINITY, false},
	{"+.inf", DOC_FLOAT, INFINITY, false},
	{"+.Inf", DOC_FLOAT, INFINITY, false},
	{"+.INF", DOC_FLOAT, INFINITY, false},
	{"-.inf", DOC_FLOAT, -INFINITY, false},
	{"-.Inf", DOC_FLOAT, -INFINITY, false},
	{"-.INF", DOC_FLOAT, -INFINITY, false},
	{".nan", DOC_FLOAT, NAN, false},
	{".NaN", DOC_FLOAT, NAN, false},
	{".NAN", DOC_FLOAT, NAN, false},
};

/* The core schema's integers; "0o17" and "0x1F" take no sign. */
static const struct {
	const char *prefix;
	unsigned base;
	const char *digits;
} integers[] = {
	{"0o", 8, "01234567"},   {"0x", 16, "0123456789abcdefABCDEF"},
	{"-", 10, "0123456789"}, {"+", 10, "0123456789"},
	{"", 10, "0123456789"},
};

static int line_of(const yaml_event_t *ev) {
	return (int)ev->start_mark.line + 1;
}

static int next_event(struct reader *r, yaml_event_t *ev, struct err *e) {
	yaml_parser_t *p = r->parser;

	if (yaml_parser_parse(p, ev)) {
		return 0;
	}
	if (p->error == YAML_MEMORY_ERROR) {
		return err_memory(e, "policy");
	}
	return doc_tree_err(&r->tree, (int)p->problem_mark.line + 1, e, "%s%s%s",
			    p->context == NULL ? "" : p->context, p->context == NULL ? "" : ": ",
			    p->problem == NULL ? "not YAML" : p->problem);
}

static bool resolve_word(struct doc *d) {
	for (size_t i = 0; i < ARRAY_LEN(words); i++) {
		if (streq(d->str, words[i].text)) {
			d->type = words[i].type;
			d->real = words[i].real;
			d->yes = words[i].yes;
			return true;
		}
	}
	return false;
}

/* 1: an integer; 0: something else; -1: an integer that does not fit. */
static int resolve_int(struct doc *d) {
	for (size_t i = 0; i < ARRAY_LEN(integers); i++) {
		size_t skip = strlen(integers[i].prefix);
		const char *digits = d->str + skip;
		if (!str_starts(d->str, integers[i].prefix) || d->len == skip ||
		    digits[strspn(digits, integers[i].digits)] != '\0') {
			continue;
		}
		d->type = DOC_INT;
		bool fits = doc_number_int(digits, d->len - skip, integers[i].base,
					   d->str[0] == '-', &d->num);
		return fits ? 1 : -1;
	}
	return 0;
}

static size_t digits_at(const char *s) {
	return strspn(s, "0123456789");
}

/* [-+]? ( \. [0-9]+ | [0-9]+ ( \. [0-9]* )? ) ( [eE] [-+]? [0-9]+ )? */
static bool resolve_float(struct doc *d) {
	const char *s = d->str + (d->str[0] == '-' || d->str[0] == '+');
	size_t whole = digits_at(s), part = 0;

	s += whole;
	if (*s == '.') {
		part = digits_at(s + 1);
		s += 1 + part;
	}
	if (whole + part == 0) {
		return false;
	}
	if (*s == 'e' || *s == 'E') {
		s += 1 + (s[1] == '-' || s[1] == '+');
		if (digits_at(s) == 0) {
			return false;
		}
		s += digits_at(s);
	}
	if (*s != '\0') {
		return false;
	}
	d->type = DOC_FLOAT;
	d->real = doc_number_float(d->str);
	return true;
}

static int resolve(struct reader *r, struct doc *d, struct err *e) {
	if (resolve_word(d)) {
		return 0;
	}
	int is_int = resolve_int(d);
	if (is_int < 0) {
		return doc_tree_err(&r->tree, d->line, e, "%.40s does not fit a 64-bit integer",
				    d->str);
	}
	if (is_int == 0) {
		(void)resolve_float(d); /* false: it stays a string */
	}
	return 0;
}

/* Refuses an anchor and a tag; both pointers are NULL in a plain file. */
static int refuse_properties(struct reader *r, const yaml_event_t *ev, const yaml_char_t *anchor,
			     const yaml_char_t *tag, struct err *e) {
	if (anchor != NULL) {
		return doc_tree_err(&r->tree, line_of(ev), e, "the anchor &%.40s is not allowed",
				    (const char *)anchor);
	}
	if (tag != NULL) {
		return doc_tree_err(&r->tree, line_of(ev), e, "the tag %.40s is not allowed",
				    (const char *)tag);
	}
	return 0;
}

static int read_scalar(struct reader *r, const yaml_event_t *ev, struct node **ret, struct err *e) {
	const char *text = (const char *)ev->data.scalar.value;
	size_t len = ev->data.scalar.length;
	struct node *n = doc_tree_node(&r->tree, DOC_STRING, line_of(ev));
	char *own = arena_strndup(r->tree.a, text, len);

	if (n == NULL || own == NULL) {
		return err_memory(e, "policy");
	}
	if (refuse_properties(r, ev, ev->data.scalar.anchor, ev->data.scalar.tag, e) != 0) {
		return -1;
	}
	if (memchr(text, '\0', len) != NULL) {
		return doc_tree_err(&r->tree, line_of(ev), e, "U+0000 is not allowed in a string");
	}
	n->doc.str = own;
	n->doc.len = len;
	if (ev->data.scalar.style == YAML_PLAIN_SCALAR_STYLE && resolve(r, &n->doc, e) != 0) {
		return -1;
	}
	*ret = n;
	return 0;
}

static int read_collection(struct reader *r, const yaml_event_t *ev, struct node **ret,
			   struct err *e) {
	bool map = ev->type == YAML_MAPPING_START_EVENT;
	const yaml_char_t *anchor =
		map ? ev->data.mapping_start.anchor : ev->data.sequence_start.anchor;
	const yaml_char_t *tag = map ? ev->data.mapping_start.tag : ev->data.sequence_start.tag;
	struct node *n = doc_tree_node(&r->tree, map ? DOC_TABLE : DOC_ARRAY, line_of(ev));

	if (n == NULL) {
		return err_memory(e, "policy");
	}
	if (refuse_properties(r, ev, anchor, tag, e) != 0) {
		return -1;
	}
	*ret = n;
	return 0;
}

/* The node that an event begins, still without children. */
static int read_node(struct reader *r, const yaml_event_t *ev, struct node **ret, struct err *e) {
	switch (ev->type) {
	case YAML_SCALAR_EVENT:
		return read_scalar(r, ev, ret, e);
	case YAML_MAPPING_START_EVENT:
	case YAML_SEQUENCE_START_EVENT:
		return read_collection(r, ev, ret, e);
	case YAML_ALIAS_EVENT:
		return doc_tree_err(&r->tree, line_of(ev), e, "the alias *%.40s is not allowed",
				    (const char *)ev->data.alias.anchor);
	default:
		return doc_tree_err(&r->tree, line_of(ev), e, "expected a value");
	}
}

static int read_key(struct reader *r, const yaml_event_t *ev, const char **ret, struct err *e) {
	struct node *key = NULL;

	if (read_node(r, ev, &key, e) != 0) {
		return -1;
	}
	if (key->doc.type == DOC_STRING) {
		*ret = key->doc.str;
		return 0;
	}
	(void)doc_tree_err(&r->tree, line_of(ev), e, "expected a string as a key, found %.40s",
			   key->doc.type == DOC_TABLE   ? "a mapping"
			   : key->doc.type == DOC_ARRAY ? "a sequence"
			   : key->doc.str[0] == '\0'    ? "nothing"
							: key->doc.str);
	return err_fix(e, "put the key in quotes");
}

/* Reads children until the collection ends.  doc_tree_put() and doc_tree_append() stop
 * this recursion at DOC_DEPTH_MAX. */
static int read_children(struct reader *r, struct node *parent, struct err *e) {
	bool map = parent->doc.type == DOC_TABLE;

	for (;;) {
		auto_event key_event = {0}, event = {0};
		const char *key = NULL;
		struct node *n = NULL;
		if (map) {
			if (next_event(r, &key_event, e) != 0) {
				return -1;
			}
			if (key_event.type == YAML_MAPPING_END_EVENT) {
				return 0;
			}
			if (read_key(r, &key_event, &key, e) != 0) {
				return -1;
			}
		}
		if (next_event(r, &event, e) != 0) {
			return -1;
		}
		if (event.type == YAML_SEQUENCE_END_EVENT) {
			return 0;
		}
		if (read_node(r, &event, &n, e) != 0 ||
		    (map ? doc_tree_put(&r->tree, parent, key, n, e)
			 : doc_tree_append(&r->tree, parent, n, e)) != 0) {
			return -1;
		}
		bool deeper = n->doc.type == DOC_TABLE || n->doc.type == DOC_ARRAY;
		if (deeper && read_children(r, n, e) != 0) {
			return -1;
		}
	}
}

static int check_directives(struct reader *r, const yaml_event_t *ev, struct err *e) {
	const yaml_version_directive_t *v = ev->data.document_start.version_directive;

	if (v != NULL && (v->major != 1 || v->minor != 2)) {
		return doc_tree_err(&r->tree, line_of(ev), e,
				    "expected YAML 1.2, found %%YAML %d.%d", v->major, v->minor);
	}
	if (ev->data.document_start.tag_directives.start !=
	    ev->data.document_start.tag_directives.end) {
		return doc_tree_err(&r->tree, line_of(ev), e, "the directive %%TAG is not allowed");
	}
	return 0;
}

static int read_top(struct reader *r, struct node **ret, struct err *e) {
	auto_event event = {0};
	struct node *top = NULL;

	if (next_event(r, &event, e) != 0 || read_node(r, &event, &top, e) != 0) {
		return -1;
	}
	if (top->doc.type != DOC_TABLE) {
		return doc_tree_err(&r->tree, line_of(&event), e, "expected a mapping at the top");
	}
	if (read_children(r, top, e) != 0) {
		return -1;
	}
	*ret = top;
	return 0;
}

/* *ret stays unchanged for an empty file, which has no document. */
static int read_stream(struct reader *r, struct node **ret, struct err *e) {
	auto_event stream = {0}, start = {0}, end = {0}, after = {0};

	if (next_event(r, &stream, e) != 0 || next_event(r, &start, e) != 0) {
		return -1;
	}
	if (start.type == YAML_STREAM_END_EVENT) {
		return 0;
	}
	if (check_directives(r, &start, e) != 0 || read_top(r, ret, e) != 0 ||
	    next_event(r, &end, e) != 0 || next_event(r, &after, e) != 0) {
		return -1;
	}
	if (after.type != YAML_STREAM_END_EVENT) {
		return doc_tree_err(&r->tree, line_of(&after), e,
				    "a second document is not allowed");
	}
	return 0;
}

int doc_parse_yaml(struct arena *a, const char *name, const char *text, size_t len,
		   struct doc **ret, struct err *e) {
	__attribute__((cleanup(yaml_parser_delete))) yaml_parser_t parser = {0};
	struct reader r = {.tree = {.a = a, .name = name}, .parser = &parser};
	struct node *root = doc_tree_node(&r.tree, DOC_TABLE, 1);

	if (root == NULL || !yaml_parser_initialize(&parser)) {
		return err_memory(e, "policy");
	}
	if (doc_tree_check_text(&r.tree, text, len, false, e) != 0) {
		return -1;
	}
	/* Otherwise libyaml guesses the encoding, and would accept UTF-16. */
	yaml_parser_set_encoding(&parser, YAML_UTF8_ENCODING);
	yaml_parser_set_input_string(&parser, (const unsigned char *)text, len);
	if (read_stream(&r, &root, e) != 0) {
		return -1;
	}
	*ret = &root->doc;
	return 0;
}
