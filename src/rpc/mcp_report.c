/* SPDX-License-Identifier: Apache-2.0 */
/* The MCP tools that report: sandbox_status, explain, why.
 *
 * Should:   answer about the policy of this server, which is that of its commands.
 * Must not: reveal whether a file exists that the sandbox hides; give a value of the environment.
 * Fails:    with the library's error as the reply. */
#include "rpc/mcp_call.h"

#include "base/auto.h"
#include "base/str.h"

#include <stdlib.h>

void mcp_report_status(const struct mcp_call *call, struct mcp_reply *reply) {
	auto_free char *json = NULL, *line = NULL;
	struct corral_error err;

	if (corral_status(call->config->policy, CORRAL_JSON, &json, NULL, &err) != 0 ||
	    corral_summary(call->config->policy, &line, &err) != 0) {
		mcp_text_error(reply, &err);
		return;
	}
	reply->data = json_loads(json, JSON_ALLOW_NUL, NULL);
	buf_puts(&reply->text, line);
}

void mcp_report_explain(const struct mcp_call *call, struct mcp_reply *reply) {
	auto_free char *text = NULL;
	struct corral_error err;

	if (corral_explain(call->config->policy, NULL, CORRAL_PROMPT, &text, &err) != 0) {
		mcp_text_error(reply, &err);
		return;
	}
	buf_puts(&reply->text, text);
	reply->data = json_pack("{s:s}", "text", text);
}

/* ---- why ---- */

/* Each returns 0 with *text and *allowed. */
typedef int answer_fn(const struct mcp_call *call, char **text, int *allowed,
		      struct corral_error *err);

/* corral_why() answers with the caller's rights; the check of the file tools hides whether a
 * hidden path exists. */
static int why_path(const struct mcp_call *call, char **text, int *allowed,
		    struct corral_error *err) {
	const char *access = mcp_text_argument(call, "access");
	struct corral_check check = {
		.path = mcp_text_argument(call, "path"),
		.write = access != NULL && streq(access, "write"),
	};
	struct corral_files *files = NULL;
	int rc = corral_files_new(call->config->policy, &files, err);

	if (rc == 0) {
		rc = corral_files_check(files, &check, CORRAL_TEXT, text, allowed, err);
	}
	corral_files_free(files);
	return rc;
}

static int why_host(const struct mcp_call *call, char **text, int *allowed,
		    struct corral_error *err) {
	struct corral_question question = {
		.size = sizeof question,
		.text = mcp_text_argument(call, "host"),
		.subject = CORRAL_SUBJECT_HOST,
	};

	return corral_why(call->config->policy, &question, CORRAL_TEXT, text, allowed, err);
}

static int why_command(const struct mcp_call *call, char **text, int *allowed,
		       struct corral_error *err) {
	const json_t *words = json_object_get(call->arguments, "command");
	size_t n = json_array_size(words);
	auto_free const char **argv = calloc(n + 1, sizeof *argv);

	if (argv == NULL) {
		return -1;
	}
	for (size_t i = 0; i < n; i++) {
		argv[i] = json_string_value(json_array_get(words, i));
	}
	return corral_command_check(call->config->policy, argv, CORRAL_TEXT, text, allowed, err);
}

static const struct {
	const char *argument;
	answer_fn *answer;
} subjects[] = {{"path", why_path}, {"host", why_host}, {"command", why_command}};

void mcp_report_why(const struct mcp_call *call, struct mcp_reply *reply) {
	auto_free char *text = NULL;
	struct corral_error err = {0};
	answer_fn *answer = NULL;
	size_t given = 0;
	int allowed = 0;

	for (size_t i = 0; i < ARRAY_LEN(subjects); i++) {
		if (json_object_get(call->arguments, subjects[i].argument) != NULL) {
			answer = subjects[i].answer;
			given++;
		}
	}
	if (given != 1) {
		mcp_text_misuse(reply, "Give exactly one of `path`, `host` and `command`.");
	} else if (answer(call, &text, &allowed, &err) != 0) {
		mcp_text_error(reply, &err);
	} else {
		buf_puts(&reply->text, text);
		reply->data = json_pack("{s:b, s:s}", "allowed", allowed, "text", text);
	}
}
