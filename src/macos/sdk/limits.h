/* SPDX-License-Identifier: Apache-2.0 */
/* Of <limits.h>, beside the ones of the compiler: sys/syslimits.h. */
#include_next <limits.h>
#define PATH_MAX 1024
#define NAME_MAX 255
