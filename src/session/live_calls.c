/* SPDX-License-Identifier: Apache-2.0 */
/* Requests of clients that wait for the supervisor of a session.
 *
 * Should:   answer each once, and count what it holds of its connection and session.
 * Must not: keep a pointer to a connection that has ended: live_forget().
 * Fails:    by an error to that client. */
#include "session/daemon.h"

#include "base/auto.h"
#include "base/buf.h"
#include "rpc/message.h"
#include "session/mcp_conn.h"

#include <stdlib.h>
#include <string.h>

struct call *live_call(struct live *l, const struct request *r) {
	struct call *call = calloc(1, sizeof *call);

	if (call == NULL) {
		return NULL;
	}
	call->conn = r->conn;
	call->id = r->id == NULL ? NULL : json_deep_copy(r->id);
	call->next = l->calls;
	l->calls = call;
	r->conn->calls++;
	return call;
}

void live_drop_call(struct live *l, const struct call *call) {
	for (struct call **at = &l->calls; *at != NULL; at = &(*at)->next) {
		if (*at == call) {
			struct call *gone = *at;
			*at = gone->next;
			if (gone->conn != NULL) {
				gone->conn->calls--;
			}
			l->pending_bytes -= gone->bytes;
			l->pending_fds -= gone->fds;
			json_decref(gone->id);
			tool_call_free(gone->tool);
			free(gone);
			return;
		}
	}
}

struct call *live_find_call(struct live *l, uint32_t number) {
	for (struct call *call = l->calls; call != NULL; call = call->next) {
		if (call->number == number) {
			return call;
		}
	}
	return NULL;
}

void live_answer(struct live *l, struct call *call, json_t *result) {
	struct conn *conn = call->conn;

	if (conn != NULL && call->id != NULL) {
		conn_send(conn, message_result(call->id, result));
	} else {
		json_decref(result);
	}
	live_drop_call(l, call);
}

void live_refuse(struct live *l, struct call *call, const struct fault *f) {
	if (call->tool != NULL && call->tool->revision != NULL) {
		tool_call_failed(call, f);
	} else if (call->conn != NULL && call->id != NULL) {
		conn_send_error(call->conn, call->id, f);
	}
	live_drop_call(l, call);
}

void live_answer_text(struct live *l, struct call *call, const char *head, const char *result) {
	struct buf line;
	auto_free char *id = call->id == NULL ? NULL : json_dumps(call->id, JSON_ENCODE_ANY);
	size_t len = strlen(head);

	buf_init(&line);
	buf_printf(&line, "{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":", id == NULL ? "null" : id);
	if (call->brief) {
		buf_add(&line, head, len);
	} else {
		buf_add(&line, head, len - 1);
		buf_add(&line, ",\"result\":", strlen(",\"result\":"));
		buf_add(&line, result, strlen(result));
		buf_add(&line, "}", 1);
	}
	buf_add(&line, "}", 1);
	if (call->conn != NULL && call->id != NULL) {
		conn_send_line(call->conn, buf_failed(&line) ? NULL : line.data, line.len);
	}
	buf_done(&line);
	live_drop_call(l, call);
}

void live_forget(struct daemon *d, struct conn *c, const struct fault *f) {
	for (struct live *l = d->lives; l != NULL; l = l->next) {
		for (struct call *call = l->calls; call != NULL; call = call->next) {
			if (call->conn != c) {
				continue;
			}
			struct wire_message m = {.kind = WIRE_CANCEL, .call = call->number};
			if (f != NULL && call->id != NULL) {
				conn_send_error(c, call->id, f);
			}
			c->calls--;
			tool_call_forget(call);
			call->conn = NULL;
			if (call->number != 0 && !call->keeps) {
				/* If it cannot be sent the supervisor hangs: it is killed at the
				 * end of the session. */
				(void)live_send(l, &m);
			}
		}
	}
}
