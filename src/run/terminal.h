/* SPDX-License-Identifier: Apache-2.0 */
/* The caller's terminal while the command has its own pty, and the signals that the
 * supervisor gets in the command's place. */
#ifndef CORRAL_RUN_TERMINAL_H
#define CORRAL_RUN_TERMINAL_H

#include "base/err.h"
#include "base/tty.h"
#include "run/streams.h"

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

/* Restores the terminal and stops this job as ^Z would; returns after SIGCONT,
 * or at once without job control. */
void terminal_stop(struct tty *t);

/* The supervisor's reaction to a stop of the command. */
enum job_act {
	JOB_GO_ON,
	JOB_STOP, /* stop the caller's job */
	JOB_WAKE, /* continue the command */
};

struct job {
	int64_t typed_at;   /* when ^Z, ^C or ^\ was typed and no stop has been seen since; -1 */
	enum job_act typed; /* the reaction to that key if the command is stopped */
	bool halted;        /* the command stopped by itself, and has not continued */
};
#define JOB_NONE ((struct job){.typed_at = -1})

/* Handles and clears the typed keys of the feed. */
enum job_act terminal_job_typed(struct job *j, struct stdin_feed *f, int64_t now);

/* The command stopped, or continued. */
enum job_act terminal_job_stopped(struct job *j, bool halted, int64_t now);
void terminal_job_continued(struct job *j);

struct signals {
	int fd; /* signalfd; -1: none */
	sigset_t old;
	sigset_t late;    /* read after the command's end */
	sigset_t pending; /* pending before the run: they stay pending */
};

/* Blocks in this thread the signals to forward (always with a terminal), and SIGPIPE and
 * SIGXFSZ, so that a write returns EPIPE or EFBIG instead. */
int terminal_signals_block(struct signals *s, bool forward, bool terminal, struct err *e);

/* Restores the mask; late signals are then delivered to this thread. */
void terminal_signals_restore(struct signals *s);

/* The next signal, or 0. */
int terminal_signals_next(const struct signals *s);

/* Reads all waiting signals into `late`; true when one of them requests termination. */
bool terminal_signals_late(struct signals *s);

#endif
