/* SPDX-License-Identifier: Apache-2.0 */
/* Runs and audit records for front ends: lists, one run with its denials, charts.
 *
 * A run's own record is the audit log's; a command of a session is also in the daemon's memory,
 * with its output (session/commands.h).
 *
 * Should:   read the log backwards, in bounded time, and say when an answer is not complete.
 * Must not: invent a value: a member that a record does not have is null.
 * Fails:    with a fault. */
#include "session/overview_views.h"

#include "base/auto.h"
#include "base/str.h"
#include "rpc/message.h"
#include "session/commands.h"

#include <stdio.h>
#include <string.h>

#define CHARTS_MS 100
#define REFUSED_MS 20 /* of the first screen */
/* Records of one run: the run's own, and its refusals. */
#define RUN_RECORDS 200

static json_t *read_log(struct corral_audit_options *o, struct fault *f) {
	struct corral_error err = {0};
	auto_free char *text = NULL;

	if (corral_audit_page(o, &text, &err) != 0) {
		(void)overview_fault(&err, f);
		return NULL;
	}
	return overview_parse(text, f);
}

json_t *overview_refused(const char *since, int limit, struct fault *f) {
	struct corral_audit_options o = CORRAL_AUDIT_OPTIONS_INIT;

	o.since = since;
	o.kind = "deny";
	o.last = (uint64_t)limit;
	o.budget_ms = REFUSED_MS;
	return read_log(&o, f);
}

int overview_view_audit(const struct view_request *r, json_t **ret, struct fault *f) {
	struct corral_audit_options o = CORRAL_AUDIT_OPTIONS_INIT;

	o.kind = r->q->kind;
	o.search = r->q->search;
	o.before = r->q->before;
	o.session = r->q->session;
	o.last = (uint64_t)r->limit;
	o.budget_ms = OVERVIEW_SEARCH_MS;
	*ret = read_log(&o, f);
	return *ret == NULL ? -1 : 0;
}

/* ---- runs ---- */

/* The session whose sandbox this run is; NULL: none. */
static struct live *session_of(struct daemon *d, const char *run) {
	for (struct live *l = d->lives; run != NULL && l != NULL; l = l->next) {
		if (streq(l->run, run)) {
			return l;
		}
	}
	return NULL;
}

json_t *overview_live_runs(struct daemon *d, struct fault *f) {
	struct corral_error err = {0};
	auto_free char *text = NULL;

	if (corral_runs(CORRAL_JSON, &text, &err) != 0) {
		(void)overview_fault(&err, f);
		return NULL;
	}
	json_t *value = overview_parse(text, f);
	json_t *runs = json_incref(json_object_get(value, "runs"));
	json_decref(value);
	for (size_t i = json_array_size(runs); i-- > 0;) {
		const json_t *run = json_array_get(runs, i);
		const char *net = json_string_value(json_object_get(run, "net"));
		struct live *l = session_of(d, json_string_value(json_object_get(run, "id")));
		if (l != NULL) {
			(void)snprintf(l->net, sizeof l->net, "%s", net == NULL ? "" : net);
			(void)json_array_remove(runs, i); /* the index exists */
		}
	}
	return runs;
}

/* Runs that are alive on the first page, and those that ended. */
int overview_view_runs(const struct view_request *r, json_t **ret, struct fault *f) {
	struct corral_audit_options o = CORRAL_AUDIT_OPTIONS_INIT;

	o.kind = "run";
	o.search = r->q->search;
	o.before = r->q->before;
	o.session = r->q->session;
	o.last = (uint64_t)r->limit;
	o.budget_ms = OVERVIEW_SEARCH_MS;
	json_t *page = read_log(&o, f);
	json_t *alive = page == NULL           ? NULL
			: r->q->before != NULL ? json_array()
					       : overview_live_runs(r->daemon, f);
	if (alive == NULL) {
		json_decref(page);
		return -1;
	}
	*ret = json_pack("{s:o, s:O, s:O, s:O}", "alive", alive, "runs",
			 json_object_get(page, "records"), "next", json_object_get(page, "next"),
			 "complete", json_object_get(page, "complete"));
	json_decref(page);
	return *ret == NULL ? fault_set(f, FAULT_FAILED, "out of memory") : 0;
}

