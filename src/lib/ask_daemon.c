/* SPDX-License-Identifier: Apache-2.0 */
/* Hands the questions of a run to the user's daemon (CORRAL_ASK_DAEMON).
 *
 * The run keeps one end of a socket pair and speaks the protocol of --ask-fd on it; the daemon gets
 * the other end on its admin socket, with the id of the run.  The daemon authenticates this process
 * by its credentials, and this process the daemon by the directory of the socket, which is private.
 *
 * Should:   be called once for a run, after its plan.
 * Must not: wait longer than ANSWER_MS for the daemon.
 * Fails:    closed: without the daemon's consent the run does not start. */
#include "lib/ask.h"

#include "base/auto.h"
#include "base/clock.h"
#include "base/emit.h"
#include "base/fdpass.h"
#include "base/runtime_dir.h"
#include "base/str.h"
#include "base/unix_address.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#define ANSWER_MS 5000

static int connect_daemon(const struct host *h, struct err *e) {
	char dir[PATH_MAX], path[PATH_MAX + 16] = "";
	struct sockaddr_un at;
	socklen_t len = 0;

	if (runtime_dir_find(plan_caller_variable(h, "XDG_RUNTIME_DIR"), dir, sizeof dir) == 0) {
		(void)snprintf(path, sizeof path, "%s/admin.sock", dir); /* too long: no socket */
		len = unix_address_set(&at, path, false);
	}
	auto_fd fd = len == 0 ? -1 : socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || connect(fd, (struct sockaddr *)&at, len) != 0) {
		(void)err_set(e, ERR_SETUP, "ask",
			      "the questions need a terminal or the daemon, and there is neither: "
			      "nothing listens "
			      "on %s",
			      path[0] == '\0' ? "the daemon's socket" : path);
		return err_fix(e,
			       "start the daemon (corral daemon), use a terminal, or --ask-fd N");
	}
	return take_fd(&fd);
}

static int send_request(const struct prepared *p, int daemon, int end, struct err *e) {
	struct buf line;
	struct emit j;

	buf_init(&line);
	emit_init(&j, &line, false);
	emit_object(&j, NULL);
	emit_string(&j, "jsonrpc", "2.0");
	emit_int(&j, "id", 1);
	emit_string(&j, "method", "ask.hold");
	emit_object(&j, "params");
	emit_string(&j, "run", p->host.run_id == NULL ? "" : p->host.run_id);
	emit_string(&j, "workspace", p->plan.workspace);
	emit_end_object(&j);
	emit_end_object(&j);
	buf_puts(&line, "\n");
	struct iovec body = {line.data, line.len};
	int rc = buf_failed(&line) ? -ENOMEM : fdpass_send(daemon, body, &end, 1, 0);
	buf_done(&line);
	errno = -rc;
	return rc == 0 ? 0 : err_sys(e, "ask", "cannot send a request to the daemon");
}

/* One line; an error response is the daemon's refusal. */
static int read_answer(int daemon, struct err *e) {
	char text[4096] = "";
	size_t len = 0;
	int64_t until = clock_ms() + ANSWER_MS;
	struct pollfd ready = {.fd = daemon, .events = POLLIN};

	while (len < sizeof text - 1 && memchr(text, '\n', len) == NULL) {
		int64_t left = until - clock_ms();
		if (left <= 0 || poll(&ready, 1, (int)left) < 0) {
			break;
		}
		ssize_t n = recv(daemon, text + len, sizeof text - 1 - len, MSG_DONTWAIT);
		if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) {
			break;
		}
		len += n > 0 ? (size_t)n : 0;
	}
	text[len] = '\0';
	if (strstr(text, "\"result\":") != NULL) {
		return 0;
	}
	const char *why = strstr(text, "\"message\":\"");
	why = why == NULL ? "it does not answer" : why + strlen("\"message\":\"");
	return err_set(e, ERR_SETUP, "ask",
		       "the daemon does not take the questions of this run: %.*s",
		       (int)strcspn(why, "\""), why);
}

int ask_daemon_open(const struct prepared *p, int *ret, struct err *e) {
	int pair[2];
	auto_fd daemon = connect_daemon(&p->host, e);

	if (daemon < 0) {
		return -1;
	}
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) {
		return err_sys(e, "ask", "cannot create a socket pair");
	}
	auto_fd own = pair[0], theirs = pair[1];
	if (send_request(p, daemon, theirs, e) != 0 || read_answer(daemon, e) != 0) {
		return -1;
	}
	*ret = take_fd(&own);
	return 0;
}
