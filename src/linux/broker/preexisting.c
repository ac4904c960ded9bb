/* SPDX-License-Identifier: Apache-2.0 */
/* Refuses to rename or remove files that existed before the run and that a rule protects, and
 * directories that contain one (K6).
 *
 * A rule about names at any depth protects a file by its name.  That is not enough: the command
 * could rename its directory, or one further up, and put another in its place.  The new ".git"
 * would then be the run's own, and the rule for repositories would not apply to it; and every
 * other protected file would be missing on the host.  So a directory that contains a protected
 * file cannot be renamed.  There is no list of such directories at the start of a run: a
 * directory is searched when the command renames it.
 *
 * A directory that was created after the start of the run (statx birth time) contains no
 * preexisting file, because none can be moved into it, except by the host.  Most renamed
 * directories are such (archives, installers, compilers).  The birth time is the host's clock:
 * if an administrator sets the clock back, existing files have birth times in the future, and
 * count as new once a later run has reached that time.
 *
 * The search runs while the command runs, which cannot exploit that: no directory above a
 * protected file can be renamed, so none can be moved past the search.
 *
 * Should:   find a name that a rule denies or protects, and a ".git" that the run did not create.
 * Must not: search long in pid 1 (K5), or protect the command's own repositories.
 * Fails:    closed: a directory that cannot be read completely is not renamed. */
#include "linux/broker/preexisting.h"

#include "base/auto.h"
#include "base/clock.h"
#include "base/str.h"
#include "linux/broker/tree.h"
#include "backend/journal.h"
#include "linux/kernel_api.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>
#include <sys/vfs.h>
#include <time.h>

#define REPOSITORY ".git"
#define HEAD "HEAD"
#define SHA1_DIGITS 40U

/* Bounds of a search in the guard: less work than to start a helper. */
#define AT_ONCE 256U
#define AT_ONCE_MS 20

/* Bounds of a search in a helper. */
#define ENTRIES_MAX 2000000U
#define SEARCH_MS 30000

/* File systems with a birth time by the host's clock that cannot be changed.  Not overlayfs: a
 * copy-up creates an old directory anew when a file in it changes. */
static const long with_birth_time[] = {EXT4_SUPER_MAGIC, BTRFS_SUPER_MAGIC, XFS_SUPER_MAGIC,
				       TMPFS_MAGIC};

/* ---- repositories that the run created ---- */

static bool is_made(const struct broker *b, const struct stat *st) {
	for (size_t i = 0; i < BROKER_MADE && i < b->nmade; i++) {
		if (b->made[i].ino == st->st_ino && b->made[i].dev == st->st_dev) {
			return true;
		}
	}
	return false;
}

/* The length of the path up to its last ".git" component, included; 0: it has none. */
static size_t repository_length(const char *path) {
	static const char within[] = "/" REPOSITORY "/";
	size_t found = 0;

	for (const char *at = path; (at = strstr(at, within)) != NULL; at++) {
		found = (size_t)(at - path) + strlen(within) - 1;
	}
	return found;
}

/* In .git/modules or .git/worktrees, where git creates new submodules and linked work trees in a
 * preexisting ".git". */
static bool is_of_part(const char *path, size_t repository) {
	return repository > 0 && (str_starts(path + repository, "/modules/") ||
				  str_starts(path + repository, "/worktrees/"));
}

/* The contents of a ref: an object id in hexadecimal digits, or "ref:" and another ref. */
static bool is_ref(const char *text, size_t len) {
	static const char digits[] = "0123456789abcdef";

	return (len >= 4 && memcmp(text, "ref:", 4) == 0) ||
	       (len >= SHA1_DIGITS && strspn(text, digits) >= SHA1_DIGITS);
}

/* Whether the first `len` characters of the path name a directory with a "config" that is not a
 * ref: a repository. */
static bool holds_config(const char *path, size_t len) {
	static const char config[] = "/config";
	char at[REAL_MAX + sizeof config], text[SHA1_DIGITS + 1] = "";

	memcpy(at, path, len);
	memcpy(at + len, config, sizeof config);
	auto_fd fd = open(at, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
	if (fd < 0) {
		return errno != ENOENT && errno != ENOTDIR;
	}
	ssize_t n = read(fd, text, sizeof text - 1);
	return n < 0 ? errno != EISDIR : !is_ref(text, (size_t)n);
}

/* The branch or tag name in the path; NULL: there is none. */
static const char *refs_in(const char *path) {
	static const char *const kinds[] = {"/refs/heads/", "/refs/remotes/", "/refs/tags/"};
	const char *first = NULL;

	for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
		const char *at = strstr(path, kinds[i]);
		at = at == NULL ? NULL : at + strlen(kinds[i]);
		first = first == NULL || (at != NULL && at < first) ? at : first;
	}
	return first;
}

