/* SPDX-License-Identifier: Apache-2.0 */
/* Refuses files that have another hard link with a denied name.
 *
 * A pattern denies a name, and a file may have had a second hard link before the run.  Such a
 * file has st_nlink > 1.  The first open of one starts a search of the granted trees, which
 * records the inode of every denied name with st_nlink > 1; from then on a lookup in that
 * table decides.  A run that opens no such file pays nothing, and other runs one search.
 *
 * The search runs while the command runs, which must not be able to exploit that:
 *  - it is a process of its own (K5), and an open during the search waits in a helper;
 *  - the search may miss a directory that the command renames, so it searches that again at
 *    its new path;
 *  - the search fails at a directory that the command may have made unreadable, at too deep
 *    nesting, at too many entries, at its deadline, and if it is killed.
 *
 * Should:   refuse a file that has a denied name within the granted trees.
 * Must not: follow a symlink, look outside the granted trees, or block pid 1.
 * Fails:    closed: after a failed search every file with several hard links is refused,
 *           because it is not known which has a denied name; the result reports that. */
#include "linux/broker/hardlinks.h"

#include "base/auto.h"
#include "base/clock.h"
#include "base/path.h"
#include "base/str.h"
#include "data/syscalls.h"
#include "linux/broker/tree.h"
#include "backend/journal.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>

/* Six times the largest tree that was measured. */
#define ENTRIES_MAX 2000000U

/* Enough for a slow disk with a cold cache.  Only opens of files with several hard links wait
 * for it. */
#define SEARCH_MS 30000

/* A power of two, a quarter of it kept free.  Unused pages take no memory (MAP_NORESERVE). */
#define SLOTS (1U << 20)
#define SLOTS_USED (SLOTS / 4 * 3)

/* Directories that were renamed and not yet searched again. */
#define MOVED_MAX 256

#define DELETED " (deleted)"

enum { SEARCHING, COMPLETE, FAILED };

struct slot {
	uint64_t dev, ino; /* ino 0: free */
};

/* Shared by pid 1, the search and the helpers. */
struct links {
	_Atomic uint32_t state;
	_Atomic uint32_t moving;          /* a rename of a directory is in progress */
	_Atomic uint32_t moved, followed; /* paths added to `paths`, and searched again */
	int64_t deadline;                 /* ms on the monotonic clock */
	uint32_t used;
	struct tree tree; /* the search's position */
	char paths[MOVED_MAX][PATH_MAX];
	char space[TREE_DEPTH][TREE_SPACE];
	struct slot slots[SLOTS];
};

/* ---- the table ---- */

/* The slot of this file, or the free one where it would be; the table is never full. */
static struct slot *slot_of(struct links *l, uint64_t dev, uint64_t ino) {
	uint64_t hash = (ino ^ (dev << 32)) * 0x9e3779b97f4a7c15U;

	for (uint64_t i = hash >> 32;; i++) {
		struct slot *slot = &l->slots[i % SLOTS];
		if (slot->ino == 0 || (slot->ino == ino && slot->dev == dev)) {
			return slot;
		}
	}
}

static int record_inode(struct links *l, const struct stat *st) {
	struct slot *slot = slot_of(l, st->st_dev, st->st_ino);

	if (slot->ino != 0) {
		return 0;
	}
	if (l->used == SLOTS_USED || st->st_ino == 0) {
		return -1;
	}
	*slot = (struct slot){.dev = st->st_dev, .ino = st->st_ino};
	l->used++;
	return 0;
}

/* ---- the search ---- */

/* A directory that cannot be opened.  If a mask covers it or another user owns it, the command
 * cannot have made it unreadable, and it is skipped.  The command could chmod its own directory
 * back after the search has passed, so the search fails there. */
static enum tree_step unreadable(struct tree *t, int dir, const char *name) {
	int error = errno;
	struct stat st;

	if (error == ENOENT || error == ENOTDIR || error == ELOOP) {
		return TREE_ON; /* removed, or replaced by a file */
	}
	if (error != EACCES) {
		return TREE_END;
	}
	enum visibility sight = plan_mount_visibility(t->b->plan, t->path);
	bool hidden = sight == VISIBILITY_DENIED || sight == VISIBILITY_NONE;
	bool others = syscall(SYS_newfstatat, dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
		      st.st_uid != (uid_t)syscall(SYS_geteuid);
	return hidden || others ? TREE_ON : TREE_END;
}

static enum tree_step visit(struct tree *t, int dir, const char *name, bool is_directory) {
	struct stat st;

