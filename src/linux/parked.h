/* SPDX-License-Identifier: Apache-2.0 */
/* The pool: sandboxes that are set up before a run needs them, each for one command of one caller.
 *
 *   corral run (cold) ──fork, at its end──> keeper ──clone3──> pid 1 ──> parked process
 *        daemon ◄──admin.sock: pool.hold──────┘ │                            ▲
 *   corral run (later) ──connect p/KEY.sock──────┤ channel, pidfd, memory    │
 *        │        ◄──────────────────────────────┘                            │
 *        └── argv, environment, streams, its own pidfd ───────────────────────┘ execve
 *
 * 1. A run makes its plan first, as always: it reads the policy and looks at the host.  KEY is the
 *    hash of all that the sandbox is made of: the plan (plan/fingerprint.h), the version of
 *    Corral, and the attributes that a process inherits from its caller (linux/heritage.c): ids,
 *    namespaces, control group, priorities, limits.  A run that finds no socket of this name runs
 *    cold.  So the sandbox of the pool is the one that the run would make itself.
 * 2. The keeper is a fork of a run that found none, if policy and daemon want one.  It has that
 *    run's plan and attributes, and its sandboxes inherit them.  It holds a connection to the
 *    daemon, and ends with it, when it was not used for a while, and when the host mounts or
 *    unmounts a file system.
 * 3. The set-up is that of a run, up to the process that would execute the command.  This process
 *    has entered every layer; it waits for a request (linux/warm.h) on a socket.
 * 4. The caller becomes the supervisor: it gets the status channel, the pidfd of pid 1 and the
 *    memory of run state and journal, and serves the run as any other (run/run.c).  With the
 *    request pid 1 gets the caller's pidfd, whose death it watches instead of the keeper's.
 *
 * Invariants of the pool:
 *  J1  a run gets a sandbox of the pool only if it would make an equal one itself: same plan, same
 *      files, same inherited attributes;
 *  J2  a sandbox is given to one caller, and executes one command;
 *  J3  a sandbox is given only to a process of the same user, which can inspect the keeper and
 *      which the keeper can inspect (ptrace access mode): so both are in the same Landlock domain;
 *      a caller sends its request to no other process;
 *  J4  while a sandbox waits, descriptors of the keeper hold every file that its plan mounts or
 *      covers: an equal inode number is the same file; and a change of the mount table ends the
 *      keeper before the next sandbox is given away;
 *  J5  a sandbox that waits ends with its keeper, and one that runs with its caller;
 *  J6  a keeper ends with the daemon, and leaves no process, file or control group;
 *  J7  a run that the pool cannot serve runs cold, with the same result, which says so. */
#ifndef CORRAL_LINUX_PARKED_H
#define CORRAL_LINUX_PARKED_H

#include "backend/pool.h"
#include "base/arena.h"
#include "base/err.h"
#include "linux/spawn.h"

#include <stdbool.h>

struct kit;

/* ---- in the sandbox; system calls only ---- */

/* Sends one byte, waits on the socket for the command, and puts its arguments into the kit and its
 * descriptors into place.  -1: the other end was closed. */
int parked_wait(struct kit *k, int socket);

/* Run state and journal in one memfd, for a sandbox whose supervisor is not known yet. */
struct run_state;
struct journal;
int parked_memory_new(int *ret_fd, struct run_state **ret_state, struct journal **ret_journal,
		      struct err *e);
/* Maps them in the caller; 0 or -1. */
int parked_memory_map(int fd, struct run_state **ret_state, struct journal **ret_journal);

/* ---- outside ---- */

/* A connection between caller and keeper is a SOCK_SEQPACKET socket.  The keeper: whether the
 * sandbox may be given to the process at its other end (J3). */
bool parked_peer_is_fit(int socket);

/* The keeper sends the sandbox to the caller, with the socket on which it waits; NULL: there is
 * none.  0: it is no longer the keeper's, which keeps only the pidfd. */
int parked_give(int socket, struct child *c, int *requests);

#endif
