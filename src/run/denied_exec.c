/* SPDX-License-Identifier: Apache-2.0 */
/* Judges programs that the command may see and not execute: commands.default = deny, or a tree that
 * is shown without the right to execute.
 *
 * Should:   name the rule and the option that lists the program.
 * Must not: execute or open anything.
 * Fails:    open: out of memory there is no denial. */
#include "run/denials_judge.h"

#include "base/buf.h"
#include "base/path.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

bool denied_exec_works(const char *path) {
	struct stat st;

	return stat(path, &st) == 0 && S_ISREG(st.st_mode) &&
	       faccessat(AT_FDCWD, path, X_OK, AT_EACCESS) == 0;
}

/* "--allow-command /opt/tool", quoted for a shell. */
static const char *option_for(struct arena *a, const char *option, const char *path) {
	struct buf out;

	buf_init(&out);
	buf_puts(&out, option);
	buf_shell_word(&out, "", path);
	const char *text = buf_failed(&out) ? NULL : arena_strdup(a, out.data);
	buf_done(&out);
	return text;
}

/* By the list of commands.  The administrator's list has no exception. */
static void judge_listed(const struct judging *g, const char *path, struct denial *ret) {
	const struct value *floor = policy_floor(g->policy, KEY_COMMANDS_DEFAULT);
	const struct value *by = &g->policy->values[KEY_COMMANDS_DEFAULT];
	char origin[128];

	policy_origin_text(floor != NULL ? &floor->origin : &by->origin, origin, sizeof origin);
	ret->rule = "commands.default deny";
	ret->origin = arena_strdup(g->a, origin);
	ret->why =
		arena_printf(g->a, "%s is not a listed command, and commands.default is deny (%s)",
			     path, origin);
	if (floor != NULL) {
		ret->remedy = arena_printf(g->a,
					   "no option allows it: list it where that is "
					   "written (%s)",
					   origin);
		return;
	}
	ret->allow_with = option_for(g->a, "--allow-command ", path);
	ret->remedy =
		ret->allow_with == NULL ? NULL : arena_printf(g->a, "list it: %s", ret->allow_with);
}

/* By a grant that shows the tree without the right to execute. */
static void judge_shown(const struct judging *g, const char *path, const char *host,
			struct denial *ret) {
	ret->rule = "fs.view";
	ret->origin = "built-in";
	ret->why = arena_printf(g->a, "the sandbox shows %s without the right to execute", path);
	ret->allow_with = option_for(g->a, "--read ", host);
	ret->remedy = ret->allow_with == NULL ? NULL
					      : arena_printf(g->a, "grant it: %s", ret->allow_with);
}

bool denied_exec_judge(const struct judging *g, const struct journal_refusal *r,
		       struct denial *ret) {
	bool known = r->resolved[0][0] == '/';
	const char *path = path_normal(g->a, known ? r->resolved[0] : r->named[0]);
	const char *host = path == NULL ? NULL : denials_host_path(g->a, g->plan, path);

	if (host == NULL || plan_executes(g->plan, path) || !denied_exec_works(host)) {
		return false;
	}
	*ret = (struct denial){
		.op = r->op,
		.path = arena_strdup(g->a, r->named[0]),
		.resolved = known && strcmp(path, r->named[0]) != 0 ? path : NULL,
		.error = r->error,
		.count = r->count,
	};
	if (g->plan->exec_limited) {
		judge_listed(g, path, ret);
	} else {
		judge_shown(g, path, host, ret);
	}
	return ret->path != NULL && ret->why != NULL && ret->remedy != NULL;
}
