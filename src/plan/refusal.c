/* SPDX-License-Identifier: Apache-2.0 */
/* Turns a verdict about a path into a reason and a remedy.
 *
 * Should:   have one table row per cause; quote paths in remedies for a shell.
 * Must not: print an option that does not allow this path, or read the host.
 * Fails:    closed: a path that no mount shows is refused; a text that is too long is cut. */
#include "plan/refusal.h"

#include "base/auto.h"
#include "base/path.h"
#include "base/str.h"
#include "data/names.h"
#include "plan/refusal_words.h"

#include <stdio.h>

/* ---- cause → sentence → remedy ---- */

/* {path} the path, {rule} the rule with its pattern, {origin} where that was written, {at} the file
 * or directory that the rule is about; quoted for a shell: {PATH}, {DIR} the nearest directory
 * above it that is known to exist, {GRANT} the path, or {DIR} when it is missing, {OWN} the
 * caller's file instead of the one in the private HOME, {EXCEPT} the exception from the rule,
 * {MODULES} those that `git submodule add` needs.
 * {WRITE}: --write; in mode read-only, which --write contradicts, also the mode.
 * write: the remedy for ACCESS_WRITE, where it differs.
 * by: the key that is named instead of the rule of the path.
 * option: the remedy's option; {OPEN} is --read or --write with the path that has to be named. */
struct row {
	enum err_kind kind;
	enum key_id key; /* that the remedy changes */
	const char *reason, *remedy, *write;
	enum key_id by; /* KEY_PROFILE, which has no rules about paths: none */
	const char *option;
};

#define NOT_MOUNTED "{path} is not mounted in the sandbox"
#define GRANT_NEW                                                                                  \
	"{WRITE} {PATH}; if it does not exist yet, grant an existing directory above it: {WRITE} " \
	"{DIR}"
#define NO_OPTION "no option allows it: "

