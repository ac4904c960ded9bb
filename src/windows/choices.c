/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the options of corral.exe and the file of --policy.
 *
 * Should:   take an option exactly as corral(1) does, by the same row and with the same checks.
 * Must not: accept an option or key that this system does not enforce.
 * Fails:    closed: nothing runs after an argument that was not understood. */
#include "windows/choices.h"

#include "base/auto.h"
#include "base/str.h"
#include "data/options.h"
#include "data/profiles.h"
#include "policy/value.h"
#include "windows/grants.h"

#include <stdio.h>

#define WHERE "usage"

/* The keys that work here.  A key with `only` takes no other value. */
static const struct {
	enum key_id key;
	const char *const *only;
} known[] = {
	{KEY_MODE, (const char *const[]){"read-only", "workspace-write", NULL}},
	{KEY_WORKSPACE, NULL},
	{KEY_ANY_WORKSPACE, NULL},
	{KEY_CHDIR, NULL},
	{KEY_LEVEL, (const char *const[]){"auto", "standard", "none", NULL}},
	{KEY_MIN_LEVEL, NULL},
	{KEY_REQUIRE, NULL},
	{KEY_ALLOW_DEGRADED, NULL},
	{KEY_ACCEPT_NO_SANDBOX, NULL},
	{KEY_FS_READ, NULL},
	{KEY_FS_WRITE, NULL},
	{KEY_FS_HOME, (const char *const[]){"ephemeral", NULL}},
	{KEY_NET_MODE, (const char *const[]){"none", "full", NULL}},
	{KEY_ENV_PASS, NULL},
	{KEY_ENV_SET, NULL},
	{KEY_ENV_ALLOW_DANGEROUS, NULL},
	{KEY_LIMITS_TIMEOUT, NULL},
	{KEY_LIMITS_IDLE_TIMEOUT, NULL},
	{KEY_LIMITS_OUTPUT, NULL},
	{KEY_LIMITS_PROCESSES, NULL},
	{KEY_LIMITS_MEMORY, NULL},
	{KEY_LIMITS_CPUS, NULL},
};

/* Why a key does not work here, where "not implemented" would say too little. */
static const struct {
	enum key_id key;
	const char *why;
} reasons[] = {
	{KEY_UID, "Windows has no user ids"},
	{KEY_GID, "Windows has no group ids"},
	{KEY_LIMITS_GRACE, "Windows has no SIGTERM: the job is terminated at once"},
	{KEY_SECCOMP_EXTRA_DENY, "Windows has no seccomp"},
	{KEY_NESTED, "an AppContainer cannot start another one"},
	{KEY_ACCEPT_FULL_ACCESS, "run the command without corral.exe instead"},
};

static const char *const *only(enum key_id key, bool *ret_known) {
	for (size_t i = 0; i < ARRAY_LEN(known); i++) {
		if (known[i].key == key) {
			*ret_known = true;
			return known[i].only;
		}
	}
	*ret_known = false;
	return NULL;
}

const char *choices_why_not(enum key_id key) {
	bool works;

	(void)only(key, &works);
	for (size_t i = 0; !works && i < ARRAY_LEN(reasons); i++) {
		if (reasons[i].key == key) {
			return reasons[i].why;
		}
	}
	return works ? NULL : "not implemented on Windows";
}

static int refuse(const char *as, const char *why, struct err *e) {
	(void)err_set(e, ERR_USAGE, WHERE, "%s: %s", as, why);
	return err_fix(e, "`corral.exe run --help` lists the options that work here");
}

static bool is_path(const struct key *k) {
	return k->type == TYPE_PATH || k->type == TYPE_PATHS;
}

/* A path as it is written; the caller of choices_read() makes it absolute.  A path of a file has no
 * directory to be relative to. */
