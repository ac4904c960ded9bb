/* SPDX-License-Identifier: Apache-2.0 */
/* Drops and restores the effective capabilities of this thread.
 *
 * Should:   restore exactly the capabilities that the thread had.
 * Must not: change the permitted or inheritable set, or another thread.
 * Fails:    closed: if they cannot be dropped, the tool does not run. */
#include "base/rights.h"

#include <assert.h>
#include <linux/capability.h>
#include <sys/syscall.h>
#include <unistd.h>

static long set_effective(struct __user_cap_data_struct *sets, const uint32_t *effective) {
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};

	sets[0].effective = effective[0];
	sets[1].effective = effective[1];
	return syscall(SYS_capset, &head, sets);
}

static long get_sets(struct __user_cap_data_struct *sets) {
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	return syscall(SYS_capget, &head, sets);
}

int rights_drop(struct rights *r, struct err *e) {
	struct __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3] = {0};
	static const uint32_t none[2];

	*r = (struct rights){.dropped = false};
	if (get_sets(sets) != 0) {
		return err_sys(e, "files", "cannot read this thread's capabilities");
	}
	if (sets[0].effective == 0 && sets[1].effective == 0) {
		return 0;
	}
	r->effective[0] = sets[0].effective;
	r->effective[1] = sets[1].effective;
	if (set_effective(sets, none) != 0) {
		return err_sys(e, "files", "cannot drop this thread's capabilities");
	}
	r->dropped = true;
	return 0;
}

void rights_restore(struct rights *r) {
	struct __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3] = {0};

	if (!r->dropped) {
		return;
	}
	/* Cannot fail: a permitted capability can always become effective. */
	long got = get_sets(sets);
	long set = got == 0 ? set_effective(sets, r->effective) : -1;
	assert(set == 0);
	(void)set;
	r->dropped = false;
}
