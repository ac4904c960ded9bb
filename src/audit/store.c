/* SPDX-License-Identifier: Apache-2.0 */
/* Appends records to the audit log, under the lock of its head.
 *
 * Should:   cost seven system calls; take over the lines of a writer that was killed; begin a new
 *           file when one is full.
 * Must not: wait for ever: a process that holds the lock may be stopped.
 * Fails:    with an error and an unchanged log; whether a run may go on is the caller's choice. */
#include "audit/audit.h"

#include "base/auto.h"
#include "base/dirs.h"
#include "base/fd.h"
#include "base/reserve.h"
#include "base/rfc3339.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* How long another writer may hold the lock: a thousand times longer than it needs.  If the log has
 * not changed since an earlier writer gave up, the holder is probably stopped: then this one gives
 * up sooner, so that a stopped process does not delay every run. */
#define LOCK_MS 500
#define LOCK_STUCK_MS 20
#define LOCK_STEP_MS 2

/* More than the records of one run: a longer rest is no work of Corral. */
#define LEFT_MAX ((size_t)16 * 1024 * 1024)

/* Reserved by audit_prepare(): more than the records of one run. */
#define RESERVE ((off_t)256 * 1024)

#define SUFFIX ".jsonl"

#define MAKE_ROOM "make the state directory writable, free disk space, or set audit.enabled = false"

static int failed(struct err *e, const char *what, const char *object) {
	(void)err_sys_at(e, AUDIT_WHERE, what, object);
	return err_fix(e, MAKE_ROOM);
}

/* ---- names ---- */

bool audit_file_path(const char *dir, uint64_t number, char ret[PATH_MAX]) {
	int n = snprintf(ret, PATH_MAX, "%s/%010" PRIu64 SUFFIX, dir, number);
	return n > 0 && n < PATH_MAX;
}

bool audit_find_files(const char *dir, uint64_t *ret_first, uint64_t *ret_last) {
	auto_dir d = opendir(dir);
	struct dirent *entry;
	bool found = false;

	while (d != NULL && (entry = readdir(d)) != NULL) {
		char *end = NULL;
		uint64_t n = strtoull(entry->d_name, &end, 10);
		if (n == 0 || strcmp(end, SUFFIX) != 0) {
			continue;
		}
		*ret_first = !found || n < *ret_first ? n : *ret_first;
		*ret_last = !found || n > *ret_last ? n : *ret_last;
		found = true;
	}
	return found;
}

/* ---- the head ---- */

static struct flock head_lock(const struct audit_place *p, short type) {
	return (struct flock){.l_type = type,
			      .l_whence = SEEK_SET,
			      .l_start = p->head_at,
			      .l_len = AUDIT_HEAD_SIZE};
}

/* After the head is a copy of it, from the writer that gave up last. */
static bool is_stuck(const struct audit_place *p) {
	char text[2 * AUDIT_HEAD_SIZE] = "";
	ssize_t n = pread(p->head, text, sizeof text, p->head_at);
	return n == (ssize_t)sizeof text &&
	       memcmp(text, text + AUDIT_HEAD_SIZE, AUDIT_HEAD_SIZE) == 0;
}

static void mark_stuck(const struct audit_place *p) {
	char text[AUDIT_HEAD_SIZE] = "";

	if (pread(p->head, text, sizeof text, p->head_at) < 0 ||
	    pwrite(p->head, text, sizeof text, p->head_at + AUDIT_HEAD_SIZE) < 0) {
		return; /* the next writer waits as long as this one did */
	}
}

static int try_lock(const struct audit_place *p) {
	struct flock lock = head_lock(p, F_WRLCK);
	return fcntl(p->head, F_OFD_SETLK, &lock);
}

static int lock_head(const struct audit_place *p, struct err *e) {
	const struct timespec wait = {.tv_nsec = LOCK_STEP_MS * 1000000L};
	int left = -1;

	while (try_lock(p) != 0) {
		if (errno != EAGAIN && errno != EACCES) {
			return err_sys(e, AUDIT_WHERE, "cannot lock the head of the audit log");
		}
		left = left >= 0 ? left : is_stuck(p) ? LOCK_STUCK_MS : LOCK_MS;
		if (left < LOCK_STEP_MS) {
			mark_stuck(p);
			(void)err_set(e, ERR_SETUP, AUDIT_WHERE,
				      "another process holds the lock of the audit log");
			return err_fix(e, "end or continue the stopped corral process that "
					  "`ps -C corral -o pid,stat,args` shows with the state T");
		}
		left -= LOCK_STEP_MS;
		(void)nanosleep(&wait, NULL); /* a signal only shortens the wait */
	}
	return 0;
}

