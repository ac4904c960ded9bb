/* SPDX-License-Identifier: Apache-2.0 */
/* Converts documents and settings to layers, and merges layers into the policy.
 *
 * Should:   reject every key without a row in data/keys.c (P2); refuse a value of an
 *           untrusted layer that loosens the policy (P3).
 * Must not: read files or know the order of the layers; resolve.c does.
 * Fails:    closed.  After an error the caller drops the whole policy, so a half-applied
 *           layer is never used. */
#include "policy/internal.h"
#include "policy/agent.h"

#include "base/auto.h"
#include "base/str.h"

#include <inttypes.h>
#include <stdio.h>

/* No key is longer. */
#define NAME_MAX_COMPARED 40

/* The largest distance that still counts as a typing error. */
#define DISTANCE_MAX 3

/* Levenshtein distance. */
static size_t edit_distance(const char *a, const char *b) {
	size_t row[NAME_MAX_COMPARED + 1];
	size_t nb = strlen(b);
	if (strlen(a) > NAME_MAX_COMPARED || nb > NAME_MAX_COMPARED) {
		return SIZE_MAX;
	}
	for (size_t j = 0; j <= nb; j++) {
		row[j] = j;
	}
	for (size_t i = 0; a[i] != '\0'; i++) {
		size_t diagonal = row[0];
		row[0] = i + 1;
		for (size_t j = 0; j < nb; j++) {
			size_t replaced = diagonal + (a[i] != b[j]);
			size_t least = row[j] < row[j + 1] ? row[j] + 1 : row[j + 1] + 1;
			diagonal = row[j + 1];
			row[j + 1] = replaced < least ? replaced : least;
		}
	}
	return row[nb];
}

/* The nearest key, or NULL.  A name without its table ("timeout") matches the key that ends
 * in it. */
static const char *nearest_key(const char *name) {
	const char *best = NULL;
	size_t best_distance = DISTANCE_MAX + 1;
	for (size_t i = 0; i < KEY_COUNT; i++) {
		const char *dot = strrchr(keys[i].name, '.');
		size_t distance = edit_distance(name, keys[i].name);
		if (dot != NULL && streq(dot + 1, name)) {
			distance = 0;
		}
		if (distance < best_distance && distance < strlen(name)) {
			best = keys[i].name;
			best_distance = distance;
		}
	}
	return best;
}

static int unknown_key(const struct origin *o, const char *name, struct err *e) {
	char key[64], from[SHOWN_MAX];
	const char *near = nearest_key(name);
	(void)err_set(e, ERR_USAGE, "policy", "unknown key \"%s\" (%s)",
		      value_shown(name, key, sizeof key), policy_origin_text(o, from, sizeof from));
	return near == NULL ? err_fix(e, "list the keys: corral policy schema%s",
				      o->kind == ORIGIN_SKILL ? " skill" : "")
			    : err_fix(e, "did you mean \"%s\"?", near);
}

/* True for "fs", "net", …: the tables that hold keys. */
static bool is_group(const char *name) {
	size_t n = strlen(name);
	for (size_t i = 0; i < KEY_COUNT; i++) {
		if (strncmp(keys[i].name, name, n) == 0 && keys[i].name[n] == '.') {
			return true;
		}
	}
	return false;
}

static int must_be_table(const struct where *w, const char *name, const struct doc *d,
			 struct err *e) {
	struct origin o = w->origin;
	char from[SHOWN_MAX];
	if (d->type == DOC_TABLE) {
		return 0;
	}
	o.line = d->line;
	return err_set(e, ERR_USAGE, "policy", "%s (%s) must be a table, not %s", name,
		       policy_origin_text(&o, from, sizeof from), doc_type_name(d->type));
}

static int apply_table(const struct where *w, const char *prefix, const struct doc *table,
		       struct policy *layer, struct err *e);

