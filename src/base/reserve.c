/* SPDX-License-Identifier: Apache-2.0 */
/* Asks the file system for space, in the words of each system.
 *
 * Should:   make sure that a later write within the range does not fail for want of space.
 * Must not: change the size of the file.
 * Fails:    with errno; the caller decides whether it goes on. */
#include "base/reserve.h"

#include <fcntl.h>

#ifdef __APPLE__
/* macOS has no offset here: it counts from the end of what the file has already. */
int reserve_space(int fd, off_t at, off_t size) {
	fstore_t s = {.fst_flags = F_ALLOCATEALL, .fst_posmode = F_PEOFPOSMODE, .fst_length = size};

	(void)at;
	return fcntl(fd, F_PREALLOCATE, &s);
}
#else
int reserve_space(int fd, off_t at, off_t size) {
	return fallocate(fd, FALLOC_FL_KEEP_SIZE, at, size);
}
#endif
