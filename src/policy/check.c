/* SPDX-License-Identifier: Apache-2.0 */
/* Rejects contradictions between keys, and values that no policy may have, from any layer.
 *
 * Should:   report a contradiction with the origins of both sides, so that it
 *           is clear which file or option to change.
 * Must not: repair a policy: it is used as written, or it is an error.
 * Fails:    closed, before anything is planned. */
#include "policy/internal.h"

#include "base/auto.h"
#include "base/path.h"
#include "base/str.h"
#include "data/environment.h"
#include "data/syscalls.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

struct ground {
	const char *path;
	bool beneath; /* everything beneath it as well */
	bool allowed; /* an exception from a row above it */
	const char *reason;
};

/* Directories that cannot be a workspace.  The longest match decides. */
static const struct ground grounds[] = {
	{"/", false, false, "the whole file system"},
	{"/bin", true, false, "the system's programs"},
	{"/boot", true, false, "the boot loader's files"},
	{"/dev", true, false, "the host's devices"},
	{"/dev/shm", false, false, "every program's shared memory"},
	{"/dev/shm/", true, true, "a directory of one's own in memory"},
	{"/etc", true, false, "the system's configuration"},
	{"/home", false, false, "every user's home"},
	{"/lib", true, false, "the system's libraries"},
	{"/lib32", true, false, "the system's libraries"},
	{"/lib64", true, false, "the system's libraries"},
	{"/libx32", true, false, "the system's libraries"},
	{"/proc", true, false, "the kernel's process files"},
	{"/root", false, false, "the administrator's home"},
	{"/run", false, false, "the system's sockets and state"},
	{"/run/user", false, false, "every user's sockets and state"},
	{"/sbin", true, false, "the system's programs"},
	{"/sys", true, false, "the kernel's device files"},
	{"/tmp", false, false, "every program's temporary files"},
	{"/usr", true, false, "the system's programs and libraries"},
	{"/usr/local/src/", true, true, "sources, not the system"},
	{"/usr/src/", true, true, "sources, not the system"},
	{"/var", false, false, "the system's state"},
	{"/var/cache", false, false, "the system's state"},
	{"/var/lib", false, false, "the system's state"},
	{"/var/log", false, false, "the system's records"},
	{"/var/spool", false, false, "the system's queues"},
	{"/var/tmp", false, false, "every program's temporary files"},
};

/* A row that ends in a slash matches the paths beneath the directory, not the directory. */
static bool ground_matches(const struct ground *g, const char *path) {
	size_t n = strlen(g->path);
	if (n > 1 && g->path[n - 1] == '/') {
		return str_starts(path, g->path);
	}
	return streq(path, g->path) || (g->beneath && path_within(path, g->path));
}

static const char *ground_reason(const char *path) {
	const struct ground *best = NULL;
	for (size_t i = 0; i < ARRAY_LEN(grounds); i++) {
		if (ground_matches(&grounds[i], path) &&
		    (best == NULL || strlen(grounds[i].path) > strlen(best->path))) {
			best = &grounds[i];
		}
	}
	return best == NULL || best->allowed ? NULL : best->reason;
}

/* Without a setting the workspace is the current directory. */
static const char *workspace_origin(const struct origin *o, char *out, size_t cap) {
	return o->kind == ORIGIN_BUILTIN ? "the current directory"
					 : policy_origin_text(o, out, cap);
}

int policy_check_workspace(const char *workspace, const char *home, const struct origin *o,
			   struct err *e) {
	char path[SHOWN_MAX], from[SHOWN_MAX];
	const char *reason = ground_reason(workspace);
	if (home != NULL && path_within(home, workspace)) {
		reason = streq(home, workspace) ? "HOME" : "a directory above HOME";
	}
	if (reason == NULL) {
		return 0;
	}
	(void)err_set(e, ERR_USAGE, "policy", "%s (%s) cannot be the workspace: it is %s",
		      value_shown(workspace, path, sizeof path),
		      workspace_origin(o, from, sizeof from), reason);
	return err_fix(e, "choose a project: --workspace DIR; to use it anyway: --any-workspace");
}