/* ---- one run ---- */

static bool is_kind(const json_t *record, const char *prefix) {
	const char *kind = json_string_value(json_object_get(record, "kind"));
	return kind != NULL && str_starts(kind, prefix);
}

/* The live record, if the run has not ended. */
static json_t *find_alive(struct daemon *d, const char *id) {
	struct fault unused = {0};
	json_t *runs = overview_live_runs(d, &unused), *found = NULL;
	size_t i;
	json_t *row;

	json_array_foreach(runs, i, row) {
		const char *has = json_string_value(json_object_get(row, "id"));
		if (has != NULL && streq(has, id)) {
			found = json_incref(row);
		}
	}
	json_decref(runs);
	return found;
}

/* Sorts the records of a run by their kinds. */
static json_t *assemble(const json_t *page, json_t *alive) {
	json_t *denials = json_array(), *grants = json_array(), *others = json_array();
	json_t *own = json_null();
	size_t i;
	json_t *record;

	json_array_foreach(json_object_get(page, "records"), i, record) {
		if (is_kind(record, "run") || is_kind(record, "unsandboxed_run")) {
			own = record;
		} else {
			json_t *list = is_kind(record, "deny.")   ? denials
				       : is_kind(record, "grant") ? grants
								  : others;
			(void)json_array_append(list, record);
		}
	}
	return json_pack("{s:O, s:o?, s:o, s:o, s:o, s:n, s:O}", "run", own, "alive", alive,
			 "denials", denials, "grants", grants, "records", others, "output",
			 "complete", json_object_get(page, "complete"));
}

/* The records of a run are written at its end, so those of an old run are far back in the log: the
 * search begins at the end unless the query has the place of its record. */
static int plain_run(const struct view_request *r, json_t **ret, struct fault *f) {
	struct corral_audit_options o = CORRAL_AUDIT_OPTIONS_INIT;

	o.id = r->id;
	o.before = r->q->before;
	o.last = RUN_RECORDS;
	o.budget_ms = OVERVIEW_SEARCH_MS;
	json_t *alive = find_alive(r->daemon, r->id);
	json_t *page = read_log(&o, f);
	if (page == NULL) {
		json_decref(alive);
		return -1;
	}
	if (alive == NULL && json_array_size(json_object_get(page, "records")) == 0) {
		bool complete = json_is_true(json_object_get(page, "complete"));
		json_decref(page);
		return fault_set(f, FAULT_NO_SESSION,
				 complete ? "no run has the id %.32s"
					  : "run %.32s is not among the last records; use `corral "
					    "audit show`",
				 r->id);
	}
	*ret = assemble(page, alive);
	json_decref(page);
	return *ret == NULL ? fault_set(f, FAULT_FAILED, "out of memory") : 0;
}

int overview_view_run(const struct view_request *r, json_t **ret, struct fault *f) {
	json_t *command = commands_show(r->daemon, r->id);

	if (command != NULL) {
		*ret = command;
		return 0;
	}
	if (strlen(r->id) >= CORRAL_ID_SIZE) {
		return fault_set(f, FAULT_NO_SESSION, "no run has the id %.64s", r->id);
	}
	return plain_run(r, ret, f);
}

/* ---- charts ---- */

int overview_view_charts(const struct view_request *r, json_t **ret, struct fault *f) {
	struct corral_audit_options o = CORRAL_AUDIT_OPTIONS_INIT;
	struct corral_error err = {0};
	auto_free char *text = NULL;

	o.session = r->q->session;
	o.budget_ms = CHARTS_MS;
	if (corral_audit_stats(&o, CORRAL_JSON, &text, &err) != 0) {
		return overview_fault(&err, f);
	}
	*ret = overview_parse(text, f);
	return *ret == NULL ? -1 : 0;
}
