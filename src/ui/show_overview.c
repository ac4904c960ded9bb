/* SPDX-License-Identifier: Apache-2.0 */
/* The first screen: questions that wait, commands that run, refusals, pending changes.
 *
 * Should:   fit on one screen of a person in a hurry; the rest is a link away.
 * Must not: offer an answer that the question does not have.
 * Fails:    with empty lists. */
#include "ui/page.h"

#include "base/auto.h"
#include "base/str.h"

#define REFUSED_SHOWN 12
#define RUNS_SHOWN 12

static void tile(struct ui_page *p, const char *to, const char *label, size_t n,
		 const char *style) {
	html_put(p->out, "<a class=\"tile %s\" href=\"%s\"><b>%u</b> %s</a>", n > 0 ? style : "",
		 to, n, label);
}

static void section(struct ui_page *p, const char *id, const char *title) {
	html_put(p->out, "<section id=%s aria-labelledby=h-%s><h2 id=h-%s>%s</h2>", id, id, id,
		 title);
}

/* ---- questions ---- */

/* The command of a run, which a person has to know before an answer. */
static void asker(struct ui_page *p, const json_t *runs, const char *id) {
	const json_t *run;
	size_t i;

	buf_puts(p->out, "<p class=line><a href=\"/runs/");
	html_url(p->out, id);
	buf_puts(p->out, "\">");
	json_array_foreach(runs, i, run) {
		if (streq(html_json_text(run, "id"), id)) {
			page_command(p, run);
			buf_puts(p->out, "</a></p>");
			return;
		}
	}
	html_put(p->out, "run %s</a></p>", id);
}

static void question(struct ui_page *p, const json_t *q, const json_t *runs) {
	static const struct page_button buttons[] = {
		{.action = "answer", .word = "allow", .label = "Allow once", .style = "yes"},
		{.action = "answer",
		 .word = "allow-for-run",
		 .label = "Allow for this run",
		 .style = "yes"},
		{.action = "answer", .word = "refuse", .label = "Refuse", .style = "no"},
	};
	const char *why = html_json_text(q, "why"), *object = html_json_text(q, "path");
	const char *grant = html_json_text(q, "grant");

	html_put(p->out,
		 "<li class=question><div><span class=op>%s</span> <code class=obj>%s</code>"
		 "<span class=when>",
		 html_json_text(q, "op"), object[0] == '\0' ? html_json_text(q, "host") : object);
	html_time(p->out, html_json_time(q, "asked"), p->now);
	buf_puts(p->out, "</span></div>");
	asker(p, runs, html_json_text(q, "run"));
	html_put(p->out, "<p class=why>%s%sWorkspace: %s.", why, why[0] != '\0' ? ". " : "",
		 html_json_text(q, "workspace"));
	if (grant[0] != '\0') {
		html_put(p->out, " Allowing has the effect of <code>%s</code>.", grant);
	}
	buf_puts(p->out, "</p><div class=buttons>");
	for (size_t i = 0; i < ARRAY_LEN(buttons); i++) {
		struct page_button b = buttons[i];
		b.id = html_json_text(q, "id");
		page_button(p, &b);
	}
	buf_puts(p->out, "</div></li>");
}

static void waiting(struct ui_page *p, const json_t *list, const json_t *runs) {
	section(p, "waiting", "Waiting for your answer");
	if (json_array_size(list) == 0) {
		page_empty(p, "Nothing waits. The questions of commands with --ask appear here.",
			   "corral run --ask-daemon -- npm test");
	} else {
		size_t i;
		const json_t *q;
		buf_puts(p->out, "<ul class=cards>");
		json_array_foreach(list, i, q) {
			question(p, q, runs);
		}
		buf_puts(p->out, "</ul>");
	}
	buf_puts(p->out, "</section>");
}

/* ---- running ---- */

/* The running commands of a session, beneath it. */
static void session_commands(struct ui_page *p, const json_t *list) {
	const json_t *one;
	size_t i;

	if (json_array_size(list) == 0) {
		return;
	}
	buf_puts(p->out, "<ul class=inner>");
	json_array_foreach(list, i, one) {
		buf_puts(p->out, "<li><a href=\"/runs/");
		html_url(p->out, html_json_text(one, "id"));
		buf_puts(p->out, "\">");
		page_command(p, one);
		html_put(p->out, "</a><span class=dim data-since=%d>",
			 (long long)page_started(one));
		html_duration(p->out, p->now - page_started(one));
		buf_puts(p->out, "</span></li>");
	}
	buf_puts(p->out, "</ul>");
}

