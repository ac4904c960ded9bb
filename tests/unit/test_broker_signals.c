/* SPDX-License-Identifier: Apache-2.0 */
/* The broker on processes that are not the caller's.  The host's are made by the test itself,
 * and every refused attempt succeeds without the broker. */
#include "broker_world.h"

#include <limits.h>

/* ---- signals ---- */

static pid_t bystander; /* a process of the host */

static int bystander_status(void) {
	int status;
	return waitpid(bystander, &status, WNOHANG) == 0 ? 0 : WTERMSIG(status);
}

static void bystander_start(void) {
	bystander = fork();
	if (bystander == 0) {
		(void)setpgid(0, 0);
		for (;;) {
			pause();
		}
	}
	(void)setpgid(bystander, bystander);
}

static void bystander_end(void) {
	(void)kill(bystander, SIGKILL);
	(void)waitpid(bystander, NULL, 0);
}

static int sigqueue_raw(pid_t pid) {
	siginfo_t info = {.si_signo = SIGTERM, .si_code = SI_QUEUE};
	return (int)syscall(SYS_rt_sigqueueinfo, pid, SIGTERM, &info);
}

static int tgsigqueue_raw(pid_t pid) {
	siginfo_t info = {.si_signo = SIGTERM, .si_code = SI_QUEUE};
	return (int)syscall(SYS_rt_tgsigqueueinfo, pid, pid, SIGTERM, &info);
}

static int pidfd_signal(pid_t pid) {
	int fd = (int)syscall(SYS_pidfd_open, pid, 0U);
	return (int)syscall(SYS_pidfd_send_signal, fd, SIGTERM, NULL, 0U);
}

/* Events of a pipe become signals of its owner. */
static int own_pipe(bool ex, int type, int who) {
	struct f_owner_ex owner = {.type = type, .pid = who};
	int fds[2];

	if (pipe2(fds, O_CLOEXEC) != 0 ||
	    (ex ? fcntl(fds[0], F_SETOWN_EX, &owner) : fcntl(fds[0], F_SETOWN, who)) != 0) {
		return -1;
	}
	if (fcntl(fds[0], F_SETSIG, SIGTERM) != 0 || fcntl(fds[0], F_SETFL, O_ASYNC) != 0) {
		return -1;
	}
	return write(fds[1], "x", 1) == 1 ? 0 : -1;
}

ATTEMPT(own_by_bystander, own_pipe(false, 0, bystander))
ATTEMPT(own_by_bystanders, own_pipe(false, 0, -bystander))
ATTEMPT(own_ex_bystander, own_pipe(true, F_OWNER_PID, bystander))
ATTEMPT(own_ex_thread, own_pipe(true, F_OWNER_TID, bystander))
ATTEMPT(own_ex_bystanders, own_pipe(true, F_OWNER_PGRP, bystander))

ATTEMPT(kill_bystander, kill(bystander, SIGTERM))
ATTEMPT(kill_bystanders, kill(-bystander, SIGTERM))
ATTEMPT(tkill_bystander, syscall(SYS_tkill, bystander, SIGTERM))
ATTEMPT(tgkill_bystander, syscall(SYS_tgkill, bystander, bystander, SIGTERM))
ATTEMPT(queue_bystander, sigqueue_raw(bystander))
ATTEMPT(tgqueue_bystander, tgsigqueue_raw(bystander))
ATTEMPT(pidfd_bystander, pidfd_signal(bystander))

TEST(processes_of_the_host_get_no_signal) {
	static const struct {
		const char *name;
		inside_fn *attempt;
	} rows[] = {
		{"kill", kill_bystander},
		{"kill group", kill_bystanders},
		{"tkill", tkill_bystander},
		{"tgkill", tgkill_bystander},
		{"sigqueue", queue_bystander},
		{"tgsigqueue", tgqueue_bystander},
		{"pidfd_send_signal", pidfd_bystander},
		{"F_SETOWN", own_by_bystander},
		{"F_SETOWN group", own_by_bystanders},
		{"F_SETOWN_EX", own_ex_bystander},
		{"F_SETOWN_EX thread", own_ex_thread},
		{"F_SETOWN_EX group", own_ex_bystanders},
	};
	world_make();
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		bystander_start();
		int got = with_broker(BROKER_SIGNALS, rows[i].attempt);
		usleep(20000);
		int alive = bystander_status();
		int control = without_broker(rows[i].attempt);
		int ended = 0;
		for (int wait = 0; ended == 0 && wait < 6000; wait++) {
			usleep(10000);
			ended = bystander_status();
		}
		if (got != EPERM || alive != 0 || control != 0 || ended != SIGTERM) {
			test_failed = true;
			printf("# %s: with the broker %d, ended by %d; control %d, ended by %d\n",
			       rows[i].name, got, alive, control, ended);
		}
		if (ended == 0) {
			bystander_end();
		}
	}
	world_remove();
}

