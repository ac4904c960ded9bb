/* SPDX-License-Identifier: Apache-2.0 */
/* Finds out whether the listeners of a port on the host's loopback belong to this run.
 *
 * Without a network namespace the run shares the loopback with the whole host.  sock_diag
 * lists the sockets that listen on a port, with their cookies, which the kernel never reuses;
 * the broker has recorded the cookies of the run's listeners.  On a kernel without sock_diag
 * it reads /proc/net/tcp, which has inode numbers; these are 32 bits wide and wrap around
 * after 2^32 sockets.
 *
 * Should:   return PORT_OURS only when every socket that could get the connection is ours.
 * Must not: trust a port number: with SO_REUSEPORT two sockets can listen on one.
 * Fails:    closed: where neither can be read there is no listener of ours. */
#include "linux/broker/sockets.h"

#include "base/auto.h"

#include <fcntl.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define STATE_LISTEN 0x0a
#define LINE_MAX_ 256 /* a row has at most 200 characters */

/* Listeners for one address and port. */
struct count {
	unsigned ours, foreign;               /* on the address itself */
	unsigned mapped_ours, mapped_foreign; /* on ::ffff:127.0.0.1, if the address is ::1 */
};

/* The destination of a connection. */
struct wanted {
	struct in6_addr at;
	uint16_t port;
};

void listener_remember(struct broker *b, int fd) {
	struct stat st;

	if (fstat(fd, &st) == 0) {
		b->listening[b->nlistening++ % BROKER_LISTENERS] =
			(struct listening){.cookie = socket_cookie(fd), .inode = st.st_ino};
	}
}

/* ---- one row ---- */

struct row {
	struct in6_addr at;
	uint16_t port;
	unsigned state;
	uint64_t cookie; /* 0: from /proc/net, which has none */
	uint64_t inode;
};

static bool is_ours(const struct broker *b, const struct row *r) {
	for (size_t i = 0; i < BROKER_LISTENERS && i < b->nlistening; i++) {
		const struct listening *one = &b->listening[i];
		if (r->cookie != 0 ? one->cookie == r->cookie : one->inode == r->inode) {
			return true;
		}
	}
	return false;
}

static int digit(char ch) {
	if (ch >= '0' && ch <= '9') {
		return ch - '0';
	}
	return ch >= 'A' && ch <= 'F' ? ch - 'A' + 10 : -1;
}

static uint64_t number(const char *s, unsigned base, const char **end) {
	uint64_t n = 0;

	for (int d; (d = digit(*s)) >= 0 && (unsigned)d < base; s++) {
		n = n * base + (unsigned)d;
	}
	*end = s;
	return n;
}

/* "0100007F" or four such words, each in host byte order. */
static const char *read_address(const char *s, struct in6_addr *ret) {
	uint32_t words[4];
	size_t n = 0;

	for (; digit(*s) >= 0 && n < ARRAY_LEN(words); n++) {
		words[n] = 0;
		for (int i = 0; i < 8 && digit(*s) >= 0; i++) {
			words[n] = words[n] * 16 + (unsigned)digit(*s++);
		}
	}
	memset(ret, 0, sizeof *ret);
	if (n == 1) {
		ret->s6_addr[10] = ret->s6_addr[11] = 0xff;
		memcpy(&ret->s6_addr[12], words, 4);
	} else if (n == 4) {
		memcpy(ret->s6_addr, words, sizeof words);
	}
	return s;
}

static const char *skip_field(const char *s) {
	while (*s == ' ') {
		s++;
	}
	return s + strcspn(s, " ");
}

/* "sl local:port remote:port st tx:rx tr:when retrnsmt uid timeout inode …" */
static bool read_row(const char *line, struct row *ret) {
	const char *s = skip_field(line);

	ret->cookie = 0;
	while (*s == ' ') {
		s++;
	}
	s = read_address(s, &ret->at);
	if (*s != ':') {
		return false;
	}
	ret->port = (uint16_t)number(s + 1, 16, &s);
	s = skip_field(s);
	while (*s == ' ') {
		s++;
	}
	ret->state = (unsigned)number(s, 16, &s);
	for (int i = 0; i < 5; i++) {
		s = skip_field(s);
	}
	while (*s == ' ') {
		s++;
	}
	ret->inode = number(s, 10, &s);
	return true;
}

/* ---- the tables ---- */

static const struct in6_addr any6 = IN6ADDR_ANY_INIT;
static const struct in6_addr loopback6 = IN6ADDR_LOOPBACK_INIT;
static const struct in6_addr mapped_any = {
	{{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0, 0, 0, 0}}};
static const struct in6_addr mapped_loopback = {
	{{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 127, 0, 0, 1}}};

static bool same(const struct in6_addr *a, const struct in6_addr *b) {
	return memcmp(a, b, sizeof *a) == 0;
}

/* Whether this listener could accept a connection to that address.  "::" may accept IPv4, too. */
static bool listens_for(const struct row *r, const struct in6_addr *to) {
	bool is4 = memcmp(to, &mapped_any, 12) == 0;

	return same(&r->at, to) || same(&r->at, &any6) || (is4 && same(&r->at, &mapped_any));
}

static void count_row(const struct broker *b, const struct row *r, const struct in6_addr *to,
		      struct count *n) {
	bool ours = is_ours(b, r);

	if (listens_for(r, to)) {
		n->ours += ours;
		n->foreign += !ours;
	} else if (same(to, &loopback6) && listens_for(r, &mapped_loopback)) {
		n->mapped_ours += ours;
		n->mapped_foreign += !ours;
	}
}

