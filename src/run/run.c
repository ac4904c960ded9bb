/* SPDX-License-Identifier: Apache-2.0 */
/* Supervises a run: one poll loop over pid 1's reports, the streams, the signals and
 * the clock, and one outcome at its end.
 *
 * pid 1 enforces time-outs; the deadlines here are for a pid 1 that no longer answers.
 *
 * Should:   call finish() of the backend exactly once for each child, restore the
 *           terminal and the signal mask on every path.
 * Must not: change a signal's disposition or the mask of another thread.
 * Fails:    closed: an error of the loop kills the child. */
#include "run/run.h"

#include "backend/pool.h"
#include "base/auto.h"
#include "base/clock.h"
#include "data/keys.h"
#include "run/deadline.h"
#include "run/live.h"
#include "run/net_tap.h"
#include "run/streams.h"
#include "run/records.h"
#include "run/reports.h"
#include "run/terminal.h"

#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

/* A second SIGINT or SIGTERM within this time means that the first had no effect; a later one
 * counts as the first again, as ^C at a prompt. */
#define AGAIN_MS 5000
#define COUNTED_MS 10 /* for a run of this length waiting for the teardown costs a few percent */
#define FOREGROUND_MS 100 /* how often a background job checks whether it is in the foreground */

struct watch {
	const struct run_request *r;
	const struct plan *plan;
	struct child_room room;
	struct child *child; /* in room */
	struct reports reports;
	struct streams streams;
	struct tty terminal;
	struct signals signals;
	int64_t overdue;                /* the supervisor's own deadline, after pid 1's; -1 */
	int64_t active_at;              /* the last byte of output */
	int64_t interrupted_at;         /* time of the last SIGINT or SIGTERM; -1 */
	int64_t end_at;                 /* after ORDER_END: when the supervisor kills the run; -1 */
	struct leak_log found;          /* by any of these */
	struct leak_watch leaks, input; /* the output; stdin */
	struct net_tap net;             /* requests */
	struct job job;
	struct asker ask;
	struct live live; /* the line of a long run with -v */
	int cancel;       /* descriptor; -1: none, or it was seen */
	int feed_error;   /* why the caller's stdin could not be read, or 0 */
	bool warm;        /* in a sandbox of the pool */
};

static void watch_end(struct watch *w, enum reason why, int64_t now) {
	w->reports.end.forced = true;
	w->reports.end.force = why;
	w->end_at = now + deadline_of_end(w->plan);
	(void)child_order(w->child, ORDER_END, 0, 0); /* if it fails, end_at kills the run */
}

static void watch_kill(struct watch *w, enum reason why) {
	if (!w->reports.end.forced) {
		w->reports.end.forced = true;
		w->reports.end.force = why;
	}
	w->reports.over = true;
}

/* A secret in stdin may be found before the command has begun; it cannot read it. */
static void watch_leak(struct watch *w) {
	if (w->reports.begun && (w->leaks.kill || w->input.kill || w->net.watch.kill)) {
		watch_kill(w, REASON_LEAK);
	}
}

/* The caller wants the end: SIGTERM, then SIGKILL, as after a time-out. */
static void watch_cancel(struct watch *w, int64_t now) {
	w->cancel = -1;
	if (w->end_at < 0 && !w->reports.over) {
		watch_end(w, REASON_CANCELLED, now);
	}
}

static void watch_pass(struct watch *w, int number) {
	/* The channel keeps an order until pid 1 has started the command. */
	if (child_order(w->child, ORDER_SIGNAL, 0, number) != 0) {
		(void)sigaddset(&w->signals.late, number);
	}
}

/* SIGINT and SIGTERM: the first goes to the command, the second makes pid 1 end the run, the
 * third makes the supervisor kill it. */
static void watch_interrupt(struct watch *w, int number, int64_t now) {
	if (w->end_at >= 0) {
		watch_kill(w, REASON_CANCELLED);
	} else if (w->interrupted_at >= 0 && now - w->interrupted_at < AGAIN_MS) {
		watch_end(w, REASON_CANCELLED, now);
	} else {
		w->interrupted_at = now;
		watch_pass(w, number);
	}
	ask_interrupt(&w->ask, now);
}

