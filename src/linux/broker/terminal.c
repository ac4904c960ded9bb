/* The other end of a new terminal.
 *
 * A terminal that a command makes lies in the host's /dev/pts among those of the
 * user, which stay closed.  Whoever holds the one end may have the other; but to
 * open it is to open a file there, and Landlock lets neither the command nor us.
 * So the supervisor does, who is outside.
 *
 * Should:   give the caller the peer of a terminal that it holds.
 * Must not: name a terminal by its number: it may be another's by now.
 * Fails:    closed: without a supervisor that listens there is none. */
#include "linux/broker/call.h"

#include "base/auto.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/ioctl.h>

#define PEER_FLAGS (O_ACCMODE | O_NONBLOCK | O_CLOEXEC | O_NOCTTY)

long serve_ioctl(struct call *c) {
	int flags = call_int(c, 2);

	if ((uint32_t)c->args[1] != TIOCGPTPEER) {
		return -ENOTTY;
	}
	if (c->b->peer == NULL || (flags & ~PEER_FLAGS) != 0) {
		return -EINVAL;
	}
	auto_fd master = caller_take_fd(c, call_int(c, 0));
	if (master < 0) {
		return master;
	}
	int fd = c->b->peer(c->b->peer_arg, master, flags | O_NOCTTY);
	return fd < 0 ? fd : call_give(c, fd, (flags & O_CLOEXEC) != 0, true);
}
