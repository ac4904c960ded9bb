/* SPDX-License-Identifier: Apache-2.0 */
/* The gate process alone: the test acts as the broker and as the programs, and the origin servers
 * are listeners on the loopback that a rule lists by address. */
#include "test.h"

#include "base/auto.h"
#include "gate/gate.h"
#include "ledger_read.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PATIENCE_MS 60000

struct world {
	struct net_plan net;
	struct net_rule rule;
	struct ledger *ledger;
	struct wire_peers *peers;
	struct net_publish publish;
	int broker, lifeline, origin;
	uint16_t port; /* the origin's */
	uint16_t published;
	pid_t gate;
};

static void *map(size_t size, int flags) {
	return mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_ANONYMOUS | flags, -1, 0);
}

static int listen_on_loopback(uint16_t *ret_port, int flags) {
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof a;
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | flags, 0);

	if (fd < 0 || bind(fd, (struct sockaddr *)&a, sizeof a) != 0 || listen(fd, 64) != 0 ||
	    getsockname(fd, (struct sockaddr *)&a, &len) != 0) {
		return -1;
	}
	*ret_port = ntohs(a.sin_port);
	return fd;
}

static const struct ip loopback = {{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 127, 0, 0, 1}};

static bool world_begin(struct world *w) {
	struct err e = {0};
	int channel[2], line[2];

	memset(w, 0, sizeof *w);
	w->origin = listen_on_loopback(&w->port, 0);
	int published = listen_on_loopback(&w->published, SOCK_NONBLOCK);
	w->publish = (struct net_publish){.inside = w->port, .outside = w->published};
	w->rule = (struct net_rule){
		.kind = NET_RULE_NETWORK,
		.network = {.ip = loopback, .bits = 128},
		.port = w->port,
		.written = "the origin",
	};
	w->net = (struct net_plan){.gate = true,
				   .mode = NET_FILTERED,
				   .allow = &w->rule,
				   .nallow = 1,
				   .publish = &w->publish,
				   .npublish = 1,
				   .resolv_conf = "",
				   .hosts = ""};
	w->peers = map(sizeof *w->peers, MAP_SHARED);
	struct gate *g = map(gate_size(), MAP_PRIVATE | MAP_NORESERVE);
	if (w->origin < 0 || published < 0 || g == MAP_FAILED || w->peers == MAP_FAILED ||
	    ledger_new(&w->ledger, &e) != 0 ||
	    socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, channel) != 0 ||
	    socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, line) != 0) {
		return false;
	}
	w->broker = channel[0];
	w->lifeline = line[1];
	struct gate_setup s = {.net = &w->net,
			       .ledger = w->ledger,
			       .peers = w->peers,
			       .host_loopback = true,
			       .channel = channel[1],
			       .lifeline = line[0],
			       .scanner = -1,
			       .asker = -1,
			       .publish = {published}};
	(void)fflush(stdout);
	w->gate = fork();
	if (w->gate == 0) {
		(void)close(w->broker);
		(void)close(w->lifeline);
		(void)close(w->origin);
		gate_main(g, &s);
	}
	(void)close(channel[1]);
	(void)close(line[0]);
	(void)close(published);
	(void)munmap(g, gate_size());
	return w->gate > 0;
}

/* How the gate ended: its status. */
static int world_end(struct world *w) {
	int status = -1;

	drop_fd(&w->broker);
	(void)waitpid(w->gate, &status, 0);
	drop_fd(&w->lifeline);
	drop_fd(&w->origin);
	ledger_free(w->ledger);
	(void)munmap(w->peers, sizeof *w->peers);
	return status;
}

/* The broker must read every answer: the gate blocks until then. */
static void take_answers(const struct world *w) {
	struct wire m;
	int fds[WIRE_FDS] = WIRE_NO_FDS;
	size_t n = 0;

	while (wire_receive(w->broker, &m, fds, &n) > 0) {
	}
}

