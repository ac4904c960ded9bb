/* SPDX-License-Identifier: Apache-2.0 */
/* Resolves a path through the plan's mounts, name by name.  place.h has the theory.
 *
 * Should:   use one call for a path without symlinks.
 * Must not: use a descriptor after its file was moved out of its mount: the walk starts again.
 * Fails:    closed, with errno; a path of which a rule hides a part is PLACE_MASK. */
#include "files/place.h"

#include "base/auto.h"
#include "base/beneath.h"
#include "base/path.h"
#include "base/path_cursor.h"
#include "base/str.h"
#include "files/mounts.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>

#define STEPS_MAX 20000 /* lookups for one path: symlinks with ".." could need millions */
#define AGAIN_MAX 16    /* walks of a path that changes meanwhile */

/* Results of a step besides -errno and 0. */
enum { STEP_ON = 1 /* of path_cursor_next(), too */, WALK_ENDS = 2 };

struct walker {
	const struct lens *v;
	unsigned how;
	struct place p; /* the current place; p.path is "" at the root */
	struct path_cursor c;
	int steps;
	bool fresh; /* the rest has changed: one call may resolve most of it */
};

/* ---- moving ---- */

/* Opens the mount's source; -EAGAIN if it is another file than at the time of the plan. */
static int open_source(const struct lens *v, const struct mount *m) {
	struct stat st;
	auto_fd root = beneath_root();
	auto_fd fd = root < 0 ? -1 : beneath_open(root, m->source + 1, 0, v->fast);

	if (fd < 0 || fstat(fd, &st) != 0) {
		return -errno;
	}
	if (m->ino != 0 && (st.st_dev != m->dev || st.st_ino != m->ino)) {
		return -EAGAIN;
	}
	return take_fd(&fd);
}

static void leave(struct walker *w) {
	drop_fd(&w->p.fd);
	drop_fd(&w->p.dir);
}

static enum place_kind kind_of(const struct mount *m) {
	switch (m->kind) {
	case MOUNT_COVER:
	case MOUNT_DIR:
		return PLACE_OURS;
	case MOUNT_FILE:
	case MOUNT_TEXT:
		return PLACE_TEXT;
	case MOUNT_MASK_FILE:
	case MOUNT_MASK_DIR:
		return PLACE_MASK;
	case MOUNT_BIND:
	case MOUNT_COW:
	case MOUNT_LINK:
	case MOUNT_PIN:
		return PLACE_FILE;
	case MOUNT_PRIVATE:
	case MOUNT_PROC:
	case MOUNT_DEVICE:
	case MOUNT_PTS:
	case MOUNT_QUEUES:
		break;
	}
	return PLACE_RUN;
}

static int enter(struct walker *w, const struct mount *m) {
	leave(w);
	w->p.kind = kind_of(m);
	w->p.tree = m;
	if (!mount_is_tree(m)) {
		return 0;
	}
	w->p.fd = open_source(w->v, m);
	if (w->p.fd == -ENOENT && w->v->plan->home_source != NULL &&
	    streq(m->source, w->v->plan->home_source)) {
		w->p.kind = PLACE_OURS; /* the first run creates it, empty */
		w->p.fd = -1;
		return 0;
	}
	if (w->p.fd < 0) {
		int error = w->p.fd;
		w->p.fd = -1;
		return error;
	}
	return fstat(w->p.fd, &w->p.st) == 0 ? 0 : -errno;
}

static int to_root(struct walker *w) {
	const struct mount *root = mount_exactly(w->v->plan, "/");

	leave(w);
	w->p.kind = PLACE_OURS;
	w->p.tree = NULL;
	w->p.path[0] = '\0';
	w->fresh = true;
	return root == NULL ? 0 : enter(w, root);
}

static int push_name(struct walker *w) {
	return path_push(w->p.path, sizeof w->p.path, w->c.name) ? 0 : -ENAMETOOLONG;
}

/* ---- symlinks ---- */

static int follow_words(struct walker *w, const char *words) {
	int r = path_cursor_count_link(&w->c);

	if (r == 0) {
		r = path_cursor_splice(&w->c, words);
	}
	if (r == 0 && words[0] == '/') {
		r = to_root(w);
	}
	w->fresh = true;
	return r == 0 ? STEP_ON : r;
}

