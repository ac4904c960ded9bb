/* SPDX-License-Identifier: Apache-2.0 */
/* The time of the last change of a file's content, whose field has another name on macOS. */
#ifndef CORRAL_BASE_STAT_TIME_H
#define CORRAL_BASE_STAT_TIME_H

#include <sys/stat.h>

static inline struct timespec stat_modified(const struct stat *st) {
#ifdef __APPLE__
	return st->st_mtimespec;
#else
	return st->st_mtim;
#endif
}

#endif
