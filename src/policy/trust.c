/* SPDX-License-Identifier: Apache-2.0 */
/* The trust list: the project files that the user has read and trusts, by SHA-256.
 *
 * Should:   keep one line a file, "sha256 path", in a file that only its owner
 *           can write; replace the list atomically.
 * Must not: trust a path with another content, or the content at another path.
 * Fails:    closed.  A list that other users can write is an error. */
#include "policy/internal.h"

#include "base/auto.h"
#include "base/dirs.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/str.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sodium/crypto_hash_sha256.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>

/* Enough for thousands of projects; a larger file is not a trust list. */
#define TRUST_FILE_MAX ((size_t)4 * 1024 * 1024)

void trust_sha256_hex(const void *data, size_t len, char ret_hex[65]) {
	unsigned char hash[crypto_hash_sha256_BYTES];
	(void)crypto_hash_sha256(hash, data, len); /* cannot fail: it only computes */
	trust_hex(hash, ret_hex);
}

void trust_hex(const unsigned char hash[32], char ret_hex[65]) {
	static const char digits[] = "0123456789abcdef";
	for (size_t i = 0; i < crypto_hash_sha256_BYTES; i++) {
		ret_hex[2 * i] = digits[hash[i] >> 4];
		ret_hex[2 * i + 1] = digits[hash[i] & 15];
	}
	ret_hex[64] = '\0';
}

/* Reads the whole trust list; *out stays empty when the file does not exist. */
static int trust_read(const char *trust_file, struct buf *out, struct err *e) {
	struct stat st;
	auto_fd fd = open(trust_file, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (fd < 0) {
		return errno == ENOENT || errno == ENOTDIR
			       ? 0
			       : policy_file_error(e, trust_file, errno);
	}
	if (fstat(fd, &st) != 0) {
		return policy_file_error(e, trust_file, errno);
	}
	if (!S_ISREG(st.st_mode) || (st.st_mode & (S_IWGRP | S_IWOTH)) != 0 ||
	    (st.st_uid != geteuid() && st.st_uid != 0)) {
		(void)err_set(e, ERR_USAGE, "policy",
			      "%s: the trust list is writable by other users", trust_file);
		return err_fix(e, "check its content, then: chmod 600 %s", trust_file);
	}
	return fd_read_all(fd, TRUST_FILE_MAX, out) == 0 ? 0
							 : policy_file_error(e, trust_file, errno);
}

/* The path of a line "sha256 path", or NULL when it is not one. */
static const char *line_path(const char *line, size_t len, size_t *ret_len) {
	if (len < 66 || line[64] != ' ') {
		return NULL;
	}
	*ret_len = len - 65;
	return line + 65;
}

static bool line_is_for(const char *line, size_t len, const char *path) {
	size_t n;
	const char *p = line_path(line, len, &n);
	return p != NULL && n == strlen(path) && memcmp(p, path, n) == 0;
}

/* The line that starts at *at, without its newline; moves past it. */
static const char *next_line(const struct buf *b, size_t *at, size_t *ret_len) {
	if (*at >= b->len) {
		return NULL;
	}
	const char *line = b->data + *at;
	const char *end = memchr(line, '\n', b->len - *at);
	*ret_len = end == NULL ? b->len - *at : (size_t)(end - line);
	*at += *ret_len + 1;
	return line;
}

int trust_lookup(const char *trust_file, const char *path, const char *sha256, bool *ret,
		 struct err *e) {
	auto_buf list = {0};
	size_t at = 0, len;
	const char *line;
	bool found = false;
	if (trust_file != NULL && trust_read(trust_file, &list, e) != 0) {
		return -1;
	}
	while ((line = next_line(&list, &at, &len)) != NULL) {
		found |= line_is_for(line, len, path) && memcmp(line, sha256, 64) == 0;
	}
	*ret = found;
	return 0;
}

/* The old list without this path, and its new line at the end. */
static int list_with(const struct buf *old, const char *path, const char *sha256, struct buf *out,
		     struct err *e) {
	size_t at = 0, len;
	const char *line;
	while ((line = next_line(old, &at, &len)) != NULL) {
		if (len > 0 && !line_is_for(line, len, path)) {
			buf_add(out, line, len);
			buf_puts(out, "\n");
		}
	}
	buf_printf(out, "%s %s\n", sha256, path);
	return buf_failed(out) ? err_memory(e, "policy") : 0;
}

static int make_parents(const char *path, struct err *e) {
	char failed[PATH_MAX];
	return dirs_make_parents(path, failed) == 0 ? 0 : policy_file_error(e, failed, errno);
}

/* Writes a new file, syncs it, and renames it over the old one: a reader sees the old list or
 * the new one. */
static int replace_file(const char *path, const struct buf *content, struct err *e) {
	char fresh[PATH_MAX];
	int n = snprintf(fresh, sizeof fresh, "%s.%d.new", path, (int)getpid());
	if (n < 0 || (size_t)n >= sizeof fresh) {
		return policy_file_error(e, path, ENAMETOOLONG);
	}
	/* Left by a killed process with the same pid; if it stays, O_EXCL fails below. */
	(void)unlink(fresh);
	auto_fd fd = open(fresh, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0) {
		return policy_file_error(e, fresh, errno);
	}
	if (fd_write_all(fd, content->data, content->len) != 0 || fsync(fd) != 0 ||
	    rename(fresh, path) != 0) {
		int sys = errno;
		(void)unlink(fresh); /* only the first error is reported */
		return policy_file_error(e, path, sys);
	}
	return 0;
}

/* flock() on the directory: of two concurrent `policy trust` none is lost. */
static int lock_directory(const char *trust_file, struct err *e) {
	char dir[PATH_MAX];
	if (!path_parent(trust_file, dir)) {
		return policy_file_error(e, trust_file, EINVAL);
	}
	auto_fd fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 || flock(fd, LOCK_EX) != 0) {
		return policy_file_error(e, dir, errno);
	}
	return take_fd(&fd);
}

