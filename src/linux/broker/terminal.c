/* SPDX-License-Identifier: Apache-2.0 */
/* Serves ioctl(TIOCGPTPEER), which opens the slave of a pty.
 *
 * Without namespaces a pty that the command creates is in the host's /dev/pts, among the user's
 * other terminals, which Landlock denies.  A process that holds the master may have the slave;
 * but opening it is an open in /dev/pts, which Landlock denies to the command and to the guard.
 * So the supervisor, which is outside the domain, opens it.
 *
 * Should:   give the caller the slave of a pty whose master it holds.
 * Must not: name a pty by its number, which may belong to another pty by now.
 * Fails:    closed: without a supervisor that reads reports it returns EINVAL. */
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
