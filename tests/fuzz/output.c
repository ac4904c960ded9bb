/* SPDX-License-Identifier: Apache-2.0 */
/* What a command prints, on its way into the result: head and tail of a stream,
 * then JSON.
 *
 * The first two bytes are the allowance, then chunks with a length before each.
 * What is kept is the head and the tail of all that came; what is not is counted;
 * the JSON string is valid, and says the bytes that were UTF-8 as they were. */
#include "fuzz.h"

#include "base/auto.h"
#include "base/emit.h"
#include "base/str.h"
#include "data/keys.h"
#include "run/capture.h"

#include <jansson.h>

#define ALL_MAX 8192

/* With U+FFFD for every byte that belongs to no character, by the table of
 * well-formed sequences in the Unicode standard (3-7). */
static size_t character(const uint8_t *p, size_t left) {
	static const struct {
		uint8_t first, last, low, high; /* of the lead byte, of the second byte */
		size_t len;
	} forms[] = {
		{0x00, 0x7F, 0, 0, 1},       {0xC2, 0xDF, 0x80, 0xBF, 2},
		{0xE0, 0xE0, 0xA0, 0xBF, 3}, {0xE1, 0xEC, 0x80, 0xBF, 3},
		{0xED, 0xED, 0x80, 0x9F, 3}, {0xEE, 0xEF, 0x80, 0xBF, 3},
		{0xF0, 0xF0, 0x90, 0xBF, 4}, {0xF1, 0xF3, 0x80, 0xBF, 4},
		{0xF4, 0xF4, 0x80, 0x8F, 4},
	};
	for (size_t i = 0; i < ARRAY_LEN(forms); i++) {
		if (p[0] < forms[i].first || p[0] > forms[i].last) {
			continue;
		}
		bool good = forms[i].len <= left &&
			    (forms[i].len == 1 || (p[1] >= forms[i].low && p[1] <= forms[i].high));
		for (size_t n = 2; good && n < forms[i].len; n++) {
			good = (p[n] & 0xC0) == 0x80;
		}
		return good ? forms[i].len : 0;
	}
	return 0;
}

static void json_says(const uint8_t *bytes, size_t len) {
	struct buf text, want;
	struct emit j;
	buf_init(&text);
	buf_init(&want);
	emit_init(&j, &text, false);
	emit_array(&j, NULL);
	emit_bytes(&j, NULL, bytes, len);
	emit_end_array(&j);
	for (size_t at = 0; at < len;) {
		size_t n = character(bytes + at, len - at);
		if (n == 0) {
			buf_puts(&want, "\xEF\xBF\xBD");
			at++;
		} else {
			buf_add(&want, bytes + at, n);
			at += n;
		}
	}
	json_t *tree = json_loadb(text.data, text.len, JSON_ALLOW_NUL, NULL);
	const json_t *string = json_array_get(tree, 0);
	HOLDS(tree != NULL && json_string_length(string) == want.len);
	HOLDS(want.len == 0 || memcmp(json_string_value(string), want.data, want.len) == 0);
	json_decref(tree);
	buf_done(&text);
	buf_done(&want);
}

static void kept_is_right(const struct capture *c, const char *kept, size_t len, const uint8_t *all,
			  size_t total, size_t limit) {
	size_t want = total < limit ? total : limit;
	size_t head = total <= limit ? total : limit - limit / 2;
	HOLDS(len == want && c->dropped == total - want && kept[len] == '\0');
	HOLDS(head == 0 || memcmp(kept, all, head) == 0);
	HOLDS(want == head || memcmp(kept + head, all + total - (want - head), want - head) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
	struct input in = {data, size};
	uint8_t all[ALL_MAX];
	size_t total = 0, len = 0;
	size_t limit = (size_t)input_byte(&in) << 4 | (input_byte(&in) & 15);
	bool none = limit == 0xFFF;
	struct capture c;

	capture_init(&c, none ? LIMIT_NONE : (int64_t)limit);
	while (in.left > 0) {
		size_t n = input_byte(&in);
		n = n < in.left ? n : in.left;
		n = n < ALL_MAX - total ? n : ALL_MAX - total;
		capture_add(&c, (const char *)in.at, n);
		memcpy(all + total, in.at, n);
		total += n;
		in.at += n;
		in.left -= n;
		if (total == ALL_MAX) {
			break;
		}
	}
	auto_free char *kept = capture_take(&c, &len);
	HOLDS(kept != NULL);
	kept_is_right(&c, kept, len, all, total, none ? ALL_MAX : limit);
	json_says((const uint8_t *)kept, len);
	capture_done(&c);
	return 0;
}
