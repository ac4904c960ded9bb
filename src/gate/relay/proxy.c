/* Listeners for programs that want a proxy: HTTP and SOCKS, by the same rules.
 *
 * Should:   answer in the proxy's words, so that a program can tell a refusal from an
 *           upstream that is away.
 * Must not: pass on what belongs to the proxy alone; serve a second request on a
 *           connection that was dialled for the first one's host.
 * Fails:    closed: 4xx and 5xx, and the SOCKS codes. */
#include "gate/relay/flow.h"

#include "base/str.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/uio.h>

/* ---- answers ---- */

static void say(struct flow *f, const void *data, size_t len) {
	/* The socket's queue is empty: it is taken whole, or the client is gone. */
	(void)send(f->client.fd, data, len, MSG_DONTWAIT | MSG_NOSIGNAL);
}

static void say_socks(struct flow *f, enum socks_outcome outcome) {
	uint8_t reply[SOCKS_REPLY_MAX];

	say(f, reply, socks_reply(&f->socks, outcome, reply));
}

static void say_text(struct flow *f, const char *s) {
	say(f, s, strlen(s));
}

/* The head of an answer, with a body of one line. */
static void say_status(struct flow *f, const char *status, const char *why) {
	say_text(f, "HTTP/1.1 ");
	say_text(f, status);
	say_text(f, "\r\nConnection: close\r\nContent-Type: text/plain\r\n\r\ncorral: ");
	say_text(f, why == NULL ? status : why);
	say_text(f, "\n");
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

static void turn_away(struct flow *f, int error, const char *why) {
	static const struct {
		int error;
		const char *status;
		enum socks_outcome socks;
	} words[] = {
		{EACCES, "403 Forbidden", SOCKS_REFUSED_BY_RULE},
		{ECONNREFUSED, "502 Bad Gateway", SOCKS_CONNECTION_REFUSED},
		{EHOSTUNREACH, "502 Bad Gateway", SOCKS_UNREACHABLE},
		{ENETUNREACH, "502 Bad Gateway", SOCKS_UNREACHABLE},
		{ETIMEDOUT, "504 Gateway Timeout", SOCKS_UNREACHABLE},
		{0, "502 Bad Gateway", SOCKS_FAILED},
	};
	size_t i = 0;

	while (words[i].error != error && words[i].error != 0) {
		i++;
	}
	if (f->kind == FLOW_SOCKS) {
		say_socks(f, words[i].socks);
	} else {
		say_status(f, words[i].status, why);
	}
	flow_close(f);
}

static void wait_for_more(struct flow *f, size_t seen) {
	if (!flow_more(f, seen)) {
		flow_close(f);
	}
}

/* ---- where to ---- */

static void judge_ip_asked(struct flow *f) {
	struct net_verdict v = upstream_judge(f);

	f->by_address = true;
	/* As a direct connection: a request has to name the host that the address was given for. */
	if (v.allowed && f->by_name && !f->connects) {
		v = (struct net_verdict){
			.rule = f->rule,
			.why = "the request names an address in the place of a host"};
	}
	if (!v.allowed) {
		(void)flow_record(f, NET_OP_PROXY, NET_DENIED, &v);
		turn_away(f, EACCES, v.why);
		return;
	}
	denied_names_vet(f);
}

static void judge_asked(struct flow *f, const struct hostname *host, uint16_t port) {
	f->port = port;
	(void)loop_want(&f->gate->loop, &f->client, 0); /* it is in */
	if (host->kind == HOST_IP) {
		f->ip = host->ip;
		judge_ip_asked(f);
		return;
	}
	memset(&f->ip, 0, sizeof f->ip);
	memcpy(f->name, host->name, sizeof f->name);
	struct net_verdict v = judge_name(f->gate->net, f->name, port);
	if (!v.allowed) {
		(void)flow_record(f, NET_OP_PROXY, NET_DENIED, &v);
		turn_away(f, EACCES, v.why);
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

/* The head goes to the host in another form, and the connection serves this request alone. */
static bool keep_head(struct flow *f, const uint8_t *data, const struct http_head *head) {
	f->stash = stash_take(f->gate);
	if (f->stash == 0) {
		return false;
	}
	f->stash_len = http_head_forward(data, head, f->gate->stash[f->stash - 1], STASH_SIZE);
	conversation_single(&f->talk, head);
	f->up.allow = 0;
	return f->stash_len > 0;
}

static void http_asked(struct flow *f, const uint8_t *data, const struct http_head *head) {
	uint16_t port = head->port != 0 ? head->port : 80;

	if (head->form != HTTP_ABSOLUTE && head->form != HTTP_AUTHORITY) {
		say_status(f, status_text(400),
			   "this is a proxy: the request has to name its host");
		flow_close(f);
		return;
	}
	f->connects = head->connect;
	if (!head->connect && !keep_head(f, data, head)) {
		say_status(f, "503 Service Unavailable", "the proxy cannot take this request");
		flow_close(f);
		return;
	}
	/* The head was read; what follows is the body, or the tunnel's. */
	if (recv(f->client.fd, f->gate->scratch, head->len, MSG_DONTWAIT) != (ssize_t)head->len) {
		flow_reset(f);
		return;
	}
	judge_asked(f, &head->host, port);
}

static void http_step(struct flow *f, const uint8_t *data, size_t len) {
	struct http_head head;
	const char *why = NULL;
	int status = 400;

	switch (http_head_read(data, len, &head, &status, &why)) {
	case SNIFF_MORE:
		if (len < HTTP_HEAD_MAX) {
			wait_for_more(f, len);
			return;
		}
		status = 431;
		why = "the request's head is too long";
		break;
	case SNIFF_DONE:
		http_asked(f, data, &head);
		return;
	case SNIFF_BAD:
		break;
	}
	say_status(f, status_text(status), why);
	flow_close(f);
}

/* ---- SOCKS ---- */

static void socks_step(struct flow *f, const uint8_t *data, size_t len) {
	size_t used = 0;
	enum sniff said = socks_read(&f->socks, data, len < SOCKS_MAX ? len : SOCKS_MAX, &used);

	if (used > 0 && recv(f->client.fd, f->gate->scratch, used, MSG_DONTWAIT) != (ssize_t)used) {
		flow_reset(f);
		return;
	}
	if (f->socks.answer_len > 0) {
		say(f, f->socks.answer, f->socks.answer_len);
	}
	if (said == SNIFF_BAD) {
		flow_close(f);
	} else if (said == SNIFF_DONE) {
		f->connects = true;
		judge_asked(f, &f->socks.host, f->socks.port);
	} else {
		wait_for_more(f, len - used);
	}
}

/* ---- the flow's ---- */

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
		turn_away(f, f->dial_error, "the host cannot be reached");
		return;
	}
	flow_low(f, 1);
	if (f->kind == FLOW_SOCKS) {
		say_socks(f, SOCKS_GRANTED);
	} else if (f->connects) {
		say_text(f, "HTTP/1.1 200 Connection established\r\n\r\n");
	}
	flow_open(f);
}

bool proxy_flush(struct flow *f) {
	if (f->stash == 0) {
		return true;
	}
	ssize_t n = send(f->server.fd, f->gate->stash[f->stash - 1] + f->stash_at,
			 f->stash_len - f->stash_at, MSG_DONTWAIT | MSG_NOSIGNAL);
	if (n > 0) {
		f->stash_at += (size_t)n;
	}
	if (f->stash_at < f->stash_len) {
		return false; /* a server that is gone says so by its own event */
	}
	f->gate->stash_used[f->stash - 1] = false;
	f->stash = 0;
	return true;
}
