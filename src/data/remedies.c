/* SPDX-License-Identifier: Apache-2.0 */
/* The table of remedies: the sysctl, profile or flag that resolves an errno of a layer.
 *
 * Should:   give each text as a command or a setting that can be pasted.
 * Must not: change the error: a remedy is appended to its message.
 * Fails:    without a row the message has no remedy. */
#include "data/remedies.h"

#include "base/auto.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#define IN_CONTAINER "in a container, unmask /proc or allow mounts: `corral status` names the flag"
#define IN_CHROOT "this process is in a chroot; enter it with pivot_root instead"
#define APPARMOR                                                                                   \
	"load the AppArmor profile packaging/apparmor/corral, or sysctl "                          \
	"kernel.apparmor_restrict_unprivileged_userns=0"

#define PROCESSES "raise the limit of processes: ulimit -u, or pids.max of this process's cgroup"
#define NULL_DEVICE "make the device (as root): mknod -m 666 /dev/null c 1 3"

const struct remedy_row remedy_rows[] = {
	{"", EMFILE, "raise the limit of open files: ulimit -n 1024"},
	{"", ENFILE, "the system is out of file descriptors; raise fs.file-max (sysctl)"},
	{"", ENOMEM, "free memory, or raise its limit: ulimit -v unlimited"},
	{"", EDQUOT, "free space: the disk quota of this user is used up"},
	{"", ETOOMANYREFS,
	 "end the program that has your descriptors in flight in unix sockets, or "
	 "raise the limit: ulimit -n 65536"},
	{"cow", EINVAL,
	 "set XDG_STATE_HOME to a directory on ext4, xfs, btrfs or tmpfs, or run without --cow"},
	{"cow", ENODEV, "load the module (as root): modprobe overlay; or run without --cow"},
	{"cow", EPERM,
	 "overlayfs in a user namespace needs Linux 5.11 or newer; or run without --cow"},
	{"cow", 0, "run without --cow"},
	{"descriptors", ENOENT, NULL_DEVICE},
	{"descriptors", EACCES, NULL_DEVICE},
	{"gate", EAGAIN, PROCESSES},
	{"init", EAGAIN, PROCESSES},
	{"mounts", EACCES, APPARMOR},
	{"mounts", EINVAL, IN_CHROOT},
	{"mounts", 0, IN_CONTAINER},
	{"namespaces", ENOSPC,
	 "raise user.max_user_namespaces (sysctl), or do not run in another sandbox"},
	{"namespaces", 0,
	 /* `corral status` observes which of them it is */
	 "allow user namespaces, by a sysctl or in the container's seccomp profile"},
	{"network", EACCES, APPARMOR},
	{"network", EOWNERDEAD, "start the command again"},
	{"pivot", EACCES, APPARMOR},
	{"pivot", EINVAL, IN_CHROOT},
	{"pivot", 0, IN_CONTAINER},
	{"quotas", EACCES, APPARMOR},
	{"quotas", 0, IN_CONTAINER},
	{"spawn", EAGAIN, PROCESSES},
	{"user", EPERM,
	 "root needs CAP_SETFCAP to map its own id: keep this capability, or run as another user"},
	{"user", 0, APPARMOR},
	{"warden", EAGAIN, PROCESSES},
};
const size_t remedy_rows_count = ARRAY_LEN(remedy_rows);

const char *remedy_for_limit(int error) {
	return error == 0 ? NULL : remedy_for("", error);
}

const char *remedy_for_error(const char *layer, int error) {
	const char *text = NULL;
	for (size_t i = 0; error != 0 && text == NULL && i < remedy_rows_count; i++) {
		bool fits =
			strcmp(remedy_rows[i].layer, layer) == 0 && remedy_rows[i].error == error;
		text = fits ? remedy_rows[i].text : NULL;
	}
	return text;
}

const char *remedy_for(const char *layer, int error) {
	for (size_t i = 0; i < remedy_rows_count; i++) {
		const struct remedy_row *row = &remedy_rows[i];
		if (strcmp(row->layer, layer) == 0 && (row->error == error || row->error == 0)) {
			return row->text;
		}
	}
	return NULL;
}
