/* SPDX-License-Identifier: Apache-2.0 */
/* The table of requests, and the checks before a handler runs.
 *
 * Should:   refuse by default (H6): a method has the scopes and states of its row and no others.
 * Must not: tell a session whether another session exists.
 * Fails:    closed, with an error response; a notification gets none. */
#include "session/daemon.h"

#include "base/auto.h"
#include "base/str.h"
#include "rpc/message.h"
#include "session/mcp_conn.h"
#include "session/ui_page.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define EVERY (SCOPE_NONE | SCOPE_SESSION | SCOPE_ADMIN)
#define IN(state) (1U << (state))
#define ALIVE                                                                                      \
	(IN(SESSION_CREATED) | IN(SESSION_STARTING) | IN(SESSION_RUNNING) | IN(SESSION_STOPPING))
#define ANY_STATE (ALIVE | IN(SESSION_STOPPED) | IN(SESSION_FAILED))

struct request_row {
	const char *method;
	unsigned scopes; /* that may send it */
	unsigned states; /* of the session that it is about; 0: about none */
	request_fn *run;
	const char *tool; /* of method_tool */
};

static const struct request_row rows[] = {
	{"ping", EVERY, 0, method_ping},
	{"daemon.status", SCOPE_ADMIN, 0, method_status},
	{"daemon.metrics", SCOPE_ADMIN, 0, method_metrics},
	{"daemon.reload", SCOPE_ADMIN, 0, method_reload},
	{"daemon.shutdown", SCOPE_ADMIN, 0, method_shutdown},
	{"session.create", SCOPE_ADMIN, 0, method_create},
	{"session.list", SCOPE_ADMIN, 0, method_list},
	{"session.agents", SCOPE_ADMIN, 0, method_agents},
	{"session.show", SCOPE_ADMIN | SCOPE_SESSION, ANY_STATE, method_show},
	{"session.stop", SCOPE_ADMIN, ALIVE, method_stop},
	{"session.exec", SCOPE_ADMIN | SCOPE_SESSION, IN(SESSION_RUNNING), method_exec},
	{"session.attach", SCOPE_ADMIN, IN(SESSION_RUNNING), method_attach},
	{"file.read", SCOPE_ADMIN | SCOPE_SESSION, IN(SESSION_RUNNING), method_tool, "read_file"},
	{"file.write", SCOPE_ADMIN | SCOPE_SESSION, IN(SESSION_RUNNING), method_tool, "write_file"},
	{"file.edit", SCOPE_ADMIN | SCOPE_SESSION, IN(SESSION_RUNNING), method_tool, "edit_file"},
	{"file.list", SCOPE_ADMIN | SCOPE_SESSION, IN(SESSION_RUNNING), method_tool,
	 "list_directory"},
	{"file.make_directory", SCOPE_ADMIN | SCOPE_SESSION, IN(SESSION_RUNNING), method_tool,
	 "make_directory"},
	{"file.move", SCOPE_ADMIN | SCOPE_SESSION, IN(SESSION_RUNNING), method_tool, "move"},
	{"file.delete", SCOPE_ADMIN | SCOPE_SESSION, IN(SESSION_RUNNING), method_tool, "delete"},
	{"file.send", SCOPE_ADMIN | SCOPE_SESSION, IN(SESSION_RUNNING), method_tool, "send_file"},
	{"session.activity", SCOPE_ADMIN, ANY_STATE, method_activity},
	{"session.token", SCOPE_ADMIN, IN(SESSION_RUNNING), method_token},
	{"session.revoke", SCOPE_ADMIN, ALIVE, method_revoke},
	{"activity.report", SCOPE_SESSION, IN(SESSION_RUNNING), method_report},
	{"pool.hold", SCOPE_ADMIN, 0, pool_hold},
	{"ask.hold", SCOPE_ADMIN, 0, questions_hold},
	{"ui.overview", SCOPE_ADMIN, 0, method_ui_overview},
	{"ui.view", SCOPE_ADMIN, 0, method_ui_view},
	{"ui.follow", SCOPE_ADMIN, 0, method_ui_follow},
	{"ui.answer", SCOPE_ADMIN, 0, method_ui_answer},
	{"ui.apply", SCOPE_ADMIN, 0, method_ui_apply},
	{"ui.discard", SCOPE_ADMIN, 0, method_ui_discard},
	{"page.open", SCOPE_ADMIN, 0, ui_page_open},
	{"session.authenticate", SCOPE_NONE, IN(SESSION_RUNNING), method_authenticate},
};

