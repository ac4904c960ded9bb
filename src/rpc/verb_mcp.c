/* SPDX-License-Identifier: Apache-2.0 */
/* `corral mcp`: the settings of the server, from the command line.
 *
 * Should:   check the whole policy before the first message, so that a mistake in it fails at once.
 * Must not: print to stdout: it belongs to the protocol; read a policy from stdin; prompt.
 * Fails:    closed, through the library's error. */
#include "cli/cli.h"

#include "rpc/mcp_call.h"

#include <jansson.h>
#include <unistd.h>

static int check_words(const struct invocation *inv, struct corral_error *err) {
	char unknown[64];

	if (inv->nwords > 0) {
		return usage_error(err, "corral mcp [options]", "corral mcp takes no argument: %s",
				   inv->words[0]);
	}
	if (inv->policy_stream) {
		return usage_error(err, "write the policy to a file: --policy FILE",
				   "corral mcp reads the policy anew for each call, so it needs "
				   "a path, not stdin or a descriptor");
	}
	if (mcp_tools_check(inv->tools, unknown, sizeof unknown) != 0) {
		return usage_error(err, "corral mcp --tools shell,read_file",
				   "--tools: there is no tool \"%s\"", unknown);
	}
	return 0;
}

/* A prompt would appear on the agent's terminal, and each call would need the line anew. */
static long no_passphrase(void *arg, int fresh, char *out, size_t cap) {
	(void)arg;
	(void)fresh;
	if (cap > 0) {
		out[0] = '\0';
	}
	return -1;
}

int verb_mcp(struct invocation *inv, struct corral_error *err) {
	struct mcp_config config = {
		.policy = inv->policy, .shell = inv->shell, .tools = inv->tools};

	corral_policy_passphrase(inv->policy, &(struct corral_passphrase){.read = no_passphrase});
	if (check_words(inv, err) != 0 || mcp_config_init(&config, err) != 0) {
		return -1;
	}
	json_object_seed(0); /* before there are threads */
	int rc = mcp_serve(&config, STDIN_FILENO, STDOUT_FILENO, err);
	mcp_config_done(&config);
	return rc;
}
