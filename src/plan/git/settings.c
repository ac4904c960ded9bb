/* SPDX-License-Identifier: Apache-2.0 */
/* Copies the harmless settings of the caller's git configuration for git in the sandbox.
 *
 * Should:   write each entry that has a row in data/gitsafe.c, in the order in which it was
 *           read, because in git the last one wins.
 * Must not: copy an alias that a shell runs, a value with a control character, or one that
 *           looks like a credential.
 * Fails:    closed: an entry that cannot be parsed is left out. */
#include "plan/git/settings.h"

#include "base/str.h"
#include "data/gitsafe.h"
#include "plan/git/clean.h"
#include "plan/git/config.h"

static bool is_plain(const char *text, size_t len) {
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)text[i];
		if (c < ' ' || c == 0x7f) {
			return false;
		}
	}
	return len < GITSETTING_MAX;
}

static bool is_safe(const struct git_config *c) {
	for (size_t i = 0; i < gitsafe_rows_count; i++) {
		const struct gitsafe_row *row = &gitsafe_rows[i];
		if (streq(row->section, c->section.data) &&
		    (streq(row->key, "*") || streq(row->key, c->key.data))) {
			return true;
		}
	}
	return false;
}

/* A shell runs an alias of the form "!command"; an alias without a value is left out as well. */
static bool is_program(const struct git_config *c) {
	return streq(c->section.data, "alias") && (!c->has_value || c->value.data[0] == '!');
}

static void write_entry(const struct git_config *c, struct buf *out) {
	buf_printf(out, "[%s]\n\t%s", c->section.data, c->key.data);
	if (c->has_value) {
		buf_puts(out, " = ");
		git_config_quote(c->value.data, c->value.len, out);
	}
	buf_puts(out, "\n");
}

static void take(struct gitsettings *s, const struct git_config *c) {
	const char *value = c->has_value ? c->value.data : "";
	size_t len = c->has_value ? c->value.len : 0;
	struct buf entry, cleaned;

	if (c->has_sub || c->section.len == 0 || !is_plain(value, len)) {
		return;
	}
	if (git_config_is(c, "core", "excludesfile") && len < sizeof s->excludes) {
		memcpy(s->excludes, value, len);
		s->excludes[len] = '\0';
	}
	if (!is_safe(c) || is_program(c)) {
		return;
	}
	buf_init(&entry);
	buf_init(&cleaned);
	write_entry(c, &entry);
	if (!buf_failed(&entry) && s->text.len + entry.len < GITSETTINGS_MAX &&
	    git_clean(entry.data, entry.len, &cleaned) == GIT_CLEAN_SAME) {
		buf_puts(&s->text, entry.data);
	}
	buf_done(&entry);
	buf_done(&cleaned);
}

void git_settings_read(struct gitsettings *s, const char *text) {
	struct git_config c;
	enum git_config_event event;

	git_config_init(&c, text, strlen(text));
	while ((event = git_config_next(&c)) != GIT_CONFIG_END && !git_config_failed(&c)) {
		if (event == GIT_CONFIG_ENTRY) {
			take(s, &c);
		}
	}
	git_config_done(&c);
}
