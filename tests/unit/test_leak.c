/* SPDX-License-Identifier: Apache-2.0 */
#include "leak_world.h"

#include "leak/scan.h"

/* The example of a kind by its name. */
static const char *example_of(const char *name) {
	for (size_t i = 0; i < leak_kind_count; i++) {
		if (strcmp(leak_kinds[i].name, name) == 0) {
			return leak_kinds[i].match;
		}
	}
	return "";
}

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
	/* Longer than LEAK_PROBE_MAX: the bytes around a window are known. */
	buf_puts(&plain,
		 " } and more text, so that the end of this piece is far away from the secret");
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

/* Places at which a text is cut, and the first of them; 0: every byte alone, which stops at every
 * prefix.  Sanitized, each costs ten times as much. */
#ifdef __SANITIZE_ADDRESS__
#define CUTS 6
#define FIRST_CUT(len) ((len) % 8 == 0 ? 0 : 1)
#else
#define CUTS 64
#define FIRST_CUT(len) 0
#endif

static void same_in_pieces(const struct leak_scanner *sc, const void *data, size_t len,
			   const char *what) {
	struct result whole;
	result_init(&whole);
	scan_pieces(sc, data, len, len, len, &whole);
	for (size_t cut = FIRST_CUT(len); cut < len; cut += 1 + len / CUTS) {
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
		enum encoding outer = i % ENC_COUNT;
		enum encoding inner = i % 5 == 0 ? (3 * i) % ENC_COUNT : ENC_RAW;
		struct buf text;
		buf_init(&text);
		example(i, outer, inner, i % 3, &text);
		same_in_pieces(sc, text.data, text.len, leak_kinds[i].name);
		buf_done(&text);
	}
	leak_scanner_free(sc);
}

/* Three secrets on three lines look like one wrapped text.  42 bytes need no padding. */
static void check_three_lines(const struct leak_scanner *sc, enum encoding how, const char *eol) {
	struct buf line, text;
	struct result r;
	buf_init(&line);
	buf_init(&text);
	result_init(&r);
	buf_printf(&line, "a=%s", example_of("github-token"));
	for (int i = 0; i < 3; i++) {
		encode(how, line.data, line.len, &text);
		buf_puts(&text, eol);
	}
	scan_pieces(sc, text.data, text.len, text.len, text.len, &r);
	if (r.count != 3) {
		printf("# %s: %s\n", encodings[how], r.findings.data);
	}
	CHECK_INT(r.count, 3);
	same_in_pieces(sc, text.data, text.len, encodings[how]);
	result_done(&r);
	buf_done(&text);
	buf_done(&line);
}

TEST(encoded_secrets_on_consecutive_lines_are_all_found) {
	static const enum encoding ways[] = {ENC_RAW, ENC_BASE64, ENC_BASE64URL, ENC_HEX,
					     ENC_URL_ALL};
	struct leak_scanner *sc = scanner_of(&(struct leak_rules){.key = test_key});
	for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
		check_three_lines(sc, ways[i], "\n");
		check_three_lines(sc, ways[i], "\r\n");
	}
	leak_scanner_free(sc);
}

/* ---- streams ---- */

static struct leak_stream *redacting(const struct leak_scanner *sc, struct result *r) {
	result_init(r);
	return leak_stream_new(sc, keep_finding, keep_output, r);
}

TEST(a_prompt_is_not_held_back) {
	struct leak_scanner *sc = scanner_of(&(struct leak_rules){.key = test_key});
	struct result r;
	struct leak_stream *s = redacting(sc, &r);
	CHECK(leak_stream_feed(s, "user@host:~$ ", 13) == 0);
	CHECK_INT(leak_stream_held(s), 0);
	CHECK_STR(r.out.data, "user@host:~$ ");
	leak_stream_free(s);
	result_done(&r);
	leak_scanner_free(sc);
}

TEST(after_a_flush_the_rest_of_a_secret_is_replaced) {
	struct leak_scanner *sc = scanner_of(&(struct leak_rules){.key = test_key});
	struct result r;
	struct leak_stream *s = redacting(sc, &r);
	const char *token = example_of("github-token");
	CHECK(leak_stream_feed(s, token, 10) == 0);
	CHECK_INT(leak_stream_held(s), 10);
	CHECK(leak_stream_flush(s) == 0);
	CHECK_INT(r.out.len, 10);
	CHECK(leak_stream_feed(s, token + 10, strlen(token) - 10) == 0);
	CHECK(leak_stream_end(s) == 0);
	CHECK_INT(r.count, 1);
	CHECK_STR(r.out.data + 10, "[redacted:github-token]");
	leak_stream_free(s);
	result_done(&r);
	leak_scanner_free(sc);
}

