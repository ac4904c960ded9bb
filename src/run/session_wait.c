/* SPDX-License-Identifier: Apache-2.0 */
/* Waits for a command of a session: its status socket, the session's own events, the streams and
 * the clock; kills its tree at the time-out.
 *
 * Should:   return as soon as the command has ended by itself: processes that it left in the
 *           background go on; after a kill, return when its last process is gone.
 * Must not: hold the session's lock in poll(2).
 * Fails:    closed: a command without a report of its end is lost. */
#include "run/session.h"

#include "base/auto.h"
#include "base/clock.h"
#include "base/fd.h"
#include "run/deadline.h"
#include "run/streams.h"
#include "run/terminal.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>

/* Between two orders to kill a tree: the first may come before the command has a leader. */
#define KILL_STEP_MS 50
/* The wait for a tree after the first of them.  Pid 1 goes on without us (Z8). */
#define KILL_MS 3000

struct wait {
	struct session_exec *x;
	const struct session_command *c; /* NULL: no relay */
	struct streams streams;
	struct leak_watch leaks;
	struct leak_log found;
	struct net_watch net;
	int64_t active_at; /* the last byte of output */
	bool told;         /* the caller, by c->ready */
};

/* ---- the end of a tree ---- */

static void order(const struct session_exec *x, enum order_kind kind, int value) {
	/* If the channel is full the next attempt sends it; without a pid 1 the tree is dead. */
	(void)child_order(x->session->running.child, kind, x->number, value);
}

/* SIGTERM now, SIGKILL after the grace period. */
static void end_tree(struct session_exec *x, int64_t now) {
	int64_t grace = x->session->running.plan->grace_ms;

	grace = grace == LIMIT_NONE ? 0 : grace;
	x->ending = true;
	x->kill_at = now + grace;
	x->give_up = x->kill_at + KILL_MS;
	order(x, ORDER_EXEC_TREE, SIGTERM);
}

static void kill_tree(struct session_exec *x, int64_t now) {
	order(x, ORDER_EXEC_TREE, SIGKILL);
	x->attempts++;
	x->kill_at = now + KILL_STEP_MS;
}

static void check_clock(struct wait *w, int64_t now) {
	struct session_exec *x = w->x;
	bool waits = !x->reported && !x->ending;

	if (waits && x->timeout_ms != LIMIT_NONE && now >= x->began + x->timeout_ms) {
		x->timed_out = true;
		end_tree(x, now);
	}
	if (waits && w->c != NULL && w->c->idle_ms != LIMIT_NONE &&
	    now >= w->active_at + w->c->idle_ms) {
		session_kill_for(x, REASON_IDLE);
		end_tree(x, now);
	}
	if (atomic_load(&x->killed) >= 0 && !x->ending) {
		x->ending = true;
		x->kill_at = now;
		x->give_up = now + KILL_MS;
	}
	if (x->ending && x->reported && x->attempts == 0) {
		x->kill_at = now; /* it ended at SIGTERM: the rest of its tree is killed */
	}
	if (x->kill_at >= 0 && now >= x->kill_at && !x->gone) {
		kill_tree(x, now);
	}
}

static bool is_over(const struct session_exec *x, int64_t now) {
	return x->gone || (x->reported && !x->ending) || (x->give_up >= 0 && now >= x->give_up);
}

/* ---- events ---- */

static void read_report(struct session_exec *x) {
	struct warm_report r;
	ssize_t n = recv(x->status, &r, sizeof r, MSG_DONTWAIT);

	if (n == (ssize_t)sizeof r && !x->reported) {
		x->report = r;
		x->reported = true;
		x->gone = r.step != WARM_STARTED;
	} else if (n >= 0 || (errno != EAGAIN && errno != EINTR)) {
		x->gone = true;
	}
}

/* When the session has ended, its processes are dead or dying. */
static void check_session(struct session_exec *x, int64_t now) {
	if (!session_alive(x->session) && x->give_up < 0) {
		x->ending = true;
		x->give_up = now + KILL_MS;
	}
}

enum slot {
	SLOT_STATUS,
	SLOT_WAKE,
	SLOT_READY,
	SLOT_SESSION,
	SLOT_STREAMS = SLOT_SESSION + CHILD_SLOTS,
	SLOT_COUNT = SLOT_STREAMS + STREAM_SLOTS
};

