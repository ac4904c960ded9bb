/* SPDX-License-Identifier: Apache-2.0 */
/* The upstream: judges a destination and connects to it.
 *
 * Should:   connect to the program's address; where the program's connect(2) has already
 *           succeeded, so that it cannot try the next address itself, dial a second address of
 *           the same name in parallel after DIAL_NEXT_MS.
 * Must not: connect to an address that was not judged for this port (G1), or to one of this
 *           host unless a rule lists exactly that address.
 * Fails:    closed, with the kernel's errno, which a connect(2) that still waits returns. */
#include "base/send_timeout.h"
#include "gate/sockaddr.h"
#include "gate/relay/flow.h"
#include "gate/local_address.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

/* ---- judging ---- */

/* An unknown result counts as local. */
static bool is_local(struct gate *g, const struct ip *ip) {
	struct local_address *known =
		&g->local_cache[(ip->b[15] ^ ip->b[14] ^ ip->b[7]) % LOCAL_CACHE];

	if (known->until <= g->loop.now || !ip_same(&known->ip, ip)) {
		enum local_address_answer answer =
			local_address_check(g->route_socket, ++g->route_seq, ip);
		if (answer == LOCAL_ADDRESS_UNKNOWN) {
			return true; /* not cached */
		}
		*known = (struct local_address){.ip = *ip,
						.until = g->loop.now + LOCAL_CACHE_MS,
						.is_local = answer == LOCAL_ADDRESS_YES};
	}
	return known->is_local;
}

/* The name, the address, and whether the name may resolve to it. */
static struct net_verdict judge_name_and_ip(const struct flow *f, const char *name,
					    const struct ip *ip) {
	const struct net_plan *net = f->gate->net;
	struct net_verdict v = judge_name(net, name, f->port);

	if (!v.allowed) {
		return v;
	}
	const struct net_rule *by = v.rule;
	struct net_verdict listed = judge_ip(net, ip, f->port);
	v = judge_target(net, by, ip, f->port);
	if (v.allowed && !judge_is_single_address(&listed) && is_local(f->gate, ip)) {
		return (struct net_verdict){.rule = by,
					    .own = true,
					    .why = "the name resolves to an address of this host"};
	}
	v.rule = v.allowed ? by : v.rule;
	return v;
}

static void set_name(struct flow *f, const char *name) {
	size_t len = strlen(name);

	len = len < HOSTNAME_MAX ? len : HOSTNAME_MAX;
	memcpy(f->name, name, len);
	f->name[len] = '\0';
}

/* The names that the address was resolved from: the first that is allowed, or a refusal. */
static struct net_verdict judge_names(struct flow *f) {
	struct net_verdict last = {.why = "no rule lists this address, and no allowed name was "
					  "resolved to it"};
	size_t at = 0;

	for (const char *name; (name = dns_names_next(&f->gate->names, &f->ip, &at)) != NULL;) {
		const struct net_rule *deny = dns_names_deny(&f->gate->names, at, f->port);
		last = deny == NULL ? judge_name_and_ip(f, name, &f->ip)
				    : (struct net_verdict){.rule = deny, .why = judge_denied_alias};
		set_name(f, name);
		if (last.allowed) {
			return last;
		}
	}
	at = 0;
	for (const char *name;
	     (name = resolver_hosts_name(f->gate->resolver, &f->ip, &at)) != NULL;) {
		struct net_verdict v = judge_name_and_ip(f, name, &f->ip);
		if (v.allowed || f->name[0] == '\0') {
			last = v;
			set_name(f, name);
		}
		if (v.allowed) {
			return v;
		}
	}
	return last;
}

struct net_verdict upstream_judge(struct flow *f) {
	struct net_verdict v = judge_ip(f->gate->net, &f->ip, f->port);

	/* A rule for a network does not include this host; checked now: addresses change. */
	if (v.allowed && !judge_is_single_address(&v) && is_local(f->gate, &f->ip)) {
		v = (struct net_verdict){
			.rule = v.rule, .own = true, .why = "the address belongs to this host"};
	}
	if (!v.allowed && v.rule == NULL) {
		v = judge_names(f);
		f->by_name = v.allowed;
	}
	f->rule = v.rule;
	return v;
}

void upstream_open(struct flow *f) {
	ask_expire(f->gate);
	struct net_verdict v = upstream_judge(f);

	if (!v.allowed && v.rule == NULL && !v.own && f->gate->asker.fd >= 0 &&
	    !is_local(f->gate, &f->ip) && ask_connect(f)) {
		return;
	}
	if (!v.allowed) {
		flow_refuse(f, NET_OP_CONNECT, &v);
		return;
	}
	denied_names_vet(f);
}

/* ---- dialling ---- */

static void dial_ready(struct loop_watch *w, uint32_t events);
static void other_ready(struct loop_watch *w, uint32_t events);

