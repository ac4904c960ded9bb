/* SPDX-License-Identifier: Apache-2.0 */
/* The live line of a long run: its time, processes, memory and refused calls, on the terminal that
 * the command's output goes to as well.
 *
 * Theory.  Two writers share a screen, so the line is drawn only where it can be removed without a
 * trace, and is removed before any byte of the command is passed on.  The command has been quiet
 * for a second; its output ended with a newline, so the cursor is in the first column of an empty
 * line; and it never sent more than lines of text and colours.  A program that moves the cursor,
 * hides it or uses the other screen gets no line for the rest of the run: it draws for itself. */
#ifndef CORRAL_RUN_LIVE_H
#define CORRAL_RUN_LIVE_H

#include "backend/child.h"

/* How far the sequence of an escape character was read. */
enum live_escape { LIVE_TEXT, LIVE_ESCAPE, LIVE_SEQUENCE };

struct live {
	int fd;                    /* the terminal; -1: there is no line */
	bool pty;                  /* the command's terminal sends \r\n as the end of a line */
	const struct child *child; /* NULL before the run */
	int64_t began, due;        /* when it may be drawn next; -1: never, or after more output */
	bool drawn;
	/* State of the screen after the output of the command. */
	bool foreign;    /* it controls the screen */
	bool line_start; /* the cursor is in the first column */
	bool coloured;   /* a colour is still set */
	bool plain_sgr;  /* the sequence that is being read has no parameter but 0 */
	char before;     /* the last byte */
	enum live_escape escape;
	struct meter *meter; /* NULL: not opened, or not known */
	bool metered;
};

/* fd is the caller's, borrowed. */
void live_init(struct live *l, int fd, bool pty);
void live_begin(struct live *l, const struct child *child, int64_t now);

/* When live_tick() is due; -1: never. */
int64_t live_wake(const struct live *l);
void live_tick(struct live *l, int64_t now);

/* Removes the line and looks at the bytes that reach the terminal next.  l may be NULL. */
void live_output(struct live *l, const char *data, size_t len);
void live_erase(struct live *l);

/* Removes the line for good. */
void live_end(struct live *l);

#endif
