/* SPDX-License-Identifier: Apache-2.0 */
/* A session at each level of this host, and commands in it, for the tests of sessions. */
#ifndef CORRAL_TESTS_SESSIONS_WORLD_H
#define CORRAL_TESTS_SESSIONS_WORLD_H

#include <corral.h>

#include "test.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define ENDS_MS 20000 /* a second on an idle host */

static char workspace[PATH_MAX];

/* ---- the world ---- */

__attribute__((unused)) static void world_begin(void) {
	(void)snprintf(workspace, sizeof workspace, "/var/tmp/corral-sessions-XXXXXX");
	if (mkdtemp(workspace) == NULL) {
		abort();
	}
	char self[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
	self[n < 0 ? 0 : n] = '\0';
	char to[PATH_MAX + 16];
	(void)snprintf(to, sizeof to, "%s/kept", workspace);
	if (mkdir(to, 0755) != 0 || setenv("PATH", "/usr/bin:/bin", 1) != 0) {
		abort();
	}
	(void)snprintf(to, sizeof to, "%s/attack", workspace);
	pid_t child = fork();
	if (child == 0) {
		(void)execl("/bin/cp", "cp", self, to, (char *)NULL);
		_exit(127);
	}
	(void)waitpid(child, NULL, 0);
}

__attribute__((unused)) static void world_end(void) {
	pid_t child = fork();

	if (child == 0) {
		(void)execl("/bin/rm", "rm", "-rf", workspace, (char *)NULL);
		_exit(127);
	}
	(void)waitpid(child, NULL, 0);
}

__attribute__((unused)) static struct corral_policy *policy_of(const char *level) {
	struct corral_policy *policy = corral_policy_new();
	char kept[PATH_MAX + 16];

	corral_policy_no_config(policy);
	(void)corral_policy_set(policy, "workspace", workspace, NULL);
	(void)corral_policy_set(policy, "fs.home", "ephemeral", NULL);
	(void)corral_policy_set(policy, "level", level, NULL);
	(void)corral_policy_set(policy, "limits.grace", "200ms", NULL);
	(void)corral_policy_set(policy, "audit.enabled", "false", NULL);
	(void)snprintf(kept, sizeof kept, "%s/kept", workspace);
	(void)corral_policy_set(policy, "fs.protect", kept, NULL);
	return policy;
}

/* NULL: this host has no such level. */
__attribute__((unused)) static struct corral_session *open_with(struct corral_policy *policy) {
	struct corral_session *s = NULL;
	struct corral_error err = {0};

	if (corral_session_open(policy, NULL, &s, &err) != 0) {
		printf("# %s: %s: %s\n", err.layer, err.message, err.remedy);
	}
	return s;
}

__attribute__((unused)) static void each_level(void (*check)(struct corral_session *s)) {
	static const char *const levels[] = {"full", "standard"};

	world_begin();
	for (size_t i = 0; i < 2; i++) {
		struct corral_policy *policy = policy_of(levels[i]);
		struct corral_session *s = open_with(policy);
		if (s == NULL) {
			printf("# this host has no level %s\n", levels[i]);
		} else {
			CHECK_STR(corral_session_level(s), levels[i]);
			printf("# level %s\n", levels[i]);
			check(s);
			corral_session_close(s);
		}
		corral_policy_free(policy);
	}
	world_end();
}

/* ---- commands ---- */

__attribute__((unused)) static struct corral_result *
run(struct corral_session *s, const char *const *argv, const struct corral_exec_options *o) {
	struct corral_result *r = NULL;
	struct corral_error err = {0};

	if (corral_session_run(s, argv, o, &r, &err) != 0) {
		printf("# %s: %s\n", err.layer, err.message);
		return NULL;
	}
	return r;
}

/* Runs a shell command; its exit status, or -1. */
__attribute__((unused)) static int sh_with(struct corral_session *s, const char *script,
					   struct corral_exec_options *o, char *out, size_t cap) {
	const char *argv[] = {"sh", "-c", script, NULL};
	struct corral_result *r = run(s, argv, o);

	if (r == NULL) {
		return -1;
	}
	if (out != NULL) {
		(void)snprintf(out, cap, "%s", corral_result_stdout(r, NULL, NULL));
	}
	if (corral_result_stderr(r, NULL, NULL)[0] != '\0') {
		printf("# stderr of %s: %s\n", script, corral_result_stderr(r, NULL, NULL));
	}
	int status = corral_result_status(r);
	corral_result_free(r);
	return status;
}

__attribute__((unused)) static int sh(struct corral_session *s, const char *script, char *out,
				      size_t cap) {
	return sh_with(s, script, NULL, out, cap);
}

__attribute__((unused)) static struct corral_exec *start(struct corral_session *s,
							 const char *script, int out) {
	const char *argv[] = {"sh", "-c", script, NULL};
	struct corral_exec_options o = CORRAL_EXEC_OPTIONS_INIT;
	struct corral_exec *x = NULL;
	struct corral_error err = {0};

	o.out = out;
	o.err = CORRAL_NULL;
	if (corral_session_exec(s, argv, &o, &x, &err) != 0) {
		printf("# %s: %s\n", err.layer, err.message);
	}
	return x;
}

/* Waits; the reason. */
__attribute__((unused)) static const char *ends_with(struct corral_exec *x) {
	static char reason[512];
	struct corral_result *r = NULL;
	struct corral_error err = {0};

	if (corral_exec_wait(x, &r, &err) != 0) {
		(void)snprintf(reason, sizeof reason, "%s", err.message);
		return reason;
	}
	(void)snprintf(reason, sizeof reason, "%s", corral_result_reason(r));
	corral_result_free(r);
	return reason;
}

/* The next line of a pipe. */
__attribute__((unused)) static void read_line(int fd, char *out, size_t cap) {
	size_t n = 0;

	while (n + 1 < cap && read(fd, out + n, 1) == 1 && out[n] != '\n') {
		n++;
	}
	out[n] = '\0';
}

/* True when no process has the pipe's other end any more. */
__attribute__((unused)) static bool all_closed(int in) {
	struct pollfd slot = {.fd = in, .events = POLLIN};
	char bytes[256];

	for (;;) {
		if (poll(&slot, 1, ENDS_MS) != 1) {
			return false;
		}
		if (read(in, bytes, sizeof bytes) <= 0) {
			return true;
		}
	}
}

__attribute__((unused)) static bool open_now(int in) {
	struct pollfd slot = {.fd = in, .events = POLLIN};

	return poll(&slot, 1, 300) == 0;
}

/* The command's grandchild, in a session of its own, holds the pipe. */
#define HIDDEN "setsid sh -c 'setsid sleep 1000 & setsid sleep 1000' &"

struct job {
	struct corral_session *s;
	int number;
	bool right;
};

#endif
