/* SPDX-License-Identifier: Apache-2.0 */
/* The write and edit tools.
 *
 * A file is replaced, not overwritten: the new content is written to a draft in the same
 * directory, which is then renamed to the file, so that a reader sees the old file or the new
 * one, and a crash leaves one of them.  A file in a directory that is not writable, or of
 * another user, is written in place.
 *
 * Should:   keep the permission bits of the file.
 * Must not: leave a draft behind; keep set-user-id or set-group-id bits.
 * Fails:    closed, with errno; the old file stays, unless it is written in place. */
#include "files/tools.h"

#include "base/auto.h"
#include "base/beneath.h"
#include "base/fd.h"
#include "base/random.h"
#include "base/storage.h"
#include "base/str.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>

#define DRAFT_PREFIX ".corral-"

/* ---- a draft in the file's directory ---- */

struct draft {
	int fd;
	bool named; /* it has a name, which draft_done() removes */
	char name[sizeof DRAFT_PREFIX + 16];
};

static int choose_name(struct draft *d) {
	uint64_t number;

	if (random_fill(&number, sizeof number) != 0) {
		return -1;
	}
	(void)snprintf(d->name, sizeof d->name, DRAFT_PREFIX "%016llx", (unsigned long long)number);
	return 0;
}

/* Without a name where the file system supports it: a killed process leaves no file behind. */
static int draft_open(struct draft *d, int dir, bool fast) {
	errno = EOPNOTSUPP;
	d->fd = fast ? beneath_nameless(dir, 0666) : -1;
	if (d->fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != ENOENT)) {
		return d->fd < 0 ? -1 : 0;
	}
	if (choose_name(d) != 0) {
		return -1;
	}
	d->fd = openat(dir, d->name, O_CREAT | O_EXCL | O_WRONLY | O_NOFOLLOW | O_CLOEXEC, 0666);
	d->named = d->fd >= 0;
	return d->fd < 0 ? -1 : 0;
}

static int draft_link(const struct draft *d, int dir, const char *name) {
	return beneath_link_nameless(d->fd, dir, name);
}

/* Renames the draft to the file's name; with must_be_new fails if the name exists. */
static int draft_publish(struct draft *d, int dir, const char *name, bool must_be_new) {
	if (must_be_new && d->named) {
		/* draft_done() removes the first name. */
		return linkat(dir, d->name, dir, name, 0);
	}
	if (!d->named && draft_link(d, dir, name) == 0) {
		return 0;
	}
	if (!d->named && (must_be_new || errno != EEXIST)) {
		return -1;
	}
	if (!d->named && (choose_name(d) != 0 || draft_link(d, dir, d->name) != 0)) {
		return -1;
	}
	d->named = true;
	if (renameat(dir, d->name, dir, name) != 0) {
		return -1;
	}
	d->named = false;
	return 0;
}

static void draft_done(struct draft *d, int dir) {
	drop_fd(&d->fd);
	if (d->named) {
		(void)unlinkat(dir, d->name, 0); /* its directory may have been removed */
	}
}

/* The nine permission bits; set-user-id and set-group-id do not outlive the content. */
static int keep_mode(int fd, const struct place *p) {
	return p->kind == PLACE_FILE ? fchmod(fd, p->st.st_mode & 0777) : 0;
}

/* Syncs the draft before it replaces a file, so that a crash leaves one of them whole. */
static int sync_draft(int fd, const struct place *p) {
	return p->kind == PLACE_FILE ? storage_sync(fd) : 0;
}

/* 1: the directory is not writable, but the file may be. */
static int replace(const struct place *p, struct bytes content, bool must_be_new, bool fast) {
	struct draft d = {.fd = -1};
	int rc = draft_open(&d, p->dir, fast);

	if (rc != 0 && p->kind == PLACE_FILE && (errno == EACCES || errno == EPERM)) {
		return 1;
	}
	if (rc == 0) {
		rc = fd_write_all(d.fd, content.data, content.len);
	}
	if (rc == 0 && (keep_mode(d.fd, p) != 0 || sync_draft(d.fd, p) != 0)) {
		rc = -1;
	}
	if (rc == 0) {
		rc = draft_publish(&d, p->dir, p->name, must_be_new);
	}
	int error = errno;
	draft_done(&d, p->dir);
	errno = error;
	return rc;
}

/* ---- in place ---- */

static int overwrite(const struct place *p, struct bytes content) {
	auto_fd fd = beneath_reopen(p->fd, O_WRONLY);

	if (fd < 0 || fd_write_all(fd, content.data, content.len) != 0) {
		return -1;
	}
	return ftruncate(fd, (off_t)content.len);
}

static bool is_replaced(const struct place *p) {
	return p->dir >= 0 && (p->kind == PLACE_MISSING || p->st.st_uid == geteuid());
}

/* Respects a read-only mode of the file, although rename(2) needs only a writable directory. */
static int check_writable(const struct place *p) {
	auto_fd fd = beneath_reopen(p->fd, O_WRONLY);
	return fd < 0 ? -1 : 0;
}

/* ---- the tools ---- */