static int follow(struct walker *w, int link) {
	char words[PATH_MAX];

	if (w->v->reject_links) {
		w->p.kind = PLACE_LINK;
		return WALK_ENDS;
	}
	if (beneath_is_magic(link)) {
		return -EACCES;
	}
	ssize_t n = beneath_read_link(link, words, sizeof words);
	if (n < 0 || (size_t)n == sizeof words) {
		return n < 0 ? -errno : -ENAMETOOLONG;
	}
	words[n] = '\0';
	path_pop(w->p.path);
	return follow_words(w, words);
}

/* ---- one name ---- */

/* The kernel looks up "." and ".." like a name: that needs search permission on the
 * directory. */
static int may_search(const struct walker *w) {
	if (w->p.kind != PLACE_FILE) {
		return STEP_ON;
	}
	auto_fd here = beneath_again(w->p.fd);
	return here < 0 ? -errno : STEP_ON;
}

/* "..": walks again from the root.  The path so far has no symlink, and the parent directory
 * may belong to another mount. */
static int go_up(struct walker *w) {
	char parent[PATH_MAX];

	path_pop(w->p.path);
	memcpy(parent, w->p.path, strlen(w->p.path) + 1);
	int r = path_cursor_prepend(&w->c, parent);
	if (r == 0) {
		r = to_root(w);
	}
	return r == 0 ? STEP_ON : r;
}

/* A directory that the run creates: it has the mount points; its other entries exist only
 * during the run. */
static int step_in_own_dir(struct walker *w) {
	if (mounts_beneath(w->v->plan, w->p.path)) {
		drop_fd(&w->p.dir);
		w->p.kind = PLACE_OURS;
		return STEP_ON;
	}
	enum place_kind ground = w->p.tree == NULL ? PLACE_OURS : kind_of(w->p.tree);
	w->p.kind = ground == PLACE_RUN || ground == PLACE_MASK ? ground : PLACE_MISSING;
	return WALK_ENDS;
}

/* Whether the path is the file's: for a removed file the kernel appends " (deleted)". */
static bool names_it(int fd, const char *real) {
	struct stat held, named;
	return fstat(fd, &held) == 0 && lstat(real, &named) == 0 && held.st_dev == named.st_dev &&
	       held.st_ino == named.st_ino;
}

/* Checks that the descriptor's file is still at the path of the walk.  -EAGAIN: walk again. */
static int check_real_path(struct walker *w, int fd, const char *path) {
	const struct mount *tree = w->p.tree;
	char real[PATH_MAX], planned[PATH_MAX];

	if (beneath_real_path(fd, real, sizeof real) != 0) {
		return -errno;
	}
	if (!path_rebase(path, tree->target, tree->source, planned, sizeof planned)) {
		return -ENAMETOOLONG;
	}
	if (streq(real, planned)) {
		return 0;
	}
	/* Moved, or a case-insensitive file system: then access.h checks the real path. */
	if (!path_within(real, tree->source) || !names_it(fd, real)) {
		return -EAGAIN;
	}
	if (!path_rebase(real, tree->source, tree->target, w->p.path, sizeof w->p.path)) {
		return -ENAMETOOLONG;
	}
	return plan_mount_over(w->v->plan, w->p.path) == tree ? 0 : -EAGAIN;
}

/* Whether the rest has a "..": after a name that does not exist the kernel refuses it, and a
 * directory that is made for it would stay. */
static bool leads_up(const char *rest) {
	for (const char *at = rest; (at = strstr(at, "..")) != NULL; at++) {
		if ((at == rest || at[-1] == '/') && (at[2] == '\0' || at[2] == '/')) {
			return true;
		}
	}
	return false;
}

static bool may_make(const struct walker *w) {
	enum visibility sight = plan_visibility(w->v->plan, w->p.path);
	return sight == VISIBILITY_WRITE || sight == VISIBILITY_PRIVATE;
}

/* Creates a missing directory of the path. */
static int make_dir(struct walker *w) {
	if (leads_up(w->c.rest)) {
		return -ENOENT;
	}
	path_pop(w->p.path);
	int r = check_real_path(w, w->p.fd, w->p.path);
	if (r == 0) {
		r = push_name(w);
	}
	if (r != 0) {
		return r;
	}
	if (!may_make(w)) {
		w->p.kind = PLACE_MISSING;
		return WALK_ENDS;
	}
	if (mkdirat(w->p.fd, w->c.name, 0777) != 0 && errno != EEXIST) {
		return -errno;
	}
	path_pop(w->p.path);
	return path_cursor_prepend(&w->c, w->c.name) == 0 ? STEP_ON : -ENAMETOOLONG;
}

