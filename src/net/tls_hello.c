/* SPDX-License-Identifier: Apache-2.0 */
/* Parses a TLS ClientHello for its server name (SNI).
 *
 * Should:   read the message across its records, wherever they are split, and accept only a
 *           name that the strictest server accepts.
 * Must not: copy the message, or make more than one pass over an incomplete one: a client
 *           that sends single bytes has it read once for each byte.
 * Fails:    closed: a hello that two servers could read differently is refused.
 *
 * Two passes.  The first goes from record to record and counts, so that nothing is
 * parsed before the message is complete; a refusal depends only on bytes before the
 * message's end, so that it never changes with more bytes.  The second
 * parses the message with bounds of its own. */
#include "net/tls_hello.h"

#include <string.h>

#define RECORD_HEADER 5
#define RECORD_MAX ((size_t)1 << 14) /* RFC 8446, 5.1: of a TLSPlaintext fragment */
#define MESSAGE_HEADER 4

/* The first pass runs for every segment, so its cost needs a bound.  A hello in records of a
 * single byte fits. */
#define RECORDS_MAX 2048

#define ALERT 21
#define HANDSHAKE 22
#define CLIENT_HELLO 1
#define HOST_NAME_TYPE 0

#define EXTENSION_SERVER_NAME 0

/* ---- records ---- */

static enum sniff refuse(const char **why, const char *reason) {
	*why = reason;
	return SNIFF_BAD;
}

/* Checks a record header, complete or not.  Versions up to 1.3: clients write 1.0 to 1.2 here,
 * whatever version they support. */
static const char *header_fault(const uint8_t *at, size_t len) {
	if (len > 0 && at[0] != HANDSHAKE) {
		return "a TLS record of another type comes before the end of the "
		       "client's hello";
	}
	if ((len > 1 && at[1] != 3) || (len > 2 && at[2] > 4)) {
		return "a TLS record has a version other than TLS 1.x";
	}
	if (len < RECORD_HEADER) {
		return NULL;
	}
	size_t size = (size_t)at[3] << 8 | at[4];
	if (size == 0) {
		return "a TLS record is empty";
	}
	return size > RECORD_MAX ? "a TLS record is longer than 16 KiB" : NULL;
}

/* The state of the first pass. */
struct extent {
	uint8_t header[MESSAGE_HEADER];
	size_t have; /* bytes of the message so far */
	size_t need; /* its length with the header; 0: unknown */
	size_t end;  /* the end of its last record, once it is complete */
};

/* A record of size bytes, of which `there` have arrived. */
static const char *count_record(struct extent *e, const uint8_t *at, size_t size, size_t there) {
	size_t before = e->have;
	there = there < size ? there : size;
	for (size_t i = 0; i < there && before + i < MESSAGE_HEADER; i++) {
		e->header[before + i] = at[i];
	}
	e->have += there;
	if (e->have > 0 && e->header[0] != CLIENT_HELLO) {
		return "the first TLS message is not a ClientHello";
	}
	if (e->have >= MESSAGE_HEADER && e->need == 0) {
		e->need = MESSAGE_HEADER +
			  ((size_t)e->header[1] << 16 | (size_t)e->header[2] << 8 | e->header[3]);
	}
	if (e->need > TLS_HELLO_MAX - RECORD_HEADER) {
		return "the client's hello is longer than 64 KiB";
	}
	if (e->need != 0 && before + size > e->need) {
		return "more bytes follow the client's hello in its last record";
	}
	return NULL;
}

/* SNIFF_DONE: the message is complete. */
static enum sniff measure(const uint8_t *data, size_t len, struct extent *e, const char **why) {
	size_t at = 0;
	for (int records = 0; at < len; records++) {
		const char *fault = records == RECORDS_MAX
					    ? "the client's hello is split into too many records"
					    : header_fault(data + at, len - at);
		if (fault != NULL) {
			return refuse(why, fault);
		}
		if (len - at < RECORD_HEADER) {
			break;
		}
		size_t size = (size_t)data[at + 3] << 8 | data[at + 4];
		at += RECORD_HEADER;
		fault = count_record(e, data + at, size, len - at);
		if (fault != NULL) {
			return refuse(why, fault);
		}
		if (e->need != 0 && e->have == e->need) {
			e->end = at + size; /* count_record(): the message ends the record */
			return SNIFF_DONE;
		}
		if (len - at < size) {
			break;
		}
		at += size;
	}
	return len < TLS_HELLO_MAX
		       ? SNIFF_MORE
		       : refuse(why, "the client's hello and its records are longer than 64 KiB");
}

/* ---- the message ---- */

/* A position in the message; measure() has checked every record of it. */
struct cursor {
	const uint8_t *at;
	size_t record; /* bytes left in this record */
	size_t left;   /* bytes left in the current element */
};

