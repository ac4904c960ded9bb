/* SPDX-License-Identifier: Apache-2.0 */
/* Builds the plan of a run from a policy and the facts of a host.
 *
 * Should:   decide everything that can be decided before a process exists.
 * Must not: open, read or change anything: facts come from struct host alone, so that a plan for
 *           any other machine can be made and printed here.
 * Fails:    closed: a setting that this host cannot enforce is an error with a remedy. */
#include "plan/plan.h"

#include "base/auto.h"
#include "base/path.h"
#include "base/str.h"
#include "data/syscalls.h"
#include "plan/internal.h"
#include "plan/leaks.h"
#include "plan/limits.h"

#include <limits.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- functions that all files use ---- */

const char *plan_keep_join(struct builder *b, const char *dir, const char *rest) {
	const char *path = path_join(b->a, dir, rest);
	if (path == NULL) {
		b->out_of_memory = true;
		return "";
	}
	return path;
}

const char *plan_keep_rebased(struct builder *b, const char *path, const char *dir,
			      const char *to) {
	size_t cap = strlen(to) + strlen(path) + 1;
	char *s = arena_alloc(b->a, cap);
	if (s == NULL) {
		b->out_of_memory = true;
		return "";
	}
	(void)path_rebase(path, dir, to, s, cap); /* it fits */
	return s;
}

const char *plan_keep_printf(struct builder *b, const char *fmt, ...) {
	va_list ap;
	va_start(ap, fmt);
	const char *s = arena_vprintf(b->a, fmt, ap);
	va_end(ap);
	b->out_of_memory = b->out_of_memory || s == NULL;
	return s == NULL ? "" : s;
}

const char *plan_keep_cut(struct builder *b, const char *text, size_t len) {
	const char *s = arena_strndup(b->a, text, len);
	b->out_of_memory = b->out_of_memory || s == NULL;
	return s == NULL ? "" : s;
}

const char *plan_keep_copy(struct builder *b, const char *text) {
	return plan_keep_cut(b, text, strlen(text));
}

const char *plan_keep_child(struct builder *b, const char *dir, const char *name, size_t len) {
	size_t above = strlen(dir);
	char *s = arena_alloc(b->a, above + len + 2);
	if (s == NULL) {
		b->out_of_memory = true;
		return "";
	}
	memcpy(s, dir, above);
	s[above] = '/';
	memcpy(s + above + 1, name, len);
	s[above + 1 + len] = '\0';
	return s;
}

void plan_note(struct builder *b, const char *text) {
	struct plan *plan = b->plan;
	if (arena_grow(b->a, &plan->notes, plan->nnotes, &plan->notes_cap, sizeof *plan->notes) !=
	    0) {
		b->out_of_memory = true;
		return;
	}
	plan->notes[plan->nnotes++] = text;
}

void plan_add_unkept(struct builder *b, const char *text) {
	plan_note(b, text);
	if (b->plan->unkept == NULL || strcmp(text, b->plan->unkept) < 0) {
		b->plan->unkept = text; /* the smallest, for every order of rules (L2) */
	}
}

void plan_warn(struct builder *b, const char *text) {
	struct plan *plan = b->plan;
	if (arena_grow(b->a, &plan->warnings, plan->nwarnings, &plan->warnings_cap,
		       sizeof *plan->warnings) != 0) {
		b->out_of_memory = true;
		return;
	}
	plan->warnings[plan->nwarnings++] = text;
}

void plan_variable_used(const struct host *h, size_t i, enum variable_use use) {
	if (h->environ_used != NULL && h->environ_used[i] < use) {
		h->environ_used[i] = (unsigned char)use;
	}
}

const char *plan_variable_for(const struct host *h, const char *name, enum variable_use use) {
	size_t len = strlen(name);
	for (size_t i = 0; h->environ != NULL && h->environ[i] != NULL; i++) {
		if (h->environ[i][0] == name[0] && strncmp(h->environ[i], name, len) == 0 &&
		    h->environ[i][len] == '=') {
			plan_variable_used(h, i, use);
			return h->environ[i] + len + 1;
		}
	}
	return NULL;
}

const char *plan_caller_variable(const struct host *h, const char *name) {
	return plan_variable_for(h, name, VARIABLE_READ);
}

/* Of plan.own_dirs: from here on directories of the daemon's sockets. */
#define OWN_RUNTIME 3

/* The socket of a session and its copy of an agent's files are "s/ID.sock" and "s/ID.c" there; the
 * policy of the session grants them. */
