/* SPDX-License-Identifier: Apache-2.0 */
/* Checks env.prefix and env.labels, and reserves the names of the prefix.
 *
 * Should:   refuse a prefix whose names programs or Corral give a meaning already.
 * Must not: let env.set or env.pass set a name of the prefix: a session could then pretend to be
 *           another.
 * Fails:    closed. */
#include "policy/internal.h"

#include "base/str.h"
#include "data/environment.h"
#include "data/prefixes.h"

#include <stdio.h>

/* Upper-case letters, digits and "_", with a letter first: "ASH", "SESSION_ID". */
static bool is_upper_name(const char *s, size_t n) {
	for (size_t i = 0; i < n; i++) {
		bool letter = s[i] >= 'A' && s[i] <= 'Z';
		bool other = (s[i] >= '0' && s[i] <= '9') || s[i] == '_';
		if (!letter && (!other || i == 0)) {
			return false;
		}
	}
	return n > 0 && n < 64 && s[n - 1] != '_';
}

static int refuse_prefix(const struct value *v, const char *why, struct err *e) {
	char shown[64], from[SHOWN_MAX];
	(void)err_set(e, ERR_USAGE, "policy", "env.prefix %s (%s): %s",
		      value_shown(v->str, shown, sizeof shown),
		      policy_origin_text(&v->origin, from, sizeof from), why);
	return err_fix(e, "use the name of the product, in capitals: env.prefix = \"ASH\"");
}

static int check_prefix(const struct value *v, struct err *e) {
	char name[128];
	if (!is_upper_name(v->str, strlen(v->str))) {
		return refuse_prefix(v, "capital letters, digits and _ are expected", e);
	}
	for (size_t i = 0; i < prefix_rows_count; i++) {
		(void)snprintf(name, sizeof name, "%s_%s", v->str, prefix_rows[i].name);
		const struct env_row *row = environment_row_for(name);
		if (row != NULL) {
			(void)snprintf(name, sizeof name, "its names have a meaning: %s",
				       row->reason);
			return refuse_prefix(v, name, e);
		}
	}
	return 0;
}

static int check_label(const struct item *it, struct err *e) {
	char name[128], from[SHOWN_MAX];
	size_t n = strcspn(it->str, "=");
	(void)snprintf(name, sizeof name, "%.*s", (int)n, it->str); /* may be cut */
	const char *why = !is_upper_name(it->str, n) ? "capital letters, digits and _ are expected"
			  : prefixes_compute(name)   ? "the run itself sets this name"
						     : NULL;
	if (why == NULL) {
		return 0;
	}
	str_hide_controls(name, false);
	return err_set(e, ERR_USAGE, "policy", "env.labels %s (%s): %s", name,
		       policy_origin_text(&it->origin, from, sizeof from), why);
}

bool prefix_reserves(const struct policy *p, const char *name) {
	const char *prefix = policy_str(p, KEY_ENV_PREFIX);
	size_t n = prefix == NULL ? 0 : strlen(prefix);
	return n > 0 && strncmp(name, prefix, n) == 0 && name[n] == '_';
}

int policy_check_prefix(const struct policy *p, struct err *e) {
	const struct value *labels = &p->values[KEY_ENV_LABELS];
	if (p->values[KEY_ENV_PREFIX].set && check_prefix(&p->values[KEY_ENV_PREFIX], e) != 0) {
		return -1;
	}
	for (size_t i = 0; i < labels->count; i++) {
		if (check_label(&labels->items[i], e) != 0) {
			return -1;
		}
	}
	return 0;
}
