/* SPDX-License-Identifier: Apache-2.0 */
/* `corral oci`: rewrites the engine's files for its runtime, and becomes the runtime.
 *
 * Should:   end as the runtime, so that pids, signals and exit codes are its own.
 * Must not: start the runtime after an error (O1).
 * Fails:    closed, with a message on stderr. */
#include "cli/cli.h"
#include "oci/oci.h"

#include "base/arena.h"
#include "base/auto.h"
#include "base/buf.h"
#include "base/fd.h"
#include "base/read_link.h"
#include "base/str.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* Where distributions install them; the first that exists. */
static const char *const runtimes[] = {"/usr/bin/crun", "/usr/bin/runc", "/usr/sbin/runc",
				       "/usr/local/bin/crun", "/usr/local/sbin/runc"};

/* Of the answer of `state`, which has the container's annotations. */
#define STATE_MAX ((size_t)1024 * 1024)

#define POLICY_FILE "/etc/corral/oci.toml"

struct job {
	struct arena arena; /* until the runtime replaces this process */
	const char *runtime, *policy;
	bool pods;    /* the engine sets the annotations itself */
	char **words; /* of the engine; the copy has a changed one */
	size_t n;
	struct oci_line line;
	char program[PATH_MAX]; /* corral, beside this corrald */
};

static int format(char out[PATH_MAX], struct err *e, const char *a, const char *b) {
	int n = snprintf(out, PATH_MAX, "%s/%s", a, b);
	return n > 0 && n < PATH_MAX
		       ? 0
		       : err_set(e, ERR_SETUP, OCI_WHERE, "the path is too long: %s/%s", a, b);
}

/* ---- runtime, policy and program of this host ---- */

static int find_runtime(const struct invocation *inv, struct job *job, struct err *e) {
	job->runtime = inv->oci_runtime;
	for (size_t i = 0; job->runtime == NULL && i < ARRAY_LEN(runtimes); i++) {
		if (access(runtimes[i], X_OK) == 0) {
			job->runtime = runtimes[i];
		}
	}
	if (job->runtime == NULL || job->runtime[0] != '/') {
		(void)err_set(e, ERR_USAGE, OCI_WHERE,
			      job->runtime == NULL ? "neither crun nor runc is installed"
						   : "--runtime is not an absolute path");
		return err_fix(e, "name the runtime: --runtime /usr/bin/crun");
	}
	return 0;
}

/* A policy that was named must be there; the standing one may be missing. */
static int find_policy(const struct invocation *inv, struct job *job, struct err *e) {
	const char *path = inv->oci_policy != NULL ? inv->oci_policy : POLICY_FILE;
	struct stat st;

	if (stat(path, &st) == 0 && S_ISREG(st.st_mode) && path[0] == '/') {
		job->policy = path;
		return 0;
	}
	if (inv->oci_policy == NULL && errno == ENOENT) {
		return 0;
	}
	(void)err_set(e, ERR_USAGE, OCI_WHERE, "the policy is not a file with an absolute path: %s",
		      path);
	return err_fix(e, "name a file: --container-policy /etc/corral/oci.toml");
}

static int find_program(struct job *job, struct err *e) {
	if (!read_link("/proc/self/exe", job->program, sizeof job->program)) {
		return err_sys(e, OCI_WHERE, "cannot read /proc/self/exe");
	}
	char *slash = strrchr(job->program, '/');
	if (slash == NULL || (size_t)(slash - job->program) + sizeof "/corral" > PATH_MAX) {
		return err_set(e, ERR_SETUP, OCI_WHERE, "/proc/self/exe is not a path");
	}
	memcpy(slash, "/corral", sizeof "/corral");
	return access(job->program, X_OK) == 0
		       ? 0
		       : err_sys_at(e, OCI_WHERE, "cannot execute", job->program);
}

/* ---- the runtime's answer about a container ---- */

/* Starts the program with its output in the pipe, which the caller reads. */
static pid_t start(char *const *argv, int out) {
	posix_spawn_file_actions_t actions;
	pid_t child = -1;

	if (posix_spawn_file_actions_init(&actions) != 0) {
		return -1;
	}
	if (posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO) != 0 ||
	    posix_spawn(&child, argv[0], &actions, NULL, argv, environ) != 0) {
		child = -1;
	}
	(void)posix_spawn_file_actions_destroy(&actions); /* it frees memory */
	return child;
}

