/* SPDX-License-Identifier: Apache-2.0 */
/* Refuses a pending connect(2) with a TCP RST, as a host does for a closed port.
 *
 * The program's socket is in SYN-SENT (pending.c) and accepts a RST only if it acknowledges its
 * SYN: ack = sequence number + 1 (RFC 9293, 3.10.7.3).  A raw socket, made by pid 1 in the
 * sandbox's network namespace, receives a copy of that SYN and sends the RST.
 *
 * Should:   record the sequence number of each SYN to the pending listener.
 * Must not: rely on it: without a raw socket, or if the SYN was not received, pending.c
 *           establishes the connection and resets it instead.
 * Fails:    closed: tcp_reset_send() returns false and nothing is sent. */
#include "gate/relay/flow.h"

#include "gate/sockaddr.h"

#include <netinet/tcp.h>
#include <sys/socket.h>

#define PACKETS 64 /* read at once; most are retransmitted SYNs of other flows */

/* The TCP header: a raw socket delivers the IP header for IPv4 only; NULL: truncated. */
static const uint8_t *tcp_header(const uint8_t *packet, size_t len, int which) {
	size_t head = which == 0 && len > 0 ? (size_t)(packet[0] & 0xf) * 4 : 0;

	return len >= head + sizeof(struct tcphdr) ? packet + head : NULL;
}

void tcp_reset_record_syn(struct flow *f) {
	int which = ip_is4(&f->ip) ? 0 : 1;
	uint8_t packet[128];

	/* The last match: an older one belongs to a previous connection from this port. */
	for (int i = 0; i < PACKETS && f->gate->syn_socket[which] >= 0; i++) {
		ssize_t n = recv(f->gate->syn_socket[which], packet, sizeof packet, MSG_DONTWAIT);
		const uint8_t *at = n < 0 ? NULL : tcp_header(packet, (size_t)n, which);
		struct tcphdr t;
		if (n < 0) {
			return;
		}
		if (at == NULL) {
			continue;
		}
		memcpy(&t, at, sizeof t);
		if (ntohs(t.source) == f->client_port) {
			f->syn_seen = true;
			f->syn_seq = ntohl(t.seq);
		}
	}
}

/* ---- the RST ---- */

static uint32_t sum(const void *bytes, size_t len, uint32_t before) {
	const uint8_t *b = bytes;

	for (size_t i = 0; i + 1 < len; i += 2) {
		before += (uint32_t)b[i] << 8 | b[i + 1];
	}
	return before;
}

/* RFC 1071, with the pseudo-header of RFC 9293, 3.1. */
static uint16_t checksum(const struct ip *from, const struct ip *to, const struct tcphdr *t) {
	size_t skip = ip_is4(to) ? 12 : 0;
	uint32_t total = IPPROTO_TCP + sizeof *t;

	total = sum(from->b + skip, sizeof from->b - skip, total);
	total = sum(to->b + skip, sizeof to->b - skip, total);
	total = sum(t, sizeof *t, total);
	total = (total >> 16) + (total & 0xffff);
	total += total >> 16;
	return (uint16_t)~total;
}

bool tcp_reset_send(const struct flow *f) {
	static const struct ip loopback[] = {
		{{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 127, 0, 0, 1}}, {{[15] = 1}}};
	int which = ip_is4(&f->ip) ? 0 : 1;
	struct tcphdr t = {
		.source = htons(f->gate->peers->pending[which]),
		.dest = htons(f->client_port),
		.ack_seq = htonl(f->syn_seq + 1),
		.doff = sizeof t / 4,
		.rst = 1,
		.ack = 1,
	};
	union sockaddr_any to;
	socklen_t len = address_of(&f->client_ip, 0, &to);

	if (!f->syn_seen) {
		return false;
	}
	t.check = htons(checksum(&loopback[which], &f->client_ip, &t));
	return sendto(f->gate->syn_socket[which], &t, sizeof t, MSG_NOSIGNAL | MSG_DONTWAIT,
		      &to.any, len) == (ssize_t)sizeof t;
}
