/* SPDX-License-Identifier: Apache-2.0 */
/* A proxy's side of SOCKS. */
#include "net/socks.h"

#include "base/auto.h"
#include "test.h"

static struct socks s;
static uint8_t said[64];
static size_t said_len;

/* The conversation in pieces of step bytes, as a caller leads it. */
static enum sniff talk(const char *bytes, size_t len, size_t step) {
	enum sniff told = SNIFF_MORE;
	size_t come = 0, read = 0;
	s = (struct socks){0};
	said_len = 0;
	while (told == SNIFF_MORE && come < len) {
		size_t used = 0;
		come = len - come < step ? len : come + step;
		told = socks_read(&s, (const uint8_t *)bytes + read, come - read, &used);
		memcpy(said + said_len, s.answer, s.answer_len);
		said_len += s.answer_len;
		read += used;
	}
	return told;
}

static void leads_to(const char *bytes, size_t len, enum sniff want) {
	for (size_t step = 1; step <= len; step++) {
		enum sniff got = talk(bytes, len, step);
		if (got != want) {
			printf("# in pieces of %zu: %d, not %d: %s\n", step, got, want,
			       s.why == NULL ? "" : s.why);
			CHECK(false);
		}
	}
}

#define LEADS_TO(bytes, want) leads_to(bytes, sizeof(bytes) - 1, want)

static void says(const char *bytes, size_t len) {
	CHECK_INT(said_len, len);
	CHECK(memcmp(said, bytes, len) == 0);
}

#define SAYS(bytes) says(bytes, sizeof(bytes) - 1)
#define GREETING "\5\1\0"
#define NOBODY "\0\1\0\0\0\0\0\0"

TEST(a_name_an_ipv4_and_an_ipv6_address) {
	char text[IP_TEXT];
	LEADS_TO(GREETING "\5\1\0\3\x0c"
			  "Allowed.Test\1\xbb",
		 SNIFF_DONE);
	SAYS("\5\0");
	CHECK_STR(s.host.name, "allowed.test");
	CHECK_INT(s.port, 443);
	CHECK_INT(s.version, 5);
	LEADS_TO(GREETING "\5\1\0\1\x0b\0\0\x0a\0\x50", SNIFF_DONE);
	CHECK_INT(s.host.kind, HOST_IP);
	CHECK(ip_is4(&s.host.ip));
	LEADS_TO(GREETING "\5\1\0\4\x20\1\0\0\0\0\0\0\0\0\0\0\0\0\0\1\0\x50", SNIFF_DONE);
	(void)ip_text(&s.host.ip, text);
	CHECK_STR(text, "2001::1");
}

TEST(a_mapped_address_is_the_ipv4_one) {
	LEADS_TO(GREETING "\5\1\0\4\0\0\0\0\0\0\0\0\0\0\xff\xff\x7f\0\0\1\0\x50", SNIFF_DONE);
	CHECK(ip_is4(&s.host.ip));
}

/* PX13. */
TEST(a_name_that_spells_an_address_is_one) {
	LEADS_TO(GREETING "\5\1\0\3\x09"
			  "184549442\0\x50",
		 SNIFF_DONE);
	CHECK_INT(s.host.kind, HOST_IP);
	LEADS_TO("\4\1\0\x50\0\0\0\1\0"
		 "0x7f.1\0",
		 SNIFF_DONE);
	CHECK_INT(s.host.kind, HOST_IP);
}

TEST(no_authentication_is_chosen_among_others) {
	LEADS_TO("\5\3\2\1\0\5\1\0\3\1a\0\x50", SNIFF_DONE);
	SAYS("\5\0");
	LEADS_TO("\5\1\2", SNIFF_BAD);
	SAYS("\5\xff");
	LEADS_TO("\5\2\1\2\0", SNIFF_BAD); /* the 0 is behind the list */
	SAYS("\5\xff");
	LEADS_TO("\5\0", SNIFF_BAD);
	SAYS("\5\xff");
}

/* PX39. */
TEST(what_is_not_connect_is_refused) {
	LEADS_TO(GREETING "\5\2\0\1\0\0\0\0\0\0", SNIFF_BAD);
	SAYS("\5\0"
	     "\5\7" NOBODY);
	LEADS_TO(GREETING "\5\3\0\1\0\0\0\0\0\0", SNIFF_BAD);
	SAYS("\5\0"
	     "\5\7" NOBODY);
	LEADS_TO(GREETING "\5\1\0\0\0\0\0\0\0\0", SNIFF_BAD);
	SAYS("\5\0"
	     "\5\x08" NOBODY);
	LEADS_TO(GREETING "\5\1\0\xff\0\0\0\0\0\0", SNIFF_BAD);
	SAYS("\5\0"
	     "\5\x08" NOBODY);
	LEADS_TO(GREETING "\5\1\1\1\0\0\0\0\0\0", SNIFF_BAD);
	LEADS_TO(GREETING "\4\1\0\1\0\0\0\0\0\0", SNIFF_BAD);
	LEADS_TO("\4\2\0\x50\x0b\0\0\x0a\0", SNIFF_BAD);
	SAYS("\0\x5b\0\0\0\0\0\0");
}

