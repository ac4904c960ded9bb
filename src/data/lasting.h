/* SPDX-License-Identifier: Apache-2.0 */
/* Files of a command that programs on the host run, or read as settings, after the run.
 *
 * The rows allow and refuse nothing: they select the new files that `corral run` reports. */
#ifndef CORRAL_DATA_LASTING_H
#define CORRAL_DATA_LASTING_H

#include <stdbool.h>
#include <stddef.h>

/* The first ones matter most. */
enum lasting {
	LASTING_SETUID,     /* a set-group-id file; set-user-id is refused */
	LASTING_HOOK,       /* git runs it */
	LASTING_STARTUP,    /* a shell, a session, a debugger or an agent runs or reads it */
	LASTING_REPOSITORY, /* its configuration names programs that git runs */
	LASTING_EXECUTABLE,
	LASTING_SYMLINK, /* its target is outside of the command's view */
	LASTING_SOCKET,
	LASTING_FIFO, /* open(2) of it blocks */
	LASTING_COUNT
};

/* "hook", "executable", … */
const char *lasting_name(enum lasting kind);

/* Runs without further action of the user, so that the report is a warning. */
static inline bool lasting_is_grave(enum lasting kind) {
	return kind <= LASTING_REPOSITORY;
}

struct lasting_row {
	const char *dir;  /* the directory's name; NULL for any */
	const char *name; /* of the file; "*" first: an ending; NULL for any */
	enum lasting kind;
	const char *reason;
};

extern const struct lasting_row lasting_rows[];
extern const size_t lasting_rows_count;

/* The row for an absolute path, by its last names alone; NULL for none.  System calls
 * only. */
const struct lasting_row *lasting_find(const char *path);

/* A *.sample hook: git creates it, and never runs it. */
bool lasting_is_sample(const char *path);

#endif
