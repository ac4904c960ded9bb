/* SPDX-License-Identifier: Apache-2.0 */
/* Checks a real path against the plan's mounts and rules.
 *
 * Should:   return the errors that the mounts of the namespaces engine would: EACCES behind a
 *           mask, EROFS where the mount is read-only, EBUSY for a mount point.
 * Must not: be the only check: the guard makes the call in the same Landlock domain, so that
 *           the kernel checks it once more.
 * Fails:    closed: a path that cannot be determined is denied. */
#include "linux/broker/verdict.h"

#include "base/auto.h"
#include "base/path.h"
#include "base/str.h"
#include "linux/broker/preexisting.h"
#include "linux/broker/repository.h"
#include "linux/broker/walk.h"
#include "linux/kernel_api.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>

#define DELETED " (deleted)"

bool verdict_is_nowhere(const struct resolved *p) {
	if (p->has_name) {
		return false;
	}
	if (str_starts(p->real, "/memfd:")) {
		return p->nlink == 0;
	}
	/* "pipe:[7]"; but "(unreachable)/a" is a file on a mount that is not in our namespace. */
	return p->real[0] != '/' && p->real[0] != '(' && p->real[0] != '\0';
}

static enum visibility stricter(enum visibility a, enum visibility b) {
	static const int rank[] = {
		[VISIBILITY_DENIED] = 0,  [VISIBILITY_NONE] = 1,  [VISIBILITY_READ] = 2,
		[VISIBILITY_PRIVATE] = 3, [VISIBILITY_WRITE] = 3,
	};
	return rank[a] < rank[b] ? a : b;
}

/* ---- visibility of a path ---- */

/* A read-only file in a writable tree: when the host replaces it, the kernel detaches the mount,
 * and linux/follow.c needs a moment to mount the new file. */
static bool is_island(const struct plan *plan, const char *path) {
	for (size_t i = 0; plan->islands && i < plan->nmounts; i++) {
		const struct mount *m = &plan->mounts[i];
		if (m->kind == MOUNT_BIND && m->follow != NULL && !m->writable &&
		    streq(m->target, path)) {
			return true;
		}
	}
	return false;
}

/* With namespaces the kernel enforces the mounts, and only the rules are checked here. */
static enum visibility visibility_by_plan(const struct broker *b, const struct resolved *p,
					  const char *path) {
	const struct plan *plan = b->plan;
	enum visibility sight = plan_lacks_namespaces(plan) ? plan_mount_visibility(plan, path)
				: is_island(plan, path)     ? VISIBILITY_READ
							    : VISIBILITY_WRITE;

	if (plan->rules.count == 0 || sight == VISIBILITY_NONE || sight == VISIBILITY_DENIED) {
		return sight;
	}
	struct ruling ruling = rules_judge(&plan->rules, path);
	if (ruling.deny != NULL) {
		return VISIBILITY_DENIED;
	}
	if (ruling.protect == NULL) {
		return path == p->real && preexisting_keeps_file(b, p) ? VISIBILITY_READ : sight;
	}
	return ruling.protect->until_made && preexisting_in_made(b, p) ? sight : VISIBILITY_READ;
}

/* The path of a rule that denies one name; false for any other rule. */
static bool path_of_deny(const struct rule *r, char out[REAL_MAX]) {
	const struct glob_name *name = r->glob.names;
	size_t len = streq(r->anchor, "/") ? 0 : strlen(r->anchor);

	if (r->effect != EFFECT_DENY || r->except || r->floating || r->glob.count != 1 ||
	    name->kind != GLOB_LITERAL || len + name->len + 2 > REAL_MAX) {
		return false;
	}
	memcpy(out, r->anchor, len);
	out[len] = '/';
	memcpy(out + len + 1, name->text, name->len);
	out[len + 1 + name->len] = '\0';
	return true;
}