/* A branch or tag may have the name of a protected file.  A submodule may have the name of a
 * branch; but it has a "config", which the command cannot remove. */
static bool is_branch(const char *path, size_t repository) {
	const char *at = refs_in(path + repository);

	for (; at != NULL; at = strchr(at, '/') == NULL ? NULL : strchr(at, '/') + 1) {
		if (holds_config(path, (size_t)(at - path) - 1)) {
			return false;
		}
	}
	return refs_in(path + repository) != NULL;
}

/* Whether the run created the directory that the first `len` characters of the path name.  The
 * path may have been renamed: so the rest of it must lead to the file that p->fd holds. */
static bool is_in_made(const struct broker *b, const struct resolved *p, const char *held,
		       size_t len) {
	char at[REAL_MAX];
	struct stat made, there, ours;

	memcpy(at, held, len);
	at[len] = '\0';
	auto_fd fd = open(at, O_PATH | O_CLOEXEC | O_DIRECTORY | O_NOFOLLOW);
	if (fd < 0 || fstat(fd, &made) != 0 || !is_made(b, &made) || fstat(p->fd, &ours) != 0) {
		return false;
	}
	if (held[len] == '\0') {
		return made.st_dev == ours.st_dev && made.st_ino == ours.st_ino;
	}
	return syscall(SYS_newfstatat, fd, held + len + 1, &there, AT_SYMLINK_NOFOLLOW) == 0 &&
	       there.st_dev == ours.st_dev && there.st_ino == ours.st_ino;
}

bool preexisting_made_above(const struct broker *b, const struct resolved *p, size_t len) {
	const char *held = p->has_name ? p->dir : p->real;

	return b->nmade > 0 && strlen(held) >= len && is_in_made(b, p, held, len);
}

bool preexisting_in_made(const struct broker *b, const struct resolved *p) {
	const char *held = p->has_name ? p->dir : p->real;
	size_t len = repository_length(p->real), all = strlen(held);

	if (len == 0 || all < len) {
		return false;
	}
	bool part = is_of_part(p->real, len);
	if (part && is_branch(p->real, len)) {
		return true;
	}
	for (; b->nmade > 0; len += 1 + strcspn(held + len + 1, "/")) {
		if (is_in_made(b, p, held, len)) {
			return true;
		}
		if (!part || len == all) {
			return false;
		}
	}
	return false;
}

void preexisting_made(struct broker *b, const struct resolved *p) {
	bool part = is_of_part(p->real, repository_length(p->real));
	struct stat st;

	if ((!part && strcasecmp(p->name, REPOSITORY) != 0) ||
	    syscall(SYS_newfstatat, p->fd, p->name, &st, AT_SYMLINK_NOFOLLOW) != 0 ||
	    (part && (!S_ISDIR(st.st_mode) || preexisting_in_made(b, p)))) {
		return;
	}
	b->made[b->nmade++ % BROKER_MADE] = (struct made){.dev = st.st_dev, .ino = st.st_ino};
}

/* ---- files that are newer than the run ---- */

static bool is_later(struct timespec a, struct timespec b) {
	return a.tv_sec > b.tv_sec || (a.tv_sec == b.tv_sec && a.tv_nsec > b.tv_nsec);
}

static bool has_birth_time(int dir) {
	struct statfs fs;

	for (size_t i = 0; syscall(SYS_fstatfs, dir, &fs) == 0 && i < ARRAY_LEN(with_birth_time);
	     i++) {
		if ((long)fs.f_type == with_birth_time[i]) {
			return true;
		}
	}
	return false;
}

/* Created by the run.  A birth time in the future counts as old: the clock may have been set
 * back. */
static bool is_new(const struct broker *b, int dir, const char *name) {
	const int flags = AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH;
	struct timespec now = {0};
	struct file_status st;

	if (!has_birth_time(dir) || sys_statx(dir, name, flags, FILE_STATUS_BORN, &st) != 0 ||
	    (st.mask & FILE_STATUS_BORN) == 0 || (st.attributes & FILE_ATTRIBUTE_MOUNT_ROOT) != 0) {
		return false;
	}
	struct timespec born = {.tv_sec = st.born.sec, .tv_nsec = st.born.nsec};
	(void)clock_gettime(CLOCK_REALTIME, &now); /* fails only for an unknown clock */
	return is_later(born, b->began) && !is_later(born, now);
}

/* ---- protected files ---- */

static const char *last_name(const char *path) {
	const char *slash = strrchr(path, '/');

	return slash == NULL ? path : slash + 1;
}

