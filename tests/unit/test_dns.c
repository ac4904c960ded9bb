/* SPDX-License-Identifier: Apache-2.0 */
/* DNS messages: what is read of hostile ones, and what is written. */
#include "test.h"

#include "base/auto.h"
#include "net/dns.h"

/* A message that is put together piece by piece. */
struct made {
	uint8_t data[4096];
	size_t len;
};

static void bytes(struct made *m, const void *data, size_t len) {
	if (len > sizeof m->data - m->len) {
		abort();
	}
	memcpy(m->data + m->len, data, len);
	m->len += len;
}

#define TEXT(m, literal) bytes(m, literal, sizeof(literal) - 1)

static void word(struct made *m, unsigned v) {
	const uint8_t two[] = {(uint8_t)(v >> 8), (uint8_t)v};
	bytes(m, two, sizeof two);
}

static void name(struct made *m, const char *text) {
	while (*text != '\0') {
		size_t len = strcspn(text, ".");
		bytes(m, &(uint8_t){(uint8_t)len}, 1);
		bytes(m, text, len);
		text += len + (text[len] == '.');
	}
	bytes(m, "", 1);
}

static void head(struct made *m, unsigned flags, unsigned answers, unsigned additional) {
	m->len = 0;
	word(m, 0x1234);
	word(m, flags);
	word(m, 1);
	word(m, answers);
	word(m, 0);
	word(m, additional);
}

/* The beginning of a record, up to its data. */
static void record(struct made *m, unsigned type, unsigned ttl, unsigned len) {
	word(m, type);
	word(m, 1);
	word(m, 0);
	word(m, ttl);
	word(m, len);
}

static void asked_for(struct made *m, const char *text, unsigned type) {
	name(m, text);
	word(m, type);
	word(m, 1);
}

static void response(struct made *m, const char *text, unsigned answers) {
	head(m, 0x8180, answers, 0);
	asked_for(m, text, DNS_A);
}

static const struct dns_request our_question = {.name = "a.test", .type = DNS_A, .id = 0x1234};

static bool read_made(const struct made *m, struct dns_answer *ret, bool *ret_cut) {
	/* To its length, so that the sanitizer sees a read behind the end. */
	auto_free uint8_t *exact = malloc(m->len + (m->len == 0));
	if (exact == NULL) {
		abort();
	}
	memcpy(exact, m->data, m->len);
	return dns_read_answer(exact, m->len, &our_question, ret, ret_cut);
}

/* -1: it is no answer. */
static int code_of(const struct made *m) {
	struct dns_answer a;
	bool cut = false;
	return read_made(m, &a, &cut) ? a.code : -1;
}

TEST(a_query_of_ours_is_a_question_that_we_can_read) {
	uint8_t out[512];
	struct dns_question q;
	int code = 99;
	for (int plain = 0; plain < 2; plain++) {
		struct dns_request asked = {
			.name = "www.example.com", .type = DNS_AAAA, .id = 7, .plain = plain == 1};
		size_t len = dns_write_query(&asked, out, sizeof out);
		REQUIRE(len > 0);
		REQUIRE(dns_read_question(out, len, &q, &code));
		CHECK_STR(q.host.name, "www.example.com");
		CHECK_INT(q.id, 7);
		CHECK_INT(q.type, DNS_AAAA);
		CHECK(q.recursion && q.edns == (plain == 0));
		CHECK_INT(q.size, plain == 0 ? DNS_UDP_MAX : 512);
		CHECK_INT(dns_write_query(&asked, out, len - 1), 0);
	}
}

TEST(what_is_no_name_is_not_asked_for) {
	uint8_t out[512];
	char longest[300], label[100];
	memset(longest, 'a', sizeof longest);
	longest[254] = '\0';
	memset(label, 'a', sizeof label);
	label[64] = '\0';
	const char *const bad[] = {"", ".", "a..b", ".a", "a.", longest, label};
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		struct dns_request asked = {.name = bad[i], .type = DNS_A};
		CHECK_INT(dns_write_query(&asked, out, sizeof out), 0);
	}
	for (size_t i = 63; i < 253; i += 64) {
		longest[i] = '.';
	}
	longest[253] = '\0';
	struct dns_request asked = {.name = longest, .type = DNS_A};
	size_t len = dns_write_query(&asked, out, sizeof out);
	struct dns_question q;
	int code = 0;
	REQUIRE(len > 0 && dns_read_question(out, len, &q, &code));
	CHECK_STR(q.host.name, longest);
	CHECK_INT(q.nraw, DNS_NAME_MAX + 4);
}

