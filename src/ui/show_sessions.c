/* SPDX-License-Identifier: Apache-2.0 */
/* Sessions: a list of them, and one with its commands and activity.
 *
 * Should:   let a person see which sandbox is alive, whose, and since when.
 * Must not: show a token or a socket.
 * Fails:    with empty lists. */
#include "ui/page.h"

#include "base/auto.h"
#include "base/str.h"

static bool is_over(const char *state) {
	return streq(state, "STOPPED") || streq(state, "FAILED");
}

static void state_word(struct ui_page *p, const char *state) {
	html_put(p->out, "<span class=\"state %s\">%s</span>",
		 streq(state, "FAILED") ? "bad"
		 : is_over(state)       ? "dim"
					: "run",
		 state);
}

static void list_row(struct ui_page *p, const json_t *s) {
	page_session_link(p, s, "<tr", "<td>");
	buf_puts(p->out, "<td class=line>");
	page_lock(p, html_json_text(s, "level"), html_json_text(s, "net"));
	buf_puts(p->out, "<td>");
	state_word(p, html_json_text(s, "state"));
	html_put(p->out, "<td>%s<td class=\"dim path\">", html_json_text(s, "agent"));
	page_path(p, html_json_text(s, "workspace"));
	buf_puts(p->out, "<td class=when>");
	html_time(p->out, html_json_time(s, "created"), p->now);
}

static void filter(struct ui_page *p) {
	static const struct {
		const char *state, *label;
	} choices[] = {
		{"", "All"}, {"alive", "Alive"}, {"STOPPED", "Stopped"}, {"FAILED", "Failed"}};

	buf_puts(p->out, "<p class=filter>");
	for (size_t i = 0; i < ARRAY_LEN(choices); i++) {
		html_put(p->out, "<a href=\"/sessions%s%s\"", choices[i].state[0] ? "?state=" : "",
			 choices[i].state);
		buf_puts(p->out,
			 streq(p->query->state, choices[i].state) ? " aria-current=true" : "");
		html_put(p->out, ">%s</a>", choices[i].label);
	}
	buf_puts(p->out, "</p>");
}

void show_sessions(struct ui_page *p, const json_t *data) {
	const json_t *list = json_object_get(data, "sessions"), *one;
	size_t i;

	buf_puts(p->out, "<h1>Sessions</h1>");
	filter(p);
	if (json_array_size(list) == 0) {
		page_empty(p,
			   "There is no such session. A session is one sandbox for many commands.",
			   "corral session create --name work");
		return;
	}
	buf_puts(p->out,
		 "<table class=list><thead><tr><th scope=col>Session<th scope=col>Sandbox<th "
		 "scope=col>State<th scope=col>Agent<th scope=col>Workspace<th "
		 "scope=col>Created<tbody>");
	json_array_foreach(list, i, one) {
		list_row(p, one);
	}
	buf_puts(p->out, "</table>");
	page_more(p, data);
}

/* ---- one session ---- */

static void term(struct ui_page *p, const char *name, const char *value) {
	if (value[0] != '\0') {
		html_put(p->out, "<dt>%s<dd>%s", name, value);
	}
}

static void time_term(struct ui_page *p, const char *name, int64_t ms) {
	if (ms != 0) {
		html_put(p->out, "<dt>%s<dd>", name);
		html_time(p->out, ms, p->now);
	}
}

static void facts(struct ui_page *p, const json_t *s) {
	buf_puts(p->out, "<dl class=facts>");
	term(p, "Workspace", html_json_text(s, "workspace"));
	term(p, "Profile", html_json_text(s, "profile"));
	term(p, "Agent", html_json_text(s, "agent"));
	term(p, "Ended because", html_json_text(s, "reason"));
	time_term(p, "Created", html_json_time(s, "created"));
	time_term(p, "Ended", html_json_time(s, "ended"));
	term(p, "Id", html_json_text(s, "id"));
	buf_puts(p->out, "</dl>");
}

static void commands(struct ui_page *p, const json_t *session) {
	static const char *const shared[] = {"level", "net"};
	const json_t *list = json_object_get(session, "commands");
	json_t *run;
	size_t i;

	buf_puts(p->out, "<h2>Commands</h2>");
	if (json_array_size(list) == 0) {
		page_empty(p, "No command has run in this session.",
			   "corral session exec SESSION -- ls");
		return;
	}
	buf_puts(p->out, "<ul class=rows>");
	json_array_foreach(list, i, run) {
		bool alive = json_is_null(json_object_get(run, "result"));
		for (size_t k = 0; alive && k < ARRAY_LEN(shared); k++) {
			(void)json_object_set(run, shared[k], json_object_get(session, shared[k]));
		}
		page_run_row(p, run, NULL);
	}
	buf_puts(p->out, "</ul>");
}

static void activity(struct ui_page *p, const json_t *list) {
	const json_t *one;
	size_t i;

	if (json_array_size(list) == 0) {
		return;
	}
	buf_puts(p->out, "<h2>Activity</h2><table class=list><thead><tr><th scope=col>When<th "
			 "scope=col>Kind<th scope=col>Text<tbody>");
	json_array_foreach(list, i, one) {
		buf_puts(p->out, "<tr><td class=when>");
		html_time(p->out, html_json_time(one, "time"), p->now);
		html_put(p->out, "<td>%s<td><code class=cmd>%s</code>", html_json_text(one, "kind"),
			 html_json_text(one, "text"));
	}
	buf_puts(p->out, "</table>");
}

void show_session(struct ui_page *p, const json_t *data) {
	const char *name = html_json_text(data, "name");

	html_put(p->out, "<h1>Session %s</h1><p class=\"line big\">",
		 name[0] == '\0' ? html_json_text(data, "id") : name);
	page_lock(p, html_json_text(data, "level"), html_json_text(data, "net"));
	buf_puts(p->out, " ");
	state_word(p, html_json_text(data, "state"));
	buf_puts(p->out, "</p>");
	facts(p, data);
	commands(p, data);
	activity(p, json_object_get(data, "activity"));
}
