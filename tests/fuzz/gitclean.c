/* SPDX-License-Identifier: Apache-2.0 */
/* A repository's configuration, which anybody may have written.
 *
 * What is left reads as git reads it, holds nothing that would be removed once
 * more, and has every entry that was there, but for those that are gone. */
#include "plan/git/clean.h"
#include "plan/git/config.h"

#include "base/auto.h"
#include "fuzz.h"

/* Entries; -1 where git would stop. */
static long count(const char *text, size_t len) {
	struct git_config c;
	enum git_config_event event;
	long n = 0;

	git_config_init(&c, text, len);
	while ((event = git_config_next(&c)) != GIT_CONFIG_END && n >= 0) {
		HOLDS(c.start < c.end && c.end <= len);
		n = event == GIT_CONFIG_BAD ? -1 : n + (event == GIT_CONFIG_ENTRY);
		HOLDS(event != GIT_CONFIG_ENTRY ||
		      (c.start < c.value_at && c.value_at <= c.value_end && c.value_end <= c.end));
	}
	git_config_done(&c);
	return n;
}

static void check(const char *text, size_t len, struct buf *out, struct buf *again) {
	enum git_clean got = git_clean(text, len, out);
	long before = count(text, len);

	HOLDS(before >= 0 || got != GIT_CLEAN_CHANGED);
	HOLDS(before < 0 || got != GIT_CLEAN_CLOSED);
	if (before < 0) {
		return;
	}
	HOLDS(got != GIT_CLEAN_SAME || (out->len == len && memcmp(out->data, text, len) == 0));
	long after = count(out->data, out->len);
	HOLDS(after >= 0 && after <= before);
	HOLDS(git_clean(out->data, out->len, again) == GIT_CLEAN_SAME);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
	struct input in = {data, size};
	auto_free char *text = input_rest(&in);
	struct buf out, again;

	buf_init(&out);
	buf_init(&again);
	check(text, strlen(text), &out, &again);
	buf_done(&out);
	buf_done(&again);
	return 0;
}
