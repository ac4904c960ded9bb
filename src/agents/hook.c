/* SPDX-License-Identifier: Apache-2.0 */
/* Answers an agent's hook: the command, rewritten so that Corral runs it, in the agent's protocol.
 *
 * Should:   keep every other field of the tool's input; name the workspace, so that the directory
 *           in which a model starts the command does not choose the writable tree.
 * Must not: judge the command: the sandbox is the boundary.
 * Fails:    closed: an event, tool or field that is not in data/agents.c is denied, and so is
 *           JSON with a duplicate key, which two parsers may read differently. */
#include "agents/agents.h"

#include "base/emit.h"
#include "base/path.h"
#include "base/str.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

static void json_drop(json_t **j) {
	json_decref(*j);
}
#define auto_json __attribute__((cleanup(json_drop))) json_t *

static const char *text_of(const json_t *object, const char *key) {
	return json_string_value(json_object_get(object, key));
}

/* The row for this event and tool. */
static const struct hook_tool *find_tool(enum hook_protocol protocol, const json_t *root,
					 struct err *e) {
	const char *event = text_of(root, "hook_event_name"), *tool = text_of(root, "tool_name");

	if (event == NULL || tool == NULL) {
		(void)err_set(e, ERR_USAGE, "hook",
			      "the event has no hook_event_name or tool_name");
		return NULL;
	}
	for (size_t i = 0; i < hook_tools_count; i++) {
		const struct hook_tool *row = &hook_tools[i];
		if (row->protocol == protocol && streq(row->event, event) &&
		    streq(row->tool, tool)) {
			return row;
		}
	}
	(void)err_set(e, ERR_REFUSED, "hook",
		      "Corral does not know the tool %.64s of the event %.64s", tool, event);
	(void)err_fix(e, "let the hook's matcher name only tools that run commands");
	return NULL;
}

static bool is_directory_name(const char *path) {
	return path != NULL && path[0] == '/' && strlen(path) < PATH_MAX;
}

/* The directory that becomes the workspace: the project's, or where the agent works. */
static int find_workspace(const struct hook_call *call, const json_t *root, char out[PATH_MAX + 2],
			  struct err *e) {
	const char *cwd = text_of(root, "cwd"), *project = call->project;
	char there[PATH_MAX + 2];

	if (project == NULL) {
		project = json_string_value(
			json_array_get(json_object_get(root, "workspace_roots"), 0));
	}
	if (cwd == NULL && project != NULL) {
		cwd = project;
	}
	if (!is_directory_name(cwd) || (project != NULL && !is_directory_name(project))) {
		return err_set(e, ERR_USAGE, "hook", "the event has no absolute path as cwd");
	}
	path_normalize(cwd, there);
	path_normalize(project == NULL ? cwd : project, out);
	if (!path_within(there, out)) {
		(void)err_set(e, ERR_REFUSED, "hook",
			      "the working directory %.100s is not in the project %.100s", there,
			      out);
		return err_fix(e, "change to a directory of the project");
	}
	return 0;
}

/* 'corral' run OPTIONS --workspace 'DIR' -- 'SHELL' -c 'COMMAND' */
static void put_command(const struct hook_call *call, const char *workspace, const char *command,
			struct buf *out) {
	quote_word(out, call->program, strlen(call->program));
	buf_puts(out, " run");
	for (size_t i = 0; call->options[i] != NULL; i++) {
		buf_puts(out, " ");
		quote_word(out, call->options[i], strlen(call->options[i]));
	}
	buf_puts(out, " --workspace ");
	quote_word(out, workspace, strlen(workspace));
	buf_puts(out, " -- ");
	quote_word(out, call->shell, strlen(call->shell));
	buf_puts(out, " -c ");
	quote_word(out, command, strlen(command));
}

/* Where each protocol expects the decision and the new input. */
static void put_answer(const struct hook_call *call, const struct hook_tool *tool,
		       const char *input, struct buf *out) {
	struct emit j;

	emit_init(&j, out, false);
	emit_object(&j, NULL);
	if (call->protocol == HOOK_CURSOR) {
		emit_string(&j, "permission", "allow");
		emit_raw(&j, "updated_input", input, strlen(input));
		emit_end_object(&j);
		return;
	}
	emit_object(&j, "hookSpecificOutput");
	emit_string(&j, "hookEventName", tool->event);
	if (call->protocol == HOOK_GEMINI) {
		emit_raw(&j, "tool_input", input, strlen(input));
	} else {
		emit_string(&j, "permissionDecision", "allow");
		emit_raw(&j, "updatedInput", input, strlen(input));
	}
	emit_end_object(&j);
	emit_end_object(&j);
}

static int rewrite(const struct hook_call *call, const struct hook_tool *tool, const json_t *root,
		   struct buf *out, struct err *e) {
	json_t *input = json_object_get(root, "tool_input");
	const char *command = text_of(input, tool->field);
	char workspace[PATH_MAX + 2];
	struct buf wrapped;

	if (command == NULL || command[0] == '\0') {
		return err_set(e, ERR_USAGE, "hook", "tool_input has no text %s", tool->field);
	}
	if (find_workspace(call, root, workspace, e) != 0) {
		return -1;
	}
	buf_init(&wrapped);
	put_command(call, workspace, command, &wrapped);
	int rc = buf_failed(&wrapped) || json_object_set_new(input, tool->field,
							     json_string(wrapped.data)) != 0
			 ? err_memory(e, "hook")
			 : 0;
	buf_done(&wrapped);
	char *text = rc == 0 ? json_dumps(input, JSON_COMPACT) : NULL;
	if (rc == 0 && text == NULL) {
		rc = err_memory(e, "hook");
	}
	if (rc == 0) {
		put_answer(call, tool, text, out);
	}
	free(text);
	return rc;
}

int hook_answer(const struct hook_call *call, const char *input, size_t len, struct buf *out,
		struct err *e) {
	json_error_t where;

	if (memchr(input, '\0', len) != NULL) {
		return err_set(e, ERR_USAGE, "hook", "the event has a NUL byte");
	}
	auto_json root = json_loadb(input, len, JSON_REJECT_DUPLICATES, &where);
	if (!json_is_object(root)) {
		return err_set(e, ERR_USAGE, "hook", "stdin is not a JSON object: %.100s",
			       root == NULL ? where.text : "another value");
	}
	const struct hook_tool *tool = find_tool(call->protocol, root, e);
	if (tool == NULL) {
		return -1;
	}
	if (call->inside) {
		buf_puts(out, "{}");
	} else if (rewrite(call, tool, root, out, e) != 0) {
		return -1;
	}
	return buf_failed(out) ? err_memory(e, "hook") : 0;
}

void hook_deny(enum hook_protocol protocol, const char *reason, struct buf *out) {
	struct emit j;

	emit_init(&j, out, false);
	emit_object(&j, NULL);
	if (protocol == HOOK_CURSOR) {
		emit_string(&j, "permission", "deny");
		emit_string(&j, "user_message", reason);
		emit_string(&j, "agent_message", reason);
	} else if (protocol == HOOK_GEMINI) {
		emit_string(&j, "decision", "deny");
		emit_string(&j, "reason", reason);
	} else {
		emit_object(&j, "hookSpecificOutput");
		emit_string(&j, "hookEventName", hook_entries[protocol].event);
		emit_string(&j, "permissionDecision", "deny");
		emit_string(&j, "permissionDecisionReason", reason);
		emit_end_object(&j);
	}
	emit_end_object(&j);
}
