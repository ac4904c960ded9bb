/* SPDX-License-Identifier: Apache-2.0 */
/* The table of MCP tools.
 *
 * Should:   have one row for each tool: its words for the model, its schemas, its function.
 * Must not: have an argument that widens the policy (M1).
 * Fails:    closed: a tool that --tools does not name does not exist for the client. */
#include "rpc/mcp_call.h"

#include "base/auto.h"
#include "base/str.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* clang-format off */
#define WORKING_DIR "\"working_dir\":{\"type\":\"string\",\"description\":\"Directory to start in; default: the workspace.\"}"
#define TIMEOUT "\"timeout\":{\"type\":\"number\",\"minimum\":0.001,\"maximum\":86400,\"description\":\"Seconds until the command is ended; at most the time-out of the policy, which is the default.\"}"
#define PATH(about) "\"path\":{\"type\":\"string\",\"description\":\"" about ", absolute or relative to the workspace.\"}"

#define RUN_OUTPUT \
	"{\"properties\":{" \
	"\"reason\":{\"type\":\"string\",\"description\":\"exit, signal, timeout, idle, oom, limit, cancelled, lost or leak\"}," \
	"\"exit_code\":{\"type\":[\"integer\",\"null\"]}," \
	"\"signal\":{\"type\":[\"string\",\"integer\",\"null\"]}," \
	"\"duration_ms\":{\"type\":\"integer\"}," \
	"\"stdout\":{\"type\":\"string\"}," \
	"\"stderr\":{\"type\":\"string\"}," \
	"\"truncated\":{\"type\":\"object\",\"description\":\"Bytes dropped from the middle of each stream.\"}," \
	"\"ending\":{\"type\":\"string\",\"description\":\"The limit that ended the command, or empty.\"}," \
	"\"id\":{\"type\":\"string\"}," \
	"\"level\":{\"type\":[\"string\",\"null\"]}," \
	"\"guarantees\":{\"type\":\"object\",\"description\":\"enforced, weaker or absent, by name.\"}," \
	"\"denials\":{\"type\":\"array\",\"items\":{\"type\":\"object\"},\"description\":\"Operations that the sandbox refused: op, path or host, why, allow_with.\"}," \
	"\"hint\":{\"type\":[\"object\",\"null\"]}," \
	"\"leaks\":{\"type\":\"array\",\"items\":{\"type\":\"object\"}}," \
	"\"notes\":{\"type\":\"array\",\"items\":{\"type\":\"string\"}}}," \
	"\"required\":[\"reason\",\"exit_code\",\"stdout\",\"stderr\",\"denials\"]}"

#define DONE_OUTPUT "{\"properties\":{\"done\":{\"type\":\"boolean\"}},\"required\":[\"done\"]}"

