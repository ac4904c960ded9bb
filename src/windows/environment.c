/* SPDX-License-Identifier: Apache-2.0 */
/* Builds the environment of a command from nothing.
 *
 * Should:   have the names that Windows programs need to start, harmless names of the caller, and
 *           those of the policy; compare names without case, as Windows does.
 * Must not: copy any other variable of the caller.
 * Fails:    closed: a reserved or dangerous name, and a text that is not Unicode, is an error. */
#include "windows/environment.h"

#include "base/auto.h"
#include "base/str.h"
#include "data/environment.h"
#include "windows/grants.h"
#include "windows/utf16.h"

#include <ctype.h>
#include <stdlib.h>
#include <strings.h>

#define WHERE "environment"

/* Longer names are not compared with the table of names; no row is that long. */
#define NAME_LONGEST 256

/* Taken from the caller: programs and the C library expect them, and they hold no secret. */
static const char *const system_names[] = {
	"CommonProgramFiles", /* directories of programs */
	"CommonProgramFiles(x86)",
	"CommonProgramW6432",
	"ComSpec",                /* the shell that system() of the C library starts */
	"NUMBER_OF_PROCESSORS",   /* how many jobs a build runs at once */
	"OS",                     /* build scripts test for Windows_NT */
	"PATHEXT",                /* names of programs without their ending */
	"PROCESSOR_ARCHITECTURE", /* build scripts */
	"PROCESSOR_IDENTIFIER",
	"ProgramData", /* directories of programs */
	"ProgramFiles",
	"ProgramFiles(x86)",
	"ProgramW6432",
	"SystemDrive", /* nearly every program fails without these three */
	"SystemRoot",
	"windir",
};

/* In the private directory of the run: the caller's would be hidden. */
static const char *const private_names[] = {
	"APPDATA", "HOME", "LOCALAPPDATA", "TEMP", "TMP", "USERPROFILE",
};

/* Beside the rows of data/environment.c. */
static const struct {
	const char *name, *reason;
} dangerous_names[] = {
	{"COMPLUS_InstallRoot", "loads .NET code"},
	{"PSExecutionPolicyPreference", "lets PowerShell run any script"},
	{"PSModulePath", "loads PowerShell code"},
	{"__COMPAT_LAYER", "changes how programs are loaded"},
};

static size_t name_length(const char *entry) {
	/* Windows keeps the directory of each drive in names such as "=C:". */
	return entry[0] == '\0' ? 0 : 1 + strcspn(entry + 1, "=");
}

/* As CreateProcessW sorts: without case, by code unit. */
static int compare(const char *a, size_t na, const char *b, size_t nb) {
	size_t n = na < nb ? na : nb;
	for (size_t i = 0; i < n; i++) {
		int ca = toupper((unsigned char)a[i]), cb = toupper((unsigned char)b[i]);
		if (ca != cb) {
			return ca - cb;
		}
	}
	return na < nb ? -1 : na > nb;
}

/* Puts the entry in its place; an earlier one of the same name is replaced. */
static int put(struct arena *a, struct environment *env, const char *entry, struct err *e) {
	size_t at = 0;
	int order = 1;

	for (; at < env->count; at++) {
		order = compare(entry, name_length(entry), env->entries[at],
				name_length(env->entries[at]));
		if (order <= 0) {
			break;
		}
	}
	if (at < env->count && order == 0) {
		env->entries[at] = entry;
		return 0;
	}
	if (arena_grow(a, &env->entries, env->count, &env->cap, sizeof env->entries[0]) != 0) {
		return err_memory(e, WHERE);
	}
	for (size_t i = env->count++; i > at; i--) {
		env->entries[i] = env->entries[i - 1];
	}
	env->entries[at] = entry;
	return 0;
}

static int put_pair(struct arena *a, struct environment *env, const char *name, const char *value,
		    struct err *e) {
	const char *entry = arena_printf(a, "%s=%s", name, value);
	return entry == NULL ? err_memory(e, WHERE) : put(a, env, entry, e);
}

static const char *caller_entry(const struct environment_inputs *in, const char *name) {
	for (const char *const *entry = in->caller; *entry != NULL; entry++) {
		if (compare(*entry, name_length(*entry), name, strlen(name)) == 0) {
			return *entry;
		}
	}
	return NULL;
}

static const char *value_of(const char *entry) {
	return entry + name_length(entry) + 1;
}

/* The absolute directories of the caller's PATH: a relative one would be another one inside. */
static int put_path(struct arena *a, const struct environment_inputs *in, struct environment *env,
		    struct err *e) {
	const char *entry = caller_entry(in, "PATH"), *p = entry == NULL ? "" : value_of(entry);
	char *kept = arena_alloc(a, strlen(p) + 1);
	size_t len = 0;

	if (kept == NULL) {
		return err_memory(e, WHERE);
	}
	while (*p != '\0') {
		size_t n = strcspn(p, ";");
		char *dir = arena_strndup(a, p, n);
		if (dir == NULL) {
			return err_memory(e, WHERE);
		}
		if (grants_is_absolute(dir)) {
			if (len > 0) {
				kept[len++] = ';';
			}
			memcpy(kept + len, dir, n);
			len += n;
		}
		p += n + (p[n] != '\0');
	}
	kept[len] = '\0';
	return put_pair(a, env, "Path", kept, e);
}

