/* SPDX-License-Identifier: Apache-2.0 */
/* What a gate that was taken over can answer: the calls that it was handed, once each, and never
 * with what would let another call go on. */
#include "broker_world.h"

#include "gate/wire.h"
#include "linux/broker/connect.h"

#include "linux/broker/call.h"

#include <netinet/in.h>
#include <pthread.h>
#include <sys/un.h>

static int hostile = -1; /* the gate's end of the channel */

static void say(struct broker *b, uint64_t call, int error) {
	wire_answer(hostile, call, error);
	connect_answered(b);
}

static void take_over(struct broker *b) {
	int pair[2];
	if (hostile < 0 && socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) == 0) {
		b->gate = pair[0];
		hostile = pair[1];
	}
}

/* ---- a call that was not forwarded to the gate ---- */

/* Every call waits for the test; the gate sends every kind of answer for each. */
static void serve_with_guesses(struct broker *b) {
	struct seccomp_notif n;
	memset(&n, 0, sizeof n);
	take_over(b);
	if (call_ioctl(b, SECCOMP_IOCTL_NOTIF_RECV, &n) != 0) {
		return;
	}
	const struct call c = {.b = b, .id = n.id};
	const uint64_t guesses[] = {n.id, n.id - 1, 0, 1, 1ULL << 32 | 1, UINT64_MAX};
	for (size_t i = 0; i < ARRAY_LEN(guesses); i++) {
		say(b, guesses[i], WIRE_CONTINUE);
		say(b, guesses[i], 0);
	}
	call_answer(&c, -EDOM);
}

ATTEMPT(change_mode, chmod("file", 0600))

TEST(a_call_that_the_gate_was_not_handed_is_not_its_to_answer) {
	world_make();
	CHECK_INT(without_broker(change_mode), 0);
	serve_calls = serve_with_guesses;
	CHECK_INT(with_broker(BROKER_METADATA, change_mode), EDOM);
	serve_calls = broker_serve;
	world_remove();
}

/* ---- its own calls ---- */

static int said_first, said_then;

/* The gate answers each call twice. */
static void serve_with_answers(struct broker *b) {
	struct wire w;
	int fds[WIRE_FDS] = WIRE_NO_FDS;
	size_t n = 0;
	take_over(b);
	broker_serve(b);
	if (wire_receive(hostile, &w, fds, &n) > 0 && w.kind == WIRE_CONNECT) {
		say(b, w.id, said_first);
		say(b, w.id, said_then);
	}
	for (size_t i = 0; i < n; i++) {
		drop_fd(&fds[i]);
	}
}

/* No route: the kernel returns ENETUNREACH and sends no packet. */
static int connect_once(void) {
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(80)};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	to.sin_addr.s_addr = htonl(INADDR_BROADCAST);
	int error = connect(fd, (struct sockaddr *)&to, sizeof to) == 0 ? 0 : errno;
	close(fd);
	return error;
}

static int connect_twice(void) {
	int first = connect_once();
	return first == connect_once() ? first : CHECK_FAILED;
}

/* The result of the call for this answer of the gate. */
static int answered(enum engine engine, int first, int then) {
	world_make();
	world_plan.engine = engine;
	world_plan.net.gate = true;
	world_plan.net.mode = NET_FILTERED;
	said_first = first;
	said_then = then;
	serve_calls = serve_with_answers;
	int got = with_broker(BROKER_SOCKETS, connect_twice);
	serve_calls = broker_serve;
	world_remove();
	return got;
}

TEST(a_call_has_the_first_answer_and_no_other) {
	CHECK_INT(without_broker(connect_once), ENETUNREACH);
	CHECK_INT(answered(ENGINE_NAMESPACES, 0, EDOM), 0);
	CHECK_INT(answered(ENGINE_NAMESPACES, EDOM, WIRE_CONTINUE), EDOM);
	CHECK_INT(answered(ENGINE_LANDLOCK, EDOM, WIRE_CONTINUE), EDOM);
}

TEST(what_is_no_errno_is_a_refusal) {
	CHECK_INT(answered(ENGINE_NAMESPACES, 4096, 0), ECONNREFUSED);
	CHECK_INT(answered(ENGINE_NAMESPACES, INT32_MIN, 0), ECONNREFUSED);
}

