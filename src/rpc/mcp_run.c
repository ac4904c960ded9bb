/* SPDX-License-Identifier: Apache-2.0 */
/* The MCP tools that run a command: shell, exec; and the scripts of mcp_names.c.
 *
 * Should:   run every command by corral_run() with a policy derived from the server's.
 * Must not: set a key from an argument except chdir (after a check), env.set, and a time-out that
 *           is shorter than the policy's (M1).
 * Fails:    closed: an argument that cannot be applied stops the call. */
#include "rpc/mcp_call.h"

#include "base/auto.h"
#include "base/str.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_SHELL "/bin/sh"

/* ---- the policy of a call ---- */

/* Checks that the sandbox shows a directory.  The error for a hidden path does not depend on
 * whether the path exists on the host. */
static int check_path(const struct mcp_call *call, const struct corral_check *check,
		      struct mcp_reply *reply) {
	struct corral_files *files = NULL;
	struct corral_error err;
	auto_free char *text = NULL;
	int allowed = 0;

	int rc = corral_files_new(call->config->policy, &files, &err);
	if (rc == 0) {
		rc = corral_files_check(files, check, CORRAL_TEXT, &text, &allowed, &err);
	}
	corral_files_free(files);
	if (rc != 0) {
		mcp_text_error(reply, &err);
		return -1;
	}
	if (allowed == 0) {
		mcp_text_refused(reply, text);
		return -1;
	}
	return 0;
}

/* Whether the path is in the private HOME.  The library looks chdir up on the host, where the same
 * path is a file of the user that the sandbox hides: its error would reveal whether that exists. */
static bool is_in_home(const struct mcp_call *call, const char *path) {
	const struct corral_check check = {.path = path, .write = 0};
	struct corral_files *files = NULL;
	struct corral_error err;
	auto_free char *text = NULL;
	int allowed = 0;

	bool known = corral_files_new(call->config->policy, &files, &err) == 0 &&
		     corral_files_check(files, &check, CORRAL_JSON, &text, &allowed, &err) == 0;
	corral_files_free(files);
	json_t *verdict = known ? json_loads(text, 0, NULL) : NULL;
	const char *rule = json_string_value(json_object_get(verdict, "rule"));
	bool home = rule == NULL || streq(rule, "private home");
	json_decref(verdict);
	return home;
}

static int set_directory(const struct mcp_call *call, struct corral_policy *policy,
			 struct mcp_reply *reply) {
	const char *given = mcp_text_argument(call, "working_dir");
	struct corral_check check = {.path = given, .write = 0};
	struct corral_error err;
	struct buf path;

	if (given == NULL) {
		return 0;
	}
	if (check_path(call, &check, reply) != 0) {
		return -1;
	}
	if (is_in_home(call, given)) {
		mcp_text_misuse(reply, "Invalid argument `working_dir`: it is in the private HOME. "
				       "Start in the workspace, and change to it with cd.");
		return -1;
	}
	buf_init(&path);
	buf_printf(&path, "%s%s%s", given[0] == '/' ? "" : call->config->start,
		   given[0] == '/' ? "" : "/", given);
	int rc = buf_failed(&path)
			 ? -1
			 : corral_policy_set_from(policy, "chdir", path.data, MCP_ORIGIN, &err);
	if (rc != 0 && !buf_failed(&path)) {
		mcp_text_error(reply, &err);
	}
	buf_done(&path);
	return rc;
}

/* M1: never longer than the policy's. */
static int set_timeout(const struct mcp_call *call, struct corral_policy *policy,
		       struct mcp_reply *reply) {
	const json_t *given = json_object_get(call->arguments, "timeout");
	int64_t most = call->config->timeout_ms;
	struct corral_error err;
	char value[32];

	if (given == NULL) {
		return 0;
	}
	int64_t ms = (int64_t)(json_number_value(given) * 1000.0);
	if (most >= 0 && ms > most) {
		buf_printf(&reply->text,
			   "[note] The time-out is %lld s, the longest that the policy allows; the "
			   "user can raise it: corral mcp --timeout\n",
			   (long long)(most / 1000));
		return 0;
	}
	(void)snprintf(value, sizeof value, "%lldms", (long long)ms);
	if (corral_policy_set_from(policy, "limits.timeout", value, MCP_ORIGIN, &err) != 0) {
		mcp_text_error(reply, &err);
		return -1;
	}
	return 0;
}

static int set_variable(struct corral_policy *policy, const char *name, const char *value,
			struct mcp_reply *reply) {
	struct corral_error err;
	struct buf entry;

	if (name[0] == '\0' || strchr(name, '=') != NULL) {
		mcp_text_misuse(reply, "Invalid argument `env`: \"%.80s\" is not a name", name);
		return -1;
	}
	buf_init(&entry);
	buf_printf(&entry, "%s=%s", name, value);
	int rc = buf_failed(&entry)
			 ? -1
			 : corral_policy_set_from(policy, "env.set", entry.data, MCP_ORIGIN, &err);
	if (rc != 0 && !buf_failed(&entry)) {
		mcp_text_error(reply, &err);
	}
	buf_done(&entry);
	return rc;
}

