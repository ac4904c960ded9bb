/* SPDX-License-Identifier: Apache-2.0 */
/* The gate's stub resolver: hosts file, cache, then queries for A and AAAA.
 *
 * Should:   complete every look-up once: from the hosts file, from the cache, or with two
 *           queries at the same time.
 * Must not: allocate, or exceed its tables.
 * Fails:    closed: SERVFAIL, if too many look-ups run or no server answers. */
#include "gate/dns/resolver.h"

#include "gate/dns/cache.h"
#include "gate/dns/query.h"
#include "gate/dns/hosts.h"

#include <string.h>

enum half { HALF_V4, HALF_V6, HALVES };

struct query {
	struct dns_query halves[HALVES];
	struct resolver *resolver;
	bool busy;
	char name[HOSTNAME_MAX + 1];
	struct resolver_wait *first;
	struct resolved found;
};

struct resolver {
	size_t waiting;
	struct dns_shared shared;
	struct query queries[RESOLVER_QUERIES];
	struct cache cache;
	struct hosts hosts;

	int update_socket; /* to the supervisor, which can read the host's files; -1: none */
	const struct dns_update *update;
	bool update_pending; /* requested, and no reply yet */
	int64_t next_update;
	struct loop_alarm later;
};

size_t resolver_size(void) {
	return sizeof(struct resolver);
}

void resolver_init(struct resolver *r, struct loop *l, const char *resolv_conf, const char *hosts) {
	r->shared.loop = l;
	r->update_socket = -1;
	resolv_conf_read(&r->shared.servers, resolv_conf, RESOLVER_TIMEOUT_MS);
	hosts_read(&r->hosts, hosts);
}

/* ---- changes of the host's files ---- */

/* Requests changes now (true), or sets an alarm for the next time a request is due. */
static bool request_update(struct resolver *r) {
	struct loop *l = r->shared.loop;
	if (r->update_socket < 0 || r->update_pending) {
		return false;
	}
	if (l->now >= r->next_update) {
		r->next_update = l->now + RESOLVER_UPDATE_MS;
		r->update_pending = dns_update_send(r->update_socket, DNS_UPDATE_WANTED);
	} else if (r->later.place == 0) {
		(void)loop_alarm_set(l, &r->later,
				     r->next_update - l->now); /* on failure: with the next name */
	}
	return r->update_pending;
}

static void update_due(struct loop_alarm *a) {
	char *owner = (char *)a - offsetof(struct resolver, later);
	(void)request_update((struct resolver *)(void *)owner); /* no look-up waits for it */
}

void resolver_set_updates(struct resolver *r, int socket, const struct dns_update *update) {
	r->update_socket = socket;
	r->update = update;
	r->later.ring = update_due;
}

/* A program may have read a changed hosts file. */
const char *resolver_hosts_name(struct resolver *r, const struct ip *ip, size_t *at) {
	(void)request_update(r); /* for the next call */
	return hosts_name(&r->hosts, ip, at);
}

/* ---- the end of a query ---- */

static bool failed(const struct dns_answer *a) {
	return a->code != DNS_NOERROR && a->code != DNS_NXDOMAIN;
}

/* Some servers return NXDOMAIN where only this family has no address. */
static int code_of(const struct dns_answer *v4, const struct dns_answer *v6) {
	if (v4->nips + v6->nips > 0) {
		return DNS_NOERROR;
	}
	if (v4->code == DNS_NXDOMAIN || v6->code == DNS_NXDOMAIN) {
		return DNS_NXDOMAIN;
	}
	return failed(v4) || failed(v6) ? DNS_SERVFAIL : DNS_NOERROR;
}

static uint32_t least(uint32_t a, uint32_t b) {
	return a < b ? a : b;
}

/* Seconds in the cache. */
static uint32_t lifetime(const struct resolved *f, bool half_unknown) {
	uint32_t ttl = RESOLVER_KEEP_MAX;
	if (f->code == DNS_SERVFAIL) {
		return RESOLVER_KEEP_FAILURE;
	}
	if (half_unknown || f->v4.nips + f->v6.nips == 0) {
		ttl = RESOLVER_KEEP_NONE;
	}
	ttl = f->v4.nips > 0 ? least(ttl, f->v4.ttl) : ttl;
	ttl = f->v6.nips > 0 ? least(ttl, f->v6.ttl) : ttl;
	return ttl < RESOLVER_KEEP_MIN ? RESOLVER_KEEP_MIN : ttl;
}

static void combine_halves(struct query *q) {
	struct resolved *f = &q->found;
	struct resolver *r = q->resolver;
	bool half_unknown = failed(&f->v4) || failed(&f->v6);
	f->code = code_of(&f->v4, &f->v6);
	f->v4.code = f->v6.code = f->code;
	uint32_t ttl = lifetime(f, half_unknown);
	f->v4.ttl = f->v6.ttl = ttl;
	cache_put(&r->cache, q->name, f, r->shared.loop->now + 1000 * (int64_t)ttl);
}

/* One by one: a callback may cancel other look-ups, or start one for the same name, which finds
 * the result in the cache. */
