/* The file tools: what an agent does with files, outside the sandbox, within its
 * boundary.  Paths are inside paths (place.h), and each verdict is access.h's.
 *
 * Should:   do what a command inside could have done, or refuse (F2).
 * Must not: wait on a file: a FIFO, socket or device is refused before it is opened (F3);
 *           leave a half-written file where a whole one was.
 * Fails:    closed, with what was attempted on what, why, and the remedy. */
#ifndef CORRAL_FILES_TOOLS_H
#define CORRAL_FILES_TOOLS_H

#include "base/buf.h"
#include "files/access.h"

#include <stdint.h>

/* What a tool holds in memory at once. */
#define TOOL_BYTES_MAX ((size_t)25 * 1024 * 1024)
/* Entries of one directory. */
#define TOOL_ENTRIES_MAX ((size_t)100000)

struct bytes {
	const char *data;
	size_t len;
};

/* Appends length bytes from offset on to out, fewer at the end of the file; 0: all of
 * them, ERR_TOO_LARGE when they are more than TOOL_BYTES_MAX.  size of the file. */
struct range {
	uint64_t offset;
	size_t length;
};
int tool_read(const struct lens *v, const char *path, struct range range, struct buf *out,
	      uint64_t *ret_size, struct err *e);

enum {
	WRITE_PARENTS = 1, /* make missing directories */
	WRITE_NEW = 2,     /* the file must not exist */
};

/* Replaces the whole content at once, or makes the file. */
int tool_write(const struct lens *v, const char *path, struct bytes content, unsigned flags,
	       struct err *e);

/* Replaces `old`, which must be there exactly once unless all of them are meant. */
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
	unsigned mode; /* 07777 */
};

/* Sorted by the bytes of the names; all of it belongs to the arena. */
struct listing {
	struct entry *entries;
	size_t count, cap;
};
int tool_list(const struct lens *v, const char *path, struct arena *a, struct listing *ret,
	      struct err *e);

/* The whole of a regular file, to be handed out; scan, when it is not NULL, sees all
 * of it first, and refuses it by an answer that is not 0. */
struct scanner {
	int (*scan)(void *arg, const char *bytes, size_t n);
	void *arg;
};
int tool_send(const struct lens *v, const char *path, struct scanner scanner, struct buf *out,
	      struct err *e);

/* Makes a link with these words, if they lead to something inside, there or not. */
int tool_symlink(const struct lens *v, const char *words, const char *path, struct err *e);

/* ---- what the tools share ---- */

/* Opens a regular file that may be read. */
int tool_open_to_read(const struct lens *v, const char *path, struct place *ret_place,
		      struct stat *ret, struct err *e);

/* Refuses what is no regular file, by what it is. */
int tool_check_regular(const char *path, mode_t mode, struct err *e);

/* Puts content where the place is; the place was judged. */
int tool_put_content(const struct lens *v, const struct place *p, struct bytes content,
		     bool must_be_new, struct err *e);

#endif