void audit_unlock(const struct audit_place *p) {
	struct flock lock = head_lock(p, F_UNLCK);
	(void)fcntl(p->head, F_OFD_SETLK, &lock); /* else the last close does it */
}

bool audit_read_head(const struct audit_place *p, struct audit_head *ret) {
	char text[AUDIT_HEAD_SIZE];
	ssize_t n = pread(p->head, text, sizeof text, p->head_at);
	return n > 0 && audit_head_read(text, (size_t)n, ret);
}

static int store_head(const struct audit_place *p, const struct audit_head *h) {
	char text[AUDIT_HEAD_SIZE];
	audit_head_text(h, text);
	return pwrite(p->head, text, sizeof text, p->head_at) == (ssize_t)sizeof text ? 0 : -1;
}

/* ---- the file that is written ---- */

/* The log while it is locked. */
struct writing {
	const struct audit_place *place;
	struct audit_head head; /* as it will be stored */
	int fd;                 /* of the file head.file */
	size_t torn;            /* bytes that were removed */
	bool headless;          /* the head was lost: the chain goes on from the last line */
	char path[PATH_MAX];
};

static int open_log(struct writing *w, struct err *e) {
	const int flags = O_RDWR | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK;
	char failed_at[PATH_MAX];

	if (!audit_file_path(w->place->dir, w->head.file, w->path)) {
		return err_set(e, ERR_SETUP, AUDIT_WHERE, "the path of the audit log is too long");
	}
	/* openat: open(2) of musl sets FD_CLOEXEC a second time. */
	w->fd = openat(AT_FDCWD, w->path, flags | O_CLOEXEC, 0600);
	if (w->fd < 0 && errno == ENOENT && dirs_make(w->place->dir, failed_at) == 0) {
		w->fd = openat(AT_FDCWD, w->path, flags | O_CLOEXEC, 0600);
	}
	return w->fd < 0 ? failed(e, "cannot open the audit log", w->path) : 0;
}

/* Advances over the lines that continue the chain; returns their length. */
static size_t adopt(struct audit_head *h, const struct buf *text) {
	size_t at = 0;

	while (at < text->len) {
		const char *end = memchr(text->data + at, '\n', text->len - at);
		struct audit_line l = {text->data + at,
				       end == NULL ? 0 : (size_t)(end - (text->data + at))};
		if (end == NULL || audit_line_seq(&l) != h->seq + 1 ||
		    !audit_line_follows(&l, h->hash)) {
			break;
		}
		h->seq++;
		memcpy(h->hash, audit_line_hash(&l), AUDIT_HASH);
		at += l.len + 1;
	}
	return at;
}

/* The chain has a gap here, which `verify` finds: the file is shorter than the head says, or has
 * lines behind it that no writer left.  The next line begins on a line of its own. */
static int end_line(struct writing *w, uint64_t size, struct err *e) {
	char last = '\n';

	w->head.length = size;
	if (size > 0 && pread(w->fd, &last, 1, (off_t)size - 1) != 1) {
		return failed(e, "cannot read the audit log", w->path);
	}
	if (last == '\n') {
		return 0;
	}
	w->head.length++;
	return write(w->fd, "\n", 1) == 1 ? 0 : failed(e, "cannot write the audit log", w->path);
}

/* Takes over the lines of a killed writer, and removes the part of a line after them (A2).  A rest
 * with whole lines is not the work of a writer: it stays, for `verify`. */
static int adopt_rest(struct writing *w, const struct buf *left, uint64_t size, struct err *e) {
	size_t whole = adopt(&w->head, left);

	w->head.length += whole;
	if (whole < left->len && memchr(left->data + whole, '\n', left->len - whole) != NULL) {
		return end_line(w, size, e);
	}
	w->torn = (size_t)(size - w->head.length);
	if (w->torn > 0 && ftruncate(w->fd, (off_t)w->head.length) != 0) {
		return failed(e, "cannot remove an incomplete record from the audit log", w->path);
	}
	return 0;
}

