/* SPDX-License-Identifier: Apache-2.0 */
/* `corral session exec --terminal` and `corral session attach`: the caller's terminal becomes that
 * of a command in a session.
 *
 * The command has a pty of the sandbox, whose other end is the supervisor's; this process relays
 * bytes between the caller's terminal and a socket of the supervisor (session/terminal_relay.h).
 * The command gets no descriptor of the caller.  When this process ends, the command goes on.
 *
 * Should:   restore the modes of the terminal on every path, also after SIGKILL: the watcher does.
 * Must not: change the terminal while another job is in the foreground.
 * Fails:    through the error of the daemon. */
#include "session/verbs.h"

#include "base/auto.h"
#include "base/signal_mask.h"
#include "base/tty.h"
#include "session/terminal_relay.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/* ^], then d detaches; ^] twice types one. */
#define ESCAPE_KEY 0x1d
#define DETACH_KEY 'd'

struct screen {
	struct tty tty;
	int line;    /* our end of the terminal's socket; -1 after its end */
	int signals; /* signalfd */
	sigset_t old;
	pid_t watcher;
	int watched; /* the watcher reads its end when this process has ended */
	bool escaped;
	bool detaches, answered;
};

/* ---- the watcher ---- */

/* Waits for the end of the caller by any cause, and restores the terminal. */
static _Noreturn void watch(struct tty *tty, int ended) {
	sigset_t all;
	char byte;

	(void)sigfillset(&all);
	signal_mask(SIG_SETMASK, &all, NULL); /* ^C of a terminal that is not raw; SIGTTOU */
	ssize_t n = read(ended, &byte, 1);
	if (n == 0) {
		tty->raw = true;
		tty_restore(tty);
	}
	_exit(0);
}

static int start_watcher(struct screen *s, struct corral_error *err) {
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) != 0) {
		return setup_error(err, "", "cannot create a pipe");
	}
	s->watcher = fork();
	if (s->watcher == 0) {
		struct tty tty = s->tty;
		(void)close(ends[1]);
		drop_fd(&s->line); /* the command's client is the other process */
		watch(&tty, ends[0]);
	}
	drop_fd(&ends[0]);
	s->watched = ends[1];
	return s->watcher < 0 ? setup_error(err, "", "cannot create a process") : 0;
}

/* The terminal has its modes: the watcher has nothing to do. */
static void dismiss_watcher(struct screen *s) {
	if (s->watcher > 0) {
		(void)!write(s->watched, "", 1); /* if it fails the watcher is gone */
		(void)waitpid(s->watcher, NULL, 0);
	}
	drop_fd(&s->watched);
}

/* ---- bytes ---- */

static void send_size(const struct screen *s) {
	char message[1 + sizeof(struct terminal_size)] = {TERMINAL_SIZE};
	struct terminal_size size;

	tty_size(&s->tty, &size.rows, &size.columns);
	memcpy(message + 1, &size, sizeof size);
	(void)send(s->line, message, sizeof message, MSG_NOSIGNAL); /* EPIPE: poll reports it */
}

/* Handles the escape key; the bytes that are left are for the command. */
static size_t take_keys(struct screen *s, const char *typed, size_t len, char *ret) {
	size_t n = 0;

	for (size_t i = 0; i < len && !s->detaches; i++) {
		bool escape = typed[i] == ESCAPE_KEY;
		if (!s->escaped && escape) {
			s->escaped = true;
			continue;
		}
		s->detaches = s->escaped && typed[i] == DETACH_KEY;
		if (s->escaped && !escape && !s->detaches) {
			ret[n++] = ESCAPE_KEY; /* not for this program */
		}
		if (!s->detaches) {
			ret[n++] = typed[i];
		}
		s->escaped = false;
	}
	return n;
}

/* A socket that is full blocks, and with it the terminal, until the command reads. */
static void read_keys(struct screen *s) {
	char typed[TERMINAL_CHUNK / 2 - 1], message[1 + TERMINAL_CHUNK] = {TERMINAL_INPUT};
	ssize_t got = read(s->tty.fd, typed, sizeof typed);

	if (got < 0 && (errno == EINTR || errno == EAGAIN)) {
		return;
	}
	if (got <= 0) {
		s->detaches = true; /* the terminal is gone */
		return;
	}
	size_t n = take_keys(s, typed, (size_t)got, message + 1);
	if (n > 0) {
		(void)send(s->line, message, n + 1, MSG_NOSIGNAL); /* EPIPE: poll reports it */
	}
}

static void print_output(struct screen *s) {
	char data[TERMINAL_CHUNK];
	ssize_t n = recv(s->line, data, sizeof data, 0);

	if (n > 0) {
		for (ssize_t done = 0, w; done < n; done += w) {
			w = write(STDOUT_FILENO, data + done, (size_t)(n - done));
			if (w < 0 && errno != EINTR && errno != EAGAIN) {
				s->detaches = true;
				return;
			}
			w = w < 0 ? 0 : w;
		}
	} else if (n == 0 || errno != EINTR) {
		drop_fd(&s->line);
	}
}

