/* SPDX-License-Identifier: Apache-2.0 */
/* Moves the command's descriptors to 0, 1, 2, … and closes all others.
 *
 * Should:   dup kit->fds to 0, 1, 2, …; open the sandbox's own /dev/null for a stream that
 *           is -1; keep pid 1's own descriptors behind them, close-on-exec; close the rest, or
 *           make it close-on-exec too.
 * Must not: run before a layer that still needs a descriptor of the parent.
 * Fails:    closed: Landlock does not cover descriptors that are already open, so a
 *           descriptor of the caller that stays open is an escape. */
#include "linux/layer.h"

#include "base/auto.h"
#include "base/fd.h"

#include <fcntl.h>
#include <linux/close_range.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

/* A number above the target range; -1 with errno. */
static int lift(int fd, int floor) {
	return fd >= floor ? fd : fd_duplicate(fd, floor);
}

/* Duplicates every descriptor above the target range, so that dup3() cannot overwrite one
 * that is still needed. */
static int move_above_targets(struct kit *k, struct err *e) {
	int *ours[] = {&k->channel_fd, &k->scope_fd,   &k->lock_fd, &k->gate_fd,
		       &k->warden_fd,  &k->beneath_fd, &k->ask_fd,  &k->view_fd};
	int floor = (int)k->nfds; /* behind the last target */
	for (size_t i = 0; i < ARRAY_LEN(ours); i++) {
		floor += *ours[i] >= 0;
	}
	for (size_t i = 0; i < k->nfds; i++) {
		int fd = k->fds[i] >= 0
				 ? k->fds[i]
				 : open("/dev/null", (i == 0 ? O_RDONLY : O_WRONLY) | O_CLOEXEC);
		if (fd < 0) {
			return err_sys(e, "descriptors",
				       "cannot open /dev/null for a stream of the command");
		}
		k->fds[i] = lift(fd, floor);
		if (k->fds[i] < 0) {
			return err_sys(e, "descriptors",
				       "cannot duplicate a descriptor for the command");
		}
	}
	for (size_t i = 0; i < ARRAY_LEN(ours); i++) {
		int lifted = *ours[i] < 0 ? -1 : lift(*ours[i], floor);
		if (lifted < 0 && *ours[i] >= 0) {
			/* The channel keeps its old number: the error is sent on it. */
			return err_sys(e, "descriptors", "cannot duplicate a descriptor of pid 1");
		}
		*ours[i] = lifted;
	}
	return 0;
}

/* Puts a descriptor of pid 1 after the last one. */
static int keep(int *fd, int *last, struct err *e) {
	if (*fd < 0) {
		return 0;
	}
	if (dup3(*fd, ++*last, O_CLOEXEC) < 0) {
		return err_sys(e, "descriptors", "cannot dup a descriptor of pid 1 into place");
	}
	*fd = *last;
	return 0;
}

/* The kernel needs as long to close the descriptors of the set-up as for the mounts of /dev.  So
 * pid 1 closes them while the command starts.  Not where a process outlives this that does not
 * call execve: a zygote, a warden or a parked sandbox. */
static bool may_close_later(const struct kit *k) {
	return !plan_lacks_namespaces(k->plan) && k->warm == NULL && !k->parked && !k->rehearse;
}

/* E5 */
static int close_from(struct kit *k, int first, struct err *e) {
	if (may_close_later(k) &&
	    syscall(SYS_close_range, (unsigned)first, ~0U, CLOSE_RANGE_CLOEXEC) == 0) {
		k->stale_from = first;
		return 0;
	}
	if (syscall(SYS_close_range, (unsigned)first, ~0U, 0) != 0) {
		return err_sys(e, "descriptors", "cannot close the caller's descriptors");
	}
	return 0;
}

static int descriptors_enter(struct kit *k, struct err *e) {
	if (move_above_targets(k, e) != 0) {
		return -1;
	}
	for (size_t i = 0; i < k->nfds; i++) {
		/* The command inherits it, so not close-on-exec. */
		if (dup3(k->fds[i], (int)i, 0) < 0) {
			return err_sys(e, "descriptors",
				       "cannot dup a descriptor of the command into place");
		}
	}
	int channel = (int)k->nfds;
	if (dup3(k->channel_fd, channel, O_CLOEXEC) < 0) {
		return err_sys(e, "descriptors", "cannot dup the status channel into place");
	}
	k->channel_fd = channel;
	int last = channel;
	if (keep(&k->scope_fd, &last, e) != 0 || keep(&k->lock_fd, &last, e) != 0 ||
	    keep(&k->gate_fd, &last, e) != 0 || keep(&k->warden_fd, &last, e) != 0 ||
	    keep(&k->beneath_fd, &last, e) != 0 || keep(&k->ask_fd, &last, e) != 0 ||
	    keep(&k->view_fd, &last, e) != 0) {
		return -1;
	}
	return close_from(k, last + 1, e);
}

void descriptors_close_stale(const struct kit *k, int signals) {
	const int kept[] = {signals, k->listener_fd};

	if (k->stale_from > 0) {
		fd_close_from(k->stale_from, kept, ARRAY_LEN(kept));
	}
}

/* Descriptors that pid 1 and the command's process open between the two. */
#define OPENED_SINCE 8

void descriptors_make_room(struct kit *k, int signals) {
	if ((uint64_t)signals + OPENED_SINCE >= plan_rlimit(k->plan, RLIMIT_NOFILE)) {
		descriptors_close_stale(k, signals);
		k->stale_from = 0;
	}
}

const struct layer layer_descriptors = {.name = "descriptors", .enter = descriptors_enter};
