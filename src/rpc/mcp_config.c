/* SPDX-License-Identifier: Apache-2.0 */
/* The settings of the MCP server, from the resolved policy.
 *
 * Should:   resolve and plan the policy once at the start, so that a mistake in it ends the server
 *           instead of each call.
 * Must not: keep anything of the policy that a later call would use instead of the policy itself,
 *           except the limits that bound an argument.
 * Fails:    closed, through the library's error. */
#include "rpc/mcp.h"

#include "base/auto.h"
#include "base/err.h"
#include "base/str.h"
#include "rpc/mcp_call.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int out_of_memory(struct corral_error *err) {
	*err = (struct corral_error){.kind = CORRAL_E_MEMORY};
	(void)snprintf(err->layer, sizeof err->layer, "mcp");
	(void)snprintf(err->message, sizeof err->message, "out of memory");
	return -1;
}

/* The value of a key in the JSON of corral_explain(). */
static const char *value_of(const json_t *explained, const char *key) {
	const json_t *values = json_object_get(json_object_get(explained, "policy"), "values");

	return json_string_value(json_object_get(json_object_get(values, key), "value"));
}

/* off and warn let a finding pass, block and kill refuse it. */
static enum mcp_leak leak_of(const json_t *explained, const char *key) {
	const char *action = value_of(explained, key);

	if (action == NULL || streq(action, "redact")) {
		return MCP_LEAK_REDACT;
	}
	return streq(action, "off") || streq(action, "warn") ? MCP_LEAK_PASS : MCP_LEAK_REFUSE;
}

static int read_values(struct mcp_config *config, const json_t *explained,
		       struct corral_error *err) {
	const json_t *plan = json_object_get(explained, "plan");
	const json_t *timeout = json_object_get(json_object_get(plan, "limits"), "timeout_ms");
	const char *start = json_string_value(json_object_get(plan, "cwd"));

	config->timeout_ms = json_is_integer(timeout) ? json_integer_value(timeout) : -1;
	config->args = leak_of(explained, "scan.args");
	config->output = leak_of(explained, "scan.output");
	config->start = start == NULL ? NULL : strdup(start);
	config->warnings = json_incref(json_object_get(plan, "warnings"));
	return config->start == NULL ? out_of_memory(err) : 0;
}

static int make_scanner(struct mcp_config *config, struct corral_error *err) {
	struct corral_scan_options options = {.size = sizeof options};

	if (config->args == MCP_LEAK_PASS && config->output == MCP_LEAK_PASS) {
		return 0;
	}
	return corral_scanner_new(&options, &config->scanner, err);
}

int mcp_config_init(struct mcp_config *config, struct corral_error *err) {
	auto_free char *text = NULL;

	if (corral_explain(config->policy, NULL, CORRAL_JSON, &text, err) != 0) {
		return -1;
	}
	json_t *explained = json_loads(text, 0, NULL);
	int rc = explained == NULL ? out_of_memory(err) : read_values(config, explained, err);
	json_decref(explained);
	if (rc == 0) {
		rc = make_scanner(config, err);
	}
	if (rc == 0) {
		rc = corral_explain(config->policy, NULL, CORRAL_PROMPT, &config->instructions,
				    err);
	}
	if (rc != 0) {
		mcp_config_done(config);
	}
	return rc;
}

void mcp_config_done(struct mcp_config *config) {
	free(config->start);
	free(config->instructions);
	corral_scanner_free(config->scanner);
	json_decref(config->warnings);
	config->start = config->instructions = NULL;
	config->warnings = NULL;
	config->scanner = NULL;
}
