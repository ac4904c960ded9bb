/* SPDX-License-Identifier: Apache-2.0 */
/* Searches a window of a stream: the bytes themselves, and each part that may be encoded.
 *
 * Should:   report each match with its place in the window, and the first byte that may begin a
 *           match whose end is not known.
 * Must not: report a match that begins before `low`: the window before reported it.
 * Fails:    closed: without memory the stream stops. */
#include "leak/scan.h"

#include <string.h>

/* A text, and how it was decoded from the one around it. */
struct level {
	struct leak_text text;
	const struct level *outer;
	struct leak_region region;
	unsigned depth;
	struct leak_search *search;
	bool breaks; /* a kind that spans lines is near */
};

/* Maps a part of a text to the window. */
static struct leak_place in_window(const struct level *l, size_t from, size_t to) {
	struct leak_place at = {from, to};

	for (; l->outer != NULL; l = l->outer) {
		(void)leak_encoded(&l->outer->text, &l->region, at, &at);
	}
	return at;
}

/* True when a match is encoded in each view around it.  The byte before the match counts: it
 * decides whether the match is a word of its own. */
static bool is_encoded(const struct level *l, size_t from, size_t to) {
	struct leak_place at = {from - (from > 0), to};

	for (; l->outer != NULL; l = l->outer) {
		if (!leak_encoded(&l->outer->text, &l->region, at, &at)) {
			return false;
		}
	}
	return true;
}

/* A secret may begin at this byte.  A text that was cut before the end of the one around it knows
 * nothing: that is not a part of the encoded secret. */
static void note_live(const struct level *l, size_t at) {
	struct leak_search *s = l->search;

	for (; l->outer != NULL; l = l->outer) {
		if (l->region.end < l->outer->text.len) {
			return;
		}
		struct leak_place place = {at, at + 1};
		(void)leak_encoded(&l->outer->text, &l->region, place, &place);
		at = place.from;
	}
	if (at >= s->low && at < s->live) {
		s->live = at;
	}
}

static bool is_allowed(const struct leak_scanner *sc, const char *fingerprint) {
	for (size_t i = 0; i < sc->nallow; i++) {
		if (strcmp(sc->allow[i], fingerprint) == 0) {
			return true;
		}
	}
	return false;
}

static void note_match(const struct level *l, size_t kind, const struct leak_span *span) {
	struct leak_search *s = l->search;
	struct leak_candidate c = {
		.kind = kind, .open = span->open && l->outer == NULL, .runs = span->runs};
	struct leak_place match = in_window(l, span->start, span->end);
	c.start = match.from;
	c.end = match.to;
	if (c.start < s->low || (!c.open && c.end - c.start > LEAK_HELD_MAX) ||
	    !is_encoded(l, span->start, span->end)) {
		return;
	}
	struct leak_place secret = in_window(l, span->secret, span->secret_end);
	c.secret = secret.from;
	c.secret_end = secret.to;
	if (l->outer != NULL) {
		c.outer = l->outer->outer != NULL ? l->outer->region.view : l->region.view;
		c.inner = l->outer->outer != NULL ? l->region.view : LEAK_RAW;
	}
	if (!c.open) {
		leak_fingerprint(s->scanner->key, l->text.data + span->secret,
				 span->secret_end - span->secret, c.fingerprint);
		if (is_allowed(s->scanner, c.fingerprint)) {
			return;
		}
	}
	leak_search_add(s, &c);
}

/* ---- kinds ---- */

static bool is_wanted(const struct leak_scanner *sc, size_t kind) {
	return sc->kinds[kind / 64] >> (kind % 64) & 1;
}

static void try_kind(const struct level *l, size_t kind, size_t start) {
	struct leak_span span;

	switch (leak_match(kind, &l->text, start, &span)) {
	case LEAK_MATCHED:
		if (leak_check_holds(&leak_kinds[kind], l->text.data, &span)) {
			note_match(l, kind, &span);
		}
		break;
	case LEAK_MORE:
		note_live(l, start);
		break;
	case LEAK_FAIL:
		break;
	}
}

static unsigned passes(const struct leak_text *t, const struct leak_probe *probe, size_t at) {
	return leak_in(&leak_sets[probe->set], t->data[(ptrdiff_t)at + probe->at]);
}

