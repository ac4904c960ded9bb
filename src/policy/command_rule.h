/* SPDX-License-Identifier: Apache-2.0 */
/* One item of commands.NAME: a command that is listed, or a pattern of its subcommands.
 *
 * An item is one text, so that merging, origins and the hash treat it as any other list:
 *   NAME                       the command is listed
 *   NAME description TEXT      it is listed, with a description
 *   NAME allowed PATTERN       only subcommands that match are allowed
 *   NAME blocked PATTERN       subcommands that match are refused; with `except`, a pattern of
 *                              an earlier layer is removed */
#ifndef CORRAL_POLICY_COMMAND_RULE_H
#define CORRAL_POLICY_COMMAND_RULE_H

#include "policy/policy.h"

enum command_rule_kind {
	COMMAND_LISTED,
	COMMAND_DESCRIPTION,
	COMMAND_ALLOWED,
	COMMAND_BLOCKED,
};

struct command_rule {
	enum command_rule_kind kind;
	const char *name; /* name_len bytes; a name, or an absolute path */
	size_t name_len;
	const char *text; /* the pattern or the description; "" for COMMAND_LISTED */
	const struct item *item;
};

/* Every item of a checked policy can be read. */
struct command_rule command_rule_of(const struct item *it);

/* The word of files: "allowed", "blocked", "description". */
const char *command_rule_word(enum command_rule_kind kind);

bool command_rule_is_for(const struct command_rule *r, const char *name, size_t len);

/* Whether the policy lists the command, so that commands.default = deny allows it.  Items of an
 * untrusted file list a command only if that file itself sets the deny. */
bool command_rule_lists(const struct policy *p, const char *name, size_t len);

/* The same, and the floor permits it: a floor that denies by default, and lists commands, bounds
 * the lists of every layer. */
bool command_rule_permits(const struct policy *p, const char *name, size_t len);

#endif
