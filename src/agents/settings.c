/* SPDX-License-Identifier: Apache-2.0 */
/* Computes the settings of an agent with and without Corral's hook or MCP server.
 *
 * Should:   change only Corral's own entries, and write the same text if they are there already.
 * Must not: write a file: change.c does, after the user saw the difference.
 * Fails:    closed: settings that cannot be parsed, before or after, are an error. */
#include "agents/editing.h"

#include "agents/entry.h"
#include "agents/toml_table.h"
#include "base/str.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SERVER "corral"
#define SERVERS "mcp_servers" /* in TOML */

void settings_done(struct changes *c) {
	for (size_t i = 0; i < CHANGES_MAX; i++) {
		buf_done(&c->items[i].before);
		buf_done(&c->items[i].after);
	}
	*c = (struct changes){.n = 0};
}

static bool is_own(const struct agent *agent, const json_t *handler) {
	const char *command = json_string_value(json_object_get(handler, "command"));
	return command != NULL && entry_is_hook(agent, command);
}

/* The first of Corral's handlers: its group and its number in the group; NULL. */
const json_t *settings_own_hook(const struct agent *agent, const json_t *root, size_t *ret_group,
				size_t *ret_handler) {
	const json_t *groups =
		json_object_get(json_object_get(root, "hooks"), hook_entries[agent->hook].event);
	json_t *group, *handler;
	size_t g, h;

	json_array_foreach(groups, g, group) {
		*ret_group = g;
		*ret_handler = 0;
		if (is_own(agent, group)) {
			return group;
		}
		json_array_foreach(json_object_get(group, "hooks"), h, handler) {
			*ret_handler = h;
			if (is_own(agent, handler)) {
				return handler;
			}
		}
	}
	return NULL;
}

/* Removes all of Corral's handlers. */
static int drop_hooks(const struct agent *agent, struct editing *ed, struct err *e) {
	const char *event = hook_entries[agent->hook].event;
	size_t group, handler, dropped = 0;

	for (; settings_own_hook(agent, ed->root, &group, &handler) != NULL; dropped++) {
		struct span list, item, member, inner;
		if (!editing_find(ed, "hooks", event, &list) ||
		    !jsonc_item(&ed->plain, list, group, &item)) {
			return err_set(e, ERR_USAGE, "agents",
				       "%.200s has a key with escapes; edit it by hand", ed->path);
		}
		bool alone = !jsonc_member(&ed->plain, item, "hooks", &member, &inner) ||
			     !jsonc_item(&ed->plain, inner, 1, &member);
		if (editing_remove(ed, alone ? list : inner, alone ? group : handler, e) != 0) {
			return -1;
		}
	}
	return dropped == 0 ? 0 : editing_prune(ed, "hooks", event, e);
}

/* The group of Corral's handler; NULL. */
const json_t *settings_own_group(const struct agent *agent, const json_t *root) {
	size_t group, handler;

	if (settings_own_hook(agent, root, &group, &handler) == NULL) {
		return NULL;
	}
	return json_array_get(
		json_object_get(json_object_get(root, "hooks"), hook_entries[agent->hook].event),
		group);
}

/* Whether the entry in the settings equals the one that would be written. */
static bool is_current(const struct agent *agent, const struct editing *ed, const char *item) {
	json_t *wanted = json_loads(item, 0, NULL);
	bool same = wanted != NULL && json_equal(settings_own_group(agent, ed->root), wanted) == 1;

	json_decref(wanted);
	return same;
}

static int put_item(const struct agent *agent, struct editing *ed, const char *item,
		    struct err *e) {
	if (is_current(agent, ed, item)) {
		return 0;
	}
	if (drop_hooks(agent, ed, e) != 0) {
		return -1;
	}
	if (agent->hook == HOOK_CURSOR && json_object_get(ed->root, "version") == NULL &&
	    editing_add(ed, jsonc_root(&ed->plain), "\"version\": 1", e) != 0) {
		return -1;
	}
	return editing_add_at(ed, "hooks", hook_entries[agent->hook].event, item, e);
}

static int put_hook(const struct agent *agent, struct editing *ed, const char *command,
		    struct err *e) {
	struct buf item;

	buf_init(&item);
	entry_hook(agent, command, &item);
	int rc = buf_failed(&item) ? err_memory(e, "agents") : put_item(agent, ed, item.data, e);
	buf_done(&item);
	return rc;
}

