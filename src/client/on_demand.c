/* SPDX-License-Identifier: Apache-2.0 */
/* Starts the daemon in the background.
 *
 * Two clients may do so at once: the lock of session/places_take.c lets one daemon run, the other
 * one exits, and both clients connect to the first.
 *
 * Should:   leave the daemon nothing of the client but its environment: a session of its own, no
 *           descriptors, no working directory.
 * Must not: start one unless a file of the user or the administrator allows it.
 * Fails:    closed: with the error of a client without a daemon. */
#include "client/on_demand.h"

#include "base/auto.h"
#include "base/clock.h"
#include "base/dirs.h"
#include "base/fd.h"
#include "base/str.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define START_MS 10000
#define STEP_NS 10000000L
#define LOG_MAX 1048576
/* The exit status of a daemon that found another one. */
#define STATUS_REFUSED 126

static int fail(struct corral_error *err, const char *message, const char *remedy) {
	*err = (struct corral_error){.kind = CORRAL_E_SETUP};
	(void)snprintf(err->layer, sizeof err->layer, "daemon");
	(void)snprintf(err->message, sizeof err->message, "%.350s", message);
	(void)snprintf(err->remedy, sizeof err->remedy, "%s", remedy);
	return -1;
}

const char *on_demand_remedy(const char *outside) {
	return getenv("CORRAL_SESSION_ID") == NULL
		       ? outside
		       : "a command of a session can use: corral session exec|show "
			 "$CORRAL_SESSION_ID, corral mcp --session $CORRAL_SESSION_ID; the rest is "
			 "for processes outside";
}

/* The values of the policy files; the workspace does not matter. */
static json_t *read_values(struct corral_error *err) {
	struct corral_policy *policy = corral_policy_new();
	char *text = NULL;
	json_t *shown = NULL;

	(void)fail(err, "out of memory", "");
	if (policy != NULL && corral_policy_set(policy, "any_workspace", "true", err) == 0 &&
	    corral_policy_show(policy, CORRAL_JSON, &text, err) == 0) {
		shown = json_loads(text, 0, NULL);
		free(text);
	}
	corral_policy_free(policy);
	return shown;
}

static const json_t *value_of(const json_t *shown, const char *key) {
	return json_object_get(json_object_get(json_object_get(shown, "values"), key), "value");
}

static int read_settings(struct on_demand *d, struct corral_error *err) {
	json_t *shown = read_values(err);
	const char *wanted = json_string_value(value_of(shown, "daemon.start"));
	const char *idle = json_string_value(value_of(shown, "daemon.idle"));

	if (shown == NULL) {
		return -1;
	}
	bool allowed = wanted != NULL && idle != NULL && streq(wanted, "on-demand");
	(void)snprintf(d->idle, sizeof d->idle, "%s", idle == NULL ? "" : idle);
	json_decref(shown);
	if (allowed) {
		return 0;
	}
	(void)fail(err, "cannot connect to the daemon",
		   on_demand_remedy("start it: corral daemon &  (or let Corral do so: daemon.start "
				    "= \"on-demand\" in ~/.config/corral/corral.toml)"));
	err->sys_errno = ENOENT;
	return -1;
}

/* Messages of the daemon go to a file beside its database. */
static int open_log(const struct places *p) {
	char path[PATH_MAX + 16], failed[PATH_MAX];
	struct stat st;

	(void)snprintf(path, sizeof path, "%s/daemon.log", p->state);
	(void)dirs_make(p->state, failed); /* if it fails, so does open(2) */
	auto_fd fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd >= 0 && fstat(fd, &st) == 0 && st.st_size > LOG_MAX) {
		(void)!ftruncate(fd, 0); /* else it stays long */
	}
	return take_fd(&fd);
}

static _Noreturn void become_daemon(const struct on_demand *d) {
	static const int kept[] = {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO};
	int log = open_log(d->places), null = open("/dev/null", O_RDWR | O_CLOEXEC);
	sigset_t none;

	(void)sigemptyset(&none);
	(void)pthread_sigmask(SIG_SETMASK, &none, NULL); /* fails only for a bad pointer */
	if (null < 0 || setsid() < 0 || chdir("/") != 0) {
		_exit(1);
	}
	for (size_t i = 0; i < ARRAY_LEN(kept); i++) {
		int to = kept[i] == STDERR_FILENO && log >= 0 ? log : null;
		if (dup2(to, kept[i]) < 0) { /* not close-on-exec: the daemon's streams */
			_exit(1);
		}
	}
	(void)umask(077);
	fd_close_all_but(kept, ARRAY_LEN(kept));
	(void)execl("/proc/self/exe", "corral", "daemon", "--idle-exit", d->idle, (char *)NULL);
	_exit(1);
}

static int start(struct on_demand *d, struct corral_error *err) {
	d->pid = fork();
	if (d->pid == 0) {
		become_daemon(d);
	}
	return d->pid < 0 ? fail(err, "cannot create a process", "") : 0;
}

int on_demand_begin(struct on_demand *d, const struct places *p, struct corral_error *err) {
	*d = (struct on_demand){.places = p, .deadline = clock_ms() + START_MS};
	return read_settings(d, err) != 0 ? -1 : start(d, err);
}

int on_demand_wait(struct on_demand *d, struct corral_error *err) {
	const struct timespec step = {.tv_nsec = STEP_NS};
	int status = 0;

	(void)nanosleep(&step, NULL);
	bool ended = waitpid(d->pid, &status, WNOHANG) == d->pid;
	bool refused = ended && WIFEXITED(status) && WEXITSTATUS(status) == STATUS_REFUSED;
	if ((ended && !refused) || clock_ms() >= d->deadline) {
		char why[PATH_MAX + 64];
		(void)snprintf(why, sizeof why, "the daemon did not start: see %s/daemon.log",
			       d->places->state);
		return fail(err, why, "run it in the foreground: corral daemon");
	}
	return ended ? start(d, err) : 0;
}
