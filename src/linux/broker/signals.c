/* SPDX-License-Identifier: Apache-2.0 */
/* Serves kill(2) and the like, and fcntl(F_SETOWN), where there is no pid namespace.
 *
 * Should:   send signals only to processes that descend from the guard; let a descriptor's
 *           owner (F_SETOWN) be only such a process.
 * Must not: signal the guard itself, its process group, or a process that reused the pid of
 *           a checked one: a pidfd holds that (K3).
 * Fails:    closed: EPERM, as for another user's process. */
#include "linux/broker/call.h"

#include "base/auto.h"
#include "base/dirent64.h"
#include "base/str.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Bound for the chain of parents; real programs stay far below. */
#define GENERATIONS_MAX 4096

#define CLIMBS 3

#define SIGINFO_SIZE 128 /* the kernel's */

static long or_errno(long r) {
	return r < 0 ? -errno : 0;
}

/* ---- processes of the run ---- */

static bool is_inside(const struct call *c, pid_t pid) {
	for (int i = 0; i < GENERATIONS_MAX && pid > 1; i++) {
		long parent = caller_status(c, pid, "PPid:", 10);

		if (parent == c->b->self) {
			return pid != c->b->self;
		}
		pid = parent < 0 ? 0 : (pid_t)parent;
	}
	return false;
}

int signals_caller_owns(const struct call *c, pid_t pid) {
	if (pid == c->tid) {
		return 0;
	}
	if (caller_status(c, pid, "PPid:", 10) == -ESRCH) {
		return -ESRCH;
	}
	/* A parent that ends while we climb breaks the chain; in the next climb its children
	 * are the guard's (child subreaper). */
	for (int i = 0; i < CLIMBS; i++) {
		if (is_inside(c, pid)) {
			return 0;
		}
	}
	return -EPERM;
}

static pid_t process_number(const char *name) {
	long n = 0;

	for (; *name >= '0' && *name <= '9' && n < INT_MAX / 10; name++) {
		n = n * 10 + (*name - '0');
	}
	return *name == '\0' ? (pid_t)n : 0;
}

static bool member_inside(const struct call *c, const char *name, pid_t group) {
	pid_t pid = process_number(name);

	return pid > 0 && syscall(SYS_getpgid, pid) == group && is_inside(c, pid);
}

/* A process group belongs to one session, and the members of a session descend from its leader:
 * if one member descends from the guard, all do. */
