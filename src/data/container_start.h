/* SPDX-License-Identifier: Apache-2.0 */
/* How the first program of a container reaches the gate: the words that the backend passes and the
 * program parses, and the messages between the two.
 *
 *   CONTAINER_START_PROGRAM CONTAINER_START_WORD SOCKET PORT[,PORT...] COMMAND [ARG...]
 *
 * The program is corral itself, mounted read-only.  It has no rights that the command lacks: it
 * makes a listener on the container's loopback for each port, passes the listeners over the socket,
 * waits for the answer, and executes the command.  A program of the image would gain nothing by
 * doing the same. */
#ifndef CORRAL_DATA_CONTAINER_START_H
#define CORRAL_DATA_CONTAINER_START_H

#include <stdint.h>

/* Not a documented verb. */
#define CONTAINER_START_WORD "container-start"

/* Inside. */
#define CONTAINER_START_PROGRAM "/.corral/corral"
#define CONTAINER_START_SOCKET "/.corral/gate"

/* One SOCK_SEQPACKET message for each port, with the listener; the answer to the last is one byte.
 * An error ends it: of a port, or of execve(2) if the port is 0. */
struct container_start_message {
	int32_t port;
	int32_t error; /* errno; 0: a listener comes with the message */
};

#endif