TEST(a_name_that_is_none_is_read_and_said_to_be_bad) {
	static const struct {
		const char *labels;
		size_t len;
	} rows[] = {
		{"\3a.b\4test\0", 10},
		{"\3a b\4test\0", 10},
		{"\3a\0b\4test\0", 10},
		{"\1\xff\0", 3},
		{"\0", 1},
		{"\003127\1\060\1\060\1\061\0", 11},
		{"\2-a\0", 4},
		{"\1*\4test\0", 8},
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct made m;
		struct dns_question q;
		struct dns_answer a = {.code = DNS_NXDOMAIN};
		uint8_t out[512];
		int code = 0;
		head(&m, 0x0100, 0, 0);
		bytes(&m, rows[i].labels, rows[i].len);
		word(&m, DNS_A);
		word(&m, 1);
		REQUIRE(dns_read_question(m.data, m.len, &q, &code));
		CHECK_INT(q.host.kind, HOST_BAD);
		CHECK(q.host.why != NULL);
		/* And it is answered with its own bytes. */
		CHECK_INT(dns_write_answer(&q, &a, out, sizeof out), m.len);
		CHECK(memcmp(out + 12, m.data + 12, m.len - 12) == 0);
	}
}

TEST(a_question_that_is_not_exactly_one_is_refused) {
	static const struct {
		size_t at;
		uint8_t value;
		int code;
	} rows[] = {
		{2, 0x81, DNS_NO_ANSWER}, /* a response */
		{2, 0x29, DNS_NOTIMP},    /* an update */
		{5, 0, DNS_FORMERR},      {5, 2, DNS_FORMERR},  {7, 1, DNS_FORMERR},
		{9, 1, DNS_FORMERR},      {11, 1, DNS_FORMERR}, {12, 0x40, DNS_FORMERR},
		{12, 0xc0, DNS_FORMERR},                        /* a pointer into the header */
		{12, 60, DNS_FORMERR},    {23, 3, DNS_REFUSED}, /* class CH */
	};
	struct dns_question q;
	int code = 0;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct made m;
		head(&m, 0x0100, 0, 0);
		asked_for(&m, "a.test", DNS_A);
		CHECK(dns_read_question(m.data, m.len, &q, &code));
		m.data[rows[i].at] = rows[i].value;
		CHECK(!dns_read_question(m.data, m.len, &q, &code));
		CHECK_INT(code, rows[i].code);
	}
}

TEST(a_question_that_ends_too_early_or_too_late_is_refused) {
	struct made m;
	struct dns_question q;
	int code = 0;
	head(&m, 0x0100, 0, 1);
	asked_for(&m, "a.test", DNS_A);
	TEXT(&m, "\0");
	record(&m, DNS_OPT, 0, 4);
	TEXT(&m, "\0\12\0\0");
	CHECK(dns_read_question(m.data, m.len, &q, &code) && q.edns);
	for (size_t len = 0; len < m.len; len++) {
		auto_free uint8_t *exact = malloc(len + (len == 0));
		REQUIRE(exact != NULL);
		memcpy(exact, m.data, len);
		CHECK(!dns_read_question(exact, len, &q, &code));
		CHECK_INT(code, len < 12 ? DNS_NO_ANSWER : DNS_FORMERR);
	}
	TEXT(&m, "x");
	CHECK(!dns_read_question(m.data, m.len, &q, &code) && code == DNS_FORMERR);
}

