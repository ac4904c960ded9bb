/* SPDX-License-Identifier: Apache-2.0 */
/* The header and the footer of `corral run -v` on a terminal.
 *
 * Should:   print the command before the run, and how it ended after it; in colour, and with a live
 *           line in between (run/live.h), unless NO_COLOR is set or the terminal is dumb.
 * Must not: print anything without -v; print a control character of the command line; change the
 *           plain lines that a pipe or a file gets.
 * Fails:    open: a line that cannot be printed is dropped. */
#include "cli/cli.h"

#include "base/str.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define GREEN "\033[32m"
#define RED "\033[31m"
#define BOLD "\033[1m"
#define PLAIN "\033[0m"

/* Longer command lines are cut. */
#define COMMAND_SHOWN 200

static bool is_terminal(const struct invocation *inv) {
	return inv->verbose && isatty(STDERR_FILENO);
}

static bool has_colour(void) {
	const char *no = getenv("NO_COLOR"), *term = getenv("TERM");

	return (no == NULL || no[0] == '\0') && term != NULL && term[0] != '\0' &&
	       !streq(term, "dumb");
}

/* print_note() would hide the escapes of the colour, so `text` is without control characters. */
static void put_line(const char *colour, const char *text) {
	bool paint = has_colour();

	(void)fprintf(stderr, "corral: %s%s%s\n", paint ? colour : "", text, paint ? PLAIN : "");
}

bool banner_is_live(const struct invocation *inv) {
	return is_terminal(inv) && has_colour();
}

void banner_begin(const struct invocation *inv, const char *const *argv) {
	struct buf line;

	if (!is_terminal(inv)) {
		return;
	}
	buf_init(&line);
	buf_puts(&line, "sandboxed:");
	for (size_t i = 0; argv[i] != NULL && line.len < COMMAND_SHOWN; i++) {
		buf_puts(&line, " ");
		buf_shell_word(&line, "", argv[i]);
	}
	if (!buf_failed(&line)) {
		size_t at = 0;
		while (at < line.len && at < COMMAND_SHOWN) {
			at += str_char_length(line.data + at); /* no character is cut */
		}
		bool cut = at < line.len;
		line.data[at] = '\0';
		line.len = at;
		buf_puts(&line, cut ? " ..." : "");
	}
	if (!buf_failed(&line)) {
		str_hide_controls(line.data, false);
		put_line(BOLD, line.data);
	}
	buf_done(&line);
}

bool banner_end(const struct invocation *inv, const struct corral_result *result) {
	int64_t ms = corral_result_duration_ms(result);
	int status = corral_result_status(result);
	char text[160], how[48] = "completed in";

	if (!is_terminal(inv)) {
		return false;
	}
	if (status != 0) {
		(void)snprintf(how, sizeof how, "%s, status %d, after",
			       corral_result_reason(result), status);
	}
	(void)snprintf(text, sizeof text, "%s %lld.%lld s (sandbox: %s)", how, (long long)ms / 1000,
		       (long long)ms % 1000 / 100, corral_result_level(result));
	put_line(status == 0 ? GREEN : RED, text);
	return true;
}
