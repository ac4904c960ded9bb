/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a program of the host, such as npm, to read one of its settings, and caches the output.
 *
 * Should:   run it outside the sandbox, in the root directory, with only HOME and PATH, and for
 *           ANSWER_MS at most; cache the output, also an empty one, until the program changes.
 * Must not: use a cache file that another user could have written.
 * Fails:    with false: no output. */
#include "linux/program_output.h"

#include "base/auto.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/str.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* npm takes a second or two on a slow machine. */
#define ANSWER_MS 15000
#define WAIT_STEP_MS 10
/* The longest output. */
#define ANSWER_MAX ((size_t)16 * 1024)

#define ASKED_DIR "asked"

/* ---- the cache ---- */

/* The identity of the program, and the PATH by which it finds others: another or a changed file
 * runs again. */
static void write_key(const struct program_query *q, struct buf *out) {
	struct stat st;

	if (stat(q->program, &st) == 0) {
		buf_printf(out, "%s %llu %lld.%09ld %lld %s\n", q->program,
			   (unsigned long long)st.st_ino, (long long)st.st_mtim.tv_sec,
			   st.st_mtim.tv_nsec, (long long)st.st_size, q->path);
	}
}

static bool read_kept(int dir, const struct program_query *q, const struct buf *key,
		      struct buf *out) {
	struct stat st;
	struct buf text;
	bool known = false;

	auto_fd fd = openat(dir, q->name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || st.st_uid != geteuid() ||
	    (st.st_mode & 022) != 0) {
		return false;
	}
	buf_init(&text);
	if (fd_read_all(fd, ANSWER_MAX + PATH_MAX, &text) == 0 && text.len >= key->len &&
	    memcmp(text.data, key->data, key->len) == 0) {
		buf_add(out, text.data + key->len, text.len - key->len);
		known = true;
	}
	buf_done(&text);
	return known;
}

static void keep(int dir, const struct program_query *q, const struct buf *key,
		 const struct buf *out) {
	char name[NAME_MAX];
	int n = snprintf(name, sizeof name, "%s.%d", q->name, (int)gettid());

	if (n < 0 || (size_t)n >= sizeof name) {
		return;
	}
	auto_fd fd = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0) {
		return;
	}
	bool written = write(fd, key->data, key->len) == (ssize_t)key->len &&
		       (out->len == 0 || write(fd, out->data, out->len) == (ssize_t)out->len);
	if (!written || renameat(dir, name, dir, q->name) != 0) {
		(void)unlinkat(dir, name, 0); /* the next call runs the program again */
	}
}

/* -1: there is no state directory, and nothing is cached. */
static int open_kept(const char *state) {
	struct stat st;

	if (state == NULL) {
		return -1;
	}
	auto_fd top = open(state, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (top < 0 || (mkdirat(top, ASKED_DIR, 0700) != 0 && errno != EEXIST)) {
		return -1;
	}
	auto_fd dir = openat(top, ASKED_DIR, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	bool own = dir >= 0 && fstat(dir, &st) == 0 && st.st_uid == geteuid() &&
		   (st.st_mode & 022) == 0;
	return own ? take_fd(&dir) : -1;
}

/* ---- the program ---- */

/* posix_spawn(3) does not write to argv, but its type lacks const. */
union words {
	const char *const *given;
	char *const *plain;
};

static int start(const char *const *argv, const char *const *env, int out, pid_t *ret) {
	union words arguments, environment;
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	sigset_t none;

	arguments.given = argv;
	environment.given = env;
	(void)sigemptyset(&none);
	if (posix_spawn_file_actions_init(&actions) != 0) {
		return -1;
	}
	if (posix_spawnattr_init(&attributes) != 0) {
		(void)posix_spawn_file_actions_destroy(&actions);
		return -1;
	}
	bool ready = posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0) == 0 &&
		     posix_spawn_file_actions_adddup2(&actions, out, 1) == 0 &&
		     posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0) == 0 &&
		     posix_spawn_file_actions_addchdir_np(&actions, "/") == 0 &&
		     posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP |
								   POSIX_SPAWN_SETSIGMASK) == 0 &&
		     posix_spawnattr_setpgroup(&attributes, 0) == 0 &&
		     posix_spawnattr_setsigmask(&attributes, &none) == 0;
	int bad = ready ? posix_spawn(ret, argv[0], &actions, &attributes, arguments.plain,
				      environment.plain)
			: ENOMEM;
	(void)posix_spawnattr_destroy(&attributes);
	(void)posix_spawn_file_actions_destroy(&actions);
	return bad == 0 ? 0 : -1;
}

/* Reads to end of file; false when that takes too long, or is too long. */
static bool read_output(int fd, int64_t until, struct buf *out) {
	char piece[4096];

	for (;;) {
		int64_t left = until - clock_ms();
		struct pollfd p = {.fd = fd, .events = POLLIN};
		if (left <= 0 || out->len > ANSWER_MAX) {
			return false;
		}
		if (poll(&p, 1, (int)left) <= 0) {
			continue;
		}
		ssize_t n = read(fd, piece, sizeof piece);
		if (n <= 0) {
			return n == 0;
		}
		buf_add(out, piece, (size_t)n);
	}
}

/* Whether it exited with 0 in time; kills it otherwise. */
static bool end(pid_t pid, int64_t until) {
	int status = -1;
	pid_t got;

	while ((got = waitpid(pid, &status, WNOHANG)) == 0 && clock_ms() < until) {
		(void)poll(NULL, 0, WAIT_STEP_MS); /* a pause before the next waitpid(2) */
	}
	if (got == 0) {
		(void)kill(-pid, SIGKILL); /* its process group: a script may have started others */
		got = waitpid(pid, &status, 0);
	}
	return got == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

bool program_output_run(const char *const *argv, const char *const *env, int64_t ms,
			struct buf *out) {
	int64_t until = clock_ms() + ms;
	int ends[2];
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC) != 0) {
		return false;
	}
	auto_fd from = ends[0];
	int started = start(argv, env, ends[1], &pid);
	(void)close(ends[1]); /* the program has its own copy */
	if (started != 0) {
		return false;
	}
	bool heard = read_output(from, until, out);
	return end(pid, heard ? until : 0) && heard;
}

static bool run(const struct program_query *q, struct buf *out) {
	const char *argv[QUERY_WORDS + 2] = {q->program};
	const char *env[] = {q->home, q->path, "LC_ALL=C", NULL};

	for (size_t i = 0; i < QUERY_WORDS && q->words[i] != NULL; i++) {
		argv[i + 1] = q->words[i];
	}
	return program_output_run(argv, env, ANSWER_MS, out);
}

bool program_output(const void *ctx, const struct program_query *q, struct buf *out) {
	auto_fd dir = open_kept(ctx);
	struct buf key;

	buf_init(&key);
	write_key(q, &key);
	bool known = key.len > 0 && dir >= 0 && read_kept(dir, q, &key, out);
	if (!known && key.len > 0) {
		struct buf said;
		buf_init(&said);
		if (run(q, &said) && said.len > 0) {
			buf_add(out, said.data, said.len);
		}
		if (dir >= 0) {
			keep(dir, q, &key, out);
		}
		buf_done(&said);
	}
	buf_done(&key);
	return out->len > 0;
}