/* WIRE_CONNECT for a program's socket, to a port of the loopback. */
static int ask(struct world *w, uint16_t port) {
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	const struct wire m = {
		.kind = WIRE_CONNECT, .id = 1, .to = loopback, .port = port, .family = AF_INET};

	take_answers(w);
	return wire_send(w->broker, &m, &fd, 1) == 0 ? fd : -1;
}

static bool wait_for(int fd, short events) {
	struct pollfd p = {.fd = fd, .events = events};

	return poll(&p, 1, PATIENCE_MS) == 1;
}

/* There is no real connect(2) to answer, so the test checks the socket itself. */
static bool is_connected(int fd) {
	struct sockaddr_storage peer;

	for (int i = 0; i < PATIENCE_MS / 10; i++) {
		socklen_t len = sizeof peer;
		if (getpeername(fd, (struct sockaddr *)&peer, &len) == 0) {
			return true;
		}
		(void)usleep(10000);
	}
	return false;
}

static const struct ledger_entry *entry_of(const struct world *w, enum net_outcome outcome) {
	for (int i = 0; i < PATIENCE_MS / 10; i++) {
		const struct ledger_entry *e = ledger_find(w->ledger, -1, outcome);
		if (e != NULL) {
			return e;
		}
		(void)usleep(10000);
	}
	return NULL;
}

/* Both ends of one connection through the gate. */
static bool pair_up(struct world *w, int *ret_program, int *ret_server) {
	*ret_program = ask(w, w->port);
	if (!wait_for(w->origin, POLLIN)) {
		return false;
	}
	*ret_server = accept4(w->origin, NULL, NULL, SOCK_CLOEXEC);
	return *ret_server >= 0 && is_connected(*ret_program);
}

TEST(what_both_sides_say_arrives_and_so_does_each_end) {
	struct world w;
	char text[16] = "";
	REQUIRE(world_begin(&w));
	int program, server;
	REQUIRE(pair_up(&w, &program, &server));
	CHECK_INT(send(program, "question", 8, MSG_NOSIGNAL), 8);
	CHECK(wait_for(server, POLLIN));
	CHECK_INT(recv(server, text, sizeof text, 0), 8);
	/* One side is done; the other goes on. */
	CHECK_INT(shutdown(program, SHUT_WR), 0);
	CHECK(wait_for(server, POLLIN));
	CHECK_INT(recv(server, text, sizeof text, 0), 0);
	CHECK_INT(send(server, "answer", 6, MSG_NOSIGNAL), 6);
	CHECK(wait_for(program, POLLIN));
	CHECK_INT(recv(program, text, sizeof text, 0), 6);
	(void)close(server);
	CHECK(wait_for(program, POLLIN));
	CHECK_INT(recv(program, text, sizeof text, 0), 0);
	const struct ledger_entry *e = entry_of(&w, NET_ALLOWED);
	REQUIRE(e != NULL);
	CHECK_STR(e->rule, "the origin");
	CHECK_INT(e->port, w.port);
	CHECK_INT(e->sent, 8);
	CHECK_INT(e->received, 6);
	(void)close(program);
	CHECK_INT(world_end(&w), 0);
}

TEST(an_address_without_a_rule_is_not_dialled_and_stands_in_the_ledger) {
	struct world w;
	uint16_t port = 0;
	REQUIRE(world_begin(&w));
	int other = listen_on_loopback(&port, 0);
	int program = ask(&w, port);
	const struct ledger_entry *e = entry_of(&w, NET_DENIED);
	REQUIRE(e != NULL);
	CHECK_INT(e->port, port);
	CHECK(e->why[0] != '\0');
	struct pollfd p = {.fd = other, .events = POLLIN};
	CHECK_INT(poll(&p, 1, 100), 0);
	(void)close(program);
	(void)close(other);
	CHECK_INT(world_end(&w), 0);
}

TEST(a_reset_stays_a_reset) {
	struct world w;
	char text[4];
	const struct linger at_once = {.l_onoff = 1};
	REQUIRE(world_begin(&w));
	int program, server;
	REQUIRE(pair_up(&w, &program, &server));
	CHECK_INT(setsockopt(server, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once), 0);
	(void)close(server);
	CHECK(wait_for(program, POLLIN));
	CHECK_INT(recv(program, text, sizeof text, 0), -1);
	CHECK_INT(errno, ECONNRESET);
	(void)close(program);
	CHECK_INT(world_end(&w), 0);
}

