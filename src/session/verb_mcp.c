/* SPDX-License-Identifier: Apache-2.0 */
/* `corral mcp`: the settings of the server, from the command line.
 *
 * Should:   check the whole policy before the first message, so that a mistake in it fails at once.
 * Must not: print to stdout: it belongs to the protocol; read a policy from stdin; prompt.
 * Fails:    closed, through the library's error. */
#include "session/verbs.h"

#include "rpc/mcp_call.h"
#include "rpc/mcp_http.h"
#include "rpc/token_file.h"

#include <errno.h>
#include <jansson.h>
#include <sodium.h>
#include <stdlib.h>
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
	if (inv->token_file != NULL && inv->http_port == NULL) {
		return usage_error(
			err, "corral mcp --http PORT --token-file FILE",
			"--token-file is for --http and --session; on stdin no token is needed");
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

static int read_port(const char *text, uint16_t *ret, struct corral_error *err) {
	char *end = NULL;
	long n = text[0] >= '0' && text[0] <= '9' ? strtol(text, &end, 10) : -1;

	if (n < 0 || n > UINT16_MAX || *end != '\0') {
		return usage_error(err, "corral mcp --http 8080, or 0 for a free port",
				   "--http: \"%s\" is not a port", text);
	}
	*ret = (uint16_t)n;
	return 0;
}

/* The token of --token-file, or a new one, which *ret_shown says is to be shown. */
static int get_token(const char *file, char text[TOKEN_TEXT_LENGTH + 1], struct token_hash *ret,
		     struct corral_error *err) {
	if (file != NULL && token_file_read(file, text, err) == 0) {
		return token_hash_text(text, ret);
	}
	if (file != NULL && err->sys_errno != ENOENT) {
		return -1;
	}
	token_make(text, ret);
	return file == NULL ? 0 : token_file_write(file, text, err);
}

/* A model reads them in each result; here the user does, in the log of the agent. */
static void print_warnings(const struct mcp_config *config) {
	const json_t *text;
	size_t i;

	json_array_foreach(config->warnings, i, text) {
		print_note("warning: %s", json_string_value(text));
	}
}

struct announced {
	const char *token; /* NULL: it is in a file */
	const char *file;
	const struct mcp_config *config;
};

/* On stderr: stdout is for programs, and this is the only time that the token is shown. */
static void announce(void *arg, uint16_t port) {
	const struct announced *a = arg;

	print_note("MCP on http://127.0.0.1:%u/mcp", port);
	if (a->file != NULL) {
		print_note("clients need the token of %s: Authorization: Bearer TOKEN", a->file);
	} else {
		print_note("clients need this token: Authorization: Bearer %s", a->token);
	}
	print_warnings(a->config); /* the address is the first line */
}

static int serve_http(const struct invocation *inv, const struct mcp_config *config,
		      struct corral_error *err) {
	char text[TOKEN_TEXT_LENGTH + 1] = "";
	struct token_hash hash;
	struct announced a = {.token = text, .file = inv->token_file, .config = config};
	struct mcp_http how = {.token = &hash, .ready = announce, .arg = &a};

	if (sodium_init() < 0) {
		return setup_error(err, "", "libsodium cannot be initialised");
	}
	if (read_port(inv->http_port, &how.port, err) != 0 ||
	    get_token(inv->token_file, text, &hash, err) != 0) {
		return -1;
	}
	int rc = mcp_http_serve(config, &how, err);
	sodium_memzero(text, sizeof text);
	return rc;
}

int verb_mcp(struct invocation *inv, struct corral_error *err) {
	struct mcp_config config = {
		.policy = inv->policy, .shell = inv->shell, .tools = inv->tools};

	if (inv->session != NULL && inv->nwords == 0) {
		return verb_mcp_session(inv, err);
	}
	corral_policy_passphrase(inv->policy, &(struct corral_passphrase){.read = no_passphrase});
	if (check_words(inv, err) != 0 || mcp_config_init(&config, err) != 0) {
		return -1;
	}
	json_object_seed(0); /* before there are threads */
	if (inv->http_port == NULL) {
		print_warnings(&config);
	}
	int rc = inv->http_port != NULL ? serve_http(inv, &config, err)
					: mcp_serve(&config, STDIN_FILENO, STDOUT_FILENO, err);
	mcp_config_done(&config);
	return rc;
}
