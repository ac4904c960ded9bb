/* Files that a command made or changed at the top of its private home, where a person may look for
 * them in vain: with the workspace at ~/proj, ../result.txt is one.
 *
 * The names before the run and after it are compared, and of a name that was there before, inode
 * number, size and ctime.  A time alone would not do: two runs may follow each other within one
 * tick of the kernel's clock for them.  Of a directory the inode number alone is compared: programs
 * work in one that they made in an earlier run.
 *
 * Should:   name what is new or changed, and where it is kept.
 * Must not: name caches and settings of programs, or what was mounted there.
 * Fails:    open: what cannot be looked at is not named. */
#include "lib/internal.h"

#include "base/auto.h"
#include "base/str.h"
#include "plan/home.h"

#include <fcntl.h>
#include <sys/stat.h>

/* With more than this a home is somebody's store, and nobody misses one more. */
#define BEFORE_MAX 1000

static struct stray stray_at(int dir, const char *name) {
	struct stat st;
	struct stray s = {.name = name};

	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0) {
		s.ino = st.st_ino;
		s.size = S_ISDIR(st.st_mode) ? 0 : st.st_size;
		s.changed = S_ISDIR(st.st_mode) ? (struct timespec){0} : st.st_ctim;
	}
	return s;
}

static bool is_known(const struct stray_watch *w, int dir, const char *name) {
	for (size_t i = 0; i < w->n; i++) {
		const struct stray *was = &w->names[i];
		if (streq(was->name, name)) {
			struct stray is = stray_at(dir, name);
			return is.ino == was->ino && is.size == was->size &&
			       is.changed.tv_sec == was->changed.tv_sec &&
			       is.changed.tv_nsec == was->changed.tv_nsec;
		}
	}
	return false;
}

/* A mount point, or the way to one. */
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

static void remember(struct stray_watch *w, int dir, const char *name) {
	const char *kept = NULL;
	if (w->n < BEFORE_MAX &&
	    arena_grow(&w->arena, &w->names, w->n, &w->cap, sizeof *w->names) == 0) {
		kept = arena_strdup(&w->arena, name);
	}
	if (kept == NULL) {
		w->blind = true;
		return;
	}
	w->names[w->n++] = stray_at(dir, kept);
}

static void tell(struct corral_result *r, const char *name) {
	struct strays *s = &r->strays;
	const char *kept = s->n < STRAYS_MAX ? arena_strdup(&r->arena, name) : NULL;
	if (kept == NULL) {
		s->more++;
		return;
	}
	s->names[s->n++] = kept;
}

/* Before the run r is NULL. */
static void look(struct stray_watch *w, struct corral_result *r) {
	if (w->plan == NULL) {
		return;
	}
	int fd = open(w->plan->home_source, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	auto_dir list = fd < 0 ? NULL : fdopendir(fd);
	if (list == NULL) {
		drop_fd(&fd);
		w->blind = true;
		return;
	}
	for (struct dirent *d; (d = readdir(list)) != NULL && !w->blind;) {
		if (home_is_for_tools(d->d_name, strlen(d->d_name)) ||
		    is_mounted(w->plan, d->d_name)) {
			continue;
		}
		if (r == NULL) {
			remember(w, fd, d->d_name);
		} else if (!is_known(w, fd, d->d_name)) {
			tell(r, d->d_name);
		}
	}
}

void strays_begin(struct stray_watch *w, const struct plan *plan) {
	*w = (struct stray_watch){.plan = plan->home_source == NULL ? NULL : plan};
	arena_init(&w->arena);
	look(w, NULL);
}

void strays_end(struct stray_watch *w, struct corral_result *r) {
	if (r != NULL && !w->blind) {
		look(w, r);
		r->strays.path =
			r->strays.n == 0 ? NULL : arena_strdup(&r->arena, w->plan->home_source);
	}
	arena_done(&w->arena);
}
