/* SPDX-License-Identifier: Apache-2.0 */
/* Files in an agent's own directory that decide what the agent starts on the host.
 *
 * Should:   hold one row a name, sorted, each with its reason; part of "@agents" where the
 *           directory is granted, see plan/agents.c.
 * Must not: name files that an agent writes while it works: sessions, histories, logs, caches.
 * Fails:    a missing row leaves that name writable in a directory that is granted. */
#include "data/agent_homes.h"

#include "base/auto.h"

#define SETTINGS "settings, which name hooks, servers or other programs"
#define SERVERS "names programs that the agent starts as servers"
#define HOOKS "programs that the agent runs by itself"
#define ORDERS "orders and scripts that the agent follows"
#define CODE "code that the agent loads"
#define TRUST "actions that the agent may take without confirmation"

const struct agent_row agent_rows[] = {
	{".agents", "skills", ORDERS},
	{".claude", "CLAUDE.md", ORDERS},
	{".claude", "agents", ORDERS},
	{".claude", "commands", ORDERS},
	{".claude", "hooks", HOOKS},
	{".claude", "plugins", CODE},
	{".claude", "rules", ORDERS},
	{".claude", "settings*.json", SETTINGS},
	{".claude", "skills", ORDERS},
	{".codex", "AGENTS*.md", ORDERS},
	{".codex", "config.toml", SETTINGS},
	{".codex", "hooks.json", HOOKS},
	{".codex", "prompts", ORDERS},
	{".codex", "rules", TRUST},
	{".codex", "skills", ORDERS},
	{".config/opencode", "AGENTS.md", ORDERS},
	{".config/opencode", "agent*", ORDERS},
	{".config/opencode", "command*", ORDERS},
	{".config/opencode", "opencode.json*", SETTINGS},
	{".config/opencode", "plugin*", CODE},
	{".config/opencode", "skill*", ORDERS},
	{".config/opencode", "tool*", CODE},
	{".continue", "config.*", SETTINGS},
	{".continue", "mcpServers", SERVERS},
	{".copilot", "config.json", SETTINGS},
	{".copilot", "copilot-instructions.md", ORDERS},
	{".copilot", "mcp-config.json", SERVERS},
	{".copilot", "settings.json", SETTINGS},
	{".cursor", "commands", ORDERS},
	{".cursor", "extensions", CODE},
	{".cursor", "hooks*", HOOKS},
	{".cursor", "mcp.json", SERVERS},
	{".cursor", "rules", ORDERS},
	{".gemini", "GEMINI.md", ORDERS},
	{".gemini", "commands", ORDERS},
	{".gemini", "extensions", CODE},
	{".gemini", "policies", TRUST},
	{".gemini", "settings.json", SETTINGS},
	{".gemini", "trustedFolders.json", TRUST},
	{".kiro", "hooks", HOOKS},
	{".kiro", "settings", SERVERS},
	{".kiro", "steering", ORDERS},
	{".qwen", "QWEN.md", ORDERS},
	{".qwen", "agents", ORDERS},
	{".qwen", "commands", ORDERS},
	{".qwen", "extensions", CODE},
	{".qwen", "settings.json", SETTINGS},
};
const size_t agent_rows_count = ARRAY_LEN(agent_rows);
