/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the gate's log (gate/ledger.h) from shared memory, and adds cause and remedy.
 *
 * Should:   return each decision as the gate recorded it, and the option that would allow it.
 * Must not: trust the shared memory: the gate parses input of hostile programs, and these texts
 *           reach a terminal and are pasted into a shell.
 * Fails:    open: an entry that is invalid, or does not fit in memory, is only counted. */
#include "run/netlog.h"

#include "base/auto.h"
#include "data/ranges.h"

#include <string.h>

static const char *const op_names[] = {
	[NET_OP_CONNECT] = "connect", [NET_OP_RESOLVE] = "resolve", [NET_OP_REQUEST] = "request",
	[NET_OP_PROXY] = "proxy",     [NET_OP_PUBLISH] = "publish",
};

static const char *const outcome_names[] = {
	[NET_ALLOWED] = "allowed",
	[NET_DENIED] = "denied",
	[NET_FAILED] = "failed",
};

const char *netlog_op_name(enum net_op op) {
	return op_names[op];
}

const char *netlog_outcome_name(enum net_outcome outcome) {
	return outcome_names[outcome];
}

/* Only the characters of a host name: the remedy puts it into a command line. */
static bool is_name(const char *s) {
	return s[0] != '-' && s[strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
					  "0123456789.-_")] == '\0';
}

/* NULL for "". */
static const char *text_of(struct arena *a, char *s, size_t cap, bool *failed) {
	s[cap - 1] = '\0';
	if (s[0] == '\0') {
		return NULL;
	}
	for (char *p = s; *p != '\0'; p++) {
		if ((unsigned char)*p < ' ' || *p == 0x7f) {
			*p = '?';
		}
	}
	const char *copy = arena_strdup(a, s);
	*failed |= copy == NULL;
	return copy;
}

static const char *address_of(struct arena *a, const struct ip *ip, bool *failed) {
	char text[IP_TEXT];

	(void)ip_text(ip, text); /* it fits */
	const char *copy = arena_strdup(a, text);
	*failed |= copy == NULL;
	return copy;
}

const char *netlog_place(struct arena *a, const struct netlog_item *item) {
	const char *host = item->name != NULL ? item->name : item->address;

	if (host == NULL) {
		return NULL;
	}
	bool bracket = strchr(host, ':') != NULL && item->port != 0;
	if (item->port == 0) {
		return arena_strdup(a, host);
	}
	return arena_printf(a, "%s%s%s:%u", bracket ? "[" : "", host, bracket ? "]" : "",
			    (unsigned)item->port);
}

/* ---- cause → remedy ---- */

/* The option's argument is the name, or (by_address) the address, with or without the port. */
static const struct remedy {
	const char *option; /* NULL: none would help, or should be offered */
	bool by_address, with_port;
	const char *text; /* before the option, or alone */
} remedies[NET_CAUSE_COUNT] = {
	[NET_CAUSE_NONE] = {NULL, false, false, ""},
	[NET_CAUSE_UNLISTED] = {"--allow-host", false, true, "allow it: "},
	[NET_CAUSE_UNREAD] = {"--allow-host", true, true,
			      "use TLS with the server's name, or allow the address, without "
			      "inspection: "},
	[NET_CAUSE_PRIVATE] = {"--allow-private", true, false, "let allowed names resolve to it: "},
	[NET_CAUSE_LOOPBACK] =
		{NULL, false, false,
		 "no option lets a name resolve to this host; to reach a port of the host as "
		 "127.0.0.1:PORT: --host-port PORT"},
	[NET_CAUSE_SPECIAL] = {"--allow-host", true, true, "allow the address: "},
	[NET_CAUSE_METADATA] = {NULL, false, false,
				"no option is offered: it hands out this machine's credentials"},
	[NET_CAUSE_DENIED] = {NULL, false, false,
			      "no option lifts it: change the rule; to find it: corral explain"},
	[NET_CAUSE_LEAK] = {NULL, false, false,
			    "remove the secret from the request, or allow its fingerprint: corral "
			    "scan --allow FINGERPRINT"},
	[NET_CAUSE_PUBLISHED] = {NULL, false, false, ""},
	[NET_CAUSE_UNRESOLVED] = {NULL, false, false,
				  "the name is allowed; check its spelling and this host's name "
				  "servers"},
};