/* The path as written in the rule, if it goes through symlinks; else NULL. */
static const char *written_as(const struct rule *r, const char *named) {
	bool plain = r->set == NULL && r->written != NULL && r->written[0] == '/';

	return plain && !streq(r->written, named) ? r->written : NULL;
}

/* Without namespaces no mount covers a file that the host puts at a denied path: where the path is
 * or goes through a symlink now, the file that it leads to is denied. */
static bool is_target_of_denied(const struct broker *b, const char *path) {
	const struct rules *rules = &b->plan->rules;
	char named[REAL_MAX], end[REAL_MAX], word;

	for (size_t i = 0; i < rules->count; i++) {
		if (!path_of_deny(&rules->list[i], named)) {
			continue;
		}
		const char *written = written_as(&rules->list[i], named);
		/* First the cheap test: a symlink is rare, and rules_deny() compares every rule. */
		if ((written == NULL && syscall(SYS_readlinkat, AT_FDCWD, named, &word, 1) < 0) ||
		    !rules_deny(rules, named)) {
			continue;
		}
		auto_fd fd = sys_openat2(AT_FDCWD, written == NULL ? named : written, O_PATH,
					 RESOLVE_NO_MAGICLINKS);
		if (fd >= 0 && resolved_real_path(b, fd, end, sizeof end) == 0 &&
		    path_within(path, end)) {
			return true;
		}
	}
	return false;
}

/* A file of procfs that belongs to no process.  Without --allow-nested Landlock makes them
 * read-only, for root too. */
static bool is_kernels(const char *path) {
	static const char proc[] = "/proc/";

	return path_within(path, "/proc") &&
	       !(str_starts(path, proc) && path[sizeof proc - 1] >= '0' &&
		 path[sizeof proc - 1] <= '9');
}

/* A removed file is checked by its former path.  /proc appends " (deleted)", but a file's name may
 * also end like that: then both paths must be allowed. */
static enum visibility visibility_of(const struct call *c, const struct resolved *p,
				     const char *path) {
	char before[REAL_MAX];
	size_t len = strlen(path), tail = strlen(DELETED);

	if (c->b->nests && p->inner) {
		return VISIBILITY_WRITE; /* the caller's own mounts are in force */
	}
	if (path[0] != '/' || len >= sizeof before) {
		return VISIBILITY_DENIED;
	}
	if (p->kernels || (c->b->nests && is_kernels(path))) {
		return VISIBILITY_READ;
	}
	enum visibility sight = visibility_by_plan(c->b, p, path);
	if (len > tail && streq(path + len - tail, DELETED)) {
		memcpy(before, path, len - tail);
		before[len - tail] = '\0';
		sight = stricter(sight, visibility_by_plan(c->b, p, before));
	}
	bool shown = sight != VISIBILITY_DENIED && sight != VISIBILITY_NONE;
	return shown && plan_lacks_namespaces(c->b->plan) && c->b->plan->rules.count > 0 &&
			       is_target_of_denied(c->b, path)
		       ? VISIBILITY_DENIED
		       : sight;
}

static int may_change(enum visibility sight) {
	switch (sight) {
	case VISIBILITY_DENIED:
		return -EACCES;
	case VISIBILITY_WRITE:
	case VISIBILITY_PRIVATE:
		return 0;
	case VISIBILITY_NONE:
	case VISIBILITY_READ:
		break;
	}
	return -EROFS;
}