static int set_environment(const struct mcp_call *call, struct corral_policy *policy,
			   struct mcp_reply *reply) {
	json_t *env = json_object_get(call->arguments, "env");

	for (void *at = json_object_iter(env); at != NULL; at = json_object_iter_next(env, at)) {
		if (set_variable(policy, json_object_iter_key(at),
				 json_string_value(json_object_iter_value(at)), reply) != 0) {
			return -1;
		}
	}
	return 0;
}

/* ---- the run ---- */

/* The members of a result that a client gets; the others are for people and logs. */
static const char *const kept[] = {
	"reason", "exit_code", "signal",  "duration_ms", "stdout", "stderr", "truncated",
	"id",     "level",     "denials", "hint",        "leaks",  "notes",
};

/* {"fs.write": "enforced", …} */
static json_t *guarantees_of(const json_t *all) {
	json_t *states = json_object(), *one;
	size_t i;

	json_array_foreach(all, i, one) {
		const char *name = json_string_value(json_object_get(one, "name"));
		if (name != NULL) {
			(void)json_object_set(states, name, json_object_get(one, "state"));
		}
	}
	return states;
}

static json_t *data_of(const struct corral_result *result) {
	auto_free char *text = NULL;
	struct corral_error unused;

	if (corral_result_json(result, &text, &unused) != 0) {
		return NULL;
	}
	json_t *whole = json_loads(text, JSON_ALLOW_NUL, NULL), *data = json_object();
	for (size_t i = 0; i < ARRAY_LEN(kept); i++) {
		(void)json_object_set(data, kept[i], json_object_get(whole, kept[i]));
	}
	(void)json_object_set_new(data, "ending", json_string(corral_result_ending(result)));
	(void)json_object_set_new(data, "guarantees",
				  guarantees_of(json_object_get(whole, "guarantees")));
	json_decref(whole);
	return data;
}

void mcp_run_finish(struct corral_result *result, struct mcp_reply *reply) {
	reply->data = data_of(result);
	reply->error = !streq(corral_result_reason(result), "exit") &&
		       !streq(corral_result_reason(result), "signal");
	mcp_text_result(reply->data, &reply->text);
	corral_result_free(result);
}

static void pass_output(void *arg, int stream, const char *bytes, size_t len) {
	const struct mcp_call *call = arg;

	(void)stream;
	call->output(call->output_arg, bytes, len);
}

static void run(const struct mcp_call *call, const struct corral_policy *policy,
		const char *const *argv, struct mcp_reply *reply) {
	struct corral_options options = CORRAL_OPTIONS_INIT;
	struct corral_result *result = NULL;
	struct corral_error err;
	struct mcp_call copy = *call;

	options.cancel_fd = call->cancel;
	if (call->output != NULL) {
		options.output = pass_output;
		options.output_arg = &copy;
	}
	if (corral_run(policy, argv, &options, &result, &err) != 0) {
		buf_puts(&reply->text, "The command was not run. ");
		mcp_text_error(reply, &err);
		return;
	}
	mcp_run_finish(result, reply);
}

static void run_with(const struct mcp_call *call, const char *const *argv,
		     struct mcp_reply *reply) {
	if (call->config->session != NULL) {
		mcp_run_in_session(call, argv, reply);
		return;
	}
	struct corral_policy *policy = corral_policy_derive(call->config->policy);
	if (policy == NULL) {
		mcp_text_misuse(reply, "out of memory");
	} else if (set_directory(call, policy, reply) == 0 &&
		   set_timeout(call, policy, reply) == 0 &&
		   set_environment(call, policy, reply) == 0) {
		run(call, policy, argv, reply);
	}
	corral_policy_free(policy);
}

void mcp_run_shell(const struct mcp_call *call, struct mcp_reply *reply) {
	const char *shell = call->config->shell == NULL ? DEFAULT_SHELL : call->config->shell;
	const char *const argv[] = {shell, "-c", mcp_text_argument(call, "command"), NULL};

	run_with(call, argv, reply);
}

void mcp_run_exec(const struct mcp_call *call, struct mcp_reply *reply) {
	const json_t *args = json_object_get(call->arguments, "args");
	size_t n = json_array_size(args);
	auto_free const char **argv = calloc(n + 2, sizeof *argv);

	if (argv == NULL) {
		mcp_text_misuse(reply, "out of memory");
		return;
	}
	argv[0] = mcp_text_argument(call, "program");
	for (size_t i = 0; i < n; i++) {
		argv[i + 1] = json_string_value(json_array_get(args, i));
	}
	run_with(call, argv, reply);
}

/* ---- a script of ours ---- */

void mcp_run_script(const struct mcp_call *call, const char *script, const char *const *names,
		    struct mcp_reply *reply) {
	const char *argv[] = {DEFAULT_SHELL, "-c", script, "corral", NULL, NULL, NULL};

	for (size_t i = 0; names[i] != NULL; i++) {
		argv[4 + i] = mcp_text_argument(call, names[i]);
	}
	run_with(call, argv, reply);
	const json_t *code = json_object_get(reply->data, "exit_code");
	reply->error = reply->error || json_integer_value(code) != 0;
	json_decref(reply->data);
	reply->data = reply->error ? NULL : json_pack("{s:b}", "done", 1);
	if (!reply->error) {
		buf_done(&reply->text);
		buf_init(&reply->text);
		buf_puts(&reply->text, "Done.");
	}
}
