/* SPDX-License-Identifier: Apache-2.0 */
/* The part of darwin.h that Apple has in <sys/mman.h>. */
#include <darwin.h>
