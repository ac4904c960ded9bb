/* SPDX-License-Identifier: Apache-2.0 */
/* Completes the error of a container that did not start with the engine's own message.
 *
 * podman exits with 126 for a program that cannot be executed and for most failures of its runtime
 * (a cgroup, a limit, a mount).  Only its message tells them apart.
 *
 * Should:   name the program of the image only if the message does.
 * Must not: be used for a command that ran: its stderr is its own.
 * Fails:    open: without a message the error stays as the status says. */
#include "docker/container.h"

#include "base/auto.h"
#include "base/str.h"

#include <stdio.h>

#define WHERE "container"
/* Fits into struct err beside the sentence. */
#define MESSAGE_MAX 240

/* How the engines begin their own error. */
static const char *const beginnings[] = {"Error: ", "docker: "};

/* Words of crun and runc in errors about the program of the command. */
static const char *const of_program[] = {
	"executable",
	"exec: ",
	"exec container process",
	"exec user process",
	"exec format",
	"no such file or directory: OCI runtime attempted to invoke a command",
};

/* The message in a line; before it there may be the echo of a terminal. */
static const char *message_in(const char *line, size_t len) {
	const char *found = NULL;

	for (size_t i = 0; found == NULL && i < ARRAY_LEN(beginnings); i++) {
		size_t n = strlen(beginnings[i]);
		found = memmem(line, len, beginnings[i], n);
		found = found == NULL || found + n == line + len ? NULL : found + n;
	}
	return found;
}

/* The last message in the text; false: it has none. */
static bool find_message(const char *text, size_t len, char out[MESSAGE_MAX]) {
	const char *end = text + len;
	bool found = false;

	for (const char *line = text; line < end;) {
		const char *stop = memchr(line, '\n', (size_t)(end - line));
		size_t n = (size_t)((stop == NULL ? end : stop) - line);
		const char *message = message_in(line, n);
		if (message != NULL) {
			(void)snprintf(out, MESSAGE_MAX, "%.*s", (int)(line + n - message),
				       message);
			out[strcspn(out, "\r")] = '\0'; /* of a terminal */
			found = true;
		}
		line += n + 1;
	}
	if (found) {
		str_hide_controls(out, false);
	}
	return found;
}

static bool is_about_program(const char *message) {
	for (size_t i = 0; i < ARRAY_LEN(of_program); i++) {
		if (strstr(message, of_program[i]) != NULL) {
			return true;
		}
	}
	return false;
}

void container_explain(const char *output, size_t len, struct err *e) {
	bool program = e->kind == ERR_NO_EXEC || e->kind == ERR_NOT_FOUND;
	char message[MESSAGE_MAX];

	if (!streq(e->where, WHERE) || (!program && e->kind != ERR_SETUP) ||
	    !find_message(output, len, message)) {
		return;
	}
	char *rest = strchr(e->what, ';'); /* where the message is, which is no longer needed */
	if (program && is_about_program(message)) {
		size_t at = rest == NULL ? strlen(e->what) : (size_t)(rest - e->what);
		(void)snprintf(e->what + at, sizeof e->what - at, ": %s", message); /* may be cut */
		return;
	}
	(void)err_set(e, ERR_SETUP, WHERE, "the engine could not start the container: %s", message);
	(void)err_fix(e, "see what the engine says of itself: podman info, docker info; without an "
			 "engine: --backend auto");
}
