/* SPDX-License-Identifier: Apache-2.0 */
/* Parser and writer of DNS messages.
 *
 * Should:   read queries of hostile programs and responses of hostile servers; write both.
 * Must not: allocate, follow a compression pointer that does not point backwards, or take a label
 *           that contains a dot for two labels.
 * Fails:    closed: a query with other than one question gets an error code, a truncated
 *           response is SERVFAIL. */
#include "net/dns.h"

#include "base/auto.h"

#include <string.h>

#define HEADER 12
#define OPT_LEN 11    /* an OPT record without options */
#define RECORD_LEN 10 /* type, class, TTL and length of a record */
#define CLASS_IN 1
#define PLAIN_UDP 512 /* the limit without EDNS, RFC 1035 */

enum { FLAG_RESPONSE = 0x8000, FLAG_CUT = 0x0200, FLAG_RD = 0x0100, FLAG_RA = 0x0080 };
#define OPCODE 0x7800
#define RCODE 0x000f

struct message {
	const uint8_t *m;
	size_t len, at;
};

/* A name in wire format, without compression and in lower case. */
struct name {
	uint8_t wire[DNS_NAME_MAX];
	size_t len;
};

static unsigned get16(const uint8_t *p) {
	return (unsigned)p[0] << 8 | p[1];
}

static uint32_t get32(const uint8_t *p) {
	return (uint32_t)get16(p) << 16 | get16(p + 2);
}

static uint8_t lower(uint8_t c) {
	return c >= 'A' && c <= 'Z' ? (uint8_t)(c + ('a' - 'A')) : c;
}

/* ---- names ---- */

/* Appends the label at place, whose length byte is len; false: truncated, or the name is too long.
 */
static bool append_label(const struct message *msg, size_t place, size_t len, struct name *n) {
	if (len + 1 > msg->len - place || n->len + 1 + len > DNS_NAME_MAX) {
		return false;
	}
	n->wire[n->len++] = (uint8_t)len;
	for (size_t i = 1; i <= len; i++) {
		n->wire[n->len++] = lower(msg->m[place + i]);
	}
	return true;
}

/* Reads a name and advances behind it.  Each compression pointer must point before the start of the
 * labels that it ends, so there is no loop; a name needs at most one jump for each label. */
static bool read_name(struct message *msg, struct name *ret) {
	size_t place = msg->at, limit = msg->at;
	bool jumped = false;
	ret->len = 0;
	for (int jumps = 0; place < msg->len;) {
		uint8_t c = msg->m[place];
		if (c < 0x40) {
			if (!append_label(msg, place, c, ret)) {
				return false;
			}
			place += 1U + c;
			msg->at = jumped ? msg->at : place;
			if (c == 0) {
				return true;
			}
			continue;
		}
		if (c < 0xc0 || msg->len - place < 2 || ++jumps > DNS_NAME_MAX / 2) {
			return false;
		}
		msg->at = jumped ? msg->at : place + 2;
		jumped = true;
		place = get16(msg->m + place) & 0x3fff;
		if (place < HEADER || place >= limit) {
			return false;
		}
		limit = place;
	}
	return false;
}

static bool name_same(const struct name *a, const struct name *b) {
	return a->len == b->len && memcmp(a->wire, b->wire, a->len) == 0;
}

/* False: not a host name. */
static bool name_from_text(const char *text, struct name *ret) {
	size_t len = strlen(text), label = 0;
	if (len == 0 || len > HOSTNAME_MAX) {
		return false;
	}
	ret->len = len + 2;
	for (size_t i = 0; i <= len; i++) {
		if (i < len && text[i] != '.') {
			ret->wire[i + 1] = lower((uint8_t)text[i]);
			continue;
		}
		if (i == label || i - label > 63) {
			return false;
		}
		ret->wire[label] = (uint8_t)(i - label);
		label = i + 1;
	}
	ret->wire[len + 1] = 0;
	return true;
}

/* A dot inside a label would make two labels; hostname_parse() checks all other bytes. */
static enum host_kind name_to_host(const struct name *n, struct hostname *ret) {
	char text[DNS_NAME_MAX];
	size_t len = 0;
	ret->kind = HOST_BAD;
	for (size_t at = 0; n->wire[at] != 0; at += 1U + n->wire[at]) {
		if (memchr(n->wire + at + 1, '.', n->wire[at]) != NULL) {
			ret->why = "a label contains a dot";
			return HOST_BAD;
		}
		memcpy(text + len, n->wire + at + 1, n->wire[at]);
		len += n->wire[at];
		text[len++] = '.';
	}
	if (len == 0) {
		ret->why = "it is the root domain";
		return HOST_BAD;
	}
	if (hostname_parse(text, len - 1, ret) == HOST_IP) {
		ret->kind = HOST_BAD;
		ret->why = "an address is not a name";
	}
	return ret->kind;
}

