/* SPDX-License-Identifier: Apache-2.0 */
/* Compares two texts line by line: the hunks of a unified diff.
 *
 * The search is Myers' greedy algorithm ("An O(ND) difference algorithm", 1986) on the
 * lines between the common prefix and the common suffix.
 *
 * Should:   find the shortest edit script if it is below EDITS_MAX.
 * Must not: take time or memory without a bound: texts that differ in more lines than
 *           EDITS_MAX, or that take more than EFFORT_MAX bytes of comparing, are shown as one
 *           replaced block.
 * Fails:    out of memory. */
#include "cow/cow.h"

#include "base/auto.h"
#include "base/hash.h"

#include <stdlib.h>
#include <string.h>

/* The trace has its square in entries: 16 MiB. */
#define EDITS_MAX 2000
#define CONTEXT ((size_t)3)
/* Bytes compared in one diff: a line that repeats may be compared EDITS_MAX times. */
#define EFFORT_MAX ((size_t)512 * 1024 * 1024)
/* Each takes 24 bytes. */
#define LINES_MAX ((size_t)1000 * 1000)

struct line {
	const char *data;
	size_t len; /* with its newline */
	uint64_t hash;
};

struct side {
	struct line *lines;
	size_t n;
	bool *marked; /* deleted from the old, added in the new */
};

bool cow_text_is_binary(struct cow_text t) {
	return t.len > 0 && memchr(t.data, '\0', t.len) != NULL;
}

bool cow_text_is_long(struct cow_text t) {
	size_t n = 0;
	for (const char *p = t.data, *end = p + t.len; t.len > 0 && p < end && n <= LINES_MAX;
	     n++) {
		const char *line = memchr(p, '\n', (size_t)(end - p));
		p = line == NULL ? end : line + 1;
	}
	return n > LINES_MAX;
}

static int side_init(struct side *s, struct cow_text t) {
	size_t n = 0;
	for (size_t i = 0; i < t.len; i++) {
		n += t.data[i] == '\n' || i + 1 == t.len;
	}
	s->n = 0;
	s->lines = calloc(n + 1, sizeof *s->lines);
	s->marked = calloc(n + 1, sizeof *s->marked);
	if (s->lines == NULL || s->marked == NULL) {
		return -1;
	}
	for (size_t at = 0; at < t.len;) {
		const char *end = memchr(t.data + at, '\n', t.len - at);
		size_t len = end == NULL ? t.len - at : (size_t)(end - t.data) - at + 1;
		uint64_t hash = hash_fnv64(HASH_FNV64, t.data + at, len);
		s->lines[s->n++] = (struct line){t.data + at, len, hash};
		at += len;
	}
	return 0;
}

static void side_done(struct side *s) {
	free(s->lines);
	free(s->marked);
}

static bool same(const struct line *a, const struct line *b) {
	return a->hash == b->hash && a->len == b->len && memcmp(a->data, b->data, a->len) == 0;
}

/* ---- the search ---- */

/* The lines of both sides between their common prefix and suffix; x counts old lines, y new
 * ones, k = x - y is the diagonal. */
struct search {
	const struct line *old, *new;
	ptrdiff_t nold, nnew;
	int32_t *reach;  /* furthest x on each diagonal, at k + EDITS_MAX + 1 */
	int32_t **trace; /* reach as it was before each step, diagonals -d to d */
	size_t effort;   /* bytes that may still be compared */
};

static ptrdiff_t slide(struct search *s, ptrdiff_t x, ptrdiff_t k) {
	while (x < s->nold && x - k < s->nnew && s->effort > s->old[x].len &&
	       same(&s->old[x], &s->new[x - k])) {
		s->effort -= s->old[x].len;
		x++;
	}
	return x;
}

/* Whether the step to diagonal k with d edits adds a line (comes from diagonal k + 1). */
static bool from_above(const int32_t *reach, ptrdiff_t k, ptrdiff_t d) {
	return k == -d || (k != d && reach[k - 1] < reach[k + 1]);
}

/* The number of edits, or -1 when there are too many or memory is out. */
static ptrdiff_t search_run(struct search *s) {
	int32_t *reach = s->reach + EDITS_MAX + 1;
	reach[1] = 0;
	for (ptrdiff_t d = 0; d <= EDITS_MAX && s->effort > 0; d++) {
		s->trace[d] = malloc((size_t)(2 * d + 3) * sizeof **s->trace);
		if (s->trace[d] == NULL) {
			return -1;
		}
		memcpy(s->trace[d], reach - d - 1, (size_t)(2 * d + 3) * sizeof *reach);
		for (ptrdiff_t k = -d; k <= d; k += 2) {
			ptrdiff_t x = from_above(reach, k, d) ? reach[k + 1] : reach[k - 1] + 1;
			reach[k] = (int32_t)slide(s, x, k);
			if (reach[k] >= s->nold && reach[k] - k >= s->nnew) {
				return d;
			}
			s->effort -= s->effort > 0;
		}
	}
	return -1;
}

