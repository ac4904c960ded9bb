/* SPDX-License-Identifier: Apache-2.0 */
/* The verbs' side of the daemon's sockets.
 *
 * Should:   turn an error of the daemon into the error of the verb, with its remedy.
 * Must not: send anything to a socket of another user.
 * Fails:    with an error; the connection is of no use then. */
#include "client/client.h"

#include "base/auto.h"
#include "base/fd.h"
#include "base/str.h"
#include "base/unix_address.h"
#include "rpc/message.h"
#include "rpc/token_file.h"
#include "client/on_demand.h"
#include "client/places.h"
#include "client/session_id.h"

#include <errno.h>
#include <poll.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#define ANSWER_MAX ((size_t)64 * 1024 * 1024)
#define LOST "has it ended? corral daemon status; corral session list --all"

static int fail(struct corral_error *err, enum corral_error_kind kind, const char *message,
		const char *remedy) {
	*err = (struct corral_error){.kind = kind};
	(void)snprintf(err->layer, sizeof err->layer, "daemon");
	(void)snprintf(err->message, sizeof err->message, "%s", message);
	(void)snprintf(err->remedy, sizeof err->remedy, "%s", remedy);
	return -1;
}

static int fail_sys(struct corral_error *err, const char *message, const char *remedy) {
	int sys = errno;

	(void)fail(err, CORRAL_E_SETUP, message, remedy);
	err->sys_errno = sys;
	return -1;
}

/* Without a second descriptor to watch it waits here, which saves two calls of poll(2). */
static ssize_t receive(void *arg, void *data, size_t len) {
	const struct client *c = arg;

	return recv(c->fd, data, len, c->cancel > 0 ? MSG_DONTWAIT : 0);
}

static int open_socket(struct client *c, const char *path, const char *remedy,
		       struct corral_error *err) {
	struct sockaddr_un address;
	struct ucred peer;
	socklen_t len = unix_address_set(&address, path, false), size = sizeof peer;

	*c = (struct client){.fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)};
	if (c->fd < 0 || len == 0 || connect(c->fd, (struct sockaddr *)&address, len) != 0) {
		(void)fail_sys(err, "cannot connect to the daemon", remedy);
		drop_fd(&c->fd);
		return -1;
	}
	if (getsockopt(c->fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0 ||
	    peer.uid != geteuid()) {
		drop_fd(&c->fd);
		return fail(err, CORRAL_E_REFUSED, "the daemon on this socket is another user's",
			    "check XDG_RUNTIME_DIR");
	}
	frame_reader_init(&c->in, c->fd, ANSWER_MAX);
	c->in.receive = receive;
	c->in.receive_arg = c;
	/* Otherwise jansson reads /dev/urandom; the keys of the daemon's messages are Corral's. */
	json_object_seed(1);
	return 0;
}

/* No daemon is running: starts one, if the user has allowed it, and connects. */
static int on_demand(struct client *c, const struct places *p, struct corral_error *err) {
	struct on_demand d;

	if (on_demand_begin(&d, p, err) != 0) {
		return -1;
	}
	while (open_socket(c, p->admin, "", err) != 0) {
		if (on_demand_wait(&d, err) != 0) {
			return -1;
		}
	}
	return 0;
}

static int find_places(struct places *p, struct corral_error *err) {
	struct err e = {0};

	return places_find(p, &e) == 0 ? 0
				       : fail(err, CORRAL_E_SETUP, e.what, on_demand_remedy(e.fix));
}

int client_open_running(struct client *c, struct corral_error *err) {
	struct places p;

	return find_places(&p, err) == 0
		       ? open_socket(c, p.admin, on_demand_remedy("start it: corral daemon &"), err)
		       : -1;
}

int client_open_admin(struct client *c, struct corral_error *err) {
	struct places p;

	if (find_places(&p, err) != 0) {
		return -1;
	}
	if (open_socket(c, p.admin, "", err) == 0) {
		return 0;
	}
	return err->sys_errno == ENOENT || err->sys_errno == ECONNREFUSED ? on_demand(c, &p, err)
									  : -1;
}

int client_open_session(struct client *c, const char *socket, const char *token,
			struct corral_error *err) {
	json_t *answer = NULL;

	if (open_socket(c, socket, "is the session alive? corral session list", err) != 0) {
		if (err->sys_errno != 0) { /* a session that has ended has no socket */
			(void)snprintf(err->message, sizeof err->message,
				       "cannot connect to the session: %s", socket);
		}
		return -1;
	}
	if (token[0] == '\0') {
		return 0;
	}
	struct client_call call = {.method = "session.authenticate",
				   .params = json_pack("{s:s}", "token", token)};
	if (client_call(c, &call, &answer, err) != 0) {
		client_close(c);
		return -1;
	}
	json_decref(answer);
	return 0;
}

int client_open_own(struct client *c, const char *session, const char *token_file,
		    struct corral_error *err) {
	const char *inside = getenv("CORRAL_SESSION_SOCKET"), *id = getenv("CORRAL_SESSION_ID");
	char token[TOKEN_TEXT_LENGTH + 1] = "", path[PATH_MAX];
	struct places p;
	struct err e = {0};

	if (token_file == NULL) {
		bool own = inside != NULL && id != NULL && streq(id, session);
		return own ? client_open_session(c, inside, "", err) : 1;
	}
	if (!session_id_is_valid(session)) {
		return fail(err, CORRAL_E_USAGE, "--token-file needs the id of the session",
			    "an id is sess_ and 26 characters: corral session list");
	}
	if (places_find(&p, &e) != 0 || places_session_socket(&p, session, path) != 0) {
		return fail(err, CORRAL_E_SETUP, e.what, e.fix);
	}
	if (token_file_read(token_file, token, err) != 0) {
		return -1;
	}
	int rc = client_open_session(c, path, token, err);
	sodium_memzero(token, sizeof token);
	return rc;
}

