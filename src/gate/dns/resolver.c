/* Should:   answer every question once: from the hosts file, from memory, or by asking for both
 *           families at the same time.
 * Must not: allocate, or keep more than its tables hold.
 * Fails:    closed: a question too many, or one that nobody answers, is SERVFAIL. */
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
	struct names_found found;
};

struct resolver {
	size_t waiting;
	struct exchanges exchanges;
	struct query queries[RESOLVER_QUERIES];
	struct cache cache;
	struct hosts hosts;

	int line; /* to who can read the host's files; -1: nobody */
	const struct dns_update *news;
	bool wants_news; /* asked, and not answered yet */
	int64_t next_news;
	struct loop_alarm later;
};

size_t resolver_size(void) {
	return sizeof(struct resolver);
}

void resolver_init(struct resolver *r, struct loop *l, const char *resolv_conf, const char *hosts) {
	r->exchanges.loop = l;
	r->line = -1;
	resolv_conf_read(&r->exchanges.servers, resolv_conf, RESOLVER_TIMEOUT_MS);
	hosts_read(&r->hosts, hosts);
}

/* ---- asking for news ---- */

/* Now, which is true, or when it is time to again. */
static bool ask_for_news(struct resolver *r) {
	struct loop *l = r->exchanges.loop;
	if (r->line < 0 || r->wants_news) {
		return false;
	}
	if (l->now >= r->next_news) {
		r->next_news = l->now + RESOLVER_NEWS_MS;
		r->wants_news = dns_update_send(r->line, DNS_UPDATE_WANTED);
	} else if (r->later.place == 0) {
		(void)loop_alarm_set(l, &r->later,
				     r->next_news - l->now); /* or with the next name */
	}
	return r->wants_news;
}

static void time_for_news(struct loop_alarm *a) {
	char *owner = (char *)a - offsetof(struct resolver, later);
	(void)ask_for_news((struct resolver *)(void *)owner); /* what comes of it comes */
}

void resolver_hear(struct resolver *r, int line, const struct dns_update *news) {
	r->line = line;
	r->news = news;
	r->later.ring = time_for_news;
}

/* A program may have read a hosts file that is new. */
const char *resolver_hosts_name(struct resolver *r, const struct ip *ip, size_t *at) {
	(void)ask_for_news(r); /* for the next time */
	return hosts_name(&r->hosts, ip, at);
}

/* ---- the end of a query ---- */

static bool failed(const struct dns_answer *a) {
	return a->code != DNS_NOERROR && a->code != DNS_NXDOMAIN;
}

/* Some servers say NXDOMAIN where they mean that this family has no address. */
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

/* Seconds for which this may be believed. */
static uint32_t lifetime(const struct names_found *f, bool half_unknown) {
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

static void conclude(struct query *q) {
	struct names_found *f = &q->found;
	struct resolver *r = q->resolver;
	bool half_unknown = failed(&f->v4) || failed(&f->v6);
	f->code = code_of(&f->v4, &f->v6);
	f->v4.code = f->v6.code = f->code;
	uint32_t ttl = lifetime(f, half_unknown);
	f->v4.ttl = f->v6.ttl = ttl;
	cache_put(&r->cache, q->name, f, r->exchanges.loop->now + 1000 * (int64_t)ttl);
}

/* One by one: a function that is called may forget others, or ask again (and is answered from
 * memory, where the answer lies by now). */
static void tell(struct query *q) {
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
		/* Who has an address does not wait for ever for another one. */
		other->hurried = x->answer->nips > 0;
		return;
	}
	conclude(q);
	tell(q);
}

/* ---- asking ---- */

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
			.all = &r->exchanges,
			.asked = {.name = q->name, .type = i == HALF_V4 ? DNS_A : DNS_AAAA},
			.answer = i == HALF_V4 ? &q->found.v4 : &q->found.v6,
			.owner = q,
			.done = half_done,
		};
	}
	dns_query_begin(&q->halves[HALF_V4]);
	dns_query_begin(&q->halves[HALF_V6]);
}

/* What is known without asking anybody. */
static bool known(struct resolver *r, const char *name, struct names_found *ret) {
	memset(ret, 0, sizeof *ret);
	return hosts_find(&r->hosts, name, &ret->v4, &ret->v6) ||
	       cache_get(&r->cache, name, r->exchanges.loop->now, ret);
}

/* Where to wait for the answer; NULL when there is no room. */
static struct query *place_for(struct resolver *r, const char *name) {
	bool room = r->waiting < RESOLVER_WAITERS && strlen(name) <= HOSTNAME_MAX;
	return room ? find_query(r, name) : NULL;
}

void resolver_ask(struct resolver *r, const char *name, struct resolver_wait *w) {
	struct names_found found;
	w->waiting = false;
	bool news = ask_for_news(r);
	/* A failure may be the old servers', and the new ones be told in a moment. */
	if (known(r, name, &found) && !(news && found.code == DNS_SERVFAIL)) {
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

/* ---- news ---- */

/* What was begun with the old files goes on with the new ones. */
static void renew(struct query *q, bool servers) {
	struct resolver *r = q->resolver;
	struct names_found found = {0};
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
		tell(q);
	} else {
		begin(r, q);
	}
}

bool resolver_told(struct resolver *r) {
	uint8_t what = 0;
	int got = dns_update_receive(r->line, &what);
	if (got <= 0) {
		return got == 0;
	}
	r->wants_news = false;
	bool servers = (what & DNS_UPDATE_RESOLV_CONF) != 0;
	if ((what & DNS_UPDATE_HOSTS) != 0) {
		hosts_forget(&r->hosts);
		hosts_read(&r->hosts, r->news->hosts);
	}
	if (servers) {
		resolv_conf_read(&r->exchanges.servers, r->news->resolv_conf, RESOLVER_TIMEOUT_MS);
		cache_forget(&r->cache); /* another network, other answers */
	}
	for (size_t i = 0; what != 0 && i < RESOLVER_QUERIES; i++) {
		renew(&r->queries[i], servers);
	}
	return true;
}

void resolver_forget(struct resolver *r, struct resolver_wait *w) {
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
