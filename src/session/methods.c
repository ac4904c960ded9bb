/* SPDX-License-Identifier: Apache-2.0 */
/* The requests about the daemon, and about sessions that the database answers.
 *
 * Should:   refuse unknown members of params.
 * Must not: check scope or state: session/request.c has done that.
 * Fails:    with a fault; nothing is changed then. */
#include "session/daemon.h"

#include "base/auto.h"
#include "base/clock.h"
#include "base/str.h"
#include "rpc/message.h"
#include "session/commands.h"

#include <stdio.h>
#include <string.h>

#define ACTIVITY_BATCH 1000
#define KIND_MAX 64
#define REPORT_MAX ((size_t)16 * 1024)

static int no_params(const struct request *r, struct fault *f) {
	return request_unpack(r, f, "{}");
}

int method_ping(struct request *r, json_t **ret, struct fault *f) {
	if (no_params(r, f) != 0) {
		return -1;
	}
	*ret = json_pack("{s:s}", "version", CORRAL_VERSION);
	return 0;
}

int method_status(struct request *r, json_t **ret, struct fault *f) {
	const struct daemon *d = r->conn->daemon;
	auto_free char *files = NULL;
	struct corral_error err = {0};
	size_t waiting = 0, pools = pool_total(d, &waiting);

	if (no_params(r, f) != 0) {
		return -1;
	}
	if (corral_config_show(d->config, &files, &err) != 0) {
		return fault_set(f, FAULT_FAILED, "%s", err.message);
	}
	bool failed = d->reload_error[0] != '\0';
	*ret = json_pack(
		"{s:s, s:i, s:I, s:i, s:s, s:s, s:i, s:i, s:{s:o, s:I, s:I, s:b, s:s?, s:I}}",
		"version", CORRAL_VERSION, "pid", (int)getpid(), "started", (json_int_t)d->started,
		"sessions", (int)d->nlives, "socket", d->places.admin, "database",
		d->places.database, "pools", (int)pools, "pool_size", (int)waiting, "policy",
		"files", json_loads(files, 0, NULL), "generation", (json_int_t)d->generation,
		"loaded", (json_int_t)d->reloaded, "watched", d->policy.watch.fd >= 0, "error",
		failed ? d->reload_error : NULL, "failed",
		failed ? (json_int_t)d->reload_failed : (json_int_t)0);
	return 0;
}

int method_metrics(struct request *r, json_t **ret, struct fault *f) {
	if (no_params(r, f) != 0) {
		return -1;
	}
	auto_free char *text = metrics_text(r->conn->daemon);
	*ret = text == NULL ? NULL : json_pack("{s:s}", "text", text);
	return *ret == NULL ? fault_set(f, FAULT_FAILED, "out of memory") : 0;
}

int method_reload(struct request *r, json_t **ret, struct fault *f) {
	struct daemon *d = r->conn->daemon;

	if (no_params(r, f) != 0) {
		return -1;
	}
	if (daemon_reload(d) != 0) {
		(void)fault_set(f, FAULT_FAILED, "the old policy files stay in force: %s",
				d->reload_error);
		return err_fix(&f->e, "correct the file, and check it: corral policy check FILE");
	}
	*ret = json_object();
	return 0;
}

int method_shutdown(struct request *r, json_t **ret, struct fault *f) {
	if (no_params(r, f) != 0) {
		return -1;
	}
	r->conn->daemon->stopping = true;
	*ret = json_object();
	return 0;
}

/* ---- sessions ---- */

json_t *session_row_json(const struct session_row *row) {
	return json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:b, s:I, "
			 "s:I, s:I, s:I}",
			 "id", row->id, "name", row->name, "state", state_name(row->state),
			 "workspace", row->workspace, "profile", row->profile, "agent", row->agent,
			 "provider", row->provider, "level", row->level, "mode", row->mode, "net",
			 row->net, "policy", row->policy, "reason", row->reason, "serial",
			 (int)row->serial, "created", (json_int_t)row->created, "started",
			 (json_int_t)row->started, "ended", (json_int_t)row->ended, "deadline",
			 (json_int_t)row->deadline);
}

