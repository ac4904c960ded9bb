/* SPDX-License-Identifier: Apache-2.0 */
/* Tests the hook in an agent's settings: starts it as the agent does, with events of its own.
 *
 * Should:   prove that a command is rewritten and then runs inside, and that each kind of broken
 *           input, and a missing program, is a denial with a reason.
 * Must not: run anything of an agent but the hook itself.
 * Fails:    a test that cannot be made counts as failed. */
#include "agents/agents.h"

#include "base/auto.h"
#include "base/emit.h"
#include "base/fd.h"
#include "base/str.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define ANSWER_MAX ((size_t)1024 * 1024)
#define WAIT_MS 60000
/* Inside, the kernel reports no_new_privs for every process. */
#define PROBE "grep '^NoNewPrivs' /proc/self/status"

struct answer {
	int status; /* the exit status; -1: a signal or a time-out */
	struct buf out, err;
};

struct checking {
	const struct agent *agent;
	const char *dir; /* an empty project */
	char *variable;  /* NAME=DIR, as the agent sets it for its hooks; NULL */
	struct buf *report;
	size_t *failed;
};

static void answer_done(struct answer *a) {
	buf_done(&a->out);
	buf_done(&a->err);
}

static void read_some(struct pollfd *p, struct buf *out) {
	char block[4096];
	ssize_t n = read(p->fd, block, sizeof block);

	if (n > 0 && out->len < ANSWER_MAX) {
		buf_add(out, block, (size_t)n);
	} else if (n == 0 || (n < 0 && errno != EINTR && errno != EAGAIN)) {
		p->fd = -1; /* its end is closed by the owner */
	}
}

/* Reads both streams to their ends, or kills the child. */
static void collect(pid_t pid, int out, int err, struct answer *ret) {
	struct pollfd polls[2] = {{out, POLLIN, 0}, {err, POLLIN, 0}};
	int status = 0;

	while (polls[0].fd >= 0 || polls[1].fd >= 0) {
		int n = poll(polls, 2, WAIT_MS);
		if (n == 0 || (n < 0 && errno != EINTR)) {
			(void)kill(pid, SIGKILL); /* it is our child */
			break;
		}
		for (int i = 0; n > 0 && i < 2; i++) {
			if (polls[i].fd >= 0 && polls[i].revents != 0) {
				read_some(&polls[i], i == 0 ? &ret->out : &ret->err);
			}
		}
	}
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
	}
	ret->status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static int input_file(const char *input, size_t len) {
	char name[] = "/tmp/corral-check-XXXXXX";
	int fd = mkostemp(name, O_CLOEXEC);

	if (fd >= 0) {
		(void)unlink(name); /* on failure an empty file stays in /tmp */
		if (fd_write_all(fd, input, len) != 0 || lseek(fd, 0, SEEK_SET) != 0) {
			drop_fd(&fd);
		}
	}
	return fd;
}

/* The environment of the agent's hook. */
static char **environment_of(const struct checking *c) {
	size_t n = 0, kept = 0;

	while (environ[n] != NULL) {
		n++;
	}
	char **env = calloc(n + 2, sizeof *env);
	size_t name = c->variable == NULL ? 0 : strcspn(c->variable, "=") + 1;
	for (size_t i = 0; env != NULL && i < n; i++) {
		if (name == 0 || strncmp(environ[i], c->variable, name) != 0) {
			env[kept++] = environ[i];
		}
	}
	if (env != NULL && name > 0) {
		env[kept] = c->variable;
	}
	return env;
}

