/* SPDX-License-Identifier: Apache-2.0 */
/* The texts of a command in a session: the options that they name are those of `session create`.
 *
 * A hint for a run is "raise it: --tmp-size SIZE".  `session exec` has no such option, and a
 * session keeps its policy: here it is "raise it: corral session create --tmp-size SIZE".
 *
 * Should:   leave options of other programs and commands in backquotes as they are.
 * Must not: cut a text: one that becomes too long stays as it was.
 * Fails:    open: the text names the option alone. */
#include "lib/session.h"

#include "base/str.h"
#include "data/options.h"

#include <ctype.h>

#define CREATE "corral session create "
#define RUN_HELP "`corral run --help`"

static bool is_name(char c) {
	return (c >= 'a' && c <= 'z') || c == '-';
}

static bool is_of_create(const char *name, size_t len) {
	for (size_t i = 0; i < options_count; i++) {
		const struct option_row *row = &options[i];
		if (row->name != NULL && (row->verbs & FOR_SESSION_CREATE) != 0 &&
		    strlen(row->name) == len && strncmp(row->name, name, len) == 0) {
			return true;
		}
	}
	return false;
}

/* Where a text is read; the options of one command follow each other. */
struct place {
	const char *start, *at;
	char quote;  /* in '…' or `…` */
	bool listed; /* the command stands before */
};

/* At the first letter of an option that needs the command before it. */
static bool begins_option(const struct place *p) {
	const char *name = p->at + 2;
	size_t len = 0;

	if (p->quote != '\0' || p->listed || p->at[0] != '-' || p->at[1] != '-' ||
	    (p->at > p->start && p->at[-1] != ' ' && p->at[-1] != '(')) {
		return false;
	}
	while (is_name(name[len])) {
		len++;
	}
	return len > 0 && is_of_create(name, len);
}

/* An apostrophe, as in "host's", quotes nothing. */
static bool begins_quote(const struct place *p) {
	return *p->at == '`' ||
	       (*p->at == '\'' && (p->at == p->start || !isalnum((unsigned char)p->at[-1])));
}

static void pass(struct place *p) {
	char c = *p->at;

	if (p->quote != '\0') {
		if (c == p->quote) {
			p->quote = '\0';
		}
	} else if (begins_quote(p)) {
		p->quote = c;
	} else if (c == ';' || c == ':' || c == '(' || str_starts(p->at, " or ")) {
		p->listed = false;
	}
	p->at++;
}

void session_words(char *text, size_t cap) {
	struct place p = {.start = text, .at = text};
	struct buf out;

	buf_init(&out);
	while (*p.at != '\0') {
		if (p.quote == '\0' && str_starts(p.at, RUN_HELP)) {
			buf_puts(&out, "`" CREATE "--help`");
			p.at += strlen(RUN_HELP);
			continue;
		}
		if (begins_option(&p)) {
			buf_puts(&out, CREATE);
			p.listed = true;
		}
		buf_add(&out, p.at, 1);
		pass(&p);
	}
	if (!buf_failed(&out) && out.len > 0 && out.len < cap) {
		memcpy(text, out.data, out.len);
		text[out.len] = '\0';
	}
	buf_done(&out);
}
