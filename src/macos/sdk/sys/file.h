/* SPDX-License-Identifier: Apache-2.0 */
/* The part of darwin.h that Apple has in <sys/file.h>. */
#include <darwin.h>