/* Whether the bytes around a window are those of the pattern; without a branch. */
static inline unsigned in_context(const struct leak_text *t, const struct leak_window *w,
				  size_t at) {
	uint64_t bytes = leak_load(t->data + at) | (uint64_t)leak_load(t->data + at + 4) << 32;
	unsigned known = ((bytes | LEAK_FOLD | (uint64_t)LEAK_FOLD << 32) & w->mask) == w->value;

	return known & passes(t, &w->probes[0], at) & passes(t, &w->probes[1], at);
}

/* False when probes would look at bytes outside of the text. */
static bool has_context(const struct leak_text *t, size_t at) {
	return at >= LEAK_PROBE_MAX && t->len - at >= LEAK_PROBE_MAX;
}

static void try_window(struct level *l, const struct leak_window *w, size_t at) {
	size_t far = w->far < at ? w->far : at;

	if ((has_context(&l->text, at) && in_context(&l->text, w, at) == 0) ||
	    !is_wanted(l->search->scanner, w->kind)) {
		return;
	}
	l->breaks = l->breaks || leak_programs[w->kind].lines;
	if (l->outer == NULL && far > at - l->search->low) {
		far = at - l->search->low;
	}
	const struct leak_set *first = &leak_sets[leak_programs[w->kind].head[0]];
	for (size_t back = w->near; back <= far; back++) {
		if (leak_in(first, l->text.data[at - back])) {
			try_kind(l, w->kind, at - back);
		}
	}
}

/* ---- values ---- */

static void try_exact(const struct level *l, size_t value, size_t start) {
	const struct leak_exact *x = &l->search->scanner->exact[value];
	const struct leak_text *t = &l->text;
	size_t have = t->len - start < x->len ? t->len - start : x->len;

	if (memcmp(t->data + start, x->data, have) != 0) {
		return;
	}
	if (have < x->len) {
		if (!t->final) {
			note_live(l, start);
		}
		return;
	}
	struct leak_span span = {.start = start,
				 .end = start + x->len,
				 .secret = start,
				 .secret_end = start + x->len};
	note_match(l, LEAK_KINDS_MAX + value, &span);
}

/* ---- hits of the prefilter ---- */

static void try_hit(struct level *l, size_t at) {
	const struct leak_scanner *sc = l->search->scanner;
	uint32_t folded = leak_load(l->text.data + at) | LEAK_FOLD;
	uint32_t slot = leak_slot(folded);

	for (size_t i = leak_slots[slot]; i < leak_slots[slot + 1]; i++) {
		if (leak_entries[i].folded == folded) {
			try_window(l, &leak_windows[leak_entries[i].window], at);
		}
	}
	for (size_t i = 0; i < sc->nexact; i++) {
		if (sc->exact[i].folded == folded && at >= sc->exact[i].at) {
			try_exact(l, i, at - sc->exact[i].at);
		}
	}
}

/* False for most hits that have one or two windows, and none in whose context they are.  No branch
 * depends on the text: the processor works on several hits at a time. */
static inline bool is_likely(const struct leak_text *t, size_t at) {
	uint32_t folded = leak_load(t->data + at) | LEAK_FOLD, slot = leak_slot(folded);
	const struct leak_entry *e = &leak_entries[leak_slots[slot]];
	unsigned n = leak_slots[slot + 1] - leak_slots[slot];
	unsigned one = (e[0].folded == folded) & in_context(t, &leak_windows[e[0].window], at);
	unsigned two = (e[1].folded == folded) & in_context(t, &leak_windows[e[1].window], at);
	unsigned more = n > 2;

	return (one | two | more) != 0;
}

static void try_hits(void *arg, size_t base, uint16_t *at, size_t n) {
	struct level *l = arg;
	size_t likely = n;

	if (l->search->scanner->nexact == 0 && has_context(&l->text, base) &&
	    has_context(&l->text, base + at[n - 1])) {
		likely = 0;
		for (size_t i = 0; i < n; i++) {
			at[likely] = at[i];
			likely += is_likely(&l->text, base + at[i]);
		}
	}
	for (size_t i = 0; i < likely; i++) {
		try_hit(l, base + at[i]);
	}
}

/* ---- the end of an unfinished text ---- */

