/* SPDX-License-Identifier: Apache-2.0 */
/* Agent programs that Corral runs as a whole, or whose commands it runs: settings, hooks, MCP.
 *
 * The name of a row is also the name of a profile (data/profiles.c: variables, network, limits).
 * `provider` is the row of data/providers.c with command, hosts, keys, settings and login. */
#ifndef CORRAL_DATA_AGENTS_H
#define CORRAL_DATA_AGENTS_H

#include <stddef.h>

#define AGENT_FLAGS 8

/* The JSON that an agent exchanges with a hook before it runs a tool. */
enum hook_protocol { HOOK_NONE, HOOK_CLAUDE, HOOK_CODEX, HOOK_GEMINI, HOOK_CURSOR, HOOK_COUNT };

/* The form of an entry for an MCP server. */
enum mcp_form {
	MCP_NONE,
	MCP_PLAIN,   /* {"command": "…", "args": […]} */
	MCP_TOOLS,   /* the same, with type and the list of tools */
	MCP_COMMAND, /* {"type": "local", "command": ["…", "mcp"]} */
	MCP_TOML,    /* a table [mcp_servers.corral] */
};

struct agent {
	const char *name;
	const char *provider;
	const char *dir;                /* beneath HOME: its settings and state */
	const char *moved_by;           /* the variable that names another one; NULL */
	const char *flags[AGENT_FLAGS]; /* follow the command in a run with the profile */
	enum hook_protocol hook;
	const char *hook_file; /* in dir */
	enum mcp_form mcp;
	const char *mcp_file; /* in dir, or beneath HOME with a leading "~/" */
	const char *mcp_key;  /* of the object with the servers */
	const char *login;    /* arguments of its login command; NULL: it has none of its own */
	const char *callback; /* the loopback port that the login listens on; NULL: none is fixed */
	const char *open; /* in which case its hook protocol runs a command bare; NULL: no hook */
};

extern const struct agent agents[]; /* sorted by name */
extern const size_t agents_count;

const struct agent *agent_by_name(const char *name);

/* A tool of an agent that runs a command; the other tools are denied if the hook gets them. */
struct hook_tool {
	enum hook_protocol protocol;
	const char *event; /* of hook_event_name */
	const char *tool;  /* of tool_name */
	const char *field; /* of its input: the command */
};

extern const struct hook_tool hook_tools[];
extern const size_t hook_tools_count;

/* How a hook is entered in the settings of an agent. */
struct hook_entry {
	const char *event;   /* the key beneath "hooks" */
	const char *matcher; /* NULL: the entry is a handler without a group */
	const char *timeout; /* a day, in the agent's unit; setTimeout() of Node takes 24 days */
	const char *more;    /* further JSON members of the handler, with a leading comma */
	const char *project; /* the variable with the project's directory; NULL: none */
};

extern const struct hook_entry hook_entries[HOOK_COUNT];

#endif
