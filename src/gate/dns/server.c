/* The resolver that the programs inside see.
 *
 * Should:   answer for names that a rule allows, with the addresses that may be reached,
 *           and remember which name each was given for.
 * Must not: ask anybody about a name that no rule allows: the question itself would carry
 *           bytes out; ask without a record, whoever waits for the answer.
 * Fails:    closed: NXDOMAIN, and SERVFAIL where nobody could be asked. */
#include "gate/relay/flow.h"

#include "base/str.h"

#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#define DATAGRAMS 32  /* of one turn */
#define UDP_PLAIN 512 /* what an asker without EDNS takes */
#define QUERY_MAX 512 /* a question about one name is shorter */

/* ---- answering ---- */

static void send_udp(struct lookup *l, const uint8_t *m, size_t len) {
	struct sockaddr_storage to;

	memset(&to, 0, sizeof to);
	memcpy(&to, l->from, sizeof l->from);
	/* An asker that does not take it asks again. */
	(void)sendto(l->gate->dns.fd, m, len, MSG_DONTWAIT | MSG_NOSIGNAL, (struct sockaddr *)&to,
		     l->from_len);
}

static void send_tcp(struct flow *f, uint8_t *m, size_t len) {
	m[0] = (uint8_t)(len >> 8);
	m[1] = (uint8_t)len;
	if (send(f->client.fd, m, len + 2, MSG_DONTWAIT | MSG_NOSIGNAL) != (ssize_t)len + 2) {
		flow_reset(f);
		return;
	}
	(void)loop_alarm_set(&f->gate->loop, &f->alarm, SILENCE_MS);
	(void)loop_want(&f->gate->loop, &f->client, EPOLLIN | EPOLLPRI); /* it is in */
}

/* Frees the lookup. */
static void answer(struct lookup *l, const struct dns_answer *a) {
	uint8_t message[2 + 4096];
	size_t cap = sizeof message - 2;

	if (l->flow == NULL) {
		size_t takes = l->question.edns ? l->question.size : UDP_PLAIN;
		cap = takes < UDP_PLAIN ? UDP_PLAIN : takes < DNS_UDP_MAX ? takes : DNS_UDP_MAX;
	}
	size_t len = dns_write_answer(&l->question, a, message + 2, cap);
	l->used = false;
	if (l->flow == NULL) {
		send_udp(l, message + 2, len);
	} else {
		send_tcp(l->flow, message, len);
	}
}

static void answer_code(struct lookup *l, int code) {
	struct dns_answer a;

	memset(&a, 0, sizeof a);
	a.code = code;
	answer(l, &a);
}

/* ---- what may be told ---- */

/* ip: that was refused; NULL: none was. */
static void note(const struct lookup *l, enum net_outcome outcome, const struct net_verdict *v,
		 const struct ip *ip) {
	struct flow asked;

	memset(&asked, 0, sizeof asked);
	asked.gate = l->gate;
	if (ip != NULL) {
		asked.ip = *ip;
	}
	memcpy(asked.name, l->question.host.name, sizeof asked.name);
	(void)flow_record(&asked, NET_OP_RESOLVE, outcome, v);
}

static bool is_localhost(const char *name) {
	size_t len = strlen(name), tail = strlen(".localhost");

	return streq(name, "localhost") || (len > tail && streq(name + len - tail, ".localhost"));
}

/* Leaves the addresses that may be reached, and remembers them. */
static void vet(const struct lookup *l, struct dns_answer *a, struct net_verdict *ret_last,
		struct ip *ret_ip) {
	struct net_verdict alias = judge_aliases(l->gate->net, l->verdict.rule, a, 0);
	struct alias_ports but;
	size_t kept = 0;

	if (alias.allowed && !judge_alias_ports(l->gate->net, a, &but)) {
		alias = (struct net_verdict){
			.why = "rules of net.deny have too many ports of the names that it is an "
			       "alias of"};
	}
	if (!alias.allowed) {
		*ret_last = alias;
		a->nips = 0;
		return;
	}
	for (size_t i = 0; i < a->nips; i++) {
		struct net_verdict v = judge_lead(l->gate->net, l->verdict.rule, &a->ips[i], 0);
		if (v.allowed) {
			dns_names_add(&l->gate->given, &a->ips[i], l->question.host.name, &but);
			a->ips[kept++] = a->ips[i];
		} else {
			*ret_last = v;
			*ret_ip = a->ips[i];
		}
	}
	a->nips = kept;
}

/* Of a name that a rule allows; its name server has seen it. */
static void note_found(const struct lookup *l, int code, bool some, bool local) {
	struct net_verdict v = l->verdict;

	if (code == DNS_SERVFAIL) {
		v.why = "no name server of the host answered";
	} else if (!some) {
		v.why = code == DNS_NXDOMAIN ? "the name does not exist"
					     : "the name has no address";
	}
	if (!local || code == DNS_SERVFAIL) {
		note(l, v.why == NULL ? NET_ALLOWED : NET_FAILED, &v, NULL);
	}
}