/* ---- signals ---- */

static void stop_here(struct screen *s) {
	tty_restore(&s->tty);
	(void)kill(getpid(), SIGSTOP); /* returns after SIGCONT */
	tty_raw(&s->tty);
	send_size(s);
}

static void handle_signal(struct screen *s) {
	struct signalfd_siginfo info;

	if (read(s->signals, &info, sizeof info) != (ssize_t)sizeof info) {
		return;
	}
	switch (info.ssi_signo) {
	case SIGWINCH:
		send_size(s);
		break;
	case SIGCONT:
		tty_raw(&s->tty); /* SIGSTOP cannot be handled: the modes may have changed */
		send_size(s);
		break;
	case SIGTSTP:
		stop_here(s);
		break;
	default: /* SIGHUP, SIGINT, SIGQUIT, SIGTERM: of this process, not of the command */
		s->detaches = true;
		break;
	}
}

static int open_signals(struct screen *s, struct corral_error *err) {
	static const int numbers[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGTSTP, SIGCONT, SIGWINCH};
	sigset_t set;

	(void)sigemptyset(&set);
	for (size_t i = 0; i < ARRAY_LEN(numbers); i++) {
		(void)sigaddset(&set, numbers[i]);
	}
	signal_mask(SIG_BLOCK, &set, &s->old);
	s->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return s->signals < 0 ? setup_error(err, "", "cannot create a signalfd") : 0;
}

/* ---- the loop ---- */

/* Until the command has ended and its output was printed, or this client leaves. */
static int relay(struct screen *s, struct client *c, json_t **ret, struct corral_error *err) {
	int rc = 0;

	while (!s->detaches && rc == 0 && (!s->answered || s->line >= 0)) {
		struct pollfd slots[] = {
			{.fd = s->tty.fd, .events = POLLIN},
			{.fd = s->line, .events = POLLIN},
			{.fd = s->signals, .events = POLLIN},
			{.fd = s->answered ? -1 : c->fd, .events = POLLIN},
		};
		if (s->line < 0 || tty_background(s->tty.fd)) {
			slots[0].fd = -1; /* read(2) would raise SIGTTIN */
		}
		if (poll(slots, ARRAY_LEN(slots), s->tty.raw ? -1 : 200) < 0) {
			continue; /* EINTR: the signals are blocked, so it is SIGSTOP's end */
		}
		tty_raw(&s->tty); /* again in the foreground */
		if (slots[2].revents != 0) {
			handle_signal(s);
		}
		if (slots[1].revents != 0) {
			print_output(s);
		}
		if (slots[0].revents != 0) {
			read_keys(s);
		}
		if (slots[3].revents != 0) {
			rc = client_answer(c, ret, err);
			s->answered = true;
		}
	}
	return rc;
}

static int report(const struct invocation *inv, const json_t *answer, struct corral_error *err) {
	if (!json_is_true(json_object_get(answer, "detached"))) {
		const struct result_place place = {.fd = STDOUT_FILENO};
		return verb_exec_report(inv, &place, answer, err);
	}
	const char *why = json_string_value(json_object_get(answer, "why"));
	print_note("detached (%s); the command goes on: corral session attach %s %lld",
		   why == NULL ? "" : why, inv->words[0],
		   (long long)json_integer_value(json_object_get(answer, "command")));
	return 0;
}

static int use_terminal(struct screen *s, struct client *c, const struct client_call *call,
			int *theirs, json_t **ret, struct corral_error *err) {
	if (open_signals(s, err) != 0 || client_send(c, call, err) != 0) {
		return -1;
	}
	drop_fd(theirs); /* else its end would never be seen */
	if (start_watcher(s, err) != 0) {
		return -1;
	}
	tty_raw(&s->tty);
	int rc = relay(s, c, ret, err);
	tty_restore(&s->tty);
	drop_fd(&s->line); /* the supervisor answers that this client has left */
	if (rc == 0 && !s->answered) {
		rc = client_answer(c, ret, err);
	}
	return rc;
}

/* Sends the request with one end of the terminal's socket. */
static int with_terminal(const struct invocation *inv, struct client *c, struct client_call *call,
			 struct corral_error *err) {
	struct screen s = {.line = -1, .signals = -1, .watched = -1};
	json_t *answer = NULL;
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0) {
		json_decref(call->params);
		return setup_error(err, "", "cannot create a socket pair");
	}
	auto_fd theirs = pair[1];
	s.line = pair[0];
	struct client_call with = *call;
	with.fds = &theirs;
	with.nfds = 1;
	tty_init(&s.tty, STDIN_FILENO);
	signal_mask(SIG_BLOCK, NULL, &s.old);
	int rc = use_terminal(&s, c, &with, &theirs, &answer, err);
	tty_restore(&s.tty);
	dismiss_watcher(&s);
	drop_fd(&s.line);
	drop_fd(&s.signals);
	signal_mask(SIG_SETMASK, &s.old, NULL);
	rc = rc == 0 ? report(inv, answer, err) : rc;
	json_decref(answer);
	return rc;
}