/* clang-format off */
static const struct row rows[CAUSE_COUNT] = {
	[CAUSE_OUTSIDE] = {ERR_OUTSIDE, KEY_FS_READ, NOT_MOUNTED " ({rule}, {origin})",
		"if it exists outside, grant it: --read {PATH}", "grant it: " GRANT_NEW, KEY_FS_VIEW, .option = "{OPEN}"},
	[CAUSE_SOCKET] = {ERR_OUTSIDE, KEY_NET_SOCKETS, NOT_MOUNTED ": unix sockets of the host must be passed by name ({rule}, {origin})",
		"pass it: --socket {SOCKET}", NULL, KEY_NET_SOCKETS, .option = "--socket {SOCKET}"},
	[CAUSE_HOME] = {ERR_OUTSIDE, KEY_FS_HOME,
		"{path} is hidden: HOME is a private directory ({rule}, {origin}), which has no such file",
		"if you have it outside, show it: --read {PATH}", "grant your own file: " GRANT_NEW, KEY_FS_HOME, .option = "{OPEN}"},
	[CAUSE_OTHER_HOME] = {ERR_OUTSIDE, KEY_FS_HOME,
		"{path} does not exist: HOME is a private directory ({rule}, {origin})",
		NO_OPTION "without namespaces your file keeps its own path; grant that path and use it: --read {OWN}",
		NO_OPTION "without namespaces your file keeps its own path; grant that path and use it: {WRITE} {OWN}",
		KEY_FS_HOME},
	[CAUSE_TMP] = {ERR_OUTSIDE, KEY_FS_READ,
		"{path} is hidden: {at} is private to each run ({rule}, {origin}) and has no such file",
		"if the host has it, show it: --read {PATH}", "grant the host's file: " GRANT_NEW, .option = "{OPEN}"},
	[CAUSE_OF_RUN] = {ERR_OUTSIDE, KEY_FS_READ,
		"{path} exists only inside a run ({rule}), not on the host",
		"put the file in {workspace}, which commands and file tools share", NULL},
	[CAUSE_TMP_OF_RUN] = {ERR_OUTSIDE, KEY_FS_READ,
		"{path} exists only inside a run ({rule}), not on the host",
		"put the file in {workspace}, or grant the host's: --read {PATH}",
		"put the file in {workspace}, or grant the host's: " GRANT_NEW},
	[CAUSE_LINK] = {ERR_OUTSIDE, KEY_FS_READ,
		"{path} contains a symbolic link, and links are rejected",
		"use the path that the link resolves to", NULL},
	[CAUSE_CREDENTIAL] = {ERR_SENSITIVE, KEY_FS_DENY,
		"{path} is a sensitive file, hidden by {rule} ({origin})",
		"grant it by name if the command may read it: --read {PATH}",
		"grant it by name if the command may change it: {WRITE} {PATH}"},
	[CAUSE_OWN] = {ERR_SENSITIVE, KEY_FS_DENY, "{path} is a file of Corral itself",
		NO_OPTION "it decides about the next run", NULL},
	[CAUSE_DENY] = {ERR_SENSITIVE, KEY_FS_DENY, "{path} is denied by {rule} ({origin})",
		"to allow access: --deny {EXCEPT}", NULL, .option = "--deny {EXCEPT}"},
	[CAUSE_DENY_BOUND] = {ERR_SENSITIVE, KEY_FS_DENY, "{path} is denied by {rule} ({origin})",
		NO_OPTION "change the rule where it is written ({origin})", NULL},
	[CAUSE_HARD_LINK] = {ERR_SENSITIVE, KEY_FS_DENY,
		"{path} is denied: {rule} denies another hard link of the same file",
		"replace it by a copy, or except the other name: --deny '!NAME'", NULL, KEY_FS_DENY},
	[CAUSE_HARD_LINKS] = {ERR_SENSITIVE, KEY_FS_DENY,
		"{path} is denied: it has several hard links, and {rule} may deny another one; the search was not complete",
		"replace it by a copy, or grant a smaller tree that can be read completely", NULL, KEY_FS_DENY},
	[CAUSE_MODE] = {ERR_PROTECTED, KEY_MODE, "{path} is read-only: {rule} ({origin}) is read-only",
		"use --mode workspace-write", NULL, KEY_MODE, .option = "--mode workspace-write"},
	[CAUSE_MODE_BOUND] = {ERR_PROTECTED, KEY_MODE, "{path} is read-only: {rule} ({origin}) is read-only",
		NO_OPTION "the administrator's floor sets it; change the mode there ({origin})", NULL, KEY_MODE},
	[CAUSE_MODE_AGENT] = {ERR_PROTECTED, KEY_MODE, "{path} is read-only: {rule} ({origin}) is read-only",
		NO_OPTION "the table of the agent sets it; change the mode there ({origin})", NULL, KEY_MODE},
	[CAUSE_MODE_SKILL] = {ERR_PROTECTED, KEY_MODE, "{path} is read-only: {rule} ({origin}) is read-only",
		NO_OPTION "the skill requests it; change the mode there ({origin}), or use no skill", NULL, KEY_MODE},
	[CAUSE_SKILL] = {ERR_OUTSIDE, KEY_SKILL,
		"{path} is hidden or read-only: the skill and the policy do not both grant it ({rule}, {origin})",
		"no option allows it alone: the skill has to request it (fs.read, fs.write), and an option or a file to grant it", NULL, KEY_SKILL},
	[CAUSE_PROTECT] = {ERR_PROTECTED, KEY_FS_PROTECT,
		"{path} is read-only: protected by {rule} ({origin})",
		"to allow changes: --protect {EXCEPT}", NULL, .option = "--protect {EXCEPT}"},
	[CAUSE_PROTECT_BOUND] = {ERR_PROTECTED, KEY_FS_PROTECT,
		"{path} is read-only: protected by {rule} ({origin})",
		NO_OPTION "change the rule where it is written ({origin})", NULL},
	[CAUSE_GIT_LINK] = {ERR_PROTECTED, KEY_FS_PROTECT,
		"{path} is read-only: it leads git to a repository that {rule} ({origin}) protects",
		"to allow changes: --protect {EXCEPT}", NULL, KEY_FS_PROTECT, .option = "--protect {EXCEPT}"},
	[CAUSE_GIT_MODULES] = {ERR_PROTECTED, KEY_FS_PROTECT,
		"{path} is read-only: protected by {rule} ({origin})",
		"add the submodule outside, or allow what git changes then: {MODULES}", NULL},
	[CAUSE_GIT_HEAD] = {ERR_PROTECTED, KEY_FS_PROTECT,
		"{path} cannot be created: git would take its directory for a repository, instead of the one "
		"that {rule} ({origin}) protects",
		"use another name; --protect '!@git' removes the protection of repositories", NULL, KEY_FS_PROTECT},
	[CAUSE_PROJECT] = {ERR_PROTECTED, KEY_FS_PROTECT,
		"{path} is read-only: protected by {rule} ({origin})",
		NO_OPTION "it decides about the next run; change it outside the sandbox", NULL},
	[CAUSE_BESIDE] = {ERR_PROTECTED, KEY_FS_WRITE,
		"{path} cannot be created: only {at} is writable in its directory",
		"a program that saves a file by renaming a new one over it needs {WRITE} {DIR}", NULL, .option = "{WRITE} {DIR}"},
	[CAUSE_ABOVE] = {ERR_PROTECTED, KEY_FS_WRITE,
		"{path} is read-only in the sandbox: it lies beside the workspace, in the private HOME",
		"grant your own directory: {WRITE} {DIR}; or an existing one in it", NULL, .option = "{WRITE} {DIR}"},
	[CAUSE_READ_ONLY] = {ERR_PROTECTED, KEY_FS_WRITE, "{path} is read-only in the sandbox ({rule}, {origin})",
		"grant it: {WRITE} {GRANT}", NULL, .option = "{OPEN}"},
	[CAUSE_RIGHTS] = {ERR_PROTECTED, KEY_FS_WRITE,
		"{path} is read-only in the sandbox ({rule}, {origin}), and you have no write permission on the host",
		NO_OPTION "do this step outside, as a user that may write it", NULL},
	[CAUSE_MADE] = {ERR_PROTECTED, KEY_FS_WRITE, "{path} is read-only: Corral generates it for each run ({rule})",
		NO_OPTION "do this step outside", NULL},
	[CAUSE_COW] = {ERR_PROTECTED, KEY_FS_COW,
		"{path} is copy-on-write ({rule}, {origin}): file tools cannot write into the copy",
		"change it with a command, or turn fs.cow off for the file tools", NULL, KEY_FS_COW},
	[CAUSE_KEPT] = {ERR_PROTECTED, KEY_FS_PROTECT,
		"{path} cannot be moved or deleted: it is or contains a mount point, a git repository, or a protected or "
		"denied name, which cannot be renamed while the run lasts",
		NO_OPTION "do this step outside", NULL, KEY_FS_PROTECT},
	[CAUSE_LEADS_OUT] = {ERR_PROTECTED, KEY_FS_PROTECT,
		"{path} cannot become a symlink that leads out of its git repository: git outside the sandbox writes through "
		"symlinks there",
		"use a target within the repository, or create the symlink outside; --protect '!@git' removes the protection of "
		"repositories", NULL, KEY_FS_PROTECT},
	[CAUSE_TOOLS] = {ERR_OUTSIDE, KEY_FS_TOOLS,
		"{path} is outside the workspace, and the file tools are confined to it ({rule}, {origin})",
		"put the file in {workspace}, or use --set fs.tools=view", NULL, KEY_FS_TOOLS, .option = "--set fs.tools=view"},
};
/* clang-format on */

