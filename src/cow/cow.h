/* Changes that were kept apart from a workspace: found, shown, applied, discarded.
 *
 * Theory.  A run with fs.cow sees the workspace through an overlay whose upper
 * directory lies in Corral's state: $state/cow/ID/upper.  The kernel puts there what
 * was written, an empty character device where something was deleted, and a mark on
 * a directory that hides all of the one beneath it.  What a run changed is the
 * difference between that tree and the workspace as it is now, entry by entry; an
 * entry that is the same on both sides is no change, whoever made it so.
 *
 *   meta     which workspace, and when the run began
 *   base     what the workspace had at each path of the upper tree when the run was
 *            over: who differs from it now was changed on the host since
 *   journal  that an apply began, paths that were applied, and the drafts that it may have
 *            left
 *
 * Invariants:
 *  W1  nothing here follows a symlink, in the workspace or in the upper tree;
 *  W2  one of us at a time: a lock on the directory, which a run holds to its end;
 *  W3  each change reaches the workspace by one system call, complete or not at all;
 *  W4  what was not applied stays in the upper tree: an apply that ends anywhere is
 *      finished by the next;
 *  W5  no set-user-id, set-group-id or sticky bit is ever set. */
#ifndef CORRAL_COW_COW_H
#define CORRAL_COW_COW_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <time.h>

#define COW_WHERE "cow"

/* ---- begin.c: around a run ---- */

/* A free name for a run's changes; NULL without state_dir or memory. */
const char *cow_free_dir(struct arena *a, const char *state_dir);

struct cow_run {
	const char *dir, *id; /* id points into dir */
	int lock, upper, work;
};

/* Makes the directory, locks it, and says why it cannot serve as an upper one. */
int cow_begin(const char *dir, const char *workspace, struct cow_run *ret, struct err *e);

/* After the run: counts the changes; without any the directory is removed.  r is
 * used up, whatever is returned. */
int cow_end(struct cow_run *r, int64_t *ret_changes, struct err *e);

/* ---- store.c: one directory of changes ---- */

/* What stands at a path; mode 0 for nothing. */
struct cow_fact {
	uint64_t ino, size;
	int64_t sec, nsec; /* ctime */
	uint32_t mode;
};

struct cow_base_row {
	const char *path;
	struct cow_fact fact;
};

struct cow {
	struct arena *a;
	char id[16];
	int parent;       /* the directory of all; -1 when it is not known */
	int dir;          /* locked */
	int upper, lower; /* lower is -1 when the workspace is gone */
	const char *workspace;
	struct timespec started;
	bool replaced; /* the workspace is another directory than it was */
	bool settled;  /* base is known */
	bool begun;    /* an apply began before this one, and did not come to its end */
	struct cow_base_row *base;
	size_t nbase, base_cap;
	const char **done; /* sorted */
	size_t ndone, done_cap;
	const char **drafts; /* relative to the workspace */
	size_t ndrafts, drafts_cap;
};

/* Opens and locks; ERR_REFUSED while the run goes on, ERR_USAGE for an unknown id; with
 * any other error ret can be removed.  It has to be closed in any case. */
int cow_open(struct arena *a, const char *state_dir, const char *id, struct cow *ret,
	     struct err *e);
void cow_close(struct cow *c);

/* From a locked directory; takes the descriptor. */
int cow_load(struct arena *a, int dir, const char *id, struct cow *ret, struct err *e);

/* Reads the journal, behind what is known of it. */
int cow_load_journal(struct cow *c, struct err *e);

/* Opened without success: the run was killed before it had begun. */
bool cow_is_abandoned(const struct cow *c);

/* Takes the changes away for good; c stays to be closed. */
int cow_remove(struct cow *c, struct err *e);

int cow_write_base(struct cow *c, struct err *e);
int cow_note(const struct cow *c, char kind, const char *path, struct err *e);
#define COW_DONE 'D'
#define COW_DONE_BENEATH 'E' /* whatever lies in this directory, not the directory itself */
#define COW_DRAFT 'T'
#define COW_BEGUN 'B' /* an apply began to touch the workspace; without a path */

/* Every id, in the order of their names; running ones too. */
int cow_ids(struct arena *a, const char *state_dir, const char ***ret, size_t *ret_n,
	    struct err *e);

struct cow_fact cow_fact_of(const struct stat *st);

/* ---- tree.c: the two trees ---- */

/* Beneath a root, following nothing; -1 with errno. */
int cow_open_beneath(int root, const char *path, int flags);
/* The same in the upper tree, whatever mode the command gave the file. */
int cow_open_upper(const struct cow *c, const char *path, int flags);
/* chmod for what an O_PATH descriptor holds. */
int cow_chmod(int fd, mode_t mode);
bool cow_is_opaque(int dir);
/* The mode that the command gave, where we had to widen it to look inside. */
mode_t cow_true_mode(int dir, mode_t mode);
bool cow_is_whiteout(const struct stat *st);
/* ---- walk.c ---- */

