/* What a served call made that lasts on the host, for the journal. */
#ifndef CORRAL_LINUX_BROKER_CREATED_H
#define CORRAL_LINUX_BROKER_CREATED_H

#include "linux/broker/resolve.h"

/* All are called after the call has succeeded, and do nothing without a journal. */

/* A regular file has a name, or a mode, that it did not have. */
void created_file(const struct call *c, const char *path, mode_t mode);
/* A file got rights. */
void created_mode(const struct call *c, const struct resolved *p, mode_t added);
/* A regular file has a second name. */
void created_link(const struct call *c, const struct resolved *from, const struct resolved *to);
/* A directory, FIFO, socket or device was made. */
void created_node(const struct call *c, const char *path, mode_t mode);
void created_symlink(const struct call *c, const struct resolved *p, const char *words);
/* Before a directory is moved by a helper, who writes nothing down. */
void created_moving(const struct call *c, const struct resolved *from, const struct resolved *to);
void created_moved(const struct call *c, const struct resolved *from, const struct resolved *to);

#endif