/* ---- expanding the text of a row ---- */

struct words {
	const struct refusal_question *q;
	const struct verdict *v;
	const char *at;    /* the path that the rule is about, or the private directory */
	const char *place; /* the topmost path that the rule covers */
};

void refusal_put_rule(struct buf *out, const struct verdict *v) {
	/* A table of paths may have the name of a set: "sensitive". */
	bool set =
		v->cause != CAUSE_CREDENTIAL && v->rule != NULL && name_set_find(v->rule) != NULL;

	buf_puts(out, set ? "fs.protect @" : "");
	buf_puts(out, v->rule == NULL ? "?" : v->rule);
	buf_printf(out, "%s%s", v->detail == NULL ? "" : " ", v->detail == NULL ? "" : v->detail);
	if (v->why != NULL) {
		buf_printf(out, " (%s)", v->why);
	}
}

static const struct mount *mount_of(const struct plan *plan, const char *path) {
	const struct mount *best = NULL;

	for (size_t i = 0; i < plan->nmounts; i++) {
		const struct mount *m = &plan->mounts[i];
		bool keeps_rights = m->kind == MOUNT_PIN && m->writable;
		if (!keeps_rights && path_within(path, m->target)) {
			best = m; /* L1: deeper ones follow */
		}
	}
	return best;
}