/* n is at most left. */
static void skip(struct cursor *c, size_t n) {
	c->left -= n;
	while (n > c->record) {
		c->at += c->record;
		n -= c->record;
		c->record = (size_t)c->at[3] << 8 | c->at[4];
		c->at += RECORD_HEADER;
	}
	c->at += n;
	c->record -= n;
}

static uint8_t next_byte(struct cursor *c) {
	if (c->record == 0) {
		c->record = (size_t)c->at[3] << 8 | c->at[4];
		c->at += RECORD_HEADER;
	}
	c->record--;
	c->left--;
	return *c->at++;
}

/* A number of one or two bytes. */
static bool read_number(struct cursor *c, size_t bytes, size_t *ret) {
	if (c->left < bytes) {
		return false;
	}
	size_t n = 0;
	for (size_t i = 0; i < bytes; i++) {
		n = n << 8 | next_byte(c);
	}
	*ret = n;
	return true;
}

/* The length prefix of a list, checked against left. */
static bool read_length(struct cursor *c, size_t bytes, size_t *ret) {
	return read_number(c, bytes, ret) && *ret <= c->left;
}

/* The fields before the extensions: version, random, session id, ciphers, compression. */
static bool skip_fixed(struct cursor *c) {
	size_t version, session, ciphers, methods;
	if (!read_number(c, 2, &version) || version >> 8 != 3 || c->left < 32) {
		return false;
	}
	skip(c, 32);
	if (!read_length(c, 1, &session) || session > 32) {
		return false;
	}
	skip(c, session);
	if (!read_length(c, 2, &ciphers) || ciphers == 0 || ciphers % 2 != 0) {
		return false;
	}
	skip(c, ciphers);
	if (!read_length(c, 1, &methods) || methods == 0) {
		return false;
	}
	skip(c, methods);
	return true;
}

/* RFC 6066 allows a list of names of one type, host_name: servers differ about every list but a
 * single host_name. */
static const char *read_server_name(struct cursor *c, struct tls_hello *h) {
	char name[HOSTNAME_MAX + 1]; /* and a trailing dot */
	size_t list, type, len;
	if (h->named) {
		return "the TLS hello has two server names";
	}
	if (!read_length(c, 2, &list) || list != c->left || !read_number(c, 1, &type) ||
	    !read_length(c, 2, &len)) {
		return "the TLS server name is malformed";
	}
	if (type != HOST_NAME_TYPE) {
		return "the TLS server name is not of type host_name";
	}
	if (len != c->left) {
		return "the TLS hello has two server names";
	}
	if (len > sizeof name) {
		return "the TLS server name is longer than 253 bytes";
	}
	for (size_t i = 0; i < len; i++) {
		name[i] = (char)next_byte(c);
	}
	switch (hostname_parse(name, len, &h->server)) {
	case HOST_NAME:
		h->named = true;
		return NULL;
	case HOST_IP:
		return "the TLS server name is an IP address";
	case HOST_BAD:
		break;
	}
	return "the TLS server name is not a host name";
}

static const char *read_extension(struct cursor *c, size_t type, struct tls_hello *h) {
	if (type == EXTENSION_SERVER_NAME) {
		return read_server_name(c, h);
	}
	skip(c, c->left);
	return NULL;
}

static const char *read_message(struct cursor *c, struct tls_hello *h) {
	static const char *const malformed = "the client's hello is malformed";
	size_t all, type, len;
	if (!skip_fixed(c)) {
		return malformed;
	}
	if (c->left == 0) {
		return NULL; /* before TLS 1.2 a hello may end here */
	}
	if (!read_length(c, 2, &all) || all != c->left) {
		return malformed;
	}
	while (c->left > 0) {
		if (!read_number(c, 2, &type) || !read_length(c, 2, &len)) {
			return malformed;
		}
		size_t behind = c->left - len;
		c->left = len;
		const char *fault = read_extension(c, type, h);
		if (fault != NULL) {
			return fault;
		}
		c->left = behind;
	}
	return NULL;
}

/* ---- public functions ---- */

bool tls_hello_begins(const uint8_t *data, size_t len) {
	return (len < 1 || data[0] == HANDSHAKE) && (len < 2 || data[1] == 3);
}

bool tls_hello_answered(const uint8_t *data) {
	return (data[0] == HANDSHAKE || data[0] == ALERT) && data[1] == 3;
}

enum sniff tls_hello_read(const uint8_t *data, size_t len, struct tls_hello *ret,
			  const char **why) {
	struct extent e = {0};
	struct tls_hello h = {0};
	enum sniff result = measure(data, len < TLS_HELLO_MAX ? len : TLS_HELLO_MAX, &e, why);
	if (result != SNIFF_DONE) {
		return result;
	}
	struct cursor c = {.at = data, .left = e.need};
	skip(&c, MESSAGE_HEADER);
	const char *fault = read_message(&c, &h);
	if (fault != NULL) {
		return refuse(why, fault);
	}
	h.len = e.end;
	*ret = h;
	return SNIFF_DONE;
}