static int take_path(const struct where *w, const struct key *k, const char *text, struct value *v,
		     struct err *e) {
	size_t n = strlen(text);
	bool optional = k->type == TYPE_PATHS && n > 1 && text[n - 1] == '?';
	char *path = arena_strndup(w->a, text, optional ? n - 1 : n);
	char from[128];

	if (path == NULL) {
		return err_memory(e, WHERE);
	}
	(void)policy_origin_text(&w->origin, from, sizeof from);
	bool drive = path[0] != '\0' && path[1] == ':';
	if (path[0] == '\0' || path[strcspn(path, "*?\"<>|")] != '\0' ||
	    strchr(path + (drive ? 2 : 0), ':') != NULL) {
		return err_set(e, ERR_USAGE, WHERE,
			       "%s = \"%s\" (%s): not a path of Windows; "
			       "patterns and PATH:DEST are not implemented here",
			       k->name, text, from);
	}
	if (w->origin.kind != ORIGIN_OPTION && !grants_is_absolute(path)) {
		return err_set(e, ERR_USAGE, WHERE, "%s = \"%s\" (%s): must be absolute", k->name,
			       text, from);
	}
	v->set = true;
	v->origin = w->origin;
	if (k->type == TYPE_PATH) {
		v->str = path;
		return 0;
	}
	if (arena_grow(w->a, &v->items, v->count, &v->cap, sizeof v->items[0]) != 0) {
		return err_memory(e, WHERE);
	}
	v->items[v->count++] =
		(struct item){.str = path, .optional = optional, .origin = w->origin};
	return 0;
}

static int check_value(const char *as, const struct key *k, const struct value *v, struct err *e) {
	bool works;
	const char *const *values = only((enum key_id)(k - keys), &works);
	char why[160] = "works here only with";

	for (size_t i = 0; values != NULL && values[i] != NULL; i++) {
		size_t n = strlen(why);
		if (k->type == TYPE_ENUM && streq(k->choices[v->num], values[i])) {
			return 0;
		}
		(void)snprintf(why + n, sizeof why - n, "%s %s", i > 0 ? "," : "", values[i]);
	}
	return values == NULL ? 0 : refuse(as, why, e);
}

static int take_text(struct arena *a, const char *as, enum key_id key, const char *text,
		     struct run_choices *c, struct err *e) {
	const struct key *k = &keys[key];
	const struct where w = {.a = a, .origin = {.kind = ORIGIN_OPTION, .name = as}};
	const char *why_not = choices_why_not(key);

	if (why_not != NULL) {
		return refuse(as, why_not, e);
	}
	if (is_path(k)) {
		return take_path(&w, k, text, &c->values[key], e);
	}
	return value_from_text(&w, k, text, &c->values[key], e) != 0
		       ? -1
		       : check_value(as, k, &c->values[key], e);
}

/* Values that mean the same as on Linux.  fs.home differs: a persistent one is not implemented. */
static bool defaults_here(enum key_id key) {
	return key != KEY_FS_HOME && key != KEY_LIMITS_PROCESSES && choices_why_not(key) == NULL;
}

int choices_default(struct arena *a, struct run_choices *c, struct err *e) {
	for (size_t i = 0; i < default_rows_count; i++) {
		const struct default_row *row = &default_rows[i];
		const char *text = c->json && row->tool_call != NULL ? row->tool_call : row->person;
		struct value *v = &c->values[row->key];
		if (!defaults_here(row->key) || v->set) {
			continue;
		}
		const struct where w = {.a = a, .origin = {.kind = ORIGIN_BUILTIN}};
		if (value_from_text(&w, &keys[row->key], text, v, e) != 0) {
			return -1;
		}
	}
	c->values[KEY_FS_HOME].set = true;
	c->values[KEY_FS_HOME].num = HOME_EPHEMERAL;
	return 0;
}

/* ---- options ---- */

static const struct option_row *row_of(const char *name, size_t len, int letter) {
	for (size_t i = 0; i < options_count; i++) {
		const struct option_row *row = &options[i];
		bool named = letter == 0 ? row->name != NULL && strlen(row->name) == len &&
						   strncmp(row->name, name, len) == 0
					 : row->letter == letter;
		if (named && (row->verbs & FOR_RUN) != 0) {
			return row;
		}
	}
	return NULL;
}

