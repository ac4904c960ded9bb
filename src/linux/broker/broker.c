/* Receives calls, finds their row, answers.
 *
 * Should:   answer every call that it received, with the handler's result.
 * Must not: allocate, lock, or run code of libc beyond thin system calls: this runs
 *           in the guard, whose memory is a copy of a program that may have had
 *           other threads.
 * Fails:    closed: a call without a row is ENOSYS, and without /proc all are EPERM. */
#include "linux/broker/broker.h"

#include "base/auto.h"
#include "linux/bpf.h"
#include "linux/broker/call.h"
#include "linux/keep.h"
#include "linux/kernel.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
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

/* The waker and the woken on one processor: half the time of a round trip.  Linux 6.6. */
#define NOTIF_SET_FLAGS SECCOMP_IOW(4, __u64)
#define NOTIF_SYNC_WAKE_UP 1UL

/* clang-format off */
#define ASK(families, call, reason) {CALL_##call, serve_##call, families, reason}

const struct broker_row broker_rows[] = {
	ASK(BROKER_MARKS, chmod, "Landlock has no right for modes"),
	ASK(BROKER_MARKS, chown, "Landlock has no right for owners"),
	ASK(BROKER_MARKS, fchmod, "a descriptor for reading is enough to change a mode"),
	ASK(BROKER_MARKS, fchmodat, "as chmod"),
	ASK(BROKER_MARKS, fchmodat2, "as chmod"),
	ASK(BROKER_MARKS, fchown, "as fchmod"),
	ASK(BROKER_MARKS, fchownat, "as chown"),
	ASK(BROKER_MARKS, fremovexattr, "as fchmod"),
	ASK(BROKER_MARKS, fsetxattr, "as fchmod"),
	ASK(BROKER_MARKS, futimesat, "as utimensat"),
	ASK(BROKER_MARKS, lchown, "as chown"),
	ASK(BROKER_MARKS, lremovexattr, "as setxattr"),
	ASK(BROKER_MARKS, lsetxattr, "as setxattr"),
	ASK(BROKER_MARKS, removexattr, "as setxattr"),
	ASK(BROKER_MARKS, setxattr, "Landlock has no right for attributes; access lists are among them"),
	ASK(BROKER_MARKS, utime, "as utimensat"),
	ASK(BROKER_MARKS, utimensat, "Landlock has no right for times, and make(1) believes them"),
	ASK(BROKER_MARKS, utimes, "as utimensat"),

	ASK(BROKER_MARKS | BROKER_FILES, getxattr, "Landlock has no right for attributes, and no mount covers a pattern"),
	ASK(BROKER_MARKS | BROKER_FILES, lgetxattr, "as getxattr"),
	ASK(BROKER_MARKS | BROKER_FILES, listxattr, "as getxattr"),
	ASK(BROKER_MARKS | BROKER_FILES, llistxattr, "as getxattr"),
	ASK(BROKER_MARKS | BROKER_FILES, readlink, "as getxattr: a link's words are read without opening it"),
	ASK(BROKER_MARKS | BROKER_FILES, readlinkat, "as readlink"),

	ASK(BROKER_TRUNCATE | BROKER_FILES, truncate, "Landlock has a right for it since ABI 3, and none for a file inside a granted tree"),

	ASK(BROKER_FILES, creat, "as open"),
	ASK(BROKER_FILES, link, "a second name for a protected file would be a writable one"),
	ASK(BROKER_FILES, linkat, "as link"),
	ASK(BROKER_FILES, mkdir, "a directory where the policy says that there is none to be made"),
	ASK(BROKER_FILES, mkdirat, "as mkdir"),
	ASK(BROKER_FILES, mknod, "as mkdir"),
	ASK(BROKER_FILES, mknodat, "as mkdir"),
	ASK(BROKER_FILES, open, "Landlock cannot deny inside what it grants"),
	ASK(BROKER_FILES, openat, "as open"),
	ASK(BROKER_FILES, rename, "a denied file under another name would not be denied"),
	ASK(BROKER_FILES, renameat, "as rename"),
	ASK(BROKER_FILES, renameat2, "as rename"),
	ASK(BROKER_FILES, rmdir, "as unlink"),
	ASK(BROKER_FILES, symlink, "as mkdir"),
	ASK(BROKER_FILES, symlinkat, "as mkdir"),
	ASK(BROKER_FILES, umask, "files are made with it, and looking it up takes longer than making them"),
	ASK(BROKER_FILES, unlink, "a protected file could be replaced"),
	ASK(BROKER_FILES, unlinkat, "as unlink"),

	ASK(BROKER_SOCKETS, bind, "without a network namespace the wildcard address is the host's"),
	ASK(BROKER_SOCKETS, connect, "Landlock knows ports and no addresses, and sockets with a path only since ABI 9"),
	ASK(BROKER_SOCKETS, getpeername, "a program that was connected by the gate is told where it wanted to go"),
	ASK(BROKER_SOCKETS, ioctl, "TIOCGPTPEER: a new terminal lies in the host's /dev/pts"),
	ASK(BROKER_SOCKETS, listen, "what listens in this run may be connected to; an unbound socket listens everywhere"),
	ASK(BROKER_SOCKETS, socketpair, "a datagram from the half of a pair names its receiver behind a pointer"),

	ASK(BROKER_SIGNALS, fcntl, "F_SETOWN: a descriptor's events are signals for whom it names, and F_SETSIG chooses which"),
	ASK(BROKER_SIGNALS, kill, "without a pid namespace every process of the user is in reach; Landlock keeps signals in since ABI 6"),
	ASK(BROKER_SIGNALS, pidfd_send_signal, "as kill"),
	ASK(BROKER_SIGNALS, rt_sigqueueinfo, "as kill"),
	ASK(BROKER_SIGNALS, rt_tgsigqueueinfo, "as kill"),
	ASK(BROKER_SIGNALS, tgkill, "as kill"),
	ASK(BROKER_SIGNALS, tkill, "as kill"),

	ASK(BROKER_PRIORITY, ioprio_set, "every process of the user is in reach"),
	ASK(BROKER_PRIORITY, sched_setaffinity, "as ioprio_set"),
	ASK(BROKER_PRIORITY, sched_setattr, "as ioprio_set"),
	ASK(BROKER_PRIORITY, sched_setparam, "as ioprio_set"),
	ASK(BROKER_PRIORITY, sched_setscheduler, "as ioprio_set"),
	ASK(BROKER_PRIORITY, setpriority, "as ioprio_set"),
};
/* clang-format on */

