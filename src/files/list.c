/* SPDX-License-Identifier: Apache-2.0 */
/* Lists a directory, and describes one entry: the host's, with the plan's mounts on top.
 *
 * Should:   list a denied name as "denied", without its size and mode.
 * Must not: read more than TOOL_ENTRIES_MAX entries.
 * Fails:    closed: a directory that the policy does not show is refused. */
#include "files/tools.h"

#include "base/auto.h"
#include "base/path.h"
#include "base/stat_time.h"
#include "base/str.h"
#include "files/mounts.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>

#define NS_PER_SECOND 1000000000

struct lister {
	const struct lens *v;
	const struct place *p;
	struct arena *a;
	struct listing list;
	bool too_many, out_of_memory;
};

static void fill_by_mode(struct entry *entry, const struct stat *st) {
	entry->kind = S_ISREG(st->st_mode)   ? "file"
		      : S_ISDIR(st->st_mode) ? "directory"
		      : S_ISLNK(st->st_mode) ? "link"
					     : "other";
	entry->size = (uint64_t)st->st_size;
	entry->mode = st->st_mode & 07777;
	const struct timespec modified = stat_modified(st);
	entry->modified_ns = (int64_t)modified.tv_sec * NS_PER_SECOND + modified.tv_nsec;
}

/* The entry that the set-up of the sandbox creates. */
static void fill_by_mount(struct entry *entry, const struct mount *m) {
	struct stat st;

	entry->mode = m->mode;
	switch (m->kind) {
	case MOUNT_BIND:
	case MOUNT_COW:
		/* The source may have been removed since. */
		if (m->source != NULL && lstat(m->source, &st) == 0) {
			fill_by_mode(entry, &st);
		} else {
			entry->kind = m->is_file ? "file" : "directory";
		}
		break;
	case MOUNT_FILE:
		entry->kind = "file";
		entry->size = strlen(m->text);
		break;
	case MOUNT_LINK:
		entry->kind = "link";
		entry->size = strlen(m->text);
		entry->mode = 0777;
		break;
	case MOUNT_MASK_FILE:
	case MOUNT_MASK_DIR:
		entry->kind = "denied";
		break;
	case MOUNT_DEVICE:
		entry->kind = "other";
		break;
	default:
		entry->kind = "directory";
		entry->mode = m->mode != 0 ? m->mode : 0755;
		break;
	}
}

static void add(struct lister *l, const struct entry *entry) {
	struct listing *list = &l->list;

	if (list->count == TOOL_ENTRIES_MAX) {
		l->too_many = true;
		return;
	}
	if (arena_grow(l->a, &list->entries, list->count, &list->cap, sizeof *list->entries) != 0) {
		l->out_of_memory = true;
		return;
	}
	list->entries[list->count] = *entry;
	list->entries[list->count].name = arena_strdup(l->a, entry->name);
	l->out_of_memory = l->out_of_memory || list->entries[list->count].name == NULL;
	list->count++;
}

/* ---- entries of the host ---- */

