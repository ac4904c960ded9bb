/* SPDX-License-Identifier: Apache-2.0 */
/* Syncs a file and makes one without a name, in the words of each system.
 *
 * Should:   leave no file behind when the process is killed.
 * Must not: return before the content would survive a crash of the machine.
 * Fails:    with errno. */
#include "base/storage.h"

#include <fcntl.h>

#ifdef __APPLE__
#include <stdlib.h>
#include <unistd.h>

/* fsync(2) of macOS does not wait for the disk; a file system without F_FULLFSYNC has only it. */
int storage_sync(int fd) {
	return fcntl(fd, F_FULLFSYNC) == 0 ? 0 : fsync(fd);
}

int storage_memory(void) {
	char name[] = "/tmp/corral.XXXXXX";
	int fd = mkostemp(name, O_CLOEXEC); /* mode 0600 */

	if (fd >= 0) {
		(void)unlink(name); /* fails only if it was removed */
	}
	return fd;
}
#else
#include <sys/mman.h>
#include <unistd.h>

int storage_sync(int fd) {
	return fdatasync(fd);
}

int storage_memory(void) {
	return memfd_create("corral", MFD_CLOEXEC);
}
#endif
