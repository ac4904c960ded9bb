/* SPDX-License-Identifier: Apache-2.0 */
/* Scoped ownership (cleanup attribute): the compiler releases a local's memory, descriptor or
 * directory at the end of its scope, unless take_ptr() or take_fd() passes it to the caller. */
#ifndef CORRAL_BASE_AUTO_H
#define CORRAL_BASE_AUTO_H

#include <dirent.h>
#include <stdlib.h>
#include <unistd.h>

static inline void auto_free_(void *p) {
	free(*(void **)p);
}

static inline void auto_fd_(const int *fd) {
	if (*fd >= 0) {
		(void)close(*fd); /* nothing useful can be done about a failing close here */
	}
}

static inline void auto_dir_(DIR **d) {
	if (*d != NULL) {
		(void)closedir(*d); /* as with close */
	}
}

#define auto_free __attribute__((cleanup(auto_free_)))
#define auto_fd __attribute__((cleanup(auto_fd_))) int
#define auto_dir __attribute__((cleanup(auto_dir_))) DIR *

static inline int take_fd(int *fd) {
	int taken = *fd;
	*fd = -1;
	return taken;
}

static inline void drop_fd(int *fd) {
	if (*fd >= 0) {
		(void)close(take_fd(fd)); /* nothing useful can be done about a failing close */
	}
}

#define take_ptr(p)                                                                                \
	__extension__({                                                                            \
		__typeof__(p) taken_ = (p);                                                        \
		(p) = NULL;                                                                        \
		taken_;                                                                            \
	})

#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))

#endif
