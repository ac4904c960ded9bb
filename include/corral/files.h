/* SPDX-License-Identifier: Apache-2.0 */
/* The file tools: read, write, edit, list, send and check single files without a command. */
#ifndef CORRAL_FILES_H
#define CORRAL_FILES_H

#include "error.h"
#include "format.h"
#include "policy.h"

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

/* File operations of an agent without a command, with the same access as its commands have.
 * A path is the path in the sandbox: absolute, or relative to the directory in which a
 * command would start.  It is resolved through the same mounts, with symbolic links; the
 * file that was checked is the file that is opened, and no name is resolved twice.  A path
 * that a command could not read or write is refused with
 *   CORRAL_E_OUTSIDE    the sandbox does not show it, or it belongs to a single run
 *                       (/tmp, /proc, a home that is not kept);
 *   CORRAL_E_SENSITIVE  fs.deny or the table of credentials hides it, or a pattern of
 *                       fs.deny hides another name of the same file (a hard link);
 *   CORRAL_E_PROTECTED  it can be read but not changed.
 * The message names the rule and its origin, the remedy the option that allows it.  The
 * checks do not depend on the level of the host. */
struct corral_files;

/* Resolves the policy once, for all calls; each call plans anew on the present host.  The
 * policy has to outlive the handle. */
int corral_files_new(const struct corral_policy *policy, struct corral_files **files,
		     struct corral_error *err);
void corral_files_free(struct corral_files *files);

/* Refuse every path with a symbolic link in it, regardless of its target. */
void corral_files_reject_symlinks(struct corral_files *files);

/* Do not use openat2 and O_TMPFILE, as on kernels without them: slower, with equal results. */
void corral_files_by_name(struct corral_files *files);

/* A part of a file; length 0 means all from offset on. */
struct corral_range {
	uint64_t offset;
	size_t length;
	uint64_t size; /* stored by the call: size of the whole file */
};

/* Reads a regular file, or a part of it; range NULL means all.  At the end of the file fewer
 * bytes are returned.  *bytes has a NUL after its *len bytes and is freed with
 * free().  More than 25 MiB at once is CORRAL_E_TOO_LARGE; a directory, FIFO, socket
 * or device is CORRAL_E_FILE_KIND, and is never opened. */
int corral_files_read(const struct corral_files *files, const char *path,
		      struct corral_range *range, char **bytes, size_t *len,
		      struct corral_error *err);

#define CORRAL_WRITE_PARENTS 1U /* create missing directories */
#define CORRAL_WRITE_NEW 2U     /* fail with EEXIST when the file exists */

/* Replaces a file's content or creates the file.  A reader sees the old content or the
 * new one; the mode stays, set-user-id bits aside, and a new file gets 0666 less the
 * umask.  Other names (hard links) and extended attributes of the file are not kept.
 * A file whose directory cannot be written, and one of another user, is written in
 * place.
 * A symbolic link as the last component is followed when its target may be written. */
int corral_files_write(const struct corral_files *files, const char *path, const void *bytes,
		       size_t len, unsigned flags, struct corral_error *err);

struct corral_edit {
	const char *old_text; /* compared byte by byte; not empty */
	const char *new_text;
	int all; /* 1: every occurrence; 0: it must occur exactly once */
};

/* Replaces text in a file as corral_files_write does; *count (may be NULL) is the number
 * of replacements.  CORRAL_E_NO_MATCH when the text does not occur, CORRAL_E_SEVERAL when
 * it occurs more than once. */
int corral_files_edit(const struct corral_files *files, const char *path,
		      const struct corral_edit *edit, size_t *count, struct corral_error *err);

struct corral_entry {
	const char *name; /* bytes, as the host has them */
	const char *kind; /* "file", "directory", "link", "denied", "other" */
	uint64_t size;
	unsigned mode; /* 07777 */
};

/* Lists a directory, also "/", as the sandbox shows it, sorted by the bytes of the names.
 * *entries is one block that is freed with free().  More than 100,000
 * entries are CORRAL_E_TOO_LARGE. */
int corral_files_list(const struct corral_files *files, const char *path,
		      struct corral_entry **entries, size_t *count, struct corral_error *err);

/* Gets the whole content; a result other than 0 refuses it. */
struct corral_scan {
	int (*scan)(void *arg, const char *bytes, size_t n);
	void *arg;
};

