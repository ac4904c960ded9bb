/* SPDX-License-Identifier: Apache-2.0 */
/* Resolves a symlink target on the host, name by name.  target.h has the reason.
 *
 * Should:   stop at LINKS_MAX symlinks, as the kernel does.
 * Must not: open a file other than to hold it, or follow a magic link of procfs.
 * Fails:    closed, with -errno. */
#include "files/target.h"

#include "base/auto.h"
#include "base/beneath.h"
#include "base/str.h"
#include "files/mounts.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define LINKS_MAX 40 /* MAXSYMLINKS of the kernel */

struct target {
	int at; /* the last existing directory or file; -1 after a failed open */
	int links;
	char rest[2 * PATH_MAX];
	char missing[PATH_MAX]; /* the path beneath it that does not exist */
	char name[NAME_MAX + 1];
};

static int move_to(struct target *t, int fd) {
	int error = errno;

	drop_fd(&t->at);
	t->at = fd;
	return fd < 0 ? -error : 0;
}

/* Takes the next name from the rest: 1, 0 when there is none, -errno. */
static int next_name(struct target *t) {
	const char *from = t->rest + strspn(t->rest, "/");
	size_t len = strcspn(from, "/");

	if (len > NAME_MAX) {
		return -ENAMETOOLONG;
	}
	memcpy(t->name, from, len);
	t->name[len] = '\0';
	memmove(t->rest, from + len, strlen(from + len) + 1);
	return len > 0;
}

static int add_missing(struct target *t) {
	size_t at = strlen(t->missing);
	int n = snprintf(t->missing + at, sizeof t->missing - at, "%s%s", at == 0 ? "" : "/",
			 t->name);
	return n < 0 || (size_t)n >= sizeof t->missing - at ? -ENAMETOOLONG : 0;
}

static int put_before(struct target *t, const char *words) {
	size_t n = strlen(words), rest = strlen(t->rest);

	if (n + rest + 2 > sizeof t->rest) {
		return -ENAMETOOLONG;
	}
	memmove(t->rest + n + 1, t->rest, rest + 1);
	memcpy(t->rest, words, n);
	t->rest[n] = '/';
	return words[0] == '/' ? move_to(t, beneath_root()) : 0;
}

static int follow(struct target *t, int link) {
	char words[PATH_MAX];

	if (++t->links > LINKS_MAX) {
		return -ELOOP;
	}
	if (beneath_is_magic(link)) {
		return -EACCES;
	}
	ssize_t n = beneath_read_link(link, words, sizeof words);
	if (n <= 0 || (size_t)n == sizeof words) {
		return n < 0 ? -errno : n == 0 ? -ENOENT : -ENAMETOOLONG;
	}
	words[n] = '\0';
	return put_before(t, words);
}

static int step(struct target *t) {
	struct stat st;

	if (streq(t->name, ".")) {
		return 0;
	}
	if (t->missing[0] != '\0') {
		return streq(t->name, "..") ? -ENOENT : add_missing(t);
	}
	auto_fd next = beneath_hold(t->at, t->name);
	if (next < 0) {
		return errno == ENOENT ? add_missing(t) : -errno;
	}
	if (fstat(next, &st) != 0) {
		return -errno;
	}
	return S_ISLNK(st.st_mode) ? follow(t, next) : move_to(t, take_fd(&next));
}

static int resolve(struct target *t, const char *words, char ret[PATH_MAX]) {
	char real[PATH_MAX];
	int r = put_before(t, words);

	while (r == 0 && (r = next_name(t)) > 0) {
		r = step(t);
	}
	if (r == 0 && beneath_real_path(t->at, real, sizeof real) != 0) {
		r = -errno;
	}
	return r == 0 ? mount_path_put(ret, PATH_MAX, real, t->missing) : r;
}

int target_on_host(int dir, const char *words, char ret[PATH_MAX]) {
	struct target t = {.at = beneath_again(dir)};
	int r = t.at < 0 ? -errno : resolve(&t, words, ret);

	drop_fd(&t.at);
	return r;
}
