/* SPDX-License-Identifier: Apache-2.0 */
#include "base/auto.h"
#include "data/keys.h"
#include "run/capture.h"
#include "run/streams.h"
#include "run/run.h"
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>

/* ---- the capture ---- */

/* What a capture of the whole stream must hold, computed the simple way. */
static bool holds(const char *all, size_t len, size_t limit, const char *got, size_t got_len,
		  uint64_t dropped) {
	size_t head = limit - limit / 2, tail = limit / 2;

	if (len <= limit) {
		return dropped == 0 && got_len == len && memcmp(got, all, len) == 0;
	}
	return dropped == len - limit && got_len == limit && memcmp(got, all, head) == 0 &&
	       memcmp(got + head, all + len - tail, tail) == 0;
}

static bool one_capture(unsigned *seed, const char *all, size_t len, size_t limit, size_t most) {
	struct capture c;
	size_t got_len = 0;

	capture_init(&c, (int64_t)limit);
	for (size_t at = 0; at < len;) {
		size_t n = 1 + (size_t)rand_r(seed) % most;
		n = n < len - at ? n : len - at;
		capture_add(&c, all + at, n);
		at += n;
	}
	auto_free char *got = capture_take(&c, &got_len);
	bool good = got != NULL && got[got_len] == '\0' &&
		    holds(all, len, limit, got, got_len, c.dropped);
	capture_done(&c);
	return good;
}

TEST(a_capture_is_the_exact_head_and_tail_whatever_the_chunks) {
	static const size_t limits[] = {0, 1, 2, 3, 7, 64, 4095, 4096, 4097, 20000};
	static const size_t chunks[] = {1, 5, 100, 5000, 70000};
	static char all[100000];
	unsigned seed = 1;

	for (size_t i = 0; i < sizeof all; i++) {
		all[i] = (char)rand_r(&seed);
	}
	for (int round = 0; round < 1000; round++) {
		size_t limit = limits[(size_t)round % ARRAY_LEN(limits)];
		size_t most = chunks[(size_t)round / ARRAY_LEN(limits) % ARRAY_LEN(chunks)];
		size_t len = (size_t)rand_r(&seed) % (3 * limit + 50);
		REQUIRE(one_capture(&seed, all, len, limit, most));
	}
}

TEST(a_stream_of_exactly_the_limit_loses_nothing) {
	unsigned seed = 2;
	CHECK(one_capture(&seed, "0123456789", 10, 10, 3));
	CHECK(one_capture(&seed, "0123456789", 9, 9, 3));
}

TEST(without_a_limit_everything_is_kept) {
	struct capture c;
	size_t len = 0;
	static char block[50000];

	memset(block, 'x', sizeof block);
	capture_init(&c, LIMIT_NONE);
	for (int i = 0; i < 10; i++) {
		capture_add(&c, block, sizeof block);
	}
	auto_free char *got = capture_take(&c, &len);
	CHECK(got != NULL);
	CHECK_INT(len, 10 * sizeof block);
	CHECK_INT(c.dropped, 0);
	capture_done(&c);
}

TEST(an_unused_allowance_costs_no_memory) {
	struct capture c;

	capture_init(&c, (int64_t)1 << 40);
	capture_add(&c, "hi", 2);
	CHECK(c.head_room <= 4096);
	CHECK_INT(c.tail_room, 0);
	capture_done(&c);
}

/* ---- stdin given back ---- */

static int temporary(const char *text) {
	char name[] = "/tmp/corral-test-XXXXXX";
	int fd = mkostemp(name, O_CLOEXEC);

	if (fd < 0) {
		abort();
	}
	(void)unlink(name);
	if (write(fd, text, strlen(text)) != (ssize_t)strlen(text) || lseek(fd, 0, SEEK_SET) != 0) {
		abort();
	}
	return fd;
}

