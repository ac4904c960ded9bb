/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the file of a refused open on the host, holds it, and opens it after the answer.
 *
 * The file is resolved once, on the host, to a descriptor that holds it.  Its real path is judged
 * and shown, and the answer opens this very file: a name that leads elsewhere by then is refused.
 *
 * Should:   resolve with the rights of the caller's user, without capabilities, as in the sandbox.
 * Must not: open a device, a FIFO or a socket; follow a magic link of /proc; give a directory
 *           where that would lead out of a mount namespace.
 * Fails:    closed: a file that cannot be found is not asked, one that has changed is not opened.
 */
#include "lib/ask.h"

#include "backend/host_open.h"
#include "base/auto.h"
#include "base/beneath.h"
#include "base/path.h"
#include "base/rights.h"
#include "base/str.h"
#include "data/paths.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- paths ---- */

/* The mount that shows this path of the sandbox, or of the host (`outside`). */
static const struct mount *mount_of(const struct plan *plan, const char *path, bool outside) {
	const struct mount *found = NULL;
	size_t longest = 0;

	for (size_t i = 0; i < plan->nmounts; i++) {
		const struct mount *m = &plan->mounts[i];
		bool tree = (m->kind == MOUNT_BIND || m->kind == MOUNT_COW) && m->source != NULL;
		const char *at = outside ? m->source : m->target;
		if (tree && path_within(path, at) && strlen(at) >= longest) {
			found = m;
			longest = strlen(at);
		}
	}
	return found;
}

static const char *moved(struct arena *a, const char *path, const char *from, const char *to) {
	const char *rest = path + (streq(from, "/") ? 0 : strlen(from));

	return arena_printf(a, "%s%s", streq(to, "/") ? "" : to, rest);
}

const char *ask_file_inside(struct arena *a, const struct plan *plan, const char *real) {
	const struct mount *m = mount_of(plan, real, true);

	return m == NULL || streq(m->source, m->target) ? real
							: moved(a, real, m->source, m->target);
}

/* The host's path for a path inside.  In a private HOME it is that of the caller's own HOME. */
static const char *outside(struct arena *a, const struct plan *plan, const char *path) {
	if (plan->home_own != NULL && plan->home_at != NULL && path_within(path, plan->home_at) &&
	    plan_mount_visibility(plan, path) == VISIBILITY_PRIVATE) {
		return moved(a, path, plan->home_at, plan->home_own);
	}
	const struct mount *m = mount_of(plan, path, false);
	return m == NULL || streq(m->source, m->target) ? path
							: moved(a, path, m->target, m->source);
}

static bool is_text(const char *s) {
	for (const unsigned char *p = (const unsigned char *)s; *p != '\0';) {
		size_t n = str_utf8_length(p, strlen((const char *)p));
		if (n == 0) {
			return false;
		}
		p += n;
	}
	return true;
}

static bool real_path(int fd, char out[PATH_MAX]) {
	return beneath_real_path(fd, out, PATH_MAX) == 0 && out[0] == '/' && is_text(out);
}

/* ---- finding ---- */

static bool is_kernels(const char *path) {
	return path_within(path, "/proc") || path_within(path, "/sys") || path_within(path, "/dev");
}

static int wanted(int flags) {
	int reads = (flags & O_ACCMODE) != O_WRONLY ? R_OK : 0;
	bool writes = (flags & O_ACCMODE) != O_RDONLY || (flags & O_TRUNC) != 0;

	return reads | (writes ? W_OK : 0);
}

static bool check_existing(const struct asking *a, const struct ask_question *q,
			   struct ask_file *f) {
	struct stat st;

	if (fstat(f->fd, &st) != 0 || st.st_nlink == 0 ||
	    (q->flags & (O_CREAT | O_EXCL)) == (O_CREAT | O_EXCL)) {
		return false;
	}
	f->exists = true;
	f->directory = S_ISDIR(st.st_mode);
	(void)snprintf(f->real, sizeof f->real, "%s", f->dir); /* it fits */
	/* A directory of another mount namespace has a way up into all of the host's files. */
	bool listing =
		f->directory && plan_lacks_namespaces(&a->p->plan) && wanted(q->flags) == R_OK;
	return (S_ISREG(st.st_mode) ? (q->flags & O_DIRECTORY) == 0 : listing) &&
	       host_has_rights(f->fd, wanted(q->flags));
}

