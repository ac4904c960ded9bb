/* SPDX-License-Identifier: Apache-2.0 */
/* The table of views, their queries, and the first screen.
 *
 * Should:   answer from memory, the database and the user's own files only.
 * Must not: wait, or read without a bound (H7); print a value that a record does not have.
 * Fails:    with a fault, and no part of an answer. */
#include "session/overview.h"

#include "base/auto.h"
#include "base/str.h"
#include "rpc/message.h"
#include "session/overview_views.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Refusals on the first screen. */
#define REFUSED_MAX 50
#define REFUSED_SINCE "1h"

/* ---- queries ---- */

static int hex(char c) {
	return c >= '0' && c <= '9'   ? c - '0'
	       : c >= 'a' && c <= 'f' ? c - 'a' + 10
	       : c >= 'A' && c <= 'F' ? c - 'A' + 10
				      : -1;
}

/* Decodes in place; false: malformed, or with a NUL. */
static bool decode(char *text) {
	char *out = text;

	for (const char *p = text; *p != '\0'; p++) {
		int c = *p == '+' ? ' ' : (unsigned char)*p;
		if (*p == '%') {
			int high = hex(p[1]), low = high < 0 ? -1 : hex(p[2]);
			c = low < 0 ? 0 : high * 16 + low;
			p += 2;
		}
		if (c == 0) {
			return false;
		}
		*out++ = (char)c;
	}
	*out = '\0';
	return true;
}

static bool read_limit(const char *text, int *ret) {
	char *end = NULL;
	long n = isdigit((unsigned char)text[0]) ? strtol(text, &end, 10) : 0;

	*ret = (int)n;
	return n >= 1 && n <= OVERVIEW_LIMIT_MAX && *end == '\0';
}

static int set_value(struct overview_query *q, const char *name, const char *value,
		     struct fault *f) {
	const struct {
		const char *name;
		const char **at;
	} rows[] = {{"search", &q->search},
		    {"before", &q->before},
		    {"kind", &q->kind},
		    {"state", &q->state},
		    {"session", &q->session}};

	if (streq(name, "limit")) {
		return read_limit(value, &q->limit)
			       ? 0
			       : fault_set(f, MESSAGE_INVALID_PARAMS, "limit is a number up to %d",
					   OVERVIEW_LIMIT_MAX);
	}
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		if (streq(name, rows[i].name) && *rows[i].at == NULL) {
			*rows[i].at = value;
			return 0;
		}
	}
	return fault_set(f, MESSAGE_INVALID_PARAMS,
			 "the query has a name that does not exist, or occurs twice");
}

int overview_query_read(const char *text, struct overview_query *ret, struct fault *f) {
	size_t len = text == NULL ? 0 : strlen(text);
	char *rest = ret->text;

	*ret = (struct overview_query){.limit = 0};
	if (len >= sizeof ret->text) {
		return fault_set(f, MESSAGE_INVALID_PARAMS, "the query is longer than %zu bytes",
				 sizeof ret->text - 1);
	}
	memcpy(ret->text, len == 0 ? "" : text, len + 1);
	while (rest != NULL && *rest != '\0') {
		char *pair = strsep(&rest, "&");
		char *value = strchr(pair, '=');
		if (value == NULL) {
			return fault_set(f, MESSAGE_INVALID_PARAMS, "the query is not name=value");
		}
		*value++ = '\0';
		if (!decode(pair) || !decode(value)) {
			return fault_set(f, MESSAGE_INVALID_PARAMS,
					 "the query is not percent-encoded text");
		}
		if (value[0] != '\0' && set_value(ret, pair, value, f) != 0) {
			return -1;
		}
	}
	return 0;
}

/* ---- the first screen ---- */

static json_t *totals(const struct daemon *d, const json_t *runs, const json_t *refused,
		      const json_t *questions, const json_t *pending) {
	uint64_t denials = 0;
	size_t i;
	const json_t *row;

	json_array_foreach(json_object_get(refused, "records"), i, row) {
		json_int_t count = json_integer_value(json_object_get(row, "count"));
		denials += count > 0 ? (uint64_t)count : 1;
	}
	return json_pack("{s:I, s:i, s:i, s:I, s:b, s:i, s:i, s:I, s:I, s:I}", "started",
			 (json_int_t)d->started, "sessions", (int)d->nlives, "runs",
			 (int)json_array_size(runs), "refused_last_hour", (json_int_t)denials,
			 "refused_complete", json_is_null(json_object_get(refused, "next")),
			 "waiting", (int)json_array_size(questions), "pending",
			 (int)json_array_size(pending), "sessions_created",
			 (json_int_t)d->counters.created, "commands", (json_int_t)d->counters.execs,
			 "commands_failed", (json_int_t)d->counters.exec_errors);
}

