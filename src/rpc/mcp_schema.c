/* SPDX-License-Identifier: Apache-2.0 */
/* Checks the arguments of a tool by its input schema.
 *
 * The schemas are our own, in the table of tools, and use a part of JSON Schema: type, enum,
 * minimum, maximum, maxItems, items, additionalProperties with a type.
 *
 * Should:   name the argument and the rule in every refusal, for a model that corrects itself.
 * Must not: accept an unknown argument, or a NUL in any text: a path or an argument of a command
 *           would end there.
 * Fails:    closed: a schema that cannot be read refuses every call. */
#include "rpc/mcp_call.h"

#include "base/str.h"

#include <stdlib.h>
#include <string.h>

json_t *mcp_schema_object(const char *schema, bool closed) {
	json_t *object = json_loads(schema, 0, NULL);

	if (object == NULL || json_object_set_new(object, "type", json_string("object")) != 0 ||
	    (closed && json_object_set_new(object, "additionalProperties", json_false()) != 0)) {
		json_decref(object);
		return NULL;
	}
	return object;
}

static bool has_type(const json_t *value, const char *type) {
	return (streq(type, "string") && json_is_string(value)) ||
	       (streq(type, "integer") && json_is_integer(value)) ||
	       (streq(type, "number") && json_is_number(value)) ||
	       (streq(type, "boolean") && json_is_boolean(value)) ||
	       (streq(type, "array") && json_is_array(value)) ||
	       (streq(type, "object") && json_is_object(value));
}

static int refuse(struct buf *why, const char *name, const char *rule) {
	buf_printf(why, "Invalid argument `%.80s`: %s.", name, rule);
	return -1;
}

static int check_string(const char *name, const json_t *value, const json_t *rule,
			struct buf *why) {
	const json_t *choices = json_object_get(rule, "enum"), *choice;
	size_t i;

	if (strlen(json_string_value(value)) != json_string_length(value)) {
		return refuse(why, name, "it contains a NUL character");
	}
	if (choices == NULL) {
		return 0;
	}
	json_array_foreach(choices, i, choice) {
		if (json_equal(choice, value)) {
			return 0;
		}
	}
	return refuse(why, name, "it is not one of the values of the schema");
}

static int check_number(const char *name, const json_t *value, const json_t *rule,
			struct buf *why) {
	const json_t *least = json_object_get(rule, "minimum");
	const json_t *most = json_object_get(rule, "maximum");
	double number = json_number_value(value);

	if ((least != NULL && !(number >= json_number_value(least))) ||
	    (most != NULL && !(number <= json_number_value(most)))) {
		return refuse(why, name, "it is out of the range of the schema");
	}
	return 0;
}

static int check_value(const char *name, json_t *value, const json_t *rule, struct buf *why);

/* The elements of an array, or the members of a map, by one rule. */
static int check_members(const char *name, json_t *value, const json_t *rule, struct buf *why) {
	const json_t *items = json_object_get(rule, "items");
	const json_t *members = json_object_get(rule, "additionalProperties");
	const char *key;
	json_t *element;
	size_t i;

	json_array_foreach(value, i, element) {
		if (check_value(name, element, items, why) != 0) {
			return -1;
		}
	}
	json_object_foreach(value, key, element) {
		if (check_value(key, element, members, why) != 0) {
			return -1;
		}
	}
	return 0;
}

static int check_value(const char *name, json_t *value, const json_t *rule, struct buf *why) {
	const char *type = json_string_value(json_object_get(rule, "type"));

	if (type == NULL) {
		return refuse(why, name, "its schema has no type");
	}
	if (!has_type(value, type)) {
		char wrong[64] = "it must be of type ";
		(void)strncat(wrong, type, sizeof wrong - strlen(wrong) - 1);
		return refuse(why, name, wrong);
	}
	if (json_is_string(value)) {
		return check_string(name, value, rule, why);
	}
	if (json_is_number(value)) {
		return check_number(name, value, rule, why);
	}
	return check_members(name, value, rule, why);
}

static int check_required(const json_t *schema, const json_t *arguments, struct buf *why) {
	const json_t *required = json_object_get(schema, "required"), *name;
	size_t i;

	json_array_foreach(required, i, name) {
		if (json_object_get(arguments, json_string_value(name)) == NULL) {
			return refuse(why, json_string_value(name), "it is required");
		}
	}
	return 0;
}

static int check_all(const json_t *schema, json_t *arguments, struct buf *why) {
	const json_t *properties = json_object_get(schema, "properties");

	for (void *at = json_object_iter(arguments); at != NULL;
	     at = json_object_iter_next(arguments, at)) {
		const char *name = json_object_iter_key(at);
		const json_t *rule = json_object_get(properties, name);
		if (rule == NULL) {
			return refuse(why, name, "the tool has no such argument");
		}
		if (check_value(name, json_object_iter_value(at), rule, why) != 0) {
			return -1;
		}
	}
	return check_required(schema, arguments, why);
}

int mcp_schema_check(const struct mcp_tool *tool, json_t *arguments, struct buf *why) {
	json_t *schema = mcp_schema_object(tool->input, true);
	int rc = schema == NULL ? -1 : check_all(schema, arguments, why);

	if (schema == NULL) {
		buf_puts(why, "The schema of the tool could not be read.");
	}
	json_decref(schema);
	return rc;
}
