/* SPDX-License-Identifier: Apache-2.0 */
/* The methods ui.*: the views, actions and events of session/overview.h on the admin socket.
 *
 * Should:   be the same JSON as the page's.
 * Must not: be reachable by a session (the rows of session/request.c).
 * Fails:    with a fault. */
#include "session/overview_views.h"

#include "base/auto.h"
#include "rpc/message.h"

#include <stdlib.h>
#include <string.h>

static int take_limit(json_int_t limit, struct overview_query *q, struct fault *f) {
	q->limit = (int)limit;
	return limit >= 0 && limit <= OVERVIEW_LIMIT_MAX
		       ? 0
		       : fault_set(f, MESSAGE_INVALID_PARAMS, "params: limit is at most %d",
				   OVERVIEW_LIMIT_MAX);
}

/* {"view": "run/ID", "search", "before", "kind", "state", "session", "limit"} */
int method_ui_view(struct request *r, json_t **ret, struct fault *f) {
	struct overview_query q = {.limit = 0};
	const char *view = "overview";
	json_int_t limit = 0;

	if (request_unpack(r, f, "{s?s, s?s, s?s, s?s, s?s, s?s, s?I}", "view", &view, "search",
			   &q.search, "before", &q.before, "kind", &q.kind, "state", &q.state,
			   "session", &q.session, "limit", &limit) != 0 ||
	    take_limit(limit, &q, f) != 0) {
		return -1;
	}
	return overview_value(r->conn->daemon, view, &q, ret, f);
}

int method_ui_overview(struct request *r, json_t **ret, struct fault *f) {
	return request_unpack(r, f, "{}") != 0
		       ? -1
		       : overview_value(r->conn->daemon, "overview", NULL, ret, f);
}

/* The text of an action as the result of the request. */
static int give(int rc, const struct buf *out, json_t **ret, struct fault *f) {
	if (rc == 0) {
		*ret = overview_parse(out->data, f);
	}
	return rc == 0 && *ret != NULL ? 0 : -1;
}

int method_ui_answer(struct request *r, json_t **ret, struct fault *f) {
	const char *question = "", *answer = "";
	struct buf out;

	if (request_unpack(r, f, "{s:s, s:s}", "question", &question, "answer", &answer) != 0) {
		return -1;
	}
	buf_init(&out);
	int rc = give(overview_answer(r->conn->daemon, question, answer, &out, f), &out, ret, f);
	buf_done(&out);
	return rc;
}

typedef int change_fn(struct daemon *d, const char *id, struct buf *out, struct fault *f);

static int change(struct request *r, change_fn *call, json_t **ret, struct fault *f) {
	const char *id = "";
	struct buf out;

	if (request_unpack(r, f, "{s:s}", "id", &id) != 0) {
		return -1;
	}
	buf_init(&out);
	int rc = give(call(r->conn->daemon, id, &out, f), &out, ret, f);
	buf_done(&out);
	return rc;
}

int method_ui_apply(struct request *r, json_t **ret, struct fault *f) {
	return change(r, overview_apply, ret, f);
}

int method_ui_discard(struct request *r, json_t **ret, struct fault *f) {
	return change(r, overview_discard, ret, f);
}

/* ---- events ---- */

static void send_event(void *arg, const char *kind, const char *json, size_t len) {
	struct conn *c = arg;
	json_t *value = json_loadb(json, len, JSON_ALLOW_NUL, NULL);

	if (value != NULL && !c->closing) {
		conn_send(c, message_notification("ui.event", json_pack("{s:s, s:o}", "kind", kind,
									"event", value)));
	} else {
		json_decref(value);
	}
}

int method_ui_follow(struct request *r, json_t **ret, struct fault *f) {
	struct conn *c = r->conn;

	if (request_unpack(r, f, "{}") != 0) {
		return -1;
	}
	if (c->feed != NULL) {
		return fault_set(f, FAULT_LIMIT, "this connection follows the events already");
	}
	c->feed = calloc(1, sizeof *c->feed);
	if (c->feed == NULL) {
		return fault_set(f, FAULT_FAILED, "out of memory");
	}
	*c->feed = (struct overview_subscriber){.event = send_event, .arg = c};
	overview_subscribe(c->daemon, c->feed);
	*ret = json_object();
	return 0;
}

void method_ui_closed(struct conn *c) {
	if (c->feed != NULL) {
		overview_unsubscribe(c->daemon, c->feed);
		free(c->feed);
		c->feed = NULL;
	}
}
