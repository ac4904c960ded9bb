/* SPDX-License-Identifier: Apache-2.0 */
/* Passes descriptors (SCM_RIGHTS) with a message over a SOCK_SEQPACKET or datagram socket.
 * System calls only: it runs on both sides of clone(2). */
#ifndef CORRAL_BASE_FDPASS_H
#define CORRAL_BASE_FDPASS_H

#include <stddef.h>
#include <sys/uio.h>

/* The number in the largest message: the sockets that pid 1 sends to the gate. */
#define FDPASS_MAX 7

/* Sends body with n descriptors, at most FDPASS_MAX; flags are sendmsg(2)'s.
 * 0 or -errno; without SIGPIPE. */
int fdpass_send(int channel, struct iovec body, const int *fds, size_t n, int flags);

/* Receives a message of body's length and its descriptors, close-on-exec; never waits.
 * 0 or -errno, and then no descriptor is kept:
 *   -EAGAIN   no message is queued
 *   -EBADMSG  end of file, or a message of another length
 *   -EMFILE   the message arrived without all of its descriptors */
int fdpass_receive(int channel, struct iovec body, int fds[FDPASS_MAX], size_t *ret_n);

#endif
