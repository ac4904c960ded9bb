/* Quotas: how much of the kernel's shared pools this user namespace may take.
 *
 * The kernel charges namespaces and inotify instances to every user namespace
 * up the chain, against a ceiling that each one's root may lower for itself.
 * A ceiling below the present count only refuses what is new, so the run's own
 * namespaces stay.
 *
 * Should:   end nesting (a nested user namespace would give back capabilities,
 *           and with them most of the kernel's attack surface), and leave the
 *           host's user a share of the inotify instances.
 * Must not: run before the user namespace exists (it would lower the caller's
 *           ceilings), or after mounts.c (the new /proc/sys is read-only) or
 *           capabilities.c (writing needs CAP_SYS_RESOURCE in the namespace).
 * Fails:    closed.  Only a pool that this kernel was built without is skipped. */
#include "linux/layer.h"

#include "base/auto.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#define QUOTA_DIR "/proc/sys/user"

struct quota {
	const char *file, *value;
	bool optional; /* a kernel may be built without it */
};

/* Each row costs every run some microseconds.  The other kinds of namespace are
 * left out: making one needs a capability that nobody inside has and, after the
 * first row, nobody can get. */
static const struct quota quotas[] = {
	/* Without this one no other namespace can be made either. */
	{"max_user_namespaces", "0", false},
	/* Half of the kernel's default for the whole user; watchers of builds and
	 * dev servers use a handful.  Watches are left alone: large trees need many. */
	{"max_inotify_instances", "64", true},
};

static int write_quota(int dir, const struct quota *q, struct err *e) {
	size_t len = strlen(q->value);
	auto_fd fd = openat(dir, q->file, O_WRONLY | O_CLOEXEC);

	if (fd < 0 && errno == ENOENT && q->optional) {
		return 0;
	}
	if (fd < 0) {
		return err_host(e, ERR_NO_NAMESPACES, "quotas",
				"cannot open the quotas in " QUOTA_DIR);
	}
	if (write(fd, q->value, len) != (ssize_t)len) {
		return err_host(e, ERR_NO_NAMESPACES, "quotas",
				"cannot lower the quotas in " QUOTA_DIR);
	}
	return 0;
}

static int quotas_enter(struct kit *k, struct err *e) {
	(void)k;
	auto_fd dir = open(QUOTA_DIR, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0) {
		return err_host(e, ERR_NO_NAMESPACES, "quotas", "cannot open " QUOTA_DIR);
	}
	for (size_t i = 0; i < ARRAY_LEN(quotas); i++) {
		if (write_quota(dir, &quotas[i], e) != 0) {
			return -1;
		}
	}
	return 0;
}

const struct layer layer_quotas = {
	.name = "quotas",
	.namespaces = true,
	.enter = quotas_enter,
};