static int time_left(const struct wait *w, int64_t at, int64_t now) {
	const struct session_exec *x = w->x;

	deadline_sooner(&at, x->kill_at);
	deadline_sooner(&at, x->give_up);
	if (!x->ending && x->timeout_ms != LIMIT_NONE) {
		deadline_sooner(&at, x->began + x->timeout_ms);
	}
	if (w->c != NULL) {
		deadline_sooner(&at, streams_wake(&w->streams, now));
		deadline_sooner(&at, w->net.due);
		if (!x->ending && w->c->idle_ms != LIMIT_NONE) {
			deadline_sooner(&at, w->active_at + w->c->idle_ms);
		}
	}
	return deadline_poll_ms(at, now);
}

static bool any(const struct pollfd *slots, size_t n) {
	for (size_t i = 0; i < n; i++) {
		if (slots[i].revents != 0) {
			return true;
		}
	}
	return false;
}

/* Returns when the session has to be served without an event; -1: never. */
static int64_t fill_slots(const struct wait *w, int64_t now, struct pollfd slots[SLOT_COUNT]) {
	const struct session_exec *x = w->x;
	int64_t at = -1;

	for (size_t i = 0; i < SLOT_COUNT; i++) {
		slots[i] = (struct pollfd){.fd = -1};
	}
	slots[SLOT_STATUS] = (struct pollfd){.fd = x->gone ? -1 : x->status, .events = POLLIN};
	slots[SLOT_WAKE] = (struct pollfd){.fd = atomic_load(&x->killed) >= 0 ? -1 : x->wake,
					   .events = POLLIN};
	if (w->c != NULL && w->c->ready != NULL && !w->told) {
		slots[SLOT_READY] = (struct pollfd){.fd = w->c->ready_fd, .events = POLLIN};
	}
	if (x->give_up < 0) {
		at = session_poll(x->session, slots + SLOT_SESSION);
	}
	if (w->c != NULL) {
		streams_poll(&w->streams, now, slots + SLOT_STREAMS);
	}
	return at;
}

static void tell(struct wait *w) {
	if (w->c->ready != NULL && !w->told) {
		w->told = true;
		w->c->ready(w->c->ready_arg);
	}
}

static void turn(struct wait *w, int64_t now) {
	struct pollfd slots[SLOT_COUNT];
	struct session_exec *x = w->x;

	int64_t serve_at = fill_slots(w, now, slots);
	int n = poll(slots, SLOT_COUNT,
		     time_left(w, serve_at, now)); /* slots begin without events */
	now = clock_ms();
	if (any(slots + SLOT_SESSION, CHILD_SLOTS) || (serve_at >= 0 && now >= serve_at)) {
		check_session(x, now);
	}
	if (n <= 0) {
		return; /* a signal, or the clock */
	}
	if (w->c != NULL && streams_step(&w->streams, now, slots + SLOT_STREAMS)) {
		w->active_at = now;
	}
	if (slots[SLOT_READY].revents != 0) {
		tell(w);
	}
	if (slots[SLOT_STATUS].revents != 0) {
		read_report(x);
	}
	if (w->leaks.kill) {
		session_kill_for(x, REASON_LEAK);
	}
}

static void loop(struct wait *w) {
	for (int64_t now = clock_ms(); !is_over(w->x, now); now = clock_ms()) {
		if (w->c != NULL && streams_held(&w->streams)) {
			w->active_at = now; /* output waits for a slow reader */
		}
		check_clock(w, now);
		net_watch_look(&w->net, now, false);
		if (!is_over(w->x, now)) {
			turn(w, now);
		}
	}
}

/* ---- the result ---- */

static int not_started(const struct session_exec *x, struct err *e) {
	static const char *const what[] = {
		[WARM_NO_SLOT] = "too many commands of this session have processes",
		[WARM_NO_PROCESS] = "the kernel refused to create a process",
		[WARM_NO_MEMORY] = "cannot map the arguments of the command",
		[WARM_NO_LIMIT] = "cannot set a resource limit",
		[WARM_NO_DESCRIPTOR] = "cannot give the command its descriptors",
		[WARM_NO_TERMINAL] = "cannot make the pty the command's controlling terminal",
	};
	const struct warm_report *r = &x->report;
	const char *path = warm_message_candidate(&x->message, r->candidate);

	errno = r->error;
	switch ((enum warm_step)r->step) {
	case WARM_NO_DIRECTORY:
		return err_sys_at(e, "directory", "cannot start in",
				  x->message.bytes + x->message.head.directory);
	case WARM_NO_EXEC:
		if (r->error == ENOENT) {
			path = warm_message_name(&x->message);
		}
		(void)err_sys_at(e, "exec",
				 r->error == ENOENT ? "no such command in the sandbox:"
						    : "cannot execute",
				 path);
		e->kind = r->error == ENOENT ? ERR_NOT_FOUND : ERR_NO_EXEC;
		return -1;
	default:
		return err_sys(e, "session",
			       r->step < ARRAY_LEN(what) && what[r->step] != NULL
				       ? what[r->step]
				       : "invalid report");
	}
}

