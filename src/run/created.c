/* SPDX-License-Identifier: Apache-2.0 */
/* Lists the files that a run left on the host and that a program runs or reads later (hooks,
 * startup files, setuid programs), from the journal of the broker.
 *
 * Should:   name each path once, by its gravest kind.
 * Must not: follow a symlink in the directories of a path: the command may have made them.
 * Fails:    open: out of memory, paths are only counted. */
#include "run/created.h"

#include "base/beneath.h"
#include "base/str.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static bool is_still(enum lasting kind, const struct stat *st) {
	switch (kind) {
	case LASTING_HOOK:
	case LASTING_STARTUP:
		return S_ISREG(st->st_mode) || S_ISLNK(st->st_mode) || S_ISDIR(st->st_mode);
	case LASTING_REPOSITORY:
		return S_ISDIR(st->st_mode) || S_ISREG(st->st_mode) || S_ISLNK(st->st_mode);
	case LASTING_SETUID:
		return S_ISREG(st->st_mode) && (st->st_mode & (S_ISUID | S_ISGID)) != 0;
	case LASTING_EXECUTABLE:
		return S_ISREG(st->st_mode) && (st->st_mode & 0111) != 0;
	case LASTING_SYMLINK:
		return S_ISLNK(st->st_mode);
	case LASTING_SOCKET:
		return S_ISSOCK(st->st_mode);
	case LASTING_FIFO:
		return S_ISFIFO(st->st_mode);
	case LASTING_COUNT:
		break;
	}
	return false;
}

/* The path on the host; NULL when the host has none, or out of memory. */
static const char *host_path(struct arena *a, const struct plan *plan, const char *path) {
	char host[PATH_MAX];
	bool outside = plan_outside(plan, path) != NULL && plan_host_path(plan, path, host);

	return outside ? arena_strdup(a, host) : NULL;
}

static int by_path(const void *left, const void *right) {
	const struct created_item *a = left, *b = right;
	int order = strcmp(a->path, b->path);
	return order != 0 ? order : (int)a->kind - (int)b->kind;
}

static int by_weight(const void *left, const void *right) {
	const struct created_item *a = left, *b = right;
	int order = (int)a->kind - (int)b->kind;
	return order != 0 ? order : strcmp(a->path, b->path);
}

static void sort_unique(struct created *c) {
	size_t kept = 0;
	if (c->count == 0) {
		return;
	}
	qsort(c->items, c->count, sizeof *c->items, by_path);
	for (size_t i = 0; i < c->count; i++) {
		if (kept == 0 || !streq(c->items[kept - 1].path, c->items[i].path)) {
			c->items[kept++] = c->items[i];
		}
	}
	qsort(c->items, kept, sizeof *c->items, by_weight);
	c->count = kept < CREATED_MAX ? kept : CREATED_MAX;
	c->more += kept - c->count;
}

void created_read(const struct plan *plan, const struct journal_part *part, struct created *ret) {
	const struct journal *j = part->journal;
	struct created c = {.recorded = j != NULL, .more = journal_lost(j) - part->created_lost};
	struct journal_entry entry;
	size_t at = part->created_from, cap = 0;
	struct stat st;

	while (journal_next(j, &at, &entry)) {
		const char *path = host_path(&c.arena, plan, entry.path);
		if (path == NULL || beneath_lstat(path, &st) != 0 || !is_still(entry.kind, &st)) {
			continue;
		}
		if (arena_grow(&c.arena, &c.items, c.count, &cap, sizeof *c.items) != 0) {
			c.more++;
			continue;
		}
		c.items[c.count++] = (struct created_item){.kind = entry.kind, .path = path};
	}
	sort_unique(&c);
	*ret = c;
}

void created_done(struct created *c) {
	arena_done(&c->arena);
	*c = (struct created){0};
}
