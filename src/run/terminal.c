/* The caller's terminal while the command has a pty of its own, and the signals
 * that a terminal, a shell or a person sends to us instead of to the command.
 *
 * The command's line discipline is the inner pty's, so the outer terminal only
 * carries bytes: raw mode while we run in the foreground, the old modes at
 * every other moment.
 *
 * Should:   put the modes and the mask back on every path, lose no signal, be a
 *           good job to the shell.
 * Must not: touch the terminal while another job has it; change a signal's
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
		(void)ioctl(t->fd, TIOCGWINSZ, &size); /* the classic size stands when it fails */
	}
	*ret_rows = size.ws_row;
	*ret_cols = size.ws_col;
}

bool terminal_background(int fd) {
	pid_t front = tcgetpgrp(fd);

	/* It fails for a terminal that is not our controlling one: no job control there. */
	return front > 0 && front != getpgrp();
}

void terminal_copy_modes(const struct terminal *t, int master) {
	/* In the background the modes are another job's: a shell's own line editor. */
	if (t->fd >= 0 && !terminal_background(t->fd)) {
		(void)tcsetattr(master, TCSANOW, &t->before); /* the pty's own defaults work too */
	}
}

void terminal_resize(const struct terminal *t, int master) {
	struct winsize size;

	if (t->fd >= 0 && master >= 0 && ioctl(t->fd, TIOCGWINSZ, &size) == 0) {
		(void)ioctl(master, TIOCSWINSZ, &size); /* fails only once the pty is gone */
	}
}

static bool set_modes(int fd, const struct termios *modes) {
	int rc;

	/* Not "drain": a terminal stopped with ^S would hold us for ever. */
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
	/* Another job may have changed the modes while we were stopped. */
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
	/* In the background the shell has already set the modes of its own. */
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
	/* The whole job, as ^Z does, so that a script around us stops too.  The
	 * second signal is for this thread, which thereby stops at the unblocking
	 * even if another thread takes the first; SIGCONT clears what is left. */
	(void)kill(0, SIGTSTP);
	(void)raise(SIGTSTP);
	signal_mask(SIG_UNBLOCK, &stop, NULL);
	signal_mask(SIG_SETMASK, &old, NULL);
}

/* ---- job control ---- */

/* A key counts for a command that stops within this time of it: the kernel stops the command
 * before pid 1 reports it, so the key may be read first. */
#define TYPED_MS 1000

/* The caller's job stops for a ^Z alone.  A command that stops itself waits for a
 * SIGCONT; meanwhile ^Z stops the job, and ^C or ^\ continues the command, which has the
 * terminal's SIGINT or SIGQUIT pending. */
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
	bool ends; /* asks a program to end */
	const char *why;
};

static const struct signal_row signal_rows[] = {
	{SIGHUP, false, true, "the terminal or the connection is gone"},
	{SIGINT, false, true, "a person wants it to end"},
	{SIGQUIT, false, true, "a person wants it to end now"},
	{SIGTERM, false, true, "a program wants it to end"},
	{SIGUSR1, false, false, "the command's own meaning"},
	{SIGUSR2, false, false, "the command's own meaning"},
	{SIGALRM, false, false, "would end us; a timer of the command's caller"},
	{SIGVTALRM, false, false, "likewise"},
	{SIGPROF, false, false, "likewise"},
	{SIGIO, false, false, "would end us, with nothing wrong"},
	{SIGPWR, false, false, "likewise"},
	{SIGSTKFLT, false, false, "likewise"},
	{SIGXCPU, false, false, "our own limit of processor time"},
	{SIGWINCH, true, false, "the pty follows the window's size"},
	{SIGCONT, true, false, "raw mode again after a stop"},
	{SIGTSTP, true, false, "the terminal's modes go back before we stop"},
};

/* From write(2) of our own: its errno says as much. */
static const int quiet[] = {SIGPIPE, SIGXFSZ};

static bool is_ignored(int number) {
	struct sigaction now;

	/* What nohup or a shell's background job ignores stays ignored. */
	return sigaction(number, NULL, &now) == 0 && now.sa_handler == SIG_IGN;
}

/* glibc keeps 32 and 33 to itself; musl 34 as well, which this thread does not use. */
#define FIRST_REAL_TIME 34
#define WORD_BITS (8 * sizeof(unsigned long))

/* Real-time signals have no meaning but the command's own.  By hand, because musl's
 * sigaddset() refuses 34, the first one of every glibc program. */
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
			return err_sys(e, "run", "cannot watch for signals");
		}
	}
	blocked = watched;
	for (size_t i = 0; i < ARRAY_LEN(quiet); i++) {
		(void)sigaddset(&blocked, quiet[i]);
	}
	signal_mask(SIG_BLOCK, &blocked, &s->old);
	return 0;
}

/* Takes what writes of our own left pending. */
static void drop_quiet(const struct signals *s) {
	const struct timespec now = {0};

	for (size_t i = 0; i < ARRAY_LEN(quiet); i++) {
		sigset_t pending, one;
		(void)sigemptyset(&one);
		(void)sigaddset(&one, quiet[i]);
		if (sigismember(&s->pending, quiet[i]) != 1 && sigpending(&pending) == 0 &&
		    sigismember(&pending, quiet[i]) == 1) {
			(void)sigtimedwait(&one, NULL, &now);
		}
	}
}

void terminal_signals_restore(struct signals *s) {
	drop_quiet(s);
	for (int n = 1; n <= SIGRTMAX; n++) {
		if (sigismember(&s->late, n) == 1) {
			(void)raise(n); /* delivered when the mask goes back */
		}
	}
	drop_fd(&s->fd);
	signal_mask(SIG_SETMASK, &s->old, NULL);
}

int terminal_signals_next(const struct signals *s) {
	struct signalfd_siginfo info;

	if (s->fd < 0 || read(s->fd, &info, sizeof info) != (ssize_t)sizeof info) {
		return 0;
	}
	return (int)info.ssi_signo;
}

static bool asks_to_end(int number) {
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
		ends |= asks_to_end(number);
	}
	return ends;
}
