/* Pending changes into the workspace.
 *
 * Should:   judge everything before anything is touched; then what comes, from the top
 *           down; what goes, from the bottom up; what takes the place of an emptied
 *           directory; and the modes of directories last.
 * Must not: touch what the host changed meanwhile, or a protected name, unless it was
 *           named or forced.
 * Fails:    closed; whatever was done is in the journal, and the next apply goes on
 *           from there (W4). */
#include "cow/cow.h"

#include "base/auto.h"
#include "base/str.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

/* ---- which ---- */

/* A directory that the one behind it in the list lies in has to be there. */
static bool holds(const struct cow_change *change, const struct cow_change *next) {
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
		      objection(how, first), n > 1 ? ", and others alike" : "");
	return err_fix(e,
		       "see `corral diff %s`; name the paths to apply, or use --force to "
		       "overwrite what the host has",
		       c->id);
}

static int check_workspace(const struct cow *c, const struct cow_apply *how, struct err *e) {
	if (c->lower < 0) {
		(void)err_set(e, ERR_REFUSED, COW_WHERE, "the workspace %s is gone", c->workspace);
		return err_fix(e,
			       "make it again, and use --force; `corral diff %s` has the changes",
			       c->id);
	}
	if (c->replaced && !how->force) {
		(void)err_set(e, ERR_REFUSED, COW_WHERE, "%s is another directory than the run had",
			      c->workspace);
		return err_fix(e, "use --force if it is meant");
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
	/* What lies in a directory stands right behind it, so that the last one chosen
	 * tells, from the end, whether a directory is needed. */
	const struct cow_change **slot = ret->items + changes->n, *next = NULL;
	for (size_t i = changes->n; i > 0; i--) {
		const struct cow_change *change = &changes->items[i - 1];
		bool named = cow_selects(how->paths, how->npaths, change);
		if (named && change->cannot != NULL) {
			ret->skipped[ret->nskipped++] = change;
		} else if (named || holds(change, next)) {
			*--slot = next = change;
			ret->n++;
		}
	}
	ret->items = slot;
	if (ret->n == 0 && how->npaths > 0) {
		(void)err_set(e, ERR_USAGE, COW_WHERE, "no pending change is at %s", how->paths[0]);
		return err_fix(e, "`corral diff %s` lists them", c->id);
	}
	return 0;
}

/* ---- in four passes ---- */

/* A directory that gives way has to be emptied first. */
static bool gives_way(const struct cow_change *change) {
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
		return S_ISDIR(change->is.mode) ? 0 : cow_put_mode(p, change->path, &change->is, e);
	case COW_DELETED:
	case COW_KINDS:
		break;
	}
	return 0;
}

static int put_all(struct cow_put *p, const struct cow_applied *chosen, bool late, struct err *e) {
	for (size_t i = 0; i < chosen->n; i++) {
		if (gives_way(chosen->items[i]) == late && put_one(p, chosen->items[i], e) != 0) {
			return -1;
		}
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
	}
	return 0;
}

/* A directory that becomes read-only could not be filled before. */
static int close_dirs(struct cow_put *p, const struct cow_applied *chosen, struct err *e) {
	for (size_t i = chosen->n; i > 0; i--) {
		const struct cow_change *change = chosen->items[i - 1];
		if (S_ISDIR(change->is.mode) &&
		    cow_put_mode(p, change->path, &change->is, e) != 0) {
			return -1;
		}
	}
	return 0;
}

/* Of a part alone: what the host does with it from here on is the host's affair. */
static int note_done(const struct cow *c, const struct cow_change *change, struct err *e) {
	if (cow_note(c, COW_DONE, change->path, e) != 0) {
		return -1;
	}
	return change->from == NULL ? 0 : cow_note(c, COW_DONE, change->from, e);
}

/* The upper tree stays until the workspace is on the disk. */
static int finish(struct cow *c, const struct cow_apply *how, struct cow_applied *done,
		  struct err *e) {
	struct cow_changes rest;
	auto_fd workspace = cow_open_beneath(c->lower, "", O_RDONLY | O_DIRECTORY);
	if (workspace < 0 || syncfs(workspace) != 0) {
		return err_sys(e, COW_WHERE, "cannot write the changes to the disk");
	}
	for (size_t i = 0; i < done->n && how->npaths > 0; i++) {
		if (note_done(c, done->items[i], e) != 0) {
			return -1;
		}
	}
	if (cow_walk(c, &rest, e) != 0) {
		return -1;
	}
	done->left = 0;
	for (size_t i = 0; i < rest.n; i++) {
		done->left += rest.items[i].cannot == NULL || how->npaths > 0;
	}
	return done->left == 0 ? cow_remove(c, e) : 0;
}

int cow_apply(struct cow *c, const struct cow_apply *how, struct cow_applied *ret, struct err *e) {
	struct cow_changes changes;
	struct cow_applied chosen;
	struct cow_put p = {.c = c, .how = how};

	if (check_workspace(c, how, e) != 0) {
		return -1;
	}
	cow_remove_drafts(c); /* before the walk, which would not see them, but a person would */
	if (cow_walk(c, &changes, e) != 0 || choose(c, how, &changes, &chosen, e) != 0 ||
	    check(c, how, &chosen, e) != 0) {
		return -1;
	}
	if (put_all(&p, &chosen, false, e) != 0 || delete_all(&p, &chosen, e) != 0 ||
	    put_all(&p, &chosen, true, e) != 0 || close_dirs(&p, &chosen, e) != 0) {
		return -1;
	}
	if (finish(c, how, &chosen, e) != 0) {
		return -1;
	}
	*ret = chosen;
	return 0;
}
