/* SPDX-License-Identifier: Apache-2.0 */
/* The MCP tools that change names: make_directory, move, delete.
 *
 * The library makes the change, as for write_file, so that the rules about commands do not apply.
 * Two cases are out of its reach, and a fixed command of the sandbox serves them: a path that only
 * a session has (its /tmp, a private HOME that is not kept, its copy-on-write workspace), and a
 * move from one mount of the sandbox to another, which has to copy.
 *
 * Should:   use the file tools of the library, with the server's policy; pass each name to the leak
 *           rules (rpc/mcp_leaks.c).
 * Must not: resolve a path itself; run a command for a path that the library refuses by a rule.
 * Fails:    closed, with the library's error or the result of the command. */
#include "rpc/mcp_call.h"

#include "base/auto.h"
#include "base/str.h"

#include <errno.h>
#include <libgen.h>
#include <stdlib.h>
#include <string.h>

#define MUST_EXIST "[ -e \"$1\" ] || [ -L \"$1\" ] || { echo \"$1 does not exist\" >&2; exit 1; }; "
#define MUST_BE_FREE                                                                               \
	"if [ -e \"$2\" ] || [ -L \"$2\" ]; then echo \"$2 exists already\" >&2; exit 1; fi; "

/* One tool: the library's function, and the command inside. */
struct change {
	int (*make)(const struct corral_files *files, const struct mcp_call *call,
		    struct corral_error *err);
	const char *script;
	const char *names[3]; /* of the arguments that are paths */
};

/* ---- whose path it is ---- */

static const char *member(const json_t *object, const char *name) {
	const char *text = json_string_value(json_object_get(object, name));
	return text == NULL ? "" : text;
}

/* Whether the directory of the path is one that the file tools cannot reach, because it belongs to
 * the session.  The directory is checked, not the name, which may be a symlink. */
static bool is_of_session(const struct corral_files *files, const char *path) {
	auto_free char *copy = strdup(path);

	if (copy == NULL) {
		return false;
	}
	auto_free char *text = NULL;
	struct corral_error err;
	const struct corral_check check = {.path = dirname(copy), .write = 1};
	if (corral_files_check(files, &check, CORRAL_JSON, &text, NULL, &err) != 0) {
		return false;
	}
	json_t *verdict = json_loads(text, 0, NULL);
	const char *rule = member(verdict, "rule");
	bool outside = streq(member(verdict, "error"), "outside") && !streq(rule, "fs.tools");
	bool found = outside || streq(rule, "fs.cow");
	json_decref(verdict);
	return found;
}

static bool runs_inside(const struct corral_files *files, const struct mcp_call *call,
			const struct change *c) {
	for (size_t i = 0; call->config->session != NULL && c->names[i] != NULL; i++) {
		if (is_of_session(files, mcp_text_argument(call, c->names[i]))) {
			return true;
		}
	}
	return false;
}

/* ---- the change ---- */

static void change(const struct mcp_call *call, const struct change *c, struct mcp_reply *reply) {
	struct corral_files *files = NULL;
	struct corral_error err = {0};

	if (mcp_leaks_names(call, reply) != 0) {
		return;
	}
	if (corral_files_new(call->config->policy, &files, &err) != 0) {
		mcp_text_error(reply, &err);
		return;
	}
	bool inside = runs_inside(files, call, c);
	int rc = inside ? 0 : c->make(files, call, &err);
	corral_files_free(files);
	if (inside || (rc != 0 && err.kind == CORRAL_E_FILE && err.sys_errno == EXDEV)) {
		mcp_run_script(call, c->script, c->names, reply);
	} else if (rc != 0) {
		mcp_text_error(reply, &err);
	} else {
		reply->data = json_pack("{s:b}", "done", 1);
		buf_puts(&reply->text, "Done.");
	}
}

static int make_directory(const struct corral_files *files, const struct mcp_call *call,
			  struct corral_error *err) {
	return corral_files_make_directory(files, mcp_text_argument(call, "path"),
					   CORRAL_DIRECTORY_PARENTS, err);
}

void mcp_names_make_directory(const struct mcp_call *call, struct mcp_reply *reply) {
	const struct change c = {make_directory, "exec mkdir -p -- \"$1\"", {"path"}};

	change(call, &c, reply);
}

static int move(const struct corral_files *files, const struct mcp_call *call,
		struct corral_error *err) {
	return corral_files_move(
		files, mcp_text_argument(call, "from"), mcp_text_argument(call, "to"),
		mcp_text_flag(call, "overwrite", false) ? CORRAL_MOVE_REPLACE : 0U, err);
}

void mcp_names_move(const struct mcp_call *call, struct mcp_reply *reply) {
	const struct change c = {move,
				 mcp_text_flag(call, "overwrite", false)
					 ? MUST_EXIST "exec mv -f -T -- \"$1\" \"$2\""
					 : MUST_EXIST MUST_BE_FREE "exec mv -T -- \"$1\" \"$2\"",
				 {"from", "to"}};

	change(call, &c, reply);
}

static int delete_entry(const struct corral_files *files, const struct mcp_call *call,
			struct corral_error *err) {
	return corral_files_delete(
		files, mcp_text_argument(call, "path"),
		mcp_text_flag(call, "recursive", false) ? CORRAL_DELETE_RECURSIVE : 0U, err);
}

void mcp_names_delete(const struct mcp_call *call, struct mcp_reply *reply) {
	const struct change c = {
		delete_entry,
		mcp_text_flag(call, "recursive", false) ? MUST_EXIST "exec rm -r -f -- \"$1\""
							: MUST_EXIST
			"if [ -d \"$1\" ] && [ ! -L \"$1\" ]; then exec rmdir -- \"$1\"; "
			"fi; exec rm -f -- \"$1\"",
		{"path"}};

	change(call, &c, reply);
}
