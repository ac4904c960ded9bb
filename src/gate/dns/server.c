/* SPDX-License-Identifier: Apache-2.0 */
/* The DNS server of the sandbox, on UDP and TCP port 53.
 *
 * Should:   answer for names that a rule allows, with the addresses that a rule allows, and
 *           record the name of each address (names.h).
 * Must not: send a name that no rule allows to a name server: the query itself would
 *           exfiltrate bytes; send one without a record in the ledger, even if the client
 *           has gone.
 * Fails:    closed: NXDOMAIN; SERVFAIL if no name server answers. */
#include "gate/relay/flow.h"

#include "base/str.h"

#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#define DATAGRAMS 32  /* in one turn of the loop */
#define UDP_PLAIN 512 /* the answer's limit without EDNS */
#define QUERY_MAX 512 /* a query for one name is shorter */

/* ---- answering ---- */

static void send_udp(struct lookup *l, const uint8_t *m, size_t len) {
	struct sockaddr_storage to;

	memset(&to, 0, sizeof to);
	memcpy(&to, l->from, sizeof l->from);
	/* If it is dropped, the client repeats its query. */
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
	(void)loop_want(&f->gate->loop, &f->client, EPOLLIN | EPOLLPRI); /* it is in the set */
}

/* Sends the answer and frees the lookup. */
static void answer(struct lookup *l, const struct dns_answer *a) {
	uint8_t message[2 + 4096];
	size_t cap = sizeof message - 2;

	if (l->flow == NULL) {
		size_t limit = l->question.edns ? l->question.size : UDP_PLAIN;
		cap = limit < UDP_PLAIN ? UDP_PLAIN : limit < DNS_UDP_MAX ? limit : DNS_UDP_MAX;
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

/* ---- judging names and addresses ---- */

/* ip: an address that was refused; NULL: none. */
static void record(const struct lookup *l, enum net_outcome outcome, const struct net_verdict *v,
		   const struct ip *ip) {
	struct flow resolve;

	memset(&resolve, 0, sizeof resolve);
	resolve.gate = l->gate;
	if (ip != NULL) {
		resolve.ip = *ip;
	}
	memcpy(resolve.name, l->question.host.name, sizeof resolve.name);
	(void)flow_record(&resolve, NET_OP_RESOLVE, outcome, v);
}

static bool is_localhost(const char *name) {
	size_t len = strlen(name), tail = strlen(".localhost");

	return streq(name, "localhost") || (len > tail && streq(name + len - tail, ".localhost"));
}

/* Removes the addresses that are not allowed, and records the name of the others. */
static void filter_addresses(const struct lookup *l, struct dns_answer *a,
			     struct net_verdict *ret_last, struct ip *ret_ip) {
	struct net_verdict alias = judge_aliases(l->gate->net, l->verdict.rule, a, 0);
	struct alias_ports denied;
	size_t kept = 0;

	if (alias.allowed && !judge_alias_ports(l->gate->net, a, &denied)) {
		alias = (struct net_verdict){
			.why = "too many rules of net.deny have single ports of the names that it "
			       "is an alias (CNAME) of"};
	}
	if (!alias.allowed) {
		*ret_last = alias;
		a->nips = 0;
		return;
	}
	for (size_t i = 0; i < a->nips; i++) {
		struct net_verdict v = judge_target(l->gate->net, l->verdict.rule, &a->ips[i], 0);
		if (v.allowed) {
			dns_names_add(&l->gate->names, &a->ips[i], l->question.host.name, &denied);
			a->ips[kept++] = a->ips[i];
		} else {
			*ret_last = v;
			*ret_ip = a->ips[i];
		}
	}
	a->nips = kept;
}

/* For an allowed name; a name server has received it. */
static void record_found(const struct lookup *l, int code, bool some, bool local) {
	struct net_verdict v = l->verdict;

	if (code == DNS_SERVFAIL) {
		v.why = "none of this host's name servers answered";
	} else if (!some) {
		v.why = code == DNS_NXDOMAIN ? "the name does not exist"
					     : "the name has no address";
	}
	if (!local || code == DNS_SERVFAIL) {
		record(l, v.why == NULL ? NET_ALLOWED : NET_FAILED, &v, NULL);
	}
}

static void name_resolved(struct resolver_wait *w, const struct resolved *n) {
	struct lookup *l = CONTAINER_OF(w, struct lookup, wait);
	struct dns_answer v4 = n->v4, v6 = n->v6;
	struct net_verdict last = {.why = NULL};
	struct ip refused = {0};
	bool local = is_localhost(l->question.host.name);
	bool some = v4.nips + v6.nips > 0;

	if (!local) {
		filter_addresses(l, &v4, &last, &refused);
		filter_addresses(l, &v6, &last, &refused);
	}
	if (some && v4.nips + v6.nips == 0) {
		record(l, NET_DENIED, &last, &refused);
		answer_code(l, DNS_NXDOMAIN);
		return;
	}
	record_found(l, n->code, some, local);
	struct dns_answer *a = l->question.type == DNS_AAAA ? &v6 : &v4;
	a->code = n->code;
	answer(l, a);
}

static void serve(struct lookup *l) {
	const char *name = l->question.host.name;
	bool address = l->question.type == DNS_A || l->question.type == DNS_AAAA;

	if (l->question.host.kind != HOST_NAME) {
		answer_code(l, DNS_NXDOMAIN);
		return;
	}
	ask_expire(l->gate);
	l->verdict = judge_name(l->gate->net, name, 0);
	if (!l->verdict.allowed && !is_localhost(name)) {
		if (address && ask_lookup(l)) {
			return;
		}
		if (address) {
			record(l, NET_DENIED, &l->verdict, NULL);
		}
		answer_code(l, DNS_NXDOMAIN);
		return;
	}
	if (!address) {
		/* HTTPS, SVCB and others: an empty answer. */
		answer_code(l, DNS_NOERROR);
		return;
	}
	l->wait.found = name_resolved;
	resolver_lookup(l->gate->resolver, name, &l->wait);
}

void dns_server_resume(struct lookup *l) {
	serve(l);
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

static void serve_message(struct lookup *l, const uint8_t *m, size_t len) {
	int code = DNS_FORMERR;

	if (dns_read_question(m, len, &l->question, &code)) {
		serve(l);
	} else if (code < 0) {
		l->used = false; /* no DNS header, or a response: not answered */
	} else {
		answer_code(l, code);
	}
}

/* ---- by UDP ---- */

void dns_server_datagram(struct loop_watch *w, uint32_t events) {
	struct gate *g = CONTAINER_OF(w, struct gate, dns);
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
			continue; /* the client repeats its query */
		}
		memcpy(l->from, &from, from_len);
		l->from_len = from_len;
		serve_message(l, query, (size_t)n);
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
		if (!flow_wait_for_more(f, (size_t)n)) {
			flow_close(f);
		}
		return;
	}
	struct lookup *l = lookup_new(f->gate);
	if (l != NULL) {
		l->flow = f; /* dns_server_forget() frees it when the flow ends */
	}
	if (l == NULL || recv(f->client.fd, query, len + 2, MSG_DONTWAIT) != (ssize_t)len + 2) {
		flow_reset(f);
		return;
	}
	flow_client_low_water(f, 1);
	(void)loop_want(&f->gate->loop, &f->client, 0); /* one query at a time */
	serve_message(l, query + 2, len);
}

/* ---- the client has gone ---- */

/* A name server has received the name, so the look-up is recorded. */
static void cancel(struct lookup *l) {
	if (l->wait.waiting && !is_localhost(l->question.host.name)) {
		record(l, NET_ALLOWED, &l->verdict, NULL);
	}
	resolver_cancel(l->gate->resolver, &l->wait);
	l->used = false;
}

void dns_server_forget(struct flow *f) {
	for (size_t i = 0; i < GATE_LOOKUPS; i++) {
		struct lookup *l = &f->gate->lookups[i];
		if (l->used && l->flow == f) {
			cancel(l);
		}
	}
}

void dns_server_end(struct gate *g) {
	for (size_t i = 0; i < GATE_LOOKUPS; i++) {
		if (g->lookups[i].used) {
			cancel(&g->lookups[i]);
		}
	}
}
