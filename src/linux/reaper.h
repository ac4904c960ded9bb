/* Ending everything that a command has started. */
#ifndef CORRAL_LINUX_REAPER_H
#define CORRAL_LINUX_REAPER_H

#include "base/err.h"
#include "plan/plan.h"

struct reaper {
	bool everybody; /* kill(-1) reaches what is inside and nothing else */
	int children;   /* /proc/thread-self/children, where it is not so; -1 */
};

int reaper_init(struct reaper *r, const struct plan *plan, struct err *e);

/* Sends it to everything inside but ourselves, as far as it can be seen now. */
void reaper_signal(const struct reaper *r, int signal);

/* The same for the outer warden, which is a subreaper already.  Where kill(-1) is not to be
 * had and the kernel does not list children it finds none: another process kills them. */
void reaper_init_outer(struct reaper *r, const struct plan *plan);

/* Kills and collects until nothing is left but what waits in the kernel. */
void reaper_end(const struct reaper *r);

/* The same, but leaves after so many milliseconds what was killed and has not ended: it
 * waits in the kernel, for a device, and ends when it returns. */
void reaper_end_within(const struct reaper *r, int ms);

/* Collects until nothing is left (true), or so many milliseconds have passed.  SIGCHLD has
 * to be blocked. */
bool reaper_collect(int ms);

#endif
