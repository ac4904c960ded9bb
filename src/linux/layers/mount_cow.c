/* SPDX-License-Identifier: Apache-2.0 */
/* Creates the overlay of a copy-on-write workspace.
 *
 * Should:   show the workspace, and put every change into the plan's directory for changes.
 * Must not: use a directory that was replaced since the parent opened it.
 * Fails:    closed: without the overlay the run does not start. */
#include "linux/layers/mount_cow.h"

#include "base/auto.h"
#include "linux/mount_api.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

/* overlayfs accepts only directories of this mount namespace, so the parent's descriptor is
 * opened again by name and compared. */
static int open_in_namespace(int parents, int dir, const char *name) {
	int fd = openat(dir, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct stat here, there;
	if (fd < 0 || fstat(fd, &here) != 0 || fstat(parents, &there) != 0) {
		drop_fd(&fd);
		return -1;
	}
	if (here.st_dev != there.st_dev || here.st_ino != there.st_ino) {
		drop_fd(&fd);
		errno = ESTALE;
	}
	return fd;
}

/* volatile: otherwise unmounting an overlay syncs the whole upper file system.  xino=off: an
 * unchanged file keeps its inode number, so that git need not read it again. */
int mount_cow_new(const struct kit *k, const struct mount *m, int from, struct err *e) {
	char lower[40], upper[40], work[40];
	auto_fd dir = open(k->plan->cow_dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	auto_fd changed = open_in_namespace(k->cow_upper, dir, "upper");
	auto_fd working = open_in_namespace(k->cow_work, dir, "work");
	if (changed < 0 || working < 0) {
		return err_sys_at(e, "cow", "cannot open the copy-on-write directory",
				  k->plan->cow_dir);
	}
	const struct fs_option options[] = {
		{"lowerdir", fd_name(from, lower)},
		{"upperdir", fd_name(changed, upper)},
		{"workdir", fd_name(working, work)},
		{"userxattr", NULL},
		{"volatile", NULL},
		{"xino", "off"},
	};
	int fs = fs_new("overlay", options, ARRAY_LEN(options));
	int tree = fs < 0 ? -1 : fs_mount(fs, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV);
	kit_leave_fd(k, fs);
	return tree >= 0 ? tree
			 : err_sys_at(e, "cow", "the kernel refused an overlay of", m->source);
}
