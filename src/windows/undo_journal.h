/* SPDX-License-Identifier: Apache-2.0 */
/* The journal of a run: its changes to this machine, each written before it is made.
 *
 * A text file, one record a line: a word, its fields, and a checksum of all that, with tabs
 * between.  Bytes below 0x20, '%' and 0x7F are written as %XX, so a path can contain anything.
 *
 * Invariants, cited by code and tests:
 *  X1  a record is on the disk before the change that it describes;
 *  X2  undoing is repeatable: a change that was not made, or was undone before, is no error;
 *  X3  a line that was written in part describes a change that was not made;
 *  X4  a journal whose run is alive is not replayed: the run holds the file open, alone. */
#ifndef CORRAL_WINDOWS_UNDO_JOURNAL_H
#define CORRAL_WINDOWS_UNDO_JOURNAL_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

enum journal_kind {
	JOURNAL_RUN,       /* id */
	JOURNAL_PROFILE,   /* name of the AppContainer profile */
	JOURNAL_DIRECTORY, /* path of the run's private directory */
	JOURNAL_GRANT,     /* path, SID, the DACL before as SDDL */
	JOURNAL_KIND_COUNT
};

#define JOURNAL_FIELDS_MAX 3

struct journal_record {
	enum journal_kind kind;
	const char *fields[JOURNAL_FIELDS_MAX];
};

struct undo_journal {
	struct journal_record *records;
	size_t count, cap;
	size_t damaged; /* lines that cannot be read, other than a last one without an end */
	bool torn;      /* the last line was not written completely (X3) */
};

/* Appends the line of a record. */
void undo_journal_write(struct buf *out, const struct journal_record *record);

/* Reads a journal.  Damage is counted and not an error: the other records have to be undone. */
int undo_journal_read(struct arena *a, const char *text, size_t len, struct undo_journal *ret,
		      struct err *e);

/* The entries of an SDDL text, after the flags of its DACL: "(A;;FA;;;WD)…", or "". */
const char *undo_journal_entries(const char *sddl);

#endif
