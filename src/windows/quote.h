/* SPDX-License-Identifier: Apache-2.0 */
/* The command line of a Windows process: one string, which the program splits by itself.
 *
 * Programs split it by the rules of CommandLineToArgvW and of the C library.  Batch files do not:
 * cmd.exe reads their command line again by rules of its own, in which an argument can become a
 * second command.  So a batch file is refused as program. */
#ifndef CORRAL_WINDOWS_QUOTE_H
#define CORRAL_WINDOWS_QUOTE_H

#include "base/buf.h"
#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

/* UTF-16 units that CreateProcessW accepts, with the final NUL. */
#define QUOTE_LINE_MAX 32767

/* Appends one argument that is not the first. */
void quote_argument(struct buf *out, const char *argument);

/* The line for argv: argv[0] by the rules of a program's name, the others by those of arguments. */
int quote_line(const char *const *argv, size_t n, struct buf *out, struct err *e);

/* Whether CreateProcessW would give this name to cmd.exe: .bat or .cmd, also with dots or spaces
 * after it, which Windows ignores. */
bool quote_is_batch(const char *program);

/* Refuses batch files and names with a stream ("x.exe:y"). */
int quote_check_program(const char *program, struct err *e);

#endif