/* The path under which resolve.c looks the file up: real path of the directory, and the
 * file's own name. */
static int pinned_path(const char *path, char ret[PATH_MAX], struct err *e) {
	char dir[PATH_MAX], real[PATH_MAX];
	const char *slash = strrchr(path, '/');
	const char *name = slash == NULL ? path : slash + 1;
	if (!streq(name, PROJECT_FILE) && !streq(name, CAMPAIGN_NAME)) {
		(void)err_set(e, ERR_USAGE, "policy",
			      "%s: only a project's %s or %s can be trusted", path, PROJECT_FILE,
			      CAMPAIGN_FILE);
		return err_fix(e, "pass other files with --policy: they need no trust");
	}
	int n = slash == NULL   ? snprintf(dir, sizeof dir, ".")
		: slash == path ? snprintf(dir, sizeof dir, "/")
				: snprintf(dir, sizeof dir, "%.*s", (int)(slash - path), path);
	if (n < 0 || (size_t)n >= sizeof dir) {
		return policy_file_error(e, path, ENAMETOOLONG);
	}
	if (realpath(dir, real) == NULL) {
		return policy_file_error(e, dir, errno);
	}
	if (strchr(real, '\n') != NULL) {
		return err_set(
			e, ERR_USAGE, "policy",
			"%s: a file below a directory with a line break in its name cannot be "
			"trusted",
			path);
	}
	const char *last = strrchr(real, '/') + 1;
	if (streq(name, CAMPAIGN_NAME) && !streq(last, CAMPAIGN_DIR)) {
		return err_set(e, ERR_USAGE, "policy", "%s is not in a directory %s", path,
			       CAMPAIGN_DIR);
	}
	n = snprintf(ret, PATH_MAX, "%s/%s", streq(real, "/") ? "" : real, name);
	return n < 0 || n >= PATH_MAX ? policy_file_error(e, path, ENAMETOOLONG) : 0;
}

/* Reads the file once, so that the checked and the hashed content are the same. */
static int checked_hash(const char *path, char ret_hex[65], struct err *e) {
	struct arena a;
	struct doc *root;
	struct policy layer = {0};
	auto_buf text = {0};
	auto_fd fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY | O_NONBLOCK);
	if (fd < 0) {
		return policy_file_error(e, path, errno);
	}
	if (policy_file_read(fd, path, true, &text, e) != 0) {
		return -1;
	}
	arena_init(&a);
	struct where w = {.a = &a,
			  .origin = {.kind = ORIGIN_PROJECT, .name = path},
			  .cwd = "/",
			  .base = "/",
			  .home = "/"};
	int done = doc_parse(&a, path, text.data, text.len, &root, e);
	if (done == 0) {
		done = layer_from_doc(&w, root, &layer, NULL, e);
	}
	arena_done(&a);
	if (done == 0) {
		trust_sha256_hex(text.data, text.len, ret_hex);
	}
	return done;
}

int policy_trust(const char *trust_file, const char *path, struct err *e) {
	char real[PATH_MAX], sha256[65];
	auto_buf old = {0}, list = {0};
	if (owner_check_dir(trust_file, e) != 0 || pinned_path(path, real, e) != 0 ||
	    checked_hash(real, sha256, e) != 0 || make_parents(trust_file, e) != 0) {
		return -1;
	}
	auto_fd lock = lock_directory(trust_file, e);
	if (lock < 0 || trust_read(trust_file, &old, e) != 0 ||
	    list_with(&old, real, sha256, &list, e) != 0) {
		return -1;
	}
	return replace_file(trust_file, &list, e);
}