static int apply_child(const struct where *w, const char *prefix, const struct doc *d,
		       struct policy *layer, struct err *e) {
	struct origin o = w->origin;
	const char *name = prefix == NULL ? d->key : arena_printf(w->a, "%s.%s", prefix, d->key);
	if (name == NULL) {
		return err_memory(e, "policy");
	}
	o.line = d->line;
	/* [commands.NAME]: the name is any file name.  A list is all rules, as `policy show --json`
	 * and `profile show` print them. */
	if (prefix != NULL && streq(prefix, COMMANDS_TABLE) && !streq(d->key, "default")) {
		struct value *v = &layer->values[KEY_COMMANDS];
		bool list = d->type == DOC_ARRAY && streq(name, keys[KEY_COMMANDS].name);
		return list ? value_from_doc(w, &keys[KEY_COMMANDS], d, v, e)
			    : command_rule_from_doc(w, d, v, e);
	}
	/* A quoted "fs.view" would be a second way to write one key. */
	if (strchr(d->key, '.') != NULL) {
		return unknown_key(&o, name, e);
	}
	const struct key *k = key_by_name(name);
	if (k != NULL) {
		return value_from_doc(w, k, d, &layer->values[k - keys], e);
	}
	if (!is_group(name)) {
		return unknown_key(&o, name, e);
	}
	return must_be_table(w, name, d, e) != 0 ? -1 : apply_table(w, name, d, layer, e);
}

static int apply_table(const struct where *w, const char *prefix, const struct doc *table,
		       struct policy *layer, struct err *e) {
	for (const struct doc *d = table->first; d != NULL; d = d->next) {
		if (apply_child(w, prefix, d, layer, e) != 0) {
			return -1;
		}
	}
	return 0;
}

static int check_version(const struct where *w, const struct doc *d, struct err *e) {
	struct origin o = w->origin;
	char from[SHOWN_MAX];
	if (d->type == DOC_INT && d->num == 1) {
		return 0;
	}
	o.line = d->line;
	return err_set(e, ERR_USAGE, "policy",
		       "version (%s) must be 1, the only version that this Corral reads",
		       policy_origin_text(&o, from, sizeof from));
}

static int apply_floor_table(const struct where *w, const struct doc *d, struct policy *floor,
			     struct err *e) {
	struct where at = *w;
	char from[SHOWN_MAX];
	at.origin.line = d->line;
	if (floor == NULL) {
		(void)err_set(e, ERR_USAGE, "policy", "[floor] is not allowed in %s",
			      policy_origin_text(&at.origin, from, sizeof from));
		return err_fix(e, "move it to /etc/corral/policy.toml");
	}
	at.origin.kind = ORIGIN_FLOOR;
	if (must_be_table(w, "floor", d, e) != 0 || apply_table(&at, NULL, d, floor, e) != 0) {
		return -1;
	}
	for (size_t i = 0; i < KEY_COUNT; i++) {
		const struct value *v = &floor->values[i];
		if (v->set && !floor_has_key(&keys[i])) {
			return err_set(e, ERR_USAGE, "policy", "%s (%s) cannot have a floor",
				       keys[i].name,
				       policy_origin_text(&v->origin, from, sizeof from));
		}
	}
	return 0;
}

int layer_from_table(const struct where *w, const struct doc *table, struct policy *layer,
		     struct err *e) {
	return apply_table(w, NULL, table, layer, e);
}

int layer_from_doc(const struct where *w, const struct doc *root, struct policy *layer,
		   struct policy *floor, struct err *e) {
	for (const struct doc *d = root->first; d != NULL; d = d->next) {
		int done = streq(d->key, "version")     ? check_version(w, d, e)
			   : streq(d->key, "floor")     ? apply_floor_table(w, d, floor, e)
			   : streq(d->key, AGENT_TABLE) ? agent_check_tables(w, d, e)
							: apply_child(w, NULL, d, layer, e);
		if (done != 0) {
			return -1;
		}
	}
	return 0;
}