static int put_base(struct arena *a, const struct environment_inputs *in, struct environment *env,
		    struct err *e) {
	for (size_t i = 0; i < ARRAY_LEN(system_names); i++) {
		const char *entry = caller_entry(in, system_names[i]);
		if (entry != NULL && put(a, env, entry, e) != 0) {
			return -1;
		}
	}
	for (size_t i = 0; i < ARRAY_LEN(private_names); i++) {
		if (put_pair(a, env, private_names[i], in->private_dir, e) != 0) {
			return -1;
		}
	}
	for (size_t i = 0; i < env_rows_count; i++) {
		const struct env_row *row = &env_rows[i];
		const char *entry = row->class == ENV_PASSED && strchr(row->pattern, '*') == NULL
					    ? caller_entry(in, row->pattern)
					    : NULL;
		/* PATH, HOME and TMPDIR of the table have their own value here. */
		if (entry != NULL && environment_get(env, row->pattern) == NULL &&
		    strcasecmp(row->pattern, "PATH") != 0 && put(a, env, entry, e) != 0) {
			return -1;
		}
	}
	return put_path(a, in, env, e);
}

static bool listed(const struct value *list, const char *name) {
	for (size_t i = 0; i < list->count; i++) {
		if (strcasecmp(list->items[i].str, name) == 0) {
			return true;
		}
	}
	return false;
}

/* The row of data/environment.c, whose names are in capitals, or of the table above. */
static const char *danger(const char *name, bool *ret_reserved) {
	char capitals[NAME_LONGEST];
	size_t n = strlen(name);

	*ret_reserved = false;
	for (size_t i = 0; i < ARRAY_LEN(dangerous_names); i++) {
		if (strcasecmp(dangerous_names[i].name, name) == 0) {
			return dangerous_names[i].reason;
		}
	}
	if (n >= sizeof capitals) {
		return NULL;
	}
	for (size_t i = 0; i <= n; i++) {
		capitals[i] = (char)toupper((unsigned char)name[i]);
	}
	const struct env_row *row = environment_row_for(capitals);
	*ret_reserved = row != NULL && row->class == ENV_RESERVED;
	return row != NULL && (*ret_reserved || row->class == ENV_DANGEROUS) ? row->reason : NULL;
}

static int check_name(const struct environment_inputs *in, const char *name, struct err *e) {
	bool reserved;
	const char *why = danger(name, &reserved);

	if (why == NULL || (!reserved && listed(in->allow_dangerous, name))) {
		return 0;
	}
	(void)err_set(e, ERR_USAGE, WHERE, "the variable %s is %s: %s", name,
		      reserved ? "reserved" : "dangerous", why);
	return reserved ? -1 : err_fix(e, "accept it with --allow-dangerous-env %s", name);
}

static int put_passed(struct arena *a, const struct environment_inputs *in, struct environment *env,
		      struct err *e) {
	for (size_t i = 0; i < in->pass->count; i++) {
		const struct item *item = &in->pass->items[i];
		const char *entry = caller_entry(in, item->str);
		if (check_name(in, item->str, e) != 0) {
			return -1;
		}
		if (entry == NULL && !item->optional) {
			(void)err_set(e, ERR_USAGE, WHERE, "env.pass: %s is not set", item->str);
			return err_fix(e, "set it, or write %s? if it may be missing", item->str);
		}
		if (entry != NULL && put(a, env, entry, e) != 0) {
			return -1;
		}
	}
	return 0;
}

static int put_set(struct arena *a, const struct environment_inputs *in, struct environment *env,
		   struct err *e) {
	for (size_t i = 0; i < in->set->count; i++) {
		const char *entry = in->set->items[i].str;
		char *name = arena_strndup(a, entry, name_length(entry));
		if (name == NULL) {
			return err_memory(e, WHERE);
		}
		if (check_name(in, name, e) != 0 || put(a, env, entry, e) != 0) {
			return -1;
		}
	}
	return 0;
}

int environment_make(struct arena *a, const struct environment_inputs *in, struct environment *ret,
		     struct err *e) {
	const char *const own[][2] = {
		{"CORRAL_SANDBOX_ID", in->run_id},
		{"CORRAL_WORKSPACE", in->workspace},
		{"CORRAL_LEVEL", in->level},
	};

	*ret = (struct environment){0};
	if (put_base(a, in, ret, e) != 0) {
		return -1;
	}
	for (size_t i = 0; in->offline && env_offline[i] != NULL; i++) {
		if (put(a, ret, env_offline[i], e) != 0) {
			return -1;
		}
	}
	if (put_passed(a, in, ret, e) != 0 || put_set(a, in, ret, e) != 0) {
		return -1;
	}
	for (size_t i = 0; i < ARRAY_LEN(own); i++) {
		if (put_pair(a, ret, own[i][0], own[i][1], e) != 0) {
			return -1;
		}
	}
	return 0;
}

const char *environment_get(const struct environment *env, const char *name) {
	for (size_t i = 0; i < env->count; i++) {
		const char *entry = env->entries[i];
		if (compare(entry, name_length(entry), name, strlen(name)) == 0) {
			return value_of(entry);
		}
	}
	return NULL;
}

int environment_block(const struct environment *env, uint16_t **ret, size_t *ret_units,
		      struct err *e) {
	size_t units = env->count == 0; /* an empty block has two NULs, too */

	for (size_t i = 0; i < env->count; i++) {
		size_t n = utf16_length(env->entries[i]);
		if (n == SIZE_MAX) {
			return err_set(e, ERR_USAGE, WHERE, "a variable is not valid Unicode");
		}
		units += n + 1;
	}
	uint16_t *block = calloc(units + 1, sizeof *block);
	if (block == NULL) {
		return err_memory(e, WHERE);
	}
	for (size_t i = 0, at = 0; i < env->count; i++) {
		size_t n;
		auto_free uint16_t *one = utf16_new(env->entries[i], &n);
		if (one == NULL) {
			free(block);
			return err_memory(e, WHERE);
		}
		memcpy(block + at, one, n * sizeof *one);
		at += n + 1;
	}
	*ret = block;
	*ret_units = units + 1;
	return 0;
}
