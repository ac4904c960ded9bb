/* SPDX-License-Identifier: Apache-2.0 */
/* An agent's loop around libcorral: take a command from the model, run it inside, hand back the
 * result.
 *
 *     agent_loop WORKSPACE SCRIPT
 *
 * SCRIPT stands in for the model: one shell command a line, "-" for stdin.  For each command the
 * program prints one line, the JSON object of corral(1), which is what a model would read.
 * An empty line and a line that begins with # are skipped.
 *
 * Should:   print one object for every command, also for one that could not be run.
 * Must not: run a command in any other way than through corral_run().
 * Fails:    closed, status 1: without a policy no command runs. */
#include <corral.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What the commands may do.  Keys and values are those of corral-policy(5). */
static struct corral_policy *make_policy(const char *workspace, struct corral_error *err) {
	static const char *const rows[][2] = {
		{"limits.timeout", "30s"},
		{"limits.output", "64K"}, /* a model pays for every byte */
		{"fs.deny", "@sensitive"},
	};
	struct corral_policy *policy = corral_policy_new();

	if (policy == NULL) {
		(void)snprintf(err->message, sizeof err->message, "out of memory");
		return NULL;
	}
	int failed = corral_policy_set(policy, "workspace", workspace, err);
	for (size_t i = 0; i < sizeof rows / sizeof rows[0] && !failed; i++) {
		failed = corral_policy_set(policy, rows[i][0], rows[i][1], err);
	}
	if (failed) {
		corral_policy_free(policy);
		return NULL;
	}
	return policy;
}

/* Runs one command and returns its JSON object, which the caller frees; NULL when memory is out. */
static char *tool_call(const struct corral_policy *policy, const char *command) {
	const char *argv[] = {"/bin/sh", "-c", command, NULL};
	struct corral_error err = {0};
	struct corral_result *result = NULL;
	char *json = NULL;

	if (corral_run(policy, argv, NULL, &result, &err) != 0) {
		return corral_error_json(&err, &json) == 0 ? json : NULL;
	}
	int failed = corral_result_json(result, &json, &err);
	corral_result_free(result);
	return failed ? NULL : json;
}

static int loop(const struct corral_policy *policy, FILE *model) {
	char *line = NULL;
	size_t size = 0;
	int status = 0;

	while (status == 0 && getline(&line, &size, model) > 0) {
		line[strcspn(line, "\n")] = '\0';
		if (line[0] == '\0' || line[0] == '#') {
			continue;
		}
		char *json = tool_call(policy, line);
		status = json == NULL || printf("%s\n", json) < 0 || fflush(stdout) != 0;
		free(json);
	}
	free(line);
	return status || ferror(model);
}

int main(int argc, char **argv) {
	struct corral_error err = {0};

	if (argc != 3) {
		fprintf(stderr, "usage: agent_loop WORKSPACE SCRIPT\n");
		return 2;
	}
	FILE *model = strcmp(argv[2], "-") == 0 ? stdin : fopen(argv[2], "re");
	if (model == NULL) {
		perror(argv[2]);
		return 1;
	}
	struct corral_policy *policy = make_policy(argv[1], &err);
	if (policy == NULL) {
		fprintf(stderr, "agent_loop: %s\n%s\n", err.message, err.remedy);
		return 1;
	}
	int status = loop(policy, model);
	corral_policy_free(policy);
	return status;
}
