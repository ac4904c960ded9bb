/* SPDX-License-Identifier: Apache-2.0 */
/* The number of sessions of a daemon: the request for one more is answered with an error (H7). */
#include "test.h"

#include "base/auto.h"
#include "base/remove_tree.h"
#include "session/daemon.h"

#include <fcntl.h>
#include <sodium.h>
#include <string.h>
#include <sys/socket.h>

static char place[] = "/tmp/corral-test-room.XXXXXX";

/* A daemon with a database, in which a session called "taken" is alive, and without processes. */
static void begin(struct daemon *d) {
	char file[sizeof place + 16], token[TOKEN_TEXT_LENGTH + 1];
	struct token_hash hash;
	struct err e = {0};
	struct session_row row = {.name = "taken",
				  .workspace = "/",
				  .profile = "",
				  .agent = "",
				  .provider = "",
				  .level = "",
				  .reason = "",
				  .created = 1};
	REQUIRE(sodium_init() >= 0 && mkdtemp(place) != NULL);
	(void)snprintf(file, sizeof file, "%s/sessions.db", place);
	session_id_make(1, row.id);
	token_make(token, &hash);
	REQUIRE(daemon_loop_init(&d->loop, &e) == 0 && store_open(file, &d->store, &e) == 0 &&
		store_add_session(d->store, &row, &hash, 0, &e) == 0);
}

static void end(struct daemon *d) {
	int tmp = open("/tmp", O_PATH | O_DIRECTORY | O_CLOEXEC);
	store_close(d->store);
	daemon_loop_done(&d->loop);
	CHECK_INT(remove_tree(tmp, place + strlen("/tmp/")), 0);
	(void)close(tmp);
}

/* The answer to session.create on the admin socket of a daemon with so many sessions. */
static json_t *answer_with(struct daemon *d, size_t sessions) {
	static const char line[] = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"session.create\","
				   "\"params\":{\"cwd\":\"/\",\"name\":\"taken\"}}";
	char text[4096];
	int pair[2];
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) {
		abort();
	}
	struct conn c = {.daemon = d, .watch = {.fd = pair[0], .owner = &c}, .scope = SCOPE_ADMIN};
	frame_writer_init(&c.out, pair[0], QUEUE_MAX_BYTES);
	d->nlives = sessions;
	request_line(&c, line, sizeof line - 1);
	ssize_t len = recv(pair[1], text, sizeof text, MSG_DONTWAIT);
	frame_writer_done(&c.out);
	(void)close(pair[0]);
	(void)close(pair[1]);
	return len <= 0 ? NULL : json_loadb(text, (size_t)len, 0, NULL);
}

TEST(one_session_more_than_the_limit_is_an_error_that_says_so) {
	static struct daemon d;
	begin(&d);
	json_t *answer = answer_with(&d, SESSIONS_MAX), *why = json_object_get(answer, "error");
	CHECK_INT(json_integer_value(json_object_get(why, "code")), FAULT_LIMIT);
	CHECK_STR(json_string_value(json_object_get(why, "message")),
		  "5000 sessions are alive, and the daemon keeps no more");
	auto_free char *whole = json_dumps(answer, 0);
	CHECK(whole != NULL && strstr(whole, "corral session stop") != NULL); /* the remedy */
	json_decref(answer);
	/* Control: with one session less the request gets as far as the name, which is taken. */
	answer = answer_with(&d, SESSIONS_MAX - 1);
	why = json_object_get(answer, "error");
	CHECK_STR(json_string_value(json_object_get(why, "message")),
		  "a session called taken is alive");
	json_decref(answer);
	end(&d);
}

TESTS_MAIN
