/* SPDX-License-Identifier: Apache-2.0 */
/* What the gate's parsers say about bytes from outside: the other side of
 * tls_hello_of_clients.py, http_against_others.py, http_against_nginx.py and
 * conversation_against_model.py.
 *
 * Standard input has cases, each four bytes of length and so many bytes.  Each gets one line:
 *
 *     sniff hello      MORE | BAD WHY | DONE NAME ECH
 *     sniff http       START LENGTH HOST BODY-END; for each request, then END | MORE | BAD WHY
 *     sniff talk       START HOST PORT; for each that is named, then END | MORE | BAD | SOCKET |
 * OPAQUE START; a case is one byte (1: a host has to be named), four bytes of length and so many of
 * the server's answer, and the client's words
 *
 * A case is read as a whole and byte by byte, and both must say the same. */
#include "net/tls_hello.h"
#include "net/conversation.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CASE_MAX ((size_t)1 << 20)
#define TEXT_MAX ((size_t)1 << 16)

/* What is said about a case. */
struct text {
	char at[TEXT_MAX];
	size_t len;
};

static void say(struct text *t, const char *word, const char *end) {
	int n = snprintf(t->at + t->len, sizeof t->at - t->len, "%s%s", word, end);
	t->len += n > 0 ? (size_t)n : 0;
	if (t->len >= sizeof t->at) {
		abort();
	}
}

static void say_number(struct text *t, size_t n) {
	char digits[32];
	(void)snprintf(digits, sizeof digits, "%zu", n);
	say(t, digits, " ");
}

static void say_host(struct text *t, const struct hostname *h) {
	char ip[IP_TEXT] = "";
	if (h->kind == HOST_IP) {
		(void)ip_text(&h->ip, ip); /* its length is not needed */
	}
	say(t, h->kind == HOST_NAME ? h->name : h->kind == HOST_IP ? ip : "-", " ");
}

/* step 0: all at once. */
static void hello_case(const uint8_t *data, size_t len, size_t step, struct text *out) {
	struct tls_hello h = {0};
	const char *why = "";
	enum sniff told = SNIFF_MORE;
	for (size_t n = step; step > 0 && n < len && told == SNIFF_MORE; n += step) {
		told = tls_hello_read(data, n, &h, &why);
	}
	told = told == SNIFF_MORE ? tls_hello_read(data, len, &h, &why) : told;
	if (told == SNIFF_DONE) {
		say(out, "DONE ", h.named ? h.server.name : "-");
		return;
	}
	say(out, told == SNIFF_BAD ? "BAD " : "MORE", told == SNIFF_BAD ? why : "");
}

/* The end of a body that begins at at; 0 when it is not there, -1 when it is broken. */
static long body_end(struct http_body *b, const uint8_t *data, size_t len, size_t step) {
	bool end = false;
	size_t at = 0;
	do {
		size_t n = step > 0 && step < len - at ? step : len - at;
		long taken = http_body_take(b, data + at, n, &end);
		if (taken < 0) {
			return -1;
		}
		at += (size_t)taken;
	} while (!end && at < len);
	return end ? (long)at : -2;
}

static enum sniff head_in_steps(const uint8_t *data, size_t len, size_t step, struct http_head *h,
				const char **why) {
	int status = 0;
	enum sniff told = SNIFF_MORE;
	for (size_t n = step; step > 0 && n < len && told == SNIFF_MORE; n += step) {
		told = http_head_read(data, n, h, &status, why);
	}
	return told == SNIFF_MORE ? http_head_read(data, len, h, &status, why) : told;
}

static void http_case(const uint8_t *data, size_t len, size_t step, struct text *out) {
	size_t at = 0;
	while (at < len) {
		struct http_head h = {0};
		const char *why = "";
		enum sniff told = head_in_steps(data + at, len - at, step, &h, &why);
		if (told != SNIFF_DONE) {
			say(out, told == SNIFF_BAD ? "BAD " : "MORE", told == SNIFF_BAD ? why : "");
			return;
		}
		long body = body_end(&h.body, data + at + h.len, len - at - h.len, step);
		if (body < 0) {
			say(out, body == -1 ? "BAD the body" : "MORE", "");
			return;
		}
		say_number(out, at);
		say_number(out, h.len);
		say_host(out, &h.host);
		at += h.len + (size_t)body;
		say_number(out, at);
		say(out, ";", " ");
	}
	say(out, "END", "");
}

