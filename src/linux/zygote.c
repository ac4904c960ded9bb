/* SPDX-License-Identifier: Apache-2.0 */
/* The zygote of a session and the leaders of its commands; warm.h has the theory.
 *
 * A leader that waits for a request saves the time of its clone: it reads the request from the
 * zygote's socket itself.  The zygote sleeps on a futex meanwhile, and keeps WAITING of them.
 *
 * Should:   start each command with the descriptors, arguments, limits and directory of its
 *           request; report its end once.
 * Must not: use errno or libc's wrappers (base/raw_call.h): leaders share the zygote's memory and
 *           run at the same time; hold a descriptor of a command after it has started.
 * Fails:    closed: a step that fails ends this command with a report; a zygote that cannot read
 *           its socket exits, which ends the session. */
#include "linux/warm.h"

#include "base/auto.h"
#include "base/raw_call.h"
#include "data/syscalls.h"
#include "linux/layer.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <linux/wait.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

/* execve and the loop around it; builds without optimization need the most. */
#define STACK ((size_t)32 * 1024)

/* A command's descriptors have numbers below this one. */
#define FD_FLOOR 128

#define PAGE 4096

/* Leaders that wait for a request.  When the last of them gets one, the zygote clones others at
 * once; before that it has time until the command has ended. */
#define WAITING 2

/* With fewer processes than these the command needs each of them. */
#define PROCESSES_TO_SPARE 64

/* Where one leader and its command work until the command is executed. */
struct place {
	_Alignas(PAGE) char leader_stack[STACK];
	char command_stack[STACK];
	struct zygote *zygote;
	struct warm_slot *slot;
	char *data;       /* the arrays and strings: bytes, or the memfd */
	bool has_request; /* the zygote has read it */
	int status;       /* the leader's end of the status socket */
	int memory;       /* the memfd; -1: none */
	int fds[WARM_FDS_MAX];
	size_t nfds;
	/* The failure of the command's process, which shares this memory. */
	volatile uint32_t step;
	volatile int32_t error;
	volatile uint32_t candidate;
	/* Pages of their own, which forget_request() frees. */
	_Alignas(PAGE) struct warm_inbox inbox;
};

struct zygote {
	const struct plan *plan;
	struct warm_state *state;
	int requests;    /* its socket */
	uint32_t wanted; /* leaders that should wait */
	/* Leaders that wait; a futex of the zygote. */
	_Atomic uint32_t waiting;
	_Atomic uint32_t closed; /* no supervisor is left */
	struct place *places;    /* as many as slots, and one more */
};

/* ---- the command's own process ---- */

static _Noreturn void command_failed(struct place *p, enum warm_step step, long result) {
	p->error = (int32_t)-result;
	p->step = step;
	(void)raw_call(SYS_exit_group, 127);
	__builtin_unreachable();
}

static uint64_t lower(uint64_t a, uint64_t b) {
	return a < b ? a : b; /* RLIM64_INFINITY is the largest value */
}

/* As layers/limits.c: a hard limit of the caller's that is smaller stays. */
static long limit(int resource, uint64_t value) {
	uint64_t extra = resource == RLIMIT_CPU ? 1 : 0;
	uint64_t next[2] = {value, value + extra}, now[2];
	long r = raw_call(SYS_prlimit64, 0, resource, raw_pointer(next), 0);

	if (r != -EPERM) {
		return r;
	}
	r = raw_call(SYS_prlimit64, 0, resource, 0, raw_pointer(now));
	if (r != 0) {
		return r;
	}
	next[0] = lower(next[0], now[1]);
	next[1] = lower(next[1], now[1]);
	return raw_call(SYS_prlimit64, 0, resource, raw_pointer(next), 0);
}

static void set_limits(struct place *p) {
	const struct plan *plan = p->zygote->plan;
	const struct warm_request *q = &p->inbox.request;
	long r = 0;

	for (size_t i = 0; i < plan->nrlimits && r == 0; i++) {
		r = limit(plan->rlimits[i].resource, plan->rlimits[i].value);
	}
	for (size_t i = 0; i < q->nrlimits && r == 0; i++) {
		r = limit(q->rlimits[i].resource, q->rlimits[i].value);
	}
	if (r != 0) {
		command_failed(p, WARM_NO_LIMIT, r);
	}
}

