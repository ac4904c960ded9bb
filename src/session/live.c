/* SPDX-License-Identifier: Apache-2.0 */
/* Sessions that have not ended, seen from the daemon: supervisor, socket, pending calls.
 *
 * Should:   record a change of state in the database before a client gets an answer about it (H1).
 * Must not: wait for a supervisor; let one session's end touch another.
 * Fails:    closed: a supervisor that dies, or sends a malformed message, ends its session (H5). */
#include "session/daemon.h"

#include "base/auto.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/signal_mask.h"
#include "base/str.h"
#include "base/unix_address.h"
#include "session/commands.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

/* The supervisor gives commands two seconds between SIGTERM and SIGKILL; after this time the
 * daemon kills the supervisor itself. */
#define STOP_MS 10000
#define SOCKET_QUEUE 64

/* As store_get_session() finds them, without the database: sessions that have not ended.  Two that
 * are alive never have the same name. */
struct live *live_named(const struct daemon *d, const char *id_or_name) {
	for (struct live *l = d->lives; l != NULL; l = l->next) {
		if (!state_is_final(l->state) &&
		    (streq(l->id, id_or_name) ||
		     (l->name[0] != '\0' && streq(l->name, id_or_name)))) {
			return l;
		}
	}
	return NULL;
}

struct live *live_find(const struct daemon *d, const char *id) {
	for (struct live *l = d->lives; l != NULL; l = l->next) {
		if (streq(l->id, id)) {
			return l;
		}
	}
	return NULL;
}

/* ---- messages for the supervisor ---- */

/* Closes descriptors of a client (H7). */
static void drop_message(struct wire_message *m) {
	bool closes = m->nfds > 0;

	if (closes) {
		daemon_closes();
	}
	session_wire_done(m);
	if (closes) {
		daemon_closed();
	}
}

static void pop_message(struct live *l) {
	drop_message(&l->queue[0]);
	l->nqueued--;
	memmove(l->queue, l->queue + 1, l->nqueued * sizeof *l->queue);
}

static void watch_channel(struct live *l) {
	struct err e = {0};
	uint32_t events = EPOLLIN | (l->nqueued > 0 ? EPOLLOUT : 0U);

	if (l->channel.fd >= 0 &&
	    daemon_loop_watch(&l->daemon->loop, &l->channel, events, &e) != 0) {
		(void)kill(l->supervisor, SIGKILL); /* out of memory: the pidfd reports the end */
	}
}

static void flush_messages(struct live *l) {
	while (l->nqueued > 0) {
		int rc = session_wire_send(l->channel.fd, &l->queue[0]);
		if (rc == -EAGAIN) {
			break;
		}
		pop_message(l); /* if it is gone, the end of the session answers the call */
	}
	watch_channel(l);
}

int live_send(struct live *l, struct wire_message *m) {
	int rc = l->channel.fd < 0 ? -EPIPE
		 : l->nqueued > 0  ? -EAGAIN
				   : session_wire_send(l->channel.fd, m);
	if (rc == -EAGAIN && l->nqueued < QUEUE_MAX) {
		l->queue[l->nqueued++] = *m;
		*m = (struct wire_message){0};
		rc = 0;
		watch_channel(l);
	}
	drop_message(m);
	return rc;
}

/* ---- the end ---- */

static void close_watch(struct live *l, struct watch *w) {
	struct err e = {0};

	if (w->fd >= 0) {
		(void)daemon_loop_watch(&l->daemon->loop, w, 0,
					&e); /* close() removes it as well */
		drop_fd(&w->fd);
	}
}

static void detach_connections(struct live *l) {
	for (struct conn *c = l->daemon->conns; c != NULL; c = c->next) {
		if (c->live == l) {
			c->live = NULL;
			c->closing = true;
		}
	}
}

static void live_free(struct live *l) {
	struct daemon *d = l->daemon;

	for (struct live **at = &d->lives; *at != NULL; at = &(*at)->next) {
		if (*at == l) {
			*at = l->next;
			d->nlives--;
			break;
		}
	}
	daemon_closes();
	close_watch(l, &l->channel);
	close_watch(l, &l->ended);
	close_watch(l, &l->listener);
	direct_socket_done(l);
	if (l->socket[0] != '\0') {
		(void)unlink(l->socket); /* places_sweep() removes what stays */
		places_remove_bridge(&d->places, l->id);
		places_remove_copy(&d->places, l->id);
	}
	while (l->calls != NULL) {
		live_drop_call(l, l->calls);
	}
	while (l->nqueued > 0) {
		pop_message(l);
	}
	daemon_closed();
	sodium_memzero(l->token, sizeof l->token);
	commands_keep(d, l->commands);
	cpu_total_done(&l->cpu);
	free(l->tools);
	free(l);
}

