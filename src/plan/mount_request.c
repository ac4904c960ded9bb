/* Wishes: what the other files of this room ask the plan to hold.
 *
 * Should:   make one wish of each kind, complete.
 * Must not: decide between wishes; compose.c does. */
#include "plan/internal.h"

#include "base/str.h"

struct mount_request *mount_request_add(struct builder *b, struct mount m, enum rank rank) {
	static struct mount_request nowhere; /* keeps callers free of checks; never read */
	if (arena_grow(b->a, &b->wishes, b->nwishes, &b->wishes_cap, sizeof *b->wishes) != 0) {
		b->out_of_memory = true;
		nowhere = (struct mount_request){.dropped = true};
		return &nowhere;
	}
	b->wishes[b->nwishes] = (struct mount_request){.m = m, .rank = rank};
	return &b->wishes[b->nwishes++];
}

void mount_request_show(struct builder *b, const struct show *s) {
	struct mount m = {
		.kind = MOUNT_BIND,
		.target = s->canonical,
		.source = s->canonical,
		.reach = s->reach,
		.writable = s->writable,
		.is_file = s->seen.kind != LOOK_DIR,
		.dev = s->seen.dev,
		.ino = s->seen.ino,
		/* An earlier command may have put something into the private home where
		 * the toolchain would go; that must not stop the next one. */
		.maybe = s->rank == RANK_TOOLCHAIN,
		.origin = s->origin,
		.note = s->note,
	};
	mount_request_add(b, m, s->rank);
	if (!streq(s->path, s->canonical)) {
		m.target = s->path;
		mount_request_add(b, m, s->rank)->alias = true;
	}
}

bool mount_request_is_tree(const struct mount_request *w) {
	bool shown = w->m.kind == MOUNT_BIND || w->m.kind == MOUNT_COW;
	return !w->dropped && shown && !w->own;
}

void mount_request_dir(struct builder *b, const char *path, uint32_t mode, enum reach reach) {
	struct mount m = {.kind = MOUNT_DIR,
			  .target = path,
			  .mode = mode,
			  .reach = reach,
			  .note = "skeleton"};
	mount_request_add(b, m, RANK_SYSTEM);
}

void mount_request_link(struct builder *b, const char *path, const char *text, const char *note) {
	struct mount m = {.kind = MOUNT_LINK, .target = path, .text = text, .note = note};
	mount_request_add(b, m, RANK_SYSTEM);
}

void mount_request_file(struct builder *b, const char *path, const char *text, enum reach reach) {
	struct mount m = {
		.kind = MOUNT_FILE,
		.target = path,
		.text = text,
		.mode = 0444,
		.reach = reach,
		.is_file = true,
		.note = "made up",
	};
	mount_request_add(b, m, RANK_SYSTEM);
}

void mount_request_private(struct builder *b, const char *path, uint32_t mode, enum rank rank,
			   const char *note) {
	struct mount m = {
		.kind = MOUNT_PRIVATE,
		.target = path,
		.mode = mode,
		.reach = REACH_WRITE,
		.writable = true,
		.note = note,
	};
	mount_request_add(b, m, rank);
}
