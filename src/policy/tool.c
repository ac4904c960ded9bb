/* SPDX-License-Identifier: Apache-2.0 */
/* Expands env.tools: each tool's directory becomes a path of fs.read and of env.path_prepend.
 *
 * In the sandbox a tool is in a directory of the root, which the command cannot write: in its
 * private home it could rename the directory above the tool, and put another program there.
 *
 * Should:   run after the requests of a skill, which cannot name tools and does not lose them.
 * Must not: trust a name: it becomes a part of a path.
 * Fails:    closed: a tool that is not installed refuses the run; lib/tools.c checks the hash. */
#include "policy/internal.h"

#include "base/path.h"

#include <string.h>

#define TOOL_NAME_MAX 64

bool policy_tool_name(const char *s) {
	size_t n = strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.+-");
	return n > 0 && s[n] == '\0' && n <= TOOL_NAME_MAX && strchr(".+-", s[0]) == NULL;
}

static int refuse(const struct item *it, const char *why, struct err *e) {
	char name[80], from[SHOWN_MAX];
	(void)err_set(e, ERR_REFUSED, "policy", "env.tools %s (%s): %s",
		      value_shown(it->str, name, sizeof name),
		      policy_origin_text(&it->origin, from, sizeof from), why);
	return err_fix(e, "list the tools: corral tool list; install one: corral tool install NAME "
			  "FILE");
}

/* Tools come before the directories of the policy. */
static int put_first(struct arena *a, struct value *first, struct value *rest, struct err *e) {
	for (size_t i = 0; i < rest->count; i++) {
		if (value_put(a, &keys[KEY_ENV_PATH_PREPEND], first, &rest->items[i], e) != 0) {
			return -1;
		}
	}
	*rest = *first;
	return 0;
}

int tool_expand(struct arena *a, const struct policy_inputs *in, struct policy *p, struct err *e) {
	const struct value *names = &p->values[KEY_ENV_TOOLS];
	struct value first = {0};
	for (size_t i = 0; i < names->count; i++) {
		const struct item *it = &names->items[i];
		struct item dir = {.origin = it->origin, .tool = true};
		bool is_dir = false;
		if (!policy_tool_name(it->str)) {
			return refuse(it, "not a valid name of a tool", e);
		}
		if (in->tools_dir == NULL) {
			return refuse(it, "tools of this host are not known here", e);
		}
		dir.str = arena_printf(a, "%s/%s/" TOOL_BIN, in->tools_dir, it->str);
		dir.at = arena_printf(a, TOOLS_AT "/%s", it->str);
		if (dir.str == NULL || dir.at == NULL) {
			return err_memory(e, "policy");
		}
		if (policy_path_find(in->fs, dir.str, NULL, &is_dir) != 0 || !is_dir) {
			return refuse(it, "it is not installed", e);
		}
		if (value_put(a, &keys[KEY_FS_READ], &p->values[KEY_FS_READ], &dir, e) != 0 ||
		    value_put(a, &keys[KEY_ENV_PATH_PREPEND], &first, &dir, e) != 0) {
			return -1;
		}
	}
	return names->count == 0 ? 0 : put_first(a, &first, &p->values[KEY_ENV_PATH_PREPEND], e);
}