/* [hooks.state."FILE:pre_tool_use:GROUP:HANDLER"] of Codex's config.toml.  Codex resolves symlinks
 * of the directory only where its variable names it. */
static int codex_header(const struct agent *agent, const struct agent_place *place,
			const json_t *root, struct buf *out) {
	char real[PATH_MAX];
	size_t group, handler;
	const char *dir = place->moved && realpath(place->dir, real) != NULL ? real : place->dir;

	if (settings_own_hook(agent, root, &group, &handler) == NULL) {
		return 0;
	}
	buf_puts(out, "[hooks.state.");
	toml_key(out, dir);
	out->len--; /* the name goes on before the closing quote */
	buf_printf(out, "/hooks.json:pre_tool_use:%zu:%zu\"]", group, handler);
	return 1;
}

/* Trusts the hook as it is now, or removes that trust. */
int settings_codex_trust(const struct agent *agent, const json_t *root, const char *command,
			 struct change *config, struct err *e) {
	struct agent_place place;
	struct buf header, lines;
	char path[PATH_MAX];

	if (agents_place(agent, &place, e) != 0 ||
	    agents_path(path, place.dir, "config.toml", e) != 0 ||
	    editing_load(config, path, e) != 0) {
		return -1;
	}
	buf_init(&header);
	buf_init(&lines);
	int rc = 0;
	if (codex_header(agent, &place, root, &header) > 0) {
		toml_table_remove(&config->after, header.data);
		if (command != NULL) {
			char hash[ENTRY_HASH];
			entry_codex_hash(agent, command, hash);
			buf_printf(&lines, "trusted_hash = \"%s\"\n", hash);
			toml_table_add(&config->after, header.data, lines.data);
		}
	}
	if (buf_failed(&header) || buf_failed(&lines) || buf_failed(&config->after)) {
		rc = err_memory(e, "agents");
	}
	buf_done(&header);
	buf_done(&lines);
	return rc;
}

/* Keeps the files that differ. */
static void settle(struct changes *c) {
	c->n = 0;
	for (size_t i = 0; i < CHANGES_MAX; i++) {
		if (!editing_differs(&c->items[i])) {
			continue;
		}
		if (i != c->n) {
			struct change moved = c->items[i];
			c->items[i] = c->items[c->n];
			c->items[c->n] = moved;
		}
		c->n++;
	}
}

static int install_hook(const struct agent *agent, const struct agent_place *place,
			const char *program, struct changes *ret, struct err *e) {
	struct editing ed = {.path = place->hook_file, .text = &ret->items[0].after};
	struct buf command;

	buf_init(&command);
	entry_hook_command(agent, program, &command);
	int rc = buf_failed(&command) ? err_memory(e, "agents")
				      : editing_load(&ret->items[0], place->hook_file, e);
	if (rc == 0) {
		rc = editing_parse(&ed, e) != 0 ? -1 : put_hook(agent, &ed, command.data, e);
	}
	if (rc == 0 && agent->hook == HOOK_CODEX) {
		rc = settings_codex_trust(agent, ed.root, command.data, &ret->items[1], e);
	}
	editing_done(&ed);
	buf_done(&command);
	return rc;
}

/* Replaces or removes the server; `program` NULL: removes it. */
static int set_mcp(const struct agent *agent, struct change *c, const char *program,
		   struct err *e) {
	struct editing ed = {.path = c->path, .text = &c->after};
	struct span servers, value;
	struct buf item;

	int rc = editing_parse(&ed, e);
	if (rc == 0 && editing_find(&ed, agent->mcp_key, NULL, &servers) &&
	    ed.plain.data[servers.at] == '{') {
		long i = editing_member(&ed, servers, SERVER, &value);
		rc = i < 0 ? 0 : editing_remove(&ed, servers, (size_t)i, e);
		rc = rc != 0 || i < 0 || program != NULL
			     ? rc
			     : editing_prune(&ed, agent->mcp_key, NULL, e);
	}
	if (rc == 0 && program != NULL) {
		buf_init(&item);
		buf_puts(&item, "\"" SERVER "\": ");
		entry_mcp(agent, program, &item);
		rc = buf_failed(&item) ? err_memory(e, "agents")
				       : editing_add_at(&ed, agent->mcp_key, NULL, item.data, e);
		buf_done(&item);
	}
	editing_done(&ed);
	return rc;
}

