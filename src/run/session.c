/* SPDX-License-Identifier: Apache-2.0 */
/* Opens and closes a session, and starts and signals its commands; session_wait.c waits for them.
 *
 * Should:   keep the order of requests, so that their numbers rise.
 * Must not: hold the lock while it waits for a command.
 * Fails:    closed: a request that cannot be sent starts nothing. */
#include "run/session.h"

#include "base/auto.h"
#include "base/clock.h"
#include "run/records.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

/* A zygote that takes no request for this long does not work any more. */
#define SEND_S 10

int session_open(struct arena *a, const struct run_request *r, struct session *ret, struct err *e) {
	struct plan *plan = arena_array(a, 1, sizeof *plan);
	struct run_request request = *r;
	int pair[2];

	if (plan == NULL) {
		return err_memory(e, "session");
	}
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0) {
		return err_sys(e, "session", "cannot create the socket of the zygote");
	}
	auto_fd ours = pair[0], zygotes = pair[1];
	const struct timeval limit = {.tv_sec = SEND_S};
	(void)setsockopt(ours, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit); /* else it blocks */
	*plan = *r->plan;
	plan->timeout_ms = plan->idle_ms = LIMIT_NONE;
	request.plan = plan;
	request.in = request.out = request.err = RUN_NULL;
	request.more_fds = &zygotes;
	request.nmore_fds = 1;
	request.session = true;
	*ret = (struct session){.requests = -1, .spare = {-1, -1, -1}};
	if (run_start(a, &request, &ret->running, e) != 0) {
		return -1;
	}
	(void)pthread_mutex_init(&ret->lock, NULL); /* cannot fail with the default attributes */
	reports_init(&ret->reports);
	ret->reports.begun = true;
	ret->requests = take_fd(&ours);
	return 0;
}

static void spare_done(struct session_spare *spare) {
	drop_fd(&spare->ours);
	drop_fd(&spare->leaders);
	drop_fd(&spare->wake);
}

static int spare_make(struct session_spare *ret, struct err *e) {
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0) {
		return err_sys(e, "session", "cannot create the socket of a command");
	}
	auto_fd ours = pair[0], leaders = pair[1];
	auto_fd wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (wake < 0) {
		return err_sys(e, "session", "cannot create an eventfd");
	}
	*ret = (struct session_spare){take_fd(&ours), take_fd(&leaders), take_fd(&wake)};
	return 0;
}

static struct session_spare spare_exchange(struct session *s, struct session_spare new) {
	(void)pthread_mutex_lock(&s->lock); /* a normal mutex of our own */
	struct session_spare old = s->spare;
	s->spare = new;
	(void)pthread_mutex_unlock(&s->lock);
	return old;
}

void session_prepare_next(struct session *s) {
	struct session_spare spare;
	struct err unused = {0};

	(void)pthread_mutex_lock(&s->lock);
	bool has = s->spare.ours >= 0;
	(void)pthread_mutex_unlock(&s->lock);
	if (!has && spare_make(&spare, &unused) == 0) { /* else the next command reports why */
		spare = spare_exchange(s, spare);       /* another thread may have made one */
		spare_done(&spare);
	}
}

void session_close(struct session *s, struct usage *ret) {
	drop_fd(&s->requests);
	drop_fd(&s->running.ptmx);
	spare_done(&s->spare);
	child_finish(s->running.child, ret);
	reports_done(&s->reports);
	(void)pthread_mutex_destroy(&s->lock); /* no thread uses it any more */
}

/* Reads the reports of pid 1, answers the gate, and follows replaced files. */
static void serve(struct session *s) {
	struct pollfd slots[CHILD_SLOTS];

	child_poll(s->running.child, slots);
	if (poll(slots, ARRAY_LEN(slots), 0) > 0) {
		reports_step(&s->reports, s->running.child, slots);
	}
	child_look(s->running.child, clock_ms());
	s->over = s->over || s->reports.over;
}

bool session_alive(struct session *s) {
	(void)pthread_mutex_lock(&s->lock); /* a normal mutex of our own */
	serve(s);
	bool alive = !s->over;
	(void)pthread_mutex_unlock(&s->lock);
	return alive;
}

static int ended(struct err *e) {
	(void)err_set(e, ERR_SETUP, "session", "the session has ended: its processes were killed");
	return err_fix(e, "open a new session");
}

/* With the lock held. */
static int send_request(struct session *s, struct session_exec *x, const int *fds, size_t nfds,
			int status, struct err *e) {
	serve(s);
	if (s->over) {
		return ended(e);
	}
	const struct records records = child_records(s->running.child);
	x->number = x->message.head.exec = ++s->count;
	x->oom_kills = child_oom_kills(s->running.child);
	x->part = journal_part_from(records.journal, x->number);
	netlog_read(records.ledger, records.refusals, &x->before);
	if (warm_message_send(&x->message, s->requests, fds, nfds, status) == 0) {
		return 0;
	}
	netlog_done(&x->before);
	return errno == EPIPE || errno == ECONNRESET
		       ? ended(e)
		       : err_sys(e, "session", "cannot send the command to the session");
}

