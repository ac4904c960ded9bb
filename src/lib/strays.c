/* SPDX-License-Identifier: Apache-2.0 */
/* Finds files that a command created or changed at the top of its private home, in its .local/bin,
 * beside the workspace or beside a grant, where the user does not find them: with the workspace at
 * ~/proj or at ~/go/src/proj, ../result.txt is one, with --read ~/data/set ~/data/new, and after
 * `make install PREFIX=~/.local` a program that the shell outside does not find.  Elsewhere the
 * directories above the workspace are read-only (plan/home.c).
 *
 * Compares the names before and after the run; for a file with the same name also inode number,
 * size and ctime.  The ctime alone is not enough: two runs may fall into one tick of the kernel's
 * clock.  For a directory only the inode number is compared: programs work in directories of
 * earlier runs.
 *
 * Should:   list new and changed files, and the directory that contains them.
 * Must not: list caches and settings of programs, or mount points.
 * Fails:    open: a directory that cannot be read is not reported. */
#include "lib/internal.h"

#include "base/auto.h"
#include "base/beneath.h"
#include "base/dirent64.h"
#include "base/path.h"
#include "base/str.h"
#include "plan/home.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* In a home with more entries a new one is not worth a note. */
#define BEFORE_MAX 1000

/* Programs that are installed for one user; looked at where the home has LOCAL. */
#define LOCAL ".local"
#define PROGRAMS LOCAL "/bin"

static struct stray stray_at(int dir, const char *entry, const char *name) {
	struct stat st;
	struct stray s = {.name = name};

	if (fstatat(dir, entry, &st, AT_SYMLINK_NOFOLLOW) == 0) {
		s.ino = st.st_ino;
		if (!S_ISDIR(st.st_mode)) {
			s.size = st.st_size;
			s.changed = st.st_ctim;
		}
	}
	return s;
}

static bool is_known(const struct stray_watch *w, int dir, const char *entry, const char *name) {
	for (size_t i = 0; i < w->n; i++) {
		const struct stray *was = &w->names[i];
		if (streq(was->name, name)) {
			struct stray is = stray_at(dir, entry, name);
			return is.ino == was->ino && is.size == was->size &&
			       is.changed.tv_sec == was->changed.tv_sec &&
			       is.changed.tv_nsec == was->changed.tv_nsec;
		}
	}
	return false;
}

/* A mount point, or a parent directory of one. */
static bool is_mounted(const struct plan *plan, const char *name) {
	size_t home = strlen(plan->home_at), len = strlen(name);
	for (size_t i = 0; i < plan->nmounts; i++) {
		const char *target = plan->mounts[i].target;
		if (path_within(target, plan->home_at) && target[home] == '/' &&
		    strncmp(target + home + 1, name, len) == 0 &&
		    (target[home + 1 + len] == '/' || target[home + 1 + len] == '\0')) {
			return true;
		}
	}
	return false;
}

static void remember(struct stray_watch *w, int dir, const char *entry, const char *name) {
	const char *kept = NULL;
	if (w->n < BEFORE_MAX &&
	    arena_grow(&w->arena, &w->names, w->n, &w->cap, sizeof *w->names) == 0) {
		kept = arena_strdup(&w->arena, name);
	}
	if (kept == NULL) {
		w->blind = true;
		return;
	}
	w->names[w->n++] = stray_at(dir, entry, kept);
}

static void report(struct corral_result *r, const char *name) {
	struct strays *s = &r->strays;
	const char *kept = s->n < STRAYS_MAX ? arena_strdup(&r->arena, name) : NULL;
	if (kept == NULL) {
		s->more++;
		return;
	}
	s->names[s->n++] = kept;
}

/* The parent directory of the workspace, relative to the home, if it lies in a directory of the
 * home that home_is_for_tools() excludes from the search (such as go/); NULL otherwise, and for
 * the directories of settings and caches. */
static const char *beside_workspace(struct stray_watch *w) {
	static const char *const shared[] = {".cache",       ".config",      ".local",
					     ".local/share", ".local/state", ".local/lib"};
	const char *home = w->plan->home_at, *workspace = w->plan->workspace_at;
	char dir[PATH_MAX];

	if (workspace == NULL || !path_within(workspace, home) || !path_parent(workspace, dir) ||
	    !path_within(dir, home) || streq(dir, home)) {
		return NULL;
	}
	const char *rest = dir + strlen(home) + 1;
	for (size_t i = 0; i < ARRAY_LEN(shared); i++) {
		if (streq(rest, shared[i])) {
			return NULL;
		}
	}
	return home_is_for_tools(rest, strcspn(rest, "/")) ? arena_strdup(&w->arena, rest) : NULL;
}

static void add_place(struct stray_watch *w, const char *dir, size_t len) {
	for (size_t i = 0; i < w->nplaces; i++) {
		if (strncmp(w->places[i], dir, len) == 0 && w->places[i][len] == '\0') {
			return;
		}
	}
	const char *kept = w->nplaces < PLACES_MAX ? arena_strndup(&w->arena, dir, len) : NULL;
	if (kept != NULL) {
		w->places[w->nplaces++] = kept;
	}
}

/* Whether the directory is in a tree of the host that is mounted in the home, or is above the
 * workspace, where it is read-only. */
