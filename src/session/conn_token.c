/* SPDX-License-Identifier: Apache-2.0 */
/* The end of a scope: a token expires or is revoked.
 *
 * Should:   end the pending commands of the connection, with an error: the client may not read
 *           their output any more.
 * Must not: touch a process of the session itself, which needs no token.
 * Fails:    closed: without a valid token a connection can only authenticate. */
#include "session/daemon.h"

void conn_token_end(struct conn *c, const char *why) {
	struct fault f;

	(void)fault_set(&f, FAULT_NO_TOKEN, "%s", why);
	(void)err_fix(&f.e, "make a new one: corral session token SESSION");
	c->scope = SCOPE_NONE;
	c->expires = 0;
	live_forget(c->daemon, c, &f);
}

int64_t conn_tokens_check(struct daemon *d, int64_t now) {
	int64_t wall = daemon_now(), next = 0;

	for (struct conn *c = d->conns; c != NULL; c = c->next) {
		if (c->expires == 0) {
			continue;
		}
		int64_t left = c->expires - wall;
		if (left <= 0) {
			conn_token_end(c, "the token has expired");
		} else if (next == 0 || now + left < next) {
			next = now + left;
		}
	}
	return next;
}