TEST(an_origin_that_refuses_is_told_and_written_down) {
	struct world w;
	REQUIRE(world_begin(&w));
	drop_fd(&w.origin);
	int program = ask(&w, w.port);
	const struct ledger_entry *e = entry_of(&w, NET_FAILED);
	REQUIRE(e != NULL);
	CHECK_STR(e->why, "the host refused the connection");
	(void)close(program);
	CHECK_INT(world_end(&w), 0);
}

static size_t fill(int fd) {
	static char chunk[65536];
	size_t total = 0;

	for (int idle = 0; idle < 20;) {
		ssize_t n = send(fd, chunk, sizeof chunk, MSG_DONTWAIT | MSG_NOSIGNAL);
		idle = n > 0 ? 0 : idle + 1;
		total += n > 0 ? (size_t)n : 0;
		if (n <= 0) {
			(void)usleep(10000);
		}
	}
	return total;
}

/* Between them are the socket buffers and one pipe. */
TEST(a_receiver_that_does_not_read_stops_the_sender) {
	struct world w;
	static char chunk[65536];
	REQUIRE(world_begin(&w));
	int program, server;
	REQUIRE(pair_up(&w, &program, &server));
	size_t sent = fill(program);
	CHECK(sent > 0 && sent < (size_t)64 * 1024 * 1024);
	CHECK_INT(shutdown(program, SHUT_WR), 0);
	size_t came = 0;
	for (ssize_t n;
	     wait_for(server, POLLIN) && (n = recv(server, chunk, sizeof chunk, 0)) > 0;) {
		came += (size_t)n;
	}
	CHECK_INT(came, sent);
	(void)close(program);
	(void)close(server);
	CHECK_INT(world_end(&w), 0);
}

TEST(what_was_sent_before_the_end_is_delivered) {
	struct world w;
	static char chunk[65536];
	REQUIRE(world_begin(&w));
	int program, server;
	REQUIRE(pair_up(&w, &program, &server));
	size_t sent = fill(program), came = 0;
	(void)close(program);
	drop_fd(&w.broker); /* the sandbox has ended */
	for (ssize_t n;
	     wait_for(server, POLLIN) && (n = recv(server, chunk, sizeof chunk, 0)) > 0;) {
		came += (size_t)n;
	}
	CHECK_INT(came, sent);
	(void)close(server);
	CHECK_INT(world_end(&w), 0);
}

TEST(a_gate_that_dies_resets_and_connects_nobody) {
	struct world w;
	char text[4];
	REQUIRE(world_begin(&w));
	int program, server;
	REQUIRE(pair_up(&w, &program, &server));
	CHECK_INT(kill(w.gate, SIGKILL), 0);
	CHECK(wait_for(program, POLLIN));
	/* The peer must see RST, not EOF. */
	CHECK_INT(recv(program, text, sizeof text, 0), -1);
	CHECK_INT(errno, ECONNRESET);
	CHECK(wait_for(server, POLLIN));
	CHECK_INT(recv(server, text, sizeof text, 0), -1);
	CHECK_INT(errno, ECONNRESET);
	siginfo_t info;
	CHECK_INT(waitid(P_PID, (id_t)w.gate, &info, WEXITED | WNOWAIT), 0);
	CHECK_INT(ask(&w, w.port), -1);
	(void)close(program);
	(void)close(server);
	CHECK_INT(world_end(&w), SIGKILL);
}

/* The gate's next answer; -1: none. */
static int answer_of(struct world *w, uint64_t *ret_call) {
	struct wire m;
	int fds[WIRE_FDS] = WIRE_NO_FDS;
	size_t n = 0;

	if (!wait_for(w->broker, POLLIN) || wire_receive(w->broker, &m, fds, &n) != 1 ||
	    m.kind != WIRE_ANSWER) {
		return -1;
	}
	*ret_call = m.id;
	return m.flags;
}