const size_t broker_rows_count = ARRAY_LEN(broker_rows);

_Static_assert(ARRAY_LEN(broker_rows) < UINT8_MAX, "row_of holds a row's number and one");

void broker_init(struct broker *b, const struct plan *plan, int listener) {
	struct text self = {.len = 0};
	struct stat st;

	memset(b, 0, sizeof *b);
	b->plan = plan;
	b->listener = listener;
	b->signals = plan->landlock_abi < 6;
	b->killable = true;
	b->self = getpid();
	text_add(&self, "/proc/");
	text_number(&self, (uint64_t)b->self);
	memcpy(b->self_path, self.s, sizeof b->self_path);
	b->proc = open("/proc", O_PATH | O_CLOEXEC | O_DIRECTORY);
	b->fds = open("/proc/self/fd", O_PATH | O_CLOEXEC | O_DIRECTORY);
	b->root = open("/", O_PATH | O_CLOEXEC | O_DIRECTORY);
	if (b->fds < 0 || b->root < 0 || fstat(b->proc, &st) != 0) {
		drop_fd(&b->proc); /* no call is served without it */
	} else {
		b->proc_dev = st.st_dev;
	}
	int probe = sys_openat2(b->root, ".", O_PATH, RESOLVE_NO_MAGICLINKS);
	b->fast = probe >= 0;
	drop_fd(&probe);
	b->quick = b->fast && !plan_shares(plan);
	b->watches_umask = (plan->traits & TRAIT_CHANGES) != 0;
	b->umask_holder = -1;
	b->gate = -1;
	b->asks_links = (plan->traits & TRAIT_READS) != 0 && plan->rules.hides;
	/* Not the coarse clock: multigrain timestamps (Linux 6.13) run ahead of it, and a file
	 * that was made just before the run would seem to be younger. */
	(void)clock_gettime(CLOCK_REALTIME, &b->began);
	b->umask = umask(0); /* as the command's: both were given it */
	(void)umask(b->umask);
	for (size_t i = 0; i < ARRAY_LEN(broker_rows); i++) {
		int nr = syscall_names[broker_rows[i].id].nr[bpf_native()];

		if (nr >= 0) {
			b->row_of[nr] = (uint8_t)(i + 1);
		}
	}
	(void)syscall(SYS_ioctl, listener, NOTIF_SET_FLAGS,
		      NOTIF_SYNC_WAKE_UP); /* or slower, no more */
}

