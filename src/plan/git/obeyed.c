/* SPDX-License-Identifier: Apache-2.0 */
/* Collects core.hooksPath and included files from the caller's git configuration.
 *
 * Should:   record every value once, also one that a later value overrides.
 * Must not: read a file: the caller reads the included files too.
 * Fails:    open: `more` records that values were left out, and the plan reports it. */
#include "plan/git/obeyed.h"

#include "base/path.h"
#include "base/str.h"
#include "plan/git/config.h"

#include <string.h>

static void add(struct git_obeyed *o, const char **list, size_t *n, const char *value) {
	for (size_t i = 0; i < *n; i++) {
		if (value != NULL && streq(list[i], value)) {
			return;
		}
	}
	if (value == NULL || *n == GITOBEYED_MAX) {
		o->more = true;
		return;
	}
	list[(*n)++] = value;
}

/* "~user/": another user's home is not resolved. */
static bool is_of_other(const char *value) {
	return value[0] == '~' && value[1] != '/';
}

/* As git expands a path in its configuration. */
static const char *expand(struct arena *a, const char *home, const char *file, const char *value) {
	if (value[0] == '~') {
		return home == NULL ? NULL : path_join(a, home, value + 2);
	}
	return value[0] == '/' ? path_join(a, "/", value)
			       : path_join(a, path_join(a, file, ".."), value);
}

void git_obeyed_add(struct git_obeyed *o, const char *path) {
	add(o, o->files, &o->nfiles, path);
}

void git_obeyed_read(struct git_obeyed *o, struct arena *a, const char *home, const char *path,
		     const char *text) {
	struct git_config c;
	enum git_config_event event;

	git_config_init(&c, text, strlen(text));
	while ((event = git_config_next(&c)) != GIT_CONFIG_END && !git_config_failed(&c)) {
		if (event != GIT_CONFIG_ENTRY || !c.has_value || c.value.len == 0 ||
		    is_of_other(c.value.data)) {
			continue;
		}
		if (git_config_is(&c, "core", "hookspath")) {
			add(o, o->hooks, &o->nhooks, arena_strdup(a, c.value.data));
		} else if (git_config_is(&c, "include", "path") ||
			   git_config_is(&c, "includeif", "path")) {
			git_obeyed_add(o, expand(a, home, path, c.value.data));
		}
	}
	o->more = o->more || git_config_failed(&c);
	git_config_done(&c);
}
