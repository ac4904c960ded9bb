/* SPDX-License-Identifier: Apache-2.0 */
#include "leak_world.h"

/* The example of a kind in other text, encoded once or twice. */
static void example(size_t kind, enum encoding outer, enum encoding inner, size_t shift,
		    struct buf *out) {
	struct buf plain, coded;
	buf_init(&plain);
	buf_init(&coded);
	/* The shift moves the secret through the alignments of base64. */
	buf_add(&plain, "!!!!", shift);
	buf_puts(&plain, "{ ");
	buf_puts(&plain, leak_kinds[kind].match);
	buf_puts(&plain, " } and more text");
	encode(inner, plain.data, plain.len, &coded);
	buf_puts(out, "begin <");
	encode(outer, coded.data, coded.len, out);
	buf_puts(out, "> end\n");
	buf_done(&plain);
	buf_done(&coded);
}

static bool is_found(const struct leak_scanner *sc, size_t kind, const struct buf *text) {
	struct result r;
	result_init(&r);
	scan_pieces(sc, text->data, text->len, text->len, text->len, &r);
	bool found = r.count > 0 && strncmp(r.findings.data, leak_kinds[kind].name,
					    strlen(leak_kinds[kind].name)) == 0;
	result_done(&r);
	return found;
}

static void check_encoded(size_t kind, const struct leak_scanner *sc, enum encoding outer,
			  enum encoding inner) {
	for (size_t shift = 0; shift < 3; shift++) {
		struct buf text;
		buf_init(&text);
		example(kind, outer, inner, shift, &text);
		if (!is_found(sc, kind, &text)) {
			printf("# %s in %s of %s, shift %zu: %.200s\n", leak_kinds[kind].name,
			       encodings[outer], encodings[inner], shift, text.data);
			CHECK(false);
		}
		buf_done(&text);
	}
}

TEST(every_example_is_found_in_every_view) {
	for (size_t i = 0; i < leak_kind_count; i++) {
		struct leak_scanner *sc = scanner_for(i);
		for (enum encoding how = 0; how < ENC_COUNT; how++) {
			check_encoded(i, sc, how, ENC_RAW);
		}
		leak_scanner_free(sc);
	}
}

TEST(every_example_is_found_in_two_nested_views) {
	for (size_t i = 0; i < leak_kind_count; i++) {
		struct leak_scanner *sc = scanner_for(i);
		for (enum encoding outer = 1; outer < ENC_COUNT; outer++) {
			enum encoding inner = 1 + (outer + i) % (ENC_COUNT - 1);
			/* UTF-16 of UTF-16 is no text. */
			if (inner < ENC_UTF16LE || outer < ENC_UTF16LE) {
				check_encoded(i, sc, outer, inner);
			}
		}
		leak_scanner_free(sc);
	}
}

TEST(no_near_miss_is_found) {
	for (size_t i = 0; i < leak_kind_count; i++) {
		struct leak_scanner *sc = scanner_for(i);
		struct result r;
		result_init(&r);
		scan_pieces(sc, leak_kinds[i].miss, strlen(leak_kinds[i].miss), 1, 1000, &r);
		if (r.count != 0) {
			printf("# %s: %s\n", leak_kinds[i].name, leak_kinds[i].miss);
			CHECK(false);
		}
		CHECK_STR(r.out.data, leak_kinds[i].miss);
		result_done(&r);
		leak_scanner_free(sc);
	}
}

/* ---- pieces ---- */

static void same_in_pieces(const struct leak_scanner *sc, const void *data, size_t len,
			   const char *what) {
	struct result whole;
	result_init(&whole);
	scan_pieces(sc, data, len, len, len, &whole);
	for (size_t cut = 0; cut < len; cut++) {
		struct result r;
		result_init(&r);
		scan_pieces(sc, data, len, cut == 0 ? 1 : cut, cut == 0 ? 1 : len, &r);
		if (!result_same(&whole, &r)) {
			printf("# %s cut at %zu:\n%s# not:\n%s# %s\n# %s\n", what, cut,
			       r.findings.data, whole.findings.data, r.out.data, whole.out.data);
			CHECK(false);
			result_done(&r);
			break;
		}
		result_done(&r);
	}
	result_done(&whole);
}

TEST(every_split_gives_the_result_of_one_piece) {
	struct leak_scanner *sc = scanner_of(&(struct leak_rules){.key = test_key});
	for (size_t i = 0; i < leak_kind_count; i++) {
		for (enum encoding outer = 0; outer < ENC_COUNT; outer++) {
			enum encoding inner =
				(i + outer) % 5 == 0 ? (i + 3 * outer) % ENC_COUNT : 0;
			struct buf text;
			if (i % ENC_COUNT != outer && outer != 0) {
				continue;
			}
			buf_init(&text);
			example(i, outer, inner, i % 3, &text);
			same_in_pieces(sc, text.data, text.len, leak_kinds[i].name);
			buf_done(&text);
		}
	}
	leak_scanner_free(sc);
}

TESTS_MAIN
