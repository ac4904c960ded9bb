/* SPDX-License-Identifier: Apache-2.0 */
/* Starts the command and serves it until it ends: as pid 1, or as the guard where there is
 * no pid namespace.
 *
 * When pid 1 exits, the kernel kills every other process of its namespace.  So the whole
 * tree dies with the command, with the timeout, and with the supervisor, whatever its
 * processes did with sessions, groups and signals.  The guard kills them itself
 * (linux/reaper.c), and its wardens do it when the guard is killed or hangs
 * (linux/warden.h).  Both answer the seccomp user notifications of the command's filter
 * (linux/broker).
 *
 * Should:   report the command's end after every other process of the run is dead, and exit.
 * Must not: allocate, lock, or call libc beyond thin system call wrappers: its memory is a
 *           copy of a program that may have had other threads.
 * Fails:    closed: a lost channel or a failing poll ends the sandbox. */
#include "linux/init.h"

#include "backend/secrets.h"
#include "backend/timings.h"
#include "base/auto.h"
#include "base/clock.h"
#include "base/raw_call.h"
#include "data/syscalls.h"
#include "linux/broker/ask.h"
#include "linux/broker/placeholder.h"
#include "linux/broker/broker.h"
#include "gate/wire.h"
#include "linux/broker/connect.h"
#include "linux/channel.h"
#include "linux/parked.h"
#include "linux/run_state.h"
#include "linux/reaper.h"
#include "linux/sched_slice.h"
#include "linux/view_report.h"
#include "linux/warden.h"
#include "linux/warm.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#define SETUP_FAILED 125

/* The socket of a zygote, or of a parked process, is the first descriptor after the three streams.
 */
#define REQUESTS_FD 3

/* REPORT_STARTED wakes the supervisor, which costs a short command more than it is worth:
 * REPORT_EXIT implies the start. */
#define REPORT_START_AFTER_MS 50

/* Enough for execve and the loop around it; execve replaces it. */
#define COMMAND_STACK ((size_t)64 * 1024)

/* A supervisor that has not answered REPORT_PEER by then is exiting. */
#define PEER_WAIT_MS 2000

/* Orders that are executed before events of other descriptors. */
#define ORDERS_AT_ONCE 64

struct init {
	struct kit *kit;
	pid_t command;
	int signals;             /* signalfd: SIGCHLD */
	int64_t deadline;        /* ms on the monotonic clock; LIMIT_NONE */
	int64_t report_start_at; /* when to send REPORT_STARTED; LIMIT_NONE: sent, or never */
	enum { RUNNING, ENDING, KILLED } state;
	bool timed_out;
	struct reaper reaper;
	struct warm_trees trees; /* of a session */
	struct broker broker;
};

/* ---- the command's own process ---- */

static _Noreturn void start_failed(struct kit *k, int error, const char *path) {
	struct err e = {0};
	k->start_failed = true;
	errno = error;
	err_sys_at(&e, "exec",
		   error == ENOENT ? "no such command in the sandbox:" : "cannot execute", path);
	e.kind = error == ENOENT ? ERR_NOT_FOUND : ERR_NO_EXEC;
	init_fail(k, &e);
}

/* execve(2) with a mark, by which the filter recognizes it: the broker does not run yet. */
static void execute(const char *path, char *const *argv, char *const *envp) {
	(void)syscall(SYS_execve, path, argv, envp,
		      (unsigned long)SYSCALL_FIRST_EXEC); /* returns only on failure */
}

/* Searches like execvp(3), but in the paths that the parent prepared. */
static int try_candidates(struct kit *k, const char **ret_path) {
	int error = ENOENT;
	for (char *const *path = k->candidates; *path != NULL; path++) {
		execute(*path, k->argv, k->envp);
		if (errno == ENOEXEC) {
			/* A script without "#!": run it with sh, as shells do. */
			k->shell_argv[1] = *path;
			execute("/bin/sh", k->shell_argv, k->envp);
		}
		if (errno != ENOENT && errno != ENOTDIR && error != EACCES) {
			error = errno;
			*ret_path = *path;
		}
		if (errno != ENOENT && errno != ENOTDIR && errno != EACCES) {
			break;
		}
	}
	return error;
}

