/* SPDX-License-Identifier: Apache-2.0 */
/* Empty files and directories that a nested sandbox needs as mount points. */
#ifndef CORRAL_LINUX_BROKER_PLACEHOLDER_H
#define CORRAL_LINUX_BROKER_PLACEHOLDER_H

#include "linux/broker/resolve.h"

/* The name may be created empty, although a rule protects it; refusal: the verdict about it. */
bool placeholder_is_allowed(const struct call *c, const struct resolved *p, int refusal);

/* The name is still one that was created so: its creator may remove it. */
bool placeholder_is(const struct resolved *p);

/* It was created; removed after the run. */
void placeholder_made(const struct resolved *p);

/* After the last process of the run has ended. */
void placeholder_remove_all(void);

#endif
