/* SPDX-License-Identifier: Apache-2.0 */
/* The state machine of conversation.h.
 *
 * Should:   return how many bytes of the client may be forwarded, and the host that they name.
 * Must not: judge a name, keep a byte, or read an answer that could belong to another request.
 * Fails:    closed: on ports 80 and 443 an unknown protocol is refused. */
#include "net/conversation.h"

#include "net/http_fields.h"

#include <string.h>

/* The type of a TLS record and the first byte of its version. */
#define TLS_HELLO_ANSWER 2
/* "HTTP/1.1 101". */
#define STATUS_LINE 12

static struct conversation_result bad(const char *why) {
	return (struct conversation_result){.verdict = VERDICT_BAD, .why = why};
}

static struct conversation_result unread(const char *why) {
	return (struct conversation_result){.verdict = VERDICT_BAD, .why = why, .unread = true};
}

static struct conversation_result more(void) {
	return (struct conversation_result){.verdict = VERDICT_MORE};
}

static struct conversation_result pass(uint64_t bytes) {
	return (struct conversation_result){.verdict = VERDICT_PASS, .pass = bytes};
}

/* ---- TLS ---- */

static struct conversation_result read_hello(struct conversation *t, const uint8_t *data,
					     size_t len) {
	struct tls_hello hello;
	const char *why = NULL;

	switch (tls_hello_read(data, len, &hello, &why)) {
	case SNIFF_MORE:
		return len >= TLS_HELLO_MAX ? bad("the TLS hello is too long") : more();
	case SNIFF_BAD:
		return bad(why);
	case SNIFF_DONE:
		break;
	}
	if (!hello.named && t->strict) {
		return unread("the TLS hello names no server");
	}
	if (http_sniff_within(data, hello.len)) {
		return bad("the TLS hello contains an HTTP request");
	}
	struct conversation_result result = pass(hello.len);
	result.names = result.tls = hello.named;
	result.host = hello.server;
	t->state = CONVERSATION_HELLO;
	return result;
}

/* ---- requests ---- */

static void begin_body(struct conversation *t, const struct http_head *head) {
	t->body = head->body;
	t->scan = (struct http_scan){.first_line = head->has_content};
	t->state = head->body.kind != BODY_NONE ? CONVERSATION_BODY
		   : t->single                  ? CONVERSATION_OVER
						: CONVERSATION_HEAD;
}

static void enter_switch(struct conversation *t, const struct http_head *head) {
	if (head->upgrade != UPGRADE_NONE && t->state == CONVERSATION_HEAD &&
	    !t->not_first) { /* G8 */
		t->state = CONVERSATION_SWITCH;
		t->upgrade = head->upgrade;
		websocket_accept(head->websocket_key, t->accept);
	}
	t->not_first = true;
}

static struct conversation_result read_head(struct conversation *t, const uint8_t *data,
					    size_t len) {
	struct http_head head;
	const char *why = NULL;
	int status;

	t->http = true;
	switch (http_head_read(data, len, &head, &status, &why)) {
	case SNIFF_MORE:
		return len >= HTTP_HEAD_MAX ? bad("the request head is too long") : more();
	case SNIFF_BAD:
		return bad(why);
	case SNIFF_DONE:
		break;
	}
	if (head.connect && !t->unjudged) {
		return bad("CONNECT was sent to a host that is not a proxy");
	}
	/* Without Host a server may use the target's host or its default: only Host is unambiguous.
	 */
	if (!head.has_host && !t->unjudged) {
		return bad("the request has no Host field");
	}
	begin_body(t, &head);
	enter_switch(t, &head);
	/* A tunnel may have requests too, and a server that is no proxy reads the next one. */
	t->state = head.connect ? CONVERSATION_FIRST : t->state;
	struct conversation_result result = pass(head.len);
	result.part = PART_HEAD;
	result.line = head.target + head.target_len;
	result.names = true;
	result.host = head.host;
	result.port = head.port;
	return result;
}

static struct conversation_result read_body(struct conversation *t, const uint8_t *data,
					    size_t len) {
	bool end = false;
	long taken = http_body_take(&t->body, data, len, &end);

	if (taken < 0) {
		return bad("the request body has malformed chunks");
	}
	if (!t->unjudged && !http_scan_take(&t->scan, data, (size_t)taken)) {
		return bad("the request body begins like another request");
	}
	struct conversation_result result = pass((uint64_t)taken);
	result.part = PART_BODY;
	if (t->body.kind == BODY_LENGTH && http_scan_over(&t->scan) && !t->whole) {
		result.pass += t->body.left;
		end = true;
	}
	if (end) {
		t->state = t->single ? CONVERSATION_OVER : CONVERSATION_HEAD;
	}
	return result;
}

/* ---- frames ---- */

static struct conversation_result read_frames(const uint8_t *data, size_t len) {
	uint64_t at = 0, frame;

	while (at < len) {
		enum sniff sniffed = websocket_frame(data + at, len - (size_t)at, &frame);
		if (sniffed == SNIFF_BAD) {
			return bad("the client sent bytes that are no WebSocket frame");
		}
		if (sniffed == SNIFF_MORE) {
			break;
		}
		at += frame;
	}
	return at == 0 ? more() : pass(at);
}

/* ---- the first bytes ---- */

/* Without its newline the line is a request already: some servers take EOF, or a bare CR, for the
 * end of a line.  Otherwise it may be all that another protocol sends first. */
