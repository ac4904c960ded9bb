/* SPDX-License-Identifier: Apache-2.0 */
/* The part of darwin.h that Apple has in <poll.h>. */
#include <darwin.h>
