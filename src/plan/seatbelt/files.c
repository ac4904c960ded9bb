/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the mounts of a plan as rules of a profile, in their order.
 *
 * Should:   allow the same paths as plan_mount_visibility() (I2).
 * Must not: allow a rename that takes a protected file to another path (I3).
 * Fails:    closed: a mount of a kind that has no rule here denies its path. */
#include "plan/seatbelt/internal.h"

#include "base/auto.h"
#include "base/path.h"
#include "base/str.h"

static bool reads(enum visibility v) {
	return v == VISIBILITY_READ || v == VISIBILITY_WRITE || v == VISIBILITY_PRIVATE;
}

static bool writes(enum visibility v) {
	return v == VISIBILITY_WRITE || v == VISIBILITY_PRIVATE;
}

/* The access at the target of a mount: by all mounts before it, and with it. */
static enum visibility seen_after(const struct plan *plan, size_t count, const char *path) {
	struct plan part = *plan;
	part.nmounts = count;
	return plan_mount_visibility(&part, path);
}

static void write_rule(struct writer *w, const char *verb, const char *operations,
		       const char *path) {
	buf_printf(&w->out, "(%s %s", verb, operations);
	if (!streq(path, "/")) {
		buf_puts(&w->out, " ");
		seatbelt_path(w, "subpath", path);
	}
	buf_puts(&w->out, ")\n");
}

static void write_mount(struct writer *w, size_t i) {
	const char *path = w->plan->mounts[i].target;
	enum visibility before = seen_after(w->plan, i, path);
	enum visibility now = seen_after(w->plan, i + 1, path);

	if (reads(now) && !reads(before)) {
		write_rule(w, "allow", "file-read*", path);
	}
	if (writes(now) && !writes(before)) {
		write_rule(w, "allow", "file-write*", path);
	}
	if (!reads(now) && reads(before)) {
		write_rule(w, "deny", "file-read*", path);
	}
	if (!writes(now) && writes(before)) {
		write_rule(w, "deny", "file-write*", path);
	}
}

/* ---- directories that stay where they are (I3) ---- */

/* The directories between a writable tree and a closed path in it; they exist, because the path
 * does. */
static void add_above(struct writer *w, struct texts *t, const char *target) {
	const char *above = target;
	for (;;) {
		const char *slash = strrchr(above, '/');
		if (slash == NULL || slash == above) {
			return;
		}
		above = arena_strndup(w->a, above, (size_t)(slash - above));
		if (above == NULL || !writes(plan_mount_visibility(w->plan, above))) {
			w->out_of_memory = w->out_of_memory || above == NULL;
			return;
		}
		seatbelt_texts_add(w, t, above);
	}
}

/* Those, and each writable tree itself. */
static void write_places(struct writer *w) {
	const struct plan *plan = w->plan;
	struct texts places = {0};
	for (size_t i = 0; i < plan->nmounts; i++) {
		const char *target = plan->mounts[i].target;
		if (!writes(plan_mount_visibility(plan, target))) {
			add_above(w, &places, target);
		} else if (!streq(target, "/")) {
			seatbelt_texts_add(w, &places, target);
		}
	}
	seatbelt_texts_settle(&places);
	for (size_t i = 0; i < places.count; i++) {
		buf_puts(&w->out, "(deny file-write-unlink ");
		seatbelt_path(w, "literal", places.list[i]);
		buf_puts(&w->out, ")\n");
	}
}

void seatbelt_write_files(struct writer *w) {
	for (size_t i = 0; i < w->plan->nmounts; i++) {
		write_mount(w, i);
	}
	write_places(w);
}

/* ---- directories above a path that is shown ---- */

/* realpath(3), getcwd(3) and many start-up checks look at them.  Their attributes are shown, not
 * their entries. */
void seatbelt_write_metadata(struct writer *w) {
	for (size_t i = 0; i < w->plan->nmounts; i++) {
		const char *target = w->plan->mounts[i].target;
		if (!reads(plan_mount_visibility(w->plan, target)) || path_depth(target) < 2) {
			continue;
		}
		buf_puts(&w->out, "(allow file-read-metadata ");
		seatbelt_path(w, "path-ancestors", target);
		buf_puts(&w->out, ")\n");
	}
}

/* ---- programs ---- */

static void write_listed(struct writer *w, const struct exec_file *f) {
	if (f->kind == EXEC_TREE) {
		write_rule(w, "allow", "process-exec", f->path);
		return;
	}
	write_rule(w, "deny", "process-exec", f->path);
	if (f->kind == EXEC_PROGRAM) {
		buf_puts(&w->out, "(allow process-exec ");
		seatbelt_path(w, "literal", f->path);
		buf_puts(&w->out, ")\n");
	}
}

/* Without a list every program that can be read. */
static void write_visible(struct writer *w) {
	for (size_t i = 0; i < w->plan->nmounts; i++) {
		const char *path = w->plan->mounts[i].target;
		bool before = reads(seen_after(w->plan, i, path));
		bool now = reads(seen_after(w->plan, i + 1, path));
		if (before != now) {
			write_rule(w, now ? "allow" : "deny", "process-exec", path);
		}
	}
}

/* The list within a tree: about the tree itself, then about the paths in it. */
static void write_listed_in(struct writer *w, const char *tree) {
	const struct plan *plan = w->plan;
	const struct exec_file *around = NULL;
	for (size_t i = 0; i < plan->nexecs; i++) {
		if (path_within(tree, plan->execs[i].path)) {
			around = &plan->execs[i]; /* sorted: deeper ones follow */
		}
	}
	if (around != NULL && around->kind == EXEC_TREE) {
		write_rule(w, "allow", "process-exec", tree);
	}
	for (size_t i = 0; i < plan->nexecs; i++) {
		const char *path = plan->execs[i].path;
		if (path_within(path, tree) &&
		    (around == NULL || !streq(path, around->path) || streq(path, tree))) {
			write_listed(w, &plan->execs[i]);
		}
	}
}

/* A listed program can be executed only where its file can be read. */
static void write_hidden(struct writer *w) {
	bool hidden = false;
	for (size_t i = 0; i < w->plan->nmounts; i++) {
		const char *path = w->plan->mounts[i].target;
		bool before = reads(seen_after(w->plan, i, path));
		bool now = reads(seen_after(w->plan, i + 1, path));
		if (before && !now) {
			hidden = true;
			write_rule(w, "deny", "process-exec", path);
		} else if (hidden && now && !before) {
			write_listed_in(w, path);
		}
	}
}

void seatbelt_write_programs(struct writer *w) {
	if (!w->plan->exec_limited) {
		write_visible(w);
		return;
	}
	for (size_t i = 0; i < w->plan->nexecs; i++) {
		write_listed(w, &w->plan->execs[i]);
	}
	write_hidden(w);
}
