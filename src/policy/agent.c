/* SPDX-License-Identifier: Apache-2.0 */
/* Parses [agent.ID] tables, and checks that they only ask (policy/request.h).
 *
 * Should:   find an error in the table of every agent, also of those that do not run.
 * Must not: accept an exception, or a list of allowed subcommands: beside the rules of the policy
 *           they would widen it.
 * Fails:    closed: a key that no table may have is an error. */
#include "policy/agent.h"

#include "base/auto.h"
#include "base/str.h"
#include "policy/command_rule.h"
#include "policy/request.h"

#include <string.h>

#define AGENT_ID_MAX 64

/* As the names of agents in the vault. */
static bool is_id(const char *s) {
	size_t n = strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.@:");
	return n > 0 && s[n] == '\0' && n <= AGENT_ID_MAX && strchr("-.@:", s[0]) == NULL;
}

static int refuse(const struct where *w, const struct origin *o, const char *what, const char *why,
		  struct err *e) {
	char from[SHOWN_MAX], shown[SHOWN_MAX];
	(void)w;
	return err_set(e, ERR_USAGE, "policy", "%s (%s): %s",
		       value_shown(what, shown, sizeof shown),
		       policy_origin_text(o, from, sizeof from), why);
}

static int check_item(const struct where *w, const struct key *k, const struct item *it,
		      struct err *e) {
	bool allowed = k->type == TYPE_COMMANDS && command_rule_of(it).kind == COMMAND_ALLOWED;
	if (it->except) {
		(void)refuse(w, &it->origin, it->str, "an agent's table takes no exception", e);
		return err_fix(e, "write the rule and its exception at the top level");
	}
	if (allowed) {
		(void)refuse(w, &it->origin, it->str,
			     "an agent's table takes no list of allowed subcommands", e);
		return err_fix(e, "write it at the top level, and use `blocked` here");
	}
	return 0;
}

static int check_layer(const struct where *w, const struct policy *layer, struct err *e) {
	for (size_t i = 0; i < KEY_COUNT; i++) {
		const struct value *v = &layer->values[i];
		if (v->set && !request_agent_may(&keys[i])) {
			(void)refuse(w, &v->origin, keys[i].name,
				     "an agent's table cannot have this key", e);
			return err_fix(e,
				       "write it at the top level: it then holds for all agents");
		}
		for (size_t n = 0; n < v->count; n++) {
			if (check_item(w, &keys[i], &v->items[n], e) != 0) {
				return -1;
			}
		}
	}
	return 0;
}

static int table_layer(const struct where *w, const struct doc *d, struct policy *layer,
		       struct err *e) {
	struct where at = *w;
	struct origin o = w->origin;
	o.line = d->line;
	at.origin.kind = ORIGIN_AGENT;
	if (!is_id(d->key)) {
		(void)refuse(w, &o, d->key, "not a valid name of an agent", e);
		return err_fix(e, "use letters, digits, _ and after the first also - . @ :");
	}
	if (d->type != DOC_TABLE) {
		return refuse(w, &o, d->key, "an agent needs a table: [agent.ID]", e);
	}
	return layer_from_table(&at, d, layer, e) != 0 ? -1 : check_layer(w, layer, e);
}

int agent_check_tables(const struct where *w, const struct doc *d, struct err *e) {
	struct origin o = w->origin;
	o.line = d->line;
	if (d->type != DOC_TABLE) {
		return refuse(w, &o, AGENT_TABLE, "must hold tables: [agent.ID]", e);
	}
	for (const struct doc *c = d->first; c != NULL; c = c->next) {
		struct policy *layer = arena_alloc(w->a, sizeof *layer);
		if (layer == NULL) {
			return err_memory(e, "policy");
		}
		if (table_layer(w, c, layer, e) != 0) {
			return -1;
		}
	}
	return 0;
}

static const struct doc *tables_of(const struct doc *root) {
	for (const struct doc *d = root->first; d != NULL; d = d->next) {
		if (streq(d->key, AGENT_TABLE)) {
			return d;
		}
	}
	return NULL;
}

bool agent_has_tables(const struct doc *root) {
	const struct doc *d = tables_of(root);
	return d != NULL && d->first != NULL;
}

int agent_layer(const struct where *w, const struct doc *root, const char *id, struct policy *layer,
		bool *ret_found, struct err *e) {
	const struct doc *d = tables_of(root);
	*ret_found = false;
	for (const struct doc *c = d == NULL ? NULL : d->first; c != NULL; c = c->next) {
		if (streq(c->key, id)) {
			*ret_found = true;
			return table_layer(w, c, layer, e);
		}
	}
	return 0;
}
