/* SPDX-License-Identifier: Apache-2.0 */
/* The client's side of the short way to a session (direct.h).
 *
 * Should:   touch little memory, and no JSON: the start of this process is most of its time.
 * Must not: send a command twice: after the request was sent, the daemon is not asked to run it,
 *           unless the supervisor answers that it has not; send anything to another user's socket.
 * Fails:    before the request was sent, by leaving it to the daemon; after it, with an error that
 *           has the reason why the session ended, as the daemon tells it. */
#include "client/direct.h"

#include "base/auto.h"
#include "base/fdpass.h"
#include "base/runtime_dir.h"
#include "base/unix_address.h"
#include "cli/cli.h"
#include "client/client.h"
#include "client/session_id.h"

#include <errno.h>
#include <stdio.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

/* The daemon learns the end of a supervisor soon after its client. */
#define END_TRIES 50
#define END_PAUSE_MS 20

/* -1: there is no such socket. */
static int connect_to(const char *session) {
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	char *path = address.sun_path;
	const size_t cap = sizeof address.sun_path;
	struct ucred peer;
	socklen_t size = sizeof peer;

	if ((!session_id_is_valid(session) && !session_name_is_valid(session)) ||
	    runtime_dir_find(getenv("XDG_RUNTIME_DIR"), path, cap) != 0) {
		return -1;
	}
	size_t len = strlen(path), more = strlen(session) + 1;
	if (more + 3 > cap - len) {
		return -1;
	}
	memcpy(path + len, "/x/", 3);
	memcpy(path + len + 3, session, more);
	auto_fd fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof address) != 0 ||
	    getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0 || peer.uid != geteuid()) {
		return -1;
	}
	return take_fd(&fd);
}

/* False: nothing was sent. */
static bool send_request(int fd, struct iovec request) {
	static const int streams[DIRECT_FDS] = {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO};

	return fdpass_send(fd, request, streams, DIRECT_FDS, 0) == 0;
}

static void fail(struct corral_error *err, enum corral_error_kind kind, const char *message,
		 const char *remedy) {
	*err = (struct corral_error){.kind = kind};
	(void)snprintf(err->layer, sizeof err->layer, "daemon");
	(void)snprintf(err->message, sizeof err->message, "%s", message);
	(void)snprintf(err->remedy, sizeof err->remedy, "%s", remedy);
}

/* Whether the session has ended, and then the error. */
static bool has_ended(const char *session, struct corral_error *err) {
	struct client c;
	json_t *answer = NULL;
	struct client_call call = {.method = "session.show",
				   .params = json_pack("{s:s}", "session", session)};

	if (client_open_admin(&c, err) != 0) {
		json_decref(call.params);
		fail(err, CORRAL_E_SETUP, "the daemon closed the connection",
		     "corral daemon status");
		return true; /* the session ended with it (H5) */
	}
	bool ended = client_call(&c, &call, &answer, err) != 0;
	client_close(&c);
	const char *state = json_string_value(json_object_get(answer, "state"));
	const char *reason = json_string_value(json_object_get(answer, "reason"));
	if (state != NULL && (strcmp(state, "STOPPED") == 0 || strcmp(state, "FAILED") == 0)) {
		ended = true;
		fail(err, CORRAL_E_REFUSED, "the session has ended",
		     "a new one: corral session create");
		(void)snprintf(err->message, sizeof err->message, "the session has ended: %s",
			       reason == NULL ? "" : reason);
	}
	json_decref(answer);
	return ended;
}

/* The supervisor closed the connection without an answer: it has ended, or will. */
static int lost(const char *session, struct corral_error *err) {
	const struct timespec pause = {.tv_nsec = END_PAUSE_MS * 1000000L};

	for (int i = 0; i < END_TRIES; i++) {
		if (has_ended(session, err)) {
			return -1;
		}
		(void)nanosleep(&pause, NULL); /* a signal only shortens it */
	}
	fail(err, CORRAL_E_SETUP, "the supervisor of the session closed the connection",
	     "corral session list");
	return -1;
}

static void copy_text(char *ret, size_t cap, const char *text) {
	(void)snprintf(ret, cap, "%s", text == NULL ? "" : text);
}

static int read_answer(const char *bytes, size_t len, int *ret_status, struct corral_error *err) {
	struct direct_answer a;
	size_t at = sizeof a;

	memcpy(&a, bytes, sizeof a);
	if (a.end == DIRECT_DAEMON) {
		return 1;
	}
	if (a.end == DIRECT_RAN) {
		const char *note;
		while ((note = direct_text(bytes, len, &at)) != NULL) {
			print_note("%s", note);
		}
		*ret_status = a.status;
		return 0;
	}
	*err = (struct corral_error){.kind = a.kind > CORRAL_E_NONE && a.kind <= CORRAL_E_FILE
						     ? (enum corral_error_kind)a.kind
						     : CORRAL_E_SETUP,
				     .sys_errno = a.sys_errno};
	copy_text(err->layer, sizeof err->layer, direct_text(bytes, len, &at));
	copy_text(err->message, sizeof err->message, direct_text(bytes, len, &at));
	copy_text(err->remedy, sizeof err->remedy, direct_text(bytes, len, &at));
	return -1;
}

int direct_exec(const char *session, const struct direct_command *c, int *ret_status,
		struct corral_error *err) {
	char bytes[DIRECT_BYTES]; /* request, then answer: short ones touch one page of it */
	size_t len = direct_request_write(bytes, c);
	ssize_t n;

	auto_fd fd = len == 0 ? -1 : connect_to(session);
	if (fd < 0 || !send_request(fd, (struct iovec){bytes, len})) {
		return 1;
	}
	/* A supervisor that closes the connection without reading the request resets it: the answer
	 * that nothing was done comes after that. */
	int resets = 0;
	do {
		n = recv(fd, bytes, sizeof bytes, 0);
	} while (n < 0 && (errno == EINTR || (errno == ECONNRESET && resets++ == 0)));
	return n < (ssize_t)sizeof(struct direct_answer)
		       ? lost(session, err)
		       : read_answer(bytes, (size_t)n, ret_status, err);
}
