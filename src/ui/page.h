/* SPDX-License-Identifier: Apache-2.0 */
/* The parts that views share. */
#ifndef CORRAL_UI_PAGE_H
#define CORRAL_UI_PAGE_H

#include "ui/html.h"
#include "ui/ui.h"

struct ui_page {
	struct buf *out;
	const char *form; /* the token of the visit's forms */
	const char *path; /* of this page, for the way back after an action */
	const char *title;
	const struct ui_query *query;
	int64_t now; /* since 1970, ms */
};

/* Renders the content of <main> from the data of the view. */
typedef void show_fn(struct ui_page *p, const json_t *data);
show_fn show_overview, show_sessions, show_session, show_runs, show_run, show_audit, show_pending,
	show_change, show_charts;

/* Everything around <main>. */
void page_begin(struct ui_page *p, const char *nav);
void page_end(struct ui_page *p);

/* "🔒 full": the lock of a command, with its level; and its network. */
void page_lock(struct ui_page *p, const char *level, const char *net);
/* A member of a run, or of the result of a session's command. */
const json_t *page_member(const json_t *run, const char *key);
const char *page_text(const json_t *run, const char *key); /* "" */
int64_t page_started(const json_t *run);
/* The command of a record, an array of words or a text, as a shell reads it: its beginning, for a
 * list, and at most 64 KiB of it. */
void page_command(struct ui_page *p, const json_t *record);
void page_whole_command(struct ui_page *p, const json_t *record);
/* The beginning of a session's row, whose click opens its page: `row` is the start of its tag,
 * `cell` the HTML between it and the link. */
void page_session_link(struct ui_page *p, const json_t *session, const char *row, const char *cell);
/* The short lock line of a run: lock, network, duration, result. */
void page_run_line(struct ui_page *p, const json_t *run);
/* An element whose start tag is `open`, as "<tr", and then `inner` and the command as a link to its
 * page; the caller writes the rest. */
void page_run_link(struct ui_page *p, const json_t *run, const char *open, const char *inner);
/* A run in a list: its command as a link to its page, and its lock line.  workspace NULL: the list
 * does not name it. */
void page_run_row(struct ui_page *p, const json_t *run, const char *workspace);
/* A path in a column that cuts it on the left. */
void page_path(struct ui_page *p, const char *path);
/* A list without rows: why, and the command to try. */
void page_empty(struct ui_page *p, const char *why, const char *command);
/* The link to the rows after these. */
void page_more(struct ui_page *p, const json_t *data);
/* A form of one button.  word "": none. */
struct page_button {
	const char *action, *id, *word, *label, *style;
};
void page_button(struct ui_page *p, const struct page_button *b);
/* Text that a button copies. */
void page_copy(struct ui_page *p, const char *text);
/* A row of denials, and of the gate's decisions. */
void page_denial(struct ui_page *p, const json_t *denial);

/* show_runs.c: of one run, or of all that runs. */
void show_indicator(struct ui_page *p, const json_t *data, bool one);

/* ---- svg.c ---- */
struct bar {
	const char *label;
	int64_t value;
};
/* Columns, each with its label as a tool tip; "end" is the label below the right end. */
void svg_columns(struct buf *b, const char *title, const struct bar *bars, size_t n,
		 const char *end);
/* Lines with a label, a bar and a number. */
void svg_rows(struct buf *b, const char *title, const struct bar *bars, size_t n, bool duration);

#endif
