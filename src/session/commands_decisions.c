/* SPDX-License-Identifier: Apache-2.0 */
/* The gate's decisions about a command that runs: kept for its view, and sent as events.
 *
 * Should:   add equal decisions up, as the result of the command does.
 * Must not: keep more than DECISIONS_KEPT rows of a command.
 * Fails:    open: the result has every decision. */
#include "session/commands.h"

#include "base/auto.h"
#include "session/overview_events.h"

#include <stdio.h>

#define DECISIONS_KEPT 64

static bool is_same(const json_t *a, const json_t *b) {
	static const char *const keys[] = {"op",      "name", "address", "port",
					   "verdict", "rule", "why"};

	for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
		if (!json_equal(json_object_get(a, keys[i]), json_object_get(b, keys[i]))) {
			return false;
		}
	}
	return true;
}

static json_int_t count_of(const json_t *row, const char *key) {
	return json_integer_value(json_object_get(row, key));
}

static void add_up(json_t *old, const json_t *row) {
	static const char *const sums[] = {"count", "sent", "received"};

	for (size_t i = 0; i < ARRAY_LEN(sums); i++) {
		json_int_t n = count_of(old, sums[i]) + count_of(row, sums[i]);
		(void)json_object_set_new(old, sums[i], json_integer(n));
	}
}

static void keep(struct command *c, json_t *row) {
	size_t i;
	json_t *old;

	if (c->decisions == NULL) {
		c->decisions = json_array();
	}
	json_array_foreach(c->decisions, i, old) {
		if (is_same(old, row)) {
			add_up(old, row);
			return;
		}
	}
	if (json_array_size(c->decisions) < DECISIONS_KEPT) {
		(void)json_array_append_new(c->decisions, json_copy(row));
	} else {
		c->undecided += (uint64_t)count_of(row, "count");
	}
}

static void tell(const struct live *l, const struct command *c, json_t *event) {
	char id[SESSION_ID_LENGTH + 16];

	(void)snprintf(id, sizeof id, "%s.%u", l->id, c->call);
	(void)json_object_set_new(event, "session", json_string(l->id));
	(void)json_object_set_new(event, "run", json_string(id));
	overview_event(l->daemon, "decision", event);
}

void commands_decisions_add(const struct live *l, struct command *c, const json_t *news) {
	json_int_t more = count_of(news, "network_more");
	size_t i;
	json_t *row;

	json_array_foreach(json_object_get(news, "network"), i, row) {
		keep(c, row);
		if (overview_is_watched(l->daemon)) {
			tell(l, c, json_copy(row));
		}
	}
	if (more > 0) {
		c->undecided += (uint64_t)more;
		if (overview_is_watched(l->daemon)) {
			tell(l, c, json_pack("{s:I}", "more", more));
		}
	}
}