TEST(edns_is_answered_once_in_version_0_and_within_its_sizes) {
	static const struct {
		unsigned size, want;
	} rows[] = {{0, 512}, {511, 512}, {600, 600}, {1232, 1232}, {65535, 1232}};
	struct made m;
	struct dns_question q;
	int code = 0;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		head(&m, 0x0100, 0, 1);
		asked_for(&m, "a.test", DNS_A);
		TEXT(&m, "\0\0\51");
		word(&m, rows[i].size);
		TEXT(&m, "\0\0\x80\0\0\0"); /* DO */
		REQUIRE(dns_read_question(m.data, m.len, &q, &code));
		CHECK_INT(q.size, rows[i].want);
	}
	uint8_t out[512];
	size_t len = dns_write_answer(&q, &(struct dns_answer){0}, out, sizeof out);
	CHECK_INT(len, m.len);
	/* AD is not claimed, nor DO; the size is ours. */
	CHECK(memcmp(out + 2, "\x81\x80\0\1\0\0\0\0\0\1", 10) == 0);
	CHECK(memcmp(out + len - 11, "\0\0\51\4\xd0\0\0\0\0\0\0", 11) == 0);

	m.data[m.len - 5] = 1; /* version 1 */
	CHECK(!dns_read_question(m.data, m.len, &q, &code) && code == DNS_BADVERS);
	len = dns_write_answer(&q, &(struct dns_answer){.code = code}, out, sizeof out);
	CHECK(len > 11 && out[3] == 0x80 && out[len - 6] == 1);

	m.data[m.len - 5] = 0;
	m.data[11] = 2;
	TEXT(&m, "\0\0\51\4\xd0\0\0\0\0\0\0");
	CHECK(!dns_read_question(m.data, m.len, &q, &code) && code == DNS_FORMERR);
}

static struct dns_question question(const char *text, unsigned type) {
	struct made m;
	struct dns_question q;
	int code = 0;
	head(&m, 0x0100, 0, 0);
	asked_for(&m, text, type);
	if (!dns_read_question(m.data, m.len, &q, &code)) {
		abort();
	}
	return q;
}

static struct dns_answer knowledge(size_t addresses) {
	struct dns_answer a = {.ttl = 60, .chain = {"b.test", "c.test"}, .nchain = 2};
	for (; a.nips < addresses; a.nips++) {
		a.ips[a.nips] = ip_from4((const uint8_t[]){192, 0, 2, (uint8_t)a.nips});
	}
	return a;
}

TEST(what_is_written_is_read_again) {
	uint8_t out[DNS_UDP_MAX];
	struct dns_question q = question("a.test", DNS_A);
	struct dns_answer a = knowledge(3), got;
	a.ips[a.nips++] = (struct ip){{0x20, 1, [15] = 1}}; /* left out of an answer to A */
	bool cut = true;
	size_t len = dns_write_answer(&q, &a, out, sizeof out);
	REQUIRE(dns_read_answer(out, len, &our_question, &got, &cut));
	CHECK(!cut);
	CHECK_INT(got.code, DNS_NOERROR);
	CHECK_INT(got.ttl, 60);
	REQUIRE(got.nchain == 2 && got.nips == 3);
	CHECK_STR(got.chain[0], "b.test");
	CHECK_STR(got.chain[1], "c.test");
	CHECK(ip_same(&got.ips[2], &a.ips[2]));

	struct dns_request six = {.name = "a.test", .type = DNS_AAAA, .id = 0x1234};
	q = question("a.test", DNS_AAAA);
	len = dns_write_answer(&q, &a, out, sizeof out);
	REQUIRE(dns_read_answer(out, len, &six, &got, &cut));
	CHECK(got.nips == 1 && ip_same(&got.ips[0], &a.ips[3]));
}

TEST(other_types_get_nothing_but_the_code_and_cname_one_name) {
	static const unsigned types[] = {DNS_HTTPS, DNS_SVCB, 15, 16, 255, DNS_SOA};
	uint8_t out[DNS_UDP_MAX];
	struct dns_answer a = knowledge(3);
	for (size_t i = 0; i < ARRAY_LEN(types); i++) {
		struct dns_question q = question("a.test", types[i]);
		CHECK_INT(dns_write_answer(&q, &a, out, sizeof out), 12 + q.nraw);
		CHECK(out[3] == 0x80 && out[7] == 0);
	}
	struct dns_question q = question("a.test", DNS_CNAME);
	CHECK_INT(dns_write_answer(&q, &a, out, sizeof out), 12 + q.nraw + 12 + 8);
	CHECK_INT(out[7], 1);
}

