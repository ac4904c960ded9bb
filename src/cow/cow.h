/* SPDX-License-Identifier: Apache-2.0 */
/* Copy-on-write runs (fs.cow): find, show, apply and discard the changes of a workspace.
 *
 * Theory.  A run with fs.cow sees the workspace through an overlayfs mount; the upper
 * directory is in Corral's state: $state/cow/ID/upper.  The kernel stores there the files
 * that were written, a whiteout (character device 0:0) for each deleted entry, and an opaque
 * mark on a directory that hides the whole lower one.  The changes of a run are the
 * difference between the upper tree and the current workspace, entry by entry; an entry
 * that is equal on both sides is no change.
 *
 *   meta     the workspace, and the start time of the run
 *   base     inode, size, ctime and mode that the workspace had at each path of the upper
 *            tree when the run ended: a difference now is a later change of the host
 *   journal  that an apply began, the applied paths, and the drafts that it may have left
 *
 * Invariants:
 *  W1  no function here follows a symlink, in the workspace or in the upper tree;
 *  W2  one process at a time uses a directory: flock(2), which a run holds to its end;
 *  W3  each change reaches the workspace by one system call, complete or not at all;
 *  W4  a change that was not applied stays in the upper tree: the next apply continues
 *      one that was interrupted;
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

/* The directory of a run's changes; NULL without state_dir or memory. */
const char *cow_dir_of(struct arena *a, const char *state_dir, const char *id);

struct cow_run {
	const char *dir, *id; /* id points into dir */
	int lock, upper, work;
};

/* Creates and locks the directory; fails with the reason if it cannot be an upper directory. */
int cow_begin(const char *dir, const char *workspace, struct cow_run *ret, struct err *e);

/* After the run: counts the changes; without any it removes the directory.  Releases r, also
 * on failure. */
int cow_end(struct cow_run *r, int64_t *ret_changes, struct err *e);

/* ---- store.c: one directory of changes ---- */

/* The entry at a path; mode 0 for none. */
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
	int parent;       /* $state/cow; -1 when it is not known */
	int dir;          /* $state/cow/ID, locked */
	int upper, lower; /* lower is -1 when the workspace does not exist */
	const char *workspace;
	struct timespec started;
	bool replaced; /* the workspace has another inode than at the start of the run */
	bool settled;  /* base is known */
	bool begun;    /* an earlier apply began and was interrupted */
	struct cow_base_row *base;
	size_t nbase, base_cap;
	const char **done; /* sorted */
	size_t ndone, done_cap;
	const char **drafts; /* relative to the workspace */
	size_t ndrafts, drafts_cap;
};

/* Opens and locks; ERR_REFUSED while the run lasts, ERR_USAGE for an unknown id; with
 * any other error cow_remove() still works.  The caller closes ret in any case. */
int cow_open(struct arena *a, const char *state_dir, const char *id, struct cow *ret,
	     struct err *e);
void cow_close(struct cow *c);

/* From a locked directory; takes the descriptor. */
int cow_load(struct arena *a, int dir, const char *id, struct cow *ret, struct err *e);

/* Reads the journal, and appends to the lists in c. */
int cow_load_journal(struct cow *c, struct err *e);

/* After a failed cow_open(): the run was killed before it wrote meta. */
bool cow_is_abandoned(const struct cow *c);

/* Removes the changes; the caller still closes c. */
int cow_remove(struct cow *c, struct err *e);

int cow_write_base(struct cow *c, struct err *e);
int cow_note(const struct cow *c, char kind, const char *path, struct err *e);
#define COW_DONE 'D'
#define COW_DONE_BENEATH 'E' /* everything in this directory, not the directory itself */
#define COW_DRAFT 'T'
#define COW_BEGUN 'B' /* an apply began to change the workspace; without a path */

/* Every id, in the order of their names; running ones too. */
int cow_ids(struct arena *a, const char *state_dir, const char ***ret, size_t *ret_n,
	    struct err *e);

struct cow_fact cow_fact_of(const struct stat *st);

/* ---- tree.c: the two trees ---- */