TEST(a_flush_keeps_a_secret_that_is_complete) {
	struct leak_scanner *sc = scanner_of(&(struct leak_rules){.key = test_key});
	struct result r;
	struct leak_stream *s = redacting(sc, &r);
	const char *token = example_of("github-token");
	/* The stream may go on with another letter of it, so its end is not known. */
	CHECK(leak_stream_feed(s, "key: ", 5) == 0);
	CHECK(leak_stream_feed(s, token, strlen(token)) == 0);
	CHECK(leak_stream_held(s) > 0);
	CHECK(leak_stream_flush(s) == 0);
	CHECK_STR(r.out.data, "key: ");
	CHECK_INT(r.count, 0);
	CHECK(leak_stream_end(s) == 0);
	CHECK_INT(r.count, 1);
	CHECK_STR(r.out.data, "key: [redacted:github-token]");
	leak_stream_free(s);
	result_done(&r);
	leak_scanner_free(sc);
}

TEST(the_body_of_a_private_key_is_dropped_and_not_held) {
	struct leak_scanner *sc = scanner_of(&(struct leak_rules){.key = test_key});
	struct result r;
	struct leak_stream *s = redacting(sc, &r);
	static const char begin[] = "a -----BEGIN RSA PRIVATE "
				    "KEY-----\n";
	static const char end[] = "-----END RSA PRIVATE KEY----- b";
	static const char line[] =
		"MIIEowIBAAKCAQEAwJw3kd8sKq0l1Zs9mQeUq4p2sB7xYtGm0nVfLk6hJcR5aTz8\n";
	CHECK(leak_stream_feed(s, begin, strlen(begin)) == 0);
	for (size_t i = 0; i < 100; i++) {
		CHECK(leak_stream_feed(s, line, strlen(line)) == 0);
		CHECK_INT(leak_stream_held(s), 0);
	}
	CHECK(leak_stream_feed(s, end, strlen(end)) == 0);
	CHECK(leak_stream_end(s) == 0);
	CHECK_INT(r.count, 1);
	CHECK(strstr(r.out.data, "MIIE") == NULL);
	CHECK(strstr(r.out.data, "[redacted:private-key-rsa]-----END RSA") != NULL);
	leak_stream_free(s);
	result_done(&r);
	leak_scanner_free(sc);
}

/* A key whose lines have marks: a patch, a quotation, cat -n, grep -n. */
TEST(a_private_key_behind_marks_is_found_and_dropped_to_its_end) {
	static const char *const marks[] = {"-",      "+",   "> ",  "> > ", "| ",
					    "  %d\t", "%d:", "%d-", "  "};
	static const char *const lines[] = {
		"-----BEGIN RSA PRIVATE "
		"KEY-----",
		"MIIEowIBAAKCAQEAwJw3kd8sKq0l1Zs9mQeUq4p2sB7xYtGm0nVfLk6hJcR5aTz8",
		"Qw8sKq0l1Zs9mQeUq4p2sB7xYtGm0nVfLk6hJcR5aTz8wJw3kd8sKq0l1Zs9mQeU",
		"4p2sB7xYtGm0nVfLk6hJcR5aTz8wJw==", "-----END RSA PRIVATE KEY-----"};
	struct leak_scanner *sc = scanner_of(&(struct leak_rules){.key = test_key});
	for (size_t i = 0; i < sizeof marks / sizeof marks[0]; i++) {
		struct buf text;
		struct result r;
		buf_init(&text);
		result_init(&r);
		buf_puts(&text, "before\n");
		for (int k = 0; k < 5; k++) {
			char mark[16];
			const char *number = strstr(marks[i], "%d");
			(void)snprintf(mark, sizeof mark, "%.*s%d%s",
				       number == NULL ? 0 : (int)(number - marks[i]), marks[i],
				       k + 8, number == NULL ? "" : number + 2);
			buf_puts(&text, number == NULL ? marks[i] : mark);
			buf_puts(&text, lines[k]);
			buf_puts(&text, "\n");
		}
		buf_puts(&text, "after\n");
		scan_pieces(sc, text.data, text.len, text.len, text.len, &r);
		CHECK_INT(r.count, 1);
		CHECK(strstr(r.out.data, "wJw3kd8") == NULL &&
		      strstr(r.out.data, "4p2sB7x") == NULL);
		CHECK(strstr(r.out.data, "-----END RSA PRIVATE KEY-----\nafter") != NULL);
		same_in_pieces(sc, text.data, text.len, marks[i]);
		result_done(&r);
		buf_done(&text);
	}
	leak_scanner_free(sc);
}

