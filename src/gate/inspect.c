/* What a client says, against the names that it may talk to.
 *
 * The bytes are looked at where they lie, in the socket's queue (G2); what is found
 * good is a number of bytes that may pass.
 *
 * Should:   judge the server name of TLS and the host of every HTTP/1 request.
 * Must not: let a byte pass that a stricter reader could take for something else.
 * Fails:    closed: what is not understood on ports 80 and 443 is refused. */
#include "gate/flow.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

/* Looks that are taken to empty a queue before a refusal. */
#define UNREAD_MAX 16

/* ---- names ---- */

static bool is_given(const struct flow *f, const char *name) {
	size_t at = 0;

	for (const char *n; (n = given_name(&f->gate->given, &f->ip, &at)) != NULL;) {
		if (strcmp(n, name) == 0) {
			return given_deny(&f->gate->given, at, f->port) == NULL;
		}
	}
	at = 0;
	for (const char *n; (n = resolver_hosts_name(f->gate->resolver, &f->ip, &at)) != NULL;) {
		if (strcmp(n, name) == 0) {
			return true;
		}
	}
	return false;
}

/* One that this connection may name: the one that a proxy was asked for, or one of
 * those that the address was given for. */
static struct net_verdict judge_said(const struct flow *f, const char *name) {
	bool proxied = (f->kind == FLOW_HTTP || f->kind == FLOW_SOCKS) && !f->by_address;
	struct net_verdict v = judge_name(f->gate->net, name, f->port);

	if (v.allowed && !(proxied ? strcmp(name, f->name) == 0 : is_given(f, name))) {
		return (struct net_verdict){.rule = v.rule,
					    .why = "the connection was made for another name than "
						   "the one that it names"};
	}
	return v;
}

/* A few short texts, in a buffer of 64 KiB. */
static size_t put(uint8_t *out, size_t at, const char *s) {
	while (*s != '\0') {
		out[at++] = (uint8_t)*s++;
	}
	return at;
}

/* In the words of a client that speaks HTTP, where the server has not begun to. */
static void say_forbidden(struct flow *f, const char *why) {
	uint8_t *out = f->gate->scratch;
	size_t len;

	/* What the client has said so far is read: a close with bytes unread is a reset. */
	for (int i = 0; i < UNREAD_MAX; i++) {
		if (recv(f->client.fd, out, sizeof f->gate->scratch, MSG_DONTWAIT) <= 0) {
			break;
		}
	}
	len = put(out, 0,
		  "HTTP/1.1 403 Forbidden\r\nConnection: close\r\n"
		  "Content-Type: text/plain\r\n\r\ncorral: ");
	len = put(out, len, f->name);
	len = put(out, len, f->name[0] == '\0' ? "" : ": ");
	len = put(out, len, why);
	len = put(out, len, "\n");
	(void)send(f->client.fd, out, len, MSG_DONTWAIT | MSG_NOSIGNAL); /* or without words */
}

static bool refuse_verdict(struct flow *f, const struct net_verdict *v) {
	bool words = f->client.fd >= 0 && !f->heard_back && f->speaks_http;

	(void)flow_note(f, NET_OP_REQUEST, NET_DENIED, v);
	if (words) {
		say_forbidden(f, v->why);
		flow_close(f);
	} else {
		flow_fail(f, EACCES);
	}
	return false;
}

static bool refuse_name(struct flow *f, const char *name, const struct net_verdict *v) {
	memcpy(f->name, name, strlen(name) + 1); /* the grammar of names has this bound */
	return refuse_verdict(f, v);
}

static bool refuse(struct flow *f, const char *why) {
	const struct net_verdict v = {.rule = f->rule, .why = why};

	return refuse_verdict(f, &v);
}

/* An address that is listed itself is not judged by what is said there; a proxy is asked for a
 * name, whatever is listed. */
static bool refuse_unread(struct flow *f, const char *why) {
	const struct net_verdict v = {
		.rule = f->rule, .why = why, .unread = f->kind == FLOW_THROUGH};

	return refuse_verdict(f, &v);
}

/* ---- waiting for more ---- */

/* "HTTP/1.1 101": as much as decides. */
#define STATUS_LINE 12

