/* SPDX-License-Identifier: Apache-2.0 */
/* Opens a pty for a command of a session.
 *
 * The supervisor opens it, by the path of ptmx that pid 1 has sent: the slave is in the sandbox's
 * own devpts, and no process of the sandbox takes part.  Without namespaces it is the host's.
 *
 * Should:   give the pty the size and the modes of the caller's terminal.
 * Must not: make it the controlling terminal of this process.
 * Fails:    closed: without a pty the command does not start. */
#include "run/session.h"

#include "base/auto.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <termios.h>

int session_pty_open(const struct session *s, const struct session_command *c, int *ret_master,
		     int *ret_slave, struct err *e) {
	const struct winsize size = {.ws_row = c->rows, .ws_col = c->cols};
	char device[32] = "/dev/ptmx";
	int unlocked = 0;

	if (s->running.ptmx >= 0) {
		(void)snprintf(device, sizeof device, "/proc/self/fd/%d", s->running.ptmx);
	}
	auto_fd master = open(device, O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (master < 0 || ioctl(master, TIOCSPTLCK, &unlocked) != 0) {
		return err_sys(e, "terminal", "cannot open a pty");
	}
	auto_fd slave = ioctl(master, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (slave < 0 || ioctl(master, TIOCSWINSZ, &size) != 0) {
		return err_sys(e, "terminal", "cannot open the slave of a pty");
	}
	if (c->modes != NULL) {
		(void)tcsetattr(slave, TCSANOW, c->modes); /* if it fails, the defaults work */
	}
	*ret_master = take_fd(&master);
	*ret_slave = take_fd(&slave);
	return 0;
}
