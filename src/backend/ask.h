/* SPDX-License-Identifier: Apache-2.0 */
/* The messages between the broker and the supervisor about refused calls (`--ask`).
 *
 * A SOCK_SEQPACKET pair of its own, so that a run without --ask has neither the socket nor larger
 * reports.  The broker sends ASK_OPEN for an open(2) that it would refuse, and does not answer the
 * notification; the supervisor replies once, with a descriptor or an errno.  ASK_GONE: the caller
 * was killed, or a signal interrupted its call; the supervisor withdraws the question.
 *
 * The supervisor opens the file and passes the descriptor.  A mount into the running namespace
 * would serve stat(2) and execve(2) too, but a Landlock domain cannot be widened once it is
 * entered, so it would still refuse the file; without namespaces there is nothing to mount into;
 * and a mount cannot be given for one call only. */
#ifndef CORRAL_BACKEND_ASK_H
#define CORRAL_BACKEND_ASK_H

#include <limits.h>
#include <stdint.h>

/* Calls that wait at once; a further one is refused as it would be without --ask. */
#define ASK_WAITING 64

enum ask_kind {
	ASK_OPEN = 1,
	ASK_GONE,
	ASK_HOST, /* of the gate (gate/ask.h): path is a name or address, flags the port */
};

struct ask_question {
	uint64_t ticket; /* of the broker's table: valid for one answer */
	uint32_t kind;
	int32_t flags; /* of open(2) */
	uint32_t mode; /* of a new file, after the caller's umask */
	int32_t error; /* errno of the call when it is denied */
	int32_t pid;   /* of the caller, in the sandbox */
	uint32_t unused;
	char path[PATH_MAX]; /* absolute, as the caller wrote it; ASK_OPEN */
};

struct ask_answer {
	uint64_t ticket;
	int32_t error; /* 0: a descriptor is attached */
	uint32_t unused;
};

#endif
