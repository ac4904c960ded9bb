/* SPDX-License-Identifier: Apache-2.0 */
/* The settings of an agent, as a user or another program wrote them.
 *
 * An item that is added is there, everything else has the same value, and after its removal the
 * text is the old one again where the object had members. */
#include "agents/jsonc.h"

#include "fuzz.h"

static json_t *parse(const struct buf *text, struct buf *plain) {
	char why[160];
	json_t *root;

	buf_init(plain);
	root = jsonc_parse(text, plain, why);
	HOLDS(root == NULL || plain->len == text->len);
	return root;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
	struct buf text, plain, more, more_plain, less, less_plain;

	buf_init(&text);
	buf_init(&more);
	buf_init(&less);
	buf_add(&text, data, size);
	json_t *root = parse(&text, &plain);
	if (root != NULL && json_object_get(root, "~added") == NULL) {
		size_t n = json_object_size(root);
		jsonc_append(&text, &plain, jsonc_root(&plain), "\"~added\": [1]", &more);
		json_t *with = parse(&more, &more_plain);
		HOLDS(with != NULL && json_object_size(with) == n + 1);
		HOLDS(json_array_size(json_object_get(with, "~added")) == 1);
		jsonc_remove(&more, &more_plain, jsonc_root(&more_plain), n, &less);
		json_t *without = parse(&less, &less_plain);
		HOLDS(without != NULL && json_equal(without, root));
		HOLDS(n == 0 ||
		      (less.len == text.len && memcmp(less.data, text.data, text.len) == 0));
		json_decref(with);
		json_decref(without);
		buf_done(&more_plain);
		buf_done(&less_plain);
	}
	json_decref(root);
	buf_done(&text);
	buf_done(&plain);
	buf_done(&more);
	buf_done(&less);
	return 0;
}
