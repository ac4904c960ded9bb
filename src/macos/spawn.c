/* SPDX-License-Identifier: Apache-2.0 */
/* Starts a command under its Seatbelt profile.
 *
 * Should:   give it three descriptors, the environment of the plan and nothing of the caller's.
 * Must not: start it without the profile: sandbox-exec(1) applies it, and where that program is
 *           missing, sandbox_init_with_parameters() does.
 * Fails:    closed: the child exits with 125 before the command starts.
 *
 * It has not been run. */
#include "macos/spawn.h"

#include "base/auto.h"
#include "base/path.h"
#include "base/str.h"
#include "macos/probe.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define WHERE "seatbelt"
#define STATUS_SETUP 125

/* libsandbox, not in a public header: the profile as text, pairs of names and values, NULL.  WebKit
 * declares it so. */
int sandbox_init_with_parameters(const char *profile, uint64_t flags,
				 const char *const parameters[], char **error);

/* ---- the run's own files ---- */

static int make_dirs(const char *path, struct err *e) {
	char part[PATH_MAX];
	for (const char *at = path + 1;; at++) {
		if (*at != '/' && *at != '\0') {
			continue;
		}
		size_t len = (size_t)(at - path);
		if (len >= sizeof part) {
			return err_set(e, ERR_SETUP, WHERE, "the path is too long: %.100s", path);
		}
		memcpy(part, path, len);
		part[len] = '\0';
		if (mkdir(part, 0700) != 0 && errno != EEXIST) {
			return err_sys_at(e, WHERE, "cannot create the directory", part);
		}
		if (*at == '\0') {
			return 0;
		}
	}
}

static int write_text(const char *path, const char *text, struct err *e) {
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
	size_t len = strlen(text);
	bool done = fd >= 0 && write(fd, text, len) == (ssize_t)len;
	if (fd >= 0 && close(fd) != 0) {
		done = false;
	}
	return done ? 0 : err_sys_at(e, WHERE, "cannot write the file", path);
}

int macos_prepare(const struct plan *plan, struct err *e) {
	/* The last part must be new: another user may have made it in /private/tmp. */
	if (mkdir(plan->run_dir, 0700) != 0) {
		return err_sys_at(e, WHERE, "cannot create the directory of the run",
				  plan->run_dir);
	}
	for (size_t i = 0; i < plan->nmounts; i++) {
		const struct mount *m = &plan->mounts[i];
		bool own = m->kind == MOUNT_PRIVATE ||
			   (plan->home_source != NULL && streq(m->target, plan->home_source));
		if ((own && make_dirs(m->target, e) != 0) ||
		    (m->kind == MOUNT_FILE && m->text != NULL &&
		     write_text(m->target, m->text, e) != 0)) {
			return -1;
		}
	}
	return 0;
}

/* Symlinks are removed, not followed. */
static void remove_beneath(const char *dir, int depth) {
	DIR *d = depth > 64 ? NULL : opendir(dir);
	for (const struct dirent *entry; d != NULL && (entry = readdir(d)) != NULL;) {
		char path[PATH_MAX];
		struct stat st;
		size_t head = strlen(dir), tail = strlen(entry->d_name);
		if (streq(entry->d_name, ".") || streq(entry->d_name, "..") ||
		    head + tail + 2 > sizeof path) {
			continue;
		}
		memcpy(path, dir, head);
		path[head] = '/';
		memcpy(path + head + 1, entry->d_name, tail + 1);
		if (lstat(path, &st) == 0 && S_ISDIR(st.st_mode)) {
			remove_beneath(path, depth + 1);
		} else {
			(void)unlink(path); /* else it stays in /private/tmp */
		}
	}
	if (d != NULL) {
		(void)closedir(d); /* it was only read */
	}
	(void)rmdir(dir); /* as above */
}

void macos_clean(const struct plan *plan) {
	remove_beneath(plan->run_dir, 0);
}

/* ---- arguments ---- */

char **macos_arguments(struct arena *a, const struct macos_command *c) {
	size_t words = 0, n = 0;
	while (c->argv[words] != NULL) {
		words++;
	}
	char **out = arena_array(a, words + c->profile->nparams + 5, sizeof *out);
	if (out == NULL) {
		return NULL;
	}
	out[n++] = arena_strdup(a, SANDBOX_EXEC);
	out[n++] = arena_strdup(a, "-p");
	out[n++] = arena_strdup(a, c->profile->text);
	for (size_t i = 0; i < c->profile->nparams; i++) {
		out[n++] = arena_printf(a, "-D%s=%s", c->profile->params[i].name,
					c->profile->params[i].value);
	}
	out[n++] = arena_strdup(a, "--");
	for (size_t i = 0; i < n; i++) {
		if (out[i] == NULL) {
			return NULL;
		}
	}
	memcpy(out + n, c->argv, (words + 1) * sizeof *out);
	return out;
}

static const char **pairs(struct arena *a, const struct seatbelt_profile *p) {
	const char **out = arena_array(a, 2 * p->nparams + 1, sizeof *out);
	for (size_t i = 0; out != NULL && i < p->nparams; i++) {
		out[2 * i] = p->params[i].name;
		out[2 * i + 1] = p->params[i].value;
	}
	return out;
}

/* ---- the child ---- */

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

static void child(const struct macos_command *c, char *const *argv, const char *const *parameters) {
	char *error = NULL;
	if (setsid() < 0 || !take_streams(c->fds) || chdir(c->plan->cwd) != 0 ||
	    !set_limits(c->plan)) {
		_exit(STATUS_SETUP);
	}
	(void)umask(077);
	if (access(SANDBOX_EXEC, X_OK) == 0) {
		execute(SANDBOX_EXEC, argv, c->plan->env);
	} else if (sandbox_init_with_parameters(c->profile->text, 0, parameters, &error) == 0) {
		execute(c->argv[0], c->argv, c->plan->env);
	}
	_exit(STATUS_SETUP);
}

pid_t macos_spawn(struct arena *a, const struct macos_command *c, struct err *e) {
	char **argv = macos_arguments(a, c);
	const char **parameters = pairs(a, c->profile);
	if (argv == NULL || parameters == NULL) {
		(void)err_memory(e, WHERE);
		return -1;
	}
	pid_t pid = fork();
	if (pid == 0) {
		child(c, argv, parameters);
	}
	if (pid < 0) {
		(void)err_sys(e, WHERE, "fork failed");
	}
	return pid;
}
