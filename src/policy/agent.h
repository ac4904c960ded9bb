/* SPDX-License-Identifier: Apache-2.0 */
/* [agent.ID] tables of policy files, and the file of a skill: layers of requests. */
#ifndef CORRAL_POLICY_AGENT_H
#define CORRAL_POLICY_AGENT_H

#include "policy/internal.h"

#define AGENT_TABLE "agent"

/* Checks the member "agent" of a policy file: every table in it, not only the one in use. */
int agent_check_tables(const struct where *w, const struct doc *d, struct err *e);

/* Whether the document has such tables. */
bool agent_has_tables(const struct doc *root);

/* The table of one agent as a layer; false in *ret_found: there is none. */
int agent_layer(const struct where *w, const struct doc *root, const char *id, struct policy *layer,
		bool *ret_found, struct err *e);

/* A skill.toml: its name, and its requests. */
struct skill {
	const char *name; /* NULL: none was read */
	const char *path;
	struct policy requires;
};

/* Bounds of a skill's file. */
#define SKILL_NAME "skill.toml"
#define SKILL_FILE_MAX ((size_t)64 * 1024)
#define SKILL_ITEMS_MAX 256

/* Reads the file, or SKILL_NAME in a directory.  Relative paths in it begin in its directory. */
int skill_read(struct arena *a, const char *path, const char *home, struct skill *ret,
	       struct err *e);
/* The same for its text. */
int skill_parse(const struct where *w, const char *text, size_t len, struct skill *ret,
		struct err *e);

#endif