static int watch_master(const struct watch *w) {
	return w->r->terminal ? w->streams.pumps[0].from : -1;
}

static void watch_continue(struct watch *w) {
	terminal_job_continued(&w->job);
	tty_raw(&w->terminal);
	tty_resize(&w->terminal, watch_master(w));
	watch_pass(w, SIGCONT);
}

static void watch_signal(struct watch *w, int number, int64_t now) {
	switch (number) {
	case SIGINT:
	case SIGTERM:
		watch_interrupt(w, number, now);
		break;
	case SIGWINCH:
		tty_resize(&w->terminal, watch_master(w));
		break;
	case SIGCONT:
		watch_continue(w);
		break;
	default:
		watch_pass(w, number);
		break;
	}
}

static void watch_pty(struct watch *w) {
	int master = take_fd(&w->reports.pty);

	w->streams.feed.modes = w->terminal.fd < 0 ? NULL : &w->terminal.before;
	tty_resize(&w->terminal, master);
	if (streams_attach(&w->streams, master, &w->reports.err) != 0) {
		w->reports.failed = w->reports.over = true;
		return;
	}
	tty_raw(&w->terminal);
}

static void watch_job(struct watch *w, enum job_act act) {
	if (act == JOB_STOP) {
		live_erase(&w->live);
		terminal_stop(&w->terminal);
		watch_continue(w);
	} else if (act == JOB_WAKE) {
		watch_pass(w, SIGCONT);
	}
}

/* Acts on new reports. */
static void watch_reports(struct watch *w, bool had_begun, int64_t now) {
	struct reports *s = &w->reports;

	if (s->pty >= 0 && w->r->terminal) {
		watch_pty(w);
	}
	if (s->view >= 0 && w->r->ask != NULL) {
		w->r->ask->calls.take_view(w->r->ask->calls.arg, take_fd(&s->view));
	}
	if (s->begun && !had_begun) {
		w->overdue = deadline_of_run(w->plan, now);
		w->active_at = now;
	}
	if (s->stopped && w->r->terminal && !s->over) {
		watch_job(w, terminal_job_stopped(&w->job, s->halted, now));
	}
	s->stopped = false;
}

static bool watch_idles(const struct watch *w) {
	return w->plan->idle_ms != LIMIT_NONE && w->reports.begun && w->end_at < 0;
}

/* A shell sends SIGCONT to a job that it brings to the foreground only if the job was stopped;
 * otherwise the loop checks every FOREGROUND_MS. */
static bool watch_in_background(const struct watch *w) {
	return watch_master(w) >= 0 && w->terminal.fd >= 0 && !w->terminal.raw;
}

static void watch_clock(struct watch *w, int64_t now) {
	if (watch_in_background(w)) {
		tty_raw(&w->terminal);
		tty_resize(&w->terminal, watch_master(w));
	}
	child_look(w->child, now);
	if (w->r->ask != NULL) {
		ask_output(&w->ask, streams_piped(&w->streams), streams_unread(&w->streams));
	}
	ask_clock(&w->ask, now);
	bool drawn = w->streams.paused;
	w->streams.paused = ask_has_terminal(&w->ask);
	if (drawn && !w->streams.paused && w->r->terminal) {
		watch_pass(w, SIGWINCH); /* a full-screen program draws itself again */
	}
	if (streams_held(&w->streams) || w->streams.paused) {
		w->active_at = now; /* output waits for a slow reader: the command is not idle */
	} else {
		live_tick(&w->live, now);
	}
	if (watch_idles(w) && now >= w->active_at + w->plan->idle_ms) {
		watch_end(w, REASON_IDLE, now);
	}
	if (w->overdue >= 0 && now >= w->overdue) {
		watch_kill(w, REASON_TIMEOUT);
	}
	if (w->end_at >= 0 && now >= w->end_at) {
		w->reports.over = true;
	}
}

