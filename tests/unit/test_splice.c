/* SPDX-License-Identifier: Apache-2.0 */
/* Forwarding between two sockets: how many bytes are read, and which pipes are kept. */
#include "relay_world.h"

static const struct direction fresh = {.pipe = {-1, -1}, .allow = ALLOW_ALL};

TEST(no_byte_beyond_the_allowed_ones_is_read) {
	struct relay w;
	int from[2], to[2];
	uint64_t bytes = 0;
	struct direction dir = fresh;
	REQUIRE(relay_begin(&w));
	REQUIRE(relay_tcp_pair(&w, from) && relay_tcp_pair(&w, to));
	struct inbox in = {.fd = to[1]}, rest = {.fd = from[1]};
	dir.allow = 5;
	CHECK(relay_send(from[0], "helloworld"));
	for (int i = 0; i < RELAY_TURNS && bytes < 5; i++) {
		CHECK_INT(splice_move(w.gate, &dir, from[1], to[0], &bytes), MOVED_ALL);
	}
	CHECK_INT(splice_move(w.gate, &dir, from[1], to[0], &bytes), MOVED_ALL);
	CHECK_INT(bytes, 5);
	CHECK_INT(dir.allow, 0);
	UNTIL(&w, inbox_has(&in, 5));
	CHECK_STR(in.text, "hello");
	UNTIL(&w, inbox_has(&rest, 5)); /* still in the receive queue */
	CHECK_STR(rest.text, "world");
	for (int i = 0; i < 2; i++) {
		(void)close(from[i]);
		(void)close(to[i]);
	}
	splice_drop(w.gate, &dir);
	relay_end(&w);
}

static bool give_pipe(struct gate *g, size_t buffered) {
	struct direction dir = fresh;

	if (pipe2(dir.pipe, O_NONBLOCK | O_CLOEXEC) != 0) {
		return false;
	}
	dir.buffered = buffered;
	splice_drop(g, &dir);
	return dir.pipe[0] < 0 && dir.pipe[1] < 0 && dir.buffered == 0;
}

TEST(empty_pipes_are_kept_up_to_a_bound_and_released_but_for_one) {
	struct relay w;
	REQUIRE(relay_begin(&w));
	for (int i = 0; i < GATE_PIPES + 3; i++) {
		REQUIRE(give_pipe(w.gate, 0));
	}
	CHECK_INT(w.gate->npipes, GATE_PIPES);
	splice_release_spares(w.gate);
	CHECK_INT(w.gate->npipes, 1);
	CHECK(w.gate->pipes[0][0] >= 0);
	relay_end(&w);
}

/* The next flow would forward the bytes of the previous one. */
TEST(a_pipe_with_bytes_is_not_kept) {
	struct relay w;
	REQUIRE(relay_begin(&w));
	CHECK(give_pipe(w.gate, 1));
	CHECK_INT(w.gate->npipes, 0);
	relay_end(&w);
}

TESTS_MAIN