TEST(a_value_is_found_in_every_view_and_a_short_one_is_refused) {
	static const char text[] = "the password is correct horse\nbattery today";
	struct leak_value value = {"DB_PASSWORD", "correct horse\nbattery", 21};
	struct leak_scanner *sc =
		scanner_of(&(struct leak_rules){.key = test_key, .values = &value, .nvalues = 1});
	struct err e = {0};
	for (enum encoding how = 0; how < ENC_COUNT; how++) {
		struct buf coded;
		struct result r;
		buf_init(&coded);
		result_init(&r);
		encode(how, text, strlen(text), &coded);
		scan_pieces(sc, coded.data, coded.len, 1, 5, &r);
		if (r.count != 1) {
			printf("# %s\n", encodings[how]);
		}
		CHECK_INT(r.count, 1);
		CHECK(r.count != 1 || strncmp(r.findings.data, "DB_PASSWORD ", 12) == 0);
		buf_done(&coded);
		result_done(&r);
	}
	leak_scanner_free(sc);
	value.len = 7;
	CHECK(leak_scanner_new(&(struct leak_rules){.values = &value, .nvalues = 1}, &e) == NULL);
	CHECK_INT(e.kind, ERR_USAGE);
}

TEST(an_allowed_fingerprint_is_no_finding_and_depends_on_the_key) {
	const char *token = example_of("github-token");
	char mark[LEAK_FINGERPRINT], other[LEAK_FINGERPRINT];
	const unsigned char second[LEAK_KEY] = "another key";
	const char *allow[] = {mark};
	struct result r;
	leak_fingerprint(test_key, token, strlen(token), mark);
	leak_fingerprint(second, token, strlen(token), other);
	CHECK(strcmp(mark, other) != 0);
	struct leak_scanner *sc =
		scanner_of(&(struct leak_rules){.key = test_key, .allow = allow, .nallow = 1});
	result_init(&r);
	scan_pieces(sc, token, strlen(token), 3, 100, &r);
	CHECK_INT(r.count, 0);
	CHECK_STR(r.out.data, token);
	result_done(&r);
	leak_scanner_free(sc);
}

/* Every prefilter finds the same on the same bytes. */
TEST(every_implementation_gives_the_same_result) {
	struct leak_value value = {"VALUE", "\xc3\xa9t\xc3\xa9-is-french", 15};
	struct leak_scanner *sc =
		scanner_of(&(struct leak_rules){.key = test_key, .values = &value, .nvalues = 1});
	struct buf text;
	struct result want;
	buf_init(&text);
	for (size_t i = 0; i < leak_kind_count; i++) {
		buf_printf(&text, "%s\n%s and words between them, %.15s too\n", leak_kinds[i].match,
			   leak_kinds[i].miss, (const char *)value.data);
	}
	result_init(&want);
	sc->simd = LEAK_PORTABLE;
	scan_pieces(sc, text.data, text.len, text.len, text.len, &want);
	CHECK(want.count >= leak_kind_count * 19 / 10);
	for (enum leak_simd simd = LEAK_AVX2; simd <= leak_prefilter_choose(); simd++) {
		struct result r;
		result_init(&r);
		sc->simd = simd;
		scan_pieces(sc, text.data, text.len, 1000, 4097, &r);
		CHECK(result_same(&want, &r));
		result_done(&r);
	}
	for (size_t at = 0; at + 64 <= text.len; at += 61) {
		struct leak_masks a, b;
		leak_masks_portable((const unsigned char *)text.data + at, &a);
		leak_masks_choose()((const unsigned char *)text.data + at, &b);
		CHECK(memcmp(&a, &b, sizeof a) == 0);
	}
	result_done(&want);
	buf_done(&text);
	leak_scanner_free(sc);
}

TESTS_MAIN
