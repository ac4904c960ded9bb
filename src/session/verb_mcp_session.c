/* SPDX-License-Identifier: Apache-2.0 */
/* `corral mcp --session`: connects stdin and stdout of an agent with the socket of a session, which
 * speaks MCP (session/mcp_conn.c).
 *
 * Inside the session the socket is the capability.  Outside, the token comes from a file, or a new
 * one from the daemon; it stays in this process.
 *
 * Should:   pass every byte on; end when the daemon closes the connection.
 * Must not: take options of a policy: the session has one already.
 * Fails:    before the first byte, through the error of the daemon. */
#include "session/verbs.h"

#include "base/auto.h"
#include "base/fd.h"
#include "base/str.h"
#include "client/client.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* Of a token that only this process has. */
#define LIFETIME_MS ((json_int_t)7 * 24 * 3600 * 1000)

static int check_options(const struct invocation *inv, struct corral_error *err) {
	auto_free char *saved = NULL;

	if (inv->http_port != NULL || inv->tools != NULL || inv->shell != NULL) {
		return usage_error(err, "corral session create --tools NAME[,NAME]",
				   "--session is not possible with --http, --tools or --shell");
	}
	if (corral_policy_save(inv->policy, &saved, err) != 0) {
		return -1;
	}
	json_t *policy = json_loads(saved, 0, NULL);
	bool plain = json_array_size(json_object_get(policy, "settings")) == 0 &&
		     !json_is_string(json_object_get(policy, "file"));
	json_decref(policy);
	return plain ? 0
		     : usage_error(err, "pass them to corral session create",
				   "--session has the policy of its session; options that "
				   "change a policy are not possible");
}

/* ---- the connection ---- */

/* The socket and a new token, from the admin socket. */
static int ask_daemon(const char *session, struct client *c, struct corral_error *err) {
	struct client admin;
	json_t *shown = NULL, *made = NULL;

	if (client_open_admin(&admin, err) != 0) {
		return -1;
	}
	struct client_call show = {.method = "session.show",
				   .params = json_pack("{s:s}", "session", session)};
	struct client_call token = {
		.method = "session.token",
		.params = json_pack("{s:s, s:I}", "session", session, "lifetime_ms", LIFETIME_MS)};
	int rc = client_call(&admin, &show, &shown, err);
	if (rc == 0) {
		rc = client_call(&admin, &token, &made, err);
	} else {
		json_decref(token.params);
	}
	client_close(&admin);
	if (rc == 0) {
		rc = client_open_session(c, json_string_value(json_object_get(shown, "socket")),
					 json_string_value(json_object_get(made, "token")), err);
	}
	json_decref(shown);
	json_decref(made);
	return rc;
}

static int connect_to(const struct invocation *inv, struct client *c, struct corral_error *err) {
	if (inv->token_file != NULL && streq(inv->token_file, "-")) { /* stdin is the agent's */
		return usage_error(err, "corral mcp --session sess_… --token-file FILE",
				   "--token-file of `corral mcp` needs a file");
	}
	int rc = client_open_own(c, inv->session, inv->token_file, err);
	return rc == 1 ? ask_daemon(inv->session, c, err) : rc;
}

/* ---- the relay ---- */

/* Passes one piece on.  1: it did; 0: the end of `from`; -1: `to` is gone. */
static int pass(int from, int to) {
	char data[64 * 1024];
	ssize_t n = read(from, data, sizeof data);

	if (n < 0 && errno == EINTR) {
		return 1;
	}
	return n <= 0 ? 0 : fd_write_all(to, data, (size_t)n) == 0 ? 1 : -1;
}

static int relay(int fd) {
	struct pollfd slots[] = {{.fd = STDIN_FILENO, .events = POLLIN},
				 {.fd = fd, .events = POLLIN}};

	for (;;) {
		if (poll(slots, ARRAY_LEN(slots), -1) < 0) {
			continue; /* EINTR */
		}
		if (slots[1].revents != 0 && pass(fd, STDOUT_FILENO) != 1) {
			return 0; /* the session or the daemon has ended, or the agent */
		}
		if (slots[0].revents != 0 && pass(STDIN_FILENO, fd) != 1) {
			slots[0].fd = -1; /* the daemon still answers the requests that it has */
			(void)shutdown(fd, SHUT_WR);
		}
	}
}

int verb_mcp_session(struct invocation *inv, struct corral_error *err) {
	struct client c;

	if (sodium_init() < 0) {
		return setup_error(err, "", "libsodium cannot be initialised");
	}
	if (check_options(inv, err) != 0 || connect_to(inv, &c, err) != 0) {
		return -1;
	}
	(void)signal(SIGPIPE, SIG_IGN); /* a write to an agent that is gone returns EPIPE */
	int rc = relay(c.fd);
	client_close(&c);
	return rc;
}
