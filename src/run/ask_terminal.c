/* SPDX-License-Identifier: Apache-2.0 */
/* Shows a question on the caller's terminal and reads the answer (`--ask`).
 *
 * The command has a pty or pipes of its own; its output reaches this terminal through the
 * supervisor, which relays nothing while a question is shown (Y2), not even to a pipe.  Before, the
 * command may have drawn a question of its own, hidden the real one by colours, or made the
 * terminal send bytes (a status report).  None of that grants anything: an answer that allows has
 * to contain a number, which is chosen after the output was stopped and typed input was discarded.
 * An answer to a question that the command drew is ordinary input of the command.
 *
 * Should:   restore the modes of the terminal after each question.
 * Must not: block; write a control character of a name; let a typed-ahead key or a report of the
 *           terminal answer; draw while another job has the terminal.
 * Fails:    closed (Y1): a question that cannot be drawn whole is denied, and so is any line but a
 *           valid one.
 */
#include "run/ask.h"

#include "base/auto.h"
#include "base/clock.h"
#include "base/str.h"
#include "run/terminal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <unistd.h>

/* A longer one would scroll its beginning away. */
#define NAME_SHOWN_MAX 800
/* How long a terminal may take the text: one that ^S stopped takes none. */
#define DRAW_MS 500
/* How long a program such as tee may take to print what it has read. */
#define CALM_MS 200
/* How long the kernel may take to pass output from one end of a pty to the other. */
#define PTY_MS 20

#define KEY_BACKSPACE 0x08
#define KEY_LINE_KILL 0x15
#define KEY_DELETE 0x7f

/* ---- drawing ---- */

void ask_put_name(struct buf *out, const char *name) {
	for (const char *p = name; *p != '\0';) {
		unsigned long code = 0;
		size_t left = strlen(p);
		size_t n = str_control_at((const unsigned char *)p, left, &code);
		size_t whole = str_utf8_length((const unsigned char *)p, left);

		if (n > 0) {
			buf_printf(out, code > 0xffff ? "\\U%08lx" : "\\u%04lx", code);
		} else if (whole == 0 || *p == '\\') {
			buf_printf(out, "\\x%02x", (unsigned)(unsigned char)*p);
			n = 1;
		} else {
			buf_add(out, p, whole);
			n = whole;
		}
		p += n;
	}
}

/* Ends a sequence that the command left open, and resets colours, margins, character sets, insert
 * mode and the palette; then the last line. */
static const char reset[] =
	"\030\033\\\033[0m\033[4l\033[?6l\033[?69l\033[?7h\033[?25h\033[r\017\033(B"
	"\033]104\033\\\033]110\033\\\033]111\033\\\033[999;1H";

static bool has_sequences(void) {
	const char *term = getenv("TERM");

	return term != NULL && term[0] != '\0' && !streq(term, "dumb");
}

/* False: not all of it was written. */
static bool draw(int fd, const struct buf *text) {
	int64_t until = clock_ms() + DRAW_MS;

	for (size_t at = 0; at < text->len;) {
		ssize_t n = write(fd, text->data + at, text->len - at);
		struct pollfd room = {.fd = fd, .events = POLLOUT};
		if (n > 0) {
			at += (size_t)n;
		} else if (errno != EINTR && (errno != EAGAIN || clock_ms() >= until ||
					      poll(&room, 1, (int)DRAW_MS) <= 0)) {
			return false;
		}
	}
	return true;
}

static void put_question(struct buf *out, const struct ask_front *f, const struct question *q,
			 int64_t timeout_ms) {
	const struct ask_object *o = &q->object;

	buf_puts(out, has_sequences() ? reset : "");
	buf_printf(out, "\r\n\r\ncorral: the command wants to %s%s\r\n    ", o->op,
		   o->host ? " to" : "");
	ask_put_name(out, o->name);
	buf_puts(out, "\r\n");
	if (o->why != NULL) {
		buf_puts(out, "  ");
		ask_put_name(out, o->why);
		buf_puts(out, "\r\n");
	}
	buf_printf(out, "  o%s  allow it once\r\n  r%s  allow it in this run: ", f->code, f->code);
	ask_put_name(out, o->options);
	buf_printf(out,
		   "\r\n  a%s  allow it always: the same, in your corral.toml\r\n"
		   "  n     no (also just Enter)\r\ncorral: answer within %lld s: ",
		   f->code, (long long)((timeout_ms + 999) / 1000));
}

