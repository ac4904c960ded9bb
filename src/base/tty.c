/* SPDX-License-Identifier: Apache-2.0 */
/* Raw mode of the caller's terminal, while a pty elsewhere has the line discipline.
 *
 * Should:   restore the modes that were there before.
 * Must not: change the terminal while another job is in the foreground.
 * Fails:    open: a terminal that cannot be made raw is still relayed. */
#include "base/tty.h"

#include <errno.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <unistd.h>

void tty_init(struct tty *t, int fd) {
	*t = (struct tty){.fd = -1};
	if (fd >= 0 && tcgetattr(fd, &t->before) == 0) {
		t->fd = fd;
	}
}

void tty_size(const struct tty *t, uint16_t *ret_rows, uint16_t *ret_cols) {
	struct winsize size = {.ws_row = 24, .ws_col = 80};

	if (t->fd >= 0) {
		(void)ioctl(t->fd, TIOCGWINSZ, &size); /* if it fails, 24x80 stays */
	}
	*ret_rows = size.ws_row;
	*ret_cols = size.ws_col;
}

bool tty_background(int fd) {
	pid_t front = tcgetpgrp(fd);

	/* tcgetpgrp() fails for a terminal that is not the controlling one: no job control. */
	return front > 0 && front != getpgrp();
}

const struct termios *tty_modes(const struct tty *t) {
	/* In the background the modes belong to another job, such as a shell's line editor. */
	return t->fd >= 0 && !tty_background(t->fd) ? &t->before : NULL;
}

void tty_resize(const struct tty *t, int master) {
	struct winsize size;

	if (t->fd >= 0 && master >= 0 && ioctl(t->fd, TIOCGWINSZ, &size) == 0) {
		(void)ioctl(master, TIOCSWINSZ, &size); /* fails only when the pty is closed */
	}
}

static bool set_modes(int fd, const struct termios *modes) {
	int rc;

	/* Not TCSADRAIN: a terminal stopped with ^S would block for ever. */
	do {
		rc = tcsetattr(fd, TCSANOW, modes);
	} while (rc != 0 && errno == EINTR);
	return rc == 0;
}

void tty_raw(struct tty *t) {
	struct termios modes;

	if (t->fd < 0 || t->raw || tty_background(t->fd)) {
		return;
	}
	/* Another job may have changed the modes while this one was stopped. */
	if (tcgetattr(t->fd, &t->before) != 0) {
		return;
	}
	modes = t->before;
	cfmakeraw(&modes);
	t->raw = set_modes(t->fd, &modes);
}

void tty_restore(struct tty *t) {
	if (!t->raw) {
		return;
	}
	t->raw = false;
	/* In the background the shell has already set its own modes. */
	if (!tty_background(t->fd)) {
		(void)set_modes(t->fd, &t->before); /* fails only when the terminal is gone */
	}
}
