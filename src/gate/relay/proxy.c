/* SPDX-License-Identifier: Apache-2.0 */
/* The gate's HTTP and SOCKS proxies, which apply the same rules as direct connections.
 *
 * Should:   answer with an HTTP status or a SOCKS reply, so that a program can tell a refusal
 *           by a rule from an unreachable host.
 * Must not: forward hop-by-hop and Proxy-* fields; serve a second request on a connection to
 *           the host of the first.
 * Fails:    closed: HTTP 4xx and 5xx, SOCKS error codes. */
#include "gate/relay/flow.h"

#include "base/str.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/uio.h>

/* ---- answers ---- */

static void reply(struct flow *f, const void *data, size_t len) {
	/* The send queue is empty: all of it fits, or the client has closed. */
	(void)send(f->client.fd, data, len, MSG_DONTWAIT | MSG_NOSIGNAL);
}

static void reply_socks(struct flow *f, enum socks_outcome outcome) {
	uint8_t message[SOCKS_REPLY_MAX];

	reply(f, message, socks_reply(&f->socks, outcome, message));
}

static void reply_text(struct flow *f, const char *s) {
	reply(f, s, strlen(s));
}

/* A response with a body of one line. */
static void reply_status(struct flow *f, const char *status, const char *why) {
	reply_text(f, "HTTP/1.1 ");
	reply_text(f, status);
	reply_text(f, "\r\nConnection: close\r\nContent-Type: text/plain\r\n\r\ncorral: ");
	reply_text(f, why == NULL ? status : why);
	reply_text(f, "\n");
}

static const char *status_text(int status) {
	switch (status) {
	case 405:
		return "405 Method Not Allowed";
	case 431:
		return "431 Request Header Fields Too Large";
	case 505:
		return "505 HTTP Version Not Supported";
	default:
		return "400 Bad Request";
	}
}

static void refuse(struct flow *f, int error, const char *why) {
	static const struct {
		int error;
		const char *status;
		enum socks_outcome socks;
	} answers[] = {
		{EACCES, "403 Forbidden", SOCKS_REFUSED_BY_RULE},
		{ECONNREFUSED, "502 Bad Gateway", SOCKS_CONNECTION_REFUSED},
		{EHOSTUNREACH, "502 Bad Gateway", SOCKS_UNREACHABLE},
		{ENETUNREACH, "502 Bad Gateway", SOCKS_UNREACHABLE},
		{ETIMEDOUT, "504 Gateway Timeout", SOCKS_UNREACHABLE},
		{0, "502 Bad Gateway", SOCKS_FAILED},
	};
	size_t i = 0;

	while (answers[i].error != error && answers[i].error != 0) {
		i++;
	}
	if (f->kind == FLOW_SOCKS) {
		reply_socks(f, answers[i].socks);
	} else {
		reply_status(f, answers[i].status, why);
	}
	flow_close_replied(f);
}

static void wait_or_close(struct flow *f, size_t seen) {
	if (!flow_wait_for_more(f, seen)) {
		flow_close(f);
	}
}

/* ---- the destination of a request ---- */

static void connect_ip(struct flow *f) {
	struct net_verdict v = upstream_judge(f);

	f->by_address = true;
	/* As for a direct connection: an address that is allowed by name needs that name as the
	 * Host. */
	if (v.allowed && f->by_name && !f->connects) {
		v = (struct net_verdict){.rule = f->rule,
					 .why = "the request names an address, not a host name"};
	}
	if (!v.allowed) {
		(void)flow_record(f, NET_OP_PROXY, NET_DENIED, &v);
		refuse(f, EACCES, v.why);
		return;
	}
	denied_names_vet(f);
}

static void connect_host(struct flow *f, const struct hostname *host, uint16_t port) {
	f->port = port;
	(void)loop_want(&f->gate->loop, &f->client, 0); /* it is in the set */
	if (host->kind == HOST_IP) {
		f->ip = host->ip;
		connect_ip(f);
		return;
	}
	memset(&f->ip, 0, sizeof f->ip);
	memcpy(f->name, host->name, sizeof f->name);
	struct net_verdict v = judge_name(f->gate->net, f->name, port);
	if (!v.allowed) {
		(void)flow_record(f, NET_OP_PROXY, NET_DENIED, &v);
		refuse(f, EACCES, v.why);
		return;
	}
	f->by_name = true;
	f->rule = v.rule;
	upstream_connect_name(f);
}

/* ---- HTTP ---- */

static size_t stash_take(struct gate *g) {
	for (size_t i = 0; i < GATE_STASHES; i++) {
		if (!g->stash_used[i]) {
			g->stash_used[i] = true;
			return i + 1;
		}
	}
	return 0;
}

