/* SPDX-License-Identifier: Apache-2.0 */
/* The texts that Corral enters in the settings of agents. */
#ifndef CORRAL_AGENTS_ENTRY_H
#define CORRAL_AGENTS_ENTRY_H

#include "base/buf.h"
#include "data/agents.h"

#include <stdbool.h>

/* The command line of the hook: it denies with a reason also if the program is missing or dies. */
void entry_hook_command(const struct agent *agent, const char *program, struct buf *out);

/* Whether a command line is one of Corral's for this agent. */
bool entry_is_hook(const struct agent *agent, const char *command);

/* One element of the list of hooks of the event. */
void entry_hook(const struct agent *agent, const char *command, struct buf *out);

/* The value of an entry for an MCP server. */
void entry_mcp(const struct agent *agent, const char *program, struct buf *out);

/* The hash by which Codex recognises a hook that its user trusts: "sha256:" and 64 digits. */
#define ENTRY_HASH 72
void entry_codex_hash(const struct agent *agent, const char *command, char out[ENTRY_HASH]);

#endif
