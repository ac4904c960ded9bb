/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the options of a build that has some of them.
 *
 * Should:   take an option exactly as corral(1) does, by the same row and with the same checks.
 * Must not: accept an option or key that the build does not list.
 * Fails:    closed: nothing runs after an argument that was not understood. */
#include "policy/subset.h"

#include "base/auto.h"
#include "base/str.h"
#include "data/profiles.h"

#include <stdio.h>
#include <string.h>

#define WHERE "usage"

/* ---- the tables ---- */

static const struct subset_key *key_of(const struct subset *s, enum key_id key) {
	for (size_t i = 0; i < s->nkeys; i++) {
		if (s->keys[i].key == key) {
			return &s->keys[i];
		}
	}
	return NULL;
}

static const struct subset_option *option_of(const struct subset *s, enum option_id id) {
	for (size_t i = 0; i < s->noptions; i++) {
		if (s->options[i].id == id) {
			return &s->options[i];
		}
	}
	return NULL;
}

static const char *not_implemented(const struct subset *s, char ret_text[SUBSET_WHY_MAX]) {
	(void)snprintf(ret_text, SUBSET_WHY_MAX, "not implemented on %s", s->name);
	return ret_text;
}

const char *subset_why_not(const struct subset *s, enum key_id key, char ret_text[SUBSET_WHY_MAX]) {
	if (key_of(s, key) != NULL) {
		return NULL;
	}
	for (size_t i = 0; i < s->nreasons; i++) {
		if (s->reasons[i].key == key) {
			return s->reasons[i].why;
		}
	}
	return not_implemented(s, ret_text);
}

int subset_refuse(const struct subset *s, const char *as, const char *why, struct err *e) {
	(void)err_set(e, ERR_USAGE, WHERE, "%s: %s", as, why);
	return err_fix(e, "%s", s->fix);
}

int subset_check(const struct subset *s, const char *as, enum key_id key, const struct value *v,
		 struct err *e) {
	const struct subset_key *row = key_of(s, key);
	const struct key *k = &keys[key];
	char why[SUBSET_WHY_MAX] = "works here only with";

	if (row == NULL || row->only == NULL) {
		return 0;
	}
	for (size_t i = 0; row->only[i] != NULL; i++) {
		size_t n = strlen(why);
		if (k->type == TYPE_ENUM && streq(k->choices[v->num], row->only[i])) {
			return 0;
		}
		(void)snprintf(why + n, sizeof why - n, "%s %s", i > 0 ? "," : "", row->only[i]);
	}
	(void)subset_refuse(s, as, why, e);
	return row->fix == NULL ? -1 : err_fix(e, "%s", row->fix);
}

/* ---- values ---- */

struct reader {
	const struct subset *s;
	const struct where *from;
	struct run_choices *c;
};

static int take_text(const struct reader *r, const char *as, enum key_id key, const char *text,
		     struct err *e) {
	const struct key *k = &keys[key];
	struct value *v = &r->c->values[key];
	struct where w = *r->from;
	char room[SUBSET_WHY_MAX];
	const char *why_not = subset_why_not(r->s, key, room);
	bool path = k->type == TYPE_PATH || k->type == TYPE_PATHS;

	w.origin = (struct origin){.kind = ORIGIN_OPTION, .name = as};
	if (why_not != NULL) {
		return subset_refuse(r->s, as, why_not, e);
	}
	if (path && r->s->take_path != NULL) {
		return r->s->take_path(&w, k, text, v, e);
	}
	return value_from_text(&w, k, text, v, e) != 0 ? -1 : subset_check(r->s, as, key, v, e);
}

static int take_set(const struct reader *r, const char *value, struct err *e) {
	struct arena *a = r->from->a;
	const char *equals = strchr(value, '=');
	char *name = equals == NULL ? NULL : arena_strndup(a, value, (size_t)(equals - value));
	const struct key *k = name == NULL ? NULL : key_by_name(name);

	if (k == NULL) {
		(void)err_set(e, ERR_USAGE, WHERE, "--set %s: KEY=VALUE expected, with a known key",
			      value);
		return err_fix(e, "example: --set limits.timeout=30s");
	}
	const char *as = arena_printf(a, "--set %s", name);
	return as == NULL ? err_memory(e, WHERE)
			  : take_text(r, as, (enum key_id)(k - keys), equals + 1, e);
}

static int take_list(const struct reader *r, const char *as, enum key_id key, const char *text,
		     struct err *e) {
	for (;;) {
		size_t n = strcspn(text, ",");
		char *one = arena_strndup(r->from->a, text, n);
		if (one == NULL) {
			return err_memory(e, WHERE);
		}
		if (take_text(r, as, key, one, e) != 0) {
			return -1;
		}
		if (text[n] == '\0') {
			return 0;
		}
		text += n + 1;
	}
}

/* ---- options ---- */

/* Of `run`, and those of another verb that the build takes there. */
static bool is_here(const struct subset *s, const struct option_row *row) {
	return (row->verbs & FOR_RUN) != 0 ||
	       (row->id != OPTION_SETS_KEY && option_of(s, row->id) != NULL);
}

