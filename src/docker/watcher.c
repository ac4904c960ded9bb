/* SPDX-License-Identifier: Apache-2.0 */
/* The watcher: watches a container, and outlives the supervisor (container.h has the theory).
 *
 * The watcher is a clone of a caller that may have threads: like pid 1 of a sandbox it makes system
 * calls and nothing else, so all arguments that it executes are made before (E2).
 *
 * Should:   remove the container when the command ends, on an order, and when the
 *           supervisor is gone; report how the command ended, as every backend does.
 * Must not: leave before the engine's command has ended: until then a container may still be made.
 * Fails:    closed: a container that cannot be started is an error, and nothing of it is left. */
#include "docker/watcher.h"

#include "base/auto.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/signal_mask.h"
#include "linux/channel.h"
#include "linux/kernel_api.h"
#include "linux/run_state.h"
#include "linux/scratch.h"
#include "linux/signals_reset.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* An engine's command that takes longer hangs. */
#define COMMAND_MS 20000
/* Between two attempts to remove a container that may not exist yet. */
#define AGAIN_MS 100
/* After SIGKILL to the container. */
#define KILLED_MS 10000
#define STATUS_SIGNAL 128
#define SIGNALS 64

static _Noreturn void become(char *const *argv, const struct watcher *k, const int fds[3]) {
	sigset_t none;

	for (int i = 0; i < 3; i++) {
		if (syscall(SYS_dup3, fds[i], i, 0) < 0) { /* all of them are above 2 */
			_exit(WATCHER_STATUS_ENGINE);
		}
	}
	if (k->terminal && fds[0] == k->fds[0]) {
		(void)setsid();
		(void)ioctl(0, TIOCSCTTY, 0); /* without it ^C is a byte for the engine */
	}
	(void)sigemptyset(&none);
	signal_mask(SIG_SETMASK, &none, NULL);
	(void)execve(k->c->program, argv, k->c->env);
	_exit(WATCHER_STATUS_ENGINE);
}

static pid_t start(const struct watcher *k, char *const *argv, const int fds[3], int *ret_pidfd) {
	long pid = syscall(SYS_clone, CLONE_PIDFD | SIGCHLD, NULL, ret_pidfd, NULL, NULL);

	if (pid == 0) {
		become(argv, k, fds);
	}
	return (pid_t)pid;
}

bool watcher_wait(int pidfd, int64_t ms) {
	struct pollfd p = {.fd = pidfd, .events = POLLIN};
	int64_t until = clock_ms() + ms;
	int64_t left = ms;

	while (left >= 0 && poll(&p, 1, (int)left) <= 0) {
		left = until - clock_ms();
	}
	return left >= 0;
}

static int reap(pid_t pid, int pidfd) {
	int status = SIGKILL;

	while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
	}
	(void)close(pidfd); /* it cannot fail */
	return status;
}

/* Runs one command of the engine to its end; the output goes to `out`. */
static void execute(const struct watcher *k, char *const *argv, int out) {
	auto_fd null = open("/dev/null", O_RDWR | O_CLOEXEC);
	auto_fd high = fd_duplicate(null, 10);
	int pidfd = -1;
	const int fds[3] = {high, out < 0 ? high : out, high};
	pid_t pid = start(k, argv, fds, &pidfd);

	if (pid <= 0) {
		return;
	}
	if (!watcher_wait(pidfd, COMMAND_MS)) {
		(void)kill(pid, SIGKILL); /* it hangs; the caller tries again */
	}
	(void)reap(pid, pidfd);
}

/* Decimal; returns its end. */
static char *put_number(char *at, uint64_t n) {
	char digits[20];
	size_t len = 0;

	do {
		digits[len++] = (char)('0' + n % 10);
	} while ((n /= 10) > 0);
	while (len > 0) {
		*at++ = digits[--len];
	}
	*at = '\0';
	return at;
}

static void send_signal(struct watcher *k, int number) {
	(void)put_number(k->signal_word + strlen("--signal="), (uint64_t)number);
	execute(k, k->kill, -1);
}

