/* SPDX-License-Identifier: Apache-2.0 */
/* Reserves space of the file system beyond the end of a file, whose size stays as it is. */
#ifndef CORRAL_BASE_RESERVE_H
#define CORRAL_BASE_RESERVE_H

#include <sys/types.h>

/* For `size` bytes from offset `at` on; -1 with errno, EOPNOTSUPP where the file system cannot. */
int reserve_space(int fd, off_t at, off_t size);

#endif
