/* SPDX-License-Identifier: Apache-2.0 */
/* Sessions for front ends: a page of the list, and one session with its activity and commands.
 *
 * Should:   let the database select the page: 5,000 sessions cost as much as 50.
 * Must not: show a token, or a value of the environment.
 * Fails:    with a fault. */
#include "session/overview_views.h"

#include "base/str.h"
#include "rpc/message.h"
#include "session/commands.h"

#include <string.h>

#define ACTIVITY_SHOWN 200

/* The list of runs has the network of a session's sandbox. */
static void learn_net(struct daemon *d, const struct live *l) {
	struct fault unused = {0};

	if (l->net[0] == '\0') {
		json_decref(overview_live_runs(d, &unused));
	}
}

static json_t *row_value(struct daemon *d, const struct session_row *row) {
	json_t *value = session_row_json(row);
	const struct live *l = live_find(d, row->id);

	if (value != NULL && l != NULL) {
		learn_net(d, l);
		(void)json_object_set_new(value, "net", json_string(l->net));
		(void)json_object_set_new(value, "commands", commands_list(l, false));
	}
	return value;
}

struct page {
	struct daemon *daemon;
	json_t *rows;
	char last[SESSION_ID_LENGTH + 1];
};

static void add_row(void *arg, const struct session_row *row) {
	struct page *p = arg;

	memcpy(p->last, row->id, sizeof p->last);
	(void)json_array_append_new(p->rows, row_value(p->daemon, row)); /* jansson drops a NULL */
}

static int read_page(struct daemon *d, const struct store_page *want, struct page *p,
		     struct fault *f) {
	struct session_reader reader = {add_row, p};

	*p = (struct page){.daemon = d, .rows = json_array()};
	if (p->rows == NULL || store_page_sessions(d->store, want, &reader, &f->e) != 0) {
		json_decref(p->rows);
		return -1;
	}
	return 0;
}

json_t *overview_live_sessions(struct daemon *d, int limit, struct fault *f) {
	const struct store_page want = {
		.state = "alive", .before = "", .search = "", .limit = limit};
	struct page p;

	return read_page(d, &want, &p, f) != 0 ? NULL : p.rows;
}

static bool is_state(const char *text) {
	return text == NULL || streq(text, "alive") || state_by_name(text) >= 0;
}

int overview_view_sessions(const struct view_request *r, json_t **ret, struct fault *f) {
	const struct store_page want = {.state = r->q->state == NULL ? "" : r->q->state,
					.before = r->q->before == NULL ? "" : r->q->before,
					.search = r->q->search == NULL ? "" : r->q->search,
					.limit = r->limit + 1};
	struct page p;

	if (!is_state(r->q->state)) {
		return fault_set(f, MESSAGE_INVALID_PARAMS, "there is no state \"%.32s\"",
				 r->q->state);
	}
	if (read_page(r->daemon, &want, &p, f) != 0) {
		return -1;
	}
	bool more = json_array_size(p.rows) > (size_t)r->limit;
	if (more) {
		(void)json_array_remove(p.rows, (size_t)r->limit); /* the index exists */
	}
	const json_t *last = json_array_get(p.rows, (size_t)r->limit - 1);
	*ret = json_pack("{s:o, s:s?}", "sessions", p.rows, "next",
			 more ? json_string_value(json_object_get(last, "id")) : NULL);
	return *ret == NULL ? fault_set(f, FAULT_FAILED, "out of memory") : 0;
}

/* ---- one session ---- */

struct found {
	struct daemon *daemon;
	json_t *row;
};

static void keep_row(void *arg, const struct session_row *row) {
	struct found *found = arg;

	found->row = row_value(found->daemon, row);
}

static void add_activity(void *arg, const struct activity_row *row) {
	(void)json_array_append_new(arg, session_activity_json(row)); /* jansson drops a NULL */
}

static int add_parts(const struct view_request *r, json_t *row, struct fault *f) {
	const char *id = json_string_value(json_object_get(row, "id"));
	struct live *l = live_find(r->daemon, id);
	json_t *activity = json_array();
	const struct activity_reader reader = {.session = id,
					       .limit = ACTIVITY_SHOWN,
					       .newest = true,
					       .found = add_activity,
					       .arg = activity};

	if (activity == NULL || store_each_activity(r->daemon->store, &reader, &f->e) != 0) {
		json_decref(activity);
		return -1;
	}
	(void)json_object_set_new(row, "activity", activity);
	if (l != NULL) {
		(void)json_object_set_new(row, "socket", json_string(l->socket));
		(void)json_object_set_new(row, "cpu", session_cpu_json(l));
		(void)json_object_set_new(row, "commands", commands_list(l, true));
	} else {
		(void)json_object_set_new(row, "commands", commands_ended_list(r->daemon, id));
	}
	return 0;
}

int overview_view_session(const struct view_request *r, json_t **ret, struct fault *f) {
	struct found found = {.daemon = r->daemon};
	const struct session_reader reader = {keep_row, &found};
	int rc = store_get_session(r->daemon->store, r->id, &reader, &f->e);

	if (rc != 0) {
		return rc < 0 ? -1
			      : fault_set(f, FAULT_NO_SESSION, "there is no session %.64s", r->id);
	}
	if (found.row == NULL) {
		return fault_set(f, FAULT_FAILED, "out of memory");
	}
	if (add_parts(r, found.row, f) != 0) {
		json_decref(found.row);
		return -1;
	}
	*ret = found.row;
	return 0;
}
