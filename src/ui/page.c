/* SPDX-License-Identifier: Apache-2.0 */
/* The frame of every page, and the parts that views share.
 *
 * Should:   give each value its name in words, not in colour alone.
 * Must not: write a value other than through html_put() (U1); use inline script or style.
 * Fails:    out of memory, through the buffer. */
#include "ui/page.h"

#include "base/auto.h"
#include "base/str.h"

#include <stdio.h>
#include <string.h>

static const struct {
	const char *path, *label, *key;
} views[] = {
	{"/", "Now", "n"},          {"/sessions", "Sessions", "s"},
	{"/runs", "Commands", "c"}, {"/pending", "Pending", "p"},
	{"/audit", "Audit", "a"},   {"/charts", "Charts", "g"},
};

#define RULE_SHORT 20
#define COMMAND_SHORT 400 /* bytes in a list: more than a line has */
#define COMMAND_WHOLE ((size_t)64 * 1024)

#define LOCK_CLOSED                                                                                \
	"<svg viewBox=\"0 0 16 16\" width=14 height=14 aria-hidden=true><path d=\"M4 7V5a4 4 0 0 " \
	"1 "                                                                                       \
	"8 0v2h.5c.8 0 1.5.7 1.5 1.5v5c0 .8-.7 1.5-1.5 1.5h-9C2.7 15 2 14.3 2 13.5v-5C2 7.7 2.7 "  \
	"7 3.5 "                                                                                   \
	"7H4Zm1.8 0h4.4V5a2.2 2.2 0 0 0-4.4 0v2Z\"/></svg>"
#define LOCK_OPEN                                                                                  \
	"<svg viewBox=\"0 0 16 16\" width=14 height=14 aria-hidden=true><path d=\"M5.8 7h6.7c.8 "  \
	"0 1.5.7 "                                                                                 \
	"1.5 1.5v5c0 .8-.7 1.5-1.5 1.5h-9C2.7 15 2 14.3 2 13.5v-5C2 7.7 2.7 7 3.5 7H4V4a3.6 3.6 "  \
	"0 0 1 "                                                                                   \
	"7-1.1l-1.7.6A1.8 1.8 0 0 0 5.8 4v3Z\"/></svg>"

void page_begin(struct ui_page *p, const char *nav) {
	struct buf *b = p->out;

	html_put(b,
		 "<!doctype html>\n<html lang=en><head><meta charset=utf-8><title>%s · "
		 "Corral</title>"
		 "<meta name=viewport content=\"width=device-width,initial-scale=1\">"
		 "<meta name=color-scheme content=\"light dark\">"
		 "<link rel=icon href=/assets/icon.svg type=image/svg+xml>"
		 "<link rel=stylesheet href=/assets/style.css>"
		 "<script type=module src=/assets/app.js></script>",
		 p->title);
	if (p->form != NULL && streq(p->path, "/")) {
		buf_puts(b, "<noscript><meta http-equiv=refresh content=10></noscript>");
	}
	buf_puts(b, "</head><body><a class=skip href=#main>Skip to the content</a><header>"
		    "<a class=brand href=/>" LOCK_CLOSED "Corral</a>");
	if (p->form != NULL) {
		buf_puts(b, "<nav aria-label=Views>");
		for (size_t i = 0; i < ARRAY_LEN(views); i++) {
			bool here = streq(nav, views[i].path);
			html_put(b, "<a href=\"%s\" data-key=%s", views[i].path, views[i].key);
			buf_puts(b, here ? " aria-current=page" : "");
			html_put(b, ">%s</a>", views[i].label);
		}
		html_put(b,
			 "</nav><form role=search action=/audit><input type=search name=search "
			 "id=search value=\"%s\" aria-label=\"Search the audit log\" "
			 "placeholder=\"Search the audit log\"></form>"
			 "<span id=live class=live hidden>live</span>",
			 streq(nav, "/audit") ? p->query->search : "");
	}
	buf_puts(b, "</header><main id=main tabindex=-1>");
}