void call_answer(const struct call *c, long result) {
	struct seccomp_notif_resp answer = {
		.id = c->id,
		.val = result < 0 ? 0 : result,
		.error = result < 0 ? (int)result : 0,
	};
	(void)call_ioctl(c->b, SECCOMP_IOCTL_NOTIF_SEND, &answer); /* gone is gone */
}

long call_let_pass(const struct call *c) {
	struct seccomp_notif_resp answer = {.id = c->id, .flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE};

	(void)call_ioctl(c->b, SECCOMP_IOCTL_NOTIF_SEND, &answer); /* gone is gone */
	return CALL_ANSWERED;
}

static int add_fd(const struct call *c, int fd, bool cloexec, unsigned flags) {
	struct seccomp_notif_addfd add = {
		.id = c->id,
		.flags = flags,
		.srcfd = (uint32_t)fd,
		.newfd_flags = cloexec ? O_CLOEXEC : 0,
	};
	int got = call_ioctl(c->b, SECCOMP_IOCTL_NOTIF_ADDFD, &add);

	return got < 0 ? -errno : got;
}

int call_add(const struct call *c, int fd, bool cloexec) {
	return add_fd(c, fd, cloexec, 0);
}

long call_give(const struct call *c, int fd, bool cloexec, bool executable) {
	auto_fd ours = fd;
	int got = executable ? -EINVAL : add_fd(c, ours, cloexec, SECCOMP_ADDFD_FLAG_SEND);

	if (got != -EINVAL) {
		return got < 0 ? got : CALL_ANSWERED;
	}
	/* In two steps; so does a kernel before 5.14, which does not know the flag. */
	got = add_fd(c, ours, cloexec, 0);
	drop_fd(&ours);
	call_answer(c, got);
	return CALL_ANSWERED;
}

static void serve_one(struct broker *b, const struct seccomp_notif *n) {
	struct call c = {.b = b, .id = n->id, .tid = (pid_t)n->pid};
	unsigned row = n->data.nr >= 0 && n->data.nr <= SYSCALL_NEWEST ? b->row_of[n->data.nr] : 0;
	long result;

	memcpy(c.args, n->data.args, sizeof c.args);
	if (row == 0) {
		result = -ENOSYS;
	} else if (b->proc < 0 || c.tid <= 0) {
		result = -EPERM;
	} else {
		result = broker_rows[row - 1].serve(&c);
	}
	if (result != CALL_ANSWERED) {
		call_answer(&c, result);
	}
}