static int take_over(struct writing *w, uint64_t size, struct err *e) {
	struct buf left;

	if (size - w->head.length > LEFT_MAX) {
		return end_line(w, size, e);
	}
	buf_init(&left);
	int rc = lseek(w->fd, (off_t)w->head.length, SEEK_SET) < 0 ||
				 fd_read_all(w->fd, LEFT_MAX, &left) != 0
			 ? failed(e, "cannot read the audit log", w->path)
			 : adopt_rest(w, &left, size, e);
	buf_done(&left);
	return rc;
}

static int check_length(struct writing *w, struct err *e) {
	struct stat st;

	if (fstat(w->fd, &st) != 0 || !S_ISREG(st.st_mode)) {
		return failed(e, "the audit log is not a regular file:", w->path);
	}
	uint64_t size = (uint64_t)st.st_size;
	if (size == w->head.length) {
		return 0;
	}
	return size > w->head.length ? take_over(w, size, e) : end_line(w, size, e);
}

/* The number of the first record of a file; 0 when it cannot be read. */
static uint64_t first_seq_of(const char *dir, uint64_t number) {
	char path[PATH_MAX], text[128];
	auto_fd fd = audit_file_path(dir, number, path)
			     ? open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
			     : -1;
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text);
	struct audit_line l = {text, n < 0 ? 0 : (size_t)n};
	return audit_line_seq(&l);
}

/* Without a head: a new log, or the end of the one that is there. */
static int find_end(struct writing *w, struct err *e) {
	uint64_t first, last;
	struct buf text;

	audit_head_init(&w->head);
	if (!audit_find_files(w->place->dir, &first, &last)) {
		return 0;
	}
	w->head.first_file = first;
	w->head.first_seq = first_seq_of(w->place->dir, first);
	w->head.file = last;
	w->headless = true;
	if (open_log(w, e) != 0) {
		return -1;
	}
	buf_init(&text);
	int rc = fd_read_all(w->fd, LEFT_MAX * 2, &text);
	drop_fd(&w->fd);
	for (size_t at = 0; rc == 0 && at < text.len;) {
		const char *end = memchr(text.data + at, '\n', text.len - at);
		struct audit_line l = {text.data + at,
				       end == NULL ? 0 : (size_t)(end - (text.data + at))};
		if (end == NULL) {
			break;
		}
		if (audit_line_seq(&l) > 0 && audit_line_hash(&l) != NULL) {
			w->head.seq = audit_line_seq(&l);
			memcpy(w->head.hash, audit_line_hash(&l), AUDIT_HASH);
		}
		at += l.len + 1;
		w->head.length = at;
	}
	buf_done(&text);
	return rc == 0 ? 0 : failed(e, "cannot read the audit log", w->path);
}

static uint64_t file_max(const struct audit_place *p) {
	return p->file_max == 0 ? AUDIT_FILE_MAX : p->file_max;
}

static int begin_writing(struct writing *w, struct err *e) {
	if (lock_head(w->place, e) != 0) {
		return -1;
	}
	if (!audit_read_head(w->place, &w->head) && find_end(w, e) != 0) {
		return -1;
	}
	if (open_log(w, e) != 0 || check_length(w, e) != 0) {
		return -1;
	}
	while (w->head.length >= file_max(w->place)) {
		drop_fd(&w->fd);
		w->head.file++;
		w->head.length = 0;
		if (open_log(w, e) != 0 || check_length(w, e) != 0) {
			return -1;
		}
	}
	return 0;
}

/* Removes the oldest files.  The head is stored first: a file that a killed writer left is then
 * older than the log. */
static int forget_oldest(struct writing *w) {
	const unsigned most = w->place->files == 0 ? AUDIT_FILES : w->place->files;
	const uint64_t old = w->head.first_file;
	char path[PATH_MAX];

	while (w->head.file - w->head.first_file >= most) {
		w->head.first_file++;
		w->head.first_seq = first_seq_of(w->place->dir, w->head.first_file);
	}
	int rc = store_head(w->place, &w->head);
	for (uint64_t n = old; rc == 0 && n < w->head.first_file; n++) {
		if (audit_file_path(w->place->dir, n, path)) {
			(void)unlink(path); /* `verify` does not look at files before the first */
		}
	}
	return rc;
}