/* First above all targets, so that no dup3() overwrites one that is still needed. */
static void place_descriptors(struct place *p) {
	const struct warm_request *q = &p->inbox.request;
	int lifted[WARM_FDS_MAX];
	size_t passed = 0;

	for (size_t i = 0; i < p->nfds; i++) {
		long fd = raw_call(SYS_fcntl, p->fds[i], F_DUPFD_CLOEXEC, FD_FLOOR);
		if (fd < 0) {
			command_failed(p, WARM_NO_DESCRIPTOR, fd);
		}
		lifted[i] = (int)fd;
	}
	for (size_t i = 0; i < q->nfds; i++) {
		if (i < 3 && (q->null >> i & 1) != 0) {
			continue; /* the zygote's own, of the sandbox's /dev/null */
		}
		long r = raw_call(SYS_dup3, lifted[passed++], (long)i, 0);
		if (r < 0) {
			command_failed(p, WARM_NO_DESCRIPTOR, r);
		}
	}
	/* All others are close-on-exec, unless the request has less than three (Z3). */
	long r = raw_call(SYS_close_range, (long)q->nfds, (long)~0U, 1L << 2 /* CLOEXEC */);
	if (r != 0) {
		command_failed(p, WARM_NO_DESCRIPTOR, r);
	}
}

/* execve(2) with the mark by which the filter recognizes it: the broker cannot read the memory of
 * this process. */
static long execute(const char *path, char *const *argv, char *const *envp) {
	return raw_call(SYS_execve, raw_pointer(path), raw_pointer(argv), raw_pointer(envp),
			(long)SYSCALL_FIRST_EXEC);
}

static void *array_at(const struct place *p, uint32_t offset) {
	return p->data + offset;
}

/* As init.c searches. */
static void try_candidates(struct place *p) {
	char *const *paths = array_at(p, p->inbox.request.candidates);
	char *const *argv = array_at(p, 0), *const *envp = array_at(p, p->inbox.request.env);
	char **shell = array_at(p, p->inbox.request.shell);
	long error = -ENOENT;

	for (uint32_t i = 0; paths[i] != NULL; i++) {
		long r = execute(paths[i], argv, envp);
		if (r == -ENOEXEC) {
			shell[1] = paths[i];
			r = execute("/bin/sh", shell, envp);
		}
		bool absent = r == -ENOENT || r == -ENOTDIR;
		if (!absent && error != -EACCES) {
			error = r;
			p->candidate = i;
		}
		if (!absent && r != -EACCES) {
			break;
		}
	}
	command_failed(p, WARM_NO_EXEC, error);
}

/* Runs in the zygote's memory until execve; the leader sleeps. */
static int command_main(void *arg) {
	struct place *p = arg;
	const uint64_t none = 0;

	(void)raw_call(SYS_setsid, 0); /* cannot fail for a new child */
	place_descriptors(p);
	if (p->inbox.request.terminal != 0) {
		long r = raw_call(SYS_ioctl, 0, TIOCSCTTY, 0);
		if (r != 0) {
			command_failed(p, WARM_NO_TERMINAL, r);
		}
	}
	set_limits(p); /* after it: RLIMIT_NOFILE may be below the numbers that it uses */
	if (p->inbox.request.directory != 0) {
		long r = raw_call(SYS_chdir, raw_pointer(p->data + p->inbox.request.directory),
				  (long)SYSCALL_FIRST_EXEC);
		if (r != 0) {
			command_failed(p, WARM_NO_DIRECTORY, r);
		}
	}
	/* Signals were blocked since pid 1 was. */
	(void)raw_call(SYS_rt_sigprocmask, SIG_SETMASK, raw_pointer(&none), 0, sizeof none);
	atomic_store(&p->slot->command, (int32_t)raw_call(SYS_getpid, 0));
	try_candidates(p);
	return 0;
}

/* ---- the leader ---- */

static void send_report(int status, const struct warm_report *r) {
	/* If it fails, the supervisor has closed its end, or reads end-of-file. */
	(void)raw_call(SYS_sendto, status, raw_pointer(r), sizeof *r, MSG_NOSIGNAL, 0, 0);
}