/* The window of a match that begins here may not be known yet. */
static void try_end(const struct level *l, size_t start) {
	static const uint64_t none[LEAK_KINDS_WORDS];
	const struct leak_scanner *sc = l->search->scanner;
	size_t left = l->text.len - start;
	const uint64_t *first = leak_first[l->text.data[start]];
	const uint64_t *waiting = left > LEAK_REACH_MAX ? none : leak_waiting[left];
	const uint64_t *forbidden = start == 0 || leak_is_mark(&l->text, start)
					    ? none
					    : leak_forbidden[l->text.data[start - 1]];

	for (size_t w = 0; w < LEAK_KINDS_WORDS; w++) {
		uint64_t bits = first[w] & waiting[w] & ~forbidden[w] & sc->kinds[w];
		for (; bits != 0; bits &= bits - 1) {
			try_kind(l, w * 64 + (size_t)__builtin_ctzll(bits), start);
		}
	}
	for (size_t i = 0; i < sc->nexact; i++) {
		if (left < sc->exact[i].at + LEAK_WINDOW) {
			try_exact(l, i, start);
		}
	}
}

static void search_end(const struct level *l, size_t from) {
	size_t reach = l->search->scanner->reach;
	size_t start = l->text.len > reach ? l->text.len - reach : 0;

	/* A text that is not the end of the one around it has no end of its own. */
	for (const struct level *k = l; k->outer != NULL; k = k->outer) {
		if (k->region.end < k->outer->text.len) {
			return;
		}
	}
	for (start = start < from ? from : start; start < l->text.len; start++) {
		try_end(l, start);
	}
}

/* ---- views ---- */

static void search_text(struct level *l, size_t from, size_t low);

/* Characters of a group that is not complete. */
static size_t incomplete(const struct leak_region *r) {
	switch (r->view) {
	case LEAK_BASE64:
		return 3;
	case LEAK_URL:
		return 2;
	case LEAK_JSON:
		return 5;
	default:
		return 1;
	}
}

static bool has_incomplete(const struct leak_text *t, const struct leak_region *r) {
	size_t n = incomplete(r);

	if (r->view == LEAK_URL || r->view == LEAK_JSON) {
		n = n < r->end - r->start ? n : r->end - r->start;
		return memchr(t->data + r->end - n, r->view == LEAK_URL ? '%' : '\\', n) != NULL;
	}
	return true;
}

static void search_region(void *arg, const struct leak_region *region) {
	const struct level *l = arg;
	unsigned char *out = l->search->decoded[l->depth];
	struct level inner = {
		.outer = l, .region = *region, .depth = l->depth + 1, .search = l->search};
	size_t back = incomplete(region);

	if (!region->final && region->end == l->text.len && has_incomplete(&l->text, region)) {
		note_live(l,
			  region->end - region->start > back ? region->end - back : region->start);
	}
	inner.text =
		(struct leak_text){out, leak_decode(&l->text, region, out), region->final, false};
	search_text(&inner, 0, 0);
}

/* True for a short text without an escape, and too short for the other encodings. */
static bool has_no_region(const struct leak_text *t) {
	return t->final && t->len < LEAK_BASE64_MIN && memchr(t->data, '%', t->len) == NULL &&
	       memchr(t->data, '\\', t->len) == NULL && memchr(t->data, 0, t->len) == NULL;
}

static void search_text(struct level *l, size_t from, size_t low) {
	struct leak_search *s = l->search;

	l->breaks = s->scanner->breaks;
	leak_prefilter(s->scanner, &l->text, low, (struct leak_hits){try_hits, l});
	if (!l->text.final) {
		search_end(l, low);
	}
	if (s->scanner->views && l->depth < LEAK_DEPTH && !has_no_region(&l->text)) {
		leak_regions(&(struct leak_finder){&l->text, from, low, l->breaks,
						   s->scanner->groups, search_region, l});
	}
}

void leak_search_run(struct leak_search *s, const struct leak_text *window) {
	struct level l = {.text = *window, .search = s};
	size_t from = s->low > LEAK_VIEW_BACK ? s->low - LEAK_VIEW_BACK : 0;

	s->live = window->len;
	s->nfound = 0;
	search_text(&l, from, s->low);
	if (window->len - s->live > LEAK_HELD_MAX) {
		s->live = window->len - LEAK_HELD_MAX;
	}
}