static int check_size(const struct lens *v, const char *path, size_t len, struct err *e) {
	int64_t most = policy_num(v->policy, KEY_LIMITS_FILE_SIZE);

	if (most == LIMIT_NONE || len <= (uint64_t)most) {
		return 0;
	}
	(void)err_set(e, ERR_TOO_LARGE, "files",
		      "%s would be larger than limits.file_size, %lld bytes", path,
		      (long long)most);
	return err_fix(e, "write less, or raise the limit: --max-file-size SIZE");
}

int tool_put_content(const struct lens *v, const struct place *p, struct bytes content,
		     bool must_be_new, struct err *e) {
	if (check_size(v, p->path, content.len, e) != 0) {
		return -1;
	}
	if (p->kind == PLACE_MISSING && p->dir < 0) {
		(void)place_failed(ENOENT, "write", p->path, e);
		return err_fix(e, "create its directory first");
	}
	if (p->kind == PLACE_FILE) {
		if (tool_check_regular(p->path, p->st.st_mode, e) != 0) {
			return -1;
		}
		if (must_be_new) {
			return place_failed(EEXIST, "create", p->path, e);
		}
		if (check_writable(p) != 0) {
			return place_failed(errno, "write", p->path, e);
		}
	}
	int rc = is_replaced(p) ? replace(p, content, must_be_new, v->fast) : 1;
	if (rc == 1) {
		rc = overwrite(p, content);
	}
	return rc == 0 ? 0 : place_failed(errno, "write", p->path, e);
}

int tool_write(const struct lens *v, const char *path, struct bytes content, unsigned flags,
	       struct err *e) {
	struct place p;

	/* First without new directories: a file that is refused leaves none behind. */
	if (access_allowed(v, path, 0, ACCESS_WRITE, &p, e) != 0) {
		return -1;
	}
	if ((flags & WRITE_PARENTS) != 0 && p.kind == PLACE_MISSING && p.dir < 0) {
		place_done(&p);
		if (access_allowed(v, path, WALK_PARENTS, ACCESS_WRITE, &p, e) != 0) {
			return -1;
		}
	}
	int rc = tool_put_content(v, &p, content, (flags & WRITE_NEW) != 0, e);
	place_done(&p);
	return rc;
}

/* ---- edit ---- */

static size_t count_of(struct bytes text, struct bytes part) {
	size_t count = 0;
	const char *at = text.data, *end = text.data + text.len;

	while ((at = memmem(at, (size_t)(end - at), part.data, part.len)) != NULL) {
		count++;
		at += part.len;
	}
	return count;
}

static void replace_all(struct bytes text, const struct replacement *r, struct buf *out) {
	const char *at = text.data, *end = text.data + text.len, *hit;

	while ((hit = memmem(at, (size_t)(end - at), r->old.data, r->old.len)) != NULL) {
		buf_add(out, at, (size_t)(hit - at));
		buf_add(out, r->new.data, r->new.len);
		at = hit + r->old.len;
	}
	buf_add(out, at, (size_t)(end - at));
}

static int check_count(const char *path, size_t count, bool all, struct err *e) {
	if (count == 0) {
		(void)err_set(e, ERR_NO_MATCH, "files", "the text to replace is not in %s", path);
		return err_fix(e, "read the file again, and copy the text exactly");
	}
	if (count > 1 && !all) {
		(void)err_set(e, ERR_SEVERAL, "files", "the text to replace occurs %zu times in %s",
			      count, path);
		return err_fix(e, "add more surrounding text, or replace all");
	}
	return 0;
}

static int edit(const struct lens *v, const struct place *p, struct bytes text,
		const struct replacement *r, size_t *ret_count, struct err *e) {
	struct buf out;
	size_t count = count_of(text, r->old);

	if (check_count(p->path, count, r->all, e) != 0) {
		return -1;
	}
	buf_init(&out);
	replace_all(text, r, &out);
	int rc = buf_failed(&out)
			 ? err_memory(e, "files")
			 : tool_put_content(v, p, (struct bytes){out.data, out.len}, false, e);
	buf_done(&out);
	if (rc == 0) {
		*ret_count = count;
	}
	return rc;
}

int tool_edit(const struct lens *v, const char *path, const struct replacement *r,
	      size_t *ret_count, struct err *e) {
	struct place p;
	struct stat st;
	struct buf text;

	if (r->old.len == 0) {
		return err_set(e, ERR_USAGE, "files", "the text to replace is empty");
	}
	auto_fd fd = tool_open_to_read(v, path, &p, &st, e);
	if (fd < 0) {
		return -1;
	}
	buf_init(&text);
	int rc = access_judge_or_fail(v, &p, ACCESS_WRITE, e);
	if (rc == 0 && fd_read_all(fd, TOOL_BYTES_MAX, &text) != 0) {
		rc = place_failed(errno, "edit", p.path, e);
		e->kind = errno == EFBIG ? ERR_TOO_LARGE : e->kind;
	}
	if (rc == 0) {
		rc = edit(v, &p, (struct bytes){text.data, text.len}, r, ret_count, e);
	}
	buf_done(&text);
	place_done(&p);
	return rc;
}