/* Starts a shell with these three descriptors; its pid, or -1. */
static pid_t spawn(const struct checking *c, const char *line, const int fds[3]) {
	char shell[] = "sh", option[] = "-c";
	auto_free char *copy = strdup(line);
	char *const argv[] = {shell, option, copy, NULL};
	auto_free char **env = environment_of(c);
	posix_spawn_file_actions_t actions;
	pid_t pid = -1;

	if (copy == NULL || env == NULL || posix_spawn_file_actions_init(&actions) != 0) {
		return -1;
	}
	bool ready = posix_spawn_file_actions_addchdir_np(&actions, c->dir) == 0;
	for (int i = 0; ready && i < 3; i++) {
		ready = posix_spawn_file_actions_adddup2(&actions, fds[i], i) == 0;
	}
	if (ready && posix_spawn(&pid, "/bin/sh", &actions, NULL, argv, env) != 0) {
		pid = -1;
	}
	(void)posix_spawn_file_actions_destroy(&actions); /* cannot fail */
	return pid;
}

static int start(const struct checking *c, const char *line, const char *input, struct answer *ret,
		 struct err *e) {
	int out[2] = {-1, -1}, err[2] = {-1, -1};
	auto_fd in = input_file(input, strlen(input));
	pid_t pid = -1;

	*ret = (struct answer){.status = -1};
	if (in >= 0 && pipe2(out, O_CLOEXEC) == 0 && pipe2(err, O_CLOEXEC) == 0) {
		pid = spawn(c, line, (const int[]){in, out[1], err[1]});
	}
	drop_fd(&out[1]);
	drop_fd(&err[1]);
	if (pid >= 0) {
		collect(pid, out[0], err[0], ret);
	}
	drop_fd(&out[0]);
	drop_fd(&err[0]);
	return pid < 0 ? err_sys(e, "agents", "cannot start the hook") : 0;
}

static void report(const struct checking *c, bool passed, const char *what) {
	buf_printf(c->report, "%s  %s\n", passed ? "ok    " : "FAILED", what);
	*c->failed += !passed;
}

/* An event as the agent would send it. */
static void put_event(const struct checking *c, const char *tool, const char *command,
		      struct buf *out) {
	struct emit j;

	emit_init(&j, out, false);
	emit_object(&j, NULL);
	emit_string(&j, "hook_event_name", hook_entries[c->agent->hook].event);
	emit_string(&j, "tool_name", tool);
	emit_string(&j, "cwd", c->dir);
	emit_object(&j, "tool_input");
	emit_string(&j, "command", command);
	emit_end_object(&j);
	emit_end_object(&j);
}

static const char *shell_tool(enum hook_protocol protocol) {
	for (size_t i = 0; i < hook_tools_count; i++) {
		if (hook_tools[i].protocol == protocol) {
			return hook_tools[i].tool;
		}
	}
	return "";
}

/* The command of the answer, wherever the protocol has it; the caller frees it. */
static char *new_command(const struct answer *a) {
	json_t *root = json_loadb(a->out.data == NULL ? "" : a->out.data, a->out.len, 0, NULL);
	const json_t *specific = json_object_get(root, "hookSpecificOutput");
	const json_t *inputs[] = {json_object_get(root, "updated_input"),
				  json_object_get(specific, "updatedInput"),
				  json_object_get(specific, "tool_input")};
	char *found = NULL;

	for (size_t i = 0; i < ARRAY_LEN(inputs) && found == NULL; i++) {
		const char *text = json_string_value(json_object_get(inputs[i], "command"));
		found = text == NULL ? NULL : strdup(text);
	}
	json_decref(root);
	return found;
}

static int check_rewriting(const struct checking *c, const char *line, struct err *e) {
	struct buf event;
	struct answer a = {.status = -1}, b = {.status = -1};

	buf_init(&event);
	put_event(c, shell_tool(c->agent->hook), PROBE, &event);
	int rc = buf_failed(&event) ? err_memory(e, "agents") : start(c, line, event.data, &a, e);
	buf_done(&event);
	auto_free char *command = rc == 0 && a.status == 0 ? new_command(&a) : NULL;
	if (rc == 0) {
		report(c, command != NULL && !streq(command, PROBE), "the hook rewrites a command");
	}
	if (rc == 0 && command != NULL) {
		rc = start(c, command, "", &b, e);
		report(c, b.out.data != NULL && strstr(b.out.data, "NoNewPrivs:\t1\n") != NULL,
		       "the rewritten command runs in the sandbox");
	}
	answer_done(&a);
	answer_done(&b);
	return rc;
}

