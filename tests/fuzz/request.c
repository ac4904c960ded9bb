/* SPDX-License-Identifier: Apache-2.0 */
/* A line of a client of a session, with and without its token, as the daemon serves it.
 *
 * Each request gets one line, each notification none; no line ends the daemon, changes the state of
 * the session, or adds a session; a line of MCP is served with the same rules.  A client without a
 * token gets nothing but `ping` and a refusal.
 */
#include "fuzz.h"

#include "base/auto.h"
#include "rpc/message.h"
#include "session/mcp_conn.h"

#include <sodium.h>
#include <sys/socket.h>

static char place[] = "/tmp/corral-fuzz-request.XXXXXX";
static char file[sizeof place + 16];

static void clean(void) {
	static const char *const ends[] = {"", "-wal", "-shm"};
	char path[sizeof file + 8];

	for (size_t i = 0; i < ARRAY_LEN(ends); i++) {
		(void)snprintf(path, sizeof path, "%s%s", file, ends[i]);
		(void)unlink(path);
	}
	(void)rmdir(place);
}

/* A daemon without processes: one session, whose supervisor does not exist. */
static void begin(struct daemon *d, struct live *l) {
	struct err e = {0};
	struct session_row row = {.name = "s",
				  .workspace = "/",
				  .profile = "",
				  .agent = "",
				  .provider = "",
				  .level = "",
				  .reason = "",
				  .created = 1};
	static struct direct_counts counts;
	struct token_hash hash;
	char token[TOKEN_TEXT_LENGTH + 1];

	HOLDS(sodium_init() >= 0 && mkdtemp(place) != NULL);
	(void)snprintf(file, sizeof file, "%s/sessions.db", place);
	(void)atexit(clean);
	session_id_make(1, row.id);
	token_make(token, &hash);
	*d = (struct daemon){.lives = l, .nlives = 1};
	HOLDS(daemon_loop_init(&d->loop, &e) == 0 && store_open(file, &d->store, &e) == 0 &&
	      store_add_session(d->store, &row, &hash, 0, &e) == 0);
	*l = (struct live){.daemon = d,
			   .state = SESSION_RUNNING,
			   .channel = {.fd = -1},
			   .direct = -1,
			   .counts = &counts};
	memcpy(l->id, row.id, sizeof l->id);
}

static void count(void *arg, const struct session_row *row) {
	(void)row;
	++*(int *)arg;
}

/* The number of lines that the client gets; each is a response, or of MCP a notification. */
static size_t read_answers(int fd, bool no_token) {
	static char text[1 << 20];
	size_t n = 0;
	ssize_t len = recv(fd, text, sizeof text - 1, MSG_DONTWAIT);

	for (char *at = text, *end; len > 0 && at < text + len; at = end + 1, n++) {
		struct message_fault fault;
		struct message m;
		end = memchr(at, '\n', (size_t)(text + len - at));
		HOLDS(end != NULL);
		json_t *answer = message_parse(at, (size_t)(end - at), &fault);
		HOLDS(answer != NULL && message_read(answer, &m, &fault) == 0);
		HOLDS(m.kind == MESSAGE_RESPONSE || (m.kind == MESSAGE_NOTIFICATION && !no_token));
		const json_t *result = json_object_get(answer, "result");
		HOLDS(!no_token || result == NULL || json_object_get(result, "version") != NULL);
		json_decref(answer);
	}
	return n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
	static struct daemon d;
	static struct live l;
	struct err e = {0};
	int pair[2], sessions = 0;
	struct session_reader reader = {count, &sessions};

	if (d.store == NULL) {
		begin(&d, &l);
	}
	if (size < 1 || memchr(data + 1, '\n', size - 1) != NULL) {
		return 0;
	}
	HOLDS(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0);
	enum scope scope = data[0] % 2 == 0 ? SCOPE_SESSION : SCOPE_NONE;
	struct conn c = {.daemon = &d,
			 .watch = {.fd = pair[0], .owner = &c},
			 .scope = scope,
			 .live = &l,
			 .of_session = true};
	frame_writer_init(&c.out, pair[0], QUEUE_MAX_BYTES);
	l.failures = 0;
	char *line = malloc(size);
	HOLDS(line != NULL);
	memcpy(line, data + 1, size - 1);
	request_line(&c, line, size - 1);
	size_t answers = read_answers(pair[1], scope == SCOPE_NONE);
	HOLDS(answers <= 2 && !d.stopping && l.state == SESSION_RUNNING && d.lives == &l);
	HOLDS(scope != SCOPE_NONE || c.scope == SCOPE_NONE); /* no input is a token */
	HOLDS(store_each_session(d.store, &reader, &e) == 0 && sessions == 1);
	while (l.calls != NULL) {
		live_drop_call(&l, l.calls);
	}
	HOLDS(scope != SCOPE_NONE || c.mcp == NULL);
	HOLDS(daemon_loop_watch(&d.loop, &c.watch, 0, &e) == 0);
	mcp_conn_free(&c);
	frame_writer_done(&c.out);
	json_decref(c.follow);
	free(line);
	(void)close(pair[0]);
	(void)close(pair[1]);
	return 0;
}