static bool check_missing(struct ask_file *f, const char *name) {
	struct stat st;
	int n = snprintf(f->real, sizeof f->real, "%s/%s", streq(f->dir, "/") ? "" : f->dir, name);

	if (n < 0 || n >= PATH_MAX || name[0] == '\0' || streq(name, ".") || streq(name, "..") ||
	    !is_text(name)) {
		return false;
	}
	f->name = f->real + n - strlen(name);
	/* Not even a dangling symlink: O_EXCL would refuse it. */
	return fstatat(f->fd, name, &st, AT_SYMLINK_NOFOLLOW) != 0 && errno == ENOENT &&
	       host_has_rights(f->fd, W_OK | X_OK);
}

static bool find(const struct asking *a, const char *path, const struct ask_question *q,
		 struct ask_file *f) {
	char up[PATH_MAX];

	f->fd = host_hold(path, q->flags & O_NOFOLLOW);
	if (f->fd >= 0) {
		return real_path(f->fd, f->dir) && !is_kernels(f->dir) && check_existing(a, q, f);
	}
	if (errno != ENOENT || (q->flags & O_CREAT) == 0) {
		return false;
	}
	const char *name = strrchr(path, '/') + 1;
	size_t len = (size_t)(name - path);
	memcpy(up, path, len);
	up[len] = '\0';
	f->fd = host_hold(up, O_DIRECTORY);
	return f->fd >= 0 && real_path(f->fd, f->dir) && !is_kernels(f->dir) &&
	       check_missing(f, name);
}

/* How many symlinks the kernel follows. */
#define LINKS_MAX 40

/* A path that is being resolved, component by component. */
struct walk {
	char done[PATH_MAX];           /* absolute, without symlinks; "": the root */
	char rest[2 * PATH_MAX];       /* of the path */
	char whole[3 * PATH_MAX];      /* both */
	char normal[3 * PATH_MAX + 2]; /* the same, normalized */
};

/* Of the caller, or in the HOME of another user: root, and others where it is readable. */
static bool is_credential(const struct asking *a, const char *path) {
	char home[PATH_MAX] = "/root";

	if (str_starts(path, "/home/")) {
		size_t len = strlen("/home/") + strcspn(path + strlen("/home/"), "/");
		memcpy(home, path, len);
		home[len] = '\0';
	}
	return plan_is_credential(&a->p->host, path) || path_credential(home, path) != NULL;
}

static bool walk_is_credential(const struct asking *a, struct walk *w) {
	(void)snprintf(w->whole, sizeof w->whole, "%s/%s", w->done, w->rest); /* it fits */
	path_normalize(w->whole, w->normal);
	return is_credential(a, w->normal);
}

/* False: the symlink leads too far, or to a credential. */
static bool walk_follow(const struct asking *a, struct walk *w, const char *to, size_t base) {
	char rest[sizeof w->rest];
	int n = snprintf(rest, sizeof rest, "%s/%s", to, w->rest);

	if (n < 0 || (size_t)n >= sizeof rest) {
		return false;
	}
	memcpy(w->rest, rest, (size_t)n + 1);
	w->done[to[0] == '/' ? 0 : base] = '\0';
	return !walk_is_credential(a, w);
}

/* The sandbox has this directory, be it as another one. */
static bool is_shown(const struct plan *plan, const char *dir) {
	for (size_t i = 0; i < plan->nmounts; i++) {
		if (path_within(plan->mounts[i].target, dir)) {
			return true;
		}
	}
	return plan_lacks_namespaces(plan) || !plan_hides_host(plan, dir);
}