/* The supervisor has exited: answers every call, records the state, and frees the session. */
static void end_session(struct live *l, const char *why) {
	struct daemon *d = l->daemon;
	bool stopped = l->state == SESSION_STOPPING;
	struct fault f = {.code = FAULT_STATE}, unrecorded = {.code = FAULT_FAILED};

	direct_socket_withdraw(l);
	if (!state_is_final(l->state)) { /* else the supervisor reported why it could not start */
		live_change_state(l, stopped ? EVENT_ENDED : EVENT_BROKE, stopped ? l->reason : why,
				  "");
	}
	d->counters.stopped += stopped;
	d->counters.failed += !stopped;
	daemon_activity(d, l->id, "state", state_name(l->state));
	(void)fault_set(&f, FAULT_STATE, "the session has ended: %s", stopped ? l->reason : why);
	(void)err_fix(&f.e, "a new one: corral session create");
	(void)fault_set(&unrecorded, FAULT_FAILED,
			"the session has ended, but the database could not be changed");
	(void)err_fix(&unrecorded.e, "free space for it (corral daemon status prints its path); "
				     "the daemon tries again each second");
	while (l->calls != NULL) {
		struct call *call = l->calls;
		if (call->stops && store_is_late(d->store, l->id)) {
			live_refuse(l, call, &unrecorded); /* H1 */
		} else if (call->stops) {
			live_answer(l, call,
				    json_pack("{s:s, s:s}", "id", l->id, "state",
					      state_name(l->state)));
		} else {
			live_refuse(l, call, &f);
		}
	}
	if (!stopped) {
		daemon_log("%s: %s", l->id, why);
	}
	detach_connections(l);
	live_free(l);
}

/* ---- messages of the supervisor ---- */

static void channel_ready(struct watch *w, uint32_t events) {
	struct live *l = w->owner;
	struct wire_message m = {0};

	if ((events & EPOLLOUT) != 0) {
		flush_messages(l);
	}
	int rc = session_wire_receive(w->fd, &m);
	if (rc == -EAGAIN) {
		return;
	}
	if (rc != 0) {
		/* It exits, or has to: the pidfd reports the end. */
		(void)kill(l->supervisor, SIGKILL);
		close_watch(l, w);
		return;
	}
	live_take_message(l, &m);
	session_wire_done(&m);
}

void live_receive(struct live *l) {
	channel_ready(&l->channel, EPOLLIN);
}

/* What the supervisor sent before its exit: results, and why the session ends.  The loop may report
 * the exit before it has reported each of them. */
static void receive_rest(struct live *l) {
	struct wire_message m = {0};

	while (l->channel.fd >= 0 && session_wire_receive(l->channel.fd, &m) == 0) {
		live_take_message(l, &m);
		session_wire_done(&m);
	}
}

static void supervisor_ended(struct watch *w, uint32_t events) {
	struct live *l = w->owner;
	siginfo_t info = {0};
	char why[400];

	(void)events;
	receive_rest(l); /* before its number can be another process's */
	(void)waitid(P_PIDFD, (id_t)w->fd, &info, WEXITED); /* the pidfd is readable: it has */
	if (info.si_code == CLD_EXITED) {
		(void)snprintf(why, sizeof why, "%s",
			       l->reason[0] != '\0' ? l->reason : "its sandbox ended");
	} else {
		(void)snprintf(why, sizeof why, "its supervisor was killed by signal %d",
			       info.si_status);
	}
	end_session(l, why);
}

/* ---- start ---- */

static void listener_ready(struct watch *w, uint32_t events) {
	struct live *l = w->owner;

	(void)events;
	conn_accept(l->daemon, w->fd, l);
}

/* The directory is private, so the umask cannot let another user connect before the chmod. */
static int open_socket(struct live *l, struct err *e) {
	struct sockaddr_un address;
	auto_fd fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (places_session_socket(&l->daemon->places, l->id, l->socket) != 0) {
		return err_set(e, ERR_SETUP, "session", "the name of the socket is too long");
	}
	socklen_t len = unix_address_set(&address, l->socket, false);
	if (fd < 0 || len == 0 || bind(fd, (struct sockaddr *)&address, len) != 0) {
		return err_sys_at(e, "session", "cannot create the socket", l->socket);
	}
	if (chmod(l->socket, 0600) != 0 || listen(fd, SOCKET_QUEUE) != 0) {
		return err_sys_at(e, "session", "cannot listen on the socket", l->socket);
	}
	l->listener = (struct watch){.fd = take_fd(&fd), .ready = listener_ready, .owner = l};
	return daemon_loop_watch(&l->daemon->loop, &l->listener, EPOLLIN, e);
}

static _Noreturn void become_supervisor(const struct live *l, pid_t daemon, int channel,
					const json_t *spec) {
	const struct supervised s = {.id = l->id,
				     .socket = l->socket,
				     .config = l->daemon->config,
				     .spec = spec,
				     .channel = channel,
				     .output = l->commands == NULL ? -1 : l->commands->output,
				     .direct = l->direct,
				     .counts = l->counts,
				     .daemon = daemon};
	const int kept[] = {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO,
			    channel,      s.direct,      s.output};
	sigset_t none;
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (null < 0 || dup3(null, STDIN_FILENO, O_CLOEXEC) < 0 ||
	    dup3(null, STDOUT_FILENO, O_CLOEXEC) < 0) {
		_exit(1);
	}
	/* Locks, database, listeners and clients stay the daemon's alone. */
	fd_close_all_but(kept, ARRAY_LEN(kept) - (s.output < 0 ? 1 : 0));
	(void)sigemptyset(&none);
	signal_mask(SIG_SETMASK, &none, NULL);
	(void)setpgid(0, 0); /* ^C at the daemon's terminal is the daemon's */
	supervisor_main(&s);
}