/* PX19, PX20. */
TEST(what_is_no_host_is_refused) {
	LEADS_TO(GREETING "\5\1\0\3\x12"
			  "evil.test\0.ok.test\0\x50",
		 SNIFF_BAD);
	SAYS("\5\0"
	     "\5\1" NOBODY);
	LEADS_TO(GREETING "\5\1\0\3\0\0\x50", SNIFF_BAD);
	LEADS_TO(GREETING "\5\1\0\3\4"
			  "a..b\0\x50",
		 SNIFF_BAD);
	LEADS_TO(GREETING "\5\1\0\3\3"
			  "a b\0\x50",
		 SNIFF_BAD);
	LEADS_TO(GREETING "\5\1\0\3\1"
			  "a\0\0",
		 SNIFF_BAD); /* port 0 */
	LEADS_TO("\4\1\0\x50\0\0\0\1\0\0", SNIFF_BAD);
	SAYS("\0\x5b\0\0\0\0\0\0");
	CHECK(s.why != NULL);
}

/* PX40. */
TEST(version_4_with_an_address_and_with_a_name) {
	LEADS_TO("\4\1\0\x50\x0b\0\0\x0auser\0", SNIFF_DONE);
	CHECK_INT(s.host.kind, HOST_IP);
	CHECK_INT(s.version, 4);
	SAYS("");
	LEADS_TO("\4\1\1\xbb\0\0\0\7user\0allowed.test\0", SNIFF_DONE);
	CHECK_STR(s.host.name, "allowed.test");
	CHECK_INT(s.port, 443);
	LEADS_TO("\4\1\0\x50\0\0\0\0\0", SNIFF_DONE);
	CHECK_INT(s.host.kind, HOST_IP); /* 0.0.0.0, which is for the rules to refuse */
}

TEST(short_messages_wait) {
	LEADS_TO("\5", SNIFF_MORE);
	LEADS_TO("\5\2\0", SNIFF_MORE);
	LEADS_TO(GREETING "\5\1\0\3\x0c"
			  "allowed.test\1",
		 SNIFF_MORE);
	LEADS_TO("\4\1\0\x50\0\0\0\1user\0allowed.test", SNIFF_MORE);
	LEADS_TO("\4\1\0\x50\x0b\0\0\x0a", SNIFF_MORE);
}

TEST(somebody_who_does_not_speak_socks_gets_no_answer) {
	LEADS_TO("GET / HTTP/1.1\r\n", SNIFF_BAD);
	SAYS("");
	LEADS_TO("\x16\x03\x01", SNIFF_BAD);
	SAYS("");
}

TEST(a_user_without_end_is_refused_at_the_bound) {
	char text[2 * SOCKS_MAX] = "\4\1\0\x50\x0b\0\0\x0a";
	memset(text + 8, 'a', sizeof text - 8);
	CHECK_INT(talk(text, SOCKS_MAX - 1, 100), SNIFF_MORE);
	CHECK_INT(talk(text, sizeof text, 1), SNIFF_BAD);
	SAYS("\0\x5b\0\0\0\0\0\0");
	CHECK_INT(talk(text, sizeof text, sizeof text), SNIFF_BAD);
}

TEST(what_comes_behind_the_request_is_not_read) {
	static const char bytes[] = "\4\1\0\x50\x0b\0\0\x0a\0GET";
	size_t used = 0;
	s = (struct socks){0};
	CHECK_INT(socks_read(&s, (const uint8_t *)bytes, sizeof bytes - 1, &used), SNIFF_DONE);
	CHECK_INT(used, 9);
	CHECK_INT(socks_read(&s, (const uint8_t *)bytes, sizeof bytes - 1, &used), SNIFF_BAD);
	CHECK_INT(used, 0);
}

TEST(replies_in_each_versions_words) {
	static const struct {
		enum socks_outcome outcome;
		int five, four;
	} rows[] = {{SOCKS_GRANTED, 0, 90},
		    {SOCKS_REFUSED_BY_RULE, 2, 91},
		    {SOCKS_UNREACHABLE, 4, 91},
		    {SOCKS_CONNECTION_REFUSED, 5, 91},
		    {SOCKS_FAILED, 1, 91}};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		uint8_t out[SOCKS_REPLY_MAX];
		s = (struct socks){.version = 5};
		CHECK_INT(socks_reply(&s, rows[i].outcome, out), 10);
		CHECK_INT(out[0], 5);
		CHECK_INT(out[1], rows[i].five);
		s.version = 4;
		CHECK_INT(socks_reply(&s, rows[i].outcome, out), 8);
		CHECK_INT(out[0], 0);
		CHECK_INT(out[1], rows[i].four);
	}
}

TESTS_MAIN
