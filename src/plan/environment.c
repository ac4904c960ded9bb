/* SPDX-License-Identifier: Apache-2.0 */
/* Builds the environment of the command, starting from an empty one.
 *
 * Should:   contain the variables of a table (PATH, HOME, locale, terminal), those that
 *           the policy names, and no other, sorted by name.
 * Must not: copy the caller's environment and remove entries: a secret with an
 *           unknown name would stay (EV02).
 * Fails:    closed: a name without a row and without a rule is not passed. */
#include "plan/internal.h"

#include "base/path.h"
#include "base/str.h"
#include "data/environment.h"
#include "data/prefixes.h"
#include "policy/endpoint.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

#define DEFAULT_PATH "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
#define DEFAULT_SHELL "/bin/sh"

/* Length of a well-formed name before '=', or 0. */
static size_t name_length(const char *entry) {
	size_t n = 0;
	if (!isalpha((unsigned char)entry[0]) && entry[0] != '_') {
		return 0;
	}
	while (isalnum((unsigned char)entry[n]) || entry[n] == '_') {
		n++;
	}
	return entry[n] == '=' ? n : 0;
}

/* Adds "NAME=VALUE", or replaces the value of NAME. */
void plan_set_entry(struct builder *b, const char *entry) {
	struct plan *plan = b->plan;
	size_t n = strcspn(entry, "=") + 1;
	char *copy = arena_strdup(b->a, entry);
	size_t used = plan->env == NULL ? 0 : plan->nenv + 1; /* with the NULL at the end */
	if (copy == NULL ||
	    arena_grow(b->a, &plan->env, used, &plan->env_cap, sizeof *plan->env) != 0) {
		b->out_of_memory = true;
		return;
	}
	for (size_t i = 0; i < plan->nenv; i++) {
		if (strncmp(plan->env[i], entry, n) == 0) {
			plan->env[i] = copy;
			return;
		}
	}
	plan->env[plan->nenv++] = copy;
	plan->env[plan->nenv] = NULL;
}

static void set_variable(struct builder *b, const char *name, const char *value) {
	if (value == NULL) {
		return;
	}
	plan_set_entry(b, plan_keep_printf(b, "%s=%s", name, value));
}

static bool has_variable(const struct plan *plan, const char *entry, size_t name) {
	for (size_t i = 0; i < plan->nenv; i++) {
		if (strncmp(plan->env[i], entry, name + 1) == 0) {
			return true;
		}
	}
	return false;
}

/* Longer than any name in the table. */
#define NAME_KNOWN_MAX 64

static bool is_passed(const char *entry, size_t len) {
	char name[NAME_KNOWN_MAX];
	if (len >= sizeof name) {
		return false;
	}
	memcpy(name, entry, len);
	name[len] = '\0';
	const struct env_row *row = environment_row_for(name);
	return row != NULL && row->class == ENV_PASSED;
}

static void pass_known(struct builder *b) {
	for (size_t i = 0; b->h->environ != NULL && b->h->environ[i] != NULL; i++) {
		const char *entry = b->h->environ[i];
		size_t n = name_length(entry);
		/* The first of duplicates counts, as for getenv(). */
		if (n != 0 && is_passed(entry, n) && !has_variable(b->plan, entry, n)) {
			plan_set_entry(b, entry);
			plan_variable_used(b->h, i, VARIABLE_PASSED);
		}
	}
}

static void pass_named(struct builder *b) {
	const struct value *names = &b->p->values[KEY_ENV_PASS];
	for (size_t i = 0; i < names->count; i++) {
		const char *name = names->items[i].str;
		const char *value = plan_secrets_has(b->h, name)
					    ? NULL /* the vault's value is used */
					    : plan_variable_for(b->h, name, VARIABLE_PASSED);
		if (value == NULL) {
			continue;
		}
		set_variable(b, name, value);
		const struct env_row *row = environment_row_for(name);
		if (row != NULL && row->class == ENV_SECRET) {
			plan_warn(b, plan_keep_printf(b, "%s is passed to the command: %s", name,
						      row->reason));
		}
	}
}

/* The caller's PATH without relative entries. */
static const char *search_path(struct builder *b) {
	const char *given = policy_str(b->p, KEY_ENV_PATH);
	const char *path = given != NULL ? given : plan_caller_variable(b->h, "PATH");
	char *out = path == NULL ? NULL : arena_alloc(b->a, strlen(path) + 1);
	if (path != NULL && out == NULL) {
		b->out_of_memory = true;
	}
	if (out == NULL) {
		return DEFAULT_PATH;
	}
	size_t len = 0;
	for (const char *p = path;;) {
		size_t n = strcspn(p, ":");
		if (n > 0 && p[0] == '/') {
			if (len > 0) {
				out[len++] = ':';
			}
			memcpy(out + len, p, n);
			len += n;
		}
		if (p[n] == '\0') {
			break;
		}
		p += n + 1;
	}
	out[len] = '\0';
	return len == 0 ? DEFAULT_PATH : out;
}

/* Beneath the private home a directory above the workspace is read-only, but it is not the host's.
 */