/* Puts the command in a process group of its own, so that signals for it miss pid 1. */
static void choose_session(const struct kit *k) {
	if (!k->want_pty) {
		(void)setsid(); /* pid 1 and the wardens get another autogroup: sched_slice.c */
		return;
	}
	/* A process group in pid 1's session is not orphaned, so ^Z stops it. */
	(void)setpgid(0, 0); /* cannot fail for a new child of a session leader */
	pid_t self = getpid();
	(void)ioctl(0, TIOCSPGRP, &self); /* without it the command runs in the background */
}

/* A session has a zygote in the place of the command.  This process has entered every layer (Z1)
 * and pid 1 has the listener of its filter; it ends, and with it the shared table of descriptors.
 */
static _Noreturn void start_zygote(struct kit *k) {
	struct err e = {0};

	if (k->secrets != NULL) {
		/* Each request brings them; the supervisor's stay.  Cannot fail for a mapping. */
		(void)syscall(SYS_munmap, k->secrets->memory, k->secrets->size);
	}
	k->zygote = zygote_clone(k, REQUESTS_FD, &e);
	if (k->zygote < 0) {
		k->start_failed = true;
		init_fail(k, &e);
	}
	k->run_state->begun = 1;
	_exit(0);
}

/* Before layer limits, which may leave fewer processors to the command. */
static void restore_affinity(struct kit *k) {
	long rc = processors_restore(0, &k->affinity);
	struct err e = {0};

	if (rc != 0) {
		errno = (int)-rc;
		(void)err_sys(&e, "exec", "cannot restore the CPU affinity of the run");
		k->start_failed = true;
		init_fail(k, &e);
	}
	/* Pid 1 or the guard, which continues beside the command when this process calls execve. */
	(void)processors_restore(getppid(), &k->affinity);
}

/* Runs in pid 1's memory (CLONE_VM) until execve. */
static int command_main(void *arg) {
	struct kit *k = arg;
	const char *path = k->argv[0];
	struct err e = {0};
	sigset_t none;

	timings_stamp(k->timings, STEP_FORK);
	restore_affinity(k);
	choose_session(k);
	if (k->warm == NULL) { /* zygote and leaders handle no signal */
		sigemptyset(&none);
		/* Fails only for a bad `how`. */
		(void)syscall(SYS_rt_sigprocmask, SIG_SETMASK, &none, NULL, _NSIG / 8);
	}
	for (size_t i = 0; layers[i] != NULL; i++) {
		if (layers[i]->start == NULL) {
			continue;
		}
		if (layers[i]->start(k, &e) != 0) {
			k->start_failed = true;
			init_fail(k, &e);
		}
		timings_stamp(k->timings, STEP_START + i);
	}
	if (k->rehearse) {
		_exit(0);
	}
	if (k->warm != NULL) {
		start_zygote(k);
	}
	if (k->parked && parked_wait(k, REQUESTS_FD) != 0) {
		k->start_failed = true;
		_exit(SETUP_FAILED);
	}
	k->run_state->begun = 1;
	int error = try_candidates(k, &path);
	k->run_state->begun = 0;
	start_failed(k, error, path);
}

/* ---- pid 1 ---- */

void init_fail(const struct kit *k, const struct err *e) {
	struct report r = {.kind = REPORT_ERROR, .err = *e};
	/* If this fails, the supervisor reads end-of-file instead. */
	(void)channel_send(k->channel_fd, &r, -1);
	_exit(SETUP_FAILED);
}

static void send_report(const struct init *in, enum report_kind kind, int status) {
	struct report r = {.kind = kind, .status = status, .timed_out = in->timed_out};
	/* Without a supervisor the event loop reads end-of-file next. */
	(void)channel_send(in->kit->channel_fd, &r, -1);
}

/* SIGTERM now, SIGKILL after the grace period. */
static void terminate(struct init *in, bool timed_out) {
	if (in->state != RUNNING) {
		return;
	}
	in->state = ENDING;
	in->timed_out = timed_out;
	in->kit->run_state->timed_out = timed_out;
	in->deadline = clock_ms() + in->kit->plan->grace_ms;
	reaper_signal(&in->reaper, SIGTERM);
	reaper_signal(&in->reaper, SIGCONT); /* a stopped process does not handle SIGTERM */
}

