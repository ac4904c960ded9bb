/* SPDX-License-Identifier: Apache-2.0 */
/* A stream: finds secrets in bytes that come in pieces, and replaces them.
 *
 * The window holds the bytes from LEAK_VIEW_BACK before `low` on.  Every match that begins before
 * `low` is known; `low` stops at the first byte that may begin a match whose end is not known.  In
 * redacting mode the bytes before `low` are in the output.
 *
 * A private key is an open match: its body belongs to it up to the first byte that cannot, so the
 * body is dropped without being held back.
 *
 * Should:   keep D1 to D4 of leak.h.
 * Must not: put a byte of a found secret out.
 * Fails:    closed: after an error the stream takes and gives nothing. */
#include "leak/scan.h"

#include <sodium/crypto_generichash.h>
#include <sodium/utils.h>
#include <stdlib.h>
#include <string.h>

#define WINDOW ((size_t)128 * 1024)

struct leak_stream {
	const struct leak_scanner *scanner;
	leak_found_fn *found;
	leak_output_fn *output;
	void *arg;
	bool failed;
	bool cuts, cut; /* leak_stream_cut(); and a secret was found */
	size_t len, low;
	size_t top;    /* the most bytes that were in the window */
	size_t out;    /* redacting: the bytes before are in the output, or replaced */
	size_t hidden; /* the end of the last secret */
	uint64_t base; /* offset of the window in the stream */
	/* An open match that goes on: */
	const struct leak_set *body;
	size_t body_kind;
	uint64_t body_start; /* offset in the stream */
	size_t body_len;
	crypto_generichash_state body_hash;
	struct leak_search search;
	unsigned char *window;
};

/* ---- output ---- */

static void put(struct leak_stream *s, const void *data, size_t len) {
	if (!s->failed && !s->cut && s->output != NULL && len > 0 &&
	    s->output(s->arg, data, len) != 0) {
		s->failed = true;
	}
}

/* The bytes before `to` may leave, at once (D2). */
static void release(struct leak_stream *s, size_t to) {
	if (s->out < to) {
		put(s, s->window + s->out, to - s->out);
		s->out = to;
	}
}

static const char *kind_name(const struct leak_stream *s, size_t kind) {
	return kind < LEAK_KINDS_MAX ? leak_kinds[kind].name
				     : s->scanner->exact[kind - LEAK_KINDS_MAX].name;
}

/* Replaces the bytes of a secret that did not leave yet. */
static void replace(struct leak_stream *s, const struct leak_candidate *c) {
	const char *name = kind_name(s, c->kind);

	release(s, c->secret);
	s->cut = s->cuts;
	if (s->out < c->secret_end || c->runs) {
		put(s, "[redacted:", strlen("[redacted:"));
		put(s, name, strlen(name));
		put(s, "]", 1);
		s->out = s->out < c->secret_end ? c->secret_end : s->out;
	}
}

/* The finding has a fingerprint and no byte of the value (D4). */
static void report(struct leak_stream *s, size_t kind, struct leak_finding *f) {
	f->kind = kind_name(s, kind);
	f->row = kind < LEAK_KINDS_MAX ? &leak_kinds[kind] : NULL;
	if (s->found != NULL) {
		s->found(s->arg, f);
	}
}

/* ---- open matches ---- */

static void body_begin(struct leak_stream *s, const struct leak_candidate *c) {
	s->body = leak_open_set(c->kind);
	s->body_kind = c->kind;
	s->body_start = s->base + c->secret;
	s->body_len = c->secret_end - c->secret;
	(void)crypto_generichash_init(&s->body_hash, s->scanner->key, LEAK_KEY,
				      (LEAK_FINGERPRINT - 1) / 2);
	(void)crypto_generichash_update(&s->body_hash, s->window + c->secret, s->body_len);
}

static void body_end(struct leak_stream *s) {
	unsigned char hash[(LEAK_FINGERPRINT - 1) / 2];
	struct leak_finding f = {.offset = s->body_start, .length = s->body_len};

	(void)crypto_generichash_final(&s->body_hash, hash, sizeof hash);
	(void)sodium_bin2hex(f.fingerprint, sizeof f.fingerprint, hash, sizeof hash);
	s->body = NULL;
	for (size_t i = 0; i < s->scanner->nallow; i++) {
		if (strcmp(s->scanner->allow[i], f.fingerprint) == 0) {
			return;
		}
	}
	report(s, s->body_kind, &f);
}