static int read_output(char *const *argv, struct buf *out) {
	int pipes[2], status = 0;

	if (pipe2(pipes, O_CLOEXEC) != 0) {
		return -1;
	}
	auto_fd from = pipes[0];
	pid_t child = start(argv, pipes[1]);
	(void)close(pipes[1]); /* nothing was written */
	int rc = child < 0 ? -1 : fd_read_all(from, STATE_MAX, out);
	bool ended = child > 0 && waitpid(child, &status, 0) == child;
	return ended && status == 0 && rc == 0 && out->data != NULL ? 0 : -1;
}

/* The runtime and the first n words of the engine; NULL-terminated, with room for `more`. */
static char **command_of(struct job *job, size_t n, size_t more) {
	char **argv = arena_array(&job->arena, n + more + 2, sizeof *argv);

	if (argv == NULL) {
		return NULL;
	}
	memset(argv, 0, (n + more + 2) * sizeof *argv);
	memcpy(argv + 1, job->words, n * sizeof *argv);
	argv[0] = arena_strdup(&job->arena, job->runtime);
	return argv[0] == NULL ? NULL : argv;
}

/* Runs `RUNTIME GLOBAL-OPTIONS state ID`. */
static int ask_state(struct job *job, struct buf *out, struct err *e) {
	size_t n = job->line.subcommand;
	char state[] = "state", **argv = command_of(job, n, 2);

	if (argv == NULL) {
		return err_memory(e, OCI_WHERE);
	}
	argv[n + 1] = state;
	argv[n + 2] = job->words[job->line.id];
	return read_output(argv, out) == 0
		       ? 0
		       : err_set(e, ERR_SETUP, OCI_WHERE, "%s does not know the container %s",
				 job->runtime, job->words[job->line.id]);
}

/* The options that create stored (O1: a container without them is not ours). */
static int read_options(struct job *job, json_t **ret, struct err *e) {
	struct buf text;

	buf_init(&text);
	int rc = ask_state(job, &text, e);
	json_t *state = rc != 0 ? NULL : json_loads(text.data, 0, NULL);
	const char *bundle = json_string_value(json_object_get(state, "bundle"));
	size_t len = bundle == NULL ? 0 : strlen(bundle), tail = sizeof "/" OCI_COPY - 1;

	if (rc == 0 && (len <= tail || !streq(bundle + len - tail, "/" OCI_COPY))) {
		(void)err_set(e, ERR_REFUSED, OCI_WHERE,
			      "the container %s was not created by `corral oci`",
			      job->words[job->line.id]);
		rc = err_fix(e, "create the container again with this runtime");
	}
	if (rc == 0) {
		char path[PATH_MAX];
		rc = format(path, e, bundle, OCI_OPTIONS) != 0 ? -1 : oci_json_read(path, ret, e);
	}
	json_decref(state);
	buf_done(&text);
	return rc;
}

/* ---- create, run ---- */

/* In the bundle, so that the engine removes it with the bundle (O3). */
static int make_copy(const char *bundle, char copy[PATH_MAX], struct err *e) {
	struct stat st;

	if (format(copy, e, bundle, OCI_COPY) != 0) {
		return -1;
	}
	if ((mkdir(copy, 0700) != 0 && errno != EEXIST) || lstat(copy, &st) != 0) {
		return err_sys_at(e, OCI_WHERE, "cannot create", copy);
	}
	return S_ISDIR(st.st_mode) && st.st_uid == geteuid()
		       ? 0
		       : err_set(e, ERR_SETUP, OCI_WHERE, "%s is not a directory of this user",
				 copy);
}

static int write_copy(const struct job *job, const char *bundle, json_t *spec, const char *copy,
		      struct err *e) {
	struct oci_sources s = {bundle, job->program, job->policy};
	char path[PATH_MAX];
	json_t *run_options = NULL;

	if (oci_spec_wrap(spec, &s, &run_options, e) != 0) {
		return -1;
	}
	int rc = format(path, e, copy, OCI_OPTIONS) != 0 ||
				 oci_json_write(path, run_options, e) != 0 ||
				 format(path, e, copy, "config.json") != 0 ||
				 oci_json_write(path, spec, e) != 0
			 ? -1
			 : 0;
	json_decref(run_options);
	return rc;
}

