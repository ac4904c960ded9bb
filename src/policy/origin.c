/* SPDX-License-Identifier: Apache-2.0 */
/* The origin of a value as a person reads it: a file and its line, an option, a profile.
 *
 * Should:   name every origin (P1).
 * Must not: let a file name break out of its line: control characters are replaced.
 * Fails:    never: a text that is too long is truncated. */
#include "policy/internal.h"

#include "base/str.h"

#include <stdio.h>

const char *policy_origin_text(const struct origin *o, char *out, size_t cap) {
	char name[256], line[16] = "";
	value_shown(o->name == NULL ? "?" : o->name, name, sizeof name);
	if (o->line > 0) {
		(void)snprintf(line, sizeof line, ":%d", o->line);
	}
	switch (o->kind) {
	case ORIGIN_BUILTIN:
		(void)snprintf(out, cap, "built-in");
		break;
	case ORIGIN_PROFILE:
		(void)snprintf(out, cap, "profile %s", name);
		break;
	case ORIGIN_FLOOR:
		(void)snprintf(out, cap, "floor %s%s", name, line);
		break;
	default:
		(void)snprintf(out, cap, "%s%s", name, line);
		break;
	}
	str_hide_controls(out, false); /* truncation may leave an incomplete character */
	return out;
}

void policy_origin_emit(struct emit *j, const char *key, const struct origin *o) {
	char from[300];
	emit_string(j, key, policy_origin_text(o, from, sizeof from));
}
