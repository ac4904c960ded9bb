/* SPDX-License-Identifier: Apache-2.0 */
/* The file tools: an agent reads, writes, lists, moves and deletes files from outside the sandbox,
 * with the sandbox's rules.  Paths are paths of the sandbox (place.h), and access.h checks them.
 *
 * Should:   do the same as a command in the sandbox could do, or refuse (F2).
 * Must not: block on a file: a FIFO, socket or device is refused before it is opened (F3);
 *           replace a file by a partly written one.
 * Fails:    closed, with the action, the path, the reason and the remedy.
 *
 * Invariants:
 *  F1  the checked file is held by a descriptor, and the tool works on it; no name is resolved
 *      twice;
 *  F2  a tool refuses exactly the accesses that a command in the sandbox cannot make;
 *  F3  a tool blocks on no file, and opens only regular files and directories. */
#ifndef CORRAL_FILES_TOOLS_H
#define CORRAL_FILES_TOOLS_H

#include "base/buf.h"
#include "files/access.h"

#include <stdint.h>

/* The most bytes that a tool reads or writes at once. */
#define TOOL_BYTES_MAX ((size_t)25 * 1024 * 1024)
/* Entries of one directory. */
#define TOOL_ENTRIES_MAX ((size_t)100000)

struct bytes {
	const char *data;
	size_t len;
};

/* Appends `length` bytes from `offset` to out, fewer at the end of the file; length 0: all,
 * or ERR_TOO_LARGE above TOOL_BYTES_MAX.  *ret_size: the size of the file. */
struct range {
	uint64_t offset;
	size_t length;
};
int tool_read(const struct lens *v, const char *path, struct range range, struct buf *out,
	      uint64_t *ret_size, struct err *e);

enum {
	WRITE_PARENTS = 1, /* create missing directories */
	WRITE_NEW = 2,     /* the file must not exist */
};

/* Replaces the whole content at once, or creates the file. */
int tool_write(const struct lens *v, const char *path, struct bytes content, unsigned flags,
	       struct err *e);

/* Replaces `old`, which must occur exactly once unless `all` is set. */
struct replacement {
	struct bytes old, new;
	bool all;
};
int tool_edit(const struct lens *v, const char *path, const struct replacement *r,
	      size_t *ret_count, struct err *e);

struct entry {
	const char *name;
	const char *kind; /* "file", "directory", "link", "denied", "other" */
	uint64_t size;
	unsigned mode;       /* 07777 */
	int64_t modified_ns; /* since 1970; 0: not known */
};

/* Sorted by the bytes of the names; the arena owns everything. */
struct listing {
	struct entry *entries;
	size_t count, cap;
};
int tool_list(const struct lens *v, const char *path, struct arena *a, struct listing *ret,
	      struct err *e);

/* One entry, by its path; a symlink that is the last component is not followed.  The name stays
 * NULL. */
int tool_stat(const struct lens *v, const char *path, struct entry *ret, struct err *e);

/* Returns the whole content of a regular file; scan, if not NULL, gets all of it first, and
 * refuses it with a result other than 0. */
struct scanner {
	int (*scan)(void *arg, const char *bytes, size_t n);
	void *arg;
};
int tool_send(const struct lens *v, const char *path, struct scanner scanner, struct buf *out,
	      struct err *e);

/* Creates a symlink with the target `words`, if the target is in the view; it may be missing. */
int tool_symlink(const struct lens *v, const char *words, const char *path, struct err *e);

enum { DIRECTORY_PARENTS = 1 /* create missing directories; one that exists is a success */ };

int tool_make_directory(const struct lens *v, const char *path, unsigned flags, struct err *e);

/* Renames an entry, of any type. */
struct moving {
	const char *from, *to;
	bool replace;   /* a file or an empty directory that exists there */
	const char *at; /* stored by the call: the path that a refusal is about */
};
int tool_move(const struct lens *v, struct moving *m, struct err *e);

/* Removes a file, a symlink or an empty directory; recursive: also a tree, if all of it may be
 * removed. */
int tool_delete(const struct lens *v, const char *path, bool recursive, struct err *e);

/* Sets the nine permission bits of a regular file or directory. */
int tool_chmod(const struct lens *v, const char *path, unsigned mode, struct err *e);

/* ---- shared by the tools ---- */

/* Refuses a symlink at this place whose target a tool may not create. */
int tool_check_target(const struct lens *v, const struct place *p, const char *words,
		      struct err *e);

/* Opens a regular file that may be read. */
int tool_open_to_read(const struct lens *v, const char *path, struct place *ret_place,
		      struct stat *ret, struct err *e);

/* Refuses a file that is not regular, with its type. */
int tool_check_regular(const char *path, mode_t mode, struct err *e);

/* Writes content to a place that access.h has checked. */
int tool_put_content(const struct lens *v, const struct place *p, struct bytes content,
		     bool must_be_new, struct err *e);

#endif
