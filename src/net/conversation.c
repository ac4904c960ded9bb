/* Should:   say what of the client's words may pass, and whom they name.
 * Must not: judge a name, keep a byte, or read an answer that could be another request's.
 * Fails:    closed: what is not understood where a name has to come is refused. */
#include "net/conversation.h"

#include <string.h>

/* A record's type and its version's first byte. */
#define TLS_HELLO_ANSWER 2
/* "HTTP/1.1 101". */
#define STATUS_LINE 12

static struct conversation_result bad(const char *why) {
	return (struct conversation_result){.verdict = SAID_BAD, .why = why};
}

static struct conversation_result unread(const char *why) {
	return (struct conversation_result){.verdict = SAID_BAD, .why = why, .unread = true};
}

static struct conversation_result more(void) {
	return (struct conversation_result){.verdict = SAID_MORE};
}

static struct conversation_result pass(uint64_t bytes) {
	return (struct conversation_result){.verdict = SAID_PASS, .pass = bytes};
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
		return bad("the TLS hello holds a request");
	}
	struct conversation_result said = pass(hello.len);
	said.names = said.tls = hello.named;
	said.host = hello.server;
	t->state = CONVERSATION_HELLO;
	return said;
}

/* ---- requests ---- */

static void begin_body(struct conversation *t, const struct http_head *head) {
	t->body = head->body;
	t->scan = (struct http_scan){.first_line = head->has_content};
	t->state = head->body.kind != BODY_NONE ? CONVERSATION_BODY
		   : t->single                  ? CONVERSATION_OVER
						: CONVERSATION_HEAD;
}

static struct conversation_result read_head(struct conversation *t, const uint8_t *data,
					    size_t len) {
	struct http_head head;
	const char *why = NULL;
	int status;

	t->http = true;
	switch (http_head_read(data, len, &head, &status, &why)) {
	case SNIFF_MORE:
		return len >= HTTP_HEAD_MAX ? bad("the request's head is too long") : more();
	case SNIFF_BAD:
		return bad(why);
	case SNIFF_DONE:
		break;
	}
	if (head.connect) {
		return bad("a proxy's request was sent to a host that is no proxy");
	}
	/* A server may take the target's host or the default one; Host alone is read by all. */
	if (!head.has_host) {
		return bad("the request has no Host");
	}
	begin_body(t, &head);
	if (head.upgrade != UPGRADE_NONE && t->state == CONVERSATION_HEAD && !t->spoken) {
		t->state = CONVERSATION_SWITCH;
		t->upgrade = head.upgrade;
		websocket_accept(head.websocket_key, t->accept);
	}
	t->spoken = true;
	struct conversation_result said = pass(head.len);
	said.names = true;
	said.host = head.host;
	said.port = head.port;
	return said;
}

static struct conversation_result read_body(struct conversation *t, const uint8_t *data,
					    size_t len) {
	bool end = false;
	long taken = http_body_take(&t->body, data, len, &end);

	if (taken < 0) {
		return bad("the request's chunks are broken");
	}
	if (!http_scan_take(&t->scan, data, (size_t)taken)) {
		return bad("the request's body begins like another request");
	}
	struct conversation_result said = pass((uint64_t)taken);
	if (t->body.kind == BODY_LENGTH && http_scan_over(&t->scan)) {
		said.pass += t->body.left;
		end = true;
	}
	if (end) {
		t->state = t->single ? CONVERSATION_OVER : CONVERSATION_HEAD;
	}
	return said;
}

/* ---- frames ---- */

static struct conversation_result read_frames(const uint8_t *data, size_t len) {
	uint64_t at = 0, frame;

	while (at < len) {
		enum sniff told = websocket_frame(data + at, len - (size_t)at, &frame);
		if (told == SNIFF_BAD) {
			return bad("what follows is not a WebSocket's frame");
		}
		if (told == SNIFF_MORE) {
			break;
		}
		at += frame;
	}
	return at == 0 ? more() : pass(at);
}

/* ---- the first words ---- */

/* A line that is a request as it stands: one server takes the client's end, or a bare CR, for the
 * line's.  What no request could be yet may be all that another protocol says first. */
static bool is_whole(const uint8_t *data, size_t len) {
	uint8_t line[CONVERSATION_UNSURE_MAX + 1];

	memcpy(line, data, len);
	line[len] = '\n';
	return http_sniff(line, len + 1) == SNIFF_DONE;
}

static struct conversation_result read_first(struct conversation *t, const uint8_t *data,
					     size_t len) {
	if (tls_hello_begins(data, len)) {
		return read_hello(t, data, len);
	}
	enum sniff two = http_sniff_http2(data, len), one = http_sniff(data, len);
	if (two == SNIFF_DONE) {
		return unread("HTTP/2 without TLS is not judged");
	}
	if (one == SNIFF_DONE) {
		return read_head(t, data, len);
	}
	if (one == SNIFF_MORE || two == SNIFF_MORE) {
		if (!t->strict && len <= CONVERSATION_UNSURE_MAX && !is_whole(data, len)) {
			return (struct conversation_result){.verdict = SAID_UNSURE};
		}
		return len >= HTTP_HEAD_MAX ? bad("the request's head is too long") : more();
	}
	if (t->strict) {
		return unread("on ports 80 and 443 a client speaks TLS or HTTP");
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
	t->single = t->http = t->spoken = true;
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

static struct conversation_result switched(struct conversation *t, const struct http_answer *a) {
	if (t->upgrade != UPGRADE_WEBSOCKET) {
		return unread("the server changed to a protocol that is not judged");
	}
	if (a->accept_len != sizeof t->accept ||
	    memcmp(a->accept, t->accept, sizeof t->accept) != 0) {
		return bad("the server's answer is not that of a WebSocket");
	}
	t->state = CONVERSATION_SOCKET;
	return pass(0);
}

static struct conversation_result unswitched(struct conversation *t) {
	t->state = CONVERSATION_HEAD;
	return pass(0);
}

static struct conversation_result read_switch(struct conversation *t, const uint8_t *data,
					      size_t len, bool ended) {
	size_t at = 0;

	for (;;) {
		struct http_answer a;
		enum sniff told = http_answer_read(data + at, len - at, &a);
		if (told == SNIFF_MORE && !ended && len < HTTP_HEAD_MAX) {
			return more();
		}
		if (told == SNIFF_DONE && a.status == 101) {
			return switched(t, &a);
		}
		if (told != SNIFF_DONE || a.status < 100 || a.status > 199) {
			return unswitched(t);
		}
		at += a.len; /* 100, 103: the answer is behind it */
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
