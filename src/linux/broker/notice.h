/* What a served call made that lasts on the host, for the journal. */
#ifndef CORRAL_LINUX_BROKER_NOTICE_H
#define CORRAL_LINUX_BROKER_NOTICE_H

#include "linux/broker/resolve.h"

/* All are called after the call has succeeded, and do nothing without a journal. */

/* A regular file has a name, or a mode, that it did not have. */
void notice_file(const struct call *c, const char *path, mode_t mode);
/* A file got rights. */
void notice_mode(const struct call *c, const struct place *p, mode_t added);
/* A regular file has a second name. */
void notice_link(const struct call *c, const struct place *from, const struct place *to);
/* A directory, FIFO, socket or device was made. */
void notice_node(const struct call *c, const char *path, mode_t mode);
void notice_symlink(const struct call *c, const struct place *p, const char *words);
/* Before a directory is moved by a helper, who writes nothing down. */
void notice_moving(const struct call *c, const struct place *from, const struct place *to);
void notice_moved(const struct call *c, const struct place *from, const struct place *to);

#endif
