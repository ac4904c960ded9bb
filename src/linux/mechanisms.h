/* The kernel's mechanisms one by one, for a report to people: version, whether
 * it works, and if not, which of the usual reasons it is.
 *
 * Should:   try things out where a version number does not say whether they
 *           work; the listener is tried in a process of its own.
 * Must not: decide anything: a run relies on struct host, never on this.
 * Fails:    never: what cannot be found out is a field that says so. */
#ifndef CORRAL_LINUX_MECHANISMS_H
#define CORRAL_LINUX_MECHANISMS_H

#include <stdbool.h>

/* A number that the kernel does not tell. */
#define MECHANISM_UNKNOWN (-1)

struct mechanisms {
	char kernel[128]; /* uname's release */

	int landlock_abi;    /* 0: none */
	int landlock_errno;  /* why there is none */
	int landlock_errata; /* a bit for each erratum that is mended; MECHANISM_UNKNOWN */

	bool seccomp; /* filters can be loaded */
	bool kill_process, refuse, notify;
	bool listener;      /* a notification was received and answered */
	int listener_errno; /* why not */

	int ptrace_scope; /* Yama's; MECHANISM_UNKNOWN without Yama */

	bool apparmor;
	char apparmor_label[128];      /* of this process; "" when it cannot be read */
	int apparmor_restricts_userns; /* kernel.apparmor_restrict_unprivileged_userns;
					  MECHANISM_UNKNOWN */

	int max_user_namespaces;       /* user.max_user_namespaces; MECHANISM_UNKNOWN */
	int unprivileged_userns_clone; /* Debian's older switch; MECHANISM_UNKNOWN */

	const char *core_dumps; /* where kernel.core_pattern sends them: file, pipe, socket; NULL */

	const char *container; /* what kind we seem to be in; NULL when nothing says so */
	bool inside_corral;    /* by the environment: a hint and no proof */
};

void mechanisms_probe(struct mechanisms *ret);

#endif
