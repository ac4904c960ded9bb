/* From a judged destination to a connected socket.
 *
 * Should:   dial the address that the program named; beside it, after a moment, another
 *           one of the same name where the program was told already that it is
 *           connected, and cannot try the next one itself.
 * Must not: dial an address that was not judged for this port (G1), or one of this host.
 * Fails:    with the kernel's error, which the program's call gets where it still waits. */
#include "gate/sockaddr.h"
#include "gate/relay/flow.h"
#include "gate/local_address.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

/* ---- judging ---- */

/* Where nobody knows it may be. */
static bool is_own(struct gate *g, const struct ip *ip) {
	struct local_address *known = &g->own[(ip->b[15] ^ ip->b[14] ^ ip->b[7]) % OWN_KNOWN];

	if (known->until <= g->loop.now || !ip_same(&known->ip, ip)) {
		enum local_address_answer told =
			local_address_check(g->routes, ++g->route_questions, ip);
		if (told == LOCAL_ADDRESS_UNKNOWN) {
			return true; /* and nothing is remembered */
		}
		*known = (struct local_address){
			.ip = *ip, .until = g->loop.now + OWN_MS, .own = told == LOCAL_ADDRESS_YES};
	}
	return known->own;
}

static struct net_verdict judge_way(const struct flow *f, const char *name, const struct ip *ip) {
	const struct net_plan *net = f->gate->net;
	struct net_verdict v = judge_name(net, name, f->port);