static const struct option_row *row_of(const struct subset *s, const char *name, size_t len,
				       int letter) {
	for (size_t i = 0; i < options_count; i++) {
		const struct option_row *row = &options[i];
		bool named = letter == 0 ? row->name != NULL && strlen(row->name) == len &&
						   strncmp(row->name, name, len) == 0
					 : row->letter == letter;
		if (named && is_here(s, row)) {
			return row;
		}
	}
	return NULL;
}

static void set_flag(struct run_choices *c, enum option_id id, const char *text) {
	switch (id) {
	case OPTION_HELP:
		c->help = true;
		break;
	case OPTION_JSON:
		c->json = true;
		break;
	case OPTION_VERBOSE:
		c->verbose = true;
		break;
	case OPTION_STDIN:
		c->pass_stdin = true;
		break;
	case OPTION_SEATBELT:
		c->seatbelt = true;
		break;
	case OPTION_POLICY_FILE:
		c->policy_file = text;
		break;
	default:
		break; /* OPTION_NO_CONFIG: there is no other file here */
	}
}

static int take_option(const struct reader *r, const struct option_row *row, const char *as,
		       const char *value, struct err *e) {
	const struct subset_option *known = option_of(r->s, row->id);
	/* read_option() refuses an option that lacks its argument. */
	const char *text = value != NULL ? value : row->fixed != NULL ? row->fixed : "";

	if (row->id == OPTION_SETS_KEY) {
		return (row->commas ? take_list : take_text)(r, as, row->key, text, e);
	}
	if (known == NULL || known->why_not != NULL) {
		char room[SUBSET_WHY_MAX];
		return subset_refuse(
			r->s, as, known == NULL ? not_implemented(r->s, room) : known->why_not, e);
	}
	if (row->id == OPTION_SET) {
		return take_set(r, text, e);
	}
	set_flag(r->c, row->id, text);
	return 0;
}

/* One word of options and, if it needs one, its argument; *at is behind them afterwards. */
static int read_option(const struct reader *r, const char *const *words, size_t n, size_t *at,
		       struct err *e) {
	const char *word = words[(*at)++];
	bool long_form = word[1] == '-';
	size_t len = long_form ? strcspn(word + 2, "=") : 1;
	const char *attached = long_form ? (word[2 + len] == '=' ? word + 3 + len : NULL)
					 : (word[2] != '\0' ? word + 2 : NULL);
	const struct option_row *row = row_of(r->s, word + 2, len, long_form ? 0 : word[1]);
	const char *as = arena_strndup(r->from->a, word, long_form ? 2 + len : 2);

	if (as == NULL) {
		return err_memory(e, WHERE);
	}
	if (row == NULL) {
		return subset_refuse(r->s, as, "unknown option", e);
	}
	if (row->argument == NULL && attached != NULL) {
		return subset_refuse(r->s, as, "takes no argument", e);
	}
	if (row->argument != NULL && attached == NULL) {
		if (*at == n) {
			return subset_refuse(r->s, as, "needs an argument", e);
		}
		attached = words[(*at)++];
	}
	return take_option(r, row, as, attached, e);
}

int subset_read(const struct subset *s, const struct where *from, const char *const *words,
		size_t n, struct run_choices *c, struct err *e) {
	const struct reader r = {s, from, c};
	size_t at = 0;

	while (at < n && words[at][0] == '-' && words[at][1] != '\0') {
		if (streq(words[at], "--")) {
			at++;
			break;
		}
		if (read_option(&r, words, n, &at, e) != 0) {
			return -1;
		}
	}
	c->argv = words + at;
	c->argc = n - at;
	return 0;
}

/* ---- defaults, help ---- */

int subset_default(const struct subset *s, const struct where *from, bool tool_call,
		   struct run_choices *c, struct err *e) {
	struct where w = *from;

	w.origin = (struct origin){.kind = ORIGIN_BUILTIN};
	for (size_t i = 0; i < default_rows_count; i++) {
		const struct default_row *row = &default_rows[i];
		const struct subset_key *known = key_of(s, row->key);
		const char *text =
			tool_call && row->tool_call != NULL ? row->tool_call : row->person;
		struct value *v = &c->values[row->key];
		bool chosen = v->set && v->origin.kind != ORIGIN_BUILTIN;
		if (chosen || (known == NULL ? !s->every_default : known->own_default)) {
			continue;
		}
		if (value_from_text(&w, &keys[row->key], text, v, e) != 0) {
			return -1;
		}
	}
	return 0;
}

static bool works(const struct subset *s, const struct option_row *row) {
	const struct subset_option *known = option_of(s, row->id);

	return row->id == OPTION_SETS_KEY ? key_of(s, row->key) != NULL
					  : known != NULL && known->why_not == NULL;
}

void subset_help(const struct subset *s, struct buf *out) {
	for (size_t i = 0; i < options_count; i++) {
		const struct option_row *row = &options[i];
		char left[48];
		if (row->name == NULL || !is_here(s, row) || !works(s, row)) {
			continue;
		}
		(void)snprintf(left, sizeof left, "--%s%s%s", row->name,
			       row->argument == NULL ? "" : " ",
			       row->argument == NULL ? "" : row->argument);
		buf_printf(out, "  %-32s %s\n", left, row->help);
	}
}
