/* SPDX-License-Identifier: Apache-2.0 */
/* Two warden processes end a run that has no pid namespace, whichever process dies.
 *
 *   supervisor ── outer warden ── inner warden ── guard ── command
 *
 * In a pid namespace the kernel kills every process with pid 1.  Without one, a command
 * would outlive a guard that was killed.  So two more processes only wait for a death or for
 * the deadline, and then kill everything.  Each is a subreaper: orphans of a dead guard are
 * reparented to the inner warden, orphans of a dead inner warden to the outer one.
 *
 *   process      polls                              kills with               removes run_dir
 *   outer        inner warden, supervisor (both     kill(-1) in a domain     yes: its domain
 *                its pidfd and its channel)         with SCOPE_SIGNAL        has no file rule
 *   inner        outer warden, guard, supervisor;   kill(-1) in the outer    yes: a rule for
 *                the deadline                       Landlock domain          its parent
 *   guard        inner warden, supervisor;          kill(-1) in the guard's  no
 *                command; the deadline              domain
 *   supervisor   channel, outer warden              closes the channel       yes
 *
 * So any two of the four may die at once, at any moment: one that can kill and one that
 * can remove the directory is left.  lifetime.pml has the model that checks this.
 *
 * Each needs kill(-1): a command that forks and exits in a loop, each time in a new
 * session, outruns a process that kills one pid at a time.
 *
 * The command cannot reach a warden: each is outside the command's Landlock domain.  Before
 * Landlock ABI 6 there is no such domain; then the wardens kill their children one by one,
 * and the broker refuses signals to processes that do not descend from the guard.  A warden
 * is not dumpable, does not have the command's rlimits, answers no notification, and opens
 * no file while the command runs. */
#ifndef CORRAL_LINUX_WARDEN_H
#define CORRAL_LINUX_WARDEN_H

#include "linux/layer.h"

/* The calling process becomes the warden and does not return, except on failure.  Its new
 * child returns 0 and continues the set-up, with the warden's pidfd in k->warden_fd.  System
 * calls only. */
int warden_outer(struct kit *k, struct err *e); /* before the layers are entered */
int warden_inner(struct kit *k, struct err *e); /* after the layers were entered */

#endif
