/* SPDX-License-Identifier: Apache-2.0 */
/* Drops all capabilities, locks the securebits and sets no_new_privs.
 *
 * Should:   empty every capability set, lock the securebits so that uid 0 has no special
 *           rights, set no_new_privs so that set-user-id files have no effect.
 * Must not: run before the last layer that needs a capability.
 * Fails:    closed: it reads the sets back and stops if one is not empty. */
#include "linux/layer.h"

#include "base/raw_call.h"
#include "linux/layers/unplanned.h"

#include <errno.h>
#include <linux/capability.h>
#include <linux/securebits.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Capability numbers go up to 63 in the two words that capset carries. */
#define CAP_NUMBERS 64

/* SECBIT_KEEP_CAPS is not locked: there is no capability to keep, and programs that drop
 * their privileges (ping, setpriv) set it first and fail when they cannot. */
#define LOCKED_BITS                                                                                \
	(SECBIT_NOROOT | SECBIT_NOROOT_LOCKED | SECBIT_NO_SETUID_FIXUP |                           \
	 SECBIT_NO_SETUID_FIXUP_LOCKED | SECBIT_NO_CAP_AMBIENT_RAISE |                             \
	 SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED)

long capabilities_drop_bounding(void) {
	long rc = 0;

	for (long cap = 0; rc == 0 && cap < CAP_NUMBERS; cap++) {
		rc = raw_call(SYS_prctl, PR_CAPBSET_DROP, cap);
	}
	return rc == -EINVAL ? 0 : rc; /* past CAP_LAST_CAP of this kernel */
}

static int empty_sets(struct err *e) {
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct sets[2] = {{0}, {0}};

	if (syscall(SYS_capset, &head, sets) != 0) {
		return err_sys(e, "capabilities", "cannot empty the capability sets");
	}
	if (syscall(SYS_capget, &head, sets) != 0) {
		return err_sys(e, "capabilities", "cannot read the capability sets back");
	}
	for (int i = 0; i < 2; i++) {
		if ((sets[i].effective | sets[i].permitted | sets[i].inheritable) != 0) {
			errno = EPERM;
			return err_sys(e, "capabilities", "a capability survived being dropped");
		}
	}
	return 0;
}

/* Locking needs CAP_SETPCAP.  A process without capabilities need not lock: under
 * no_new_privs an empty set stays empty through every execve, for uid 0 too. */
static bool may_lock(const struct kit *k) {
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct sets[2] = {{0}, {0}};
	if (!plan_lacks_namespaces(k->plan)) {
		return true; /* a new user namespace starts with all of them */
	}
	return syscall(SYS_capget, &head, sets) == 0 &&
	       (sets[0].effective & (1U << CAP_SETPCAP)) != 0;
}

static int lock(const struct kit *k, struct err *e) {
	long rc = k->early != NULL ? 0 : capabilities_drop_bounding();
	if (rc != 0) {
		errno = (int)-rc;
		return err_sys(e, "capabilities", "cannot drop the bounding set");
	}
	if (prctl(PR_SET_SECUREBITS, LOCKED_BITS, 0, 0, 0) != 0) {
		return err_sys(e, "capabilities", "cannot lock the securebits");
	}
	return 0;
}

static int capabilities_enter(struct kit *k, struct err *e) {
	/* Locking needs CAP_SETPCAP, so it comes before the sets are emptied. */
	if (may_lock(k) && lock(k, e) != 0) {
		return -1;
	}
	if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) != 0) {
		return err_sys(e, "capabilities", "cannot clear the ambient set");
	}
	if (empty_sets(e) != 0) {
		return -1;
	}
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) {
		return err_sys(e, "capabilities", "cannot set no_new_privs");
	}
	return 0;
}

const struct layer layer_capabilities = {.name = "capabilities", .enter = capabilities_enter};
