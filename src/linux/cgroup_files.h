/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the small files of a cgroup, for cgroup.c and cgroup_probe.c. */
#ifndef CORRAL_LINUX_CGROUP_FILES_H
#define CORRAL_LINUX_CGROUP_FILES_H

#include "base/auto.h"
#include "base/str.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/vfs.h>

/* Where every distribution mounts them; the type of file system is checked, and
 * reading the mount table would cost more than the rest of the probe. */
#define CGROUP_MOUNT "/sys/fs/cgroup"

enum controller { MEMORY, PIDS, CPU, CONTROLLERS };

static const char *const controller_names[CONTROLLERS] = {"memory", "pids", "cpu"};

/* The first cap-1 bytes of a file, NUL-terminated; false when it cannot be read. */
static inline bool read_head(int dir, const char *file, char *out, size_t cap) {
	auto_fd fd = openat(dir, file, O_RDONLY | O_CLOEXEC);
	if (fd < 0) {
		return false;
	}
	ssize_t n = read(fd, out, cap - 1);
	if (n < 0) {
		return false;
	}
	out[n] = '\0';
	return true;
}

/* "cpu" is a word of "memory cpu pids" and not of "cpuset". */
static inline bool has_word_in(const char *list, size_t len, const char *word) {
	static const char separators[] = " ,\n";
	const char *end = list + len;
	size_t want = strlen(word);
	while (list < end) {
		size_t span = 0;
		while (list + span < end && strchr(separators, list[span]) == NULL) {
			span++;
		}
		if (span == want && memcmp(list, word, want) == 0) {
			return true;
		}
		list += span + 1;
	}
	return false;
}

static inline bool has_word(const char *list, const char *word) {
	return has_word_in(list, strlen(list), word);
}

static inline bool mounted(const char *path, long magic) {
	struct statfs fs;
	return statfs(path, &fs) == 0 && (long)fs.f_type == magic;
}

/* Finds a process's group in the text of /proc/PID/cgroup: lines of
 * "number:controllers:path".  controller NULL asks for version 2's line.
 * False also when the group lies outside our control group namespace. */
static inline bool own_group(const char *text, const char *controller, char *out, size_t cap) {
	for (const char *line = text; *line != '\0';) {
		const char *list = strchr(line, ':');
		const char *path = list == NULL ? NULL : strchr(list + 1, ':');
		const char *end = path == NULL ? NULL : strchr(path, '\n');
		if (end == NULL) {
			return false;
		}
		list++;
		if (controller == NULL ? list == path
				       : has_word_in(list, (size_t)(path - list), controller)) {
			size_t len = (size_t)(end - path - 1);
			if (len >= cap || str_starts(path, ":/..")) {
				return false;
			}
			/* The root is "", so that a path can be appended to a mount. */
			(void)snprintf(out, cap, "%.*s", len == 1 ? 0 : (int)len, path + 1);
			return true;
		}
		line = end + 1;
	}
	return false;
}

#endif
