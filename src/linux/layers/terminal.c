/* The session and its terminal: never the caller's.
 *
 * Should:   leave the caller's session; on a terminal, make a pty in the
 *           sandbox's own devpts, make it the controlling terminal, and send
 *           its master to the supervisor.
 * Must not: run before mounts.c (the pty would come from the host's devpts and
 *           have no name inside).
 * Fails:    closed. */
#include "linux/layer.h"

#include "base/auto.h"
#include "linux/channel.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <termios.h>

static int open_pty(struct kit *k, struct err *e) {
	const char *device = plan_lacks_namespaces(k->plan) ? "/dev/ptmx" : "/dev/pts/ptmx";
	auto_fd master = open(device, O_RDWR | O_NOCTTY | O_CLOEXEC);
	int unlocked = 0;
	if (master < 0 || ioctl(master, TIOCSPTLCK, &unlocked) != 0) {
		return err_sys(e, "terminal", "cannot make a pty");
	}
	struct winsize size = {.ws_row = k->rows, .ws_col = k->cols};
	if (ioctl(master, TIOCSWINSZ, &size) != 0) {
		return err_sys(e, "terminal", "cannot set the size of the pty");
	}
	int slave = ioctl(master, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (slave < 0 || ioctl(slave, TIOCSCTTY, 0) != 0) {
		return err_sys(e, "terminal", "cannot make the pty the controlling terminal");
	}
	struct report r = {.kind = REPORT_PTY};
	if (channel_send(k->channel_fd, &r, master) != 0) {
		return err_sys(e, "terminal", "cannot hand the pty to the supervisor");
	}
	for (size_t i = 0; i < 3; i++) {
		k->fds[i] = slave; /* the descriptors layer numbers them */
	}
	return 0;
}

static int terminal_enter(struct kit *k, struct err *e) {
	if (setsid() < 0) {
		return err_sys(e, "terminal", "cannot leave the caller's session");
	}
	/* The memory of this process is a copy of the caller's: nobody inside may trace
	 * it or read it (the user layer has said so where there is one). */
	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0) {
		return err_sys(e, "terminal", "cannot make the first process undumpable");
	}
	return k->want_pty ? open_pty(k, e) : 0;
}

const struct layer layer_terminal = {.name = "terminal", .enter = terminal_enter};
