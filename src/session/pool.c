/* SPDX-License-Identifier: Apache-2.0 */
/* The pools of waiting sandboxes: which process keeps which, and how many there may be.
 *
 * A keeper is a fork of `corral run`; it serves callers itself, and ends when its connection to
 * the daemon does.  The daemon gives each key to one keeper.
 *
 * Should:   remove the socket of a keeper that was killed.
 * Must not: hold a sandbox: the daemon is in no caller's control group or namespace.
 * Fails:    closed: without the daemon's consent there is no keeper. */
#include "session/daemon.h"

#include "base/str.h"
#include "rpc/message.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static bool is_key(const char *text) {
	return strlen(text) == POOL_KEY_LENGTH &&
	       strspn(text, "0123456789abcdef") == POOL_KEY_LENGTH;
}

size_t pool_total(const struct daemon *d, size_t *ret_sandboxes) {
	size_t n = 0;

	*ret_sandboxes = 0;
	for (const struct conn *c = d->conns; c != NULL; c = c->next) {
		n += c->pool[0] != '\0';
		*ret_sandboxes += c->pool_count;
	}
	return n;
}

static bool is_held(const struct daemon *d, const char *key) {
	for (const struct conn *c = d->conns; c != NULL; c = c->next) {
		if (streq(c->pool, key)) {
			return true;
		}
	}
	return false;
}

int pool_hold(struct request *r, json_t **ret, struct fault *f) {
	struct conn *c = r->conn;
	const char *key = "";
	json_int_t count = 0;
	size_t unused;

	if (request_unpack(r, f, "{s:s,s:I}", "key", &key, "count", &count) != 0) {
		return -1;
	}
	if (!is_key(key) || count < 1 || count > 64 || c->pool[0] != '\0') {
		return fault_set(f, MESSAGE_INVALID_PARAMS,
				 "params: key has to be 32 digits, count "
				 "1 to 64, once for a connection");
	}
	if (is_held(c->daemon, key)) {
		return fault_set(f, FAULT_STATE, "another process keeps this pool");
	}
	if (pool_total(c->daemon, &unused) >= POOLS_MAX) {
		return fault_set(f, FAULT_LIMIT, "there are %d pools, which is the limit",
				 POOLS_MAX);
	}
	memcpy(c->pool, key, sizeof c->pool);
	c->pool_count = (size_t)count;
	*ret = json_object();
	return 0;
}

void pool_released(const struct conn *c) {
	if (c->pool[0] != '\0') {
		char path[PATH_MAX + 64];
		(void)snprintf(path, sizeof path, "%s/%s.sock", c->daemon->places.pools, c->pool);
		(void)unlink(path); /* the keeper may have done it */
	}
}
