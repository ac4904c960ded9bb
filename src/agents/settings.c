/* SPDX-License-Identifier: Apache-2.0 */
/* Computes the settings of an agent with and without Corral's hook or MCP server.
 *
 * Should:   change only Corral's own entries, and write the same text if they are there already.
 * Must not: write a file: change.c does, after the user saw the difference.
 * Fails:    closed: settings that cannot be parsed, before or after, are an error. */
#include "agents/agents.h"

#include "agents/entry.h"
#include "agents/jsonc.h"
#include "agents/toml_table.h"
#include "base/auto.h"
#include "base/fd.h"
#include "base/str.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SETTINGS_MAX ((size_t)64 * 1024 * 1024)
#define SERVER "corral"

static int too_long(struct err *e) {
	return err_set(e, ERR_USAGE, "agents", "the path of the agent's settings is too long");
}

static int join(char out[PATH_MAX], const char *dir, const char *name, struct err *e) {
	int n = snprintf(out, PATH_MAX, "%s/%s", dir, name);
	return n < 0 || n >= PATH_MAX ? too_long(e) : 0;
}

int agent_place(const struct agent *agent, struct agent_place *ret, struct err *e) {
	const char *moved = agent->moved_by == NULL ? NULL : getenv(agent->moved_by);

	memset(ret, 0, sizeof *ret);
	ret->home = getenv("HOME");
	if (ret->home == NULL || ret->home[0] != '/') {
		return err_set(e, ERR_USAGE, "agents", "HOME is not an absolute path");
	}
	if (moved != NULL && moved[0] == '/') {
		if (snprintf(ret->dir, PATH_MAX, "%s", moved) >= PATH_MAX) {
			return too_long(e);
		}
	} else if (join(ret->dir, ret->home, agent->dir, e) != 0) {
		return -1;
	}
	if (agent->hook_file != NULL && join(ret->hook_file, ret->dir, agent->hook_file, e) != 0) {
		return -1;
	}
	if (agent->mcp_file == NULL) {
		return 0;
	}
	return str_starts(agent->mcp_file, "~/")
		       ? join(ret->mcp_file, ret->home, agent->mcp_file + 2, e)
		       : join(ret->mcp_file, ret->dir, agent->mcp_file, e);
}

void changes_done(struct changes *c) {
	for (size_t i = 0; i < CHANGES_MAX; i++) {
		buf_done(&c->items[i].before);
		buf_done(&c->items[i].after);
	}
	*c = (struct changes){.n = 0};
}

/* Reads a file of settings into before and after; behind a symlink the file that it names. */
static int load(struct change *c, const char *path, struct err *e) {
	char real[PATH_MAX];

	c->missing = realpath(path, real) == NULL;
	(void)snprintf(c->path, sizeof c->path, "%s", c->missing ? path : real);
	if (c->missing && errno != ENOENT) {
		return err_sys_at(e, "agents", "cannot find the settings", path);
	}
	if (!c->missing && fd_read_file(c->path, SETTINGS_MAX, &c->before) != 0) {
		return err_sys_at(e, "agents", "cannot read the settings", c->path);
	}
	buf_add(&c->after, c->before.data == NULL ? "" : c->before.data, c->before.len);
	return buf_failed(&c->after) ? err_memory(e, "agents") : 0;
}

/* A text and its parsed form. */
struct editing {
	const char *path;
	struct buf *text;
	struct buf plain;
	json_t *root;
};

static void editing_done(struct editing *ed) {
	json_decref(ed->root);
	ed->root = NULL;
	buf_done(&ed->plain);
}

static int editing_parse(struct editing *ed, struct err *e) {
	char why[160];

	editing_done(ed);
	buf_init(&ed->plain);
	if (ed->text->len == strspn(ed->text->data == NULL ? "" : ed->text->data, " \t\r\n")) {
		buf_done(ed->text);
		buf_puts(ed->text, "{}\n");
	}
	ed->root = jsonc_parse(ed->text, &ed->plain, why);
	if (ed->root != NULL) {
		return 0;
	}
	(void)err_set(e, ERR_USAGE, "agents", "%.200s is not valid JSON: %s", ed->path, why);
	return err_fix(e, "repair the file; nothing was changed");
}

/* Takes the new text, and parses it. */
static int editing_take(struct editing *ed, struct buf *text, struct err *e) {
	if (buf_failed(text)) {
		buf_done(text);
		return err_memory(e, "agents");
	}
	buf_done(ed->text);
	*ed->text = *text;
	*text = (struct buf){0};
	return editing_parse(ed, e);
}