const struct mcp_tool mcp_tools[] = {
	{"shell", "Run a shell command",
	 "Runs a command line with the shell in the sandbox and returns exit code, stdout and stderr. Files outside the workspace are read-only or hidden; /tmp is new for each command. A refusal names the option that the user can set.",
	 "{\"properties\":{\"command\":{\"type\":\"string\",\"description\":\"The command line, as for sh -c.\"}," WORKING_DIR "," TIMEOUT "},\"required\":[\"command\"]}",
	 RUN_OUTPUT, MCP_DESTRUCTIVE | MCP_OPEN_WORLD, mcp_run_shell},
	{"exec", "Run a program",
	 "Runs a program with its arguments in the sandbox, without a shell, and returns exit code, stdout and stderr.",
	 "{\"properties\":{\"program\":{\"type\":\"string\",\"description\":\"A name in PATH, or a path.\"},\"args\":{\"type\":\"array\",\"items\":{\"type\":\"string\"}},\"env\":{\"type\":\"object\",\"additionalProperties\":{\"type\":\"string\"},\"description\":\"Further variables of the program.\"}," WORKING_DIR "," TIMEOUT "},\"required\":[\"program\"]}",
	 RUN_OUTPUT, MCP_DESTRUCTIVE | MCP_OPEN_WORLD, mcp_run_exec},
	{"read_file", "Read a file",
	 "Returns the content of a file, or a part of it; base64 if it is not text.",
	 "{\"properties\":{" PATH("The file") ",\"offset\":{\"type\":\"integer\",\"minimum\":0,\"maximum\":1099511627776,\"description\":\"First byte; default 0.\"},\"length\":{\"type\":\"integer\",\"minimum\":1,\"maximum\":1048576,\"description\":\"Bytes; default 262144.\"}},\"required\":[\"path\"]}",
	 "{\"properties\":{\"content\":{\"type\":\"string\"},\"encoding\":{\"type\":\"string\",\"enum\":[\"utf-8\",\"base64\"]},\"offset\":{\"type\":\"integer\"},\"length\":{\"type\":\"integer\"},\"size\":{\"type\":\"integer\"},\"truncated\":{\"type\":\"boolean\"}},\"required\":[\"content\",\"encoding\",\"size\",\"truncated\"]}",
	 MCP_READ_ONLY | MCP_IDEMPOTENT, mcp_files_read},
	{"write_file", "Write a file",
	 "Creates a file or replaces its content at once.",
	 "{\"properties\":{" PATH("The file") ",\"content\":{\"type\":\"string\"},\"encoding\":{\"type\":\"string\",\"enum\":[\"utf-8\",\"base64\"],\"description\":\"Of content; default utf-8.\"},\"create_parents\":{\"type\":\"boolean\",\"description\":\"Create missing directories; default true.\"},\"must_be_new\":{\"type\":\"boolean\",\"description\":\"Fail if the file exists; default false.\"}},\"required\":[\"path\",\"content\"]}",
	 "{\"properties\":{\"bytes\":{\"type\":\"integer\"}},\"required\":[\"bytes\"]}",
	 MCP_DESTRUCTIVE | MCP_IDEMPOTENT, mcp_files_write},
	{"edit_file", "Replace text in a file",
	 "Replaces a text in a file. It has to occur exactly once, unless replace_all is set.",
	 "{\"properties\":{" PATH("The file") ",\"old_text\":{\"type\":\"string\",\"description\":\"Compared byte by byte.\"},\"new_text\":{\"type\":\"string\"},\"replace_all\":{\"type\":\"boolean\"}},\"required\":[\"path\",\"old_text\",\"new_text\"]}",
	 "{\"properties\":{\"replacements\":{\"type\":\"integer\"}},\"required\":[\"replacements\"]}",
	 MCP_DESTRUCTIVE, mcp_files_edit},
	{"list_directory", "List a directory",
	 "Lists names, kinds and sizes of a directory, sorted by name.",
	 "{\"properties\":{" PATH("The directory; default: the workspace") "}}",
	 "{\"properties\":{\"entries\":{\"type\":\"array\",\"items\":{\"type\":\"object\",\"properties\":{\"name\":{\"type\":\"string\"},\"kind\":{\"type\":\"string\"},\"size\":{\"type\":\"integer\"},\"mode\":{\"type\":\"integer\"}}}},\"count\":{\"type\":\"integer\"},\"truncated\":{\"type\":\"boolean\"}},\"required\":[\"entries\",\"count\"]}",
	 MCP_READ_ONLY | MCP_IDEMPOTENT, mcp_files_list},
	{"make_directory", "Create a directory",
	 "Creates a directory and its missing parents.",
	 "{\"properties\":{" PATH("The directory") "},\"required\":[\"path\"]}",
	 DONE_OUTPUT, MCP_IDEMPOTENT, mcp_names_make_directory},
	{"move", "Move a file or directory",
	 "Renames a file or directory. Fails if the new name exists, unless overwrite is set.",
	 "{\"properties\":{\"from\":{\"type\":\"string\"},\"to\":{\"type\":\"string\"},\"overwrite\":{\"type\":\"boolean\"}},\"required\":[\"from\",\"to\"]}",
	 DONE_OUTPUT, MCP_DESTRUCTIVE, mcp_names_move},
	{"delete", "Delete a file or directory",
	 "Deletes a file, a symbolic link or an empty directory; with recursive a whole directory.",
	 "{\"properties\":{" PATH("The file or directory") ",\"recursive\":{\"type\":\"boolean\"}},\"required\":[\"path\"]}",
	 DONE_OUTPUT, MCP_DESTRUCTIVE, mcp_names_delete},
	{"send_file", "Send a file to the user",
	 "Returns a whole file of at most 25 MiB as an embedded resource. A file with a secret in it is refused.",
	 "{\"properties\":{" PATH("The file") "},\"required\":[\"path\"]}",
	 "{\"properties\":{\"size\":{\"type\":\"integer\"}},\"required\":[\"size\"]}",
	 MCP_READ_ONLY | MCP_IDEMPOTENT, mcp_files_send},
	{"sandbox_status", "Status of the sandbox",
	 "Reports the level of enforcement, the engine and every guarantee: enforced, weaker or absent.",
	 "{\"properties\":{}}", "{}", MCP_READ_ONLY | MCP_IDEMPOTENT, mcp_report_status},
	{"explain", "Explain the boundary",
	 "Describes in one paragraph which files, hosts and limits the commands have.",
	 "{\"properties\":{}}",
	 "{\"properties\":{\"text\":{\"type\":\"string\"}},\"required\":[\"text\"]}",
	 MCP_READ_ONLY | MCP_IDEMPOTENT, mcp_report_explain},
	{"why", "Is it allowed, and why",
	 "Tells whether a path, a host or a command is allowed, by which rule, and which option of the user would allow it. Runs nothing.",
	 "{\"properties\":{" PATH("A path") ",\"access\":{\"type\":\"string\",\"enum\":[\"read\",\"write\"],\"description\":\"To the path; default read.\"},\"host\":{\"type\":\"string\",\"description\":\"NAME, NAME:PORT, address or URL.\"},\"command\":{\"type\":\"array\",\"items\":{\"type\":\"string\"},\"description\":\"A program and its arguments.\"}}}",
	 "{\"properties\":{\"allowed\":{\"type\":\"boolean\"},\"text\":{\"type\":\"string\"}},\"required\":[\"allowed\",\"text\"]}",
	 MCP_READ_ONLY | MCP_IDEMPOTENT, mcp_report_why},
};
/* clang-format on */

