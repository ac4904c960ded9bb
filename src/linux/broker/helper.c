/* SPDX-License-Identifier: Apache-2.0 */
/* Helper processes make system calls that may block, while the guard serves others (K5).
 *
 * A helper is two processes.  The worker makes the call and answers the notification.  The watcher,
 * its parent, ends the worker when the caller is gone, and looks for signals of the caller: with
 * SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV a caller whose notification was received wakes up for
 * fatal signals alone.  When there is one the watcher stops the worker by SIGUSR1, and answers
 * ERESTARTSYS or EINTR.
 *
 * Should:   interrupt a call that waits for others (a FIFO, a lease, a server) as outside.
 * Must not: outlive the guard, interrupt a call whose effect cannot be repeated, or give a caller
 *           ERESTARTSYS that has no signal pending: the program would see errno 512.
 * Fails:    closed: a caller whose helper was killed gets EIO. */
#include "linux/broker/call.h"

#include "base/auto.h"
#include "base/fd.h"
#include "linux/broker/domain.h"
#include "linux/broker/handover.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* How often the watcher checks that the caller still waits and has no signal pending: at first,
 * and after doubling. */
#define LOOK_FIRST_MS 5
#define LOOK_AFTER_MS 200

/* Far longer than an answered caller needs to wake up. */
#define END_MS 2000

/* Far longer than the guard needs to close its own descriptor after the fork. */
#define RELEASE_MS 50

/* fork(2) without libc's, which runs pthread_atfork handlers and takes locks. */
static pid_t raw_fork(void) {
	handover_unpin(); /* a helper may run anywhere (K8) */
	return (pid_t)syscall(SYS_clone, (unsigned long)SIGCHLD, 0UL, 0UL, 0UL, 0UL);
}

/* Dies with its parent: a helper must not outlive the run. */
static void die_with(pid_t parent) {
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* fails only for a bad signal */
	if (syscall(SYS_getppid) != parent) {
		_exit(0);
	}
}

int broker_start(struct broker *b, void (*work)(struct broker *b)) {
	pid_t guard = getpid();
	pid_t worker = raw_fork();

	if (worker != 0) {
		return worker < 0 ? -EAGAIN : 0;
	}
	die_with(guard);
	fd_close_all_but(NULL, 0); /* the channel must reach end-of-file when the guard ends */
	work(b);
	_exit(0);
}

void broker_release(int fd) {
	if (fd < 0) {
		return;
	}
	pid_t guard = getpid();
	pid_t worker = raw_fork();

	if (worker == 0) {
		die_with(guard);
		fd_close_all_but(&fd, 1);
		(void)poll(NULL, 0, RELEASE_MS); /* then ours is the last, and our exit frees it */
		_exit(0);
	}
	drop_fd(&fd);
}

/* A call for a helper. */
struct job {
	int fd, other;
	call_work *work;
	const void *arg;
	bool restarts; /* the call can be restarted: it has no effect before it returns */
};

/* Not in errno.h: the kernel runs the signal handler, then restarts the call with SA_RESTART, or
 * returns EINTR without.  A caller without a pending signal would see the number itself. */
#define ERESTARTSYS 512

/* How many times in a row the watcher must find the same process-directed signal pending before it
 * interrupts the caller: another thread may take it first.  Of two waiting threads the likelier
 * one is interrupted first. */
#define LOOKS_IF_LIKELY 5
#define LOOKS_IF_DOUBTFUL 20

struct doubt {
	uint64_t signals; /* found pending each time */
	int looks;
};

/* Interrupts the worker.  SIGKILL would lose a descriptor that it has opened already, and leave
 * the caller's socket non-blocking or with a SYN pending. */
#define SIGNAL_STOP SIGUSR1
#define EXIT_STOPPED 1

static volatile sig_atomic_t stopped;

static void on_stop(int number) {
	(void)number;
	stopped = 1;
}

bool helper_stopped(void) {
	return stopped != 0;
}

/* A signal that interrupts SECCOMP_IOCTL_NOTIF_ADDFD makes the kernel return 0 to the caller
 * without installing the descriptor: block it first. */
void helper_finish(void) {
	sigset_t stop;

	sigemptyset(&stop);
	sigaddset(&stop, SIGNAL_STOP);
	/* It fails only for a bad argument. */
	(void)syscall(SYS_rt_sigprocmask, SIG_BLOCK, &stop, NULL, _NSIG / 8);
}

/* The error for a caller with a pending signal; 0: do not interrupt it. */
static long answer_to_signal(const struct call *c, struct doubt *d) {
	uint64_t signals = 0;
	enum pending_signal_of_caller found = pending_signal_of_caller(c, &signals);

	if (found == SIGNAL_SURE) {
		return -ERESTARTSYS;
	}
	bool same = (d->signals & signals) != 0;
	d->signals = same ? d->signals & signals : signals;
	d->looks = same ? d->looks + 1 : signals != 0;
	return d->looks >= (found == SIGNAL_LIKELY ? LOOKS_IF_LIKELY : LOOKS_IF_DOUBTFUL) ? -EINTR
											  : 0;
}