static void leave(const struct watcher *k) {
	scratch_remove(k->plan->run_dir);
}

/* Until the engine's command has ended, it may still create the container. */
static void remove_container(struct watcher *k) {
	while (k->pidfd >= 0) {
		execute(k, k->remove, -1);
		if (watcher_wait(k->pidfd, AGAIN_MS)) {
			(void)reap(k->pid, k->pidfd);
			k->pidfd = -1;
		}
	}
	execute(k, k->remove, -1);
}

static bool contains(const char *text, size_t len, const char *word) {
	return memmem(text, len, word, strlen(word)) != NULL;
}

struct engine_record {
	bool started, oom;
};

/* The engine's record of the container: events, or its state. */
static struct engine_record read_record(struct watcher *k) {
	char text[2048];
	int ends[2];
	size_t len = 0;
	ssize_t n;

	if (pipe2(ends, O_CLOEXEC) != 0) {
		return (struct engine_record){.started = true};
	}
	auto_fd from = ends[0];
	auto_fd to = fd_duplicate(ends[1], 10);
	(void)close(ends[1]); /* `to` is its copy */
	if (k->c->removes) {
		struct timespec now;
		(void)clock_gettime(CLOCK_REALTIME, &now);
		char *at = put_number(k->until_word + strlen("--until="), (uint64_t)now.tv_sec);
		*at++ = '.';
		(void)put_number(at, 1000000000U + (uint64_t)now.tv_nsec);
		*at = '0'; /* nine digits after a zero: rounds down by less than a second */
		for (size_t i = 0; i < 9; i++) {
			at[i] = at[i + 1];
		}
		at[9] = '\0';
	}
	execute(k, k->inspect, to);
	drop_fd(&to);
	while (len < sizeof text && (n = read(from, text + len, sizeof text - len)) > 0) {
		len += (size_t)n;
	}
	if (k->c->removes) {
		return (struct engine_record){contains(text, len, "start"),
					      contains(text, len, "oom")};
	}
	return (struct engine_record){len > 0 && !contains(text, len, "0001-01-01"),
				      contains(text, len, "true")};
}

/* The engine reports a signal as 128 + its number. */
static int status_of(int status) {
	int code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;

	if (code > STATUS_SIGNAL && code <= STATUS_SIGNAL + SIGNALS) {
		return code - STATUS_SIGNAL;
	}
	return status;
}

static void report(struct watcher *k, int status) {
	int code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
	bool own = code >= WATCHER_STATUS_ENGINE && code < WATCHER_STATUS_ENGINE + WATCHER_STATUSES;
	bool shot = code == STATUS_SIGNAL + SIGKILL && k->c->limited && !k->killed;
	struct report r = {
		.kind = REPORT_EXIT, .status = status_of(status), .timed_out = k->timed_out};

	if (!k->rehearse && (own || shot || !k->c->removes)) {
		struct engine_record t = read_record(k);
		if (!t.started && !k->killed) {
			r.kind = REPORT_ERROR;
			r.err = k->failures[own ? code - WATCHER_STATUS_ENGINE : 0];
		} else if (own && !k->killed && container_gate_failed(k)) {
			bool found = k->nlisteners == k->c->nports;
			r.kind = REPORT_ERROR;
			r.err = k->failures[found ? code - WATCHER_STATUS_ENGINE
						  : WATCHER_STATUSES];
		}
		if (t.oom && !k->killed) {
			atomic_store(&k->state->overrun, OVERRUN_MEMORY);
		}
	}
	if (!k->rehearse && !k->c->removes) {
		execute(k, k->remove, -1);
	}
	leave(k);
	if (r.kind == REPORT_EXIT) {
		atomic_store(&k->state->status, r.status);
		atomic_store(&k->state->timed_out, k->timed_out);
		atomic_store(&k->state->ended, 1);
	}
	atomic_store(&k->state->finished, 1);
	(void)channel_send(k->channel, &r, -1); /* the supervisor may be gone */
}