enum cow_kind {
	COW_ADDED,
	COW_CHANGED, /* content, and maybe the mode */
	COW_MODE,    /* the mode alone */
	COW_TYPE,    /* file, directory or link became another of them */
	COW_DELETED,
	COW_RENAMED, /* from, which is gone; the content is the same */
	COW_KINDS
};

struct cow_change {
	enum cow_kind kind;
	const char *path, *from;
	struct cow_fact was, is; /* on the host now; in the upper tree */
	const char *conflict;    /* what the host did meanwhile, or NULL */
	const char *cannot;      /* why it is never applied, or NULL */
};

struct cow_changes {
	struct cow_change *items;
	size_t n, cap;
};

/* All changes, sorted by path.  The first walk after a run keeps the base. */
int cow_walk(struct cow *c, struct cow_changes *ret, struct err *e);
const char *cow_kind_name(enum cow_kind kind);

/* Whether a path is one of these or lies beneath one; true when there are none. */
bool cow_selects(const char *const *paths, size_t npaths, const struct cow_change *change);

/* ---- conflict.c ---- */

/* Fills conflict, and drops modes of directories that the host alone changed. */
void cow_find_conflicts(const struct cow *c, struct cow_changes *changes);

/* What reading files may cost; when it is used up the answer is "not known". */
struct cow_effort {
	uint64_t bytes;
	int64_t deadline; /* ms on the monotonic clock */
};
void cow_effort_begin(struct cow_effort *f, uint64_t bytes, int64_t ms);
/* Whether there is enough left, and takes it. */
bool cow_effort_take(struct cow_effort *f, uint64_t bytes);

/* ---- rename.c ---- */

/* Pairs what was added with what was deleted, where the content is the same; when that
 * costs too much, the rest stays an addition and a deletion. */
int cow_pair_renames(const struct cow *c, struct cow_changes *changes, struct err *e);

/* ---- attributes.c ---- */

/* The user's own extended attributes and the access control list. */
void cow_copy_attributes(int from, int to);
/* Those that apply would set, one line each. */
void cow_show_attributes(const struct cow *c, const struct cow_change *change, struct buf *out);

/* ---- text.c: two texts, line by line ---- */

struct cow_text {
	const char *data;
	size_t len;
};

/* The hunks of a unified diff. */
int cow_text_diff(struct cow_text was, struct cow_text is, struct buf *out, struct err *e);
bool cow_text_is_binary(struct cow_text t);
/* More lines than are compared. */
bool cow_text_is_long(struct cow_text t);

/* ---- show.c ---- */

struct cow_view {
	const char *const *paths;
	size_t npaths;
	bool json;
};

int cow_show(const struct cow *c, const struct cow_changes *changes, const struct cow_view *v,
	     struct buf *out, struct err *e);
/* As git writes a name: in quotes, with escapes, where a character asks for it. */
void cow_quote(struct buf *out, const char *prefix, const char *path);
/* 2026-01-31T12:00:00Z */
void cow_time_text(struct timespec t, char out[24]);

/* ---- apply.c ---- */

struct cow_apply {
	const char *const *paths; /* relative to the workspace; none: all */
	size_t npaths;
	bool force;
	bool (*is_protected)(void *arg, const char *path); /* NULL: nothing is */
	void *arg;
	void (*step)(void *arg); /* for tests: before each system call that changes something */
	void *step_arg;
};

struct cow_applied {
	const struct cow_change **items;
	size_t n;
	const struct cow_change **skipped; /* chosen, and never applied: see cannot */
	size_t nskipped;
	size_t left; /* changes that are still pending; 0: the directory is gone */
};

int cow_apply(struct cow *c, const struct cow_apply *how, struct cow_applied *ret, struct err *e);

/* put.c: one change into the workspace. */
#define COW_CHUNK ((size_t)64 * 1024)
struct cow_put {
	const struct cow *c;
	const struct cow_apply *how;
	char *chunk;            /* COW_CHUNK bytes: stacks of threads are small */
	size_t done;            /* changes that are in the workspace */
	const char *last_draft; /* in which directory one was noted last; NULL */
};
int cow_put(struct cow_put *p, const struct cow_change *change, struct err *e);
int cow_put_delete(struct cow_put *p, const struct cow_change *change, struct err *e);
int cow_put_mode(struct cow_put *p, const char *path, uint32_t mode, struct err *e);
/* What an apply that was killed left beside a file. */
void cow_remove_drafts(const struct cow *c);

#endif