/* The caller is gone, or the worker is in SECCOMP_IOCTL_NOTIF_ADDFD, which must not be
 * interrupted: SIGKILL comes after END_MS only. */
static void end_worker(const struct job *a, pid_t worker, struct pollfd *end) {
	int status;

	if (a->restarts) {
		(void)kill(worker, SIGNAL_STOP); /* an unreaped child: its pid is not reused */
	}
	(void)poll(end, 1, END_MS);        /* either way it is killed next */
	(void)kill(worker, SIGKILL);       /* it may be a zombie already */
	(void)waitpid(worker, &status, 0); /* its status does not matter */
}

/* Waits until the worker ends, or the caller no longer waits.  With WAIT_KILLABLE_RECV only fatal
 * signals wake the caller, so we poll for others. */
static void watch_worker(const struct call *c, const struct job *a, pid_t worker) {
	struct pollfd end = {.fd = (int)syscall(SYS_pidfd_open, worker, 0U), .events = POLLIN};
	int status = 0, wait_ms = a->restarts ? LOOK_FIRST_MS : LOOK_AFTER_MS;
	struct doubt doubt = {0};
	long answer = 0;

	for (;;) {
		(void)poll(&end, 1, wait_ms); /* without a pidfd it sleeps */
		wait_ms = 2 * wait_ms < LOOK_AFTER_MS ? 2 * wait_ms : LOOK_AFTER_MS;
		if (waitpid(worker, &status, WNOHANG) != 0) {
			break;
		}
		if (!caller_waits(c)) {
			end_worker(a, worker, &end);
			return;
		}
		if (a->restarts && answer != -ERESTARTSYS) {
			long found = answer_to_signal(c, &doubt);
			answer = found != 0 ? found : answer;
			wait_ms = doubt.looks > 0 ? LOOK_FIRST_MS : wait_ms;
		}
		if (answer != 0) {
			/* Repeated: the worker may not be in its blocking call yet. */
			(void)kill(worker, SIGNAL_STOP);
			wait_ms = LOOK_FIRST_MS;
		}
	}
	if (WIFSIGNALED(status)) {
		call_answer(c, -EIO); /* the worker was killed; ENOENT if it had answered */
	} else if (WEXITSTATUS(status) == EXIT_STOPPED) {
		call_answer(c, answer);
	}
}

/* Before the fork, so that SIGNAL_STOP cannot kill a new worker. */
static void handle_stop(void) {
	const struct sigaction action = {.sa_handler = on_stop}; /* without SA_RESTART */
	sigset_t stop;

	sigemptyset(&stop);
	sigaddset(&stop, SIGNAL_STOP);
	/* Both fail only for a bad argument. */
	(void)sigaction(SIGNAL_STOP, &action, NULL);
	(void)syscall(SYS_rt_sigprocmask, SIG_UNBLOCK, &stop, NULL, _NSIG / 8);
}

static _Noreturn void be_worker(const struct call *c, const struct job *a, pid_t watcher) {
	/* The watcher's death stops the worker as well, and the worker then answers -EIO. */
	(void)prctl(PR_SET_PDEATHSIG, SIGNAL_STOP); /* fails only for a bad signal */
	bool watched = syscall(SYS_getppid) == watcher;
	long result = watched ? domain_enter() : -EIO;

	if (result == 0) {
		result = a->work(c, a->fd, a->arg);
	}

	if (result == -EINTR && helper_stopped()) {
		if (syscall(SYS_getppid) == watcher) {
			_exit(EXIT_STOPPED);
		}
		result = -EIO;
	}
	if (result != CALL_ANSWERED) {
		call_answer(c, result);
	}
	_exit(0);
}

static long run_job(const struct call *c, const struct job *a) {
	int kept[4 + DOMAIN_LAYERS] = {c->b->listener, c->b->proc, a->fd, a->other};
	size_t nkept = 4 + domain_fds(kept + 4);
	pid_t guard = getpid();
	pid_t watcher = raw_fork();

	if (watcher != 0) {
		return watcher < 0 ? -EAGAIN : CALL_ANSWERED;
	}
	die_with(guard);
	c->b->handover.off = true; /* in our copy: the guard judges its own hand-overs */
	fd_close_all_but(kept, nkept);
	handle_stop();
	pid_t self = getpid();
	pid_t worker = raw_fork();
	if (worker == 0) {
		be_worker(c, a, self);
	}
	if (worker < 0) {
		call_answer(c, -EAGAIN);
	} else {
		watch_worker(c, a, worker);
	}
	_exit(0);
}

long helper_run(const struct call *c, int fd, int other, call_work *work, const void *arg) {
	const struct job a = {.fd = fd, .other = other, .work = work, .arg = arg};

	return run_job(c, &a);
}

long helper_run_waiting(const struct call *c, int fd, int other, call_work *work, const void *arg) {
	const struct job a = {.fd = fd, .other = other, .work = work, .arg = arg, .restarts = true};

	return run_job(c, &a);
}
