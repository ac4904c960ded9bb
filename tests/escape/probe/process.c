/* SPDX-License-Identifier: Apache-2.0 */
/* Attempts on other processes and on the terminal, and the victim they aim at.
 *
 * The program is linked statically at a fixed address, so the victim's secret
 * lies where the attacker's own copy of that array lies. */
#include "probe.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include <asm/sockios.h> /* FIOSETOWN */

#define SECRET_SIZE 64

static char secret[SECRET_SIZE];

/* Keeps its token in memory, argv, environment (set by the harness) and in an
 * open file until it is killed. */
static int victim(int argc, char **argv) {
	(void)argc;
	snprintf(secret, sizeof(secret), "%s", argv[1]);
	if (open(argv[2], O_RDWR | O_CLOEXEC) < 0) {
		return probe_result(-1);
	}
	printf("ready\n");
	for (;;) {
		pause();
	}
}

static int print_stolen(const char *text, ssize_t got) {
	if (got <= 0) {
		return probe_result(-1);
	}
	printf("stolen=%.*s\n", (int)strnlen(text, (size_t)got), text);
	return probe_result(0);
}

static int vm_read(int argc, char **argv) {
	(void)argc;
	char text[SECRET_SIZE] = "";
	struct iovec here = {text, sizeof(text)}, there = {secret, sizeof(secret)};
	pid_t pid = (pid_t)probe_number(argv[1]);
	return print_stolen(text, process_vm_readv(pid, &here, 1, &there, 1, 0));
}

static int mem_read(int argc, char **argv) {
	(void)argc;
	char path[64], text[SECRET_SIZE] = "";
	snprintf(path, sizeof(path), "/proc/%ld/mem", probe_number(argv[1]));
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	return print_stolen(text,
			    fd < 0 ? -1 : pread(fd, text, sizeof(text), (off_t)(uintptr_t)secret));
}

static int ptrace_read(int argc, char **argv) {
	(void)argc;
	char text[SECRET_SIZE] = "";
	pid_t pid = (pid_t)probe_number(argv[1]);
	if (ptrace(PTRACE_ATTACH, pid, 0, 0) != 0) {
		return probe_result(-1);
	}
	waitpid(pid, NULL, __WALL);
	for (size_t at = 0; at + sizeof(long) <= sizeof(text); at += sizeof(long)) {
		long word = ptrace(PTRACE_PEEKDATA, pid, secret + at, 0);
		memcpy(text + at, &word, sizeof(word));
	}
	ptrace(PTRACE_DETACH, pid, 0, 0);
	return print_stolen(text, sizeof(text));
}

static int pidfd_take(int argc, char **argv) {
	(void)argc;
	int pidfd = (int)syscall(SYS_pidfd_open, probe_number(argv[1]), 0);
	if (pidfd < 0) {
		return probe_result(-1);
	}
	int fd = (int)syscall(SYS_pidfd_getfd, pidfd, probe_number(argv[2]), 0);
	return fd < 0 ? probe_result(-1) : probe_print_fd(fd);
}

static int pidfd_kill(int argc, char **argv) {
	(void)argc;
	int pidfd = (int)syscall(SYS_pidfd_open, probe_number(argv[1]), 0);
	return probe_result(pidfd < 0 ? -1
				      : syscall(SYS_pidfd_send_signal, pidfd, SIGKILL, NULL, 0));
}

/* Leaves the command's session, group, terminal, pipes and polite signals; its
 * argv keeps the marker that the harness looks for. */
