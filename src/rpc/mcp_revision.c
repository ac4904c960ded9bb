/* SPDX-License-Identifier: Apache-2.0 */
/* The table of MCP revisions.
 *
 * Should:   have one row for each revision, with the features that differ.
 * Must not: contain a revision whose features the server does not have.
 * Fails:    with NULL for an unknown revision. */
#include "rpc/mcp.h"

#include "base/auto.h"
#include "base/str.h"

/* clang-format off */
const struct mcp_revision mcp_revisions[] = {
	{"2026-07-28", MCP_ANNOTATIONS | MCP_PROGRESS_TEXT | MCP_STRUCTURED | MCP_STATELESS},
	{"2025-11-25", MCP_ANNOTATIONS | MCP_PROGRESS_TEXT | MCP_STRUCTURED | MCP_RESUME | MCP_PRIMES},
	{"2025-06-18", MCP_ANNOTATIONS | MCP_PROGRESS_TEXT | MCP_STRUCTURED | MCP_RESUME},
	{"2025-03-26", MCP_ANNOTATIONS | MCP_PROGRESS_TEXT | MCP_BATCH | MCP_RESUME},
	{"2024-11-05", 0},
};
/* clang-format on */

const size_t mcp_revisions_count = ARRAY_LEN(mcp_revisions);

const struct mcp_revision *mcp_revision_find(const char *name) {
	for (size_t i = 0; i < mcp_revisions_count; i++) {
		if (streq(mcp_revisions[i].name, name)) {
			return &mcp_revisions[i];
		}
	}
	return NULL;
}

const struct mcp_revision *mcp_revision_fallback(void) {
	size_t i = 0;

	while ((mcp_revisions[i].features & MCP_STATELESS) != 0) {
		i++;
	}
	return &mcp_revisions[i];
}

json_t *mcp_revision_names(void) {
	json_t *names = json_array();

	for (size_t i = 0; i < mcp_revisions_count; i++) {
		/* A failure shows as a shorter list. */
		(void)json_array_append_new(names, json_string(mcp_revisions[i].name));
	}
	return names;
}
