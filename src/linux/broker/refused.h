/* SPDX-License-Identifier: Apache-2.0 */
/* Records calls that the broker answered with an error, in the journal. */
#ifndef CORRAL_LINUX_BROKER_REFUSED_H
#define CORRAL_LINUX_BROKER_REFUSED_H

#include "linux/broker/resolve.h"

/* Call it before the answer: the caller's memory still has the arguments.  Errors that no rule
 * causes are not recorded, and neither are calls of helpers; the supervisor decides later which
 * records are denials (run/denials.h). */
void refused_record(const struct call *c, int error);

/* Adds a record to the journal, with the command of the session from which the caller descends. */
struct journal_refusal;
void refused_add(const struct call *c, const struct journal_refusal *r);

/* For a call that the filter refuses and sends to the broker for the record alone: returns the
 * -errno of its rule; -ENOSYS for every other call. */
long refused_call(const struct call *c, int nr);

/* Prepends the caller's directory to a relative path; false: it is no file, or too long. */
bool refused_make_absolute(const struct call *c, int dir, char path[PATH_MAX]);

/* Writes the path without symlinks: the file if it exists, else its directory and its name; else
 * "". */
void refused_resolve(const struct broker *b, const char *path, char out[REAL_MAX]);

/* The caller has no descriptor left: records the limit of open files, unless it set a lower one. */
void refused_open_files(const struct call *c);

/* Records a datagram to this internet address, for which the run has no route. */
struct socket_address;
void refused_send(const struct call *c, const struct socket_address *a);

/* connect(2) of a non-blocking socket has returned EINPROGRESS.  On the loopback the answer has
 * arrived meanwhile: records a refusal. */
void refused_at_once(const struct call *c, int fd);

#endif
