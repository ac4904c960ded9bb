/* SPDX-License-Identifier: Apache-2.0 */
/* Writes names and values of secrets, as a .env file or a JSON object.
 *
 * Should:   write text that vault/import.h reads as the same names and values.
 * Must not: let the buffer grow: a reallocation would leave copies behind (V3).
 * Fails:    closed: a value that the format cannot hold is an error, never changed. */
#include "vault/export.h"

#include "base/str.h"

#include <sodium.h>
#include <stdio.h>
#include <string.h>

#define WHERE "vault"

/* An escaped byte takes at most six, as \u001f does. */
#define WIDEST 6
#define AROUND 16 /* quotes, colon, comma, newline */

struct out {
	char *text;
	size_t len;
};

static void add(struct out *o, const void *bytes, size_t len) {
	if (len > 0) {
		memcpy(o->text + o->len, bytes, len);
		o->len += len;
	}
}

static void add_text(struct out *o, const char *text) {
	add(o, text, strlen(text));
}

static void json_value(struct out *o, const struct secret *s) {
	char escape[8];
	add_text(o, "\"");
	for (size_t i = 0; i < s->len; i++) {
		unsigned char c = s->value[i];
		if (c < 0x20) {
			(void)snprintf(escape, sizeof escape, "\\u%04x", c);
			add_text(o, escape);
			continue;
		}
		if (c == '"' || c == '\\') {
			add_text(o, "\\");
		}
		add(o, &c, 1);
	}
	add_text(o, "\"");
	sodium_memzero(escape, sizeof escape);
}

/* In single quotes as it is; a value with a single quote in double quotes. */
static void dotenv_value(struct out *o, const struct secret *s) {
	if (s->len == 0 || memchr(s->value, '\'', s->len) == NULL) {
		add_text(o, "'");
		add(o, s->value, s->len);
		add_text(o, "'");
		return;
	}
	add_text(o, "\"");
	for (size_t i = 0; i < s->len; i++) {
		if (strchr("\"\\$`", s->value[i]) != NULL) {
			add_text(o, "\\");
		}
		add(o, &s->value[i], 1);
	}
	add_text(o, "\"");
}

static bool is_utf8(const struct secret *s) {
	for (size_t i = 0; i < s->len;) {
		size_t n = str_utf8_length(s->value + i, s->len - i);
		if (n == 0) {
			return false;
		}
		i += n;
	}
	return true;
}

static int check(const struct secret *s, bool json, struct err *e) {
	if (s->len > 0 && memchr(s->value, '\0', s->len) != NULL) {
		return err_set(e, ERR_USAGE, WHERE,
			       "the value of %s has a NUL byte, which neither format can hold",
			       s->name);
	}
	if (json && !is_utf8(s)) {
		(void)err_set(e, ERR_USAGE, WHERE, "the value of %s is not UTF-8, as JSON needs",
			      s->name);
		return err_fix(e, "export it without --json");
	}
	return 0;
}

static void add_secret(struct out *o, const struct secret *s, bool json, bool first) {
	if (json) {
		add_text(o, first ? "\n  \"" : ",\n  \"");
		add_text(o, s->name);
		add_text(o, "\": ");
		json_value(o, s);
		return;
	}
	add_text(o, s->name);
	add_text(o, "=");
	dotenv_value(o, s);
	add_text(o, "\n");
}

int export_text(const struct vault *v, const char *agent, bool json, char **ret, struct err *e) {
	size_t size = AROUND;
	bool first = true;
	for (size_t i = 0; i < v->n; i++) {
		const struct secret *s = &v->list[i];
		if (streq(s->agent, agent) && check(s, json, e) != 0) {
			return -1;
		}
		size += strlen(s->name) + s->len * WIDEST + AROUND;
	}
	struct out o = {.text = sodium_malloc(size)};
	if (o.text == NULL) {
		return err_memory(e, WHERE);
	}
	add_text(&o, json ? "{" : "");
	for (size_t i = 0; i < v->n; i++) {
		if (streq(v->list[i].agent, agent)) {
			add_secret(&o, &v->list[i], json, first);
			first = false;
		}
	}
	add_text(&o, json ? (first ? "}\n" : "\n}\n") : "");
	o.text[o.len] = '\0';
	*ret = o.text;
	return 0;
}