static void deadline_passed(struct init *in) {
	if (in->state == RUNNING) {
		terminate(in, true);
		return;
	}
	in->state = KILLED;
	in->deadline = LIMIT_NONE;
	reaper_signal(&in->reaper, SIGKILL);
}

/* The command has ended: kills its descendants before reporting it, so that no process of
 * the run is alive when the supervisor reads the report (E6). */
static _Noreturn void report_exit(struct init *in, int status) {
	struct run_state *run_state = in->kit->run_state;

	timings_stamp(in->kit->timings, STEP_COMMAND);
	run_state->status = status;
	run_state->ended = 1;
	reaper_end(&in->reaper);
	if (in->kit->plan->inner) {
		placeholder_remove_all();
	}
	if (in->kit->count_usage) {
		run_state_count(run_state);
	}
	run_state->finished = 1;
	timings_stamp(in->kit->timings, STEP_END);
	send_report(in, REPORT_EXIT, status);
	_exit(0);
}

/* The supervisor or the warden is gone (E6, Z7).  With pid 1 the kernel kills everything; the guard
 * kills it here.  The wardens remove the run's directory. */
static _Noreturn void kill_all_and_exit(struct init *in) {
	reaper_end(&in->reaper);
	if (in->kit->plan->inner) {
		placeholder_remove_all();
	}
	_exit(SETUP_FAILED);
}

/* Reaps; exits when the command has ended. */
static void reap(struct init *in) {
	int status;
	pid_t pid;
	const struct kit *k = in->kit;
	int flags = WNOHANG | (k->want_pty ? WUNTRACED | WCONTINUED : 0) |
		    (k->warm != NULL ? WUNTRACED : 0);

	while ((pid = waitpid(-1, &status, flags)) > 0) {
		if (k->warm != NULL && (pid != in->command || WIFSTOPPED(status))) {
			if (warm_reap(k->warm, k->zygote, pid, status)) {
				report_exit(in, status);
			}
			continue;
		}
		if (pid != in->command) {
			continue;
		}
		if (WIFSTOPPED(status) || WIFCONTINUED(status)) {
			send_report(in, REPORT_STOPPED, status);
			continue;
		}
		report_exit(in, status);
	}
}

static void read_signal(struct init *in) {
	struct signalfd_siginfo info = {.ssi_signo = 0};

	if (read(in->signals, &info, sizeof info) == (ssize_t)sizeof info &&
	    info.ssi_signo == SIGTERM) {
		kill_all_and_exit(in); /* sent by the warden */
	}
	reap(in);
}

static void execute_order(struct init *in, const struct order *o) {
	if (o->kind == ORDER_SIGNAL) {
		(void)kill(-in->command, o->value); /* ESRCH: the command has just ended */
		if (o->value == SIGTERM || o->value == SIGHUP) { /* as timeout(1) does */
			(void)kill(-in->command, SIGCONT);       /* likewise */
		}
	} else if (o->kind == ORDER_END) {
		terminate(in, false);
	} else if (in->kit->warm != NULL) {
		warm_execute(&in->trees, in->kit->warm, o);
	}
}

/* Several before the clock is looked at: one list of processes then serves them all. */
static void receive_orders(struct init *in) {
	for (int i = 0; i < ORDERS_AT_ONCE; i++) {
		struct order o;
		auto_fd late = -1; /* an ORDER_PEER after PEER_WAIT_MS: close its descriptor */
		int got = channel_receive_order(in->kit->channel_fd, &o, &late);
		if (got < 0) {
			kill_all_and_exit(in);
		}
		if (got == 0) {
			return;
		}
		execute_order(in, &o);
	}
}

/* Lets the supervisor open the slave of a pty; executes other orders while it waits. */
static int request_peer(void *arg, int master, int flags) {
	struct init *in = arg;
	struct report r = {.kind = REPORT_PEER, .status = flags};
	struct pollfd channel = {.fd = in->kit->channel_fd, .events = POLLIN};
	int64_t until = clock_ms() + PEER_WAIT_MS;

	if (channel_send(in->kit->channel_fd, &r, master) != 0) {
		return -EIO;
	}
	for (int64_t left; (left = until - clock_ms()) > 0;) {
		struct order o;
		int fd = -1;
		(void)poll(&channel, 1,
			   (int)left); /* clock and receive decide, whatever it returns */
		int got = channel_receive_order(in->kit->channel_fd, &o, &fd);
		if (got < 0) {
			kill_all_and_exit(in);
		}
		if (got > 0 && o.kind == ORDER_PEER) {
			return fd >= 0 ? fd : (o.value < 0 ? o.value : -EIO);
		}
		drop_fd(&fd);
		if (got > 0) {
			execute_order(in, &o);
		}
	}
	return -EIO;
}