void broker_serve(struct broker *b) {
	struct seccomp_notif n;

	/* Receiving does not wait: what was announced and is gone since is ENOENT.  The next
	 * one is for the next poll of the guard, which has signals and a clock to look after
	 * as well. */
	memset(&n, 0, sizeof n); /* the kernel insists */
	if (call_ioctl(b, SECCOMP_IOCTL_NOTIF_RECV, &n) == 0) {
		serve_one(b, &n); /* otherwise the caller was killed before we looked */
	}
}

/* ---- what may take long ---- */

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
	keep_only(NULL, 0); /* the channel's end must be seen when the guard ends */
	work(b);
	_exit(0);
}

void broker_release(int fd) {
	pid_t guard = getpid();
	pid_t worker = fd < 0 ? -1 : split();

	if (worker == 0) {
		tie_to(guard);
		keep_only(&fd, 1);
		(void)poll(NULL, 0, RELEASE_MS); /* then ours is the last, and its end frees */
		_exit(0);
	}
	drop_fd(&fd);
}

/* What is left to a worker. */
struct apart {
	int fd, other;
	call_work *work;
	const void *arg;
	bool restarts; /* to do it again does what was asked for, once */
};

/* The kernel's own answer to a signal, which no errno.h has: it runs the handler and then makes
 * the call again or returns EINTR, as SA_RESTART says.  A caller whom no signal awaits would be
 * given the number itself. */
#define ERESTARTSYS 512

/* How often the same signal, which may be another thread's, is found before it counts: others take
 * it meanwhile.  Of two threads that wait the likelier one takes it first. */
#define LOOKS_IF_LIKELY 5
#define LOOKS_IF_DOUBTFUL 20

struct doubt {
	uint64_t signals; /* that were found each time */
	int looks;
};

/* For the worker: to stop waiting.  It is not killed, so that it gives up nothing that it has got
 * already, and leaves no socket as nobody may have it. */
#define SIGNAL_STOP SIGUSR1
#define EXIT_STOPPED 1

static volatile sig_atomic_t stopped;

static void hear_stop(int number) {
	(void)number;
	stopped = 1;
}

bool call_stopped(void) {
	return stopped != 0;
}

/* The kernel answers with 0, and gives no descriptor, where a signal interrupts whoever hands one
 * over. */
void call_finish(void) {
	sigset_t unheard;

	sigemptyset(&unheard);
	sigaddset(&unheard, SIGNAL_STOP);
	/* It fails only for a bad argument. */
	(void)syscall(SYS_rt_sigprocmask, SIG_BLOCK, &unheard, NULL, _NSIG / 8);
}

/* What a caller whose worker was stopped is told; 0: it is not to be stopped. */
static long answer_to_signal(const struct call *c, struct doubt *d) {
	uint64_t signals = 0;
	enum caller_signal found = caller_signal(c, &signals);

	if (found == SIGNAL_SURE) {
		return -ERESTARTSYS;
	}
	bool same = (d->signals & signals) != 0;
	d->signals = same ? d->signals & signals : signals;
	d->looks = same ? d->looks + 1 : signals != 0;
	return d->looks >= (found == SIGNAL_LIKELY ? LOOKS_IF_LIKELY : LOOKS_IF_DOUBTFUL) ? -EINTR
											  : 0;
}

/* Nobody waits for it any more, or it is just handing a descriptor over: to be killed in that
 * would give the caller 0 in its place.  One that goes on waits for what only SIGKILL ends. */
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

	if (result == -EINTR && call_stopped()) {
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
	keep_only(kept, ARRAY_LEN(kept));
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

long call_apart(const struct call *c, int fd, int other, call_work *work, const void *arg) {
	const struct apart a = {.fd = fd, .other = other, .work = work, .arg = arg};

	return do_apart(c, &a);
}

long call_waits_apart(const struct call *c, int fd, int other, call_work *work, const void *arg) {
	const struct apart a = {
		.fd = fd, .other = other, .work = work, .arg = arg, .restarts = true};

	return do_apart(c, &a);
}
