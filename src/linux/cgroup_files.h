/* The small files of a control group, read by the probe and by the group itself. */
#ifndef CORRAL_LINUX_CGROUP_FILES_H
#define CORRAL_LINUX_CGROUP_FILES_H

#include "base/auto.h"

#include <fcntl.h>
#include <stdbool.h>
#include <string.h>

enum controller { MEMORY, PIDS, CPU, CONTROLLERS };

static const char *const controller_names[CONTROLLERS] = {"memory", "pids", "cpu"};

/* The first cap-1 bytes of a file, terminated; false when it cannot be read. */
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

#endif