struct reader {
	int fd;
	char chunk[4096];
	size_t at, len;
};

/* Reads a line without its newline; false at end-of-file. */
static bool read_line(struct reader *in, char *line) {
	size_t n = 0;

	for (;;) {
		if (in->at == in->len) {
			ssize_t got = read(in->fd, in->chunk, sizeof in->chunk);
			if (got <= 0) {
				return false;
			}
			in->at = 0;
			in->len = (size_t)got;
		}
		char ch = in->chunk[in->at++];
		if (ch == '\n') {
			line[n] = '\0';
			return true;
		}
		if (n < LINE_MAX_ - 1) {
			line[n++] = ch;
		}
	}
}

static void count_table(const struct broker *b, const char *table, const struct wanted *to,
			struct count *n) {
	struct reader in = {.fd = -1};
	char line[LINE_MAX_];
	struct row r;
	auto_fd fd = openat(b->proc, table, O_RDONLY | O_CLOEXEC);

	in.fd = fd;
	if (fd < 0 || !read_line(&in, line)) {
		return; /* the first line is the header */
	}
	/* The kernel lists listening sockets before all others. */
	while (read_line(&in, line) && read_row(line, &r) && r.state == STATE_LISTEN) {
		if (r.port == to->port) {
			count_row(b, &r, &to->at, n);
		}
	}
}

/* ---- sock_diag ---- */

struct diag_request {
	struct nlmsghdr head;
	struct inet_diag_req_v2 body;
};

static int request_listeners(int fd, int family, uint16_t port) {
	const struct diag_request q = {
		.head = {.nlmsg_len = sizeof q,
			 .nlmsg_type = SOCK_DIAG_BY_FAMILY,
			 .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP},
		.body = {.sdiag_family = (uint8_t)family,
			 .sdiag_protocol = IPPROTO_TCP,
			 .idiag_states = 1U << STATE_LISTEN,
			 .id.idiag_sport = htons(port)},
	};

	return fd >= 0 && send(fd, &q, sizeof q, 0) == (ssize_t)sizeof q ? 0 : -1;
}

static struct row row_of(const struct inet_diag_msg *m) {
	struct row r = {
		.at = mapped_any,
		.port = ntohs(m->id.idiag_sport),
		.state = m->idiag_state,
		.cookie = (uint64_t)m->id.idiag_cookie[1] << 32 | m->id.idiag_cookie[0],
		.inode = m->idiag_inode,
	};

	if (m->idiag_family == AF_INET) {
		memcpy(&r.at.s6_addr[12], m->id.idiag_src, 4);
	} else {
		memcpy(&r.at, m->id.idiag_src, sizeof r.at);
	}
	return r;
}

/* 1: NLMSG_DONE; 0: more messages follow; -1: an error. */
static int count_answers(const struct broker *b, const char *buf, size_t len,
			 const struct wanted *to, struct count *n) {
	struct nlmsghdr head;

	for (size_t at = 0; at + sizeof head <= len; at += NLMSG_ALIGN(head.nlmsg_len)) {
		struct inet_diag_msg m;

		memcpy(&head, buf + at, sizeof head);
		if (head.nlmsg_type == NLMSG_DONE) {
			return 1;
		}
		if (head.nlmsg_type != SOCK_DIAG_BY_FAMILY ||
		    head.nlmsg_len < NLMSG_HDRLEN + sizeof m || at + head.nlmsg_len > len) {
			return -1;
		}
		memcpy(&m, buf + at + NLMSG_HDRLEN, sizeof m);
		struct row r = row_of(&m);
		if (r.port == to->port && r.cookie != 0) {
			count_row(b, &r, &to->at, n);
		}
	}
	return 0;
}

static int count_listeners(const struct broker *b, int family, const struct wanted *to,
			   struct count *n) {
	char buf[8192];
	auto_fd fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
	int done = request_listeners(fd, family, to->port);

	while (done == 0) {
		ssize_t got = recv(fd, buf, sizeof buf, MSG_DONTWAIT);
		done = got <= 0 ? -1 : count_answers(b, buf, (size_t)got, to, n);
	}
	return done > 0 ? 0 : -1;
}

/* ---- the owner ---- */

/* AF_INET listeners, which ::1 does not reach, are also counted in *ret_plain4. */
static void count_all(const struct broker *b, const struct wanted *to, struct count *n,
		      unsigned *ret_plain4) {
	*ret_plain4 = 0;
	if (count_listeners(b, AF_INET, to, n) == 0) {
		*ret_plain4 = n->mapped_ours;
		if (count_listeners(b, AF_INET6, to, n) == 0) {
			return;
		}
	}
	*n = (struct count){0};
	count_table(b, "net/tcp", to, n);
	*ret_plain4 = n->mapped_ours;
	count_table(b, "net/tcp6", to, n);
}

enum listener_owner listener_owner(const struct broker *b, const struct in6_addr *to,
				   uint16_t port) {
	const struct wanted wanted = {.at = *to, .port = port};
	bool is6 = memcmp(to, &mapped_any, 12) != 0;
	struct count n = {0};
	unsigned plain4;

	count_all(b, &wanted, &n, &plain4);
	if (n.foreign > 0) {
		return PORT_FOREIGN;
	}
	if (n.ours > 0) {
		return PORT_OURS;
	}
	if (is6 && n.mapped_ours > plain4) {
		return n.mapped_foreign > 0 ? PORT_FOREIGN : PORT_OURS_MAPPED;
	}
	return PORT_UNUSED;
}
