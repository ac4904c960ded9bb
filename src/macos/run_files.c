/* SPDX-License-Identifier: Apache-2.0 */
/* The directories and files of a run on macOS: TMPDIR, HOME, generated files.
 *
 * Should:   create each with a mode for the user alone, and remove all of them.
 * Must not: use a directory of the run that exists already, or follow a link of the command.
 * Fails:    closed: the run does not start.
 *
 * It makes no call that only macOS has. */
#include "macos/run_files.h"

#include "base/auto.h"
#include "base/path.h"
#include "base/str.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define WHERE "seatbelt"

static int make_dirs(const char *path, struct err *e) {
	char part[PATH_MAX];
	for (const char *at = path + 1;; at++) {
		if (*at != '/' && *at != '\0') {
			continue;
		}
		size_t len = (size_t)(at - path);
		if (len >= sizeof part) {
			return err_set(e, ERR_SETUP, WHERE, "the path is too long: %.100s", path);
		}
		memcpy(part, path, len);
		part[len] = '\0';
		if (mkdir(part, 0700) != 0 && errno != EEXIST) {
			return err_sys_at(e, WHERE, "cannot create the directory", part);
		}
		if (*at == '\0') {
			return 0;
		}
	}
}

static int write_text(const char *path, const char *text, struct err *e) {
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
	size_t len = strlen(text);
	bool done = fd >= 0 && write(fd, text, len) == (ssize_t)len;
	if (fd >= 0 && close(fd) != 0) {
		done = false;
	}
	return done ? 0 : err_sys_at(e, WHERE, "cannot write the file", path);
}

int macos_prepare(const struct plan *plan, struct err *e) {
	/* The last part must be new: another user may have made it in /private/tmp. */
	if (mkdir(plan->run_dir, 0700) != 0) {
		return err_sys_at(e, WHERE, "cannot create the directory of the run",
				  plan->run_dir);
	}
	for (size_t i = 0; i < plan->nmounts; i++) {
		const struct mount *m = &plan->mounts[i];
		bool made = m->kind == MOUNT_PRIVATE || (m->kind == MOUNT_FILE && m->text != NULL);
		if (made && !path_within(m->target, plan->run_dir)) {
			return err_set(e, ERR_SETUP, WHERE,
				       "a file of the run is outside its directory: %.100s",
				       m->target);
		}
		bool own = m->kind == MOUNT_PRIVATE ||
			   (plan->home_source != NULL && streq(m->target, plan->home_source));
		if ((own && make_dirs(m->target, e) != 0) ||
		    (m->kind == MOUNT_FILE && m->text != NULL &&
		     write_text(m->target, m->text, e) != 0)) {
			return -1;
		}
	}
	return 0;
}

/* Symlinks are removed, not followed. */
static void remove_beneath(const char *dir, int depth) {
	DIR *d = depth > 64 ? NULL : opendir(dir);
	for (const struct dirent *entry; d != NULL && (entry = readdir(d)) != NULL;) {
		char path[PATH_MAX];
		struct stat st;
		size_t head = strlen(dir), tail = strlen(entry->d_name);
		if (streq(entry->d_name, ".") || streq(entry->d_name, "..") ||
		    head + tail + 2 > sizeof path) {
			continue;
		}
		memcpy(path, dir, head);
		path[head] = '/';
		memcpy(path + head + 1, entry->d_name, tail + 1);
		if (lstat(path, &st) == 0 && S_ISDIR(st.st_mode)) {
			remove_beneath(path, depth + 1);
		} else {
			(void)unlink(path); /* else it stays in /private/tmp */
		}
	}
	if (d != NULL) {
		(void)closedir(d); /* it was only read */
	}
	(void)rmdir(dir); /* as above */
}

void macos_clean(const struct plan *plan) {
	remove_beneath(plan->run_dir, 0);
}