/* ---- modes ---- */

static bool set_modes(const struct ask_front *f) {
	struct termios modes = f->before;

	modes.c_lflag &= ~(tcflag_t)(ICANON | ECHO | ECHONL | IEXTEN);
	modes.c_lflag |= ISIG; /* ^C reaches the supervisor */
	modes.c_iflag &= ~(tcflag_t)(IXON | ISTRIP | INLCR | IGNCR);
	modes.c_oflag &= ~(tcflag_t)OPOST; /* the text has its own carriage returns */
	modes.c_cc[VMIN] = 1;
	modes.c_cc[VTIME] = 0;
	modes.c_cc[VQUIT] = modes.c_cc[VSUSP] = _POSIX_VDISABLE;
	return tcsetattr(f->fd, TCSANOW, &modes) == 0 && tcflush(f->fd, TCIFLUSH) == 0;
}

static bool choose_code(struct ask_front *f) {
	unsigned n;

	if (getrandom(&n, sizeof n, GRND_NONBLOCK) != (ssize_t)sizeof n) {
		return false;
	}
	(void)snprintf(f->code, sizeof f->code, "%u", 100 + n % 900); /* it fits */
	return true;
}

static void end_question(struct ask_front *f, const char *text) {
	struct buf out;

	buf_init(&out);
	buf_printf(&out, "\r\ncorral: %s\r\n", text);
	(void)draw(f->fd, &out); /* the answer holds whether it is drawn or not */
	buf_done(&out);
	if (!tty_background(f->fd)) {
		(void)tcflush(f->fd, TCIFLUSH); /* typed for the question */
		(void)tcsetattr(f->fd, TCSANOW, &f->before);
	}
	f->drawn = false;
}

/* `corral run --ask … | tee log`: the output comes to this terminal by another program.  It would
 * draw over the question, so it is stopped first, and the question waits until that program has
 * taken all of it.  Output that comes by this process is relayed meanwhile: the question follows
 * the lines that the command wrote before it. */
static bool is_calm(struct ask_front *f) {
	int64_t now = clock_ms();

	if (f->calm_at == 0 || (f->piped && f->unread)) {
		f->calm_at = now + (f->piped ? CALM_MS : PTY_MS);
	}
	if (f->calm_at > now) {
		return false;
	}
	f->calm_at = 0;
	return true;
}

static enum ask_shown terminal_show(struct ask_front *f, const struct question *q,
				    int64_t timeout_ms) {
	struct buf out;

	if (tty_background(f->fd)) {
		f->calm_at = 0;
		return ASK_SHOWN_LATER;
	}
	if (!is_calm(f)) {
		return ASK_SHOWN_LATER;
	}
	if (strlen(q->object.name) > NAME_SHOWN_MAX || strlen(q->object.options) > NAME_SHOWN_MAX ||
	    !choose_code(f) || tcgetattr(f->fd, &f->before) != 0 || !set_modes(f)) {
		return ASK_SHOWN_NEVER;
	}
	f->id = q->id;
	f->ntyped = 0;
	f->spoiled = false;
	f->drawn = true;
	buf_init(&out);
	put_question(&out, f, q, timeout_ms);
	bool whole = !buf_failed(&out) && draw(f->fd, &out);
	buf_done(&out);
	if (!whole) {
		end_question(f, "denied: the question could not be shown");
	}
	return whole ? ASK_SHOWN : ASK_SHOWN_NEVER;
}

static void terminal_withdraw(struct ask_front *f, const struct question *q, const char *reason) {
	(void)q;
	if (!f->drawn) {
		return; /* answered: terminal_step() has said so */
	}
	end_question(f, reason == NULL             ? "denied"
			: streq(reason, "timeout") ? "denied: no answer in time"
						   : "withdrawn: the process no longer waits");
}

