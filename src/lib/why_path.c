/* SPDX-License-Identifier: Apache-2.0 */
/* `corral why PATH`: the verdict of files/access.h for a command, and the grants to try.
 *
 * Should:   answer for the engine of the run: without namespaces a path is the host's own, and a
 *           symlink is followed also outside the granted trees.
 * Must not: propose a grant for a credential, for Corral's own files, for / or for HOME or a
 *           directory above it.
 * Fails:    closed: a path that no rule shows is refused. */
#include "lib/why.h"

#include "base/auto.h"
#include "base/path.h"
#include "base/rights.h"
#include "base/str.h"
#include "data/paths.h"
#include "lib/file_verdict.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static const char *const ops[] = {
	[CORRAL_ACCESS_READ] = "read",
	[CORRAL_ACCESS_WRITE] = "write",
	[CORRAL_ACCESS_EXEC] = "exec",
};

/* A path question, and the facts of the host that a grant depends on. */
struct path_facts {
	enum corral_access access;
	struct place place;
	struct verdict verdict;
	char own[PATH_MAX];      /* the path that a grant would name, on the host */
	char existing[PATH_MAX]; /* own, or the nearest directory above it that exists */
};

/* ---- resolving ---- */

/* The path with the symlinks of its existing part resolved; NULL: out of memory or too long. */
static const char *canonical(struct why_ask *ask, const char *path) {
	char real[PATH_MAX], part[PATH_MAX];
	int n = snprintf(part, sizeof part, "%s", path);

	if (n < 0 || (size_t)n >= sizeof part) {
		return NULL;
	}
	while (realpath(part, real) == NULL) {
		char up[PATH_MAX];
		if (!path_parent(part, up)) {
			return path;
		}
		memcpy(part, up, strlen(up) + 1);
	}
	const char *rest = path + strlen(part);
	rest += strspn(rest, "/");
	return *rest == '\0' ? arena_strdup(&ask->p.arena, real)
			     : path_join(&ask->p.arena, real, rest);
}

static int find(struct why_ask *ask, const char *path, struct path_facts *f, struct err *e) {
	const struct plan *plan = &ask->p.plan;
	struct rights rights;
	struct lens v = {.plan = plan, .policy = &ask->p.policy, .fast = true, .for_command = true};

	if (path[0] != '\0' && plan_lacks_namespaces(plan)) {
		const char *whole = path_join(&ask->p.arena, plan->cwd, path);
		path = whole == NULL ? NULL : canonical(ask, whole);
		if (path == NULL) {
			return err_memory(e, "library");
		}
	}
	struct corral_check check = {.path = path, .write = f->access == CORRAL_ACCESS_WRITE};
	if (plan->home_source != NULL && home_check(plan, e) != 0) {
		return -1;
	}
	if (rights_drop(&rights, e) != 0) {
		return -1;
	}
	f->place = (struct place){.fd = -1, .dir = -1};
	int rc = file_verdict(&v, &check, &f->place, &f->verdict, e);
	rights_restore(&rights);
	return rc;
}

/* ---- the facts of the host ---- */

static bool exists(const char *path) {
	return faccessat(AT_FDCWD, path, F_OK, AT_EACCESS | AT_SYMLINK_NOFOLLOW) == 0;
}

/* The same path in the caller's HOME, where a path in the private HOME is another one. */
static void find_own(const struct plan *plan, struct path_facts *f) {
	const char *path = f->place.path;
	bool moved = plan->home_own != NULL && plan->home_at != NULL &&
		     path_within(path, plan->home_at) && !path_within(path, plan->workspace_at);
	int n = moved ? snprintf(f->own, sizeof f->own, "%s%s", plan->home_own,
				 path + strlen(plan->home_at))
		      : snprintf(f->own, sizeof f->own, "%s", path);
	if (n < 0 || (size_t)n >= sizeof f->own) {
		f->own[0] = '\0';
	}
	memcpy(f->existing, f->own, sizeof f->existing);
	while (f->existing[0] != '\0' && !exists(f->existing)) {
		char up[PATH_MAX];
		if (!path_parent(f->existing, up)) {
			f->existing[0] = '\0';
			break;
		}
		memcpy(f->existing, up, sizeof up);
	}
}

static bool is_credential(const struct why_ask *ask, const char *path) {
	char real[PATH_MAX];

	return plan_is_credential(&ask->p.host, path) ||
	       (realpath(path, real) != NULL && plan_is_credential(&ask->p.host, real));
}

/* ---- the grants ---- */

