/* The plan's word on a place, by its real path.
 *
 * Should:   answer as the mounts of the other engine would: EACCES behind a mask,
 *           EROFS where nothing is to be written, EBUSY for a name that is pinned.
 * Must not: grant what Landlock does not: the call is made in the same domain, so
 *           that the kernel judges it once more.
 * Fails:    closed: a path that cannot be told is denied. */
#include "linux/broker/verdict.h"

#include "base/str.h"

#include <errno.h>
#include <string.h>

#define DELETED " (deleted)"

bool place_is_nowhere(const struct place *p) {
	if (p->has_name) {
		return false;
	}
	if (str_starts(p->real, "/memfd:")) {
		return p->nlink == 0;
	}
	/* "pipe:[7]"; but "(unreachable)/a" is a file of a mount that we do not see. */
	return p->real[0] != '/' && p->real[0] != '(' && p->real[0] != '\0';
}

static enum sight stricter(enum sight a, enum sight b) {
	static const int rank[] = {
		[SIGHT_DENIED] = 0,  [SIGHT_NONE] = 1,  [SIGHT_READ] = 2,
		[SIGHT_PRIVATE] = 3, [SIGHT_WRITE] = 3,
	};
	return rank[a] < rank[b] ? a : b;
}

/* A removed file is judged by the place that it had.  Its name says so, but a file
 * may also be called that: then both have to allow it. */
static enum sight sight_of(const struct plan *plan, const char *path) {
	char before[REAL_MAX];
	size_t len = strlen(path), tail = strlen(DELETED);

	if (path[0] != '/' || len >= sizeof before) {
		return SIGHT_DENIED;
	}
	enum sight sight = plan_sight(plan, path);
	if (len > tail && streq(path + len - tail, DELETED)) {
		memcpy(before, path, len - tail);
		before[len - tail] = '\0';
		sight = stricter(sight, plan_sight(plan, before));
	}
	return sight;
}

static int may_change(enum sight sight) {
	switch (sight) {
	case SIGHT_DENIED:
		return -EACCES;
	case SIGHT_WRITE:
	case SIGHT_PRIVATE:
		return 0;
	case SIGHT_NONE:
	case SIGHT_READ:
		break;
	}
	return -EROFS;
}

/* Rules that are about one path, and would be lost if the path led elsewhere. */
static bool is_restriction(const struct mount *m) {
	switch (m->kind) {
	case MOUNT_MASK_FILE:
	case MOUNT_MASK_DIR:
	case MOUNT_PIN:
		return true;
	case MOUNT_BIND:
		return !m->writable;
	case MOUNT_DIR:
	case MOUNT_LINK:
	case MOUNT_FILE:
	case MOUNT_PRIVATE:
	case MOUNT_PROC:
	case MOUNT_DEVICE:
	case MOUNT_PTS:
	case MOUNT_QUEUES:
		break;
	}
	return false;
}

static bool holds_restriction(const struct plan *plan, const char *path) {
	for (size_t i = 0; i < plan->nmounts; i++) {
		if (is_restriction(&plan->mounts[i]) && path_within(plan->mounts[i].target, path)) {
			return true;
		}
	}
	return false;
}

int verdict_look(const struct plan *plan, const struct place *p) {
	if (place_is_nowhere(p)) {
		return 0;
	}
	enum sight sight = sight_of(plan, p->real);
	/* Landlock's rule is on the directory, wherever it is mounted: what the plan does
	 * not show may be a denied file by another way.  Devices are Landlock's alone. */
	bool elsewhere = sight == SIGHT_NONE && (S_ISREG(p->mode) || S_ISDIR(p->mode));
	return sight == SIGHT_DENIED || elsewhere ? -EACCES : 0;
}

int verdict_change(const struct plan *plan, const struct place *p) {
	return place_is_nowhere(p) ? 0 : may_change(sight_of(plan, p->real));
}

int verdict_make(const struct plan *plan, const struct place *p) {
	int r = may_change(sight_of(plan, p->dir));

	return r != 0 ? r : may_change(sight_of(plan, p->real));
}

int verdict_remove(const struct plan *plan, const struct place *p) {
	int r = may_change(sight_of(plan, p->dir));

	if (r == 0 && holds_restriction(plan, p->real)) {
		return -EBUSY;
	}
	return r != 0 ? r : may_change(sight_of(plan, p->real));
}

int verdict_missing(const struct plan *plan, const struct place *p, int error) {
	bool denied =
		error == -ENOENT && p->real[0] == '/' && sight_of(plan, p->real) == SIGHT_DENIED;

	return denied ? -EACCES : error;
}
