/* SPDX-License-Identifier: Apache-2.0 */
/* Somebody else's text on its way to a person's terminal.
 *
 * An input is a name: of a file, a key, a variable.  Whatever shows it, no
 * control character comes out: neither C0 and DEL nor C1, which a terminal obeys as it
 * does an escape, in UTF-8 or as a byte of its own; nor what turns a text round. */
#include "fuzz.h"

#include "base/auto.h"
#include "base/emit.h"
#include "base/str.h"
#include "policy/internal.h"

/* How many bytes of a character follow this one, by its first bits. */
static int more_bytes(unsigned char first) {
	return first < 0xC2 ? 0 : first < 0xE0 ? 1 : first < 0xF0 ? 2 : first < 0xF5 ? 3 : 0;
}

static void is_harmless(const char *text, bool newlines) {
	for (const unsigned char *p = (const unsigned char *)text; *p != '\0'; p++) {
		HOLDS(*p >= 0x20 || (newlines && *p == '\n'));
		HOLDS(*p < 0x7F || *p > 0x9F);
		HOLDS(*p != 0xC2 || p[1] < 0x80 || p[1] > 0x9F);
		HOLDS(strncmp((const char *)p, "\xE2\x80\xAE", 3) != 0); /* RLO */
		HOLDS(strncmp((const char *)p, "\xE2\x81\xA7", 3) != 0); /* RLI */
		int more = more_bytes(*p), there = 0;
		while (there < more && (p[there + 1] & 0xC0) == 0x80) {
			there++;
		}
		/* Of a whole character the rest may be any; of a broken one it is judged. */
		p += there == more && str_utf8_length(p, (size_t)more + 1) > 0 ? more : 0;
	}
}

static void in_a_policy(const char *text) {
	struct policy p = {0};
	struct item item = {.str = text, .origin = {.kind = ORIGIN_FILE, .name = text, .line = 1}};
	auto_buf out = {0};
	p.values[KEY_FS_DENY] = (struct value){.set = true, .items = &item, .count = 1};
	p.values[KEY_CHDIR] = (struct value){.set = true, .str = text, .origin = item.origin};
	policy_print(&p, false, &out);
	is_harmless(out.data, true);
}

static void in_json(const char *text) {
	struct emit j;
	auto_buf out = {0};
	emit_init(&j, &out, true);
	emit_string(&j, NULL, text);
	is_harmless(out.data, false);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
	struct input in = {data, size};
	auto_free char *text = input_rest(&in);
	const struct origin from = {.kind = ORIGIN_PROJECT, .name = text};
	char short_form[40], origin[64];
	is_harmless(value_shown(text, short_form, sizeof short_form), false);
	is_harmless(policy_origin_text(&from, origin, sizeof origin), false);
	in_a_policy(text);
	in_json(text);
	str_hide_controls(text, true);
	is_harmless(text, true);
	str_hide_controls(text, false);
	is_harmless(text, false);
	return 0;
}
