/* SPDX-License-Identifier: Apache-2.0 */
/* Starts, runs and ends the daemon.
 *
 * Should:   take the locks before it touches the sockets or the database of another daemon; report
 *           the sessions that an earlier daemon left.
 * Must not: end before its sessions have.
 * Fails:    closed: it does not start without its locks, its database or a valid policy. */
#include "session/daemon.h"

#include "base/auto.h"
#include "base/clock.h"
#include "base/heap.h"
#include "base/signal_mask.h"
#include "base/str.h"
#include "base/unix_address.h"
#include "session/commands.h"
#include "session/ui_page.h"
#include "session/verbs.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sodium.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>

#define SOCKET_QUEUE 512
/* Freed memory that stays: a request and its answer, SQLite's pages. */
#define HEAP_KEPT ((size_t)1024 * 1024)
/* The first descriptor of systemd's socket activation. */
#define LISTEN_FDS_START 3

int64_t daemon_now(void) {
	struct timespec t = {0};

	(void)clock_gettime(CLOCK_REALTIME, &t); /* fails only for an unknown clock */
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

void daemon_log(const char *fmt, ...) {
	char text[512];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof text, fmt, ap); /* may be cut: a message */
	va_end(ap);
	print_note("%s", text);
}

void daemon_activity(struct daemon *d, const char *session, const char *kind, const char *text) {
	struct err e = {0};
	struct activity_row row = {
		.session = session, .kind = kind, .text = text, .time = daemon_now()};

	if (store_add_activity(d->store, &row, NULL, &e) != 0) {
		daemon_log("%s: cannot record an activity: %s", session, e.what);
	}
	conns_follow(d, session);
}

static bool is_same(const struct corral_config *a, const struct corral_config *b) {
	auto_free char *one = NULL, *two = NULL;
	struct corral_error err = {0};

	return corral_config_show(a, &one, &err) == 0 && corral_config_show(b, &two, &err) == 0 &&
	       streq(one, two);
}

int daemon_reload(struct daemon *d) {
	struct corral_config *fresh = NULL;
	struct corral_error err = {0};

	d->counters.reloads++;
	if (corral_config_read(&fresh, &err) != 0) {
		d->counters.reload_failures++;
		d->reload_failed = daemon_now();
		(void)snprintf(d->reload_error, sizeof d->reload_error, "%s", err.message);
		daemon_log("the old policy files stay in force: %s", err.message);
		return -1;
	}
	d->generation += !is_same(d->config, fresh);
	corral_config_free(d->config); /* supervisors have copies of their own */
	d->config = fresh;
	d->reload_error[0] = '\0';
	d->reloaded = daemon_now();
	return 0;
}

/* ---- start ---- */

static int check_listener(int fd, struct err *e) {
	int listening = 0;
	socklen_t len = sizeof listening;

	if (getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listening, &len) != 0 || !listening ||
	    fcntl(fd, F_SETFD, FD_CLOEXEC) != 0 || fcntl(fd, F_SETFL, O_NONBLOCK) != 0) {
		return err_set(e, ERR_SETUP, "daemon",
			       "descriptor %d of LISTEN_FDS is not a listening socket", fd);
	}
	return 0;
}

/* 1: systemd passed the admin socket in *ret; 0: it did not. */
static int activated(int *ret, struct err *e) {
	const char *pid = getenv("LISTEN_PID"), *count = getenv("LISTEN_FDS");

	if (pid == NULL || count == NULL || strtol(pid, NULL, 10) != (long)getpid()) {
		return 0;
	}
	if (!streq(count, "1")) {
		return err_set(e, ERR_SETUP, "daemon",
			       "LISTEN_FDS is %s: one socket is expected, admin.sock", count);
	}
	*ret = LISTEN_FDS_START;
	return check_listener(*ret, e) != 0 ? -1 : 1;
}