/* Drops the bytes of the body; true when it has ended. */
static bool body_go_on(struct leak_stream *s, bool final) {
	struct leak_text text = {s->window, s->len, final, true};
	bool runs;
	size_t at = leak_body_end(s->body, &text,
				  (struct leak_body){s->low, LEAK_BLOCK_MAX - s->body_len}, &runs);

	(void)crypto_generichash_update(&s->body_hash, s->window + s->low, at - s->low);
	s->body_len += at - s->low;
	s->low = s->hidden = at;
	s->out = s->out < at ? at : s->out;
	if (runs) {
		return false;
	}
	body_end(s);
	return true;
}

/* ---- matches ---- */

static int is_generic(const struct leak_candidate *c) {
	return c->kind < LEAK_KINDS_MAX && strncmp(leak_kinds[c->kind].name, "generic-", 8) == 0;
}

/* By secret; of two with the same beginning, the one that says more comes first. */
static int by_secret(const void *a, const void *b) {
	const struct leak_candidate *x = a, *y = b;
	const size_t keys[][2] = {
		{x->secret, y->secret},
		{x->kind < LEAK_KINDS_MAX, y->kind < LEAK_KINDS_MAX},
		{(size_t)is_generic(x), (size_t)is_generic(y)},
		{(size_t)(x->outer != LEAK_RAW) + (x->inner != LEAK_RAW),
		 (size_t)(y->outer != LEAK_RAW) + (y->inner != LEAK_RAW)},
		{y->secret_end, x->secret_end},
		{x->kind, y->kind},
		{x->start, y->start},
		{x->outer, y->outer},
		{x->inner, y->inner},
	};

	for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
		if (keys[i][0] != keys[i][1]) {
			return keys[i][0] < keys[i][1] ? -1 : 1;
		}
	}
	return 0;
}

void leak_search_add(struct leak_search *s, const struct leak_candidate *c) {
	if (s->nfound == s->cap) {
		size_t cap = s->cap == 0 ? 64 : s->cap * 2;
		struct leak_candidate *more =
			s->failed ? NULL : realloc(s->found, cap * sizeof *more);
		if (more == NULL) {
			s->failed = true;
			return;
		}
		s->found = more;
		s->cap = cap;
	}
	s->found[s->nfound++] = *c;
}

/* The matches that begin before the result are known with their secrets' beginnings. */
static size_t settled(const struct leak_search *q, size_t limit) {
	for (bool again = true; again;) {
		again = false;
		for (size_t i = 0; i < q->nfound; i++) {
			if (q->found[i].start < limit && q->found[i].secret >= limit) {
				limit = q->found[i].start;
				again = true;
			}
		}
	}
	return limit;
}

static void take_match(struct leak_stream *s, const struct leak_candidate *c) {
	struct leak_finding f = {.offset = s->base + c->secret,
				 .length = c->secret_end - c->secret,
				 .outer = c->outer,
				 .inner = c->inner};

	replace(s, c);
	memcpy(f.fingerprint, c->fingerprint, sizeof f.fingerprint);
	report(s, c->kind, &f);
}

/* Reports the matches before `limit`, each once, in whatever pieces its bytes came (D1).  True when
 * an open one was among them: then the search begins again at its end. */
static bool resolve(struct leak_stream *s, size_t limit) {
	struct leak_search *q = &s->search;

	if (q->nfound > 1) {
		qsort(q->found, q->nfound, sizeof q->found[0], by_secret);
	}
	for (size_t i = 0; i < q->nfound; i++) {
		const struct leak_candidate *c = &q->found[i];
		if (c->start >= limit) {
			continue;
		}
		if (c->open) {
			replace(s, c);
			body_begin(s, c);
			s->low = s->hidden = c->secret_end;
			if (!c->runs) {
				body_end(s);
			}
			return true;
		}
		if (c->secret >= s->hidden) {
			take_match(s, c);
		}
		/* A match that overlaps the one before is not reported, but replaced with it. */
		s->hidden = s->hidden < c->secret_end ? c->secret_end : s->hidden;
		s->out = c->secret < s->out && s->out < c->secret_end ? c->secret_end : s->out;
	}
	return false;
}

/* ---- the window ---- */

static void search(struct leak_stream *s, bool final) {
	for (;;) {
		if (s->body != NULL && !body_go_on(s, final)) {
			return;
		}
		struct leak_text text = {s->window, s->len, final, true};
		s->search.low = s->low;
		leak_search_run(&s->search, &text);
		s->failed = s->failed || s->search.failed;
		if (s->failed) {
			return;
		}
		size_t limit = settled(&s->search, final ? s->len : s->search.live);
		if (!resolve(s, limit)) {
			release(s, limit);
			s->low = limit;
			return;
		}
	}
}