static int take_set(struct arena *a, const char *value, struct run_choices *c, struct err *e) {
	const char *equals = strchr(value, '=');
	char *name = equals == NULL ? NULL : arena_strndup(a, value, (size_t)(equals - value));
	const struct key *k = name == NULL ? NULL : key_by_name(name);

	if (k == NULL) {
		(void)err_set(e, ERR_USAGE, WHERE, "--set %s: KEY=VALUE expected, with a known key",
			      value);
		return err_fix(e, "example: --set limits.timeout=30s");
	}
	return take_text(a, arena_printf(a, "--set %s", name), (enum key_id)(k - keys), equals + 1,
			 c, e);
}

static int take_list(struct arena *a, const char *as, enum key_id key, const char *text,
		     struct run_choices *c, struct err *e) {
	for (;;) {
		size_t n = strcspn(text, ",");
		char *one = arena_strndup(a, text, n);
		if (one == NULL) {
			return err_memory(e, WHERE);
		}
		if (take_text(a, as, key, one, c, e) != 0) {
			return -1;
		}
		if (text[n] == '\0') {
			return 0;
		}
		text += n + 1;
	}
}

static int take_option(struct arena *a, const struct option_row *row, const char *as,
		       const char *value, struct run_choices *c, struct err *e) {
	/* read_option() refuses an option that lacks its argument. */
	const char *text = value != NULL ? value : row->fixed != NULL ? row->fixed : "";

	switch (row->id) {
	case OPTION_SETS_KEY:
		return (row->commas ? take_list : take_text)(a, as, row->key, text, c, e);
	case OPTION_HELP:
		c->help = true;
		return 0;
	case OPTION_JSON:
		c->json = true;
		return 0;
	case OPTION_VERBOSE:
		c->verbose = true;
		return 0;
	case OPTION_STDIN:
		c->pass_stdin = true;
		return 0;
	case OPTION_NO_CONFIG:
		return 0; /* there is no other file here */
	case OPTION_POLICY_FILE:
		c->policy_file = text;
		return 0;
	case OPTION_SET:
		return take_set(a, text, c, e);
	case OPTION_COMMAND_STRING:
		return refuse(as,
			      "there is no /bin/sh; name the shell: -- cmd.exe /d /c ..., -- "
			      "powershell.exe -Command ...",
			      e);
	default:
		return refuse(as, "not implemented on Windows", e);
	}
}

/* One word of options and, if it needs one, its argument; *at is behind them afterwards. */
static int read_option(struct arena *a, const char *const *words, size_t n, size_t *at,
		       struct run_choices *c, struct err *e) {
	const char *word = words[(*at)++];
	bool long_form = word[1] == '-';
	size_t len = long_form ? strcspn(word + 2, "=") : 1;
	const char *attached = long_form ? (word[2 + len] == '=' ? word + 3 + len : NULL)
					 : (word[2] != '\0' ? word + 2 : NULL);
	const struct option_row *row = row_of(word + 2, len, long_form ? 0 : word[1]);
	const char *as = arena_strndup(a, word, long_form ? 2 + len : 2);

	if (as == NULL) {
		return err_memory(e, WHERE);
	}
	if (row == NULL) {
		return refuse(as, "unknown option", e);
	}
	if (row->argument == NULL && attached != NULL) {
		return refuse(as, "takes no argument", e);
	}
	if (row->argument != NULL && attached == NULL) {
		if (*at == n) {
			return refuse(as, "needs an argument", e);
		}
		attached = words[(*at)++];
	}
	return take_option(a, row, as, attached, c, e);
}

int choices_read(struct arena *a, const char *const *words, size_t n, struct run_choices *c,
		 struct err *e) {
	size_t at = 0;

	while (at < n && words[at][0] == '-' && words[at][1] != '\0') {
		if (streq(words[at], "--")) {
			at++;
			break;
		}
		if (read_option(a, words, n, &at, c, e) != 0) {
			return -1;
		}
	}
	c->argv = words + at;
	c->argc = n - at;
	return 0;
}

