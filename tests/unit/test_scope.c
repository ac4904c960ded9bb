/* SPDX-License-Identifier: Apache-2.0 */
/* What systemd may answer, over a real socket; a real systemd is in tests/kernels/systemd.py. */
#include "linux/scope.c"

#include "test.h"

#define UNIT "corral-1-0123456789abcdef.scope"

struct pair {
	struct manager ours;
	int theirs;
};

static struct pair pair_of(int64_t patience_ms) {
	int fds[2];
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds) != 0) {
		abort();
	}
	return (struct pair){{.fd = fds[0], .until = clock_ms() + patience_ms}, fds[1]};
}

static void pair_done(struct pair *p) {
	drop_fd(&p->ours.fd);
	drop_fd(&p->theirs);
}

static void say(const struct pair *p, const void *data, size_t len) {
	if (send(p->theirs, data, len, MSG_NOSIGNAL) != (ssize_t)len) {
		abort();
	}
}

/* ---- messages as systemd sends them ---- */

struct words {
	const char *unit, *result;
};

/* A call is marshalled like any message; its type is the second byte. */
static struct dbus_out job_removed(const struct words *w) {
	const struct dbus_method m = {"d", "/org/freedesktop/systemd1", "i", "JobRemoved", "uoss"};
	struct dbus_out o;
	dbus_begin(&o, &m, 7);
	dbus_put_u32(&o, 42);
	dbus_put_string(&o, "/org/freedesktop/systemd1/job/42");
	dbus_put_string(&o, w->unit);
	dbus_put_string(&o, w->result);
	dbus_end(&o);
	o.bytes[1] = DBUS_SIGNAL;
	return o;
}

/* By hand, byte for byte as the specification has it: REPLY_SERIAL, ERROR_NAME, SIGNATURE. */
static const uint8_t refusal[] = {
	'l', 3, 0,   1, 7,   0,   0, 0, 9,   0,   0,   0, 31, 0, 0, 0, /* head */
	5,   1, 'u', 0, 1,   0,   0, 0,                                /* reply */
	4,   1, 's', 0, 3,   0,   0, 0, 'a', '.', 'b', 0, 0,  0, 0, 0, /* error */
	8,   1, 'g', 0, 1,   's', 0, 0,                                /* type */
	2,   0, 0,   0, 'n', 'o', 0,
};

TEST(a_call_has_the_bytes_of_the_specification) {
	static const uint8_t expected[] = {
		'l', 1, 0,   1, 12, 0,   0,   0, 9,   0,   0, 0, 72, 0, 0, 0, /* head */
		1,   1, 'o', 0, 2,  0,   0,   0, '/', 'p', 0, 0, 0,  0, 0, 0, /* path */
		2,   1, 's', 0, 1,  0,   0,   0, 'i', 0,   0, 0, 0,  0, 0, 0, /* interface */
		3,   1, 's', 0, 1,  0,   0,   0, 'm', 0,   0, 0, 0,  0, 0, 0, /* member */
		6,   1, 's', 0, 1,  0,   0,   0, 'd', 0,   0, 0, 0,  0, 0, 0, /* destination */
		8,   1, 'g', 0, 2,  'a', 'u', 0,                              /* signature */
		8,   0, 0,   0, 4,  3,   2,   1, 5,   0,   0, 0,              /* body */
	};
	const struct dbus_method m = {"d", "/p", "i", "m", "au"};
	struct dbus_out o;
	dbus_begin(&o, &m, 9);
	size_t list = dbus_open_array(&o, 4);
	dbus_put_u32(&o, 0x01020304);
	dbus_put_u32(&o, 5);
	dbus_close_array(&o, list, 4);
	dbus_end(&o);
	REQUIRE(o.len == sizeof expected);
	CHECK(memcmp(o.bytes, expected, sizeof expected) == 0);
	CHECK_INT(dbus_length(o.bytes), o.len);
}

TEST(a_call_that_does_not_fit_is_marked) {
	const struct dbus_method m = {"d", "/p", "i", "m", "s"};
	char *longer = calloc(1, 2000);
	struct dbus_out o;
	REQUIRE(longer != NULL);
	memset(longer, 'x', 1999);
	dbus_begin(&o, &m, 1);
	dbus_put_string(&o, longer);
	dbus_end(&o);
	CHECK(o.full && o.len <= sizeof o.bytes);
	free(longer);
}

TEST(a_refusal_is_read_with_its_reason) {
	struct dbus_message m;
	struct err e = {0};
	REQUIRE(dbus_read(refusal, sizeof refusal, &m));
	CHECK_INT(m.reply_to, 1);
	CHECK_STR(m.error, "a.b");
	CHECK_INT(judge_message(&m, UNIT, &e), -1);
	CHECK_INT(e.kind, ERR_NO_SCOPE);
	CHECK_STR(e.what, "this user's systemd refused a scope: a.b: no");
}

TEST(a_message_that_is_cut_or_has_a_wrong_length_is_none) {
	uint8_t bytes[sizeof refusal];
	struct dbus_message m;
	for (size_t len = 0; len < sizeof refusal; len++) {
		CHECK(!dbus_read(refusal, len, &m));
	}
	/* Lengths: of the body, of the header, of a string, of two signatures; and a NUL inside. */
	static const size_t places[] = {4, 12, 28, 17, 41};
	for (size_t i = 0; i < ARRAY_LEN(places); i++) {
		memcpy(bytes, refusal, sizeof bytes);
		bytes[places[i]] = 0xff;
		CHECK(!dbus_read(bytes, sizeof bytes, &m));
	}
	memcpy(bytes, refusal, sizeof bytes);
	bytes[33] = '\0';
	CHECK(!dbus_read(bytes, sizeof bytes, &m));
	bytes[0] = 'B';
	CHECK_INT(dbus_length(bytes), 0);
	memcpy(bytes, refusal, sizeof bytes);
	bytes[6] = 1; /* 64 KiB */
	CHECK_INT(dbus_length(bytes), 0);
}