int check_contradiction(const char *a, const struct origin *oa, const char *b,
			const struct origin *ob, struct err *e) {
	char first[SHOWN_MAX], second[SHOWN_MAX];
	(void)err_set(e, ERR_USAGE, "policy", "%s (%s) contradicts %s (%s)", a,
		      policy_origin_text(oa, first, sizeof first), b,
		      policy_origin_text(ob, second, sizeof second));
	return err_fix(e, "remove one of the two");
}

static const struct item *find_item(const struct value *v, const char *str) {
	for (size_t i = 0; i < v->count; i++) {
		if (streq(v->items[i].str, str)) {
			return &v->items[i];
		}
	}
	return NULL;
}

static int check_denied_item(const struct policy *p, const struct item *denied, struct err *e) {
	static const enum key_id grants[] = {KEY_FS_READ, KEY_FS_WRITE};
	static const enum key_id single[] = {KEY_WORKSPACE, KEY_FS_AGENT};
	char a[SHOWN_MAX], b[SHOWN_MAX], path[80];
	value_shown(denied->str, path, sizeof path);
	(void)snprintf(b, sizeof b, "fs.deny %s", path);
	for (size_t i = 0; i < ARRAY_LEN(grants); i++) {
		const struct item *granted = find_item(&p->values[grants[i]], denied->str);
		if (granted != NULL) {
			(void)snprintf(a, sizeof a, "%s %s", keys[grants[i]].name, path);
			return check_contradiction(a, &granted->origin, b, &denied->origin, e);
		}
	}
	for (size_t i = 0; i < ARRAY_LEN(single); i++) {
		const struct value *v = &p->values[single[i]];
		if (v->set && streq(v->str, denied->str)) {
			(void)snprintf(a, sizeof a, "%s %s", keys[single[i]].name, path);
			return check_contradiction(a, &v->origin, b, &denied->origin, e);
		}
	}
	return 0;
}

static int check_denied(const struct policy *p, struct err *e) {
	const struct value *deny = &p->values[KEY_FS_DENY];
	char from[SHOWN_MAX];
	for (size_t i = 0; i < deny->count; i++) {
		if (deny->items[i].kind != ITEM_PLAIN) {
			continue; /* a grant of the same path is an exception from the pattern */
		}
		if (streq(deny->items[i].str, "/")) {
			return err_set(
				e, ERR_USAGE, "policy",
				"fs.deny / (%s) denies every file, so no command can start",
				policy_origin_text(&deny->items[i].origin, from, sizeof from));
		}
		if (check_denied_item(p, &deny->items[i], e) != 0) {
			return -1;
		}
	}
	return 0;
}

static int check_mode(const struct policy *p, struct err *e) {
	const struct value *mode = &p->values[KEY_MODE], *write = &p->values[KEY_FS_WRITE];
	char grant[SHOWN_MAX], path[80];
	if (!mode->set || mode->num != MODE_READ_ONLY || write->count == 0) {
		return 0;
	}
	(void)snprintf(grant, sizeof grant, "fs.write %s",
		       value_shown(write->items[0].str, path, sizeof path));
	(void)check_contradiction("mode read-only", &mode->origin, grant, &write->items[0].origin,
				  e);
	return err_fix(e, "remove fs.write, or use mode workspace-write");
}

static int check_level(const struct policy *p, struct err *e) {
	const struct value *level = &p->values[KEY_LEVEL], *min = &p->values[KEY_MIN_LEVEL];
	char a[40], b[40];
	/* An explicit level overrides the built-in min_level. */
	if (!level->set || level->num == LEVEL_AUTO || min->num <= level->num ||
	    min->origin.kind == ORIGIN_BUILTIN) {
		return 0;
	}
	(void)snprintf(a, sizeof a, "level %s", keys[KEY_LEVEL].choices[level->num]);
	(void)snprintf(b, sizeof b, "min_level %s", keys[KEY_MIN_LEVEL].choices[min->num]);
	return check_contradiction(a, &level->origin, b, &min->origin, e);
}

static bool within_any(const char *path, const struct value *v) {
	for (size_t i = 0; i < v->count; i++) {
		if (path_within(path, v->items[i].str)) {
			return true;
		}
	}
	return false;
}

