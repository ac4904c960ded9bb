/* SPDX-License-Identifier: Apache-2.0 */
/* Keeps a pool of sandboxes; linux/parked.h has the theory and the invariants.
 *
 * Should:   have `count` sandboxes ready, give each to one caller (J2), reap them.
 * Must not: hold a descriptor, the terminal or the environment of the run that it was forked from;
 *           print.
 * Fails:    closed: a step that fails ends the keeper and every sandbox that waits; runs are cold
 *           then. */
#include "backend/home.h"
#include "backend/pool.h"
#include "base/auto.h"
#include "base/clock.h"
#include "base/unix_address.h"
#include "linux/kernel_api.h"
#include "linux/parked.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* A keeper that no run has used for so long ends: its sandboxes hold the file systems that they
 * show. */
#define IDLE_MS ((int64_t)5 * 60 * 1000)

/* A new sandbox is built this long after one was taken: a processor is busy with the command. */
#define BUILD_AFTER_MS 3

/* The daemon's answer. */
#define HOLD_MS 2000

/* The connection to the daemon. */
#define DAEMON_FD 3

/* Sandboxes that run and that the keeper will reap. */
#define TAKEN_MAX 256

struct spare {
	struct child child;
	int requests; /* our end of its socket */
	bool ready;   /* it waits for its command */
};

struct keeper {
	const struct keeper_wish *wish;
	struct arena arena;
	int listener, mounts;
	struct home_use home;
	struct spare spares[KEEPER_MAX];
	size_t nspares;
	int taken[TAKEN_MAX]; /* pidfds */
	size_t ntaken;
	int64_t used_at, build_at; /* build_at 0: at once; -1: all are built */
};

static _Noreturn void keeper_end(struct keeper *k) {
	(void)unlink(k->wish->socket); /* the daemon does it, too (J6) */
	for (size_t i = 0; i < k->nspares; i++) {
		drop_fd(&k->spares[i].requests);
		spawn_finish(&k->spares[i].child, NULL);
	}
	home_end(&k->home);
	_exit(0);
}

/* ---- the beginning ---- */

/* An address in /proc/self/stat, its field counted from 1; they follow the name, which is in
 * brackets. */
static char *stat_field(const char *text, int field) {
	const char *at = strrchr(text, ')');
	void *address = NULL;

	for (int n = 2; at != NULL && n < field; n++) {
		at = strchr(at + 1, ' ');
	}
	uintptr_t number = at == NULL ? 0 : (uintptr_t)strtoull(at + 1, NULL, 10);
	memcpy(&address, &number, sizeof address);
	return address;
}

/* The arguments and the environment of the run, as ps(1) shows them, may have secrets. */
static void wipe_arguments(void) {
	static const char name[] = "corral: a pool of sandboxes";
	enum { ARG_START = 48, ARG_END, ENV_START, ENV_END };
	char text[2048] = "";
	auto_fd fd = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
	char *const at[] = {stat_field(text, ARG_START), stat_field(text, ENV_START)};
	const char *const end[] = {stat_field(text, ARG_END), stat_field(text, ENV_END)};

	for (size_t i = 0; n > 0 && i < ARRAY_LEN(at); i++) {
		if (at[i] != NULL && end[i] > at[i]) {
			explicit_bzero(at[i], (size_t)(end[i] - at[i]));
		}
	}
	if (n > 0 && at[0] != NULL && end[0] > at[0] + sizeof name) {
		memcpy(at[0], name, sizeof name);
	}
}

/* Nothing of the caller's stays: neither its streams, which it waits for, nor its environment,
 * which may have secrets. */
static bool leave_caller(const struct keeper_wish *w) {
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	sigset_t none;

	(void)setsid(); /* fails only for a leader of a process group, which a fork is not */
	for (int i = 0; i < 3; i++) {
		if (dup3(null, i, 0) < 0) { /* not close-on-exec, as streams are */
			return false;
		}
	}
	if (w->daemon != DAEMON_FD && dup3(w->daemon, DAEMON_FD, O_CLOEXEC) < 0) {
		return false;
	}
	(void)syscall(SYS_close_range, DAEMON_FD + 1U, ~0U, 0); /* fails only for wrong numbers */
	sigemptyset(&none);
	(void)pthread_sigmask(SIG_SETMASK, &none, NULL); /* fails only for a wrong `how` */
	wipe_arguments();
	for (char **at = w->plan->env; at != NULL && *at != NULL; at++) {
		explicit_bzero(*at, strlen(*at));
	}
	return chdir("/") == 0 && prctl(PR_SET_NAME, "corral-pool", 0, 0, 0) == 0;
}

