/* A TLS client's first message: which server it names.
 *
 * Should:   put the message together again over its records, wherever they are cut, and
 *           read the name as the strictest server would.
 * Must not: copy the message or take more than one pass over what came: a client that
 *           sends single bytes has it read once a byte.
 * Fails:    closed: what two servers could read differently is refused.
 *
 * Two passes.  The first goes from record to record and counts, so that nothing is
 * parsed before all of it is there; whatever it refuses, it refuses by what stands
 * before the message's end, so that an answer never changes with more bytes.  The second
 * walks over the message with bounds of its own. */
#include "net/tls_hello.h"

#include <string.h>

#define RECORD_HEADER 5
#define RECORD_MAX ((size_t)1 << 14) /* RFC 8446, 5.1: of a plaintext's fragment */
#define MESSAGE_HEADER 4

/* The first pass is made once for every read(2): what it costs has a bound.  A hello in
 * records of a single byte fits. */
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

/* A record's header, or as much of it as came.  Versions up to 1.3's: a client writes 1.0
 * to 1.2 here, whatever it speaks. */
static const char *header_fault(const uint8_t *at, size_t len) {
	if (len > 0 && at[0] != HANDSHAKE) {
		return "a record that is no TLS handshake comes before the client's hello is "
		       "complete";
	}
	if ((len > 1 && at[1] != 3) || (len > 2 && at[2] > 4)) {
		return "a record has a version that is not of TLS 1";
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

/* What the first pass knows. */
struct extent {
	uint8_t header[MESSAGE_HEADER];
	size_t have; /* bytes of the message that are there */
	size_t need; /* its length with the header; 0: not known yet */
	size_t end;  /* where its last record ends, when all of it is there */
};

/* size bytes of a record, of which some may still be on their way. */
static const char *count_record(struct extent *e, const uint8_t *at, size_t size, size_t there) {
	size_t before = e->have;
	there = there < size ? there : size;
	for (size_t i = 0; i < there && before + i < MESSAGE_HEADER; i++) {
		e->header[before + i] = at[i];
	}
	e->have += there;
	if (e->have > 0 && e->header[0] != CLIENT_HELLO) {
		return "the first TLS message is no client's hello";
	}
	if (e->have >= MESSAGE_HEADER && e->need == 0) {
		e->need = MESSAGE_HEADER +
			  ((size_t)e->header[1] << 16 | (size_t)e->header[2] << 8 | e->header[3]);
	}
	if (e->need > TLS_HELLO_MAX - RECORD_HEADER) {
		return "the client's hello is longer than 64 KiB";
	}
	if (e->need != 0 && before + size > e->need) {
		return "something follows the client's hello in its own record";
	}
	return NULL;
}

/* SNIFF_DONE: the whole message is there. */
static enum sniff measure(const uint8_t *data, size_t len, struct extent *e, const char **why) {
	size_t at = 0;
	for (int records = 0; at < len; records++) {
		const char *fault = records == RECORDS_MAX
					    ? "the client's hello is cut into too many records"
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
			e->end = at + size; /* nothing else is in that record */
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

/* A place in the message; measure() has seen every record that it goes over. */
struct cursor {
	const uint8_t *at;
	size_t record; /* bytes left in this record */
	size_t left;   /* bytes left in what is being read */
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

static uint8_t next(struct cursor *c) {
	if (c->record == 0) {
		c->record = (size_t)c->at[3] << 8 | c->at[4];
		c->at += RECORD_HEADER;
	}
	c->record--;
	c->left--;
	return *c->at++;
}

/* A number of one or two bytes. */
static bool number(struct cursor *c, size_t bytes, size_t *ret) {
	if (c->left < bytes) {
		return false;
	}
	size_t n = 0;
	for (size_t i = 0; i < bytes; i++) {
		n = n << 8 | next(c);
	}
	*ret = n;
	return true;
}

/* The length in front of a list, which is all there. */
static bool length(struct cursor *c, size_t bytes, size_t *ret) {
	return number(c, bytes, ret) && *ret <= c->left;
}

/* What stands before the extensions: version, random, session, ciphers, compression. */
static bool skip_fixed(struct cursor *c) {
	size_t version, session, ciphers, methods;
	if (!number(c, 2, &version) || version >> 8 != 3 || c->left < 32) {
		return false;
	}
	skip(c, 32);
	if (!length(c, 1, &session) || session > 32) {
		return false;
	}
	skip(c, session);
	if (!length(c, 2, &ciphers) || ciphers == 0 || ciphers % 2 != 0) {
		return false;
	}
	skip(c, ciphers);
	if (!length(c, 1, &methods) || methods == 0) {
		return false;
	}
	skip(c, methods);
	return true;
}

/* RFC 6066 allows a list of names and one type of them: servers differ on what they make of
 * anything but one name of that type. */
static const char *read_server_name(struct cursor *c, struct tls_hello *h) {
	char name[HOSTNAME_MAX + 1]; /* and a trailing dot */
	size_t list, type, len;
	if (h->named) {
		return "there are two server names";
	}
	if (!length(c, 2, &list) || list != c->left || !number(c, 1, &type) ||
	    !length(c, 2, &len)) {
		return "the server name is malformed";
	}
	if (type != HOST_NAME_TYPE) {
		return "the server's name is not a host's";
	}
	if (len != c->left) {
		return "there are two server names";
	}
	if (len > sizeof name) {
		return "the server name is longer than 253 bytes";
	}
	for (size_t i = 0; i < len; i++) {
		name[i] = (char)next(c);
	}
	switch (hostname_parse(name, len, &h->server)) {
	case HOST_NAME:
		h->named = true;
		return NULL;
	case HOST_IP:
		return "the server name is an address";
	case HOST_BAD:
		break;
	}
	return "the server name is not a host name";
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
	if (!length(c, 2, &all) || all != c->left) {
		return malformed;
	}
	while (c->left > 0) {
		if (!number(c, 2, &type) || !length(c, 2, &len)) {
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

/* ---- contracts ---- */

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
	enum sniff told = measure(data, len < TLS_HELLO_MAX ? len : TLS_HELLO_MAX, &e, why);
	if (told != SNIFF_DONE) {
		return told;
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
