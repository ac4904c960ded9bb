/* SPDX-License-Identifier: Apache-2.0 */
/* Converts a document in another form to the tree of a policy file.
 *
 * Should:   keep the line of every value, so that a message names the place in the file.
 * Must not: give a value a meaning that its file does not have.
 * Fails:    closed: a member that is not understood is an error. */
#include "policy/foreign.h"

#include "base/str.h"
#include "data/keys.h"
#include "policy/internal.h"

struct conversion {
	struct arena *a;
	const char *name; /* of the file */
	struct doc *root; /* the new tree */
	bool out_of_memory;
};

static struct doc *member(const struct doc *table, const char *key) {
	struct doc *d = table->type == DOC_TABLE ? table->first : NULL;
	while (d != NULL && !streq(d->key, key)) {
		d = d->next;
	}
	return d;
}

static struct doc *add(struct conversion *c, struct doc *parent, const struct doc *like,
		       const char *key) {
	struct doc *d = arena_alloc(c->a, sizeof *d);
	if (d == NULL) {
		c->out_of_memory = true;
		return parent; /* the tree is dropped */
	}
	*d = *like;
	d->key = key;
	d->next = NULL;
	if (parent->last == NULL) {
		parent->first = d;
	} else {
		parent->last->next = d;
	}
	parent->last = d;
	return d;
}

/* The table that holds "net.mode": the root's child "net", made when it is missing. */
static struct doc *table_for(struct conversion *c, const char *key, int line) {
	const char *dot = strchr(key, '.');
	const struct doc table = {.type = DOC_TABLE, .line = line};
	if (dot == NULL) {
		return c->root;
	}
	const char *group = arena_strndup(c->a, key, (size_t)(dot - key));
	if (group == NULL) {
		c->out_of_memory = true;
		return c->root;
	}
	struct doc *found = member(c->root, group);
	return found != NULL ? found : add(c, c->root, &table, group);
}

static struct doc *put(struct conversion *c, const char *key, const struct doc *value) {
	const char *dot = strchr(key, '.');
	return add(c, table_for(c, key, value->line), value, dot == NULL ? key : dot + 1);
}

/* ---- the output of `policy show --json` ---- */

/* "NAME=VALUE" strings become a table. */
static void put_map(struct conversion *c, const char *key, const struct doc *list) {
	const struct doc table = {.type = DOC_TABLE, .line = list->line};
	struct doc *map = put(c, key, &table);
	for (const struct doc *d = list->first; d != NULL; d = d->next) {
		size_t n = d->type == DOC_STRING ? strcspn(d->str, "=") : 0;
		const char *name = arena_strndup(c->a, d->type == DOC_STRING ? d->str : "", n);
		struct doc value = *d;
		if (name == NULL) {
			c->out_of_memory = true;
			return;
		}
		if (d->type == DOC_STRING && d->str[n] == '=') {
			value.str = d->str + n + 1;
			value.len = d->len - n - 1;
		}
		add(c, map, &value, name);
	}
}

static void put_shown(struct conversion *c, const struct doc *entry) {
	const struct doc *value = member(entry, "value");
	const struct key *k = key_by_name(entry->key);
	if (value == NULL || value->type == DOC_NULL) {
		return; /* not set */
	}
	if (k != NULL && k->type == TYPE_MAP && value->type == DOC_ARRAY) {
		put_map(c, entry->key, value);
	} else {
		put(c, entry->key, value);
	}
}

static bool is_shown(const struct doc *root) {
	const struct doc *values = member(root, "values");
	return values != NULL && values->type == DOC_TABLE && member(root, "sha256") != NULL;
}

static int convert_shown(struct conversion *c, const struct doc *root, struct err *e) {
	for (const struct doc *d = root->first; d != NULL; d = d->next) {
		if (streq(d->key, "version")) {
			add(c, c->root, d, d->key);
		} else if (!streq(d->key, "sha256") && !streq(d->key, "values")) {
			char key[64];
			return err_set(e, ERR_USAGE, "policy",
				       "%s: unknown member \"%s\" beside \"values\"", c->name,
				       value_shown(d->key, key, sizeof key));
		}
	}
	for (const struct doc *d = member(root, "values")->first; d != NULL; d = d->next) {
		put_shown(c, d);
	}
	return 0;
}

int foreign_parse(struct arena *a, const char *name, const char *text, size_t len, struct doc **ret,
		  struct err *e) {
	struct doc *root, *made;
	if (doc_parse(a, name, text, len, &root, e) != 0) {
		return -1;
	}
	if (!is_shown(root)) {
		*ret = root;
		return 0;
	}
	made = arena_alloc(a, sizeof *made); /* an empty table */
	struct conversion c = {.a = a, .name = name, .root = made, .out_of_memory = made == NULL};
	if (made != NULL && convert_shown(&c, root, e) != 0) {
		return -1;
	}
	*ret = made;
	return c.out_of_memory ? err_memory(e, "policy") : 0;
}
