/* SPDX-License-Identifier: Apache-2.0 */
/* Entries in the buffer of getdents64(2), for code that may not allocate and cannot use readdir(3).
 */
#ifndef CORRAL_BASE_DIRENT64_H
#define CORRAL_BASE_DIRENT64_H

#include <stdint.h>
#include <string.h>

/* Offsets in struct linux_dirent64, which no header of libc has. */
#define DIRENT64_OFFSET 8  /* d_off */
#define DIRENT64_LENGTH 16 /* d_reclen */
#define DIRENT64_TYPE 18   /* d_type */
#define DIRENT64_NAME 19   /* d_name */

/* The distance to the next entry; memcpy, because entries need not be aligned. */
static inline uint16_t dirent64_length(const char *entry) {
	uint16_t length;
	memcpy(&length, entry + DIRENT64_LENGTH, sizeof length);
	return length;
}

/* DT_LNK or another of readdir(3); DT_UNKNOWN where the file system does not say. */
static inline unsigned char dirent64_type(const char *entry) {
	return (unsigned char)entry[DIRENT64_TYPE];
}

static inline const char *dirent64_name(const char *entry) {
	return entry + DIRENT64_NAME;
}

#endif
