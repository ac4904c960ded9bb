/* SPDX-License-Identifier: Apache-2.0 */
/* Decides when the supervisor gets the sandbox's mount namespace.
 *
 * A short command ends before the supervisor needs it.  The last holder of a mount namespace tears
 * its mounts down and waits for RCU: that should be pid 1, whose exit delays no process.  So pid 1
 * keeps the descriptor until the command has run for a moment.
 *
 * Should:   send it before linux/follow.c would look for replaced files.
 * Must not: let the command inherit it.
 * Fails:    closed: without it a file that the host replaces would stay readable. */
#include "linux/view_report.h"

#include "base/auto.h"
#include "linux/channel.h"

#include <fcntl.h>

static bool is_sent_later(const struct kit *k) {
	return !k->report_start && k->ask_fd < 0 && k->warm == NULL && !k->parked;
}

int view_report_open(struct kit *k, struct err *e) {
	if (!k->follow) {
		return 0;
	}
	k->view_fd = open("/proc/self/ns/mnt", O_RDONLY | O_CLOEXEC);
	if (k->view_fd < 0 || (!is_sent_later(k) && view_report_send(k) != 0)) {
		return err_sys(e, "mounts", "cannot send the mount namespace to the supervisor");
	}
	return 0;
}

int view_report_send(struct kit *k) {
	const struct report r = {.kind = REPORT_VIEW};
	auto_fd view = take_fd(&k->view_fd);

	return view < 0 ? 0 : channel_send(k->channel_fd, &r, view);
}
