/* SPDX-License-Identifier: Apache-2.0 */
/* Pending copies of runs with --cow: a list, and one with its differences, apply and discard.
 *
 * Should:   show every file that apply would change, also without its text.
 * Must not: offer to force a conflict: `corral apply --force` is for a terminal.
 * Fails:    with empty lists. */
#include "ui/page.h"

#include "base/auto.h"
#include "base/str.h"

#include <stdlib.h>
#include <string.h>

void show_pending(struct ui_page *p, const json_t *data) {
	const json_t *list = json_object_get(data, "pending"), *one;
	size_t i;

	buf_puts(p->out, "<h1>Pending changes</h1>");
	if (json_array_size(list) == 0) {
		page_empty(p,
			   "No changes wait to be applied. With --cow a command works on a copy of "
			   "your files.",
			   "corral run --cow -- make");
		return;
	}
	buf_puts(p->out,
		 "<table class=list><thead><tr><th scope=col>Workspace<th scope=col>Changes<th "
		 "scope=col>Run<th scope=col>Started<tbody>");
	json_array_foreach(list, i, one) {
		const char *id = html_json_text(one, "id"), *fault = html_json_text(one, "fault");
		buf_puts(p->out, "<tr data-href=\"/pending/");
		html_url(p->out, id);
		buf_puts(p->out, "\"><td><a href=\"/pending/");
		html_url(p->out, id);
		html_put(p->out,
			 "\"><code class=cmd>%s</code></a> <span class=bad>%s</span><td "
			 "class=kind>%d %s<td><code>%s</code><td class=when>",
			 html_json_text(one, "workspace"), fault,
			 (long long)html_json_number(one, "changes"),
			 html_json_number(one, "changes") == 1 ? "file" : "files", id);
		html_time(p->out, html_json_time(one, "started"), p->now);
	}
	buf_puts(p->out, "</table>");
}

/* ---- one ---- */

/* Lines before the first hunk are the head: later "+++ " begins a line that was added. */
static const char *line_style(const char *line, size_t len, bool in_hunk) {
	if (len == 0 || !in_hunk) {
		return len == 0 ? "same" : "meta";
	}
	switch (line[0]) {
	case '+':
		return "add";
	case '-':
		return "del";
	case '@':
		return "hunk";
	case ' ':
		return "same";
	default:
		return "meta";
	}
}

static void diff_text(struct ui_page *p, const char *text, const char *name) {
	bool in_hunk = false;

	html_put(p->out, "<pre class=diff tabindex=0 role=region aria-label=\"Changes of %s\">",
		 name);
	while (*text != '\0') {
		size_t len = strcspn(text, "\n");
		in_hunk = in_hunk || (len >= 3 && memcmp(text, "@@ ", 3) == 0);
		html_put(p->out, "<span class=%s>", line_style(text, len, in_hunk));
		html_text(p->out, text, len);
		buf_puts(p->out, "\n</span>");
		text += len + (text[len] == '\n');
	}
	buf_puts(p->out, "</pre>");
}

static bool is_executable(const char *mode) {
	return (strtol(mode, NULL, 8) & 0111) != 0;
}

/* A file that can be started after apply, and could not before. */
static bool becomes_executable(const json_t *c) {
	return streq(html_json_text(c, "type"), "file") &&
	       is_executable(html_json_text(c, "mode")) &&
	       !is_executable(html_json_text(c, "mode_was"));
}

static void change(struct ui_page *p, const json_t *c) {
	const char *path = html_json_text(c, "path"), *kind = html_json_text(c, "change");
	const char *diff = html_json_text(c, "diff");

	kind = kind[0] == '\0' ? html_json_text(c, "kind") : kind;
	html_put(p->out, "<section class=file><h2><span class=op>%s</span> <code>%s</code>", kind,
		 path);
	buf_puts(p->out,
		 becomes_executable(c) ? " <span class=exec>executable</span></h2>" : "</h2>");
	if (html_json_text(c, "conflict")[0] != '\0') {
		html_put(p->out, "<p class=bad>%s</p>", html_json_text(c, "conflict"));
	}
	if (diff[0] != '\0') {
		diff_text(p, diff, path);
	} else {
		html_put(p->out, "<p class=note>%s</p>",
			 json_is_true(json_object_get(c, "cut"))
				 ? "The text is too long for this page; `corral diff` has it."
				 : "No text to show: the file is binary, or only its mode or kind "
				   "changed.");
	}
	buf_puts(p->out, "</section>");
}

void show_change(struct ui_page *p, const json_t *data) {
	static const struct page_button buttons[] = {
		{.action = "apply", .word = "", .label = "Apply to the workspace", .style = "yes"},
		{.action = "discard", .word = "", .label = "Discard", .style = "no"},
	};
	const json_t *list = json_object_get(data, "changes"), *one;
	const char *id = html_json_text(data, "id");
	long long more = (long long)html_json_number(data, "changes_more");
	struct ui_page back = *p;
	size_t i;

	back.path = "/pending"; /* this page is gone afterwards */
	html_put(p->out,
		 "<h1>Changes of <code>%s</code></h1><dl class=facts><dt>Workspace<dd>%s"
		 "<dt>Files<dd>%u</dl>",
		 id, html_json_text(data, "workspace"), json_array_size(list) + (size_t)more);
	if (more > 0) { /* above the buttons: they concern these files, too */
		html_put(p->out,
			 "<p class=note>%d of these files are not shown here: <code>corral diff "
			 "%s</code> lists all of them.</p>",
			 more, id);
	}
	buf_puts(p->out, "<div class=buttons>");
	for (i = 0; i < ARRAY_LEN(buttons); i++) {
		struct page_button b = buttons[i];
		b.id = id;
		page_button(&back, &b);
	}
	buf_puts(p->out, "</div>");
	json_array_foreach(list, i, one) {
		change(p, one);
	}
}
