/* SPDX-License-Identifier: Apache-2.0 */
/* Starts a command under its Seatbelt profile.
 *
 * Should:   give it three descriptors, the environment of the plan and nothing of the caller's.
 * Must not: start it without the profile: sandbox-exec(1) applies it, and where that program is
 *           missing, sandbox_init_with_parameters() does.
 * Fails:    closed: the child says why and ends before the command starts.
 *
 * It has not been run. */
#include "macos/spawn.h"

#include "base/auto.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define WHERE "seatbelt"
#define STATUS_SETUP 125

extern char **environ;

/* libsandbox, not in a public header: the profile as text, pairs of names and values, NULL.  WebKit
 * declares it so. */
int sandbox_init_with_parameters(const char *profile, uint64_t flags,
				 const char *const parameters[], char **error);

static bool set_limits(const struct plan *plan) {
	for (size_t i = 0; i < plan->nrlimits; i++) {
		struct rlimit now, wanted = {plan->rlimits[i].value, plan->rlimits[i].value};
		if (getrlimit(plan->rlimits[i].resource, &now) != 0) {
			return false;
		}
		if (wanted.rlim_cur > now.rlim_max) {
			wanted.rlim_cur = wanted.rlim_max = now.rlim_max; /* it is lower already */
		}
		if (setrlimit(plan->rlimits[i].resource, &wanted) != 0) {
			return false;
		}
	}
	return true;
}

static bool take_streams(const int fds[3]) {
	for (int i = 0; i < 3; i++) {
		/* Not close-on-exec: these three are the command's. */
		if (dup2(fds[i], i) != i) {
			return false;
		}
	}
	return true;
}

/* Replaces this process; every descriptor but the three is closed.  Returns only on failure. */
static void execute(const char *path, char *const argv[], char *const env[]) {
	posix_spawnattr_t attributes;
	posix_spawn_file_actions_t actions;
	sigset_t all, none;
	(void)sigfillset(&all);
	(void)sigemptyset(&none);
	bool ready = posix_spawnattr_init(&attributes) == 0 &&
		     posix_spawn_file_actions_init(&actions) == 0 &&
		     posix_spawnattr_setsigdefault(&attributes, &all) == 0 &&
		     posix_spawnattr_setsigmask(&attributes, &none) == 0 &&
		     posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETEXEC |
								   POSIX_SPAWN_CLOEXEC_DEFAULT |
								   POSIX_SPAWN_SETSIGDEF |
								   POSIX_SPAWN_SETSIGMASK) == 0;
	for (int fd = 0; ready && fd < 3; fd++) {
		ready = posix_spawn_file_actions_addinherit_np(&actions, fd) == 0;
	}
	if (ready) {
		(void)posix_spawnp(NULL, path, &actions, &attributes, argv, env);
	}
}

/* Reports why the command cannot start; `report` is closed by the start itself. */
static void give_up(int report, const char *what) {
	struct err e = {0};
	(void)err_sys(&e, WHERE, what);
	(void)write(report, &e, sizeof e); /* the exit status says it, too */
	_exit(STATUS_SETUP);
}

static void child(const struct macos_command *c, char *const *argv, const char *const *parameters,
		  int report) {
	char *error = NULL;
	if (setsid() < 0 || !take_streams(c->fds)) {
		give_up(report, "cannot give the command its session and streams");
	}
	if (chdir(c->plan->cwd) != 0) {
		give_up(report, "cannot change to the directory of the command");
	}
	if (!set_limits(c->plan)) {
		give_up(report, "cannot set the limits of the command");
	}
	(void)umask(077);
	if (access(SANDBOX_EXEC, X_OK) == 0) {
		execute(SANDBOX_EXEC, argv, c->plan->env);
		give_up(report, "cannot start " SANDBOX_EXEC);
	}
	if (sandbox_init_with_parameters(c->profile->text, 0, parameters, &error) != 0) {
		give_up(report, "the kernel refused the profile");
	}
	environ = c->plan->env; /* its PATH finds the command */
	execute(c->argv[0], c->argv, c->plan->env);
	give_up(report, "cannot start the command");
}

/* Waits until the child has started its program, or says why not. */
static int hear(int from, pid_t pid, struct err *e) {
	struct err said;
	ssize_t n;
	do {
		n = read(from, &said, sizeof said);
	} while (n < 0 && errno == EINTR);
	if (n == 0) {
		return 0;
	}
	(void)waitpid(pid, NULL, 0); /* the child is ours, and ends */
	if (n != (ssize_t)sizeof said) {
		return err_set(e, ERR_SETUP, WHERE, "the child ended without a report");
	}
	*e = said;
	return -1;
}

pid_t macos_spawn(struct arena *a, const struct macos_command *c, struct err *e) {
	char **argv = macos_arguments(a, c);
	const char **parameters = macos_parameters(a, c->profile);
	int line[2];
	if (argv == NULL || parameters == NULL) {
		(void)err_memory(e, WHERE);
		return -1;
	}
	/* macOS has no pipe2(2); POSIX_SPAWN_CLOEXEC_DEFAULT makes both close-on-exec. */
	if (pipe(line) != 0 || fcntl(line[1], F_SETFD, FD_CLOEXEC) != 0) {
		return err_sys(e, WHERE, "pipe failed");
	}
	pid_t pid = fork();
	if (pid == 0) {
		child(c, argv, parameters, line[1]);
	}
	(void)close(line[1]); /* it has no data */
	int rc = pid < 0 ? err_sys(e, WHERE, "fork failed") : hear(line[0], pid, e);
	(void)close(line[0]); /* it was only read */
	return rc != 0 ? -1 : pid;
}
