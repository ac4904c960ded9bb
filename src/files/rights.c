/* Should:   leave the thread with exactly the capabilities that it had.
 * Must not: touch what is permitted or inherited, or another thread.
 * Fails:    closed: capabilities that cannot be laid down stop the tool. */
#include "files/rights.h"

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

static long get(struct __user_cap_data_struct *sets) {
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	return syscall(SYS_capget, &head, sets);
}

int rights_drop(struct rights *r, struct err *e) {
	struct __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3] = {0};
	static const uint32_t none[2];

	*r = (struct rights){.laid_down = false};
	if (get(sets) != 0) {
		return err_sys(e, "files", "cannot ask for this thread's capabilities");
	}
	if (sets[0].effective == 0 && sets[1].effective == 0) {
		return 0;
	}
	r->effective[0] = sets[0].effective;
	r->effective[1] = sets[1].effective;
	if (set_effective(sets, none) != 0) {
		return err_sys(e, "files", "cannot lay down this thread's capabilities");
	}
	r->laid_down = true;
	return 0;
}

void rights_restore(struct rights *r) {
	struct __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3] = {0};

	if (!r->laid_down) {
		return;
	}
	/* What is permitted can always be made effective. */
	long got = get(sets);
	long set = got == 0 ? set_effective(sets, r->effective) : -1;
	assert(set == 0);
	(void)set;
	r->laid_down = false;
}
