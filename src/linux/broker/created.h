/* SPDX-License-Identifier: Apache-2.0 */
/* Records files that a served call created and that stay on the host, in the journal. */
#ifndef CORRAL_LINUX_BROKER_CREATED_H
#define CORRAL_LINUX_BROKER_CREATED_H

#include "linux/broker/resolve.h"

/* All are called after the call has succeeded, and do nothing without a journal. */

/* A regular file has a new name or mode. */
void created_file(const struct call *c, const char *path, mode_t mode);
/* chmod added mode bits. */
void created_mode(const struct call *c, const struct resolved *p, mode_t added);
/* A regular file has a new hard link. */
void created_link(const struct call *c, const struct resolved *from, const struct resolved *to);
/* A directory, FIFO, socket or device was created. */
void created_node(const struct call *c, const char *path, mode_t mode);
void created_symlink(const struct call *c, const struct resolved *p, const char *target);
/* Before a helper, which cannot write to the journal, moves a directory. */
void created_moving(const struct call *c, const struct resolved *from, const struct resolved *to);
/* Needs from->entry. */
void created_moved(const struct call *c, const struct resolved *from, const struct resolved *to);

#endif