/* 0: connected; EINPROGRESS; or another errno. */
static int start_connect(const struct ip *ip, uint16_t port, int *ret) {
	union sockaddr_any a;
	socklen_t len = address_of(ip, port, &a);

	*ret = socket(a.any.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (*ret < 0) {
		return errno == EMFILE || errno == ENFILE ? ENOBUFS : errno;
	}
	/* The second call returns 0 if a near host has answered already, otherwise EALREADY. */
	if (connect(*ret, &a.any, len) == 0 || connect(*ret, &a.any, len) == 0) {
		return 0;
	}
	if (errno == EALREADY) {
		return EINPROGRESS;
	}
	return errno;
}

static void drop_dial(struct flow *f, struct loop_watch *w) {
	loop_close(&f->gate->loop, w);
}

static void name_found(struct resolver_wait *w, const struct resolved *found);

/* The flow ends while the name of a proxy request is being resolved: a name server has received the
 * name, so the look-up is recorded.  Other look-ups are for names that are recorded already, or for
 * names of rules. */
static void record_lookup(const struct flow *f) {
	struct flow resolve = {.gate = f->gate};
	const struct net_verdict v = {.allowed = true, .rule = f->rule};

	memcpy(resolve.name, f->name, sizeof resolve.name);
	(void)flow_record(&resolve, NET_OP_RESOLVE, NET_ALLOWED, &v);
}

void upstream_end(struct flow *f) {
	if (f->lookup.waiting && f->lookup.found == name_found) {
		record_lookup(f);
	}
	if (f->lookup.waiting) {
		resolver_cancel(f->gate->resolver, &f->lookup);
	}
	drop_dial(f, &f->other);
}

static const char *why_failed(int error) {
	switch (error) {
	case ECONNREFUSED:
		return "the host refused the connection";
	case ETIMEDOUT:
		return "the host did not answer";
	case ENETUNREACH:
	case EHOSTUNREACH:
		return "this host has no route to it";
	default:
		return "the host could not be reached";
	}
}

static void fail_dial(struct flow *f, int error) {
	const struct net_verdict v = {.rule = f->rule, .why = why_failed(error)};

	(void)flow_record(f, NET_OP_CONNECT, NET_FAILED, &v);
	f->dial_error = error;
	if (f->kind == FLOW_HTTP || f->kind == FLOW_SOCKS) {
		proxy_dialled(f);
	} else if (f->pending) {
		pending_complete(f);
	} else {
		flow_fail(f, error);
	}
}

static void dialled(struct flow *f) {
	upstream_end(f);
	flow_reached(f);
	f->answer_early = false;
	if (f->kind == FLOW_HTTP || f->kind == FLOW_SOCKS) {
		loop_alarm_clear(&f->gate->loop, &f->alarm);
		proxy_dialled(f);
	} else if (f->pending) {
		pending_complete(f);
	} else if (f->caller < 0 || client_socket_attach(f)) {
		flow_open(f);
	}
}

/* ---- a second address of the name ---- */

static const struct ip *allowed_other(const struct flow *f, const struct dns_answer *a) {
	if (!judge_aliases(f->gate->net, f->rule, a, f->port).allowed) {
		return NULL;
	}
	for (size_t i = 0; i < a->nips; i++) {
		if (!ip_same(&a->ips[i], &f->ip) &&
		    judge_name_and_ip(f, f->name, &a->ips[i]).allowed) {
			return &a->ips[i];
		}
	}
	return NULL;
}

static void other_found(struct resolver_wait *w, const struct resolved *found) {
	struct flow *f = CONTAINER_OF(w, struct flow, lookup);
	const struct dns_answer *first = ip_is4(&f->ip) ? &found->v6 : &found->v4;
	const struct dns_answer *second = ip_is4(&f->ip) ? &found->v4 : &found->v6;
	const struct ip *ip = allowed_other(f, first);

	ip = ip != NULL ? ip : allowed_other(f, second);
	if (ip == NULL) {
		return;
	}
	int error = start_connect(ip, f->port, &f->other.fd);
	if (error == 0 || error == EINPROGRESS) {
		f->other.ready = other_ready;
		error = loop_add(&f->gate->loop, &f->other, EPOLLOUT);
	}
	if (error != 0) {
		drop_fd(&f->other.fd);
	}
}

/* The program's connect(2) has succeeded: it will not try another address itself. */
static bool may_try_other(const struct flow *f) {
	return !f->tried_other && f->by_name && f->client.fd >= 0;
}

/* True: a look-up or a second connect(2) is in progress. */
static bool try_other(struct flow *f) {
	if (!may_try_other(f)) {
		return f->other.fd >= 0 || f->lookup.waiting;
	}
	f->tried_other = true;
	f->lookup.found = other_found;
	resolver_lookup(f->gate->resolver, f->name, &f->lookup);
	return f->other.fd >= 0 || f->lookup.waiting;
}

/* ---- connecting ---- */

/* Where the caller's socket cannot be pending, the call is answered with EINPROGRESS after this
 * time; 0: only with the result of the dial. */
static int64_t answer_ms(const struct flow *f) {
	if (f->caller < 0) {
		return 0;
	}
	return flow_waits(f) ? send_timeout_ms(f->caller) : ANSWER_MS;
}

static void set_alarm(struct flow *f) {
	int64_t answer = answer_ms(f);
	int64_t dial = may_try_other(f) ? DIAL_NEXT_MS : DIAL_MS;

	f->answer_early = answer > 0 && answer < dial;
	(void)loop_alarm_set(&f->gate->loop, &f->alarm, f->answer_early ? answer : dial);
}

/* connect(2) is in progress: the caller's socket becomes pending where that is possible. */
static void await_upstream(struct flow *f) {
	if (!pending_possible(f) || pending_begin(f)) {
		set_alarm(f);
	}
}

void upstream_connect(struct flow *f) {
	f->phase = PHASE_DIAL;
	int error = start_connect(&f->ip, f->port, &f->server.fd);
	if (error == ENOBUFS) {
		splice_release_spares(f->gate);
		error = start_connect(&f->ip, f->port, &f->server.fd);
	}
	if (error == 0 || error == EINPROGRESS) {
		f->server.ready = dial_ready;
		int added = error == 0 ? 0 : loop_add(&f->gate->loop, &f->server, EPOLLOUT);
		error = added == 0 ? error : ENOBUFS;
	}
	if (error == 0) {
		dialled(f);
	} else if (error == EINPROGRESS) {
		await_upstream(f);
	} else {
		drop_fd(&f->server.fd);
		if (try_other(f)) {
			set_alarm(f);
		} else {
			fail_dial(f, error);
		}
	}
}

void upstream_timeout(struct flow *f) {
	if (f->answer_early) {
		if (client_socket_attach(f)) {
			set_alarm(f);
		}
		return;
	}
	if (may_try_other(f)) {
		(void)try_other(f);
		set_alarm(f);
		return;
	}
	fail_dial(f, ETIMEDOUT);
}

static int socket_error(int fd) {
	int error = EIO;
	socklen_t len = sizeof error;

	return getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &len) == 0 ? error : errno;
}

