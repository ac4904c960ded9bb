/* SPDX-License-Identifier: Apache-2.0 */
/* A JSON writer without a tree.
 *
 * Should:   produce valid JSON for any bytes.
 * Must not: write control characters or bidirectional marks unescaped: a terminal interprets
 *           them.
 * Fails:    as buf.h: an allocation failure stays in the buffer. */
#include "base/emit.h"

#include "base/str.h"

#include <inttypes.h>
#include <string.h>

void emit_init(struct emit *j, struct buf *out, bool pretty) {
	*j = (struct emit){.out = out, .pretty = pretty};
}

static void newline(struct emit *j) {
	if (!j->pretty) {
		return;
	}
	buf_puts(j->out, "\n");
	for (int i = 0; i < j->depth; i++) {
		buf_puts(j->out, "  ");
	}
}

/* "\uXXXX", without printf: the output of a command may need it for every character. */
static void put_code(struct buf *out, unsigned long code) {
	static const char digits[] = "0123456789abcdef";
	char text[6] = {'\\', 'u'};
	for (int i = 0; i < 4; i++) {
		text[2 + i] = digits[code >> (12 - 4 * i) & 0xF];
	}
	buf_add(out, text, sizeof text);
}

static void escaped(struct buf *out, unsigned long code) {
	static const char names[128] = {
		['"'] = '"',  ['\\'] = '\\', ['\b'] = 'b', ['\f'] = 'f',
		['\n'] = 'n', ['\r'] = 'r',  ['\t'] = 't',
	};
	if (code < sizeof names && names[code] != '\0') {
		const char text[2] = {'\\', names[code]};
		buf_add(out, text, sizeof text);
	} else if (code > 0xFFFF) {
		put_code(out, 0xD800 + ((code - 0x10000) >> 10));
		put_code(out, 0xDC00 + ((code - 0x10000) & 0x3FF));
	} else {
		put_code(out, code);
	}
}

/* One character that needs an escape or is not ASCII. */
static size_t put_other(struct buf *out, const unsigned char *p, size_t left) {
	unsigned long code = p[0];
	size_t n = str_utf8_length(p, left);

	if (n == 0) {
		buf_add(out, "\xEF\xBF\xBD", 3);
	} else if (n == 1 || str_control_at(p, left, &code) > 0) {
		escaped(out, code);
	} else {
		buf_add(out, p, n);
	}
	return n == 0 ? 1 : n;
}

static void quoted(struct buf *out, const unsigned char *p, size_t len) {
	buf_puts(out, "\"");
	for (size_t at = 0; at < len;) {
		size_t run = at;
		while (run < len && p[run] >= 0x20 && p[run] < 0x7F && p[run] != '"' &&
		       p[run] != '\\') {
			run++;
		}
		buf_add(out, p + at, run - at);
		at = run;
		at += at < len ? put_other(out, p + at, len - at) : 0;
	}
	buf_puts(out, "\"");
}

static void before(struct emit *j, const char *key) {
	if (j->comma) {
		buf_puts(j->out, ",");
	}
	if (j->depth > 0) {
		newline(j);
	}
	if (key != NULL) {
		quoted(j->out, (const unsigned char *)key, strlen(key));
		buf_puts(j->out, j->pretty ? ": " : ":");
	}
	j->comma = true;
}

static void open_level(struct emit *j, const char *key, const char *mark) {
	before(j, key);
	buf_puts(j->out, mark);
	j->depth++;
	j->comma = false;
}

static void close_level(struct emit *j, const char *mark) {
	bool empty = !j->comma;
	j->depth--;
	if (!empty) {
		newline(j);
	}
	buf_puts(j->out, mark);
	j->comma = true;
}

void emit_object(struct emit *j, const char *key) {
	open_level(j, key, "{");
}

void emit_array(struct emit *j, const char *key) {
	open_level(j, key, "[");
}

void emit_end_object(struct emit *j) {
	close_level(j, "}");
}

void emit_end_array(struct emit *j) {
	close_level(j, "]");
}

void emit_bytes(struct emit *j, const char *key, const void *data, size_t len) {
	before(j, key);
	quoted(j->out, data, len);
}

void emit_string(struct emit *j, const char *key, const char *s) {
	if (s == NULL) {
		emit_null(j, key);
	} else {
		emit_bytes(j, key, s, strlen(s));
	}
}

void emit_strings(struct emit *j, const char *key, const char *const *list, size_t n) {
	emit_array(j, key);
	for (size_t i = 0; i < n && list[i] != NULL; i++) {
		emit_string(j, NULL, list[i]);
	}
	emit_end_array(j);
}

void emit_int(struct emit *j, const char *key, int64_t n) {
	before(j, key);
	buf_printf(j->out, "%" PRId64, n);
}

void emit_bool(struct emit *j, const char *key, bool b) {
	before(j, key);
	buf_puts(j->out, b ? "true" : "false");
}

void emit_null(struct emit *j, const char *key) {
	before(j, key);
	buf_puts(j->out, "null");
}

void emit_raw(struct emit *j, const char *key, const char *json, size_t len) {
	before(j, key);
	buf_add(j->out, json, len);
}