static void put(int fd, const char *text) {
	if (write(fd, text, strlen(text)) != (ssize_t)strlen(text)) {
		abort();
	}
}

TEST(what_lies_unread_in_the_pipe_is_given_back) {
	auto_fd file = temporary("one\ntwo\nthree\n");
	int ends[2];

	REQUIRE(pipe2(ends, O_CLOEXEC) == 0);
	auto_fd from = ends[0], to = ends[1];
	put(to, "two\nthree");
	CHECK_INT(lseek(file, 14, SEEK_SET), 14);
	stdin_feed_give_back(file, from, 1, 14);
	CHECK_INT(lseek(file, 0, SEEK_CUR), 4);
}

TEST(bytes_that_the_command_put_into_its_own_stdin_do_not_count) {
	auto_fd file = temporary("0123456789");
	int ends[2];

	REQUIRE(pipe2(ends, O_CLOEXEC) == 0);
	auto_fd from = ends[0], to = ends[1];
	put(to, "forged forged forged");
	CHECK_INT(lseek(file, 8, SEEK_SET), 8);
	stdin_feed_give_back(file, from, 0, 3);
	CHECK_INT(lseek(file, 0, SEEK_CUR), 5);
}

/* ---- the streams, with the test as the command ---- */

static void turn(struct streams *s) {
	struct pollfd slots[STREAM_SLOTS];

	for (int i = 0; i < 20; i++) {
		streams_poll(s, 0, slots);
		if (poll(slots, STREAM_SLOTS, 0) > 0) {
			(void)streams_step(s, 0, slots);
		}
	}
}

static struct stream_wish wish_of(int in, int out, int err) {
	return (struct stream_wish){.fds = {in, out, err}, .limit = LIMIT_NONE};
}

static mode_t kind_of(int fd) {
	struct stat st;

	return fstat(fd, &st) == 0 ? st.st_mode & S_IFMT : 0;
}

TEST(a_file_is_never_handed_over_and_its_rest_is_given_back) {
	auto_fd file = temporary("one\ntwo\n");
	struct stream_wish wish = wish_of(file, RUN_NULL, RUN_NULL);
	struct streams s;
	struct err e = {0};
	char line[4];

	REQUIRE(streams_open(&s, &wish, &e) == 0);
	CHECK(kind_of(s.inside[0]) == S_IFIFO);
	CHECK_INT(s.inside[1], -1);
	auto_fd command = dup(s.inside[0]);
	streams_started(&s);
	turn(&s);
	CHECK_INT(read(command, line, sizeof line), 4);
	CHECK_INT(lseek(file, 0, SEEK_CUR), 8);
	CHECK(!streams_drain(&s));
	CHECK_INT(lseek(file, 0, SEEK_CUR), 4);
	streams_done(&s);
}

static bool same_pipe(int a, int b) {
	struct stat x, y;

	return fstat(a, &x) == 0 && fstat(b, &y) == 0 && x.st_ino == y.st_ino;
}

TEST(a_pipe_is_never_handed_over) {
	int ends[2];
	struct streams s;
	struct err e = {0};

	REQUIRE(pipe2(ends, O_CLOEXEC) == 0);
	auto_fd from = ends[0], to = ends[1];
	struct stream_wish wish = wish_of(from, to, RUN_NULL);
	REQUIRE(streams_open(&s, &wish, &e) == 0);
	for (int i = 0; i < 2; i++) {
		CHECK(kind_of(s.inside[i]) == S_IFIFO);
		CHECK(!same_pipe(s.inside[i], ends[i]));
		CHECK_INT(fcntl(s.inside[i], F_GETFL) & O_NONBLOCK, 0);
		CHECK_INT(fcntl(ends[i], F_GETFL) & O_NONBLOCK, 0);
	}
	streams_done(&s);
}