TEST(what_does_not_fit_is_cut_at_a_record_and_says_so) {
	uint8_t out[DNS_UDP_MAX];
	struct dns_question q = question("a.test", DNS_A);
	struct dns_answer a = knowledge(DNS_ADDRESSES), got;
	q.edns = true;
	size_t whole = dns_write_answer(&q, &a, out, sizeof out);
	for (size_t cap = 0; cap <= whole; cap++) {
		bool cut = false;
		auto_free uint8_t *exact = malloc(cap + (cap == 0));
		REQUIRE(exact != NULL);
		size_t len = dns_write_answer(&q, &a, exact, cap);
		CHECK(len <= cap);
		if (len == 0) {
			CHECK(cap < 12 + q.nraw + 11);
			continue;
		}
		CHECK(dns_read_answer(exact, len, &our_question, &got, &cut));
		CHECK(cut == (cap < whole));
		CHECK(memcmp(exact + len - 11, "\0\0\51", 3) == 0);
	}
}

TEST(only_the_answer_to_our_question_is_one) {
	struct made m, good;
	response(&good, "a.test", 1);
	name(&good, "a.test");
	record(&good, DNS_A, 9, 4);
	TEXT(&good, "\12\0\0\1");
	CHECK_INT(code_of(&good), DNS_NOERROR);
	static const struct {
		size_t at;
		uint8_t value;
	} rows[] = {
		{0, 0x13}, {1, 0x35}, {2, 0x01}, {2, 0x91}, {5, 0},  {5, 2},
		{13, 'b'}, {15, 'T'}, {21, 28},  {23, 3},   {12, 2},
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		m = good;
		m.data[rows[i].at] = rows[i].value;
		/* Case does not count; everything else does. */
		CHECK_INT(code_of(&m), rows[i].value == 'T' ? DNS_NOERROR : -1);
	}
	for (size_t len = 0; len < good.len; len++) {
		m = good;
		m.len = len;
		CHECK_INT(code_of(&m), len < 24 ? -1 : DNS_SERVFAIL);
	}
}

TEST(an_error_may_come_without_the_question) {
	struct made m;
	head(&m, 0x8181, 0, 0);
	m.data[5] = 0;
	CHECK_INT(code_of(&m), DNS_FORMERR);
	m.data[3] = 0x80;
	CHECK_INT(code_of(&m), -1);
	m.data[3] = 0x83;
	CHECK_INT(code_of(&m), -1);
}

TEST(pointers_lead_backwards_or_nowhere) {
	static const struct {
		unsigned to;
		int code;
	} rows[] = {
		{12, DNS_NOERROR},  /* the question's name */
		{14, DNS_NOERROR},  /* its end: another name, and no answer */
		{24, DNS_SERVFAIL}, /* itself */
		{25, DNS_SERVFAIL},     {26, DNS_SERVFAIL}, /* forwards */
		{0, DNS_SERVFAIL},      {11, DNS_SERVFAIL}, /* the header */
		{0x3fff, DNS_SERVFAIL},
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct made m;
		struct dns_answer a;
		bool cut = false;
		response(&m, "a.test", 1);
		word(&m, 0xc000 | rows[i].to);
		record(&m, DNS_A, 9, 4);
		TEXT(&m, "\12\0\0\1");
		REQUIRE(read_made(&m, &a, &cut));
		CHECK_INT(a.code, rows[i].code);
		CHECK_INT(a.nips, rows[i].to == 12);
	}
}

/* Not a circle, and not backwards all the way. */
TEST(a_pointer_that_leads_to_one_that_leads_forwards_is_refused) {
	struct made m;
	response(&m, "a.test", 2);
	word(&m, 0xc000 | 12);
	record(&m, 16, 9, 4);
	size_t at = m.len;
	word(&m, 0xc000 | (unsigned)(at + 2));
	TEXT(&m, "\1x");
	word(&m, 0xc000 | (unsigned)at);
	record(&m, DNS_A, 9, 4);
	TEXT(&m, "\12\0\0\1");
	/* It would be "x" and the end of the record's own name. */
	m.data[at + 3] = 0;
	m.data[at + 2] = 0;
	CHECK_INT(code_of(&m), DNS_SERVFAIL);
	m.data[at] = 0; /* and without the pointer it is the root */
	CHECK_INT(code_of(&m), DNS_NOERROR);
}