	if (!v.allowed) {
		return v;
	}
	const struct net_rule *by = v.rule;
	struct net_verdict listed = judge_ip(net, ip, f->port);
	v = judge_lead(net, by, ip, f->port);
	if (v.allowed && !judge_lists(&listed) && is_own(f->gate, ip)) {
		return (struct net_verdict){
			.rule = by, .own = true, .why = "the name leads to this host itself"};
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

/* The first name of the address by which it may be reached, or the refusal of one. */
static struct net_verdict judge_names(struct flow *f) {
	struct net_verdict last = {.why = "no name that is allowed was resolved to this address, "
					  "and no rule lists it"};
	size_t at = 0;

	for (const char *name; (name = dns_names_next(&f->gate->given, &f->ip, &at)) != NULL;) {
		const struct net_rule *deny = dns_names_deny(&f->gate->given, at, f->port);
		last = deny == NULL ? judge_way(f, name, &f->ip)
				    : (struct net_verdict){.rule = deny, .why = judge_denied_alias};
		set_name(f, name);
		if (last.allowed) {
			return last;
		}
	}
	at = 0;
	for (const char *name;
	     (name = resolver_hosts_name(f->gate->resolver, &f->ip, &at)) != NULL;) {
		struct net_verdict v = judge_way(f, name, &f->ip);
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

	/* Who allows a network means the others in it; asked now, because addresses come and go. */
	if (v.allowed && !judge_lists(&v) && is_own(f->gate, &f->ip)) {
		v = (struct net_verdict){
			.rule = v.rule, .own = true, .why = "the address is this host's own"};
	}
	if (!v.allowed && v.rule == NULL) {
		v = judge_names(f);
		f->by_name = v.allowed;
	}
	f->rule = v.rule;
	return v;
}

void upstream_open(struct flow *f) {
	struct net_verdict v = upstream_judge(f);

	if (!v.allowed) {
		flow_refuse(f, NET_OP_CONNECT, &v);
		return;
	}
	denied_names_vet(f);
}

/* ---- dialling ---- */

static void dial_ready(struct loop_watch *w, uint32_t events);
static void other_ready(struct loop_watch *w, uint32_t events);

/* 0: connected; EINPROGRESS; or the error. */
static int start(const struct ip *ip, uint16_t port, int *ret) {
	union sockaddr_any a;
	socklen_t len = address_of(ip, port, &a);

	*ret = socket(a.any.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (*ret < 0) {
		return errno == EMFILE || errno == ENFILE ? ENOBUFS : errno;
	}
	/* Near by it is there before the second question; elsewhere the answer is EALREADY. */
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

static void name_found(struct resolver_wait *w, const struct names_found *found);

/* The name that a proxy was asked for went to a name server, and nobody is left to dial for: it is
 * recorded as looked up.  Other look-ups are of names that a record has, or a rule. */
static void note_asked(const struct flow *f) {
	struct flow asked = {.gate = f->gate};
	const struct net_verdict v = {.allowed = true, .rule = f->rule};

	memcpy(asked.name, f->name, sizeof asked.name);
	(void)flow_record(&asked, NET_OP_RESOLVE, NET_ALLOWED, &v);
}

void upstream_end(struct flow *f) {
	if (f->lookup.waiting && f->lookup.found == name_found) {
		note_asked(f);
	}
	if (f->lookup.waiting) {
		resolver_forget(f->gate->resolver, &f->lookup);
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
		return "there is no way to the host from here";
	default:
		return "the host could not be reached";
	}
}

static void fail(struct flow *f, int error) {
	const struct net_verdict v = {.rule = f->rule, .why = why_failed(error)};

	(void)flow_record(f, NET_OP_CONNECT, NET_FAILED, &v);
	f->dial_error = error;
	if (f->kind == FLOW_HTTP || f->kind == FLOW_SOCKS) {
		proxy_dialled(f);
	} else if (f->held) {
		pending_meet(f);
	} else {
		flow_fail(f, error);
	}
}

static void dialled(struct flow *f) {
	upstream_end(f);
	flow_reached(f);
	if (f->kind == FLOW_HTTP || f->kind == FLOW_SOCKS) {
		loop_alarm_clear(&f->gate->loop, &f->alarm);
		proxy_dialled(f);
	} else if (f->held) {
		pending_meet(f);
	} else if (f->caller < 0 || client_socket_attach(f)) {
		flow_open(f);
	}
}

/* ---- another address of the name ---- */

static const struct ip *usable(const struct flow *f, const struct dns_answer *a) {
	if (!judge_aliases(f->gate->net, f->rule, a, f->port).allowed) {
		return NULL;
	}
	for (size_t i = 0; i < a->nips; i++) {
		if (!ip_same(&a->ips[i], &f->ip) && judge_way(f, f->name, &a->ips[i]).allowed) {
			return &a->ips[i];
		}
	}
	return NULL;
}

static void other_found(struct resolver_wait *w, const struct names_found *found) {
	struct flow *f = HOLDER(w, struct flow, lookup);
	const struct dns_answer *first = ip_is4(&f->ip) ? &found->v6 : &found->v4;
	const struct dns_answer *second = ip_is4(&f->ip) ? &found->v4 : &found->v6;
	const struct ip *ip = usable(f, first);

	ip = ip != NULL ? ip : usable(f, second);
	if (ip == NULL) {
		return;
	}
	int error = start(ip, f->port, &f->other.fd);
	if (error == 0 || error == EINPROGRESS) {
		f->other.ready = other_ready;
		error = loop_add(&f->gate->loop, &f->other, EPOLLOUT);
	}
	if (error != 0) {
		drop_fd(&f->other.fd);
	}
}

/* The program believes to be connected. */
static bool may_try_other(const struct flow *f) {
	return !f->tried_other && f->by_name && f->client.fd >= 0;
}

/* True when there is one to wait for. */
static bool try_other(struct flow *f) {
	if (!may_try_other(f)) {
		return f->other.fd >= 0 || f->lookup.waiting;
	}
	f->tried_other = true;
	f->lookup.found = other_found;
	resolver_ask(f->gate->resolver, f->name, &f->lookup);
	return f->other.fd >= 0 || f->lookup.waiting;
}

/* ---- how it goes on ---- */

static void set_alarm(struct flow *f) {
	bool held = f->caller >= 0 && !flow_waits(f);
	int ms = held ? HOLD_MS : may_try_other(f) ? DIAL_NEXT_MS : DIAL_MS;

	(void)loop_alarm_set(&f->gate->loop, &f->alarm, ms);
}

/* For the upstream; the caller need not, here. */
static void wait(struct flow *f) {
	if (!pending_possible(f) || pending_begin(f)) {
		set_alarm(f);
	}
}

void upstream_connect(struct flow *f) {
	f->phase = PHASE_DIAL;
	int error = start(&f->ip, f->port, &f->server.fd);
	if (error == ENOBUFS) {
		splice_release_spares(f->gate);
		error = start(&f->ip, f->port, &f->server.fd);
	}
	if (error == 0 || error == EINPROGRESS) {
		f->server.ready = dial_ready;
		int added = error == 0 ? 0 : loop_add(&f->gate->loop, &f->server, EPOLLOUT);
		error = added == 0 ? error : ENOBUFS;
	}
	if (error == 0) {
		dialled(f);
	} else if (error == EINPROGRESS) {
		wait(f);
	} else {
		drop_fd(&f->server.fd);
		fail(f, error);
	}
}

void upstream_timeout(struct flow *f) {
	if (f->caller >= 0 && !flow_waits(f)) {
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
	fail(f, ETIMEDOUT);
}

static int error_of(int fd) {
	int error = EIO;
	socklen_t len = sizeof error;

	return getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &len) == 0 ? error : errno;
}

static void dial_ready(struct loop_watch *w, uint32_t events) {
	struct flow *f = HOLDER(w, struct flow, server);
	int error = error_of(w->fd);
	(void)events;

	if (error == 0) {
		dialled(f);
		return;
	}
	drop_dial(f, w);
	if (!try_other(f)) {
		fail(f, error);
	}
}

static void other_ready(struct loop_watch *w, uint32_t events) {
	struct flow *f = HOLDER(w, struct flow, other);
	int error = error_of(w->fd);
	(void)events;

	if (error != 0) {
		drop_dial(f, w);
		if (f->server.fd < 0) {
			fail(f, error);
		}
		return;
	}
	drop_dial(f, &f->server);
	loop_drop(&f->gate->loop, w);
	f->server.fd = take_fd(&w->fd);
	dialled(f);
}

/* ---- by name ---- */

static void name_found(struct resolver_wait *w, const struct names_found *found) {
	struct flow *f = HOLDER(w, struct flow, lookup);
	const struct dns_answer *const both[] = {&found->v4, &found->v6};
	struct net_verdict last = {.rule = f->rule, .why = "the name does not resolve"};

	for (size_t i = 0; i < ARRAY_LEN(both); i++) {
		struct net_verdict alias = judge_aliases(f->gate->net, f->rule, both[i], f->port);
		last = alias.allowed ? last : alias;
		for (size_t j = 0; alias.allowed && j < both[i]->nips; j++) {
			last = judge_way(f, f->name, &both[i]->ips[j]);
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
	resolver_ask(f->gate->resolver, f->name, &f->lookup);
}
