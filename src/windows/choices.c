/* SPDX-License-Identifier: Apache-2.0 */
/* The options and keys that work in corral.exe, and the file of --policy.
 *
 * Should:   read a path as Windows writes it.
 * Must not: accept an option or key that this system does not enforce.
 * Fails:    closed: nothing runs after an argument that was not understood. */
#include "windows/choices.h"

#include "base/auto.h"
#include "base/str.h"
#include "windows/grants.h"

#include <stdio.h>

#define WHERE "usage"

static const struct subset_key known[] = {
	{KEY_MODE, .only = (const char *const[]){"read-only", "workspace-write", NULL}},
	{KEY_WORKSPACE},
	{KEY_ANY_WORKSPACE},
	{KEY_CHDIR},
	{KEY_LEVEL, .only = (const char *const[]){"auto", "standard", "none", NULL}},
	{KEY_MIN_LEVEL},
	{KEY_REQUIRE},
	{KEY_ALLOW_DEGRADED},
	{KEY_ACCEPT_NO_SANDBOX},
	{KEY_FS_READ},
	{KEY_FS_WRITE},
	/* A persistent home is not implemented. */
	{KEY_FS_HOME, .only = (const char *const[]){"ephemeral", NULL}, .own_default = true},
	{KEY_NET_MODE, .only = (const char *const[]){"none", "full", NULL}},
	{KEY_ENV_PASS},
	{KEY_ENV_SET},
	{KEY_ENV_ALLOW_DANGEROUS},
	{KEY_LIMITS_TIMEOUT},
	{KEY_LIMITS_IDLE_TIMEOUT},
	{KEY_LIMITS_OUTPUT},
	/* On Linux the default counts threads, too. */
	{KEY_LIMITS_PROCESSES, .own_default = true},
	{KEY_LIMITS_MEMORY},
	{KEY_LIMITS_CPUS},
};

static const struct subset_reason reasons[] = {
	{KEY_UID, "Windows has no user ids"},
	{KEY_GID, "Windows has no group ids"},
	{KEY_LIMITS_GRACE, "Windows has no SIGTERM: the job is terminated at once"},
	{KEY_SECCOMP_EXTRA_DENY, "Windows has no seccomp"},
	{KEY_NESTED, "an AppContainer cannot start another one"},
	{KEY_ACCEPT_FULL_ACCESS, "run the command without corral.exe instead"},
};

static const struct subset_option without_key[] = {
	{OPTION_HELP},
	{OPTION_JSON},
	{OPTION_VERBOSE},
	{OPTION_STDIN},
	{OPTION_NO_CONFIG},
	{OPTION_POLICY_FILE},
	{OPTION_SET},
	{OPTION_COMMAND_STRING, "there is no /bin/sh; name the shell: -- cmd.exe /d /c ..., -- "
				"powershell.exe -Command ..."},
};

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

static const struct subset subset = {
	.name = "Windows",
	.fix = "`corral.exe run --help` lists the options that work here",
	.keys = known,
	.nkeys = ARRAY_LEN(known),
	.reasons = reasons,
	.nreasons = ARRAY_LEN(reasons),
	.options = without_key,
	.noptions = ARRAY_LEN(without_key),
	.take_path = take_path,
};

int choices_default(struct arena *a, struct run_choices *c, struct err *e) {
	const struct where from = {.a = a};

	if (subset_default(&subset, &from, c->json, c, e) != 0) {
		return -1;
	}
	c->values[KEY_FS_HOME].set = true;
	c->values[KEY_FS_HOME].num = HOME_EPHEMERAL;
	return 0;
}

int choices_read(struct arena *a, const char *const *words, size_t n, struct run_choices *c,
		 struct err *e) {
	const struct where from = {.a = a};

	return subset_read(&subset, &from, words, n, c, e);
}

void choices_help(struct buf *out) {
	subset_help(&subset, out);
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
		return subset_refuse(&subset, as, "unknown key", e);
	}
	struct value *v = &c->values[k - keys];
	char room[SUBSET_WHY_MAX];
	const char *why_not = subset_why_not(&subset, (enum key_id)(k - keys), room);
	if (why_not != NULL) {
		return subset_refuse(&subset, as, why_not, e);
	}
	if (!is_path(k)) {
		return value_from_doc(&w, k, d, v, e) != 0
			       ? -1
			       : subset_check(&subset, as, (enum key_id)(k - keys), v, e);
	}
	enum doc_type wanted = k->type == TYPE_PATH ? DOC_STRING : DOC_ARRAY;
	if (d->type != wanted) {
		return subset_refuse(&subset, as,
				     wanted == DOC_STRING ? "must be a string" : "must be a list",
				     e);
	}
	if (wanted == DOC_STRING) {
		return take_path(&w, k, d->str, v, e);
	}
	for (const struct doc *one = d->first; one != NULL; one = one->next) {
		if (one->type != DOC_STRING) {
			return subset_refuse(&subset, as, "must be a list of strings", e);
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
