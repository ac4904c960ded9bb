/* SPDX-License-Identifier: Apache-2.0 */
/* Events for subscribers: the daemon's own, and those of plain runs, found in their records.
 *
 * A plain run writes a slot of the file `runs` when it starts, and records of the audit log when it
 * ends; a run with --cow leaves a directory.  inotify(7) reports a change, and the
 * records are read SETTLE_MS later, so that a thousand runs in a second cost a few reads.
 *
 * Should:   watch nothing without a subscriber.
 * Must not: report a record twice; read without a bound: more than RECORDS_MAX new records are
 *           "lost".
 * Fails:    open: without inotify the records are looked at every LOOK_MS. */
#include "session/overview_events.h"

#include "base/auto.h"
#include "base/clock.h"
#include "base/str.h"
#include "session/commands.h"
#include "session/overview_views.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/inotify.h>

#define SETTLE_MS 100
#define OUTPUT_MS 200
#define LOOK_MS 2000
#define RECORDS_FEW 20
#define RECORDS_MAX 200

#define CHANGED_RUNS 1U
#define CHANGED_AUDIT 2U
#define CHANGED_PENDING 4U
#define CHANGED_ALL (CHANGED_RUNS | CHANGED_AUDIT | CHANGED_PENDING)

bool overview_is_watched(const struct daemon *d) {
	return d->feed.first != NULL;
}

static void deliver(struct daemon *d, const char *kind, const char *json, size_t len) {
	for (struct overview_subscriber *s = d->feed.first; s != NULL; s = d->feed.next) {
		d->feed.next = s->next;
		s->event(s->arg, kind, json, len);
	}
	d->feed.next = NULL;
}

void overview_event(struct daemon *d, const char *kind, json_t *value) {
	if (overview_is_watched(d) && value != NULL) {
		auto_free char *text = json_dumps(value, JSON_COMPACT);
		if (text != NULL) {
			deliver(d, kind, text, strlen(text));
		}
	}
	json_decref(value);
}

void overview_output_soon(struct daemon *d) {
	int64_t soon = clock_ms() + OUTPUT_MS;

	d->feed.output_due = d->feed.output_due > soon ? soon : d->feed.output_due;
}

/* ---- plain runs ---- */

static json_t *ids_of(const json_t *runs) {
	json_t *ids = json_object();
	size_t i;
	json_t *run;

	json_array_foreach(runs, i, run) {
		const char *id = json_string_value(json_object_get(run, "id"));
		if (id != NULL) {
			(void)json_object_set(ids, id, run);
		}
	}
	return ids;
}

static void look_at_runs(struct daemon *d) {
	struct fault unused = {0};
	json_t *runs = overview_live_runs(d, &unused);
	json_t *ids = ids_of(runs);
	const char *id;
	json_t *run;

	json_object_foreach(ids, id, run) {
		if (json_object_get(d->feed.alive, id) == NULL) {
			json_t *event = json_copy(run);
			(void)json_object_set_new(event, "state", json_string("running"));
			overview_event(d, "run", event);
		}
	}
	json_decref(d->feed.alive);
	d->feed.alive = ids;
	json_decref(runs);
}

/* ---- the audit log ---- */

static json_t *last_records(int limit) {
	struct corral_audit_options o = CORRAL_AUDIT_OPTIONS_INIT;
	struct corral_error err = {0};
	auto_free char *text = NULL;

	o.last = (uint64_t)limit;
	o.budget_ms = OVERVIEW_SEARCH_MS;
	if (corral_audit_page(&o, &text, &err) != 0) {
		return NULL;
	}
	json_t *page = json_loads(text, JSON_ALLOW_NUL, NULL);
	json_t *records = json_incref(json_object_get(page, "records"));
	json_decref(page);
	return records;
}

static json_int_t seq_of(const json_t *records, size_t i) {
	return json_integer_value(json_object_get(json_array_get(records, i), "seq"));
}

/* The number of records after the last one that was seen; the newest is the first. */
static size_t count_new(const json_t *records, json_int_t last) {
	size_t n = 0;

	while (n < json_array_size(records) && seq_of(records, n) > last) {
		n++;
	}
	return n;
}

/* A command of a session has reported its own end (session/commands.c). */
static bool is_of_session(struct daemon *d, const json_t *record) {
	const char *session = json_string_value(json_object_get(record, "session"));
	return session != NULL && live_find(d, session) != NULL;
}

static void report_record(struct daemon *d, json_t *record) {
	const char *kind = json_string_value(json_object_get(record, "kind"));

	if (kind == NULL || is_of_session(d, record)) {
		return;
	}
	if (str_starts(kind, "deny.")) {
		overview_event(d, "denial", json_incref(record));
	} else if (streq(kind, "run") || streq(kind, "unsandboxed_run")) {
		json_t *event = json_copy(record);
		(void)json_object_set_new(event, "state", json_string("ended"));
		overview_event(d, "run", event);
	}
}

static void look_at_audit(struct daemon *d) {
	json_t *records = last_records(RECORDS_FEW);
	json_int_t last = d->feed.last_seq;

	if (last >= 0 && records != NULL && count_new(records, last) == RECORDS_FEW) {
		json_decref(records);
		records = last_records(RECORDS_MAX);
	}
	size_t n = last < 0 ? 0 : count_new(records, last);
	d->feed.last_seq = json_array_size(records) > 0 ? seq_of(records, 0) : last < 0 ? 0 : last;
	if (n == RECORDS_MAX) {
		overview_event(d, "lost", json_pack("{s:s}", "what", "audit"));
	}
	while (n-- > 0 && overview_is_watched(d)) {
		report_record(d, json_array_get(records, n));
	}
	json_decref(records);
}

/* ---- inotify ---- */

