/* SPDX-License-Identifier: Apache-2.0 */
/* The rules of a scan: kinds, exact values, the allow list and the key of the fingerprints.
 *
 * Should:   use the tables of the build as they are, unless there are values.
 * Must not: keep a value after leak_scanner_free().
 * Fails:    closed: a value that is too short, or a fingerprint that is none, is an error. */
#include "leak/scan.h"

#include "base/str.h"

#include <sodium/crypto_generichash.h>
#include <sodium/randombytes.h>
#include <sodium/utils.h>
#include <stdlib.h>

_Static_assert(LEAK_KEY >= crypto_generichash_KEYBYTES_MIN, "key of BLAKE2b");

#define HASH_BYTES ((size_t)(LEAK_FINGERPRINT - 1) / 2)

void leak_fingerprint(const unsigned char key[LEAK_KEY], const void *data, size_t len,
		      char ret[LEAK_FINGERPRINT]) {
	unsigned char hash[HASH_BYTES];

	(void)crypto_generichash(hash, sizeof hash, data, len, key, LEAK_KEY);
	(void)sodium_bin2hex(ret, LEAK_FINGERPRINT, hash, sizeof hash);
}

static unsigned rarity(const unsigned char *window) {
	unsigned sum = 0;

	for (size_t i = 0; i < LEAK_WINDOW; i++) {
		unsigned char c = window[i];
		sum += c >= 'a' && c <= 'z' ? 1 : (c >= '0' && c <= '9') || c == ' ' ? 2 : 3;
	}
	return sum;
}

/* Values are long; a window far from the start would hold back more bytes. */
#define WINDOW_FROM_START 32U

/* ASCII, as all kinds are. */
static bool is_ascii(const struct leak_value *v) {
	for (size_t i = 0; i < v->len; i++) {
		if (((const unsigned char *)v->data)[i] > 0x7f) {
			return false;
		}
	}
	return true;
}

/* Groups of three bytes that lie in every match, whatever its alignment. */
static unsigned whole_groups(size_t len) {
	return (unsigned)(len - 2) / 3;
}

static bool has_break(const struct leak_value *v) {
	return memchr(v->data, '\n', v->len) != NULL || memchr(v->data, '\t', v->len) != NULL ||
	       memchr(v->data, '\r', v->len) != NULL;
}

static int add_value(struct leak_scanner *sc, const struct leak_value *v, bool borrow,
		     struct err *e) {
	size_t name = strlen(v->name) + 1, kept = borrow ? 0 : v->len;

	if (v->len < LEAK_VALUE_MIN || v->len > LEAK_VALUE_MAX) {
		return err_set(e, ERR_USAGE, "leak", "the value of %s has %zu bytes, not %d to %zu",
			       v->name, v->len, LEAK_VALUE_MIN, LEAK_VALUE_MAX);
	}
	unsigned char *copy = malloc(kept + name);
	if (copy == NULL) {
		return err_memory(e, "leak");
	}
	memcpy(copy, v->data, kept);
	memcpy(copy + kept, v->name, name);
	struct leak_exact *x = &sc->exact[sc->nexact++];
	*x = (struct leak_exact){
		.name = (const char *)copy + kept,
		.data = borrow ? v->data : copy,
		.copy = copy,
		.copied = kept,
		.len = v->len,
	};
	for (size_t at = 1; at + LEAK_WINDOW <= v->len && at < WINDOW_FROM_START; at++) {
		x->at = rarity(x->data + at) > rarity(x->data + x->at) ? at : x->at;
	}
	x->folded = leak_load(x->data + x->at) | LEAK_FOLD;
	leak_prefilter_add(sc->own, x->data + x->at);
	sc->breaks = sc->breaks || has_break(v);
	unsigned groups = is_ascii(v) ? whole_groups(v->len) : 0;
	sc->groups = groups < sc->groups ? groups : sc->groups;
	sc->reach = x->at + LEAK_WINDOW > sc->reach ? x->at + LEAK_WINDOW : sc->reach;
	return 0;
}

