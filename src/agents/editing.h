/* SPDX-License-Identifier: Apache-2.0 */
/* A settings file of an agent that is being edited. */
#ifndef CORRAL_AGENTS_EDITING_H
#define CORRAL_AGENTS_EDITING_H

#include "agents/agents.h"
#include "agents/jsonc.h"

/* A text and its parsed form. */
struct editing {
	const char *path;
	struct buf *text;
	struct buf plain;
	json_t *root;
};

/* Reads a file into before and after of a change. */
int editing_load(struct change *c, const char *path, struct err *e);
bool editing_differs(const struct change *c);

/* Parses the text; an empty one becomes {}. */
int editing_parse(struct editing *ed, struct err *e);
void editing_done(struct editing *ed);

/* Adds an item at the end of a container, or removes item number i. */
int editing_add(struct editing *ed, struct span container, const char *item, struct err *e);
int editing_remove(struct editing *ed, struct span container, size_t i, struct err *e);

/* The number of a member of an object, and its value; -1. */
long editing_member(const struct editing *ed, struct span object, const char *key,
		    struct span *ret_value);

/* The value of outer.inner; inner NULL: of outer. */
bool editing_find(const struct editing *ed, const char *outer, const char *inner, struct span *ret);

/* Adds an item to the list outer.inner, or to the object outer where inner is NULL; creates the
 * missing containers. */
int editing_add_at(struct editing *ed, const char *outer, const char *inner, const char *item,
		   struct err *e);

/* Removes outer.inner and outer where they became empty. */
int editing_prune(struct editing *ed, const char *outer, const char *inner, struct err *e);

/* settings.c: Corral's handler in the settings, its group and its number in that; NULL. */
const json_t *settings_own_hook(const struct agent *agent, const json_t *root, size_t *ret_group,
				size_t *ret_handler);
const json_t *settings_own_group(const struct agent *agent, const json_t *root);

/* Trusts Codex's hook with this command line in *config, or removes that trust (NULL). */
int settings_codex_trust(const struct agent *agent, const json_t *root, const char *command,
			 struct change *config, struct err *e);

/* Whether the server is entered, with this program where it is not NULL. */
bool settings_mcp_is_there(const struct agent *agent, const char *path, const char *program);

#endif
