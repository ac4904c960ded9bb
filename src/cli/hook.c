/* SPDX-License-Identifier: Apache-2.0 */
/* `corral hook`: answers the hook of an agent, which runs before each command of its shell tool.
 *
 * Should:   read one JSON object from stdin, and answer in the agent's protocol.
 * Must not: return a status other than 0 and 2, or end without a reason on stderr: some agents run
 *           the command then.
 * Fails:    closed, also if stdin does not end: the alarm denies before the agent's own time limit
 *           lets the command run. */
#include "cli/cli.h"

#include "agents/agents.h"
#include "base/auto.h"
#include "base/fd.h"
#include "base/read_link.h"
#include "base/str.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* An agent waits for its hook; less than the 60 seconds that agents grant by default. */
#define HOOK_SECONDS 20

static const char *const shells[] = {"/bin/bash", "/usr/bin/bash", "/bin/sh"};

static void deny_late(int signal) {
	static const char text[] = "corral: hook: the event did not end; the command was not run\n";

	(void)signal;
	(void)!write(STDERR_FILENO, text, sizeof text - 1); /* the status says the same */
	_exit(HOOK_DENIED);
}

/* Also if the agent has blocked the signal. */
static void start_alarm(void) {
	sigset_t alarms;

	(void)sigemptyset(&alarms);
	(void)sigaddset(&alarms, SIGALRM); /* these fail for no such signal only */
	(void)signal(SIGALRM, deny_late);
	(void)sigprocmask(SIG_UNBLOCK, &alarms, NULL);
	(void)alarm(HOOK_SECONDS);
}

/* Prints the denial in both forms that agents read: JSON on stdout, the reason on stderr. */
static int deny(enum hook_protocol protocol, const struct err *e) {
	char reason[sizeof e->what + sizeof e->fix + 64];
	struct buf out;

	(void)snprintf(reason, sizeof reason, "%s; the command was not run%s%s", e->what,
		       e->fix[0] == '\0' ? "" : "; ", e->fix);
	str_hide_controls(reason, false);
	print_note("hook: %s", reason);
	buf_init(&out);
	if (protocol != HOOK_NONE) {
		hook_deny(protocol, reason, &out);
		/* The status and stderr have the same meaning. */
		(void)fd_write_all(STDOUT_FILENO, out.data == NULL ? "" : out.data, out.len);
	}
	buf_done(&out);
	return HOOK_DENIED;
}

static const char *find_shell(void) {
	for (size_t i = 0; i < ARRAY_LEN(shells) - 1; i++) {
		if (access(shells[i], X_OK) == 0) {
			return shells[i];
		}
	}
	return shells[ARRAY_LEN(shells) - 1];
}

/* The agent's variable with the project's directory; NULL when it is not set. */
static const char *find_project(enum hook_protocol protocol) {
	const char *name = hook_entries[protocol].project;
	const char *value = name == NULL ? NULL : getenv(name);
	return value == NULL || value[0] == '\0' ? NULL : value;
}

static int answer(struct invocation *inv, const struct agent *agent, struct buf *out,
		  struct err *e) {
	char program[PATH_MAX];
	struct buf input;
	auto_free const char **more = calloc(inv->nwords, sizeof *more);

	if (more == NULL || !read_link("/proc/self/exe", program, sizeof program)) {
		return err_sys(e, "hook", "cannot find the path of corral");
	}
	for (size_t i = 1; i < inv->nwords; i++) {
		more[i - 1] = inv->words[i];
	}
	buf_init(&input);
	int rc = fd_read_all(STDIN_FILENO, HOOK_INPUT_MAX, &input);
	if (rc != 0) {
		rc = err_sys(e, "hook", "cannot read the event");
	} else {
		const struct hook_call call = {.protocol = agent->hook,
					       .program = program,
					       .shell = find_shell(),
					       .project = find_project(agent->hook),
					       .options = more,
					       .inside = agents_inside()};
		rc = hook_answer(&call, input.data == NULL ? "" : input.data, input.len, out, e);
	}
	buf_done(&input);
	return rc;
}

int verb_hook(struct invocation *inv, struct corral_error *err) {
	const struct agent *agent = inv->nwords == 0 ? NULL : agent_by_name(inv->words[0]);
	struct err e = {0};
	struct buf out;

	(void)err;
	start_alarm();
	if (agent == NULL || agent->hook == HOOK_NONE) {
		(void)err_set(&e, ERR_USAGE, "hook",
			      "`corral hook` needs claude, codex, cursor or gemini");
		return deny(HOOK_NONE, &e);
	}
	buf_init(&out);
	int status = 0;
	if (answer(inv, agent, &out, &e) != 0) {
		status = deny(agent->hook, &e);
	} else if (fd_write_all(STDOUT_FILENO, out.data, out.len) != 0) {
		(void)err_sys(&e, "hook", "cannot write the answer");
		status = deny(HOOK_NONE, &e);
	}
	buf_done(&out);
	return status;
}