void page_end(struct ui_page *p) {
	buf_puts(p->out, "</main>");
	if (p->form != NULL) {
		buf_puts(p->out, "<footer><span class=keys hidden><kbd>j</kbd> <kbd>k</kbd> move, "
				 "<kbd>Enter</kbd> opens, <kbd>/</kbd> searches, <kbd>?</kbd> all "
				 "keys</span>"
				 "<form method=post action=/leave>");
		html_put(p->out, "<input type=hidden name=form value=\"%s\">", p->form);
		buf_puts(p->out, "<button class=plain>Sign out</button></form></footer>");
	}
	buf_puts(p->out, "</body></html>\n");
}

void page_lock(struct ui_page *p, const char *level, const char *net) {
	static const char *const known[] = {"full", "standard", "minimal", "none"};
	const char *class = "unknown";

	for (size_t i = 0; i < ARRAY_LEN(known); i++) {
		class = streq(level, known[i]) ? known[i] : class;
	}
	bool open = streq(class, "none"), unknown = streq(class, "unknown");
	html_put(p->out, "<span class=\"lock %s\" title=\"%s\">", class,
		 open      ? "not sandboxed"
		 : unknown ? "the record has no level"
			   : "sandboxed");
	buf_puts(p->out, open || unknown ? LOCK_OPEN : LOCK_CLOSED);
	html_put(p->out, "%s</span>", level[0] == '\0' ? "unknown" : level);
	if (net[0] != '\0') {
		html_put(p->out, " <span class=\"net %s\">net %s</span>",
			 streq(net, "full") ? "wide" : "", net);
	}
}

/* A word of a command as buf_shell_word() quotes it. */
static void add_word(struct buf *line, const char *word) {
	if (line->len > 0) {
		buf_puts(line, " ");
	}
	buf_shell_word(line, "", word);
}

const json_t *page_member(const json_t *run, const char *key) {
	const json_t *value = json_object_get(run, key);

	return value != NULL && !json_is_null(value) &&
			       (!json_is_string(value) || json_string_length(value) > 0)
		       ? value
		       : json_object_get(json_object_get(run, "result"), key);
}

const char *page_text(const json_t *run, const char *key) {
	const char *text = json_string_value(page_member(run, key));
	return text == NULL ? "" : text;
}

int64_t page_started(const json_t *run) {
	static const char *const keys[] = {"started", "since", "time"};
	int64_t at = 0;

	for (size_t i = 0; i < ARRAY_LEN(keys) && at == 0; i++) {
		at = html_json_time(run, keys[i]);
	}
	return at;
}

/* Words of a command, or the name of a tool. */
static const json_t *words_of(const json_t *record) {
	static const char *const keys[] = {"command", "argv", "tool"};
	const json_t *found = NULL;

	for (size_t i = 0; i < ARRAY_LEN(keys) && found == NULL; i++) {
		found = json_object_get(record, keys[i]);
	}
	return found;
}

/* As a shell reads it. */
static void command_line(const json_t *record, struct buf *line) {
	const json_t *command = words_of(record), *word;
	size_t i;

	json_array_foreach(command, i, word) {
		add_word(line, json_is_string(word) ? json_string_value(word) : "?");
	}
	if (json_is_string(command)) {
		buf_puts(line, json_string_value(command));
	}
}

/* The length of the first characters of a text, whole ones. */
static size_t beginning(const struct buf *text, size_t most) {
	size_t len = text->len < most ? text->len : most;

	while (len > 0 && len < text->len && ((unsigned char)text->data[len] & 0xc0) == 0x80) {
		len--;
	}
	return len;
}

static void put_command(struct ui_page *p, const json_t *record, size_t most) {
	struct buf line;

	buf_init(&line);
	command_line(record, &line);
	buf_puts(p->out, "<code class=cmd>");
	if (buf_failed(&line) || line.len == 0) {
		buf_puts(p->out, "–");
	} else {
		size_t len = beginning(&line, most);
		html_text(p->out, line.data, len);
		buf_puts(p->out, len < line.len ? "…" : "");
	}
	buf_puts(p->out, "</code>");
	buf_done(&line);
}