static int check_workspace_at(const struct policy *p, struct err *e) {
	const struct value *at = &p->values[KEY_FS_WORKSPACE_AT], *ws = &p->values[KEY_WORKSPACE];
	char path[SHOWN_MAX], from[SHOWN_MAX];
	if (!at->set || streq(at->str, ws->str)) {
		return 0;
	}
	const char *reason = ground_reason(at->str);
	if (reason == NULL) {
		return 0;
	}
	return err_set(e, ERR_USAGE, "policy", "fs.workspace_at %s (%s) would hide %s",
		       value_shown(at->str, path, sizeof path),
		       policy_origin_text(&at->origin, from, sizeof from), reason);
}

static int missing_path(enum key_id key, const char *str, const struct origin *o, int sys,
			struct err *e) {
	char path[SHOWN_MAX], from[SHOWN_MAX];
	(void)err_set(e, ERR_USAGE, "policy", "%s %s (%s)", keys[key].name,
		      value_shown(str, path, sizeof path),
		      policy_origin_text(o, from, sizeof from));
	e->sys = sys;
	return keys[key].type == TYPE_PATHS
		       ? err_fix(e, "create it; if it may be missing, write \"%s?\"", path)
		       : err_fix(e, "use an existing directory");
}

int policy_path_find(const struct policy_fs *fs, const char *path, char *ret_real, bool *ret_dir) {
	struct stat st;
	if (fs != NULL) {
		return fs->find(fs->ctx, path, ret_real, ret_dir);
	}
	if (ret_real != NULL && realpath(path, ret_real) == NULL) {
		return errno;
	}
	if (stat(ret_real != NULL ? ret_real : path, &st) != 0) {
		return errno;
	}
	*ret_dir = S_ISDIR(st.st_mode);
	return 0;
}

/* A granted path must exist; a path in fs.deny or fs.protect need not: the rule holds also
 * for a file that is created later. */
static int check_present(const struct policy *p, const struct policy_fs *fs, enum key_id key,
			 struct err *e) {
	const struct value *v = &p->values[key];
	bool dir;
	for (size_t i = 0; i < v->count; i++) {
		const struct item *item = &v->items[i];
		int sys = policy_path_find(fs, item->str, NULL, &dir);
		if (sys != 0 && !item->optional) {
			return missing_path(key, item->str, &item->origin, sys, e);
		}
	}
	return 0;
}

static int check_directory(const struct policy *p, const struct policy_fs *fs, enum key_id key,
			   struct err *e) {
	const struct value *v = &p->values[key];
	bool dir = false;
	if (!v->set) {
		return 0;
	}
	int sys = policy_path_find(fs, v->str, NULL, &dir);
	if (sys != 0) {
		return missing_path(key, v->str, &v->origin, sys, e);
	}
	return dir ? 0 : missing_path(key, v->str, &v->origin, ENOTDIR, e);
}

static int check_chdir(const struct policy *p, const struct policy_fs *fs, struct err *e) {
	const struct value *dir = &p->values[KEY_CHDIR], *ws = &p->values[KEY_WORKSPACE];
	const char *at = policy_str(p, KEY_FS_WORKSPACE_AT);
	char path[80], space[80], from[SHOWN_MAX], whose[SHOWN_MAX];
	if (!dir->set || path_within(dir->str, ws->str) ||
	    (at != NULL && path_within(dir->str, at)) ||
	    within_any(dir->str, &p->values[KEY_FS_READ]) ||
	    within_any(dir->str, &p->values[KEY_FS_WRITE]) ||
	    p->values[KEY_FS_VIEW].num == VIEW_HOST) {
		return 0;
	}
	/* A missing directory is reported as such: a grant would not help. */
	if (check_directory(p, fs, KEY_CHDIR, e) != 0) {
		return -1;
	}
	(void)err_set(e, ERR_USAGE, "policy", "chdir %s (%s) contradicts workspace %s (%s)",
		      value_shown(dir->str, path, sizeof path),
		      policy_origin_text(&dir->origin, from, sizeof from),
		      value_shown(ws->str, space, sizeof space),
		      workspace_origin(&ws->origin, whose, sizeof whose));
	/* The directories above the workspace exist inside; a grant would show all of their
	 * entries, of / those of the whole host. */
	if (path_within(ws->str, dir->str)) {
		return err_fix(e,
			       "choose a directory in the workspace, or change it inside: "
			       "-c 'cd %s && COMMAND'",
			       path);
	}
	return err_fix(e, "choose a directory in the workspace, or grant this one: --read %s",
		       path);
}