/* Replaces the value of an option by another path. */
static int set_value(struct job *job, size_t word, size_t at, const char *path, struct err *e) {
	size_t size = at + strlen(path) + 1;
	char *made = arena_alloc(&job->arena, size);

	if (made == NULL) {
		return err_memory(e, OCI_WHERE);
	}
	memcpy(made, job->words[word], at);
	memcpy(made + at, path, size - at);
	job->words[word] = made;
	return 0;
}

static int insert_bundle(struct job *job, const char *copy, struct err *e) {
	size_t after = job->line.subcommand + 1;
	char **words = arena_array(&job->arena, job->n + 3, sizeof *words);

	if (words == NULL) {
		return err_memory(e, OCI_WHERE);
	}
	memcpy(words, job->words, after * sizeof *words);
	memcpy(words + after + 2, job->words + after, (job->n - after) * sizeof *words);
	words[after] = arena_strdup(&job->arena, "--bundle");
	words[after + 1] = arena_strdup(&job->arena, copy);
	words[job->n + 2] = NULL;
	job->words = words;
	job->n += 2;
	return words[after] == NULL || words[after + 1] == NULL ? err_memory(e, OCI_WHERE) : 0;
}

static int wrap_bundle(struct job *job, struct err *e) {
	const char *named =
		job->line.bundle == 0 ? "." : job->words[job->line.bundle] + job->line.bundle_at;
	char bundle[PATH_MAX], path[PATH_MAX];
	json_t *spec = NULL;

	if (realpath(named, bundle) == NULL) {
		return err_sys_at(e, OCI_WHERE, "cannot open the bundle", named);
	}
	if (format(path, e, bundle, "config.json") != 0 || oci_json_read(path, &spec, e) != 0) {
		return -1;
	}
	int rc = 0;
	if (!job->pods || !oci_spec_is_pause(spec)) {
		char copy[PATH_MAX];
		rc = make_copy(bundle, copy, e) != 0 ||
				     write_copy(job, bundle, spec, copy, e) != 0 ||
				     (job->line.bundle == 0
					      ? insert_bundle(job, copy, e)
					      : set_value(job, job->line.bundle,
							  job->line.bundle_at, copy, e)) != 0
			     ? -1
			     : 0;
	}
	json_decref(spec);
	return rc;
}

/* ---- exec ---- */

/* The file has the environment of the process, so that no copy is left on disk. */
static int wrap_process(struct job *job, struct err *e) {
	const char *file = job->words[job->line.process] + job->line.process_at;
	char path[32];
	json_t *process = NULL, *run_options = NULL;

	int rc = read_options(job, &run_options, e) != 0 || oci_json_read(file, &process, e) != 0 ||
				 oci_process_wrap(process, run_options, e) != 0 ||
				 oci_json_pass(process, path, e) != 0
			 ? -1
			 : set_value(job, job->line.process, job->line.process_at, path, e);
	json_decref(process);
	json_decref(run_options);
	return rc;
}

/* ---- the verb ---- */

static int become_runtime(struct job *job, struct err *e) {
	char **argv = command_of(job, job->n, 0);

	if (argv == NULL) {
		return err_memory(e, OCI_WHERE);
	}
	(void)execv(job->runtime, argv);
	return err_sys_at(e, OCI_WHERE, "cannot execute the runtime", job->runtime);
}

static int hand_to_runtime(struct invocation *inv, struct job *job, struct err *e) {
	static int (*const wraps[])(struct job * job, struct err * e) = {
		[OCI_PASS] = NULL,
		[OCI_CREATE] = wrap_bundle,
		[OCI_EXEC] = wrap_process,
	};

	if (oci_line_read((const char *const *)job->words, job->n, &job->line, e) != 0 ||
	    find_runtime(inv, job, e) != 0 || find_policy(inv, job, e) != 0 ||
	    find_program(job, e) != 0) {
		return -1;
	}
	if (wraps[job->line.action] != NULL && wraps[job->line.action](job, e) != 0) {
		return -1;
	}
	return become_runtime(job, e);
}

int verb_oci(struct invocation *inv, struct corral_error *err) {
	struct err e = {0};
	struct job job = {.words = inv->words, .n = inv->nwords, .pods = inv->oci_pods};

	arena_init(&job.arena);
	(void)hand_to_runtime(inv, &job, &e); /* it returns only with an error */
	arena_done(&job.arena);
	const char *log = oci_line_log((const char *const *)inv->words, inv->nwords);
	if (log != NULL) {
		oci_json_log(log, &e);
	}
	return internal_error(&e, err);
}