TEST(a_name_of_more_bytes_than_255_is_none) {
	for (size_t last = 58; last < 64; last++) {
		struct made m;
		struct dns_question q;
		int code = 0;
		char label[64];
		memset(label, 'a', sizeof label);
		head(&m, 0x0100, 0, 0);
		for (size_t i = 0; i < 4; i++) {
			size_t len = i < 3 ? 63 : last;
			bytes(&m, &(uint8_t){(uint8_t)len}, 1);
			bytes(&m, label, len);
		}
		bytes(&m, "", 1);
		word(&m, DNS_A);
		word(&m, 1);
		CHECK(dns_read_question(m.data, m.len, &q, &code) == (3 * 64 + last + 2 <= 255));
	}
}

TEST(pointers_in_a_circle_end) {
	struct made m;
	response(&m, "a.test", 2);
	word(&m, 0xc000 | 12);
	record(&m, 16, 9, 8); /* text, in which names stand that lead to each other */
	size_t at = m.len;
	word(&m, 0xc000 | (unsigned)(at + 2));
	word(&m, 0xc000 | (unsigned)at);
	TEXT(&m, "\1x");
	word(&m, 0xc000 | (unsigned)(at + 4));
	word(&m, 0xc000 | (unsigned)(at + 2));
	record(&m, DNS_A, 9, 0);
	CHECK_INT(code_of(&m), DNS_SERVFAIL);
	m.data[m.len - 11] = (uint8_t)(at + 4);
	CHECK_INT(code_of(&m), DNS_SERVFAIL);
}

/* A chain of so many names, forwards or with the last first. */
static void chain(struct made *m, unsigned links, bool reversed) {
	char owner[16], target[16];
	response(m, "a.test", links + 1);
	for (unsigned n = 0; n < links; n++) {
		unsigned i = reversed ? links - 1 - n : n;
		(void)snprintf(owner, sizeof owner, i == 0 ? "a.test" : "c%02u.x", i);
		(void)snprintf(target, sizeof target, "c%02u.x", i + 1);
		name(m, owner);
		record(m, DNS_CNAME, 100 - i, 7);
		name(m, target);
	}
	(void)snprintf(owner, sizeof owner, "c%02u.x", links);
	name(m, links == 0 ? "a.test" : owner);
	record(m, DNS_A, 99, 4);
	TEXT(m, "\12\0\0\1");
}

TEST(a_chain_has_its_length_and_any_order) {
	struct made m;
	struct dns_answer a;
	bool cut = false;
	for (unsigned links = 0; links <= DNS_CHAIN + 1; links++) {
		for (int reversed = 0; reversed < 2; reversed++) {
			chain(&m, links, reversed == 1);
			REQUIRE(read_made(&m, &a, &cut));
			CHECK_INT(a.code, links <= DNS_CHAIN ? DNS_NOERROR : DNS_SERVFAIL);
			CHECK_INT(a.nips, links <= DNS_CHAIN);
			CHECK_INT(a.nchain, links <= DNS_CHAIN ? links : 0);
			CHECK(links > DNS_CHAIN || links == 0 || a.ttl == 100 - (links - 1) ||
			      links == 1);
		}
	}
}

TEST(a_chain_to_itself_or_to_no_name_is_a_failure) {
	static const struct {
		const char *target;
		size_t len;
		int code;
	} rows[] = {
		{"\1b\4test\0", 8, DNS_NOERROR},
		{"\1a\4test\0", 8, DNS_SERVFAIL},
		{"\3b.c\4test\0", 10, DNS_SERVFAIL},
		{"\3b c\4test\0", 10, DNS_SERVFAIL},
		{"\0", 1, DNS_SERVFAIL},
		{"\1\061\1\062\1\063\1\064\0", 9, DNS_SERVFAIL},
		{"\1b\4test\0\0", 9, DNS_SERVFAIL},
		{"\1b\4test", 7, DNS_SERVFAIL},
		{"\300\14", 2, DNS_SERVFAIL},
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct made m;
		response(&m, "a.test", 1);
		name(&m, "a.test");
		record(&m, DNS_CNAME, 9, (unsigned)rows[i].len);
		bytes(&m, rows[i].target, rows[i].len);
		CHECK_INT(code_of(&m), rows[i].code);
	}
}

