/* SPDX-License-Identifier: Apache-2.0 */
/* The RST for a pending connect(2): which SYN it acknowledges, and its bytes. */
#include "relay_namespace.h"

#include "gate/sockaddr.h"

static const struct ip loopbacks[] = {{{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 127, 0, 0, 1}},
				      {{[15] = 1}}};

/* ---- a raw socket of the test's own ---- */

struct segment {
	uint16_t source, dest;
	uint32_t seq, ack;
	uint8_t flags;
	bool sum_is_right;
};

/* The Internet checksum of data that contains its own checksum is 0xffff (RFC 1071). */
static bool sum_is_right(const struct ip *ip, const uint8_t *tcp, size_t len) {
	size_t skip = ip_is4(ip) ? 12 : 0;
	uint64_t sum = IPPROTO_TCP + len;

	for (size_t i = skip; i < sizeof ip->b; i += 2) { /* both ends have this address */
		sum += 2 * ((uint64_t)ip->b[i] << 8 | ip->b[i + 1]);
	}
	for (size_t i = 0; i + 1 < len; i += 2) {
		sum += (uint64_t)tcp[i] << 8 | tcp[i + 1];
	}
	while (sum > 0xffff) {
		sum = (sum >> 16) + (sum & 0xffff);
	}
	return sum == 0xffff;
}

static int witness_open(int which) {
	return socket(which == 0 ? AF_INET : AF_INET6, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC,
		      IPPROTO_TCP);
}

/* The next segment with this flag from or to this port. */
static bool witness_next(int fd, int which, uint16_t port, uint8_t flag, struct segment *ret) {
	uint8_t packet[256];

	for (ssize_t n; (n = recv(fd, packet, sizeof packet, 0)) >= 0;) {
		size_t head = which == 0 ? (size_t)(packet[0] & 0xf) * 4 : 0;
		const uint8_t *at = packet + head;
		struct tcphdr t;
		memcpy(&t, at, sizeof t);
		*ret = (struct segment){
			.source = ntohs(t.source),
			.dest = ntohs(t.dest),
			.seq = ntohl(t.seq),
			.ack = ntohl(t.ack_seq),
			.flags = at[13],
			.sum_is_right = sum_is_right(&loopbacks[which], at, (size_t)n - head)};
		if ((ret->source == port || ret->dest == port) && (ret->flags & flag) != 0) {
			return true;
		}
	}
	return false;
}

/* ---- a program whose connect(2) is pending ---- */

static int program_new(int which, uint16_t port) {
	union sockaddr_any own;
	socklen_t len = address_of(&loopbacks[which], port, &own);
	int fd = socket(own.any.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	CHECK_INT(bind(fd, &own.any, len), 0);
	return fd;
}

static struct flow *pending_new(struct relay *w, int which, int program) {
	struct flow *f = flow_new(w->gate, FLOW_DIRECT);

	f->phase = PHASE_DIAL;
	f->family = which == 0 ? AF_INET : AF_INET6;
	f->flags = O_NONBLOCK;
	f->ip = loopbacks[which];
	f->port = 443;
	f->caller = fcntl(program, F_DUPFD_CLOEXEC, 0);
	CHECK(pending_begin(f));
	CHECK_INT(relay_tcp_state(program), TCP_SYN_SENT);
	return f;
}

/* A connect(2) to the pending listener that the gate does not know. */
static void send_syn(struct relay *w, int program) {
	union sockaddr_any to;
	socklen_t len = address_of(&relay_ip, w->peers->pending[0], &to);

	CHECK(connect(program, &to.any, len) != 0 && errno == EINPROGRESS);
}

/* ---- tests ---- */

TEST(a_reset_acknowledges_the_syn_and_refuses_the_call) {
	struct relay w;
	struct segment syn, rst;
	BEGIN_IN_NAMESPACE(&w);
	for (int which = 0; which < 2 && w.peers->pending[which] != 0; which++) {
		int witness = witness_open(which), program = program_new(which, 0);
		uint16_t port = (uint16_t)client_socket_port(program);
		struct flow *f = pending_new(&w, which, program);
		REQUIRE(witness_next(witness, which, port, TH_SYN, &syn));
		CHECK(f->syn_seen);
		CHECK_INT(f->syn_seq, syn.seq);
		CHECK(tcp_reset_send(f));
		REQUIRE(witness_next(witness, which, port, TH_RST, &rst));
		CHECK_INT(rst.source, w.peers->pending[which]);
		CHECK_INT(rst.dest, port);
		CHECK_INT(rst.flags, TH_RST | TH_ACK);
		CHECK_INT(rst.ack, (uint32_t)(syn.seq + 1));
		CHECK(rst.sum_is_right);
		CHECK_INT(relay_tcp_state(program), TCP_CLOSE);
		CHECK_INT(relay_socket_error(program), ECONNREFUSED);
		(void)close(witness);
		(void)close(program);
	}
	relay_end(&w);
}

TEST(a_syn_of_another_port_is_not_taken_for_the_callers) {
	struct relay w;
	struct segment syn;
	BEGIN_IN_NAMESPACE(&w);
	int witness = witness_open(0), stranger = program_new(0, 0), program = program_new(0, 0);
	uint16_t port = (uint16_t)client_socket_port(program);
	send_syn(&w, stranger);
	struct flow *f = pending_new(&w, 0, program);
	REQUIRE(witness_next(witness, 0, port, TH_SYN, &syn));
	CHECK_INT(f->syn_seq, syn.seq);
	f->syn_seen = false;
	int other = program_new(0, 0);
	send_syn(&w, other);
	tcp_reset_record_syn(f);
	CHECK(!f->syn_seen);
	(void)close(other);
	(void)close(witness);
	(void)close(stranger);
	(void)close(program);
	relay_end(&w);
}

TEST(the_last_syn_of_a_port_counts) {
	struct relay w;
	struct segment first, last;
	BEGIN_IN_NAMESPACE(&w);
	int witness = witness_open(0), program = program_new(0, 0);
	uint16_t port = (uint16_t)client_socket_port(program);
	send_syn(&w, program);
	REQUIRE(witness_next(witness, 0, port, TH_SYN, &first));
	(void)close(program);
	program = program_new(0, port);
	struct flow *f = pending_new(&w, 0, program);
	REQUIRE(witness_next(witness, 0, port, TH_SYN, &last));
	CHECK(first.seq != last.seq);
	CHECK_INT(f->syn_seq, last.seq);
	CHECK(tcp_reset_send(f));
	CHECK_INT(relay_tcp_state(program), TCP_CLOSE);
	(void)close(witness);
	(void)close(program);
	relay_end(&w);
}

TEST(without_the_sequence_number_nothing_is_sent) {
	struct relay w;
	struct segment none;
	BEGIN_IN_NAMESPACE(&w);
	int kept = w.gate->syn_socket[0], program = program_new(0, 0);
	w.gate->syn_socket[0] = -1; /* a kernel without raw sockets */
	struct flow *f = pending_new(&w, 0, program);
	CHECK(!f->syn_seen);
	int witness = witness_open(0);
	CHECK(!tcp_reset_send(f));
	w.gate->syn_socket[0] = kept;
	CHECK(!tcp_reset_send(f));
	CHECK(!witness_next(witness, 0, f->client_port, TH_RST, &none));
	CHECK_INT(relay_tcp_state(program), TCP_SYN_SENT);
	(void)close(witness);
	(void)close(program);
	relay_end(&w);
}

TESTS_MAIN