static bool is_of_session(const char *path, const char *runtime_dir) {
	const char *rest = path + strlen(runtime_dir);
	return str_starts(rest, "/s/") && rest[3] != '\0';
}

const char *plan_own_dir(const struct builder *b, const char *path) {
	const char *const *own = b->plan->own_dirs;
	for (size_t i = 0; i < ARRAY_LEN(b->plan->own_dirs); i++) {
		if (own[i] != NULL && path_within(path, own[i]) &&
		    !(i >= OWN_RUNTIME && is_of_session(path, own[i]))) {
			return own[i];
		}
	}
	return NULL;
}

const char *plan_reserved_reason(const char *path) {
	const char *reason = NULL;
	for (size_t i = 0; i < reserved_paths.count; i++) {
		const struct path_row *row = &reserved_paths.rows[i];
		if (streq(path, row->path) ||
		    ((row->flags & PATH_BENEATH) != 0 && path_within(path, row->path))) {
			reason = row->reason;
		} else if ((row->flags & PATH_OPEN) != 0 && path_within(path, row->path)) {
			return NULL;
		}
	}
	return reason;
}

/* seccomp.extra_deny.  Level none has no filter. */
static int deny_calls(struct builder *b, struct err *e) {
	const struct value *v = &b->p->values[KEY_SECCOMP_EXTRA_DENY];
	if (v->count == 0) {
		return 0;
	}
	if (b->plan->level == LEVEL_NONE) {
		char origin[128];
		(void)err_set(e, ERR_SETUP, WHERE,
			      "seccomp.extra_deny (%s) cannot be enforced at level none",
			      policy_origin_text(&v->items[0].origin, origin, sizeof origin));
		return err_fix(e, "use --level minimal or higher, or remove the key");
	}
	bool *denied = arena_array(b->a, CALL_COUNT, sizeof *denied);
	if (denied == NULL) {
		return err_memory(e, WHERE);
	}
	for (size_t i = 0; i < v->count; i++) {
		denied[syscall_by_name(v->items[i].str)] = true; /* valid: checked before */
	}
	b->plan->denied = denied;
	return 0;
}

/* ---- the steps ---- */

/* The user's policy, in a directory of Corral's own. */
#define POLICY_NAME "corral.toml"

/* Where a runtime directory that is not the system's leads to: a grant shows the directory, not the
 * symlink. */
static const char *real_runtime_dir(struct builder *b, const char *xdg, const char *name) {
	const char *full = host_fs_resolve(b, name);

	if (full == NULL) { /* "corral" does not exist yet */
		const char *dir = host_fs_resolve(b, xdg);
		full = dir == NULL ? NULL : plan_keep_join(b, dir, "corral");
	}
	return full == NULL || streq(full, name) ? NULL : full;
}

/* The directories of the daemon's sockets (base/runtime_dir.h): a command that replaced a socket
 * could answer the questions of other runs.  /run/user/UID is not resolved, so a run whose grants
 * do not show it makes no system call for it.  Root without a login has one of two directories. */
static void name_runtime_dirs(struct builder *b) {
	const char **own = &b->plan->own_dirs[OWN_RUNTIME];
	const char *xdg = plan_caller_variable(b->h, "XDG_RUNTIME_DIR");
	const char *login = plan_keep_printf(b, "/run/user/%u/corral", b->h->uid);

	if (xdg != NULL && xdg[0] == '/') {
		own[0] = plan_keep_join(b, xdg, "corral");
		own[1] = streq(own[0], login) ? NULL : real_runtime_dir(b, xdg, own[0]);
		return;
	}
	own[0] = login;
	own[1] = b->h->uid == 0 ? "/run/corral" : NULL;
}

/* The directories with Corral's state, policy files and sockets, which decide about other runs. */
static void find_own_dirs(struct builder *b) {
	const struct host *h = b->h;
	const char *config = plan_caller_variable(h, "XDG_CONFIG_HOME");
	const char *dirs[] = {
		h->state_dir,
		h->home == NULL ? NULL : plan_keep_join(b, h->home, ".config/corral"),
		config == NULL || config[0] != '/' ? NULL : plan_keep_join(b, config, "corral"),
	};
	for (size_t i = 0; i < ARRAY_LEN(dirs); i++) {
		bool exists = dirs[i] != NULL && host_fs_look(b, dirs[i]).kind != LOOK_NOTHING;
		const char *full = exists ? host_fs_resolve(b, dirs[i]) : NULL;
		if (exists && full == NULL) {
			full = link_end(b, dirs[i]); /* a command could create it */
		}
		b->plan->own_dirs[i] = full != NULL ? full : dirs[i];
		if (exists && i > 0) {
			b->plan->own_files[i - 1] = plan_keep_join(b, dirs[i], POLICY_NAME);
		}
	}
	name_runtime_dirs(b);
}

