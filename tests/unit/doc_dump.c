/* SPDX-License-Identifier: Apache-2.0 */
/* Prints a document as tagged JSON: {"table":{"port":{"int":"80"}}}.
 *
 *     doc_dump toml|json|yaml FILE     one document; its error, and exit 1
 *     doc_dump toml|json|yaml --batch  many on stdin, each as "LENGTH\n" and
 *                                      that many bytes; a line of JSON for
 *                                      each, {"error":"..."} for a refused one
 *
 * For comparing the parsers with others; integers and floats are strings, so
 * that no reader of the JSON rounds them. */
#include "base/arena.h"
#include "base/auto.h"
#include "base/buf.h"
#include "base/fd.h"
#include "base/str.h"
#include "policy/doc.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>

typedef int parse_fn(struct arena *a, const char *name, const char *text, size_t len,
		     struct doc **ret, struct err *e);

#define INPUT_MAX ((size_t)256 * 1024 * 1024)

static const struct {
	const char *name;
	parse_fn *parse;
} formats[] = {
	{"toml", doc_parse_toml},
	{"json", doc_parse_json},
	{"yaml", doc_parse_yaml},
};

static json_t *tagged(const struct doc *d);

static json_t *children(const struct doc *d) {
	json_t *all = d->type == DOC_TABLE ? json_object() : json_array();

	for (const struct doc *c = d->first; c != NULL; c = c->next) {
		int r = d->type == DOC_TABLE ? json_object_set_new(all, c->key, tagged(c))
					     : json_array_append_new(all, tagged(c));
		if (r != 0) {
			abort(); /* a dump with a hole would pass for a parser's mistake */
		}
	}
	return all;
}

/* {"tag": value}; a new reference. */
static json_t *tagged(const struct doc *d) {
	switch (d->type) {
	case DOC_TABLE:
		return json_pack("{s:o}", "table", children(d));
	case DOC_ARRAY:
		return json_pack("{s:o}", "array", children(d));
	case DOC_STRING:
		return json_pack("{s:s%}", "string", d->str, d->len);
	case DOC_TIME:
		return json_pack("{s:s%}", "time", d->str, d->len);
	case DOC_INT:
		return json_pack("{s:o}", "int", json_sprintf("%" PRId64, d->num));
	case DOC_FLOAT:
		return json_pack("{s:o}", "float", json_sprintf("%.17g", d->real));
	case DOC_BOOL:
		return json_pack("{s:b}", "bool", d->yes);
	case DOC_NULL:
		return json_pack("{s:n}", "null");
	}
	abort();
}

/* One line of JSON; returns 0, or 1 when the document was refused. */
static int show(parse_fn *parse, const char *name, const char *text, size_t len, struct buf *out) {
	struct arena a;
	struct err e = {0};
	struct doc *d = NULL;

	arena_init(&a);
	int r = parse(&a, name, text, len, &d, &e);
	json_t *answer = r == 0 ? tagged(d) : json_pack("{s:s}", "error", e.what);
	auto_free char *line = json_dumps(answer, JSON_COMPACT);
	if (line == NULL) {
		abort();
	}
	buf_puts(out, line);
	buf_puts(out, "\n");
	json_decref(answer);
	arena_done(&a);
	return r == 0 ? 0 : 1;
}

/* Each document gets a block of its own, so that the sanitizer sees a read
 * past its end. */
static int show_batch(parse_fn *parse, const struct buf *in, struct buf *out) {
	size_t at = 0;

	while (at < in->len) {
		char *rest;
		size_t len = strtoull(in->data + at, &rest, 10);
		at = (size_t)(rest - in->data) + 1;
		if (*rest != '\n' || len > in->len - at) {
			(void)fprintf(stderr, "doc_dump: bad length in the batch\n");
			return 2;
		}
		auto_free char *text = malloc(len > 0 ? len : 1);
		if (text == NULL) {
			return 2;
		}
		memcpy(text, in->data + at, len);
		(void)show(parse, "batch", text, len, out); /* refusals are part of the answer */
		at += len;
	}
	return 0;
}

static int show_file(parse_fn *parse, const char *path, struct buf *in, struct buf *out) {
	if (fd_read_file(path, INPUT_MAX, in) != 0) {
		perror(path);
		return 2;
	}
	return show(parse, path, in->data, in->len, out);
}

static int run(const char *format, const char *input, struct buf *in, struct buf *out) {
	for (size_t i = 0; i < ARRAY_LEN(formats); i++) {
		if (!streq(format, formats[i].name)) {
			continue;
		}
		if (!streq(input, "--batch")) {
			return show_file(formats[i].parse, input, in, out);
		}
		if (fd_read_all(STDIN_FILENO, INPUT_MAX, in) != 0) {
			perror("doc_dump: stdin");
			return 2;
		}
		return show_batch(formats[i].parse, in, out);
	}
	(void)fprintf(stderr, "doc_dump: unknown format: %s\n", format);
	return 2;
}

int main(int argc, char **argv) {
	struct buf in, out;

	if (argc != 3) {
		(void)fprintf(stderr, "usage: doc_dump toml|json|yaml FILE|--batch\n");
		return 2;
	}
	buf_init(&in);
	buf_init(&out);
	int r = run(argv[1], argv[2], &in, &out);
	if (buf_failed(&out) || fd_write_all(STDOUT_FILENO, out.data, out.len) != 0) {
		(void)fprintf(stderr, "doc_dump: the output is incomplete\n");
		r = 2;
	}
	buf_done(&in);
	buf_done(&out);
	return r;
}
