/* The caller's terminal while the command has a pty of its own, and the signals
 * that reach us in the command's place. */
#ifndef CORRAL_RUN_TERMINAL_H
#define CORRAL_RUN_TERMINAL_H

#include "base/err.h"
#include "run/streams.h"

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <termios.h>

struct terminal {
	int fd; /* the caller's, borrowed; -1 when there is none */
	bool raw;
	struct termios before; /* valid while fd is */
};

/* fd may be anything: what is not a terminal leaves the object empty. */
void terminal_init(struct terminal *t, int fd);

/* Size of the window, or the classic 24 by 80 when there is none. */
void terminal_size(const struct terminal *t, uint16_t *ret_rows, uint16_t *ret_cols);

/* True when fd is our controlling terminal and another job has it. */
bool terminal_background(int fd);

/* Gives the pty the modes that the caller's terminal had, if they were this job's. */
void terminal_copy_modes(const struct terminal *t, int master);
void terminal_resize(const struct terminal *t, int master);

/* Both do nothing in the background, and nothing twice. */
void terminal_raw(struct terminal *t);
void terminal_restore(struct terminal *t);

/* Restores the terminal and stops this job as ^Z would; returns when it is
 * continued, or at once where job control does not exist. */
void terminal_stop(struct terminal *t);

/* What the supervisor does about a stop of the command. */
enum job_act {
	JOB_GO_ON,
	JOB_STOP, /* stop the caller's job */
	JOB_WAKE, /* continue the command */
};

struct job {
	int64_t typed_at;   /* when ^Z, ^C or ^\ was typed and no stop has been seen since; -1 */
	enum job_act typed; /* what that key does to a stopped command */
	bool halted;        /* the command stopped by itself, and has not continued */
};
#define JOB_NONE ((struct job){.typed_at = -1})

/* Takes the keys that the feed saw. */
enum job_act terminal_job_typed(struct job *j, struct stdin_feed *f, int64_t now);

/* The command stopped, or continued. */
enum job_act terminal_job_stopped(struct job *j, bool halted, int64_t now);
void terminal_job_continued(struct job *j);

struct signals {
	int fd; /* becomes readable with one; -1: nothing is watched */
	sigset_t old;
	sigset_t late;    /* read, but there was no command to get them */
	sigset_t pending; /* before the run: not ours to take */
};

/* Blocks SIGPIPE and SIGXFSZ in this thread, so that a reader that went away and a
 * file that may not grow are an errno, and what is to be forwarded; a terminal run
 * forwards always. */
int terminal_signals_block(struct signals *s, bool forward, bool terminal, struct err *e);

/* Puts the mask back; late signals reach this thread then. */
void terminal_signals_restore(struct signals *s);

/* The next signal, or 0. */
int terminal_signals_next(const struct signals *s);

/* Makes all that wait late ones; true when one of them asks a program to end. */
bool terminal_signals_late(struct signals *s);

#endif
