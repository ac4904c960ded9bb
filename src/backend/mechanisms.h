/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel's mechanisms one by one, for `corral status`: version, whether it works, and if
 * not, the usual reason.
 *
 * Should:   test a mechanism if a version number does not show whether it works; the seccomp
 *           listener is tested in a separate process.
 * Must not: decide anything: a run relies on struct host, never on this.
 * Fails:    never: an unknown value is MECHANISM_UNKNOWN. */
#ifndef CORRAL_BACKEND_MECHANISMS_H
#define CORRAL_BACKEND_MECHANISMS_H

#include "backend/container.h"

#include <stdbool.h>

/* A value that cannot be read. */
#define MECHANISM_UNKNOWN (-1)

struct mechanisms {
	char kernel[128]; /* uname's release */

	int landlock_abi;    /* 0: none */
	int landlock_errno;  /* the reason of ABI 0 */
	int landlock_errata; /* a bit for each fixed erratum; MECHANISM_UNKNOWN */

	bool seccomp;  /* filters can be loaded */
	bool filtered; /* one is in force for this process */
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

	bool lacks_setfcap; /* CAP_SETFCAP, which root needs to map its own id */
	bool chrooted;      /* in a chroot the kernel creates no user namespace */

	const char *core_dumps; /* where kernel.core_pattern sends them: file, pipe, socket; NULL */

	struct container container; /* around this process */
	bool inside_corral;         /* by environment variables: not a proof */
};

void mechanisms_probe(struct mechanisms *ret);

#endif
