/* What the host did to the same paths since the run, and what a comparison may cost.
 *
 * Should:   find a conflict wherever the host changed what the run changed as well.
 * Must not: make a change of a mode that the command did not set: the overlay copies a
 *           directory with its mode when something in it is written, and the host may
 *           have given it another one since.
 * Fails:    towards a conflict. */
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

/* An apply that ended early made it, or opened it, and did not come to its mode. */
static bool is_half_applied(const struct cow *c, const struct cow_change *change) {
	return c->begun && ((change->was.mode ^ (change->is.mode | 0700)) & 0777) == 0;
}

/* A directory has one mode in the end. */
static const char *conflict_of_modes(const struct cow *c, const struct cow_fact *was,
				     const struct cow_change *change) {
	const struct cow_fact *now = &change->was;
	if (is_half_applied(c, change)) {
		return NULL;
	}
	if (was->mode == 0) {
		return "the host has made it too, with another mode";
	}
	if (!same_mode(was, now)) {
		return "the host has changed its mode since the run";
	}
	return after(was, &c->started) ? "the host has changed it during the run" : NULL;
}

static const char *conflict_of(const struct cow *c, const struct cow_change *change) {
	static const struct cow_fact nothing;
	const struct cow_fact *was = base_of(c, change->path), *now = &change->was;

	if (was == NULL) {
		was = &nothing;
	}
	/* Of two directories there is one in the end, with all that was put into either. */
	if (S_ISDIR(now->mode) && (S_ISDIR(was->mode) || S_ISDIR(change->is.mode))) {
		return change->kind == COW_MODE ? conflict_of_modes(c, was, change) : NULL;
	}
	if (was->mode == 0 && now->mode != 0) {
		return "the host has made it too";
	}
	if (was->mode != 0 && now->mode == 0) {
		return "the host has deleted it";
	}
	if (now->mode == 0) {
		return NULL;
	}
	if (was->ino != now->ino || was->sec != now->sec || was->nsec != now->nsec) {
		return "the host has changed it since the run";
	}
	return after(was, &c->started) ? "the host has changed it during the run" : NULL;
}

/* The overlay's copy of a directory has the mode of the run's time. */
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
