/* The wardens: two processes that end a run without a pid namespace, whatever dies.
 *
 *   supervisor ── outer warden ── inner warden ── guard ── command
 *
 * Where there is a pid namespace the kernel ends everything with pid 1.  Without one, a
 * command would outlive a guard that was killed.  So two more processes do nothing but
 * wait for a death or for the deadline, and end everything then.  Each is a subreaper: orphans of a
 * dead guard fall to the inner warden, orphans of a dead inner warden to the outer one.
 *
 *   who          sees the end of                    kills                    removes run_dir
 *   outer        inner warden, supervisor (both     kill(-1) in a domain     yes: no file is
 *                its process and its channel)       that closes signals      closed to it
 *   inner        outer warden, guard, supervisor;   kill(-1) in the outer    yes: a rule for
 *                the deadline                       Landlock domain          its parent
 *   guard        inner warden, supervisor;          kill(-1) in the guard's  no
 *                command; the deadline              domain
 *   supervisor   channel, outer warden              closes the channel       yes
 *
 * So any two of the four may die at once, at any moment: one that can kill and one that
 * can remove the directory is left.  lifetime.pml has the model that checks this.
 *
 * One kill(-1) is needed of each: a command that forks and goes, over and over, each time in
 * a session of its own, outruns whoever kills its processes one by one.
 *
 * Nothing of the command reaches a warden: each is outside the command's domain; before
 * Landlock ABI 6 the wardens have nothing but their children, and the broker refuses
 * signals to whatever does not descend from the guard.  Neither is dumpable, has the
 * command's limits, serves calls, or touches a file while the command runs. */
#ifndef CORRAL_LINUX_WARDEN_H
#define CORRAL_LINUX_WARDEN_H

#include "linux/layer.h"

/* Each returns in the new process, which goes on with the set-up, and never in the
 * warden.  k->warden_fd is the warden's pidfd then.  System calls only. */
int warden_outer(struct kit *k, struct err *e); /* before any layer is entered */
int warden_inner(struct kit *k, struct err *e); /* after every layer was entered */

#endif