static bool is_of_host(const struct plan *plan, const char *dir) {
	if (plan->workspace_at != NULL && path_within(plan->workspace_at, dir)) {
		return true;
	}
	for (size_t i = 0; i < plan->nmounts && !plan_lacks_namespaces(plan); i++) {
		const struct mount *m = &plan->mounts[i];
		if (m->kind != MOUNT_PIN && path_within(dir, m->target) &&
		    !path_within(plan->home_at, m->target)) {
			return true;
		}
	}
	return false;
}

/* The directories between the home and the grant.  Without namespaces the home has a symlink to the
 * grant at the place that the grant has in the caller's, which scan_dir() does not follow, or a
 * directory that a command of an earlier run left there. */
static void add_beside(struct stray_watch *w, const char *home, const struct mount *grant) {
	const char *first = grant->target + strlen(home) + 1, *slash = first;
	bool itself = plan_lacks_namespaces(w->plan) && !grant->is_file;
	char dir[PATH_MAX];

	if (home_is_for_tools(first, strcspn(first, "/"))) {
		return;
	}
	while ((slash = strchr(slash, '/')) != NULL || itself) {
		size_t len = slash == NULL ? strlen(first) : (size_t)(slash - first);
		(void)snprintf(dir, sizeof dir, "%s/%.*s", home, (int)len, first);
		if (!is_of_host(w->plan, dir)) {
			add_place(w, first, len);
		}
		if (slash == NULL) {
			return;
		}
		slash++;
	}
}

static void add_beside_grants(struct stray_watch *w) {
	const struct plan *plan = w->plan;
	const char *home = plan_lacks_namespaces(plan) ? plan->home_own : plan->home_at;

	for (size_t i = 0; home != NULL && i < plan->nmounts; i++) {
		const struct mount *m = &plan->mounts[i];
		if (m->kind != MOUNT_PIN && path_within(m->target, home) &&
		    !streq(m->target, home) && !path_within(m->target, plan->home_source)) {
			add_beside(w, home, m);
		}
	}
}

/* -1 with errno.  Follows no link: the command controls the content of the home. */
static int open_place(const struct stray_watch *w, const char *beside) {
	auto_fd home = open(w->plan->home_source, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);

	if (home < 0 || beside == NULL) {
		return take_fd(&home);
	}
	auto_fd dir = beneath_open(home, beside, O_DIRECTORY, true);
	return dir < 0 ? -1 : beneath_reopen(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

struct place {
	int fd;
	const char *beside; /* its path in the home; NULL: the home itself */
};

static void scan_entry(struct stray_watch *w, const struct place *p, const char *entry,
		       struct corral_result *r) {
	char name[PATH_MAX];
	bool home = p->beside == NULL;
	int len = home ? snprintf(name, sizeof name, "%s", entry)
		       : snprintf(name, sizeof name, "%s/%s", p->beside, entry);

	w->local = w->local || (home && streq(entry, LOCAL));
	if (streq(entry, ".") || streq(entry, "..") ||
	    (home && home_is_for_tools(name, strlen(name))) || len < 0 ||
	    (size_t)len >= sizeof name || is_mounted(w->plan, name)) {
		return;
	}
	if (r == NULL) {
		remember(w, p->fd, entry, name);
	} else if (!is_known(w, p->fd, entry, name)) {
		report(r, name);
	}
}

/* Records the names (r is NULL, before the run), or reports the new ones. */
static void scan_dir(struct stray_watch *w, const char *beside, struct corral_result *r) {
	char space[4096]; /* opendir(3) would allocate one */
	long n = 0;
	auto_fd fd = open_place(w, beside);
	if (fd < 0) {
		bool none = errno == ENOENT || errno == ELOOP || errno == ENOTDIR;
		w->blind = w->blind || beside == NULL || !none;
		return;
	}
	while (!w->blind && (n = syscall(SYS_getdents64, fd, space, sizeof space)) > 0) {
		for (long at = 0; at < n && !w->blind; at += dirent64_length(space + at)) {
			scan_entry(w, &(struct place){fd, beside}, dirent64_name(space + at), r);
		}
	}
	w->blind = w->blind || n < 0;
}

static void scan(struct stray_watch *w, struct corral_result *r) {
	if (w->plan == NULL) {
		return;
	}
	scan_dir(w, NULL, r);
	if (w->local) {
		scan_dir(w, PROGRAMS, r);
	}
	for (size_t i = 0; i < w->nplaces; i++) {
		scan_dir(w, w->places[i], r);
	}
}

void strays_begin(struct stray_watch *w, const struct plan *plan) {
	*w = (struct stray_watch){.plan = plan->home_source == NULL ? NULL : plan};
	arena_init(&w->arena);
	if (w->plan != NULL) {
		const char *beside = beside_workspace(w);
		if (beside != NULL && !streq(beside, PROGRAMS)) {
			add_place(w, beside, strlen(beside));
		}
		add_beside_grants(w);
	}
	scan(w, NULL);
}

void strays_end(struct stray_watch *w, struct corral_result *r) {
	if (r != NULL && !w->blind) {
		scan(w, r);
		r->strays.path =
			r->strays.n == 0 ? NULL : arena_strdup(&r->arena, w->plan->home_source);
	}
	arena_done(&w->arena);
}