/* With a rule, a further --allow-host does not help: the rule denies it, or allows it and another
 * check failed.  Exceptions: traffic that Corral cannot inspect, and this host's own addresses,
 * pass when the address itself is listed. */
static enum net_cause cause_denied(const struct netlog_item *item, const struct range *special) {
	if (item->op == NET_OP_PUBLISH) {
		return NET_CAUSE_PUBLISHED;
	}
	if (item->leak) {
		return NET_CAUSE_LEAK;
	}
	if (item->rule != NULL && !item->unread && !item->own) {
		return NET_CAUSE_DENIED;
	}
	if (special != NULL && special->kind == RANGE_METADATA) {
		return NET_CAUSE_METADATA;
	}
	if (item->own) {
		return NET_CAUSE_SPECIAL;
	}
	if (item->unread) {
		return item->address == NULL ? NET_CAUSE_NONE : NET_CAUSE_UNREAD;
	}
	if (special == NULL || item->name == NULL) {
		return special == NULL ? NET_CAUSE_UNLISTED : NET_CAUSE_SPECIAL;
	}
	if (special->kind == RANGE_PRIVATE) {
		return NET_CAUSE_PRIVATE;
	}
	return strstr(special->name, "loopback") != NULL || strstr(special->name, "host") != NULL
		       ? NET_CAUSE_LOOPBACK
		       : NET_CAUSE_SPECIAL;
}

static enum net_cause cause_of(const struct netlog_item *item, const struct range *special) {
	if (item->outcome == NET_FAILED && item->name != NULL && item->address == NULL) {
		return NET_CAUSE_UNRESOLVED;
	}
	return item->outcome == NET_DENIED ? cause_denied(item, special) : NET_CAUSE_NONE;
}

static bool write_remedy(struct arena *a, struct netlog_item *item) {
	const struct remedy *r = &remedies[item->cause];
	const struct netlog_item wanted = {.name = r->by_address ? NULL : item->name,
					   .address = item->address,
					   .port = r->with_port ? item->port : 0};

	if (r->option == NULL) {
		return true;
	}
	const char *place = netlog_place(a, &wanted);
	item->remedy = place == NULL ? NULL : arena_printf(a, "%s %s", r->option, place);
	return item->remedy != NULL;
}

bool netlog_complete(struct arena *a, struct netlog_item *item, const struct ip *ip) {
	item->cause = cause_of(item, ip == NULL ? NULL : range_of(ip));
	return write_remedy(a, item);
}

const char *netlog_advice(struct arena *a, const struct netlog_item *item) {
	const char *text = remedies[item->cause].text;
	const char *all = item->remedy == NULL ? text : arena_printf(a, "%s%s", text, item->remedy);
	return all == NULL ? "" : all;
}

/* JSON integers of the result are int64_t. */
static uint64_t bounded(uint64_t n) {
	return n < INT64_MAX ? n : INT64_MAX;
}

static bool read_entry(struct arena *a, struct ledger_entry *e, struct netlog_item *ret) {
	bool failed = false;
	unsigned op, outcome;
	unsigned char has_ip, unread, own, leak;

	/* Copied as integers first: an enum or bool with an invalid value is undefined behaviour.
	 */
	memcpy(&op, &e->op, sizeof op);
	memcpy(&outcome, &e->outcome, sizeof outcome);
	memcpy(&has_ip, &e->has_ip, sizeof has_ip);
	memcpy(&unread, &e->unread, sizeof unread);
	memcpy(&own, &e->own, sizeof own);
	memcpy(&leak, &e->leak, sizeof leak);
	if (op >= ARRAY_LEN(op_names) || outcome >= ARRAY_LEN(outcome_names)) {
		return false;
	}
	struct netlog_item item = {
		.op = (enum net_op)op,
		.outcome = (enum net_outcome)outcome,
		.name = text_of(a, e->name, sizeof e->name, &failed),
		.address = has_ip == 0 ? NULL : address_of(a, &e->ip, &failed),
		.port = e->port,
		.rule = text_of(a, e->rule, sizeof e->rule, &failed),
		.why = text_of(a, e->why, sizeof e->why, &failed),
		.count = e->count,
		.sent = bounded(e->sent),
		.received = bounded(e->received),
		.unread = unread != 0,
		.own = own != 0,
		.leak = leak != 0,
	};
	if (failed || (item.name != NULL && !is_name(item.name))) {
		return false;
	}
	*ret = item;
	return netlog_complete(a, ret, has_ip == 0 ? NULL : &e->ip);
}

