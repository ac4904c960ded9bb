/* SPDX-License-Identifier: Apache-2.0 */
/* The daemon's part of the short way to a session (client/direct.h): the socket, its names, and the
 * ends of commands.
 *
 * The daemon binds the listener before it forks the supervisor, under a name that no client looks
 * for, and closes its own copy after the fork: when the supervisor ends, a client is refused by the
 * kernel.  The names that clients look for, the id and the name of the session, are links to it.
 *
 * Should:   show the names only while the session is RUNNING (H9).
 * Must not: keep the listener open in the daemon: requests would wait there for ever.
 * Fails:    a session without the socket does not start; without a name of it, clients use the
 *           daemon. */
#include "session/daemon.h"

#include "base/auto.h"
#include "base/clock.h"
#include "base/unix_address.h"

#include <poll.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>

#define SOCKET_QUEUE 64

/* The longest name of a session that fits is a file name; whether a client can connect to it is
 * the client's matter. */
static void path_of(const struct live *l, const char *name, const char *suffix,
		    char ret[PATH_MAX]) {
	(void)snprintf(ret, PATH_MAX, "%.*s/%s%s", PATH_MAX - 128, l->daemon->places.direct, name,
		       suffix);
}

int direct_socket_open(struct live *l, struct err *e) {
	struct sockaddr_un address;
	char path[PATH_MAX];
	auto_fd fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	void *shared = mmap(NULL, sizeof *l->counts, PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED) {
		return err_sys(e, "session", "cannot map memory for the number of commands");
	}
	l->counts = shared; /* anonymous memory is zeroed */
	path_of(l, l->id, ".new", path);
	socklen_t len = unix_address_set(&address, path, false);
	if (fd < 0 || len == 0 || bind(fd, (struct sockaddr *)&address, len) != 0) {
		return err_sys_at(e, "session", "cannot create the socket", path);
	}
	if (chmod(path, 0600) != 0 || listen(fd, SOCKET_QUEUE) != 0) {
		return err_sys_at(e, "session", "cannot listen on the socket", path);
	}
	l->direct = take_fd(&fd);
	return 0;
}

void direct_socket_passed(struct live *l) {
	drop_fd(&l->direct);
}

static void show_as(const struct live *l, const char *name) {
	char hidden[PATH_MAX], shown[PATH_MAX];

	path_of(l, l->id, ".new", hidden);
	path_of(l, name, "", shown);
	(void)unlink(shown);        /* of an earlier session, whose end could not remove it */
	(void)!link(hidden, shown); /* else clients use the daemon */
}

void direct_socket_publish(struct live *l) {
	show_as(l, l->id);
	if (l->name[0] != '\0') {
		show_as(l, l->name);
	}
	l->published = true;
}

static void hide(const struct live *l, const char *name, const char *suffix) {
	char path[PATH_MAX];

	path_of(l, name, suffix, path);
	(void)unlink(path); /* places_sweep() removes what stays */
}

void direct_socket_withdraw(struct live *l) {
	if (!l->published) {
		return;
	}
	l->published = false;
	hide(l, l->id, "");
	if (l->name[0] != '\0') {
		hide(l, l->name, "");
	}
}

void direct_socket_done(struct live *l) {
	drop_fd(&l->direct);
	direct_socket_withdraw(l);
	if (l->counts != NULL) {
		hide(l, l->id, ".new");
		(void)munmap(l->counts, sizeof *l->counts); /* cannot fail for this size */
		l->counts = NULL;
	}
}

uint32_t direct_socket_number(struct direct_counts *c) {
	uint32_t number;

	do {
		number = atomic_fetch_add(&c->last_call, 1) + 1;
	} while (number == 0); /* after 2^32 commands */
	return number;
}

/* ---- commands whose end the daemon does not know yet ---- */

/* A supervisor reports an end within a millisecond; one that does not has lost it. */
#define SETTLE_MS 500

static void settle(struct live *l, uint32_t answered) {
	int64_t until = clock_ms() + SETTLE_MS, left = SETTLE_MS;

	while ((int32_t)(answered - l->reported) > 0 && l->channel.fd >= 0 && left > 0) {
		struct pollfd ready = {.fd = l->channel.fd, .events = POLLIN};
		if (poll(&ready, 1, (int)left) == 1) {
			live_receive(l);
		}
		left = until - clock_ms();
	}
	if (left <= 0) {
		l->reported = answered; /* it is not waited for again */
	}
}

/* Writes to no session that has nothing to settle: its page would be copied for every supervisor
 * that was forked before. */
void direct_settle(struct daemon *d) {
	for (struct live *l = d->lives; l != NULL; l = l->next) {
		uint32_t answered = atomic_load(&l->counts->answered);
		if (answered != l->reported) {
			settle(l, answered);
		}
	}
}