/* The directory between the private HOME and the workspace that the path lies in, or is; NULL.  It
 * exists on the host too, but its entries there are not shown. */
static const struct mount *above_workspace(const struct plan *plan, const char *path) {
	const struct mount *m = mount_of(plan, path);
	return m != NULL && m->kind == MOUNT_PIN && m->create ? m : NULL;
}

static const char *existing_dir(const struct refusal_question *q, char dir[PATH_MAX]) {
	const struct mount *above = above_workspace(q->plan, q->path);

	if (above != NULL) {
		return above->target;
	}
	return q->exists != NULL ? q->exists : path_parent(q->path, dir) ? dir : "/";
}

/* The same path in the caller's own HOME. */
static void put_own(struct buf *out, const struct refusal_question *q) {
	const struct plan *plan = q->plan;
	bool within = plan->home_own != NULL && path_within(q->path, plan->home_at);
	char own[PATH_MAX];
	int len = !within ? -1
			  : snprintf(own, sizeof own, "%s%s", plan->home_own,
				     q->path + strlen(plan->home_at));

	refusal_put_written(out, "", len < 0 || (size_t)len >= sizeof own ? "PATH" : own);
}

static bool is_read_only(const struct refusal_question *q) {
	return policy_num(q->policy, KEY_MODE) == MODE_READ_ONLY;
}

static const char *write_option(const struct refusal_question *q) {
	return is_read_only(q) ? "--mode workspace-write --write" : "--write";
}

static void put_open(struct buf *out, const struct refusal_question *q) {
	char dir[PATH_MAX];
	bool write = q->want == ACCESS_WRITE;
	const char *written = q->grant != NULL ? q->grant
			      : q->missing     ? existing_dir(q, dir)
					       : q->path;

	buf_printf(out, "%s ", write ? write_option(q) : "--read");
	refusal_put_written(out, "", write ? written : q->path);
}

static bool names_lock(const char *text) {
	return text != NULL && strstr(text, "config*.lock") != NULL;
}

/* The exception for the lock of a git configuration is that of the configuration, which includes
 * the lock (plan/patterns.c): alone it would not let git rename the lock. */
static void put_exception(struct buf *out, const struct words *w) {
	static const char suffix[] = ".lock";
	char path[PATH_MAX];
	size_t len = strlen(w->at), cut = sizeof suffix - 1;

	if (len < cut || len >= sizeof path || !streq(w->at + len - cut, suffix) ||
	    (!names_lock(w->v->rule) && !names_lock(w->v->detail))) {
		refusal_put_written(out, "!", w->at);
		return;
	}
	memcpy(path, w->at, len - cut);
	path[len - cut] = '\0';
	refusal_put_written(out, "!", path);
}

static void put_token(struct buf *out, const struct words *w, const char *name, size_t len) {
	const struct refusal_question *q = w->q;
	char dir[PATH_MAX];

#define IS(token) (len == sizeof(token) - 1 && memcmp(name, token, len) == 0)
	if (IS("path")) {
		buf_puts(out, q->path);
	} else if (IS("rule")) {
		refusal_put_rule(out, w->v);
	} else if (IS("origin")) {
		buf_puts(out, w->v->origin);
	} else if (IS("at")) {
		buf_puts(out, w->at);
	} else if (IS("workspace")) {
		buf_puts(out, q->plan->workspace_at == NULL ? "" : q->plan->workspace_at);
	} else if (IS("PATH")) {
		refusal_put_written(out, "", q->path);
	} else if (IS("SOCKET")) {
		buf_shell_word(out, "", q->path);
	} else if (IS("DIR")) {
		refusal_put_written(out, "", existing_dir(q, dir));
	} else if (IS("GRANT")) {
		refusal_put_written(out, "", q->missing ? existing_dir(q, dir) : q->path);
	} else if (IS("OWN")) {
		put_own(out, q);
	} else if (IS("OPEN")) {
		put_open(out, q);
	} else if (IS("WRITE")) {
		buf_puts(out, write_option(q));
	} else if (IS("MODULES")) {
		refusal_put_modules(out, w->v->detail);
	} else if (IS("EXCEPT")) {
		put_exception(out, w);
	}
#undef IS
}

