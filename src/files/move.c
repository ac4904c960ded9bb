/* SPDX-License-Identifier: Apache-2.0 */
/* The move tool: one rename(2) between two directories that are held by descriptors.
 *
 * Should:   refuse the same as the broker: a directory with a protected or hidden entry,
 *           or to a path where other rules are about the names in it; a symlink that would then
 * show such names. Must not: follow a symlink that is the last component; replace an entry unless
 * MOVE_REPLACE is set; copy: between two mounts of the sandbox a move fails with EXDEV, as
 * rename(2) does inside. Fails:    closed: nothing is moved. */
#include "files/tools.h"

#include "base/beneath.h"
#include "base/path.h"
#include "base/str.h"
#include "files/named.h"
#include "files/remove.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

static int judge_name(const struct lens *v, const struct place *p, struct err *e) {
	struct verdict verdict;

	access_judge_name(v, p, &verdict);
	return access_fail(&verdict, e);
}

/* ---- the source of a move ---- */

static int refuse_mount(const struct place *from, const struct place *to, struct err *e) {
	(void)err_set(e, ERR_FILE, "files",
		      "cannot move %s to %s: they are in different mounts of the sandbox",
		      from->path, to->path);
	e->sys = EXDEV;
	return err_fix(e, "write the new file and delete the old one, or run a command: mv");
}

static int refuse_repository(const struct place *from, const struct place *to, struct err *e) {
	(void)err_set(e, ERR_FILE, "files",
		      "cannot move the directory %s to %s: a symlink in it could lead out of the "
		      "repository",
		      from->path, to->path);
	e->sys = EXDEV;
	return err_fix(e, "create the new directory, and move the files one by one");
}

static int check_directory(const struct lens *v, const struct place *from, const struct place *to,
			   struct err *e) {
	if (rules_move_out(&v->plan->rules, from->path, to->path)) {
		return refuse_repository(from, to, e);
	}
	if (!rules_differ_beneath(&v->plan->rules, from->path, to->path)) {
		return 0;
	}
	(void)err_set(
		e, ERR_PROTECTED, "files",
		"cannot move the directory %s to %s: other rules of fs.deny and fs.protect are "
		"about names there",
		from->path, to->path);
	return err_fix(e, "create the new directory, and move the files one by one");
}

static bool same_directory(const struct place *a, const struct place *b) {
	char one[PATH_MAX], other[PATH_MAX];
	const char *x = path_parent(a->path, one) ? one : "/";

	return streq(x, path_parent(b->path, other) ? other : "/");
}

/* In another directory a relative target is another file: as for a new symlink. */
static int check_symlink(const struct lens *v, const struct place *from, const struct place *to,
			 struct err *e) {
	char words[PATH_MAX];
	ssize_t n = beneath_read_link(from->fd, words, sizeof words - 1);

	if (n <= 0) {
		return place_failed(n < 0 ? errno : ENOENT, "move", from->path, e);
	}
	words[n] = '\0';
	struct err why = {0};
	if (words[0] != '/' && !same_directory(from, to) &&
	    tool_check_target(v, to, words, &why) != 0) {
		(void)err_set(e, why.kind, "files",
			      "cannot move the symlink %s to another directory: %s", from->path,
			      why.what);
		e->sys = why.sys;
		return err_fix(e, "%s", why.fix);
	}
	/* As for a command. */
	return rules_lead_astray(&v->plan->rules, to->path, words) ||
			       rules_lead_out(&v->plan->rules, to->path, words)
		       ? place_failed(EBUSY, "move the symlink", from->path, e)
		       : 0;
}

static int check_file(const struct lens *v, const struct place *from, const struct place *to,
		      struct err *e) {
	bool directory = S_ISDIR(from->st.st_mode);

	/* First: a caller that copies after EXDEV has a tree that it may copy and remove. */
	if (directory && v->plan->rules.count > 0 &&
	    remove_check_tree(v, from, false, "nothing was moved", e) != 0) {
		return -1;
	}
	if (from->tree != to->tree) {
		return refuse_mount(from, to, e);
	}
	if (directory) {
		return check_directory(v, from, to, e);
	}
	return S_ISLNK(from->st.st_mode) ? check_symlink(v, from, to, e) : 0;
}

/* ---- the two names ---- */

static int check_target(const struct place *to, const struct moving *m, struct err *e) {
	if (to->kind == PLACE_MISSING && to->dir < 0) {
		(void)place_failed(ENOENT, "move to", to->path, e);
		return err_fix(e, "create its directory first");
	}
	if (to->kind != PLACE_MISSING && !m->replace) {
		(void)err_set(e, ERR_FILE, "files", "%s exists already", to->path);
		e->sys = EEXIST;
		return err_fix(e, "use another name, or allow it to be replaced");
	}
	return 0;
}

/* A command may put another entry in the place of the one that was checked: where not every one is
 * allowed, the file that was checked is moved. */
static int rename_entry(const struct lens *v, const struct place *from, const struct place *to,
			bool replace, struct err *e) {
	const struct rules *rules = &v->plan->rules;
	struct beneath_name old = {from->dir, from->name}, new = {to->dir, to->name};

	if (!named_holds(from) || !named_holds(to)) {
		return named_changed(from->path, e);
	}
	bool any = !rules_move_out(rules, from->path, to->path) &&
		   rules_lead_alike(rules, from->path, to->path);
	if (!any && S_ISDIR(from->st.st_mode)) {
		return refuse_repository(from, to, e);
	}
	int r = any ? beneath_rename(old, new, replace)
		    : beneath_rename_held(from->fd, old, new, replace);
	return r == 0 ? 0 : place_failed(errno, "move", from->path, e);
}

static int move_to(const struct lens *v, const struct place *from, struct moving *m,
		   struct err *e) {
	struct place to;

	if (named_find(v, m->to, 0, &to, e) != 0) {
		return -1;
	}
	int rc = judge_name(v, &to, e);
	m->at = rc != 0 ? m->to : m->from; /* whose refusal it is */
	if (rc == 0) {
		rc = check_target(&to, m, e);
	}
	if (rc == 0) {
		rc = check_file(v, from, &to, e);
	}
	if (rc == 0) {
		rc = rename_entry(v, from, &to, m->replace, e);
	}
	place_done(&to);
	return rc;
}

int tool_move(const struct lens *v, struct moving *m, struct err *e) {
	struct place from;

	m->at = m->from;
	if (named_find(v, m->from, 0, &from, e) != 0) {
		return -1;
	}
	int rc = judge_name(v, &from, e);
	if (rc == 0) {
		rc = from.kind == PLACE_MISSING ? remove_missing(from.path, e)
						: move_to(v, &from, m, e);
	}
	place_done(&from);
	return rc;
}
