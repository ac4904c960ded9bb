/* SPDX-License-Identifier: Apache-2.0 */
/* The supervisor's side of the short way (client/direct.h): clients connect to it, and their
 * commands are jobs like those of the daemon.
 *
 * A client has the rights of the admin socket, so it is checked as one: the user of the daemon, and
 * not below the daemon, that is in no sandbox of it (H8).  The connection is the client's lifeline:
 * when it ends, the command is killed.  The daemon learns of a command when it has ended, or has
 * run for a while: earlier it would only slow it down.
 *
 * Should:   answer each request once; leave a request that it does not accept to the daemon (H9).
 * Must not: wait for a client or the daemon; keep more than its bounds (H7); send the daemon the
 * result of a command before its announcement. Fails:    closed: a request that is malformed, or of
 * a process that cannot be looked up, starts nothing. */
#include "session/supervisor.h"

#include "base/auto.h"
#include "base/buf.h"
#include "base/emit.h"
#include "cli/cli.h"
#include "client/direct.h"
#include "session/peer.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/timerfd.h>

/* Then the daemon learns of a command that still runs. */
#define ANNOUNCE_US 20000
/* Then the daemon learns of a command that has ended, if no other one has begun: not sooner,
 * because the daemon would take the processor from the client that exits, or from the next one. */
#define END_US 1000

int supervisor_watch(const struct supervisor *s, int fd, enum supervisor_event what, uint32_t n) {
	struct epoll_event event = {.events = EPOLLIN, .data = {.u64 = (uint64_t)what << 32 | n}};

	if (what == EVENT_CLIENT) {
		/* It sends no more; one event, because epoll always reports EPOLLHUP. */
		event.events = EPOLLRDHUP | EPOLLONESHOT;
	}
	return epoll_ctl(s->events, EPOLL_CTL_ADD, fd, &event);
}

int supervisor_direct_init(struct supervisor *s, const struct supervised *with) {
	struct direct *d = &s->direct;

	s->events = epoll_create1(EPOLL_CLOEXEC);
	*d = (struct direct){.listener = with->direct,
			     .timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK),
			     .daemon = with->daemon,
			     .counts = with->counts,
			     .inbox = malloc(DIRECT_BYTES)};
	s->ended_last = &s->ended;
	for (size_t i = 0; i < DIRECT_WAITING_MAX; i++) {
		d->waiting[i] = -1;
	}
	return s->events < 0 || d->timer < 0 || d->inbox == NULL ||
			       supervisor_watch(s, s->channel, EVENT_CHANNEL, 0) != 0 ||
			       supervisor_watch(s, d->listener, EVENT_LISTENER, 0) != 0 ||
			       supervisor_watch(s, d->timer, EVENT_TIMER, 0) != 0
		       ? -1
		       : 0;
}

/* ---- answers ---- */

/* A client that does not read has a full socket, or is gone: nothing waits for it. */
static void send_answer(int client, const void *bytes, size_t len) {
	(void)send(client, bytes, len, MSG_DONTWAIT | MSG_NOSIGNAL);
}

/* Of a command: the daemon counts it before the client knows its end. */
static void answer(const struct job *j, const void *bytes, size_t len) {
	(void)atomic_fetch_add(&j->owner->direct.counts->answered, 1);
	send_answer(j->client, bytes, len);
	(void)sched_yield(); /* the client may need this processor; the rest here is not urgent */
}

static void add_text(struct buf *out, const char *text) {
	buf_add(out, text, strlen(text) + 1);
}

static void add_note(struct buf *out, const char *prefix, const char *text) {
	if (text[0] != '\0') {
		buf_puts(out, prefix);
		add_text(out, text);
	}
}

static void answer_buf(const struct job *j, struct buf *out) {
	const struct direct_answer failed = {.end = DIRECT_FAILED, .kind = CORRAL_E_MEMORY};
	bool whole = !buf_failed(out) && out->len <= DIRECT_BYTES;

	answer(j, whole ? (const void *)out->data : &failed, whole ? out->len : sizeof failed);
	buf_done(out);
}

