/* SPDX-License-Identifier: Apache-2.0 */
/* The daemon's event loop: epoll, one event at a time.
 *
 * Our own, because it is a page of code and the daemon needs nothing else of a loop library: no
 * threads, no buffers, no name server.  One event at a time, so that a handler may end any other
 * connection: no event of a freed watch is pending in user space. */
#ifndef CORRAL_SESSION_DAEMON_LOOP_H
#define CORRAL_SESSION_DAEMON_LOOP_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

struct watch;
typedef void watch_fn(struct watch *w, uint32_t events);

/* Part of its owner; it does not own the descriptor. */
struct watch {
	int fd;
	watch_fn *ready;
	void *owner;
	uint32_t events; /* 0: not in the loop */
};

struct daemon_loop {
	int epoll;
	bool ended;
};

int daemon_loop_init(struct daemon_loop *l, struct err *e);
void daemon_loop_done(struct daemon_loop *l);

/* Adds the watch, or changes its events; 0 removes it. */
int daemon_loop_watch(struct daemon_loop *l, struct watch *w, uint32_t events, struct err *e);

/* Waits for one event, at most timeout_ms (-1: without limit), and calls its handler. */
int daemon_loop_once(struct daemon_loop *l, int timeout_ms, struct err *e);

#endif