static bool wait_for_more(struct flow *f, size_t seen) {
	if (!f->spoken) {
		f->spoken = true;
		(void)alarm_set(&f->gate->loop, &f->alarm, HANDSHAKE_MS);
	}
	if (!flow_more(f, seen)) {
		return refuse(f, "the client ended, or sent urgent data, in the middle of naming a "
				 "host");
	}
	return true;
}

/* It is known what is spoken, or this part of it was judged. */
static void heard(struct flow *f, enum speech speech) {
	f->speech = speech;
	f->spoken = f->unsure = false;
	alarm_clear(&f->gate->loop, &f->alarm);
	flow_low(f, 1);
	if (speech == SPEECH_OPAQUE) {
		f->up.allow = WAY_OPEN;
	}
}

/* What is there, after what went on before anybody knew what it was. */
static ssize_t peek(struct flow *f) {
	uint8_t *data = f->gate->scratch;

	memcpy(data, f->passed, f->npassed);
	return recv(f->client.fd, data + f->npassed, sizeof f->gate->scratch - f->npassed,
		    MSG_PEEK | MSG_DONTWAIT);
}

/* The word goes on, and is remembered: what follows may make a request of it. */
static void pass_word(struct flow *f) {
	ssize_t n = peek(f);

	f->unsure = false;
	alarm_clear(&f->gate->loop, &f->alarm);
	flow_low(f, 1);
	if (n > 0 && f->npassed + (size_t)n <= UNSURE_MAX) {
		memcpy(f->passed + f->npassed, f->gate->scratch + f->npassed, (size_t)n);
		f->npassed += (size_t)n;
		f->up.allow = (uint64_t)n;
	}
}

void inspect_unsure(struct flow *f) {
	pass_word(f);
	flow_step(f, STEP_UP);
}

/* Where nothing has to be named a first word may be all that is said before an answer. */
static void wait_unsure(struct flow *f, size_t seen) {
	if (!flow_more(f, seen)) {
		pass_word(f);
		return;
	}
	if (!f->unsure) {
		f->unsure = alarm_set(&f->gate->loop, &f->alarm, UNSURE_MS);
	}
}

static bool has_blank(const uint8_t *data, size_t len) {
	return memchr(data, ' ', len) != NULL || memchr(data, '\t', len) != NULL;
}

/* ---- TLS ---- */

static bool inspect_tls(struct flow *f, const uint8_t *data, size_t len) {
	struct hello hello;
	const char *why = NULL;

	switch (hello_read(data, len, &hello, &why)) {
	case SNIFF_MORE:
		return len == HELLO_MAX ? refuse(f, "the TLS hello is too long")
					: wait_for_more(f, len);
	case SNIFF_BAD:
		return refuse(f, why);
	case SNIFF_DONE:
		break;
	}
	if (!hello.named) {
		if (f->strict) {
			return refuse_unread(f, "the TLS hello names no server");
		}
		heard(f, SPEECH_OPAQUE);
		return true;
	}
	struct net_verdict v = judge_said(f, hello.server.name);
	if (!v.allowed) {
		return refuse_name(f, hello.server.name, &v);
	}
	heard(f, SPEECH_OPAQUE);
	return true;
}

/* ---- HTTP ---- */

static bool judge_head(struct flow *f, const struct http_head *head) {
	if (head->connect) {
		return refuse(f, "a proxy's request was sent to a host that is no proxy");
	}
	if (head->port != 0 && head->port != f->port) {
		return refuse(f, "the request names another port than the connection's");
	}
	if (head->host.kind == HOST_BAD) {
		return refuse(f, "the request names no host");
	}
	if (head->host.kind == HOST_IP) {
		struct net_verdict v = judge_ip(f->gate->net, &head->host.ip, f->port);
		return v.allowed && ip_same(&head->host.ip, &f->ip)
			       ? true
			       : refuse(f, "the request names an address in the place of a host");
	}
	struct net_verdict v = judge_said(f, head->host.name);
	return v.allowed ? true : refuse_name(f, head->host.name, &v);
}