TEST(addresses_are_of_the_end_of_the_chain_and_of_the_right_size) {
	struct made m;
	struct dns_answer a;
	bool cut = false;
	response(&m, "a.test", 3);
	name(&m, "a.test");
	record(&m, DNS_A, 9, 4);
	TEXT(&m, "\12\0\0\1");
	name(&m, "b.test");
	record(&m, DNS_A, 9, 4);
	TEXT(&m, "\12\0\0\2");
	name(&m, "a.test");
	record(&m, DNS_CNAME, 9, 8);
	name(&m, "b.test");
	REQUIRE(read_made(&m, &a, &cut));
	REQUIRE(a.nips == 1);
	CHECK_INT(a.ips[0].b[15], 2);

	response(&m, "a.test", 1);
	name(&m, "a.test");
	record(&m, DNS_A, 9, 16);
	TEXT(&m, "0123456789abcdef");
	CHECK_INT(code_of(&m), DNS_SERVFAIL);
}

TEST(an_ipv4_address_in_an_aaaa_record_is_left_out) {
	struct made m;
	struct dns_answer a;
	bool cut = false;
	struct dns_request six = {.name = "a.test", .type = DNS_AAAA, .id = 0x1234};
	head(&m, 0x8180, 2, 0);
	asked_for(&m, "a.test", DNS_AAAA);
	name(&m, "a.test");
	record(&m, DNS_AAAA, 9, 16);
	TEXT(&m, "\0\0\0\0\0\0\0\0\0\0\xff\xff\177\0\0\1");
	name(&m, "a.test");
	record(&m, DNS_AAAA, 9, 16);
	TEXT(&m, "\x20\1\0\0\0\0\0\0\0\0\0\0\0\0\0\1");
	REQUIRE(dns_read_answer(m.data, m.len, &six, &a, &cut));
	REQUIRE(a.nips == 1);
	CHECK_INT(a.ips[0].b[0], 0x20);
}

TEST(more_records_than_the_bound_are_a_failure_and_more_addresses_are_left_out) {
	static struct {
		struct made m;
		uint8_t more[16 * 1024];
	} large;
	struct dns_answer a;
	bool cut = false;
	for (unsigned count = DNS_ADDRESSES; count <= DNS_RECORDS + 1; count++) {
		uint8_t *p = (uint8_t *)&large;
		struct made m;
		response(&m, "a.test", count);
		memcpy(p, m.data, m.len);
		size_t len = m.len;
		for (unsigned i = 0; i < count; i++, len += 16) {
			memcpy(p + len, "\300\14\0\1\0\1\0\0\0\11\0\4\12\0\0\1", 16);
		}
		REQUIRE(dns_read_answer(p, len, &our_question, &a, &cut));
		CHECK_INT(a.code, count <= DNS_RECORDS ? DNS_NOERROR : DNS_SERVFAIL);
		CHECK_INT(a.nips, count <= DNS_RECORDS ? DNS_ADDRESSES : 0);
	}
}

TEST(what_was_cut_is_not_read) {
	struct made m;
	struct dns_answer a;
	bool cut = false;
	chain(&m, 1, false);
	m.data[2] |= 2;
	REQUIRE(read_made(&m, &a, &cut));
	CHECK(cut && a.nips == 0 && a.nchain == 0);
}

TEST(a_negative_time_to_live_is_none) {
	struct made m;
	struct dns_answer a;
	bool cut = false;
	response(&m, "a.test", 1);
	name(&m, "a.test");
	word(&m, DNS_A);
	word(&m, 1);
	word(&m, 0x8000);
	word(&m, 7);
	word(&m, 4);
	TEXT(&m, "\12\0\0\1");
	REQUIRE(read_made(&m, &a, &cut));
	CHECK(a.nips == 1 && a.ttl == 0);
}

TESTS_MAIN