static int add_item(struct editing *ed, struct span container, const char *item, struct err *e) {
	struct buf out;

	buf_init(&out);
	jsonc_append(ed->text, &ed->plain, container, item, &out);
	return editing_take(ed, &out, e);
}

static int remove_item(struct editing *ed, struct span container, size_t i, struct err *e) {
	struct buf out;

	buf_init(&out);
	jsonc_remove(ed->text, &ed->plain, container, i, &out);
	return editing_take(ed, &out, e);
}

/* The member of an object, with its number; -1. */
static long member_number(const struct editing *ed, struct span object, const char *key,
			  struct span *ret_value) {
	struct span member, item;

	if (!jsonc_member(&ed->plain, object, key, &member, ret_value)) {
		return -1;
	}
	long i = 0;
	while (jsonc_item(&ed->plain, object, (size_t)i, &item) && item.at != member.at) {
		i++;
	}
	return i;
}

/* The value of hooks.EVENT, or of another pair of keys; `inner` NULL: of one key. */
static bool find(const struct editing *ed, const char *outer, const char *inner, struct span *ret) {
	struct span member, value;

	if (!jsonc_member(&ed->plain, jsonc_root(&ed->plain), outer, &member, &value)) {
		return false;
	}
	return inner == NULL ? (*ret = value, true)
			     : ed->plain.data[value.at] == '{' &&
				       jsonc_member(&ed->plain, value, inner, &member, ret);
}

/* Removes hooks.EVENT and hooks where they became empty. */
static int prune(struct editing *ed, const char *outer, const char *inner, struct err *e) {
	struct span root = jsonc_root(&ed->plain), value, item;
	long i = member_number(ed, root, outer, &value);

	if (i < 0) {
		return 0;
	}
	struct span object = value;
	long k = inner == NULL ? -1 : member_number(ed, object, inner, &value);
	if (k >= 0 && !jsonc_item(&ed->plain, value, 0, &item)) {
		if (remove_item(ed, object, (size_t)k, e) != 0) {
			return -1;
		}
		return prune(ed, outer, NULL, e);
	}
	return inner == NULL && !jsonc_item(&ed->plain, object, 0, &item)
		       ? remove_item(ed, root, (size_t)i, e)
		       : 0;
}

static bool is_own(const struct agent *agent, const json_t *handler) {
	const char *command = json_string_value(json_object_get(handler, "command"));
	return command != NULL && entry_is_hook(agent, command);
}

/* The first of Corral's handlers: its group and its number in the group; NULL. */
static const json_t *own_hook(const struct agent *agent, const json_t *root, size_t *ret_group,
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
	size_t group, handler;

	while (own_hook(agent, ed->root, &group, &handler) != NULL) {
		struct span list, item, member, inner;
		if (!find(ed, "hooks", event, &list) ||
		    !jsonc_item(&ed->plain, list, group, &item)) {
			return err_set(e, ERR_USAGE, "agents",
				       "%.200s has a key with escapes; edit it by hand", ed->path);
		}
		bool alone = !jsonc_member(&ed->plain, item, "hooks", &member, &inner) ||
			     !jsonc_item(&ed->plain, inner, 1, &member);
		if (remove_item(ed, alone ? list : inner, alone ? group : handler, e) != 0) {
			return -1;
		}
	}
	return prune(ed, "hooks", event, e);
}

/* Adds an item to the container at outer.inner, which is made where it is missing.  The brackets
 * are those of the inner container. */
static int add_at(struct editing *ed, const char *outer, const char *inner, const char *item,
		  struct err *e) {
	struct span value;
	struct buf made;
	bool has_outer = find(ed, outer, NULL, &value);

	if (has_outer && ed->plain.data[value.at] != '{') {
		return err_set(e, ERR_USAGE, "agents", "%s in %.200s is not an object", outer,
			       ed->path);
	}
	struct span object = value;
	if (has_outer && inner != NULL && find(ed, outer, inner, &value)) {
		return ed->plain.data[value.at] == '['
			       ? add_item(ed, value, item, e)
			       : err_set(e, ERR_USAGE, "agents", "%s.%s in %.200s is not a list",
					 outer, inner, ed->path);
	}
	buf_init(&made);
	if (!has_outer) {
		buf_printf(&made, "\"%s\": {\n    ", outer);
	}
	if (inner != NULL) {
		buf_printf(&made, "\"%s\": [\n      %s\n    ]", inner, item);
	} else {
		buf_puts(&made, item);
	}
	buf_puts(&made, has_outer ? "" : "\n  }");
	int rc = buf_failed(&made)
			 ? err_memory(e, "agents")
			 : add_item(ed, has_outer ? object : jsonc_root(&ed->plain), made.data, e);
	buf_done(&made);
	return rc;
}