/* ---- records ---- */

struct record {
	struct name owner;
	unsigned type, class_;
	uint32_t ttl;
	size_t data, len; /* offset and length of the data */
};

static bool read_record(struct message *msg, struct record *ret) {
	if (!read_name(msg, &ret->owner) || msg->len - msg->at < RECORD_LEN) {
		return false;
	}
	const uint8_t *p = msg->m + msg->at;
	ret->type = get16(p);
	ret->class_ = get16(p + 2);
	ret->ttl = get32(p + 4);
	ret->len = get16(p + 8);
	ret->data = msg->at + RECORD_LEN;
	if (ret->len > msg->len - ret->data) {
		return false;
	}
	msg->at = ret->data + ret->len;
	return true;
}

/* ---- a query of a program ---- */

static bool question_fails(int code, int *ret_code) {
	*ret_code = code;
	return false;
}

/* The additional section: at most one OPT record; others are ignored. */
static int read_additional(struct message *msg, unsigned count, struct dns_question *q) {
	struct record r;
	int code = DNS_NOERROR;
	for (; count > 0; count--) {
		if (!read_record(msg, &r)) {
			return DNS_FORMERR;
		}
		if (r.type != DNS_OPT) {
			continue;
		}
		if (q->edns || r.owner.len != 1) {
			return DNS_FORMERR;
		}
		q->edns = true;
		if (r.class_ > q->size) {
			q->size = r.class_ < DNS_UDP_MAX ? (uint16_t)r.class_ : DNS_UDP_MAX;
		}
		code = (r.ttl >> 16 & 0xff) == 0 ? code : DNS_BADVERS;
	}
	return msg->at == msg->len ? code : DNS_FORMERR;
}

static bool read_question_section(struct message *msg, struct dns_question *q) {
	struct name name;
	size_t begin = msg->at;
	if (!read_name(msg, &name) || msg->len - msg->at < 4) {
		return false;
	}
	q->type = (uint16_t)get16(msg->m + msg->at);
	q->class_ = (uint16_t)get16(msg->m + msg->at + 2);
	msg->at += 4;
	/* The first name of a message cannot contain a pointer: only the header is before it. */
	q->nraw = msg->at - begin;
	memcpy(q->raw, msg->m + begin, q->nraw);
	(void)name_to_host(&name, &q->host);
	return true;
}

bool dns_read_question(const uint8_t *m, size_t len, struct dns_question *ret, int *ret_code) {
	struct message msg = {m, len, HEADER};
	memset(ret, 0, sizeof *ret);
	ret->size = PLAIN_UDP;
	/* Answering a response could make a loop of two servers. */
	if (len < HEADER || (get16(m + 2) & FLAG_RESPONSE) != 0) {
		return question_fails(DNS_NO_ANSWER, ret_code);
	}
	ret->id = (uint16_t)get16(m);
	ret->recursion = (get16(m + 2) & FLAG_RD) != 0;
	if ((get16(m + 2) & OPCODE) != 0) {
		return question_fails(DNS_NOTIMP, ret_code);
	}
	if (get16(m + 4) != 1 || get16(m + 6) != 0 || get16(m + 8) != 0 ||
	    !read_question_section(&msg, ret)) {
		return question_fails(DNS_FORMERR, ret_code);
	}
	int code = read_additional(&msg, get16(m + 10), ret);
	if (code == DNS_NOERROR && ret->class_ != CLASS_IN) {
		code = DNS_REFUSED;
	}
	return code == DNS_NOERROR ? true : question_fails(code, ret_code);
}

/* ---- writing ---- */

struct out {
	uint8_t *p;
	size_t len, cap;
	bool cut; /* a record did not fit; nothing is appended after that */
};

static bool fits(struct out *o, size_t len) {
	o->cut |= len > o->cap - o->len;
	return !o->cut;
}

static void append(struct out *o, const void *data, size_t len) {
	memcpy(o->p + o->len, data, len);
	o->len += len;
}

static void append16(struct out *o, unsigned v) {
	const uint8_t two[] = {(uint8_t)(v >> 8), (uint8_t)v};
	append(o, two, sizeof two);
}

static void append32(struct out *o, uint32_t v) {
	append16(o, v >> 16);
	append16(o, v & 0xffff);
}

