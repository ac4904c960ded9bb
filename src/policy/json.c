/* SPDX-License-Identifier: Apache-2.0 */
/* Parses JSON documents with jansson.
 *
 * Should:   convert jansson's tree to a struct doc, in the order of the file.
 * Must not: accept a duplicate key, text after the value, a NUL in a string
 *           or a value other than an object at the top.
 * Fails:    closed.  jansson keeps no line per value, so only errors of syntax
 *           name one. */
#include "policy/doc_tree.h"

#include <jansson.h>

static void json_drop(json_t **j) {
	json_decref(*j);
}

static int add_children(struct tree *t, struct node *parent, json_t *from, struct err *e);

static void copy_scalar(struct doc *d, const json_t *v) {
	d->num = json_is_integer(v) ? json_integer_value(v) : 0;
	d->real = json_is_real(v) ? json_real_value(v) : 0;
	d->yes = json_is_true(v);
}

static int copy_string(struct tree *t, struct doc *d, const json_t *v, struct err *e) {
	d->len = json_string_length(v);
	d->str = arena_strndup(t->a, json_string_value(v), d->len);
	return d->str == NULL ? err_memory(e, "policy") : 0;
}

static struct node *node_for(struct tree *t, const json_t *v) {
	static const enum doc_type types[] = {
		[JSON_OBJECT] = DOC_TABLE, [JSON_ARRAY] = DOC_ARRAY, [JSON_STRING] = DOC_STRING,
		[JSON_INTEGER] = DOC_INT,  [JSON_REAL] = DOC_FLOAT,  [JSON_TRUE] = DOC_BOOL,
		[JSON_FALSE] = DOC_BOOL,   [JSON_NULL] = DOC_NULL,
	};
	return doc_tree_node(t, types[json_typeof(v)], 0);
}

/* The child is linked before it is filled: linking checks the depth. */
static int add_child(struct tree *t, struct node *parent, const char *key, json_t *v,
		     struct err *e) {
	struct node *n = node_for(t, v);
	const char *own = key == NULL ? NULL : arena_strdup(t->a, key);

	if (n == NULL || (key != NULL && own == NULL)) {
		return err_memory(e, "policy");
	}
	int r = key == NULL ? doc_tree_append(t, parent, n, e) : doc_tree_put(t, parent, own, n, e);
	if (r != 0) {
		return -1;
	}
	if (json_is_string(v)) {
		return copy_string(t, &n->doc, v, e);
	}
	copy_scalar(&n->doc, v);
	return add_children(t, n, v, e);
}

static int add_children(struct tree *t, struct node *parent, json_t *from, struct err *e) {
	json_t *v;
	size_t i;

	if (json_is_object(from)) {
		const char *key;
		json_object_foreach(from, key, v) {
			if (add_child(t, parent, key, v, e) != 0) {
				return -1;
			}
		}
	}
	json_array_foreach(from, i, v) {
		if (add_child(t, parent, NULL, v, e) != 0) {
			return -1;
		}
	}
	return 0;
}

int doc_parse_json(struct arena *a, const char *name, const char *text, size_t len,
		   struct doc **ret, struct err *e) {
	struct tree t = {.a = a, .name = name};
	json_error_t why;

	if (doc_tree_check_text(&t, text, len, false, e) != 0) {
		return -1;
	}
	__attribute__((cleanup(json_drop))) json_t *top =
		json_loadb(text, len, JSON_REJECT_DUPLICATES, &why);
	if (top == NULL && json_error_code(&why) == json_error_out_of_memory) {
		return err_memory(e, "policy");
	}
	if (top == NULL) {
		return doc_tree_err(&t, why.line, e, "%s", why.text);
	}
	if (!json_is_object(top)) {
		return doc_tree_err(&t, 1, e, "expected an object at the top");
	}
	struct node *root = node_for(&t, top);
	if (root == NULL) {
		return err_memory(e, "policy");
	}
	if (add_children(&t, root, top, e) != 0) {
		return -1;
	}
	*ret = &root->doc;
	return 0;
}