/* A message may be cut, or empty when memory is out; false: it is. */
static bool expand(char *ret, size_t cap, const struct words *w, const char *text) {
	struct buf out;

	buf_init(&out);
	while (*text != '\0') {
		size_t plain = strcspn(text, "{");
		buf_add(&out, text, plain);
		text += plain;
		if (*text == '{') {
			size_t len = strcspn(text, "}");
			put_token(&out, w, text + 1, len - 1);
			text += len + 1;
		}
	}
	bool failed = buf_failed(&out) || out.data == NULL;
	int len = snprintf(ret, cap, "%s", failed ? "" : out.data);
	buf_done(&out);
	return !failed && len >= 0 && (size_t)len < cap;
}

static void set_verdict(const struct words *w, enum refusal_cause cause, struct verdict *ret) {
	const struct row *row = &rows[cause];
	bool write = w->q->want == ACCESS_WRITE && row->write != NULL;

	ret->cause = cause;
	ret->kind = row->kind;
	(void)snprintf(ret->at, sizeof ret->at, "%s", w->place);
	ret->key = keys[row->key == KEY_FS_READ && w->q->want == ACCESS_WRITE ? KEY_FS_WRITE
									      : row->key]
			   .name;
	(void)expand(ret->reason, sizeof ret->reason, w, row->reason);
	(void)expand(ret->remedy, sizeof ret->remedy, w, write ? row->write : row->remedy);
	if (!expand(ret->option, sizeof ret->option, w, row->option == NULL ? "" : row->option)) {
		ret->option[0] = '\0'; /* a part of a path is another path */
	}
}

/* ---- the rule ---- */

static void by_key(const struct refusal_question *q, enum key_id key, struct verdict *ret) {
	ret->rule = keys[key].name;
	policy_origin_text(&q->policy->values[key].origin, ret->origin, sizeof ret->origin);
}

static void by_rule(const struct refusal_question *q, const struct visibility_rule *rule,
		    struct verdict *ret) {
	if (rule->note == NULL) {
		by_key(q, KEY_FS_VIEW, ret);
		return;
	}
	ret->rule = rule->note;
	ret->detail = rule->written;
	ret->why = rule->reason;
	policy_origin_text(rule->origin, ret->origin, sizeof ret->origin);
}

static bool is_bound(const struct visibility_rule *rule) {
	return rule->origin != NULL &&
	       (rule->origin->kind == ORIGIN_FLOOR || rule->origin->kind == ORIGIN_PROJECT);
}

static bool names_key(const struct visibility_rule *rule, enum key_id key) {
	return rule->note != NULL && streq(rule->note, keys[key].name);
}

/* ---- the cause ---- */

static bool ends_with(const char *s, const char *end) {
	size_t n = strlen(s), len = strlen(end);
	return n >= len && streq(s + n - len, end);
}

/* By the name: the caller must not learn from a hint whether the host has such a file. */
static bool is_socket_name(const char *path) {
	const char *name = strrchr(path, '/');
	return ends_with(path, ".sock") || ends_with(path, "_socket") ||
	       (name != NULL && str_starts(name, "/.s.PGSQL."));
}

static bool is_own(const struct plan *plan, const char *path) {
	for (size_t i = 0; i < ARRAY_LEN(plan->own_dirs); i++) {
		if (plan->own_dirs[i] != NULL && path_within(path, plan->own_dirs[i])) {
			return true;
		}
	}
	return false;
}

static enum refusal_cause cause_hidden(const struct visibility_rule *rule) {
	if (rule->note != NULL && streq(rule->note, "Corral's own")) {
		return CAUSE_OWN;
	}
	if (names_key(rule, KEY_FS_DENY)) {
		return is_bound(rule) ? CAUSE_DENY_BOUND : CAUSE_DENY;
	}
	return CAUSE_CREDENTIAL;
}

