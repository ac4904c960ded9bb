/* What a command can leave behind that somebody else runs or obeys later.
 *
 * Nothing is allowed or refused by these rows: they say what a person should look at
 * after the run. */
#ifndef CORRAL_DATA_LASTING_H
#define CORRAL_DATA_LASTING_H

#include <stdbool.h>
#include <stddef.h>

/* The first ones matter most. */
enum lasting {
	LASTING_SETUID,     /* a set-group-id file; set-user-id is refused */
	LASTING_HOOK,       /* git runs it */
	LASTING_STARTUP,    /* a shell, a session, a debugger or an agent runs or obeys it */
	LASTING_REPOSITORY, /* its settings name programs that git runs */
	LASTING_EXECUTABLE,
	LASTING_SYMLINK, /* leads to what the command itself had no access to */
	LASTING_SOCKET,
	LASTING_FIFO, /* who opens it waits */
	LASTING_COUNT
};

/* "hook", "executable", … */
const char *lasting_name(enum lasting kind);

/* It acts by itself, and a person has to be told. */
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

/* An example that git itself puts there, and never runs. */
bool lasting_is_sample(const char *path);

#endif
