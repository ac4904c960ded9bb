/* SPDX-License-Identifier: Apache-2.0 */
/* Finds conflicts: paths that the host changed during or since the run, and budgets for
 * comparisons.
 *
 * Should:   find a conflict wherever the host and the run changed the same path.
 * Must not: report a mode that the command did not set: overlayfs copies a directory with
 *           its mode when an entry of it is written, and the host may have changed that mode
 *           since.
 * Fails:    closed: in doubt it is a conflict. */
#include "cow/cow.h"

#include "base/clock.h"
#include "base/path.h"
#include "base/str.h"

static const struct cow_fact *base_of(const struct cow *c, const char *path) {
	size_t low = 0, high = c->nbase;
	while (low < high) {
		size_t mid = (low + high) / 2;
		int order = path_order(path, c->base[mid].path);
		if (order == 0) {
			return &c->base[mid].fact;
		}
		if (order < 0) {
			high = mid;
		} else {
			low = mid + 1;
		}
	}
	return NULL;
}

static bool same_mode(const struct cow_fact *a, const struct cow_fact *b) {
	return ((a->mode ^ b->mode) & 0777) == 0;
}

static bool after(const struct cow_fact *f, const struct timespec *t) {
	return f->sec > t->tv_sec || (f->sec == t->tv_sec && f->nsec > t->tv_nsec);
}

/* An interrupted apply created or opened the directory, and did not set its final mode. */
static bool is_half_applied(const struct cow *c, const struct cow_change *change) {
	return c->begun && ((change->was.mode ^ (change->is.mode | 0700)) & 0777) == 0;
}

/* Directories are merged, but their modes can conflict. */
static const char *conflict_of_modes(const struct cow *c, const struct cow_fact *was,
				     const struct cow_change *change) {
	const struct cow_fact *now = &change->was;
	if (is_half_applied(c, change)) {
		return NULL;
	}
	if (was->mode == 0) {
		return "the host created it too, with another mode";
	}
	if (!same_mode(was, now)) {
		return "the host changed its mode since the run";
	}
	return after(was, &c->started) ? "the host changed it during the run" : NULL;
}

static const char *conflict_of(const struct cow *c, const struct cow_change *change) {
	static const struct cow_fact nothing;
	const struct cow_fact *was = base_of(c, change->path), *now = &change->was;

	if (was == NULL) {
		was = &nothing;
	}
	/* Two directories are merged: the result has the entries of both. */
	if (S_ISDIR(now->mode) && (S_ISDIR(was->mode) || S_ISDIR(change->is.mode))) {
		return change->kind == COW_MODE ? conflict_of_modes(c, was, change) : NULL;
	}
	if (was->mode == 0 && now->mode != 0) {
		return "the host created it too";
	}
	if (was->mode != 0 && now->mode == 0) {
		return "the host deleted it";
	}
	if (now->mode == 0) {
		return NULL;
	}
	if (was->ino != now->ino || was->sec != now->sec || was->nsec != now->nsec) {
		return "the host changed it since the run";
	}
	return after(was, &c->started) ? "the host changed it during the run" : NULL;
}

/* A copy-up of overlayfs: the directory has the mode of the lower one at the time of the run. */
static bool is_copy(const struct cow *c, const struct cow_change *change) {
	const struct cow_fact *was = base_of(c, change->path);
	return change->kind == COW_MODE && S_ISDIR(change->is.mode) && was != NULL &&
	       S_ISDIR(was->mode) && same_mode(was, &change->is);
}

void cow_find_conflicts(const struct cow *c, struct cow_changes *changes) {
	size_t kept = 0;
	for (size_t i = 0; i < changes->n; i++) {
		struct cow_change change = changes->items[i];
		if (!is_copy(c, &change)) {
			change.conflict = conflict_of(c, &change);
			changes->items[kept++] = change;
		}
	}
	changes->n = kept;
}

/* ---- effort ---- */

void cow_effort_begin(struct cow_effort *f, uint64_t bytes, int64_t ms) {
	*f = (struct cow_effort){.bytes = bytes, .deadline = clock_ms() + ms};
}

bool cow_effort_take(struct cow_effort *f, uint64_t bytes) {
	if (bytes > f->bytes || clock_ms() >= f->deadline) {
		return false;
	}
	f->bytes -= bytes;
	return true;
}