static void add_of_host(struct lister *l, const char *name) {
	struct entry entry = {.name = name};
	char path[PATH_MAX + NAME_MAX + 2];
	struct stat st;

	(void)snprintf(path, sizeof path, "%s/%s", streq(l->p->path, "/") ? "" : l->p->path,
		       name); /* it fits */
	const struct mount *m = mount_exactly(l->v->plan, path);
	if (m != NULL) {
		fill_by_mount(&entry, m);
	} else if (plan_visibility(l->v->plan, path) == VISIBILITY_DENIED) {
		entry.kind = "denied";
	} else if (fstatat(l->p->fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0) {
		fill_by_mode(&entry, &st);
	} else {
		return; /* removed since */
	}
	add(l, &entry);
}

static int list_host(struct lister *l, struct err *e) {
	int fd = openat(l->p->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	auto_dir dir = fd < 0 ? NULL : fdopendir(fd);

	if (dir == NULL) {
		int error = errno;
		drop_fd(&fd);
		return place_failed(error, "list", l->p->path, e);
	}
	errno = 0;
	/* Stops at the limit. */
	for (struct dirent *d; !l->too_many && !l->out_of_memory && (d = readdir(dir)) != NULL;
	     errno = 0) {
		if (!streq(d->d_name, ".") && !streq(d->d_name, "..")) {
			add_of_host(l, d->d_name);
		}
	}
	return errno == 0 ? 0 : place_failed(errno, "list", l->p->path, e);
}

/* ---- entries of mounts ---- */

static bool is_listed(const struct lister *l, const char *name, size_t len) {
	for (size_t i = 0; i < l->list.count; i++) {
		const char *have = l->list.entries[i].name;
		if (have != NULL && strlen(have) == len && memcmp(have, name, len) == 0) {
			return true;
		}
	}
	return false;
}

/* Adds the first name beneath the directory in the path of this mount. */
static void add_of_mount(struct lister *l, const struct mount *m) {
	const char *name = m->target + (streq(l->p->path, "/") ? 1 : strlen(l->p->path) + 1);
	size_t len = strcspn(name, "/");
	struct entry entry = {.kind = "directory", .mode = 0755};

	if (is_listed(l, name, len)) {
		return;
	}
	entry.name = arena_strndup(l->a, name, len);
	if (entry.name == NULL) {
		l->out_of_memory = true;
		return;
	}
	if (name[len] == '\0') {
		fill_by_mount(&entry, m);
	}
	add(l, &entry);
}

static void list_mounts(struct lister *l) {
	const struct plan *plan = l->v->plan;

	for (size_t i = 0; i < plan->nmounts; i++) {
		const struct mount *m = &plan->mounts[i];
		if (m->kind != MOUNT_PIN && !streq(m->target, l->p->path) &&
		    path_within(m->target, l->p->path)) {
			add_of_mount(l, m);
		}
	}
}

static int name_order(const void *a, const void *b) {
	return strcmp(((const struct entry *)a)->name, ((const struct entry *)b)->name);
}

static int sort_and_return(struct lister *l, struct listing *ret, struct err *e) {
	if (l->out_of_memory) {
		return err_memory(e, "files");
	}
	if (l->too_many) {
		(void)err_set(e, ERR_TOO_LARGE, "files", "%s has more than %zu entries", l->p->path,
			      TOOL_ENTRIES_MAX);
		return err_fix(e, "list a subdirectory, or run a command: ls, find");
	}
	if (l->list.count > 1) {
		qsort(l->list.entries, l->list.count, sizeof *l->list.entries, name_order);
	}
	*ret = l->list;
	return 0;
}

static int check_listable(const struct place *p, struct err *e) {
	if (p->kind == PLACE_MISSING) {
		return place_failed(ENOENT, "list", p->path, e);
	}
	if (p->kind == PLACE_TEXT || (p->kind == PLACE_FILE && !S_ISDIR(p->st.st_mode))) {
		(void)err_set(e, ERR_FILE_KIND, "files", "%s is not a directory", p->path);
		return err_fix(e, "read it, or list its parent directory");
	}
	return 0;
}

int tool_list(const struct lens *v, const char *path, struct arena *a, struct listing *ret,
	      struct err *e) {
	struct place p;

	if (access_allowed(v, path, 0, ACCESS_READ, &p, e) != 0) {
		return -1;
	}
	struct lister l = {.v = v, .p = &p, .a = a};
	int rc = check_listable(&p, e);
	if (rc == 0 && p.kind == PLACE_FILE) {
		rc = list_host(&l, e);
	}
	if (rc == 0) {
		if (!l.too_many) {
			list_mounts(&l);
		}
		rc = sort_and_return(&l, ret, e);
	}
	place_done(&p);
	return rc;
}

/* ---- one entry ---- */

/* A directory that every run creates has no mount of its own where it only leads to one. */
static void fill_by_place(struct entry *entry, const struct place *p) {
	bool own = p->tree != NULL && streq(p->tree->target, p->path);

	if (p->kind == PLACE_FILE) {
		fill_by_mode(entry, &p->st);
	} else if (own) {
		fill_by_mount(entry, p->tree);
	} else {
		entry->kind = p->kind == PLACE_TEXT ? "link" : "directory";
		entry->mode = p->kind == PLACE_TEXT ? 0777 : 0755;
	}
}

int tool_stat(const struct lens *v, const char *path, struct entry *ret, struct err *e) {
	struct entry entry = {0};
	struct place p;

	if (access_allowed(v, path, WALK_STAY, ACCESS_READ, &p, e) != 0) {
		return -1;
	}
	int rc = p.kind == PLACE_MISSING ? place_failed(ENOENT, "describe", p.path, e) : 0;
	if (rc == 0) {
		fill_by_place(&entry, &p);
		*ret = entry;
	}
	place_done(&p);
	return rc;
}
