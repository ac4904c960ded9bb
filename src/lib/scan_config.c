/* SPDX-License-Identifier: Apache-2.0 */
/* Reads and writes leak.key and leak.allow in the user's configuration directory.
 *
 * A fingerprint is a keyed hash: guessing a value needs the key.
 *
 * Should:   create the key at the first use, for its user only.
 * Must not: use a key that another user can read or write.
 * Fails:    closed: a key or list that cannot be read is an error.  Without a home there is
 * neither; the scan works, and its fingerprints are of no use later. */
#include "lib/scan.h"

#include "base/auto.h"
#include "base/credentials.h"
#include "base/dirs.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/str.h"
#include "policy/policy.h"

#include <errno.h>
#include <fcntl.h>
#include <sodium/randombytes.h>
#include <sodium/utils.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#define KEY_FILE "corral/leak.key"
#define ALLOW_FILE "corral/leak.allow"
#define ALLOW_LIMIT ((size_t)1 << 20)

static int file_error(struct err *e, const char *path, int sys) {
	errno = sys;
	return err_sys_at(e, "scan", "cannot use", path);
}

/* NULL: there is no home. */
static const char *config_path(struct arena *a, const char *name) {
	const char *config = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");

	if (config != NULL && config[0] == '/') {
		return path_join(a, config, name);
	}
	return home == NULL || home[0] != '/' ? NULL
					      : path_join(a, path_join(a, home, ".config"), name);
}

/* A second process or thread may create the key at the same time: link(2) keeps the first. */
static int create_key(const char *path, struct err *e) {
	char fresh[PATH_MAX], failed[PATH_MAX];
	unsigned char key[LEAK_KEY];
	int n = snprintf(fresh, sizeof fresh, "%s.%d.new", path, (int)gettid());

	if (n < 0 || (size_t)n >= sizeof fresh) {
		return file_error(e, path, ENAMETOOLONG);
	}
	if (dirs_make_parents(path, failed) != 0) {
		return file_error(e, failed, errno);
	}
	(void)unlink(fresh); /* of a killed thread with the same id */
	auto_fd fd = open(fresh, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0) {
		return file_error(e, fresh, errno);
	}
	randombytes_buf(key, sizeof key);
	int rc = fd_write_all(fd, key, sizeof key) == 0 && fsync(fd) == 0 &&
				 (link(fresh, path) == 0 || errno == EEXIST)
			 ? 0
			 : file_error(e, path, errno);
	sodium_memzero(key, sizeof key);
	(void)unlink(fresh); /* the key has its name, or the error is reported */
	return rc;
}

static int read_key(const char *path, unsigned char key[LEAK_KEY], struct err *e) {
	struct stat st;
	auto_fd fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);

	if (fd < 0 || fstat(fd, &st) != 0) {
		return file_error(e, path, errno);
	}
	if (!S_ISREG(st.st_mode) || st.st_uid != geteuid() || (st.st_mode & 077) != 0) {
		(void)err_set(e, ERR_REFUSED, "scan", "%s is readable by other users", path);
		return err_fix(e, "make it yours alone: chmod 600 %s", path);
	}
	ssize_t n = read(fd, key, LEAK_KEY);
	if (n != LEAK_KEY) {
		(void)err_set(e, ERR_REFUSED, "scan", "%s is not a key of %d bytes", path,
			      LEAK_KEY);
		return err_fix(e, "remove it; a new one is created, and the allow list is void");
	}
	return 0;
}

/* The first word of each line that is no comment. */
static int parse_allowed(struct arena *a, char *text, struct scan_config *c, struct err *e) {
	char *rest = text, *line;

	while ((line = strsep(&rest, "\n")) != NULL) {
		size_t len = strcspn(line, " \t#");
		if (len == 0) {
			continue;
		}
		if (arena_grow(a, &c->allow, c->nallow, &c->cap, sizeof *c->allow) != 0 ||
		    (c->allow[c->nallow] = arena_strndup(a, line, len)) == NULL) {
			return err_memory(e, "scan");
		}
		c->nallow++;
	}
	return 0;
}

static int read_allowed(struct arena *a, const char *path, struct scan_config *c, struct err *e) {
	struct buf text;
	int rc = 0;

	buf_init(&text);
	if (fd_read_file(path, ALLOW_LIMIT, &text) != 0) {
		rc = errno == ENOENT || errno == ENOTDIR ? 0 : file_error(e, path, errno);
	} else if (text.len > 0) {
		rc = owner_check(path, e) == 0 ? parse_allowed(a, text.data, c, e) : -1;
	}
	buf_done(&text);
	return rc;
}

static int read_config(struct arena *a, bool create, struct scan_config *ret, struct err *e) {
	const char *key = config_path(a, KEY_FILE), *allow = config_path(a, ALLOW_FILE);
	struct err ignored = {0};

	*ret = (struct scan_config){0};
	if (key == NULL || allow == NULL) {
		return 0;
	}
	/* A home that cannot be written has no key; then there is no allow list either. */
	if (access(key, F_OK) != 0 && (!create || create_key(key, &ignored) != 0)) {
		return 0;
	}
	ret->has_key = true;
	return read_key(key, ret->key, e) == 0 ? read_allowed(a, allow, ret, e) : -1;
}

int scan_config_read(struct arena *a, struct scan_config *ret, struct err *e) {
	return credentials_check(e) != 0 ? -1 : read_config(a, true, ret, e);
}

int scan_config_find(struct arena *a, struct scan_config *ret, struct err *e) {
	return read_config(a, false, ret, e);
}

int scan_config_allow(struct arena *a, const char *fingerprint, struct err *e) {
	const char *key = config_path(a, KEY_FILE), *path = config_path(a, ALLOW_FILE);
	unsigned char bytes[LEAK_KEY];
	char line[LEAK_FINGERPRINT + 1];

	if (strlen(fingerprint) != LEAK_FINGERPRINT - 1 ||
	    strspn(fingerprint, "0123456789abcdef") != LEAK_FINGERPRINT - 1) {
		(void)err_set(e, ERR_USAGE, "scan", "not a fingerprint: %s", fingerprint);
		return err_fix(e, "copy it from the output of corral scan: 32 hexadecimal digits");
	}
	if (credentials_check(e) != 0) {
		return -1;
	}
	if (key == NULL || path == NULL) {
		return err_set(e, ERR_USAGE, "scan", "HOME is not set: there is no allow list");
	}
	if (read_key(key, bytes, e) != 0 || owner_check(path, e) != 0) {
		return -1;
	}
	sodium_memzero(bytes, sizeof bytes);
	(void)snprintf(line, sizeof line, "%s\n", fingerprint);
	auto_fd fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY, 0600);
	if (fd < 0 || fd_write_all(fd, line, strlen(line)) != 0) {
		return file_error(e, path, errno);
	}
	return 0;
}
