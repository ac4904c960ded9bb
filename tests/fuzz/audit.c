/* SPDX-License-Identifier: Apache-2.0 */
/* A line of the audit log that anybody may have edited.
 *
 * An input is one line.  Whatever it is: the reader stays inside of it, reading in two steps is
 * reading at once, and no control character reaches a terminal.  A line that is JSON for another
 * parser too has the same members there. */
#include "fuzz.h"

#include "audit/bytes.h"
#include "audit/print.h"

#include <jansson.h>

static const struct {
	enum audit_member member;
	const char *name;
} members[] = {
	{AUDIT_TIME, "time"},       {AUDIT_KIND, "kind"},
	{AUDIT_ID, "id"},           {AUDIT_VERDICT, "verdict"},
	{AUDIT_EXIT, "exit"},       {AUDIT_DURATION, "duration_ms"},
	{AUDIT_COMMAND, "command"}, {AUDIT_WORKSPACE, "workspace"},
	{AUDIT_ERRNO, "errno"},     {AUDIT_ALLOW_WITH, "allow_with"},
	{AUDIT_COUNT, "count"},     {AUDIT_FINGERPRINT, "fingerprint"},
};

static void members_are_those_of_jansson(const struct audit_line *l, const struct audit_fields *f) {
	json_t *tree = json_loadb(l->text, l->len, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, NULL);

	for (size_t i = 0; tree != NULL && i < sizeof members / sizeof members[0]; i++) {
		struct audit_field text = f->at[members[i].member];
		json_t *wanted = json_object_get(tree, members[i].name);
		json_t *got = json_loadb(text.len == 0 ? "" : text.text, text.len,
					 JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
		/* A key with an escape is another text for the reader, which is no fault. */
		HOLDS(text.len == 0 || (got != NULL && json_equal(got, wanted)));
		HOLDS(wanted == NULL || text.len > 0 || memchr(l->text, '\\', l->len) != NULL);
		json_decref(got);
	}
	json_decref(tree);
}

static void steps_are_equal(const struct audit_line *l) {
	struct audit_fields once, twice;
	int rc = audit_fields_read(l, AUDIT_MEMBERS, &once);

	if (audit_fields_read(l, AUDIT_VERDICT, &twice) == 0) {
		(void)audit_fields_more(l, AUDIT_COMMAND, &twice); /* the last step decides */
		HOLDS(audit_fields_more(l, AUDIT_MEMBERS, &twice) == rc);
		HOLDS(memcmp(once.at, twice.at, sizeof once.at) == 0);
	} else {
		HOLDS(rc == -1);
	}
	if (rc == 0) {
		members_are_those_of_jansson(l, &once);
	}
}

static void text_is_harmless(const struct audit_line *l) {
	struct audit_fields f;
	struct buf out;

	buf_init(&out);
	(void)audit_fields_read(l, AUDIT_COMMAND, &f); /* what was read is printed */
	audit_text_line(l, &f, false, &out);
	audit_detail(l, &out);
	for (size_t i = 0; i < out.len; i++) {
		HOLDS((unsigned char)out.data[i] >= ' ' || out.data[i] == '\n');
		HOLDS(out.data[i] != 0x7f);
	}
	buf_done(&out);
}

static bool is_plain(const char *t, size_t len) {
	for (size_t i = 0; i < len; i++) {
		if ((unsigned char)t[i] < 0x20 || (unsigned char)t[i] > 0x7e) {
			return false;
		}
	}
	return true;
}

static void searches_are_exact(const char *t, size_t len) {
	const char *newline = len == 0 ? NULL : memchr(t, '\n', len);
	size_t at = 0;

	while (at < len && t[at] != '"' && t[at] != '\\') {
		at++;
	}
	HOLDS(bytes_line_end(t, len) == (newline == NULL ? len : (size_t)(newline - t)));
	HOLDS(bytes_find(t, 0, len, "\"\\") == at);
	HOLDS(bytes_are_plain(t, len) == is_plain(t, len));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
	/* Of its exact size: the sanitizer sees a read behind its end. */
	char *copy = malloc(size == 0 ? 1 : size);

	HOLDS(copy != NULL);
	memcpy(copy, size == 0 ? (const uint8_t *)"" : data, size);
	searches_are_exact(copy, size);
	const char *newline = size == 0 ? NULL : memchr(copy, '\n', size);
	size_t len = newline == NULL ? size : (size_t)(newline - copy);
	char *line = realloc(copy, len == 0 ? 1 : len);
	HOLDS(line != NULL);
	struct audit_line l = {line, len};
	steps_are_equal(&l);
	text_is_harmless(&l);
	free(line);
	return 0;
}