static int64_t microseconds(struct timeval t) {
	return (int64_t)t.tv_sec * 1000000 + t.tv_usec;
}

/* Reaps the command and sends its end (Z4). */
static void report_end(const struct place *p, int status_fd, pid_t pid) {
	struct rusage used;
	int status = 0;

	atomic_store(&p->slot->command, 0);
	while (atomic_load(&p->slot->signalling) != 0) {
		(void)raw_call(SYS_sched_yield, 0);
	}
	(void)raw_call(SYS_wait4, pid, raw_pointer(&status), 0, raw_pointer(&used));
	struct warm_report r = {
		.status = status,
		.cpu_us = microseconds(used.ru_utime) + microseconds(used.ru_stime),
		.max_rss_kb = used.ru_maxrss,
	};
	send_report(status_fd, &r);
	/* The supervisor waits for it, perhaps for this processor; our end is not urgent. */
	(void)raw_call(SYS_sched_yield, 0);
}

/* Kills the children that exist now.  Their own children become ours when they have ended: so all
 * are found, also those that /proc hides from pid 1, as the processes of a program without the
 * right to read it. */
static void kill_children(void) {
	char text[1024];
	long fd = raw_call(SYS_openat, AT_FDCWD, raw_pointer("/proc/thread-self/children"),
			   O_RDONLY | O_CLOEXEC, 0);
	long n = fd < 0 ? 0 : raw_call(SYS_read, fd, raw_pointer(text), sizeof text), pid = 0;

	if (fd >= 0) {
		(void)raw_call(SYS_close, fd); /* ours */
	}
	/* Decimal pids, each followed by a space; one that was cut off has none. */
	for (long i = 0; i < n; i++) {
		if (text[i] >= '0' && text[i] <= '9') {
			pid = pid * 10 + (text[i] - '0');
		} else if (pid > 0) {
			(void)raw_call(SYS_kill, pid,
				       SIGKILL); /* a child keeps its pid until it is reaped */
			pid = 0;
		}
	}
}

/* Until a child has ended, or pid 1 has marked the tree (linux/warm_signal.c). */
static void wait_for_event(const struct place *p) {
	const uint64_t events = WARM_EVENT(SIGCHLD) | WARM_EVENT(WARM_MARKED);

	if (warm_is_doomed(p->slot)) {
		kill_children();
	}
	(void)raw_call(SYS_rt_sigtimedwait, raw_pointer(&events), 0, 0, sizeof events);
	if (warm_is_doomed(p->slot)) {
		kill_children();
	}
}

/* Waits for the command, and then for the processes that it has left behind. */
static void wait_for_all(const struct place *p, int status, pid_t command) {
	wait_for_event(p); /* if the command has ended already, its SIGCHLD is pending */
	for (;;) {
		siginfo_t info = {.si_pid = 0};
		long r = raw_call(SYS_waitid, P_ALL, 0, raw_pointer(&info),
				  WEXITED | WNOWAIT | WNOHANG, 0);
		if (r != 0 && r != -EINTR) {
			return; /* ECHILD: none is left */
		}
		if (r != 0 || info.si_pid == 0) {
			wait_for_event(p);
			continue;
		}
		if (info.si_pid == command) {
			report_end(p, status, command);
		} else {
			(void)raw_call(SYS_wait4, info.si_pid, 0, 0, 0);
		}
	}
}

/* Arguments and environment may have secrets, and idle memory costs. */
static void forget_request(struct place *p) {
	if (p->data != p->inbox.bytes) {
		(void)raw_call(SYS_munmap, raw_pointer(p->data), p->inbox.request.size);
	}
	/* If it fails, the next request overwrites it. */
	(void)raw_call(SYS_madvise, raw_pointer(&p->inbox), sizeof p->inbox, MADV_DONTNEED);
}

/* The leader keeps its status socket alone: a copy of a pipe would keep the pipe open. */
static int keep_status(const struct place *p) {
	if (raw_call(SYS_dup3, p->status, 0, O_CLOEXEC) != 0 ||
	    raw_call(SYS_close_range, 1, (long)~0U, 0) != 0) {
		(void)raw_call(SYS_exit_group, 1);
	}
	return 0;
}

