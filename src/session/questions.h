/* SPDX-License-Identifier: Apache-2.0 */
/* Questions of runs with --ask that wait for an answer here instead of on a terminal.
 *
 * A run hands one end of a socket pair over (ask.hold, on the admin socket: so it is a process of
 * this user, outside of sandboxes), and speaks the protocol of --ask-fd on it (run/ask_line.c). The
 * run itself judges each refusal (lib/ask.c): an access that a floor forbids, or that no option
 * allows, is never a question; a late or malformed answer is a refusal.  The daemon shows questions
 * and passes answers on. */
#ifndef CORRAL_SESSION_QUESTIONS_H
#define CORRAL_SESSION_QUESTIONS_H

#include "session/daemon_loop.h"
#include "rpc/frame.h"

#include "corral.h"

#include <jansson.h>
#include <stdint.h>
#include <sys/types.h>

/* Bounds of H7. */
#define ASKERS_MAX 64
#define QUESTIONS_MAX 64 /* of one run: as many as it lets wait (backend/ask.h) */

struct daemon;
struct fault;

struct waiting_question {
	uint64_t id;          /* of the daemon; 0: the entry is free */
	uint64_t number;      /* of the run */
	int64_t asked, until; /* since 1970 */
	json_t *value;        /* as the run sent it */
};

/* A run that may ask. */
struct asker_run {
	struct daemon *daemon;
	struct watch watch;
	struct frame_reader in;
	pid_t pid;
	char run[CORRAL_ID_SIZE];
	char workspace[1024];
	struct waiting_question items[QUESTIONS_MAX];
	struct asker_run *next;
};

/* "allow", "allow-for-run" or "refuse"; -1 with *f. */
int questions_answer(struct daemon *d, const char *id, const char *answer, struct fault *f);

/* Ends every run's channel: the runs refuse their open questions. */
void questions_end(struct daemon *d);

#endif
