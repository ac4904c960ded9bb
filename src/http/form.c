/* SPDX-License-Identifier: Apache-2.0 */
/* Decodes queries and forms.
 *
 * Should:   give one value for a name, or none.
 * Must not: choose between two values of one name; pass a NUL on.
 * Fails:    closed: as if there were no value. */
#include "http/form.h"

#include <string.h>

static int digit(uint8_t c) {
	if (c >= '0' && c <= '9') {
		return c - '0';
	}
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool decode(struct http_span in, bool plus, char *out, size_t size) {
	size_t n = 0;

	for (size_t i = 0; i < in.len; i++) {
		uint8_t c = in.at[i];
		if (c == '%') {
			bool whole = in.len - i > 2;
			int high = whole ? digit(in.at[i + 1]) : -1;
			int low = whole ? digit(in.at[i + 2]) : -1;
			if (high < 0 || low < 0) {
				return false;
			}
			c = (uint8_t)(high * 16 + low);
			i += 2;
		} else if (c == '+' && plus) {
			c = ' ';
		}
		if (c == '\0' || n + 1 >= size) {
			return false;
		}
		out[n++] = (char)c;
	}
	out[n] = '\0';
	return true;
}

bool http_path_decode(struct http_span part, char *out, size_t size) {
	if (decode(part, false, out, size)) {
		return true;
	}
	out[0] = '\0';
	return false;
}

bool http_form_value(struct http_span form, const char *name, char *out, size_t size) {
	size_t len = strlen(name);
	struct http_span found = {NULL, 0};
	int count = 0;

	out[0] = '\0';
	while (form.len > 0) {
		const uint8_t *end = memchr(form.at, '&', form.len);
		size_t pair = end == NULL ? form.len : (size_t)(end - form.at);
		if (pair > len && memcmp(form.at, name, len) == 0 && form.at[len] == '=') {
			found = (struct http_span){form.at + len + 1, pair - len - 1};
			count++;
		}
		pair += end != NULL;
		form.at += pair;
		form.len -= pair;
	}
	if (count == 1 && decode(found, true, out, size)) {
		return true;
	}
	out[0] = '\0';
	return false;
}