static void choose_cwd(struct builder *b) {
	struct plan *plan = b->plan;
	const char *dir = policy_str(b->p, KEY_CHDIR);
	if (dir == NULL) {
		bool inside = b->h->cwd != NULL && path_within(b->h->cwd, plan->workspace);
		dir = inside ? b->h->cwd : plan->workspace;
	}
	plan->cwd = path_within(dir, plan->workspace)
			    ? plan_keep_rebased(b, dir, plan->workspace, plan->workspace_at)
			    : dir;
}

static int note_order(const void *a, const void *b) {
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Each note once.  A policy of thousands of rules has as many of them, so none is searched. */
static void sort_notes(struct plan *plan) {
	size_t kept = 0;
	if (plan->nnotes > 1) {
		qsort(plan->notes, plan->nnotes, sizeof *plan->notes, note_order);
	}
	for (size_t i = 0; i < plan->nnotes; i++) {
		if (kept == 0 || !streq(plan->notes[kept - 1], plan->notes[i])) {
			plan->notes[kept++] = plan->notes[i];
		}
	}
	plan->nnotes = kept;
}

static int build(struct builder *b, struct err *e) {
	struct plan *plan = b->plan;
	plan->hostname = "localhost"; /* resolves with every /etc/hosts */
	find_own_dirs(b);
	if (deny_calls(b, e) != 0) {
		return -1;
	}
	for (size_t i = 0; i < b->p->nremarks; i++) {
		plan_warn(b, b->p->remarks[i]);
	}
	if ((b->no_namespaces && no_namespaces_check(b, e) != 0) || nested_check(b, e) != 0 ||
	    net_choose(b, e) != 0) {
		return -1;
	}
	if (view_build(b, e) != 0 || net_show(b, e) != 0 ||
	    (policy_num(b->p, KEY_FS_TOOLCHAINS) && toolchains_show(b, e) != 0) ||
	    plan_secrets_show(b, e) != 0) {
		return -1;
	}
	compose_settle(b);
	patterns_build(b);
	if (b->plan->engine == ENGINE_SEATBELT) {
		seatbelt_extend_rules(b);
	}
	if (patterns_check(b, e) != 0 || floor_grants(b, e) != 0 || masks_build(b, e) != 0 ||
	    compose(b, e) != 0 || cow_check(b, e) != 0) {
		return -1;
	}
	home_set_build(b);
	b->plan->denials = (enum denials_recorded)policy_num(b->p, KEY_DENIALS);
	if (b->no_namespaces) {
		no_namespaces_traits(b);
	} else {
		broker_traits_needed(b);
	}
	follow_mark(b);
	choose_cwd(b);
	if (net_finish(b, e) != 0 || environment_build(b, e) != 0) {
		return -1;
	}
	exec_build(b);
	sort_notes(plan);
	return b->out_of_memory ? err_memory(e, WHERE) : 0;
}

int plan_build(struct arena *a, const struct policy *p, const struct host *h, struct plan *ret,
	       struct err *e) {
	struct plan plan = {.engine = ENGINE_NONE, .depth = nested_depth(h)};
	struct builder b = {
		.a = a,
		.p = p,
		.h = h,
		.plan = &plan,
		.view = (enum view)policy_num(p, KEY_FS_VIEW),
		.read_only = policy_num(p, KEY_MODE) == MODE_READ_ONLY,
	};
	if (engine_choose(&plan, p, h, e) != 0) {
		return -1;
	}
	b.no_namespaces = plan_lacks_namespaces(&plan);
	plan.uid = p->values[KEY_UID].set ? (uint32_t)policy_num(p, KEY_UID) : h->uid;
	plan.gid = p->values[KEY_GID].set ? (uint32_t)policy_num(p, KEY_GID) : h->gid;
	if (build(&b, e) != 0) {
		return -1;
	}
	guarantees_make(&plan);
	if (plan_leaks(&plan, p, h, e) != 0 || plan_limits(&plan, p, h, e) != 0) {
		return -1;
	}
	if (plan.engine == ENGINE_SEATBELT) {
		guarantees_seatbelt_lower(&plan);
	}
	if (guarantees_check(&plan, p, e) != 0) {
		return -1;
	}
	guarantees_warn(&b);
	*ret = plan;
	return b.out_of_memory ? err_memory(e, WHERE) : 0;
}
