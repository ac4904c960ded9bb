/* SPDX-License-Identifier: Apache-2.0 */
/* Copies a directory for a session: session/copy.h.
 *
 * The file tools of the library read the original, with the session's policy and a grant of the
 * directory; so a file that a rule hides is left out, also under another name, and the file that
 * was checked is the file that is read.
 *
 * Should:   copy the files that a command with `--read DIR` could read, and report the others.
 * Must not: follow a symlink; open anything but files and directories; copy more than the bounds.
 * Fails:    closed: the session is not created. */
#include "session/copy.h"

#include "base/auto.h"
#include "base/fd.h"
#include "base/str.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PIECE ((size_t)4 * 1024 * 1024)
#define NAMED_MAX 8U /* paths that the report names */

/* A directory that is being copied. */
struct level {
	int from, to; /* from: O_PATH */
	unsigned depth;
};

struct copying {
	const struct corral_files *files;
	const char *root; /* without symlinks */
	const char *own;  /* the directory of the copies */
	uint64_t bytes;
	size_t nfiles, ndirs, nlinks, nleft;
	char left[800]; /* the first ones that were left out */
	struct corral_error *err;
};

static int fail(struct corral_error *err, int error, const char *remedy, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

static int fail(struct corral_error *err, int error, const char *remedy, const char *format, ...) {
	va_list values;

	*err = (struct corral_error){.kind = error == 0 ? CORRAL_E_REFUSED : CORRAL_E_SETUP,
				     .sys_errno = error};
	(void)snprintf(err->layer, sizeof err->layer, "copy");
	(void)snprintf(err->remedy, sizeof err->remedy, "%s", remedy);
	va_start(values, format);
	(void)vsnprintf(err->message, sizeof err->message, format, values);
	va_end(values);
	return -1;
}

/* ---- the report ---- */

static void hide(char *text) {
	for (; *text != '\0'; text++) {
		if (*text < ' ' || *text > '~') {
			*text = '?'; /* also a byte above ASCII */
		}
	}
}

static void leave_out(struct copying *c, const char *path, const char *why) {
	char row[160];

	if (++c->nleft > NAMED_MAX) {
		return;
	}
	(void)snprintf(row, sizeof row, "%s%.60s (%.80s)", c->nleft == 1 ? "" : ", ",
		       path + strlen(c->root) + (path[strlen(c->root)] == '/' ? 1 : 0), why);
	hide(row);
	size_t at = strlen(c->left);
	(void)snprintf(c->left + at, sizeof c->left - at, "%s", row);
}

static void put_report(const struct copying *c, struct copy_report *ret) {
	int n = snprintf(ret->text, sizeof ret->text,
			 "%zu files, %zu directories, %zu symlinks, %llu bytes", c->nfiles,
			 c->ndirs, c->nlinks, (unsigned long long)c->bytes);
	if (c->nleft > 0) {
		n += snprintf(ret->text + n, sizeof ret->text - (size_t)n, "; left out %zu: %s",
			      c->nleft, c->left);
	}
	if (c->nleft > NAMED_MAX && (size_t)n < sizeof ret->text) {
		(void)snprintf(ret->text + n, sizeof ret->text - (size_t)n, ", and others");
	}
}

/* ---- entries ---- */

static int count_bytes(struct copying *c, uint64_t more) {
	if (more <= COPY_BYTES_MAX - c->bytes) {
		return 0;
	}
	return fail(c->err, 0, "copy a smaller directory, or grant it: --read DIR",
		    "--copy %s: more than %llu MiB", c->root,
		    (unsigned long long)(COPY_BYTES_MAX >> 20));
}

static int count_entry(struct copying *c) {
	if (c->nfiles + c->ndirs + c->nlinks + c->nleft < COPY_ENTRIES_MAX) {
		return 0;
	}
	return fail(c->err, 0, "copy a smaller directory, or grant it: --read DIR",
		    "--copy %s: more than %u files and directories", c->root, COPY_ENTRIES_MAX);
}

/* 0 copied, 1 not readable (with *why), -1 failed. */
static int copy_bytes(struct copying *c, const char *path, int to, struct corral_error *why) {
	struct corral_range range = {.length = PIECE};
	size_t len = PIECE;

	while (len == PIECE) {
		auto_free char *bytes = NULL;
		if (corral_files_read(c->files, path, &range, &bytes, &len, why) != 0) {
			return 1;
		}
		if (count_bytes(c, len) != 0) {
			return -1;
		}
		if (fd_write_all(to, bytes, len) != 0) {
			return fail(c->err, errno, "free space in XDG_RUNTIME_DIR",
				    "--copy %s: cannot write the copy", c->root);
		}
		c->bytes += len;
		range.offset += len;
	}
	return 0;
}

static int copy_file(struct copying *c, const char *path, const struct corral_entry *entry,
		     int dir) {
	struct corral_error why = {0};

	if (count_bytes(c, entry->size) != 0) {
		return -1; /* before it is read */
	}
	auto_fd to = openat(dir, entry->name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
			    0600);
	if (to < 0) {
		return fail(c->err, errno, "", "--copy %s: cannot create %s", c->root, entry->name);
	}
	int rc = copy_bytes(c, path, to, &why);
	if (rc == 0 && fchmod(to, (entry->mode & 0777) | 0600) != 0) {
		return fail(c->err, errno, "", "--copy %s: cannot set a mode", c->root);
	}
	if (rc == 1) {
		leave_out(c, path, why.message);
		return unlinkat(dir, entry->name, 0) == 0
			       ? 0
			       : fail(c->err, errno, "", "--copy %s: cannot remove a file",
				      c->root);
	}
	c->nfiles += rc == 0;
	return rc;
}

/* The text alone: the kernel resolves it in the sandbox, with the rules of the sandbox. */
static int copy_link(struct copying *c, const struct level *at, const char *path,
		     const char *name) {
	char target[PATH_MAX];
	ssize_t n = readlinkat(at->from, name, target, sizeof target - 1);

	if (n < 0) {
		leave_out(c, path, "it cannot be read");
		return 0;
	}
	target[n] = '\0';
	if (symlinkat(target, at->to, name) != 0) {
		return fail(c->err, errno, "", "--copy %s: cannot create a symlink", c->root);
	}
	c->nlinks++;
	return 0;
}

static int copy_entries(struct copying *c, const struct level *at, const char *path);

static int copy_directory(struct copying *c, const struct level *at, const char *path,
			  const struct corral_entry *entry) {
	auto_fd from = openat(at->from, entry->name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (from < 0 || streq(c->own, path)) {
		leave_out(c, path, from < 0 ? "it cannot be read" : "the daemon's own");
		return 0;
	}
	if (at->depth >= COPY_DEPTH_MAX) {
		return fail(c->err, 0, "copy a smaller directory", "--copy %s: more than %u levels",
			    c->root, COPY_DEPTH_MAX);
	}
	if (mkdirat(at->to, entry->name, 0700) != 0) {
		return fail(c->err, errno, "", "--copy %s: cannot create %s", c->root, entry->name);
	}
	auto_fd to = openat(at->to, entry->name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (to < 0) {
		return fail(c->err, errno, "", "--copy %s: cannot open %s", c->root, entry->name);
	}
	c->ndirs++;
	const struct level below = {.from = from, .to = to, .depth = at->depth + 1};
	if (copy_entries(c, &below, path) != 0) {
		return -1;
	}
	return fchmod(to, (entry->mode & 0777) | 0700) == 0
		       ? 0
		       : fail(c->err, errno, "", "--copy %s: cannot set a mode", c->root);
}

static int copy_entry(struct copying *c, const struct level *at, const char *path,
		      const struct corral_entry *entry) {
	if (count_entry(c) != 0) {
		return -1;
	}
	if (streq(entry->kind, "file")) {
		return copy_file(c, path, entry, at->to);
	}
	if (streq(entry->kind, "directory")) {
		return copy_directory(c, at, path, entry);
	}
	if (streq(entry->kind, "link")) {
		return copy_link(c, at, path, entry->name);
	}
	leave_out(c, path,
		  streq(entry->kind, "denied") ? "a rule of the policy denies it"
					       : "not a file, directory or symlink");
	return 0;
}

static int copy_entries(struct copying *c, const struct level *at, const char *path) {
	auto_free struct corral_entry *entries = NULL;
	struct corral_error why = {0};
	size_t count = 0;
	int rc = 0;

	if (corral_files_list(c->files, path, &entries, &count, &why) != 0) {
		if (at->depth == 0) {
			*c->err = why;
			return -1;
		}
		leave_out(c, path, why.message);
		return 0;
	}
	for (size_t i = 0; rc == 0 && i < count; i++) {
		char below[PATH_MAX];
		if (snprintf(below, sizeof below, "%s/%s", path, entries[i].name) >= PATH_MAX) {
			return fail(c->err, 0, "copy a smaller directory",
				    "--copy %s: a path is too long", c->root);
		}
		rc = copy_entry(c, at, below, &entries[i]);
	}
	return rc;
}

/* ---- the whole ---- */

static int open_files(const struct corral_policy *policy, const char *root,
		      struct corral_policy **ret_policy, struct corral_files **ret,
		      struct corral_error *err) {
	struct corral_policy *granted = corral_policy_derive(policy);

	*ret_policy = granted;
	if (granted == NULL) {
		return fail(err, ENOMEM, "", "out of memory");
	}
	if (corral_policy_set_from(granted, "fs.read", root, "--copy", err) != 0 ||
	    corral_policy_set_from(granted, "fs.tools", "view", "--copy", err) != 0 ||
	    corral_files_new(granted, ret, err) != 0) {
		return -1;
	}
	corral_files_reject_symlinks(*ret);
	return 0;
}

static int copy_tree(struct copying *c, const char *path) {
	auto_fd from = open(c->root, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	auto_fd to = -1;

	if (from < 0) {
		return fail(c->err, errno, "name a directory", "--copy %s: cannot open it",
			    c->root);
	}
	if (mkdir(path, 0700) != 0 ||
	    (to = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)) < 0) {
		return fail(c->err, errno, "", "cannot create %s", path);
	}
	const struct level top = {.from = from, .to = to};
	return copy_entries(c, &top, c->root);
}

int copy_make(const struct supervised *with, const struct corral_policy *policy, const char *dir,
	      struct copy_report *ret, struct corral_error *err) {
	auto_free char *root = realpath(dir, NULL);
	char own[256];
	struct corral_policy *granted = NULL;
	struct corral_files *files = NULL;

	if (root == NULL) {
		return fail(err, errno, "name a directory that exists", "--copy %s: cannot find it",
			    dir);
	}
	(void)snprintf(own, sizeof own, "%.*s", (int)(strrchr(with->socket, '/') - with->socket),
		       with->socket); /* a socket's path has 107 bytes at most */
	auto_free char *real = realpath(own, NULL);
	(void)snprintf(ret->path, sizeof ret->path, "%s/%s.c", own, with->id);
	struct copying c = {.root = root, .own = real == NULL ? own : real, .err = err};
	int rc = open_files(policy, root, &granted, &files, err);
	if (rc == 0) {
		c.files = files;
		rc = copy_tree(&c, ret->path);
	}
	put_report(&c, ret);
	corral_files_free(files);
	corral_policy_free(granted);
	return rc;
}
