/* SPDX-License-Identifier: Apache-2.0 */
/* Waits for a command with kqueue(2): its end, its output, its time, and samples of its memory.
 *
 * Should:   kill every process of the run when the command ends, for any reason.
 * Must not: wait longer than the time-out for a process that keeps the output open.
 * Fails:    closed: without samples a run with a limit of memory or processes ends.
 *
 * It has not been run. */
#include "macos/watch.h"

#include "base/auto.h"
#include "macos/limits.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/event.h>
#include <sys/resource.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define WHERE "watch"
#define SAMPLE_MS 20

struct watch {
	const struct plan *plan;
	pid_t pid;
	int queue;
	int output[2];
	struct capture *captures;
	struct tree *tree;
	struct macos_outcome *out;
	int64_t began_ms, heard_ms;
	bool ended;
};

static int64_t now_ms(void) {
	struct timespec t;
	(void)clock_gettime(CLOCK_MONOTONIC, &t); /* it cannot fail for this clock */
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static int add_event(const struct watch *w, uintptr_t ident, int filter, unsigned what) {
	struct kevent change;
	EV_SET(&change, ident, filter, EV_ADD, what, 0, NULL);
	return kevent(w->queue, &change, 1, NULL, 0, NULL);
}

/* ESRCH: it has ended already, and wait(2) will return it. */
static void begin(struct watch *w) {
	w->ended = add_event(w, (uintptr_t)w->pid, EVFILT_PROC, NOTE_EXIT) != 0;
	for (int i = 0; i < 2; i++) {
		if (w->output[i] >= 0 &&
		    add_event(w, (uintptr_t)w->output[i], EVFILT_READ, 0) != 0) {
			w->output[i] = -1; /* then nothing of it is kept */
		}
	}
}

static void take_output(struct watch *w, int fd) {
	char bytes[16384];
	for (int i = 0; i < 2; i++) {
		if (w->output[i] != fd) {
			continue;
		}
		ssize_t n = read(fd, bytes, sizeof bytes);
		if (n > 0) {
			capture_add(&w->captures[i], bytes, (size_t)n);
			w->heard_ms = now_ms();
		} else if (n == 0 || errno != EINTR) {
			struct kevent change;
			EV_SET(&change, fd, EVFILT_READ, EV_DELETE, 0, 0, NULL);
			(void)kevent(w->queue, &change, 1, NULL, 0, NULL); /* it was added */
			w->output[i] = -1;
		}
	}
}

static enum macos_ending judge(struct watch *w) {
	struct macos_times times = {w->began_ms, w->heard_ms, now_ms()};
	struct tree_usage use;
	bool measured = tree_sample(w->tree, &use) == 0;
	if (measured && (int64_t)use.memory > w->out->max_memory) {
		w->out->max_memory = (int64_t)use.memory;
	}
	return macos_limits(w->plan, &times, measured ? &use : NULL, w->tree->full);
}

/* Waits for the next event or sample; false when the command has ended. */
static bool step(struct watch *w) {
	struct kevent events[8];
	const struct timespec rest = {0, SAMPLE_MS * 1000000L};
	int n = kevent(w->queue, NULL, 0, events, (int)ARRAY_LEN(events), &rest);
	for (int i = 0; i < n; i++) {
		if (events[i].filter == EVFILT_PROC) {
			return false;
		}
		take_output(w, (int)events[i].ident);
	}
	return true;
}

/* SIGTERM, and after the grace period the end. */
static void ask_to_end(struct watch *w) {
	int64_t until = now_ms() + macos_grace_ms(w->plan);
	tree_signal(w->tree, SIGTERM);
	while (!w->ended && now_ms() < until) {
		w->ended = !step(w);
	}
}

/* The pipes hold only bytes from before the last process ended. */
static void drain(struct watch *w) {
	for (int i = 0; i < 2; i++) {
		while (w->output[i] >= 0) {
			take_output(w, w->output[i]);
		}
	}
}

static void finish(struct watch *w) {
	struct rusage use = {0};
	struct tree_usage unused;
	(void)tree_sample(w->tree, &unused); /* tree_kill() samples again */
	w->out->survivors = !tree_kill(w->tree);
	(void)wait4(w->pid, &w->out->status, 0, &use); /* the child is ours and was killed */
	if (!w->out->survivors) {
		drain(w); /* else one of them could keep the pipe open for ever */
	}
	w->out->cpu_ms = (int64_t)(use.ru_utime.tv_sec + use.ru_stime.tv_sec) * 1000 +
			 (use.ru_utime.tv_usec + use.ru_stime.tv_usec) / 1000;
	w->out->duration_ms = now_ms() - w->began_ms;
}

int macos_watch(const struct plan *plan, pid_t pid, const int output[2], struct capture captures[2],
		struct macos_outcome *ret, struct err *e) {
	struct watch w = {.plan = plan,
			  .pid = pid,
			  .queue = kqueue(),
			  .output = {output[0], output[1]},
			  .captures = captures,
			  .tree = calloc(1, sizeof *w.tree),
			  .out = ret,
			  .began_ms = now_ms()};
	if (w.queue < 0 || w.tree == NULL) {
		(void)kill(pid, SIGKILL); /* it is ours: nothing else has waited for it */
		(void)waitpid(pid, NULL, 0);
		free(w.tree);
		return err_sys(e, WHERE, "kqueue failed");
	}
	*ret = (struct macos_outcome){.ending = ENDING_EXITED};
	w.heard_ms = w.began_ms;
	w.tree->first = pid;
	begin(&w);
	while (!w.ended && (ret->ending = judge(&w)) == ENDING_EXITED) {
		w.ended = !step(&w);
	}
	if (!w.ended && (ret->ending == ENDING_TIMEOUT || ret->ending == ENDING_IDLE)) {
		ask_to_end(&w);
	}
	finish(&w);
	free(w.tree);
	(void)close(w.queue); /* it has no data */
	return 0;
}