static bool has_name(const char *name, const char *const *names, size_t n) {
	for (size_t i = 0; i < n; i++) {
		if (streq(name, names[i])) {
			return true;
		}
	}
	return false;
}

/* A name of the state directory identifies its records; a name of another directory is in its own.
 */
static unsigned what_changed(const struct inotify_event *event) {
	static const char *const places[] = {"audit", "cow"};

	if (event->len == 0) {
		return CHANGED_ALL; /* events were lost, or a directory is gone */
	}
	if (streq(event->name, "runs")) {
		return CHANGED_RUNS;
	}
	if (has_name(event->name, places, ARRAY_LEN(places))) {
		return CHANGED_ALL;
	}
	return strstr(event->name, ".jsonl") != NULL ? CHANGED_AUDIT : CHANGED_PENDING;
}

static void watch_places(struct daemon *d) {
	static const char *const names[] = {"", "/audit", "/cow"};
	const uint32_t mask =
		IN_MODIFY | IN_CREATE | IN_DELETE | IN_MOVED_TO | IN_MOVED_FROM | IN_ONLYDIR;
	const char *slash = strrchr(d->places.state, '/');
	char path[PATH_MAX + 16];

	for (size_t i = 0; slash != NULL && i < ARRAY_LEN(names); i++) {
		(void)snprintf(path, sizeof path, "%.*s%s", (int)(slash - d->places.state),
			       d->places.state, names[i]);
		/* One that does not exist yet is watched after its creation. */
		(void)inotify_add_watch(d->feed.watch.fd, path, mask);
	}
}

static void feed_ready(struct watch *w, uint32_t events) {
	struct daemon *d = w->owner;
	_Alignas(struct inotify_event) char buffer[4096];
	ssize_t n = read(w->fd, buffer, sizeof buffer);

	(void)events;
	for (const char *at = buffer; n > 0 && at < buffer + n;) {
		const struct inotify_event *event = (const struct inotify_event *)(const void *)at;
		d->feed.changed |= what_changed(event);
		at += sizeof *event + event->len;
	}
	if (d->feed.changed != 0 && d->feed.due == 0) {
		d->feed.due = clock_ms() + SETTLE_MS;
	}
}

static void begin(struct daemon *d) {
	struct fault unused = {0};
	struct err e = {0};

	d->feed.watch = (struct watch){
		.fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK), .ready = feed_ready, .owner = d};
	if (d->feed.watch.fd >= 0 &&
	    daemon_loop_watch(&d->loop, &d->feed.watch, EPOLLIN, &e) != 0) {
		drop_fd(&d->feed.watch.fd);
	}
	if (d->feed.watch.fd >= 0) {
		watch_places(d);
	}
	/* Runs and records of before are no events; what comes after this function is one. */
	json_decref(d->feed.alive);
	json_t *runs = overview_live_runs(d, &unused);
	d->feed.alive = ids_of(runs);
	json_decref(runs);
	d->feed.last_seq = -1;
	look_at_audit(d);
	d->feed.changed = 0;
	d->feed.due = 0;
	d->feed.output_due = clock_ms();
}

void overview_end(struct daemon *d) {
	struct err e = {0};

	if (d->feed.watch.fd >= 0) {
		(void)daemon_loop_watch(&d->loop, &d->feed.watch, 0, &e); /* close() removes it */
		drop_fd(&d->feed.watch.fd);
	}
	json_decref(d->feed.alive);
	d->feed.alive = NULL;
	d->feed.due = d->feed.output_due = 0;
}

/* ---- subscribers ---- */

void overview_subscribe(struct daemon *d, struct overview_subscriber *s) {
	bool first = d->feed.first == NULL;

	s->next = d->feed.first;
	d->feed.first = s;
	if (first) {
		begin(d);
	}
}

void overview_unsubscribe(struct daemon *d, struct overview_subscriber *s) {
	for (struct overview_subscriber **at = &d->feed.first; *at != NULL; at = &(*at)->next) {
		if (*at == s) {
			*at = s->next;
			break;
		}
	}
	if (d->feed.next == s) {
		d->feed.next = s->next;
	}
	if (d->feed.first == NULL) {
		overview_end(d);
	}
}

void overview_pending_changed(struct daemon *d) {
	struct fault unused = {0};

	if (overview_is_watched(d)) {
		json_t *list = overview_pending_list(&unused);
		overview_event(d, "pending",
			       list == NULL ? NULL : json_pack("{s:o}", "pending", list));
	}
}

static void look(struct daemon *d) {
	unsigned changed = d->feed.changed;

	d->feed.changed = 0;
	if (d->feed.watch.fd >= 0) {
		watch_places(d);
	}
	if ((changed & (CHANGED_RUNS | CHANGED_AUDIT)) != 0) {
		look_at_runs(d);
	}
	if ((changed & CHANGED_AUDIT) != 0 && overview_is_watched(d)) {
		look_at_audit(d);
	}
	if ((changed & CHANGED_PENDING) != 0) {
		overview_pending_changed(d);
	}
}

int64_t overview_check(struct daemon *d, int64_t now) {
	if (!overview_is_watched(d)) {
		return 0;
	}
	if (d->feed.due != 0 && now >= d->feed.due) {
		d->feed.due = 0;
		look(d);
	}
	if (overview_is_watched(d) && now >= d->feed.output_due) {
		d->feed.output_due = now + (commands_report_output(d) ? OUTPUT_MS : LOOK_MS);
	}
	if (d->feed.watch.fd < 0 && d->feed.due == 0) {
		d->feed.changed = CHANGED_ALL;
		d->feed.due = now + LOOK_MS;
	}
	return d->feed.due != 0 && d->feed.due < d->feed.output_due ? d->feed.due
								    : d->feed.output_due;
}
