/* SPDX-License-Identifier: Apache-2.0 */
/* Parses host names and addresses, with or without a port.
 *
 * Should:   give every caller the same result for the same bytes.
 * Must not: allocate or call anything but memory functions; correct a malformed host:
 *           another parser might correct it differently.
 * Fails:    closed: HOST_BAD, with the reason. */
#include "base/hostname.h"

#include <string.h>

#define LABEL_MAX 63

static enum host_kind bad(struct hostname *ret, const char *why) {
	*ret = (struct hostname){.kind = HOST_BAD, .why = why};
	return HOST_BAD;
}

static enum host_kind address(struct hostname *ret, const struct ip *ip) {
	*ret = (struct hostname){.kind = HOST_IP, .ip = *ip};
	return HOST_IP;
}

static bool is_digit(char c) {
	return c >= '0' && c <= '9';
}

static bool in_label(char c) {
	return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' ||
	       c == '_';
}

/* Decimal digits, or "0x" and hexadecimal ones: some parsers take a name that ends so for an
 * IPv4 address. */
static bool is_number(const char *s, size_t len) {
	size_t i = 0;
	bool hex = len >= 2 && s[0] == '0' && (s[1] == 'x' || s[1] == 'X');

	for (i = hex ? 2 : 0; i < len; i++) {
		char low = (char)(s[i] | 0x20);
		if (!is_digit(s[i]) && !(hex && low >= 'a' && low <= 'f')) {
			return false;
		}
	}
	return len > 0;
}

static const char *label_fault(const char *s, size_t len) {
	if (len == 0) {
		return "a label is empty";
	}
	for (size_t i = 0; i < len; i++) {
		if ((unsigned char)s[i] >= 0x80) {
			return "it has bytes that are not ASCII (write the name as \"xn--\")";
		}
		if (!in_label(s[i])) {
			return "it has characters that host names do not allow";
		}
	}
	if (len > LABEL_MAX) {
		return "a label is longer than 63 bytes";
	}
	return s[0] == '-' || s[len - 1] == '-' ? "a label begins or ends with '-'" : NULL;
}

/* The fault of the first label that has one; *ret_last is where the last label begins. */
static const char *labels_fault(const char *s, size_t len, size_t *ret_last) {
	for (size_t i = 0;;) {
		const char *dot = i < len ? memchr(s + i, '.', len - i) : NULL;
		size_t n = dot == NULL ? len - i : (size_t)(dot - s) - i;
		const char *fault = label_fault(s + i, n);
		if (fault != NULL) {
			return fault;
		}
		if (dot == NULL) {
			*ret_last = i;
			return NULL;
		}
		i += n + 1;
	}
}

static enum host_kind parse_name(const char *s, size_t len, struct hostname *ret) {
	size_t last = 0;
	struct ip ip;

	if (len > 1 && s[len - 1] == '.') {
		len--;
	}
	if (len > HOSTNAME_MAX) {
		return bad(ret, "it is longer than 253 bytes");
	}
	const char *fault = labels_fault(s, len, &last);
	if (fault != NULL) {
		return bad(ret, fault);
	}
	if (is_number(s + last, len - last)) {
		return ip_parse_any(s, len, &ip)
			       ? address(ret, &ip)
			       : bad(ret, "it ends in a number and is not an IPv4 address");
	}
	*ret = (struct hostname){.kind = HOST_NAME};
	for (size_t i = 0; i < len; i++) {
		ret->name[i] = (char)(s[i] >= 'A' && s[i] <= 'Z' ? s[i] | 0x20 : s[i]);
	}
	return HOST_NAME;
}

static enum host_kind parse_six(const char *s, size_t len, struct hostname *ret) {
	struct ip ip;

	if (memchr(s, '%', len) != NULL) {
		return bad(ret, "an IPv6 address with a zone is not supported");
	}
	return memchr(s, ':', len) != NULL && ip_parse(s, len, &ip)
		       ? address(ret, &ip)
		       : bad(ret, "it is not an IPv6 address");
}

enum host_kind hostname_parse(const char *s, size_t len, struct hostname *ret) {
	if (len == 0) {
		return bad(ret, "the host is empty");
	}
	if (s[0] == '[') {
		return len > 2 && s[len - 1] == ']' ? parse_six(s + 1, len - 2, ret)
						    : bad(ret, "a bracket is not closed");
	}
	if (memchr(s, ':', len) != NULL) {
		return parse_six(s, len, ret);
	}
	return parse_name(s, len, ret);
}

static bool read_port(const char *s, size_t len, uint16_t *ret) {
	unsigned n = 0;

	if (len == 0 || len > 5 || s[0] == '0') {
		return false;
	}
	for (size_t i = 0; i < len; i++) {
		if (!is_digit(s[i])) {
			return false;
		}
		n = n * 10 + (unsigned)(s[i] - '0');
	}
	if (n > UINT16_MAX) {
		return false;
	}
	*ret = (uint16_t)n;
	return true;
}

/* The length of the host: up to the bracket, or to the only colon.  Several colons belong to an
 * IPv6 address. */
static size_t host_length(const char *s, size_t len) {
	const char *end = memchr(s, s[0] == '[' ? ']' : ':', len);

	if (end == NULL) {
		return len;
	}
	size_t n = (size_t)(end - s);
	if (s[0] == '[') {
		return n + 1;
	}
	return memchr(end + 1, ':', len - n - 1) == NULL ? n : len;
}

enum host_kind hostname_parse_port(const char *s, size_t len, struct hostname *ret,
				   uint16_t *ret_port) {
	size_t n = len == 0 ? 0 : host_length(s, len);
	uint16_t port = 0;

	if (n < len && (s[n] != ':' || !read_port(s + n + 1, len - n - 1, &port))) {
		return bad(ret, "its port is not a number from 1 to 65535");
	}
	if (hostname_parse(s, n, ret) != HOST_BAD) {
		*ret_port = port;
	}
	return ret->kind;
}