json_t *session_cpu_json(struct live *l) {
	const struct cpu_total *cpu = live_cpu(l);

	return json_pack("{s:I, s:s, s:I}", "ms", (json_int_t)cpu->ms, "by",
			 cpu->by_cgroup ? "cgroup" : "sampled", "limit_ms",
			 (json_int_t)l->cpu_limit_ms);
}

struct listing {
	struct daemon *daemon;
	json_t *array;
	bool all, commands;
};

/* For `corral ps`: the supervisor, which is the process of the run, and the commands. */
static void add_commands(struct daemon *d, const struct session_row *row, json_t *value) {
	const struct live *l = live_find(d, row->id);

	if (l != NULL && value != NULL) {
		(void)json_object_set_new(value, "supervisor", json_integer(l->supervisor));
		(void)json_object_set_new(value, "commands", commands_list(l, false));
		(void)json_object_set_new(value, "running",
					  json_integer(atomic_load(&l->counts->running)));
	}
}

static void add_row(void *arg, const struct session_row *row) {
	struct listing *list = arg;

	if (list->all || !state_is_final(row->state)) {
		json_t *value = session_row_json(row);
		if (list->commands) {
			add_commands(list->daemon, row, value);
		}
		(void)json_array_append_new(list->array, value); /* a NULL is checked */
	}
}

int method_list(struct request *r, json_t **ret, struct fault *f) {
	int all = 0, commands = 0;

	if (request_unpack(r, f, "{s?b, s?b}", "all", &all, "commands", &commands) != 0) {
		return -1;
	}
	struct listing list = {.daemon = r->conn->daemon,
			       .array = json_array(),
			       .all = all != 0,
			       .commands = commands != 0};
	struct session_reader reader = {add_row, &list};
	if (list.array == NULL || store_each_session(r->conn->daemon->store, &reader, &f->e) != 0) {
		json_decref(list.array);
		return -1;
	}
	*ret = json_pack("{s:o}", "sessions", list.array);
	return 0;
}

static void add_agent(void *arg, const struct agent_row *row) {
	(void)json_array_append_new(
		arg, json_pack("{s:s, s:I, s:I, s:I, s:I}", "id", row->id, "sessions",
			       (json_int_t)row->sessions, "alive", (json_int_t)row->alive, "first",
			       (json_int_t)row->first, "last",
			       (json_int_t)row->last)); /* jansson drops a NULL */
}

int method_agents(struct request *r, json_t **ret, struct fault *f) {
	if (no_params(r, f) != 0) {
		return -1;
	}
	json_t *array = json_array();
	struct agent_reader reader = {add_agent, array};
	if (array == NULL || store_each_agent(r->conn->daemon->store, &reader, &f->e) != 0) {
		json_decref(array);
		return -1;
	}
	*ret = json_pack("{s:o}", "agents", array);
	return 0;
}

static void keep_row(void *arg, const struct session_row *row) {
	*(json_t **)arg = session_row_json(row);
}

int method_show(struct request *r, json_t **ret, struct fault *f) {
	json_t *row = NULL;
	struct session_reader reader = {keep_row, &row};

	if (no_params(r, f) != 0 ||
	    store_get_session(r->conn->daemon->store, r->session, &reader, &f->e) != 0) {
		return -1;
	}
	if (row != NULL && r->live != NULL && r->conn->scope == SCOPE_ADMIN) {
		(void)json_object_set_new(row, "socket", json_string(r->live->socket));
		(void)json_object_set_new(row, "cpu", session_cpu_json(r->live));
		(void)json_object_set_new(row, "supervisor",
					  json_integer((json_int_t)r->live->supervisor));
	}
	*ret = row;
	return row == NULL ? fault_set(f, FAULT_FAILED, "out of memory") : 0;
}

int method_stop(struct request *r, json_t **ret, struct fault *f) {
	if (no_params(r, f) != 0) {
		return -1;
	}
	struct call *call = r->live == NULL ? NULL : live_call(r->live, r);
	(void)ret;
	if (call == NULL) {
		return fault_set(f, FAULT_FAILED, "out of memory");
	}
	call->stops = true;
	r->deferred = true;
	live_stop(r->live, "stopped by a client");
	return 0;
}