/* Whether the path would be writable in another mode. */
static bool is_mode(const struct refusal_question *q, const struct visibility_rule *rule) {
	return is_read_only(q) && rule->note != NULL &&
	       (streq(rule->note, "workspace") || names_key(rule, KEY_FS_WRITE));
}

/* A mount of the rules about names: by fs.protect, or by a set. */
static bool is_protection(const struct visibility_rule *rule) {
	return names_key(rule, KEY_FS_PROTECT) ||
	       (rule->note != NULL && name_set_find(rule->note) != NULL);
}

static bool is_made(const struct mount *m) {
	return m != NULL && m->kind != MOUNT_BIND && m->kind != MOUNT_COW &&
	       m->kind != MOUNT_PRIVATE;
}

/* The one file that is writable in the directory of the path; NULL. */
static const struct mount *beside(const struct plan *plan, const char *path) {
	char dir[PATH_MAX], other[PATH_MAX];

	for (size_t i = 0; path_parent(path, dir) && i < plan->nmounts; i++) {
		const struct mount *m = &plan->mounts[i];
		bool alone = m->kind == MOUNT_BIND && m->is_file && m->writable;
		if (alone && path_parent(m->target, other) && streq(dir, other)) {
			return m;
		}
	}
	return NULL;
}

/* --mode counts before the tables of agents, the skill and the floor (policy/narrow.c). */
static enum refusal_cause cause_of_mode(const struct origin *from) {
	switch (from->kind) {
	case ORIGIN_FLOOR:
		return CAUSE_MODE_BOUND;
	case ORIGIN_AGENT:
		return CAUSE_MODE_AGENT;
	case ORIGIN_SKILL:
		return CAUSE_MODE_SKILL;
	default:
		return CAUSE_MODE;
	}
}

static enum refusal_cause cause_kept(const struct refusal_question *q,
				     const struct visibility_rule *rule) {
	bool named = rules_judge(&q->plan->rules, q->path).protect != NULL;

	if (is_mode(q, rule)) {
		return cause_of_mode(&q->policy->values[KEY_MODE].origin);
	}
	if (rule->note != NULL &&
	    (streq(rule->note, "project file") || streq(rule->note, "policy file"))) {
		return CAUSE_PROJECT;
	}
	if (named || is_protection(rule)) {
		bool modules = rule->written != NULL && ends_with(rule->written, GIT_MODULES);
		return is_bound(rule) ? CAUSE_PROTECT_BOUND
		       : modules      ? CAUSE_GIT_MODULES
				      : CAUSE_PROTECT;
	}
	if (beside(q->plan, q->path) != NULL) {
		return CAUSE_BESIDE;
	}
	if (above_workspace(q->plan, q->path) != NULL) {
		return CAUSE_ABOVE;
	}
	if (is_made(mount_of(q->plan, q->path))) {
		return CAUSE_MADE;
	}
	return q->rights ? CAUSE_RIGHTS : CAUSE_READ_ONLY;
}

static enum refusal_cause cause_missing(const struct refusal_question *q, enum visibility sight) {
	const struct mount *m = mount_of(q->plan, q->path);

	if (!q->missing) {
		return CAUSE_NONE;
	}
	if (sight == VISIBILITY_PRIVATE && plan_lacks_namespaces(q->plan)) {
		return CAUSE_OTHER_HOME;
	}
	const struct mount *above = above_workspace(q->plan, q->path);
	if (sight == VISIBILITY_PRIVATE || (above != NULL && !streq(above->target, q->path))) {
		return is_own(q->plan, q->path) ? CAUSE_OWN : CAUSE_HOME;
	}
	bool tmp = m != NULL && m->kind == MOUNT_PRIVATE && !streq(m->target, q->path);
	return tmp ? is_socket_name(q->path) ? CAUSE_SOCKET : CAUSE_TMP : CAUSE_NONE;
}