/* The command reads some lines of a pipe that holds more than one buffer. */
TEST(what_the_command_did_not_read_stays_in_the_callers_pipe) {
	enum { ALL = 20000, READ = 9001 };
	static char sent[ALL], got[ALL];
	int ends[2];
	struct streams s;
	struct err e = {0};
	size_t at = 0;

	for (size_t i = 0; i < ALL; i++) {
		sent[i] = (char)('a' + i % 23);
	}
	REQUIRE(pipe2(ends, O_CLOEXEC) == 0);
	auto_fd from = ends[0];
	CHECK_INT(write(ends[1], sent, ALL), ALL);
	(void)close(ends[1]);
	struct stream_wish wish = wish_of(from, RUN_NULL, RUN_NULL);
	REQUIRE(streams_open(&s, &wish, &e) == 0);
	auto_fd command = dup(s.inside[0]);
	streams_started(&s);
	while (at < READ) {
		turn(&s);
		ssize_t n = read(command, got + at, READ - at);
		REQUIRE(n > 0);
		at += (size_t)n;
	}
	CHECK(!streams_drain(&s));
	streams_done(&s);
	for (ssize_t n; (n = read(from, got + at, ALL - at)) > 0;) {
		at += (size_t)n;
	}
	CHECK_INT(at, ALL);
	CHECK(memcmp(sent, got, ALL) == 0);
}

TEST(a_pipe_end_is_not_handed_over_for_the_other_direction) {
	int ends[2];

	REQUIRE(pipe2(ends, O_CLOEXEC) == 0);
	auto_fd from = ends[0], to = ends[1];
	CHECK_INT(outer_fd_reopen(to, O_RDONLY), -1);
	CHECK_INT(outer_fd_reopen(from, O_WRONLY), -1);
}

TEST(a_capped_relay_writes_the_head_at_once_and_the_tail_at_the_end) {
	auto_fd file = temporary("");
	struct stream_wish wish = wish_of(RUN_NULL, file, file);
	struct streams s;
	struct err e = {0};
	char got[64] = {0};

	wish.limit = 8;
	REQUIRE(streams_open(&s, &wish, &e) == 0);
	put(s.inside[1], "01234");
	put(s.inside[2], "56789abc"); /* the same file: one pipe, in order */
	turn(&s);
	CHECK_INT(pread(file, got, sizeof got, 0), 4);
	streams_started(&s);
	while (streams_drain(&s)) {
		turn(&s);
	}
	CHECK_INT(pread(file, got, sizeof got, 0), 8);
	CHECK_STR(got, "01239abc");
	CHECK_INT(output_dropped(&s.pumps[0]), 5);
	streams_done(&s);
}

TEST(a_reader_that_went_away_closes_the_commands_pipe) {
	int pair[2];
	struct streams s;
	struct err e = {0};

	REQUIRE(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0);
	auto_fd ours = pair[1];
	(void)close(pair[0]);
	struct stream_wish wish = wish_of(RUN_NULL, ours, RUN_NULL);
	REQUIRE(streams_open(&s, &wish, &e) == 0);
	put(s.inside[1], "x");
	turn(&s); /* SIGPIPE would kill the test */
	void (*before)(int) = signal(SIGPIPE, SIG_IGN);
	CHECK_INT(write(s.inside[1], "y", 1), -1);
	CHECK_INT(errno, EPIPE);
	(void)signal(SIGPIPE, before);
	CHECK_INT(s.pumps[0].error, 0);
	streams_done(&s);
}

TEST(a_slow_reader_holds_the_command_back) {
	int pair[2];
	static char block[4096];
	struct streams s;
	struct err e = {0};
	size_t sent = 0;

	REQUIRE(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0);
	auto_fd reader = pair[0], writer = pair[1];
	struct stream_wish wish = wish_of(RUN_NULL, writer, RUN_NULL);
	REQUIRE(streams_open(&s, &wish, &e) == 0);
	CHECK_INT(fcntl(s.inside[1], F_SETFL, O_NONBLOCK), 0);
	for (int i = 0; i < 10000; i++) {
		ssize_t n = write(s.inside[1], block, sizeof block);
		sent += n > 0 ? (size_t)n : 0;
		turn(&s);
	}
	CHECK(sent < (size_t)4 * 1024 * 1024);
	CHECK(streams_held(&s));
	CHECK_INT(fcntl(writer, F_GETFL) & O_NONBLOCK, 0);
	(void)reader;
	streams_done(&s);
}