void supervisor_direct_send_result(const struct job *j, const struct corral_result *result) {
	const char *ending = corral_result_ending(result), *hint = corral_result_hint(result);
	const char *stopped = supervisor_stopped(j->owner);
	char lost[LOST_NOTE];
	struct direct_answer a = {.end = DIRECT_RAN, .status = lost_status(result, lost)};
	struct buf out;

	if (ending[0] == '\0' && hint[0] == '\0' && lost[0] == '\0' && stopped[0] == '\0') {
		answer(j, &a, sizeof a); /* as most are: without a buffer */
		return;
	}
	buf_init(&out);
	buf_add(&out, &a, sizeof a);
	add_note(&out, "ended by ", ending);
	add_note(&out, "hint: ", hint);
	add_note(&out, "", lost);
	add_note(&out, "", stopped);
	answer_buf(j, &out);
}

void supervisor_direct_send_error(const struct job *j, const struct corral_error *err) {
	struct direct_answer a = {
		.end = DIRECT_FAILED, .kind = (uint32_t)err->kind, .sys_errno = err->sys_errno};
	struct buf out;

	buf_init(&out);
	buf_add(&out, &a, sizeof a);
	add_text(&out, err->layer);
	add_text(&out, err->message);
	add_text(&out, err->remedy);
	answer_buf(j, &out);
}

/* Closes the connection and the descriptors. */
static void leave_to_daemon(int client, const int *fds, size_t n) {
	const struct direct_answer a = {.end = DIRECT_DAEMON};

	send_answer(client, &a, sizeof a);
	drop_fd(&client);
	for (size_t i = 0; i < n; i++) {
		int fd = fds[i];
		drop_fd(&fd);
	}
}

/* A client that has not sent a request, or one that is not read: it gets the answer after the reset
 * of the connection (client/direct.c). */
static void turn_away(int *client) {
	if (*client >= 0) {
		leave_to_daemon(*client, NULL, 0);
		*client = -1;
	}
}

/* ---- messages to the daemon ---- */

/* All of them with the lock, so that they are in order.  A daemon that is stopped or slow has no
 * room for them: they wait for the timer, and the commands of the session do not. */

static bool daemon_has_room(const struct supervisor *s) {
	struct pollfd room = {.fd = s->channel, .events = POLLOUT};

	return poll(&room, 1, 0) == 1 && (room.revents & POLLOUT) != 0;
}

static void announce(struct job *j) {
	struct buf out;
	struct emit e;
	size_t argc = 0;

	if (j->announced || !daemon_has_room(j->owner)) {
		return;
	}
	j->announced = true;
	while (j->argv[argc] != NULL) {
		argc++;
	}
	buf_init(&out);
	emit_init(&e, &out, false);
	emit_object(&e, NULL);
	emit_strings(&e, "argv", j->argv, argc);
	if (j->directory != NULL) {
		emit_string(&e, "cwd", j->directory);
	}
	emit_int(&e, "started", j->started);
	emit_end_object(&e);
	if (!buf_failed(&out)) {
		supervisor_send_text(j->owner->channel, WIRE_STARTED, j->call, out.data, out.len);
	}
	buf_done(&out);
}

static void announce_all(struct job *list) {
	for (struct job *j = list; j != NULL; j = j->next) {
		if (j->client >= 0) {
			announce(j);
		}
	}
}

/* Sends what the daemon has room for; false: some are left. */
static bool send_ended(struct supervisor *s) {
	while (s->ended != NULL && daemon_has_room(s)) {
		struct job *j = s->ended;

		announce(j);
		if (!j->announced) {
			return false;
		}
		s->ended = j->next;
		s->ended_last = s->ended == NULL ? &s->ended : s->ended_last;
		s->nended--;
		if (j->result != NULL) {
			jobs_send_result(j, j->result);
		} else {
			supervisor_send_error(s->channel, WIRE_ERROR, j->call, &j->error);
		}
		jobs_free(j);
	}
	return s->ended == NULL;
}

void supervisor_direct_flush(struct supervisor *s) {
	(void)pthread_mutex_lock(&s->lock);
	(void)send_ended(s); /* this process ends: the audit log has them */
	(void)pthread_mutex_unlock(&s->lock);
}

