/* SPDX-License-Identifier: Apache-2.0 */
/* Records in the journal the files that a served call created and that a program on the host
 * could execute or read as configuration after the run.
 *
 * Should:   record executables, set-id files, symlinks that lead out, FIFOs, sockets, and names
 *           of configuration that other programs execute (data/lasting.h).
 * Must not: decide about a call, or fail one.
 * Fails:    open: a file that is missed here is not in the list; the supervisor checks each
 *           path again, so that the list has no false entry. */
#include "linux/broker/created.h"

#include "base/clock.h"
#include "base/path.h"
#include "base/str.h"
#include "linux/broker/tree.h"
#include "backend/journal.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#define EXECUTABLE 0111
#define SET_IDS 06000

static void record(const struct call *c, enum lasting kind, const char *path) {
	if (plan_outside(c->b->plan, path) != NULL) {
		journal_add(c->b->journal, kind, path);
	}
}

/* True: the name is one of the table's. */
static bool record_name(const struct call *c, const char *path) {
	const struct lasting_row *row = lasting_find(path);

	if (row != NULL) {
		record(c, row->kind, path);
	}
	return row != NULL;
}

void created_file(const struct call *c, const char *path, mode_t mode) {
	if (c->b->journal == NULL) {
		return;
	}
	if ((mode & SET_IDS) != 0) {
		record(c, LASTING_SETUID, path);
	}
	if (!record_name(c, path) && (mode & EXECUTABLE) != 0 && !lasting_is_sample(path)) {
		record(c, LASTING_EXECUTABLE, path);
	}
}

/* Hard links are recorded because one may be made executable later, by any name; the supervisor
 * leaves out those without an x bit.  Bounded: a git clone creates thousands. */
#define LINKS_NOTED 512

void created_link(const struct call *c, const struct resolved *from, const struct resolved *to) {
	created_file(c, to->real, from->mode);
	if (c->b->journal == NULL || (from->mode & EXECUTABLE) != 0) {
		return;
	}
	if (c->b->nlinked++ < LINKS_NOTED) {
		record(c, LASTING_EXECUTABLE, from->real);
		record(c, LASTING_EXECUTABLE, to->real);
	}
}

/* A name besides p->real, which is not counted when it was removed. */
static bool has_other_name(const struct resolved *p) {
	static const char deleted[] = " (deleted)";
	size_t len = strlen(p->real), tail = strlen(deleted);
	bool gone = len > tail && streq(p->real + len - tail, deleted);

	return p->nlink > (gone ? 0 : 1);
}

void created_mode(const struct call *c, const struct resolved *p, mode_t added) {
	created_file(c, p->real, added);
	if ((added & EXECUTABLE) != 0 && c->b->nlinked > LINKS_NOTED && has_other_name(p)) {
		journal_lose(c->b->journal); /* it may have a name that was not recorded */
	}
}

void created_node(const struct call *c, const char *path, mode_t mode) {
	if (c->b->journal == NULL || record_name(c, path)) {
		return;
	}
	if (S_ISFIFO(mode)) {
		record(c, LASTING_FIFO, path);
	} else if (S_ISSOCK(mode)) {
		record(c, LASTING_SOCKET, path);
	}
}

/* ---- symlinks ---- */

/* The target is a path that the command can neither read nor write in the sandbox: on the host
 * another file has that path. */
static bool leads_out(const struct plan *plan, const char *dir, const char *target) {
	char to[REAL_MAX + PATH_MAX];
	size_t len = target[0] == '/' ? 0 : strlen(dir), n = strlen(target);

	if (len + n + 2 > sizeof to) {
		return true;
	}
	memcpy(to, dir, len);
	to[len] = '/';
	memcpy(to + len + 1, target, n);
	to[len + 1 + n] = '\0';
	path_normalize(to, to);
	return plan_outside(plan, to) == NULL && plan_mount_visibility(plan, to) != VISIBILITY_READ;
}

void created_symlink(const struct call *c, const struct resolved *p, const char *target) {
	if (c->b->journal == NULL || record_name(c, p->real)) {
		return;
	}
	if (leads_out(c->b->plan, p->dir, target)) {
		record(c, LASTING_SYMLINK, p->real);
	}
}

/* ---- directories that get a special name ---- */

/* Bounds for the walk of such a directory: its files were not special under its old name. */
#define CONTENTS_MAX 1024U
#define CONTENTS_MS 50

struct contents {
	struct tree tree;
	char space[TREE_DEPTH][TREE_SPACE];
};

static enum tree_step visit(struct tree *t, int dir, const char *name, bool is_directory) {
	const struct call c = {.b = t->b};
	(void)dir, (void)name;

	if (!is_directory) {
		(void)record_name(&c, t->path);
	}
	return TREE_ON;
}

static enum tree_step unreadable(struct tree *t, int dir, const char *name) {
	(void)t, (void)dir, (void)name;
	return TREE_PAST;
}

/* Whether programs execute files in a directory because of its name. */
static bool has_special_name(const char *path) {
	static const char repository[] = ".git";
	char within[REAL_MAX + 2];
	size_t len = strlen(path), tail = strlen(repository);

	if (len + 3 > sizeof within) {
		return false;
	}
	memcpy(within, path, len + 1);
	memcpy(within + len, "/x", 3);
	return lasting_find(within) != NULL || (len > tail && streq(path + len - tail, repository));
}

static void record_contents(const struct call *c, const struct resolved *p) {
	struct contents *l = mmap(NULL, sizeof *l, PROT_READ | PROT_WRITE,
				  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (l == MAP_FAILED) {
		return;
	}
	l->tree.b = c->b;
	l->tree.visit = visit;
	l->tree.unreadable = unreadable;
	l->tree.space = l->space;
	l->tree.entries_max = CONTENTS_MAX;
	l->tree.deadline = clock_ms() + CONTENTS_MS;
	if (!tree_walk(&l->tree, p->fd, p->name, p->real)) {
		journal_lose(c->b->journal); /* not every file was visited */
	}
	(void)syscall(SYS_munmap, l, sizeof *l); /* libc's takes a lock */
}

void created_moving(const struct call *c, const struct resolved *from, const struct resolved *to) {
	if (c->b->journal != NULL) {
		journal_move(c->b->journal, from->real, to->real);
		created_node(c, to->real, S_IFDIR);
		journal_move(c->b->journal, to->real, from->real); /* RENAME_EXCHANGE */
	}
}

void created_moved(const struct call *c, const struct resolved *from, const struct resolved *to) {
	if (c->b->journal == NULL) {
		return;
	}
	if (S_ISREG(from->entry)) {
		created_file(c, to->real, from->entry);
		if (c->b->nlinked > 0) {
			journal_move(c->b->journal, from->real, to->real);
		}
		return;
	}
	/* Records of the old name, and of paths beneath it, now apply to the new one. */
	journal_move(c->b->journal, from->real, to->real);
	created_node(c, to->real, from->entry);
	if (S_ISDIR(from->entry) && has_special_name(to->real)) {
		record_contents(c, to);
	}
}
