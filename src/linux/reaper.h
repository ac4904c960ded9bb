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

/* Kills and collects until nothing is left. */
void reaper_end(const struct reaper *r);

#endif
