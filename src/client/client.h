/* SPDX-License-Identifier: Apache-2.0 */
/* A client of the daemon, for the verbs: one connection, one request at a time. */
#ifndef CORRAL_CLIENT_CLIENT_H
#define CORRAL_CLIENT_CLIENT_H

#include "corral.h"

#include "rpc/frame.h"

#include <jansson.h>

struct client {
	int fd;
	int cancel; /* 0: none; else readable, or closed, when the caller wants the end */
	struct frame_reader in;
	json_int_t last_id;
};

/* Connects to the admin socket; starts a daemon where the user has allowed that. */
int client_open_admin(struct client *c, struct corral_error *err);
/* The same with a daemon that runs already. */
int client_open_running(struct client *c, struct corral_error *err);

/* Connects to the socket of a session, and sends the token unless it is "". */
int client_open_session(struct client *c, const char *socket, const char *token,
			struct corral_error *err);
/* Without the admin socket: inside the session itself to its own socket, with a token file to the
 * socket of the session with this id.  1: neither is the case. */
int client_open_own(struct client *c, const char *session, const char *token_file,
		    struct corral_error *err);
void client_close(struct client *c);

struct client_call {
	const char *method;
	json_t *params; /* stolen; NULL: none */
	const int *fds;
	size_t nfds;
};

/* Sends a request and waits for its answer; the caller frees *ret with json_decref(). */
int client_call(struct client *c, const struct client_call *call, json_t **ret,
		struct corral_error *err);

/* The same in two steps; the caller polls c->fd in between. */
int client_send(struct client *c, const struct client_call *call, struct corral_error *err);
int client_answer(struct client *c, json_t **ret, struct corral_error *err);

/* Waits for the next notification; its params belong to the caller.  1: the daemon closed. */
int client_next(struct client *c, json_t **ret, struct corral_error *err);
/* -1, with the error for that. */
int client_lost(struct corral_error *err);

#endif
