/* How a caller that is held is refused: with the packet that a host answers with where nobody
 * listens.
 *
 * Should:   know the number of the caller's first packet, which the answer has to name.
 * Must not: rely on it: where the kernel gave no raw socket, or the packet was not heard, the
 *           caller is told in another way (pending.c).
 * Fails:    by telling nothing. */
#include "gate/relay/flow.h"

#include "gate/sockaddr.h"

#include <netinet/tcp.h>
#include <sys/socket.h>

#define PACKETS 64 /* those of others, sent again while they wait */

/* Behind the head, which comes with the packets of IPv4 alone; NULL: it is not whole. */
static const uint8_t *segment(const uint8_t *packet, size_t len, int which) {
	size_t head = which == 0 && len > 0 ? (size_t)(packet[0] & 0xf) * 4 : 0;

	return len >= head + sizeof(struct tcphdr) ? packet + head : NULL;
}

void tcp_reset_record_syn(struct flow *f) {
	int which = ip_is4(&f->ip) ? 0 : 1;
	uint8_t packet[128];

	/* The newest: an older one is of somebody who had this port before. */
	for (int i = 0; i < PACKETS && f->gate->ear[which] >= 0; i++) {
		ssize_t n = recv(f->gate->ear[which], packet, sizeof packet, MSG_DONTWAIT);
		const uint8_t *at = n < 0 ? NULL : segment(packet, (size_t)n, which);
		struct tcphdr t;
		if (n < 0) {
			return;
		}
		if (at == NULL) {
			continue;
		}
		memcpy(&t, at, sizeof t);
		if (ntohs(t.source) == f->own_port) {
			f->heard = true;
			f->first = ntohl(t.seq);
		}
	}
}

/* ---- the answer ---- */

static uint32_t sum(const void *bytes, size_t len, uint32_t before) {
	const uint8_t *b = bytes;

	for (size_t i = 0; i + 1 < len; i += 2) {
		before += (uint32_t)b[i] << 8 | b[i + 1];
	}
	return before;
}

/* RFC 1071, over the addresses as well (RFC 9293 3.1). */
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
		.source = htons(f->gate->peers->hold[which]),
		.dest = htons(f->own_port),
		.ack_seq = htonl(f->first + 1),
		.doff = sizeof t / 4,
		.rst = 1,
		.ack = 1,
	};
	union sockaddr_any to;
	socklen_t len = address_of(&f->own, 0, &to);

	if (!f->heard) {
		return false;
	}
	t.check = htons(checksum(&loopback[which], &f->own, &t));
	return sendto(f->gate->ear[which], &t, sizeof t, MSG_NOSIGNAL | MSG_DONTWAIT, &to.any,
		      len) == (ssize_t)sizeof t;
}