static void session_row(struct ui_page *p, const json_t *s) {
	page_session_link(p, s, "<li class=row", "");
	buf_puts(p->out, "<p class=line>");
	page_lock(p, html_json_text(s, "level"), html_json_text(s, "net"));
	html_put(p->out, " <span class=\"run state\">%s</span> <span class=dim>",
		 html_json_text(s, "state"));
	html_time(p->out, html_json_time(s, "created"), p->now);
	html_put(p->out, " %s</span></p>", html_json_text(s, "workspace"));
	session_commands(p, json_object_get(s, "commands"));
	buf_puts(p->out, "</li>");
}

static void running(struct ui_page *p, const json_t *now) {
	const json_t *runs = json_object_get(now, "runs"),
		     *sessions = json_object_get(now, "sessions");
	const json_t *one;
	size_t i;

	section(p, "running", "Running now");
	if (json_array_size(runs) + json_array_size(sessions) == 0) {
		page_empty(p, "Nothing runs.", "corral run -- make test");
	}
	buf_puts(p->out, "<ul class=rows>");
	json_array_foreach(runs, i, one) {
		if (i < RUNS_SHOWN) {
			page_run_row(p, one, html_json_text(one, "workspace"));
		}
	}
	json_array_foreach(sessions, i, one) {
		if (i < RUNS_SHOWN) {
			session_row(p, one);
		}
	}
	buf_puts(p->out, "</ul>");
	if (json_array_size(sessions) > RUNS_SHOWN || json_array_size(runs) > RUNS_SHOWN) {
		buf_puts(p->out, "<p class=more><a href=/runs>All commands</a> "
				 "<a href=/sessions>All sessions</a></p>");
	}
	buf_puts(p->out, "</section>");
}

/* ---- refused, pending ---- */

static void refused(struct ui_page *p, const json_t *list) {
	size_t i;
	const json_t *one;

	section(p, "refused", "Refused in the last hour");
	if (json_array_size(list) == 0) {
		page_empty(p, "Nothing was refused in the last hour.",
			   "corral why path /etc/passwd");
	}
	buf_puts(p->out, "<ul class=rows>");
	json_array_foreach(list, i, one) {
		if (i < REFUSED_SHOWN) {
			page_denial(p, one);
		}
	}
	buf_puts(p->out, "</ul>");
	if (json_array_size(list) > REFUSED_SHOWN) {
		html_put(p->out, "<p class=more><a href=\"/audit?kind=deny\">All %u</a></p>",
			 json_array_size(list));
	}
	buf_puts(p->out, "</section>");
}

static void pending(struct ui_page *p, const json_t *list) {
	size_t i;
	const json_t *one;

	section(p, "pending", "Pending changes");
	if (json_array_size(list) == 0) {
		page_empty(p, "No changes wait to be applied.", "corral run --cow -- make");
	}
	buf_puts(p->out, "<ul class=rows>");
	json_array_foreach(list, i, one) {
		const char *id = html_json_text(one, "id");
		buf_puts(p->out, "<li class=row data-href=\"/pending/");
		html_url(p->out, id);
		buf_puts(p->out, "\"><a href=\"/pending/");
		html_url(p->out, id);
		html_put(p->out,
			 "\"><code class=cmd>%s</code></a><p class=line>%d %s <span class=dim>",
			 html_json_text(one, "workspace"),
			 (long long)html_json_number(one, "changes"),
			 html_json_number(one, "changes") == 1 ? "change" : "changes");
		html_time(p->out, html_json_time(one, "started"), p->now);
		html_put(p->out, " %s</span></p></li>", id);
	}
	buf_puts(p->out, "</ul></section>");
}

void show_overview(struct ui_page *p, const json_t *data) {
	const json_t *now = json_object_get(data, "now");
	const json_t *questions = json_object_get(data, "waiting");
	size_t running_now = json_array_size(json_object_get(now, "runs")) +
			     json_array_size(json_object_get(now, "sessions"));
	bool asks = json_array_size(questions) > 0;

	buf_puts(p->out, "<h1 class=hide>Now</h1><div class=tiles>");
	tile(p, "#waiting", asks ? "waiting for you" : "waiting", json_array_size(questions),
	     "ask");
	tile(p, "#running", "running", running_now, "go");
	tile(p, "#refused", "refused this hour", json_array_size(json_object_get(data, "refused")),
	     "stop");
	tile(p, "#pending", "pending", json_array_size(json_object_get(data, "pending")), "hold");
	buf_puts(p->out, "</div><div class=\"grid\"><div>");
	if (asks) {
		waiting(p, questions, json_object_get(now, "runs"));
	}
	running(p, now);
	pending(p, json_object_get(data, "pending"));
	if (!asks) {
		waiting(p, questions, json_object_get(now, "runs"));
	}
	buf_puts(p->out, "</div><div>");
	refused(p, json_object_get(data, "refused"));
	buf_puts(p->out, "</div></div>");
}
