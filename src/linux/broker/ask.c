/* SPDX-License-Identifier: Apache-2.0 */
/* Asks the supervisor about an open(2) that the broker would refuse, and passes the answer on.
 *
 * The broker decides nothing here.  It copies the path a second time, and the supervisor judges,
 * shows and opens this copy (K1, K2): a caller that changes its memory in between is asked about
 * the new path.  The notification stays unanswered meanwhile; the broker serves all other calls
 * (K5).
 *
 * Should:   bound the calls that wait; tell the supervisor when a caller no longer waits.
 * Must not: allocate, lock or block; ask about a path that means another file to the supervisor:
 *           one in /proc, or relative to a directory that is not where its name says.
 * Fails:    closed: without an answer the call gets the error that it would have had. */
#include "linux/broker/ask.h"

#include "base/auto.h"
#include "base/clock.h"
#include "base/fdpass.h"
#include "base/path.h"
#include "base/str.h"
#include "backend/ask.h"
#include "linux/broker/files.h"
#include "linux/broker/refused.h"
#include "linux/kernel_api.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>

/* How long a question outlives its caller at most. */
#define SWEEP_MS 300

/* Not in struct broker: a run without --ask does not touch these pages. */
static struct waiting {
	struct call call; /* id 0: the entry is free */
	uint32_t round;   /* an answer is valid for one call */
	int error;
	int flags;
} waiting[ASK_WAITING];
static size_t nwaiting;
static int64_t sweep_at;

static struct waiting *find(uint64_t ticket) {
	size_t place = (uint32_t)ticket - 1U;
	struct waiting *w = place < ARRAY_LEN(waiting) ? &waiting[place] : NULL;

	return w != NULL && w->call.id != 0 && w->round == ticket >> 32 ? w : NULL;
}

static struct waiting *find_free(void) {
	for (size_t i = 0; i < ARRAY_LEN(waiting); i++) {
		if (waiting[i].call.id == 0) {
			return &waiting[i];
		}
	}
	return NULL;
}

static uint64_t ticket_of(const struct waiting *w) {
	return (uint64_t)w->round << 32 | ((size_t)(w - waiting) + 1);
}

static void release(struct waiting *w) {
	w->call.id = 0;
	nwaiting--;
}

/* ---- the question ---- */

/* False: no call that opens a file. */
static bool read_opening(const struct call *c, struct opening *o, int *ret_dir, uint64_t *ret_at) {
	bool at = c->call == CALL_openat;

	*ret_dir = at ? call_int(c, 0) : AT_FDCWD;
	*ret_at = c->args[at];
	if (c->call == CALL_creat) {
		*o = (struct opening){O_CREAT | O_WRONLY | O_TRUNC, (mode_t)c->args[1] & 07777};
		return true;
	}
	*o = (struct opening){call_int(c, at ? 2 : 1), (mode_t)c->args[at ? 3 : 2] & 07777};
	return at || c->call == CALL_open;
}

/* The errors of a rule: of a mount or mask, of Landlock, and of a file that is not shown. */
static bool is_refusal(int error) {
	return error == EACCES || error == EPERM || error == EROFS || error == ENOENT;
}

static bool has_symlink(const struct broker *b, const char *path) {
	char part[PATH_MAX], word;

	for (const char *p = path; *p != '\0';) {
		p += strspn(p, "/");
		p += strcspn(p, "/");
		size_t len = (size_t)(p - path);
		memcpy(part, path, len);
		part[len] = '\0';
		if (syscall(SYS_readlinkat, b->root, part, &word, 1) >= 0) {
			return true;
		}
	}
	return false;
}

/* A compiler probes thousands of names that do not exist anywhere.  Only one that the sandbox does
 * not show, or that a symlink leads away from, can be another file on the host. */
static bool may_be_hidden(const struct broker *b, const char *path) {
	char normal[PATH_MAX + 2];

	path_normalize(path, normal);
	return plan_hides_host(b->plan, normal) || has_symlink(b, path);
}

/* A directory that was handed over, or moved since, has another path for the supervisor. */
static bool is_where_it_says(const struct call *c, int dir, const char *path, size_t len) {
	char base[PATH_MAX];
	struct stat named, held;

	memcpy(base, path, len);
	base[len] = '\0';
	auto_fd there = sys_openat2(c->b->root, base, O_PATH, RESOLVE_NO_MAGICLINKS);
	auto_fd ours = caller_fd(c, dir);
	return there >= 0 && ours >= 0 && fstat(there, &named) == 0 && fstat(ours, &held) == 0 &&
	       named.st_dev == held.st_dev && named.st_ino == held.st_ino;
}