/* Reads a whole regular file of at most 25 MiB that is to be sent elsewhere; scan may be
 * NULL.  *bytes is the same content that was scanned; free it with free().  A refusal, of scan
 * or, as scan.files says, of the leak scanner, is CORRAL_E_LEAK; with scan.files redact a secret
 * is replaced in *bytes. */
int corral_files_send(const struct corral_files *files, const char *path,
		      const struct corral_scan *scan, char **bytes, size_t *len,
		      struct corral_error *err);

/* For the audit log: the caller's scanner found a secret in the content of this file, or in a text
 * for it, and the caller refused it, or replaced it (blocked 0).  corral_files_free() writes the
 * records.  corral_files_send() writes those of scan.files itself, and one of the file. */
struct corral_finding;
int corral_files_leak(struct corral_files *files, const char *path,
		      const struct corral_finding *finding, int blocked, struct corral_error *err);

/* Creates a symbolic link.  target is stored as given; it must name a path that may be read
 * in the sandbox, whether it exists or not, and on the host it must resolve to a path beneath
 * a directory that commands may write: an absolute path into a private HOME, /tmp, or /usr is
 * CORRAL_E_OUTSIDE, and so is ".." after a name that does not exist. */
int corral_files_symlink(const struct corral_files *files, const char *target, const char *path,
			 struct corral_error *err);

struct corral_check {
	const char *path;
	int write; /* 1: check for writing; 0: for reading */
};

/* The verdict alone: *allowed (may be NULL) is 1 or 0, and the text names the error, the rule, its
 * origin and the remedy.  A path that the kernel would not resolve is refused, too; -1 when there
 * is no verdict, as for an empty path. */
int corral_files_check(const struct corral_files *files, const struct corral_check *check,
		       enum corral_format format, char **text, int *allowed,
		       struct corral_error *err);

/* Describes an entry as the sandbox shows it.  A symbolic link as the last component is not
 * followed, unless a slash follows it.  CORRAL_E_NOT_FOUND where nothing is. */
struct corral_stat {
	size_t size;      /* set by the caller to sizeof */
	const char *kind; /* "file", "directory", "link", "other"; static */
	uint64_t bytes;
	int64_t modified_ns; /* since 1970; 0: not known */
	unsigned mode;       /* 07777 */
	int reserved;        /* 0 */
};

int corral_files_stat(const struct corral_files *files, const char *path, struct corral_stat *stat,
		      struct corral_error *err);

#define CORRAL_DIRECTORY_PARENTS 1U /* create missing directories; one that exists is a success */

/* Creates a directory with mode 0777 less the umask. */
int corral_files_make_directory(const struct corral_files *files, const char *path, unsigned flags,
				struct corral_error *err);

#define CORRAL_MOVE_REPLACE 1U /* replace a file or an empty directory of the new name */

/* Renames a file, directory or symbolic link; a link as the last component of either path is not
 * followed.  CORRAL_E_FILE with EEXIST when the new name exists and CORRAL_MOVE_REPLACE is not
 * given, with EXDEV between two mounts of the sandbox.  A directory that has a protected or hidden
 * entry, a git repository or a mount point in it is refused, and so is one to which other rules
 * would apply beneath its new name.  A symbolic link to another directory must have a target that
 * corral_files_symlink() would allow there. */
int corral_files_move(const struct corral_files *files, const char *from, const char *to,
		      unsigned flags, struct corral_error *err);

#define CORRAL_DELETE_RECURSIVE 1U /* a directory with everything in it */

/* Deletes a file, a symbolic link (not its target) or an empty directory.  A tree is checked as a
 * whole before anything is deleted: one with a protected or hidden entry, a git repository, a mount
 * point or a directory that cannot be emptied is refused, and one with more than 2 million entries
 * or 128 levels is CORRAL_E_TOO_LARGE. */
int corral_files_delete(const struct corral_files *files, const char *path, unsigned flags,
			struct corral_error *err);

/* Sets the permission bits of a regular file or directory, 0777 at most; a symbolic link is
 * followed.  A directory keeps its set-group-id and sticky bits, a file does not. */
int corral_files_chmod(const struct corral_files *files, const char *path, unsigned mode,
		       struct corral_error *err);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif
