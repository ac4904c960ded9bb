/* SPDX-License-Identifier: Apache-2.0 */
/* Writes uid_map and gid_map of the new user namespace: one uid and one gid, the caller's.
 *
 * Should:   map the caller's uid and gid to themselves, so that files keep their owner and
 *           git sees no "dubious ownership", or to those of the policy; deny setgroups(2).
 * Must not: map an id to 0 that is not 0 outside, or map a second id.
 * Fails:    closed: without the maps the later layers have no capabilities. */
#include "linux/layer.h"

#include "base/auto.h"

#include <fcntl.h>
#include <string.h>
#include <stdio.h>
#include <sys/prctl.h>

static int idmap_prepare(struct kit *k, struct err *e) {
	(void)e;
	(void)snprintf(k->uid_map, sizeof k->uid_map, "%u %u 1\n", k->plan->uid, k->host->uid);
	(void)snprintf(k->gid_map, sizeof k->gid_map, "%u %u 1\n", k->plan->gid, k->host->gid);
	return 0;
}

static int write_file(const struct kit *k, const char *file, const char *text, struct err *e) {
	int fd = open(file, O_WRONLY | O_CLOEXEC);
	if (fd < 0 || write(fd, text, strlen(text)) < 0) {
		return err_host(e, ERR_NO_NAMESPACES, "user",
				"cannot write the id maps of the new user namespace");
	}
	kit_leave_fd(k, fd);
	return 0;
}

static int idmap_enter(struct kit *k, struct err *e) {
	/* The files in /proc/self of an undumpable process belong to root, and the maps are there.
	 */
	if (prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) != 0) {
		return err_sys(e, "user", "cannot make the child dumpable");
	}
	/* The kernel accepts an unprivileged gid_map only after setgroups is denied. */
	if (write_file(k, "/proc/self/setgroups", "deny", e) != 0 ||
	    write_file(k, "/proc/self/gid_map", k->gid_map, e) != 0 ||
	    write_file(k, "/proc/self/uid_map", k->uid_map, e) != 0) {
		return -1;
	}
	/* From here on no process of the sandbox can ptrace pid 1 or read its memory, which is
	 * a copy of the caller's. */
	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0) {
		return err_sys(e, "user", "cannot make pid 1 undumpable");
	}
	return 0;
}

const struct layer layer_idmap = {
	.name = "user", .namespaces = true, .prepare = idmap_prepare, .enter = idmap_enter};
