/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a line from the terminal without echo.
 *
 * Should:   use /dev/tty, so that stdin and stdout stay free; restore the terminal at every end,
 *           also after ^C.
 * Must not: wait without a terminal.
 * Fails:    with -1. */
#include "cli/cli.h"

#include "base/auto.h"
#include "base/fd.h"

#include <fcntl.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

/* Characters are read one by one, so ^C is a byte here and not a signal that would leave the
 * terminal without echo. */
enum { CTRL_C = 3, CTRL_D = 4, BACKSPACE = 8, CTRL_U = 21, DELETE = 127 };

static long read_keys(int fd, char *out, size_t cap) {
	size_t len = 0;
	char c;
	while (read(fd, &c, 1) == 1) {
		if (c == '\n' || c == '\r') {
			return (long)len;
		}
		if (c == CTRL_C || (c == CTRL_D && len == 0)) {
			return -1;
		}
		if (c == BACKSPACE || c == DELETE) {
			len -= len > 0;
		} else if (c == CTRL_U) {
			len = 0;
		} else if (len == cap) {
			return -1;
		} else {
			out[len++] = c;
		}
	}
	return -1;
}

long prompt_hidden(const char *text, char *out, size_t cap) {
	auto_fd fd = open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC);
	struct termios before, hidden;
	if (fd < 0 || tcgetattr(fd, &before) != 0) {
		return -1;
	}
	hidden = before;
	hidden.c_lflag &= ~(tcflag_t)(ECHO | ECHONL | ICANON | ISIG);
	hidden.c_cc[VMIN] = 1;
	hidden.c_cc[VTIME] = 0;
	if (tcsetattr(fd, TCSAFLUSH, &hidden) != 0) {
		return -1;
	}
	(void)fd_write_all(fd, text, strlen(text)); /* the prompt is only a courtesy */
	long len = read_keys(fd, out, cap);
	(void)fd_write_all(fd, "\n", 1);
	(void)tcsetattr(fd, TCSAFLUSH, &before); /* nothing else can be done about it */
	return len;
}