/* poll(2)'s timeout until the next timer. */
static int time_left(const struct init *in) {
	const int64_t longest = 3600000; /* fits an int; the loop then polls again */
	int64_t at = in->deadline;
	int sweep = ask_wake(&in->broker, in->broker.ask < 0 ? 0 : clock_ms());

	if (in->report_start_at != LIMIT_NONE && (at == LIMIT_NONE || in->report_start_at < at)) {
		at = in->report_start_at;
	}
	if (in->trees.at >= 0 && (at == LIMIT_NONE || in->trees.at < at)) {
		at = in->trees.at;
	}
	if (at == LIMIT_NONE) {
		return sweep;
	}
	int64_t left = at - clock_ms();
	left = sweep >= 0 && sweep < left ? sweep : left;
	return left < 0 ? 0 : (int)(left < longest ? left : longest);
}

static void check_clock(struct init *in) {
	int64_t now = clock_ms();

	if (in->report_start_at != LIMIT_NONE && now >= in->report_start_at) {
		in->report_start_at = LIMIT_NONE;
		send_report(in, REPORT_STARTED, 0);
		if (view_report_send(in->kit) != 0) {
			kill_all_and_exit(in);
		}
	}
	if (in->deadline != LIMIT_NONE && now >= in->deadline) {
		deadline_passed(in);
	}
	warm_trees_kill(&in->trees, in->kit->warm, &in->reaper, now);
	ask_sweep(&in->broker, now);
}

static _Noreturn void event_loop(struct init *in) {
	struct pollfd fds[] = {{.fd = in->signals, .events = POLLIN},
			       {.fd = in->kit->channel_fd, .events = POLLIN},
			       {.fd = in->kit->listener_fd, .events = POLLIN},
			       {.fd = in->broker.gate, .events = POLLIN},
			       {.fd = in->kit->warden_fd, .events = POLLIN},
			       {.fd = in->broker.ask, .events = POLLIN}};
	for (;;) {
		int n = poll(fds, ARRAY_LEN(fds), time_left(in));
		if (n < 0 && errno != EINTR) {
			kill_all_and_exit(in);
		}
		if (n > 0 && fds[4].revents != 0) {
			kill_all_and_exit(in); /* first: the run is being ended */
		}
		if (n > 0 && (fds[2].revents & POLLIN) != 0) {
			broker_serve(&in->broker);
		}
		if (n > 0 && (fds[2].revents & (POLLHUP | POLLERR)) != 0) {
			fds[2].fd = -1; /* no process with this filter is left */
		}
		if (n > 0 && fds[3].revents != 0) {
			connect_answered(&in->broker);
			fds[3].fd = in->broker.gate;
		}
		if (n > 0 && fds[0].revents != 0) {
			read_signal(in);
		}
		if (n > 0 && fds[1].revents != 0) {
			receive_orders(in);
		}
		/* After the orders: ^C at a question is a signal first, and a denial then. */
		if (n > 0 && fds[5].revents != 0) {
			ask_answered(&in->broker);
			fds[5].fd = in->broker.ask;
		}
		check_clock(in);
	}
}

static void prepare_broker(struct init *in) {
	struct kit *k = in->kit;

	broker_init(&in->broker, k->plan, k->listener_fd);
	in->broker.umask = k->umask;
	in->broker.killable = k->killable;
	in->broker.journal = k->journal;
	in->broker.warm = k->warm;
	in->broker.gate = k->gate_fd;
	in->broker.beneath = k->beneath_fd;
	in->broker.ask = k->ask_fd;
	in->broker.peers = k->peers;
	in->broker.refusals = k->refusals;
	in->broker.peer = k->attended ? request_peer : NULL;
	in->broker.peer_arg = in;
}

