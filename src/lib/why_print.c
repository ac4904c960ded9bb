/* SPDX-License-Identifier: Apache-2.0 */
/* Prints an answer of `corral why`, or the record of a denial: as text, as JSON, and as one
 * paragraph that a language model can act on.
 *
 * Should:   have the same content in all three forms; print a grant as it can be pasted.
 * Must not: print a control character in text or paragraph: the names come from programs, files
 *           and models; print a grant beside a barrier.
 * Fails:    as buf.h: out of memory the buffer has failed. */
#include "lib/why.h"

#include "base/auto.h"
#include "base/str.h"
#include "data/options.h"

#include <assert.h>

static const char *const verdicts[] = {
	[WHY_ALLOWED] = "allowed",
	[WHY_UNDECIDED] = "undecided",
	[WHY_REFUSED] = "refused",
};

/* Why Corral proposes no grant. */
static const struct {
	const char *name, *text;
} barriers[] = {
	{"agent", "the table of the run's agent forbids it; change it where it is written"},
	{"corral", "it decides about Corral's next run; change it outside the sandbox"},
	{"credential", "it holds credentials; Corral proposes no grant for them"},
	{"floor", "the administrator's floor forbids it; no option and no file of yours lifts it"},
	{"metadata", "it hands out this machine's credentials; Corral proposes no grant for it"},
	{"permission", "you have no permission on the host either"},
	{"project", "a rule of the project's file forbids it; change the rule where it is written"},
	{"skill", "the run's skill requests less; change the skill, or run without it"},
};

static const char *barrier_text(const char *name) {
	for (size_t i = 0; i < ARRAY_LEN(barriers); i++) {
		if (streq(barriers[i].name, name)) {
			return barriers[i].text;
		}
	}
	return name;
}

/* ---- the grant ---- */

/* The option of `corral run` that sets a key; NULL: only --set does. */
static const struct option_row *option_of(const struct why_setting *s) {
	const struct option_row *found = NULL;

	for (size_t i = 0; found == NULL && i < options_count; i++) {
		const struct option_row *row = &options[i];
		bool sets = row->id == OPTION_SETS_KEY && streq(keys[row->key].name, s->key) &&
			    (row->verbs & FOR_RUN) != 0;
		found = sets && (row->fixed == NULL || streq(row->fixed, s->value)) ? row : NULL;
	}
	return found;
}

bool why_put_options(const struct why_grant *g, struct buf *out) {
	for (size_t i = 0; i < g->n; i++) {
		const struct why_setting *s = &g->settings[i];
		const struct option_row *row = option_of(s);
		bool except = s->value[0] == '!';
		buf_printf(out, "%s--%s", i == 0 ? "" : " ", row == NULL ? "set" : row->name);
		if (row == NULL) {
			struct buf word;
			buf_init(&word);
			buf_printf(&word, "%s=%s", s->key, s->value);
			buf_puts(out, " ");
			buf_shell_word(out, "", buf_failed(&word) ? "" : word.data);
			buf_done(&word);
		} else if (row->argument != NULL) {
			buf_puts(out, " ");
			buf_shell_word(out, except ? "!" : "", s->value + (except ? 1 : 0));
		}
	}
	return !buf_failed(out);
}

/* ---- the record of a denial ---- */

struct why_answer why_of_denial(const struct why_denial *d) {
	return (struct why_answer){
		.op = d->access != NULL ? d->access : d->op,
		.object = d->object,
		.verdict = WHY_REFUSED,
		.error = d->error,
		.rule = d->rule,
		.origin = d->origin,
		.reason = d->reason,
		.options = d->barrier == NULL ? d->grant : NULL,
		.barrier = d->barrier,
		.count = d->count,
	};
}

/* ---- the three forms ---- */

static void print_json(const struct why_answer *a, struct buf *out) {
	struct emit j;

	emit_init(&j, out, false);
	emit_object(&j, NULL);
	emit_int(&j, "version", 1);
	emit_string(&j, "op", a->op);
	emit_string(&j, "object", a->object);
	emit_string(&j, "resolved", a->resolved);
	emit_bool(&j, "allowed", a->verdict != WHY_REFUSED);
	emit_string(&j, "verdict", verdicts[a->verdict]);
	emit_string(&j, "errno", a->error);
	emit_string(&j, "rule", a->rule);
	emit_string(&j, "origin", a->origin);
	emit_string(&j, "reason", a->reason);
	emit_string(&j, "note", a->note);
	emit_string(&j, "grant", a->options);
	emit_array(&j, "settings");
	for (size_t i = 0; i < a->grant.n; i++) {
		emit_object(&j, NULL);
		emit_string(&j, "key", a->grant.settings[i].key);
		emit_string(&j, "value", a->grant.settings[i].value);
		emit_end_object(&j);
	}
	emit_end_array(&j);
	emit_string(&j, "forbidden_by", a->barrier);
	emit_string(&j, "advice", a->advice);
	emit_string(&j, "level", a->level);
	if (a->count == 0) {
		emit_null(&j, "count");
	} else {
		emit_int(&j, "count", (int64_t)a->count);
	}
	emit_end_object(&j);
}

