/* SPDX-License-Identifier: Apache-2.0 */
/* The rules about commands: checks one, and imports the manifest of a program. */
#ifndef CORRAL_COMMANDS_H
#define CORRAL_COMMANDS_H

#include "error.h"
#include "format.h"
#include "policy.h"

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

/* Whether the rules of commands.NAME and fs.tools allow a command; nothing runs.  *allowed (may be
 * NULL) is 1 or 0; the text names command, rule, origin and remedy.  A command about which the
 * rules cannot decide is refused in profile strict and with commands.default = deny, and allowed
 * otherwise. */
int corral_command_check(const struct corral_policy *policy, const char *const *argv,
			 enum corral_format format, char **text, int *allowed,
			 struct corral_error *err);

/* Runs `command __manifest` in a sandbox without a network, where it can change nothing, and
 * returns the subcommands that it lists as rules of a policy file, for review; no run uses a
 * manifest.  CORRAL_E_REFUSED when the output is not a manifest. */
int corral_commands_import(const char *command, char **text, struct corral_error *err);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif
