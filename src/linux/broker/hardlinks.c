/* Denied files by another of their names.
 *
 * A pattern denies a name, and a file may have had a second one before the run (a hard
 * link).  Such a file says so: it has several names.  The first of them that is opened
 * begins one search of the granted trees, which notes every file with several names of
 * which a rule denies one; from then on a look into that table decides.  A run that opens
 * no such file pays for nothing, and a tree without denied links for one search.
 *
 * The search runs beside the command, which is not to profit from it:
 *  - it is a process of its own (K5), and who asks meanwhile waits in a helper;
 *  - what the command moves meanwhile may pass it by, and is searched again at its new
 *    place;
 *  - a directory that the command may have closed, nesting without an end, too many
 *    entries, too much time, an end by a signal: the search has failed.
 *
 * Should:   refuse a file that has a denied name within the granted trees.
 * Must not: follow a link, look outside the granted trees, or hold up pid 1.
 * Fails:    closed: after a search that failed every file with several names is refused,
 *           because which of them is a denied one is not known; the result says why. */
#include "linux/broker/hardlinks.h"

#include "base/auto.h"
#include "base/clock.h"
#include "base/path.h"
#include "base/str.h"
#include "data/syscalls.h"
#include "linux/broker/tree.h"
#include "linux/journal.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>

/* Six times the largest tree that is measured. */
#define ENTRIES_MAX 2000000U

/* A tree that lies on a slow disk and was not read before.  Nobody waits for it but who
 * opens a file with several names. */
#define SEARCH_MS 30000

/* A power of two, a quarter of it kept free.  Pages that are not used are not there. */
#define SLOTS (1U << 20)
#define SLOTS_USED (SLOTS / 4 * 3)

/* Directories that were moved and not yet searched again. */
#define MOVED_MAX 256

#define DELETED " (deleted)"

enum { SEARCHING, COMPLETE, FAILED };

struct slot {
	uint64_t dev, ino; /* ino 0: free */
};

/* Shared by pid 1, the search and the helpers. */
struct links {
	_Atomic uint32_t state;
	_Atomic uint32_t moving;          /* a directory is on its way just now */
	_Atomic uint32_t moved, followed; /* how many paths were told, and searched again */
	int64_t deadline;                 /* ms on the monotonic clock */
	uint32_t used;
	struct tree tree; /* where the search is */
	char paths[MOVED_MAX][PATH_MAX];
	char space[TREE_DEPTH][TREE_SPACE];
	struct slot slots[SLOTS];
};

/* ---- the table ---- */

/* The slot of this file, or the free one where it belongs; the table is never full. */
static struct slot *slot_of(struct links *l, uint64_t dev, uint64_t ino) {
	uint64_t hash = (ino ^ (dev << 32)) * 0x9e3779b97f4a7c15U;

	for (uint64_t i = hash >> 32;; i++) {
		struct slot *slot = &l->slots[i % SLOTS];
		if (slot->ino == 0 || (slot->ino == ino && slot->dev == dev)) {
			return slot;
		}
	}
}