static void complete_waiters(struct query *q) {
	while (q->first != NULL) {
		struct resolver_wait *w = q->first;
		q->first = w->next;
		w->waiting = false;
		q->resolver->waiting--;
		w->found(w, &q->found);
	}
	q->busy = false;
}

static void half_done(struct dns_query *x) {
	struct query *q = x->owner;
	struct dns_query *other = &q->halves[x == &q->halves[HALF_V4] ? HALF_V6 : HALF_V4];
	if (!other->over) {
		/* With addresses of one family, one more time-out is enough for the other. */
		other->last_try = x->answer->nips > 0;
		return;
	}
	combine_halves(q);
	complete_waiters(q);
}

/* ---- look-ups ---- */

static struct query *find_query(struct resolver *r, const char *name) {
	struct query *free_one = NULL;
	for (size_t i = 0; i < RESOLVER_QUERIES; i++) {
		struct query *q = &r->queries[i];
		if (!q->busy) {
			free_one = free_one == NULL ? q : free_one;
		} else if (strcmp(q->name, name) == 0) {
			return q;
		}
	}
	return free_one;
}

static void begin(struct resolver *r, struct query *q) {
	for (enum half i = 0; i < HALVES; i++) {
		q->halves[i] = (struct dns_query){
			.all = &r->shared,
			.request = {.name = q->name, .type = i == HALF_V4 ? DNS_A : DNS_AAAA},
			.answer = i == HALF_V4 ? &q->found.v4 : &q->found.v6,
			.owner = q,
			.done = half_done,
		};
	}
	dns_query_begin(&q->halves[HALF_V4]);
	dns_query_begin(&q->halves[HALF_V6]);
}

/* From the hosts file or the cache. */
static bool find_known(struct resolver *r, const char *name, struct resolved *ret) {
	memset(ret, 0, sizeof *ret);
	return hosts_find(&r->hosts, name, &ret->v4, &ret->v6) ||
	       cache_get(&r->cache, name, r->shared.loop->now, ret);
}

/* The running query for the name or a free one; NULL: too many. */
static struct query *place_for(struct resolver *r, const char *name) {
	bool room = r->waiting < RESOLVER_WAITERS && strlen(name) <= HOSTNAME_MAX;
	return room ? find_query(r, name) : NULL;
}

void resolver_lookup(struct resolver *r, const char *name, struct resolver_wait *w) {
	struct resolved found;
	w->waiting = false;
	bool updating = request_update(r);
	/* A cached failure may come from old servers: the update in flight may name new ones. */
	if (find_known(r, name, &found) && !(updating && found.code == DNS_SERVFAIL)) {
		w->found(w, &found);
		return;
	}
	struct query *q = place_for(r, name);
	if (q == NULL) {
		memset(&found, 0, sizeof found);
		found.code = found.v4.code = found.v6.code = DNS_SERVFAIL;
		w->found(w, &found);
		return;
	}
	bool fresh = !q->busy;
	if (fresh) {
		q->resolver = r;
		q->busy = true;
		q->first = NULL;
		memcpy(q->name, name, strlen(name) + 1);
	}
	w->next = q->first;
	w->waiting = true;
	q->first = w;
	r->waiting++;
	if (fresh) {
		begin(r, q);
	}
}

/* ---- an update ---- */

/* Restarts a query that began with the old files. */
static void restart(struct query *q, bool servers) {
	struct resolver *r = q->resolver;
	struct resolved found = {0};
	if (!q->busy) {
		return;
	}
	bool listed = hosts_find(&r->hosts, q->name, &found.v4, &found.v6);
	if (!listed && !servers) {
		return;
	}
	for (enum half i = 0; i < HALVES; i++) {
		dns_query_stop(&q->halves[i]);
	}
	if (listed) {
		q->found = found;
		complete_waiters(q);
	} else {
		begin(r, q);
	}
}

bool resolver_read_update(struct resolver *r) {
	uint8_t changed = 0;
	int got = dns_update_receive(r->update_socket, &changed);
	if (got <= 0) {
		return got == 0;
	}
	r->update_pending = false;
	bool servers = (changed & DNS_UPDATE_RESOLV_CONF) != 0;
	if ((changed & DNS_UPDATE_HOSTS) != 0) {
		hosts_forget(&r->hosts);
		hosts_read(&r->hosts, r->update->hosts);
	}
	if (servers) {
		resolv_conf_read(&r->shared.servers, r->update->resolv_conf, RESOLVER_TIMEOUT_MS);
		cache_forget(&r->cache); /* another network, other answers */
	}
	for (size_t i = 0; changed != 0 && i < RESOLVER_QUERIES; i++) {
		restart(&r->queries[i], servers);
	}
	return true;
}

void resolver_cancel(struct resolver *r, struct resolver_wait *w) {
	if (!w->waiting) {
		return;
	}
	for (size_t i = 0; i < RESOLVER_QUERIES; i++) {
		for (struct resolver_wait **at = &r->queries[i].first; *at != NULL;
		     at = &(*at)->next) {
			if (*at == w) {
				*at = w->next;
				w->waiting = false;
				r->waiting--;
				return;
			}
		}
	}
}