/* ---- append ---- */

static void make_lines(struct writing *w, const struct buf *bodies, struct buf *out) {
	struct timespec now;
	char time[RFC3339_LENGTH + 1], remark[48] = "";

	(void)clock_gettime(CLOCK_REALTIME, &now); /* cannot fail for this clock */
	rfc3339_text((int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000, time);
	if (w->headless) {
		(void)snprintf(remark, sizeof remark, "\"headless\":true,");
	} else if (w->torn > 0) {
		(void)snprintf(remark, sizeof remark, "\"torn\":%zu,", w->torn);
	}
	for (size_t at = 0; at < bodies->len && !buf_failed(out);) {
		const char *end = memchr(bodies->data + at, '\n', bodies->len - at);
		struct audit_line body = {bodies->data + at,
					  end == NULL ? bodies->len - at
						      : (size_t)(end - (bodies->data + at))};
		audit_chain_add(&w->head, time, remark, &body, out);
		remark[0] = '\0';
		at += body.len + 1;
	}
}

static int write_lines(struct writing *w, const struct buf *lines, struct err *e) {
	const off_t before = (off_t)w->head.length;
	ssize_t n = write(w->fd, lines->data, lines->len); /* A1: one, whole */

	w->head.length += lines->len;
	if (n == (ssize_t)lines->len && forget_oldest(w) == 0) {
		return 0;
	}
	if (n >= 0 && n < (ssize_t)lines->len) {
		errno = ENOSPC;
	}
	(void)failed(e, "cannot write the audit log", w->path);
	if (n > 0 && ftruncate(w->fd, before) != 0) {
		return -1; /* the next writer removes the part (A2) */
	}
	return -1;
}

/* Beyond the limit of file size the write would end the caller by SIGXFSZ. */
static int check_file_limit(const struct audit_place *p, struct err *e) {
	const uint64_t most = file_max(p) + LEFT_MAX + (uint64_t)p->head_at;
	struct rlimit limit;

	if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur < most) {
		(void)err_set(e, ERR_SETUP, AUDIT_WHERE,
			      "the limit of file size (ulimit -f) is too low for the audit log");
		return err_fix(e, "ulimit -f unlimited, or set audit.enabled = false");
	}
	return 0;
}

int audit_append(const struct audit_place *p, const struct buf *bodies, struct err *e) {
	struct writing w = {.place = p, .fd = -1};
	struct buf lines;

	if (check_file_limit(p, e) != 0) {
		return -1;
	}
	buf_init(&lines);
	int rc = begin_writing(&w, e);
	if (rc == 0) {
		make_lines(&w, bodies, &lines);
		rc = buf_failed(&lines) || buf_failed(bodies) ? err_memory(e, AUDIT_WHERE)
							      : write_lines(&w, &lines, e);
	}
	buf_done(&lines);
	drop_fd(&w.fd);
	return rc;
}

/* The end of the log stays as it is: only a writer with a record removes a part of a line (A2). */
static int try_files(struct writing *w, struct err *e) {
	const struct audit_place *p = w->place;
	bool known = audit_read_head(p, &w->head);

	if ((!known && find_end(w, e) != 0) || open_log(w, e) != 0) {
		return -1;
	}
	if (reserve_space(w->fd, (off_t)w->head.length, RESERVE) != 0 && errno != EOPNOTSUPP) {
		return failed(e, "cannot reserve space for the audit log", w->path);
	}
	if (!w->headless && store_head(p, &w->head) != 0) {
		return failed(e, "cannot write the head of the audit log in", p->dir);
	}
	return 0;
}

int audit_prepare(const struct audit_place *p, struct err *e) {
	struct writing w = {.place = p, .fd = -1};

	if (check_file_limit(p, e) != 0 || lock_head(p, e) != 0) {
		return -1;
	}
	int rc = try_files(&w, e);
	drop_fd(&w.fd);
	audit_unlock(p);
	return rc;
}
