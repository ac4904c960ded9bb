/* What a client says, against the names that it may talk to; conversation.h has the states.
 *
 * The bytes are looked at where they lie, in the socket's queue (G2); what is found
 * good is a number of bytes that may pass.
 *
 * Should:   judge the server name of TLS and the host of every HTTP/1 request.
 * Must not: let a byte pass that a stricter reader could take for something else.
 * Fails:    closed: what is not understood on ports 80 and 443 is refused. */
#include "gate/relay/flow.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

/* Looks that are taken to empty a queue before a refusal. */
#define UNREAD_MAX 16

/* ---- names ---- */

static bool is_given(const struct flow *f, const char *name) {
	size_t at = 0;

	for (const char *n; (n = dns_names_next(&f->gate->given, &f->ip, &at)) != NULL;) {
		if (strcmp(n, name) == 0) {
			return dns_names_deny(&f->gate->given, at, f->port) == NULL;
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
	bool words = f->client.fd >= 0 && !f->heard_back && f->talk.http;

	(void)flow_record(f, NET_OP_REQUEST, NET_DENIED, v);
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

static bool wait_for_more(struct flow *f, size_t seen) {
	if (!f->spoken) {
		f->spoken = true;
		(void)loop_alarm_set(&f->gate->loop, &f->alarm, HANDSHAKE_MS);
	}
	if (!flow_more(f, seen)) {
		return refuse(f, "the client ended, or sent urgent data, in the middle of naming a "
				 "host");
	}
	return true;
}

/* This part of what is said was judged. */
static void heard(struct flow *f) {
	f->spoken = f->unsure = false;
	loop_alarm_clear(&f->gate->loop, &f->alarm);
	flow_low(f, 1);
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
	loop_alarm_clear(&f->gate->loop, &f->alarm);
	flow_low(f, 1);
	if (n > 0 && f->npassed + (size_t)n <= CONVERSATION_UNSURE_MAX) {
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
		f->unsure = loop_alarm_set(&f->gate->loop, &f->alarm, UNSURE_MS);
	}
}

/* ---- whom it names ---- */

static bool judge_server(struct flow *f, const struct hostname *server) {
	struct net_verdict v = judge_said(f, server->name);

	return v.allowed ? true : refuse_name(f, server->name, &v);
}

static bool judge_host(struct flow *f, const struct conversation_result *said) {
	if (said->port != 0 && said->port != f->port) {
		return refuse(f, "the request names another port than the connection's");
	}
	if (said->host.kind == HOST_BAD) {
		return refuse(f, "the request names no host");
	}
	if (said->host.kind == HOST_IP) {
		struct net_verdict v = judge_ip(f->gate->net, &said->host.ip, f->port);
		return v.allowed && ip_same(&said->host.ip, &f->ip)
			       ? true
			       : refuse(f, "the request names an address in the place of a host");
	}
	return judge_server(f, &said->host);
}

static bool pass(struct flow *f, const struct conversation_result *said) {
	if (said->names && !(said->tls ? judge_server(f, &said->host) : judge_host(f, said))) {
		return false;
	}
	heard(f);
	if (conversation_waits(&f->talk)) {
		flow_low_water(f->server.fd, conversation_wants(&f->talk));
	}
	f->up.allow = said->pass == UINT64_MAX ? WAY_OPEN : said->pass - f->npassed;
	f->npassed = 0;
	return true;
}

/* ---- the client's words ---- */

static bool ended(struct flow *f) {
	if (f->talk.strict && f->talk.state == CONVERSATION_FIRST) {
		flow_close(f); /* nothing was said, so nothing may be heard */
		return false;
	}
	f->up.ended = true; /* said its last at a place where it may */
	return f->talk.state == CONVERSATION_BODY
		       ? refuse(f, "the client ended in the middle of a request")
		       : true;
}

bool inspect(struct flow *f) {
	ssize_t n = peek(f);

	if (n < 0 && errno != EAGAIN && errno != EINTR) {
		flow_reset(f);
		return false;
	}
	if (n <= 0) {
		return n < 0 || ended(f);
	}
	f->talk.spoken = f->talk.spoken || f->heard_back;
	struct conversation_result said =
		conversation_client(&f->talk, f->gate->scratch, f->npassed + (size_t)n);
	switch (said.verdict) {
	case SAID_MORE:
		return wait_for_more(f, (size_t)n);
	case SAID_UNSURE:
		wait_unsure(f, (size_t)n);
		return true;
	case SAID_PASS:
		return pass(f, &said);
	case SAID_BAD:
		break;
	}
	return said.unread ? refuse_unread(f, said.why) : refuse(f, said.why);
}

/* ---- a server that begins TLS, or changes the protocol ---- */

bool inspect_answer(struct flow *f) {
	uint8_t *data = f->gate->scratch;
	ssize_t n = recv(f->server.fd, data, sizeof f->gate->scratch, MSG_PEEK | MSG_DONTWAIT);
	size_t len = n < 0 ? 0 : (size_t)n;
	struct conversation_result said =
		conversation_server(&f->talk, data, len, flow_ended(f->server.fd));

	if (said.verdict == SAID_MORE) {
		size_t wanted = conversation_wants(&f->talk);
		flow_low_water(f->server.fd, len < wanted ? wanted : len + 1);
		return true;
	}
	flow_low_water(f->server.fd, 1);
	if (said.verdict == SAID_BAD) {
		return said.unread ? refuse_unread(f, said.why) : refuse(f, said.why);
	}
	heard(f);
	f->up.allow = said.pass == UINT64_MAX ? WAY_OPEN : 0;
	return true;
}
