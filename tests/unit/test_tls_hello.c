/* SPDX-License-Identifier: Apache-2.0 */
/* ClientHellos, written byte by byte; tls_hello_of_clients.py has those of real clients. */
#include "net/tls_hello.h"

#include "base/auto.h"
#include "test.h"

#include <time.h>

/* A message that is being written, and its records. */
static uint8_t message[2 * TLS_HELLO_MAX], wire[4 * TLS_HELLO_MAX];
static size_t message_len, wire_len;

static void put(const void *bytes, size_t len) {
	memcpy(message + message_len, bytes, len);
	message_len += len;
}

static void put8(size_t n) {
	put(&(uint8_t){(uint8_t)n}, 1);
}

static void put16(size_t n) {
	put8(n >> 8);
	put8(n);
}

static void patch16(size_t at, size_t n) {
	message[at] = (uint8_t)(n >> 8);
	message[at + 1] = (uint8_t)n;
}

/* Up to the length of the extensions. */
static void begin(void) {
	message_len = 0;
	put("\x01\0\0\0\x03\x03", 6);
	put("0123456789abcdef0123456789abcdef", 32);
	put8(0);
	put("\0\x04\x0a\x0a\x13\x01", 6); /* GREASE first, as browsers do */
	put("\x01\0", 2);
	put16(0);
}

#define EXTENSIONS 47 /* where their length stands */

static void end(void) {
	patch16(EXTENSIONS, message_len - EXTENSIONS - 2);
	message[1] = (uint8_t)((message_len - 4) >> 16);
	patch16(2, message_len - 4);
}

static void extension(size_t type, const void *bytes, size_t len) {
	put16(type);
	put16(len);
	put(bytes, len);
}

static void server_name(const char *name, size_t len) {
	put16(0);
	put16(len + 5);
	put16(len + 3);
	put8(0);
	put16(len);
	put(name, len);
}

static void named(const char *name) {
	begin();
	extension(0x2a2a, "", 0);
	server_name(name, strlen(name));
	extension(43, "\x04\x6a\x6a\x03\x04", 5);
	extension(0x8a8a, "\0", 1);
	end();
}

/* Records of at most size bytes of the message. */
static void cut(size_t size) {
	wire_len = 0;
	for (size_t at = 0; at < message_len; at += size) {
		size_t n = message_len - at < size ? message_len - at : size;
		memcpy(wire + wire_len, (uint8_t[]){22, 3, 1, (uint8_t)(n >> 8), (uint8_t)n}, 5);
		memcpy(wire + wire_len + 5, message + at, n);
		wire_len += n + 5;
	}
}

static struct tls_hello got;
static const char *why;

static enum sniff read_whole(void) {
	got = (struct tls_hello){0};
	why = NULL;
	return tls_hello_read(wire, wire_len, &got, &why);
}

/* Every prefix: nothing is known before the answer, and the answer stays. */
static enum sniff read_bytewise(void) {
	enum sniff first = SNIFF_MORE;
	struct tls_hello h = {0};
	for (size_t n = 0; n <= wire_len && first == SNIFF_MORE; n++) {
		first = tls_hello_read(wire, n, &h, &why);
	}
	CHECK_INT(first, read_whole());
	CHECK_STR(h.server.name, got.server.name);
	CHECK_INT(h.named, got.named);
	return first;
}

static void accepts(const char *name) {
	CHECK_INT(read_bytewise(), SNIFF_DONE);
	CHECK(got.named && got.server.kind == HOST_NAME);
	CHECK_STR(got.server.name, name);
}

static void refuses(const char *reason) {
	CHECK_INT(read_bytewise(), SNIFF_BAD);
	if (why == NULL || strstr(why, reason) == NULL) {
		printf("# refused because \"%s\", not \"%s\"\n", why == NULL ? "(null)" : why,
		       reason);
		CHECK(false);
	}
}

TEST(a_name_is_read_wherever_records_cut_the_message) {
	static const size_t sizes[] = {1, 2, 3, 4, 5, 7, 48, 60, 100, 1 << 14};
	named("allowed.test");
	for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
		cut(sizes[i]);
		accepts("allowed.test");
	}
}

