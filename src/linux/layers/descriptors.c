/* Descriptors: the ones the caller named, numbered from 0, and no other.
 *
 * Should:   put kit->fds at 0, 1, 2, …; open the sandbox's own /dev/null where
 *           the plan says "none"; keep the channel, close-on-exec; close the rest.
 * Must not: run before anything that still needs a descriptor of the parent.
 * Fails:    closed: Landlock does not cover descriptors that are already open,
 *           so one that stays behind is an escape. */
#include "linux/layer.h"

#include "base/auto.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Lifts every descriptor above the numbers that will be given out, so that
 * giving one out cannot overwrite another. */
static int lift(struct kit *k, struct err *e) {
	int floor = (int)k->nfds + 5;
	for (size_t i = 0; i < k->nfds; i++) {
		int fd = k->fds[i] >= 0
				 ? k->fds[i]
				 : open("/dev/null", (i == 0 ? O_RDONLY : O_WRONLY) | O_CLOEXEC);
		if (fd < 0) {
			return err_sys(e, "descriptors",
				       "cannot open /dev/null for a stream of the command");
		}
		k->fds[i] = fcntl(fd, F_DUPFD_CLOEXEC, floor);
		if (k->fds[i] < 0) {
			return err_sys(e, "descriptors",
				       "cannot keep a descriptor for the command");
		}
	}
	int *ours[] = {&k->channel_fd, &k->scope_fd, &k->lock_fd, &k->gate_fd, &k->warden_fd};
	for (size_t i = 0; i < ARRAY_LEN(ours); i++) {
		int lifted = *ours[i] < 0 ? -1 : fcntl(*ours[i], F_DUPFD_CLOEXEC, floor);
		if (lifted < 0 && *ours[i] >= 0) {
			/* The channel stays as it was: the reason is told by it. */
			return err_sys(e, "descriptors", "cannot keep a descriptor of the guard");
		}
		*ours[i] = lifted;
	}
	return 0;
}

/* One more of ours behind the last. */
static int keep(int *fd, int *last, struct err *e) {
	if (*fd < 0) {
		return 0;
	}
	if (dup3(*fd, ++*last, O_CLOEXEC) < 0) {
		return err_sys(e, "descriptors", "cannot keep a descriptor of the guard");
	}
	*fd = *last;
	return 0;
}

static int descriptors_enter(struct kit *k, struct err *e) {
	if (lift(k, e) != 0) {
		return -1;
	}
	for (size_t i = 0; i < k->nfds; i++) {
		/* The command's own, so not close-on-exec. */
		if (dup3(k->fds[i], (int)i, 0) < 0) {
			return err_sys(e, "descriptors",
				       "cannot number a descriptor for the command");
		}
	}
	int channel = (int)k->nfds;
	if (dup3(k->channel_fd, channel, O_CLOEXEC) < 0) {
		return err_sys(e, "descriptors", "cannot keep the status channel");
	}
	k->channel_fd = channel;
	int last = channel;
	if (keep(&k->scope_fd, &last, e) != 0 || keep(&k->lock_fd, &last, e) != 0 ||
	    keep(&k->gate_fd, &last, e) != 0 || keep(&k->warden_fd, &last, e) != 0) {
		return -1;
	}
	if (syscall(SYS_close_range, (unsigned)last + 1, ~0U, 0) != 0) {
		return err_sys(e, "descriptors", "cannot close the caller's descriptors");
	}
	return 0;
}

const struct layer layer_descriptors = {.name = "descriptors", .enter = descriptors_enter};
