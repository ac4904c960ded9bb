/* Control groups of version 1: the child joins the groups that were made for it.
 *
 * Should:   move this process, and so everything it will start, into each group.
 *           A version 2 group was joined by clone3() already.
 * Must not: need a path: the parent opened the groups' files, and the kernel
 *           checks the opener's rights, so joining works from inside a user
 *           namespace.
 * Fails:    closed. */
#include "linux/layer.h"

#include <errno.h>
#include <unistd.h>

static int join(int fd, struct err *e) {
	ssize_t n;
	do {
		n = write(fd, "0", 1); /* "0" is the writer itself */
	} while (n < 0 && errno == EINTR);
	return n == 1 ? 0 : err_sys(e, "groups", "cannot join the run's control group");
}

static int groups_enter(struct kit *k, struct err *e) {
	for (size_t i = 0; i < k->njoin_fds; i++) {
		if (join(k->join_fds[i], e) != 0) {
			return -1;
		}
	}
	return 0;
}

const struct layer layer_cgroup = {.name = "groups", .enter = groups_enter};
