/* SPDX-License-Identifier: Apache-2.0 */
/* The proxy's side of the SOCKS handshake.
 *
 * Should:   accept CONNECT without authentication (RFC 1928; SOCKS 4 and 4a), and parse the
 *           host with hostname_parse(), as every other protocol.
 * Must not: accept port 0, which means any port in the rules; keep bytes.
 * Fails:    closed, with an error reply of the client's SOCKS version. */
#include "net/socks.h"

#include <string.h>

#define NO_AUTHENTICATION 0x00
#define NO_METHOD 0xff
#define CONNECT 1

enum { ADDRESS_IP4 = 1, ADDRESS_NAME = 3, ADDRESS_IP6 = 4 };

/* RFC 1928, 6. */
enum {
	REPLY_GRANTED = 0,
	REPLY_FAILED = 1,
	REPLY_BY_RULE = 2,
	REPLY_UNREACHABLE = 4,
	REPLY_REFUSED = 5,
	REPLY_COMMAND = 7,
	REPLY_ADDRESS_TYPE = 8,
};

/* SOCKS 4 has two replies. */
enum { REPLY4_GRANTED = 90, REPLY4_REFUSED = 91 };

/* With 0.0.0.0:0 as the bound address, which no client needs. */
static size_t write_reply(int version, int reply, uint8_t out[SOCKS_REPLY_MAX]) {
	memset(out, 0, SOCKS_REPLY_MAX);
	if (version == 4) {
		out[1] = reply == REPLY_GRANTED ? REPLY4_GRANTED : REPLY4_REFUSED;
		return 8;
	}
	out[0] = 5;
	out[1] = (uint8_t)reply;
	out[3] = ADDRESS_IP4;
	return 10;
}

static enum sniff refuse(struct socks *s, int reply, const char *why) {
	s->answer_len += write_reply(s->version, reply, s->answer + s->answer_len);
	s->state = SOCKS_OVER;
	s->why = why;
	return SNIFF_BAD;
}

/* Without a reply: the client may not speak SOCKS. */
static enum sniff close_silently(struct socks *s, const char *why) {
	s->state = SOCKS_OVER;
	s->why = why;
	return SNIFF_BAD;
}

static uint16_t port_at(const uint8_t *at) {
	return (uint16_t)(at[0] << 8 | at[1]);
}

static enum sniff accept_request(struct socks *s, uint16_t port, size_t used, size_t *ret_used) {
	*ret_used += used;
	if (s->host.kind == HOST_BAD) {
		return refuse(s, REPLY_FAILED, "the host in the SOCKS request is not a host name");
	}
	if (port == 0) {
		return refuse(s, REPLY_FAILED, "the port in the SOCKS request is 0");
	}
	s->port = port;
	s->state = SOCKS_OVER;
	return SNIFF_DONE;
}

static struct hostname address(struct ip ip) {
	return (struct hostname){.kind = HOST_IP, .ip = ip};
}

/* ---- version 5 ---- */

static enum sniff greeting5(struct socks *s, const uint8_t *data, size_t len, size_t *ret_used) {
	size_t whole = len < 2 ? 2 : 2 + (size_t)data[1];
	if (len < whole) {
		return SNIFF_MORE;
	}
	bool open = whole > 2 && memchr(data + 2, NO_AUTHENTICATION, whole - 2) != NULL;
	s->answer[0] = 5;
	s->answer[1] = open ? NO_AUTHENTICATION : NO_METHOD;
	s->answer_len = 2;
	*ret_used = whole;
	if (!open) {
		return close_silently(s, "the SOCKS client does not offer 'no authentication'");
	}
	s->state = SOCKS_REQUEST;
	return SNIFF_MORE;
}

/* The bytes before the address; SNIFF_DONE: all of them are there. */
static enum sniff request5_head(struct socks *s, const uint8_t *data, size_t len) {
	if (len > 0 && data[0] != 5) {
		return refuse(s, REPLY_FAILED,
			      "the SOCKS request and the greeting differ in their version");
	}
	if (len > 1 && data[1] != CONNECT) {
		return refuse(s, REPLY_COMMAND, "the SOCKS command is not CONNECT");
	}
	if (len > 2 && data[2] != 0) {
		return refuse(s, REPLY_FAILED, "the SOCKS request is malformed");
	}
	if (len > 3 && data[3] != ADDRESS_IP4 && data[3] != ADDRESS_NAME &&
	    data[3] != ADDRESS_IP6) {
		return refuse(s, REPLY_ADDRESS_TYPE,
			      "the SOCKS request has an unknown address type");
	}
	return len > 4 ? SNIFF_DONE : SNIFF_MORE; /* 5 bytes include a name's length */
}