/* The lock is held, so a socket of this name has no listener. */
static int open_admin(const struct places *p, int *ret, struct err *e) {
	struct sockaddr_un address;
	auto_fd fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	socklen_t len = unix_address_set(&address, p->admin, false);

	if (fd < 0 || len == 0 || (unlink(p->admin) != 0 && errno != ENOENT) ||
	    bind(fd, (struct sockaddr *)&address, len) != 0 || chmod(p->admin, 0600) != 0 ||
	    listen(fd, SOCKET_QUEUE) != 0) {
		(void)err_sys_at(e, "daemon", "cannot listen on", p->admin);
		return err_fix(e, "remove what is there; the daemon needs this name");
	}
	*ret = take_fd(&fd);
	return 0;
}

static void admin_ready(struct watch *w, uint32_t events) {
	struct daemon *d = w->owner;

	(void)events;
	conn_accept(d, w->fd, NULL);
}

static void signal_ready(struct watch *w, uint32_t events) {
	struct daemon *d = w->owner;
	struct signalfd_siginfo info;

	(void)events;
	if (read(w->fd, &info, sizeof info) != (ssize_t)sizeof info) {
		return;
	}
	if (info.ssi_signo == SIGHUP) {
		(void)daemon_reload(d); /* a failure is logged, and in `daemon status` */
	} else {
		d->stopping = true;
	}
}

static int open_signals(struct daemon *d, struct err *e) {
	sigset_t set;

	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGTERM);
	(void)sigaddset(&set, SIGINT);
	(void)sigaddset(&set, SIGHUP);
	(void)signal(SIGPIPE, SIG_IGN); /* fails only for a bad number */
	interrupt_timer_init();
	signal_mask(SIG_BLOCK, &set, NULL);
	d->signals = (struct watch){.fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK),
				    .ready = signal_ready,
				    .owner = d};
	return d->signals.fd < 0 ? err_sys(e, "daemon", "cannot receive signals")
				 : daemon_loop_watch(&d->loop, &d->signals, EPOLLIN, e);
}

static void report_left(void *arg, const struct session_row *row) {
	(void)arg;
	daemon_log("%s was %s when an earlier daemon died; its processes ended with it", row->id,
		   state_name(row->state));
}

static int open_store(struct daemon *d, struct err *e) {
	struct session_reader reader = {report_left, NULL};

	if (store_open(d->places.database, &d->store, e) != 0) {
		return -1;
	}
	return store_recover(d->store, "the daemon died", daemon_now(), &reader, e);
}

/* Connections and sessions need descriptors; commands get the limits of their policy. */
static void raise_descriptors(void) {
	struct rlimit files;

	if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
		files.rlim_cur = files.rlim_max;
		(void)setrlimit(RLIMIT_NOFILE, &files); /* without it fewer clients are served */
	}
}

static int begin(struct daemon *d, struct err *e) {
	int fd = -1;

	if (sodium_init() < 0) {
		return err_set(e, ERR_SETUP, "daemon", "libsodium cannot be initialised");
	}
	heap_keep(HEAP_KEPT);
	raise_descriptors();
	if (places_find(&d->places, e) != 0 || places_take(&d->places, e) != 0 ||
	    daemon_loop_init(&d->loop, e) != 0 || open_signals(d, e) != 0 ||
	    open_store(d, e) != 0) {
		return -1;
	}
	places_sweep(&d->places);
	int passed = activated(&fd, e);
	if (passed < 0 || (passed == 0 && open_admin(&d->places, &fd, e) != 0)) {
		return -1;
	}
	d->activated = passed == 1;
	d->admin = (struct watch){.fd = fd, .ready = admin_ready, .owner = d};
	return daemon_loop_watch(&d->loop, &d->admin, EPOLLIN, e);
}

/* ---- run ---- */

static int64_t sooner(int64_t a, int64_t b) {
	return a == 0 || (b != 0 && b < a) ? b : a;
}

static int until(int64_t now, int64_t next) {
	if (next == 0) {
		return -1;
	}
	return next <= now ? 0 : next - now > 60000 ? 60000 : (int)(next - now);
}

