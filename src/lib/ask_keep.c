/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the answer "always" to the user's policy file.
 *
 * Should:   keep the file's comments, mode and symlink; replace it atomically, under a lock, so
 *           that of two answers at the same time none is lost.
 * Must not: write a project's file; write through a file that other users can change.
 * Fails:    closed: the old file stays, and the answer holds for the run. */
#include "lib/ask.h"

#include "base/auto.h"
#include "base/dirs.h"
#include "base/fd.h"
#include "base/path.h"
#include "policy/toml_insert.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define USER_FILE ".config/corral/corral.toml"
#define FILE_MAX ((size_t)1024 * 1024)
#define WHERE "ask"

static bool is_list(const char *key) {
	const struct key *k = key_by_name(key);

	return k != NULL && k->type >= TYPE_NAMES;
}

/* Reads the file; no file is an empty one.  *ret_mode is that of the new one. */
static int read_file(const char *path, struct buf *out, mode_t *ret_mode, struct err *e) {
	struct stat st;
	auto_fd fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);

	*ret_mode = 0644;
	if (fd < 0 && errno == ENOENT) {
		return 0;
	}
	if (fd < 0 || fstat(fd, &st) != 0) {
		return err_sys_at(e, WHERE, "cannot read", path);
	}
	if (!S_ISREG(st.st_mode) || (st.st_mode & (S_IWGRP | S_IWOTH)) != 0 ||
	    st.st_uid != geteuid()) {
		return err_set(e, ERR_REFUSED, WHERE, "%s is not a file that only you can write",
			       path);
	}
	*ret_mode = st.st_mode & 0777;
	return fd_read_all(fd, FILE_MAX, out) == 0 ? 0 : err_sys_at(e, WHERE, "cannot read", path);
}

static int write_file(const char *path, const struct buf *text, mode_t mode, struct err *e) {
	char fresh[PATH_MAX + 32];

	(void)snprintf(fresh, sizeof fresh, "%s.%d.new", path, (int)gettid()); /* it fits */
	(void)unlink(fresh); /* of a killed process with this pid; else O_EXCL fails */
	auto_fd fd = open(fresh, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0) {
		return err_sys_at(e, WHERE, "cannot create", fresh);
	}
	if (fd_write_all(fd, text->data, text->len) != 0 || fchmod(fd, mode) != 0 ||
	    fsync(fd) != 0 || rename(fresh, path) != 0) {
		(void)err_sys_at(e, WHERE, "cannot write", path);
		(void)unlink(fresh); /* only the first error is reported */
		return -1;
	}
	return 0;
}

static int extend(const char *path, const struct why_grant *g, struct err *e) {
	struct buf text, next;
	mode_t mode;

	buf_init(&text);
	int rc = read_file(path, &text, &mode, e);
	for (size_t i = 0; rc == 0 && i < g->n; i++) {
		const struct why_setting *s = &g->settings[i];
		buf_init(&next);
		const struct toml_text now = {text.data == NULL ? "" : text.data, text.len};
		rc = toml_insert(&now, s->key, s->value, is_list(s->key), &next, e);
		buf_done(&text);
		text = next;
	}
	if (rc == 0) {
		rc = buf_failed(&text) ? err_memory(e, WHERE) : write_file(path, &text, mode, e);
	}
	buf_done(&text);
	return rc;
}

/* Another answer takes milliseconds. */
static bool lock_soon(int fd) {
	const struct timespec pause = {.tv_nsec = 10000000};

	for (int i = 0; i < 100; i++) {
		if (flock(fd, LOCK_EX | LOCK_NB) == 0) {
			return true;
		}
		(void)nanosleep(&pause, NULL); /* shorter after a signal */
	}
	return false;
}

int ask_keep(const struct host *h, const struct why_grant *g, struct err *e) {
	char path[PATH_MAX], real[PATH_MAX], dir[PATH_MAX];
	int n = h->home == NULL ? -1 : snprintf(path, sizeof path, "%s/" USER_FILE, h->home);

	if (n < 0 || (size_t)n >= sizeof path - 32) {
		return err_set(e, ERR_SETUP, WHERE, "there is no HOME for a policy file");
	}
	if (dirs_make_parents(path, dir) != 0) {
		return err_sys_at(e, WHERE, "cannot create", dir);
	}
	/* A symlink, as of a repository of dot files, stays one. */
	if (realpath(path, real) == NULL && errno != ENOENT) {
		return err_sys_at(e, WHERE, "cannot resolve", path);
	}
	const char *file = access(path, F_OK) == 0 ? real : path;
	(void)path_parent(file, dir); /* it has one */
	auto_fd lock = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (lock < 0 || !lock_soon(lock)) {
		return err_sys_at(e, WHERE, "cannot lock", dir);
	}
	return extend(file, g, e);
}