/* Makes room, once the window is more than half full: it never grows (D3). */
static void compact(struct leak_stream *s) {
	size_t kept = s->output != NULL && s->out < s->low ? s->out : s->low;

	kept = kept > LEAK_VIEW_BACK ? kept - LEAK_VIEW_BACK : 0;
	if (s->len < WINDOW / 2 || kept == 0) {
		return;
	}
	memmove(s->window, s->window + kept, s->len - kept);
	s->base += kept;
	s->len -= kept;
	s->low -= kept;
	s->out = s->out > kept ? s->out - kept : 0;
	s->hidden = s->hidden > kept ? s->hidden - kept : 0;
}

int leak_stream_feed(struct leak_stream *s, const void *data, size_t len) {
	const unsigned char *p = data;

	while (len > 0 && !s->failed) {
		size_t n = WINDOW - s->len < len ? WINDOW - s->len : len;
		memcpy(s->window + s->len, p, n);
		s->len += n;
		s->top = s->len > s->top ? s->len : s->top;
		p += n;
		len -= n;
		search(s, false);
		compact(s);
	}
	return s->failed ? -1 : 0;
}

int leak_stream_end(struct leak_stream *s) {
	if (!s->failed) {
		search(s, true);
	}
	return s->failed ? -1 : 0;
}

size_t leak_stream_held(const struct leak_stream *s) {
	return s->output != NULL && s->out < s->len ? s->len - s->out : 0;
}

/* The end of the bytes that are no secret if the stream ends here. */
static size_t harmless(struct leak_stream *s) {
	struct leak_text text = {s->window, s->len, true, true};
	size_t to = s->len;

	s->search.low = s->low;
	leak_search_run(&s->search, &text);
	s->failed = s->failed || s->search.failed;
	for (size_t i = 0; i < s->search.nfound; i++) {
		const struct leak_candidate *c = &s->search.found[i];
		to = c->secret < to ? c->secret : to;
	}
	return to;
}

int leak_stream_flush(struct leak_stream *s) {
	/* In an open match the bytes may be the secret's: they stay. */
	if (s->output != NULL && !s->failed && s->body == NULL) {
		release(s, harmless(s));
	}
	return s->failed ? -1 : 0;
}

/* ---- life ---- */

void leak_stream_cut(struct leak_stream *s) {
	s->cuts = true;
}

struct leak_stream *leak_stream_new(const struct leak_scanner *scanner, leak_found_fn *found,
				    leak_output_fn *output, void *arg) {
	/* BLAKE2b's state is aligned to 64 bytes. */
	struct leak_stream *s = aligned_alloc(_Alignof(struct leak_stream), sizeof *s);

	if (s == NULL) {
		return NULL;
	}
	memset(s, 0, sizeof *s);
	s->scanner = s->search.scanner = scanner;
	s->found = found;
	s->output = output;
	s->window = malloc(WINDOW);
	for (size_t i = 0; i < LEAK_DEPTH; i++) {
		s->search.decoded[i] = malloc(WINDOW);
	}
	leak_stream_reset(s, arg);
	if (s->window == NULL || s->search.decoded[0] == NULL || s->search.decoded[1] == NULL) {
		leak_stream_free(s);
		return NULL;
	}
	return s;
}

void leak_stream_reset(struct leak_stream *s, void *arg) {
	s->arg = arg;
	s->failed = s->search.failed = s->cut = false;
	s->len = s->low = s->out = s->hidden = 0;
	s->base = 0;
	s->body = NULL;
}

static void wipe(unsigned char *buffer, size_t used) {
	if (buffer != NULL) {
		sodium_memzero(buffer, used);
	}
	free(buffer);
}

void leak_stream_free(struct leak_stream *s) {
	if (s == NULL) {
		return;
	}
	wipe(s->window, s->top);
	for (size_t i = 0; i < LEAK_DEPTH; i++) {
		wipe(s->search.decoded[i], s->top);
	}
	free(s->search.found);
	sodium_memzero(s, sizeof *s);
	free(s);
}

int leak_scan(const struct leak_scanner *scanner, const void *data, size_t len,
	      leak_found_fn *found, void *arg) {
	struct leak_stream *s = leak_stream_new(scanner, found, NULL, arg);
	int rc = s == NULL || leak_stream_feed(s, data, len) != 0 ? -1 : leak_stream_end(s);

	leak_stream_free(s);
	return rc;
}
