/* SPDX-License-Identifier: Apache-2.0 */
/* Passes unix sockets of the host (net.sockets, --socket) into the sandbox.
 *
 * With namespaces each is bind mounted read-only: connect(2) works on a read-only mount, and the
 * socket's mode still applies.  Without namespaces it keeps its path, and the broker, which
 * performs every connect(2), allows these.
 *
 * Should:   warn about the access that a socket gives, where data/sockets.c has it.
 * Must not: pass a socket of Corral, or the target of a symlink that a command created.
 * Fails:    closed: a path that is not a socket is an error. */
#include "plan/internal.h"

#include "base/path.h"
#include "base/str.h"
#include "data/sockets.h"
#include "policy/endpoint.h"

#include <fnmatch.h>
#include <stdlib.h>

static int cannot_pass(const struct item *it, const char *why, const char *fix, struct err *e) {
	char origin[128];
	err_set(e, ERR_USAGE, WHERE, "net.sockets %s (%s): %s", it->str,
		policy_origin_text(&it->origin, origin, sizeof origin), why);
	return err_fix(e, "%s", fix);
}

static int check_socket(struct builder *b, const struct item *it, const char *path,
			const char *full, struct err *e) {
	if (full == NULL) {
		return cannot_pass(it, "no such socket", "start the service that creates it", e);
	}
	if (host_fs_look(b, full).kind != LOOK_SOCKET) {
		return cannot_pass(it, "not a socket", "use --read or --write for a file", e);
	}
	if (plan_own_dir(b, full) != NULL || fnmatch("*/corral/admin.sock", full, 0) == 0) {
		return cannot_pass(it, "it belongs to Corral itself", "remove it", e);
	}
	if (view_led_astray(b, path, full)) {
		return cannot_pass(it, "the path goes through a symlink in a writable tree",
				   "use the path of the socket itself, if you trust it", e);
	}
	return 0;
}

static int check_place(const struct builder *b, const struct item *it, bool moved,
		       const char *target, struct err *e) {
	const char *why = moved ? plan_reserved_reason(target) : NULL;
	if (moved && b->no_namespaces) {
		return cannot_pass(it, "another path inside needs a mount namespace",
				   "remove :DEST, or use a host with user namespaces", e);
	}
	if (b->plan->engine != ENGINE_SEATBELT && b->no_namespaces &&
	    !(b->h->notify && b->h->sockets)) {
		return cannot_pass(it, "seccomp user notification is not available",
				   "`corral status` lists the missing features", e);
	}
	return why == NULL ? 0 : cannot_pass(it, why, "choose another path inside", e);
}

static void warn_about(struct builder *b, const struct net_socket *s) {
	const struct socket_row *row = socket_row_for(s->source);
	if (row != NULL) {
		char origin[128];
		plan_warn(b, plan_keep_printf(b, "%s (%s) is %s socket: %s", s->source,
					      policy_origin_text(&s->origin, origin, sizeof origin),
					      row->what, row->meaning));
	}
}

static void mount_socket(struct builder *b, const struct net_socket *s, const char *at,
			 bool alias) {
	struct look seen = host_fs_look(b, s->source);
	struct mount m = {
		.kind = MOUNT_BIND,
		.target = at,
		.source = s->source,
		.is_file = true,
		.dev = seen.dev,
		.ino = seen.ino,
		.origin = s->origin,
		.note = "net.sockets",
	};
	mount_request_add(b, m, RANK_WRITE)->alias = alias;
}

static int show_socket(struct builder *b, const struct item *it, struct net_socket *ret,
		       struct err *e) {
	const char *split = endpoint_socket_split(it->str);
	size_t len = split == NULL ? strlen(it->str) : (size_t)(split - it->str);
	const char *path = plan_keep_printf(b, "%.*s", (int)len, it->str);
	const char *full = host_fs_resolve(b, path);

	if (check_socket(b, it, path, full, e) != 0 ||
	    check_place(b, it, split != NULL, split == NULL ? path : split + 1, e) != 0) {
		return -1;
	}
	const struct socket_row *row = socket_row_for(full);
	const struct look seen = host_fs_look(b, full);
	*ret = (struct net_socket){
		.source = full,
		.target = split == NULL ? full : split + 1,
		.meaning = row == NULL ? NULL : row->meaning,
		.origin = it->origin,
		.dev = seen.dev,
		.ino = seen.ino,
	};
	/* The mount of the workspace shows it already. */
	if (b->no_namespaces || (split == NULL && path_within(full, b->plan->workspace))) {
		return 0;
	}
	mount_socket(b, ret, ret->target, false);
	if (split == NULL && !streq(path, full)) {
		mount_socket(b, ret, path, true);
	}
	return 0;
}

static int socket_order(const void *left, const void *right) {
	const struct net_socket *a = left, *b = right;
	int order = strcmp(a->target, b->target);
	return order != 0 ? order : strcmp(a->source, b->source);
}

int net_show(struct builder *b, struct err *e) {
	const struct value *list = &b->p->values[KEY_NET_SOCKETS];
	struct net_plan *net = &b->plan->net;

	net->sockets = arena_array(b->a, list->count + 1, sizeof *net->sockets);
	if (net->sockets == NULL) {
		return err_memory(e, WHERE);
	}
	for (size_t i = 0; i < list->count; i++) {
		if (show_socket(b, &list->items[i], &net->sockets[net->nsockets], e) != 0) {
			return -1;
		}
		net->nsockets++;
	}
	qsort(net->sockets, net->nsockets, sizeof *net->sockets, socket_order);
	for (size_t i = 0; i < net->nsockets; i++) {
		warn_about(b, &net->sockets[i]);
	}
	return 0;
}