/* ---- activity ---- */

json_t *session_activity_json(const struct activity_row *row) {
	return json_pack("{s:I, s:I, s:s, s:s}", "seq", (json_int_t)row->seq, "time",
			 (json_int_t)row->time, "kind", row->kind, "text", row->text);
}

static void add_activity(void *arg, const struct activity_row *row) {
	(void)json_array_append_new(arg, session_activity_json(row)); /* jansson drops a NULL */
}

static json_int_t last_seq(const json_t *array, json_int_t otherwise) {
	const json_t *last = json_array_get(array, json_array_size(array) - 1);
	return last == NULL ? otherwise : json_integer_value(json_object_get(last, "seq"));
}

/* Returns what there is; with "follow" the connection gets notifications from then on. */
int method_activity(struct request *r, json_t **ret, struct fault *f) {
	json_int_t after = 0;
	int follow = 0;

	if (request_unpack(r, f, "{s?I, s?b}", "after", &after, "follow", &follow) != 0) {
		return -1;
	}
	if (follow && (r->conn->follow != NULL || r->id == NULL)) {
		return fault_set(f, FAULT_LIMIT, "this connection follows a session already");
	}
	json_t *array = json_array();
	struct activity_reader reader = {.session = r->session,
					 .after = after,
					 .limit = ACTIVITY_BATCH,
					 .found = add_activity,
					 .arg = array};
	if (array == NULL || store_each_activity(r->conn->daemon->store, &reader, &f->e) != 0) {
		json_decref(array);
		return -1;
	}
	json_int_t last = last_seq(array, after);
	if (follow) {
		r->conn->follow = json_deep_copy(r->id);
		memcpy(r->conn->followed, r->session, sizeof r->conn->followed);
		r->conn->follow_after = last;
	}
	*ret = json_pack("{s:o, s:I}", "activity", array, "last", last);
	return 0;
}

/* Kinds that only the daemon and its supervisors write: with them, a command could report the end
 * of its session, or a limit that nothing reached. */
static const char *const own_kinds[] = {"bridge", "command", "copy", "limit", "state", "warning"};

static int check_kind(const char *kind, size_t len, struct fault *f) {
	if (len > KIND_MAX || !session_name_is_valid(kind) || strlen(kind) != len) {
		return fault_set(
			f, MESSAGE_INVALID_PARAMS,
			"params: \"kind\" has at most %d letters, digits, \".\", \"_\", \"-\"",
			KIND_MAX);
	}
	for (size_t i = 0; i < ARRAY_LEN(own_kinds); i++) {
		if (streq(kind, own_kinds[i])) {
			(void)fault_set(f, MESSAGE_INVALID_PARAMS,
					"params: \"kind\": \"%s\" is for what Corral records",
					kind);
			return err_fix(&f->e, "choose another word");
		}
	}
	return 0;
}

static int count_report(struct live *l, struct fault *f) {
	int64_t now = clock_ms();

	if (now - l->reports_since > REPORTS_WINDOW_MS) {
		l->reports = 0;
		l->reports_since = now;
	}
	if (l->reports >= REPORTS_MAX) {
		(void)fault_set(f, FAULT_LIMIT, "the session has reported %d activities in %d s",
				REPORTS_MAX, REPORTS_WINDOW_MS / 1000);
		return err_fix(&f->e, "wait, and report less often");
	}
	l->reports++;
	return 0;
}

int method_report(struct request *r, json_t **ret, struct fault *f) {
	const char *kind = NULL, *text = NULL;
	size_t kind_len = 0, text_len = 0;
	struct daemon *d = r->conn->daemon;
	int64_t seq = 0;

	if (request_unpack(r, f, "{s:s%, s:s%}", "kind", &kind, &kind_len, "text", &text,
			   &text_len) != 0) {
		return -1;
	}
	if (check_kind(kind, kind_len, f) != 0) {
		return -1;
	}
	if (text_len > REPORT_MAX || strlen(text) != text_len) {
		return fault_set(f, MESSAGE_INVALID_PARAMS,
				 "params: \"text\" has at most %zu bytes and no NUL", REPORT_MAX);
	}
	if (count_report(r->live, f) != 0) {
		return -1;
	}
	struct activity_row row = {
		.session = r->session, .kind = kind, .text = text, .time = daemon_now()};
	if (store_add_activity(d->store, &row, &seq, &f->e) != 0) {
		return -1;
	}
	conns_follow(d, r->session);
	*ret = json_pack("{s:I}", "seq", (json_int_t)seq);
	return 0;
}

