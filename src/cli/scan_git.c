/* SPDX-License-Identifier: Apache-2.0 */
/* Asks git for files: those of a work tree that it does not ignore, and those of a staged change.
 *
 * git itself decides what .gitignore files, nested and global, exclude.
 *
 * Should:   pass options that keep the repository's configuration from running programs.
 * Must not: change the repository.
 * Fails:    with an error for --staged; a directory that is no work tree is walked instead. */
#include "cli/scan.h"

#include "base/auto.h"
#include "base/fd.h"
#include "base/str.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

extern char **environ;

#define LIST_LIMIT ((size_t)1 << 30)
#define GIT_WORDS 24

static int git_error(struct corral_error *err, int sys) {
	(void)setup_error(err, "install git, or name the files", "cannot run git");
	err->kind = CORRAL_E_FILE;
	err->sys_errno = sys;
	return -1;
}

static int start_git(const struct git_call *call, int out, pid_t *ret_pid) {
	char *argv[GIT_WORDS] = {
		(char *)(uintptr_t) "git", (char *)(uintptr_t) "--no-optional-locks",
		(char *)(uintptr_t) "-c",  (char *)(uintptr_t) "core.fsmonitor=false",
		(char *)(uintptr_t) "-c",  (char *)(uintptr_t) "diff.external="};
	size_t n = 6;
	posix_spawn_file_actions_t actions;

	if (call->dir != NULL) {
		argv[n++] = (char *)(uintptr_t) "-C";
		argv[n++] = (char *)(uintptr_t)call->dir;
	}
	for (size_t i = 0; i < ARRAY_LEN(call->args) && call->args[i] != NULL; i++) {
		argv[n++] = (char *)(uintptr_t)call->args[i];
	}
	int rc = posix_spawn_file_actions_init(&actions);
	if (rc != 0) {
		return rc;
	}
	if ((rc = posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO)) == 0 &&
	    call->quiet) {
		rc = posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null",
						      O_WRONLY, 0);
	}
	if (rc == 0) {
		rc = posix_spawnp(ret_pid, "git", &actions, NULL, argv, environ);
	}
	(void)posix_spawn_file_actions_destroy(&actions); /* cannot fail */
	return rc;
}

int git_output(const struct git_call *call, struct buf *out, struct corral_error *err) {
	int pipe_fds[2], status = 0;
	pid_t pid;

	if (pipe2(pipe_fds, O_CLOEXEC) != 0) {
		return git_error(err, errno);
	}
	auto_fd in = pipe_fds[0];
	int rc = start_git(call, pipe_fds[1], &pid);
	(void)close(pipe_fds[1]); /* git has a copy */
	if (rc != 0) {
		return git_error(err, rc);
	}
	int read_rc = fd_read_all(in, LIST_LIMIT, out), sys = errno;
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
	}
	if (read_rc != 0) {
		return git_error(err, sys);
	}
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

/* One entry of `git diff --raw -z`: ":100644 100644 OLD NEW M", then the path. */
static int add_entry(struct targets *t, const char *meta, const char *path,
		     struct corral_error *err) {
	const char *fields[5] = {meta};

	for (size_t i = 1; i < 5; i++) {
		const char *space = fields[i - 1] == NULL ? NULL : strchr(fields[i - 1], ' ');
		fields[i] = space == NULL ? NULL : space + 1;
	}
	/* A submodule (mode 160000) has no content here. */
	if (fields[4] == NULL || strncmp(fields[1], "160000", 6) == 0) {
		return 0;
	}
	return targets_add(t, strdup(path), strndup(fields[3], strcspn(fields[3], " ")), err);
}

int targets_staged(struct targets *t, struct corral_error *err) {
	struct buf out;
	struct git_call call = {.args = {"diff", "--cached", "--raw", "-z", "--no-renames",
					 "--no-abbrev", "--diff-filter=AMT", "--no-ext-diff"},
				.quiet = true};

	buf_init(&out);
	int rc = git_output(&call, &out, err);
	if (rc > 0) {
		rc = usage_error(err, "run it in a git repository",
				 "git cannot list the staged change");
	}
	for (size_t at = 0; rc == 0 && at < out.len;) {
		const char *meta = out.data + at;
		size_t path = at + strlen(meta) + 1;
		if (path >= out.len) {
			break;
		}
		rc = add_entry(t, meta, out.data + path, err);
		at = path + strlen(out.data + path) + 1;
	}
	buf_done(&out);
	return rc;
}