static int missing_in_tree(struct walker *w) {
	if (mounts_beneath(w->v->plan, w->p.path)) {
		leave(w);
		w->p.kind = PLACE_OURS; /* in the private home: the set-up creates it */
		return STEP_ON;
	}
	if (!w->c.last && (w->how & WALK_PARENTS) != 0) {
		return make_dir(w);
	}
	w->p.kind = PLACE_MISSING;
	drop_fd(&w->p.dir);
	if (w->c.last) {
		w->p.dir = take_fd(&w->p.fd);
	}
	drop_fd(&w->p.fd);
	return WALK_ENDS;
}

static int step_in_tree(struct walker *w) {
	struct stat st;
	auto_fd next = beneath_hold(w->p.fd, w->c.name);

	if (next < 0) {
		return errno == ENOENT ? missing_in_tree(w) : -errno;
	}
	if (fstat(next, &st) != 0) {
		return -errno;
	}
	if (S_ISLNK(st.st_mode) && (path_cursor_needs_dir(&w->c) || (w->how & WALK_STAY) == 0)) {
		return follow(w, next);
	}
	drop_fd(&w->p.dir);
	w->p.dir = take_fd(&w->p.fd);
	w->p.fd = take_fd(&next);
	w->p.st = st;
	return STEP_ON;
}

/* If a name or slash follows, this must be a directory. */
static int check_directory(const struct walker *w) {
	const struct place *p = &w->p;

	if (!path_cursor_needs_dir(&w->c) || p->kind == PLACE_OURS) {
		return STEP_ON;
	}
	if (p->kind == PLACE_FILE) {
		return S_ISDIR(p->st.st_mode) ? STEP_ON : -ENOTDIR;
	}
	if (p->kind == PLACE_TEXT) {
		return -ENOTDIR;
	}
	return p->tree != NULL && p->tree->is_file ? WALK_ENDS : STEP_ON;
}

static int step_to_name(struct walker *w) {
	int r = push_name(w);
	if (r != 0) {
		return r;
	}
	const struct mount *m = mount_exactly(w->v->plan, w->p.path);
	if (m != NULL && m->kind == MOUNT_LINK) {
		if (!path_cursor_needs_dir(&w->c) && (w->how & WALK_STAY) != 0) {
			w->p.kind = PLACE_TEXT; /* a symlink that the set-up creates */
			return WALK_ENDS;
		}
		path_pop(w->p.path);
		return follow_words(w, m->text);
	}
	if (m != NULL) {
		r = enter(w, m);
		return r != 0 ? r : check_directory(w);
	}
	r = w->p.kind == PLACE_FILE ? step_in_tree(w) : step_in_own_dir(w);
	return r == STEP_ON ? check_directory(w) : r;
}

static int step(struct walker *w) {
	if (++w->steps > STEPS_MAX) {
		return -ELOOP;
	}
	if (!path_cursor_at_dots(&w->c)) {
		return step_to_name(w);
	}
	int r = may_search(w);
	return r == STEP_ON && w->c.name[1] == '.' ? go_up(w) : r;
}

/* ---- the fast path ---- */

/* Opens the directory of the last name with one call.  On any failure, such as a symlink,
 * the state is unchanged and the walk continues name by name. */
static void open_parent_at_once(struct walker *w) {
	char path[PATH_MAX];
	const char *rest = w->c.rest + strspn(w->c.rest, "/");
	size_t end = strlen(rest);

	while (end > 0 && rest[end - 1] == '/') {
		end--;
	}
	while (end > 0 && rest[end - 1] != '/') {
		end--;
	}
	size_t at = strlen(w->p.path);
	if (end == 0 || at + end >= sizeof path || path_has_dots(rest) ||
	    strstr(rest, "//") != NULL) {
		return;
	}
	memcpy(path, w->p.path, at);
	path[at] = '/';
	memcpy(path + at + 1, rest, end - 1);
	path[at + end] = '\0';
	const struct mount *m = plan_mount_over(w->v->plan, path);
	if (m == NULL || !mount_is_tree(m) || streq(m->target, path)) {
		return;
	}
	auto_fd source = open_source(w->v, m);
	auto_fd dir = source < 0 ? -1
				 : beneath_open(source, mount_path_rest(path, m->target),
						O_DIRECTORY, true);
	if (dir < 0 || fstat(dir, &w->p.st) != 0) {
		return;
	}
	leave(w);
	w->p.kind = PLACE_FILE;
	w->p.tree = m;
	w->p.fd = take_fd(&dir);
	memcpy(w->p.path, path, at + end + 1);
	memmove(w->c.rest, rest + end, strlen(rest + end) + 1);
}

