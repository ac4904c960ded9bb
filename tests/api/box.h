/* SPDX-License-Identifier: Apache-2.0 */
/* A workspace with neighbours, for the tests of the file tools.  Every test is made
 * twice: with the kernel's walk, and name by name. */
#ifndef CORRAL_TESTS_API_BOX_H
#define CORRAL_TESTS_API_BOX_H

#include <corral.h>

#include "test.h"

#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

struct box {
	char top[64]; /* top/ws is the workspace, top/ws-evil and top/out are outside */
	struct corral_policy *policy;
	struct corral_files *files;
	struct corral_error err;
};

static bool by_name;

__attribute__((format(printf, 2, 3))) static inline const char *path_in(const struct box *b,
									const char *fmt, ...) {
	static char space[4][PATH_MAX];
	static int turn;
	char *out = space[turn++ % 4];
	va_list ap;
	int n = snprintf(out, PATH_MAX, "%s/", b->top);

	va_start(ap, fmt);
	(void)vsnprintf(out + n, PATH_MAX - (size_t)n, fmt, ap);
	va_end(ap);
	return out;
}

static inline void put(const struct box *b, const char *name, const char *text) {
	int fd = open(path_in(b, "%s", name), O_CREAT | O_WRONLY | O_TRUNC | O_CLOEXEC, 0644);
	if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text)) {
		abort();
	}
	close(fd);
}

static inline void make_dir(const struct box *b, const char *name) {
	if (mkdir(path_in(b, "%s", name), 0755) != 0) {
		abort();
	}
}

static inline void make_link(const struct box *b, const char *words, const char *name) {
	if (symlink(words, path_in(b, "%s", name)) != 0) {
		abort();
	}
}

static inline void rule(struct box *b, const char *key, const char *value) {
	if (corral_policy_set(b->policy, key, value, &b->err) != 0) {
		abort();
	}
}

/* The tree: file, dir/deep, secret (denied), kept (protected), links. */
static inline void box_begin(struct box *b) {
	*b = (struct box){.policy = corral_policy_new()};
	(void)snprintf(b->top, sizeof b->top, "/var/tmp/corral-files-XXXXXX");
	if (b->policy == NULL || mkdtemp(b->top) == NULL) {
		abort();
	}
	static const char *const dirs[] = {"ws",     "ws-evil",   "out",
					   "ws/dir", "ws/secret", "ws/kept"};
	for (size_t i = 0; i < sizeof dirs / sizeof dirs[0]; i++) {
		make_dir(b, dirs[i]);
	}
	put(b, "ws/file", "text");
	put(b, "ws/dir/deep", "deep");
	put(b, "ws/secret/key", "SECRET");
	put(b, "ws/kept/rules", "rules");
	put(b, "ws/..foo", "dots");
	put(b, "ws-evil/file", "EVIL");
	put(b, "out/file", "OUT");
	corral_policy_no_config(b->policy);
	rule(b, "workspace", path_in(b, "ws"));
	rule(b, "fs.home", "ephemeral");
	rule(b, "fs.deny", path_in(b, "ws/secret"));
	rule(b, "fs.protect", path_in(b, "ws/kept"));
}

static inline bool box_open(struct box *b) {
	if (corral_files_new(b->policy, &b->files, &b->err) != 0) {
		printf("# %s\n", b->err.message);
		return false;
	}
	if (by_name) {
		corral_files_by_name(b->files);
	}
	return true;
}

static inline void box_end(struct box *b) {
	char command[128];
	corral_files_free(b->files);
	corral_policy_free(b->policy);
	(void)snprintf(command, sizeof command, "%s", b->top);
	pid_t child = fork();
	if (child == 0) {
		execl("/bin/rm", "rm", "-rf", command, (char *)NULL);
		_exit(127);
	}
	(void)!waitpid(child, NULL, 0);
}

/* ---- what a call answers ---- */

