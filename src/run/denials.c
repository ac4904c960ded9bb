/* SPDX-License-Identifier: Apache-2.0 */
/* Turns the broker's records of refused calls into denials with rule, origin and remedy.
 *
 * Should:   keep a refusal that the caller would not have met on the host, once, with its rule.
 * Must not: reveal by its presence whether a credential of HOME exists: such a path is listed in
 *           either case; open a file of the host.
 * Fails:    open: out of memory, denials are only counted. */
#include "run/denials.h"

#include "base/auto.h"
#include "base/buf.h"
#include "base/path.h"
#include "base/str.h"
#include "data/syscalls.h"
#include "plan/home.h"
#include "plan/refusal.h"
#include "run/denials_judge.h"
#include "run/leak_tap.h"
#include "run/leak_text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- the same operation on the host ---- */

const char *denials_host_path(struct arena *a, const struct plan *plan, const char *path) {
	char host[PATH_MAX];

	if (plan->home_own != NULL && path_within(path, plan->home_at) &&
	    plan_mount_visibility(plan, path) == VISIBILITY_PRIVATE) {
		return arena_printf(a, "%s%s", plan->home_own, path_rest(path, plan->home_at));
	}
	return plan_host_path(plan, path, host) ? arena_strdup(a, host) : path;
}

static bool has_right(const char *path, int mode) {
	return faccessat(AT_FDCWD, path, mode, AT_EACCESS) == 0;
}

static bool exists(const char *path) {
	struct stat st;
	return lstat(path, &st) == 0;
}

static bool is_owned(const char *path) {
	struct stat st;
	return stat(path, &st) == 0 && (geteuid() == 0 || st.st_uid == geteuid());
}

static bool is_socket(const char *path) {
	struct stat st;
	return stat(path, &st) == 0 && S_ISSOCK(st.st_mode) && has_right(path, W_OK);
}

/* second: the new name of a call with two paths. */
static bool works_on_host(enum denial_op op, bool second, const char *path) {
	char dir[PATH_MAX];
	const char *above = path_parent(path, dir) ? dir : "/";
	bool writes_names = has_right(above, W_OK | X_OK);

	switch (second ? NEED_DIRECTORY : denial_ops[op].need) {
	case NEED_EXISTS:
		return has_right(path, F_OK);
	case NEED_READ:
		return has_right(path, R_OK);
	case NEED_WRITE:
		return has_right(path, W_OK);
	case NEED_DIRECTORY:
		/* An existing file is opened for writing instead of created, and an existing
		 * directory is enough for `mkdir -p`, whatever the rights of the one above it. */
		return (op == DENIAL_CREATE || op == DENIAL_MKDIR) && has_right(path, F_OK)
			       ? has_right(path, W_OK)
			       : writes_names;
	case NEED_ENTRY:
		return writes_names && exists(path);
	case NEED_OWNER:
		return is_owned(path);
	case NEED_SOCKET:
		return is_socket(path);
	case NEED_EXECUTE:
		return denied_exec_works(path);
	case NEED_CAPABILITY:
		break;
	}
	return false;
}

/* ---- the option ---- */

/* The path itself if the host has it, else the nearest directory above it that exists.  NULL: that
 * would be the caller's HOME, a directory above it, or the root. */
static const char *grantable(struct arena *a, const struct plan *plan, const char *path) {
	const char *home = plan->home_own != NULL ? plan->home_own : plan->home_at;
	char *at = path == NULL ? NULL : arena_strdup(a, path);

	while (at != NULL && !has_right(at, F_OK)) {
		char *slash = strrchr(at, '/');
		if (slash == NULL || slash == at) {
			return NULL;
		}
		*slash = '\0';
	}
	return at == NULL || (home != NULL && path_within(home, at)) ? NULL : at;
}

/* To remove or rename a file, the directory has to be writable: the grant of a file is a mount of
 * it, which cannot be moved. */
static const char *granted(struct arena *a, enum denial_op op, const char *path) {
	const char *slash = strrchr(path, '/');

	if (denial_ops[op].need != NEED_ENTRY || slash == path) {
		return path;
	}
	return arena_printf(a, "%.*s", (int)(slash - path), path);
}

/* ---- the rule ---- */

static const char *rule_text(struct arena *a, const struct verdict *v) {
	struct buf text;

	buf_init(&text);
	refusal_put_rule(&text, v);
	const char *copy = buf_failed(&text) ? NULL : arena_strdup(a, text.data);
	buf_done(&text);
	return copy;
}

static bool is_about_secrets(const struct verdict *v) {
	return v->cause == CAUSE_CREDENTIAL || v->cause == CAUSE_OWN;
}

