/* SPDX-License-Identifier: Apache-2.0 */
/* Agent programs: directory, flags, hook, MCP entry and login of each, one row an agent.
 *
 * Should:   hold a fact once: hosts, keys, settings files and the command are in
 *           data/providers.c, variables and limits in data/profiles.c, files that name programs
 *           in data/agent_homes.c.
 * Must not: hold a flag that gives the agent more rights on the host than its default.
 * Fails:    a wrong flag is an error of the agent; a wrong hook file is found by
 *           `corral agents check`. */
#include "data/agents.h"

#include "base/auto.h"

#include <string.h>

#define STOPPED "a hook that is stopped for a day, the time limit of its entry"

/* clang-format off */
const struct agent agents[] = {
	{"aider", "aider", .dir = ".aider"},
	{"amp", "amp", .dir = ".config/amp", .mcp = MCP_PLAIN, .mcp_file = "settings.json", .mcp_key = "amp.mcpServers",
	 .login = "login"},
	{"claude", "claude-code", .dir = ".claude", .moved_by = "CLAUDE_CONFIG_DIR",
	 .flags = {"--settings", "{\"sandbox\":{\"enabled\":false}}"},
	 .hook = HOOK_CLAUDE, .hook_file = "settings.json", .mcp = MCP_PLAIN, .mcp_file = "~/.claude.json", .mcp_key = "mcpServers",
	 .login = "auth login", .open = "versions that do not know onFailure: " STOPPED "; \"disableAllHooks\": true in its settings or in a project's"},
	{"codex", "codex", .dir = ".codex", .moved_by = "CODEX_HOME",
	 .flags = {"-c", "sandbox_mode=\"danger-full-access\"", "-c", "analytics.enabled=false", "-c",
		   "check_for_update_on_startup=false"},
	 .hook = HOOK_CODEX, .hook_file = "hooks.json", .mcp = MCP_TOML, .mcp_file = "config.toml", .mcp_key = "mcp_servers",
	 .login = "login", .callback = "1455",
	 .open = "a hook that its user did not trust, or that was changed since, is skipped without a message; features.hooks = false in its settings or in a trusted project's; " STOPPED},
	{"copilot", "copilot", .dir = ".copilot", .moved_by = "COPILOT_HOME", .flags = {"--no-sandbox", "--disable-client-telemetry"},
	 .mcp = MCP_TOOLS, .mcp_file = "mcp-config.json", .mcp_key = "mcpServers",
	 .login = "login"},
	{"cursor", "cursor", .dir = ".cursor", .flags = {"--sandbox", "disabled"},
	 .hook = HOOK_CURSOR, .hook_file = "hooks.json", .mcp = MCP_PLAIN, .mcp_file = "mcp.json", .mcp_key = "mcpServers",
	 .login = "login", .open = "versions that do not know failClosed: " STOPPED},
	{"gemini", "gemini", .dir = ".gemini", .hook = HOOK_GEMINI, .hook_file = "settings.json", .mcp = MCP_PLAIN,
	 .mcp_file = "settings.json", .mcp_key = "mcpServers",
	 .open = STOPPED "; \"hooksConfig\": {\"enabled\": false}, or its command in \"disabled\" there, in its settings or in a project's"},
	{"goose", "goose", .dir = ".config/goose", .login = "configure"},
	{"opencode", "opencode", .dir = ".config/opencode", .mcp = MCP_COMMAND, .mcp_file = "opencode.json", .mcp_key = "mcp",
	 .login = "auth login"},
};

const struct hook_tool hook_tools[] = {
	{HOOK_CLAUDE, "PreToolUse", "Bash", "command"},
	{HOOK_CODEX, "PreToolUse", "Bash", "command"},
	{HOOK_GEMINI, "BeforeTool", "run_shell_command", "command"},
	{HOOK_CURSOR, "preToolUse", "Shell", "command"},
};

/* The time limit is a day: after it some agents run the command without the hook.  A hook that hangs makes the agent
 * wait instead, which its user notices.  `corral hook` itself ends after 20 seconds. */
const struct hook_entry hook_entries[HOOK_COUNT] = {
	[HOOK_CLAUDE] = {"PreToolUse", "Bash", "86400", ", \"onFailure\": \"block\"", "CLAUDE_PROJECT_DIR"},
	[HOOK_CODEX] = {"PreToolUse", "Bash", "86400", "", NULL},
	[HOOK_GEMINI] = {"BeforeTool", "run_shell_command", "86400000", "", "GEMINI_PROJECT_DIR"},
	[HOOK_CURSOR] = {"preToolUse", "Shell", "86400", ", \"failClosed\": true", "CURSOR_PROJECT_DIR"},
};
/* clang-format on */
const size_t agents_count = ARRAY_LEN(agents);
const size_t hook_tools_count = ARRAY_LEN(hook_tools);

const struct agent *agent_by_name(const char *name) {
	for (size_t i = 0; i < agents_count; i++) {
		if (strcmp(agents[i].name, name) == 0) {
			return &agents[i];
		}
	}
	return NULL;
}
