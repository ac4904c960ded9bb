/* SPDX-License-Identifier: Apache-2.0 */
/* Answers on the descriptor of --ask-fd, names on the terminal, and insertions into the user's
 * file.
 *
 * An answer that is accepted is one for a JSON library, too, with these two members and no other.
 * A name that is drawn has no control character and is UTF-8.  An insertion keeps what was there:
 * a second one changes nothing, and the file grows by no more than the value and its key. */
#include "base/auto.h"
#include "base/str.h"
#include "policy/toml_insert.h"
#include "run/ask.h"

#include "fuzz.h"

#include <jansson.h>

static void answer_is_json(const char *line, size_t len) {
	struct asked_answer got;

	if (!ask_line_parse(line, len, &got)) {
		return;
	}
	json_t *tree = json_loadb(line, len, JSON_REJECT_DUPLICATES, NULL);
	HOLDS(json_is_object(tree) && json_object_size(tree) == 2);
	HOLDS(json_integer_value(json_object_get(tree, "id")) == (json_int_t)got.id && got.id > 0);
	const char *word = json_string_value(json_object_get(tree, "answer"));
	HOLDS(word != NULL && streq(word, ask_reply_name(got.reply)));
	json_decref(tree);
}

static void name_is_harmless(const char *name) {
	struct buf out;

	buf_init(&out);
	ask_put_name(&out, name);
	HOLDS(!buf_failed(&out));
	for (size_t i = 0; i < out.len;) {
		const unsigned char *p = (const unsigned char *)out.data + i;
		size_t n = str_utf8_length(p, out.len - i);
		unsigned long code = 0;
		HOLDS(n > 0 && str_control_at(p, out.len - i, &code) == 0);
		i += n;
	}
	buf_done(&out);
}

static bool insert(const char *text, size_t len, const char *value, struct buf *out) {
	struct toml_text before = {text, len};
	struct err e = {0};

	buf_init(out);
	return toml_insert(&before, "fs.read", value, true, out, &e) == 0 && !buf_failed(out);
}

static void insertion_is_one_value(const char *value, const char *text, size_t len) {
	struct buf once, twice;

	if (insert(text, len, value, &once)) {
		HOLDS(once.len >= len && once.len <= len + 6 * strlen(value) + 32);
		HOLDS(insert(once.data, once.len, value, &twice));
		HOLDS(twice.len == once.len && memcmp(twice.data, once.data, once.len) == 0);
		buf_done(&twice);
	}
	buf_done(&once);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
	struct input in = {data, size};
	char *value;

	answer_is_json((const char *)data, size);
	value = input_until(&in, '\n');
	if (value != NULL) {
		name_is_harmless(value);
		insertion_is_one_value(value, (const char *)in.at, in.left);
	}
	free(value);
	return 0;
}
