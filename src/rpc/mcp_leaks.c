/* SPDX-License-Identifier: Apache-2.0 */
/* The leak rules of the MCP tools on files.
 *
 * Should:   treat a text that goes to the model as output of a command (scan.output), and one that
 *           comes from it, names included, as an argument (scan.args); record each finding.
 * Must not: record a name that is a secret.
 * Fails:    closed: what cannot be scanned is not passed on. */
#include "rpc/mcp_call.h"

#include "base/auto.h"

#include <stdlib.h>
#include <string.h>

struct scanned {
	struct buf clean;
	char kind[80]; /* of the first finding; "" */
	/* For the audit log: */
	const struct mcp_call *call;
	const char *path;           /* NULL: nothing is recorded */
	struct corral_files *files; /* NULL before the first finding */
	bool blocks;
};

static void on_found(void *arg, const struct corral_finding *finding) {
	struct scanned *s = arg;
	struct corral_error unused;

	if (s->path != NULL && (s->files != NULL || corral_files_new(s->call->config->policy,
								     &s->files, &unused) == 0)) {
		(void)corral_files_leak(s->files, s->path, finding, s->blocks,
					&unused); /* the decision stands */
	}
	if (s->kind[0] == '\0') {
		(void)strncat(s->kind, finding->kind, sizeof s->kind - 1);
	}
}

static int on_output(void *arg, const void *bytes, size_t len) {
	struct scanned *s = arg;

	buf_add(&s->clean, bytes, len);
	return buf_failed(&s->clean) ? -1 : 0;
}

static int scan(const char *bytes, size_t len, struct scanned *s, struct mcp_reply *reply) {
	struct corral_scan_calls calls = {sizeof calls, on_found, on_output, s};
	struct corral_scan_stream *stream = NULL;
	struct corral_error err;

	int rc = corral_scan_open(s->call->config->scanner, &calls, &stream, &err) != 0 ||
				 corral_scan_feed(stream, bytes, len, &err) != 0 ||
				 corral_scan_end(stream, &err) != 0
			 ? -1
			 : 0;
	corral_scan_close(stream);
	corral_files_free(s->files); /* writes the audit records */
	s->files = NULL;
	if (rc != 0) {
		mcp_text_error(reply, &err);
	}
	return rc;
}

static int refuse(const char *what, const char *kind, const char *option, struct mcp_reply *reply) {
	mcp_text_misuse(reply,
			"Refused by the leak scanner: %s contains a secret (%s). Nothing was done. "
			"The user can allow it: corral %s %s",
			what, kind, reply->of_session ? "session create" : "mcp", option);
	return -1;
}

int mcp_leaks_argument(const struct mcp_call *call, const char *bytes, size_t len,
		       struct mcp_reply *reply) {
	struct scanned s = {.call = call, .blocks = true, .path = mcp_text_argument(call, "path")};

	if (call->config->args == MCP_LEAK_PASS) {
		return 0;
	}
	buf_init(&s.clean);
	int rc = scan(bytes, len, &s, reply);
	buf_done(&s.clean);
	return rc == 0 && s.kind[0] != '\0' ? refuse("the text", s.kind, "--scan-args warn", reply)
					    : rc;
}

/* The record has the name without the secret, which the first scan makes. */
static int check_name(const struct mcp_call *call, const char *name, struct mcp_reply *reply) {
	struct scanned s = {.call = call, .blocks = true};

	buf_init(&s.clean);
	int rc = scan(name, strlen(name), &s, reply);
	if (rc == 0 && s.kind[0] != '\0') {
		struct scanned again = {.call = call, .blocks = true, .path = s.clean.data};
		buf_init(&again.clean);
		(void)scan(name, strlen(name), &again, reply); /* it is refused in any case */
		buf_done(&again.clean);
		rc = refuse("a path", s.kind, "--scan-args warn", reply);
	}
	buf_done(&s.clean);
	return rc;
}

int mcp_leaks_names(const struct mcp_call *call, struct mcp_reply *reply) {
	static const char *const names[] = {"path", "from", "to"};

	for (size_t i = 0; call->config->args != MCP_LEAK_PASS && i < ARRAY_LEN(names); i++) {
		const char *name = mcp_text_argument(call, names[i]);
		if (name != NULL && check_name(call, name, reply) != 0) {
			return -1;
		}
	}
	return 0;
}

int mcp_leaks_find(const struct mcp_call *call, const char *bytes, size_t len, bool *ret,
		   struct mcp_reply *reply) {
	struct scanned s = {.call = call};

	*ret = false;
	if (call->config->output == MCP_LEAK_PASS) {
		return 0;
	}
	buf_init(&s.clean);
	int rc = scan(bytes, len, &s, reply);
	buf_done(&s.clean);
	*ret = s.kind[0] != '\0';
	return rc;
}

int mcp_leaks_output(const struct mcp_call *call, char **bytes, size_t *len,
		     struct mcp_reply *reply) {
	const char *path = mcp_text_argument(call, "path");
	struct scanned s = {.call = call,
			    .path = path == NULL ? "." : path,
			    .blocks = call->config->output == MCP_LEAK_REFUSE};

	buf_init(&s.clean);
	int rc = scan(*bytes, *len, &s, reply);
	if (rc == 0 && s.kind[0] != '\0') {
		rc = s.blocks ? refuse("the text", s.kind, "--scan-output redact", reply) : 0;
		buf_puts(&s.clean, "");
		if (rc == 0) {
			free(*bytes);
			*len = s.clean.len;
			*bytes = buf_take(&s.clean);
		}
	}
	buf_done(&s.clean);
	return rc;
}
