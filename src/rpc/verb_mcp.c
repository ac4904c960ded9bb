/* SPDX-License-Identifier: Apache-2.0 */
/* `corral mcp`: the settings of the server from the command line.
 *
 * Should:   check the whole policy before the first message, so that a wrong one fails at the
 * start. Must not: print to stdout: it belongs to the protocol. Fails:    closed, through the
 * library's error. */
#include "cli/cli.h"

#include "rpc/mcp.h"

#include <unistd.h>

int verb_mcp(struct invocation *inv, struct corral_error *err) {
	struct mcp_config config = {.policy = inv->policy};

	if (inv->nwords > 0) {
		return usage_error(err, "corral mcp [options]", "corral mcp takes no argument: %s",
				   inv->words[0]);
	}
	return mcp_serve(&config, STDIN_FILENO, STDOUT_FILENO, err);
}
