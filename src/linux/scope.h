/* SPDX-License-Identifier: Apache-2.0 */
/* A cgroup from the systemd of this user: a transient scope with Delegate=yes.
 *
 * The cgroup of a login session belongs to root.  An ordinary user cannot set limits there, and
 * the kernel does not let the user move a process from there into a cgroup that the user owns.
 * The user's systemd can: it calls the system's systemd, which moves the process.  So the
 * supervisor clones the run's first process as usual, which then waits.  systemd creates a scope
 * and moves the first process and a keeper into it.  The supervisor creates the run's cgroup
 * beneath the scope, and the first process joins it (layers/cgroup.c).
 *
 *   corral-PID-RANDOM.scope     systemd's; systemd removes it when it has no process
 *     first                     the keeper, and the outer warden of a run that has one
 *     corral-PID-RANDOM         the run's cgroup: linux/cgroup.h
 *
 * The keeper holds the scope until the supervisor has read memory.events: systemd removes the
 * cgroups of an empty scope at once, with their counters.  The keeper exits with the supervisor,
 * so a scope never outlives both.
 *
 * Should:   use only a systemd of this user (owner of the directory, SO_PEERCRED), and trust
 *           /proc/PID/cgroup rather than systemd's answer.
 * Must not: move the caller's process; wait longer than a second.
 * Fails:    open: the limits are then sampled, and the report says so. */
#ifndef CORRAL_LINUX_SCOPE_H
#define CORRAL_LINUX_SCOPE_H

#include "base/err.h"
#include "plan/host.h"

#include <sys/types.h>

struct scope {
	int keeper; /* pidfd; -1: none */
};

#define SCOPE_NONE ((struct scope){.keeper = -1})

/* For a host where cgroup_probe() found no usable cgroup: fills *ret with the controllers that the
 * user's systemd can delegate.  Creates no scope; ret->why names the missing part. */
void scope_probe(struct host_cgroup *ret);

/* Creates a scope, moves the process `first` (0: none) into it, and writes the path of its cgroup
 * to dir.  The error's kind is ERR_NO_SCOPE. */
int scope_begin(pid_t first, char dir[HOST_CGROUP_PATH], struct scope *ret, struct err *e);

/* Kills the keeper; systemd then removes the empty scope. */
void scope_end(struct scope *s);

#endif