TEST(a_hello_of_more_than_one_full_record) {
	static uint8_t padding[40000];
	begin();
	extension(21, padding, sizeof padding);
	server_name("allowed.test", 12);
	end();
	cut(1 << 14);
	CHECK_INT(read_whole(), SNIFF_DONE);
	CHECK_STR(got.server.name, "allowed.test");
	wire_len--;
	CHECK_INT(read_whole(), SNIFF_MORE);
}

TEST(a_hello_longer_than_the_bound_is_refused_by_its_header) {
	begin();
	end();
	message[1] = 1;
	cut(1 << 14);
	wire_len = 9;
	refuses("longer than 64 KiB");
	memcpy(message + 1, "\0\xff\xf0", 3); /* with its records it would not fit */
	for (message_len = 4; message_len < 0xfff0; message_len++) {
		message[message_len] = 0;
	}
	cut(1 << 12);
	CHECK_INT(read_whole(), SNIFF_BAD);
	wire_len = TLS_HELLO_MAX - 1;
	CHECK_INT(read_whole(), SNIFF_MORE);
}

TEST(spellings_of_one_name) {
	named("ALLOWED.Test");
	cut(100);
	accepts("allowed.test");
	named("allowed.test.");
	cut(100);
	accepts("allowed.test");
	named("xn--mnchen-3ya.test");
	cut(100);
	accepts("xn--mnchen-3ya.test");
}

TEST(what_is_not_the_name_of_a_host_is_refused) {
	static const struct {
		const char *name;
		size_t len;
		const char *reason;
	} rows[] = {
		{"", 0, "not a host name"},
		{"11.0.0.66", 9, "an IP address"},
		{"184549442", 9, "an IP address"},
		{"0x7f.1", 6, "an IP address"},
		{"::1", 3, "an IP address"},
		{"[::1]", 5, "an IP address"},
		{"evil.test\0.ok.test", 18, "not a host name"},
		{"allowed.test ", 13, "not a host name"},
		{"a..test", 7, "not a host name"},
		{".test", 5, "not a host name"},
		{"b\xc3\xbc"
		 "cher.test",
		 11, "not a host name"},
		{"*.ok.test", 9, "not a host name"},
		{"allowed.test:443", 16, "not a host name"},
		{"user@allowed.test", 17, "not a host name"},
		{"-a.test", 7, "not a host name"},
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		begin();
		server_name(rows[i].name, rows[i].len);
		end();
		cut(100);
		refuses(rows[i].reason);
	}
}

TEST(a_name_as_long_as_names_get_and_one_byte_more) {
	char name[256];
	for (size_t i = 0; i < sizeof name; i++) {
		name[i] = i % 32 == 31 ? '.' : 'a';
	}
	begin();
	server_name(name, 253);
	end();
	cut(50);
	CHECK_INT(read_bytewise(), SNIFF_DONE);
	CHECK_INT(strlen(got.server.name), 253);
	begin();
	server_name(name, 255);
	end();
	cut(50);
	refuses("longer than 253");
}

TEST(a_hello_without_a_name) {
	begin();
	extension(43, "\x02\x03\x04", 3);
	end();
	cut(100);
	CHECK_INT(read_bytewise(), SNIFF_DONE);
	CHECK(!got.named);
	begin();
	message_len -= 2; /* nor any extension, as TLS 1.0 allows */
	message[3] = (uint8_t)(message_len - 4);
	cut(100);
	CHECK_INT(read_bytewise(), SNIFF_DONE);
	CHECK(!got.named);
}

TEST(two_names_are_refused_in_whatever_form) {
	begin();
	server_name("allowed.test", 12);
	server_name("evil.test", 9);
	end();
	cut(100);
	refuses("two server names");
	begin();
	put("\0\0\0\x0a\0\x08\0\0\x01"
	    "a\0\0\x01"
	    "b",
	    14);
	end();
	cut(100);
	refuses("two server names");
	begin();
	put("\0\0\0\x0a\0\x08\x01\0\x01"
	    "a\0\0\x01"
	    "b",
	    14);
	end();
	cut(100);
	refuses("type host_name");
}

TEST(an_encrypted_hello_is_read_by_its_outer_name) {
	begin();
	extension(0xfe0d, "\0\0\x01\0\x01\x07\0\0\0\0", 10);
	server_name("outer.test", 10);
	end();
	cut(100);
	accepts("outer.test");
}

