/* Should:   write down what could run or be obeyed on the host after the run.
 * Must not: decide about a call, or fail one.
 * Fails:    open: what is not noticed is not in the list; the supervisor looks at each
 *           path again, so that nothing in the list is made up. */
#include "linux/broker/notice.h"

#include "base/str.h"
#include "linux/journal.h"

#include <fcntl.h>
#include <string.h>
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

void notice_file(const struct call *c, const char *path, mode_t mode) {
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

void notice_node(const struct call *c, const char *path, mode_t mode) {
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
	       plan_mount_sight(plan, len == 0 ? "/" : to) != SIGHT_READ;
}

void notice_symlink(const struct call *c, const struct place *p, const char *words) {
	if (c->b->journal == NULL || note_name(c, p->real)) {
		return;
	}
	if (leads_out(c->b->plan, p->dir, words)) {
		note(c, LASTING_SYMLINK, p->real);
	}
}

void notice_moved(const struct call *c, const struct place *from, const struct place *to) {
	struct stat st;

	if (c->b->journal == NULL ||
	    syscall(SYS_newfstatat, to->fd, to->name, &st, AT_SYMLINK_NOFOLLOW) != 0) {
		return;
	}
	if (S_ISREG(st.st_mode)) {
		notice_file(c, to->real, st.st_mode);
		return;
	}
	/* What was known of the old name, and of what lies in it, is true of this one. */
	journal_move(c->b->journal, from->real, to->real);
	notice_node(c, to->real, st.st_mode);
}