static void set_timer(const struct supervisor *s, long us) {
	const struct itimerspec once = {.it_value = {.tv_nsec = us * 1000}};

	(void)timerfd_settime(s->direct.timer, 0, &once, NULL); /* valid arguments */
}

/* A listener with a client that cannot be accepted stays readable: it rests until the timer. */
static void pause_listener(struct supervisor *s) {
	struct direct *d = &s->direct;
	struct epoll_event unused = {0};

	for (size_t i = 0; i < DIRECT_WAITING_MAX; i++) {
		turn_away(&d->waiting[i]);
	}
	if (!d->paused) {
		(void)epoll_ctl(s->events, EPOLL_CTL_DEL, d->listener, &unused); /* it is watched */
	}
	d->paused = true;
	(void)pthread_mutex_lock(&s->lock);
	s->timed = true;
	(void)pthread_mutex_unlock(&s->lock);
	set_timer(s, ANNOUNCE_US);
}

static void resume_listener(struct supervisor *s) {
	if (supervisor_watch(s, s->direct.listener, EVENT_LISTENER, 0) == 0) {
		s->direct.paused = false;
	} else {
		pause_listener(s);
	}
}

void supervisor_direct_timer(struct supervisor *s) {
	uint64_t expired;

	(void)!read(s->direct.timer, &expired, sizeof expired); /* it is readable, or was */
	(void)pthread_mutex_lock(&s->lock);
	announce_all(s->jobs);
	announce_all(s->waiting);
	s->timed = !send_ended(s);
	bool again = s->timed;
	(void)pthread_mutex_unlock(&s->lock);
	if (again) {
		set_timer(s, ANNOUNCE_US);
	}
	if (s->direct.paused) {
		resume_listener(s);
	}
}

void supervisor_direct_started(struct supervisor *s) {
	(void)pthread_mutex_lock(&s->lock);
	/* Jobs that have ended: no client waits for this thread now. */
	bool timed = s->timed && s->ended == NULL;
	(void)send_ended(s);
	s->timed = true;
	(void)pthread_mutex_unlock(&s->lock);
	if (!timed) {
		set_timer(s, ANNOUNCE_US);
	}
}

void supervisor_direct_end(struct job *j) {
	struct supervisor *s = j->owner;

	(void)pthread_mutex_lock(&s->lock);
	j->next = NULL;
	*s->ended_last = j;
	s->ended_last = &j->next;
	s->nended++;
	s->timed = true;
	(void)pthread_mutex_unlock(&s->lock);
	set_timer(s, END_US);
}

/* ---- requests ---- */

union control {
	char space[CMSG_SPACE(sizeof(int) * DIRECT_FDS)];
	struct cmsghdr align;
};

/* Its alignment padding may have room for one descriptor too many, which the kernel fills. */
#define ROOM ((sizeof(union control) - CMSG_LEN(0)) / sizeof(int))

/* The number of bytes, with the descriptors; 0: the client is gone; -1 with errno. */
static ssize_t receive(const struct supervisor *s, int client, int fds[ROOM], size_t *ret_n) {
	union control control;
	struct iovec body = {s->direct.inbox, DIRECT_BYTES};
	struct msghdr m = {.msg_iov = &body,
			   .msg_iovlen = 1,
			   .msg_control = control.space,
			   .msg_controllen = sizeof control.space};
	ssize_t n = recvmsg(client, &m, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);

	*ret_n = 0;
	for (struct cmsghdr *h = n < 0 ? NULL : CMSG_FIRSTHDR(&m); h != NULL;
	     h = CMSG_NXTHDR(&m, h)) {
		if (h->cmsg_level == SOL_SOCKET && h->cmsg_type == SCM_RIGHTS) {
			*ret_n = (h->cmsg_len - CMSG_LEN(0)) / sizeof(int);
			memcpy(fds, CMSG_DATA(h), *ret_n * sizeof(int));
		}
	}
	bool cut = n > 0 && (m.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) != 0;
	return cut ? 1 : n; /* one byte is no request */
}