int(fault_set)(struct fault *f, int code, const char *fmt, ...) {
	va_list ap;

	*f = (struct fault){
		.code = code,
		.e = {.kind = code == MESSAGE_INVALID_PARAMS ? ERR_USAGE : ERR_REFUSED},
	};
	(void)snprintf(f->e.where, sizeof f->e.where, "daemon");
	va_start(ap, fmt);
	(void)vsnprintf(f->e.what, sizeof f->e.what, fmt, ap); /* may be cut: a message */
	va_end(ap);
	return -1;
}

/* The errors of jansson for a wrong object, and the same in words of the protocol. */
static const struct {
	const char *said; /* the names follow */
	const char *text, *fix;
} wrong_params[] = {
	{"left unpacked: ", "the method has no such parameter", "remove it"},
	{"Object item not found: ", "the method needs this parameter", "add it"},
};

static int refuse_params(const struct request *r, const char *why, struct fault *f) {
	for (size_t i = 0; i < ARRAY_LEN(wrong_params); i++) {
		const char *names = strstr(why, wrong_params[i].said);
		if (names == NULL) {
			continue;
		}
		names += strlen(wrong_params[i].said);
		(void)fault_set(f, MESSAGE_INVALID_PARAMS, "params: %s: %s", names,
				wrong_params[i].text);
		return err_fix(&f->e, "%s",
			       r->conn->of_session && streq(names, "session")
				       ? "remove it: this socket belongs to one session"
				       : wrong_params[i].fix);
	}
	return fault_set(f, MESSAGE_INVALID_PARAMS, "params: %s", why);
}

/* Handlers use C strings: they would take the part before a NUL for the whole. */
static int refuse_nul(const struct request *r, struct fault *f) {
	const char *key;
	json_t *value;

	json_object_foreach(r->params, key, value) {
		if (json_is_string(value) &&
		    strlen(json_string_value(value)) != json_string_length(value)) {
			return fault_set(f, MESSAGE_INVALID_PARAMS,
					 "params: \"%.64s\" contains a NUL character", key);
		}
	}
	return 0;
}

int request_unpack(const struct request *r, struct fault *f, const char *format, ...) {
	json_error_t why;
	va_list ap;

	if (refuse_nul(r, f) != 0) {
		return -1;
	}
	va_start(ap, format);
	int rc = json_vunpack_ex(r->params, &why, JSON_STRICT, format, ap);
	va_end(ap);
	return rc == 0 ? 0 : refuse_params(r, why.text, f);
}

static const struct request_row *find_row(const char *method) {
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		if (streq(rows[i].method, method)) {
			return &rows[i];
		}
	}
	return NULL;
}

static int check_scope(const struct conn *c, const struct request_row *row, struct fault *f) {
	if ((row->scopes & c->scope) != 0) {
		return 0;
	}
	if (c->scope == SCOPE_NONE) {
		(void)fault_set(f, FAULT_NO_TOKEN, "%s needs the token of the session",
				row->method);
		return err_fix(&f->e, "send session.authenticate with the token first");
	}
	(void)fault_set(f, FAULT_FORBIDDEN, "%s is not permitted here", row->method);
	return err_fix(&f->e, row->scopes == SCOPE_ADMIN
				      ? "use the admin socket, from outside of the sandbox"
				      : "use the socket of the session");
}

struct found {
	char id[SESSION_ID_LENGTH + 1];
	enum session_state state;
};

static void keep_found(void *arg, const struct session_row *row) {
	struct found *found = arg;

	memcpy(found->id, row->id, sizeof found->id);
	found->state = row->state;
}

static int check_state(const struct request_row *row, const struct found *found, struct fault *f) {
	if ((row->states & IN(found->state)) != 0) {
		return 0;
	}
	(void)fault_set(f, FAULT_STATE, "%s is not possible: %s is %s", row->method, found->id,
			state_name(found->state));
	return state_is_final(found->state)
		       ? err_fix(&f->e,
				 "why it ended: corral session show %s; a new one: corral session "
				 "create",
				 found->id)
		       : err_fix(&f->e, "see its state: corral session show %s", found->id);
}

/* The session of an admin's request, by the member "session": an id or a name. */
static int named_session(struct request *r, struct found *ret, struct fault *f) {
	json_t *name = json_object_get(r->params, "session");
	struct session_reader reader = {keep_found, ret};

	if (!json_is_string(name) || strlen(json_string_value(name)) != json_string_length(name) ||
	    (!session_id_is_valid(json_string_value(name)) &&
	     !session_name_is_valid(json_string_value(name)))) {
		(void)fault_set(f, MESSAGE_INVALID_PARAMS,
				"params: \"session\" has to be the id or the name of a session");
		return err_fix(&f->e, "list them: corral session list");
	}
	const struct live *live = live_named(r->conn->daemon, json_string_value(name));
	if (live != NULL) {
		memcpy(ret->id, live->id, sizeof ret->id);
		ret->state = live->state;
		(void)json_object_del(r->params, "session"); /* cannot fail: it is there */
		return 0;
	}
	int rc = store_get_session(r->conn->daemon->store, json_string_value(name), &reader, &f->e);
	if (rc < 0) {
		f->code = FAULT_FAILED;
		return -1;
	}
	if (rc == 1) {
		(void)fault_set(f, FAULT_NO_SESSION, "there is no session %s",
				json_string_value(name));
		return err_fix(&f->e, "list them: corral session list");
	}
	(void)json_object_del(r->params, "session"); /* cannot fail: it is there */
	return 0;
}

