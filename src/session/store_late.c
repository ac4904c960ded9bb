/* SPDX-License-Identifier: Apache-2.0 */
/* The list of states that are not in the database yet.
 *
 * Should:   keep level and reason of earlier changes, as the database does.
 * Must not: write: session/store.c does.
 * Fails:    open: without memory an entry is missing, and a reader gets the row of the database. */
#include "session/store_late.h"

#include "base/str.h"

#include <stdio.h>
#include <stdlib.h>

struct late *store_late_find(struct late *list, const char *id) {
	while (list != NULL && !streq(list->id, id)) {
		list = list->next;
	}
	return list;
}

static void keep_text(char *to, size_t cap, const char *text) {
	if (text[0] != '\0') {
		(void)snprintf(to, cap, "%s", text); /* a longer one is cut */
	}
}

void store_late_put(struct late **list, const struct state_change *c, enum session_state to) {
	struct late *entry = store_late_find(*list, c->id);

	if (entry == NULL) {
		entry = calloc(1, sizeof *entry);
		if (entry == NULL) {
			return;
		}
		(void)snprintf(entry->id, sizeof entry->id, "%s", c->id);
		entry->next = *list;
		*list = entry;
	}
	entry->state = to;
	keep_text(entry->reason, sizeof entry->reason, c->reason);
	keep_text(entry->level, sizeof entry->level, c->level);
	if (to == SESSION_RUNNING) {
		entry->started = c->now;
	} else if (state_is_final(to)) {
		entry->ended = c->now;
	}
}

void store_late_remove(struct late **list, struct late *entry) {
	while (*list != NULL && *list != entry) {
		list = &(*list)->next;
	}
	if (*list != NULL) {
		*list = entry->next;
		free(entry);
	}
}

void store_late_apply(struct late *list, struct session_row *row) {
	const struct late *entry = store_late_find(list, row->id);

	if (entry == NULL) {
		return;
	}
	row->state = entry->state;
	row->reason = entry->reason[0] != '\0' ? entry->reason : row->reason;
	row->level = entry->level[0] != '\0' ? entry->level : row->level;
	row->started = entry->started != 0 ? entry->started : row->started;
	row->ended = entry->ended != 0 ? entry->ended : row->ended;
}
