/* SPDX-License-Identifier: Apache-2.0 */
/* The command of the counted runs: a static program, which opens no libraries.
 *
 *     command          does nothing
 *     command N        creates N empty files in the working directory */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv) {
	long count = argc > 1 ? strtol(argv[1], NULL, 10) : 0;
	for (long i = 0; i < count; i++) {
		char name[32];
		snprintf(name, sizeof(name), "%d-%ld", (int)getppid(), i);
		int fd = open(name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
		if (fd < 0) {
			perror(name);
			return 1;
		}
		close(fd);
	}
	return 0;
}