static int daemon_start(int argc, char **argv) {
	(void)argc;
	long seconds = probe_number(argv[2]);
	for (int i = 0; i < 2; i++) {
		pid_t pid = fork();
		if (pid != 0) {
			_exit(pid < 0 ? 1 : 0);
		}
		setsid();
	}
	for (int fd = 0; fd < 3; fd++) {
		close(fd);
	}
	signal(SIGTERM, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	signal(SIGINT, SIG_IGN);
	for (unsigned left = (unsigned)seconds; left > 0;) {
		left = sleep(left);
	}
	return 0;
}

static int set_user(int argc, char **argv) {
	(void)argc;
	uid_t uid = (uid_t)probe_number(argv[1]);
	return probe_result(setresuid(uid, uid, uid));
}

static int set_groups(int argc, char **argv) {
	(void)argc;
	gid_t gid = (gid_t)probe_number(argv[1]);
	return probe_result(setgroups(1, &gid));
}

static int print_ids(int argc, char **argv) {
	(void)argc;
	(void)argv;
	printf("euid=%u\negid=%u\n", geteuid(), getegid());
	return 0;
}

static int print_signals(int argc, char **argv) {
	(void)argc;
	(void)argv;
	sigset_t blocked;
	sigprocmask(SIG_SETMASK, NULL, &blocked);
	for (int number = 1; number < 32; number++) {
		struct sigaction action;
		if (sigaction(number, NULL, &action) == 0 && action.sa_handler == SIG_IGN) {
			printf("ignored=%s\n", sigabbrev_np(number));
		}
		if (sigismember(&blocked, number) == 1) {
			printf("blocked=%s\n", sigabbrev_np(number));
		}
	}
	return 0;
}

static int type_into(const char *path, const char *text) {
	int fd = path == NULL ? 0 : open(path, O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (fd < 0) {
		return -1;
	}
	for (const char *at = text; *at != '\0'; at++) {
		if (ioctl(fd, TIOCSTI, at) != 0) {
			return -1;
		}
	}
	return ioctl(fd, TIOCSTI, "\n");
}

static int terminal_inject(int argc, char **argv) {
	(void)argc;
	return probe_result(type_into("/dev/tty", argv[1]) == 0 ? 0 : type_into(NULL, argv[1]));
}

/* What else a terminal can be made to do to those who share it. */
static int terminal_spoil(int argc, char **argv) {
	(void)argc;
	const struct winsize size = {.ws_row = 7, .ws_col = 7};
	if (strcmp(argv[1], "stop") == 0) {
		return probe_result(tcflow(0, TCOOFF));
	}
	if (strcmp(argv[1], "exclusive") == 0) {
		return probe_result(ioctl(0, TIOCEXCL));
	}
	return probe_result(ioctl(0, TIOCSWINSZ, &size));
}

/* own-kill pid|group|thread|ex|socket PID: the process owns a descriptor whose events are
 * SIGKILL. */
static int own_kill(int argc, char **argv) {
	int pid = (int)probe_number(argv[2]), fds[2], group = -pid;
	bool is_thread = strcmp(argv[1], "thread") == 0;
	const struct f_owner_ex owner = {.type = is_thread ? F_OWNER_TID : F_OWNER_PID, .pid = pid};
	int r;
	(void)argc;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) != 0) {
		return probe_result(-1);
	}
	if (strcmp(argv[1], "pid") == 0 || strcmp(argv[1], "group") == 0) {
		r = fcntl(fds[0], F_SETOWN, argv[1][0] == 'p' ? pid : group);
	} else if (strcmp(argv[1], "socket") == 0) {
		r = ioctl(fds[0], FIOSETOWN, &pid);
	} else {
		r = fcntl(fds[0], F_SETOWN_EX, &owner);
	}
	if (r != 0 || fcntl(fds[0], F_SETSIG, SIGKILL) != 0 ||
	    fcntl(fds[0], F_SETFL, O_ASYNC) != 0) {
		return probe_result(-1);
	}
	return probe_result(write(fds[1], "x", 1));
}

/* clang-format off */
static const struct probe rows[] = {
	{"own-kill", 2, own_kill, "pid|group|thread|ex|socket PID"},
	{"victim", 2, victim, "TOKEN FILE"},
	{"vm-read", 1, vm_read, "PID"},
	{"mem-read", 1, mem_read, "PID"},
	{"ptrace", 1, ptrace_read, "PID"},
	{"pidfd-take", 2, pidfd_take, "PID FD"},
	{"pidfd-kill", 1, pidfd_kill, "PID"},
	{"daemon", 2, daemon_start, "MARKER SECONDS"},
	{"set-user", 1, set_user, "UID"},
	{"set-groups", 1, set_groups, "GID"},
	{"ids", 0, print_ids, ""},
	{"signals", 0, print_signals, ""},
	{"tty-spoil", 1, terminal_spoil, "stop|exclusive|size"},
	{"tiocsti", 1, terminal_inject, "TEXT"},
};
/* clang-format on */

const struct probe_table probe_process = {rows, PROBE_COUNT(rows)};
