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
	struct leak_scanner *names;   /* values in lower case; NULL: none, or no network */
	struct secrets values;        /* that the scanner looks for: locked, and not inherited */
	struct leak_source source;    /* for the run's streams */
};

/* The prepared run has to outlive r.  The scanner is created here if the run may not go on without
 * it, or gets secrets of the vault: their values are wiped when the command is executed. */
int leaks_begin(struct run_leaks *r, const struct prepared *p, struct err *e);
void leaks_end(struct run_leaks *r);

/* Whether an argument is long enough to hold a secret. */
bool leaks_may_show(const char *const *argv);

/* Scans the arguments and the variables of env.set and env.pass for secrets, as scan.args says; the
 * findings are added to *log.  A variable of env.pass whose name is in the table of secrets is
 * meant to be one.  -1 with ERR_LEAK: the command must not run.  Sets p->shown_argv. */
int leaks_check_command(struct prepared *p, const char *const *argv, struct leak_log *log,
			struct err *e);

/* ---- leak_names.c ---- */

/* A scanner for values in names of hosts; their copies in lower case are taken from *memory. */
struct leak_scanner *leak_names_scanner(const struct leak_value *values, size_t n,
					struct secrets *memory, struct err *e);

/* The function of leak_source; arg is struct run_leaks. */
bool leak_names_clean(void *arg, const char *name, char *ret, size_t cap);

/* The command line without secrets; NULL without memory. */
char **leak_names_clean_argv(struct arena *a, const struct leak_scanner *scanner,
			     const char *const *argv);

/* ---- leaks.c ---- */

/* The content of a file that is to be sent: scan.files decides whether a secret in it is replaced
 * or refused (ERR_LEAK).  `path` is for the message and the audit log. */
int leaks_check_file(const struct prepared *p, const char *path, struct buf *content,
		     struct err *e);

/* The secret that ended a run with REASON_LEAK: where it was, and the option. */
const char *leaks_ending(const struct leak_log *log);

/* "leaks", "leaks_more" and "leaks_scanned" of a result: of the arguments and of the streams;
 * either may be NULL. */
void leaks_emit(struct emit *j, const struct leak_log *logs[2], bool scanned);

#endif
