/* SPDX-License-Identifier: Apache-2.0 */
/* Checks the acceptance of mode full-access, and the keys that contradict the mode.
 *
 * The mode protects no file and no host.  Environment and limits stay.  It needs an explicit
 * acceptance that no project can give: the option, or a dated line in a file of the user or of
 * the administrator.
 *
 * Should:   report every other key that promises a protection as a contradiction.
 * Must not: take the acceptance from a project's file or from the file of --policy.
 * Fails:    closed: without the acceptance nothing runs. */
#include "policy/internal.h"

#include "base/auto.h"
#include "base/str.h"

#include <stdio.h>

/* After all layers: a later layer may choose another mode, and the network is then not open. */
void full_access_imply(struct policy *p) {
	const struct value *mode = &p->values[KEY_MODE];
	struct value *net = &p->values[KEY_NET_MODE];
	if (mode->num == MODE_FULL_ACCESS && net->origin.kind == ORIGIN_BUILTIN) {
		net->num = NET_FULL;
		net->origin = mode->origin;
	}
}

static int check_acceptance(const struct policy *p, struct err *e) {
	const struct value *accepted = &p->values[KEY_ACCEPT_FULL_ACCESS];
	enum origin_kind kind = accepted->origin.kind;
	char from[SHOWN_MAX];
	if (!accepted->set || kind == ORIGIN_OPTION || kind == ORIGIN_USER ||
	    kind == ORIGIN_SYSTEM) {
		return 0;
	}
	(void)err_set(e, ERR_REFUSED, "policy", "accept_full_access (%s) is not allowed there",
		      policy_origin_text(&accepted->origin, from, sizeof from));
	return err_fix(e, "move it to ~/.config/corral/corral.toml, or use "
			  "--dangerously-allow-full-access");
}

static int not_accepted(const struct value *mode, struct err *e) {
	char from[SHOWN_MAX];
	(void)err_set(e, ERR_REFUSED, "policy",
		      "mode full-access (%s) protects no file and no host, and is not accepted",
		      policy_origin_text(&mode->origin, from, sizeof from));
	return err_fix(e, "add --dangerously-allow-full-access, or the line accept_full_access = "
			  "YYYY-MM-DD (today's date) to ~/.config/corral/corral.toml");
}

static int without_effect(const struct policy *p, struct err *e) {
	const struct value *mode = &p->values[KEY_MODE];
	char from[SHOWN_MAX];
	(void)err_set(e, ERR_USAGE, "policy",
		      "--dangerously-allow-full-access has no effect: mode is %s (%s)",
		      keys[KEY_MODE].choices[mode->num],
		      policy_origin_text(&mode->origin, from, sizeof from));
	return err_fix(e, "add --mode full-access, or remove the option");
}

/* The keys that promise a protection, with the one value that does not. */
static const struct {
	enum key_id key;
	int64_t harmless, also;
} promises[] = {
	{KEY_LEVEL, LEVEL_AUTO, LEVEL_NONE},
	{KEY_MIN_LEVEL, LEVEL_NONE, LEVEL_NONE},
	{KEY_NET_MODE, NET_FULL, NET_FULL},
};

int full_access_contradiction(const struct policy *p, struct err *e) {
	const struct value *mode = &p->values[KEY_MODE];
	for (size_t i = 0; mode->num == MODE_FULL_ACCESS && i < ARRAY_LEN(promises); i++) {
		const struct value *v = &p->values[promises[i].key];
		const struct key *k = &keys[promises[i].key];
		char text[48];
		if (v->num == promises[i].harmless || v->num == promises[i].also ||
		    v->origin.kind == ORIGIN_BUILTIN) {
			continue;
		}
		(void)snprintf(text, sizeof text, "%s %s", k->name, k->choices[v->num]);
		return check_contradiction("mode full-access", &mode->origin, text, &v->origin, e);
	}
	return 0;
}

int policy_check_full_access(const struct policy *p, struct err *e) {
	const struct value *mode = &p->values[KEY_MODE];
	const struct value *accepted = &p->values[KEY_ACCEPT_FULL_ACCESS];
	if (check_acceptance(p, e) != 0) {
		return -1;
	}
	if (mode->num != MODE_FULL_ACCESS) {
		bool option = accepted->set && streq(accepted->str, ACCEPTED_NOW);
		return option ? without_effect(p, e) : 0;
	}
	if (full_access_contradiction(p, e) != 0) {
		return -1;
	}
	return accepted->set ? 0 : not_accepted(mode, e);
}
