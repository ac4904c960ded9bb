/* Files that are granted or hidden by themselves, when the host replaces them.
 *
 * Theory.  A bind mount holds a file and not its name.  A program outside that
 * saves by rename, as editors and resolvers do, leaves the command with the old
 * file; and where the name lies in a tree of the host that is shown as well, the
 * kernel takes the mount away with the old name, so that a read-only file would
 * become a writable one, and a hidden one would be open.  So the supervisor looks at each such name
 * now and then, and when another file stands there, a helper puts it into the view: it joins the
 * sandbox's user namespace, which belongs to the caller, clones the new file out of
 * a copy of the host's mounts, joins the sandbox's mount namespace and puts the
 * clone beneath the old mount, which it then takes away.  Over what is to be hidden it
 * puts a new mask, and over what replaces a text of our own, such as the run's resolv.conf,
 * that text again.
 *
 * Looking is cheaper than being told: a run that ends before the first look pays two
 * system calls, an inotify instance is one of 128 that a user has and takes
 * milliseconds to close, and a network file system tells nothing.  Until the next look
 * a new secret is open: rules of fs.deny hold by name as well, through the broker. */
#ifndef CORRAL_LINUX_FOLLOW_H
#define CORRAL_LINUX_FOLLOW_H

#include "plan/plan.h"

#include <stdint.h>

struct follow;

/* NULL in *ret when the plan has no file to follow. */
int follow_new(const struct plan *plan, struct follow **ret, struct err *e);

/* Ends a helper that is under way.  NULL is fine. */
void follow_free(struct follow *f);

/* The mount namespace has come; f takes the descriptor, and NULL closes it. */
void follow_begin(struct follow *f, int view);

/* When follow_look() has something to do, on the clock of `now`; -1 for never. */
int64_t follow_wake(const struct follow *f);

/* Looks, when it is time to; does not wait. */
void follow_look(struct follow *f, int64_t now);

#endif
