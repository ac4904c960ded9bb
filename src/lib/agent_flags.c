/* SPDX-License-Identifier: Apache-2.0 */
/* Adds an agent's own flags to its command in a run with the profile of that agent.
 *
 * The flags switch off the agent's own sandbox, which cannot be set up inside, and reports to its
 * vendor.  They follow the command's name, so that a flag of the caller comes later and wins.
 *
 * Should:   leave each other command, and each other profile, as it is.
 * Must not: search the table for a plain run: its profile is no agent's.
 * Fails:    with NULL, out of memory. */
#include "lib/internal.h"

#include "base/str.h"
#include "data/agents.h"
#include "data/providers.h"

static const char *name_of(const char *path) {
	const char *slash = strrchr(path, '/');
	return slash == NULL ? path : slash + 1;
}

/* The agent of the profile, if argv starts it. */
static const struct agent *agent_of(const struct policy *policy, const char *const *argv) {
	const struct value *profile = &policy->values[KEY_PROFILE];
	const struct agent *agent =
		profile->origin.kind == ORIGIN_BUILTIN ? NULL : agent_by_name(profile->str);
	if (agent == NULL || argv[0] == NULL) {
		return NULL;
	}
	const char *command = provider_by_name(agent->provider)->command;
	return streq(name_of(argv[0]), command) ? agent : NULL;
}

char **agent_argv(struct arena *a, const struct policy *policy, const char *const *argv) {
	const struct agent *agent = agent_of(policy, argv);
	size_t n = 0, more = 0;

	while (argv[n] != NULL) {
		n++;
	}
	while (agent != NULL && more < AGENT_FLAGS && agent->flags[more] != NULL) {
		more++;
	}
	char **words = arena_array(a, n + more + 1, sizeof *words);
	for (size_t i = 0; words != NULL && i < n + more; i++) {
		bool own = i > 0 && i <= more;
		words[i] = arena_strdup(a, own ? agent->flags[i - 1] : argv[i == 0 ? 0 : i - more]);
		if (words[i] == NULL) {
			return NULL;
		}
	}
	return words;
}
