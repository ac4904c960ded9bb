/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the host's files through the call-backs of struct host_fs.
 * Should:   stat, resolve and read files for the rest of src/plan, with results in the arena.
 * Must not: make a system call: tests replace the call-backs.
 * Fails:    closed: NULL for a path that cannot be resolved or read. */
#include "plan/host.h"

#include "base/buf.h"
#include "base/str.h"
#include "plan/internal.h"

#include <limits.h>

const char *host_fs_text(struct builder *b, const char *path, size_t limit) {
	const char *full = host_fs_resolve(b, path), *kept = NULL;
	struct buf text;

	buf_init(&text);
	if (full != NULL && b->h->fs.read(b->h->fs.ctx, full, limit, &text)) {
		kept = plan_keep_copy(b, text.data == NULL ? "" : text.data);
	}
	b->out_of_memory = b->out_of_memory || buf_failed(&text);
	buf_done(&text);
	return kept;
}

struct look host_fs_look(const struct builder *b, const char *path) {
	return b->h->fs.look(b->h->fs.ctx, path);
}

const char *host_fs_resolve(struct builder *b, const char *path) {
	char out[PATH_MAX];
	if (!b->h->fs.resolve(b->h->fs.ctx, path, out, sizeof out)) {
		return NULL;
	}
	return streq(out, path) ? path : plan_keep_join(b, "/", out);
}

void host_fs_links(const struct builder *b, const char *dir,
		   void (*each)(void *arg, const char *name), void *arg) {
	const struct host_fs *fs = &b->h->fs;

	if (fs->links != NULL) {
		(void)fs->links(fs->ctx, dir, each, arg);
	} else {
		(void)fs->list(fs->ctx, dir, each, arg);
	}
}

const char *host_fs_canonical(struct builder *b, const char *path, struct look seen) {
	size_t parent = (size_t)(strrchr(path, '/') - path);
	const char *home = b->h->home;
	bool in_home = home != NULL && strlen(home) == parent && strncmp(path, home, parent) == 0;
	if (seen.kind != LOOK_LINK && (parent == 0 || in_home)) {
		return path;
	}
	return host_fs_resolve(b, path);
}

void host_as_macos(struct host *h) {
	h->seatbelt = true;
	h->userns = h->seccomp = h->notify = h->sockets = false;
	h->userns_why = h->notify_why = "macOS has no such mechanism";
	h->landlock_abi = 0;
	h->cgroup = (struct host_cgroup){.why = "macOS has no cgroups"};
}
