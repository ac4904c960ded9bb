/* SPDX-License-Identifier: Apache-2.0 */
/* Checks one policy file on its own, and lists its values that make the boundary wider.
 *
 * Should:   find every error that does not depend on other layers or on the host.
 * Must not: resolve names of the file system.
 * Fails:    closed: the first error ends the check. */
#include "policy/internal.h"

#include "base/auto.h"
#include "base/fd.h"
#include "base/str.h"
#include "data/environment.h"
#include "data/loosening.h"
#include "data/profiles.h"
#include "policy/agent.h"
#include "policy/foreign.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>

int policy_unknown_profile(const struct value *v, struct err *e) {
	char name[64], from[SHOWN_MAX], known[200] = "";
	size_t at = 0;
	for (size_t i = 0; i < profiles_count && at < sizeof known; i++) {
		at += (size_t)snprintf(known + at, sizeof known - at, "%s%s", i > 0 ? ", " : "",
				       profiles[i].name);
	}
	(void)err_set(e, ERR_USAGE, "policy", "unknown profile \"%s\" (%s)",
		      value_shown(v->str, name, sizeof name),
		      policy_origin_text(&v->origin, from, sizeof from));
	return err_fix(e, "use one of %s", known);
}

static int parse_alone(struct arena *a, const struct foreign_text *text, struct policy *layer,
		       struct err *e) {
	struct policy floor = {0};
	struct foreign f;
	if (foreign_parse_all(a, text, &f, e) != 0) {
		return -1;
	}
	struct where w = {.a = a,
			  .origin = {.kind = ORIGIN_FILE, .name = text->name},
			  .cwd = "/",
			  .base = "/",
			  .home = "/"};
	if (layer_from_doc(&w, f.root, layer, &floor, e) != 0) {
		return -1;
	}
	const struct value *profile = &layer->values[KEY_PROFILE];
	if (profile->set && profile_by_name(profile->str) == NULL) {
		return policy_unknown_profile(profile, e);
	}
	return policy_check_environment(layer, e) != 0 ? -1 : policy_check_calls(layer, e);
}

static int read_alone(struct arena *a, const char *path, struct policy *layer, struct err *e) {
	auto_buf text = {0};
	auto_fd fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (fd < 0) {
		return policy_file_error(e, path, errno);
	}
	if (policy_file_read(fd, path, true, &text, e) != 0) {
		return -1;
	}
	return parse_alone(a, &(struct foreign_text){path, text.data, text.len, NULL}, layer, e) !=
			       0
		       ? -1
		       : policy_check_layer(layer, e);
}

int policy_check_text(struct arena *a, const struct standing_file *file, struct err *e) {
	struct policy layer = {0};
	return parse_alone(a, &(struct foreign_text){file->path, file->text, file->len, NULL},
			   &layer, e);
}

static bool is_skill(const char *path) {
	const char *slash = strrchr(path, '/');
	return streq(slash == NULL ? path : slash + 1, SKILL_NAME);
}

static int read_skill(struct arena *a, const char *path, struct err *e) {
	struct skill skill;
	return skill_read(a, path, "/", &skill, e);
}

int policy_check_file(struct arena *a, const char *path, struct err *e) {
	struct policy layer = {0};
	return is_skill(path) ? read_skill(a, path, e) : read_alone(a, path, &layer, e);
}

static bool is_secret(const struct item *it) {
	char name[256];
	(void)snprintf(name, sizeof name, "%.*s", (int)strcspn(it->str, "="), it->str);
	const struct env_row *row = environment_row_for(name);
	return row != NULL && row->class == ENV_SECRET;
}

/* "/", "/home", "/root" or "/home/ann". */
static bool is_broad(const char *path) {
	const char *name = str_starts(path, "/home/") ? path + strlen("/home/") : "/";

	return streq(path, "/") || streq(path, "/home") || streq(path, "/root") ||
	       strchr(name, '/') == NULL;
}

static bool is_listed(enum loosening_items items, const struct item *it) {
	switch (items) {
	case ITEMS_SECRET:
		return is_secret(it);
	case ITEMS_BROAD:
		return is_broad(it->str);
	case ITEMS_EXCEPT:
		return it->except;
	case ITEMS_ALL:
		break;
	}
	return true;
}

static void put_warning(struct buf *out, const struct origin *o, const struct key *k,
			const char *value, const char *why) {
	char from[300], shown[120];
	buf_printf(out, "%s: warning: %s = %s: %s\n", policy_origin_text(o, from, sizeof from),
		   k->name, value_shown(value, shown, sizeof shown), why);
}

static void review_list(const struct loosening *row, const struct value *v, struct buf *out) {
	for (size_t i = 0; i < v->count; i++) {
		const struct item *it = &v->items[i];
		char name[256];
		/* Of a variable the name alone: its value may be the credential. */
		size_t n =
			keys[row->key].type == TYPE_MAP ? strcspn(it->str, "=") : strlen(it->str);
		(void)snprintf(name, sizeof name, "%.*s", (int)n, it->str); /* may be cut */
		if (is_listed(row->items, it)) {
			put_warning(out, &it->origin, &keys[row->key], name, row->why);
		}
	}
}

int policy_review(struct arena *a, const char *path, struct buf *out, struct err *e) {
	struct policy layer = {0};
	if (is_skill(path)) {
		return read_skill(a, path, e); /* it widens nothing */
	}
	if (read_alone(a, path, &layer, e) != 0) {
		return -1;
	}
	for (size_t i = 0; i < loosenings_count; i++) {
		const struct loosening *row = &loosenings[i];
		const struct key *k = &keys[row->key];
		const struct value *v = &layer.values[row->key];
		char text[32];
		if (value_key_is_list(k)) {
			review_list(row, v, out);
		} else if (v->set && v->num >= row->from && v->num <= row->to) {
			put_warning(out, &v->origin, k, number_value(k, v->num, text, sizeof text),
				    row->why);
		}
	}
	return 0;
}
