/* A control group from the systemd of this user: a transient scope, delegated to us.
 *
 * A session's own group belongs to root, so an ordinary user can put limits on nothing
 * there, and the kernel lets him move no process from there into a group that is his.
 * His systemd has such groups, and has the process moved by the system's.  So the run's
 * first process is made as ever and waits; systemd makes a scope and moves it there,
 * together with a keeper; the run's group is made beneath the scope, and the first process
 * joins it (layers/groups.c) and goes on.
 *
 *   corral-PID-RANDOM.scope     systemd's; removed by it when no process is left
 *     first                     the keeper, the outer warden of a run that has one
 *     corral-PID-RANDOM         the run's group: linux/cgroup.h
 *
 * The keeper holds the scope until the supervisor has read how the run ended: systemd
 * removes the groups of an empty scope at once, with their counters.  It ends with the
 * supervisor, so a scope never outlives both.
 *
 * Should:   use only a systemd of this very user (owner of the directory, SO_PEERCRED), and
 *           believe the kernel (/proc/PID/cgroup) rather than the answer.
 * Must not: move the caller's process; wait longer than a second.
 * Fails:    open: the limits are sampled then, and the report says so. */
#ifndef CORRAL_LINUX_SCOPE_H
#define CORRAL_LINUX_SCOPE_H

#include "base/err.h"
#include "plan/host.h"

#include <sys/types.h>

struct scope {
	int keeper; /* pidfd; -1: none */
};

#define SCOPE_NONE ((struct scope){.keeper = -1})

/* Where cgroup_probe() found no group: whether systemd answers, and which controllers it has,
 * into *ret.  Makes no scope; ret->why says what is missing. */
void scope_probe(struct host_cgroup *ret);

/* Has the process `first` (0: none) moved into a new scope, whose directory goes to dir.
 * The error's kind is ERR_NO_SCOPE. */
int scope_begin(pid_t first, char dir[HOST_CGROUP_PATH], struct scope *ret, struct err *e);

/* Ends the keeper; systemd removes the scope. */
void scope_end(struct scope *s);

#endif
