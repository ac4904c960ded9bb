/* SPDX-License-Identifier: Apache-2.0 */
/* Quotes arguments so that CommandLineToArgvW returns them unchanged.
 *
 * Should:   be exact for every argument, the empty one and those with quotes, backslashes, spaces
 *           and newlines too.
 * Must not: use "" for a quote: the C library and CommandLineToArgvW read that differently.
 * Fails:    closed: an argument that cannot be written, and a program that reads its line by other
 * rules, is an error. */
#include "windows/quote.h"

#include "base/str.h"
#include "windows/utf16.h"

#include <stdint.h>
#include <strings.h>

#define WHERE "arguments"

static void put_backslashes(struct buf *out, size_t n) {
	while (n-- > 0) {
		buf_add(out, "\\", 1);
	}
}

void quote_argument(struct buf *out, const char *argument) {
	size_t backslashes = 0;

	if (argument[0] != '\0' && argument[strcspn(argument, " \t\n\v\"")] == '\0') {
		buf_puts(out, argument);
		return;
	}
	buf_add(out, "\"", 1);
	for (const char *p = argument; *p != '\0'; p++) {
		if (*p == '\\') {
			backslashes++;
			continue;
		}
		/* Backslashes are doubled before a quote only, which has one more before it. */
		put_backslashes(out, *p == '"' ? 2 * backslashes + 1 : backslashes);
		backslashes = 0;
		buf_add(out, p, 1);
	}
	put_backslashes(out, 2 * backslashes);
	buf_add(out, "\"", 1);
}

/* In the program's name a backslash is never an escape, and a quote cannot be written. */
static int put_program(struct buf *out, const char *program, struct err *e) {
	if (strchr(program, '"') != NULL) {
		return err_set(e, ERR_USAGE, WHERE, "the program's name contains a quote");
	}
	buf_printf(out, "\"%s\"", program);
	return 0;
}

int quote_line(const char *const *argv, size_t n, struct buf *out, struct err *e) {
	if (n == 0 || argv[0][0] == '\0') {
		return err_set(e, ERR_USAGE, WHERE, "there is no program to run");
	}
	if (put_program(out, argv[0], e) != 0) {
		return -1;
	}
	for (size_t i = 1; i < n; i++) {
		buf_add(out, " ", 1);
		quote_argument(out, argv[i]);
	}
	if (buf_failed(out)) {
		return err_memory(e, WHERE);
	}
	size_t units = utf16_length(out->data);
	if (units == SIZE_MAX) {
		return err_set(e, ERR_USAGE, WHERE, "an argument is not valid Unicode");
	}
	if (units >= QUOTE_LINE_MAX) {
		(void)err_set(e, ERR_USAGE, WHERE,
			      "the arguments take %zu characters; Windows accepts %d", units,
			      QUOTE_LINE_MAX - 1);
		return err_fix(e, "pass long input on stdin (--stdin) or in a file");
	}
	return 0;
}

/* The last component, and its length without the dots and spaces that Windows ignores. */
static const char *last_component(const char *path, size_t *ret_len) {
	const char *name = path;

	for (const char *p = path; *p != '\0'; p++) {
		name = *p == '/' || *p == '\\' ? p + 1 : name;
	}
	size_t len = strlen(name);
	while (len > 0 && (name[len - 1] == '.' || name[len - 1] == ' ')) {
		len--;
	}
	*ret_len = len;
	return name;
}

bool quote_is_batch(const char *program) {
	size_t len;
	const char *name = last_component(program, &len);

	return len >= 4 && (strncasecmp(name + len - 4, ".bat", 4) == 0 ||
			    strncasecmp(name + len - 4, ".cmd", 4) == 0);
}

int quote_check_program(const char *program, struct err *e) {
	size_t len;
	const char *name = last_component(program, &len);

	if (quote_is_batch(program)) {
		(void)err_set(e, ERR_NO_EXEC, WHERE,
			      "%s is a batch file: cmd.exe would read its arguments again, by "
			      "other rules",
			      program);
		return err_fix(e, "name the interpreter: corral.exe run -- cmd.exe /d /c call "
				  "SCRIPT");
	}
	if (memchr(name, ':', len) != NULL) {
		return err_set(e, ERR_NO_EXEC, WHERE, "%s names a stream of a file, not a program",
			       program);
	}
	return 0;
}
