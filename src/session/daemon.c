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
#include "base/signal_mask.h"
#include "base/str.h"
#include "base/unix_address.h"
#include "session/verbs.h"

#include <errno.h>
#include <fcntl.h>
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

int daemon_reload(struct daemon *d) {
	struct corral_config *fresh = NULL;
	struct corral_error err = {0};

	d->counters.reloads++;
	if (corral_config_read(&fresh, &err) != 0) {
		d->counters.reload_failures++;
		(void)snprintf(d->reload_error, sizeof d->reload_error, "%s", err.message);
		daemon_log("the old policy files stay in force: %s", err.message);
		return -1;
	}
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
		return err_sys_at(e, "daemon", "cannot listen on", p->admin);
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
	interrupt_timer_init(NULL);
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

static int until(int64_t now, int64_t a, int64_t b) {
	int64_t next = a == 0 || (b != 0 && b < a) ? b : a;

	if (next == 0) {
		return -1;
	}
	return next <= now ? 0 : next - now > 60000 ? 60000 : (int)(next - now);
}

static int run(struct daemon *d, struct err *e) {
	while (!d->stopping || d->lives != NULL) {
		int64_t now = clock_ms();
		if (d->stopping) {
			live_stop_all(d, "the daemon ended");
		}
		int64_t lives = lives_check(d, now), conns = conns_check(d, now);
		int64_t scopes = conn_tokens_check(d, now);
		int due = until(now, lives, conns);
		int last = until(now, scopes, 0);
		due = due < 0 || (last >= 0 && last < due) ? last : due;
		if (daemon_loop_once(&d->loop, due, e) != 0) {
			return -1;
		}
	}
	return 0;
}

static void finish(struct daemon *d) {
	while (d->conns != NULL) {
		conn_close(d->conns);
	}
	if (d->admin.fd >= 0 && !d->activated) { /* systemd keeps its socket */
		(void)unlink(d->places.admin);   /* a client gets ENOENT instead of ECONNREFUSED */
	}
	drop_fd(&d->admin.fd);
	drop_fd(&d->signals.fd);
	drop_fd(&d->spare);
	daemon_loop_done(&d->loop);
	store_close(d->store);
	corral_config_free(d->config);
	places_release(&d->places);
}

int daemon_main(struct err *e, struct corral_error *err) {
	struct daemon d = {.loop = {.epoll = -1},
			   .places = {.runtime_lock = -1, .state_lock = -1},
			   .admin = {.fd = -1},
			   .spare = open("/dev/null", O_RDONLY | O_CLOEXEC),
			   .signals = {.fd = -1},
			   .started = daemon_now()};

	if (corral_config_read(&d.config, err) != 0) {
		return -1;
	}
	d.reloaded = d.started;
	int rc = begin(&d, e);
	if (rc == 0) {
		daemon_log("ready on %s", d.places.admin);
		rc = run(&d, e);
	}
	finish(&d);
	return rc;
}
