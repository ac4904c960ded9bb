/* SPDX-License-Identifier: Apache-2.0 */
/* Inspects the client's bytes: the TLS server name and the host of every HTTP/1 request must be
 * allowed.  conversation.h has the states.
 *
 * recv(2) with MSG_PEEK leaves the bytes in the socket's queue (G2); the result is the number of
 * bytes that may be forwarded.
 *
 * Should:   judge the server name of TLS and the host of every HTTP/1 request.
 * Must not: forward a byte that another parser could read in another way.
 * Fails:    closed: a protocol that is not understood on ports 80 and 443 is refused. */
#include "gate/relay/flow.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

/* ---- names ---- */

/* The resolver or the hosts file has this address for the name. */
static bool has_name(const struct flow *f, const char *name) {
	size_t at = 0;

	for (const char *n; (n = dns_names_next(&f->gate->names, &f->ip, &at)) != NULL;) {
		if (strcmp(n, name) == 0) {
			return dns_names_deny(&f->gate->names, at, f->port) == NULL;
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

/* A server name or Host is allowed if a rule allows it, and if it is the name of the proxy request
 * or one that was resolved to the address. */
static struct net_verdict judge_client_name(const struct flow *f, const char *name) {
	bool proxied = (f->kind == FLOW_HTTP || f->kind == FLOW_SOCKS) && !f->by_address;
	struct net_verdict v = judge_name(f->gate->net, name, f->port);

	if (v.allowed && !(proxied ? strcmp(name, f->name) == 0 : has_name(f, name))) {
		return (struct net_verdict){.rule = v.rule,
					    .why = "the client names this host on a connection to "
						   "another host's address"};
	}
	return v;
}

/* Without a bound check: a few short texts in a buffer of 64 KiB. */
static size_t append(uint8_t *out, size_t at, const char *s) {
	while (*s != '\0') {
		out[at++] = (uint8_t)*s++;
	}
	return at;
}

/* 403, for a client that speaks HTTP, if no byte of the server was forwarded. */
static void send_forbidden(struct flow *f, const char *why) {
	uint8_t *out = f->gate->scratch;
	size_t len;

	len = append(out, 0,
		     "HTTP/1.1 403 Forbidden\r\nConnection: close\r\n"
		     "Content-Type: text/plain\r\n\r\ncorral: ");
	len = append(out, len, f->name);
	len = append(out, len, f->name[0] == '\0' ? "" : ": ");
	len = append(out, len, why);
	len = append(out, len, "\n");
	(void)send(f->client.fd, out, len, MSG_DONTWAIT | MSG_NOSIGNAL); /* on failure: EOF only */
}

static bool refuse_verdict(struct flow *f, const struct net_verdict *v) {
	bool by_http = f->client.fd >= 0 && scan_unanswered(f) && f->talk.http;

	(void)flow_record(f, NET_OP_REQUEST, NET_DENIED, v);
	if (by_http) {
		send_forbidden(f, v->why);
		flow_close_replied(f);
	} else {
		flow_fail(f, EACCES);
	}
	return false;
}

static bool refuse_name(struct flow *f, const char *name, const struct net_verdict *v) {
	memcpy(f->name, name, strlen(name) + 1); /* hostname_parse() bounds the length */
	return refuse_verdict(f, v);
}

static bool refuse(struct flow *f, const char *why) {
	const struct net_verdict v = {.rule = f->rule, .why = why};

	return refuse_verdict(f, &v);
}

/* The protocol cannot be inspected.  A rule that lists the address would allow a direct
 * connection (`unread`), but not one through the proxy, which is for a name. */
static bool refuse_uninspected(struct flow *f, const char *why) {
	const struct net_verdict v = {
		.rule = f->rule, .why = why, .unread = f->kind == FLOW_DIRECT};

	return refuse_verdict(f, &v);
}

bool inspect_refuse_leak(struct flow *f) {
	const struct net_verdict v = {
		.rule = f->rule,
		.leak = true,
		.why = "the request contains a secret (scan.net); the rest was not sent"};

	return refuse_verdict(f, &v);
}

/* ---- waiting for more ---- */

static bool wait_for_more(struct flow *f, size_t seen) {
	if (!f->handshake_begun) {
		f->handshake_begun = true;
		(void)loop_alarm_set(&f->gate->loop, &f->alarm, HANDSHAKE_MS);
	}
	if (!flow_wait_for_more(f, seen)) {
		return refuse(f, "the client closed, or sent TCP urgent data, before it named a "
				 "host");
	}
	return true;
}

/* A hello, head or body was judged: no time-out runs, the next byte wakes the gate. */
static void stop_waiting(struct flow *f) {
	f->handshake_begun = f->unsure = false;
	loop_alarm_clear(&f->gate->loop, &f->alarm);
	flow_client_low_water(f, 1);
}

/* The queued bytes, after those that were forwarded while the protocol was unknown. */
static ssize_t peek(struct flow *f) {
	uint8_t *data = f->gate->scratch;

	memcpy(data, f->passed, f->npassed);
	return recv(f->client.fd, data + f->npassed, sizeof f->gate->scratch - f->npassed,
		    MSG_PEEK | MSG_DONTWAIT);
}

/* Forwards a first line and keeps a copy: with the bytes that follow it may become a request. */
static void pass_unsure(struct flow *f) {
	ssize_t n = peek(f);

	f->unsure = false;
	loop_alarm_clear(&f->gate->loop, &f->alarm);
	flow_client_low_water(f, 1);
	if (n > 0 && f->npassed + (size_t)n <= CONVERSATION_UNSURE_MAX) {
		memcpy(f->passed + f->npassed, f->gate->scratch + f->npassed, (size_t)n);
		f->npassed += (size_t)n;
		f->up.allow = (uint64_t)n;
	}
}

void inspect_unsure(struct flow *f) {
	pass_unsure(f);
	flow_step(f, STEP_UP);
}

/* Outside ports 80 and 443 the first line may be all that a client sends before it gets an answer.
 */
static void wait_unsure(struct flow *f, size_t seen) {
	if (!flow_wait_for_more(f, seen)) {
		pass_unsure(f);
		return;
	}
	if (!f->unsure) {
		f->unsure = loop_alarm_set(&f->gate->loop, &f->alarm, UNSURE_MS);
	}
}

/* ---- the host that it names ---- */

static bool judge_server(struct flow *f, const struct hostname *server) {
	struct net_verdict v = judge_client_name(f, server->name);

	return v.allowed ? true : refuse_name(f, server->name, &v);
}

static bool judge_host(struct flow *f, const struct conversation_result *result) {
	if (result->port != 0 && result->port != f->port) {
		return refuse(f, "the request names a port other than the connection's");
	}
	if (result->host.kind == HOST_BAD) {
		return refuse(f, "the request names no host");
	}
	if (result->host.kind == HOST_IP) {
		struct net_verdict v = judge_ip(f->gate->net, &result->host.ip, f->port);
		return v.allowed && ip_same(&result->host.ip, &f->ip)
			       ? true
			       : refuse(f, "the request names an address, not a host name");
	}
	return judge_server(f, &result->host);
}

static bool pass(struct flow *f, const struct conversation *before,
		 const struct conversation_result *result) {
	if (result->names && f->by_name &&
	    !(result->tls ? judge_server(f, &result->host) : judge_host(f, result))) {
		return false;
	}
	stop_waiting(f);
	if (conversation_reads_server(&f->talk)) {
		flow_set_low_water(f->server.fd, conversation_wants(&f->talk));
	}
	if (f->talk.whole && result->part != PART_OTHER) {
		return scan_request(f, before, result);
	}
	f->up.allow = result->pass == UINT64_MAX ? ALLOW_ALL : result->pass - f->npassed;
	f->npassed = 0;
	return true;
}

/* The bytes cannot be parsed.  Where only the leak scanner reads them, and it would only warn, they
 * pass. */
static bool reject(struct flow *f, const struct conversation_result *result) {
	if (f->talk.unjudged && !f->gate->scan_holds) {
		stop_waiting(f);
		f->talk.state = CONVERSATION_OPAQUE;
		f->up.allow = ALLOW_ALL;
		return true;
	}
	return result->unread ? refuse_uninspected(f, result->why) : refuse(f, result->why);
}

/* ---- the client's bytes ---- */

static bool take_eof(struct flow *f) {
	if (f->talk.strict && f->talk.state == CONVERSATION_FIRST) {
		flow_close(f); /* G3: no name, so no byte of the server */
		return false;
	}
	f->up.eof = true;
	return f->talk.state == CONVERSATION_BODY
		       ? refuse(f, "the client closed in the middle of a request")
		       : true;
}

bool inspect(struct flow *f) {
	ssize_t n = peek(f);

	if (n < 0 && errno != EAGAIN && errno != EINTR) {
		flow_reset(f);
		return false;
	}
	if (n <= 0) {
		return n < 0 || take_eof(f);
	}
	size_t ahead = f->scan.ahead;
	if ((size_t)n <= ahead) {
		return flow_wait_for_more(f, ahead)
			       ? true
			       : refuse(f, "the client closed in the middle of a request");
	}
	f->talk.not_first = f->talk.not_first || f->server_sent;
	const struct conversation before = f->talk;
	struct conversation_result result = conversation_client(&f->talk, f->gate->scratch + ahead,
								f->npassed + (size_t)n - ahead);
	switch (result.verdict) {
	case VERDICT_MORE:
		return wait_for_more(f, (size_t)n);
	case VERDICT_UNSURE:
		wait_unsure(f, (size_t)n);
		return true;
	case VERDICT_PASS:
		return pass(f, &before, &result);
	case VERDICT_BAD:
		break;
	}
	return reject(f, &result);
}

/* ---- the server's answer to a TLS hello or an Upgrade ---- */

bool inspect_answer(struct flow *f) {
	uint8_t *data = f->gate->scratch;
	ssize_t n = recv(f->server.fd, data, sizeof f->gate->scratch, MSG_PEEK | MSG_DONTWAIT);
	size_t len = n < 0 ? 0 : (size_t)n;
	struct conversation_result result =
		conversation_server(&f->talk, data, len, flow_ended(f->server.fd));

	if (result.verdict == VERDICT_MORE) {
		size_t wanted = conversation_wants(&f->talk);
		flow_set_low_water(f->server.fd, len < wanted ? wanted : len + 1);
		return true;
	}
	flow_set_low_water(f->server.fd, 1);
	if (result.verdict == VERDICT_BAD) {
		return result.unread ? refuse_uninspected(f, result.why) : refuse(f, result.why);
	}
	stop_waiting(f);
	f->up.allow = result.pass == UINT64_MAX ? ALLOW_ALL : 0;
	return true;
}
