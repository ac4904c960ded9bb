/* SPDX-License-Identifier: Apache-2.0 */
/* Searches the granted trees for a denied name (hard link) of a file.  links.h has the reason.
 *
 * Should:   read directories depth first, without recursion.
 * Must not: read more than ENTRIES_MAX entries, or longer than SEARCH_MS.
 * Fails:    closed: LINKS_UNKNOWN, which access.c refuses. */
#include "files/links.h"

#include "base/auto.h"
#include "base/beneath.h"
#include "base/clock.h"
#include "base/path.h"
#include "base/str.h"
#include "files/mounts.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>

/* As in linux/broker/hardlinks.c. */
#define ENTRIES_MAX 2000000U
#define SEARCH_MS 30000

struct search {
	const struct lens *v;
	const struct place *p; /* the file */
	struct arena a;
	const char **dirs; /* paths in the sandbox, still to be read */
	size_t n, cap;
	unsigned entries;
	int64_t deadline;
	int root; /* holds the host's / */
	bool found;
};

static int add_dir(struct search *s, const char *path) {
	const char *copy = arena_strdup(&s->a, path);

	if (copy == NULL || arena_grow(&s->a, &s->dirs, s->n, &s->cap, sizeof *s->dirs) != 0) {
		return -1;
	}
	s->dirs[s->n++] = copy;
	return 0;
}

/* ---- one directory ---- */

static int open_inside(const struct search *s, const char *path, int flags) {
	const struct mount *m = plan_mount_over(s->v->plan, path);
	char host[PATH_MAX];

	if (m == NULL || !mount_is_tree(m)) {
		errno = ENOENT;
		return -1;
	}
	if (!path_rebase(path, m->target, m->source, host, sizeof host)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	return beneath_open(s->root, host + 1, flags, s->v->fast);
}

/* Whether a directory that cannot be read may be skipped.  A command cannot have closed a
 * directory of another user; one of its own user it could open again. */
static bool may_skip(const struct search *s, const char *path) {
	struct stat st;

	if (errno != EACCES) {
		return errno == ENOENT || errno == ENOTDIR || errno == ELOOP;
	}
	auto_fd fd = open_inside(s, path, 0);
	return fd < 0 ? errno == ENOENT : fstat(fd, &st) == 0 && st.st_uid != geteuid();
}

static int search_file(struct search *s, int dir, const char *name, const char *path) {
	struct stat st;

	if (!rules_deny(&s->v->plan->rules, path)) {
		return 0;
	}
	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) != 0) {
		return errno == ENOENT ? 0 : -1;
	}
	s->found = st.st_dev == s->p->st.st_dev && st.st_ino == s->p->st.st_ino;
	return 0;
}

static unsigned char type_of(int dir, const struct dirent *d) {
	struct stat st;

	if (d->d_type != DT_UNKNOWN || fstatat(dir, d->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0) {
		return d->d_type;
	}
	return S_ISDIR(st.st_mode) ? DT_DIR : S_ISREG(st.st_mode) ? DT_REG : DT_LNK;
}

static int search_entry(struct search *s, int dir, const char *parent, const struct dirent *d) {
	char path[PATH_MAX];

	if (streq(d->d_name, ".") || streq(d->d_name, "..")) {
		return 0;
	}
	if (++s->entries > ENTRIES_MAX ||
	    mount_path_put(path, sizeof path, parent, d->d_name) != 0) {
		return -1;
	}
	if (mount_exactly(s->v->plan, path) != NULL) {
		return 0; /* covered by a mount, from which begin() starts */
	}
	unsigned char type = type_of(dir, d);
	if (type == DT_DIR) {
		return add_dir(s, path);
	}
	return type == DT_REG ? search_file(s, dir, d->d_name, path) : 0;
}

static int search_dir(struct search *s, const char *path) {
	auto_fd at = open_inside(s, path, 0);
	int fd = at < 0 ? -1 : openat(at, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	auto_dir dir = fd < 0 ? NULL : fdopendir(fd);

	if (dir == NULL) {
		bool skip = may_skip(s, path);
		drop_fd(&fd);
		return skip ? 0 : -1;
	}
	errno = 0;
	for (struct dirent *d; !s->found && (d = readdir(dir)) != NULL; errno = 0) {
		if (search_entry(s, fd, path, d) != 0) {
			return -1;
		}
	}
	return s->found || errno == 0 || errno == ENOENT ? 0 : -1;
}

/* ---- all directories ---- */

static bool in_anchor(const struct rules *rules, const char *path) {
	for (size_t i = 0; i < rules->nanchors; i++) {
		if (path_within(path, rules->anchors[i].path)) {
			return true;
		}
	}
	return false;
}

/* A mounted file may have a denied name as its mount point. */
static int begin_at_mount(struct search *s, const struct mount *m) {
	struct stat st;

	if (!m->is_file) {
		return add_dir(s, m->target);
	}
	bool same = rules_deny(&s->v->plan->rules, m->target) && lstat(m->source, &st) == 0 &&
		    st.st_dev == s->p->st.st_dev && st.st_ino == s->p->st.st_ino;
	s->found = s->found || same;
	return 0;
}

/* Starts at the granted trees, and at the mounts in them. */
static int begin(struct search *s) {
	const struct plan *plan = s->v->plan;
	const struct rules *rules = &plan->rules;

	for (size_t i = 0; i < plan->nmounts; i++) {
		const struct mount *m = &plan->mounts[i];
		if (mount_is_tree(m) && in_anchor(rules, m->target) && begin_at_mount(s, m) != 0) {
			return -1;
		}
	}
	for (size_t i = 0; i < rules->nanchors; i++) {
		if (mount_exactly(plan, rules->anchors[i].path) == NULL &&
		    add_dir(s, rules->anchors[i].path) != 0) {
			return -1;
		}
	}
	return 0;
}

static int search_all(struct search *s) {
	int r = begin(s);

	while (r == 0 && !s->found && s->n > 0) {
		r = clock_ms() < s->deadline ? search_dir(s, s->dirs[--s->n]) : -1;
	}
	return r;
}

enum links_answer links_of(const struct lens *v, const struct place *p) {
	const struct rules *rules = &v->plan->rules;

	if (!rules->reads || !rules->hides || p->kind != PLACE_FILE || !S_ISREG(p->st.st_mode) ||
	    p->st.st_nlink < 2 || !in_anchor(rules, p->path)) {
		return LINKS_FREE;
	}
	auto_fd root = beneath_root();
	struct search s = {.v = v, .p = p, .deadline = clock_ms() + SEARCH_MS, .root = root};
	arena_init(&s.a);
	int r = root < 0 ? -1 : search_all(&s);
	arena_done(&s.a);
	return s.found ? LINKS_DENIED : r == 0 ? LINKS_FREE : LINKS_UNKNOWN;
}
