/* SPDX-License-Identifier: Apache-2.0 */
/* Asks git for files: those of a work tree that it does not ignore, and those of a staged change.
 *
 * git itself decides what .gitignore files, nested and global, exclude.
 *
 * The repository may be hostile: a sandboxed command can write its configuration.  git must not run
 * a program that it names: options switch off the file system monitor and external diffs, and the
 * environment forbids every transport, because a partial clone fetches missing objects with the
 * program of remote.NAME.uploadpack.  core.worktree would replace the tree that is scanned by
 * another one: the caller names the work tree.  A directory that only looks like a repository is
 * none (safe.bareRepository).
 *
 * Should:   run git with an environment of its own: variables of git could name another
 *           repository, and thus hide files from the scan.
 * Must not: change the repository; execute a git that a sandboxed command could have written.
 * Fails:    with an error for --staged; a directory that is no work tree is walked instead. */
#include "cli/scan.h"

#include "base/arena.h"
#include "base/auto.h"
#include "base/fd.h"
#include "base/str.h"
#include "data/outside_programs.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define LIST_LIMIT ((size_t)1 << 30)
#define GIT_WORDS 24

static int git_error(struct corral_error *err, int sys) {
	(void)setup_error(
		err,
		"install git where no sandboxed command can write, as in /usr/bin, or name "
		"the files",
		"cannot run git");
	err->kind = CORRAL_E_FILE;
	err->sys_errno = sys;
	return -1;
}

/* A pre-commit hook gets these of git: the index of the commit may be another file. */
static bool is_of_hook(const char *entry) {
	static const char *const names[] = {"GIT_DIR=", "GIT_INDEX_FILE=", "GIT_WORK_TREE="};

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		if (str_starts(entry, names[i])) {
			return true;
		}
	}
	return false;
}

/* The caller's environment without git's variables, and without transports.  NULL: no memory. */
static char **git_environment(const struct git_call *call, struct arena *a) {
	static const char *const fixed[] = {"GIT_ALLOW_PROTOCOL=none", "GIT_NO_LAZY_FETCH=1",
					    "GIT_OPTIONAL_LOCKS=0", "GIT_TERMINAL_PROMPT=0"};
	size_t n = 0, kept = 0;

	while (environ[n] != NULL) {
		n++;
	}
	char **all = arena_array(a, n + ARRAY_LEN(fixed) + 1, sizeof *all);
	for (size_t i = 0; all != NULL && i < n; i++) {
		bool git = str_starts(environ[i], "GIT_");
		if (!git || (call->dir == NULL && is_of_hook(environ[i]))) {
			all[kept++] = environ[i];
		}
	}
	for (size_t i = 0; all != NULL && i < ARRAY_LEN(fixed); i++) {
		all[kept] = arena_strdup(a, fixed[i]);
		if (all[kept++] == NULL) {
			return NULL;
		}
	}
	return all;
}

static char **git_words(const struct git_call *call, struct arena *a) {
	static const char *const fixed[] = {
		"git", "--no-optional-locks",          "-c", "core.fsmonitor=false",
		"-c",  "core.hooksPath=/dev/null",     "-c", "diff.external=",
		"-c",  "safe.bareRepository=explicit", "-C"};
	const char *words[GIT_WORDS];
	size_t n = 0;

	for (size_t i = 0; i < ARRAY_LEN(fixed); i++) {
		words[n++] = fixed[i];
	}
	words[n++] = call->dir == NULL ? "." : call->dir;
	if (call->top != NULL) {
		words[n++] = "--work-tree";
		words[n++] = call->top;
	}
	for (size_t i = 0; i < ARRAY_LEN(call->args) && call->args[i] != NULL; i++) {
		words[n++] = call->args[i];
	}
	char **argv = arena_array(a, n + 1, sizeof *argv);
	for (size_t i = 0; argv != NULL && i < n; i++) {
		argv[i] = arena_strdup(a, words[i]);
		if (argv[i] == NULL) {
			return NULL;
		}
	}
	return argv;
}

static bool look(void *arg, const char *path, uint32_t *ret_uid, uint32_t *ret_mode) {
	struct stat st;
	(void)arg;
	if (lstat(path, &st) != 0) {
		return false;
	}
	*ret_uid = st.st_uid;
	*ret_mode = st.st_mode;
	return true;
}

/* The git of the caller's PATH that no sandboxed command can have written. */
static bool find_git(char out[PATH_MAX]) {
	const char *path = getenv("PATH"), *from = getenv("HOME");
	char at[PATH_MAX], home[PATH_MAX];
	const struct outside_facts facts = {
		.look = look,
		.uid = geteuid(),
		.home = from == NULL ? NULL : realpath(from, home),
	};
	for (size_t n; path != NULL && *path != '\0'; path += n + (path[n] == ':')) {
		n = strcspn(path, ":");
		int len = snprintf(at, sizeof at, "%.*s/git", (int)n, path);
		if (len > 0 && (size_t)len < sizeof at && at[0] == '/' && access(at, X_OK) == 0 &&
		    realpath(at, out) != NULL && outside_program_is_safe(&facts, out)) {
			return true;
		}
	}
	return false;
}

static int spawn_git(const struct git_call *call, int out, struct arena *a, pid_t *ret_pid) {
	posix_spawn_file_actions_t actions;
	char **argv = git_words(call, a), **env = git_environment(call, a);
	int rc = argv == NULL || env == NULL ? ENOMEM : posix_spawn_file_actions_init(&actions);

	if (rc != 0) {
		return rc;
	}
	if ((rc = posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO)) == 0 &&
	    call->quiet) {
		rc = posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null",
						      O_WRONLY, 0);
	}
	if (rc == 0) {
		char program[PATH_MAX];
		rc = find_git(program) ? posix_spawn(ret_pid, program, &actions, NULL, argv, env)
				       : ENOENT;
	}
	(void)posix_spawn_file_actions_destroy(&actions); /* cannot fail */
	return rc;
}

static int start_git(const struct git_call *call, int out, pid_t *ret_pid) {
	struct arena a;

	arena_init(&a);
	int rc = spawn_git(call, out, &a, ret_pid);
	arena_done(&a);
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