static bool group_is_inside(const struct call *c, pid_t group) {
	char buf[4096];
	long n;

	if (group == syscall(SYS_getpgid, 0)) {
		return false; /* the guard's own */
	}
	if (syscall(SYS_getpgid, group) == group && is_inside(c, group)) {
		return true;
	}
	auto_fd dir = openat(c->b->proc, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	while (dir >= 0 && (n = syscall(SYS_getdents64, dir, buf, sizeof buf)) > 0) {
		for (long at = 0; at < n; at += dirent64_length(buf + at)) {
			if (member_inside(c, dirent64_name(buf + at), group)) {
				return true;
			}
		}
	}
	return false;
}

/* ---- sending ---- */

/* Without WAIT_KILLABLE_RECV a signal to the caller itself interrupts its wait for the answer;
 * the call would restart, and send the signal again. */
static long send_after_answer(const struct call *c, pid_t pid, int sig) {
	call_answer(c, 0);
	(void)syscall(SYS_kill, pid, sig); /* the call is answered */
	return CALL_ANSWERED;
}

static long send_to_process(const struct call *c, pid_t pid, int sig, void *info) {
	auto_fd pidfd = (int)syscall(SYS_pidfd_open, pid, 0U);

	if (pidfd < 0 && (errno == ESRCH || errno == EINVAL)) {
		return -ESRCH;
	}
	int r = signals_caller_owns(c, pid);
	if (r != 0) {
		return r;
	}
	if (!c->b->killable && sig != 0 && info == NULL &&
	    caller_status(c, c->tid, "Tgid:", 10) == pid) {
		return send_after_answer(c, pid, sig);
	}
	if (pidfd >= 0) {
		return or_errno(syscall(SYS_pidfd_send_signal, pidfd, sig, info, 0U));
	}
	return info != NULL ? -EPERM : or_errno(syscall(SYS_kill, pid, sig));
}

static long send_to_group(const struct call *c, pid_t group, int sig) {
	if (group <= 1 || !group_is_inside(c, group)) {
		bool none = group > 1 && syscall(SYS_kill, -group, 0) != 0 && errno == ESRCH;
		return none ? -ESRCH : -EPERM;
	}
	return or_errno(syscall(SYS_kill, -group, sig));
}

long serve_kill(struct call *c) {
	pid_t pid = call_int(c, 0);
	int sig = call_int(c, 1);

	if (pid > 0) {
		return send_to_process(c, pid, sig, NULL);
	}
	if (pid == -1 || pid == INT_MIN) {
		return -EPERM; /* every process of the user */
	}
	if (pid < 0) {
		return send_to_group(c, -pid, sig);
	}
	long group = syscall(SYS_getpgid, c->tid);
	if (group < 0 || !caller_waits(c)) {
		return -ESRCH;
	}
	return send_to_group(c, (pid_t)group, sig);
}

/* ---- threads ---- */

/* Checks the thread; the kernel checks that it belongs to the process. */
static int check_thread(const struct call *c, pid_t process, pid_t thread) {
	return process <= 0 || thread <= 0 ? -EINVAL : signals_caller_owns(c, thread);
}

long serve_tkill(struct call *c) {
	pid_t thread = call_int(c, 0);
	int r = check_thread(c, thread, thread);

	return r != 0 ? r : or_errno(syscall(SYS_tkill, thread, call_int(c, 1)));
}

long serve_tgkill(struct call *c) {
	pid_t process = call_int(c, 0), thread = call_int(c, 1);
	int sig = call_int(c, 2);
	int r = check_thread(c, process, thread);

	if (r != 0) {
		return r;
	}
	if (!c->b->killable && thread == c->tid && sig != 0) {
		call_answer(c, 0);
		(void)syscall(SYS_tgkill, process, thread, sig); /* the call is answered */
		return CALL_ANSWERED;
	}
	return or_errno(syscall(SYS_tgkill, process, thread, sig));
}

/* ---- with siginfo_t ---- */

struct information {
	_Alignas(8) char bytes[SIGINFO_SIZE];
};

static int read_information(const struct call *c, uint64_t address, int sig,
			    struct information *ret) {
	int r = caller_bytes(c, address, ret->bytes, sizeof ret->bytes);

	memcpy(ret->bytes, &sig, sizeof sig); /* si_signo, which the kernel overwrites, too */
	return r;
}

long serve_rt_sigqueueinfo(struct call *c) {
	struct information info;
	int sig = call_int(c, 1);
	int r = call_int(c, 0) <= 0 ? -ESRCH : read_information(c, c->args[2], sig, &info);

	return r != 0 ? r : send_to_process(c, call_int(c, 0), sig, info.bytes);
}

long serve_rt_tgsigqueueinfo(struct call *c) {
	struct information info;
	pid_t process = call_int(c, 0), thread = call_int(c, 1);
	int sig = call_int(c, 2);
	int r = read_information(c, c->args[3], sig, &info);

	if (r == 0) {
		r = check_thread(c, process, thread);
	}
	return r != 0 ? r
		      : or_errno(syscall(SYS_rt_tgsigqueueinfo, process, thread, sig, info.bytes));
}

/* The pid of a pidfd of the caller; -ESRCH once the process has ended. */
static long pidfd_process(const struct call *c, int fd) {
	struct text path = {.len = 0};

	if (fd < 0) {
		return -EBADF;
	}
	caller_text_number(&path, (uint64_t)c->tid);
	caller_text_add(&path, "/fdinfo/");
	caller_text_number(&path, (uint64_t)fd);
	long pid = caller_number(c, path.s, "Pid:", 10);
	if (pid == -ENOENT || pid == -ENODATA) {
		return -EBADF;
	}
	return pid == 0 ? -ESRCH : pid;
}

long serve_pidfd_send_signal(struct call *c) {
	struct information info;
	int fd = call_int(c, 0), sig = call_int(c, 1);
	long pid = pidfd_process(c, fd);

	if (pid < 0 || c->args[3] != 0) {
		return pid < 0 ? pid : -EINVAL;
	}
	int r = c->args[2] == 0 ? 0 : read_information(c, c->args[2], sig, &info);
	if (r != 0) {
		return r;
	}
	auto_fd pidfd = (int)syscall(SYS_pidfd_open, (pid_t)pid, 0U);
	/* The caller's pidfd still has the same pid: then ours is the same process. */
	if (pidfd < 0 || pidfd_process(c, fd) != pid || !caller_waits(c)) {
		return -ESRCH;
	}
	r = signals_caller_owns(c, (pid_t)pid);
	return r != 0 ? r
		      : or_errno(syscall(SYS_pidfd_send_signal, pidfd, sig,
					 c->args[2] == 0 ? NULL : info.bytes, 0U));
}

/* ---- the owner of a descriptor ---- */

/* Reads the argument of F_SETOWN or F_SETOWN_EX as struct f_owner_ex. */
static int read_owner(const struct call *c, struct f_owner_ex *ret) {
	int id = call_int(c, 2);

	if (call_int(c, 1) == F_SETOWN_EX) {
		return caller_bytes(c, c->args[2], ret, sizeof *ret);
	}
	if (id == INT_MIN) {
		return -EINVAL;
	}
	*ret = (struct f_owner_ex){.type = id < 0 ? F_OWNER_PGRP : F_OWNER_PID,
				   .pid = id < 0 ? -id : id};
	return 0;
}

/* pid 0 removes the owner, which is always allowed. */
static int check_owner(const struct call *c, const struct f_owner_ex *owner) {
	if (owner->pid == 0) {
		return 0;
	}
	if (owner->pid < 0) {
		return -ESRCH;
	}
	if (owner->type == F_OWNER_PGRP) {
		return group_is_inside(c, owner->pid) ? 0 : -EPERM;
	}
	return signals_caller_owns(c, owner->pid);
}

/* The kernel stores the process, not its pid.  The pid may be reused between check and fcntl(2),
 * so the owner is checked again afterwards, and removed if that fails. */
long serve_fcntl(struct call *c) {
	struct f_owner_ex owner, none = {.type = F_OWNER_PID};

	if (call_int(c, 1) != F_SETOWN && call_int(c, 1) != F_SETOWN_EX) {
		return call_let_pass(
			c); /* the command is in a register, which cannot change (K1) */
	}
	int r = read_owner(c, &owner);
	r = r == 0 ? check_owner(c, &owner) : r;
	if (r != 0) {
		return r;
	}
	auto_taken fd = caller_take_fd(c, call_int(c, 0));
	if (fd < 0) {
		return fd;
	}
	long done = or_errno(syscall(SYS_fcntl, fd, F_SETOWN_EX, &owner));
	if (done == 0 && check_owner(c, &owner) != 0) {
		(void)syscall(SYS_fcntl, fd, F_SETOWN_EX,
			      &none); /* the same call succeeded above */
		return -ESRCH;
	}
	return done;
}