/* A preexisting ".git".  name: an entry of dir; "" for dir itself. */
static bool is_kept(const struct broker *b, int dir, const char *name, const char *real,
		    struct stat *ret) {
	return strcasecmp(last_name(real), REPOSITORY) == 0 &&
	       syscall(SYS_newfstatat, dir, name, ret, AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH) == 0 &&
	       !is_made(b, ret) && rules_keep_repository(&b->plan->rules, real) &&
	       !is_new(b, dir, name);
}

/* git treats a directory itself as a repository if it has a HEAD and its ".git" is not one; and
 * the command may change the files that make a ".git" one (its HEAD, objects, refs).  A directory
 * with a preexisting ".git" cannot be renamed, so its path is enough. */
static bool keeps_head(const struct broker *b, const char *real) {
	char at[REAL_MAX + sizeof REPOSITORY];
	size_t len = (size_t)(last_name(real) - real);
	struct stat st;

	if (!streq(last_name(real), HEAD)) {
		return false;
	}
	memcpy(at, real, len);
	at[len] = '\0';
	auto_fd dir = open(at, O_PATH | O_CLOEXEC | O_DIRECTORY | O_NOFOLLOW);
	memcpy(at + len, REPOSITORY, sizeof REPOSITORY);
	return dir >= 0 && is_kept(b, dir, REPOSITORY, at, &st);
}

bool preexisting_concerns(const char *real) {
	const char *name = last_name(real);

	return strcasecmp(name, REPOSITORY) == 0 || streq(name, HEAD) ||
	       is_of_part(real, repository_length(real));
}

bool preexisting_keeps_file(const struct broker *b, const struct resolved *p) {
	struct stat st;

	return (is_kept(b, p->fd, p->has_name ? last_name(p->real) : "", p->real, &st) &&
		!S_ISDIR(st.st_mode)) ||
	       keeps_head(b, p->real);
}

static enum tree_step visit(struct tree *t, int dir, const char *name, bool is_directory) {
	struct stat st;
	(void)is_directory;

	if (strcasecmp(name, REPOSITORY) == 0 &&
	    rules_keep_repository(&t->b->plan->rules, t->path)) {
		/* A ".git" of the run's own contains no preexisting file. */
		return is_kept(t->b, dir, name, t->path, &st) ? TREE_END : TREE_PAST;
	}
	struct ruling ruling = rules_judge(&t->b->plan->rules, t->path);
	return ruling.deny != NULL || ruling.protect != NULL ? TREE_END : TREE_ON;
}

static enum tree_step unreadable(struct tree *t, int dir, const char *name) {
	(void)t, (void)dir, (void)name;
	return errno == ENOENT || errno == ENOTDIR || errno == ELOOP ? TREE_ON : TREE_END;
}

/* ---- the search ---- */

struct search {
	struct tree tree;
	char space[TREE_DEPTH][TREE_SPACE];
};

static int search(const struct call *c, const struct resolved *p, uint32_t entries, int64_t ms) {
	struct search *s = mmap(NULL, sizeof *s, PROT_READ | PROT_WRITE,
				MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (s == MAP_FAILED) {
		return -errno;
	}
	s->tree.b = c->b;
	s->tree.visit = visit;
	s->tree.unreadable = unreadable;
	s->tree.space = s->space;
	s->tree.entries_max = entries;
	s->tree.deadline = clock_ms() + ms;
	bool all = tree_walk(&s->tree, p->fd, p->name, p->real);
	bool unfinished = s->tree.entries > entries || clock_ms() >= s->tree.deadline;
	(void)syscall(SYS_munmap, s, sizeof *s); /* libc's takes a lock */
	if (all) {
		return 0;
	}
	return unfinished ? BEFORE_LATER : -EBUSY;
}

int preexisting_remove(const struct call *c, const struct resolved *p) {
	struct stat st;

	return is_kept(c->b, p->fd, last_name(p->real), p->real, &st) ? -EBUSY : 0;
}

static int judge(const struct call *c, const struct resolved *p, mode_t entry) {
	if (preexisting_remove(c, p) != 0) {
		return -EBUSY;
	}
	if (!S_ISDIR(entry) || is_new(c->b, p->fd, p->name) || preexisting_in_made(c->b, p)) {
		return 0;
	}
	return search(c, p, AT_ONCE, AT_ONCE_MS);
}

int preexisting_judge(const struct call *c, const struct resolved *p) {
	return judge(c, p, p->entry);
}

int preexisting_search(const struct call *c, const struct resolved *p) {
	struct stat st = {0};

	/* Again: this helper runs later. */
	(void)syscall(SYS_newfstatat, p->fd, p->name, &st, AT_SYMLINK_NOFOLLOW); /* 0: missing */
	int r = judge(c, p, st.st_mode);
	if (r == BEFORE_LATER) {
		r = search(c, p, ENTRIES_MAX, SEARCH_MS);
	}
	return r == BEFORE_LATER ? -EBUSY : r;
}
