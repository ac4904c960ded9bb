/* SPDX-License-Identifier: Apache-2.0 */
/* Changes in words: the difference of two texts, and names as they are shown. */
#include "test.h"

#include "base/auto.h"
#include "base/str.h"
#include "cow/cow.h"

/* ---- texts ---- */

static char *diff_of(const char *was, const char *is) {
	struct buf out;
	struct err e = {0};
	struct cow_text a = {was, strlen(was)}, b = {is, strlen(is)};
	buf_init(&out);
	buf_puts(&out, "");
	CHECK_INT(cow_text_diff(a, b, &out, &e), 0);
	return buf_take(&out);
}

TEST(hunks_are_those_of_a_unified_diff) {
	static const struct {
		const char *was, *is, *diff;
	} rows[] = {
		{"", "", ""},
		{"a\n", "a\n", ""},
		{"", "a\n", "@@ -0,0 +1 @@\n+a\n"},
		{"a\n", "", "@@ -1 +0,0 @@\n-a\n"},
		{"a\nb\nc\n", "a\nc\n", "@@ -1,3 +1,2 @@\n a\n-b\n c\n"},
		{"a\nc\n", "a\nb\nc\n", "@@ -1,2 +1,3 @@\n a\n+b\n c\n"},
		{"a", "b",
		 "@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+b\n\\ No newline at end of "
		 "file\n"},
		{"a\n", "a", "@@ -1 +1 @@\n-a\n+a\n\\ No newline at end of file\n"},
		{"1\n2\n3\n4\n5\n6\n7\n8\n9\n", "1\n2\n3\n4\nx\n6\n7\n8\n9\n",
		 "@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+x\n 6\n 7\n 8\n"},
		{"x\n1\n2\n3\n4\n5\n6\ny\n", "X\n1\n2\n3\n4\n5\n6\nY\n",
		 "@@ -1,8 +1,8 @@\n-x\n+X\n 1\n 2\n 3\n 4\n 5\n 6\n-y\n+Y\n"},
		{"x\n1\n2\n3\n4\n5\n6\n7\ny\n", "X\n1\n2\n3\n4\n5\n6\n7\nY\n",
		 "@@ -1,4 +1,4 @@\n-x\n+X\n 1\n 2\n 3\n@@ -6,4 +6,4 @@\n 5\n 6\n 7\n-y\n+Y\n"},
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		auto_free char *got = diff_of(rows[i].was, rows[i].is);
		CHECK_STR(got, rows[i].diff);
	}
}

/* The n-th line from 1, its newline included; NULL past the end. */
static const char *line_at(const char *text, size_t n, size_t *ret_len) {
	for (size_t i = 1; *text != '\0'; i++) {
		size_t len = strcspn(text, "\n");
		len += text[len] == '\n';
		if (i == n) {
			*ret_len = len;
			return text;
		}
		text += len;
	}
	return NULL;
}

/* A patch program of a few lines: what it makes of the old text. */
static char *patch(const char *was, const char *diff) {
	struct buf out;
	size_t at = 1, len;
	buf_init(&out);
	buf_puts(&out, "");
	for (const char *p = diff; *p != '\0';) {
		size_t n = strcspn(p, "\n");
		n += p[n] == '\n';
		if (*p == '@') {
			size_t from = strtoul(p + 4, NULL, 10);
			size_t count = strchr(p, ',') != NULL && strchr(p, ',') < strchr(p, '+')
					       ? strtoul(strchr(p, ',') + 1, NULL, 10)
					       : 1;
			from += count == 0;
			for (const char *l; at < from && (l = line_at(was, at, &len)) != NULL;
			     at++) {
				buf_add(&out, l, len);
			}
		} else if (*p == '\\') {
			out.data[--out.len] = '\0'; /* the newline before was the diff's own */
		} else if (*p == '-') {
			at++;
			if (p[n] == '\\') {
				p += n;
				n = strcspn(p, "\n") + 1;
			}
		} else {
			at += *p == ' ';
			buf_add(&out, p + 1, n - 1);
		}
		p += n;
	}
	for (const char *l; (l = line_at(was, at, &len)) != NULL; at++) {
		buf_add(&out, l, len);
	}
	return buf_take(&out);
}

static char *random_text(unsigned *seed, size_t lines) {
	struct buf out;
	buf_init(&out);
	buf_puts(&out, "");
	for (size_t i = 0; i < lines; i++) {
		buf_printf(&out, "%d\n", rand_r(seed) % 6);
	}
	if (rand_r(seed) % 3 == 0) {
		buf_puts(&out, "end");
	}
	return buf_take(&out);
}

TEST(a_diff_makes_the_new_text_of_the_old_one) {
	unsigned seed = 7;
	for (int i = 0; i < 3000; i++) {
		auto_free char *was = random_text(&seed, (size_t)(rand_r(&seed) % 40));
		auto_free char *is = random_text(&seed, (size_t)(rand_r(&seed) % 40));
		auto_free char *diff = diff_of(was, is);
		auto_free char *made = patch(was, diff);
		if (!streq(made, is)) {
			printf("# %s\n# %s\n# %s\n", was, is, diff);
		}
		REQUIRE(streq(made, is));
	}
}

TEST(texts_that_share_nothing_are_one_block_within_a_bound) {
	struct buf was, is;
	buf_init(&was);
	buf_init(&is);
	for (int i = 0; i < 20000; i++) {
		buf_printf(&was, "old %d\n", i);
		buf_printf(&is, "new %d\n", i);
	}
	auto_free char *diff = diff_of(was.data, is.data);
	CHECK(str_starts(diff, "@@ -1,20000 +1,20000 @@\n-old 0\n"));
	buf_done(&was);
	buf_done(&is);
}

/* ---- names ---- */

TEST(names_are_quoted_as_git_does) {
	static const struct {
		const char *name, *quoted;
	} rows[] = {
		{"plain", "a/plain"},
		{"with space", "a/with space"},
		{"gr\303\274n", "a/gr\303\274n"},
		{"tab\there", "\"a/tab\\there\""},
		{"quo\"te", "\"a/quo\\\"te\""},
		{"back\\slash", "\"a/back\\\\slash\""},
		{"\033[2J", "\"a/\\033[2J\""},
		{"\377", "\"a/\\377\""},
		{"new\nline", "\"a/new\\nline\""},
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct buf out;
		buf_init(&out);
		cow_quote(&out, "a/", rows[i].name);
		CHECK_STR(out.data, rows[i].quoted);
		buf_done(&out);
	}
}

TESTS_MAIN
