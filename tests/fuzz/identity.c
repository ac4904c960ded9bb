/* SPDX-License-Identifier: Apache-2.0 */
/* A person's git configuration, of which name, address and safe settings go inside.
 *
 * Nothing but a line of a [user] section may appear in the first, no control
 * character does, and what is written reads the same. */
#include "plan/git/settings.h"
#include "plan/git/identity.h"

#include "base/auto.h"
#include "fuzz.h"

static void check_text(const char *text) {
	HOLDS(strlen(text) < IDENTITY_MAX);
	for (; *text != '\0'; text++) {
		HOLDS((unsigned char)*text >= ' ' && *text != 0x7f);
	}
}

static void check_settings(const char *text) {
	struct gitsettings first = {.excludes = ""}, again = {.excludes = ""};

	buf_init(&first.text);
	buf_init(&again.text);
	git_settings_read(&first, text);
	if (first.text.data != NULL) {
		HOLDS(first.text.len < GITSETTINGS_MAX);
		HOLDS(strstr(first.text.data, "= \"!") == NULL &&
		      strstr(first.text.data, "= !") == NULL);
		git_settings_read(&again, first.text.data);
		HOLDS(again.text.data != NULL && strcmp(first.text.data, again.text.data) == 0);
	}
	buf_done(&first.text);
	buf_done(&again.text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
	struct input in = {data, size};
	auto_free char *text = input_rest(&in);
	struct identity id = {0}, again = {0};
	struct buf out;

	check_settings(text);
	identity_read(&id, text);
	check_text(id.name);
	check_text(id.email);
	HOLDS(strcasestr(text, "[user]") != NULL || (id.name[0] == '\0' && id.email[0] == '\0'));
	buf_init(&out);
	identity_write(&id, &out);
	identity_read(&again, out.data);
	HOLDS(strcmp(id.name, again.name) == 0 && strcmp(id.email, again.email) == 0);
	buf_done(&out);
	return 0;
}