static bool inspect_head(struct flow *f, const uint8_t *data, size_t len) {
	struct http_head head;
	const char *why = NULL;
	int status;

	f->speaks_http = true;
	switch (http_head_read(data, len, &head, &status, &why)) {
	case SNIFF_MORE:
		return len == HTTP_HEAD_MAX ? refuse(f, "the request's head is too long")
					    : wait_for_more(f, len - f->npassed);
	case SNIFF_BAD:
		return refuse(f, why);
	case SNIFF_DONE:
		break;
	}
	if (!judge_head(f, &head)) {
		return false;
	}
	heard(f, SPEECH_HTTP);
	f->upgrade = head.upgrade;
	if (f->upgrade != UPGRADE_NONE) {
		flow_low_water(f->server.fd, STATUS_LINE);
	}
	f->body = head.body;
	f->in_body = head.body.kind == BODY_CHUNKED;
	f->up.allow = head.len - f->npassed + (head.body.kind == BODY_LENGTH ? head.body.left : 0);
	f->npassed = 0;
	return true;
}

static bool inspect_body(struct flow *f, const uint8_t *data, size_t len) {
	bool end = false;
	long taken = http_body_take(&f->body, data, len, &end);

	if (taken < 0) {
		return refuse(f, "the request's chunks are broken");
	}
	f->in_body = !end;
	f->up.allow = (uint64_t)taken;
	if (end && f->kind == FLOW_HTTP && !f->connects) {
		f->speech = SPEECH_OPAQUE; /* and nothing more is taken: one request a connection */
	}
	return true;
}

/* ---- what is it? ---- */

static bool inspect_first(struct flow *f, const uint8_t *data, size_t len) {
	if (hello_begins(data, len)) {
		return inspect_tls(f, data, len);
	}
	enum sniff two = http2_begins(data, len), one = http_begins(data, len);
	if (two == SNIFF_DONE) {
		return refuse_unread(f, "HTTP/2 without TLS is not judged");
	}
	if (one == SNIFF_DONE) {
		return inspect_head(f, data, len);
	}
	if (one == SNIFF_MORE || two == SNIFF_MORE) {
		if (!f->strict && len <= UNSURE_MAX) {
			wait_unsure(f, len - f->npassed);
			return true;
		}
		if (!f->strict && !has_blank(data, UNSURE_MAX)) {
			heard(f, SPEECH_OPAQUE); /* no method is so long */
			return true;
		}
		return len == HTTP_HEAD_MAX ? refuse(f, "the request's head is too long")
					    : wait_for_more(f, len - f->npassed);
	}
	if (f->strict) {
		return refuse_unread(f, "on ports 80 and 443 a client speaks TLS or HTTP");
	}
	heard(f, SPEECH_OPAQUE);
	return true;
}

bool inspect(struct flow *f) {
	const uint8_t *data = f->gate->scratch;
	ssize_t n = peek(f);

	if (n < 0 && errno != EAGAIN && errno != EINTR) {
		flow_reset(f);
		return false;
	}
	if (n < 0) {
		return true;
	}
	if (n == 0 && f->strict && f->speech == SPEECH_UNKNOWN) {
		flow_close(f); /* nothing was said, so nothing may be heard */
		return false;
	}
	if (n == 0) {
		f->up.ended = true; /* said its last at a place where it may */
		return f->in_body ? refuse(f, "the client ended in the middle of a request") : true;
	}
	if (f->speech == SPEECH_UNKNOWN) {
		return inspect_first(f, data, f->npassed + (size_t)n);
	}
	return f->in_body ? inspect_body(f, data, (size_t)n) : inspect_head(f, data, (size_t)n);
}

/* ---- a server that changes the protocol ---- */

bool inspect_answer(struct flow *f) {
	uint8_t *data = f->gate->scratch;
	ssize_t n = recv(f->server.fd, data, sizeof f->gate->scratch, MSG_PEEK | MSG_DONTWAIT);
	int status = 0;

	bool more = n <= 0 || http_status_read(data, (size_t)n, &status) == SNIFF_MORE;
	if (more && !flow_ended(f->server.fd)) {
		flow_low_water(f->server.fd, n < STATUS_LINE ? STATUS_LINE : (size_t)n + 1);
		return true;
	}
	flow_low_water(f->server.fd, 1);
	if (status == 101 && f->upgrade == UPGRADE_OTHER) {
		return refuse_unread(f, "the server changed to a protocol that is not judged");
	}
	if (status == 101) {
		heard(f, SPEECH_OPAQUE);
	}
	f->upgrade = UPGRADE_NONE;
	return true;
}