static void found(struct resolver_wait *w, const struct names_found *n) {
	struct lookup *l = HOLDER(w, struct lookup, wait);
	struct dns_answer v4 = n->v4, v6 = n->v6;
	struct net_verdict last = {.why = NULL};
	struct ip refused = {0};
	bool local = is_localhost(l->question.host.name);
	bool some = v4.nips + v6.nips > 0;

	if (!local) {
		vet(l, &v4, &last, &refused);
		vet(l, &v6, &last, &refused);
	}
	if (some && v4.nips + v6.nips == 0) {
		note(l, NET_DENIED, &last, &refused);
		answer_code(l, DNS_NXDOMAIN);
		return;
	}
	note_found(l, n->code, some, local);
	struct dns_answer *a = l->question.type == DNS_AAAA ? &v6 : &v4;
	a->code = n->code;
	answer(l, a);
}

static void judge(struct lookup *l) {
	const char *name = l->question.host.name;
	bool address = l->question.type == DNS_A || l->question.type == DNS_AAAA;

	if (l->question.host.kind != HOST_NAME) {
		answer_code(l, DNS_NXDOMAIN);
		return;
	}
	l->verdict = judge_name(l->gate->net, name, 0);
	if (!l->verdict.allowed && !is_localhost(name)) {
		if (address) {
			note(l, NET_DENIED, &l->verdict, NULL);
		}
		answer_code(l, DNS_NXDOMAIN);
		return;
	}
	if (!address) {
		answer_code(l,
			    DNS_NOERROR); /* HTTPS, SVCB and the rest: there is nothing to tell */
		return;
	}
	l->wait.found = found;
	resolver_ask(l->gate->resolver, name, &l->wait);
}

static struct lookup *lookup_new(struct gate *g) {
	for (size_t i = 0; i < GATE_LOOKUPS; i++) {
		if (!g->lookups[i].used) {
			memset(&g->lookups[i], 0, sizeof g->lookups[i]);
			g->lookups[i].used = true;
			g->lookups[i].gate = g;
			return &g->lookups[i];
		}
	}
	return NULL;
}

static void ask(struct lookup *l, const uint8_t *m, size_t len) {
	int code = DNS_FORMERR;

	if (dns_read_question(m, len, &l->question, &code)) {
		judge(l);
	} else if (code < 0) {
		l->used = false; /* not even a head: nobody can be answered */
	} else {
		answer_code(l, code);
	}
}

/* ---- by UDP ---- */

void dns_server_datagram(struct loop_watch *w, uint32_t events) {
	struct gate *g = HOLDER(w, struct gate, dns);
	uint8_t query[QUERY_MAX];
	(void)events;

	for (int i = 0; i < DATAGRAMS; i++) {
		struct sockaddr_storage from;
		socklen_t from_len = sizeof from;
		ssize_t n = recvfrom(w->fd, query, sizeof query, MSG_DONTWAIT,
				     (struct sockaddr *)&from, &from_len);
		if (n < 0) {
			return;
		}
		struct lookup *l = from_len > sizeof l->from ? NULL : lookup_new(g);
		if (l == NULL) {
			continue; /* it asks again */
		}
		memcpy(l->from, &from, from_len);
		l->from_len = from_len;
		ask(l, query, (size_t)n);
	}
}

/* ---- by TCP ---- */

void dns_server_step(struct flow *f) {
	uint8_t query[2 + QUERY_MAX];
	ssize_t n = recv(f->client.fd, query, sizeof query, MSG_PEEK | MSG_DONTWAIT);

	if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
		return;
	}
	if (n <= 0) {
		flow_close(f);
		return;
	}
	size_t len = n < 2 ? 0 : (size_t)query[0] << 8 | query[1];
	if (len > QUERY_MAX) {
		flow_reset(f);
		return;
	}
	if (n < 2 || (size_t)n < len + 2) {
		if (!flow_more(f, (size_t)n)) {
			flow_close(f);
		}
		return;
	}
	struct lookup *l = lookup_new(f->gate);
	if (l != NULL) {
		l->flow = f; /* from now on it goes with the flow */
	}
	if (l == NULL || recv(f->client.fd, query, len + 2, MSG_DONTWAIT) != (ssize_t)len + 2) {
		flow_reset(f);
		return;
	}
	flow_low(f, 1);
	(void)loop_want(&f->gate->loop, &f->client, 0); /* one question after the other */
	ask(l, query + 2, len);
}

/* ---- who asked is gone ---- */

/* The name server has seen the name all the same: it is a record as every other. */
static void leave(struct lookup *l) {
	if (l->wait.waiting && !is_localhost(l->question.host.name)) {
		note(l, NET_ALLOWED, &l->verdict, NULL);
	}
	resolver_forget(l->gate->resolver, &l->wait);
	l->used = false;
}

void dns_server_forget(struct flow *f) {
	for (size_t i = 0; i < GATE_LOOKUPS; i++) {
		struct lookup *l = &f->gate->lookups[i];
		if (l->used && l->flow == f) {
			leave(l);
		}
	}
}

void dns_server_end(struct gate *g) {
	for (size_t i = 0; i < GATE_LOOKUPS; i++) {
		if (g->lookups[i].used) {
			leave(&g->lookups[i]);
		}
	}
}
