/* SPDX-License-Identifier: Apache-2.0 */
/* Reads user.name and user.email from a git configuration, and writes them as one.
 *
 * Should:   parse as git does, but continue after a line that git would refuse.
 * Must not: accept a value with a control character, or a truncated one.
 * Fails:    open: a value that cannot be read is left out, and git reports that it is missing. */
#include "plan/git/identity.h"

#include "base/str.h"
#include "plan/git/config.h"

/* No control character, and short enough. */
static bool is_usable(const struct buf *value) {
	bool usable = value->len < IDENTITY_MAX;
	for (size_t i = 0; usable && i < value->len; i++) {
		unsigned char c = (unsigned char)value->data[i];
		usable = c >= ' ' && c != 0x7f;
	}
	return usable;
}

static void take(struct identity *id, const struct git_config *c) {
	bool name = streq(c->key.data, "name"), email = streq(c->key.data, "email");
	bool ours = !c->has_sub && (name || email) && git_config_is(c, "user", c->key.data);
	if (ours && c->has_value && is_usable(&c->value)) {
		memcpy(name ? id->name : id->email, c->value.data, c->value.len + 1);
	}
}

void identity_read(struct identity *id, const char *text) {
	struct git_config c;
	enum git_config_event event;

	git_config_init(&c, text, strlen(text));
	while ((event = git_config_next(&c)) != GIT_CONFIG_END && !git_config_failed(&c)) {
		if (event == GIT_CONFIG_ENTRY) {
			take(id, &c);
		}
	}
	git_config_done(&c);
}

static void write_setting(struct buf *out, const char *key, const char *text) {
	if (text[0] != '\0') {
		buf_printf(out, "\t%s = ", key);
		git_config_quote(text, strlen(text), out);
		buf_puts(out, "\n");
	}
}

void identity_write(const struct identity *id, struct buf *out) {
	buf_puts(out, "[include]\n\tpath = /etc/gitconfig\n[user]\n");
	write_setting(out, "name", id->name);
	write_setting(out, "email", id->email);
}
