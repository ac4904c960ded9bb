/* SPDX-License-Identifier: Apache-2.0 */
/* The attack program of `corral test`: each act makes one attempt (open a file, connect,
 * signal, stay alive) and prints the outcome.
 *
 * Should:   do the same inside and outside the sandbox, and print the errno of the first
 *           call that failed.
 * Must not: decide whether the act should have succeeded: selftest/selftest.c does, by
 *           looking at the host.
 * Fails:    with status 1 when the act was refused, 2 when it is unknown. */
#include "cli/probe.h"

#include "base/auto.h"
#include "base/errno_name.h"
#include "base/fd.h"
#include "base/str.h"
#include "base/unix_address.h"
#include "cli/cli.h"
#include "data/acts.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

/* Longer than any check waits; short, so that a process that survives its run ends soon. */
#define STAY_SECONDS 120

#define READ_MAX ((size_t)1024 * 1024)

int probe_print(const char *text) {
	return fd_write_all(STDOUT_FILENO, text, strlen(text));
}

static int act_write(char **words) {
	auto_fd fd = open(words[0], O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY, 0600);
	return fd < 0 ? -1 : fd_write_all(fd, PROBE_MARK, strlen(PROBE_MARK));
}

int probe_print_file(const char *path) {
	struct buf text;
	buf_init(&text);
	int rc = fd_read_file(path, READ_MAX, &text);
	if (rc == 0) {
		for (size_t i = 0; i < text.len; i++) { /* as /proc separates variables */
			if (text.data[i] == '\0') {
				text.data[i] = '\n';
			}
		}
		rc = fd_write_all(STDOUT_FILENO, text.data, text.len);
	}
	int saved = errno;
	buf_done(&text);
	errno = saved;
	return rc;
}

static int act_read(char **words) {
	return probe_print_file(words[0]);
}

/* socket(), connect() or send() may be the call that is refused. */
static int connect_to(const struct sockaddr *address, socklen_t len, int type) {
	auto_fd fd = socket(address->sa_family, type | SOCK_CLOEXEC, 0);
	if (fd < 0 || connect(fd, address, len) != 0) {
		return -1;
	}
	return send(fd, PROBE_MARK, strlen(PROBE_MARK), MSG_NOSIGNAL) < 0 ? -1 : 0;
}

static int connect_unix(const char *name, bool abstract) {
	struct sockaddr_un address;
	socklen_t size = unix_address_set(&address, name, abstract);

	return size == 0 ? -1 : connect_to((const struct sockaddr *)&address, size, SOCK_STREAM);
}

static int act_unix(char **words) {
	return connect_unix(words[0], false);
}

static int act_abstract(char **words) {
	return connect_unix(words[0], true);
}

static int connect_port(const char *port, int type) {
	struct sockaddr_in address = {.sin_family = AF_INET,
				      .sin_port = htons((uint16_t)strtoul(port, NULL, 10)),
				      .sin_addr = {htonl(INADDR_LOOPBACK)}};
	return connect_to((const struct sockaddr *)&address, sizeof address, type);
}

static int act_tcp(char **words) {
	return connect_port(words[0], SOCK_STREAM);
}

static int act_udp(char **words) {
	return connect_port(words[0], SOCK_DGRAM);
}

static int act_signal(char **words) {
	return kill((pid_t)strtol(words[0], NULL, 10), SIGKILL);
}

/* True when the process's command line contains needle. */
static bool cmdline_contains(const char *pid, const char *needle) {
	char path[64], text[4096];
	(void)snprintf(path, sizeof path, "/proc/%.20s/cmdline", pid);
	auto_fd fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text);
	return n > 0 && memmem(text, (size_t)n, needle, strlen(needle)) != NULL;
}

static int act_find(char **words) {
	char needle[128];
	const struct dirent *entry;
	auto_dir proc = opendir("/proc");

	if (proc == NULL) {
		return -1;
	}
	/* Passed in two halves, so that this process's own command line does not match. */
	(void)snprintf(needle, sizeof needle, "%s%s", words[0], words[1]);
	while ((entry = readdir(proc)) != NULL) {
		if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9' &&
		    cmdline_contains(entry->d_name, needle)) {
			return probe_print(PROBE_FOUND);
		}
	}
	errno = ESRCH;
	return -1;
}

static int act_environment(char **words) {
	for (char **variable = environ; *variable != NULL; variable++) {
		if (probe_print(*variable) != 0 || probe_print("\n") != 0) {
			return -1;
		}
	}
	/* A secret in the environment of another process leaks as well, if /proc shows it. */
	char parent[32];
	(void)snprintf(parent, sizeof parent, "%d", (int)getppid());
	const char *const others[] = {"self", "1", parent, words[0]};
	for (size_t i = 0; i < ARRAY_LEN(others); i++) {
		char path[64];
		(void)snprintf(path, sizeof path, "/proc/%.20s/environ", others[i]);
		(void)probe_print_file(path); /* a refusal is a good outcome */
	}
	return 0;
}