/* The daemon answers with a result, or refuses: another keeper has this key, or there are too many.
 */
static bool is_held(const char *line) {
	struct pollfd slot = {.fd = DAEMON_FD, .events = POLLIN};
	char answer[512];

	if (send(DAEMON_FD, line, strlen(line), MSG_NOSIGNAL) != (ssize_t)strlen(line) ||
	    poll(&slot, 1, HOLD_MS) <= 0) {
		return false;
	}
	ssize_t n = recv(DAEMON_FD, answer, sizeof answer - 1, MSG_DONTWAIT);
	answer[n < 0 ? 0 : n] = '\0';
	return strstr(answer, "\"result\"") != NULL;
}

/* Holds every file that the plan mounts or covers (J4). */
static bool pin_files(const struct plan *plan) {
	for (size_t i = 0; i < plan->nmounts; i++) {
		const struct mount *m = &plan->mounts[i];
		char path[PATH_MAX];
		struct stat st;

		if (m->ino == 0) {
			continue; /* made by Corral, or by the set-up from the plan alone */
		}
		const char *at = m->source;
		if (at == NULL && plan_host_path(plan, m->target, path)) {
			at = path;
		}
		int fd = at == NULL ? -1 : open(at, O_PATH | O_NOFOLLOW | O_CLOEXEC);
		if (fd < 0 || fstat(fd, &st) != 0 || st.st_ino != m->ino || st.st_dev != m->dev) {
			return false; /* it was replaced since it was planned */
		}
	}
	return true;
}

static int listen_at(const char *path) {
	struct sockaddr_un at;
	socklen_t len = unix_address_set(&at, path, false);
	auto_fd fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	mode_t before = umask(0077);

	(void)unlink(path); /* of a keeper that was killed: the daemon gave its key to us */
	bool done = len > 0 && fd >= 0 && bind(fd, (struct sockaddr *)&at, len) == 0 &&
		    listen(fd, KEEPER_MAX) == 0;
	(void)umask(before); /* the sandboxes inherit it */
	return done ? take_fd(&fd) : -1;
}

/* ---- sandboxes ---- */

static bool build(struct keeper *k) {
	char word[] = "corral";
	char *const argv[] = {word, NULL};
	struct spare *s = &k->spares[k->nspares];
	struct err unused = {0};
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0) {
		return false;
	}
	auto_fd theirs = pair[1];
	const struct spawn_request request = {
		.plan = k->wish->plan,
		.host = k->wish->host,
		.argv = argv,
		.fds = {-1, -1, -1},
		.more_fds = &theirs,
		.nmore_fds = 1,
		.count_usage = true,
		.attended = true,
		.parked = true,
	};
	*s = (struct spare){.requests = pair[0]};
	if (spawn_start(&k->arena, &request, &s->child, &unused) != 0) {
		drop_fd(&s->requests);
		return false;
	}
	k->nspares++;
	return true;
}

static void remove_spare(struct keeper *k, size_t at) {
	k->spares[at] = k->spares[--k->nspares];
}

static struct spare *ready_spare(struct keeper *k) {
	for (size_t i = 0; i < k->nspares; i++) {
		if (k->spares[i].ready) {
			return &k->spares[i];
		}
	}
	return NULL;
}

static bool mounts_changed(const struct keeper *k) {
	struct pollfd slot = {.fd = k->mounts, .events = POLLPRI};

	return poll(&slot, 1, 0) != 0;
}

static void serve_caller(struct keeper *k) {
	auto_fd caller = accept4(k->listener, NULL, NULL, SOCK_CLOEXEC);

	if (caller < 0 || !parked_peer_is_fit(caller)) {
		return;
	}
	if (mounts_changed(k)) {
		keeper_end(k); /* J4: the caller reads end-of-file, and runs cold */
	}
	struct spare *s = k->ntaken == TAKEN_MAX ? NULL : ready_spare(k);
	if (s == NULL) {
		(void)parked_give(caller, NULL, NULL); /* -1: it gets none */
		return;
	}
	k->used_at = clock_ms();
	k->build_at = k->used_at + BUILD_AFTER_MS;
	if (parked_give(caller, &s->child, &s->requests) == 0) {
		k->taken[k->ntaken++] = s->child.pidfd;
		remove_spare(k, (size_t)(s - k->spares));
	}
}

