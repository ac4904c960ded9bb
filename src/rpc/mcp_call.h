/* SPDX-License-Identifier: Apache-2.0 */
/* One call of a tool: its arguments, its progress, its result. */
#ifndef CORRAL_RPC_MCP_CALL_H
#define CORRAL_RPC_MCP_CALL_H

#include "rpc/mcp.h"

#include "base/buf.h"
#include "base/err.h"

struct mcp_call {
	const struct mcp_config *config;
	json_t *arguments; /* checked against the tool's schema */
	int cancel;        /* an eventfd: readable after a cancellation */
	uint64_t key;      /* in a session: of corral_session_kill() */
	/* Gets the output of a command as it comes; NULL: the client does not want it. */
	void (*output)(void *arg, const char *bytes, size_t len);
	void *output_arg;
};

/* The result of a tool: text for the model, and the same as data. */
struct mcp_reply {
	struct buf text;
	json_t *data;    /* by the tool's output schema; NULL: an error without data */
	json_t *content; /* further items of `content`; NULL: none */
	bool error;
	bool of_session; /* the policy is that of a session, not of `corral mcp` */
};

/* Fills the reply; out of memory, text.failed is set, or data is NULL without an error. */
typedef void mcp_tool_fn(const struct mcp_call *call, struct mcp_reply *reply);

enum mcp_hint {
	MCP_READ_ONLY = 1,
	MCP_DESTRUCTIVE = 2,
	MCP_IDEMPOTENT = 4,
	MCP_OPEN_WORLD = 8, /* it may reach a network, if the policy has one */
};

struct mcp_tool {
	const char *name, *title, *description;
	const char *input, *output; /* JSON Schemas; `properties` and `required` of an object */
	unsigned hints;
	mcp_tool_fn *call;
};

extern const struct mcp_tool mcp_tools[];
extern const size_t mcp_tools_count;

/* Whether --tools offers it.  -1 for a list with an unknown name, which is in *ret_name. */
int mcp_tools_check(const char *list, char *ret_name, size_t cap);
bool mcp_tools_offers(const char *list, const char *name);

/* The tool, if --tools offers it; NULL. */
const struct mcp_tool *mcp_tools_find(const char *list, const char *name);

/* `tools` of tools/list for a revision: a new reference. */
json_t *mcp_tools_list(const char *list, const struct mcp_revision *revision);

/* ---- mcp_schema.c ---- */

/* Checks arguments by the input schema of a tool: 0, or -1 with the reason for a model. */
int mcp_schema_check(const struct mcp_tool *tool, json_t *arguments, struct buf *why);

/* {"type": "object", …} of such a schema: a new reference. */
json_t *mcp_schema_object(const char *schema, bool closed);

/* ---- mcp_text.c ---- */

/* The origin of a key that an argument sets. */
#define MCP_ORIGIN "argument of the tool call"

/* Any bytes as a JSON string; those that are not UTF-8 become U+FFFD. */
json_t *mcp_text_value(const char *bytes, size_t len);

/* The length of the text without an incomplete character at its end. */
size_t mcp_text_whole(const char *bytes, size_t len);
bool mcp_text_is_utf8(const char *bytes, size_t len);

/* The members of an argument; NULL, fallback or false when it is not there. */
const char *mcp_text_argument(const struct mcp_call *call, const char *name);
int64_t mcp_text_number(const struct mcp_call *call, const char *name, int64_t fallback);
bool mcp_text_flag(const struct mcp_call *call, const char *name, bool fallback);

/* The reply for an error of the library, with the remedy. */
void mcp_text_error(struct mcp_reply *reply, const struct corral_error *err);
/* The reply for a path that corral_files_check() refuses, with its text. */
void mcp_text_refused(struct mcp_reply *reply, const char *text);
/* The reply for a wrong use of a tool. */
void mcp_text_misuse(struct mcp_reply *reply, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* The text that explains a result of corral_run() to a model. */
void mcp_text_result(const json_t *data, struct buf *out);

/* base64; the caller frees it.  NULL out of memory, or for decode: not base64. */
char *mcp_text_encode(const char *bytes, size_t len);
char *mcp_text_decode(const char *text, size_t *ret_len);

/* ---- mcp_leaks.c: 0, or -1 with a reply that refuses ---- */

/* A text from the model that is to be written; the names of files among the arguments. */
int mcp_leaks_argument(const struct mcp_call *call, const char *bytes, size_t len,
		       struct mcp_reply *reply);
int mcp_leaks_names(const struct mcp_call *call, struct mcp_reply *reply);

/* A text for the model: whether scan.output finds a secret in it; *bytes without the secrets. */
int mcp_leaks_find(const struct mcp_call *call, const char *bytes, size_t len, bool *ret,
		   struct mcp_reply *reply);
int mcp_leaks_output(const struct mcp_call *call, char **bytes, size_t *len,
		     struct mcp_reply *reply);

/* ---- the tools ---- */

/* Runs argv in config->session; the arguments are those of `exec`. */
void mcp_run_in_session(const struct mcp_call *call, const char *const *argv,
			struct mcp_reply *reply);
/* The reply of a result, which it frees. */
void mcp_run_finish(struct corral_result *result, struct mcp_reply *reply);

/* Runs a script of ours with these arguments of the call as $1 and $2; names ends with NULL.  The
 * data of a success is {"done": true}. */
void mcp_run_script(const struct mcp_call *call, const char *script, const char *const *names,
		    struct mcp_reply *reply);

mcp_tool_fn mcp_run_shell, mcp_run_exec;
mcp_tool_fn mcp_names_make_directory, mcp_names_move, mcp_names_delete;
mcp_tool_fn mcp_files_read, mcp_files_write, mcp_files_edit, mcp_files_list, mcp_files_send;
mcp_tool_fn mcp_report_status, mcp_report_explain, mcp_report_why;

#endif