static enum sniff request5(struct socks *s, const uint8_t *data, size_t len, size_t *ret_used) {
	enum sniff result = request5_head(s, data, len);
	if (result != SNIFF_DONE) {
		return result;
	}
	bool named = data[3] == ADDRESS_NAME;
	const uint8_t *at = data + 4 + (named ? 1 : 0);
	size_t size = named ? data[4] : data[3] == ADDRESS_IP4 ? 4 : 16;
	size_t whole = (size_t)(at - data) + size + 2;
	struct ip ip;
	if (len < whole) {
		return SNIFF_MORE;
	}
	if (named) {
		(void)hostname_parse((const char *)at, size,
				     &s->host); /* accept_request() checks its kind */
	} else if (size == 4) {
		s->host = address(ip_from4(at));
	} else {
		memcpy(ip.b, at, sizeof ip.b);
		s->host = address(ip);
	}
	return accept_request(s, port_at(at + size), whole, ret_used);
}

/* ---- version 4 ---- */

/* VN CD PORT(2) IP(4) USER NUL, and in 4a NAME NUL where the address is 0.0.0.x. */
static enum sniff request4(struct socks *s, const uint8_t *data, size_t len, size_t *ret_used) {
	static const uint8_t no_address[3] = {0};
	const size_t user = 8;
	if (len > 1 && data[1] != CONNECT) {
		return refuse(s, REPLY_COMMAND, "the SOCKS command is not CONNECT");
	}
	const uint8_t *end = len <= user ? NULL : memchr(data + user, '\0', len - user);
	if (end == NULL) {
		return SNIFF_MORE;
	}
	size_t name = (size_t)(end - data) + 1;
	if (data[7] == 0 || memcmp(data + 4, no_address, sizeof no_address) != 0) {
		s->host = address(ip_from4(data + 4));
		return accept_request(s, port_at(data + 2), name, ret_used);
	}
	end = len == name ? NULL : memchr(data + name, '\0', len - name);
	if (end == NULL) {
		return SNIFF_MORE;
	}
	size_t past = (size_t)(end - data);
	(void)hostname_parse((const char *)data + name, past - name, &s->host); /* likewise */
	return accept_request(s, port_at(data + 2), past + 1, ret_used);
}

/* ---- public functions ---- */

static enum sniff greet(struct socks *s, const uint8_t *data, size_t len, size_t *ret_used) {
	if (len == 0) {
		return SNIFF_MORE;
	}
	s->version = data[0];
	switch (s->version) {
	case 4:
		return request4(s, data, len, ret_used);
	case 5:
		return greeting5(s, data, len, ret_used);
	default:
		return close_silently(s, "the client speaks neither SOCKS 5 nor 4");
	}
}

enum sniff socks_read(struct socks *s, const uint8_t *data, size_t len, size_t *ret_used) {
	enum sniff result = SNIFF_MORE;
	size_t used = 0, more = 0;
	s->answer_len = 0;
	if (s->state == SOCKS_OVER) {
		*ret_used = 0;
		return SNIFF_BAD;
	}
	len = len < SOCKS_MAX ? len : SOCKS_MAX;
	if (s->state == SOCKS_GREETING) {
		result = greet(s, data, len, &used);
	}
	/* A client may send its request before it has the answer to its greeting. */
	if (result == SNIFF_MORE && s->state == SOCKS_REQUEST) {
		result = request5(s, data + used, len - used, &more);
	}
	*ret_used = used + more;
	if (result == SNIFF_MORE && len - *ret_used >= SOCKS_MAX) {
		return refuse(s, REPLY_FAILED, "the SOCKS request is too long");
	}
	return result;
}

size_t socks_reply(const struct socks *s, enum socks_outcome o, uint8_t out[SOCKS_REPLY_MAX]) {
	static const int replies[] = {
		[SOCKS_GRANTED] = REPLY_GRANTED,         [SOCKS_REFUSED_BY_RULE] = REPLY_BY_RULE,
		[SOCKS_UNREACHABLE] = REPLY_UNREACHABLE, [SOCKS_CONNECTION_REFUSED] = REPLY_REFUSED,
		[SOCKS_FAILED] = REPLY_FAILED,
	};
	return write_reply(s->version, replies[o], out);
}