/* ---- answers ---- */

static void terminal_poll(const struct ask_front *f, struct pollfd *slot) {
	*slot = (struct pollfd){.fd = f->drawn ? f->fd : -1, .events = POLLIN};
}

static enum ask_reply reply_of(const struct ask_front *f) {
	static const struct {
		char letter;
		enum ask_reply reply;
	} letters[] = {{'o', ASK_REPLY_ONCE}, {'r', ASK_REPLY_RUN}, {'a', ASK_REPLY_ALWAYS}};

	for (size_t i = 0; i < ARRAY_LEN(letters); i++) {
		if (f->typed[0] == letters[i].letter && streq(f->typed + 1, f->code)) {
			return letters[i].reply;
		}
	}
	return ASK_REPLY_DENY;
}

static void echo(const struct ask_front *f, const char *text, size_t len) {
	if (write(f->fd, text, len) < 0) {
		return; /* an answer without an echo is valid, too */
	}
}

static void rub_out(struct ask_front *f, size_t n) {
	for (; n > 0 && f->ntyped > 0; n--) {
		f->ntyped--;
		echo(f, "\b \b", 3);
	}
}

/* True at the end of a line. */
static bool type(struct ask_front *f, char c) {
	if (c == '\r' || c == '\n') {
		return true;
	}
	if (c == KEY_DELETE || c == KEY_BACKSPACE) {
		rub_out(f, 1);
	} else if (c == KEY_LINE_KILL) {
		rub_out(f, f->ntyped);
		f->spoiled = false;
	} else if (c >= ' ' && c <= '~' && f->ntyped < ASK_TYPED) {
		f->typed[f->ntyped++] = c;
		echo(f, &c, 1);
	} else {
		f->spoiled = true; /* too long, a key without a letter, a report of the terminal */
	}
	return false;
}

/* A line with a control character was not typed as an answer: it is discarded. */
static bool finish_line(struct ask_front *f) {
	bool valid = !f->spoiled;

	f->typed[f->ntyped] = '\0';
	if (!valid) {
		rub_out(f, f->ntyped);
		f->spoiled = false;
	}
	return valid;
}

static int terminal_step(struct ask_front *f, const struct pollfd *slot, struct asked_answer *ret,
			 const char **ret_why) {
	static const char *const said[] = {
		[ASK_REPLY_DENY] = "denied",
		[ASK_REPLY_ONCE] = "allowed once",
		[ASK_REPLY_RUN] = "allowed in this run",
		[ASK_REPLY_ALWAYS] = "allowed always",
	};
	char c;
	ssize_t n;

	(void)slot;
	if (!f->drawn || tty_background(f->fd)) {
		return 0;
	}
	while ((n = read(f->fd, &c, 1)) == 1) {
		if (type(f, c) && finish_line(f)) {
			*ret = (struct asked_answer){f->id, reply_of(f)};
			end_question(f, said[ret->reply]);
			return 1;
		}
	}
	if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
		return 0;
	}
	*ret_why = "the terminal was closed";
	return -1;
}

static void terminal_done(struct ask_front *f) {
	if (f->drawn) {
		end_question(f, "withdrawn: the run has ended");
	}
	drop_fd(&f->fd);
}

static const struct ask_front_calls calls = {
	.show = terminal_show,
	.withdraw = terminal_withdraw,
	.poll = terminal_poll,
	.step = terminal_step,
	.done = terminal_done,
	.one = true,
};

int ask_terminal_open(struct ask_front *f, struct err *e) {
	*f = (struct ask_front){
		.calls = &calls,
		.fd = open("/dev/tty", O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC),
	};
	if (f->fd >= 0 && isatty(f->fd)) {
		return 0;
	}
	drop_fd(&f->fd);
	(void)err_set(e, ERR_USAGE, "ask", "--ask needs a terminal, and this process has none");
	return err_fix(e, "start it in a terminal, or let a program answer: --ask-fd N");
}