/* WIRE_CONNECT whose descriptor the gate cannot receive (EMFILE). */
TEST(a_call_whose_socket_found_no_room_is_refused_and_the_next_is_served) {
	struct world w;
	uint64_t call = 0;
	REQUIRE(world_begin(&w));
	const struct wire m = {
		.kind = WIRE_CONNECT, .id = 7, .to = loopback, .port = w.port, .family = AF_INET};
	CHECK_INT(wire_send(w.broker, &m, NULL, 0), 0);
	CHECK_INT(answer_of(&w, &call), ENOBUFS);
	CHECK_INT(call, 7);
	const struct ledger_entry *e = entry_of(&w, NET_FAILED);
	REQUIRE(e != NULL);
	CHECK_STR(e->why, "too many open files");
	int program, server;
	REQUIRE(pair_up(&w, &program, &server));
	(void)close(program);
	(void)close(server);
	CHECK_INT(world_end(&w), 0);
}

TEST(a_message_outlives_its_descriptors) {
	int pair[2];
	REQUIRE(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) == 0);
	const struct wire m = {.kind = WIRE_CONNECT, .id = 9};
	CHECK_INT(wire_send(pair[0], &m, &pair[0], 1), 0);
	pid_t pid = fork();
	if (pid == 0) {
		const struct rlimit none = {0, 0}; /* those that are open stay */
		struct wire got;
		int fds[WIRE_FDS] = WIRE_NO_FDS;
		size_t n = 1;
		(void)setrlimit(RLIMIT_NOFILE, &none);
		_exit(wire_receive(pair[1], &got, fds, &n) == 1 && n == 0 && got.id == 9 ? 0 : 1);
	}
	int status = -1;
	CHECK_INT(waitpid(pid, &status, 0), pid);
	CHECK_INT(status, 0);
	(void)close(pair[0]);
	(void)close(pair[1]);
}

/* ---- no descriptor is left ---- */

static bool gate_may_open(const struct world *w, bool more) {
	struct rlimit l;

	if (prlimit(w->gate, RLIMIT_NOFILE, NULL, &l) != 0) {
		return false;
	}
	l.rlim_cur = more ? l.rlim_max : 0; /* those that are open stay */
	return prlimit(w->gate, RLIMIT_NOFILE, &l, NULL) == 0;
}

static int call_port(uint16_t port) {
	struct sockaddr_in a = {.sin_family = AF_INET,
				.sin_port = htons(port),
				.sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd >= 0 && connect(fd, (struct sockaddr *)&a, sizeof a) != 0) {
		drop_fd(&fd);
	}
	return fd;
}

static bool arrives(int from, int to) {
	char text[4];

	return send(from, "x", 1, MSG_NOSIGNAL) == 1 && wait_for(to, POLLIN) &&
	       recv(to, text, sizeof text, 0) == 1;
}

static bool wants_server(const struct world *w) {
	struct wire m = {.kind = WIRE_ANSWER};
	int fds[WIRE_FDS] = WIRE_NO_FDS;
	size_t n = 0;

	/* The answer to the call before may come late. */
	while (m.kind == WIRE_ANSWER) {
		if (!wait_for(w->broker, POLLIN) || wire_receive(w->broker, &m, fds, &n) != 1) {
			return false;
		}
	}
	return m.kind == WIRE_WANT_SERVER && m.port == w->port;
}

static bool is_asleep(const struct world *w) {
	char path[64], text[512] = "";

	(void)snprintf(path, sizeof path, "/proc/%d/stat", (int)w->gate);
	auto_fd fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || read(fd, text, sizeof text - 1) <= 0) {
		return false;
	}
	const char *end = strrchr(text, ')');
	return end != NULL && end[1] == ' ' && end[2] == 'S';
}

/* A process that spins never sleeps, however little processor time it gets. */
static bool rests(const struct world *w) {
	enum { EVERY_MS = 5, ENOUGH = 20 };
	int seen = 0;

	(void)usleep(200000); /* the calls arrive */
	for (int ms = 0; ms < PATIENCE_MS && seen < ENOUGH; ms += EVERY_MS) {
		(void)usleep(EVERY_MS * 1000);
		seen += is_asleep(w);
	}
	return seen == ENOUGH;
}