void client_close(struct client *c) {
	frame_reader_done(&c->in);
	drop_fd(&c->fd);
}

/* The descriptors go with the first byte. */
static int send_line(const struct client *c, char *line, size_t len, const int *fds, size_t nfds) {
	union {
		char bytes[CMSG_SPACE(sizeof(int) * 3)];
		struct cmsghdr align;
	} control = {0};
	struct iovec body = {line, len};
	struct msghdr m = {.msg_iov = &body, .msg_iovlen = 1};

	if (nfds > 0) {
		m.msg_control = control.bytes;
		m.msg_controllen = CMSG_SPACE(sizeof(int) * nfds);
		struct cmsghdr *h = &control.align; /* CMSG_FIRSTHDR */
		h->cmsg_level = SOL_SOCKET;
		h->cmsg_type = SCM_RIGHTS;
		h->cmsg_len = CMSG_LEN(sizeof(int) * nfds);
		memcpy(CMSG_DATA(h), fds, sizeof(int) * nfds);
	}
	ssize_t n;
	do {
		n = sendmsg(c->fd, &m, MSG_NOSIGNAL);
	} while (n < 0 && errno == EINTR);
	return n < 0 ? -1 : fd_write_all(c->fd, line + n, len - (size_t)n);
}

int client_send(struct client *c, const struct client_call *call, struct corral_error *err) {
	size_t len = 0;
	json_t *request =
		json_pack("{s:s, s:I, s:s, s:o*}", "jsonrpc", "2.0", "id", (json_int_t)++c->last_id,
			  "method", call->method, "params", call->params);
	auto_free char *line = request == NULL ? NULL : message_format(request, &len);

	json_decref(request);
	if (line == NULL) {
		return fail(err, CORRAL_E_MEMORY, "out of memory", "");
	}
	line[len] = '\n'; /* instead of the NUL */
	if (send_line(c, line, len + 1, call->fds, call->nfds) != 0) {
		return fail_sys(err, "cannot send a request to the daemon", LOST);
	}
	return 0;
}

/* 1: the daemon closed the connection. */
static int next_message(struct client *c, json_t **ret, struct corral_error *err) {
	struct pollfd ready[] = {{.fd = c->fd, .events = POLLIN},
				 {.fd = c->cancel > 0 ? c->cancel : -1, .events = POLLIN}};
	struct message_fault why;
	char *line = NULL;
	size_t len = 0;

	for (;;) {
		switch (frame_next(&c->in, &line, &len)) {
		case FRAME_LINE:
			*ret = message_parse(line, len, &why);
			return *ret != NULL ? 0 : fail(err, CORRAL_E_SETUP, why.text, "");
		case FRAME_AGAIN:
			(void)poll(ready, ARRAY_LEN(ready), -1); /* after EINTR it is tried again */
			if (ready[1].revents != 0 && ready[0].revents == 0) {
				return fail(err, CORRAL_E_REFUSED, "cancelled by the caller", "");
			}
			break;
		case FRAME_END:
			return 1;
		default:
			return fail_sys(err, "cannot read the answer of the daemon", LOST);
		}
	}
}

static int fail_as_sent(const json_t *error, struct corral_error *err) {
	const json_t *data = json_object_get(error, "data");
	const char *layer = json_string_value(json_object_get(data, "layer"));
	const char *text = json_string_value(json_object_get(error, "message"));
	const char *remedy = json_string_value(json_object_get(data, "remedy"));
	json_int_t kind = json_integer_value(json_object_get(data, "error"));

	(void)fail(err,
		   kind > CORRAL_E_NONE && kind <= CORRAL_E_FILE ? (enum corral_error_kind)kind
								 : CORRAL_E_SETUP,
		   text == NULL ? "the daemon sent an error without a text" : text,
		   remedy == NULL ? "" : remedy);
	err->sys_errno = (int)json_integer_value(json_object_get(data, "errno"));
	if (layer != NULL && layer[0] != '\0') {
		(void)snprintf(err->layer, sizeof err->layer, "%s", layer);
	}
	return -1;
}

int client_lost(struct corral_error *err) {
	return fail(err, CORRAL_E_SETUP, "the daemon closed the connection", LOST);
}

int client_call(struct client *c, const struct client_call *call, json_t **ret,
		struct corral_error *err) {
	return client_send(c, call, err) != 0 ? -1 : client_answer(c, ret, err);
}

int client_answer(struct client *c, json_t **ret, struct corral_error *err) {
	for (;;) {
		json_t *answer = NULL;
		struct message m;
		struct message_fault why;
		int rc = next_message(c, &answer, err);
		if (rc != 0) {
			return rc < 0 ? -1 : client_lost(err);
		}
		if (message_read(answer, &m, &why) != 0 || m.kind != MESSAGE_RESPONSE) {
			json_decref(answer);
			continue; /* a notification */
		}
		const json_t *error = json_object_get(answer, "error");
		if (error != NULL) {
			rc = fail_as_sent(error, err);
		} else {
			*ret = json_incref(json_object_get(answer, "result"));
		}
		json_decref(answer);
		return rc;
	}
}

int client_next(struct client *c, json_t **ret, struct corral_error *err) {
	json_t *message = NULL;
	int rc = next_message(c, &message, err);

	if (rc != 0) {
		return rc;
	}
	*ret = json_incref(json_object_get(message, "params"));
	json_decref(message);
	return 0;
}
