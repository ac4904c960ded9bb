/* SPDX-License-Identifier: Apache-2.0 */
/* JSON-RPC 2.0 messages over jansson.
 *
 * Should:   check depth and number of values before jansson allocates anything for them; accept
 *           unknown members of a message, as JSON-RPC and MCP demand.
 * Must not: accept a message that two parsers could read in two ways: duplicate keys, a null id,
 *           a fraction as id.
 * Fails:    with the code and the text of an error response. */
#include "rpc/message.h"

#include "base/str.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>

static int fail(struct message_fault *fault, int code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

static int fail(struct message_fault *fault, int code, const char *fmt, ...) {
	va_list args;

	fault->code = code;
	va_start(args, fmt);
	(void)vsnprintf(fault->text, sizeof fault->text, fmt, args);
	va_end(args);
	return -1;
}

/* Counts brackets and commas outside strings: an upper bound of depth and number of values, also
 * for text that is not JSON. */
static int check_shape(const char *line, size_t len, struct message_fault *fault) {
	size_t depth = 0, values = 1;
	bool string = false;

	for (size_t i = 0; i < len; i++) {
		char c = line[i];
		if (string) {
			string = c != '"';
			i += c == '\\';
			continue;
		}
		string = c == '"';
		values += c == ',' || c == '{' || c == '[';
		depth += c == '{' || c == '[';
		depth -= (c == '}' || c == ']') && depth > 0;
		if (depth > MESSAGE_DEPTH_MAX) {
			return fail(fault, MESSAGE_PARSE_ERROR,
				    "the message is nested deeper than %d levels",
				    MESSAGE_DEPTH_MAX);
		}
	}
	if (values > MESSAGE_VALUES_MAX) {
		return fail(fault, MESSAGE_PARSE_ERROR, "the message has more than %d values",
			    MESSAGE_VALUES_MAX);
	}
	return 0;
}

json_t *message_parse(const char *line, size_t len, struct message_fault *fault) {
	json_error_t why;

	if (check_shape(line, len, fault) != 0) {
		return NULL;
	}
	json_t *value = json_loadb(line, len, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &why);
	if (value == NULL) {
		(void)fail(fault, MESSAGE_PARSE_ERROR, "invalid JSON at byte %d: %.120s",
			   why.position, why.text);
	}
	return value;
}

static bool has_nul(const json_t *string) {
	return strlen(json_string_value(string)) != json_string_length(string);
}

static int read_id(const json_t *id, struct message *ret, struct message_fault *fault) {
	if (json_is_integer(id) ||
	    (json_is_string(id) && json_string_length(id) <= MESSAGE_ID_MAX)) {
		ret->id = id;
		return 0;
	}
	return fail(fault, MESSAGE_INVALID_REQUEST,
		    "id must be an integer, or a string of at most %d bytes", MESSAGE_ID_MAX);
}

static int read_method(const json_t *method, struct message *ret, struct message_fault *fault) {
	if (!json_is_string(method) || json_string_length(method) > MESSAGE_METHOD_MAX ||
	    has_nul(method)) {
		return fail(fault, MESSAGE_INVALID_REQUEST,
			    "method must be a string of at most %d bytes", MESSAGE_METHOD_MAX);
	}
	ret->method = json_string_value(method);
	return 0;
}

static int read_response(const json_t *value, struct message *ret, struct message_fault *fault) {
	const json_t *result = json_object_get(value, "result");
	const json_t *error = json_object_get(value, "error");

	ret->kind = MESSAGE_RESPONSE;
	if ((result == NULL) == (error == NULL)) {
		return fail(fault, MESSAGE_INVALID_REQUEST,
			    "a message needs a method, or as a response either result or error");
	}
	ret->outcome = result != NULL ? result : error;
	return 0;
}

int message_read(const json_t *value, struct message *ret, struct message_fault *fault) {
	*ret = (struct message){.kind = MESSAGE_NOTIFICATION};
	if (!json_is_object(value)) {
		return fail(fault, MESSAGE_INVALID_REQUEST, "a message is a JSON object");
	}
	const json_t *id = json_object_get(value, "id");
	const json_t *method = json_object_get(value, "method");
	const json_t *params = json_object_get(value, "params");
	const json_t *version = json_object_get(value, "jsonrpc");
	bool unknown_id = json_is_null(id) && method == NULL; /* of an error response */

	if (id != NULL && !unknown_id) {
		ret->kind = MESSAGE_REQUEST;
		if (read_id(id, ret, fault) != 0) {
			return -1;
		}
	}
	if (!json_is_string(version) || !streq(json_string_value(version), "2.0")) {
		return fail(fault, MESSAGE_INVALID_REQUEST, "jsonrpc must be \"2.0\"");
	}
	if (method == NULL) {
		return read_response(value, ret, fault);
	}
	if (params != NULL && !json_is_object(params) && !json_is_array(params)) {
		return fail(fault, MESSAGE_INVALID_REQUEST, "params must be an object or an array");
	}
	ret->params = params;
	return read_method(method, ret, fault);
}

/* {"jsonrpc": "2.0", "id": id, key: value}; steals value. */
static json_t *response(const json_t *id, const char *key, json_t *value) {
	json_t *given = id == NULL ? json_null() : json_deep_copy(id);

	if (value == NULL || given == NULL) {
		json_decref(value);
		json_decref(given);
		return NULL;
	}
	return json_pack("{s:s, s:o, s:o}", "jsonrpc", "2.0", "id", given, key, value);
}

json_t *message_result(const json_t *id, json_t *result) {
	return response(id, "result", result);
}

json_t *message_error(const json_t *id, int code, const char *text, json_t *data) {
	json_t *error = json_pack("{s:i, s:s, s:o*}", "code", code, "message", text, "data", data);

	return response(id, "error", error);
}

json_t *message_notification(const char *method, json_t *params) {
	return json_pack("{s:s, s:s, s:o*}", "jsonrpc", "2.0", "method", method, "params", params);
}

char *message_format(const json_t *value, size_t *ret_len) {
	char *line = value == NULL ? NULL : json_dumps(value, JSON_COMPACT);

	if (line != NULL) {
		*ret_len = strlen(line);
	}
	return line;
}