/* Rewrites the head for the origin server; the connection serves this request only. */
static bool rewrite_head(struct flow *f, const uint8_t *data, const struct http_head *head) {
	f->stash = stash_take(f->gate);
	if (f->stash == 0) {
		return false;
	}
	f->stash_len = http_head_forward(data, head, f->gate->stash[f->stash - 1], STASH_SIZE);
	conversation_single(&f->talk, head);
	f->up.allow = 0;
	return f->stash_len > 0;
}

static void http_request(struct flow *f, const uint8_t *data, const struct http_head *head) {
	uint16_t port = head->port != 0 ? head->port : 80;

	if (head->form != HTTP_ABSOLUTE && head->form != HTTP_AUTHORITY) {
		reply_status(
			f, status_text(400),
			"this is a proxy: the request target must be an http URL or HOST:PORT");
		flow_close_replied(f);
		return;
	}
	f->connects = head->connect;
	if (!head->connect && !rewrite_head(f, data, head)) {
		reply_status(f, "503 Service Unavailable",
			     "the proxy is busy, or the request head is too long");
		flow_close_replied(f);
		return;
	}
	/* Remove the head from the queue; the body or the tunnel's bytes follow. */
	if (recv(f->client.fd, f->gate->scratch, head->len, MSG_DONTWAIT) != (ssize_t)head->len) {
		flow_reset(f);
		return;
	}
	connect_host(f, &head->host, port);
}

static void http_step(struct flow *f, const uint8_t *data, size_t len) {
	struct http_head head;
	const char *why = NULL;
	int status = 400;

	switch (http_head_read(data, len, &head, &status, &why)) {
	case SNIFF_MORE:
		if (len < HTTP_HEAD_MAX) {
			wait_or_close(f, len);
			return;
		}
		status = 431;
		why = "the request head is too long";
		break;
	case SNIFF_DONE:
		http_request(f, data, &head);
		return;
	case SNIFF_BAD:
		break;
	}
	reply_status(f, status_text(status), why);
	flow_close_replied(f);
}

/* ---- SOCKS ---- */

static void socks_step(struct flow *f, const uint8_t *data, size_t len) {
	size_t used = 0;
	enum sniff result = socks_read(&f->socks, data, len < SOCKS_MAX ? len : SOCKS_MAX, &used);

	if (used > 0 && recv(f->client.fd, f->gate->scratch, used, MSG_DONTWAIT) != (ssize_t)used) {
		flow_reset(f);
		return;
	}
	if (f->socks.answer_len > 0) {
		reply(f, f->socks.answer, f->socks.answer_len);
	}
	if (result == SNIFF_BAD) {
		flow_close_replied(f);
	} else if (result == SNIFF_DONE) {
		f->connects = true;
		connect_host(f, &f->socks.host, f->socks.port);
	} else {
		wait_or_close(f, len - used);
	}
}

/* ---- called by the flow ---- */

void proxy_step(struct flow *f) {
	const uint8_t *data = f->gate->scratch;
	ssize_t n = recv(f->client.fd, f->gate->scratch, sizeof f->gate->scratch,
			 MSG_PEEK | MSG_DONTWAIT);

	if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
		return;
	}
	if (n <= 0) {
		flow_close(f);
		return;
	}
	if (f->kind == FLOW_HTTP) {
		http_step(f, data, (size_t)n);
	} else {
		socks_step(f, data, (size_t)n);
	}
}

void proxy_dialled(struct flow *f) {
	if (f->dial_error != 0) {
		refuse(f, f->dial_error, "cannot connect to the host");
		return;
	}
	flow_client_low_water(f, 1);
	if (f->kind == FLOW_SOCKS) {
		reply_socks(f, SOCKS_GRANTED);
	} else if (f->connects) {
		reply_text(f, "HTTP/1.1 200 Connection established\r\n\r\n");
	}
	flow_open(f);
}

bool proxy_flush(struct flow *f) {
	if (f->stash == 0) {
		return true;
	}
	if (!scan_proxy_head(f)) {
		return false;
	}
	ssize_t n = send(f->server.fd, f->gate->stash[f->stash - 1] + f->stash_at,
			 f->stash_len - f->stash_at, MSG_DONTWAIT | MSG_NOSIGNAL);
	if (n > 0) {
		f->stash_at += (size_t)n;
	}
	if (f->stash_at < f->stash_len) {
		return false; /* an error arrives as an event of the server's socket */
	}
	f->gate->stash_used[f->stash - 1] = false;
	f->stash = 0;
	return true;
}