static inline enum corral_error_kind read_kind(struct box *b, const char *path, char *text,
					       size_t cap) {
	char *bytes = NULL;
	size_t len = 0;

	b->err = (struct corral_error){0};
	if (corral_files_read(b->files, path, NULL, &bytes, &len, &b->err) != 0) {
		return b->err.kind;
	}
	if (text != NULL) {
		(void)snprintf(text, cap, "%s", bytes);
	}
	free(bytes);
	return CORRAL_E_NONE;
}

static inline enum corral_error_kind write_kind(struct box *b, const char *path, const char *text,
						unsigned flags) {
	b->err = (struct corral_error){0};
	return corral_files_write(b->files, path, text, strlen(text), flags, &b->err) == 0
		       ? CORRAL_E_NONE
		       : b->err.kind;
}

static inline void reads(struct box *b, const char *path, const char *wanted) {
	char text[64] = "";
	enum corral_error_kind kind = read_kind(b, path, text, sizeof text);
	if (kind != CORRAL_E_NONE || strcmp(text, wanted) != 0) {
		printf("# %s: kind %d, \"%s\", %s\n", path, (int)kind, text, b->err.message);
		test_failed = true;
	}
}

static inline void refuses(struct box *b, const char *path, enum corral_error_kind wanted) {
	enum corral_error_kind kind = read_kind(b, path, NULL, 0);
	if (kind != wanted) {
		printf("# read %s: kind %d, not %d, %s\n", path, (int)kind, (int)wanted,
		       b->err.message);
		test_failed = true;
	}
	CHECK(kind == CORRAL_E_NONE || b->err.message[0] != '\0');
	bool policy = kind == CORRAL_E_OUTSIDE || kind == CORRAL_E_SENSITIVE ||
		      kind == CORRAL_E_PROTECTED;
	CHECK(!policy || b->err.remedy[0] != '\0');
}

static inline void refuses_write(struct box *b, const char *path, enum corral_error_kind wanted) {
	enum corral_error_kind kind = write_kind(b, path, "NEW", 0);
	if (kind != wanted) {
		printf("# write %s: kind %d, not %d, %s\n", path, (int)kind, (int)wanted,
		       b->err.message);
		test_failed = true;
	}
}

/* What the host has: the tools are not asked. */
static inline void has(const struct box *b, const char *name, const char *wanted) {
	char text[64] = "";
	int fd = open(path_in(b, "%s", name), O_RDONLY | O_CLOEXEC);
	if (fd < 0 || read(fd, text, sizeof text - 1) < 0 || strcmp(text, wanted) != 0) {
		printf("# %s has \"%s\", not \"%s\"\n", name, text, wanted);
		test_failed = true;
	}
	if (fd >= 0) {
		close(fd);
	}
}

/* No draft is left. */
static inline void has_entries(struct box *b, const char *path, size_t wanted) {
	struct corral_entry *entries = NULL;
	size_t count = 0;
	REQUIRE(corral_files_list(b->files, path, &entries, &count, &b->err) == 0);
	CHECK_INT(count, wanted);
	free(entries);
}

static inline void set_home(struct box *b) {
	rule(b, "fs.home", "persistent");
	setenv("HOME", path_in(b, "out"), 1);
	unsetenv("XDG_STATE_HOME");
}

static inline void both(void (*prepare)(struct box *b), void (*check)(struct box *b)) {
	for (int i = 0; i < 2; i++) {
		struct box b;
		by_name = i == 1;
		box_begin(&b);
		if (prepare != NULL) {
			prepare(&b);
		}
		if (box_open(&b)) {
			check(&b);
		} else {
			test_failed = true;
		}
		box_end(&b);
	}
}

static inline void both_with_home(void (*prepare)(struct box *b), void (*check)(struct box *b)) {
	const char *home = getenv("HOME");
	char before[PATH_MAX];
	(void)snprintf(before, sizeof before, "%s", home == NULL ? "" : home);
	both(prepare, check);
	setenv("HOME", before, 1);
}

#endif