/* ".." of a directory that the sandbox does not show would tell whether it exists: the file behind
 * it may be one that is granted. */
static bool walk_up(const struct asking *a, struct walk *w) {
	char *slash = strrchr(w->done, '/');

	if (slash == NULL) {
		return true;
	}
	if (is_credential(a, w->done) || !is_shown(&a->p->plan, w->done)) {
		return false;
	}
	*slash = '\0';
	return true;
}

/* Whether the host may be asked for the path: neither it nor what its symlinks lead to is a
 * credential by its name.  So the time that an answer takes does not tell whether one exists. */
static bool may_look(const struct asking *a, const char *path) {
	struct walk w = {.done = ""};
	char to[PATH_MAX];
	int links = 0;

	(void)snprintf(w.rest, sizeof w.rest, "%s", path); /* it fits */
	if (walk_is_credential(a, &w)) {
		return false;
	}
	for (;;) {
		size_t skip = strspn(w.rest, "/"), len = strcspn(w.rest + skip, "/");
		size_t base = strlen(w.done);
		const char *name = w.rest + skip;
		if (len == 0) {
			return true;
		}
		bool dot = len == 1 && name[0] == '.', up = len == 2 && memcmp(name, "..", 2) == 0;
		if (base + 1 + len >= sizeof w.done || (up && !walk_up(a, &w))) {
			return false;
		}
		if (!dot && !up) {
			w.done[base] = '/';
			memcpy(w.done + base + 1, name, len);
			w.done[base + 1 + len] = '\0';
		}
		memmove(w.rest, name + len, strlen(name + len) + 1);
		ssize_t n = dot || up ? -1 : readlink(w.done, to, sizeof to - 1);
		if (n > 0) {
			to[n] = '\0';
			if (++links > LINKS_MAX || !walk_follow(a, &w, to, base)) {
				return false;
			}
		}
	}
}

/* The changes of a copy-on-write run are not on the host. */
static bool is_in_overlay(const struct plan *plan, const char *real) {
	for (size_t i = 0; i < plan->nmounts; i++) {
		const struct mount *m = &plan->mounts[i];
		if (m->kind == MOUNT_COW && m->source != NULL && path_within(real, m->source)) {
			return true;
		}
	}
	return false;
}

bool ask_file_find(const struct asking *a, const struct ask_question *q, struct ask_file *f) {
	struct arena arena;
	struct rights rights;
	struct err unused = {0};
	bool found = false;

	*f = (struct ask_file){.fd = -1};
	if (q->path[0] != '/') {
		return false;
	}
	arena_init(&arena);
	const char *path =
		strstr(q->path, "/..") != NULL ? q->path : outside(&arena, &a->p->plan, q->path);
	if (path != NULL && strlen(path) < PATH_MAX && rights_drop(&rights, &unused) == 0) {
		found = may_look(a, path) && find(a, path, q, f);
		rights_restore(&rights);
	}
	arena_done(&arena);
	return found && !is_credential(a, f->real) && !is_in_overlay(&a->p->plan, f->real);
}

/* ---- opening ---- */

int ask_file_open(const struct asking *a, const struct ask_file *f, const struct ask_question *q) {
	char now[PATH_MAX];
	struct rights rights;
	struct err unused = {0};
	const struct host_open o = {
		.view = a->view,
		.held = f->fd,
		.real = f->dir,
		.name = f->exists ? NULL : f->name,
		.flags = q->flags,
		.mode = (mode_t)q->mode & 0777,
		.noexec = a->p->plan.exec_limited,
	};

	if (a->view < 0 && !plan_lacks_namespaces(&a->p->plan)) {
		return -EPERM; /* a descriptor on a mount of the host is an escape */
	}
	if (!real_path(f->fd, now) || !streq(now, f->dir)) {
		return -ESTALE; /* it was moved: another path than the one that was shown */
	}
	if (rights_drop(&rights, &unused) != 0) {
		return -EPERM;
	}
	int got = host_open(&o);
	rights_restore(&rights);
	return got;
}