void page_command(struct ui_page *p, const json_t *record) {
	put_command(p, record, COMMAND_SHORT);
}

void page_whole_command(struct ui_page *p, const json_t *record) {
	put_command(p, record, COMMAND_WHOLE);
}

/* Reasons of runs that ended before their command began (corral_error_json()). */
static bool did_not_start(const char *reason) {
	static const char *const reasons[] = {"setup", "refused", "leak"};

	for (size_t i = 0; i < ARRAY_LEN(reasons); i++) {
		if (streq(reason, reasons[i])) {
			return true;
		}
	}
	return false;
}

void page_session_link(struct ui_page *p, const json_t *session, const char *row,
		       const char *cell) {
	const char *id = html_json_text(session, "id"), *name = html_json_text(session, "name");

	buf_puts(p->out, row);
	buf_puts(p->out, " data-href=\"/sessions/");
	html_url(p->out, id);
	buf_puts(p->out, "\">");
	buf_puts(p->out, cell);
	buf_puts(p->out, "<a href=\"/sessions/");
	html_url(p->out, id);
	html_put(p->out, "\"><code class=cmd>%s</code></a>", name[0] == '\0' ? id : name);
}

void page_run_line(struct ui_page *p, const json_t *run) {
	const char *reason = page_text(run, "reason");
	const json_t *exit = page_member(run, "exit"), *took = page_member(run, "duration_ms");

	exit = exit == NULL ? page_member(run, "exit_code") : exit;
	if (did_not_start(reason)) {
		buf_puts(p->out, "<span class=bad>did not start</span>");
		return;
	}
	page_lock(p, page_text(run, "level"), page_text(run, "net"));
	buf_puts(p->out, " ");
	if (took == NULL && !streq(html_json_text(run, "state"), "ended")) {
		html_put(p->out, "<span class=run>running</span> <span class=dim data-since=%d>",
			 (long long)page_started(run));
		html_duration(p->out, p->now - page_started(run));
		buf_puts(p->out, "</span>");
		return;
	}
	if (json_is_integer(exit)) {
		bool good = json_integer_value(exit) == 0;
		html_put(p->out, "<span class=%s>%s %d</span> ", good ? "good" : "bad",
			 good ? "✓ exit" : "✗ exit", (long long)json_integer_value(exit));
	} else if (reason[0] != '\0') {
		html_put(p->out, "<span class=bad>%s</span> ", reason);
	}
	buf_puts(p->out, "<span class=dim>");
	html_duration(p->out, json_integer_value(took));
	buf_puts(p->out, "</span>");
}

void page_run_link(struct ui_page *p, const json_t *run, const char *open, const char *inner) {
	const char *id = html_json_text(run, "id");

	buf_puts(p->out, open);
	buf_puts(p->out, " data-href=\"/runs/");
	html_url(p->out, id);
	buf_puts(p->out, "\">");
	buf_puts(p->out, inner);
	buf_puts(p->out, "<a href=\"/runs/");
	html_url(p->out, id);
	buf_puts(p->out, "\">");
	page_command(p, run);
	buf_puts(p->out, "</a>");
}

void page_run_row(struct ui_page *p, const json_t *run, const char *workspace) {
	page_run_link(p, run, "<li class=row", "");
	buf_puts(p->out, "<p class=line>");
	page_run_line(p, run);
	if (workspace != NULL) {
		html_put(p->out, " <span class=dim>%s</span>", workspace);
	}
	buf_puts(p->out, "</p></li>");
}

void page_path(struct ui_page *p, const char *path) {
	html_put(p->out, "<bdi dir=ltr>%s</bdi>", path);
}

void page_empty(struct ui_page *p, const char *why, const char *command) {
	html_put(p->out, "<p class=empty>%s", why);
	if (command[0] != '\0') {
		buf_puts(p->out, " Try ");
		page_copy(p, command);
	}
	buf_puts(p->out, "</p>");
}

void page_copy(struct ui_page *p, const char *text) {
	html_put(p->out, "<code class=copy>%s</code>", text);
}

