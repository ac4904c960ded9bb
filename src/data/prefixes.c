/* SPDX-License-Identifier: Apache-2.0 */
/* The names of host products for ids and places of a run.
 *
 * Should:   hold one row a variable; a product without rows gets those of "*".
 * Must not: hold values: the plan has them.
 * Fails:    closed: a name without a row is not set. */
#include "data/prefixes.h"

#include "base/auto.h"

#include <string.h>

const struct prefix_row prefix_rows[] = {
	{"*", "AGENT_DIR", SOURCE_AGENT},
	{"*", "SANDBOX_ID", SOURCE_SANDBOX_ID},
	{"*", "SESSION_ID", SOURCE_LABEL},
	{"*", "SOCKET", SOURCE_SOCKET},
	{"*", "WORKSPACE_DIR", SOURCE_WORKSPACE},
	{"ASH", "AGENT_DIR", SOURCE_AGENT},
	{"ASH", "BRIDGE_SOCKET", SOURCE_SOCKET},
	{"ASH", "SANDBOX_ID", SOURCE_SANDBOX_ID},
	{"ASH", "SESSION_ID", SOURCE_LABEL_OR_EMPTY},
	{"ASH", "WORKSPACE_DIR", SOURCE_WORKSPACE},
	{"OBEY", "CAMPAIGN_DIR", SOURCE_WORKSPACE},
	{"OBEY", "CAMPAIGN_ID", SOURCE_LABEL},
	{"OBEY", "DAEMON_SOCKET", SOURCE_SOCKET},
	{"OBEY", "PROVIDER", SOURCE_LABEL},
	{"OBEY", "SESSION_ID", SOURCE_LABEL},
};
const size_t prefix_rows_count = ARRAY_LEN(prefix_rows);

const char *prefixes_rows_of(const char *prefix) {
	for (size_t i = 0; i < prefix_rows_count; i++) {
		if (strcmp(prefix_rows[i].prefix, prefix) == 0) {
			return prefix_rows[i].prefix;
		}
	}
	return PREFIX_ANY;
}

bool prefixes_compute(const char *name) {
	static const char *const own[] = {"LEVEL", "WORKSPACE"}; /* of CORRAL_ */
	for (size_t i = 0; i < ARRAY_LEN(own); i++) {
		if (strcmp(own[i], name) == 0) {
			return true;
		}
	}
	for (size_t i = 0; i < prefix_rows_count; i++) {
		if (prefix_rows[i].source != SOURCE_LABEL &&
		    prefix_rows[i].source != SOURCE_LABEL_OR_EMPTY &&
		    strcmp(prefix_rows[i].name, name) == 0) {
			return true;
		}
	}
	return false;
}