/* ---- tokens ---- */

int session_token_lifetime(json_int_t ms, struct fault *f) {
	if (ms > 0 && ms <= DURATION_MAX_MS) {
		return 0;
	}
	(void)fault_set(f, MESSAGE_INVALID_PARAMS,
			"params: the lifetime of a token is not from 1 ms to 366 days");
	return err_fix(&f->e, "leave it out for seven days");
}

int method_token(struct request *r, json_t **ret, struct fault *f) {
	json_int_t lifetime = TOKEN_LIFETIME_MS;
	char text[TOKEN_TEXT_LENGTH + 1];
	struct token_hash hash;

	if (request_unpack(r, f, "{s?I}", "lifetime_ms", &lifetime) != 0) {
		return -1;
	}
	if (session_token_lifetime(lifetime, f) != 0) {
		return -1;
	}
	token_make(text, &hash);
	int64_t expires = daemon_now() + lifetime;
	if (store_add_token(r->conn->daemon->store, r->session, &hash, expires, &f->e) != 0) {
		return -1;
	}
	*ret = json_pack("{s:s, s:I}", "token", text, "expires", (json_int_t)expires);
	return 0;
}

/* Connections that authenticated with such a token lose their scope, and their commands end. */
int method_revoke(struct request *r, json_t **ret, struct fault *f) {
	int count = 0;

	if (no_params(r, f) != 0 || store_revoke_tokens(r->conn->daemon->store, r->session,
							daemon_now(), &count, &f->e) != 0) {
		return -1;
	}
	for (struct conn *c = r->conn->daemon->conns; c != NULL; c = c->next) {
		if (c->live != NULL && c->live == r->live && c->scope == SCOPE_SESSION &&
		    !c->inside) {
			conn_token_end(c, "the token was revoked");
		}
	}
	*ret = json_pack("{s:i}", "revoked", count);
	return 0;
}

static const char *const refusals[] = {
	[TOKEN_UNKNOWN] = "the token is not one of this session",
	[TOKEN_EXPIRED] = "the token has expired",
	[TOKEN_REVOKED] = "the token was revoked",
};

static int token_failed(struct request *r, enum token_verdict why, struct fault *f) {
	struct live *l = r->live;

	l->failures++;
	r->conn->malformed += 2; /* four wrong tokens end a connection */
	r->conn->daemon->counters.token_failures++;
	(void)fault_set(f, FAULT_NO_TOKEN, "%s", refusals[why]);
	return err_fix(&f->e, "make a new one: corral session token %s", l->id);
}

int method_authenticate(struct request *r, json_t **ret, struct fault *f) {
	const char *text = NULL;
	struct token_hash hash;
	struct token_check found = {.verdict = TOKEN_UNKNOWN};
	struct live *l = r->live;
	int64_t now = clock_ms();

	if (request_unpack(r, f, "{s:s}", "token", &text) != 0) {
		return -1;
	}
	if (now - l->failures_since > FAILURES_WINDOW_MS) {
		l->failures = 0;
		l->failures_since = now;
	}
	if (l->failures >= FAILURES_MAX) {
		return fault_set(f, FAULT_LIMIT,
				 "too many wrong tokens for this session; try again in a minute");
	}
	if (token_hash_text(text, &hash) == 0 &&
	    store_check_token(r->conn->daemon->store, l->id, &hash, daemon_now(), &found, &f->e) !=
		    0) {
		return -1;
	}
	if (found.verdict != TOKEN_VALID) {
		return token_failed(r, found.verdict, f);
	}
	r->conn->scope = SCOPE_SESSION;
	r->conn->expires = found.expires;
	*ret = json_pack("{s:s}", "session", l->id);
	return 0;
}