const size_t mcp_tools_count = ARRAY_LEN(mcp_tools);

/* The next name of a list; NULL after the last. */
static const char *next_name(const char **list, size_t *ret_len) {
	const char *name = *list;

	if (name == NULL) {
		return NULL;
	}
	*ret_len = strcspn(name, ",");
	*list = name[*ret_len] == ',' ? name + *ret_len + 1 : NULL;
	return name;
}

static const struct mcp_tool *find(const char *name, size_t len) {
	for (size_t i = 0; i < mcp_tools_count; i++) {
		if (strlen(mcp_tools[i].name) == len &&
		    strncmp(mcp_tools[i].name, name, len) == 0) {
			return &mcp_tools[i];
		}
	}
	return NULL;
}

int mcp_tools_check(const char *list, char *ret_name, size_t cap) {
	const char *name;
	size_t len = 0;

	while ((name = next_name(&list, &len)) != NULL) {
		if (find(name, len) == NULL) {
			(void)snprintf(ret_name, cap, "%.*s", (int)(len < cap ? len : cap), name);
			return -1;
		}
	}
	return 0;
}

bool mcp_tools_offers(const char *list, const char *name) {
	const char *one;
	size_t len = 0;

	if (list == NULL) {
		return true;
	}
	while ((one = next_name(&list, &len)) != NULL) {
		if (strlen(name) == len && strncmp(one, name, len) == 0) {
			return true;
		}
	}
	return false;
}

const struct mcp_tool *mcp_tools_find(const char *list, const char *name) {
	return mcp_tools_offers(list, name) ? find(name, strlen(name)) : NULL;
}

static json_t *annotations_of(const struct mcp_tool *tool) {
	unsigned h = tool->hints;

	return json_pack("{s:s, s:b, s:b, s:b, s:b}", "title", tool->title, "readOnlyHint",
			 (h & MCP_READ_ONLY) != 0, "destructiveHint", (h & MCP_DESTRUCTIVE) != 0,
			 "idempotentHint", (h & MCP_IDEMPOTENT) != 0, "openWorldHint",
			 (h & MCP_OPEN_WORLD) != 0);
}

static json_t *describe(const struct mcp_tool *tool, const struct mcp_revision *revision) {
	json_t *row =
		json_pack("{s:s, s:s, s:o}", "name", tool->name, "description", tool->description,
			  "inputSchema", mcp_schema_object(tool->input, true));

	if ((revision->features & MCP_ANNOTATIONS) != 0) {
		(void)json_object_set_new(row, "annotations", annotations_of(tool));
	}
	if ((revision->features & MCP_STRUCTURED) != 0) {
		(void)json_object_set_new(row, "title", json_string(tool->title));
		(void)json_object_set_new(row, "outputSchema",
					  mcp_schema_object(tool->output, false));
	}
	return row;
}

json_t *mcp_tools_list(const char *list, const struct mcp_revision *revision) {
	json_t *rows = json_array();

	for (size_t i = 0; i < mcp_tools_count; i++) {
		if (mcp_tools_offers(list, mcp_tools[i].name)) {
			(void)json_array_append_new(rows, describe(&mcp_tools[i], revision));
		}
	}
	return rows;
}
