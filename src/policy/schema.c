/* SPDX-License-Identifier: Apache-2.0 */
/* Prints the JSON Schema of a policy file, generated from the rows of data/keys.c.
 *
 * Should:   accept the documents that layers.c accepts, as far as a schema can express it,
 *           and leave out the values that are not implemented.
 * Must not: name a key: a new row of data/keys.c appears here without a change.
 * Fails:    only out of memory. */
#include "policy/agent.h"
#include "policy/request.h"

#include "base/emit.h"
#include "base/str.h"

#include <stdio.h>

static bool is_later(const struct key *k, const char *choice) {
	for (const char *const *l = k->later; l != NULL && *l != NULL; l++) {
		if (streq(*l, choice)) {
			return true;
		}
	}
	return false;
}

static void schema_choices(struct emit *j, const struct key *k) {
	emit_array(j, "enum");
	for (const char *const *c = k->choices; *c != NULL; c++) {
		if (!is_later(k, *c)) {
			emit_string(j, NULL, *c);
		}
	}
	emit_end_array(j);
}

static void schema_none(struct emit *j, const struct key *k) {
	if (k->none_allowed) {
		emit_object(j, NULL);
		emit_string(j, "const", "none");
		emit_end_object(j);
	}
}

static void schema_pattern(struct emit *j, const char *pattern) {
	emit_object(j, NULL);
	emit_string(j, "type", "string");
	emit_string(j, "pattern", pattern);
	emit_end_object(j);
}

/* A bare number is in `unit`s of the row's min and max: 1000 for seconds, kept in ms. */
static void schema_integer(struct emit *j, const struct key *k, int64_t unit) {
	emit_object(j, NULL);
	emit_string(j, "type", "integer");
	emit_int(j, "minimum", (k->min + unit - 1) / unit);
	emit_int(j, "maximum", k->max / unit);
	emit_end_object(j);
}

static void schema_number(struct emit *j, const struct key *k) {
	emit_array(j, "anyOf");
	switch (k->type) {
	case TYPE_BYTES:
		schema_integer(j, k, 1);
		schema_pattern(j, "^[0-9]+([KkMmGgTt]([Ii]?[Bb])?|[Bb])?$");
		break;
	case TYPE_DURATION:
		schema_integer(j, k, 1000);
		schema_pattern(j, "^[0-9]+([Mm]?[Ss]|[Mm]|[Hh]|[Dd])?$");
		break;
	case TYPE_CPUS:
		emit_object(j, NULL);
		emit_string(j, "type", "number");
		emit_int(j, "exclusiveMinimum", 0);
		emit_int(j, "maximum", k->max / 1000);
		emit_end_object(j);
		schema_pattern(j, "^[0-9]+(\\.[0-9]{1,3})?$");
		break;
	default:
		schema_integer(j, k, 1);
		break;
	}
	schema_none(j, k);
	emit_end_array(j);
}

static void schema_list(struct emit *j, const struct key *k) {
	emit_string(j, "type", "array");
	emit_object(j, "items");
	emit_string(j, "type", "string");
	if (k->choices != NULL) {
		schema_choices(j, k);
	} else {
		emit_int(j, "minLength", 1);
	}
	emit_end_object(j);
}

#define PORT_PATTERN "[1-9][0-9]{0,4}"

/* A number, or the same as a string. */
static void schema_ports(struct emit *j, const struct key *k) {
	emit_string(j, "type", "array");
	emit_object(j, "items");
	emit_array(j, "anyOf");
	emit_object(j, NULL);
	emit_string(j, "type", "integer");
	emit_int(j, "minimum", 1);
	emit_int(j, "maximum", UINT16_MAX);
	emit_end_object(j);
	schema_pattern(j, k->type == TYPE_PORTS ? "^" PORT_PATTERN "$"
						: "^" PORT_PATTERN "(:" PORT_PATTERN ")?$");
	emit_end_array(j);
	emit_end_object(j);
}

static void schema_key(struct emit *j, const char *name, const struct key *k) {
	emit_object(j, name);
	emit_string(j, "description", k->help);
	switch (k->type) {
	case TYPE_BOOL:
		emit_string(j, "type", "boolean");
		break;
	case TYPE_ENUM:
		schema_choices(j, k);
		break;
	case TYPE_STRING:
	case TYPE_PATH:
		emit_string(j, "type", "string");
		emit_int(j, "minLength", 1);
		break;
	case TYPE_DATE:
		emit_string(j, "type", "string");
		emit_string(j, "pattern", "^[0-9]{4}-[0-9]{2}-[0-9]{2}$");
		break;
	case TYPE_NAMES:
	case TYPE_PATHS:
	case TYPE_RULES:
	case TYPE_HOSTS:
	case TYPE_NETWORKS:
	case TYPE_SOCKETS:
		schema_list(j, k);
		break;
	case TYPE_PORTS:
	case TYPE_PORT_PAIRS:
		schema_ports(j, k);
		break;
	case TYPE_MAP:
		emit_string(j, "type", "object");
		emit_object(j, "additionalProperties");
		emit_string(j, "type", "string");
		emit_end_object(j);
		break;
	default:
		schema_number(j, k);
		break;
	}
	emit_end_object(j);
}