static bool has_room(struct supervisor *s) {
	(void)pthread_mutex_lock(&s->lock);
	bool room = s->ndirect + s->nended < DIRECT_JOBS_MAX;
	(void)pthread_mutex_unlock(&s->lock);
	return room;
}

/* The job of a request; NULL: the request is malformed, or there is no room for it. */
static struct job *read_job(struct supervisor *s, size_t len) {
	struct job *j = calloc(1, sizeof *j);
	char *words = malloc(len);
	struct direct_command c;

	if (j == NULL || words == NULL || !has_room(s)) {
		free(words);
		free(j);
		return NULL;
	}
	memcpy(words, s->direct.inbox, len);
	if (direct_request_read(words, len, &c, &j->argv) != 0) {
		free(words);
		free(j);
		return NULL;
	}
	j->words = words;
	j->env = c.env;
	j->directory = c.directory;
	j->timeout_ms = c.timeout_ms;
	j->call = direct_socket_number(s->direct.counts);
	j->started = daemon_now();
	return j;
}

static struct job *start(struct supervisor *s, int client, size_t len, const int fds[DIRECT_FDS]) {
	struct job *j = read_job(s, len);

	if (j == NULL || supervisor_watch(s, client, EVENT_CLIENT, j->call) != 0) {
		if (j != NULL) {
			free(j->argv);
			free(j->words);
			free(j);
		}
		leave_to_daemon(client, fds, DIRECT_FDS);
		return NULL;
	}
	j->client = client;
	memcpy(j->fds, fds, sizeof j->fds);
	return jobs_start_direct(s, j);
}

/* The request of a client; *ret_waits: it has not sent one yet, and stays open. */
static struct job *take_request(struct supervisor *s, int client, bool *ret_waits) {
	int fds[ROOM];
	size_t nfds = 0;
	ssize_t n = receive(s, client, fds, &nfds);

	*ret_waits = n < 0 && (errno == EAGAIN || errno == EINTR);
	if (*ret_waits) {
		return NULL;
	}
	if (n > 0 && nfds == DIRECT_FDS) {
		return start(s, client, (size_t)n, fds);
	}
	leave_to_daemon(client, fds, nfds);
	return NULL;
}

/* H8, as conn.c has it for the admin socket. */
static bool is_admin(struct supervisor *s, int client) {
	struct peer p;
	struct err e = {0};

	if (peer_of(client, &p, &e) != 0) {
		return false;
	}
	bool is = p.uid == geteuid() && p.pid > 0 &&
		  peer_is_outside(&p, s->direct.daemon, &s->direct.known);
	peer_done(&p);
	return is;
}

/* A client that connects and sends nothing has to make room for later ones. */
static void wait_for(struct supervisor *s, int client) {
	struct direct *d = &s->direct;
	uint32_t place = (uint32_t)d->next;

	d->next = (d->next + 1) % DIRECT_WAITING_MAX;
	turn_away(&d->waiting[place]);
	if (supervisor_watch(s, client, EVENT_WAITING, place) != 0) {
		drop_fd(&client);
	}
	d->waiting[place] = client;
}

struct job *supervisor_direct_accept(struct supervisor *s) {
	int client = accept4(s->direct.listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	bool waits = false;

	if (client < 0) {
		if (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS) {
			pause_listener(s);
		}
		return NULL; /* or the client is gone already */
	}
	if (!is_admin(s, client)) {
		leave_to_daemon(client, NULL, 0);
		return NULL;
	}
	struct job *j = take_request(s, client, &waits);
	if (waits) {
		wait_for(s, client);
	}
	return j;
}

struct job *supervisor_direct_receive(struct supervisor *s, uint32_t place) {
	int client = place < DIRECT_WAITING_MAX ? s->direct.waiting[place] : -1;
	struct epoll_event unused = {0};
	bool waits = false;

	if (client < 0) {
		return NULL;
	}
	(void)epoll_ctl(s->events, EPOLL_CTL_DEL, client, &unused); /* it is watched */
	s->direct.waiting[place] = -1;
	struct job *j = take_request(s, client, &waits);
	if (waits) {
		wait_for(s, client);
	}
	return j;
}