/* Where the descriptors of a request are. */
static void take_descriptors(struct place *p, const int fds[WARM_PASSED_MAX], size_t n) {
	size_t first = 1 + p->inbox.request.in_memory;

	p->status = fds[0];
	p->memory = p->inbox.request.in_memory != 0 ? fds[1] : -1;
	p->nfds = n - first;
	memcpy(p->fds, fds + first, p->nfds * sizeof fds[0]);
}

static void wake_zygote(struct zygote *z) {
	(void)raw_call(SYS_futex, raw_pointer(&z->waiting), FUTEX_WAKE_PRIVATE, 1);
}

/* Waits for a request.  The number of leaders that wait after it. */
static uint32_t wait_for_request(struct place *p) {
	struct zygote *z = p->zygote;
	int fds[WARM_PASSED_MAX];
	long n;

	do {
		n = warm_receive(z->requests, &p->inbox, fds);
	} while (n == 0);
	if (n < 0) {
		atomic_store(&z->closed, 1);
		(void)atomic_fetch_sub(&z->waiting, 1); /* the zygote may be about to wait for it */
		wake_zygote(z);
		(void)raw_call(SYS_exit_group, 0);
	}
	atomic_store(&p->slot->exec, p->inbox.request.exec);
	warm_begin(z->state);
	take_descriptors(p, fds, (size_t)n);
	return atomic_fetch_sub(&z->waiting, 1) - 1;
}