TEST(the_kernel_goes_on_only_where_the_network_is_the_runs_own) {
	CHECK_INT(answered(ENGINE_NAMESPACES, WIRE_CONTINUE, 0), ENETUNREACH);
	CHECK_INT(answered(ENGINE_LANDLOCK, WIRE_CONTINUE, 0), ECONNREFUSED);
}

/* ---- a call that goes on ---- */

static int swap_now[2], swap_done[2];

/* The caller changes its arguments before the gate answers WIRE_CONTINUE. */
static void serve_with_swap(struct broker *b) {
	struct wire w;
	int fds[WIRE_FDS] = WIRE_NO_FDS;
	size_t n = 0;
	char byte = 's';
	take_over(b);
	broker_serve(b);
	if (wire_receive(hostile, &w, fds, &n) > 0 && w.kind == WIRE_CONNECT) {
		(void)!write(swap_now[1], &byte, 1);
		(void)!read(swap_done[0], &byte, 1);
		say(b, w.id, WIRE_CONTINUE);
	}
	for (size_t i = 0; i < n; i++) {
		drop_fd(&fds[i]);
	}
}

static union {
	struct sockaddr_in in;
	struct sockaddr_un un;
} given;
static const struct sockaddr_un hosts = {.sun_family = AF_UNIX, .sun_path = "host.sock"};
static int given_fd, unix_fd;

static void *swap(void *arg) {
	char byte;
	if (read(swap_now[0], &byte, 1) == 1) {
		memcpy(&given.un, &hosts, sizeof hosts);
		(void)dup2(unix_fd, given_fd);
		(void)!write(swap_done[1], &byte, 1);
	}
	return arg;
}

static int connect_and_swap(void) {
	pthread_t thread;
	struct sockaddr_un peer;
	socklen_t len = sizeof peer;

	given_fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	unix_fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	given.in = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons(80)};
	given.in.sin_addr.s_addr = htonl(INADDR_BROADCAST);
	CHECK_INT(pthread_create(&thread, NULL, swap, NULL), 0);
	int error = connect(given_fd, (struct sockaddr *)&given, sizeof given.un) == 0 ? 0 : errno;
	CHECK_INT(pthread_join(thread, NULL), 0);
	CHECK_INT(getpeername(unix_fd, (struct sockaddr *)&peer, &len), -1);
	return error;
}

ATTEMPT(connect_to_hosts, connect(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0),
				  (const struct sockaddr *)&hosts, sizeof hosts))

TEST(a_call_goes_on_with_the_socket_and_the_address_that_were_judged) {
	world_make();
	int server = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	CHECK_INT(bind(server, (const struct sockaddr *)&hosts, sizeof hosts), 0);
	CHECK_INT(listen(server, 4), 0);
	CHECK_INT(pipe(swap_now), 0);
	CHECK_INT(pipe(swap_done), 0);
	world_plan.engine = ENGINE_NAMESPACES;
	world_plan.net.gate = true;
	world_plan.net.mode = NET_FILTERED;
	CHECK_INT(without_broker(connect_to_hosts), 0);
	CHECK_INT(with_broker(BROKER_SOCKETS, connect_to_hosts), ECONNREFUSED);
	serve_calls = serve_with_swap;
	CHECK_INT(with_broker(BROKER_SOCKETS, connect_and_swap), EBADF);
	serve_calls = broker_serve;
	close(server);
	world_remove();
}

/* ---- a gate that is gone ---- */

static void serve_and_die(struct broker *b) {
	take_over(b);
	broker_serve(b);
	drop_fd(&hostile);
	hostile = INT32_MAX; /* take_over() makes no other */
	if (b->gate >= 0) {
		connect_answered(b);
	}
}

TEST(calls_that_wait_for_a_gate_that_dies_are_refused) {
	world_make();
	world_plan.engine = ENGINE_NAMESPACES;
	world_plan.net.gate = true;
	serve_calls = serve_and_die;
	CHECK_INT(with_broker(BROKER_SOCKETS, connect_twice), ECONNREFUSED);
	serve_calls = broker_serve;
	world_remove();
}

TESTS_MAIN