static bool is_of_private_home(const struct plan *plan, const char *path) {
	const struct mount *over = plan_mount_over(plan, path);
	return over != NULL && over->note != NULL && streq(over->note, "private home");
}

/* Where a grant shows a tree of the host, the host has to have the directory. */
static bool is_missing(struct builder *b, const char *path) {
	char host[PATH_MAX];
	return plan_host_path(b->plan, path, host) &&
	       host_fs_resolve(b, plan_keep_printf(b, "%s", host)) == NULL;
}

/* Refuses a directory of env.path_prepend that the command does not have, or in which the command
 * could plant programs. */
static int check_prepended(struct builder *b, const struct item *it, struct err *e) {
	static const char *const reasons[] = {
		[VISIBILITY_NONE] = "the sandbox does not show it",
		[VISIBILITY_DENIED] = "a rule hides it",
		[VISIBILITY_PRIVATE] = "a private directory of the run covers it",
		[VISIBILITY_READ] = NULL,
		[VISIBILITY_WRITE] = "the command can write it",
	};
	const char *full = host_fs_resolve(b, it->str);
	const char *why = reasons[plan_visibility(b->plan, it->str)];
	char origin[128];
	if (why == NULL && full != NULL && !streq(full, it->str)) {
		why = reasons[plan_visibility(b->plan, full)];
	}
	if (why == NULL && is_of_private_home(b->plan, it->str)) {
		why = reasons[VISIBILITY_PRIVATE];
	}
	if (why == NULL && is_missing(b, it->str)) {
		why = "it does not exist";
	}
	if (why == NULL && plan_writes_elsewhere(b->plan, it->str)) {
		why = "the command can write it at another path, which the grant maps there";
	}
	/* Without Landlock every file can be written, and the guarantees report it. */
	if (why == NULL || b->plan->engine < ENGINE_LANDLOCK) {
		return 0;
	}
	err_set(e, ERR_REFUSED, WHERE, "env.path_prepend %s (%s): %s", it->str,
		policy_origin_text(&it->origin, origin, sizeof origin), why);
	return err_fix(e, "use a directory that is read-only inside, and grant it: --read %s",
		       it->str);
}

static int prepend_path(struct builder *b, const char **path, struct err *e) {
	const struct value *v = &b->p->values[KEY_ENV_PATH_PREPEND];
	for (size_t i = v->count; i-- > 0;) {
		struct item it = v->items[i];
		if (it.optional && host_fs_resolve(b, it.str) == NULL) {
			continue;
		}
		if (it.tool && !b->no_namespaces) {
			it.str = it.at; /* where view.c shows it */
		}
		if (check_prepended(b, &it, e) != 0) {
			return -1;
		}
		*path = plan_keep_printf(b, "%s:%s", it.str, *path);
	}
	return 0;
}

/* The caller's shell, if it lies in a system directory that is shown. */
static const char *shell(const struct builder *b) {
	const char *path = plan_caller_variable(b->h, "SHELL");
	if (path == NULL || path[0] != '/' || strstr(path, "/../") != NULL) {
		return DEFAULT_SHELL;
	}
	for (size_t i = 0; i < system_roots.count; i++) {
		const struct path_row *row = &system_roots.rows[i];
		bool shown = b->view != VIEW_MINIMAL || (row->flags & PATH_MINIMAL) != 0;
		if (shown && (row->flags & PATH_EXEC) != 0 && path_within(path, row->path)) {
			return path;
		}
	}
	return DEFAULT_SHELL;
}

static int set_computed(struct builder *b, struct err *e) {
	const struct plan *plan = b->plan;
	const char *path = search_path(b);
	if (prepend_path(b, &path, e) != 0) {
		return -1;
	}
	set_variable(b, "PATH", path);
	set_variable(b, "HOME", plan->home_at);
	set_variable(b, "TMPDIR", b->no_namespaces ? plan->run_dir : "/tmp");
	if (b->no_namespaces) {
		set_variable(b, "TMUX_TMPDIR", plan->run_dir); /* tmux does not read TMPDIR */
	}
	/* The minimal view has one account. */
	const char *user = b->view == VIEW_MINIMAL && !b->no_namespaces ? MINIMAL_USER : b->h->user;
	set_variable(b, "USER", user);
	set_variable(b, "LOGNAME", user);
	set_variable(b, "SHELL", shell(b));
	set_variable(b, "PWD", plan->cwd);
	set_variable(b, "GIT_CONFIG_SYSTEM", b->identity_at);
	if (!b->no_namespaces) { /* the host's has its sockets */
		set_variable(b, "XDG_RUNTIME_DIR", plan_keep_printf(b, "/run/user/%u", plan->uid));
	}
	return 0;
}

#define BY_TCP "use-vc"

/* Without a network namespace the filter allows no UDP; the option makes the C library's resolver
 * use TCP.  Other options of the caller stay. */
