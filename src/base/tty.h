/* SPDX-License-Identifier: Apache-2.0 */
/* The modes and the size of the caller's terminal. */
#ifndef CORRAL_BASE_TTY_H
#define CORRAL_BASE_TTY_H

#include <stdbool.h>
#include <stdint.h>
#include <termios.h>

struct tty {
	int fd; /* the caller's, borrowed; -1 when there is none */
	bool raw;
	struct termios before; /* valid while fd is */
};

/* fd may be any descriptor or -1: without a terminal t->fd is -1. */
void tty_init(struct tty *t, int fd);

/* Size of the window, or 24 rows by 80 columns without a terminal. */
void tty_size(const struct tty *t, uint16_t *ret_rows, uint16_t *ret_cols);

/* True when fd is the controlling terminal and another job is in the foreground. */
bool tty_background(int fd);

/* The modes for the pty: those of the caller's terminal, or NULL if another job set them. */
const struct termios *tty_modes(const struct tty *t);
void tty_resize(const struct tty *t, int master);

/* Both are idempotent, and do nothing in the background. */
void tty_raw(struct tty *t);
void tty_restore(struct tty *t);

#endif