/* ---- the whole walk ---- */

/* Appends the rest of the path after an early end, so that a refusal names the whole path;
 * not with "..". */
static int add_rest(struct walker *w) {
	char whole[PATH_MAX + PATH_CURSOR_REST];
	struct arena a;

	if (w->c.rest[0] == '\0' || path_has_dots(w->c.rest)) {
		return 0;
	}
	(void)snprintf(whole, sizeof whole, "%s/%s", w->p.path, w->c.rest); /* it fits */
	arena_init(&a);
	const char *normal = path_normal(&a, whole);
	bool fits = normal != NULL && strlen(normal) < sizeof w->p.path;
	if (fits) {
		memcpy(w->p.path, normal, strlen(normal) + 1);
	}
	arena_done(&a);
	return fits ? 0 : -ENAMETOOLONG;
}

static int complete(struct walker *w) {
	struct place *p = &w->p;
	int r = 0;

	memcpy(p->name, w->c.name, sizeof p->name);
	if (p->path[0] == '\0') {
		memcpy(p->path, "/", 2);
	}
	if (p->kind == PLACE_FILE) {
		return check_real_path(w, p->fd, p->path);
	}
	if (p->kind != PLACE_MISSING || p->dir < 0) {
		return add_rest(w);
	}
	if (w->c.slash) {
		return -ENOENT; /* a trailing slash names a directory, not a new file */
	}
	path_pop(w->p.path);
	r = check_real_path(w, p->dir, p->path[0] == '\0' ? "/" : p->path);
	return r != 0 ? r : push_name(w);
}

static int walk_once(struct walker *w, const char *path) {
	int r = path_cursor_begin(&w->c, path);

	w->steps = 0;
	if (r == 0) {
		r = to_root(w);
	}
	r = r == 0 ? STEP_ON : r;
	while (r == STEP_ON) {
		if (w->v->fast && w->fresh) {
			open_parent_at_once(w);
		}
		w->fresh = false;
		r = path_cursor_next(&w->c);
		if (r == STEP_ON) {
			r = step(w);
		}
	}
	return r < 0 ? r : complete(w);
}

int place_failed(int error, const char *doing, const char *path, struct err *e) {
	enum err_kind kind = error == ENOENT ? ERR_NOT_FOUND : ERR_FILE;
	(void)err_set(e, kind, "files", "cannot %s %s", doing, path);
	e->sys = error;
	return -1;
}

static int check_length(const char *path, struct err *e) {
	if (path == NULL || path[0] == '\0') {
		return err_set(e, ERR_USAGE, "files", "the path is empty");
	}
	if (strlen(path) >= PATH_MAX) {
		return place_failed(ENAMETOOLONG, "resolve a path that begins with", path, e);
	}
	return 0;
}

/* A relative path starts at the command's working directory. */
static int whole_path(const struct lens *v, const char *path, char out[PATH_CURSOR_REST]) {
	const char *base = path[0] == '/' ? "" : v->plan->cwd;
	int n = snprintf(out, PATH_CURSOR_REST, "%s/%s", base, path);
	return n < 0 || (size_t)n >= PATH_CURSOR_REST ? -ENAMETOOLONG : 0;
}

int place_find(const struct lens *v, const char *path, unsigned how, struct place *ret,
	       struct err *e) {
	struct walker w = {.v = v, .how = how, .p = {.fd = -1, .dir = -1}};
	char whole[PATH_CURSOR_REST];

	if (check_length(path, e) != 0) {
		return -1;
	}
	int r = whole_path(v, path, whole);
	for (int again = 0; r == 0 && again < AGAIN_MAX; again++) {
		r = walk_once(&w, whole);
		if (r != -EAGAIN) {
			break;
		}
		r = again + 1 < AGAIN_MAX ? 0 : -EAGAIN;
	}
	if (r == 0) {
		*ret = w.p;
		return 0;
	}
	leave(&w);
	/* The errno would reveal whether a hidden file exists. */
	if (add_rest(&w) == 0 && plan_visibility(v->plan, w.p.path) == VISIBILITY_DENIED) {
		w.p.kind = PLACE_MASK;
		*ret = w.p;
		return 0;
	}
	if (r == -EAGAIN) {
		return err_set(e, ERR_FILE, "files",
			       "%s kept changing while it was being resolved; nothing was done",
			       path);
	}
	return place_failed(-r, "resolve", path, e);
}

void place_done(struct place *p) {
	drop_fd(&p->fd);
	drop_fd(&p->dir);
}