	if (is_directory) {
		bool none = path_within(t->path, "/proc") || path_within(t->path, "/sys");
		return none ? TREE_PAST : TREE_ON; /* procfs and sysfs have no hard links */
	}
	if (!rules_deny(&t->b->plan->rules, t->path)) {
		return TREE_ON;
	}
	if (syscall(SYS_newfstatat, dir, name, &st, AT_SYMLINK_NOFOLLOW) != 0) {
		return errno == ENOENT ? TREE_ON : TREE_END;
	}
	bool concerns = S_ISREG(st.st_mode) && st.st_nlink > 1;
	return concerns && record_inode(t->b->links, &st) != 0 ? TREE_END : TREE_ON;
}

/* The tree is within another granted tree, and is searched with that. */
static bool is_nested(const struct rules *rules, size_t which) {
	const char *path = rules->anchors[which].path;

	for (size_t i = 0; i < rules->nanchors; i++) {
		const char *other = rules->anchors[i].path;
		bool before = i < which || !streq(other, path);
		if (i != which && before && path_within(path, other)) {
			return true;
		}
	}
	return false;
}

static int search_from(struct broker *b, const char *root) {
	if (path_within(root, "/proc") || path_within(root, "/sys")) {
		return 0;
	}
	return tree_walk(&b->links->tree, AT_FDCWD, root, root) ? 0 : -1;
}

static int search_all(struct broker *b) {
	const struct rules *rules = &b->plan->rules;

	for (size_t i = 0; i < rules->nanchors; i++) {
		if (!is_nested(rules, i) && search_from(b, rules->anchors[i].path) != 0) {
			return -1;
		}
	}
	return 0;
}

/* Until no rename is in progress and no path is left.  `moving` is read first: a rename adds its
 * paths before it clears `moving`. */
static int search_moved(struct broker *b) {
	struct links *l = b->links;

	while (clock_ms() < l->deadline) {
		bool moving = atomic_load(&l->moving) != 0;
		uint32_t done = atomic_load(&l->followed);
		if (done != atomic_load(&l->moved)) {
			if (search_from(b, l->paths[done % MOVED_MAX]) != 0) {
				return -1;
			}
			atomic_store(&l->followed, done + 1);
		} else if (!moving) {
			return 0;
		}
	}
	return -1;
}

static void end_search(struct links *l, uint32_t state) {
	uint32_t searching = SEARCHING;

	/* A helper may have set FAILED at the deadline already. */
	(void)atomic_compare_exchange_strong(&l->state, &searching, state);
	(void)syscall(SYS_futex, &l->state, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

static void run_search(struct broker *b) {
	bool complete = search_all(b) == 0 && search_moved(b) == 0;

	end_search(b->links, complete ? COMPLETE : FAILED);
}

static int begin_search(struct broker *b) {
	void *place = mmap(NULL, sizeof(struct links), PROT_READ | PROT_WRITE,
			   MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (place == MAP_FAILED) {
		return -errno;
	}
	b->links = place;
	b->links->deadline = clock_ms() + SEARCH_MS;
	b->links->tree = (struct tree){.b = b,
				       .visit = visit,
				       .unreadable = unreadable,
				       .space = b->links->space,
				       .entries_max = ENTRIES_MAX,
				       .deadline = b->links->deadline};
	int r = broker_start(b, run_search);
	if (r != 0) {
		(void)syscall(SYS_munmap, place, sizeof(struct links)); /* libc's takes a lock */
		b->links = NULL;
	}
	return r;
}

/* ---- checks ---- */

/* Whether the path can be a hard link of a denied file: in a granted tree, and without namespaces
 * in every directory that is writable.  System directories have many hard links, none of them
 * denied. */
static bool can_be_link_of_denied(const struct plan *plan, const char *path) {
	for (size_t i = 0; i < plan->rules.nanchors; i++) {
		if (path_within(path, plan->rules.anchors[i].path)) {
			return true;
		}
	}
	enum visibility sight =
		plan_lacks_namespaces(plan) ? plan_mount_visibility(plan, path) : VISIBILITY_NONE;
	return sight == VISIBILITY_WRITE || sight == VISIBILITY_PRIVATE;
}

/* After the search: looks the file up in the table. */
static int decide(const struct call *c, const struct stat *st, const char *path) {
	struct links *l = c->b->links;
	bool complete = atomic_load(&l->state) == COMPLETE;

	if (complete && slot_of(l, st->st_dev, st->st_ino)->ino == 0) {
		return 0;
	}
	journal_refuse_link(c->b->journal, complete ? LINK_DENIED : LINK_UNKNOWN, path);
	return -EACCES;
}

int hardlinks_judge_removed(const struct call *c, const struct resolved *p) {
	size_t len = strlen(p->real), tail = strlen(DELETED);
	struct stat ours, there;

	if (!c->b->checks_links || p->nlink == 0 || !S_ISREG(p->mode) || len <= tail ||
	    !streq(p->real + len - tail, DELETED) || !can_be_link_of_denied(c->b->plan, p->real)) {
		return 0;
	}
	/* A file's name may end like that, too. */
	bool named = fstat(p->fd, &ours) == 0 &&
		     syscall(SYS_newfstatat, AT_FDCWD, p->real, &there, AT_SYMLINK_NOFOLLOW) == 0 &&
		     ours.st_dev == there.st_dev && ours.st_ino == there.st_ino;
	return named ? 0 : -EACCES;
}

int hardlinks_judge(const struct call *c, const struct resolved *p) {
	struct broker *b = c->b;
	struct stat st;

	if (!b->checks_links || !S_ISREG(p->mode)) {
		return 0;
	}
	if (p->nlink <= 1) {
		return hardlinks_judge_removed(c, p);
	}
	if (!can_be_link_of_denied(b->plan, p->real)) {
		return 0;
	}
	if (b->links == NULL) {
		int r = begin_search(b);
		return r != 0 ? r : LINKS_LATER;
	}
	if (atomic_load(&b->links->state) == SEARCHING) {
		return LINKS_LATER;
	}
	return fstat(p->fd, &st) != 0 ? -errno : decide(c, &st, p->real);
}

/* With --cow such a change makes overlayfs copy the file up, and the copy has one hard link: it
 * would no longer be recognized as a denied file. */
int hardlinks_judge_copied(const struct call *c, const struct resolved *p) {
	if (!links_copied(c->b)) {
		return 0;
	}
	struct resolved file = *p;
	struct stat st;
	auto_fd held = p->has_name ? openat(p->fd, p->name, O_PATH | O_NOFOLLOW | O_CLOEXEC) : -1;
	file.fd = p->has_name ? held : p->fd;
	if (file.fd < 0 || fstat(file.fd, &st) != 0) {
		return errno == ENOENT ? 0 : -errno;
	}
	file.mode = st.st_mode;
	file.nlink = st.st_nlink;
	int r = hardlinks_judge(c, &file);
	return r == LINKS_LATER ? -EBUSY : r;
}

int hardlinks_wait(const struct call *c, int fd) {
	struct links *l = c->b->links;
	struct text name = caller_fd_path(fd);
	char path[REAL_MAX];
	struct stat st;

	while (atomic_load(&l->state) == SEARCHING) {
		int64_t left = l->deadline - clock_ms();
		struct timespec wait = {.tv_sec = left / 1000, .tv_nsec = left % 1000 * 1000000};
		if (left <= 0) {
			end_search(l, FAILED); /* the search was killed, or hangs */
			break;
		}
		/* Whatever it returns, the loop checks again. */
		(void)syscall(SYS_futex, &l->state, FUTEX_WAIT, SEARCHING, &wait, NULL, 0);
	}
	ssize_t n = syscall(SYS_readlinkat, AT_FDCWD, name.s, path, sizeof path - 1);
	path[n < 0 ? 0 : n] = '\0';
	return fstat(fd, &st) != 0 ? -errno : decide(c, &st, path);
}

/* ---- renames during the search ---- */

static bool is_directory(const struct resolved *p) {
	struct stat st;

	return syscall(SYS_newfstatat, p->fd, p->name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	       S_ISDIR(st.st_mode);
}

bool hardlinks_moving(struct broker *b, const struct resolved *from, const struct resolved *to) {
	if (b->links == NULL || atomic_load(&b->links->state) != SEARCHING ||
	    (!is_directory(from) && !is_directory(to))) {
		return false;
	}
	atomic_store(&b->links->moving, 1);
	return true;
}

/* The path is queued already.  The one that is being searched does not count: the search may
 * have passed the renamed directory. */
static bool is_queued(const struct links *l, uint32_t at, const char *path) {
	for (uint32_t i = atomic_load(&l->followed) + 1; (int32_t)(at - i) > 0; i++) {
		if (streq(l->paths[i % MOVED_MAX], path)) {
			return true;
		}
	}
	return false;
}

static void queue_moved(struct links *l, const char *path) {
	uint32_t at = atomic_load(&l->moved);
	size_t len = strlen(path);

	if (is_queued(l, at, path)) {
		return;
	}
	if (at - atomic_load(&l->followed) >= MOVED_MAX || len >= sizeof l->paths[0]) {
		end_search(l, FAILED);
		return;
	}
	memcpy(l->paths[at % MOVED_MAX], path, len + 1);
	atomic_store(&l->moved, at + 1);
}

void hardlinks_moved(struct broker *b, const struct resolved *from, const struct resolved *to) {
	struct links *l = b->links;

	queue_moved(l, to->real);
	queue_moved(l, from->real); /* RENAME_EXCHANGE; otherwise the path is empty */
	atomic_store(&l->moving, 0);
}