TEST(a_descriptor_that_is_not_open_is_an_error) {
	struct stream_wish wish = wish_of(RUN_NULL, 1000000, RUN_NULL);
	struct streams s;
	struct err e = {0};

	CHECK_INT(streams_open(&s, &wish, &e), -1);
	CHECK_INT(e.kind, ERR_USAGE);
	wish = wish_of(RUN_CAPTURE, RUN_NULL, RUN_NULL);
	CHECK_INT(streams_open(&s, &wish, &e), -1);
}

/* ---- reasons ---- */

struct reason_row {
	const char *name;
	struct ending end;
	struct usage usage;
	enum reason want;
};

static const struct reason_row reason_rows[] = {
	{"exit 0", {.status = 0}, {0}, REASON_EXIT},
	{"exit 137 is not a signal", {.status = 137 << 8}, {0}, REASON_EXIT},
	{"exit 124 is not a time-out", {.status = 124 << 8}, {0}, REASON_EXIT},
	{"killed without evidence is not oom", {.status = SIGKILL}, {0}, REASON_SIGNAL},
	{"killed for memory", {.status = SIGKILL}, {.oom = true}, REASON_OOM},
	{"terminated", {.status = SIGTERM}, {0}, REASON_SIGNAL},
	{"wall clock", {.status = SIGTERM, .timed_out = true}, {0}, REASON_TIMEOUT},
	{"wall clock, clean exit", {.status = 0, .timed_out = true}, {0}, REASON_TIMEOUT},
	{"idle", {.status = SIGTERM, .forced = true, .force = REASON_IDLE}, {0}, REASON_IDLE},
	{"cancelled",
	 {.status = 0, .forced = true, .force = REASON_CANCELLED},
	 {0},
	 REASON_CANCELLED},
	{"soft CPU limit", {.status = SIGXCPU}, {0}, REASON_LIMIT},
	{"file size", {.status = SIGXFSZ}, {0}, REASON_LIMIT},
	{"hard CPU limit", {.status = SIGKILL}, {.cpu_ms = 5000}, REASON_LIMIT},
	{"below the CPU limit", {.status = SIGKILL}, {.cpu_ms = 4999}, REASON_SIGNAL},
	{"exit after much CPU", {.status = 0}, {.cpu_ms = 9000}, REASON_EXIT},
};

TEST(a_reason_needs_its_evidence) {
	const struct plan plan = {.rlimits = {{RLIMIT_CPU, 5}, {RLIMIT_FSIZE, 9}}, .nrlimits = 2};

	for (size_t i = 0; i < ARRAY_LEN(reason_rows); i++) {
		const struct reason_row *row = &reason_rows[i];
		enum reason got = outcome_reason(&row->end, &row->usage, &plan);
		if (got != row->want) {
			printf("# %s: %s\n", row->name, outcome_reason_name(got));
		}
		CHECK_INT(got, row->want);
	}
}

TEST(a_signal_that_anybody_may_send_is_no_limit_that_was_not_set) {
	static const int signals[] = {SIGXCPU, SIGXFSZ};
	const struct plan plan = {.nrlimits = 0};

	for (size_t i = 0; i < ARRAY_LEN(signals); i++) {
		struct ending end = {.status = signals[i]};
		struct usage usage = {0};
		CHECK_INT(outcome_reason(&end, &usage, &plan), REASON_SIGNAL);
	}
}

TESTS_MAIN