/* Hides the socket; true: no client has connected before that. */
static bool hide_socket(const struct daemon *d) {
	char hidden[PATH_MAX + 8];
	struct pollfd pending = {.fd = d->admin.fd, .events = POLLIN};

	if (d->activated) {
		return poll(&pending, 1, 0) == 0; /* systemd keeps the socket and its clients */
	}
	(void)snprintf(hidden, sizeof hidden, "%s.old", d->places.admin);
	if (rename(d->places.admin, hidden) != 0) {
		return false;
	}
	if (poll(&pending, 1, 0) == 0) {
		(void)unlink(hidden); /* the lock is held: a new daemon begins after this one */
		return true;
	}
	(void)rename(hidden, d->places.admin); /* if it fails, the next daemon makes a new one */
	return false;
}

/* Ends the daemon when it was idle for long enough; returns when to look again, or 0. */
static int64_t check_idle(struct daemon *d, int64_t now) {
	bool idle = d->idle_ms > 0 && d->lives == NULL && d->conns == NULL && !ui_page_is_open(d);

	d->idle_since = !idle ? 0 : d->idle_since != 0 ? d->idle_since : now;
	if (!idle || d->stopping) {
		return 0;
	}
	if (now < d->idle_since + d->idle_ms) {
		return d->idle_since + d->idle_ms;
	}
	d->idle_since = 0;
	d->stopping = hide_socket(d); /* else a client waits: it is served */
	if (d->stopping) {
		daemon_log("idle: there is no session and no client");
	}
	return 0;
}

#define SETTLE_MS 1000

/* Records states that could not be recorded; returns when to try again, or 0. */
static int64_t check_late(struct daemon *d, int64_t now) {
	if (d->settle_at == 0 || now >= d->settle_at) {
		d->settle_at = store_settle(d->store) ? 0 : now + SETTLE_MS;
	}
	return d->settle_at;
}

static int run(struct daemon *d, struct err *e) {
	while (!d->stopping || d->lives != NULL) {
		int64_t now = clock_ms();
		if (d->stopping) {
			live_stop_all(d, "the daemon ended");
		}
		int64_t next = sooner(lives_check(d, now), conns_check(d, now));
		next = sooner(next, conn_tokens_check(d, now));
		next = sooner(next, check_late(d, now));
		next = sooner(next, check_idle(d, now));
		next = sooner(next, policy_watch_check(d, now));
		next = sooner(next, overview_check(d, now));
		next = sooner(next, ui_page_check(d, now));
		if (d->stopping && d->lives == NULL) {
			break;
		}
		if (daemon_loop_once(&d->loop, until(now, next), e) != 0) {
			return -1;
		}
	}
	return 0;
}

static void finish(struct daemon *d) {
	ui_page_end(d);
	while (d->conns != NULL) {
		conn_close(d->conns);
	}
	if (d->admin.fd >= 0 && !d->activated) { /* systemd keeps its socket */
		(void)unlink(d->places.admin);   /* a client gets ENOENT instead of ECONNREFUSED */
	}
	drop_fd(&d->admin.fd);
	drop_fd(&d->signals.fd);
	drop_fd(&d->spare);
	policy_watch_end(d);
	questions_end(d);
	overview_end(d);
	commands_free_ended(d);
	daemon_loop_done(&d->loop);
	store_close(d->store);
	corral_config_free(d->config);
	places_release(&d->places);
}

int daemon_main(int64_t idle_ms, struct err *e, struct corral_error *err) {
	struct daemon d = {.loop = {.epoll = -1},
			   .places = {.runtime_lock = -1, .state_lock = -1},
			   .admin = {.fd = -1},
			   .spare = open("/dev/null", O_RDONLY | O_CLOEXEC),
			   .signals = {.fd = -1},
			   .idle_ms = idle_ms,
			   .policy = {.watch = {.fd = -1}},
			   .feed = {.watch = {.fd = -1}},
			   .generation = 1,
			   .started = daemon_now()};

	if (corral_config_read(&d.config, err) != 0) {
		return -1;
	}
	d.reloaded = d.started;
	int rc = begin(&d, e);
	if (rc == 0) {
		policy_watch_begin(&d);
		daemon_log("ready on %s", d.places.admin);
		rc = run(&d, e);
	}
	finish(&d);
	return rc;
}
