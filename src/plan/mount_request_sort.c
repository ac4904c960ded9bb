/* SPDX-License-Identifier: Apache-2.0 */
/* Sorts the mount requests.
 *
 * A plan sorts them four times, and adds or drops a few in between.  So this is a natural merge
 * sort: it finds the runs that are in order already, merges their indices, and then moves each
 * request to its place at most once.
 *
 * Should:   put parents first (L1); order equal targets by rank, the highest first (L3).
 * Must not: depend on the order of the rules (L2): request_order() compares all that decides.
 * Fails:    with -1 when memory is out. */
#include "plan/internal.h"

#include "base/path.h"
#include "base/str.h"

static int text_order(const char *a, const char *b) {
	return strcmp(a == NULL ? "" : a, b == NULL ? "" : b);
}

/* A total order, so that equal requests of two rules give the same result in either order. */
static int request_order(const struct mount_request *a, const struct mount_request *b) {
	int order = path_order(a->m.target, b->m.target);
	if (order == 0) {
		order = (int)b->rank - (int)a->rank;
	}
	if (order == 0) {
		order = (int)a->m.kind - (int)b->m.kind;
	}
	if (order == 0) {
		order = (int)b->m.reach - (int)a->m.reach;
	}
	if (order == 0 && a->m.kind == MOUNT_PIN) {
		order = (int)a->m.writable - (int)b->m.writable;
	}
	if (order == 0) {
		order = (int)a->alias - (int)b->alias;
	}
	if (order == 0) {
		order = text_order(a->m.source, b->m.source);
	}
	if (order == 0) {
		order = (int)a->m.origin.kind - (int)b->m.origin.kind;
	}
	if (order == 0) {
		order = text_order(a->m.origin.name, b->m.origin.name);
	}
	return order != 0 ? order : a->m.origin.line - b->m.origin.line;
}

/* The runs of `order`, which has the indices of the requests: run i ends before ends[i]. */
struct runs {
	const struct mount_request *requests;
	size_t *order, *ends;
	size_t count;
};

static bool is_after(const struct runs *r, size_t left, size_t right) {
	return request_order(&r->requests[left], &r->requests[right]) > 0;
}

static void find_runs(struct runs *r, size_t n) {
	for (size_t i = 0; i < n; i++) {
		r->order[i] = i;
		if (i > 0 && is_after(r, i - 1, i)) {
			r->ends[r->count++] = i;
		}
	}
	r->ends[r->count++] = n;
}

/* Merges the indices from `at` to `middle` with those up to `end`. */
static void merge_two(const struct runs *r, size_t at, size_t middle, size_t end, size_t *out) {
	size_t left = at, right = middle;
	for (; at < end; at++) {
		bool from_right = left == middle ||
				  (right < end && is_after(r, r->order[left], r->order[right]));
		out[at] = r->order[from_right ? right++ : left++];
	}
}

/* Merges each run with the next one; `spare` becomes the order, and the order spare. */
static size_t *merge_pairs(struct runs *r, size_t *spare) {
	size_t at = 0, kept = 0;
	for (size_t i = 0; i < r->count; i += 2) {
		size_t end = r->ends[i + 1 < r->count ? i + 1 : i];
		merge_two(r, at, r->ends[i], end, spare);
		r->ends[kept++] = at = end;
	}
	r->count = kept;
	size_t *before = r->order;
	r->order = spare;
	return before;
}

/* Moves each request to the place that has its index. */
static void move_all(struct mount_request *requests, size_t *order, size_t n) {
	for (size_t i = 0; i < n; i++) {
		size_t at = i;
		if (order[i] == i) {
			continue;
		}
		struct mount_request first = requests[i];
		for (size_t next; (next = order[at]) != i; at = next) {
			requests[at] = requests[next];
			order[at] = at;
		}
		requests[at] = first;
		order[at] = at;
	}
}

int mount_request_sort(struct builder *b) {
	size_t n = b->nrequests;
	if (n < 2) {
		return 0; /* find_runs() needs room for the end of one run */
	}
	size_t *space = arena_array(b->a, n, 3 * sizeof *space);
	if (space == NULL) {
		return -1;
	}
	struct runs r = {.requests = b->requests, .order = space, .ends = space + 2 * n};
	size_t *spare = space + n;
	find_runs(&r, n);
	while (r.count > 1) {
		spare = merge_pairs(&r, spare);
	}
	move_all(b->requests, r.order, n);
	return 0;
}
