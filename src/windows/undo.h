/* SPDX-License-Identifier: Apache-2.0 */
/* The changes of a run to this machine, and their undoing, also after corral.exe was killed.
 *
 * The journal of each run is a file in %LOCALAPPDATA%\Corral\journal (windows/undo_journal.h has
 * the invariants).  A run undoes its own changes at its end; every later start, and `corral.exe
 * cleanup`, undoes those of runs that are no longer alive. */
#ifndef CORRAL_WINDOWS_UNDO_H
#define CORRAL_WINDOWS_UNDO_H

#include "windows/api.h"

#include "base/arena.h"
#include "base/err.h"
#include "windows/grants.h"
#include "windows/undo_journal.h"

#ifdef _WIN32
struct undo {
	struct arena *a;
	HANDLE file;       /* open without sharing (X4) */
	const char *state; /* %LOCALAPPDATA%\Corral */
	struct undo_journal done;
};

/* Corral's directory for its state. */
int undo_state_dir(struct arena *a, const char **ret, struct err *e);

int undo_begin(struct arena *a, const char *id, struct undo *ret, struct err *e);

/* Records the change (X1). */
int undo_note(struct undo *u, const struct journal_record *record, struct err *e);

/* Creates the run's private directory. */
int undo_directory(struct undo *u, const char *id, const char **ret_path, struct err *e);

/* Adds the entries of a grant. */
int undo_grant(struct undo *u, const struct path_grant *g, const char *sid, struct err *e);

/* Undoes everything, the last change first, and removes the journal; if something cannot be undone
 * the journal stays for `corral.exe cleanup`.  *ret_changed: DACLs that someone else changed. */
int undo_end(struct undo *u, size_t *ret_changed, struct err *e);
#endif

struct undo_summary {
	size_t replayed; /* journals of runs that are gone */
	size_t alive;    /* of runs that go on */
	size_t damaged;  /* lines that cannot be read; their journals stay */
	size_t changed;  /* DACLs that someone else changed meanwhile */
};

/* Replays every journal whose run is gone.  On an error the others are replayed all the same. */
int undo_replay(struct undo_summary *ret, struct err *e);

#endif