static int set_mcp_toml(struct change *c, const char *program, struct err *e) {
	struct buf lines;

	toml_table_remove(&c->after, "[" SERVERS "." SERVER "]");
	if (toml_table_is_other(&c->after, SERVERS, SERVER)) {
		(void)err_set(e, ERR_USAGE, "agents",
			      "%.200s has " SERVERS "." SERVER
			      " in a form that Corral does not edit",
			      c->path);
		return err_fix(e, "remove it by hand; nothing was changed");
	}
	buf_init(&lines);
	if (program != NULL) {
		buf_puts(&lines, "command = ");
		toml_key(&lines, program);
		buf_puts(&lines, "\nargs = [\"mcp\"]\n");
		toml_table_add(&c->after, "[" SERVERS "." SERVER "]", lines.data);
	}
	int rc = buf_failed(&lines) || buf_failed(&c->after) ? err_memory(e, "agents") : 0;
	buf_done(&lines);
	return rc;
}

static int change_mcp(const struct agent *agent, struct change *c, const char *program,
		      struct err *e) {
	return agent->mcp == MCP_TOML ? set_mcp_toml(c, program, e) : set_mcp(agent, c, program, e);
}

bool settings_mcp_is_there(const struct agent *agent, const char *path, const char *program) {
	struct change c = {.missing = false};
	struct err e;
	struct buf wanted;
	bool found = false;

	if (editing_load(&c, path, &e) == 0 && !c.missing) {
		if (change_mcp(agent, &c, NULL, &e) == 0) {
			found = editing_differs(&c);
		}
	}
	buf_init(&wanted);
	if (found && program != NULL) { /* and with the same program */
		toml_key(&wanted, program);
		found = !buf_failed(&wanted) && strstr(c.before.data, wanted.data) != NULL;
	}
	buf_done(&wanted);
	buf_done(&c.before);
	buf_done(&c.after);
	return found;
}

int settings_install(const struct agent *agent, bool mcp, const char *program, struct changes *ret,
		     struct err *e) {
	struct agent_place place;

	*ret = (struct changes){.n = 0};
	if (agents_place(agent, &place, e) != 0) {
		return -1;
	}
	int rc = 0;
	if (!mcp) {
		rc = install_hook(agent, &place, program, ret, e);
	} else if (!settings_mcp_is_there(agent, place.mcp_file, program)) {
		rc = editing_load(&ret->items[0], place.mcp_file, e) != 0
			     ? -1
			     : change_mcp(agent, &ret->items[0], program, e);
	}
	settle(ret);
	return rc;
}

static int uninstall_hook(const struct agent *agent, const struct agent_place *place,
			  struct changes *ret, struct err *e) {
	struct editing ed = {.path = place->hook_file, .text = &ret->items[0].after};

	int rc = editing_load(&ret->items[0], place->hook_file, e);
	if (rc == 0 && !ret->items[0].missing) {
		rc = editing_parse(&ed, e);
		if (rc == 0 && agent->hook == HOOK_CODEX) {
			rc = settings_codex_trust(agent, ed.root, NULL, &ret->items[1], e);
		}
		rc = rc == 0 ? drop_hooks(agent, &ed, e) : rc;
	}
	editing_done(&ed);
	return rc;
}

/* The file of the MCP entry can be one of those with the hook. */
static int uninstall_mcp(const struct agent *agent, const struct agent_place *place,
			 struct changes *ret, struct err *e) {
	struct change *c = NULL;
	char real[PATH_MAX];

	if (place->mcp_file[0] == '\0' || realpath(place->mcp_file, real) == NULL) {
		return 0;
	}
	for (size_t i = 0; i < CHANGES_MAX && c == NULL; i++) {
		bool same = streq(ret->items[i].path, real);
		if (!same && ret->items[i].path[0] == '\0' &&
		    editing_load(&ret->items[i], place->mcp_file, e) != 0) {
			return -1;
		}
		c = streq(ret->items[i].path, real) ? &ret->items[i] : NULL;
	}
	return c == NULL ? 0 : change_mcp(agent, c, NULL, e);
}

int settings_uninstall(const struct agent *agent, struct changes *ret, struct err *e) {
	struct agent_place place;

	*ret = (struct changes){.n = 0};
	if (agents_place(agent, &place, e) != 0 ||
	    (place.hook_file[0] != '\0' && uninstall_hook(agent, &place, ret, e) != 0) ||
	    uninstall_mcp(agent, &place, ret, e) != 0) {
		return -1;
	}
	settle(ret);
	return 0;
}