static int add_values(struct leak_scanner *sc, const struct leak_rules *r, struct err *e) {
	if (r->nvalues == 0) {
		return 0;
	}
	sc->exact = calloc(r->nvalues, sizeof *sc->exact);
	sc->own = malloc(sizeof *sc->own);
	if (sc->exact == NULL || sc->own == NULL) {
		return err_memory(e, "leak");
	}
	*sc->own = leak_tables;
	sc->tables = sc->own;
	for (size_t i = 0; i < r->nvalues; i++) {
		if (add_value(sc, &r->values[i], r->borrow, e) != 0) {
			return -1;
		}
	}
	return 0;
}

static int add_allowed(struct leak_scanner *sc, const struct leak_rules *r, struct err *e) {
	sc->allow = r->nallow == 0 ? NULL : calloc(r->nallow, sizeof *sc->allow);
	if (r->nallow > 0 && sc->allow == NULL) {
		return err_memory(e, "leak");
	}
	for (size_t i = 0; i < r->nallow; i++) {
		const char *text = r->allow[i];
		if (strlen(text) != LEAK_FINGERPRINT - 1 ||
		    strspn(text, "0123456789abcdef") != LEAK_FINGERPRINT - 1) {
			return err_set(e, ERR_USAGE, "leak", "not a fingerprint: %s", text);
		}
		memcpy(sc->allow[i], text, LEAK_FINGERPRINT);
		sc->nallow++;
	}
	return 0;
}

static int fill(struct leak_scanner *sc, const struct leak_rules *r, struct err *e) {
	sc->tables = &leak_tables;
	sc->reach = leak_reach_max;
	sc->views = !r->raw_only;
	sc->groups = whole_groups(leak_shortest);
	sc->simd = leak_prefilter_choose();
	for (size_t i = 0; i < leak_kind_count; i++) {
		if (r->kinds == NULL || r->kinds[i]) {
			sc->kinds[i / 64] |= UINT64_C(1) << (i % 64);
		}
	}
	if (r->key != NULL) {
		memcpy(sc->key, r->key, LEAK_KEY);
	} else {
		randombytes_buf(sc->key, LEAK_KEY);
	}
	return add_values(sc, r, e) == 0 ? add_allowed(sc, r, e) : -1;
}

struct leak_scanner *leak_scanner_new(const struct leak_rules *rules, struct err *e) {
	struct leak_scanner *sc = calloc(1, sizeof *sc);

	if (sc == NULL) {
		(void)err_memory(e, "leak");
		return NULL;
	}
	if (fill(sc, rules, e) != 0) {
		leak_scanner_free(sc);
		return NULL;
	}
	return sc;
}

void leak_scanner_free(struct leak_scanner *sc) {
	if (sc == NULL) {
		return;
	}
	for (size_t i = 0; i < sc->nexact; i++) {
		sodium_memzero(sc->exact[i].copy, sc->exact[i].copied);
		free(sc->exact[i].copy);
	}
	if (sc->own != NULL) {
		sodium_memzero(sc->own, sizeof *sc->own);
	}
	free(sc->own);
	free(sc->exact);
	free(sc->allow);
	sodium_memzero(sc, sizeof *sc);
	free(sc);
}

const char *leak_view_text(const struct leak_finding *f, char ret[LEAK_VIEW_TEXT]) {
	static const char *const names[LEAK_VIEW_COUNT] = {
		[LEAK_RAW] = "raw",
		[LEAK_URL] = "url",
		[LEAK_BASE64] = "base64",
		[LEAK_HEX] = "hex",
		[LEAK_JSON] = "json",
		/* Inside of ASCII both byte orders are the same bytes. */
		[LEAK_UTF16LE] = "utf-16",
		[LEAK_UTF16BE] = "utf-16",
	};
	size_t n = strlen(names[f->outer]);

	memcpy(ret, names[f->outer], n + 1);
	if (f->inner != LEAK_RAW) {
		ret[n] = '+';
		memcpy(ret + n + 1, names[f->inner], strlen(names[f->inner]) + 1);
	}
	return ret;
}
