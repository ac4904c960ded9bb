/* SPDX-License-Identifier: Apache-2.0 */
/* Applies pending changes to the workspace.
 *
 * Should:   check every change before the first write; then, in this order: chmod directories
 *           that the owner cannot enter; create and replace, top down; delete, bottom up;
 *           replace emptied directories; set the modes of directories.
 * Must not: change a path that the host changed since the run, or a protected name, unless the
 *           user named it or used --force.
 * Fails:    closed, with the number of applied changes and the next step; the next apply
 *           continues there (W4). */
#include "cow/cow.h"

#include "base/auto.h"
#include "base/path.h"
#include "base/str.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

/* ---- which ---- */

/* Whether `change` creates the directory of `next`, and must be applied with it. */
static bool is_parent_of(const struct cow_change *change, const struct cow_change *next) {
	bool made =
		(change->kind == COW_ADDED || change->kind == COW_TYPE) && S_ISDIR(change->is.mode);
	return made && next != NULL && path_within(next->path, change->path);
}

static bool is_named(const struct cow_apply *how, const char *path) {
	for (size_t i = 0; i < how->npaths; i++) {
		if (streq(how->paths[i], path)) {
			return true;
		}
	}
	return false;
}

static bool is_guarded(const struct cow_apply *how, const char *path) {
	return path != NULL && how->is_protected != NULL && how->is_protected(how->arg, path) &&
	       !is_named(how, path);
}

/* Why a change must not be applied; NULL when it may. */
static const char *objection(const struct cow_apply *how, const struct cow_change *change) {
	if (change->conflict != NULL) {
		return change->conflict;
	}
	return is_guarded(how, change->path) || is_guarded(how, change->from)
		       ? "the policy protects it"
		       : NULL;
}

static int check(const struct cow *c, const struct cow_apply *how, const struct cow_applied *chosen,
		 struct err *e) {
	const struct cow_change *first = NULL;
	size_t n = 0;
	for (size_t i = 0; i < chosen->n && !how->force; i++) {
		if (objection(how, chosen->items[i]) != NULL) {
			first = first == NULL ? chosen->items[i] : first;
			n++;
		}
	}
	if (n == 0) {
		return 0;
	}
	(void)err_set(e, ERR_REFUSED, COW_WHERE, "nothing was applied: %s: %s%s", first->path,
		      objection(how, first), n > 1 ? ", and other paths" : "");
	return err_fix(e,
		       "see `corral diff %s`; name the paths to apply, or overwrite the host's "
		       "changes: corral apply --force %s",
		       c->id, c->id);
}

static int check_workspace(const struct cow *c, const struct cow_apply *how, struct err *e) {
	if (c->lower < 0) {
		(void)err_set(e, ERR_REFUSED, COW_WHERE, "the workspace %s does not exist",
			      c->workspace);
		return err_fix(e,
			       "create it, then: corral apply --force %s; `corral diff %s` shows "
			       "the changes",
			       c->id, c->id);
	}
	if (c->replaced && !how->force) {
		(void)err_set(e, ERR_REFUSED, COW_WHERE,
			      "%s was replaced by another directory since the run", c->workspace);
		return err_fix(e, "to apply to the new directory: corral apply --force %s", c->id);
	}
	return 0;
}

static int choose(struct cow *c, const struct cow_apply *how, const struct cow_changes *changes,
		  struct cow_applied *ret, struct err *e) {
	*ret = (struct cow_applied){
		.items = arena_array(c->a, changes->n + 1, sizeof *ret->items),
		.skipped = arena_array(c->a, changes->n + 1, sizeof *ret->skipped)};
	if (ret->items == NULL || ret->skipped == NULL) {
		return err_memory(e, COW_WHERE);
	}
	/* Entries of a directory follow it in the list.  So, from the end, the last selected
	 * change decides whether a directory is needed. */
	const struct cow_change **slot = ret->items + changes->n, *next = NULL;
	for (size_t i = changes->n; i > 0; i--) {
		const struct cow_change *change = &changes->items[i - 1];
		bool named = cow_selects(how->paths, how->npaths, change);
		if (named && change->cannot != NULL) {
			ret->skipped[ret->nskipped++] = change;
		} else if (named || is_parent_of(change, next)) {
			*--slot = next = change;
			ret->n++;
		}
	}
	ret->items = slot;
	if (ret->n == 0 && how->npaths > 0) {
		(void)err_set(e, ERR_USAGE, COW_WHERE, "there is no pending change at %s",
			      how->paths[0]);
		return err_fix(e, "`corral diff %s` lists them", c->id);
	}
	return 0;
}