/* The command line in the settings equals the one that would be entered. */
static bool is_current(const struct agent *agent, const struct editing *ed, const char *command) {
	size_t group, handler;
	const json_t *own = own_hook(agent, ed->root, &group, &handler);
	const char *there = json_string_value(json_object_get(own, "command"));

	return there != NULL && streq(there, command);
}

static int put_hook(const struct agent *agent, struct editing *ed, const char *command,
		    struct err *e) {
	struct buf item;

	if (is_current(agent, ed, command)) {
		return 0;
	}
	if (drop_hooks(agent, ed, e) != 0) {
		return -1;
	}
	if (agent->hook == HOOK_CURSOR && json_object_get(ed->root, "version") == NULL &&
	    add_item(ed, jsonc_root(&ed->plain), "\"version\": 1", e) != 0) {
		return -1;
	}
	buf_init(&item);
	entry_hook(agent, command, &item);
	int rc = buf_failed(&item)
			 ? err_memory(e, "agents")
			 : add_at(ed, "hooks", hook_entries[agent->hook].event, item.data, e);
	buf_done(&item);
	return rc;
}

/* [hooks.state."FILE:pre_tool_use:GROUP:HANDLER"] of Codex's config.toml. */
static int codex_header(const struct agent *agent, const struct change *hooks, const json_t *root,
			struct buf *out) {
	size_t group, handler;

	if (own_hook(agent, root, &group, &handler) == NULL) {
		return 0;
	}
	buf_puts(out, "[hooks.state.");
	toml_key(out, hooks->path);
	out->len--; /* the name goes on before the closing quote */
	buf_printf(out, ":pre_tool_use:%zu:%zu\"]", group, handler);
	return 1;
}