static int check_paths(const struct policy *p, const struct policy_fs *fs, struct err *e) {
	const char *at = policy_str(p, KEY_FS_WORKSPACE_AT), *dir = policy_str(p, KEY_CHDIR);
	bool inside = at != NULL && dir != NULL && path_within(dir, at);
	if (check_present(p, fs, KEY_FS_READ, e) != 0 ||
	    check_present(p, fs, KEY_FS_WRITE, e) != 0 ||
	    check_directory(p, fs, KEY_FS_AGENT, e) != 0) {
		return -1;
	}
	/* A path beneath fs.workspace_at exists in the sandbox only; the plan checks it. */
	return inside ? 0 : check_directory(p, fs, KEY_CHDIR, e);
}

/* Variables that other keys set. */
static const struct {
	const char *name;
	const char *fix;
} computed[] = {
	{"HOME", "HOME is private; to keep it or not, or to use the workspace: fs.home (--home)"},
	{"PATH", "use env.path or env.path_prepend"},
	{"PWD", "use chdir"},
	{"TMPDIR", "/tmp is private; to set its size: limits.tmp_size (--tmp-size)"},
};

static bool name_is_valid(const char *name, size_t len) {
	for (size_t i = 0; i < len; i++) {
		char c = name[i];
		bool letter = (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_';
		if (!letter && (i == 0 || c < '0' || c > '9')) {
			return false;
		}
	}
	return len > 0;
}

static int refuse_name(const struct key *k, const struct item *item, const char *why,
		       struct err *e) {
	char copy[64], name[64], from[SHOWN_MAX];
	(void)snprintf(copy, sizeof copy, "%.*s", (int)strcspn(item->str, "="), item->str);
	return err_set(e, ERR_USAGE, "policy", "%s %s (%s): %s", k->name,
		       value_shown(copy, name, sizeof name),
		       policy_origin_text(&item->origin, from, sizeof from), why);
}

static int check_name(const struct policy *p, enum key_id key, const struct item *item,
		      struct err *e) {
	char name[256], why[160];
	size_t len = strcspn(item->str, "=");
	if (len >= sizeof name || !name_is_valid(item->str, len)) {
		(void)refuse_name(&keys[key], item, "not a valid variable name", e);
		return err_fix(e, "use letters, digits and _, and no digit first");
	}
	(void)snprintf(name, sizeof name, "%.*s", (int)len, item->str);
	const struct env_row *row = environment_row_for(name);
	if (row != NULL && row->class == ENV_RESERVED) {
		(void)refuse_name(&keys[key], item, "the name is reserved for Corral's own use", e);
		return err_fix(e, "use a name that does not begin with CORRAL_");
	}
	if (prefix_reserves(p, name)) {
		(void)refuse_name(&keys[key], item, "the names of env.prefix are reserved", e);
		return err_fix(e, "use env.labels, or another name");
	}
	if (key == KEY_ENV_ALLOW_DANGEROUS) {
		return 0;
	}
	for (size_t i = 0; i < ARRAY_LEN(computed); i++) {
		if (streq(computed[i].name, name)) {
			(void)refuse_name(&keys[key], item, "another key sets this variable", e);
			return err_fix(e, "%s", computed[i].fix);
		}
	}
	/* The administrator's own value needs no second permission, as /usr/local/node/lib/… for
	 * NODE_PATH; a value of another layer replaces it and is checked. */
	bool administered = key == KEY_ENV_SET && item->origin.kind == ORIGIN_SYSTEM;
	if (row == NULL || row->class != ENV_DANGEROUS || administered ||
	    find_item(&p->values[KEY_ENV_ALLOW_DANGEROUS], name) != NULL) {
		return 0;
	}
	(void)snprintf(why, sizeof why, "dangerous: %s", row->reason);
	(void)refuse_name(&keys[key], item, why, e);
	return err_fix(e, "to allow it: --allow-dangerous-env %s (env.allow_dangerous)", name);
}

static int check_names(const struct policy *p, enum key_id key, struct err *e) {
	const struct value *v = &p->values[key];
	for (size_t i = 0; i < v->count; i++) {
		if (check_name(p, key, &v->items[i], e) != 0) {
			return -1;
		}
	}
	return 0;
}

static int check_set_and_passed(const struct policy *p, struct err *e) {
	const struct value *set = &p->values[KEY_ENV_SET], *pass = &p->values[KEY_ENV_PASS];
	char a[SHOWN_MAX], b[SHOWN_MAX], name[256];
	for (size_t i = 0; i < set->count; i++) {
		(void)snprintf(name, sizeof name, "%.*s", (int)strcspn(set->items[i].str, "="),
			       set->items[i].str);
		const struct item *passed = find_item(pass, name);
		if (passed != NULL && !passed->optional) {
			(void)snprintf(a, sizeof a, "env.set %.80s", name);
			(void)snprintf(b, sizeof b, "env.pass %.80s", name);
			return check_contradiction(a, &set->items[i].origin, b, &passed->origin, e);
		}
	}
	return 0;
}

/* A secret's own name is checked when it is set. */
static int check_secret(const struct policy *p, const struct item *item, struct err *e) {
	static const enum key_id others[] = {KEY_ENV_SET, KEY_ENV_PASS};
	size_t len = strcspn(item->str, "=");
	struct item variable = *item;
	char a[SHOWN_MAX], b[SHOWN_MAX];
	if (!name_is_valid(item->str, len)) {
		(void)refuse_name(&keys[KEY_ENV_SECRETS], item, "not a valid name of a secret", e);
		return err_fix(e, "write NAME, or NAME=VARIABLE");
	}
	variable.str = item->str[len] == '=' ? item->str + len + 1 : item->str;
	/* Not printed: it may be a value. */
	if (!name_is_valid(variable.str, strlen(variable.str))) {
		(void)refuse_name(&keys[KEY_ENV_SECRETS], item,
				  "the text after \"=\" is not a variable name", e);
		return err_fix(e,
			       "write NAME=VARIABLE; a value comes from the vault: corral secret "
			       "set NAME");
	}
	if (check_name(p, KEY_ENV_SECRETS, &variable, e) != 0) {
		return -1;
	}
	for (size_t i = 0; i < ARRAY_LEN(others); i++) {
		const struct value *v = &p->values[others[i]];
		size_t n = strlen(variable.str);
		for (size_t k = 0; k < v->count; k++) {
			const char *other = v->items[k].str;
			/* "NAME?": the plan takes the vault's value, or else the caller's. */
			bool either = others[i] == KEY_ENV_PASS &&
				      (item->optional || v->items[k].optional);
			if (!either && strncmp(other, variable.str, n) == 0 &&
			    (other[n] == '\0' || other[n] == '=')) {
				(void)snprintf(a, sizeof a, "env.secrets %.80s", variable.str);
				(void)snprintf(b, sizeof b, "%s %.80s", keys[others[i]].name,
					       variable.str);
				return check_contradiction(a, &item->origin, b, &v->items[k].origin,
							   e);
			}
		}
	}
	return 0;
}

static int check_secrets(const struct policy *p, struct err *e) {
	const struct value *v = &p->values[KEY_ENV_SECRETS];
	for (size_t i = 0; i < v->count; i++) {
		if (check_secret(p, &v->items[i], e) != 0) {
			return -1;
		}
	}
	return 0;
}

/* execvp() takes an empty or relative component relative to the working directory. */
static int check_search_path(const struct policy *p, struct err *e) {
	const struct value *v = &p->values[KEY_ENV_PATH];
	char path[80], from[SHOWN_MAX];
	const char *at = v->set ? v->str : NULL;
	while (at != NULL) {
		if (*at != '/') {
			return err_set(e, ERR_USAGE, "policy",
				       "env.path \"%s\" (%s): each directory must be absolute",
				       value_shown(v->str, path, sizeof path),
				       policy_origin_text(&v->origin, from, sizeof from));
		}
		at = strchr(at, ':');
		at = at == NULL ? NULL : at + 1;
	}
	return 0;
}

static int check_denied_call(const struct item *it, struct err *e) {
	char name[48], from[SHOWN_MAX];
	enum syscall_id id = syscall_by_name(it->str);
	const char *why = id == CALL_COUNT ? "not the name of a system call" : syscall_needed(id);
	if (why == NULL) {
		return 0;
	}
	(void)err_set(e, ERR_USAGE, "policy", "seccomp.extra_deny %s (%s): %s",
		      value_shown(it->str, name, sizeof name),
		      policy_origin_text(&it->origin, from, sizeof from), why);
	return id == CALL_COUNT ? err_fix(e, "write the name as in man 2 syscalls") : -1;
}

int policy_check_calls(const struct policy *p, struct err *e) {
	const struct value *v = &p->values[KEY_SECCOMP_EXTRA_DENY];
	for (size_t i = 0; i < v->count; i++) {
		if (check_denied_call(&v->items[i], e) != 0) {
			return -1;
		}
	}
	return 0;
}

/* PATH cannot quote a colon. */
static int check_prepended(const struct policy *p, struct err *e) {
	const struct value *v = &p->values[KEY_ENV_PATH_PREPEND];
	char path[80], from[SHOWN_MAX];
	for (size_t i = 0; i < v->count; i++) {
		if (strchr(v->items[i].str, ':') != NULL) {
			return err_set(e, ERR_USAGE, "policy",
				       "env.path_prepend %s (%s): a directory of PATH has no colon",
				       value_shown(v->items[i].str, path, sizeof path),
				       policy_origin_text(&v->items[i].origin, from, sizeof from));
		}
	}
	return 0;
}

int policy_check_environment(const struct policy *p, struct err *e) {
	return policy_check_prefix(p, e) != 0 || check_names(p, KEY_ENV_ALLOW_DANGEROUS, e) != 0 ||
			       check_names(p, KEY_ENV_PASS, e) != 0 ||
			       check_names(p, KEY_ENV_SET, e) != 0 ||
			       check_set_and_passed(p, e) != 0 || check_secrets(p, e) != 0 ||
			       check_search_path(p, e) != 0 || check_prepended(p, e) != 0
		       ? -1
		       : 0;
}

static int check_audit(const struct policy *p, struct err *e) {
	char from[SHOWN_MAX];

	if (policy_num(p, KEY_AUDIT_REQUIRED) == 0 || policy_num(p, KEY_AUDIT_ENABLED) != 0 ||
	    !p->values[KEY_AUDIT_ENABLED].set) {
		return 0;
	}
	(void)err_set(e, ERR_USAGE, "policy",
		      "audit.enabled is false, but audit.required (%s) is true",
		      policy_origin_text(&p->values[KEY_AUDIT_REQUIRED].origin, from, sizeof from));
	return err_fix(e, "remove one of the two");
}

int policy_check_layer(const struct policy *layer, struct err *e) {
	return full_access_contradiction(layer, e) != 0 || check_denied(layer, e) != 0 ||
			       check_mode(layer, e) != 0 || check_level(layer, e) != 0 ||
			       check_audit(layer, e) != 0 ||
			       (layer->values[KEY_NET_MODE].set && policy_check_net(layer, e) != 0)
		       ? -1
		       : 0;
}

int policy_check(const struct policy *p, const struct policy_fs *fs, struct err *e) {
	return policy_check_full_access(p, e) != 0 || check_denied(p, e) != 0 ||
			       check_mode(p, e) != 0 || check_level(p, e) != 0 ||
			       check_chdir(p, fs, e) != 0 || check_workspace_at(p, e) != 0 ||
			       policy_check_environment(p, e) != 0 ||
			       policy_check_calls(p, e) != 0 || policy_check_net(p, e) != 0 ||
			       check_audit(p, e) != 0 || check_paths(p, fs, e) != 0
		       ? -1
		       : 0;
}
