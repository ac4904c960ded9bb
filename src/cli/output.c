/* SPDX-License-Identifier: Apache-2.0 */
/* Fills errors of the command line, and prints text to stdout and notes to stderr.
 *
 * Should:   write whole texts, also to a slow pipe.
 * Must not: print control characters in a note.
 * Fails:    with an error when stdout cannot be written; a note that cannot be written is
 *           dropped. */
#include "cli/cli.h"

#include "base/credentials.h"
#include "base/fd.h"
#include "base/str.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void begin_error(struct corral_error *err, enum corral_error_kind kind, const char *layer) {
	*err = (struct corral_error){.kind = kind};
	(void)snprintf(err->layer, sizeof err->layer, "%s", layer);
}

int(usage_error)(struct corral_error *err, const char *remedy, const char *fmt, ...) {
	va_list ap;

	begin_error(err, CORRAL_E_USAGE, "usage");
	va_start(ap, fmt);
	(void)vsnprintf(err->message, sizeof err->message, fmt, ap); /* may be cut: a message */
	va_end(ap);
	(void)snprintf(err->remedy, sizeof err->remedy, "%s", remedy);
	return -1;
}

int(setup_error)(struct corral_error *err, const char *remedy, const char *message) {
	begin_error(err, CORRAL_E_SETUP, "start");
	(void)snprintf(err->message, sizeof err->message, "%s", message);
	(void)snprintf(err->remedy, sizeof err->remedy, "%s", remedy);
	return -1;
}

int(memory_error)(struct corral_error *err) {
	begin_error(err, CORRAL_E_MEMORY, "cli");
	(void)snprintf(err->message, sizeof err->message, "out of memory");
	return -1;
}

int(internal_error)(const struct err *e, struct corral_error *err) {
	enum corral_error_kind kind = e->kind == ERR_USAGE     ? CORRAL_E_USAGE
				      : e->kind == ERR_REFUSED ? CORRAL_E_REFUSED
				      : e->kind == ERR_MEMORY  ? CORRAL_E_MEMORY
							       : CORRAL_E_SETUP;

	begin_error(err, kind, e->where);
	err->sys_errno = e->sys;
	(void)snprintf(err->message, sizeof err->message, "%s", e->what);
	(void)snprintf(err->remedy, sizeof err->remedy, "%s", e->fix);
	return -1;
}

int check_caller(struct corral_error *err) {
	struct err e = {0};

	return credentials_check(&e) == 0 ? 0 : internal_error(&e, err);
}

int print_text_to(int fd, const char *text, struct corral_error *err) {
	size_t len = strlen(text);
	bool newline = len == 0 || text[len - 1] != '\n';

	if (fd_write_all(fd, text, len) == 0 && (!newline || fd_write_all(fd, "\n", 1) == 0)) {
		return 0;
	}
	int sys = errno;
	begin_error(err, CORRAL_E_SETUP, "output");
	err->sys_errno = sys;
	if (fd == STDOUT_FILENO) {
		(void)snprintf(err->message, sizeof err->message, "cannot write to stdout");
	} else {
		(void)snprintf(err->message, sizeof err->message, "cannot write to descriptor %d",
			       fd);
	}
	return -1;
}

int print_text(const char *text, struct corral_error *err) {
	return print_text_to(STDOUT_FILENO, text, err);
}

void print_note(const char *fmt, ...) {
	struct buf line;
	char text[512];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof text, fmt, ap); /* may be cut: a message */
	va_end(ap);
	str_hide_controls(text, true);
	buf_init(&line);
	buf_printf(&line, "corral: %s\n", text);
	if (!buf_failed(&line)) {
		/* A note that cannot be printed does not change the result of the run. */
		(void)fd_write_all(STDERR_FILENO, line.data, line.len);
	}
	buf_done(&line);
}
