/* SPDX-License-Identifier: Apache-2.0 */
/* The table of views: a path of the page, the name of its data, and the function that renders them.
 *
 * Should:   answer /api/NAME with the data themselves.
 * Must not: change anything (U2).
 * Fails:    with a page that names the reason and the remedy. */
#include "ui/server.h"

#include "base/auto.h"
#include "base/str.h"
#include "http/form.h"
#include "ui/page.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#define NAME_MAX_BYTES 128
#define JSON_TYPE "application/json"

static const struct route {
	const char *path; /* with '/' at its end: an id follows */
	const char *data, *title;
	const char *nav;
	show_fn *show;
} routes[] = {
	{"/", "overview", "Now", "/", show_overview},
	{"/sessions", "sessions", "Sessions", "/sessions", show_sessions},
	{"/sessions/", "session/", "Session", "/sessions", show_session},
	{"/runs", "runs", "Commands", "/runs", show_runs},
	{"/runs/", "run/", "Command", "/runs", show_run},
	{"/audit", "audit", "Audit", "/audit", show_audit},
	{"/pending", "pending", "Pending", "/pending", show_pending},
	{"/pending/", "pending/", "Changes", "/pending", show_change},
	{"/charts", "charts", "Charts", "/charts", show_charts},
};

static int64_t now_ms(void) {
	struct timespec t;

	(void)clock_gettime(CLOCK_REALTIME, &t); /* fails for no such clock only */
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* An id has no '/', so that it names nothing else. */
static bool is_id(const char *text) {
	size_t len = strlen(text);
	return len > 0 && len < NAME_MAX_BYTES / 2 && strchr(text, '/') == NULL;
}

static bool begins(const char *text, const char *prefix) {
	return strncmp(text, prefix, strlen(prefix)) == 0;
}

/* The route of a path, and the name of its data. */
static const struct route *find(const char *path, char ret_name[NAME_MAX_BYTES]) {
	for (size_t i = 0; i < ARRAY_LEN(routes); i++) {
		const struct route *r = &routes[i];
		size_t len = strlen(r->path);
		bool prefix = len > 1 && r->path[len - 1] == '/';
		if (prefix ? begins(path, r->path) && is_id(path + len) : streq(path, r->path)) {
			(void)snprintf(ret_name, NAME_MAX_BYTES, "%s%s", r->data,
				       prefix ? path + len : "");
			return r;
		}
	}
	return NULL;
}

/* The data of /api/NAME: those of a route. */
static bool is_name(const char *name) {
	for (size_t i = 0; i < ARRAY_LEN(routes); i++) {
		size_t len = strlen(routes[i].data);
		if (routes[i].data[len - 1] == '/'
			    ? begins(name, routes[i].data) && is_id(name + len)
			    : streq(name, routes[i].data)) {
			return true;
		}
	}
	return streq(name, "questions");
}

static void read_query(const struct http_request *r, struct ui_query *q) {
	/* A value that cannot be read is as none: the page shows more, never less. */
	(void)http_form_value(r->query, "search", q->search, sizeof q->search);
	(void)http_form_value(r->query, "before", q->before, sizeof q->before);
	(void)http_form_value(r->query, "kind", q->kind, sizeof q->kind);
	(void)http_form_value(r->query, "state", q->state, sizeof q->state);
}

/* ---- JSON ---- */

static void reply_json(struct http_exchange *x, int status, const struct buf *text) {
	bool failed = buf_failed(text);

	respond_fields(x);
	http_exchange_reply(x, failed ? 503 : status, JSON_TYPE, failed ? "" : text->data,
			    failed ? 0 : text->len);
}

static void reply_fault(struct http_exchange *x, const struct ui_fault *f) {
	struct buf text;
	auto_free char *what = NULL;
	json_t *value = json_pack("{s:{s:s, s:s}}", "error", "message", f->what, "remedy", f->fix);

	buf_init(&text);
	what = value == NULL ? NULL : json_dumps(value, JSON_COMPACT);
	buf_puts(&text, what == NULL ? "{}" : what);
	json_decref(value);
	reply_json(x, f->status, &text);
	buf_done(&text);
}

/* The token of the visit's forms, for a program that sends them itself. */
static void reply_visit(struct http_exchange *x, const struct visit *v) {
	struct buf text;

	buf_init(&text);
	buf_printf(&text, "{\"form\":\"%s\"}", v->form);
	reply_json(x, 200, &text);
	buf_done(&text);
}

static void api(struct ui *u, struct http_exchange *x, const struct visit *v, const char *name) {
	struct ui_fault f = {.status = 404, .what = "there is no such view"};
	struct ui_query q = {.search = ""};
	struct buf text;

	if (streq(name, "visit")) {
		reply_visit(x, v);
		return;
	}
	read_query(http_exchange_request(x), &q);
	buf_init(&text);
	if (is_name(name) && u->source.view(u->source.arg, name, &q, &text, &f) == 0) {
		reply_json(x, 200, &text);
	} else {
		reply_fault(x, &f);
	}
	buf_done(&text);
}

/* ---- pages ---- */

static json_t *read_data(struct ui *u, const char *name, const struct ui_query *q,
			 struct ui_fault *f) {
	struct buf text;
	json_t *value = NULL;

	buf_init(&text);
	if (u->source.view(u->source.arg, name, q, &text, f) == 0) {
		*f = (struct ui_fault){.status = 503, .what = "out of memory"};
		value = buf_failed(&text) ? NULL
					  : json_loadb(text.data, text.len, JSON_ALLOW_NUL, NULL);
	}
	buf_done(&text);
	return value;
}

/* A command that a session still runs has no result: level and network are those of the session. */
static void add_level(struct ui *u, json_t *run) {
	const char *session = json_string_value(json_object_get(run, "session"));
	const struct ui_query none = {.search = ""};
	struct ui_fault unused;
	char name[NAME_MAX_BYTES];

	if (session == NULL || !json_is_null(json_object_get(run, "result")) || !is_id(session)) {
		return;
	}
	(void)snprintf(name, sizeof name, "session/%s", session);
	json_t *found = read_data(u, name, &none, &unused);
	(void)json_object_set(run, "level", json_object_get(found, "level"));
	(void)json_object_set(run, "net", json_object_get(found, "net"));
	json_decref(found);
}

/* Only the content of <main>, for app.js. */
static bool is_part(const struct http_request *r) {
	char value[8];
	return http_form_value(r->query, "part", value, sizeof value) && streq(value, "main");
}

static void render(struct http_exchange *x, const struct route *route, struct ui_page *p,
		   const json_t *data) {
	bool part = is_part(http_exchange_request(x));

	if (!part) {
		page_begin(p, route->nav);
	}
	route->show(p, data);
	if (!part) {
		page_end(p);
	}
	respond_html(x, 200, p->out);
}

static void page(struct ui *u, struct http_exchange *x, const struct visit *v, const char *path) {
	char name[NAME_MAX_BYTES];
	struct ui_fault f = {.status = 404, .what = "There is no such page."};
	struct ui_query q = {.search = ""};
	struct buf body;
	const struct route *route = find(path, name);
	json_t *data = NULL;

	read_query(http_exchange_request(x), &q);
	if (route != NULL) {
		data = read_data(u, name, &q, &f);
		add_level(u, data);
	}
	if (data == NULL) {
		respond_sentence(x, f.status, v->form, f.status == 404 ? "Not found" : "Failed",
				 &f);
		return;
	}
	buf_init(&body);
	struct ui_page p = {.out = &body,
			    .form = v->form,
			    .path = path,
			    .title = route->title,
			    .query = &q,
			    .now = now_ms()};
	render(x, route, &p, data);
	buf_done(&body);
	json_decref(data);
}

/* ---- the indicator, for host products ---- */

/* One line of HTML without a frame: the lock of a run, or of all that runs now. */
static void indicator(struct ui *u, struct http_exchange *x) {
	struct ui_query q = {.search = ""};
	struct ui_fault f = {.status = 500};
	char id[NAME_MAX_BYTES / 2], name[NAME_MAX_BYTES];
	struct buf body;
	struct ui_page p = {.out = &body, .form = "", .path = "/", .query = &q, .now = now_ms()};
	bool one =
		http_form_value(http_exchange_request(x)->query, "run", id, sizeof id) && is_id(id);

	(void)snprintf(name, sizeof name, "%s%s", one ? "run/" : "overview", one ? id : "");
	json_t *data = read_data(u, name, &q, &f);
	buf_init(&body);
	if (data == NULL) {
		html_put(&body, "<span class=\"corral-indicator unknown\">%s</span>\n", f.what);
	} else {
		show_indicator(&p, data, one);
	}
	respond_html(x, data == NULL ? f.status : 200, &body);
	buf_done(&body);
	json_decref(data);
}

void route_get(struct ui *u, struct http_exchange *x, const struct visit *v) {
	static const char prefix[] = "/api/";
	const struct http_request *r = http_exchange_request(x);
	char path[NAME_MAX_BYTES];

	if (!http_path_decode(r->path, path, sizeof path)) {
		respond_sentence(x, 404, v->form, "Not found",
				 &(struct ui_fault){.what = "There is no such page."});
	} else if (streq(path, "/events")) {
		stream_open(u, x, v);
	} else if (streq(path, "/indicator")) {
		indicator(u, x);
	} else if (begins(path, prefix)) {
		api(u, x, v, path + sizeof prefix - 1);
	} else {
		page(u, x, v, path);
	}
}