static void end_softly(struct watcher *k, int64_t now) {
	if (k->end_at < 0) {
		k->end_at = now + (k->plan->grace_ms == LIMIT_NONE ? 0 : k->plan->grace_ms);
		send_signal(k, SIGTERM);
	}
}

static void clock_step(struct watcher *k, int64_t now) {
	if (k->deadline >= 0 && now >= k->deadline) {
		k->deadline = -1;
		k->timed_out = true;
		end_softly(k, now);
	}
	if (k->end_at >= 0 && now >= k->end_at) {
		/* Once more after that: a container in creation takes no signal. */
		k->end_at = now + (k->killed ? AGAIN_MS : KILLED_MS / 100);
		k->killed = true;
		execute(k, k->remove, -1);
	}
}

/* False: the supervisor is gone. */
static bool take_orders(struct watcher *k, int64_t now) {
	struct order o;
	int fd = -1, got;

	while ((got = channel_receive_order(k->channel, &o, &fd)) > 0) {
		drop_fd(&fd);
		if (o.kind == ORDER_SIGNAL) {
			send_signal(k, o.value);
		} else if (o.kind == ORDER_END) {
			end_softly(k, now);
		}
	}
	return got == 0;
}

static int timeout(const struct watcher *k, int64_t now) {
	int64_t at = k->deadline;

	if (k->end_at >= 0 && (at < 0 || k->end_at < at)) {
		at = k->end_at;
	}
	return at < 0 ? -1 : at <= now ? 0 : at - now > 3600000 ? 3600000 : (int)(at - now);
}

/* True: the engine's command has ended. */
static bool watch(struct watcher *k) {
	for (;;) {
		struct pollfd p[] = {{.fd = k->pidfd, .events = POLLIN},
				     {.fd = k->channel, .events = POLLIN | POLLRDHUP},
				     {.fd = k->supervisor, .events = POLLIN},
				     {.fd = k->listen, .events = POLLIN},
				     {.fd = k->start, .events = POLLIN}};
		int64_t now = clock_ms();
		clock_step(k, now);
		if (poll(p, ARRAY_LEN(p), timeout(k, now)) < 0) {
			continue;
		}
		if (p[3].revents != 0) {
			container_gate_accept(k);
		}
		if (p[4].revents != 0) {
			container_gate_receive(k); /* before the end: it may have failed */
			continue;
		}
		if (p[0].revents != 0) {
			return true;
		}
		if (p[2].revents != 0 || (p[1].revents & (POLLHUP | POLLRDHUP | POLLERR)) != 0 ||
		    (p[1].revents != 0 && !take_orders(k, clock_ms()))) {
			return false;
		}
	}
}

_Noreturn void watcher_main(struct watcher *k) {
	const int kept[] = {k->channel, k->supervisor, k->lock,   k->fds[0], k->fds[1],
			    k->fds[2],  k->master,     k->listen, k->gate};
	struct report started = {.kind = REPORT_STARTED}, pty = {.kind = REPORT_PTY};

	signals_reset(); /* all stay blocked */
	fd_close_all_but(kept, ARRAY_LEN(kept));
	(void)setsid();    /* it leads no group yet */
	if (k->rehearse) { /* no container is made */
		report(k, 0);
		_exit(0);
	}
	if (k->master >= 0 && channel_send(k->channel, &pty, k->master) != 0) {
		_exit(1);
	}
	k->pid = start(k, k->run, k->fds, &k->pidfd);
	for (size_t i = 0; i < 3; i++) {
		(void)close(k->fds[i]); /* their readers see the end of the command */
	}
	drop_fd(&k->master);
	if (k->pid <= 0) {
		leave(k);
		_exit(1);
	}
	atomic_store(&k->state->begun, 1);
	(void)channel_send(k->channel, &started, -1); /* at its end the loop sees it */
	if (!watch(k)) {
		remove_container(k);
		leave(k);
		_exit(0);
	}
	report(k, reap(k->pid, k->pidfd));
	_exit(0);
}