/* ---- the loop ---- */

enum { SLOT_DAEMON, SLOT_LISTENER, SLOT_MOUNTS, SLOT_SPARES };
#define SLOTS (SLOT_SPARES + KEEPER_MAX + TAKEN_MAX)

static size_t fill(const struct keeper *k, struct pollfd slots[SLOTS]) {
	size_t n = SLOT_SPARES;

	slots[SLOT_DAEMON] = (struct pollfd){.fd = DAEMON_FD, .events = POLLIN};
	slots[SLOT_LISTENER] = (struct pollfd){.fd = k->listener, .events = POLLIN};
	slots[SLOT_MOUNTS] = (struct pollfd){.fd = k->mounts, .events = POLLPRI};
	for (size_t i = 0; i < k->nspares; i++) {
		/* The byte of a sandbox that is ready, or its end. */
		slots[n++] = (struct pollfd){.fd = k->spares[i].requests, .events = POLLIN};
	}
	for (size_t i = 0; i < k->ntaken; i++) {
		slots[n++] = (struct pollfd){.fd = k->taken[i], .events = POLLIN};
	}
	return n;
}

static void read_spares(struct keeper *k, const struct pollfd *slots) {
	for (size_t i = 0; i < k->nspares; i++) {
		char byte;
		if (slots[i].revents == 0) {
			continue;
		}
		if (recv(k->spares[i].requests, &byte, 1, MSG_DONTWAIT) != 1) {
			keeper_end(k); /* its set-up failed, or it was killed */
		}
		k->spares[i].ready = true;
	}
}

static void reap(struct keeper *k, const struct pollfd *slots) {
	for (size_t i = k->ntaken; i > 0; i--) {
		if (slots[i - 1].revents != 0) {
			/* Ours; it has ended. */
			(void)syscall(SYS_waitid, WAIT_PIDFD, k->taken[i - 1], NULL,
				      WEXITED | WNOHANG | __WALL, NULL);
			drop_fd(&k->taken[i - 1]);
			k->taken[i - 1] = k->taken[--k->ntaken];
		}
	}
}

static int time_left(const struct keeper *k, int64_t now) {
	int64_t at = k->used_at + IDLE_MS;

	if (k->build_at >= 0 && k->build_at < at) {
		at = k->build_at;
	}
	return at <= now ? 0 : (int)(at - now);
}

static void check_clock(struct keeper *k, int64_t now) {
	if (now >= k->used_at + IDLE_MS) {
		keeper_end(k);
	}
	if (k->build_at >= 0 && now >= k->build_at) {
		if (k->nspares < k->wish->count && !build(k)) {
			keeper_end(k);
		}
		k->build_at = k->nspares < k->wish->count ? 0 : -1;
	}
}

static _Noreturn void keep(struct keeper *k) {
	struct pollfd slots[SLOTS];

	for (;;) {
		size_t nspares = k->nspares;
		size_t n = fill(k, slots);
		int got = poll(slots, n, time_left(k, clock_ms()));
		if (got < 0 && errno != EINTR) {
			keeper_end(k);
		}
		if (got > 0) {
			if (slots[SLOT_DAEMON].revents != 0 || slots[SLOT_MOUNTS].revents != 0) {
				keeper_end(k); /* J6, J4 */
			}
			/* In this order: each list is as it was for poll(2). */
			reap(k, slots + SLOT_SPARES + nspares);
			read_spares(k, slots + SLOT_SPARES);
			if (slots[SLOT_LISTENER].revents != 0) {
				serve_caller(k);
			}
		}
		check_clock(k, clock_ms());
	}
}

void keeper_main(const struct keeper_wish *w) {
	struct keeper *k = calloc(1, sizeof *k);
	struct err unused = {0};

	if (k == NULL || !leave_caller(w) || !is_held(w->hold)) {
		_exit(0); /* another keeper has the key, which has the socket as well */
	}
	k->wish = w;
	k->home = (struct home_use)HOME_UNUSED;
	arena_init(&k->arena);
	k->mounts = open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC);
	if (k->mounts < 0 || !pin_files(w->plan) || home_begin(w->plan, &k->home, &unused) != 0) {
		_exit(0);
	}
	k->used_at = clock_ms();
	k->listener = listen_at(w->socket);
	if (k->listener < 0) {
		keeper_end(k);
	}
	keep(k);
}