/* As `corral why`: by its name, or by that of the file that a symlink of the host leads to. */
static bool is_credential(const struct host *h, const char *path) {
	char real[PATH_MAX];

	return plan_is_credential(h, path) ||
	       (realpath(path, real) != NULL && plan_is_credential(h, real));
}

/* The rule that refuses it.  A credential in the hidden HOME is one as well as in a shown HOME. */
static void find_rule(const struct refusal_question *q, const struct journal_refusal *r,
		      bool credential, struct verdict *ret) {
	if (r->op == DENIAL_CONNECT) {
		refusal_say(q, CAUSE_SOCKET, ret);
	} else {
		refusal_judge(q, ret);
	}
	if (ret->kind == ERR_NONE && (r->error == EBUSY || r->error == EXDEV)) {
		refusal_judge_move(q, ret);
	}
	if (ret->kind == ERR_NONE && r->op == DENIAL_SYMLINK && r->error == EBUSY) {
		refusal_judge_link(q, ret);
	}
	bool outside = ret->cause == CAUSE_HOME || ret->cause == CAUSE_OTHER_HOME ||
		       ret->cause == CAUSE_OUTSIDE;
	if (outside && credential) {
		refusal_say(q, CAUSE_CREDENTIAL, ret);
	}
}

/* Beneath the private HOME, and not where programs keep caches and settings, whose directories they
 * create when they miss them. */
static bool is_users_own(const struct plan *plan, const char *path) {
	const char *home = plan->home_at;

	if (home == NULL || !path_within(path, home) || streq(path, home)) {
		return false;
	}
	const char *first = path + strlen(home) + 1;
	return !home_is_for_tools(first, strcspn(first, "/"));
}

/* Whether a name is only missing in a private directory, where the command may create it: mkdir(2)
 * without its parent.  A directory of the user's own in HOME is there on the host, or the call
 * would fail there too.  Of secrets also a missing file that is to be renamed or removed. */
static bool is_absent(const struct plan *plan, const struct journal_refusal *r, const char *path,
		      bool secret) {
	bool own = !secret && is_users_own(plan, path);

	return r->error == ENOENT && denial_ops[r->op].changes &&
	       (secret || denial_ops[r->op].need == NEED_DIRECTORY) && !own &&
	       plan_mount_visibility(plan, path) == VISIBILITY_PRIVATE;
}

/* Judges one path of the record; false: no rule refuses it, or the host would have, too. */
static bool judge_path(const struct judging *g, const struct journal_refusal *r, int i,
		       struct denial *ret) {
	bool known = r->resolved[i][0] == '/';
	const char *path = path_normal(g->a, known ? r->resolved[i] : r->named[i]);
	const char *host = path == NULL ? NULL : denials_host_path(g->a, g->plan, path);
	struct refusal_question q = {
		.plan = g->plan,
		.policy = g->policy,
		.path = path,
		.want = denial_ops[r->op].changes ? ACCESS_WRITE : ACCESS_READ,
		.missing = r->error == ENOENT,
	};
	struct verdict v;

	if (host == NULL) {
		return false;
	}
	q.grant = grantable(g->a, g->plan, granted(g->a, r->op, host));
	/* The content of a private directory does not depend on the host's file of that name. */
	if (!exists(host) && plan_mount_visibility(g->plan, path) != VISIBILITY_PRIVATE) {
		q.missing = true;
		q.exists = q.grant;
	}
	find_rule(&q, r, is_credential(g->host, host), &v);
	bool hidden = is_about_secrets(&v);
	/* Of the caller's own secrets a list must not show which exist. */
	bool either = hidden && g->plan->home_own != NULL && path_within(host, g->plan->home_own);
	if (v.kind == ERR_NONE || (!either && !works_on_host(r->op, i == 1, host)) ||
	    is_absent(g->plan, r, path, either)) {
		return false;
	}
	bool broad = q.want == ACCESS_WRITE && q.grant == NULL && str_starts(v.option, "--write");
	const char *option = hidden || broad || v.option[0] == '\0' ? NULL : v.option;
	*ret = (struct denial){
		.op = r->op,
		.path = arena_strdup(g->a, r->named[i]),
		.resolved = known && !streq(path, r->named[i]) ? path : NULL,
		.error = r->error,
		.rule = rule_text(g->a, &v),
		.origin = arena_strdup(g->a, v.origin),
		.why = arena_strdup(g->a, v.reason),
		.remedy = arena_strdup(g->a, v.remedy),
		.allow_with = option == NULL ? NULL : arena_strdup(g->a, option),
		.sensitive = hidden,
		.count = r->count,
	};
	return ret->path != NULL && ret->rule != NULL && ret->why != NULL && ret->remedy != NULL;
}

