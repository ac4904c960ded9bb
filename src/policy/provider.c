/* SPDX-License-Identifier: Apache-2.0 */
/* Expands the key `providers` of one layer: hosts, key variables, settings and the command.
 *
 * Should:   give each value the origin of the provider's name, so that `policy show` and `explain`
 *           say where it comes from; leave checks, floor and narrowing to the keys themselves.
 * Must not: run for an untrusted project's file, which may not name a provider.
 * Fails:    closed: a value that another setting contradicts is an error. */
#include "policy/internal.h"

#include "base/auto.h"
#include "data/providers.h"

#include <assert.h>
#include <stdio.h>

/* "--provider codex", "/etc/corral/policy.toml:3 (provider codex)"; of a profile only its name,
 * which policy_origin_text() completes. */
static int provider_origin(const struct where *w, const struct item *it, struct where *ret,
			   struct err *e) {
	char from[SHOWN_MAX];
	if (it->origin.kind == ORIGIN_PROFILE) {
		(void)snprintf(from, sizeof from, "%s", it->origin.name);
	} else {
		policy_origin_text(&it->origin, from, sizeof from);
	}
	const char *text = it->origin.kind == ORIGIN_OPTION
				   ? arena_printf(w->a, "%s %s", from, it->str)
				   : arena_printf(w->a, "%s (provider %s)", from, it->str);
	*ret = *w;
	ret->origin = (struct origin){.kind = it->origin.kind, .name = text};
	return text == NULL ? err_memory(e, "policy") : 0;
}

/* One column of the row, each entry between the two texts of `around`, as values of the key. */
static int put_column(const struct where *w, struct policy *layer, enum key_id key,
		      const char *const column[PROVIDER_ITEMS], const char *const around[2],
		      struct err *e) {
	for (size_t i = 0; i < PROVIDER_ITEMS && column[i] != NULL; i++) {
		const char *text = arena_printf(w->a, "%s%s%s", around[0], column[i], around[1]);
		if (text == NULL) {
			return err_memory(e, "policy");
		}
		if (value_from_text(w, &keys[key], text, &layer->values[key], e) != 0) {
			return -1;
		}
	}
	return 0;
}

static int expand(const struct where *w, const struct provider *row, struct policy *layer,
		  struct err *e) {
	const char *const command[PROVIDER_ITEMS] = {row->command};
	const struct {
		enum key_id key;
		const char *const *column;
		const char *around[2];
	} columns[] = {
		{KEY_NET_ALLOW, row->hosts, {"", ""}},
		/* The vault's value, if it has one, is stronger than the caller's variable. */
		{KEY_ENV_PASS, row->variables, {"", "?"}},
		{KEY_ENV_SECRETS, row->variables, {"", "?"}},
		{KEY_FS_READ, row->files, {"~/", "?"}},
		{KEY_COMMANDS, command, {"", ""}},
	};
	for (size_t i = 0; i < ARRAY_LEN(columns); i++) {
		if (columns[i].key == KEY_FS_READ && w->home == NULL) {
			continue; /* without a home there are no settings */
		}
		if (put_column(w, layer, columns[i].key, columns[i].column, columns[i].around, e) !=
		    0) {
			return -1;
		}
	}
	return 0;
}

int provider_expand(const struct where *w, struct policy *layer, struct err *e) {
	const struct value *names = &layer->values[KEY_PROVIDERS];
	for (size_t i = 0; i < names->count; i++) {
		const struct provider *row = provider_by_name(names->items[i].str);
		struct where at;
		assert(row != NULL); /* the key's choices are the names of the rows */
		if (provider_origin(w, &names->items[i], &at, e) != 0 ||
		    expand(&at, row, layer, e) != 0) {
			return -1;
		}
	}
	return 0;
}