/* The command ended by SIGKILL: its own, or of a child of its shell. */
static bool was_killed(const struct session_exec *x) {
	int status = x->report.status;

	return x->reported && ((WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) ||
			       (WIFEXITED(status) && WEXITSTATUS(status) == 128 + SIGKILL));
}

/* The OOM killer killed a process of the session while the command ran. */
static bool is_oom(const struct session_exec *x) {
	return was_killed(x) && child_oom_kills(x->session->running.child) > x->oom_kills;
}

/* A sampler killed the tree of this command. */
static void take_overrun(const struct session_exec *x, struct usage *u, struct ending *end) {
	int64_t value = 0;
	enum overrun limit = child_overrun(x->session->running.child, x->number, &value);

	if (limit == OVERRUN_NONE || !was_killed(x)) {
		return;
	}
	u->run_state.overrun = limit;
	u->run_state.overrun_value = value;
	u->oom = limit == OVERRUN_MEMORY;
	if (!u->oom && !end->forced) {
		end->forced = true;
		end->force = REASON_LIMIT;
	}
}

static void result_of(const struct session_exec *x, struct outcome *o) {
	const struct running *r = &x->session->running;
	int killed = atomic_load(&x->killed);
	struct ending end = {
		.status = x->reported ? x->report.status : SIGKILL,
		.timed_out = x->timed_out,
		.forced = killed >= 0,
		.force = killed >= 0 ? (enum reason)killed : REASON_EXIT,
		.lost = !x->reported,
	};
	struct usage u = {
		.cpu_ms = x->reported ? x->report.cpu_us / 1000 : -1,
		.max_rss_kb = x->reported ? x->report.max_rss_kb : -1,
		.processes_peak = -1,
		.oom = is_oom(x),
	};

	u.memory_limited = u.oom && r->plan->memory_bytes != LIMIT_NONE;
	if (!x->reported) {
		u.run_state = child_state(r->child);
	}
	take_overrun(x, &u, &end);
	outcome_fill(o, &end, &u, r->plan);
	const struct records records = child_records(r->child);
	netlog_read(records.ledger, records.refusals, &o->network);
	netlog_since(&o->network, &x->before);
	o->duration_ms = clock_ms() - x->began;
}

static void release(struct session_exec *x) {
	session_forget(x); /* before its descriptors are closed */
	drop_fd(&x->status);
	drop_fd(&x->wake);
	drop_fd(&x->master);
	warm_message_done(&x->message);
	netlog_done(&x->before);
}

int session_wait(struct session_exec *x, struct outcome *ret, struct err *e) {
	struct wait w = {.x = x, .net = {.due = -1}};
	const struct running *r = &x->session->running;
	struct outcome o = {0};
	int rc = 0;

	session_prepare_next(x->session);
	loop(&w);
	if (x->reported && x->report.step != WARM_STARTED) {
		rc = not_started(x, e);
	} else {
		result_of(x, &o);
		outcome_read_journal(&o, r->plan, r->policy, r->host, &x->part);
		*ret = o;
	}
	release(x);
	return rc;
}

void session_abandon(struct session_exec *x) {
	session_kill_for(x, REASON_CANCELLED);
	struct wait w = {.x = x, .net = {.due = -1}};
	loop(&w);
	release(x);
}

/* ---- with relayed streams ---- */

static int take_output(struct output *p, char **ret, size_t *ret_len, struct err *e) {
	if (!p->keep) {
		return 0;
	}
	*ret = capture_take(&p->kept, ret_len);
	return *ret != NULL ? 0 : err_memory(e, "session");
}

static int relay_result(struct wait *w, struct outcome *ret, struct err *e) {
	struct session_exec *x = w->x;
	const struct running *r = &x->session->running;
	struct output *out = &w->streams.pumps[0], *err = &w->streams.pumps[1];
	struct output_tail *tails[] = {&err->recent, &out->recent};
	struct outcome o = {0};

	if (x->reported && x->report.step != WARM_STARTED) {
		return not_started(x, e);
	}
	result_of(x, &o);
	netlog_clean(&o.network, w->leaks.source);
	outcome_advise(&o, r->plan, r->policy, NULL, tails);
	if (take_output(out, &o.out, &o.out_len, e) != 0 ||
	    take_output(err, &o.err, &o.err_len, e) != 0) {
		outcome_done(&o);
		return -1;
	}
	o.leaks = w->found;
	w->found = (struct leak_log){0};
	o.leaks_scanned = w->leaks.source != NULL && !w->leaks.failed;
	o.out_dropped = output_dropped(out);
	o.err_dropped = output_dropped(err);
	o.stream_errors[STREAM_IN] = w->streams.feed.error;
	o.stream_errors[STREAM_OUT] = out->error;
	o.stream_errors[STREAM_ERR] = err->error;
	outcome_read_journal(&o, r->plan, r->policy, r->host, &x->part);
	denials_clean(&o.denials, w->leaks.source);
	*ret = o;
	return 0;
}