/* The record's header, its owner as a compression pointer; false: it does not fit. */
static bool append_record(struct out *o, size_t owner, int type, uint32_t ttl, size_t data_len) {
	if (!fits(o, 2 + RECORD_LEN + data_len)) {
		return false;
	}
	append16(o, 0xc000U | (unsigned)owner);
	append16(o, (unsigned)type);
	append16(o, CLASS_IN);
	append32(o, ttl);
	append16(o, (unsigned)data_len);
	return true;
}

static void append_opt(struct out *o, int code) {
	append(o, "", 1); /* owner: the root */
	append16(o, DNS_OPT);
	append16(o, DNS_UDP_MAX);
	append32(o, (uint32_t)code >> 4 << 24);
	append16(o, 0);
}

/* Returns the number of records; *owner becomes the offset of the last name. */
static unsigned append_chain(struct out *o, const struct dns_answer *a, size_t n, size_t *owner) {
	struct name name;
	unsigned count = 0;
	for (size_t i = 0; i < n; i++, count++) {
		if (!name_from_text(a->chain[i], &name) ||
		    !append_record(o, *owner, DNS_CNAME, a->ttl, name.len)) {
			break;
		}
		*owner = o->len;
		append(o, name.wire, name.len);
	}
	return count;
}

static unsigned append_addresses(struct out *o, const struct dns_answer *a, int type,
				 size_t owner) {
	unsigned count = 0;
	size_t len = type == DNS_A ? 4 : 16;
	for (size_t i = 0; i < a->nips; i++) {
		if (ip_is4(&a->ips[i]) != (type == DNS_A)) {
			continue;
		}
		if (!append_record(o, owner, type, a->ttl, len)) {
			break;
		}
		append(o, a->ips[i].b + 16 - len, len);
		count++;
	}
	return count;
}

static unsigned append_records(struct out *o, const struct dns_question *q,
			       const struct dns_answer *a) {
	size_t owner = HEADER;
	if (q->nraw == 0) {
		return 0;
	}
	if (q->type == DNS_CNAME) {
		return append_chain(o, a, a->nchain < 1 ? a->nchain : 1, &owner);
	}
	if (q->type != DNS_A && q->type != DNS_AAAA) {
		return 0;
	}
	unsigned count = append_chain(o, a, a->nchain, &owner);
	return o->cut ? count : count + append_addresses(o, a, q->type, owner);
}

static void append_header(struct out *o, unsigned id, unsigned flags, const unsigned counts[3]) {
	append16(o, id);
	append16(o, flags);
	append16(o, counts[0]);
	append16(o, counts[1]);
	append16(o, 0);
	append16(o, counts[2]);
}

size_t dns_write_answer(const struct dns_question *q, const struct dns_answer *a, uint8_t *out,
			size_t cap) {
	size_t opt = q->edns ? OPT_LEN : 0;
	cap = cap < DNS_MAX ? cap : DNS_MAX;
	if (cap < HEADER + q->nraw + opt) {
		return 0;
	}
	struct out o = {.len = HEADER, .cap = cap - opt};
	o.p = out;
	append(&o, q->raw, q->nraw);
	unsigned count = append_records(&o, q, a);
	o.cap = cap;
	if (q->edns) {
		append_opt(&o, a->code);
	}
	struct out head = {.p = out, .cap = HEADER};
	append_header(&head, q->id,
		      FLAG_RESPONSE | FLAG_RA | (q->recursion ? FLAG_RD : 0U) |
			      (o.cut ? FLAG_CUT : 0U) | ((unsigned)a->code & RCODE),
		      (const unsigned[]){q->nraw > 0, count, q->edns});
	return o.len;
}

size_t dns_write_query(const struct dns_request *request, uint8_t *out, size_t cap) {
	struct out o = {.cap = cap};
	struct name name;
	o.p = out;
	if (!name_from_text(request->name, &name) || !fits(&o, HEADER + name.len + 4 + OPT_LEN)) {
		return 0;
	}
	append_header(&o, request->id, FLAG_RD, (const unsigned[]){1, 0, !request->plain});
	append(&o, name.wire, name.len);
	append16(&o, (unsigned)request->type);
	append16(&o, CLASS_IN);
	if (!request->plain) {
		append_opt(&o, DNS_NOERROR);
	}
	return o.len;
}

/* ---- a response of a server ---- */

/* The answer section, which is read once for each name of the chain. */
struct section {
	struct message begin;
	unsigned count;
};

static void reduce_ttl(uint32_t *ttl, uint32_t by) {
	by = by >> 31 != 0 ? 0 : by; /* RFC 2181: a negative TTL is 0 */
	*ttl = by < *ttl ? by : *ttl;
}

/* Whether no record is truncated. */
static bool section_whole(const struct section *s) {
	struct message msg = s->begin;
	struct record r;
	for (unsigned i = 0; i < s->count; i++) {
		if (!read_record(&msg, &r)) {
			return false;
		}
	}
	return true;
}