/* The command's descriptors, in their order. */
static size_t collect(const struct session_command *c, const int streams[3],
		      int fds[WARM_FDS_MAX]) {
	size_t n = 0;

	for (; n < 3; n++) {
		fds[n] = streams[n];
	}
	for (size_t i = 0; i < c->nmore_fds; i++) {
		fds[n++] = c->more_fds[i];
	}
	return n;
}

int session_start(struct session *s, const struct session_command *c, const int streams[3],
		  struct session_exec *ret, struct err *e) {
	struct session_exec *x = ret;
	int fds[WARM_FDS_MAX];

	if (3 + c->nmore_fds > WARM_FDS_MAX) {
		return err_set(e, ERR_USAGE, "session", "a command gets at most %d descriptors",
			       WARM_FDS_MAX);
	}
	struct session_spare got = spare_exchange(s, (struct session_spare){-1, -1, -1});
	if (got.ours < 0 && spare_make(&got, e) != 0) {
		return -1;
	}
	auto_fd ours = got.ours, leaders = got.leaders, wake = got.wake;
	*x = (struct session_exec){.session = s,
				   .key = c->key,
				   .status = -1,
				   .wake = wake,
				   .master = -1,
				   .kill_at = -1,
				   .give_up = -1,
				   .killed = -1,
				   .began = clock_ms(),
				   .timeout_ms = c->timeout_ms};
	if (warm_message_new(&c->warm, &x->message, e) != 0) {
		return -1;
	}
	(void)pthread_mutex_lock(&s->lock);
	int rc = send_request(s, x, fds, collect(c, streams, fds), leaders, e);
	if (rc == 0) {
		x->next = s->first;
		s->first = x;
	}
	(void)pthread_mutex_unlock(&s->lock);
	if (rc != 0) {
		warm_message_done(&x->message);
		return -1;
	}
	x->status = take_fd(&ours);
	(void)take_fd(&wake);
	return 0;
}

int session_signal(const struct session_exec *x, int number) {
	return child_order(x->session->running.child, ORDER_EXEC_SIGNAL, x->number, number);
}

int session_signal_all(const struct session *s, int number) {
	return child_order(s->running.child, ORDER_EXEC_TREE, 0, number);
}

size_t session_commands(const struct session *s) {
	return child_commands(s->running.child);
}

void session_kill_for(struct session_exec *x, enum reason why) {
	int none = -1;

	(void)atomic_compare_exchange_strong(&x->killed, &none, (int)why); /* the first stays */
}

void session_kill(struct session_exec *x, enum reason why) {
	const uint64_t one = 1;

	session_kill_for(x, why);
	/* The thread that waits, now or later, repeats the order until the tree is gone. */
	(void)child_order(x->session->running.child, ORDER_EXEC_TREE, x->number, SIGKILL);
	(void)!write(x->wake, &one, sizeof one); /* its counter cannot be full */
}

size_t session_kill_key(struct session *s, uint64_t key) {
	size_t n = 0;

	(void)pthread_mutex_lock(&s->lock);
	for (struct session_exec *x = s->first; x != NULL; x = x->next) {
		if (key != 0 && x->key == key) {
			session_kill(x, REASON_CANCELLED);
			n++;
		}
	}
	(void)pthread_mutex_unlock(&s->lock);
	return n;
}

size_t session_resize_key(struct session *s, uint64_t key, uint16_t rows, uint16_t cols) {
	const struct winsize size = {.ws_row = rows, .ws_col = cols};
	size_t n = 0;

	(void)pthread_mutex_lock(&s->lock);
	for (const struct session_exec *x = s->first; x != NULL; x = x->next) {
		if (key != 0 && x->key == key && x->master >= 0) {
			n += ioctl(x->master, TIOCSWINSZ, &size) == 0;
		}
	}
	(void)pthread_mutex_unlock(&s->lock);
	return n;
}

void session_forget(struct session_exec *x) {
	struct session *s = x->session;

	(void)pthread_mutex_lock(&s->lock);
	for (struct session_exec **at = &s->first; *at != NULL; at = &(*at)->next) {
		if (*at == x) {
			*at = x->next;
			break;
		}
	}
	(void)pthread_mutex_unlock(&s->lock);
}

int64_t session_poll(struct session *s, struct pollfd slots[CHILD_SLOTS]) {
	(void)pthread_mutex_lock(&s->lock);
	child_poll(s->running.child, slots);
	int64_t at = child_wake(s->running.child);
	(void)pthread_mutex_unlock(&s->lock);
	return at;
}