static int watch_timeout(const struct watch *w, int64_t now) {
	int64_t at = -1;

	deadline_sooner(&at, w->overdue);
	deadline_sooner(&at, w->end_at);
	deadline_sooner(&at, child_wake(w->child));
	deadline_sooner(&at, w->streams.paused ? -1 : live_wake(&w->live));
	deadline_sooner(&at, w->streams.paused ? -1 : streams_wake(&w->streams, now));
	deadline_sooner(&at, ask_due(&w->ask));
	if (watch_idles(w)) {
		deadline_sooner(&at, w->active_at + w->plan->idle_ms);
	}
	if (watch_in_background(w)) {
		deadline_sooner(&at, now + FOREGROUND_MS);
	}
	return deadline_poll_ms(at, now);
}

enum slot {
	SLOT_CHILD,
	SLOT_SIGNALS = CHILD_SLOTS,
	SLOT_STREAMS,
	SLOT_ASK = SLOT_STREAMS + STREAM_SLOTS,
	SLOT_CANCEL = SLOT_ASK + ASK_SLOTS,
	SLOT_COUNT
};

static void watch_turn(struct watch *w, int64_t now) {
	struct pollfd slots[SLOT_COUNT];
	bool had_begun = w->reports.begun;
	int number;

	child_poll(w->child, slots + SLOT_CHILD);
	slots[SLOT_SIGNALS] = (struct pollfd){.fd = w->signals.fd, .events = POLLIN};
	streams_poll(&w->streams, now, slots + SLOT_STREAMS);
	ask_poll(&w->ask, slots + SLOT_ASK);
	slots[SLOT_CANCEL] = (struct pollfd){.fd = w->cancel, .events = POLLIN};
	if (reports_wait(&w->reports, slots, SLOT_COUNT, watch_timeout(w, now)) != 0) {
		return;
	}
	now = clock_ms();
	if (streams_step(&w->streams, now, slots + SLOT_STREAMS)) {
		w->active_at = now;
	}
	watch_job(w, terminal_job_typed(&w->job, &w->streams.feed, now));
	reports_step(&w->reports, w->child, slots + SLOT_CHILD);
	watch_reports(w, had_begun, now);
	ask_step(&w->ask, slots + SLOT_ASK, now);
	watch_leak(w); /* after the report that the command has begun */
	if (slots[SLOT_CANCEL].revents != 0) {
		watch_cancel(w, now);
	}
	/* Signals after the end stay pending for the caller. */
	while (!w->reports.over && (number = terminal_signals_next(&w->signals)) != 0) {
		watch_signal(w, number, now);
	}
}

/* The command is dead; its last output still has to be written.  Without a time-out a reader may
 * take any time, as with any other program. */
static void watch_drain(struct watch *w) {
	w->feed_error = w->streams.feed.error; /* the feed is closed first */
	int64_t now = clock_ms();
	int64_t until = deadline_of_run(w->plan, 0) >= 0 ? now + deadline_of_end(w->plan) : -1;

	while (streams_drain(&w->streams) && (until < 0 || now < until)) {
		struct pollfd slots[1 + STREAM_SLOTS];
		slots[0] = (struct pollfd){.fd = w->signals.fd, .events = POLLIN};
		streams_poll(&w->streams, now, slots + 1);
		if (reports_wait(&w->reports, slots, ARRAY_LEN(slots),
				 deadline_poll_ms(until, now)) != 0 ||
		    terminal_signals_late(&w->signals)) {
			return;
		}
		now = clock_ms();
		(void)streams_step(&w->streams, now, slots + 1); /* idle time no longer counts */
	}
}

static int take_output(struct output *p, char **ret, size_t *ret_len, struct err *e) {
	if (!p->keep) {
		return 0;
	}
	*ret = capture_take(&p->kept, ret_len);
	return *ret != NULL ? 0 : err_memory(e, "run");
}