/* Finds the session and checks its state.  A connection of a session is about that one. */
static int find_session(struct request *r, const struct request_row *row, struct fault *f) {
	struct found found = {.state = SESSION_FAILED};

	if (row->states == 0) {
		return 0;
	}
	if (!r->conn->of_session) {
		if (named_session(r, &found, f) != 0) {
			return -1;
		}
	} else if (r->conn->live == NULL) {
		return fault_set(f, FAULT_STATE, "the session has ended");
	} else {
		memcpy(found.id, r->conn->live->id, sizeof found.id);
		found.state = r->conn->live->state;
	}
	r->live = live_find(r->conn->daemon, found.id);
	if (r->live != NULL) {
		found.state = r->live->state;
	}
	memcpy(r->session, found.id, sizeof r->session);
	return check_state(row, &found, f);
}

static int serve(struct request *r, const struct message *m, json_t **ret, struct fault *f) {
	const struct request_row *row = find_row(m->method);

	if (row == NULL) {
		return fault_set(f, MESSAGE_NO_METHOD, "there is no method %.*s",
				 MESSAGE_METHOD_MAX, m->method);
	}
	if (check_scope(r->conn, row, f) != 0) {
		return -1;
	}
	if (m->params != NULL && !json_is_object(m->params)) {
		return fault_set(f, MESSAGE_INVALID_PARAMS, "params has to be an object");
	}
	r->tool = row->tool;
	if ((r->conn->scope & SCOPE_ADMIN) != 0) {
		direct_settle(r->conn->daemon);
	}
	return find_session(r, row, f) != 0 ? -1 : row->run(r, ret, f);
}

_Static_assert(ARRAY_LEN(rows) <= DENIED_METHODS, "struct live counts the refusals of each method");

static void record_denied(const struct conn *c, const char *method, const struct fault *f) {
	const struct request_row *row = find_row(method);

	if (c->of_session && c->live != NULL && row != NULL) {
		denied_add(c->live, (size_t)(row - rows), row->method, f);
	}
}

/* A handler removes members of params, which no other function reads. */
static void answer(struct conn *c, const struct message *m, json_t *params) {
	struct fault f = {.code = FAULT_FAILED};
	json_t *result = NULL;
	struct request r = {.conn = c,
			    .id = m->id,
			    .params = params == NULL ? json_object() : json_incref(params)};

	c->daemon->counters.requests++;
	if (r.params == NULL) {
		(void)err_memory(&f.e, "daemon");
	}
	int rc = r.params == NULL ? -1 : serve(&r, m, &result, &f);
	json_decref(r.params);
	if (rc != 0) {
		c->daemon->counters.refused++;
		record_denied(c, m->method, &f);
	}
	if (m->kind == MESSAGE_NOTIFICATION || r.deferred) {
		json_decref(result);
	} else if (rc != 0) {
		conn_send_error(c, m->id, &f);
	} else {
		conn_send(c, message_result(m->id, result));
	}
}

static void refuse(struct conn *c, const json_t *id, const struct message_fault *why) {
	struct fault f = {.code = why->code, .e = {.kind = ERR_USAGE}};

	(void)snprintf(f.e.where, sizeof f.e.where, "request");
	(void)snprintf(f.e.what, sizeof f.e.what, "%s", why->text);
	c->daemon->counters.malformed++;
	c->malformed++;
	conn_send_error(c, id, &f);
}

void request_line(struct conn *c, const char *line, size_t len) {
	struct message_fault why = {0};
	struct message m = {0};
	json_t *value = message_parse(line, len, &why);

	if (value == NULL) {
		refuse(c, NULL, &why);
		return;
	}
	if (mcp_conn_takes(c, value)) {
		mcp_conn_value(c, value, len);
	} else if (message_read(value, &m, &why) != 0) {
		refuse(c, m.id, &why);
	} else if (m.kind != MESSAGE_RESPONSE) {
		answer(c, &m, json_object_get(value, "params"));
	}
	json_decref(value);
}
