/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the settings of an agent: where they are, and which of Corral's entries they have.
 *
 * Should:   answer from the files as they are now.
 * Must not: change anything.
 * Fails:    closed: settings that cannot be read have no hook. */
#include "agents/editing.h"

#include "agents/entry.h"
#include "base/str.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int too_long(struct err *e) {
	return err_set(e, ERR_USAGE, "agents", "the path of the agent's settings is too long");
}

int agents_path(char out[PATH_MAX], const char *dir, const char *name, struct err *e) {
	int n = snprintf(out, PATH_MAX, "%s/%s", dir, name);
	return n < 0 || n >= PATH_MAX ? too_long(e) : 0;
}

int agents_place(const struct agent *agent, struct agent_place *ret, struct err *e) {
	const char *moved = agent->moved_by == NULL ? NULL : getenv(agent->moved_by);

	memset(ret, 0, sizeof *ret);
	ret->home = getenv("HOME");
	if (ret->home == NULL || ret->home[0] != '/') {
		return err_set(e, ERR_USAGE, "agents", "HOME is not an absolute path");
	}
	if (moved != NULL && moved[0] == '/') {
		ret->moved = true;
		if (snprintf(ret->dir, PATH_MAX, "%s", moved) >= PATH_MAX) {
			return too_long(e);
		}
	} else if (agents_path(ret->dir, ret->home, agent->dir, e) != 0) {
		return -1;
	}
	if (agent->hook_file != NULL &&
	    agents_path(ret->hook_file, ret->dir, agent->hook_file, e) != 0) {
		return -1;
	}
	if (agent->mcp_file == NULL) {
		return 0;
	}
	return str_starts(agent->mcp_file, "~/")
		       ? agents_path(ret->mcp_file, ret->home, agent->mcp_file + 2, e)
		       : agents_path(ret->mcp_file, ret->dir, agent->mcp_file, e);
}

int installed_hook_command(const struct agent *agent, struct buf *ret, struct err *e) {
	struct agent_place place;
	struct change c = {.missing = false};
	struct editing ed = {.path = place.hook_file, .text = &c.after};
	size_t group, handler;

	if (agents_place(agent, &place, e) != 0) {
		return -1;
	}
	int rc = editing_load(&c, place.hook_file, e) != 0 ? -1 : editing_parse(&ed, e);
	const json_t *own = rc == 0 ? settings_own_hook(agent, ed.root, &group, &handler) : NULL;
	if (own != NULL) {
		buf_puts(ret, json_string_value(json_object_get(own, "command")));
	}
	editing_done(&ed);
	buf_done(&c.before);
	buf_done(&c.after);
	return rc != 0 || buf_failed(ret) ? -1 : 0;
}

bool installed_mcp(const struct agent *agent) {
	struct agent_place place;
	struct err e;

	return agent->mcp != MCP_NONE && agents_place(agent, &place, &e) == 0 &&
	       settings_mcp_is_there(agent, place.mcp_file, NULL);
}

bool installed_trusted(const struct agent *agent) {
	struct changes c = {.n = 0};
	struct agent_place place;
	struct buf command;
	struct err e;

	if (agent->hook != HOOK_CODEX) {
		return true;
	}
	buf_init(&command);
	struct editing ed = {.path = place.hook_file, .text = &c.items[0].after};
	bool trusted = installed_hook_command(agent, &command, &e) == 0 && command.len > 0 &&
		       agents_place(agent, &place, &e) == 0 &&
		       editing_load(&c.items[0], place.hook_file, &e) == 0 &&
		       editing_parse(&ed, &e) == 0 &&
		       settings_codex_trust(agent, ed.root, command.data, &c.items[1], &e) == 0 &&
		       !editing_differs(&c.items[1]);
	editing_done(&ed);
	buf_done(&command);
	settings_done(&c);
	return trusted;
}

/* The handler of an entry as Corral writes it; the caller releases it. */
static json_t *expected_handler(const struct agent *agent) {
	struct buf text;

	buf_init(&text);
	entry_hook(agent, "", &text);
	json_t *entry = buf_failed(&text) ? NULL : json_loadb(text.data, text.len, 0, NULL);
	buf_done(&text);
	json_t *first = json_array_get(json_object_get(entry, "hooks"), 0);
	json_t *handler = json_incref(first == NULL ? entry : first);
	json_decref(entry);
	return handler;
}

static bool is_as_good(const char *key, const json_t *value, const json_t *wanted) {
	if (streq(key, "command") || streq(key, "matcher")) {
		return true; /* other checks */
	}
	return streq(key, "timeout") ? json_number_value(value) >= json_number_value(wanted)
				     : json_equal(value, wanted) != 0;
}

bool installed_blocks(const struct agent *agent) {
	struct agent_place place;
	struct change c = {.missing = false};
	struct editing ed = {.path = place.hook_file, .text = &c.after};
	struct err e;
	size_t group, handler;
	json_t *expected = expected_handler(agent);
	bool blocks = false;

	if (expected != NULL && agents_place(agent, &place, &e) == 0 &&
	    editing_load(&c, place.hook_file, &e) == 0 && editing_parse(&ed, &e) == 0) {
		const json_t *own = settings_own_hook(agent, ed.root, &group, &handler);
		const char *key;
		json_t *wanted;
		blocks = own != NULL;
		json_object_foreach(expected, key, wanted) {
			blocks = blocks && is_as_good(key, json_object_get(own, key), wanted);
		}
	}
	json_decref(expected);
	editing_done(&ed);
	buf_done(&c.before);
	buf_done(&c.after);
	return blocks;
}

static bool matches_all(const char *matcher, const char *wanted) {
	return matcher == NULL || matcher[0] == '\0' || streq(matcher, "*") ||
	       streq(matcher, ".*") || streq(matcher, wanted);
}

bool installed_applies(const struct agent *agent) {
	struct agent_place place;
	struct change c = {.missing = false};
	struct editing ed = {.path = place.hook_file, .text = &c.after};
	struct err e;
	bool applies = false;

	if (agents_place(agent, &place, &e) == 0 && editing_load(&c, place.hook_file, &e) == 0 &&
	    editing_parse(&ed, &e) == 0) {
		const json_t *group = settings_own_group(agent, ed.root);
		const json_t *config = json_object_get(ed.root, "hooksConfig");
		applies = group != NULL &&
			  matches_all(json_string_value(json_object_get(group, "matcher")),
				      hook_entries[agent->hook].matcher) &&
			  !json_is_true(json_object_get(ed.root, "disableAllHooks")) &&
			  !json_is_false(json_object_get(config, "enabled"));
	}
	editing_done(&ed);
	buf_done(&c.before);
	buf_done(&c.after);
	return applies;
}