static void resolve_over_tcp(struct builder *b) {
	const char *options = b->h->asks ? BY_TCP " " NET_PATIENT : BY_TCP;

	for (size_t i = 0; i < b->plan->nenv; i++) {
		if (str_starts(b->plan->env[i], "RES_OPTIONS=")) {
			plan_set_entry(b, plan_keep_printf(b, "%s %s", b->plan->env[i], options));
			return;
		}
	}
	set_variable(b, "RES_OPTIONS", options);
}

/* By name alone: no two entries share one. */
static int entry_order(const void *left, const void *right) {
	const char *a = *(char *const *)left, *b = *(char *const *)right;
	size_t na = strcspn(a, "="), nb = strcspn(b, "=");
	int order = strncmp(a, b, na < nb ? na : nb);
	return order != 0 ? order : (int)na - (int)nb;
}

/* How often package managers retry a download. */
static void set_retries(struct builder *b) {
	const struct plan *plan = b->plan;
	bool offline = plan->own_net && plan->net.mode == NET_NONE;
	const char *const *list = offline ? env_offline : env_filtered;
	bool any = offline || net_has_names(&plan->net);

	for (; any && *list != NULL; list++) {
		plan_set_entry(b, *list);
	}
}

/* ---- the names of a host product ---- */

static const char *label_of(const struct builder *b, const char *name) {
	const struct value *labels = &b->p->values[KEY_ENV_LABELS];
	size_t n = strlen(name);
	for (size_t i = 0; i < labels->count; i++) {
		const char *text = labels->items[i].str;
		if (strncmp(text, name, n) == 0 && text[n] == '=') {
			return text + n + 1;
		}
	}
	return NULL;
}

/* The path inside of the first socket; NULL without one. */
static const char *first_socket(const struct builder *b) {
	const struct value *sockets = &b->p->values[KEY_NET_SOCKETS];
	if (sockets->count == 0) {
		return NULL;
	}
	const char *split = endpoint_socket_split(sockets->items[0].str);
	return split == NULL ? sockets->items[0].str : split + 1;
}

static const char *prefix_value(const struct builder *b, const struct prefix_row *row) {
	switch (row->source) {
	case SOURCE_SANDBOX_ID:
		return b->h->run_uuid;
	case SOURCE_WORKSPACE:
		return b->plan->workspace_at;
	case SOURCE_AGENT:
		return policy_str(b->p, KEY_FS_AGENT) == NULL ? NULL : AGENT_AT;
	case SOURCE_SOCKET:
		return first_socket(b);
	case SOURCE_LABEL:
	case SOURCE_LABEL_OR_EMPTY:
		break;
	}
	const char *label = label_of(b, row->name);
	return label == NULL && row->source == SOURCE_LABEL_OR_EMPTY ? "" : label;
}

static void set_prefixed(struct builder *b) {
	const struct value *labels = &b->p->values[KEY_ENV_LABELS];
	const char *prefix = policy_str(b->p, KEY_ENV_PREFIX);
	for (size_t i = 0; i < labels->count; i++) {
		plan_set_entry(b, plan_keep_printf(b, "CORRAL_%s", labels->items[i].str));
		if (prefix != NULL) {
			plan_set_entry(b,
				       plan_keep_printf(b, "%s_%s", prefix, labels->items[i].str));
		}
	}
	if (prefix == NULL) {
		return;
	}
	set_variable(b, "CORRAL_SANDBOX_ID", b->h->run_id);
	const char *rows = prefixes_rows_of(prefix);
	for (size_t i = 0; i < prefix_rows_count; i++) {
		if (streq(prefix_rows[i].prefix, rows)) {
			set_variable(b, plan_keep_printf(b, "%s_%s", prefix, prefix_rows[i].name),
				     prefix_value(b, &prefix_rows[i]));
		}
	}
}

int environment_build(struct builder *b, struct err *e) {
	struct plan *plan = b->plan;
	const struct value *set = &b->p->values[KEY_ENV_SET];

	/* Later ones replace earlier ones of the same name. */
	set_retries(b);
	pass_known(b);
	for (size_t i = 0; i < b->ntool_env; i++) {
		plan_set_entry(b, b->tool_env[i]);
	}
	pass_named(b);
	if (set_computed(b, e) != 0) {
		return -1;
	}
	for (size_t i = 0; plan->net.proxy && env_proxies[i] != NULL; i++) {
		plan_set_entry(b, env_proxies[i]);
	}
	for (size_t i = 0; i < set->count; i++) {
		plan_set_entry(b, set->items[i].str);
	}
	plan_secrets_variables(b);
	if (b->no_namespaces && net_has_names(&plan->net)) {
		resolve_over_tcp(b);
	}
	set_prefixed(b);
	set_variable(b, "CORRAL_WORKSPACE", plan->workspace_at);
	set_variable(b, "CORRAL_LEVEL", plan_level_name(plan->level));
	if (plan->depth > 1) {
		set_variable(b, "CORRAL_DEPTH", plan_keep_printf(b, "%u", plan->depth));
	}
	if (b->out_of_memory) {
		return err_memory(e, WHERE);
	}
	qsort(plan->env, plan->nenv, sizeof *plan->env, entry_order);
	return 0;
}