/* A newline in a name could forge a line of the answer. */
static void put_clean(struct buf *out, const char *text) {
	size_t start = out->len;

	buf_puts(out, text);
	if (!buf_failed(out)) {
		str_hide_controls(out->data + start, false);
	}
}

static void put_line(struct buf *out, const char *name, const char *text) {
	if (text != NULL) {
		buf_printf(out, "\n  %-10s", name);
		put_clean(out, text);
	}
}

/* With a control character replaced, the option would name another file. */
static const char *pasteable(const char *text) {
	for (const char *p = text; p != NULL && *p != '\0'; p += str_char_length(p)) {
		if (str_control_length(p) > 0) {
			return "(a name with control characters; --json prints it)";
		}
	}
	return text;
}

static void print_text(const struct why_answer *a, struct buf *out) {
	buf_printf(out, "%s: %s ", verdicts[a->verdict], a->op);
	put_clean(out, a->object);
	if (a->count > 1) {
		buf_printf(out, " (%llu times)", (unsigned long long)a->count);
	}
	put_line(out, "resolved:", a->resolved);
	put_line(out, "rule:", a->rule);
	put_line(out, "origin:", a->origin);
	put_line(out, "errno:", a->error);
	put_line(out, "reason:", a->reason);
	put_line(out, "note:", a->note);
	put_line(out, "grant:", pasteable(a->options));
	put_line(out, "no grant:", a->barrier == NULL ? NULL : barrier_text(a->barrier));
	put_line(out, "advice:", a->advice);
}

static void paragraph_refused(const struct why_answer *a, struct buf *out) {
	if (a->options != NULL) {
		buf_printf(out,
			   " If the task needs it, ask the user to start the run with the option "
			   "%s; you cannot set it from inside.",
			   pasteable(a->options));
	} else {
		const char *why = a->barrier != NULL  ? barrier_text(a->barrier)
				  : a->advice != NULL ? a->advice
						      : "no option allows it";
		buf_printf(out, " No grant is available: %s.", why);
	}
	buf_puts(out, " Do not retry it or look for a way around it; go on without it, or report "
		      "this to the user.");
}

static void print_paragraph(const struct why_answer *a, struct buf *out) {
	const char *verb = a->verdict == WHY_REFUSED     ? "refuses"
			   : a->verdict == WHY_UNDECIDED ? "cannot decide in advance about"
							 : "allows";

	buf_printf(out, "Corral, the sandbox of your commands, %s: %s %s", verb, a->op, a->object);
	buf_printf(out, "%s%s%s%s%s.", a->rule == NULL ? "" : " (rule ",
		   a->rule == NULL ? "" : a->rule, a->rule == NULL || a->origin == NULL ? "" : ", ",
		   a->rule == NULL || a->origin == NULL ? "" : a->origin,
		   a->rule == NULL ? "" : ")");
	if (a->reason != NULL) {
		buf_printf(out, " Reason: %s.", a->reason);
	}
	if (a->note != NULL) {
		buf_printf(out, " Note: %s.", a->note);
	}
	if (a->verdict == WHY_REFUSED) {
		paragraph_refused(a, out);
	} else if (a->options != NULL) {
		buf_printf(out, " The host's own file needs the option %s.", pasteable(a->options));
	} else if (a->advice != NULL) {
		buf_printf(out, " Advice: %s.", a->advice);
	}
}

void why_print(const struct why_answer *a, enum corral_format format, struct buf *out) {
	size_t start = out->len;

	assert(a->barrier == NULL || a->options == NULL);
	if (format == CORRAL_JSON) {
		print_json(a, out);
	} else if (format == CORRAL_TEXT) {
		print_text(a, out);
	} else {
		print_paragraph(a, out);
		if (!buf_failed(out)) {
			str_hide_controls(out->data + start, false);
		}
	}
}
