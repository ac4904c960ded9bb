/* SPDX-License-Identifier: Apache-2.0 */
/* Controls the caller's terminal while the command has its own pty, and forwards the signals
 * that the supervisor gets in the command's place.
 *
 * The inner pty has the line discipline, so the outer terminal only carries bytes: it is in
 * raw mode while Corral runs in the foreground, and in its old modes at every other time.
 *
 * Should:   restore the modes and the mask on every path, lose no signal, follow the
 *           shell's job control.
 * Must not: change the terminal while another job is in the foreground; change a signal's
 *           disposition or another thread's mask.
 * Fails:    open: a terminal that cannot be made raw is still relayed. */
#include "run/terminal.h"

#include "base/auto.h"
#include "base/signal_mask.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

void terminal_init(struct terminal *t, int fd) {
	*t = (struct terminal){.fd = -1};
	if (fd >= 0 && tcgetattr(fd, &t->before) == 0) {
		t->fd = fd;
	}
}

void terminal_size(const struct terminal *t, uint16_t *ret_rows, uint16_t *ret_cols) {
	struct winsize size = {.ws_row = 24, .ws_col = 80};

	if (t->fd >= 0) {
		(void)ioctl(t->fd, TIOCGWINSZ, &size); /* if it fails, 24x80 stays */
	}
	*ret_rows = size.ws_row;
	*ret_cols = size.ws_col;
}

bool terminal_background(int fd) {
	pid_t front = tcgetpgrp(fd);

	/* tcgetpgrp() fails for a terminal that is not the controlling one: no job control. */
	return front > 0 && front != getpgrp();
}

const struct termios *terminal_modes(const struct terminal *t) {
	/* In the background the modes belong to another job, such as a shell's line editor. */
	return t->fd >= 0 && !terminal_background(t->fd) ? &t->before : NULL;
}

void terminal_resize(const struct terminal *t, int master) {
	struct winsize size;

	if (t->fd >= 0 && master >= 0 && ioctl(t->fd, TIOCGWINSZ, &size) == 0) {
		(void)ioctl(master, TIOCSWINSZ, &size); /* fails only when the pty is closed */
	}
}

static bool set_modes(int fd, const struct termios *modes) {
	int rc;

	/* Not TCSADRAIN: a terminal stopped with ^S would block for ever. */
	do {
		rc = tcsetattr(fd, TCSANOW, modes);
	} while (rc != 0 && errno == EINTR);
	return rc == 0;
}

void terminal_raw(struct terminal *t) {
	struct termios modes;

	if (t->fd < 0 || t->raw || terminal_background(t->fd)) {
		return;
	}
	/* Another job may have changed the modes while this one was stopped. */
	if (tcgetattr(t->fd, &t->before) != 0) {
		return;
	}
	modes = t->before;
	cfmakeraw(&modes);
	t->raw = set_modes(t->fd, &modes);
}

void terminal_restore(struct terminal *t) {
	if (!t->raw) {
		return;
	}
	t->raw = false;
	/* In the background the shell has already set its own modes. */
	if (!terminal_background(t->fd)) {
		(void)set_modes(t->fd, &t->before); /* fails only when the terminal is gone */
	}
}

void terminal_stop(struct terminal *t) {
	sigset_t stop, old;

	terminal_restore(t);
	(void)sigemptyset(&stop); /* these cannot fail with a valid signal */
	(void)sigaddset(&stop, SIGTSTP);
	signal_mask(SIG_BLOCK, &stop, &old);
	/* To the whole process group, as ^Z does, so that a calling script stops too.  The
	 * second signal is for this thread: it stops at the unblocking even if another thread
	 * takes the first; SIGCONT clears a pending one. */
	(void)kill(0, SIGTSTP);
	(void)raise(SIGTSTP);
	signal_mask(SIG_UNBLOCK, &stop, NULL);
	signal_mask(SIG_SETMASK, &old, NULL);
}

/* ---- job control ---- */

/* A typed ^Z is the cause of a stop within this time: the supervisor may read the key before
 * pid 1 reports the stop. */
#define TYPED_MS 1000

/* Only ^Z stops the caller's job.  A command that stopped itself waits for SIGCONT; meanwhile ^Z
 * stops the job, and ^C or ^\ continues the command, which has the pty's SIGINT or SIGQUIT
 * pending. */
enum job_act terminal_job_typed(struct job *j, struct stdin_feed *f, int64_t now) {
	bool stop = f->typed_stop, end = f->typed_end;

	f->typed_stop = f->typed_end = false;
	if (!stop && !end) {
		return JOB_GO_ON;
	}
	j->typed = stop ? JOB_STOP : JOB_WAKE;
	if (j->halted) {
		return j->typed;
	}
	j->typed_at = now;
	return JOB_GO_ON;
}

enum job_act terminal_job_stopped(struct job *j, bool halted, int64_t now) {
	bool typed = j->typed_at >= 0 && now - j->typed_at < TYPED_MS;

	j->halted = halted;
	if (!halted || !typed) {
		return JOB_GO_ON;
	}
	j->typed_at = -1; /* one key acts on one stop */
	return j->typed;
}

void terminal_job_continued(struct job *j) {
	*j = JOB_NONE;
}

/* ---- signals ---- */

struct signal_row {
	int number;
	bool terminal_only;
	bool ends; /* requests termination */
	const char *why;
};