/* A connection in the accept queue keeps a level-triggered listener ready. */
TEST(a_listener_without_descriptors_pauses_and_then_serves) {
	struct world w;
	char text[4];
	REQUIRE(world_begin(&w));
	int program, server;
	REQUIRE(pair_up(&w, &program, &server));
	take_answers(&w);
	CHECK(arrives(program, server)); /* there is a pipe now */
	REQUIRE(gate_may_open(&w, false));
	int visitor = call_port(w.published), stranger = call_port(w.peers->relay[0]);
	REQUIRE(visitor >= 0 && stranger >= 0);
	CHECK(rests(&w));
	CHECK(arrives(program, server) && arrives(server, program)); /* they go on */
	REQUIRE(gate_may_open(&w, true));
	CHECK(wants_server(&w));
	CHECK(wait_for(stranger, POLLIN));
	CHECK(recv(stranger, text, sizeof text, 0) <= 0);
	(void)close(visitor);
	(void)close(stranger);
	(void)close(program);
	(void)close(server);
	CHECK_INT(world_end(&w), 0);
}

TEST(a_gate_without_a_supervisor_ends) {
	struct world w;
	REQUIRE(world_begin(&w));
	drop_fd(&w.lifeline);
	int status = -1;
	CHECK_INT(waitpid(w.gate, &status, 0), w.gate);
	CHECK_INT(status, 0);
	(void)world_end(&w);
}

/* The relay closes connections that the gate did not make. */
TEST(a_stranger_at_the_relay_gets_nowhere) {
	struct world w;
	char text[4];
	REQUIRE(world_begin(&w));
	int program, server;
	REQUIRE(pair_up(&w, &program, &server));
	struct sockaddr_in relay = {.sin_family = AF_INET,
				    .sin_port = htons(w.peers->relay[0]),
				    .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int stranger = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	CHECK_INT(connect(stranger, (struct sockaddr *)&relay, sizeof relay), 0);
	CHECK(wait_for(stranger, POLLIN));
	CHECK(recv(stranger, text, sizeof text, 0) <= 0);
	/* The one that was there goes on. */
	CHECK_INT(send(program, "x", 1, MSG_NOSIGNAL), 1);
	CHECK(wait_for(server, POLLIN));
	(void)close(stranger);
	(void)close(program);
	(void)close(server);
	CHECK_INT(world_end(&w), 0);
}

TEST(more_connections_than_there_is_room_for_fail) {
	struct world w;
	enum { MANY = 3000 };
	static int programs[MANY];
	size_t n = 0;
	struct rlimit files;
	REQUIRE(getrlimit(RLIMIT_NOFILE, &files) == 0);
	files.rlim_cur = files.rlim_max; /* an ordinary session begins with 1024 */
	REQUIRE(setrlimit(RLIMIT_NOFILE, &files) == 0);
	REQUIRE(world_begin(&w));
	while (n < MANY && (programs[n] = ask(&w, w.port)) >= 0) {
		struct pollfd p = {.fd = w.origin, .events = POLLIN};
		/* An idle connection uses a flow until the program closes it. */
		if (poll(&p, 1, 1000) == 1) {
			(void)close(accept(w.origin, NULL, NULL));
		}
		n++;
		if (ledger_entries(w.ledger) > 1) {
			break;
		}
	}
	bool enough = n >= 2048;
	const struct ledger_entry *e = enough ? entry_of(&w, NET_FAILED) : NULL;
	if (enough) {
		REQUIRE(e != NULL);
		CHECK_STR(e->why, "too many connections at once");
	}
	while (n > 0) {
		(void)close(programs[--n]); /* a sanitizer needs some at the end */
	}
	CHECK_INT(world_end(&w), 0);
	if (!enough) {
		SKIP("this process may not have so many descriptors");
	}
}

TESTS_MAIN
