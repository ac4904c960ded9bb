/* SPDX-License-Identifier: Apache-2.0 */
/* `corral profile list|show`: prints the built-in profiles from data/profiles.c.
 *
 * Should:   print a profile as a policy file with the reason of each value, so that it can be
 *           copied and changed.
 * Must not: resolve a policy or read a file.
 * Fails:    with a usage error for an unknown name. */
#include "cli/cli.h"

#include "base/auto.h"
#include "base/emit.h"
#include "base/str.h"
#include "data/profiles.h"

#include <stdio.h>
#include <string.h>

static int print_buffer(struct buf *out, struct corral_error *err) {
	int rc = buf_failed(out) ? memory_error(err) : print_text(out->data, err);
	buf_done(out);
	return rc;
}

static void list_json(struct buf *out) {
	struct emit j;
	emit_init(&j, out, false);
	emit_object(&j, NULL);
	emit_int(&j, "version", 1);
	emit_array(&j, "profiles");
	for (size_t i = 0; i < profiles_count; i++) {
		emit_object(&j, NULL);
		emit_string(&j, "name", profiles[i].name);
		emit_string(&j, "summary", profiles[i].help);
		emit_bool(&j, "usable", profile_is_usable(profiles[i].name));
		emit_end_object(&j);
	}
	emit_end_array(&j);
	emit_end_object(&j);
}

static void list_text(struct buf *out) {
	for (size_t i = 0; i < profiles_count; i++) {
		bool usable = profile_is_usable(profiles[i].name);
		buf_printf(out, "%-14s %s%s\n", profiles[i].name, profiles[i].help,
			   usable ? "" : " (a value is not implemented in this version)");
	}
}

int verb_profile_list(struct invocation *inv, struct corral_error *err) {
	struct buf out;

	if (inv->nwords > 0) {
		return usage_error(err, "corral profile show NAME",
				   "`corral profile list` takes no argument: %s", inv->words[0]);
	}
	buf_init(&out);
	(inv->json ? list_json : list_text)(&out);
	return print_buffer(&out, err);
}

/* Whether the rows of a key are elements of one list. */
static bool is_list(const struct profile_row *row) {
	return keys[row->key].type >= TYPE_NAMES;
}

/* No value of the tables has a quote or a backslash.  A comma separates names. */
static void put_value(struct buf *out, const struct profile_row *row) {
	enum key_type type = keys[row->key].type;
	const char *quote = type == TYPE_BOOL || type == TYPE_COUNT ? "" : "\"";
	for (const char *p = row->value;;) {
		size_t n = type == TYPE_NAMES ? strcspn(p, ",") : strlen(p);
		buf_printf(out, "%s%.*s%s", quote, (int)n, p, quote);
		if (p[n] == '\0') {
			return;
		}
		buf_puts(out, ", ");
		p += n + 1;
	}
}

static bool continues(size_t i) {
	return i > 0 && profile_rows[i].key == profile_rows[i - 1].key &&
	       streq(profile_rows[i].profile, profile_rows[i - 1].profile);
}

static bool is_continued(size_t i) {
	return i + 1 < profile_rows_count && continues(i + 1);
}

static void show_text(const struct profile *profile, struct buf *out) {
	buf_printf(out, "# profile %s: %s\n", profile->name, profile->help);
	for (size_t i = 0; i < profile_rows_count; i++) {
		const struct profile_row *row = &profile_rows[i];
		if (!streq(row->profile, profile->name)) {
			continue;
		}
		if (keys[row->key].type == TYPE_MAP) {
			int n = (int)strcspn(row->value, "=");
			buf_printf(out, "%s.%.*s = \"%s\"  # %s\n", keys[row->key].name, n,
				   row->value, row->value + n + 1, row->reason);
		} else if (is_list(row)) {
			if (!continues(i)) {
				buf_printf(out, "%s = [\n", keys[row->key].name);
			}
			buf_puts(out, "  ");
			put_value(out, row);
			buf_printf(out, ",  # %s\n%s", row->reason, is_continued(i) ? "" : "]\n");
		} else {
			buf_printf(out, "%s = ", keys[row->key].name);
			put_value(out, row);
			buf_printf(out, "  # %s\n", row->reason);
		}
	}
}

static void show_json(const struct profile *profile, struct buf *out) {
	struct emit j;
	emit_init(&j, out, false);
	emit_object(&j, NULL);
	emit_int(&j, "version", 1);
	emit_string(&j, "name", profile->name);
	emit_string(&j, "summary", profile->help);
	emit_bool(&j, "usable", profile_is_usable(profile->name));
	emit_array(&j, "values");
	for (size_t i = 0; i < profile_rows_count; i++) {
		const struct profile_row *row = &profile_rows[i];
		if (streq(row->profile, profile->name)) {
			emit_object(&j, NULL);
			emit_string(&j, "key", keys[row->key].name);
			emit_string(&j, "value", row->value);
			emit_string(&j, "reason", row->reason);
			emit_end_object(&j);
		}
	}
	emit_end_array(&j);
	emit_end_object(&j);
}

int verb_profile_show(struct invocation *inv, struct corral_error *err) {
	struct nearest n;
	struct buf out;

	if (inv->nwords != 1) {
		return usage_error(err, "corral profile list",
				   "`corral profile show` takes the name of one profile");
	}
	const struct profile *profile = profile_by_name(inv->words[0]);
	if (profile == NULL) {
		char remedy[96];
		nearest_init(&n, inv->words[0]);
		for (size_t i = 0; i < profiles_count; i++) {
			nearest_offer(&n, profiles[i].name);
		}
		(void)snprintf(remedy, sizeof remedy, "%s%s", n.best == NULL ? "" : "did you mean ",
			       n.best == NULL ? "corral profile list" : n.best);
		return usage_error(err, remedy, "unknown profile: %s", inv->words[0]);
	}
	buf_init(&out);
	(inv->json ? show_json : show_text)(profile, &out);
	return print_buffer(&out, err);
}