static int fork_supervisor(struct live *l, const json_t *spec, struct err *e) {
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) != 0) {
		return err_sys(e, "session", "cannot create a socket pair");
	}
	pid_t daemon = getpid(), pid = fork();
	if (pid == 0) {
		become_supervisor(l, daemon, pair[1], spec);
	}
	drop_fd(&pair[1]);
	direct_socket_passed(l);
	l->channel = (struct watch){.fd = pair[0], .ready = channel_ready, .owner = l};
	if (pid < 0) {
		return err_sys(e, "session", "cannot create a process");
	}
	l->supervisor = pid;
	l->ended = (struct watch){
		.fd = (int)syscall(SYS_pidfd_open, pid, 0), .ready = supervisor_ended, .owner = l};
	if (l->ended.fd < 0 || daemon_loop_watch(&l->daemon->loop, &l->channel, EPOLLIN, e) != 0 ||
	    daemon_loop_watch(&l->daemon->loop, &l->ended, EPOLLIN, e) != 0) {
		(void)err_sys(e, "session", "cannot watch the supervisor");
		(void)kill(pid, SIGKILL);
		(void)waitpid(pid, NULL, 0); /* it was killed */
		return -1;
	}
	return 0;
}

int live_start(struct daemon *d, const struct session_row *row, const char *token, json_t *spec,
	       struct live **ret, struct err *e) {
	struct live *l = calloc(1, sizeof *l);

	if (l == NULL) {
		return err_memory(e, "session");
	}
	*l = (struct live){.daemon = d,
			   .state = SESSION_CREATED,
			   .channel = {.fd = -1},
			   .ended = {.fd = -1},
			   .listener = {.fd = -1},
			   .direct = -1,
			   .next = d->lives};
	memcpy(l->id, row->id, sizeof l->id);
	(void)snprintf(l->name, sizeof l->name, "%s", row->name); /* it is valid: it fits */
	(void)snprintf(l->token, sizeof l->token, "%s", token);
	l->commands = commands_new(d, row->id);
	l->began = clock_ms();
	if (row->deadline != 0) {
		l->deadline = l->began + (row->deadline - row->created);
	}
	d->lives = l;
	d->nlives++;
	live_change_state(l, EVENT_START, "", "");
	if (open_socket(l, e) != 0 || direct_socket_open(l, e) != 0 ||
	    fork_supervisor(l, spec, e) != 0) {
		live_change_state(l, EVENT_BROKE, e->what, "");
		live_free(l);
		return -1;
	}
	d->counters.created++;
	*ret = l;
	return 0;
}

/* ---- stop ---- */

void live_stop(struct live *l, const char *reason) {
	struct wire_message m = {.kind = WIRE_STOP};

	if (l->state != SESSION_STARTING && l->state != SESSION_RUNNING) {
		return;
	}
	(void)snprintf(l->reason, sizeof l->reason, "%s", reason);
	(void)denied_flush(l, clock_ms(), true); /* the supervisor reads them before WIRE_STOP */
	direct_socket_withdraw(l);               /* H9 */
	live_change_state(l, EVENT_STOP, reason, "");
	l->kill_at = clock_ms() + STOP_MS;
	session_wire_set_text(&m, reason); /* without it clients learn that it was stopped alone */
	if (live_send(l, &m) != 0) {
		(void)kill(l->supervisor, SIGKILL); /* it does not read */
	}
}

void live_stop_all(struct daemon *d, const char *reason) {
	for (struct live *l = d->lives; l != NULL; l = l->next) {
		live_stop(l, reason);
	}
}

/* 0: no deadline. */
static void sooner(int64_t *next, int64_t at) {
	if (at != 0 && (*next == 0 || at < *next)) {
		*next = at;
	}
}

int64_t lives_check(struct daemon *d, int64_t now) {
	int64_t next = 0;

	for (struct live *l = d->lives; l != NULL; l = l->next) {
		if (l->deadline != 0 && l->kill_at == 0 && now >= l->deadline) {
			live_stop(
				l,
				"the time-out of the session (session.timeout, --session-timeout)");
		}
		if (l->kill_at != 0 && now >= l->kill_at) {
			(void)kill(l->supervisor, SIGKILL);
			l->kill_at = now + STOP_MS; /* the pidfd reports the end */
		}
		live_check_cpu(l, now);
		sooner(&next, live_check_idle(l, now));
		sooner(&next, denied_flush(l, now, false));
		int64_t at = l->kill_at != 0 ? l->kill_at : l->deadline;
		if (l->cpu_limit_ms != 0 && l->state == SESSION_RUNNING &&
		    (at == 0 || l->cpu_at < at)) {
			at = l->cpu_at;
		}
		sooner(&next, at);
	}
	return next;
}