static int note(struct links *l, const struct stat *st) {
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

/* What others have closed the command cannot have closed, nor what a mask covers: what is
 * in there is left out.  Its own it opens again when we have passed. */
static enum tree_step leave_out(struct tree *t, int dir, const char *name) {
	int error = errno;
	struct stat st;

	if (error == ENOENT || error == ENOTDIR || error == ELOOP) {
		return TREE_ON; /* gone, or replaced by what is no directory */
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

static enum tree_step see(struct tree *t, int dir, const char *name, bool is_directory) {
	struct stat st;

	if (is_directory) {
		bool none = path_within(t->path, "/proc") || path_within(t->path, "/sys");
		return none ? TREE_PAST : TREE_ON; /* there are no hard links in those */
	}
	if (!rules_deny(&t->b->plan->rules, t->path)) {
		return TREE_ON;
	}
	if (syscall(SYS_newfstatat, dir, name, &st, AT_SYMLINK_NOFOLLOW) != 0) {
		return errno == ENOENT ? TREE_ON : TREE_END;
	}
	bool concerns = S_ISREG(st.st_mode) && st.st_nlink > 1;
	return concerns && note(t->b->links, &st) != 0 ? TREE_END : TREE_ON;
}

/* A tree within another one is searched with that. */
static bool is_searched(const struct rules *rules, size_t which) {
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
		if (!is_searched(rules, i) && search_from(b, rules->anchors[i].path) != 0) {
			return -1;
		}
	}
	return 0;
}

/* Until nothing is on its way and nothing is left.  The first is asked first: a move is
 * told before it counts as over. */
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

	/* A helper may have given it up already. */
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
				       .see = see,
				       .closed = leave_out,
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

/* ---- what is asked ---- */

/* Where a name of such a file can lie: in a granted tree, and without namespaces wherever
 * it can be moved to.  The system has many such files, and none of them is denied. */
static bool is_ground(const struct plan *plan, const char *path) {
	for (size_t i = 0; i < plan->rules.nanchors; i++) {
		if (path_within(path, plan->rules.anchors[i].path)) {
			return true;
		}
	}
	enum visibility sight =
		plan_lacks_namespaces(plan) ? plan_mount_visibility(plan, path) : VISIBILITY_NONE;
	return sight == VISIBILITY_WRITE || sight == VISIBILITY_PRIVATE;
}

/* By a table that is whole. */
static int answer(const struct call *c, const struct stat *st, const char *path) {
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

	if (!c->b->asks_links || p->nlink == 0 || !S_ISREG(p->mode) || len <= tail ||
	    !streq(p->real + len - tail, DELETED) || !is_ground(c->b->plan, p->real)) {
		return 0;
	}
	/* A file may also be called that. */
	bool named = fstat(p->fd, &ours) == 0 &&
		     syscall(SYS_newfstatat, AT_FDCWD, p->real, &there, AT_SYMLINK_NOFOLLOW) == 0 &&
		     ours.st_dev == there.st_dev && ours.st_ino == there.st_ino;
	return named ? 0 : -EACCES;
}

int hardlinks_judge(const struct call *c, const struct resolved *p) {
	struct broker *b = c->b;
	struct stat st;

	if (!b->asks_links || !S_ISREG(p->mode)) {
		return 0;
	}
	if (p->nlink <= 1) {
		return hardlinks_judge_removed(c, p);
	}
	if (!is_ground(b->plan, p->real)) {
		return 0;
	}
	if (b->links == NULL) {
		int r = begin_search(b);
		return r != 0 ? r : LINKS_LATER;
	}
	if (atomic_load(&b->links->state) == SEARCHING) {
		return LINKS_LATER;
	}
	return fstat(p->fd, &st) != 0 ? -errno : answer(c, &st, p->real);
}

/* With --cow such a change copies the file, and the copy has one name: nobody could tell any
 * more that it was a denied one. */
int hardlinks_judge_copied(const struct call *c, const struct resolved *p) {
	if (c->b->plan->cow_dir == NULL || !c->b->asks_links) {
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
			end_search(l, FAILED); /* it was killed, or something holds it up */
			break;
		}
		/* However it ends: the loop looks again. */
		(void)syscall(SYS_futex, &l->state, FUTEX_WAIT, SEARCHING, &wait, NULL, 0);
	}
	ssize_t n = syscall(SYS_readlinkat, AT_FDCWD, name.s, path, sizeof path - 1);
	path[n < 0 ? 0 : n] = '\0';
	return fstat(fd, &st) != 0 ? -errno : answer(c, &st, path);
}

/* ---- what moves ---- */

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

/* It waits to be searched already.  The one that is being searched does not count: the
 * move may have come too late for it. */
static bool is_told(const struct links *l, uint32_t at, const char *path) {
	for (uint32_t i = atomic_load(&l->followed) + 1; (int32_t)(at - i) > 0; i++) {
		if (streq(l->paths[i % MOVED_MAX], path)) {
			return true;
		}
	}
	return false;
}

static void tell_moved(struct links *l, const char *path) {
	uint32_t at = atomic_load(&l->moved);
	size_t len = strlen(path);

	if (is_told(l, at, path)) {
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

	tell_moved(l, to->real);
	tell_moved(l, from->real); /* when they were exchanged; else there is nothing */
	atomic_store(&l->moving, 0);
}