static const struct signal_row signal_rows[] = {
	{SIGHUP, false, true, "the terminal or the connection is gone"},
	{SIGINT, false, true, "^C"},
	{SIGQUIT, false, true, "^\\"},
	{SIGTERM, false, true, "kill(1), a service manager"},
	{SIGUSR1, false, false, "the command defines its meaning"},
	{SIGUSR2, false, false, "the command defines its meaning"},
	{SIGALRM, false, false, "its default action would kill the supervisor"},
	{SIGVTALRM, false, false, "likewise"},
	{SIGPROF, false, false, "likewise"},
	{SIGIO, false, false, "likewise"},
	{SIGPWR, false, false, "likewise"},
	{SIGSTKFLT, false, false, "likewise"},
	{SIGXCPU, false, false, "the CPU limit of the supervisor itself"},
	{SIGWINCH, true, false, "resize the pty"},
	{SIGCONT, true, false, "raw mode again after a stop"},
	{SIGTSTP, true, false, "restore the terminal's modes before the stop"},
};

/* Raised by the supervisor's own write(2), which also returns an errno. */
static const int quiet[] = {SIGPIPE, SIGXFSZ};

static bool is_ignored(int number) {
	struct sigaction now;

	/* A signal that nohup or a shell's background job ignores stays ignored. */
	return sigaction(number, NULL, &now) == 0 && now.sa_handler == SIG_IGN;
}

/* glibc reserves 32 and 33; musl also 34, which this thread does not use. */
#define FIRST_REAL_TIME 34
#define WORD_BITS (8 * sizeof(unsigned long))

/* Real-time signals are for the command.  Set by hand, because musl's sigaddset() refuses 34,
 * which is SIGRTMIN of every glibc program. */
static void add_real_time(sigset_t *set) {
	unsigned long words[sizeof(sigset_t) / sizeof(unsigned long)];

	memcpy(words, set, sizeof words);
	for (size_t n = FIRST_REAL_TIME; n < _NSIG; n++) {
		words[(n - 1) / WORD_BITS] |= 1UL << ((n - 1) % WORD_BITS);
	}
	memcpy(set, words, sizeof words);
}

static void add_rows(sigset_t *watched, bool forward, bool terminal) {
	for (size_t i = 0; i < ARRAY_LEN(signal_rows); i++) {
		const struct signal_row *row = &signal_rows[i];
		if ((forward && !row->terminal_only && !is_ignored(row->number)) ||
		    (terminal && (row->terminal_only || !is_ignored(row->number)))) {
			(void)sigaddset(watched, row->number);
		}
	}
	if (forward || terminal) {
		add_real_time(watched);
	}
}

int terminal_signals_block(struct signals *s, bool forward, bool terminal, struct err *e) {
	sigset_t watched, blocked;

	*s = (struct signals){.fd = -1};
	(void)sigemptyset(&s->late); /* the set calls cannot fail with valid signals */
	(void)sigemptyset(&watched);
	(void)sigpending(&s->pending);
	add_rows(&watched, forward, terminal);
	if (forward || terminal) {
		s->fd = signalfd(-1, &watched, SFD_CLOEXEC | SFD_NONBLOCK);
		if (s->fd < 0) {
			return err_sys(e, "run", "cannot create a signalfd");
		}
	}
	blocked = watched;
	for (size_t i = 0; i < ARRAY_LEN(quiet); i++) {
		(void)sigaddset(&blocked, quiet[i]);
	}
	signal_mask(SIG_BLOCK, &blocked, &s->old);
	return 0;
}

/* Removes pending SIGPIPE and SIGXFSZ of the supervisor's own writes. */
static void drop_quiet(const struct signals *s) {
	const struct timespec now = {0};
	sigset_t pending, one;

	if (sigpending(&pending) != 0) {
		return;
	}
	for (size_t i = 0; i < ARRAY_LEN(quiet); i++) {
		(void)sigemptyset(&one);
		(void)sigaddset(&one, quiet[i]);
		if (sigismember(&s->pending, quiet[i]) != 1 &&
		    sigismember(&pending, quiet[i]) == 1) {
			(void)sigtimedwait(&one, NULL, &now);
		}
	}
}

void terminal_signals_restore(struct signals *s) {
	drop_quiet(s);
	for (int n = 1; n <= SIGRTMAX; n++) {
		if (sigismember(&s->late, n) == 1) {
			(void)raise(n); /* delivered when the mask is restored */
		}
	}
	drop_fd(&s->fd);
	signal_mask(SIG_SETMASK, &s->old, NULL); /* S2 */
}

int terminal_signals_next(const struct signals *s) {
	struct signalfd_siginfo info;

	if (s->fd < 0 || read(s->fd, &info, sizeof info) != (ssize_t)sizeof info) {
		return 0;
	}
	return (int)info.ssi_signo;
}

static bool is_termination(int number) {
	for (size_t i = 0; i < ARRAY_LEN(signal_rows); i++) {
		if (signal_rows[i].number == number) {
			return signal_rows[i].ends;
		}
	}
	return false;
}

bool terminal_signals_late(struct signals *s) {
	bool ends = false;
	int number;

	while ((number = terminal_signals_next(s)) != 0) {
		(void)sigaddset(&s->late, number);
		ends |= is_termination(number);
	}
	return ends;
}
