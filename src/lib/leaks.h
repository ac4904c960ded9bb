/* SPDX-License-Identifier: Apache-2.0 */
/* The leak scanner in a run and in its result. */
#ifndef CORRAL_LIB_LEAKS_H
#define CORRAL_LIB_LEAKS_H

#include "lib/internal.h"

#include "run/leak_tap.h"

/* The scanner of one run. */
struct run_leaks {
	const struct prepared *p;
	struct leak_scanner *scanner; /* NULL until it is needed */
	struct secrets values;        /* that the scanner looks for: locked, and not inherited */
	struct leak_source source;    /* for the run's streams */
};

/* The prepared run has to outlive r.  The scanner is created here if the run may not go on without
 * it, or gets secrets of the vault: their values are wiped when the command is executed. */
int leaks_begin(struct run_leaks *r, const struct prepared *p, struct err *e);
void leaks_end(struct run_leaks *r);

/* Scans the arguments and the variables of env.set for secrets, as scan.args says; the findings
 * are added to *log.  -1 with ERR_LEAK: the command must not run. */
int leaks_check_command(const struct prepared *p, const char *const *argv, struct leak_log *log,
			struct err *e);

/* The content of a file that is to be sent: scan.files decides whether a secret in it is replaced
 * or refused (ERR_LEAK).  `path` is for the message. */
int leaks_check_file(const struct prepared *p, const char *path, struct buf *content,
		     struct err *e);

/* The secret that ended a run with REASON_LEAK: where it was, and the option. */
const char *leaks_ending(const struct leak_log *log);

/* "leaks", "leaks_more" and "leaks_scanned" of a result: of the arguments and of the streams;
 * either may be NULL. */
void leaks_emit(struct emit *j, const struct leak_log *logs[2], bool scanned);

#endif