const char *choices_policy_file(const char *const *words, size_t n) {
	struct arena scratch;
	struct run_choices c = {0};
	struct err unused;

	arena_init(&scratch);
	(void)choices_read(&scratch, words, n, &c, &unused); /* the second reading reports it */
	arena_done(&scratch);
	return c.policy_file;
}

/* ---- the file of --policy ---- */

static int take_doc(struct arena *a, const char *name, const char *key, const struct doc *d,
		    struct run_choices *c, struct err *e) {
	const struct where w = {.a = a,
				.origin = {.kind = ORIGIN_FILE, .name = name, .line = d->line}};
	const struct key *k = key_by_name(key);
	char as[200];

	(void)snprintf(as, sizeof as, "%s:%d: %s", name, d->line, key);
	if (k == NULL) {
		return refuse(as, "unknown key", e);
	}
	struct value *v = &c->values[k - keys];
	const char *why_not = choices_why_not((enum key_id)(k - keys));
	if (why_not != NULL) {
		return refuse(as, why_not, e);
	}
	if (!is_path(k)) {
		return value_from_doc(&w, k, d, v, e) != 0 ? -1 : check_value(as, k, v, e);
	}
	enum doc_type wanted = k->type == TYPE_PATH ? DOC_STRING : DOC_ARRAY;
	if (d->type != wanted) {
		return refuse(as, wanted == DOC_STRING ? "must be a string" : "must be a list", e);
	}
	if (wanted == DOC_STRING) {
		return take_path(&w, k, d->str, v, e);
	}
	for (const struct doc *one = d->first; one != NULL; one = one->next) {
		if (one->type != DOC_STRING) {
			return refuse(as, "must be a list of strings", e);
		}
		if (take_path(&w, k, one->str, v, e) != 0) {
			return -1;
		}
	}
	return 0;
}

/* A table that holds keys, such as [fs]. */
static bool is_group(const struct doc *d) {
	size_t n = strlen(d->key);

	for (size_t i = 0; d->type == DOC_TABLE && i < KEY_COUNT; i++) {
		if (strncmp(keys[i].name, d->key, n) == 0 && keys[i].name[n] == '.') {
			return key_by_name(d->key) == NULL;
		}
	}
	return false;
}

int choices_read_policy(struct arena *a, const char *name, const char *text, size_t len,
			struct run_choices *c, struct err *e) {
	struct doc *root;

	if (doc_parse_toml(a, name, text, len, &root, e) != 0) {
		return -1;
	}
	for (const struct doc *d = root->first; d != NULL; d = d->next) {
		bool group = is_group(d);
		if (!group && take_doc(a, name, d->key, d, c, e) != 0) {
			return -1;
		}
		for (const struct doc *m = group ? d->first : NULL; m != NULL; m = m->next) {
			const char *key = arena_printf(a, "%s.%s", d->key, m->key);
			if (key == NULL) {
				return err_memory(e, WHERE);
			}
			if (take_doc(a, name, key, m, c, e) != 0) {
				return -1;
			}
		}
	}
	return 0;
}

/* ---- help ---- */

static bool option_works(const struct option_row *row) {
	switch (row->id) {
	case OPTION_SETS_KEY:
		return choices_why_not(row->key) == NULL;
	case OPTION_HELP:
	case OPTION_JSON:
	case OPTION_VERBOSE:
	case OPTION_STDIN:
	case OPTION_NO_CONFIG:
	case OPTION_POLICY_FILE:
	case OPTION_SET:
		return true;
	default:
		return false;
	}
}

void choices_help(struct buf *out) {
	for (size_t i = 0; i < options_count; i++) {
		const struct option_row *row = &options[i];
		char left[48];
		if ((row->verbs & FOR_RUN) == 0 || row->name == NULL || !option_works(row)) {
			continue;
		}
		(void)snprintf(left, sizeof left, "--%s%s%s", row->name,
			       row->argument == NULL ? "" : " ",
			       row->argument == NULL ? "" : row->argument);
		buf_printf(out, "  %-32s %s\n", left, row->help);
	}
}