/* The path as a policy has it: with a backslash before each character of a pattern. */
static const char *escaped(struct why_ask *ask, const char *mark, const char *path) {
	struct buf out;

	buf_init(&out);
	buf_puts(&out, mark);
	for (const char *p = path; *p != '\0'; p++) {
		buf_puts(&out, strchr("*?[\\", *p) != NULL ? "\\" : "");
		buf_add(&out, p, 1);
	}
	const char *text = buf_failed(&out) ? NULL : arena_strdup(&ask->p.arena, out.data);
	buf_done(&out);
	return text;
}

/* Too much for one file: /, HOME and the directories above it, the host's /tmp. */
static bool is_wide(const struct why_ask *ask, const char *dir) {
	const char *home = ask->p.host.home;

	return streq(dir, "/") || (home != NULL && path_within(home, dir)) ||
	       path_table_find(&windows, dir) != NULL;
}

static void propose_write(struct why_ask *ask, const struct path_facts *f) {
	if (f->existing[0] != '\0' && !is_wide(ask, f->existing)) {
		why_propose(ask, KEY_FS_WRITE, escaped(ask, "", f->existing));
	}
}

static void propose_except(struct why_ask *ask, const struct path_facts *f, enum key_id key) {
	why_propose(ask, key, escaped(ask, "!", f->verdict.at));
}

static void propose(struct why_ask *ask, const struct path_facts *f) {
	bool write = f->access == CORRAL_ACCESS_WRITE;

	switch (f->verdict.cause) {
	case CAUSE_OUTSIDE:
	case CAUSE_HOME:
	case CAUSE_TMP:
		if (write) {
			propose_write(ask, f);
		} else {
			why_propose(ask, KEY_FS_READ, escaped(ask, "", f->own));
		}
		break;
	case CAUSE_READ_ONLY:
	case CAUSE_BESIDE:
	case CAUSE_ABOVE:
		propose_write(ask, f);
		break;
	case CAUSE_SOCKET:
		why_propose(ask, KEY_NET_SOCKETS, f->own);
		break;
	case CAUSE_DENY:
		propose_except(ask, f, KEY_FS_DENY);
		break;
	case CAUSE_PROTECT:
	case CAUSE_GIT_LINK:
		propose_except(ask, f, KEY_FS_PROTECT);
		break;
	case CAUSE_MODE:
		why_propose(ask, KEY_MODE, keys[KEY_MODE].choices[MODE_WORKSPACE_WRITE]);
		break;
	default:
		break;
	}
}

/* Why no grant is proposed; NULL. */
static const char *barrier_of(const struct why_ask *ask, const struct path_facts *f) {
	struct visibility_rule rule = plan_rule_of(&ask->p.plan, f->place.path);
	bool floor = rule.origin != NULL && rule.origin->kind == ORIGIN_FLOOR;

	switch (f->verdict.cause) {
	case CAUSE_OWN:
	case CAUSE_PROJECT:
		return "corral";
	case CAUSE_CREDENTIAL:
		return "credential";
	case CAUSE_DENY: /* a row of a set such as @sensitive has a reason */
		return f->verdict.why != NULL ? "credential" : NULL;
	case CAUSE_DENY_BOUND:
	case CAUSE_PROTECT_BOUND:
		return floor ? "floor" : "project";
	case CAUSE_MODE_BOUND:
		return "floor";
	case CAUSE_MODE_AGENT:
		return "agent";
	case CAUSE_MODE_SKILL:
	case CAUSE_SKILL:
		return "skill";
	case CAUSE_RIGHTS:
		return "permission";
	case CAUSE_OUTSIDE:
	case CAUSE_HOME:
	case CAUSE_OTHER_HOME:
	case CAUSE_TMP:
		return is_credential(ask, f->own) ? "credential" : NULL;
	default:
		return NULL;
	}
}

/* ---- the answer ---- */

static const char *rule_text(struct why_ask *ask, const struct verdict *v) {
	struct buf out;

	buf_init(&out);
	refusal_put_rule(&out, v);
	const char *text = buf_failed(&out) ? NULL : arena_strdup(&ask->p.arena, out.data);
	buf_done(&out);
	return text;
}

/* A visible file that Landlock or commands.default does not let the command execute. */
static void judge_exec(struct why_ask *ask, struct path_facts *f, struct why_answer *ret) {
	const char *path = f->place.path;
	bool there = f->place.kind == PLACE_FILE && S_ISREG(f->place.st.st_mode);

	if (there && (f->place.st.st_mode & 0111) == 0) {
		ret->note = "the file has no execute permission, with or without Corral";
	}
	if (plan_executes(&ask->p.plan, path)) {
		return;
	}
	ret->verdict = WHY_REFUSED;
	if (ask->p.plan.exec_limited) {
		char origin[128];
		const struct value *by = &ask->p.policy.values[KEY_COMMANDS_DEFAULT];
		policy_origin_text(&by->origin, origin, sizeof origin);
		ret->rule = keys[KEY_COMMANDS_DEFAULT].name;
		ret->origin = arena_strdup(&ask->p.arena, origin);
		ret->reason = "only listed commands may be executed (commands.default is deny)";
		why_propose(ask, KEY_COMMANDS, path);
	} else {
		ret->reason = "the sandbox shows this tree without the right to execute";
		why_propose(ask, KEY_FS_READ, escaped(ask, "", f->own));
	}
}