/* The last output; a slow reader outside may take as long as the command could. */
static void drain(struct wait *w) {
	int64_t now = clock_ms();
	int64_t until = w->x->timeout_ms == LIMIT_NONE
				? -1
				: now + deadline_of_end(w->x->session->running.plan);

	while (streams_drain(&w->streams) && (until < 0 || now < until)) {
		struct pollfd slots[STREAM_SLOTS];
		tell(w);
		streams_poll(&w->streams, now, slots);
		if (poll(slots, ARRAY_LEN(slots), deadline_poll_ms(until, now)) < 0 &&
		    errno != EINTR) {
			return;
		}
		now = clock_ms();
		(void)streams_step(&w->streams, now, slots); /* idle time no longer counts */
	}
}

/* The command has the slave three times; the streams get the master. */
static int start_on_pty(struct wait *w, struct session *s, struct err *e) {
	int master = -1, slave = -1;

	if (session_pty_open(s, w->c, &master, &slave, e) != 0) {
		return -1;
	}
	auto_fd ours = master, inside = slave;
	auto_fd resized = fd_duplicate(ours, 0);
	if (resized < 0) {
		return err_sys(e, "terminal", "cannot duplicate the pty");
	}
	if (streams_attach(&w->streams, take_fd(&ours), e) != 0 ||
	    session_start(s, w->c, (int[]){inside, inside, inside}, w->x, e) != 0) {
		return -1;
	}
	(void)pthread_mutex_lock(&s->lock);
	w->x->master = take_fd(&resized);
	(void)pthread_mutex_unlock(&s->lock);
	return 0;
}

static int relay(struct wait *w, struct session *s, struct outcome *ret, struct err *e) {
	const struct session_command *c = w->c;
	const struct stream_wish wish = {
		.fds = {c->in, c->out, c->err},
		.limit = c->output_bytes,
		.watched = c->idle_ms != LIMIT_NONE,
		.terminal = c->warm.terminal,
		.leaks = w->leaks.source == NULL ? NULL : &w->leaks,
		.watch = c->watch,
	};

	if (streams_open(&w->streams, &wish, e) != 0) {
		return -1;
	}
	int rc = c->warm.terminal ? start_on_pty(w, s, e)
				  : session_start(s, c, w->streams.inside, w->x, e);
	if (rc == 0) {
		if (c->sent != NULL) {
			c->sent(c->sent_arg);
		}
		streams_started(&w->streams);
		session_prepare_next(s);
		w->active_at = w->x->began;
		net_watch_begin(&w->net, &w->x->before, w->x->began);
		loop(w);
		drain(w);
		net_watch_look(&w->net, clock_ms(), true);
		rc = relay_result(w, ret, e);
		/* The caller may exit when it has the result: background processes live on. */
		session_forget(w->x);
		if (rc == 0 && c->ended != NULL) {
			c->ended(c->ended_arg);
		}
		net_watch_done(&w->net);
		release(w->x);
	}
	streams_done(&w->streams);
	return rc;
}

int session_run(struct session *s, const struct session_command *c, struct outcome *ret,
		struct err *e) {
	struct session_exec x = {.status = -1, .wake = -1, .master = -1};
	struct wait w = {.x = &x, .c = c};
	const struct plan *plan = s->running.plan;
	const struct records records = child_records(s->running.child);
	struct signals quiet;

	w.leaks = (struct leak_watch){
		.source = plan->scan_output == LEAK_OFF ? NULL : c->leaks,
		.action = plan->scan_output,
		.terminal = plan->scan_terminal,
		.log = &w.found,
	};
	w.net = (struct net_watch){.to = &c->net,
				   .ledger = records.ledger,
				   .refusals = records.refusals,
				   .clean = w.leaks.source,
				   .due = -1};
	if (terminal_signals_block(&quiet, false, false, e) != 0) { /* SIGPIPE (S2) */
		return -1;
	}
	int rc = relay(&w, s, ret, e);
	leak_log_done(&w.found);
	terminal_signals_restore(&quiet);
	return rc;
}