/* ---- requests ---- */

static int need_terminal(const char *fix, struct corral_error *err) {
	if (isatty(STDIN_FILENO) && isatty(STDOUT_FILENO)) {
		return 0;
	}
	return usage_error(err, fix, "stdin and stdout have to be terminals");
}

/* Size, modes and TERM of the caller's terminal. */
static int add_terminal(json_t *params, bool modes, struct corral_error *err) {
	struct tty tty;
	struct terminal_size size;
	const char *term = getenv("TERM");
	json_t *variables = json_object_get(params, "environment");
	json_t *list = json_array();

	tty_init(&tty, STDIN_FILENO);
	tty_size(&tty, &size.rows, &size.columns);
	if (tty_modes(&tty) != NULL) {
		const tcflag_t flags[] = {tty.before.c_iflag, tty.before.c_oflag,
					  tty.before.c_cflag, tty.before.c_lflag};
		for (size_t i = 0; i < ARRAY_LEN(flags); i++) {
			(void)json_array_append_new(list, json_integer((json_int_t)flags[i]));
		}
		for (size_t i = 0; i < NCCS; i++) {
			(void)json_array_append_new(list, json_integer(tty.before.c_cc[i]));
		}
	}
	int failed = json_object_set_new(params, "rows", json_integer(size.rows)) != 0 ||
		     json_object_set_new(params, "columns", json_integer(size.columns)) != 0;
	if (modes) {
		failed |= json_object_set_new(params, "streams", json_string("terminal")) != 0 ||
			  json_object_set(params, "modes", list) != 0 ||
			  (term != NULL && json_object_get(variables, "TERM") == NULL &&
			   json_object_set_new(variables, "TERM", json_string(term)) != 0);
	}
	json_decref(list);
	return failed ? memory_error(err) : 0;
}

static int run_detached(const struct invocation *inv, struct client *c,
			const struct client_call *call, struct corral_error *err) {
	json_t *answer = NULL;
	int rc = client_call(c, call, &answer, err);

	rc = rc != 0 ? -1 : inv->json ? verb_print_json(answer, err) : report(inv, answer, err);
	json_decref(answer);
	return rc;
}

int verb_exec_terminal(const struct invocation *inv, const char *const *argv,
		       struct corral_error *err) {
	struct client c;
	struct client_call call = {.method = "session.exec"};
	bool own = false;

	if (!inv->detach && inv->json) {
		return usage_error(err, "", "--terminal and --json exclude each other");
	}
	if (!inv->detach &&
	    need_terminal("leave --terminal out, or start the command with --detach", err) != 0) {
		return -1;
	}
	if (verb_connect(inv, inv->words[0], &c, &own, err) != 0) {
		return -1;
	}
	int rc = verb_exec_params(inv, own, argv, &call.params, err);
	if (rc == 0) {
		rc = add_terminal(call.params, true, err);
	}
	if (rc == 0 && inv->detach) {
		rc = json_object_set_new(call.params, "detach", json_true()) != 0
			     ? memory_error(err)
			     : run_detached(inv, &c, &call, err);
	} else if (rc == 0) {
		rc = with_terminal(inv, &c, &call, err);
	}
	client_close(&c);
	return rc;
}

static int command_number(const struct invocation *inv, json_int_t *ret, struct corral_error *err) {
	char *end = NULL;

	*ret = 0;
	if (inv->nwords == 1) {
		return 0;
	}
	errno = 0;
	*ret = inv->nwords == 2 ? strtoll(inv->words[1], &end, 10) : 0;
	if (errno == 0 && end != NULL && *end == '\0' && *ret > 0 && *ret <= UINT32_MAX) {
		return 0;
	}
	return usage_error(err, "corral session attach SESSION [NUMBER]",
			   "the id or the name of a session, or the number of a command, is wrong");
}

int verb_session_attach(struct invocation *inv, struct corral_error *err) {
	struct client c;
	struct client_call call = {.method = "session.attach"};
	json_int_t number = 0;

	if (command_number(inv, &number, err) != 0 ||
	    need_terminal("run it in a terminal", err) != 0 || client_open_admin(&c, err) != 0) {
		return -1;
	}
	call.params = json_pack("{s:s, s:I}", "session", inv->words[0], "command", number);
	int rc = call.params == NULL ? memory_error(err) : add_terminal(call.params, false, err);
	if (rc == 0) {
		rc = with_terminal(inv, &c, &call, err);
	}
	client_close(&c);
	return rc;
}