static int guard_refused(void) {
	CHECK_INT(kill(getppid(), SIGTERM), -1);
	CHECK_INT(errno, EPERM);
	CHECK_INT(kill(-getppid(), SIGTERM), -1);
	CHECK_INT(errno, EPERM);
	CHECK_INT((int)syscall(SYS_tgkill, getppid(), getppid(), SIGTERM), -1);
	CHECK_INT(errno, EPERM);
	CHECK_INT(pidfd_signal(getppid()), -1);
	CHECK_INT(errno, EPERM);
	CHECK_INT(kill(-1, SIGTERM), -1);
	CHECK_INT(errno, EPERM);
	CHECK_INT(kill(1, 0), -1);
	CHECK_INT(errno, EPERM);
	CHECK_INT(kill(4194304 - 1, 0), -1);
	CHECK_INT(errno, ESRCH);
	CHECK_INT(kill(-(4194304 - 1), 0), -1);
	CHECK_INT(errno, ESRCH);
	CHECK_INT(own_pipe(false, 0, getppid()), -1);
	CHECK_INT(errno, EPERM);
	CHECK_INT(own_pipe(true, F_OWNER_PGRP, getpgid(getppid())), -1);
	CHECK_INT(errno, EPERM);
	CHECK_INT(own_pipe(false, 0, INT_MIN), -1);
	CHECK_INT(errno, EINVAL);
	CHECK_INT(own_pipe(true, F_OWNER_PID, -5), -1);
	CHECK_INT(errno, ESRCH);
	CHECK_INT(setpgid(0, getppid()), 0); /* into the guard's group */
	CHECK_INT(kill(0, SIGTERM), -1);
	CHECK_INT(errno, EPERM);
	return 0;
}

TEST(the_guard_gets_no_signal) {
	world_make();
	CHECK_INT(with_broker(BROKER_SIGNALS, guard_refused), 0);
	world_remove();
}

static volatile sig_atomic_t caught;

static void catch_it(int sig) {
	(void)sig;
	caught++;
}

static pid_t sleeper(bool own_session) {
	int ready[2];
	char byte;
	if (pipe(ready) != 0) {
		return -1;
	}
	pid_t pid = fork();
	if (pid == 0) {
		if (own_session) {
			(void)setsid();
		}
		(void)!write(ready[1], "r", 1);
		for (;;) {
			pause();
		}
	}
	(void)!read(ready[0], &byte, 1);
	close(ready[0]);
	close(ready[1]);
	return pid;
}

/* A process whose parent has ended. */
static pid_t orphan(void) {
	int fds[2];
	pid_t pid = 0;
	if (pipe(fds) != 0) {
		return -1;
	}
	if (fork() == 0) {
		pid = sleeper(true);
		(void)!write(fds[1], &pid, sizeof pid);
		_exit(0);
	}
	(void)!read(fds[0], &pid, sizeof pid);
	(void)wait(NULL);
	return pid;
}

static int signals_inside(void) {
	(void)signal(SIGUSR1, catch_it);
	CHECK_INT(raise(SIGUSR1), 0);
	CHECK_INT(caught, 1); /* once, and before the call returns */
	CHECK_INT(kill(getpid(), SIGUSR1), 0);
	CHECK_INT(caught, 2);
	CHECK_INT(kill(0, SIGUSR1), 0);
	CHECK_INT(caught, 3);
	CHECK_INT((int)syscall(SYS_tkill, (int)syscall(SYS_gettid), SIGUSR1), 0);
	CHECK_INT(caught, 4);
	pid_t pid = sleeper(false);
	CHECK_INT(kill(pid, 0), 0);
	CHECK_INT(kill(pid, SIGTERM), 0);
	CHECK_INT(wait_for(pid), SIGNALLED + SIGTERM);
	pid = sleeper(true);
	CHECK_INT(kill(-pid, SIGTERM), 0);
	CHECK_INT(wait_for(pid), SIGNALLED + SIGTERM);
	pid = sleeper(false);
	CHECK_INT(pidfd_signal(pid), 0);
	CHECK_INT(wait_for(pid), SIGNALLED + SIGTERM);
	pid = sleeper(false);
	CHECK_INT(sigqueue_raw(pid), 0);
	CHECK_INT(wait_for(pid), SIGNALLED + SIGTERM);
	pid = sleeper(false);
	CHECK_INT(tgsigqueue_raw(pid), 0);
	CHECK_INT(wait_for(pid), SIGNALLED + SIGTERM);
	CHECK_INT(kill(pid, SIGTERM), -1);
	CHECK_INT(errno, ESRCH);
	CHECK_INT(own_pipe(false, 0, pid), -1);
	CHECK_INT(errno, ESRCH);
	pid = sleeper(false);
	CHECK_INT(own_pipe(false, 0, pid), 0);
	CHECK_INT(wait_for(pid), SIGNALLED + SIGTERM);
	pid = sleeper(true);
	CHECK_INT(own_pipe(false, 0, -pid), 0);
	CHECK_INT(wait_for(pid), SIGNALLED + SIGTERM);
	pid = sleeper(false);
	CHECK_INT(own_pipe(true, F_OWNER_TID, pid), 0);
	CHECK_INT(wait_for(pid), SIGNALLED + SIGTERM);
	CHECK_INT(own_pipe(false, 0, 0), 0);
	pid = orphan();
	CHECK_INT(kill(pid, SIGTERM), 0);
	CHECK_INT(kill(getpid(), 999), -1);
	CHECK_INT(errno, EINVAL);
	return 0;
}

TEST(processes_of_the_run_get_their_signals) {
	world_make();
	CHECK_INT(with_broker(BROKER_SIGNALS, signals_inside), 0);
	world_remove();
}

TESTS_MAIN
