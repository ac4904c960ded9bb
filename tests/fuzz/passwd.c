/* SPDX-License-Identifier: Apache-2.0 */
/* /etc/passwd, by hand in the product because libc's look-up loads plug-ins.
 *
 * The first four bytes are the uid, the rest is the file.  The line that is
 * found is the first whose third field is that number in digits. */
#include "linux/probe.c"

#include "fuzz.h"

#include <ctype.h>

static bool is_uid(const char *field, size_t len, uint32_t uid) {
	uint64_t n = 0;
	for (size_t i = 0; i < len; i++) {
		if (!isdigit((unsigned char)field[i]) || n > UINT32_MAX) {
			return false;
		}
		n = n * 10 + (uint64_t)(field[i] - '0');
	}
	return len > 0 && n == uid;
}

/* Where the line begins in the text, or -1. */
static ptrdiff_t expect(const char *text, uint32_t uid) {
	for (const char *line = text; *line != '\0';) {
		size_t len = strcspn(line, "\n"), name = strcspn(line, ":\n");
		const char *second = line + name + (name < len);
		size_t word = strcspn(second, ":\n");
		const char *third = second + word + 1;
		if (name < len && second[word] == ':' && third[strcspn(third, ":\n")] == ':' &&
		    is_uid(third, strcspn(third, ":\n"), uid)) {
			return line - text;
		}
		line += len + (line[len] == '\n');
	}
	return -1;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
	struct input in = {data, size};
	uint32_t uid = input_word(&in);
	auto_free char *text = input_rest(&in);
	ptrdiff_t want = expect(text, uid);
	char *line = passwd_line(text, uid);
	HOLDS(want < 0 ? line == NULL : line == text + want);
	return 0;
}
