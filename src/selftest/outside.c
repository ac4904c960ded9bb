/* SPDX-License-Identifier: Apache-2.0 */
/* The host's side of the self-test: runs the test program without a sandbox (the control), and
 * reads /proc.
 *
 * Should:   observe the host only.
 * Must not: kill a process without the test's own token in its command line.
 * Fails:    a process that cannot be read counts as absent; then the check's control
 *           fails. */
#include "selftest/selftest.h"

#include "base/auto.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/str.h"
#include "data/acts.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <sys/wait.h>

/* A control makes one attempt and ends; one that hangs counts as failed. */
#define CONTROL_MS 10000
#define OUTPUT_MAX ((size_t)256 * 1024)

static int lines_of(const struct buf *out, const char *line) {
	int n = 0;
	for (const char *p = out->data; p != NULL && (p = strstr(p, line)) != NULL; p++) {
		n++;
	}
	return n;
}

static void collect(int fd, int enough, struct buf *out) {
	int64_t end = clock_ms() + CONTROL_MS;
	char chunk[4096];

	while (out->len < OUTPUT_MAX && (enough == 0 || lines_of(out, PROBE_STAYING) < enough)) {
		struct pollfd ready = {.fd = fd, .events = POLLIN};
		int64_t left = end - clock_ms();
		if (left <= 0 || poll(&ready, 1, (int)left) != 1) {
			return;
		}
		ssize_t n = read(fd, chunk, sizeof chunk);
		if (n <= 0) {
			return;
		}
		buf_add(out, chunk, (size_t)n);
	}
}

static pid_t start(const struct bait *b, char *const *words, int out) {
	posix_spawn_file_actions_t actions;
	pid_t pid = -1;

	posix_spawn_file_actions_init(&actions);
	int failed =
		posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
	if (failed == 0) {
		failed = posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
	}
	if (failed == 0) {
		failed = posix_spawn(&pid, b->program, &actions, NULL, words, b->environ);
	}
	posix_spawn_file_actions_destroy(&actions);
	return failed == 0 ? pid : -1;
}

int outside_run(const struct bait *b, char *const *words, int enough, struct buf *out) {
	int ends[2], status = 0;

	if (pipe2(ends, O_CLOEXEC) != 0) {
		return -1;
	}
	auto_fd from = ends[0];
	pid_t pid = start(b, words, ends[1]);
	drop_fd(&ends[1]);
	if (pid < 0) {
		return -1;
	}
	collect(from, enough, out);
	if (enough > 1) {
		(void)kill(pid, SIGKILL); /* it would stay; its children are counted later */
	}
	while (waitpid(pid, &status, 0) < 0) {
		if (errno != EINTR) {
			return -1;
		}
	}
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static bool has_token(const char *pid, const char *token) {
	char path[64], text[4096];
	(void)snprintf(path, sizeof path, "/proc/%.20s/cmdline", pid);
	auto_fd fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text);
	return n > 0 && memmem(text, (size_t)n, token, strlen(token)) != NULL;
}

/* Sends the signal to each process with the token, and counts them; 0 only counts. */
static size_t signal_token(const char *token, int sig) {
	size_t found = 0;
	const struct dirent *entry;
	auto_dir proc = opendir("/proc");

	while (proc != NULL && (entry = readdir(proc)) != NULL) {
		pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);
		if (pid > 0 && pid != getpid() && has_token(entry->d_name, token) &&
		    kill(pid, sig) == 0) {
			found++;
		}
	}
	return found;
}

size_t outside_count(const char *token) {
	return signal_token(token, 0);
}

void outside_kill(const char *token) {
	(void)signal_token(token, SIGKILL);
}

static long field(const char *text, const char *name) {
	const char *at = strstr(text, name);
	return at == NULL ? -1 : strtol(at + strlen(name), NULL, 10);
}

struct restraint outside_restraint(void) {
	struct restraint found = {.seccomp = -1, .no_new_privs = -1};
	struct buf text;

	buf_init(&text);
	if (fd_read_file("/proc/thread-self/status", 65536, &text) == 0) {
		found.seccomp = field(text.data, "\nSeccomp:");
		found.no_new_privs = field(text.data, "\nNoNewPrivs:");
		const char *caps = strstr(text.data, "\nCapEff:");
		found.capabilities =
			caps == NULL ? 0 : strtoull(caps + strlen("\nCapEff:"), NULL, 16);
	}
	buf_done(&text);
	return found;
}

/* proc(5): the name, field 2, is in parentheses and may contain spaces; arg_start is field 48. */
#define ARG_START 48

unsigned long long outside_arguments(pid_t pid) {
	char path[64], text[2048];
	(void)snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
	auto_fd fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
	text[n < 0 ? 0 : n] = '\0';

	const char *at = strrchr(text, ')');
	for (int i = 2; at != NULL && i < ARG_START; i++) {
		at = strchr(at + 1, ' ');
	}
	return at == NULL ? 0 : strtoull(at, NULL, 10);
}