static int check_denial(const struct checking *c, const char *line, const char *input,
			const char *what, struct err *e) {
	struct answer a;

	int rc = start(c, line, input, &a, e);
	if (rc == 0) {
		report(c, a.status == HOOK_DENIED && a.err.len > 0, what);
	}
	answer_done(&a);
	return rc;
}

static int check_denials(const struct checking *c, const char *line, struct err *e) {
	struct buf event, absent;

	buf_init(&event);
	buf_init(&absent);
	put_event(c, "NoSuchTool", "true", &event);
	/* The line as it is entered, with a program that does not exist. */
	const char *end = line[0] == '\'' ? strchr(line + 1, '\'') : NULL;
	if (end != NULL) {
		buf_add(&absent, line, (size_t)(end - line));
		buf_puts(&absent, ".missing");
		buf_puts(&absent, end);
	}
	int rc = buf_failed(&event) || buf_failed(&absent) ? err_memory(e, "agents") : 0;
	if (rc != 0 || check_denial(c, line, "", "it denies without an event", e) != 0 ||
	    check_denial(c, line, "{\"tool_name\"", "it denies an event that is not JSON", e) !=
		    0 ||
	    check_denial(c, line, event.data, "it denies a tool that it does not know", e) != 0) {
		rc = -1;
	} else if (end == NULL) {
		report(c, false, "it denies if the program is missing (written by hand?)");
	} else {
		rc = check_denial(c, absent.data, "{}", "it denies if the program is missing", e);
	}
	buf_done(&event);
	buf_done(&absent);
	return rc;
}

/* The control: without the sandbox the probe gives the other answer. */
static int check_control(const struct checking *c, struct err *e) {
	struct answer a;

	int rc = start(c, PROBE, "", &a, e);
	if (rc == 0 && a.out.data != NULL && strstr(a.out.data, "NoNewPrivs:\t1\n") != NULL) {
		buf_puts(c->report, "note    this process has no_new_privs, so the second test "
				    "proves less\n");
	}
	answer_done(&a);
	return rc;
}

static void report_switch(const struct checking *c) {
	char path[PATH_MAX], text[PATH_MAX + 64];
	bool off = switched_off(c->agent, path);

	(void)snprintf(text, sizeof text, "no settings here switch hooks off%s%s", off ? ": " : "",
		       off ? path : "");
	str_hide_controls(text, false);
	report(c, !off, text);
}

int check_hook(const struct agent *agent, struct buf *out, size_t *failed, struct err *e) {
	char dir[] = "/tmp/corral-project-XXXXXX";
	struct buf line;
	char variable[sizeof dir + 64];
	struct checking c = {agent, dir, NULL, out, failed};

	*failed = 0;
	buf_init(&line);
	if (installed_hook_command(agent, &line, e) != 0) {
		buf_done(&line);
		return -1;
	}
	report(&c, line.len > 0, "the hook is in the settings");
	if (line.len == 0) {
		buf_done(&line);
		return 0;
	}
	report(&c, installed_applies(agent),
	       "hooks are switched on, and this one covers the shell tool");
	report_switch(&c);
	report(&c, installed_blocks(agent),
	       "the entry has its time limit, and blocks after a failure");
	report(&c, installed_trusted(agent), "the agent trusts the hook as it is now");
	if (mkdtemp(dir) == NULL) {
		buf_done(&line);
		return err_sys(e, "agents", "cannot create a directory in /tmp");
	}
	if (hook_entries[agent->hook].project != NULL) {
		(void)snprintf(variable, sizeof variable, "%s=%s",
			       hook_entries[agent->hook].project, dir); /* it fits */
		c.variable = variable;
	}
	int rc = check_control(&c, e) != 0 || check_rewriting(&c, line.data, e) != 0 ||
				 check_denials(&c, line.data, e) != 0
			 ? -1
			 : 0;
	(void)rmdir(dir); /* empty: nothing was written there */
	buf_done(&line);
	return rc;
}