static int view_overview(const struct view_request *r, json_t **ret, struct fault *f) {
	struct daemon *d = r->daemon;
	json_t *runs = overview_live_runs(d, f);
	json_t *sessions = runs == NULL ? NULL : overview_live_sessions(d, r->limit, f);
	json_t *refused = sessions == NULL ? NULL : overview_refused(REFUSED_SINCE, REFUSED_MAX, f);
	json_t *pending = refused == NULL ? NULL : overview_pending_list(f);
	json_t *questions = NULL;
	int rc = pending == NULL ? -1 : questions_view(r, &questions, f);

	if (rc == 0) {
		const json_t *waiting = json_object_get(questions, "questions");
		*ret = json_pack("{s:{s:O, s:O}, s:O, s:O, s:O, s:o}", "now", "runs", runs,
				 "sessions", sessions, "refused",
				 json_object_get(refused, "records"), "waiting", waiting, "pending",
				 pending, "totals", totals(d, runs, refused, waiting, pending));
		rc = *ret == NULL ? fault_set(f, FAULT_FAILED, "out of memory") : 0;
	}
	json_decref(runs);
	json_decref(sessions);
	json_decref(refused);
	json_decref(pending);
	json_decref(questions);
	return rc;
}

/* ---- views ---- */

static const struct {
	const char *name;
	bool one; /* "name/ID" */
	view_fn *run;
} views[] = {
	{"overview", false, view_overview},        {"sessions", false, overview_view_sessions},
	{"session", true, overview_view_session},  {"runs", false, overview_view_runs},
	{"run", true, overview_view_run},          {"audit", false, overview_view_audit},
	{"pending", false, overview_view_pending}, {"pending", true, overview_view_change},
	{"charts", false, overview_view_charts},   {"questions", false, questions_view},
};

int overview_fault(const struct corral_error *err, struct fault *f) {
	int code = err->kind == CORRAL_E_USAGE ? MESSAGE_INVALID_PARAMS : FAULT_FAILED;

	(void)fault_set(f, code, "%s", err->message);
	f->kind = (int)err->kind;
	f->e.sys = err->sys_errno;
	(void)snprintf(f->e.where, sizeof f->e.where, "%s", err->layer);
	(void)snprintf(f->e.fix, sizeof f->e.fix, "%s", err->remedy);
	return -1;
}

json_t *overview_parse(const char *text, struct fault *f) {
	json_t *value = json_loads(text, JSON_ALLOW_NUL, NULL);

	if (value == NULL) {
		(void)fault_set(f, FAULT_FAILED, "out of memory");
	}
	return value;
}

int overview_value(struct daemon *d, const char *name, const struct overview_query *q, json_t **ret,
		   struct fault *f) {
	static const struct overview_query none = {.limit = 0};
	const char *slash = strchr(name, '/');
	size_t len = slash == NULL ? strlen(name) : (size_t)(slash - name);
	struct view_request r = {
		.daemon = d, .id = slash == NULL ? NULL : slash + 1, .q = q == NULL ? &none : q};

	r.limit = r.q->limit > 0 && r.q->limit <= OVERVIEW_LIMIT_MAX ? r.q->limit : OVERVIEW_LIMIT;
	for (size_t i = 0; i < ARRAY_LEN(views); i++) {
		if (strlen(views[i].name) == len && memcmp(views[i].name, name, len) == 0 &&
		    views[i].one == (r.id != NULL && r.id[0] != '\0')) {
			return views[i].run(&r, ret, f);
		}
	}
	return fault_set(f, FAULT_NO_SESSION, "there is no view %.64s", name);
}

/* Adds a value as text; steals it. */
static int give(json_t *value, struct buf *out, struct fault *f) {
	auto_free char *text = value == NULL ? NULL : json_dumps(value, JSON_COMPACT);

	json_decref(value);
	if (text != NULL) {
		buf_puts(out, text);
	}
	return text == NULL || buf_failed(out) ? fault_set(f, FAULT_FAILED, "out of memory") : 0;
}

int overview_view(struct daemon *d, const char *name, const struct overview_query *q,
		  struct buf *out, struct fault *f) {
	json_t *value = NULL;

	return overview_value(d, name, q, &value, f) != 0 ? -1 : give(value, out, f);
}

int overview_json(struct daemon *d, const struct overview_query *q, struct buf *out,
		  struct fault *f) {
	return overview_view(d, "overview", q, out, f);
}

/* ---- actions ---- */

int overview_answer(struct daemon *d, const char *question, const char *answer, struct buf *out,
		    struct fault *f) {
	return questions_answer(d, question, answer, f) != 0
		       ? -1
		       : give(json_pack("{s:s}", "done", answer), out, f);
}

int overview_apply(struct daemon *d, const char *id, struct buf *out, struct fault *f) {
	struct corral_cow_options options = {.size = sizeof options};
	struct corral_policy *policy = corral_policy_new();
	struct corral_error err = {0};
	auto_free char *text = NULL;

	if (policy == NULL) {
		return fault_set(f, FAULT_FAILED, "out of memory");
	}
	corral_policy_use_config(policy, d->config);
	int rc = corral_cow_apply(policy, id, &options, CORRAL_JSON, &text, &err);
	corral_policy_free(policy);
	overview_pending_changed(d);
	if (rc != 0) {
		return overview_fault(&err, f);
	}
	json_t *done = overview_parse(text, f);
	return done == NULL ? -1 : give(json_pack("{s:o}", "done", done), out, f);
}

int overview_discard(struct daemon *d, const char *id, struct buf *out, struct fault *f) {
	struct corral_error err = {0};

	if (id == NULL || id[0] == '\0') { /* NULL would discard those of all runs */
		return fault_set(f, MESSAGE_INVALID_PARAMS, "the id of the changes is missing");
	}
	int rc = corral_cow_discard(id, &err);
	overview_pending_changed(d);
	return rc != 0 ? overview_fault(&err, f) : give(json_pack("{s:s}", "done", id), out, f);
}
