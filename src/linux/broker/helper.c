/* Helper processes: they make the calls that may take long, while the guard serves others (K5).
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

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* How soon a helper notices that nobody waits for it any more, or that a signal came: at first
 * and after a while. */
#define LOOK_FIRST_MS 5
#define LOOK_AFTER_MS 200

/* Far longer than a caller that was answered needs to wake up. */
#define END_MS 2000

/* Far longer than the guard needs to close its own descriptor after the fork. */
#define RELEASE_MS 50

/* A plain fork; libc's would run handlers and take locks. */
static pid_t split(void) {
	return (pid_t)syscall(SYS_clone, (unsigned long)SIGCHLD, 0UL, 0UL, 0UL, 0UL);
}

/* Ends with its parent: a helper must not outlive the run. */
static void tie_to(pid_t parent) {
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* fails only for a bad signal */
	if (syscall(SYS_getppid) != parent) {
		_exit(0);
	}
}

int broker_start(struct broker *b, void (*work)(struct broker *b)) {
	pid_t guard = getpid();
	pid_t worker = split();

	if (worker != 0) {
		return worker < 0 ? -EAGAIN : 0;
	}
	tie_to(guard);
	fd_close_all_but(NULL, 0); /* the channel's end must be seen when the guard ends */
	work(b);
	_exit(0);
}

void broker_release(int fd) {
	pid_t guard = getpid();
	pid_t worker = fd < 0 ? -1 : split();

	if (worker == 0) {
		tie_to(guard);
		fd_close_all_but(&fd, 1);
		(void)poll(NULL, 0, RELEASE_MS); /* then ours is the last, and its end frees */
		_exit(0);
	}
	drop_fd(&fd);
}

/* A call that a helper makes. */
struct apart {
	int fd, other;
	call_work *work;
	const void *arg;
	bool restarts; /* the call can be restarted: it has no effect before it returns */
};

/* Not in errno.h: the kernel runs the signal handler, then restarts the call or returns EINTR, as
 * SA_RESTART says.  A caller without a pending signal would see the number itself. */
#define ERESTARTSYS 512

/* How many times in a row the watcher must find the same process-directed signal pending before it
 * interrupts the caller: another thread may take it meanwhile.  Of two threads that wait the
 * likelier one is interrupted first. */
#define LOOKS_IF_LIKELY 5
#define LOOKS_IF_DOUBTFUL 20

struct doubt {
	uint64_t signals; /* that were found each time */
	int looks;
};

/* Interrupts the worker.  SIGKILL would lose a descriptor that it has opened already, and leave
 * the caller's socket non-blocking or with a SYN pending. */
#define SIGNAL_STOP SIGUSR1
#define EXIT_STOPPED 1

static volatile sig_atomic_t stopped;

static void hear_stop(int number) {
	(void)number;
	stopped = 1;
}

bool helper_stopped(void) {
	return stopped != 0;
}

/* A signal that interrupts SECCOMP_IOCTL_NOTIF_ADDFD makes the kernel return 0 to the caller
 * without installing the descriptor: block it first. */
void helper_finish(void) {
	sigset_t unheard;

	sigemptyset(&unheard);
	sigaddset(&unheard, SIGNAL_STOP);
	/* It fails only for a bad argument. */
	(void)syscall(SYS_rt_sigprocmask, SIG_BLOCK, &unheard, NULL, _NSIG / 8);
}

/* The error for a caller with a pending signal; 0 while it is not to be interrupted. */
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
static void end_worker(const struct apart *a, pid_t worker, struct pollfd *end) {
	int status;

	if (a->restarts) {
		(void)kill(worker, SIGNAL_STOP); /* it is our child: nobody else's number */
	}
	(void)poll(end, 1, END_MS);        /* either way it is ended next */
	(void)kill(worker, SIGKILL);       /* or it has ended, and is still ours */
	(void)waitpid(worker, &status, 0); /* collected; nobody asks how it ended */
}

/* Until the worker ends, or nobody waits for what it does.  A caller in a notification that was
 * received wakes up for fatal signals alone: for others we look. */
static void watch_worker(const struct call *c, const struct apart *a, pid_t worker) {
	struct pollfd end = {.fd = (int)syscall(SYS_pidfd_open, worker, 0U), .events = POLLIN};
	int status = 0, wait_ms = a->restarts ? LOOK_FIRST_MS : LOOK_AFTER_MS;
	struct doubt doubt = {0};
	long answer = 0;

	for (;;) {
		(void)poll(&end, 1, wait_ms); /* without a pidfd it just sleeps */
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
			/* Again and again: it may not have begun to wait. */
			(void)kill(worker, SIGNAL_STOP);
			wait_ms = LOOK_FIRST_MS;
		}
	}
	if (WIFSIGNALED(status)) {
		call_answer(c, -EIO); /* somebody killed it; if it has answered this is nobody's */
	} else if (WEXITSTATUS(status) == EXIT_STOPPED) {
		call_answer(c, answer);
	}
}

/* Before the worker is made, so that it cannot be stopped too early. */
static void hear_stops(void) {
	const struct sigaction action = {.sa_handler = hear_stop}; /* without SA_RESTART */
	sigset_t heard;

	sigemptyset(&heard);
	sigaddset(&heard, SIGNAL_STOP);
	/* Neither fails but for a bad argument. */
	(void)sigaction(SIGNAL_STOP, &action, NULL);
	(void)syscall(SYS_rt_sigprocmask, SIG_UNBLOCK, &heard, NULL, _NSIG / 8);
}

static _Noreturn void be_worker(const struct call *c, const struct apart *a, pid_t watcher) {
	/* The end of a watcher stops it as well: whoever waits is to be told. */
	(void)prctl(PR_SET_PDEATHSIG, SIGNAL_STOP); /* fails only for a bad signal */
	bool watched = syscall(SYS_getppid) == watcher;
	long result = watched ? a->work(c, a->fd, a->arg) : -EIO;

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

static long do_apart(const struct call *c, const struct apart *a) {
	const int kept[] = {c->b->listener, c->b->proc, a->fd, a->other};
	pid_t guard = getpid();
	pid_t watcher = split();

	if (watcher != 0) {
		return watcher < 0 ? -EAGAIN : CALL_ANSWERED;
	}
	tie_to(guard);
	fd_close_all_but(kept, ARRAY_LEN(kept));
	hear_stops();
	pid_t self = getpid();
	pid_t worker = split();
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
	const struct apart a = {.fd = fd, .other = other, .work = work, .arg = arg};

	return do_apart(c, &a);
}

long helper_run_waiting(const struct call *c, int fd, int other, call_work *work, const void *arg) {
	const struct apart a = {
		.fd = fd, .other = other, .work = work, .arg = arg, .restarts = true};

	return do_apart(c, &a);
}
