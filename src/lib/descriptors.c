/* SPDX-License-Identifier: Apache-2.0 */
/* Checks the descriptors in the options of a run or of a command.
 *
 * Should:   name the field and the number that is wrong.
 * Must not: change a descriptor.
 * Fails:    closed: CORRAL_E_USAGE. */
#include "lib/descriptors.h"

#include "corral.h"

#include <fcntl.h>

int descriptor_check(int fd, const char *field, struct err *e) {
	if (fd < 0 || fcntl(fd, F_GETFD) < 0) {
		return err_set(e, ERR_USAGE, "library", "%s: %d is not an open file descriptor",
			       field, fd);
	}
	return 0;
}

static int check_stream(int fd, const char *capturer, bool capture, const char *field,
			struct err *e) {
	if (fd == CORRAL_NULL || (fd == CORRAL_CAPTURE && capture)) {
		return 0;
	}
	if (fd == CORRAL_CAPTURE) {
		return err_set(e, ERR_USAGE, "library",
			       "%s: CORRAL_CAPTURE is only for out and err of %s", field, capturer);
	}
	return descriptor_check(fd, field, e);
}

int descriptors_check(const struct descriptors *d, struct err *e) {
	if (check_stream(d->in, d->capturer, false, "in", e) != 0 ||
	    check_stream(d->out, d->capturer, d->capture, "out", e) != 0 ||
	    check_stream(d->err, d->capturer, d->capture, "err", e) != 0) {
		return -1;
	}
	if (d->nfds > 0 && d->fds == NULL) {
		return err_set(e, ERR_USAGE, "library", "nfds is %zu, but fds is NULL", d->nfds);
	}
	for (size_t i = 0; i < d->nfds; i++) {
		if (descriptor_check(d->fds[i], "fds", e) != 0) {
			return -1;
		}
	}
	return 0;
}
