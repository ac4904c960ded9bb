/* SPDX-License-Identifier: Apache-2.0 */
/* Detects renames: an added file with the content of a deleted one.
 *
 * Overlayfs does not record renames of files (and refuses to rename a directory, so that
 * programs copy it), so the content is compared.
 *
 * Should:   pair each deleted file with one added file at most, the same at every call.
 * Must not: read more than BYTES_MAX of one file, or EFFORT_BYTES and EFFORT_MS in total: the
 *           comparison runs at the end of every run, and a missed rename changes only the
 *           report.
 * Fails:    open: a file without a pair is reported as an addition and a deletion. */
#include "cow/cow.h"

#include "base/auto.h"
#include "base/path.h"
#include "base/str.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

/* The most comparisons, and the largest file to compare. */
#define TRIES_MAX 4096
#define BYTES_MAX ((uint64_t)64 * 1024 * 1024)

/* Of all comparisons together. */
#define EFFORT_BYTES ((uint64_t)512 * 1024 * 1024)
#define EFFORT_MS 2000

static bool is_candidate(const struct cow_change *change, enum cow_kind kind) {
	const struct cow_fact *f = kind == COW_ADDED ? &change->is : &change->was;
	return change->kind == kind && S_ISREG(f->mode) && f->size > 0 && f->size <= BYTES_MAX;
}

static bool same_bytes(const struct cow *c, struct cow_effort *effort,
		       const struct cow_change *added, const struct cow_change *deleted) {
	auto_fd a = cow_open_upper(c, added->path, O_RDONLY | O_NONBLOCK);
	auto_fd b = cow_open_beneath(c->lower, deleted->path, O_RDONLY | O_NONBLOCK);
	char left[4096], right[4096];
	uint64_t at = 0;
	while (a >= 0 && b >= 0 && at < added->is.size) {
		ssize_t n = pread(a, left, sizeof left, (off_t)at);
		if (n <= 0 || !cow_effort_take(effort, (uint64_t)n) ||
		    pread(b, right, (size_t)n, (off_t)at) != n ||
		    memcmp(left, right, (size_t)n) != 0) {
			return false;
		}
		at += (uint64_t)n;
	}
	return a >= 0 && b >= 0;
}

/* By size, then by path, so that the first match is always the same. */
static int size_order(const void *a, const void *b) {
	const struct cow_change *left = *(struct cow_change *const *)a;
	const struct cow_change *right = *(struct cow_change *const *)b;
	if (left->was.size != right->was.size) {
		return left->was.size < right->was.size ? -1 : 1;
	}
	return path_order(left->path, right->path);
}

static size_t first_of_size(struct cow_change *const *list, size_t n, uint64_t size) {
	size_t low = 0, high = n;
	while (low < high) {
		size_t mid = (low + high) / 2;
		if (list[mid]->was.size < size) {
			low = mid + 1;
		} else {
			high = mid;
		}
	}
	return low;
}

static void pair(struct cow_change *added, struct cow_change *deleted) {
	added->kind = COW_RENAMED;
	added->from = deleted->path;
	added->was = deleted->was;
	added->conflict = added->conflict != NULL ? added->conflict : deleted->conflict;
	deleted->kind = COW_KINDS; /* dropped from the list: `added` reports it */
}

static size_t collect(struct cow_changes *changes, struct cow_change **ret) {
	size_t n = 0;
	for (size_t i = 0; i < changes->n; i++) {
		if (is_candidate(&changes->items[i], COW_DELETED)) {
			ret[n++] = &changes->items[i];
		}
	}
	if (n > 1) {
		qsort(ret, n, sizeof *ret, size_order);
	}
	return n;
}

static void pair_all(const struct cow *c, struct cow_changes *changes, struct cow_change **gone,
		     size_t n) {
	size_t tries = 0;
	struct cow_effort effort;
	cow_effort_begin(&effort, EFFORT_BYTES, EFFORT_MS);
	for (size_t i = 0; i < changes->n && cow_effort_take(&effort, 0); i++) {
		struct cow_change *added = &changes->items[i];
		if (!is_candidate(added, COW_ADDED)) {
			continue;
		}
		for (size_t k = first_of_size(gone, n, added->is.size);
		     k < n && gone[k]->was.size == added->is.size && tries < TRIES_MAX; k++) {
			if (gone[k]->kind != COW_DELETED) {
				continue; /* already paired */
			}
			tries++;
			if (same_bytes(c, &effort, added, gone[k])) {
				pair(added, gone[k]);
				break;
			}
		}
	}
}

int cow_pair_renames(const struct cow *c, struct cow_changes *changes, struct err *e) {
	if (changes->n < 2) {
		return 0;
	}
	struct cow_change **gone = arena_array(c->a, changes->n, sizeof *gone);
	if (gone == NULL) {
		return err_memory(e, COW_WHERE);
	}
	size_t n = collect(changes, gone), kept = 0;
	if (n == 0) {
		return 0;
	}
	pair_all(c, changes, gone, n);
	for (size_t i = 0; i < changes->n; i++) {
		if (changes->items[i].kind != COW_KINDS) {
			changes->items[kept++] = changes->items[i];
		}
	}
	changes->n = kept;
	return 0;
}