static void mark_path(const struct search *s, ptrdiff_t d, bool *deleted, bool *added) {
	ptrdiff_t x = s->nold, y = s->nnew;
	for (; d > 0; d--) {
		const int32_t *reach = s->trace[d] + d + 1;
		ptrdiff_t k = x - y;
		bool above = from_above(reach, k, d);
		ptrdiff_t before = above ? k + 1 : k - 1;
		x = reach[before];
		y = x - before;
		if (above) {
			added[y] = true;
		} else {
			deleted[x] = true;
		}
	}
}

static void mark_all(bool *marks, ptrdiff_t n) {
	memset(marks, true, (size_t)n);
}

static int mark(struct side *old, struct side *new) {
	size_t head = 0, tail = 0, most = old->n < new->n ? old->n : new->n;
	while (head < most && same(&old->lines[head], &new->lines[head])) {
		head++;
	}
	while (tail < most - head &&
	       same(&old->lines[old->n - 1 - tail], &new->lines[new->n - 1 - tail])) {
		tail++;
	}
	auto_free int32_t *reach = calloc(2 * EDITS_MAX + 4, sizeof *reach);
	auto_free int32_t **trace = calloc(EDITS_MAX + 1, sizeof *trace);
	struct search s = {
		.old = old->lines + head,
		.new = new->lines + head,
		.nold = (ptrdiff_t)(old->n - head - tail),
		.nnew = (ptrdiff_t)(new->n - head - tail),
		.reach = reach,
		.trace = trace,
		.effort = EFFORT_MAX,
	};
	if (reach == NULL || trace == NULL) {
		return -1;
	}
	ptrdiff_t edits = search_run(&s);
	if (edits >= 0) {
		mark_path(&s, edits, old->marked + head, new->marked + head);
	} else {
		mark_all(old->marked + head, s.nold);
		mark_all(new->marked + head, s.nnew);
	}
	for (size_t i = 0; i <= EDITS_MAX; i++) {
		free(trace[i]);
	}
	return 0;
}

/* ---- hunks ---- */

/* A range of lines on both sides, ends not included. */
struct hunk {
	size_t old, old_end, new, new_end;
};

static void put_range(struct buf *out, char sign, size_t from, size_t to) {
	/* An empty range has the number of the line before it. */
	buf_printf(out, "%c%zu", sign, to > from ? from + 1 : from);
	if (to - from != 1) {
		buf_printf(out, ",%zu", to - from);
	}
}

static void put_line(struct buf *out, char sign, const struct line *l) {
	buf_add(out, &sign, 1);
	buf_add(out, l->data, l->len);
	if (l->data[l->len - 1] != '\n') {
		buf_puts(out, "\n\\ No newline at end of file\n");
	}
}

static void put_hunk(struct buf *out, const struct side *old, const struct side *new,
		     const struct hunk *h) {
	size_t i = h->old, k = h->new;
	buf_puts(out, "@@ ");
	put_range(out, '-', h->old, h->old_end);
	buf_puts(out, " ");
	put_range(out, '+', h->new, h->new_end);
	buf_puts(out, " @@\n");
	while (i < h->old_end || k < h->new_end) {
		if (i < h->old_end && old->marked[i]) {
			put_line(out, '-', &old->lines[i++]);
		} else if (k < h->new_end && new->marked[k]) {
			put_line(out, '+', &new->lines[k++]);
		} else {
			put_line(out, ' ', &old->lines[i++]);
			k++;
		}
	}
}

/* From the first changed line at or after i, k to where enough lines are the same;
 * false when there is none. */
static bool next_hunk(const struct side *old, const struct side *new, struct hunk *h) {
	size_t i = h->old_end, k = h->new_end, calm = 0;
	while (i < old->n && k < new->n && !old->marked[i] && !new->marked[k]) {
		i++;
		k++;
	}
	if (i == old->n && k == new->n) {
		return false;
	}
	size_t before = i - h->old_end < CONTEXT ? i - h->old_end : CONTEXT;
	h->old = i - before;
	h->new = k - before;
	while ((i < old->n || k < new->n) && calm <= 2 * CONTEXT) {
		if (i < old->n && old->marked[i]) {
			i++;
			calm = 0;
		} else if (k < new->n &&new->marked[k]) {
			k++;
			calm = 0;
		} else {
			i++;
			k++;
			calm++;
		}
	}
	size_t over = calm > CONTEXT ? calm - CONTEXT : 0;
	h->old_end = i - over;
	h->new_end = k - over;
	return true;
}

int cow_text_diff(struct cow_text was, struct cow_text is, struct buf *out, struct err *e) {
	struct side old = {0}, new = {0};
	struct hunk h = {0};
	int rc = side_init(&old, was) != 0 || side_init(&new, is) != 0 || mark(&old, &new) != 0
			 ? err_memory(e, COW_WHERE)
			 : 0;
	while (rc == 0 && next_hunk(&old, &new, &h)) {
		put_hunk(out, &old, &new, &h);
	}
	side_done(&old);
	side_done(&new);
	return rc;
}