static void query_part(struct buf *b, const char *name, const char *value) {
	if (value[0] != '\0') {
		html_put(b, "%s=", name);
		html_url(b, value);
		buf_puts(b, "&amp;");
	}
}

void page_more(struct ui_page *p, const json_t *data) {
	const json_t *next = json_object_get(data, "next");
	char number[32];
	const char *text = json_string_value(next);

	if (json_is_integer(next)) {
		(void)snprintf(number, sizeof number, "%lld", (long long)json_integer_value(next));
		text = number;
	}
	if (text == NULL || text[0] == '\0') {
		return;
	}
	html_put(p->out, "<p class=more><a rel=next href=\"%s?", p->path);
	query_part(p->out, "search", p->query->search);
	query_part(p->out, "kind", p->query->kind);
	query_part(p->out, "state", p->query->state);
	buf_puts(p->out, "before=");
	html_url(p->out, text);
	buf_puts(p->out, "\">Older</a></p>");
}

void page_button(struct ui_page *p, const struct page_button *b) {
	html_put(p->out,
		 "<form method=post action=\"/%s\"><input type=hidden name=form value=\"%s\">"
		 "<input type=hidden name=id value=\"%s\"><input type=hidden name=back "
		 "value=\"%s\">",
		 b->action, p->form, b->id, p->path);
	if (b->word[0] != '\0') {
		html_put(p->out, "<input type=hidden name=word value=\"%s\">", b->word);
	}
	html_put(p->out, "<button class=\"%s\">%s</button></form>", b->style, b->label);
}

/* The object of a denial: a path, a host, or another member. */
static const char *object_of(const json_t *d) {
	static const char *const keys[] = {"path", "host",  "name", "syscall",
					   "what", "limit", "op"};

	for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
		const char *text = html_json_text(d, keys[i]);
		if (text[0] != '\0') {
			return text;
		}
	}
	return "–";
}

/* A rule with its reason is in the sentence beneath. */
static bool is_short(const char *rule) {
	size_t len = strlen(rule);
	return len > 0 && len <= RULE_SHORT;
}

void page_denial(struct ui_page *p, const json_t *d) {
	const char *grant = html_json_text(d, "allow_with"), *why = html_json_text(d, "why");
	const char *id = html_json_text(d, "id"), *run = html_json_text(d, "run");
	const char *op = html_json_text(d, "access");

	id = run[0] != '\0' ? run : id;
	op = op[0] == '\0' ? html_json_text(d, "op") : op;
	buf_puts(p->out, "<li class=denial");
	if (id[0] != '\0') {
		buf_puts(p->out, " data-href=\"/runs/");
		html_url(p->out, id);
		buf_puts(p->out, "\"");
	}
	html_put(p->out, "><div><span class=op>%s</span> <code class=obj>%s</code>", op,
		 object_of(d));
	if (html_json_number(d, "port") != 0 && html_json_text(d, "host")[0] != '\0') {
		html_put(p->out, "<span class=dim>:%d</span>",
			 (long long)html_json_number(d, "port"));
	}
	if (html_json_number(d, "count") > 1) {
		html_put(p->out, " <span class=dim>× %d</span>",
			 (long long)html_json_number(d, "count"));
	}
	if (is_short(html_json_text(d, "rule"))) {
		html_put(p->out, " <span class=rule>%s</span>", html_json_text(d, "rule"));
	}
	buf_puts(p->out, "<span class=when>");
	if (html_json_time(d, "time") != 0) {
		html_time(p->out, html_json_time(d, "time"), p->now);
	}
	if (id[0] != '\0') {
		buf_puts(p->out, " <a href=\"/runs/");
		html_url(p->out, id);
		html_put(p->out, "\">%s</a>", id);
	}
	buf_puts(p->out, "</span></div>");
	if (why[0] != '\0') {
		html_put(p->out, "<p class=why>%s</p>", why);
	}
	if (grant[0] != '\0') {
		buf_puts(p->out, "<p class=grant><span>Grant it:</span> ");
		page_copy(p, grant);
		buf_puts(p->out, "</p>");
	}
	buf_puts(p->out, "</li>");
}
