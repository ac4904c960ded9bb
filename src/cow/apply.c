/* Pending changes into the workspace.
 *
 * Should:   judge everything before anything is touched; then open directories that their
 *           owner could not enter; then what comes, from the top down; what goes, from the
 *           bottom up; what takes the place of an emptied directory; and the modes of
 *           directories last.
 * Must not: touch what the host changed meanwhile, or a protected name, unless it was
 *           named or forced.
 * Fails:    closed, with how much was done and what to do; the next apply goes on from
 *           there (W4). */
#include "cow/cow.h"

#include "base/auto.h"
#include "base/path.h"
#include "base/str.h"

#include <errno.h>
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
		return S_ISDIR(change->is.mode) ? 0
						: cow_put_mode(p, change->path, change->is.mode, e);
	case COW_DELETED:
	case COW_KINDS:
		break;
	}
	return 0;
}

/* The others are counted where they end: deleted, and modes of directories. */
static bool is_put_whole(const struct cow_change *change) {
	return change->kind != COW_DELETED && change->kind != COW_RENAMED &&
	       !S_ISDIR(change->is.mode);
}

static int put_all(struct cow_put *p, const struct cow_applied *chosen, bool late, struct err *e) {
	for (size_t i = 0; i < chosen->n; i++) {
		if (gives_way(chosen->items[i]) != late) {
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

/* A directory of the workspace that its owner cannot enter, and is to be changed: what is
 * put into it has to get there. */
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

/* What its owner cannot enter the next walk cannot look into. */
static bool is_closed(const struct cow_change *change) {
	return S_ISDIR(change->is.mode) && (change->is.mode & 0500) != 0500;
}

/* Of a part: what this apply put into such a directory. */
static int note_enclosed(const struct cow_put *p, const struct cow_applied *chosen, struct err *e) {
	const struct cow_change *closed = NULL;
	for (size_t i = 0; i < chosen->n && p->how->npaths > 0; i++) {
		const struct cow_change *change = chosen->items[i];
		bool within = closed != NULL && path_within(change->path, closed->path);
		if (within && note_done(p->c, change, e) != 0) {
			return -1;
		}
		/* What lies in a directory stands right behind it. */
		closed = within ? closed : is_closed(change) ? change : NULL;
	}
	return 0;
}

/* When all is applied, all in the directory is by now, also what an earlier apply put there:
 * directories are closed from the bottom up. */
static int close_dir(struct cow_put *p, const struct cow_change *change, struct err *e) {
	if (is_closed(change) && p->how->npaths == 0 &&
	    cow_note(p->c, COW_DONE_BENEATH, change->path, e) != 0) {
		return -1;
	}
	p->done++;
	return cow_put_mode(p, change->path, change->is.mode, e);
}

/* A directory that becomes read-only could not be filled before. */
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

/* Reads again what this apply has noted. */
static int reload(struct cow *c, struct err *e) {
	c->done = NULL;
	c->ndone = c->done_cap = 0;
	return cow_load_journal(c, e);
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
		/* Of a part alone: what the host does with it from here on is its affair. */
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

/* The error says what failed; what is in the workspace by then, and what to do, stands
 * with it. */
static int stopped(const struct cow *c, size_t done, size_t all, struct err *e) {
	bool full = e->sys == ENOSPC || e->sys == EDQUOT;
	size_t left = done < all ? all - done : 0;
	return err_fix(
		e,
		"%zu of %zu changes were applied, %zu are still pending. %s, then run `corral "
		"apply %s` to continue. `corral diff %s` shows the pending ones, `corral "
		"discard %s` drops them",
		done, all, left, full ? "Make room on the disk" : "Remove the cause", c->id, c->id,
		c->id);
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
	if (put_chosen(&p, &chosen, e) != 0 || finish(c, how, &chosen, e) != 0) {
		return stopped(c, p.done, chosen.n, e);
	}
	*ret = chosen;
	return 0;
}
