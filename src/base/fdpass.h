/* Whole messages with descriptors, over a SOCK_SEQPACKET or datagram socket.  System
 * calls only: both sides of a clone use it. */
#ifndef CORRAL_BASE_FDPASS_H
#define CORRAL_BASE_FDPASS_H

#include <stddef.h>
#include <sys/uio.h>

/* As many as the largest message has: the sockets that the gate is given. */
#define FDPASS_MAX 7

/* Sends body with n descriptors, at most FDPASS_MAX; flags are sendmsg(2)'s.
 * 0 or -errno; a reader that is gone sends no signal. */
int fdpass_send(int channel, struct iovec body, const int *fds, size_t n, int flags);

/* Receives a message of body's length and its descriptors, close-on-exec; never waits.
 * 0 or -errno, and then no descriptor is kept:
 *   -EAGAIN   none is waiting
 *   -EBADMSG  the end, or a message of another length
 *   -EMFILE   the message is there, but not all of its descriptors had room */
int fdpass_receive(int channel, struct iovec body, int fds[FDPASS_MAX], size_t *ret_n);

#endif