/* ---- both sides of a connection ---- */

struct sides {
	struct conversation talk;
	const uint8_t *client, *server;
	size_t len, server_len, at, step;
};

/* As more and more of it comes; at the end all of it. */
static struct conversation_result hear(struct sides *s) {
	bool server = conversation_reads_server(&s->talk);
	size_t len = server ? s->server_len : s->len - s->at;
	for (size_t n = s->step; s->step > 0 && n < len; n += s->step) {
		struct conversation_result said =
			server ? conversation_server(&s->talk, s->server, n, false)
			       : conversation_client(&s->talk, s->client + s->at, n);
		if (said.verdict == VERDICT_PASS || said.verdict == VERDICT_BAD) {
			return said;
		}
	}
	return server ? conversation_server(&s->talk, s->server, len, true)
		      : conversation_client(&s->talk, s->client + s->at, len);
}

/* False: the case is over. */
static bool hear_next(struct sides *s, struct text *out) {
	if (s->talk.state == CONVERSATION_OPAQUE) {
		say(out, "OPAQUE ", "");
		say_number(out, s->at);
		return false;
	}
	if (!conversation_reads_server(&s->talk) && s->at == s->len) {
		say(out,
		    s->talk.state == CONVERSATION_BODY     ? "MORE"
		    : s->talk.state == CONVERSATION_SOCKET ? "SOCKET"
							   : "END",
		    "");
		return false;
	}
	bool client = !conversation_reads_server(&s->talk);
	struct conversation_result said = hear(s);
	if (said.verdict != VERDICT_PASS) {
		/* Not why: of two faults the first that is seen is told. */
		say(out, said.verdict == VERDICT_BAD ? "BAD" : "MORE", "");
		return false;
	}
	if (said.names) {
		say_number(out, s->at);
		say_host(out, &said.host);
		say_number(out, said.port);
		say(out, ";", " ");
	}
	if (client && said.pass != UINT64_MAX) {
		bool whole = said.pass <= s->len - s->at;
		s->at = whole ? s->at + (size_t)said.pass : s->len;
		if (!whole) {
			say(out, "MORE", "");
		}
		return whole;
	}
	return true;
}

static void talk_case(const uint8_t *data, size_t len, size_t step, struct text *out) {
	struct sides s = {.step = step};
	if (len < 5) {
		return;
	}
	s.talk.strict = data[0] != 0;
	s.server = data + 5;
	s.server_len = (size_t)data[3] << 8 | data[4];
	if (s.server_len > len - 5) {
		return;
	}
	s.client = s.server + s.server_len;
	s.len = len - 5 - s.server_len;
	while (hear_next(&s, out)) {
	}
}

static bool read_case(uint8_t *data, size_t *ret_len) {
	uint8_t size[4];
	if (fread(size, 1, sizeof size, stdin) != sizeof size) {
		return false;
	}
	*ret_len = (size_t)size[0] << 24 | (size_t)size[1] << 16 | (size_t)size[2] << 8 | size[3];
	return *ret_len <= CASE_MAX && fread(data, 1, *ret_len, stdin) == *ret_len;
}

int main(int argc, char **argv) {
	static struct text whole, parts;
	static uint8_t data[CASE_MAX];
	size_t len;
	if (argc != 2) {
		return 2;
	}
	void (*run)(const uint8_t *, size_t, size_t, struct text *) =
		strcmp(argv[1], "hello") == 0  ? hello_case
		: strcmp(argv[1], "talk") == 0 ? talk_case
					       : http_case;
	while (read_case(data, &len)) {
		/* To its length, so that a read behind the end is seen. */
		uint8_t *exact = malloc(len + 1);
		if (exact == NULL) {
			return 2;
		}
		memcpy(exact, data, len);
		whole.len = parts.len = 0;
		run(exact, len, 0, &whole);
		run(exact, len, 1, &parts);
		free(exact);
		if (whole.len != parts.len || memcmp(whole.at, parts.at, whole.len) != 0) {
			(void)printf("DIFFERENT: %s | %s\n", whole.at, parts.at);
			continue;
		}
		(void)printf("%s\n", whole.at);
	}
	return 0;
}