/* The next record of this owner, from *i and msg on. */
static bool next_of(const struct section *s, struct message *msg, unsigned *i,
		    const struct name *owner, struct record *ret) {
	for (; *i < s->count && read_record(msg, ret); (*i)++) {
		if (ret->class_ == CLASS_IN && name_same(&ret->owner, owner)) {
			(*i)++;
			return true;
		}
	}
	return false;
}

/* 1: owner has a CNAME, *ret_target; 0: none; -1: its data is malformed. */
static int find_cname(const struct section *s, const struct name *owner, struct record *ret,
		      struct name *ret_target) {
	struct message msg = s->begin;
	for (unsigned i = 0; next_of(s, &msg, &i, owner, ret);) {
		if (ret->type != DNS_CNAME) {
			continue;
		}
		struct message data = {msg.m, ret->data + ret->len, ret->data};
		return read_name(&data, ret_target) && data.at == data.len ? 1 : -1;
	}
	return 0;
}

/* Follows the CNAMEs; *name becomes the last target.  False: more than DNS_CHAIN, or a target
 * that is not a host name. */
static bool read_chain(const struct section *s, struct name *name, struct dns_answer *ret) {
	struct record r;
	struct name target;
	struct hostname host;
	for (;;) {
		int found = find_cname(s, name, &r, &target);
		if (found <= 0) {
			return found == 0;
		}
		if (ret->nchain == DNS_CHAIN || name_to_host(&target, &host) != HOST_NAME) {
			return false;
		}
		memcpy(ret->chain[ret->nchain++], host.name, sizeof host.name);
		reduce_ttl(&ret->ttl, r.ttl);
		*name = target;
	}
}

/* False for an IPv4-mapped address, which no AAAA record should have: the caller drops it. */
static bool address_of(const uint8_t *data, int type, struct ip *ret) {
	if (type == DNS_A) {
		*ret = ip_from4(data);
		return true;
	}
	memcpy(ret->b, data, sizeof ret->b);
	return !ip_is4(ret);
}

static bool read_addresses(const struct section *s, const struct name *owner, int type,
			   struct dns_answer *ret) {
	struct message msg = s->begin;
	struct record r;
	for (unsigned i = 0; next_of(s, &msg, &i, owner, &r);) {
		if (r.type != (unsigned)type) {
			continue;
		}
		if (r.len != (type == DNS_A ? 4 : 16)) {
			return false;
		}
		if (ret->nips < DNS_ADDRESSES &&
		    address_of(msg.m + r.data, type, &ret->ips[ret->nips])) {
			reduce_ttl(&ret->ttl, r.ttl);
			ret->nips++;
		}
	}
	return true;
}

static void read_answer_section(const struct section *s, struct name *name, int type,
				struct dns_answer *ret) {
	int code = ret->code;
	ret->ttl = UINT32_MAX;
	if (s->count > DNS_RECORDS || !section_whole(s) || !read_chain(s, name, ret) ||
	    (code == DNS_NOERROR && !read_addresses(s, name, type, ret))) {
		memset(ret, 0, sizeof *ret);
		ret->code = DNS_SERVFAIL;
		return;
	}
	ret->ttl = ret->nchain + ret->nips == 0 ? 0 : ret->ttl;
}

bool dns_read_answer(const uint8_t *m, size_t len, const struct dns_request *request,
		     struct dns_answer *ret, bool *ret_cut) {
	struct message msg = {m, len, HEADER};
	struct name want, name;
	if (len < HEADER || get16(m) != request->id || !name_from_text(request->name, &want)) {
		return false;
	}
	unsigned flags = get16(m + 2);
	if ((flags & (FLAG_RESPONSE | OPCODE)) != FLAG_RESPONSE) {
		return false;
	}
	int code = (int)(flags & RCODE);
	bool final = code == DNS_NOERROR || code == DNS_NXDOMAIN;
	/* A server that could not read the question may return none. */
	if (get16(m + 4) != 0 || final) {
		if (get16(m + 4) != 1 || !read_name(&msg, &name) || msg.len - msg.at < 4 ||
		    !name_same(&name, &want) || get16(m + msg.at) != (unsigned)request->type ||
		    get16(m + msg.at + 2) != CLASS_IN) {
			return false;
		}
		msg.at += 4;
	}
	memset(ret, 0, sizeof *ret);
	ret->code = code;
	*ret_cut = (flags & FLAG_CUT) != 0;
	if (final && !*ret_cut) {
		struct section s = {msg, get16(m + 6)};
		read_answer_section(&s, &name, request->type, ret);
	}
	return true;
}
