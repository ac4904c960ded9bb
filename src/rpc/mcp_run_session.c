/* SPDX-License-Identifier: Apache-2.0 */
/* The MCP tools that run a command, in a session: one sandbox for all calls.
 *
 * Should:   run every command by corral_session_run(); let the sandbox resolve working_dir.
 * Must not: set a limit from an argument that is higher than the policy's: the library lowers
 *           only (M1).
 * Fails:    closed: an argument that cannot be applied stops the call. */
#include "rpc/mcp_call.h"

#include "base/auto.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void free_list(char **list) {
	for (size_t i = 0; list != NULL && list[i] != NULL; i++) {
		free(list[i]);
	}
	free(list);
}

/* "NAME=value" for each member of `env`; NULL after a reply. */
static char **environment_of(const struct mcp_call *call, struct mcp_reply *reply) {
	json_t *env = json_object_get(call->arguments, "env"), *value;
	char **list = calloc(json_object_size(env) + 1, sizeof *list);
	const char *name;
	size_t n = 0;

	json_object_foreach(env, name, value) {
		bool good = list != NULL && name[0] != '\0' && strchr(name, '=') == NULL;
		if (!good || asprintf(&list[n], "%s=%s", name, json_string_value(value)) < 0) {
			mcp_text_misuse(reply, "Invalid argument `env`: \"%.80s\" is not a name",
					name);
			if (list != NULL) {
				list[n] = NULL;
			}
			free_list(list);
			return NULL;
		}
		n++;
	}
	if (list == NULL) {
		mcp_text_misuse(reply, "out of memory");
	}
	return list;
}

static void pass_output(void *arg, int stream, const char *bytes, size_t len) {
	const struct mcp_call *call = arg;

	(void)stream;
	call->output(call->output_arg, bytes, len);
}

void mcp_run_in_session(const struct mcp_call *call, const char *const *argv,
			struct mcp_reply *reply) {
	struct corral_exec_options how = CORRAL_EXEC_OPTIONS_INIT;
	struct corral_result *result = NULL;
	struct corral_error err = {0};
	struct mcp_call copy = *call;
	const json_t *timeout = json_object_get(call->arguments, "timeout");
	char **env = environment_of(call, reply);

	if (env == NULL) {
		return;
	}
	how.env = (const char *const *)env;
	how.directory = mcp_text_argument(call, "working_dir");
	how.timeout_ms = timeout == NULL ? 0 : (int64_t)(json_number_value(timeout) * 1000.0);
	how.key = call->key;
	if (call->output != NULL) {
		how.output = pass_output;
		how.output_arg = &copy;
	}
	if (corral_session_run(call->config->session, argv, &how, &result, &err) != 0) {
		buf_puts(&reply->text, "The command was not run. ");
		mcp_text_error(reply, &err);
	} else {
		mcp_run_finish(result, reply);
	}
	free_list(env);
}