/* ---- the passes ---- */

/* A directory that becomes a file or symlink has to be emptied first. */
static bool replaces_dir(const struct cow_change *change) {
	return change->kind == COW_TYPE && S_ISDIR(change->was.mode);
}

static int put_one(struct cow_put *p, const struct cow_change *change, struct err *e) {
	switch (change->kind) {
	case COW_ADDED:
	case COW_CHANGED:
	case COW_TYPE:
	case COW_RENAMED:
		return cow_put(p, change, e);
	case COW_MODE:
		return S_ISDIR(change->is.mode) ? 0
						: cow_put_mode(p, change->path, change->is.mode, e);
	case COW_DELETED:
	case COW_KINDS:
		break;
	}
	return 0;
}

/* delete_all() counts deletions and renames, close_dir() directories. */
static bool is_put_whole(const struct cow_change *change) {
	return change->kind != COW_DELETED && change->kind != COW_RENAMED &&
	       !S_ISDIR(change->is.mode);
}

static int put_all(struct cow_put *p, const struct cow_applied *chosen, bool late, struct err *e) {
	for (size_t i = 0; i < chosen->n; i++) {
		if (replaces_dir(chosen->items[i]) != late) {
			continue;
		}
		if (put_one(p, chosen->items[i], e) != 0) {
			return -1;
		}
		p->done += is_put_whole(chosen->items[i]);
	}
	return 0;
}

static const char *gone_path(const struct cow_change *change) {
	return change->from != NULL ? change->from : change->path;
}

static int bottom_up(const void *a, const void *b) {
	return path_order(gone_path(*(const struct cow_change *const *)b),
			  gone_path(*(const struct cow_change *const *)a));
}

static int delete_all(struct cow_put *p, const struct cow_applied *chosen, struct err *e) {
	const struct cow_change **gone = arena_array(p->c->a, chosen->n + 1, sizeof *gone);
	size_t n = 0;
	if (gone == NULL) {
		return err_memory(e, COW_WHERE);
	}
	for (size_t i = 0; i < chosen->n; i++) {
		enum cow_kind kind = chosen->items[i]->kind;
		if (kind == COW_DELETED || kind == COW_RENAMED) {
			gone[n++] = chosen->items[i];
		}
	}
	if (n > 1) {
		qsort(gone, n, sizeof *gone, bottom_up);
	}
	for (size_t i = 0; i < n; i++) {
		if (cow_put_delete(p, gone[i], e) != 0) {
			return -1;
		}
		p->done++;
	}
	return 0;
}

/* Opens directories of the workspace that the owner cannot enter, so that changes in them can
 * be applied; close_dirs() sets their final mode. */
static int open_dirs(struct cow_put *p, const struct cow_applied *chosen, struct err *e) {
	for (size_t i = 0; i < chosen->n; i++) {
		const struct cow_change *change = chosen->items[i];
		if (change->kind == COW_MODE && S_ISDIR(change->is.mode) &&
		    (change->was.mode & 0700) != 0700 &&
		    cow_put_mode(p, change->path, change->is.mode | 0700, e) != 0) {
			return -1;
		}
	}
	return 0;
}

static int note_done(const struct cow *c, const struct cow_change *change, struct err *e) {
	if (cow_note(c, COW_DONE, change->path, e) != 0) {
		return -1;
	}
	return change->from == NULL ? 0 : cow_note(c, COW_DONE, change->from, e);
}

/* The next walk cannot read a directory that its owner cannot enter. */
static bool is_closed(const struct cow_change *change) {
	return S_ISDIR(change->is.mode) && (change->is.mode & 0500) != 0500;
}

/* With selected paths: records the changes in such directories as applied. */
static int note_enclosed(const struct cow_put *p, const struct cow_applied *chosen, struct err *e) {
	const struct cow_change *closed = NULL;
	for (size_t i = 0; i < chosen->n && p->how->npaths > 0; i++) {
		const struct cow_change *change = chosen->items[i];
		bool within = closed != NULL && path_within(change->path, closed->path);
		if (within && note_done(p->c, change, e) != 0) {
			return -1;
		}
		/* Entries of a directory follow it in the list. */
		closed = within ? closed : is_closed(change) ? change : NULL;
	}
	return 0;
}

