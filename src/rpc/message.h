/* SPDX-License-Identifier: Apache-2.0 */
/* JSON-RPC 2.0 messages: from a line to a checked struct, and from values to a line.
 *
 * A line is one message or a batch.  The caller decides whether its protocol has batches. */
#ifndef CORRAL_RPC_MESSAGE_H
#define CORRAL_RPC_MESSAGE_H

#include <jansson.h>
#include <stddef.h>

/* Codes of JSON-RPC 2.0. */
enum message_code {
	MESSAGE_PARSE_ERROR = -32700,
	MESSAGE_INVALID_REQUEST = -32600,
	MESSAGE_NO_METHOD = -32601,
	MESSAGE_INVALID_PARAMS = -32602,
	MESSAGE_INTERNAL_ERROR = -32603,
};

/* Of a line: deeper nesting, or more values, is a parse error.  The longest message of MCP has a
 * depth of about ten; a value takes up to a hundred bytes of memory. */
#define MESSAGE_DEPTH_MAX 64
#define MESSAGE_VALUES_MAX 200000

/* Longer ids and method names are refused: they are kept or repeated. */
#define MESSAGE_ID_MAX 512
#define MESSAGE_METHOD_MAX 128

/* Why a message is refused. */
struct message_fault {
	int code; /* enum message_code */
	char text[200];
};

enum message_kind { MESSAGE_REQUEST, MESSAGE_NOTIFICATION, MESSAGE_RESPONSE };

/* The members belong to the value that message_read() got. */
struct message {
	enum message_kind kind;
	const char *method;    /* not of a response */
	const json_t *id;      /* a string or an integer; NULL: a notification, or an unknown id */
	const json_t *params;  /* an object or an array; NULL: none */
	const json_t *outcome; /* of a response: `result` or `error` */
};

/* Parses a line: an object or an array.  NULL with *fault filled.  Refuses duplicate keys, numbers
 * out of range, and text that is not UTF-8. */
json_t *message_parse(const char *line, size_t len, struct message_fault *fault);

/* Checks one message: 0, or -1 with *fault; *ret has the id then if there is a valid one. */
int message_read(const json_t *value, struct message *ret, struct message_fault *fault);

/* Each steals the reference of `result`, `params` or `data`, which may be NULL, and returns a
 * value, or NULL out of memory.  id NULL is null. */
json_t *message_result(const json_t *id, json_t *result);
json_t *message_error(const json_t *id, int code, const char *text, json_t *data);
json_t *message_notification(const char *method, json_t *params);

/* As one line without a newline; the caller frees it.  NULL out of memory. */
char *message_format(const json_t *value, size_t *ret_len);

#endif
