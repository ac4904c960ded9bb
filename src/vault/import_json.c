/* SPDX-License-Identifier: Apache-2.0 */
/* Parses a flat JSON object whose values are strings, in place.
 *
 * A parser of its own, because a general one copies the values into memory that it does not wipe.
 *
 * Should:   accept RFC 8259 strings, with every escape.
 * Must not: accept other values: a number has several spellings, and a nested object no name.
 * Fails:    closed, with the line. */
#include "vault/import.h"

#include "base/str.h"

#include <stdint.h>

struct json {
	struct import *in;
	unsigned char *at, *end;
	int line;
};

static int fail(const struct json *j, const char *why, struct err *e) {
	return import_fail(j->in, j->line, why, e);
}

static bool is_blank(unsigned char c) {
	return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static void skip_blanks(struct json *j) {
	while (j->at < j->end && is_blank(*j->at)) {
		j->line += *j->at++ == '\n';
	}
}

static bool take(struct json *j, char c) {
	skip_blanks(j);
	if (j->at == j->end || *j->at != (unsigned char)c) {
		return false;
	}
	j->at++;
	return true;
}

/* Four hexadecimal digits; -1 when they are not. */
static long hex4(struct json *j) {
	long n = 0;
	if (j->end - j->at < 4) {
		return -1;
	}
	for (int i = 0; i < 4; i++) {
		unsigned char c = *j->at++;
		unsigned char lower = c | 0x20U;
		if (c >= '0' && c <= '9') {
			n = n * 16 + (c - '0');
		} else if (lower >= 'a' && lower <= 'f') {
			n = n * 16 + (lower - 'a' + 10);
		} else {
			return -1;
		}
	}
	return n;
}

/* The code point of \uXXXX, or of a pair of surrogates; -1: there is none. */
static long code_point(struct json *j) {
	long high = hex4(j);
	if (high < 0xd800 || high > 0xdfff) {
		return high;
	}
	if (high > 0xdbff || j->end - j->at < 6 || j->at[0] != '\\' || j->at[1] != 'u') {
		return -1;
	}
	j->at += 2;
	long low = hex4(j);
	return low < 0xdc00 || low > 0xdfff ? -1
					    : 0x10000 + (high - 0xd800) * 0x400 + (low - 0xdc00);
}

static unsigned char *put_utf8(unsigned char *out, long code) {
	if (code < 0x80) {
		*out++ = (unsigned char)code;
	} else if (code < 0x800) {
		*out++ = (unsigned char)(0xc0 | (code >> 6));
		*out++ = (unsigned char)(0x80 | (code & 0x3f));
	} else if (code < 0x10000) {
		*out++ = (unsigned char)(0xe0 | (code >> 12));
		*out++ = (unsigned char)(0x80 | ((code >> 6) & 0x3f));
		*out++ = (unsigned char)(0x80 | (code & 0x3f));
	} else {
		*out++ = (unsigned char)(0xf0 | (code >> 18));
		*out++ = (unsigned char)(0x80 | ((code >> 12) & 0x3f));
		*out++ = (unsigned char)(0x80 | ((code >> 6) & 0x3f));
		*out++ = (unsigned char)(0x80 | (code & 0x3f));
	}
	return out;
}

/* After the backslash; returns the end of the output, or NULL.  No escape is shorter than the
 * character that it stands for, so the output never overtakes the input. */
static unsigned char *unescape(struct json *j, unsigned char *out) {
	static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
	unsigned char c = j->at < j->end ? *j->at++ : 0;
	const char *known = c == 0 ? NULL : strchr(from, c);
	if (known != NULL) {
		*out = (unsigned char)to[known - from];
		return out + 1;
	}
	long code = c == 'u' ? code_point(j) : -1;
	return code <= 0 ? NULL : put_utf8(out, code);
}

/* A string, decoded in place and NUL-terminated: its closing quote becomes the NUL. */
static int read_string(struct json *j, unsigned char **ret, size_t *ret_len, struct err *e) {
	if (!take(j, '"')) {
		return fail(j, "a string in double quotes was expected", e);
	}
	unsigned char *start = j->at, *out = j->at;
	while (j->at < j->end && *j->at != '"') {
		size_t n = str_utf8_length(j->at, (size_t)(j->end - j->at));
		if (*j->at < 0x20 || n == 0) {
			return fail(j, "a string has a control character, or is not UTF-8", e);
		}
		if (*j->at == '\\') {
			j->at++;
			out = unescape(j, out);
			if (out == NULL) {
				return fail(j, "a string has an invalid escape", e);
			}
			continue;
		}
		memmove(out, j->at, n);
		out += n;
		j->at += n;
	}
	if (j->at == j->end) {
		return fail(j, "a string has no end", e);
	}
	j->at++;
	*out = '\0';
	*ret = start;
	*ret_len = (size_t)(out - start);
	return 0;
}

static int read_member(struct json *j, struct err *e) {
	struct import_entry entry = {0};
	unsigned char *name = NULL;
	size_t len = 0;
	skip_blanks(j);
	entry.line = j->line;
	if (read_string(j, &name, &len, e) != 0) {
		return -1;
	}
	entry.name = (const char *)name;
	if (!take(j, ':')) {
		return fail(j, "\":\" was expected after a name", e);
	}
	skip_blanks(j);
	if (j->at < j->end && *j->at != '"') {
		return fail(j, "the value is not a string", e);
	}
	return read_string(j, &entry.value, &entry.len, e) != 0 ? -1 : import_add(j->in, &entry, e);
}

int import_json(char *text, size_t len, struct import *in, struct err *e) {
	struct json j = {.in = in, .line = 1};
	text[len] = '\0';
	j.at = (unsigned char *)text;
	j.end = j.at + len;
	if (!take(&j, '{')) {
		return fail(&j, "\"{\" was expected", e);
	}
	if (!take(&j, '}')) {
		do {
			if (read_member(&j, e) != 0) {
				return -1;
			}
		} while (take(&j, ','));
		if (!take(&j, '}')) {
			return fail(&j, "\",\" or \"}\" was expected", e);
		}
	}
	skip_blanks(&j);
	return j.at == j.end ? 0 : fail(&j, "text follows the object", e);
}
