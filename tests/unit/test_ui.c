/* SPDX-License-Identifier: Apache-2.0 */
/* The escaper of the page, values of forms, invitations and cookies. */
#include "ui/html.h"

#include "http/form.h"
#include "ui/auth.h"

#include "test.h"

#include <sodium.h>
#include <string.h>

/* ---- html.c ---- */

static bool escapes(const char *text, size_t len, const char *wanted) {
	struct buf b;

	buf_init(&b);
	html_text(&b, text, len);
	bool same = strcmp(b.len == 0 ? "" : b.data, wanted) == 0;
	if (!same) {
		printf("# got %s, wanted %s\n", b.data, wanted);
	}
	buf_done(&b);
	return same;
}

TEST(a_value_is_text) {
	static const struct {
		const char *text, *html;
	} rows[] = {
		{"plain, ünïcode ✓ 🔒", "plain, ünïcode ✓ 🔒"},
		{"<a href=\"x\" title='y'>&", "&lt;a href=&#34;x&#34; title=&#39;y&#39;&gt;&amp;"},
		{"\x1b[31m", "<b class=c>^[</b>[31m"},
		{"a\tb\nc\r\nd\re", "a\tb\nc\nd<b class=c>^M</b>e"},
		{"\x7f\x01", "<b class=c>^?</b><b class=c>^A</b>"},
		{"\xc2\x9b", "<b class=c>U+009B</b>"},          /* CSI as one character */
		{"\xe2\x80\xae", "<b class=c>U+202E</b>"},      /* right-to-left override */
		{"\xe2\x81\xa6", "<b class=c>U+2066</b>"},      /* an isolate */
		{"\xf3\xa0\x81\x81", "<b class=c>U+E0041</b>"}, /* a tag */
		{"\xe3\x85\xa4", "<b class=c>U+3164</b>"},      /* a letter without a sign */
		{"e\xcc\x81\xcc\x81\xcc\x81", "e\xcc\x81\xcc\x81\xcc\x81"},
		{"e\xcc\x81\xcc\x81\xcc\x81\xcc\x81", /* marks that would cover the lines above */
		 "e\xcc\x81\xcc\x81\xcc\x81<b class=c>U+0301</b>"},
		{"\xff\xc0\xaf", "&#xfffd;&#xfffd;&#xfffd;"}, /* not UTF-8; a long form of '/' */
		{"\xed\xa0\x80", "&#xfffd;&#xfffd;&#xfffd;"}, /* a surrogate */
		{"\xe2\x80", "&#xfffd;&#xfffd;"},             /* cut */
		{"\xf4\x90\x80\x80", "&#xfffd;&#xfffd;&#xfffd;&#xfffd;"},
	};

	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		CHECK(escapes(rows[i].text, strlen(rows[i].text), rows[i].html));
	}
	CHECK(escapes("a\0b", 3, "a<b class=c>^@</b>b"));
}

/* Every byte alone and after a lead byte: no markup and no control character comes out. */
TEST(no_byte_is_markup) {
	static const unsigned char leads[] = {'x', 0xc2, 0xe2, 0xf0, '\r', '&'};

	for (size_t k = 0; k < sizeof leads; k++) {
		for (int c = 0; c < 256; c++) {
			const char text[] = {(char)leads[k], (char)c};
			struct buf b;
			buf_init(&b);
			html_text(&b, text, sizeof text);
			for (size_t i = 0; i < b.len; i++) {
				unsigned char out = (unsigned char)b.data[i];
				bool control =
					(out < 0x20 && out != '\n' && out != '\t') || out == 0x7f;
				bool tag = out == '<' &&
					   strncmp(b.data + i, "<b class=c>", 11) != 0 &&
					   strncmp(b.data + i, "</b>", 4) != 0;
				CHECK(!control && !tag && out != '"' && out != '\'');
			}
			buf_done(&b);
		}
	}
}

TEST(a_format_escapes_its_values) {
	struct buf b;

	buf_init(&b);
	html_put(&b, "<i>%s</i> %d %u 100%%", "<x>", (long long)-7, (size_t)8);
	CHECK_STR(b.data, "<i>&lt;x&gt;</i> -7 8 100%");
	buf_done(&b);
	buf_init(&b);
	html_url(&b, "a/b?c=d&\"\n");
	CHECK_STR(b.data, "a%2Fb%3Fc%3Dd%26%22%0A");
	buf_done(&b);
}

/* ---- form.c ---- */

static bool has(const char *form, const char *name, const char *wanted) {
	const struct http_span span = {(const uint8_t *)form, strlen(form)};
	char out[8];
	bool found = http_form_value(span, name, out, sizeof out);

	return wanted == NULL ? !found && out[0] == '\0' : found && strcmp(out, wanted) == 0;
}

TEST(a_form_has_one_value_or_none) {
	CHECK(has("a=1&b=2", "b", "2"));
	CHECK(has("a=x%20y+z", "a", "x y z"));
	CHECK(has("a=", "a", ""));
	CHECK(has("ab=1&a=2", "a", "2"));
	CHECK(has("a=1&a=2", "a", NULL));
	CHECK(has("b=1", "a", NULL));
	CHECK(has("a", "a", NULL));
	CHECK(has("", "a", NULL));
	CHECK(has("a=%00", "a", NULL));
	CHECK(has("a=%2", "a", NULL));
	CHECK(has("a=%", "a", NULL));
	CHECK(has("a=%zz", "a", NULL));
	CHECK(has("a=1234567", "a", "1234567"));
	CHECK(has("a=12345678", "a", NULL));
}

/* ---- auth.c ---- */

TEST(an_invitation_is_valid_once_and_for_a_time) {
	static struct auth a;
	if (sodium_init() < 0) {
		abort();
	}
	char token[TOKEN_TEXT_LENGTH + 1], other[TOKEN_TEXT_LENGTH + 1],
		cookie[TOKEN_TEXT_LENGTH + 1];

	auth_invite(&a, token, 1000);
	CHECK(auth_is_invited(&a, token, 1001) && auth_is_invited(&a, token, 1002));
	CHECK(!auth_is_invited(&a, token, 1000 + INVITATION_MS));
	CHECK(auth_enter(&a, token, cookie, 1003));
	CHECK(!auth_enter(&a, token, cookie, 1004) && !auth_is_invited(&a, token, 1004));
	CHECK(memmem(&a, sizeof a, token + 7, 32) == NULL);
	CHECK(memmem(&a, sizeof a, cookie + 7, 32) == NULL);
	auth_invite(&a, token, 2000);
	for (int i = 0; i < INVITATIONS_MAX; i++) { /* the oldest goes */
		auth_invite(&a, other, 2001 + i);
	}
	CHECK(!auth_enter(&a, token, cookie, 3000) && auth_enter(&a, other, cookie, 3000));
	CHECK(!auth_enter(&a, "", cookie, 3000) && !auth_enter(&a, "corral_", cookie, 3000));
}

TESTS_MAIN