static bool read_path(const struct call *c, int dir, uint64_t address, char path[PATH_MAX]) {
	if (caller_copy(c, address, path, PATH_MAX) != 0 || path[0] == '\0') {
		return false;
	}
	size_t tail = strlen(path);
	bool relative = path[0] != '/';
	if (!refused_make_absolute(c, dir, path)) {
		return false;
	}
	return !relative || is_where_it_says(c, dir, path, strlen(path) - tail - 1);
}

/* /proc/self is the caller's own; /dev and /sys hold no data of a user. */
static bool is_kernels(const char *path) {
	return path_within(path, "/proc") || path_within(path, "/sys") || path_within(path, "/dev");
}

static bool send_question(const struct broker *b, struct ask_question *q) {
	struct iovec body = {.iov_base = q, .iov_len = sizeof *q};

	return fdpass_send(b->ask, body, NULL, 0, MSG_DONTWAIT) == 0;
}

bool ask_begin(const struct call *c, int error) {
	static struct ask_question q;
	struct opening o;
	int dir;
	uint64_t address;
	struct broker *b = c->b;

	if (b->ask < 0 || !is_refusal(error) || !read_opening(c, &o, &dir, &address) ||
	    (o.flags & (O_PATH | TMPFILE_BIT)) != 0) {
		return false;
	}
	struct waiting *w = find_free();
	if (w == NULL || !read_path(c, dir, address, q.path) || is_kernels(q.path) ||
	    (error == ENOENT && !may_be_hidden(b, q.path))) {
		return false;
	}
	long mask = (o.flags & O_CREAT) != 0 ? caller_status(c, caller_entry(c), "Umask:", 8) : 0;
	if (mask < 0 || !caller_waits(c)) {
		return false;
	}
	w->round++;
	w->call = *c;
	w->error = error;
	w->flags = o.flags;
	q.ticket = ticket_of(w);
	q.kind = ASK_OPEN;
	q.flags = o.flags;
	q.mode = o.mode & 0777 & ~(unsigned)mask;
	q.error = error;
	q.pid = c->tid;
	if (!send_question(b, &q)) {
		w->call.id = 0;
		return false;
	}
	if (nwaiting++ == 0) {
		sweep_at = clock_ms() + SWEEP_MS;
	}
	return true;
}

/* ---- the answer ---- */

static void settle(struct waiting *w, int error, int fd) {
	struct call c = w->call;
	auto_fd file = fd;

	release(w);
	if (error == 0 && file >= 0) {
		long r = call_give(&c, take_fd(&file), (w->flags & O_CLOEXEC) != 0,
				   opening_writes(w->flags));
		if (r != CALL_ANSWERED) {
			call_answer(&c, r); /* as EMFILE of the caller */
		}
		return;
	}
	call_answer(&c, -(error > 0 && error < 4096 ? error : w->error));
}

static void settle_all(struct broker *b) {
	for (size_t i = 0; i < ARRAY_LEN(waiting); i++) {
		if (waiting[i].call.id != 0) {
			settle(&waiting[i], waiting[i].error, -1);
		}
	}
	drop_fd(&b->ask);
}

void ask_answered(struct broker *b) {
	struct ask_answer answer;
	struct iovec body = {.iov_base = &answer, .iov_len = sizeof answer};
	int fds[FDPASS_MAX];
	size_t n = 0;

	int r = fdpass_receive(b->ask, body, fds, &n);
	if (r == -EAGAIN || r == -EINTR) {
		return;
	}
	if (r < 0) {
		settle_all(b);
		return;
	}
	while (n > 1) {
		drop_fd(&fds[--n]);
	}
	auto_fd file = n == 1 ? fds[0] : -1;
	struct waiting *w = find(answer.ticket);
	if (w != NULL) {
		settle(w, answer.error, take_fd(&file));
	}
}

/* ---- callers that went away ---- */

int ask_wake(const struct broker *b, int64_t now) {
	if (b->ask < 0 || nwaiting == 0) {
		return -1;
	}
	return sweep_at <= now ? 0 : (int)(sweep_at - now);
}

void ask_sweep(struct broker *b, int64_t now) {
	static struct ask_question gone;

	if (ask_wake(b, now) != 0) {
		return;
	}
	sweep_at = now + SWEEP_MS;
	for (size_t i = 0; i < ARRAY_LEN(waiting); i++) {
		struct waiting *w = &waiting[i];
		if (w->call.id == 0 || caller_waits(&w->call)) {
			continue;
		}
		gone.kind = ASK_GONE;
		gone.ticket = ticket_of(w);
		/* A full channel: the next sweep tries again. */
		if (send_question(b, &gone)) {
			release(w);
		}
	}
}