/* Without selected paths everything in the directory is applied at this point, also by an
 * earlier apply: directories are closed bottom up. */
static int close_dir(struct cow_put *p, const struct cow_change *change, struct err *e) {
	if (is_closed(change) && p->how->npaths == 0 &&
	    cow_note(p->c, COW_DONE_BENEATH, change->path, e) != 0) {
		return -1;
	}
	p->done++;
	return cow_put_mode(p, change->path, change->is.mode, e);
}

/* Sets the modes of directories: a read-only one could not be filled. */
static int close_dirs(struct cow_put *p, const struct cow_applied *chosen, struct err *e) {
	if (note_enclosed(p, chosen, e) != 0) {
		return -1;
	}
	for (size_t i = chosen->n; i > 0; i--) {
		const struct cow_change *change = chosen->items[i - 1];
		if (S_ISDIR(change->is.mode) && close_dir(p, change, e) != 0) {
			return -1;
		}
	}
	return 0;
}

/* Reads the journal again, with the records of this apply. */
static int reload(struct cow *c, struct err *e) {
	c->done = NULL;
	c->ndone = c->done_cap = 0;
	return cow_load_journal(c, e);
}

/* Syncs the workspace before the upper tree is removed. */
static int sync_and_remove(struct cow *c, const struct cow_apply *how, struct cow_applied *done,
			   struct err *e) {
	struct cow_changes rest;
	auto_fd workspace = cow_open_beneath(c->lower, "", O_RDONLY | O_DIRECTORY);
	if (workspace < 0 || syncfs(workspace) != 0) {
		return err_sys(e, COW_WHERE, "cannot write the changes to the disk");
	}
	for (size_t i = 0; i < done->n && how->npaths > 0; i++) {
		/* Selected paths only: a later change of the host there is no new conflict. */
		if (note_done(c, done->items[i], e) != 0) {
			return -1;
		}
	}
	if (reload(c, e) != 0 || cow_walk(c, &rest, e) != 0) {
		return -1;
	}
	done->left = 0;
	for (size_t i = 0; i < rest.n; i++) {
		done->left += rest.items[i].cannot == NULL || how->npaths > 0;
	}
	return done->left == 0 ? cow_remove(c, e) : 0;
}

static int put_chosen(struct cow_put *p, const struct cow_applied *chosen, struct err *e) {
	p->chunk = arena_alloc(p->c->a, COW_CHUNK);
	if (p->chunk == NULL) {
		return err_memory(e, COW_WHERE);
	}
	if (chosen->n > 0 && !p->c->begun && cow_note(p->c, COW_BEGUN, "", e) != 0) {
		return -1;
	}
	return open_dirs(p, chosen, e) != 0 || put_all(p, chosen, false, e) != 0 ||
			       delete_all(p, chosen, e) != 0 || put_all(p, chosen, true, e) != 0 ||
			       close_dirs(p, chosen, e) != 0
		       ? -1
		       : 0;
}

/* Adds to the error how many changes were applied, and the next step. */
static int fix_interrupted(const struct cow *c, size_t done, size_t all, struct err *e) {
	bool full = e->sys == ENOSPC || e->sys == EDQUOT;
	size_t left = done < all ? all - done : 0;
	return err_fix(
		e,
		"%zu of %zu changes were applied, %zu are still pending. %s, then run `corral "
		"apply %s` to continue. `corral diff %s` shows the pending ones, `corral "
		"discard %s` drops them",
		done, all, left, full ? "Free space on the disk" : "Remove the cause", c->id, c->id,
		c->id);
}

int cow_apply(struct cow *c, const struct cow_apply *how, struct cow_applied *ret, struct err *e) {
	struct cow_changes changes;
	struct cow_applied chosen;
	struct cow_put p = {.c = c, .how = how};

	assert(c->dir >= 0); /* W2: cow_open() has locked it */
	if (check_workspace(c, how, e) != 0) {
		return -1;
	}
	cow_remove_drafts(c); /* the walk ignores drafts, but the user would see them */
	if (cow_walk(c, &changes, e) != 0 || choose(c, how, &changes, &chosen, e) != 0 ||
	    check(c, how, &chosen, e) != 0) {
		return -1;
	}
	if (put_chosen(&p, &chosen, e) != 0 || sync_and_remove(c, how, &chosen, e) != 0) {
		return fix_interrupted(c, p.done, chosen.n, e);
	}
	*ret = chosen;
	return 0;
}