static void answer_allowed(struct why_ask *ask, struct path_facts *f, struct why_answer *ret) {
	const struct mount *tree = f->place.tree;
	bool home = plan_visibility(&ask->p.plan, f->place.path) == VISIBILITY_PRIVATE;
	bool tmp = tree != NULL && tree->kind == MOUNT_PRIVATE;
	bool top = tree != NULL && streq(f->place.path, tree->target);
	bool own = (home || tmp) && !top && exists(f->own) && !is_credential(ask, f->own);

	ret->verdict = WHY_ALLOWED;
	ret->apart = home || tmp;
	if (home) {
		ret->note = "this is in the private HOME of the sandbox, not in yours";
	} else if (tmp) {
		ret->note = "this is in a private directory of the run, not in that of this host";
	} else if (f->place.kind == PLACE_MISSING) {
		ret->note = "it does not exist";
	}
	if (f->verdict.closed) {
		ret->note = "the file's mode bits deny it, with or without Corral";
	}
	if (own) {
		enum key_id key = f->access == CORRAL_ACCESS_WRITE ? KEY_FS_WRITE : KEY_FS_READ;
		why_propose(ask, key, escaped(ask, "", f->own));
	}
	/* A run was refused to create it: the directory exists on the host only. */
	if (ask->run != NULL && ret->apart && !own && f->access == CORRAL_ACCESS_WRITE &&
	    !exists(f->own) && !is_credential(ask, f->own)) {
		propose_write(ask, f);
	}
	if (f->access == CORRAL_ACCESS_EXEC) {
		judge_exec(ask, f, ret);
	}
}

/* Printed if no grant helps. */
static const char *advice_of(struct why_ask *ask, const struct path_facts *f) {
	const char *remedy = f->verdict.remedy;
	enum refusal_cause cause = f->verdict.cause;

	if (str_starts(remedy, "no option") || cause == CAUSE_NONE || cause == CAUSE_GIT_MODULES) {
		return why_text(ask, remedy);
	}
	if (streq(f->existing, f->own)) {
		return NULL;
	}
	return f->access == CORRAL_ACCESS_WRITE
		       ? "create the file or a directory for it on the host first; a grant names a "
			 "path that exists"
		       : "this host has no such file either";
}

static void answer_refused(struct why_ask *ask, const struct path_facts *f,
			   struct why_answer *ret) {
	ret->verdict = WHY_REFUSED;
	ret->reason = why_text(ask, f->verdict.reason);
	ret->barrier = barrier_of(ask, f);
	if (ret->barrier == NULL) {
		propose(ask, f);
		ret->advice = advice_of(ask, f);
	}
}

static int answer(struct why_ask *ask, const char *path, struct path_facts *f,
		  struct why_answer *ret, struct err *e) {
	if (find(ask, path, f, e) != 0) {
		return -1;
	}
	find_own(&ask->p.plan, f);
	if (plan_passes_socket(&ask->p.plan, f->place.path)) {
		f->verdict = (struct verdict){.rule = keys[KEY_NET_SOCKETS].name};
	}
	ret->op = ops[f->access];
	ret->object = path;
	ret->resolved = f->place.path[0] == '\0' || streq(f->place.path, path)
				? NULL
				: why_text(ask, f->place.path);
	ret->rule = rule_text(ask, &f->verdict);
	ret->origin = why_text(ask, f->verdict.origin);
	if (f->verdict.kind == ERR_NONE) {
		answer_allowed(ask, f, ret);
	} else {
		answer_refused(ask, f, ret);
	}
	return 0;
}

int why_path(struct why_ask *ask, struct err *e) {
	struct path_facts f = {.access = (enum corral_access)ask->q->access};

	return answer(ask, ask->q->text, &f, &ask->answer, e);
}

bool why_program(struct why_ask *ask, const char *path, struct why_answer *ret, struct err *e) {
	struct path_facts f = {.access = CORRAL_ACCESS_EXEC};

	*ret = (struct why_answer){0};
	ask->ncandidates = 0;
	if (answer(ask, path, &f, ret, e) != 0) {
		return false;
	}
	return ret->verdict == WHY_REFUSED ? exists(f.own) : f.place.kind != PLACE_MISSING;
}