/* openat2(2) beneath a root without following symlinks; -1 with errno. */
int cow_open_beneath(int root, const char *path, int flags);
/* The same in the upper tree, also if the mode of the file forbids it. */
int cow_open_upper(const struct cow *c, const char *path, int flags);
/* chmod(2) through an O_PATH descriptor. */
int cow_chmod(int fd, mode_t mode);
bool cow_is_opaque(int dir);
/* The mode that the command set, if cow_open_upper() had to widen it. */
mode_t cow_true_mode(int dir, mode_t mode);
bool cow_is_whiteout(const struct stat *st);
/* ---- walk.c ---- */

enum cow_kind {
	COW_ADDED,
	COW_CHANGED, /* content, and maybe the mode */
	COW_MODE,    /* only the mode */
	COW_TYPE,    /* the file type: file, directory or symlink */
	COW_DELETED,
	COW_RENAMED, /* `from` was deleted; the content is the same */
	COW_KINDS
};

struct cow_change {
	enum cow_kind kind;
	const char *path, *from;
	struct cow_fact was, is; /* in the workspace now; in the upper tree */
	const char *conflict;    /* the host's change of the same path, or NULL */
	const char *cannot;      /* why it is never applied, or NULL */
};

struct cow_changes {
	struct cow_change *items;
	size_t n, cap;
};

/* All changes, sorted by path.  The first walk after a run writes the base. */
int cow_walk(struct cow *c, struct cow_changes *ret, struct err *e);
const char *cow_kind_name(enum cow_kind kind);

/* Whether the change is at or beneath one of the paths; true without paths. */
bool cow_selects(const char *const *paths, size_t npaths, const struct cow_change *change);

/* ---- conflict.c ---- */

/* Sets `conflict`, and drops mode changes of directories that only the host made. */
void cow_find_conflicts(const struct cow *c, struct cow_changes *changes);

/* A budget for reading files; when it is used up the result is "not known". */
struct cow_effort {
	uint64_t bytes;
	int64_t deadline; /* ms on the monotonic clock */
};
void cow_effort_begin(struct cow_effort *f, uint64_t bytes, int64_t ms);
/* Takes from the budget; false when too little is left. */
bool cow_effort_take(struct cow_effort *f, uint64_t bytes);

/* ---- rename.c ---- */

/* Pairs added files with deleted files of the same content; when the budget is used up, the
 * rest stays additions and deletions. */
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
/* Whether it has more lines than cow_text_diff() compares. */
bool cow_text_is_long(struct cow_text t);

/* ---- show.c ---- */

struct cow_view {
	const char *const *paths;
	size_t npaths;
	bool json;
};

int cow_show(const struct cow *c, const struct cow_changes *changes, const struct cow_view *v,
	     struct buf *out, struct err *e);
/* Writes a name as git does: quoted and escaped if a character needs it. */
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
	void (*step)(void *arg); /* for tests: before each system call that changes a file */
	void *step_arg;
};

struct cow_applied {
	const struct cow_change **items;
	size_t n;
	const struct cow_change **skipped; /* selected, but never applied: see `cannot` */
	size_t nskipped;
	size_t left; /* changes that are still pending; 0: the directory was removed */
};

int cow_apply(struct cow *c, const struct cow_apply *how, struct cow_applied *ret, struct err *e);

/* put.c: one change into the workspace. */
#define COW_CHUNK ((size_t)64 * 1024)
struct cow_put {
	const struct cow *c;
	const struct cow_apply *how;
	char *chunk;            /* COW_CHUNK bytes: thread stacks are small */
	size_t done;            /* changes that are in the workspace */
	const char *last_draft; /* the last draft in the journal; NULL: none */
};
int cow_put(struct cow_put *p, const struct cow_change *change, struct err *e);
int cow_put_delete(struct cow_put *p, const struct cow_change *change, struct err *e);
int cow_put_mode(struct cow_put *p, const char *path, uint32_t mode, struct err *e);
/* Removes the drafts of an interrupted apply. */
void cow_remove_drafts(const struct cow *c);

#endif
