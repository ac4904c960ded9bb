/* SPDX-License-Identifier: Apache-2.0 */
/* Commands: a list of them, and one with its output, denials and decisions.
 *
 * Should:   show the lock, the level, the network and the duration of every command.
 * Must not: show output that was cut without saying so.
 * Fails:    with empty lists. */
#include "ui/page.h"

#include "base/auto.h"
#include "base/str.h"

static void list_row(struct ui_page *p, const json_t *run) {
	page_run_link(p, run, "<tr", "<td>");
	buf_puts(p->out, "<td class=line>");
	page_run_line(p, run);
	buf_puts(p->out, "<td class=num>");
	if (html_json_number(run, "denials") > 0) {
		html_put(p->out, "<span class=bad>%d refused</span>",
			 (long long)html_json_number(run, "denials"));
	}
	buf_puts(p->out, "<td class=\"dim path\">");
	page_path(p, html_json_text(run, "workspace"));
	buf_puts(p->out, "<td class=when>");
	html_time(p->out, page_started(run), p->now);
}

void show_runs(struct ui_page *p, const json_t *data) {
	const json_t *list = json_object_get(data, "runs"), *run;
	const json_t *alive = json_object_get(data, "alive");
	size_t i;

	buf_puts(p->out, "<h1>Commands</h1>");
	if (json_array_size(list) + json_array_size(alive) == 0) {
		page_empty(p, "No command has run yet.", "corral run -- ls");
		return;
	}
	buf_puts(p->out,
		 "<table class=list><thead><tr><th scope=col>Command<th scope=col>Sandbox<th "
		 "scope=col class=num>Refused<th scope=col>Workspace<th scope=col>When<tbody>");
	json_array_foreach(alive, i, run) {
		list_row(p, run);
	}
	json_array_foreach(list, i, run) {
		list_row(p, run);
	}
	buf_puts(p->out, "</table>");
	page_more(p, data);
}

/* ---- one command ---- */

static void term(struct ui_page *p, const char *name, const char *value) {
	if (value[0] != '\0') {
		html_put(p->out, "<dt>%s<dd>%s", name, value);
	}
}

static void facts(struct ui_page *p, const json_t *run) {
	static const struct {
		const char *label, *key;
	} rows[] = {{"Workspace", "workspace"},
		    {"Directory", "cwd"},
		    {"Files", "mode"},
		    {"Engine", "engine"},
		    {"Agent", "agent"}};
	const char *session = html_json_text(run, "session"), *net = page_text(run, "net");

	buf_puts(p->out, "<dl class=facts>");
	term(p, "Network", streq(net, "none") ? "denied" : net);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		term(p, rows[i].label, page_text(run, rows[i].key));
	}
	if (session[0] != '\0') {
		buf_puts(p->out, "<dt>Session<dd><a href=\"/sessions/");
		html_url(p->out, session);
		html_put(p->out, "\">%s</a>", session);
	}
	buf_puts(p->out, "<dt>Started<dd>");
	html_time(p->out, page_started(run), p->now);
	term(p, "Id", html_json_text(run, "id"));
	buf_puts(p->out, "</dl>");
}

/* The last bytes of stdout and stderr, as they came. */
static void output(struct ui_page *p, const json_t *out) {
	const json_t *text = json_object_get(out, "text");
	int64_t from = html_json_number(out, "from");

	buf_puts(p->out, "<h2>Output</h2>");
	if (!json_is_string(text)) {
		page_empty(
			p,
			"The output of this command is not kept. The daemon keeps the last of the "
			"commands of its sessions.",
			"corral session create --name work");
		return;
	}
	if (from > 0) {
		html_put(p->out, "<p class=note>The first %d of %d bytes are not kept.</p>",
			 (long long)from, (long long)html_json_number(out, "total"));
	}
	if (json_string_length(text) == 0) {
		page_empty(p, "It has printed nothing.", "");
		return;
	}
	buf_puts(p->out, "<pre class=output tabindex=0 role=region aria-label=Output>");
	html_text(p->out, json_string_value(text), json_string_length(text));
	buf_puts(p->out, "</pre>");
}

static void denials(struct ui_page *p, const json_t *list) {
	const json_t *one;
	size_t i;

	buf_puts(p->out, "<h2>Refused</h2>");
	if (json_array_size(list) == 0) {
		page_empty(p, "Nothing was refused.", "");
		return;
	}
	buf_puts(p->out, "<ul class=rows>");
	json_array_foreach(list, i, one) {
		page_denial(p, one);
	}
	buf_puts(p->out, "</ul>");
}

/* "name", "address" or, when both are known, the name. */
static const char *host_of(const json_t *decision) {
	const char *name = html_json_text(decision, "name");

	return name[0] == '\0' ? html_json_text(decision, "address") : name;
}

static void decisions(struct ui_page *p, const json_t *list, int64_t more) {
	const json_t *one;
	size_t i;

	if (json_array_size(list) == 0 && more == 0) {
		return;
	}
	buf_puts(p->out, "<h2>Decisions of the gate</h2><table class=list><thead><tr><th "
			 "scope=col>Host<th scope=col class=num>Port<th scope=col>What<th "
			 "scope=col>Decision<th scope=col>Rule or reason<th scope=col "
			 "class=num>Times<tbody>");
	json_array_foreach(list, i, one) {
		const char *verdict = html_json_text(one, "verdict");
		const char *why = html_json_text(one, "why");
		html_put(p->out, "<tr><td><code>%s</code><td class=num>", host_of(one));
		if (html_json_number(one, "port") > 0) {
			html_put(p->out, "%d", (long long)html_json_number(one, "port"));
		}
		html_put(p->out, "<td>%s<td class=%s>%s<td>%s<td class=num>%d",
			 html_json_text(one, "op"), streq(verdict, "allowed") ? "good" : "bad",
			 verdict, why[0] == '\0' ? html_json_text(one, "rule") : why,
			 (long long)html_json_number(one, "count"));
	}
	buf_puts(p->out, "</table>");
	if (more > 0) {
		html_put(p->out, "<p class=note>%d more are only counted.</p>", (long long)more);
	}
}

/* {"run", "alive", …} of the log, or the command of a session itself. */
static const json_t *run_of(const json_t *data) {
	const json_t *run = json_object_get(data, "run"), *alive = json_object_get(data, "alive");

	return json_is_object(run) ? run : json_is_object(alive) ? alive : data;
}

void show_run(struct ui_page *p, const json_t *data) {
	const json_t *run = run_of(data);

	buf_puts(p->out, "<h1 class=command>");
	page_whole_command(p, run);
	buf_puts(p->out, "</h1><p class=\"line big\">");
	page_run_line(p, run);
	buf_puts(p->out, "</p>");
	facts(p, run);
	output(p, json_object_get(data, "output"));
	denials(p, json_object_get(data, "denials"));
	decisions(p, json_object_get(data, "decisions"), html_json_number(data, "decisions_more"));
}

void show_indicator(struct ui_page *p, const json_t *data, bool one) {
	buf_puts(p->out, "<span class=corral-indicator>");
	if (one) {
		page_run_line(p, run_of(data));
	} else {
		const json_t *now = json_object_get(data, "now");
		html_put(p->out, "%u sandboxed commands run, %u wait for an answer",
			 json_array_size(json_object_get(now, "runs")),
			 json_array_size(json_object_get(data, "waiting")));
	}
	buf_puts(p->out, "</span>\n");
}