TEST(only_the_end_of_our_own_job_counts) {
	static const struct {
		struct words words;
		int judged;
	} rows[] = {
		{{UNIT, "done"}, 1},     {{UNIT, "failed"}, -1},
		{{UNIT, "timeout"}, -1}, {{"corral-2-0123456789abcdef.scope", "done"}, 0},
		{{"", "done"}, 0},
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct dbus_out o = job_removed(&rows[i].words);
		struct dbus_message m;
		struct err e = {0};
		REQUIRE(dbus_read(o.bytes, o.len, &m));
		CHECK_INT(judge_message(&m, UNIT, &e), rows[i].judged);
	}
}

/* ---- the connection ---- */

TEST(the_answer_is_awaited_through_other_messages) {
	struct dbus_out other = job_removed(&(struct words){"other.service", "failed"});
	struct dbus_out ours = job_removed(&(struct words){UNIT, "done"});
	struct pair p = pair_of(5000);
	struct err e = {0};
	say(&p, other.bytes, other.len);
	say(&p, ours.bytes, ours.len);
	CHECK_INT(await_job(&p.ours, UNIT, &e), 0);
	pair_done(&p);
}

TEST(a_systemd_that_does_not_answer_is_given_up) {
	struct pair p = pair_of(50);
	struct err e = {0};
	int64_t start = clock_ms();
	CHECK_INT(await_job(&p.ours, UNIT, &e), -1);
	CHECK(clock_ms() - start >= 50);
	CHECK_INT(e.kind, ERR_NO_SCOPE);
	CHECK_INT(e.sys, ETIMEDOUT);
	CHECK_STR(e.where, "scope");
	p.ours.until = clock_ms() + 50;
	CHECK_INT(authenticate(&p.ours), -1);
	CHECK_INT(errno, ETIMEDOUT);
	pair_done(&p);
}

TEST(a_systemd_that_hangs_up_or_lies_is_given_up) {
	static const char noise[] = "HTTP/1.1 400 Bad Request\r\n";
	struct pair p = pair_of(5000);
	struct err e = {0};
	say(&p, noise, strlen(noise));
	CHECK_INT(await_job(&p.ours, UNIT, &e), -1);
	CHECK_INT(e.sys, EBADMSG);
	pair_done(&p);
	p = pair_of(5000);
	say(&p, refusal, sizeof refusal - 1);
	drop_fd(&p.theirs);
	CHECK_INT(await_job(&p.ours, UNIT, &e), -1);
	CHECK_INT(e.sys, ECONNRESET);
	pair_done(&p);
}

TEST(the_authentication_names_this_user_and_waits_for_ok) {
	static const char ok[] = "OK 0123456789abcdef0123456789abcdef\r\n", no[] = "REJECTED\r\n";
	char text[128] = "", expected[128];
	struct pair p = pair_of(5000);
	say(&p, ok, strlen(ok));
	CHECK_INT(authenticate(&p.ours), 0);
	CHECK(recv(p.theirs, text, sizeof text - 1, 0) > 0);
	int len = snprintf(expected, sizeof expected, "AUTH EXTERNAL ");
	char number[16];
	(void)snprintf(number, sizeof number, "%u", (unsigned)geteuid());
	for (const char *digit = number; *digit != '\0'; digit++) {
		len += snprintf(expected + len, sizeof expected - (size_t)len, "3%c", *digit);
	}
	(void)snprintf(expected + len, sizeof expected - (size_t)len, "\r\nBEGIN\r\n");
	CHECK_INT(text[0], '\0');
	CHECK_STR(text + 1, expected);
	say(&p, no, strlen(no));
	CHECK_INT(authenticate(&p.ours), -1);
	CHECK_INT(errno, EACCES);
	pair_done(&p);
}

/* ---- the keeper ---- */

TEST(the_keeper_ends_with_its_scope_and_leaves_no_zombie) {
	struct scope s = SCOPE_NONE;
	struct err e = {0};
	pid_t pid = 0;
	REQUIRE(keeper_start(&s, &pid, &e) == 0);
	CHECK_INT(kill(pid, 0), 0);
	scope_end(&s);
	CHECK_INT(kill(pid, 0), -1);
	CHECK_INT(s.keeper, -1);
	scope_end(&s); /* nothing to end is fine */
}

TEST(the_keeper_ends_with_the_process_that_started_it) {
	int report[2];
	pid_t keeper = 0;
	REQUIRE(pipe2(report, O_CLOEXEC) == 0);
	pid_t supervisor = fork();
	if (supervisor == 0) {
		struct scope s = SCOPE_NONE;
		struct err e = {0};
		(void)keeper_start(&s, &keeper, &e);
		(void)fd_write_all(report[1], &keeper, sizeof keeper);
		(void)pause();
		_exit(0);
	}
	REQUIRE(read(report[0], &keeper, sizeof keeper) == (ssize_t)sizeof keeper);
	auto_fd held = (int)syscall(SYS_pidfd_open, keeper, 0U);
	REQUIRE(keeper > 0 && held >= 0);
	CHECK_INT(kill(supervisor, SIGKILL), 0);
	struct pollfd end = {.fd = held, .events = POLLIN};
	CHECK_INT(poll(&end, 1, 60000), 1);
	(void)waitpid(supervisor, NULL, 0);
	drop_fd(&report[0]);
	drop_fd(&report[1]);
}
TESTS_MAIN