/* The wardens are cloned before the command, so the guard never runs a command without them. */
static int become_guard(struct kit *k, struct err *e) {
	if (!plan_lacks_namespaces(k->plan)) {
		return 0;
	}
	if (warden_inner(k, e) != 0) {
		return -1;
	}
	for (size_t i = 0; layers[i] != NULL; i++) {
		if (layers[i]->guard != NULL && layers[i]->guard(k, e) != 0) {
			return -1;
		}
	}
	return 0;
}

static int open_signals(const struct kit *k) {
	sigset_t watched;

	sigemptyset(&watched);
	sigaddset(&watched, SIGCHLD);
	if (plan_lacks_namespaces(k->plan)) {
		sigaddset(&watched, SIGTERM); /* from the warden */
	}
	return signalfd(-1, &watched, SFD_CLOEXEC | SFD_NONBLOCK);
}

/* Until a parked process has called execve or has exited, when the kernel clears the word.  Not
 * CLONE_VFORK, whose sleep counts as load of the host. */
static void wait_for_parked(uint32_t *running) {
	for (uint32_t pid; (pid = __atomic_load_n(running, __ATOMIC_SEQ_CST)) != 0;) {
		(void)raw_call(SYS_futex, raw_pointer(running), FUTEX_WAIT, pid, 0);
	}
}

static pid_t clone_command(struct kit *k, void *stack) {
	static uint32_t running;

	if (!k->parked) {
		/* So that we get its seccomp listener. */
		int shared = k->plan->broker ? CLONE_FILES : 0;
		return clone(command_main, stack, CLONE_VM | CLONE_VFORK | shared | SIGCHLD, k);
	}
	running = 1;
	pid_t pid =
		clone(command_main, stack,
		      CLONE_VM | CLONE_FILES | CLONE_PARENT_SETTID | CLONE_CHILD_CLEARTID | SIGCHLD,
		      k, &running, NULL, &running);
	if (pid > 0) {
		wait_for_parked(&running);
	}
	return pid;
}

/* Clones the command's process; returns when it has called execve. */
static void start_command(struct init *in) {
	struct kit *k = in->kit;
	static char stack[COMMAND_STACK] __attribute__((aligned(16)));
	struct err e = {0};

	/* vfork semantics: the child shares our memory, and we sleep until it has called execve,
	 * or has failed and sent REPORT_ERROR. */
	timings_stamp(k->timings, STEP_SERVER);
	descriptors_make_room(k, in->signals);
	in->command = clone_command(k, stack + sizeof stack);
	timings_stamp(k->timings, STEP_EXECVE);
	if (in->command < 0) {
		err_sys(&e, "init", "cannot start the command's process");
		init_fail(k, &e);
	}
	if (k->start_failed) {
		_exit(SETUP_FAILED);
	}
	in->command = k->warm != NULL ? k->zygote : in->command;
	if (k->secrets != NULL && k->warm == NULL) {
		secrets_wipe(k->secrets); /* execve has copied them */
	}
	/* The command has its own copies; ours would keep its pipes open. */
	(void)syscall(SYS_close_range, 0U, (unsigned)k->channel_fd - 1, 0);
	descriptors_close_stale(k, in->signals);
}

void init_run(struct kit *k) {
	struct init in = {.kit = k, .deadline = LIMIT_NONE, .report_start_at = LIMIT_NONE};
	struct err e = {0};
	sigset_t all;

	warm_trees_init(&in.trees);
	sigfillset(&all);
	if (syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, NULL, _NSIG / 8) != 0) {
		err_sys(&e, "init", "cannot block signals");
		init_fail(k, &e);
	}
	if (become_guard(k, &e) != 0) {
		init_fail(k, &e);
	}
	in.signals = open_signals(k);
	if (in.signals < 0) {
		err_sys(&e, "init", "cannot watch for the command's end");
		init_fail(k, &e);
	}
	if (reaper_init(&in.reaper, k->plan, &e) != 0) {
		init_fail(k, &e);
	}
	start_command(&in);
	if (k->plan->timeout_ms != LIMIT_NONE) {
		in.deadline = clock_ms() + k->plan->timeout_ms;
	}
	prepare_broker(&in);
	in.report_start_at = k->report_start ? 0 : clock_ms() + REPORT_START_AFTER_MS;
	if (plan_lacks_namespaces(k->plan)) {
		sched_slice_shorten();
	}
	event_loop(&in);
}