int layer_from_setting(const struct where *w, const struct setting *s, struct policy *layer,
		       struct err *e) {
	struct where at = *w;
	const struct key *k = key_by_name(s->key);
	at.origin = (struct origin){.kind = ORIGIN_OPTION, .name = s->origin};
	if (str_starts(s->key, COMMANDS_TABLE ".") && k != &keys[KEY_COMMANDS_DEFAULT] &&
	    k != &keys[KEY_COMMANDS]) {
		return command_rule_from_setting(&at, s->key, s->value,
						 &layer->values[KEY_COMMANDS], e);
	}
	if (k == NULL) {
		return unknown_key(&at.origin, s->key, e);
	}
	return value_from_text(&at, k, s->value, &layer->values[k - keys], e);
}

int layer_list_add(struct arena *a, const struct key *k, struct value *to, const struct value *from,
		   struct err *e) {
	for (size_t i = 0; i < from->count; i++) {
		if (value_put(a, k, to, &from->items[i], e) != 0) {
			return -1;
		}
	}
	return settle_value(a, k, to, e);
}

int layer_merge(struct arena *a, struct policy *p, const struct policy *layer, struct err *e) {
	for (size_t i = 0; i < KEY_COUNT; i++) {
		const struct value *from = &layer->values[i];
		struct value *to = &p->values[i];
		if (!from->set) {
			continue;
		}
		if (!value_key_is_list(&keys[i])) {
			*to = *from;
			continue;
		}
		to->set = true;
		to->origin = from->origin;
		if (layer_list_add(a, &keys[i], to, from, e) != 0) {
			return -1;
		}
	}
	return 0;
}

/* For comparisons "none" is the largest limit. */
static int64_t magnitude(int64_t num) {
	return num == LIMIT_NONE ? INT64_MAX : num;
}

bool layer_loosens(const struct key *k, const struct value *v, const struct value *than) {
	return k->narrow == NARROW_HIGHER ? v->num < than->num
					  : magnitude(v->num) > magnitude(than->num);
}

/* A value of any type, short, for messages. */
static const char *summary(const struct key *k, const struct value *v, char *out, size_t cap) {
	if (!v->set) {
		return "unset";
	}
	if (value_key_is_list(k)) {
		(void)snprintf(out, cap, "%zu item%s", v->count, v->count == 1 ? "" : "s");
		return out;
	}
	return v->str != NULL ? value_shown(v->str, out, cap) : number_value(k, v->num, out, cap);
}

static int refuse_loosening(const struct key *k, const struct value *v, const struct value *stands,
			    struct err *e) {
	char from[SHOWN_MAX];
	const char *file = v->origin.name;
	policy_origin_text(&v->origin, from, sizeof from);
	if (k->narrow == NARROW_NEVER) {
		(void)err_set(e, ERR_REFUSED, "policy",
			      "%s: an untrusted project file may not set %s", from, k->name);
	} else {
		char was[SHOWN_MAX], new[48], old[48];
		(void)err_set(
			e, ERR_REFUSED, "policy",
			"%s: an untrusted project file may only narrow the policy: %s = %s is "
			"looser than %s (%s)",
			from, k->name, summary(k, v, new, sizeof new),
			summary(k, stands, old, sizeof old),
			policy_origin_text(&stands->origin, was, sizeof was));
	}
	return err_fix(e, "read the file; to trust it: corral policy trust %s",
		       file == NULL ? PROJECT_FILE : file);
}

int layer_narrows(const struct policy *p, const struct policy *layer, struct err *e) {
	for (size_t i = 0; i < KEY_COUNT; i++) {
		const struct key *k = &keys[i];
		const struct value *v = &layer->values[i], *stands = &p->values[i];
		if (!v->set || k->narrow == NARROW_ADD || k->narrow == NARROW_FREE) {
			continue;
		}
		if (k->narrow == NARROW_RULES) {
			if (command_rule_narrows(p, v, e) != 0) {
				return -1;
			}
			continue;
		}
		if (k->narrow == NARROW_NEVER || layer_loosens(k, v, stands)) {
			return refuse_loosening(k, v, stands, e);
		}
	}
	return 0;
}
