/* SPDX-License-Identifier: Apache-2.0 */
/* Registers the runs of a user in a file of locked slots, for `corral ps`.
 *
 * Should:   list every live run of the user, and no other.
 * Must not: prevent a run, or cost it more than a few microseconds.
 * Fails:    open: a run that cannot be registered still runs. */
#include "run/runs.h"

#include "base/auto.h"
#include "base/buf.h"
#include "base/dirs.h"
#include "base/fd.h"
#include "base/str.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FILE_NAME "runs"

/* PATH_MAX bytes for the workspace, and as many for the command. */
#define SLOT_SIZE 8192
/* The most runs that are listed. */
#define SLOTS 1024
#define SLOTS_FIRST 4
_Static_assert(RUNS_SIZE == (off_t)SLOTS * SLOT_SIZE, "the size of all slots");
/* The most bytes of all arguments, and of one: a script can be a megabyte. */
#define WORDS_MAX ((size_t)3800)
#define WORD_MAX ((size_t)1000)

#define MARK "corral 3"

static bool file_path(const char *state_dir, char out[PATH_MAX]) {
	int n = snprintf(out, PATH_MAX, "%s/" FILE_NAME, state_dir);
	return n > 0 && n < PATH_MAX;
}

static struct flock slot_lock(short type, long slot) {
	return (struct flock){.l_type = type,
			      .l_whence = SEEK_SET,
			      .l_start = (off_t)slot * SLOT_SIZE,
			      .l_len = SLOT_SIZE};
}

/* ---- this run ---- */

int runs_open(const char *state_dir) {
	const int flags = O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK;
	char path[PATH_MAX], failed[PATH_MAX];
	if (!file_path(state_dir, path)) {
		return -1;
	}
	/* openat: open(2) of musl sets FD_CLOEXEC a second time. */
	int fd = openat(AT_FDCWD, path, flags | O_CLOEXEC, 0600);
	if (fd < 0 && errno == ENOENT && dirs_make(state_dir, failed) == 0) {
		fd = openat(AT_FDCWD, path, flags | O_CLOEXEC, 0600);
	}
	return fd;
}

/* First one of a few slots, whose pages are in memory from the runs before; then those from one
 * on that is chosen by the pid, so that with many runs mostly the second try finds a free one. */
static long take_slot(int fd, pid_t pid) {
	for (long i = -1; i < SLOTS; i++) {
		long slot = i < 0 ? (long)pid % SLOTS_FIRST : ((long)pid + i) % SLOTS;
		struct flock lock = slot_lock(F_WRLCK, slot);
		if (fcntl(fd, F_OFD_SETLK, &lock) == 0) {
			return slot;
		}
		if (errno != EAGAIN && errno != EACCES) {
			break;
		}
	}
	return -1;
}

/* A run that is entered in the list. */
struct entering {
	pid_t pid;
	const struct host *host;
	const struct plan *plan;
	char *const *argv;
};

static const char *const net_names[] = {[NET_NONE] = "none",
					[NET_FILTERED] = "filtered",
					[NET_RESTRICTED] = "restricted",
					[NET_FULL] = "full"};

/* "corral 3 PID SINCE CUT ARGC ID LEVEL", the network, the workspace and the arguments, each with a
 * NUL. */
static void write_record(struct buf *out, const struct entering *r) {
	char *const *argv = r->argv;
	struct buf words;
	size_t argc = 0;
	bool cut = false;

	buf_init(&words);
	for (; argv[argc] != NULL && words.len < WORDS_MAX; argc++) {
		size_t len = strnlen(argv[argc], WORD_MAX);
		cut = cut || argv[argc][len] != '\0';
		buf_add(&words, argv[argc], len);
		buf_add(&words, "", 1);
	}
	buf_printf(out, MARK " %d %" PRId64 " %d %zu %s %s", (int)r->pid, r->host->started_ms,
		   cut || argv[argc] != NULL, argc, r->host->run_id,
		   plan_level_name(r->plan->level));
	buf_add(out, "", 1);
	buf_add(out, net_names[r->plan->net.mode], strlen(net_names[r->plan->net.mode]) + 1);
	buf_add(out, r->plan->workspace, strlen(r->plan->workspace) + 1);
	buf_add(out, words.data, words.len);
	out->failed = out->failed || buf_failed(&words);
	buf_done(&words);
}

int runs_enter(const struct host *host, const struct plan *plan, char *const *argv) {
	const struct entering r = {.pid = getpid(), .host = host, .plan = plan, .argv = argv};
	auto_fd fd = host->state_dir == NULL ? -1 : runs_open(host->state_dir);
	struct buf record;
	long slot = fd < 0 ? -1 : take_slot(fd, r.pid);

	if (slot < 0) {
		return -1;
	}
	buf_init(&record);
	write_record(&record, &r);
	bool done =
		!buf_failed(&record) && record.len <= SLOT_SIZE &&
		pwrite(fd, record.data, record.len, (off_t)slot * SLOT_SIZE) == (ssize_t)record.len;
	buf_done(&record);
	return done ? take_fd(&fd) : -1;
}