static enum refusal_cause cause_of(const struct refusal_question *q,
				   const struct visibility_rule *rule) {
	enum visibility sight = plan_visibility(q->plan, q->path);

	switch (sight) {
	case VISIBILITY_NONE:
		if (is_own(q->plan, q->path)) {
			return CAUSE_OWN;
		}
		if (q->want == ACCESS_WRITE && beside(q->plan, q->path) != NULL) {
			return CAUSE_BESIDE;
		}
		return is_socket_name(q->path) ? CAUSE_SOCKET : CAUSE_OUTSIDE;
	case VISIBILITY_DENIED:
		return is_own(q->plan, q->path) ? CAUSE_OWN : cause_hidden(rule);
	case VISIBILITY_READ:
		if (q->want == ACCESS_WRITE) {
			return cause_kept(q, rule);
		}
		break;
	case VISIBILITY_WRITE:
	case VISIBILITY_PRIVATE:
		break;
	}
	return cause_missing(q, sight);
}

/* No grant helps where a mode that no option changes forbids every grant to write, and none helps
 * alone where a skill has to request it. */
static enum refusal_cause without_grant(const struct refusal_question *q,
					enum refusal_cause cause) {
	enum refusal_cause mode = cause_of_mode(&q->policy->values[KEY_MODE].origin);
	const char *option = rows[cause].option;
	bool grants = option != NULL && (streq(option, "{OPEN}") || str_starts(option, "{WRITE}"));

	if (!grants) {
		return cause;
	}
	if (q->want == ACCESS_WRITE && is_read_only(q) && mode != CAUSE_MODE) {
		return mode;
	}
	return q->policy->values[KEY_SKILL].set ? CAUSE_SKILL : cause;
}

/* ---- verdicts ---- */

static bool same_rule(const struct visibility_rule *a, const struct visibility_rule *b) {
	bool written = a->written == b->written ||
		       (a->written != NULL && b->written != NULL && streq(a->written, b->written));
	return a->note != NULL && b->note != NULL && streq(a->note, b->note) && written;
}

/* The topmost directory that the same rule covers: to create or remove a file in it, the exception
 * must name the whole directory. */
static const char *place_of(const struct refusal_question *q, const struct visibility_rule *rule,
			    char out[PATH_MAX]) {
	enum visibility sight = plan_visibility(q->plan, q->path);
	char above[PATH_MAX];

	(void)snprintf(out, PATH_MAX, "%s", q->path);
	while (path_parent(out, above)) {
		struct visibility_rule other = plan_rule_of(q->plan, above);
		if (plan_visibility(q->plan, above) != sight || !same_rule(rule, &other)) {
			break;
		}
		memcpy(out, above, strlen(above) + 1);
	}
	return out;
}

static void set_verdict_by(const struct refusal_question *q, const struct visibility_rule *rule,
			   enum refusal_cause cause, struct verdict *ret) {
	char place[PATH_MAX];
	struct words w = {.q = q, .v = ret, .at = place_of(q, rule, place), .place = place};
	const struct mount *m = mount_of(q->plan, q->path);

	if (rows[cause].by != KEY_PROFILE) {
		by_key(q, rows[cause].by, ret);
		ret->detail = ret->why = NULL;
	}
	if (cause == CAUSE_BESIDE && beside(q->plan, q->path) != NULL) {
		w.at = strrchr(beside(q->plan, q->path)->target, '/') + 1;
	}
	if (cause == CAUSE_TMP && m != NULL) {
		w.at = m->target;
	}
	set_verdict(&w, cause, ret);
}

void refusal_say(const struct refusal_question *q, enum refusal_cause cause, struct verdict *ret) {
	struct visibility_rule rule = plan_rule_of(q->plan, q->path);

	*ret = (struct verdict){.kind = ERR_NONE};
	by_rule(q, &rule, ret);
	if (cause != CAUSE_NONE) {
		set_verdict_by(q, &rule, cause, ret);
	}
}

void refusal_hidden(const struct refusal_question *q, struct verdict *ret) {
	struct visibility_rule rule = plan_rule_of(q->plan, q->path);
	refusal_say(q, cause_hidden(&rule), ret);
}

void refusal_judge(const struct refusal_question *q, struct verdict *ret) {
	struct visibility_rule rule = plan_rule_of(q->plan, q->path);
	refusal_say(q, without_grant(q, cause_of(q, &rule)), ret);
}
