/* SPDX-License-Identifier: Apache-2.0 */
/* The watcher of a container: the process between the supervisor and the engine. */
#ifndef CORRAL_DOCKER_WATCHER_H
#define CORRAL_DOCKER_WATCHER_H

#include "docker/container.h"
#include "linux/run_state.h"

#include <sys/types.h>

/* The statuses of `docker run` that may be its own: 125 the engine, 126 no program, 127 no file. */
#define WATCHER_STATUS_ENGINE 125
#define WATCHER_STATUSES 3

/* Everything that the watcher needs is made before it: it makes system calls only. */
struct watcher {
	const struct plan *plan;
	const struct container_run *c;
	char **run; /* with the command */
	char *kill[6], *remove[7], *inspect[12];
	char signal_word[24]; /* in kill[] */
	char until_word[40];  /* in inspect[] */
	/* From WATCHER_STATUS_ENGINE on, and of the container's first program. */
	struct err failures[WATCHER_STATUSES + 1];
	int channel, supervisor, lock; /* descriptors */
	int fds[3], master;
	int listen, start, gate; /* gate.c: the first program of the container; the gate; -1 */
	size_t nlisteners;       /* that the gate has */
	int start_error;         /* errno of the first program; 0 */
	bool terminal, rehearse;
	struct run_state *state;
	pid_t pid; /* of the engine's command */
	int pidfd;
	int64_t deadline, end_at; /* ms; -1 */
	bool timed_out, killed;
};

/* gate.c.  Starts the gate's process, and the socket for the container's first program. */
int container_gate_start(const struct spawn_request *r, struct watcher *k, struct child *c,
			 struct err *e);
/* In the watcher: k->listen is readable; k->start is. */
void container_gate_accept(struct watcher *k);
void container_gate_receive(struct watcher *k);
/* The command was not executed. */
bool container_gate_failed(const struct watcher *k);

/* The watcher's life; does not return. */
_Noreturn void watcher_main(struct watcher *k);

/* poll(2) for a process; false: timeout. */
bool watcher_wait(int pidfd, int64_t ms);

#endif
