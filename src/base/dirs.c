/* SPDX-License-Identifier: Apache-2.0 */
/* mkdir -p: creates the missing directories of a path.
 *
 * Should:   create each with mode 0700.
 * Must not: change the mode of a directory that exists.
 * Fails:    with errno and the directory that could not be created. */
#include "base/dirs.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

static int make(const char *path, size_t len, char failed[PATH_MAX]) {
	if (len >= PATH_MAX) {
		memcpy(failed, path, PATH_MAX - 1);
		failed[PATH_MAX - 1] = '\0';
		errno = ENAMETOOLONG;
		return -1;
	}
	memcpy(failed, path, len);
	failed[len] = '\0';
	return mkdir(failed, 0700) == 0 || errno == EEXIST ? 0 : -1;
}

int dirs_make_parents(const char *path, char failed[PATH_MAX]) {
	for (const char *p = strchr(path + 1, '/'); p != NULL; p = strchr(p + 1, '/')) {
		if (make(path, (size_t)(p - path), failed) != 0) {
			return -1;
		}
	}
	return 0;
}

int dirs_make(const char *path, char failed[PATH_MAX]) {
	return dirs_make_parents(path, failed) == 0 ? make(path, strlen(path), failed) : -1;
}