/* Trusts the hook as it is now, or removes that trust. */
static int codex_trust(const struct agent *agent, const struct changes *hooks, const json_t *root,
		       const char *command, struct change *config, struct err *e) {
	struct agent_place place;
	struct buf header, lines;
	char path[PATH_MAX], hash[ENTRY_HASH];

	if (agent_place(agent, &place, e) != 0 || join(path, place.dir, "config.toml", e) != 0 ||
	    load(config, path, e) != 0) {
		return -1;
	}
	buf_init(&header);
	buf_init(&lines);
	int rc = 0;
	if (codex_header(agent, &hooks->items[0], root, &header) > 0) {
		toml_table_remove(&config->after, header.data);
		if (command != NULL) {
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

static bool differs(const struct change *c) {
	return c->before.len != c->after.len ||
	       (c->after.len > 0 && memcmp(c->before.data, c->after.data, c->after.len) != 0);
}

/* Keeps the files that differ. */
static void settle(struct changes *c) {
	c->n = 0;
	for (size_t i = 0; i < CHANGES_MAX; i++) {
		if (!differs(&c->items[i])) {
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
				      : load(&ret->items[0], place->hook_file, e);
	if (rc == 0) {
		rc = editing_parse(&ed, e) != 0 ? -1 : put_hook(agent, &ed, command.data, e);
	}
	if (rc == 0 && agent->hook == HOOK_CODEX) {
		rc = codex_trust(agent, ret, ed.root, command.data, &ret->items[1], e);
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
	if (rc == 0 && find(&ed, agent->mcp_key, NULL, &servers) &&
	    ed.plain.data[servers.at] == '{') {
		long i = member_number(&ed, servers, SERVER, &value);
		rc = i < 0 ? 0 : remove_item(&ed, servers, (size_t)i, e);
		rc = rc != 0 || i < 0 || program != NULL ? rc : prune(&ed, agent->mcp_key, NULL, e);
	}
	if (rc == 0 && program != NULL) {
		buf_init(&item);
		buf_puts(&item, "\"" SERVER "\": ");
		entry_mcp(agent, program, &item);
		rc = buf_failed(&item) ? err_memory(e, "agents")
				       : add_at(&ed, agent->mcp_key, NULL, item.data, e);
		buf_done(&item);
	}
	editing_done(&ed);
	return rc;
}

static int set_mcp_toml(struct change *c, const char *program, struct err *e) {
	struct buf lines;

	buf_init(&lines);
	toml_table_remove(&c->after, "[mcp_servers." SERVER "]");
	if (program != NULL) {
		buf_puts(&lines, "command = ");
		toml_key(&lines, program);
		buf_puts(&lines, "\nargs = [\"mcp\"]\n");
		toml_table_add(&c->after, "[mcp_servers." SERVER "]", lines.data);
	}
	int rc = buf_failed(&lines) || buf_failed(&c->after) ? err_memory(e, "agents") : 0;
	buf_done(&lines);
	return rc;
}

static int change_mcp(const struct agent *agent, struct change *c, const char *program,
		      struct err *e) {
	return agent->mcp == MCP_TOML ? set_mcp_toml(c, program, e) : set_mcp(agent, c, program, e);
}

static bool mcp_is_there(const struct agent *agent, const char *path, const char *program) {
	struct change c = {.missing = false};
	struct err e;
	struct buf wanted;
	bool found = false;

	if (load(&c, path, &e) == 0 && !c.missing) {
		if (change_mcp(agent, &c, NULL, &e) == 0) {
			found = differs(&c);
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
	if (agent_place(agent, &place, e) != 0) {
		return -1;
	}
	int rc = 0;
	if (!mcp) {
		rc = install_hook(agent, &place, program, ret, e);
	} else if (!mcp_is_there(agent, place.mcp_file, program)) {
		rc = load(&ret->items[0], place.mcp_file, e) != 0
			     ? -1
			     : change_mcp(agent, &ret->items[0], program, e);
	}
	settle(ret);
	return rc;
}

static int uninstall_hook(const struct agent *agent, const struct agent_place *place,
			  struct changes *ret, struct err *e) {
	struct editing ed = {.path = place->hook_file, .text = &ret->items[0].after};

	int rc = load(&ret->items[0], place->hook_file, e);
	if (rc == 0 && !ret->items[0].missing) {
		rc = editing_parse(&ed, e);
		if (rc == 0 && agent->hook == HOOK_CODEX) {
			rc = codex_trust(agent, ret, ed.root, NULL, &ret->items[1], e);
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
		    load(&ret->items[i], place->mcp_file, e) != 0) {
			return -1;
		}
		c = streq(ret->items[i].path, real) ? &ret->items[i] : NULL;
	}
	return c == NULL ? 0 : change_mcp(agent, c, NULL, e);
}

int settings_uninstall(const struct agent *agent, struct changes *ret, struct err *e) {
	struct agent_place place;

	*ret = (struct changes){.n = 0};
	if (agent_place(agent, &place, e) != 0 ||
	    (place.hook_file[0] != '\0' && uninstall_hook(agent, &place, ret, e) != 0) ||
	    uninstall_mcp(agent, &place, ret, e) != 0) {
		return -1;
	}
	settle(ret);
	return 0;
}

int settings_hook_command(const struct agent *agent, struct buf *ret, struct err *e) {
	struct agent_place place;
	struct change c = {.missing = false};
	struct editing ed = {.path = place.hook_file, .text = &c.after};
	size_t group, handler;

	if (agent_place(agent, &place, e) != 0) {
		return -1;
	}
	int rc = load(&c, place.hook_file, e) != 0 ? -1 : editing_parse(&ed, e);
	const json_t *own = rc == 0 ? own_hook(agent, ed.root, &group, &handler) : NULL;
	if (own != NULL) {
		buf_puts(ret, json_string_value(json_object_get(own, "command")));
	}
	editing_done(&ed);
	buf_done(&c.before);
	buf_done(&c.after);
	return rc != 0 || buf_failed(ret) ? -1 : 0;
}

bool settings_has_mcp(const struct agent *agent) {
	struct agent_place place;
	struct err e;

	return agent->mcp != MCP_NONE && agent_place(agent, &place, &e) == 0 &&
	       mcp_is_there(agent, place.mcp_file, NULL);
}

bool settings_hook_trusted(const struct agent *agent) {
	struct changes c = {.n = 0};
	struct agent_place place;
	struct buf command;
	struct err e;

	if (agent->hook != HOOK_CODEX) {
		return true;
	}
	buf_init(&command);
	struct editing ed = {.path = place.hook_file, .text = &c.items[0].after};
	bool trusted = settings_hook_command(agent, &command, &e) == 0 && command.len > 0 &&
		       agent_place(agent, &place, &e) == 0 &&
		       load(&c.items[0], place.hook_file, &e) == 0 && editing_parse(&ed, &e) == 0 &&
		       codex_trust(agent, &c, ed.root, command.data, &c.items[1], &e) == 0 &&
		       !differs(&c.items[1]);
	editing_done(&ed);
	buf_done(&command);
	changes_done(&c);
	return trusted;
}
