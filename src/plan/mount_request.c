/* SPDX-License-Identifier: Apache-2.0 */
/* Adds mount requests, from which compose.c makes the list of mounts.
 *
 * Should:   offer one function per kind of mount, which fills the whole request.
 * Must not: choose between requests for the same target; compose.c does.
 * Fails:    closed: out of memory sets a flag that stops the plan. */
#include "plan/internal.h"

#include "base/str.h"

struct mount_request *mount_request_add(struct builder *b, struct mount m, enum rank rank) {
	static struct mount_request nowhere; /* keeps callers free of checks; never read */
	if (arena_grow(b->a, &b->requests, b->nrequests, &b->requests_cap, sizeof *b->requests) !=
	    0) {
		b->out_of_memory = true;
		nowhere = (struct mount_request){.dropped = true};
		return &nowhere;
	}
	b->requests[b->nrequests] = (struct mount_request){.m = m, .rank = rank};
	return &b->requests[b->nrequests++];
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
		/* An earlier command may have created a file in the private home at the mount
		 * point of the toolchain; that must not stop the next run. */
		.maybe = s->rank == RANK_TOOLCHAIN,
		.origin = s->origin,
		.note = s->note,
	};
	mount_request_add(b, m, s->rank)->root = s->root;
	if (!streq(s->path, s->canonical)) {
		m.target = s->path;
		struct mount_request *w = mount_request_add(b, m, s->rank);
		w->alias = true;
		w->root = s->root;
	}
}

void mount_request_dir(struct builder *b, const char *path, uint32_t mode, enum reach reach) {
	struct mount m = {.kind = MOUNT_DIR,
			  .target = path,
			  .mode = mode,
			  .reach = reach,
			  .note = "mount point"};
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
		.note = "generated",
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

const struct mount_request *mount_request_tree_at(const struct builder *b, const char *target) {
	for (size_t i = 0; i < b->nrequests; i++) {
		if (mount_request_is_tree(&b->requests[i]) &&
		    streq(b->requests[i].m.target, target)) {
			return &b->requests[i];
		}
	}
	return NULL;
}