/* Lengths inside that are one too large or too small. */
TEST(lengths_that_do_not_add_up) {
	static const size_t places[] = {3, 38, 40, 45, 48, 52, 56, 58, 61};
	for (size_t i = 0; i < ARRAY_LEN(places); i++) {
		for (int by = -1; by <= 1; by += 2) {
			begin();
			extension(0x2a2a, "", 0);
			server_name("allowed.test", 12);
			end();
			message[places[i]] = (uint8_t)(message[places[i]] + by);
			cut(1 << 14);
			enum sniff told = read_bytewise();
			/* A message that is said to be longer may still come. */
			CHECK_INT(told, places[i] == 3 && by == 1 ? SNIFF_MORE : SNIFF_BAD);
		}
	}
}

static void wire_is(const char *bytes, size_t len) {
	memcpy(wire, bytes, len);
	wire_len = len;
}

TEST(what_is_not_a_hello_is_refused_at_once) {
	wire_is("\x80\x2e\x01\x03\x01", 5); /* SSLv2's form */
	refuses("record of another type");
	wire_is("\x15\x03\x01\0\x02\x01\0", 7);
	refuses("record of another type");
	wire_is("\x17\x03\x03\0\x02\x01\0", 7);
	refuses("record of another type");
	wire_is("GET / HTTP/1.1\r\n", 16);
	refuses("record of another type");
	wire_is("\x16\x02", 2);
	refuses("version");
	wire_is("\x16\x03\x05", 3);
	refuses("version");
	wire_is("\x16\x03\x01\0\x04\x02", 6); /* a server's hello */
	refuses("not a ClientHello");
	wire_is("\x16\x03\x01\0\0", 5);
	refuses("empty");
	wire_is("\x16\x03\x01\x40\x01", 5);
	refuses("longer than 16 KiB");
}

TEST(nothing_comes_between_the_parts_of_a_hello) {
	named("allowed.test");
	cut(30);
	static const char *const between[] = {"\x15\x03\x01\0\x02\x01\0", "\x14\x03\x01\0\x01\x01",
					      "\x17\x03\x03\0\x01\x01"};
	for (size_t i = 0; i < ARRAY_LEN(between); i++) {
		cut(30);
		memcpy(wire + 35, between[i], 5);
		refuses("record of another type");
	}
	cut(30);
	memcpy(wire + 35, "\x16\x03\x01\0\0", 5);
	refuses("empty");
}

TEST(early_data_behind_the_hello_is_not_its_business) {
	named("allowed.test");
	cut(100);
	memcpy(wire + wire_len, "\x14\x03\x03\0\x01\x01\x17\x03\x03\xff\xff", 11);
	wire_len += 11;
	accepts("allowed.test");
}

TEST(a_second_message_in_the_same_record_is_refused) {
	named("allowed.test");
	put("\x01\0\0\0", 4);
	cut(1 << 14);
	refuses("follow the client's hello");
}

TEST(a_hello_cut_into_thousands_of_records_is_refused) {
	static uint8_t padding[3000];
	begin();
	extension(21, padding, sizeof padding);
	server_name("allowed.test", 12);
	end();
	cut(1);
	CHECK_INT(read_whole(), SNIFF_BAD);
	cut(2);
	CHECK_INT(read_whole(), SNIFF_DONE);
}

TEST(it_begins_with_a_handshake_of_version_3) {
	CHECK(tls_hello_begins(wire, 0));
	CHECK(tls_hello_begins((const uint8_t *)"\x16", 1));
	CHECK(tls_hello_begins((const uint8_t *)"\x16\x03\x01", 3));
	CHECK(!tls_hello_begins((const uint8_t *)"\x16\x02", 2));
	CHECK(!tls_hello_begins((const uint8_t *)"G", 1));
}

/* The worst that a client can do with single bytes: bounded, and not for seconds. */
TEST(a_hello_that_comes_byte_by_byte_costs_little) {
	static uint8_t padding[60000];
	begin();
	extension(21, padding, sizeof padding);
	server_name("allowed.test", 12);
	end();
	cut(32);
	clock_t start = clock();
	enum sniff told = SNIFF_MORE;
	for (size_t n = 0; n <= wire_len && n <= TLS_HELLO_MAX && told == SNIFF_MORE; n++) {
		told = tls_hello_read(wire, n, &got, &why);
	}
	CHECK(told != SNIFF_MORE);
	CHECK((clock() - start) / CLOCKS_PER_SEC < 10);
}

TESTS_MAIN
