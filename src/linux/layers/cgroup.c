/* SPDX-License-Identifier: Apache-2.0 */
/* Joins the cgroups that clone3() has not joined: those of version 1, and one in a scope of the
 * user's systemd.
 *
 * Should:   move this process, and so its future descendants, into each cgroup; where systemd
 *           moves the first process into its scope, wait for that.
 * Must not: open a path: the parent opened the join files, and the kernel checks the opener's
 *           rights, so that joining works from inside a user namespace; have a second thread,
 *           which would stay outside.
 * Fails:    closed: a run outside its cgroup would have no limits. */
#include "linux/layer.h"

#include "linux/channel.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

static int join(int fd, struct err *e) {
	ssize_t n;
	do {
		n = write(fd, "0", 1); /* "0" is the writer itself */
	} while (n < 0 && errno == EINTR);
	return n == 1 ? 0 : err_sys(e, "groups", "cannot join the run's cgroup");
}

/* Without a supervisor there is no run. */
static int await_scope(struct kit *k, struct err *e) {
	struct pollfd channel = {.fd = k->channel_fd, .events = POLLIN};
	struct order o = {0};

	for (int got = 0; got == 0;) {
		(void)poll(&channel, 1, -1); /* interrupted: there is nothing to receive yet */
		got = channel_receive_order(k->channel_fd, &o, &k->scope_join);
		if (got < 0) {
			return err_sys(e, "groups", "the supervisor ended");
		}
	}
	if (o.kind != ORDER_JOIN || k->scope_join < 0) {
		return err_sys(e, "groups", "no control group came from the supervisor");
	}
	k->join_fds = &k->scope_join;
	k->njoin_fds = 1;
	return 0;
}

/* Before it makes the others, which are in its group then. */
static int groups_warden(struct kit *k, struct err *e) {
	return k->waits ? await_scope(k, e) : 0;
}

static int groups_enter(struct kit *k, struct err *e) {
	bool own = k->waits && !plan_lacks_namespaces(k->plan);

	if (own && await_scope(k, e) != 0) {
		return -1;
	}
	for (size_t i = 0; i < k->njoin_fds; i++) {
		if (join(k->join_fds[i], e) != 0) {
			return -1;
		}
	}
	/* Its root is the group in which this is called. */
	if (own && syscall(SYS_unshare, CLONE_NEWCGROUP) != 0) {
		return err_host(e, ERR_NO_NAMESPACES, "groups",
				"the kernel refused to make a cgroup namespace");
	}
	return 0;
}

const struct layer layer_cgroup = {
	.name = "groups", .warden = groups_warden, .enter = groups_enter};
