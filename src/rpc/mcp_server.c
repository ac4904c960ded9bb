/* SPDX-License-Identifier: Apache-2.0 */
/* The loop of `corral mcp`: reads requests, answers or dispatches them, writes responses.
 *
 * Should:   answer every request once, also a malformed one; stop reading while the client does
 *           not read.
 * Must not: write anything to `out` that is not a message.
 * Fails:    when a descriptor fails, or memory is out; a bad message is answered and costs nothing
 *           else. */
#include "rpc/mcp.h"

#include "base/auto.h"
#include "base/str.h"
#include "rpc/frame.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>

/* A file of 10 MiB for write_file, escaped. */
#define LINE_MAX_BYTES ((size_t)16 * 1024 * 1024)
/* The largest result is a file of send_file: 25 MiB in base64. */
#define QUEUE_MAX_BYTES ((size_t)64 * 1024 * 1024)
/* More queued output: no further request is read. */
#define QUEUE_HIGH_BYTES ((size_t)4 * 1024 * 1024)

#define META_VERSION "io.modelcontextprotocol/protocolVersion"
#define META_SERVER "io.modelcontextprotocol/serverInfo"

struct server {
	const struct mcp_config *config;
	struct frame_reader in;
	struct frame_writer out;
	const struct mcp_revision *agreed; /* by initialize; NULL: none yet */
	bool failed;                       /* out of memory, or the client is gone */
};

/* Sends a message; steals it. */
static void server_send(struct server *s, json_t *message) {
	size_t len = 0;
	auto_free char *line = message_format(message, &len);

	json_decref(message);
	if (line == NULL || frame_add(&s->out, line, len) != 0) {
		s->failed = true;
	}
}

static json_t *server_info(void) {
	return json_pack("{s:s, s:s}", "name", "corral", "version", CORRAL_VERSION);
}

struct exchange {
	const struct message *message;
	const struct mcp_revision *revision;
	struct message_fault fault; /* if the method returns NULL */
};

static json_t *exchange_fail(struct exchange *x, int code, const char *text) {
	x->fault.code = code;
	(void)snprintf(x->fault.text, sizeof x->fault.text, "%s", text);
	return NULL;
}

static json_t *method_initialize(struct server *s, struct exchange *x) {
	const json_t *wanted = json_object_get(x->message->params, "protocolVersion");

	if (!json_is_string(wanted)) {
		return exchange_fail(x, MESSAGE_INVALID_PARAMS, "protocolVersion must be a string");
	}
	if (s->agreed != NULL) {
		return exchange_fail(x, MESSAGE_INVALID_REQUEST, "initialize was sent before");
	}
	const struct mcp_revision *revision = mcp_revision_find(json_string_value(wanted));
	if (revision == NULL || (revision->features & MCP_STATELESS) != 0) {
		revision = mcp_revision_find("2025-11-25");
	}
	s->agreed = revision;
	return json_pack("{s:s, s:{s:{}}, s:o}", "protocolVersion", revision->name, "capabilities",
			 "tools", "serverInfo", server_info());
}

static json_t *method_ping(struct server *s, struct exchange *x) {
	(void)s;
	(void)x;
	return json_object();
}

static json_t *method_tools_list(struct server *s, struct exchange *x) {
	(void)s;
	(void)x;
	return json_pack("{s:[]}", "tools");
}

enum when { WHEN_ALWAYS, WHEN_AGREED };

static const struct {
	const char *name;
	enum when when;
	json_t *(*answer)(struct server *s, struct exchange *x);
} methods[] = {
	{"initialize", WHEN_ALWAYS, method_initialize},
	{"ping", WHEN_ALWAYS, method_ping},
	{"tools/list", WHEN_AGREED, method_tools_list},
};

static json_t *server_call(struct server *s, struct exchange *x) {
	for (size_t i = 0; i < ARRAY_LEN(methods); i++) {
		if (!streq(methods[i].name, x->message->method)) {
			continue;
		}
		if (methods[i].when == WHEN_AGREED && x->revision == NULL) {
			return exchange_fail(x, MESSAGE_INVALID_PARAMS,
					     "send initialize first, or set " META_VERSION
					     " in _meta");
		}
		return methods[i].answer(s, x);
	}
	return exchange_fail(x, MESSAGE_NO_METHOD, "unknown method");
}

static void server_message(struct server *s, const json_t *value) {
	struct message message;
	struct exchange x = {.message = &message, .revision = s->agreed};

	if (message_read(value, &message, &x.fault) != 0) {
		server_send(s, message_error(message.id, x.fault.code, x.fault.text, NULL));
		return;
	}
	if (message.kind != MESSAGE_REQUEST) {
		return;
	}
	json_t *result = server_call(s, &x);
	if (result == NULL && x.fault.code == 0) {
		(void)exchange_fail(&x, MESSAGE_INTERNAL_ERROR, "out of memory");
	}
	server_send(s, result != NULL
			       ? message_result(message.id, result)
			       : message_error(message.id, x.fault.code, x.fault.text, NULL));
}

static void server_line(struct server *s, const char *line, size_t len) {
	struct message_fault fault;
	json_t *value = message_parse(line, len, &fault);

	if (value == NULL) {
		server_send(s, message_error(NULL, fault.code, fault.text, NULL));
		return;
	}
	server_message(s, value);
	json_decref(value);
}

/* false: the client is gone. */
static bool server_read(struct server *s) {
	char *line;
	size_t len;

	switch (frame_next(&s->in, &line, &len)) {
	case FRAME_LINE:
		server_line(s, line, len);
		return true;
	case FRAME_TOO_LONG:
		server_send(s, message_error(NULL, MESSAGE_INVALID_REQUEST,
					     "the line is longer than 16 MiB", NULL));
		return true;
	case FRAME_AGAIN:
		return true;
	case FRAME_END:
	case FRAME_FAILED:
		break;
	}
	return false;
}

static bool server_turn(struct server *s) {
	bool reads = frame_queued(&s->out) < QUEUE_HIGH_BYTES;
	struct pollfd slots[] = {
		{.fd = reads ? s->in.fd : -1, .events = POLLIN},
		{.fd = frame_queued(&s->out) > 0 ? s->out.fd : -1, .events = POLLOUT},
	};

	if (!(reads && frame_pending(&s->in)) && poll(slots, ARRAY_LEN(slots), -1) < 0 &&
	    errno != EINTR) {
		return false;
	}
	bool goes_on = !reads || server_read(s);
	return frame_flush(&s->out) == 0 && goes_on && !s->failed;
}

int mcp_serve(const struct mcp_config *config, int in, int out, struct corral_error *err) {
	struct server s = {.config = config};

	(void)err;
	(void)signal(SIGPIPE, SIG_IGN); /* a write to a client that is gone returns EPIPE */
	frame_reader_init(&s.in, in, LINE_MAX_BYTES);
	frame_writer_init(&s.out, out, QUEUE_MAX_BYTES);
	while (server_turn(&s)) {
	}
	frame_reader_done(&s.in);
	frame_writer_done(&s.out);
	return 0;
}
