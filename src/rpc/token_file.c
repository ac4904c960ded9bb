/* SPDX-License-Identifier: Apache-2.0 */
/* Reads and writes files with a token.
 *
 * Should:   create a file with mode 0600; wipe the text after use.
 * Must not: accept a token that other users could have read or written.
 * Fails:    closed, with a usage error. */
#include "rpc/token_file.h"

#include "base/auto.h"
#include "base/fd.h"
#include "base/str.h"
#include "cli/cli.h"

#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define FILE_MAX 1024

static int unreadable(const char *path, struct corral_error *err) {
	int sys = errno;

	(void)usage_error(err, "", "cannot read the token from %s", path);
	err->sys_errno = sys;
	return -1;
}

/* A file, or a pipe as of "<(…)" in a shell. */
static int open_private(const char *path, int *ret, struct corral_error *err) {
	struct stat st;
	auto_fd fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);

	if (fd < 0 || fstat(fd, &st) != 0) {
		return unreadable(path, err);
	}
	if ((!S_ISREG(st.st_mode) && !S_ISFIFO(st.st_mode)) || st.st_uid != geteuid() ||
	    (st.st_mode & 077) != 0) {
		return usage_error(err, "chmod 600 FILE; if others could read it, make a new token",
				   "%s is not a file that only you can read", path);
	}
	*ret = take_fd(&fd);
	return 0;
}

int token_file_read(const char *path, char ret[TOKEN_TEXT_LENGTH + 1], struct corral_error *err) {
	struct buf text;
	struct token_hash unused;
	auto_fd fd = -1;

	if (!streq(path, "-") && open_private(path, &fd, err) != 0) {
		return -1;
	}
	buf_init(&text);
	if (fd_read_all(fd < 0 ? STDIN_FILENO : fd, FILE_MAX, &text) != 0) {
		buf_done(&text);
		return unreadable(path, err);
	}
	size_t len = text.data == NULL ? 0 : strcspn(text.data, "\n");
	(void)snprintf(ret, TOKEN_TEXT_LENGTH + 1, "%.*s", (int)len,
		       text.data == NULL ? "" : text.data); /* a longer one is refused */
	if (text.data != NULL) {
		sodium_memzero(text.data, text.len);
	}
	buf_done(&text);
	if (len != TOKEN_TEXT_LENGTH || token_hash_text(ret, &unused) != 0) {
		sodium_memzero(ret, TOKEN_TEXT_LENGTH + 1);
		return usage_error(err, "", "%s does not contain a token of corral", path);
	}
	return 0;
}

static int unwritable(const char *path, struct corral_error *err) {
	int sys = errno;

	(void)usage_error(err, "choose a new file: --token-file FILE",
			  "cannot write the token to %s", path);
	err->sys_errno = sys;
	return -1;
}

int token_file_create(const char *path, int *ret, struct corral_error *err) {
	*ret = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	return *ret < 0 ? unwritable(path, err) : 0;
}

int token_file_fill(int fd, const char *path, const char *token, struct corral_error *err) {
	return fd_write_all(fd, token, strlen(token)) != 0 || fd_write_all(fd, "\n", 1) != 0
		       ? unwritable(path, err)
		       : 0;
}

int token_file_write(const char *path, const char *token, struct corral_error *err) {
	auto_fd fd = -1;

	return token_file_create(path, &fd, err) != 0 ? -1 : token_file_fill(fd, path, token, err);
}