static size_t entries_of(const struct ledger *l) {
	struct ledger_entry e;
	size_t at = 0, n = 0;

	while (n < LEDGER_ENTRIES && ledger_next(l, &at, &e)) {
		n++;
	}
	return n;
}

/* At most `used`: a compromised gate may have added entries after they were counted. */
static void read_entries(const struct ledger *l, size_t used, struct netlog *n) {
	struct ledger_entry e;
	size_t at = 0;

	for (size_t i = 0; i < used && ledger_next(l, &at, &e); i++) {
		if (n->items != NULL && read_entry(&n->arena, &e, &n->items[n->count])) {
			n->count++;
		} else {
			n->more++;
		}
	}
	n->more += atomic_load_explicit(&l->log.lost, memory_order_relaxed);
}

static bool is_refused_name(const struct netlog_item *item) {
	return item->op == NET_OP_RESOLVE && item->outcome == NET_DENIED && item->name != NULL;
}

/* A resolver that was refused NAME tries NAME.DOMAIN with each domain of `search`.  That is refused
 * as well, and a rule for it would have no effect. */
static bool is_search(const struct netlog *n, const struct netlog_item *item) {
	for (size_t i = 0; i < n->count; i++) {
		const struct netlog_item *first = &n->items[i];
		size_t len = first == item || !is_refused_name(first) ? 0 : strlen(first->name);
		if (len > 0 && strncmp(item->name, first->name, len) == 0 &&
		    item->name[len] == '.') {
			return true;
		}
	}
	return false;
}

static void forget_searches(struct netlog *n) {
	for (size_t i = 0; i < n->count; i++) {
		struct netlog_item *item = &n->items[i];
		if (is_refused_name(item) && is_search(n, item)) {
			item->remedy = NULL;
		}
	}
}

void netlog_read(const struct ledger *l, const struct ledger *refusals, struct netlog *ret) {
	struct netlog n = {.recorded = l != NULL};
	size_t used = l == NULL ? 0 : entries_of(l);
	size_t after = refusals == NULL ? 0 : entries_of(refusals);

	n.items = used + after == 0 ? NULL : arena_array(&n.arena, used + after, sizeof *n.items);
	if (l != NULL) {
		read_entries(l, used, &n);
	}
	if (refusals != NULL) {
		read_entries(refusals, after, &n);
		n.ended = atomic_load(&refusals->ended);
	}
	forget_searches(&n);
	*ret = n;
}

static bool same_text(const char *a, const char *b) {
	return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

static bool same_item(const struct netlog_item *a, const struct netlog_item *b) {
	return a->op == b->op && a->outcome == b->outcome && a->port == b->port &&
	       same_text(a->name, b->name) && same_text(a->address, b->address) &&
	       same_text(a->rule, b->rule) && same_text(a->why, b->why);
}

void netlog_since(struct netlog *n, const struct netlog *before) {
	size_t kept = 0;

	for (size_t i = 0; i < n->count; i++) {
		struct netlog_item item = n->items[i];
		for (size_t k = 0; k < before->count; k++) {
			const struct netlog_item *old = &before->items[k];
			if (same_item(&item, old)) {
				item.count -= old->count;
				item.sent -= old->sent;
				item.received -= old->received;
				break;
			}
		}
		if (item.count != 0 || item.sent != 0 || item.received != 0) {
			n->items[kept++] = item;
		}
	}
	n->count = kept;
	n->more -= before->more;
}

/* A name that a rule has is the user's own. */
static bool is_chosen(const struct netlog_item *item) {
	return item->name != NULL && (item->rule == NULL || strcmp(item->rule, item->name) != 0);
}

void netlog_clean(struct netlog *n, const struct leak_source *source) {
	char clean[HOSTNAME_MAX + 1];

	for (size_t i = 0; source != NULL && i < n->count; i++) {
		struct netlog_item *item = &n->items[i];
		if (is_chosen(item) &&
		    source->clean(source->arg, item->name, clean, sizeof clean)) {
			item->name = arena_strdup(&n->arena, clean);
			item->remedy = NULL;
			item->cause = NET_CAUSE_NONE;
		}
	}
}

void netlog_done(struct netlog *n) {
	arena_done(&n->arena);
	*n = (struct netlog){0};
}
