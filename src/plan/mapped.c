/* SPDX-License-Identifier: Apache-2.0 */
/* Mounts a granted path at another path inside (fs.read "PATH:DEST").
 *
 * The mount point is created in the run's own root.  In a system directory, which is the host's,
 * nothing can be created: there an empty directory covers the deepest one that exists, such as
 * /usr/local, and its entries are mounted in it again, beside the new one.
 *
 * Should:   leave every other path of that directory as it is; obey a rule about the place as
 *           well as one about the source.
 * Must not: cover a system directory as a whole, or create a file in a tree of the host (L4).
 * Fails:    closed: a place that cannot be used is an error. */
#include "plan/internal.h"

#include "base/path.h"
#include "base/str.h"

#include <limits.h>

/* More entries would make the start slow. */
#define SPLIT_MAX 256

struct split {
	struct builder *b;
	const char *dir;
	enum reach reach;
	size_t count;
};

/* The system directory of the host that contains the path, and that the view shows. */
static const struct path_row *system_root_of(const struct builder *b, const char *path) {
	for (size_t i = 0; i < system_roots.count; i++) {
		const struct path_row *row = &system_roots.rows[i];
		bool shown = b->view != VIEW_MINIMAL || (row->flags & PATH_MINIMAL) != 0;
		if (shown && path_within(path, row->path)) {
			return row;
		}
	}
	return NULL;
}

static void split_entry(void *arg, const char *name) {
	struct split *s = arg;
	struct builder *b = s->b;
	char text[PATH_MAX];
	const char *path = plan_keep_join(b, s->dir, name);
	struct look seen = host_fs_look(b, path);
	if (++s->count > SPLIT_MAX) {
		return;
	}
	if (seen.kind == LOOK_LINK && b->h->fs.readlink(b->h->fs.ctx, path, text, sizeof text)) {
		mount_request_link(b, path, plan_keep_copy(b, text), "system");
	} else if (seen.kind == LOOK_DIR || seen.kind == LOOK_FILE) {
		struct show entry = {
			.path = path,
			.canonical = path,
			.seen = seen,
			.reach = s->reach,
			.rank = RANK_SYSTEM,
			.note = "system",
		};
		mount_request_show(b, &entry);
	}
}

/* A text covers a file of the host, which the new directory does not have: there it is a file. */
static void place_texts(struct builder *b, const char *dir) {
	for (size_t i = 0; i < b->nrequests; i++) {
		struct mount *m = &b->requests[i].m;
		if (m->kind == MOUNT_TEXT && streq(plan_keep_join(b, m->target, ".."), dir)) {
			m->kind = MOUNT_FILE;
			m->reach = REACH_READ;
			m->dev = 0;
			m->ino = 0;
		}
	}
}

/* Covers the directory and mounts its entries again. */
static const char *split_directory(struct builder *b, const struct path_row *root,
				   const char *dir) {
	struct split s = {
		.b = b, .dir = dir, .reach = root->flags & PATH_EXEC ? REACH_EXEC : REACH_READ};
	struct mount cover = {
		.kind = MOUNT_COVER,
		.target = dir,
		.mode = 0755,
		.reach = REACH_LIST,
		.note = "system",
	};
	mount_request_add(b, cover, RANK_WINDOW); /* it may be the system directory itself */
	place_texts(b, dir);
	if (!b->h->fs.list(b->h->fs.ctx, dir, split_entry, &s)) {
		return "the directory above it cannot be listed";
	}
	return s.count > SPLIT_MAX ? "the directory above it has too many entries" : NULL;
}

/* Makes room for a mount point that the host does not have. */
static const char *make_place(struct builder *b, const struct path_row *root, const char *at) {
	const char *dir = at;
	do {
		dir = plan_keep_join(b, dir, "..");
	} while (dir[0] == '/' && dir[1] != '\0' && host_fs_look(b, dir).kind == LOOK_NOTHING);
	const char *full = host_fs_resolve(b, dir);
	if (full == NULL || !streq(full, dir) || !path_within(dir, root->path)) {
		return "a symlink of the host leads to that place";
	}
	return split_directory(b, root, dir);
}

const char *mapped_show(struct builder *b, const struct show *s, const char *at) {
	const struct path_row *root = system_root_of(b, at);
	const char *why = plan_reserved_reason(at);
	struct look there = host_fs_look(b, at);
	if (why != NULL) {
		return why;
	}
	if (streq(at, "/") || (root != NULL && streq(root->path, at))) {
		return "it would hide a whole system directory";
	}
	if (root != NULL && there.kind == LOOK_NOTHING) {
		why = make_place(b, root, at);
	}
	if (why != NULL) {
		return why;
	}
	struct mount m = {
		.kind = MOUNT_BIND,
		.target = at,
		.source = s->canonical,
		.reach = s->reach,
		.is_file = s->seen.kind != LOOK_DIR,
		.dev = s->seen.dev,
		.ino = s->seen.ino,
		.origin = s->origin,
		.note = s->note,
	};
	mount_request_add(b, m, s->rank)->mapped = true;
	return NULL;
}

int mapped_check(const struct builder *b, struct err *e) {
	char first[128], second[128];

	for (size_t i = 0; i < b->nrequests; i++) {
		const struct mount_request *w = &b->requests[i];
		for (size_t k = 0; w->mapped && k < b->nrequests; k++) {
			const struct mount_request *o = &b->requests[k];
			if (o->rank < RANK_READ || o->m.source == NULL ||
			    !streq(o->m.target, w->m.target) || streq(o->m.source, w->m.source)) {
				continue;
			}
			return err_set(e, ERR_USAGE, WHERE,
				       "fs.read %s:%s (%s) and %s %s (%s) have the same place: "
				       "choose another DEST",
				       w->m.source, w->m.target,
				       policy_origin_text(&w->m.origin, first, sizeof first),
				       o->m.note, o->m.source,
				       policy_origin_text(&o->m.origin, second, sizeof second));
		}
	}
	return 0;
}

/* Unlike a grant at its own path, a mapped one does not re-open a part of a denied directory: its
 * place is a choice of the policy, so both cannot be meant. */
void mapped_deny(struct builder *b, const struct item *it) {
	const char *full = NULL;
	char origin[128];

	for (size_t i = 0; it->kind == ITEM_PLAIN && !it->except && i < b->nrequests; i++) {
		struct mount_request *w = &b->requests[i];
		if (!w->mapped || w->dropped) {
			continue;
		}
		full = full != NULL ? full : link_half_resolved(b, it->str);
		if (!path_within(w->m.target, it->str) && !path_within(w->m.target, full)) {
			continue;
		}
		w->dropped = true;
		plan_note(b, plan_keep_printf(
				     b, "not mounted: fs.read %s:%s, because of fs.deny %s (%s)",
				     w->m.source, w->m.target, it->str,
				     policy_origin_text(&it->origin, origin, sizeof origin)));
	}
}