static int leader_main(void *arg) {
	struct place *p = arg;
	pid_t pid = -1;
	bool wakes = false;

	p->step = WARM_STARTED;
	p->error = 0;
	p->candidate = 0;
	long r = raw_call(SYS_prctl, PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
	if (!p->has_request) {
		wakes = wait_for_request(p) > 0;
		if (!wakes) {
			wake_zygote(p->zygote);
		}
	}
	if (r == 0) {
		r = warm_map(&p->inbox, p->memory, &p->data);
	}
	if (r != 0) {
		p->step = WARM_NO_MEMORY;
		p->error = (int32_t)-r;
	} else {
		warm_relocate(p->data);
		pid = clone(command_main, p->command_stack + sizeof p->command_stack,
			    CLONE_VM | CLONE_VFORK | SIGCHLD, p);
		if (pid < 0) {
			p->step = WARM_NO_PROCESS;
			p->error = EAGAIN; /* errno may be another leader's */
		}
	}
	int status = keep_status(p);
	struct warm_report failed = {.step = p->step, .error = p->error, .candidate = p->candidate};
	forget_request(p);
	if (failed.step != WARM_STARTED) {
		atomic_store(&p->slot->command, 0);
		(void)raw_call(SYS_wait4, -1, 0, 0, 0); /* the process that has failed, if any */
		send_report(status, &failed);
	} else {
		wait_for_all(p, status, pid);
	}
	if (wakes) {
		wake_zygote(p->zygote); /* not before: the command, and its report, come first */
	}
	return 0;
}

/* ---- the zygote ---- */

static void close_all(const int *fds, size_t n) {
	for (size_t i = 0; i < n; i++) {
		(void)raw_call(SYS_close, fds[i]); /* ours */
	}
}

/* The lowest that is free, whose stacks are in memory already: otherwise an idle session keeps the
 * pages of all slots.  -1: all are taken. */
static long free_slot(const struct zygote *z) {
	for (long i = 0; i < WARM_SLOTS; i++) {
		if (atomic_load(&z->state->slots[i].exec) == 0) {
			return i;
		}
	}
	return -1;
}

static void refuse(int status, enum warm_step step) {
	send_report(status, &(struct warm_report){.step = step, .error = EAGAIN});
}

/* Clones a leader, whose parent is pid 1, for this command. */
static bool clone_leader(struct place *p, uint64_t exec) {
	struct warm_slot *s = p->slot;

	atomic_store(&s->command, 0);
	atomic_store(&s->leader, 0);
	atomic_store(&s->exec, exec);
	pid_t pid = clone(leader_main, p->leader_stack + sizeof p->leader_stack,
			  CLONE_VM | CLONE_PARENT | CLONE_PARENT_SETTID | SIGCHLD, p, &s->leader,
			  NULL, NULL);
	if (pid < 0) {
		atomic_store(&s->exec, 0);
	}
	return pid >= 0;
}

static struct place *place_of(struct zygote *z, long slot) {
	struct place *p = &z->places[slot < 0 ? WARM_SLOTS : slot];

	p->zygote = z;
	p->slot = slot < 0 ? NULL : &z->state->slots[slot];
	p->has_request = false;
	return p;
}

/* One more leader waits; false: there is no slot, or the kernel refuses a process. */
static bool add_leader(struct zygote *z) {
	long slot = free_slot(z);

	if (slot < 0) {
		return false;
	}
	(void)atomic_fetch_add(&z->waiting, 1); /* before it can get a request */
	if (!clone_leader(place_of(z, slot), WARM_WAITS)) {
		(void)atomic_fetch_sub(&z->waiting, 1);
		return false;
	}
	return true;
}

/* No leader waits: the zygote reads the next request itself, and tries again or refuses it. */
static void serve_one(struct zygote *z) {
	long slot = free_slot(z);
	struct place *p = place_of(z, slot); /* a place of its own for one without a slot */
	int fds[WARM_PASSED_MAX];
	long n = warm_receive(z->requests, &p->inbox, fds);

	if (n < 0) {
		(void)raw_call(SYS_exit_group, 0);
	}
	if (n == 0) {
		return;
	}
	take_descriptors(p, fds, (size_t)n);
	p->has_request = true;
	if (slot < 0) {
		refuse(fds[0], WARM_NO_SLOT);
	} else if (!clone_leader(p, p->inbox.request.exec)) {
		refuse(fds[0], WARM_NO_PROCESS);
	} else {
		warm_begin(z->state);
	}
	close_all(fds, (size_t)n);
}

static uint32_t leaders_wanted(const struct plan *plan) {
	const uint64_t spare = PROCESSES_TO_SPARE;
	bool few = plan_rlimit(plan, RLIMIT_NPROC) < spare ||
		   (plan->max_processes >= 0 && (uint64_t)plan->max_processes < spare) ||
		   (plan->sampled.processes > 0 && (uint64_t)plan->sampled.processes < spare);

	return few ? 0 : WAITING;
}

static _Noreturn void zygote_run(struct zygote *z) {
	for (;;) {
		uint32_t waiting = atomic_load(&z->waiting);
		if (atomic_load(&z->closed) != 0) {
			(void)raw_call(SYS_exit_group, 0);
		}
		if (waiting < z->wanted && add_leader(z)) {
			continue;
		}
		if (waiting == 0) {
			serve_one(z);
		} else {
			/* Until a leader gets a request, and says so. */
			(void)raw_call(SYS_futex, raw_pointer(&z->waiting), FUTEX_WAIT_PRIVATE,
				       waiting, 0);
		}
	}
}

/* The socket above the numbers that commands get, close-on-exec, and nothing else but the three
 * streams, which are /dev/null (Z2, Z3).  The memory is that of pid 1, which is not dumpable. */
static bool settle(struct zygote *z, int fd) {
	z->requests = (int)raw_call(SYS_fcntl, fd, F_DUPFD_CLOEXEC, FD_FLOOR);
	return z->requests >= 0 && raw_call(SYS_close_range, 3, z->requests - 1, 0) == 0 &&
	       raw_call(SYS_close_range, z->requests + 1, (long)~0U, 0) == 0 &&
	       raw_call(SYS_prctl, PR_GET_DUMPABLE, 0, 0, 0, 0) == 0;
}

pid_t zygote_clone(struct kit *k, int fd, struct err *e) {
	size_t size = sizeof(struct place) * (WARM_SLOTS + 1);
	struct zygote z = {.plan = k->plan, .state = k->warm, .wanted = leaders_wanted(k->plan)};

	/* Before the clone, so that its failure is reported as one of the set-up. */
	z.places = mmap(NULL, size, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (z.places == MAP_FAILED) {
		return err_sys(e, "session", "cannot map memory for the commands");
	}
	long pid = syscall(SYS_clone, CLONE_PARENT | SIGCHLD, NULL, NULL, NULL, NULL);
	if (pid < 0) {
		return err_sys(e, "session", "the kernel refused to create a process");
	}
	if (pid == 0) {
		if (!settle(&z, fd)) {
			(void)raw_call(SYS_exit_group, 1);
		}
		zygote_run(&z);
	}
	return (pid_t)pid;
}