static int watch_result(struct watch *w, const struct records *records, struct outcome *ret,
			const struct usage *u, struct err *e) {
	struct output *out = &w->streams.pumps[0], *err = &w->streams.pumps[1];
	struct outcome o = {0};

	if (reports_check(&w->reports, e) != 0) {
		const struct output_tail *said = &(w->r->terminal ? out : err)->recent;
		if (w->r->backend->explain != NULL) {
			w->r->backend->explain(said->text, said->len, e);
		}
		return -1;
	}
	outcome_fill(&o, &w->reports.end, u, w->plan);
	netlog_read(records->ledger, records->refusals, &o.network);
	netlog_clean(&o.network, w->net.watch.source);
	struct output_tail *tails[] = {&err->recent, &out->recent};
	outcome_advise(&o, w->plan, w->r->policy, records->journal, tails);
	if (take_output(out, &o.out, &o.out_len, e) != 0 ||
	    take_output(err, &o.err, &o.err_len, e) != 0) {
		outcome_done(&o);
		return -1;
	}
	o.leaks = w->found;
	w->found = (struct leak_log){0};
	o.leaks_scanned = w->leaks.source != NULL && !w->leaks.failed && !w->net.watch.failed;
	o.warm = w->warm;
	o.out_dropped = output_dropped(out);
	o.err_dropped = output_dropped(err);
	o.stream_errors[STREAM_IN] = w->feed_error;
	o.stream_errors[STREAM_OUT] = out->error;
	o.stream_errors[STREAM_ERR] = err->error;
	*ret = o;
	return 0;
}

/* The caller wants a result, with usage and a complete record of the network. */
static bool watch_captures(const struct run_request *r) {
	return r->out == RUN_CAPTURE || r->err == RUN_CAPTURE;
}

/* In a sandbox of the pool, if there is one; else nothing has happened (J7). */
static bool watch_take(struct watch *w, const struct spawn_request *request) {
	w->warm = w->r->pool != 0 && parked_run(w->r->pool, request, &w->room, &w->child) == 0;
	return w->warm;
}

static int watch_start(struct watch *w, struct arena *a, struct err *e) {
	const struct run_request *r = w->r;
	struct spawn_request request = {
		.plan = r->plan,
		.host = r->host,
		.argv = r->argv,
		.secrets = r->secrets,
		.fds = {w->streams.inside[0], w->streams.inside[1], w->streams.inside[2]},
		.more_fds = r->more_fds,
		.nmore_fds = r->nmore_fds,
		.cow = r->cow,
		.timings = r->timings,
		.early = r->early,
		.scanner = {net_tap_serve, &w->net},
		.terminal = r->terminal,
		.rehearse = r->rehearse,
		.count_usage = r->last && watch_captures(r),
		.attended = true,
		.asks = r->ask != NULL,
	};

	tty_size(&w->terminal, &request.rows, &request.cols);
	request.modes = tty_modes(&w->terminal);
	if (!watch_take(w, &request) &&
	    child_spawn(r->backend, a, &request, &w->room, &w->child, e) != 0) {
		return -1;
	}
	streams_started(&w->streams);
	ask_attach(&w->ask, child_ask(w->child), child_ask_hosts(w->child));
	live_begin(&w->live, w->child, clock_ms());
	return 0;
}

/* Whether the program may exit without waiting for pid 1, the only process left.  Not with a
 * cgroup to remove or a sampler to reap; not with a CPU limit, whose check needs the usage; and
 * not after a long run, whose CPU time the caller may want from times(2).  A result waits for the
 * gate, which records the bytes of its connections, and for a usage that pid 1 did not count. */
static bool watch_may_leave(const struct watch *w, int64_t ms) {
	bool normal = w->reports.begun && !w->reports.failed && !w->reports.end.forced &&
		      w->reports.ended;
	return w->r->last && normal && ms < COUNTED_MS && !w->plan->use_cgroup &&
	       !outcome_limited(w->plan, RLIMIT_CPU) &&
	       child_may_leave(w->child, watch_captures(w->r));
}

static int watch_open(struct watch *w, struct arena *a, struct err *e) {
	const struct run_request *r = w->r;
	struct stream_wish wish = {
		.fds = {r->in, r->out, r->err},
		.limit = w->plan->output_bytes,
		.watched = w->plan->idle_ms != LIMIT_NONE,
		.terminal = r->terminal,
		.leaks = w->leaks.source == NULL ? NULL : &w->leaks,
		.input = w->input.source == NULL ? NULL : &w->input,
		.live = w->live.fd < 0 ? NULL : &w->live,
		.watch = r->watch,
	};

	if (streams_open(&w->streams, &wish, e) != 0) {
		return -1;
	}
	if (watch_start(w, a, e) != 0) {
		streams_done(&w->streams);
		return -1;
	}
	return 0;
}

