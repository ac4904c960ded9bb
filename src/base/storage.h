/* SPDX-License-Identifier: Apache-2.0 */
/* Where the content of a file is kept. */
#ifndef CORRAL_BASE_STORAGE_H
#define CORRAL_BASE_STORAGE_H

/* Writes the content to the disk, so that it is whole after a crash; -1 with errno. */
int storage_sync(int fd);

/* A new file without a name, for a small content; -1 with errno. */
int storage_memory(void);

#endif