/* Mounts, namespaces, modules, clocks: without capabilities the host refuses these as well. */
static bool needs_capability(enum syscall_group group) {
	return group == GROUP_NAMESPACES || group == GROUP_MOUNT || group == GROUP_SYSTEM ||
	       group == GROUP_HANDLES;
}

static bool judge_call(const struct judging *g, const struct journal_refusal *r,
		       struct denial *ret) {
	const struct syscall_rule *rule = NULL;

	for (size_t i = 0; rule == NULL && i < syscall_rules_count; i++) {
		if (streq(syscall_names[syscall_rules[i].id].name, r->named[0])) {
			rule = &syscall_rules[i];
		}
	}
	if (rule == NULL || (geteuid() != 0 && needs_capability(rule->group))) {
		return false;
	}
	*ret = (struct denial){
		.op = r->op,
		.call = syscall_names[rule->id].name,
		.error = r->error,
		.rule = "seccomp",
		.origin = "built-in",
		.why = arena_printf(g->a, "the filter refuses %s: %s", syscall_names[rule->id].name,
				    rule->reason),
		.remedy = "no option allows it",
		.count = r->count,
	};
	return ret->why != NULL;
}

/* No program continues after such a link(2), as one does after rename(2). */
#define LINK_REMEDY                                                                                \
	"no option allows it: a hard link cannot lead from one grant to another, copy the file"

/* By the first path that a rule is about.  Between two trees the call still fails with EXDEV when
 * the option is given, because a grant is a mount of its own; programs then copy the file. */
static bool judge_paths(const struct judging *g, const struct journal_refusal *r,
			struct denial *ret) {
	bool two = r->named[1][0] == '/';

	for (int i = 0; i < (two ? 2 : 1); i++) {
		if (judge_path(g, r, i, ret)) {
			if (r->op == DENIAL_LINK && r->error == EXDEV) {
				ret->remedy = LINK_REMEDY;
				ret->allow_with = NULL;
			}
			return true;
		}
	}
	return false;
}

static bool judge(const struct judging *g, const struct journal_refusal *r, struct denial *ret) {
	if (r->op == DENIAL_SYSCALL) {
		return judge_call(g, r, ret);
	}
	if (r->op == DENIAL_LIMIT) {
		return denied_limits_judge(g, r, ret);
	}
	if (r->named[0][0] != '/') {
		return denied_net_judge(g, r, ret);
	}
	return judge_paths(g, r, ret) || (r->op == DENIAL_EXEC && denied_exec_judge(g, r, ret));
}

void denials_add(struct denials *d, const struct denial *one) {
	if (d->count == DENIALS_MAX ||
	    arena_grow(&d->arena, &d->items, d->count, &d->cap, sizeof *d->items) != 0) {
		d->more++;
		return;
	}
	d->items[d->count++] = *one;
}

void denials_read(const struct plan *plan, const struct policy *policy, const struct host *host,
		  const struct journal_part *part, struct denials *ret) {
	const struct journal *j = part->journal;
	bool recorded = j != NULL && plan->denials != DENIALS_OFF;
	struct denials d = {.recorded = recorded,
			    .more = journal_refusals_lost(j) - part->refusals_lost};
	const struct judging g = {.a = &d.arena, .plan = plan, .policy = policy, .host = host};
	struct journal_refusal r;
	struct denial one;

	for (size_t at = 0, next = 0; policy != NULL && journal_next_refusal(j, &next, &r);
	     at = next) {
		bool own = r.exec == part->exec || (r.exec == 0 && at >= part->refused_from);
		if (own && judge(&g, &r, &one)) {
			denials_add(&d, &one);
		}
	}
	*ret = d;
}

static void clean_one(struct arena *a, const struct leak_scanner *scanner, struct denial *d) {
	char text[PATH_MAX + 256];
	const char *resolved = d->resolved == NULL ? d->path : d->resolved;

	if (d->path == NULL || (!leak_text_clean(scanner, resolved, text, sizeof text) &&
				!leak_text_clean(scanner, d->path, text, sizeof text))) {
		return;
	}
	d->path = arena_strdup(a, text);
	d->path = d->path == NULL ? "" : d->path; /* out of memory */
	d->resolved = NULL;
	d->why = "the sandbox refused it; its name contains a secret";
	d->remedy = "no option is printed for a name that contains a secret";
	d->allow_with = NULL;
}

void denials_clean(struct denials *d, const struct leak_source *source) {
	const struct leak_scanner *scanner =
		source == NULL || d->count == 0 ? NULL : source->scanner(source->arg);

	for (size_t i = 0; scanner != NULL && i < d->count; i++) {
		clean_one(&d->arena, scanner, &d->items[i]);
	}
}

void denials_done(struct denials *d) {
	arena_done(&d->arena);
	*d = (struct denials){0};
}