/* Until the command has ended. */
static void watch_loop(struct watch *w, int64_t began) {
	w->overdue = deadline_of_run(w->plan, began);
	if (w->r->meanwhile.work != NULL) {
		w->r->meanwhile.work(w->r->meanwhile.arg);
	}
	for (int64_t now = began; !w->reports.over; now = clock_ms()) {
		watch_clock(w, now);
		if (!w->reports.over) {
			watch_turn(w, now);
		}
	}
}

/* Opens the streams, starts the child, loops, drains; called with the signals blocked. */
static int watch_run(struct watch *w, struct arena *a, struct outcome *ret, struct err *e) {
	int64_t began = clock_ms();
	struct usage usage = {.cpu_ms = -1, .max_rss_kb = -1, .processes_peak = -1};
	int rc;

	if (watch_open(w, a, e) != 0) {
		return -1;
	}
	watch_loop(w, began);
	struct grants grants;
	ask_end_run(&w->ask, &grants);
	w->streams.paused = false;
	live_end(&w->live);
	struct records records = child_take_records(w->child);
	if (watch_may_leave(w, clock_ms() - began)) {
		child_leave(w->child, &usage);
	} else {
		child_finish(w->child, &usage);
	}
	int64_t ended = clock_ms();
	watch_drain(w);
	watch_leak(w); /* the last output, or the last input, had a secret */
	tty_restore(&w->terminal);
	reports_settle(&w->reports, &usage.run_state);
	rc = watch_result(w, &records, ret, &usage, e);
	if (rc == 0) {
		ret->grants = grants;
		ret->duration_ms = ended - began;
		const struct journal_part all = {.journal = records.journal};
		outcome_read_journal(ret, w->plan, w->r->policy, w->r->host, &all);
		denials_clean(&ret->denials, w->net.watch.source);
	}
	if (rc != 0) {
		ask_grants_done(&grants);
	}
	records_free(&records);
	streams_done(&w->streams);
	reports_done(&w->reports);
	return rc;
}

/* A secret in stdin ends the run before the command reads it.  A terminal is a person's, whose
 * secret it may be. */
static void watch_leaks(struct watch *w) {
	const struct run_request *r = w->r;
	bool reads = r->plan->scan_args >= LEAK_BLOCK && !r->terminal;

	w->leaks = (struct leak_watch){
		.source = r->plan->scan_output == LEAK_OFF ? NULL : r->leaks,
		.action = r->plan->scan_output,
		.terminal = r->plan->scan_terminal,
		.log = &w->found,
	};
	w->input = (struct leak_watch){
		.source = reads ? r->leaks : NULL,
		.action = LEAK_KILL,
		.log = &w->found,
	};
	w->net.watch = (struct leak_watch){
		.source = w->leaks.source != NULL || r->plan->scan_net > LEAK_OFF ? r->leaks : NULL,
		.action = r->plan->scan_net,
		.log = &w->found,
	};
}

int run_command(struct arena *a, const struct run_request *r, struct outcome *ret, struct err *e) {
	struct watch w = {.r = r,
			  .plan = r->plan,
			  .overdue = -1,
			  .interrupted_at = -1,
			  .end_at = -1,
			  .cancel = r->cancel > 0 ? r->cancel : -1,
			  .job = JOB_NONE};
	int rc;

	watch_leaks(&w);
	reports_init(&w.reports);
	tty_init(&w.terminal, r->terminal ? r->in : -1);
	live_init(&w.live, r->live && r->ask == NULL ? r->err : -1, r->terminal);
	struct grants none;
	if (ask_begin_run(&w.ask, r->ask, e) != 0 ||
	    terminal_signals_block(&w.signals, r->forward, r->terminal, e) != 0) {
		ask_end_run(&w.ask, &none);
		return -1;
	}
	rc = watch_run(&w, a, ret, e);
	ask_end_run(&w.ask, &none); /* of a run that did not start */
	net_tap_done(&w.net);
	leak_log_done(&w.found);
	terminal_signals_restore(&w.signals);
	return rc;
}
