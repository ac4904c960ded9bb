/* SPDX-License-Identifier: Apache-2.0 */
/* corral.exe: the command line that CreateProcessW gets, and UTF-16. */
#include "test.h"

#include "base/auto.h"
#include "windows/quote.h"
#include "windows/utf16.h"

#include <stdint.h>

/* ---- quoting ---- */

/* A second implementation of what CommandLineToArgvW documents: 2n backslashes before a quote are n
 * and the quote begins or ends; 2n + 1 are n and a quote; others are themselves.  Splits the
 * arguments after the program; returns their number. */
static size_t split(const char *line, char out[][512], size_t max) {
	size_t n = 0;

	line = *line == '"' ? strchr(line + 1, '"') + 1 : line + strcspn(line, " \t");
	while (n < max) {
		size_t len = 0;
		bool quoted = false;
		line += strspn(line, " \t");
		if (*line == '\0') {
			return n;
		}
		while (*line != '\0' && (quoted || (*line != ' ' && *line != '\t'))) {
			size_t slashes = strspn(line, "\\");
			line += slashes;
			bool before_quote = *line == '"';
			for (size_t i = 0; i < (before_quote ? slashes / 2 : slashes); i++) {
				out[n][len++] = '\\';
			}
			if (before_quote && slashes % 2 == 1) {
				out[n][len++] = '"';
				line++;
			} else if (before_quote) {
				quoted = !quoted;
				line++;
			} else if (slashes == 0) {
				out[n][len++] = *line++;
			}
		}
		out[n++][len] = '\0';
	}
	return n;
}

static void check_round_trip(const char *const *argv, size_t n) {
	static char got[16][512];
	struct buf line;
	struct err e = {0};

	buf_init(&line);
	CHECK_INT(quote_line(argv, n, &line, &e), 0);
	CHECK_INT(split(line.data, got, ARRAY_LEN(got)), n - 1);
	for (size_t i = 1; i < n; i++) {
		CHECK_STR(got[i - 1], argv[i]);
	}
	buf_done(&line);
}

TEST(quoting_is_exact_for_awkward_arguments) {
	static const char *const words[] = {
		"C:\\Program Files\\x.exe",
		"",
		" ",
		"a b",
		"a\\",
		"a b\\",
		"a\\\\ b\\",
		"\"",
		"\\\"",
		"a\\\\\"b",
		"--x=\"y z\\\\\"",
		"\\\\s\\d",
		"tab\there",
		"%PATH%",
		"caf\xC3\xA9",
	};
	check_round_trip(words, ARRAY_LEN(words));
}

TEST(quoting_is_exact_for_random_arguments) {
	static const char letters[] = "ab \\\\\\\"\"\t/&^%";
	uint32_t seed = 1;

	for (int turn = 0; turn < 20000; turn++) {
		char words[3][24];
		const char *argv[4] = {"x.exe", words[0], words[1], words[2]};
		for (size_t w = 0; w < 3; w++) {
			seed = seed * 1664525 + 1013904223;
			size_t len = (seed >> 16) % 12;
			for (size_t i = 0; i < len; i++) {
				seed = seed * 1664525 + 1013904223;
				words[w][i] = letters[(seed >> 16) % (sizeof letters - 1)];
			}
			words[w][len] = '\0';
		}
		check_round_trip(argv, ARRAY_LEN(argv));
	}
}

TEST(plain_arguments_are_not_quoted) {
	const char *const argv[] = {"x.exe", "plain", "/c", "a\\b", "two words"};
	struct buf line;
	struct err e = {0};

	buf_init(&line);
	CHECK_INT(quote_line(argv, ARRAY_LEN(argv), &line, &e), 0);
	CHECK_STR(line.data, "\"x.exe\" plain /c a\\b \"two words\"");
	buf_done(&line);
}

TEST(a_program_with_a_quote_or_too_many_arguments_is_refused) {
	static char longest[QUOTE_LINE_MAX + 1];
	const char *const quoted[] = {"x\".exe"}, *const none[] = {""},
			  *const binary[] = {"x", "\xFF"};
	const char *const large[] = {"x.exe", longest};
	struct buf line;
	struct err e = {0};

	memset(longest, 'a', sizeof longest - 1);
	buf_init(&line);
	CHECK_INT(quote_line(quoted, 1, &line, &e), -1);
	CHECK_INT(quote_line(none, 1, &line, &e), -1);
	line.len = 0;
	CHECK_INT(quote_line(binary, 2, &line, &e), -1);
	line.len = 0;
	CHECK_INT(quote_line(large, 2, &line, &e), -1);
	CHECK(strstr(e.what, "32766") != NULL);
	buf_done(&line);
}

TEST(batch_files_and_streams_are_refused_as_programs) {
	static const char *const refused[] = {"x.bat",       "C:\\a\\X.CMD", "x.bat.",
					      "x.cmd . ",    "C:/a.b/x.Bat", "x.exe:y.bat",
					      "x.bat::$DATA"};
	static const char *const accepted[] = {"x.exe",   "x.com",        "bat",
					       "x.batch", "a.bat\\x.exe", "C:\\x.exe"};
	struct err e;

	for (size_t i = 0; i < ARRAY_LEN(refused); i++) {
		CHECK_INT(quote_check_program(refused[i], &e), -1);
		CHECK_INT(e.kind, ERR_NO_EXEC);
	}
	for (size_t i = 0; i < ARRAY_LEN(accepted); i++) {
		CHECK_INT(quote_check_program(accepted[i], &e), 0);
	}
}

/* ---- UTF-16 ---- */

TEST(text_survives_utf16) {
	static const char *const texts[] = {"", "abc", "caf\xC3\xA9", "\xE2\x82\xAC",
					    "\xF0\x9F\x90\x8E\xEF\xBF\xBD"};
	struct buf back;

	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		size_t n = 0;
		auto_free uint16_t *units = utf16_new(texts[i], &n);
		REQUIRE(units != NULL);
		CHECK_INT(utf16_count(units), n);
		buf_init(&back);
		CHECK(utf16_text(units, n, &back));
		CHECK_STR(back.len == 0 ? "" : back.data, texts[i]);
		buf_done(&back);
	}
	CHECK_INT(utf16_length("\xF0\x9F\x90\x8E"), 2);
}

TEST(text_that_is_not_unicode_is_not_converted) {
	static const uint16_t alone[] = {0xD800}, low[] = {0xDC00, 'a'}, twice[] = {0xD800, 0xD800};
	struct buf out;

	CHECK(utf16_new("\xC3", NULL) == NULL);
	CHECK(utf16_new("\xED\xA0\x80", NULL) == NULL); /* a surrogate in UTF-8 */
	buf_init(&out);
	CHECK(!utf16_text(alone, 1, &out));
	CHECK(!utf16_text(low, 2, &out));
	CHECK(!utf16_text(twice, 2, &out));
	buf_done(&out);
}

TESTS_MAIN
