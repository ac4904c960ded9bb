/* SPDX-License-Identifier: Apache-2.0 */
/* Starts a new session, and gives it a pty of its own as controlling terminal.
 *
 * Should:   leave the caller's session; on a terminal, open a pty in the sandbox's own
 *           devpts, make it the controlling terminal, and send its master to the
 *           supervisor; of a session, send the devpts.
 * Must not: run before mounts.c (the pty would be in the host's devpts and have no path in
 *           the sandbox).
 * Fails:    closed: in the caller's session the command could push input into its terminal
 *           (TIOCSTI). */
#include "linux/layer.h"

#include "base/auto.h"
#include "linux/channel.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <termios.h>

/* In the sandbox's own devpts. */
#define PTMX "/dev/pts/ptmx"

static int open_pty(struct kit *k, struct err *e) {
	const char *device = plan_lacks_namespaces(k->plan) ? "/dev/ptmx" : PTMX;
	auto_fd master = open(device, O_RDWR | O_NOCTTY | O_CLOEXEC);
	int unlocked = 0;
	if (master < 0 || ioctl(master, TIOCSPTLCK, &unlocked) != 0) {
		return err_sys(e, "terminal", "cannot open a pty");
	}
	struct winsize size = {.ws_row = k->rows, .ws_col = k->cols};
	if (ioctl(master, TIOCSWINSZ, &size) != 0) {
		return err_sys(e, "terminal", "cannot set the size of the pty");
	}
	int slave = ioctl(master, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (slave < 0 || ioctl(slave, TIOCSCTTY, 0) != 0) {
		return err_sys(e, "terminal", "cannot make the pty the controlling terminal");
	}
	/* Here, not in the supervisor: the command's own stty(1) would race with it. */
	if (k->modes != NULL) {
		(void)tcsetattr(slave, TCSANOW, k->modes); /* if it fails, the defaults work */
	}
	struct report r = {.kind = REPORT_PTY};
	if (channel_send(k->channel_fd, &r, master) != 0) {
		return err_sys(e, "terminal", "cannot send the pty to the supervisor");
	}
	for (size_t i = 0; i < 3; i++) {
		k->fds[i] = slave; /* layer descriptors moves it to 0, 1, 2 */
	}
	return 0;
}

/* The terminals of a session come later, one for a command: the supervisor opens them in the
 * sandbox's devpts, by this path (run/session_pty.c). */
static int send_device(const struct kit *k, struct err *e) {
	auto_fd device = open(PTMX, O_PATH | O_CLOEXEC);
	struct report r = {.kind = REPORT_PTY};

	if (device < 0 || channel_send(k->channel_fd, &r, device) != 0) {
		return err_sys(e, "terminal", "cannot send the sandbox's ptmx to the supervisor");
	}
	return 0;
}

static int terminal_enter(struct kit *k, struct err *e) {
	if (setsid() < 0) {
		return err_sys(e, "terminal", "cannot leave the caller's session");
	}
	/* The memory of this process is a copy of the caller's: no process of the sandbox may
	 * ptrace or read it.  With namespaces layer idmap has done this already. */
	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0) {
		return err_sys(e, "terminal", "cannot make the first process undumpable");
	}
	if (k->warm != NULL && !plan_lacks_namespaces(k->plan)) {
		return send_device(k, e);
	}
	return k->want_pty ? open_pty(k, e) : 0;
}

const struct layer layer_terminal = {.name = "terminal", .enter = terminal_enter};
