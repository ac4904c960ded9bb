/* SPDX-License-Identifier: Apache-2.0 */
/* A line as a JSON-RPC message.
 *
 * A line that is accepted is one value, no deeper than the limit; a message that is accepted has
 * the members of its kind; what is refused has a code and a text; a response is one line that is
 * read again as a response with the same id. */
#include "fuzz.h"

#include "rpc/message.h"

static size_t depth_of(json_t *value) {
	size_t deepest = 0, i;
	const char *key;
	json_t *child;

	json_array_foreach(value, i, child) {
		size_t d = depth_of(child);
		deepest = d > deepest ? d : deepest;
	}
	json_object_foreach(value, key, child) {
		size_t d = depth_of(child);
		deepest = d > deepest ? d : deepest;
	}
	return json_is_array(value) || json_is_object(value) ? deepest + 1 : 0;
}

static void fault_is_right(const struct message_fault *fault) {
	HOLDS(fault->code <= -32600 && fault->code >= -32700);
	HOLDS(fault->text[0] != '\0' && strlen(fault->text) < sizeof fault->text);
}

static void answers_with(const json_t *id) {
	struct message_fault fault = {0};
	struct message back;
	size_t len = 0;
	json_t *answer = message_result(id, json_object());
	char *line = message_format(answer, &len);

	HOLDS(line != NULL && memchr(line, '\n', len) == NULL);
	json_t *again = message_parse(line, len, &fault);
	HOLDS(again != NULL && json_equal(again, answer));
	HOLDS(message_read(again, &back, &fault) == 0 && back.kind == MESSAGE_RESPONSE);
	HOLDS(id == NULL ? back.id == NULL : json_equal(back.id, id));
	free(line);
	json_decref(again);
	json_decref(answer);
}

static void message_is_right(const json_t *value) {
	struct message_fault fault = {0};
	struct message m;

	if (message_read(value, &m, &fault) != 0) {
		fault_is_right(&fault);
	} else {
		HOLDS(json_is_object(value));
		HOLDS((m.kind == MESSAGE_RESPONSE) == (m.method == NULL));
		HOLDS(m.kind != MESSAGE_REQUEST || m.id != NULL);
		HOLDS(m.kind != MESSAGE_NOTIFICATION || m.id == NULL);
		HOLDS(m.method == NULL || strlen(m.method) <= MESSAGE_METHOD_MAX);
	}
	HOLDS(m.id == NULL || json_is_string(m.id) || json_is_integer(m.id));
	answers_with(m.id);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
	struct message_fault fault = {0};
	json_t *value = message_parse((const char *)data, size, &fault);

	if (value == NULL) {
		HOLDS(fault.code == MESSAGE_PARSE_ERROR);
		fault_is_right(&fault);
		return 0;
	}
	HOLDS(depth_of(value) <= MESSAGE_DEPTH_MAX);
	message_is_right(value);
	for (size_t i = 0; i < json_array_size(value); i++) {
		message_is_right(json_array_get(value, i));
	}
	json_decref(value);
	return 0;
}
