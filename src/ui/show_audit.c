/* SPDX-License-Identifier: Apache-2.0 */
/* The audit log: a page of records, with search and kinds.
 *
 * Should:   show each record in one line, and say when a search has not read the whole log.
 * Must not: hide a record of a kind that this file does not know.
 * Fails:    with empty lists. */
#include "ui/page.h"

#include "base/auto.h"
#include "base/str.h"

static const struct {
	const char *kind, *label;
} kinds[] = {
	{"", "All"},           {"run", "Commands"}, {"deny", "Refused"},
	{"deny.net", "Hosts"}, {"leak", "Leaks"},   {"grant", "Grants"},
};

static void filter(struct ui_page *p) {
	buf_puts(p->out, "<p class=filter>");
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
		html_put(p->out, "<a href=\"/audit?kind=%s", kinds[i].kind);
		if (p->query->search[0] != '\0') {
			buf_puts(p->out, "&amp;search=");
			html_url(p->out, p->query->search);
		}
		buf_puts(p->out, "\"");
		buf_puts(p->out, streq(p->query->kind, kinds[i].kind) ? " aria-current=true" : "");
		html_put(p->out, ">%s</a>", kinds[i].label);
	}
	buf_puts(p->out, "</p>");
}

/* The object of the record, in its own words. */
static void subject(struct ui_page *p, const json_t *r) {
	static const char *const keys[] = {"path",    "host",  "name", "file",
					   "syscall", "limit", "key",  "method"};

	if (json_object_get(r, "command") != NULL) {
		page_command(p, r);
		return;
	}
	for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
		const char *text = html_json_text(r, keys[i]);
		if (text[0] != '\0') {
			html_put(p->out, "<code class=obj>%s</code> ", text);
			break;
		}
	}
	html_put(p->out, "<span class=why>%s</span>", html_json_text(r, "why"));
}

static const char *style_of(const char *verdict) {
	return streq(verdict, "allowed") || streq(verdict, "granted") ? "good"
	       : verdict[0] == '\0'                                   ? "dim"
								      : "bad";
}

static void row(struct ui_page *p, const json_t *r) {
	const char *id = html_json_text(r, "id"), *verdict = html_json_text(r, "verdict");

	buf_puts(p->out, "<tr");
	if (id[0] != '\0') {
		buf_puts(p->out, " data-href=\"/runs/");
		html_url(p->out, id);
		buf_puts(p->out, "\"");
	}
	buf_puts(p->out, "><td class=when>");
	html_time(p->out, html_json_time(r, "time"), p->now);
	html_put(p->out, "<td class=kind>%s<td class=\"kind %s\">%s<td>", html_json_text(r, "kind"),
		 style_of(verdict), verdict);
	subject(p, r);
	buf_puts(p->out, "<td class=line>");
	if (json_object_get(r, "command") != NULL) {
		page_run_line(p, r);
	} else if (html_json_text(r, "allow_with")[0] != '\0') {
		page_copy(p, html_json_text(r, "allow_with"));
	}
	buf_puts(p->out, "<td class=kind>");
	if (id[0] != '\0') {
		buf_puts(p->out, "<a href=\"/runs/");
		html_url(p->out, id);
		html_put(p->out, "\">%s</a>", id);
	}
}

void show_audit(struct ui_page *p, const json_t *data) {
	const json_t *list = json_object_get(data, "records"), *one;
	size_t i;

	buf_puts(p->out, "<h1>Audit log</h1>");
	filter(p);
	if (json_array_size(list) == 0 && json_is_true(json_object_get(data, "complete"))) {
		bool all = p->query->search[0] == '\0' && p->query->kind[0] == '\0';
		if (all) {
			page_empty(p, "The audit log has no records yet.", "corral run -- ls");
		} else {
			buf_puts(p->out, "<p class=empty>No record matches. <a href=/audit>Show "
					 "all records</a></p>");
		}
		return;
	}
	buf_puts(p->out, "<table class=list><thead><tr><th scope=col>When<th scope=col>Kind<th "
			 "scope=col>Verdict<th scope=col>About<th scope=col>Details<th "
			 "scope=col>Run<tbody>");
	json_array_foreach(list, i, one) {
		row(p, one);
	}
	buf_puts(p->out, "</table>");
	if (json_is_false(json_object_get(data, "complete"))) {
		buf_puts(p->out, "<p class=note>The search stopped after a moment; older records "
				 "follow.</p>");
	}
	page_more(p, data);
}