static void dial_ready(struct loop_watch *w, uint32_t events) {
	struct flow *f = CONTAINER_OF(w, struct flow, server);
	int error = socket_error(w->fd);
	(void)events;

	if (error == 0) {
		dialled(f);
		return;
	}
	drop_dial(f, w);
	if (!try_other(f)) {
		fail_dial(f, error);
	}
}

static void other_ready(struct loop_watch *w, uint32_t events) {
	struct flow *f = CONTAINER_OF(w, struct flow, other);
	int error = socket_error(w->fd);
	(void)events;

	if (error != 0) {
		drop_dial(f, w);
		if (f->server.fd < 0) {
			fail_dial(f, error);
		}
		return;
	}
	drop_dial(f, &f->server);
	loop_drop(&f->gate->loop, w);
	f->server.fd = take_fd(&w->fd);
	dialled(f);
}

/* ---- by name: a proxy request ---- */

static void name_found(struct resolver_wait *w, const struct resolved *found) {
	struct flow *f = CONTAINER_OF(w, struct flow, lookup);
	const struct dns_answer *const both[] = {&found->v4, &found->v6};
	struct net_verdict last = {.rule = f->rule, .why = "the name does not resolve"};

	for (size_t i = 0; i < ARRAY_LEN(both); i++) {
		struct net_verdict alias = judge_aliases(f->gate->net, f->rule, both[i], f->port);
		last = alias.allowed ? last : alias;
		for (size_t j = 0; alias.allowed && j < both[i]->nips; j++) {
			last = judge_name_and_ip(f, f->name, &both[i]->ips[j]);
			f->ip = both[i]->ips[j];
			if (last.allowed) {
				f->rule = last.rule;
				f->entry = flow_record(f, NET_OP_PROXY, NET_ALLOWED, &last);
				upstream_connect(f);
				return;
			}
		}
	}
	(void)flow_record(f, NET_OP_PROXY,
			  found->v4.nips + found->v6.nips > 0 ? NET_DENIED : NET_FAILED, &last);
	f->dial_error = found->v4.nips + found->v6.nips > 0 ? EACCES : EHOSTUNREACH;
	proxy_dialled(f);
}

void upstream_connect_name(struct flow *f) {
	f->phase = PHASE_DIAL;
	f->lookup.found = name_found;
	resolver_lookup(f->gate->resolver, f->name, &f->lookup);
}
