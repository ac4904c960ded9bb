/* SPDX-License-Identifier: Apache-2.0 */
/* Finds a sandbox of the pool for a run, or begins to keep some for the next one.
 *
 * Should:   compute the key from all that the sandbox is made of (J1).
 * Must not: let a run fail or wait because of the pool; keep one for a caller that does not exit
 *           next, whose threads a fork would not have.
 * Fails:    open to the cold run (J7). */
#include "lib/pool.h"

#include "backend/pool.h"
#include "base/auto.h"
#include "base/runtime_dir.h"
#include "base/unix_address.h"
#include "plan/fingerprint.h"

#include <errno.h>
#include <sodium/crypto_generichash.h>
#include <sodium/utils.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <unistd.h>

/* Why the pool does not serve this call; NULL: it does. */
static const char *refuses(const struct prepared *p, const struct corral_options *o) {
	if (o->terminal != 0) {
		return "the run has a terminal";
	}
	if (o->ask != CORRAL_ASK_NO || o->nfds > 0 || o->timings != 0) {
		return "the run has questions, descriptors or timings";
	}
	return p->backend->sessions ? parked_refuses(&p->plan) : "its backend keeps none";
}

/* The version is part of the key: keeper and caller have the same structs. */
static int make_key(const struct prepared *p, char ret[33]) {
	static const char version[] = CORRAL_VERSION " 1";
	unsigned char hash[16];
	struct buf bytes;

	buf_init(&bytes);
	buf_add(&bytes, version, sizeof version);
	plan_fingerprint(&p->plan, &p->host, &bytes);
	int rc = heritage_read(&bytes) != 0 || buf_failed(&bytes) ||
		 crypto_generichash(hash, sizeof hash, (const unsigned char *)bytes.data, bytes.len,
				    NULL, 0) != 0;
	buf_done(&bytes);
	(void)sodium_bin2hex(ret, 33, hash, sizeof hash);
	return rc;
}

static int connect_to(const char *path, int type) {
	struct sockaddr_un at;
	socklen_t len = unix_address_set(&at, path, false);
	auto_fd fd = len == 0 ? -1 : socket(AF_UNIX, type | SOCK_CLOEXEC, 0);

	/* Above the streams: a closed one must not become this connection. */
	if (fd < 3 || connect(fd, (struct sockaddr *)&at, len) != 0) {
		return -1;
	}
	return take_fd(&fd);
}

static bool socket_path(const struct pool_use *u, char *ret, size_t cap) {
	int n = snprintf(ret, cap, "%s/p/%s.sock", u->dir, u->key);

	return n > 0 && (size_t)n < cap;
}

void pool_begin(const struct prepared *p, const struct corral_options *o,
		struct run_request *request, struct pool_use *ret) {
	int64_t count = policy_num(&p->policy, KEY_DAEMON_POOL);
	char path[108];

	*ret = (struct pool_use){.fd = 0};
	if (count <= 0 || o->pool == 0 || refuses(p, o) != NULL) {
		return;
	}
	if (runtime_dir_find(plan_caller_variable(&p->host, "XDG_RUNTIME_DIR"), ret->dir,
			     sizeof ret->dir) != 0 ||
	    make_key(p, ret->key) != 0 || !socket_path(ret, path, sizeof path)) {
		return;
	}
	ret->wanted = true;
	ret->count = count < KEEPER_MAX ? (size_t)count : KEEPER_MAX;
	int fd = connect_to(path, SOCK_SEQPACKET);
	if (fd >= 0) {
		request->pool = ret->fd = fd;
	}
}

static _Noreturn void keep(const struct pool_use *u, struct prepared *p, int daemon) {
	char path[108], line[160];
	struct keeper_wish w = {.plan = &p->plan,
				.host = &p->host,
				.socket = path,
				.hold = line,
				.daemon = daemon,
				.count = u->count};

	(void)snprintf(line, sizeof line,
		       "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"pool.hold\","
		       "\"params\":{\"key\":\"%s\",\"count\":%zu}}\n",
		       u->key, u->count); /* it fits */
	if (!socket_path(u, path, sizeof path)) {
		_exit(0);
	}
	keeper_main(&w);
}

void pool_end(struct pool_use *u, struct prepared *p, bool ran) {
	char path[120];
	bool found = u->fd > 0;

	if (found) {
		(void)close(u->fd); /* nothing can be done about a failing close */
		u->fd = 0;
	}
	if (!u->wanted || found || !ran) {
		return;
	}
	(void)snprintf(path, sizeof path, "%s/admin.sock", u->dir); /* too long: no socket */
	auto_fd daemon = connect_to(path, SOCK_STREAM);
	if (daemon >= 0 && fork() == 0) {
		keep(u, p, daemon);
	}
}

int pool_note(struct prepared *p, struct err *e) {
	const struct corral_options usual = CORRAL_OPTIONS_INIT;

	if (policy_num(&p->policy, KEY_DAEMON_POOL) <= 0) {
		return 0;
	}
	const char *why = refuses(p, &usual);
	const char *text =
		why == NULL
			? "daemon.pool: a waiting sandbox can serve this run"
			: arena_printf(&p->arena, "daemon.pool: this run is always cold: %s", why);
	struct plan *plan = &p->plan;
	if (text == NULL || arena_grow(&p->arena, &plan->notes, plan->nnotes, &plan->notes_cap,
				       sizeof *plan->notes) != 0) {
		return err_memory(e, "library");
	}
	plan->notes[plan->nnotes++] = text;
	return 0;
}