/* Mounts that restrict one path, and would not apply if the path led to another file. */
static bool is_restriction(const struct mount *m) {
	switch (m->kind) {
	case MOUNT_MASK_FILE:
	case MOUNT_MASK_DIR:
	case MOUNT_TEXT:
	case MOUNT_PIN:
		return true;
	case MOUNT_BIND:
	case MOUNT_COW:
		return !m->writable;
	case MOUNT_COVER:
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

int verdict_look(const struct call *c, const struct resolved *p) {
	if (verdict_is_nowhere(p)) {
		return 0;
	}
	enum visibility sight = visibility_of(c, p, p->real);
	/* A Landlock rule applies to the inode, on every mount of it: a path that the plan does not
	 * show may be a denied file on another mount.  Devices are left to Landlock. */
	bool elsewhere = sight == VISIBILITY_NONE && (S_ISREG(p->mode) || S_ISDIR(p->mode));
	return sight == VISIBILITY_DENIED || elsewhere ? -EACCES : 0;
}

int verdict_tell(const struct call *c, const struct resolved *p) {
	if (verdict_is_nowhere(p)) {
		return 0;
	}
	enum visibility sight = visibility_of(c, p, p->real);
	return sight == VISIBILITY_DENIED || sight == VISIBILITY_NONE ? -EACCES : 0;
}

int verdict_change(const struct call *c, const struct resolved *p) {
	return verdict_is_nowhere(p) ? 0 : may_change(visibility_of(c, p, p->real));
}

int verdict_make(const struct call *c, const struct resolved *p) {
	if (!plan_lacks_namespaces(c->b->plan)) {
		return may_change(visibility_of(c, p, p->real)); /* rules include paths beneath */
	}
	int r = may_change(visibility_of(c, p, p->dir));

	return r != 0 ? r : may_change(visibility_of(c, p, p->real));
}

bool verdict_is_free(const struct call *c, const char *real) {
	const struct plan *plan = c->b->plan;
	size_t len = strlen(real), tail = strlen(DELETED);

	if (plan_lacks_namespaces(plan) || is_island(plan, real) || preexisting_concerns(real) ||
	    (len > tail && streq(real + len - tail, DELETED))) {
		return false;
	}
	struct ruling ruling = {0};
	if (plan->rules.count > 0) {
		ruling = rules_judge(&plan->rules, real);
	}
	return ruling.deny == NULL && ruling.protect == NULL;
}

int verdict_remove(const struct call *c, const struct resolved *p) {
	if (p->mounted) {
		return -EBUSY;
	}
	if (!plan_lacks_namespaces(c->b->plan)) {
		return may_change(visibility_of(c, p, p->real)); /* EBUSY comes from the kernel */
	}
	int r = may_change(visibility_of(c, p, p->dir));

	if (r == 0 && holds_restriction(c->b->plan, p->real)) {
		return -EBUSY;
	}
	return r != 0 ? r : may_change(visibility_of(c, p, p->real));
}

int verdict_missing(const struct call *c, const struct resolved *p, int error) {
	bool denied = error == -ENOENT && p->real[0] == '/' &&
		      visibility_of(c, p, p->real) == VISIBILITY_DENIED;

	return denied ? -EACCES : error;
}

int verdict_lead(const struct call *c, const struct resolved *p, const char *target) {
	return rules_lead_astray(&c->b->plan->rules, p->real, target)
		       ? -EBUSY
		       : repository_lead(c, p, target);
}

static int lead_moved(const struct call *c, const struct resolved *from,
		      const struct resolved *to) {
	char target[PATH_MAX];
	ssize_t n = syscall(SYS_readlinkat, from->fd, from->name, target, sizeof target - 1);

	if (n < 0) {
		return -errno;
	}
	target[n] = '\0';
	return verdict_lead(c, to, target);
}

int verdict_move(const struct call *c, const struct resolved *from, const struct resolved *to) {
	if (S_ISLNK(from->entry)) {
		return lead_moved(c, from, to);
	}
	if (!S_ISDIR(from->entry)) {
		return 0;
	}
	const struct rules *rules = &c->b->plan->rules;
	if (!rules_differ_beneath(rules, from->real, to->real)) {
		return repository_move(c, from, to);
	}
	return rules_same_tree(rules, from->dir, to->dir) ? -EBUSY : -EXDEV;
}

bool verdict_moves_any(const struct call *c, const struct resolved *from,
		       const struct resolved *to) {
	return repository_move(c, from, to) == 0 &&
	       rules_lead_alike(&c->b->plan->rules, from->real, to->real);
}
