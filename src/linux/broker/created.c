/* Should:   write down what could run or be obeyed on the host after the run.
 * Must not: decide about a call, or fail one.
 * Fails:    open: what is not noticed is not in the list; the supervisor looks at each
 *           path again, so that nothing in the list is made up. */
#include "linux/broker/created.h"

#include "base/clock.h"
#include "base/str.h"
#include "linux/broker/tree.h"
#include "linux/journal.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#define EXECUTABLE 0111
#define SET_IDS 06000

static void note(const struct call *c, enum lasting kind, const char *path) {
	if (plan_outside(c->b->plan, path) != NULL) {
		journal_add(c->b->journal, kind, path);
	}
}

static bool note_name(const struct call *c, const char *path) {
	const struct lasting_row *row = lasting_find(path);

	if (row != NULL) {
		note(c, row->kind, path);
	}
	return row != NULL;
}

void created_file(const struct call *c, const char *path, mode_t mode) {
	if (c->b->journal == NULL) {
		return;
	}
	if ((mode & SET_IDS) != 0) {
		note(c, LASTING_SETUID, path);
	}
	if (!note_name(c, path) && (mode & EXECUTABLE) != 0 && !lasting_is_sample(path)) {
		note(c, LASTING_EXECUTABLE, path);
	}
}

/* Written down for the case that one of them is made executable later, by whatever name; the
 * supervisor leaves out what is not.  Not without an end: a clone makes thousands of links. */
#define LINKS_NOTED 512

void created_link(const struct call *c, const struct resolved *from, const struct resolved *to) {
	created_file(c, to->real, from->mode);
	if (c->b->journal == NULL || (from->mode & EXECUTABLE) != 0) {
		return;
	}
	if (c->b->nlinked++ < LINKS_NOTED) {
		note(c, LASTING_EXECUTABLE, from->real);
		note(c, LASTING_EXECUTABLE, to->real);
	}
}

/* Besides the one that it was found by: a descriptor's may be gone. */
static bool has_other_name(const struct resolved *p) {
	static const char deleted[] = " (deleted)";
	size_t len = strlen(p->real), tail = strlen(deleted);
	bool gone = len > tail && streq(p->real + len - tail, deleted);

	return p->nlink > (gone ? 0 : 1);
}

void created_mode(const struct call *c, const struct resolved *p, mode_t added) {
	created_file(c, p->real, added);
	if ((added & EXECUTABLE) != 0 && c->b->nlinked > LINKS_NOTED && has_other_name(p)) {
		journal_lose(c->b->journal); /* it may have a name that was not written down */
	}
}

void created_node(const struct call *c, const char *path, mode_t mode) {
	if (c->b->journal == NULL || note_name(c, path)) {
		return;
	}
	if (S_ISFIFO(mode)) {
		note(c, LASTING_FIFO, path);
	} else if (S_ISSOCK(mode)) {
		note(c, LASTING_SOCKET, path);
	}
}

/* ---- links ---- */

/* One name more behind out, by the words alone; false when it does not fit. */
static bool put_name(char *out, size_t *len, const char *name, size_t n) {
	if (n == 0 || (n == 1 && name[0] == '.')) {
		return true;
	}
	if (n == 2 && memcmp(name, "..", 2) == 0) {
		while (*len > 0 && out[--*len] != '/') {
		}
		return true;
	}
	if (*len + n + 2 > REAL_MAX) {
		return false;
	}
	out[(*len)++] = '/';
	memcpy(out + *len, name, n);
	*len += n;
	return true;
}

static bool put_names(char *out, size_t *len, const char *path) {
	while (*path != '\0') {
		size_t n = strcspn(path, "/");
		if (!put_name(out, len, path, n)) {
			return false;
		}
		path += n + (path[n] == '/');
	}
	return true;
}

/* It leads to what the command can neither read nor write here: on the host there is
 * something else at that path. */
static bool leads_out(const struct plan *plan, const char *dir, const char *words) {
	char to[REAL_MAX];
	size_t len = 0;

	if ((words[0] != '/' && !put_names(to, &len, dir)) || !put_names(to, &len, words)) {
		return true;
	}
	to[len] = '\0';
	return plan_outside(plan, len == 0 ? "/" : to) == NULL &&
	       plan_mount_visibility(plan, len == 0 ? "/" : to) != VISIBILITY_READ;
}

void created_symlink(const struct call *c, const struct resolved *p, const char *words) {
	if (c->b->journal == NULL || note_name(c, p->real)) {
		return;
	}
	if (leads_out(c->b->plan, p->dir, words)) {
		note(c, LASTING_SYMLINK, p->real);
	}
}

/* ---- directories that take a name that others obey ---- */

/* Looked at again: what lies in it was nothing special under its old name. */
#define HELD_MAX 1024U
#define HELD_MS 50

struct held {
	struct tree tree;
	char space[TREE_DEPTH][TREE_SPACE];
};

static enum tree_step see(struct tree *t, int dir, const char *name, bool is_directory) {
	const struct call c = {.b = t->b};
	(void)dir, (void)name;

	if (!is_directory) {
		(void)note_name(&c, t->path);
	}
	return TREE_ON;
}

static enum tree_step see_closed(struct tree *t, int dir, const char *name) {
	(void)t, (void)dir, (void)name;
	return TREE_PAST;
}

/* Whether what lies in it is obeyed for the directory's name. */
static bool is_obeyed(const char *path) {
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

static void note_held(const struct call *c, const struct resolved *p) {
	struct held *l = mmap(NULL, sizeof *l, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (l == MAP_FAILED) {
		return;
	}
	l->tree.b = c->b;
	l->tree.see = see;
	l->tree.closed = see_closed;
	l->tree.space = l->space;
	l->tree.entries_max = HELD_MAX;
	l->tree.deadline = clock_ms() + HELD_MS;
	if (!tree_walk(&l->tree, p->fd, p->name, p->real)) {
		journal_lose(c->b->journal); /* there is more than was looked at */
	}
	(void)syscall(SYS_munmap, l, sizeof *l); /* libc's takes a lock */
}

void created_moving(const struct call *c, const struct resolved *from, const struct resolved *to) {
	if (c->b->journal != NULL) {
		journal_move(c->b->journal, from->real, to->real);
		created_node(c, to->real, S_IFDIR);
		journal_move(c->b->journal, to->real, from->real); /* when they are exchanged */
	}
}

void created_moved(const struct call *c, const struct resolved *from, const struct resolved *to) {
	struct stat st;

	if (c->b->journal == NULL ||
	    syscall(SYS_newfstatat, to->fd, to->name, &st, AT_SYMLINK_NOFOLLOW) != 0) {
		return;
	}
	if (S_ISREG(st.st_mode)) {
		created_file(c, to->real, st.st_mode);
		if (c->b->nlinked > 0) {
			journal_move(c->b->journal, from->real, to->real);
		}
		return;
	}
	/* What was known of the old name, and of what lies in it, is true of this one. */
	journal_move(c->b->journal, from->real, to->real);
	created_node(c, to->real, st.st_mode);
	if (S_ISDIR(st.st_mode) && is_obeyed(to->real)) {
		note_held(c, to);
	}
}