static bool is_request_line(const uint8_t *data, size_t len) {
	uint8_t line[CONVERSATION_UNSURE_MAX + 1];

	memcpy(line, data, len);
	line[len] = '\n';
	return http_sniff(line, len + 1) == SNIFF_DONE;
}

/* Any first word with a path or URL: the version may come later.  A caller that scans requests may
 * not forward the target before. */
static bool is_target_begun(const uint8_t *data, size_t len) {
	size_t at = 0;

	while (at < len && (gap_char(data[at]) || data[at] == '\n')) {
		at++;
	}
	while (at < len && !gap_char(data[at])) {
		at++;
	}
	while (at < len && gap_char(data[at])) {
		at++;
	}
	return at < len && (data[at] == '/' || memmem(data + at, len - at, "://", 3) != NULL);
}

static struct conversation_result read_first(struct conversation *t, const uint8_t *data,
					     size_t len) {
	bool tls = tls_hello_begins(data, len);
	if (tls && !t->unjudged) {
		return read_hello(t, data, len);
	}
	enum sniff two = http_sniff_http2(data, len), one = tls ? SNIFF_BAD : http_sniff(data, len);
	if (two == SNIFF_DONE) {
		return unread("HTTP/2 without TLS cannot be inspected");
	}
	if (one == SNIFF_DONE) {
		return read_head(t, data, len);
	}
	if (one == SNIFF_MORE || two == SNIFF_MORE) {
		if (!t->strict && len <= CONVERSATION_UNSURE_MAX && !is_request_line(data, len) &&
		    !(t->whole && is_target_begun(data, len))) {
			return (struct conversation_result){.verdict = VERDICT_UNSURE};
		}
		return len >= HTTP_HEAD_MAX ? bad("the request head is too long") : more();
	}
	if (t->strict) {
		return unread("only TLS and HTTP/1 are allowed on ports 80 and 443 of a host "
			      "allowed by name");
	}
	t->state = CONVERSATION_OPAQUE;
	return pass(UINT64_MAX);
}

struct conversation_result conversation_client(struct conversation *t, const uint8_t *data,
					       size_t len) {
	switch (t->state) {
	case CONVERSATION_FIRST:
		return read_first(t, data, len);
	case CONVERSATION_HEAD:
		return read_head(t, data, len);
	case CONVERSATION_BODY:
		return read_body(t, data, len);
	case CONVERSATION_SOCKET:
		return read_frames(data, len);
	case CONVERSATION_OPAQUE:
		return pass(UINT64_MAX);
	case CONVERSATION_HELLO:
	case CONVERSATION_SWITCH:
	case CONVERSATION_OVER:
		break;
	}
	return more();
}

void conversation_single(struct conversation *t, const struct http_head *head) {
	t->single = t->http = t->not_first = true;
	begin_body(t, head);
}

/* ---- the answer to a hello ---- */

static struct conversation_result read_answer(struct conversation *t, const uint8_t *data,
					      size_t len, bool ended) {
	if (len >= TLS_HELLO_ANSWER && tls_hello_answered(data)) {
		t->state = CONVERSATION_OPAQUE;
		return pass(UINT64_MAX);
	}
	if (len < TLS_HELLO_ANSWER && !ended) {
		return more();
	}
	t->state = CONVERSATION_OVER;
	return len == 0 ? pass(0) : unread("the server does not speak TLS");
}

/* ---- the answer to the first request ---- */

static struct conversation_result enter_websocket(struct conversation *t,
						  const struct http_answer *a) {
	if (t->unjudged) {
		t->state = CONVERSATION_OPAQUE;
		return pass(UINT64_MAX);
	}
	if (t->upgrade != UPGRADE_WEBSOCKET) {
		return unread("the server switched to a protocol that cannot be inspected");
	}
	if (a->accept_len != sizeof t->accept ||
	    memcmp(a->accept, t->accept, sizeof t->accept) != 0) {
		return bad("the server's 101 answer has a wrong Sec-WebSocket-Accept");
	}
	t->state = CONVERSATION_SOCKET;
	return pass(0);
}

static struct conversation_result stay_http(struct conversation *t) {
	t->state = CONVERSATION_HEAD;
	return pass(0);
}

static struct conversation_result read_switch(struct conversation *t, const uint8_t *data,
					      size_t len, bool ended) {
	size_t at = 0;

	for (;;) {
		struct http_answer a;
		enum sniff sniffed = http_answer_read(data + at, len - at, &a);
		if (sniffed == SNIFF_MORE && !ended && len < HTTP_HEAD_MAX) {
			return more();
		}
		if (sniffed == SNIFF_DONE && a.status == 101) {
			return enter_websocket(t, &a);
		}
		if (sniffed != SNIFF_DONE || a.status < 100 || a.status > 199) {
			return stay_http(t);
		}
		at += a.len; /* 100, 103: the final answer follows */
	}
}

struct conversation_result conversation_server(struct conversation *t, const uint8_t *data,
					       size_t len, bool ended) {
	return t->state == CONVERSATION_HELLO ? read_answer(t, data, len, ended)
					      : read_switch(t, data, len, ended);
}

size_t conversation_wants(const struct conversation *t) {
	return t->state == CONVERSATION_HELLO ? TLS_HELLO_ANSWER : STATUS_LINE;
}