void runs_leave(int *fd) {
	struct flock all = {.l_type = F_UNLCK, .l_whence = SEEK_SET};
	if (*fd >= 0) {
		/* Explicitly: a child that the caller's program forked has a copy of it. */
		(void)fcntl(*fd, F_OFD_SETLK, &all);
	}
	drop_fd(fd);
}

/* ---- all runs ---- */

/* The string at *at, which moves past it; NULL when it does not end in the slot. */
static const char *next_string(const char **at, const char *end) {
	const char *s = *at;
	const char *zero = s < end ? memchr(s, '\0', (size_t)(end - s)) : NULL;
	*at = zero == NULL ? end : zero + 1;
	return zero == NULL ? NULL : s;
}

static bool parse_head(const char *text, struct run_entry *ret) {
	char *end = NULL;
	if (text == NULL || !str_starts(text, MARK " ")) {
		return false;
	}
	ret->pid = (pid_t)strtol(text + strlen(MARK), &end, 10);
	ret->since_ms = strtoll(end, &end, 10);
	ret->cut = strtol(end, &end, 10) != 0;
	ret->argc = strtoul(end, &end, 10);
	const char *id = *end == ' ' ? end + 1 : "";
	size_t len = strcspn(id, " ");
	if (len != RUN_ID_LENGTH || id[len] != ' ') {
		return false;
	}
	memcpy(ret->id, id, len);
	ret->id[len] = '\0';
	ret->level = id + len + 1;
	return ret->pid > 0 && ret->argc <= SLOT_SIZE;
}

/* 1: an entry; 0: none; -1: out of memory.  ret points into slot. */
static int parse_slot(struct arena *a, const char *slot, size_t len, struct run_entry *ret) {
	const char *at = slot, *end = slot + len;
	struct run_entry entry;
	if (!parse_head(next_string(&at, end), &entry) ||
	    (entry.net = next_string(&at, end)) == NULL ||
	    (entry.workspace = next_string(&at, end)) == NULL) {
		return 0;
	}
	entry.argv = arena_array(a, entry.argc + 1, sizeof *entry.argv);
	if (entry.argv == NULL) {
		return -1;
	}
	for (size_t i = 0; i < entry.argc; i++) {
		entry.argv[i] = next_string(&at, end);
		if (entry.argv[i] == NULL) {
			return 0;
		}
	}
	*ret = entry;
	return 1;
}

/* A run locks its slot before it writes the record: in between the slot has an older record,
 * mostly of an ended process. */
static bool is_alive(const struct run_entry *entry) {
	return kill(entry->pid, 0) == 0 || errno == EPERM;
}

static int read_slot(struct arena *a, int fd, long slot, struct run_entry *ret) {
	struct flock lock = slot_lock(F_WRLCK, slot);
	if (fcntl(fd, F_OFD_GETLK, &lock) != 0 || lock.l_type == F_UNLCK) {
		return 0;
	}
	char *copy = arena_alloc(a, SLOT_SIZE);
	if (copy == NULL) {
		return -1;
	}
	ssize_t n = pread(fd, copy, SLOT_SIZE, (off_t)slot * SLOT_SIZE);
	int found = n <= 0 ? 0 : parse_slot(a, copy, (size_t)n, ret);
	return found == 1 && !is_alive(ret) ? 0 : found;
}

static int by_start(const void *left, const void *right) {
	const struct run_entry *a = left, *b = right;
	return a->since_ms < b->since_ms ? -1 : a->since_ms > b->since_ms;
}

int runs_list(struct arena *a, const char *state_dir, struct run_entry **ret, size_t *ret_n,
	      struct err *e) {
	struct run_entry *list = NULL;
	size_t n = 0, cap = 0;
	char path[PATH_MAX];
	auto_fd fd = state_dir != NULL && file_path(state_dir, path)
			     ? open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
			     : -1;
	for (long slot = 0; fd >= 0 && slot < SLOTS; slot++) {
		struct run_entry entry;
		int found = read_slot(a, fd, slot, &entry);
		if (found < 0 || arena_grow(a, &list, n, &cap, sizeof *list) != 0) {
			return err_memory(e, "runs");
		}
		if (found > 0) {
			list[n++] = entry;
		}
	}
	if (n > 1) {
		qsort(list, n, sizeof *list, by_start);
	}
	*ret = list;
	*ret_n = n;
	return 0;
}