static int act_spill(char **words) {
	static const char line[] =
		"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcde\n";
	for (unsigned long left = strtoul(words[0], NULL, 10); left > 0;) {
		size_t n = left < sizeof line - 1 ? left : sizeof line - 1;
		if (fd_write_all(STDOUT_FILENO, line, n) != 0) {
			return -1;
		}
		left -= n;
	}
	return 0;
}

static _Noreturn void stay(void) {
	for (unsigned left = STAY_SECONDS; left > 0;) {
		left = sleep(left);
	}
	_exit(0);
}

static void ignore_signals(void) {
	(void)signal(SIGTERM, SIG_IGN);
	(void)signal(SIGHUP, SIG_IGN);
	(void)signal(SIGINT, SIG_IGN);
}

/* Starts a grandchild in its own session that stays alive; returns once it runs. */
static int leave_one(void) {
	int up[2];
	char byte;

	if (pipe2(up, O_CLOEXEC) != 0) {
		return -1;
	}
	pid_t child = fork();
	if (child == 0) {
		if (setsid() < 0 || fork() != 0) {
			_exit(0);
		}
		ignore_signals();
		_exit(probe_print(PROBE_STAYING) == 0 && write(up[1], "", 1) == 1 ? (stay(), 0)
										  : 1);
	}
	drop_fd(&up[1]);
	bool stays = child > 0 && read(up[0], &byte, 1) == 1;
	drop_fd(&up[0]);
	while (child > 0 && waitpid(child, NULL, 0) < 0 && errno == EINTR) {
	}
	return stays ? 0 : -1;
}

static int act_stay(char **words) {
	(void)words; /* the check looks for the token in /proc/PID/cmdline */
	ignore_signals();
	if (leave_one() != 0 || probe_print(PROBE_STAYING) != 0) {
		return -1;
	}
	stay();
}

static int act_sleep(char **words) {
	(void)words;
	/* So that ACT_TRACE has a control where Yama lets only an ancestor trace; it fails on
	 * kernels without Yama, where none is needed. */
	(void)prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
	stay();
}

static int act_leave(char **words) {
	(void)words;
	return leave_one();
}

static const struct {
	const char *name;
	size_t words;
	int (*act)(char **words); /* 0, or -1 with errno set */
} acts[] = {
	{ACT_WRITE, 1, act_write},       {ACT_READ, 1, act_read},
	{ACT_UNIX, 1, act_unix},         {ACT_ABSTRACT, 1, act_abstract},
	{ACT_TCP, 1, act_tcp},           {ACT_UDP, 1, act_udp},
	{ACT_SIGNAL, 1, act_signal},     {ACT_FIND, 2, act_find},
	{ACT_SPILL, 1, act_spill},       {ACT_ENVIRONMENT, 1, act_environment},
	{ACT_SLEEP, 1, act_sleep},       {ACT_STAY, 1, act_stay},
	{ACT_LEAVE, 1, act_leave},       {ACT_MOUNT, 2, act_mount},
	{ACT_FSMOUNT, 2, act_fsmount},   {ACT_USERNS, 0, act_userns},
	{ACT_NODE, 1, act_node},         {ACT_DEVICE, 1, act_device},
	{ACT_SET_ID, 1, act_set_id},     {ACT_EXECUTE, 1, act_execute},
	{ACT_IDENTITY, 0, act_identity}, {ACT_TRACE, 1, act_trace},
	{ACT_MEMORY, 2, act_memory},
};

static int do_act(char **words, size_t nwords) {
	for (size_t i = 0; i < ARRAY_LEN(acts); i++) {
		if (!streq(words[0], acts[i].name) || nwords != acts[i].words + 1) {
			continue;
		}
		if (acts[i].act(words + 1) == 0) {
			return probe_print(PROBE_DONE) == 0 ? 0 : 1;
		}
		const char *name = errno_name(errno);
		(void)probe_print(PROBE_REFUSED);
		(void)probe_print(name == NULL ? "unknown" : name);
		(void)probe_print("\n");
		return 1;
	}
	return 2;
}

/* Runs the act in a grandchild with its own session; returns its status. */
static int do_below(char **words, size_t nwords) {
	int status = 0;
	pid_t child = fork();
	if (child == 0) {
		pid_t below = setsid() < 0 ? -1 : fork();
		if (below == 0) {
			_exit(do_act(words, nwords));
		}
		while (below > 0 && waitpid(below, &status, 0) < 0 && errno == EINTR) {
		}
		_exit(below > 0 && WIFEXITED(status) ? WEXITSTATUS(status) : 2);
	}
	while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR) {
	}
	return child > 0 && WIFEXITED(status) ? WEXITSTATUS(status) : 2;
}

int probe_main(char **words, size_t nwords) {
	if (nwords > 1 && streq(words[0], ACT_CHILD)) {
		return do_below(words + 1, nwords - 1);
	}
	return nwords == 0 ? 2 : do_act(words, nwords);
}
