/* SPDX-License-Identifier: Apache-2.0 */
/* "EACCES" for EACCES: programs that read our JSON compare names, not numbers. */
#ifndef CORRAL_BASE_ERRNO_NAME_H
#define CORRAL_BASE_ERRNO_NAME_H

/* NULL for a number that Linux does not use. */
const char *errno_name(int number);

#endif