static void schema_strings(struct emit *j, const char *name) {
	emit_object(j, name);
	emit_string(j, "type", "array");
	emit_object(j, "items");
	emit_string(j, "type", "string");
	emit_int(j, "minLength", 1);
	emit_end_object(j);
	emit_end_object(j);
}

/* The members of a command that are lists of patterns. */
static void schema_patterns(struct emit *j) {
	schema_strings(j, "allowed");
	schema_strings(j, "blocked");
}

/* The value of [commands.NAME]. */
static void schema_command(struct emit *j, const struct key *k) {
	emit_object(j, "additionalProperties");
	emit_string(j, "description", k->help);
	emit_array(j, "type");
	emit_string(j, NULL, "object");
	emit_string(j, NULL, "null");
	emit_end_array(j);
	emit_bool(j, "additionalProperties", false);
	emit_object(j, "properties");
	emit_object(j, "description");
	emit_string(j, "type", "string");
	emit_end_object(j);
	schema_patterns(j);
	emit_object(j, "subcommand_restrictions");
	emit_array(j, "anyOf");
	emit_object(j, NULL);
	emit_string(j, "const", "none");
	emit_end_object(j);
	emit_object(j, NULL);
	emit_string(j, "type", "object");
	emit_bool(j, "additionalProperties", false);
	emit_object(j, "properties");
	schema_patterns(j);
	emit_end_object(j);
	emit_end_object(j);
	emit_end_array(j);
	emit_end_object(j);
	emit_end_object(j);
	emit_end_object(j);
}

/* The key that gives a table members of any name; NULL. */
static const struct key *free_members(const char *table) {
	size_t n = strlen(table);
	for (size_t i = 0; i < KEY_COUNT; i++) {
		if (keys[i].type == TYPE_COMMANDS && strncmp(keys[i].name, table, n) == 0 &&
		    keys[i].name[n] == '.') {
			return &keys[i];
		}
	}
	return NULL;
}

static void open_table(struct emit *j, const char *name) {
	const struct key *any = free_members(name);
	emit_object(j, name);
	emit_string(j, "type", "object");
	if (any != NULL) {
		schema_command(j, any);
	} else {
		emit_bool(j, "additionalProperties", false);
	}
	emit_object(j, "properties");
}

static void close_table(struct emit *j) {
	emit_end_object(j);
	emit_end_object(j);
}

/* The rows of one table are adjacent: a table is opened at its first key and closed at the
 * first key of another table. */
typedef bool schema_filter(const struct key *k);

static void schema_keys(struct emit *j, schema_filter *has) {
	char group[32] = "";
	for (size_t i = 0; i < KEY_COUNT; i++) {
		const char *dot = strchr(keys[i].name, '.');
		size_t n = dot == NULL ? 0 : (size_t)(dot - keys[i].name);
		if (!has(&keys[i]) || keys[i].type == TYPE_COMMANDS) {
			continue;
		}
		if (strlen(group) != n || strncmp(group, keys[i].name, n) != 0) {
			if (group[0] != '\0') {
				close_table(j);
			}
			(void)snprintf(group, sizeof group, "%.*s", (int)n, keys[i].name);
			if (group[0] != '\0') {
				open_table(j, group);
			}
		}
		schema_key(j, dot == NULL ? keys[i].name : dot + 1, &keys[i]);
	}
	if (group[0] != '\0') {
		close_table(j);
	}
}

static bool any_key(const struct key *k) {
	(void)k;
	return true;
}

static void begin_schema(struct emit *j, struct buf *out, const char *title) {
	emit_init(j, out, true);
	emit_object(j, NULL);
	emit_string(j, "$schema", "https://json-schema.org/draft/2020-12/schema");
	emit_string(j, "title", title);
	emit_string(j, "type", "object");
	emit_bool(j, "additionalProperties", false);
}

static void schema_version(struct emit *j) {
	emit_object(j, "properties");
	emit_object(j, "version");
	emit_int(j, "const", 1);
	emit_end_object(j);
}

/* [agent.ID]: the members of the table "agent" have any name. */
static void schema_agents(struct emit *j) {
	emit_object(j, AGENT_TABLE);
	emit_string(j, "type", "object");
	open_table(j, "additionalProperties");
	schema_keys(j, request_agent_may);
	close_table(j);
	emit_end_object(j);
}

void policy_schema(struct buf *out) {
	struct emit j;
	begin_schema(&j, out, "Corral policy");
	schema_version(&j);
	schema_keys(&j, any_key);
	open_table(&j, "floor");
	schema_keys(&j, floor_has_key);
	close_table(&j);
	schema_agents(&j);
	emit_end_object(&j);
	emit_end_object(&j);
	buf_puts(out, "\n");
}

void policy_skill_schema(struct buf *out) {
	struct emit j;
	begin_schema(&j, out, "Corral skill");
	emit_array(&j, "required");
	emit_string(&j, NULL, "name");
	emit_end_array(&j);
	schema_version(&j);
	emit_object(&j, "name");
	emit_string(&j, "type", "string");
	emit_string(&j, "pattern", "^[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}$");
	emit_end_object(&j);
	emit_object(&j, "description");
	emit_string(&j, "type", "string");
	emit_end_object(&j);
	open_table(&j, "requires");
	schema_strings(&j, COMMANDS_TABLE);
	schema_keys(&j, request_skill_may);
	close_table(&j);
	emit_end_object(&j);
	emit_end_object(&j);
	buf_puts(out, "\n");
}
