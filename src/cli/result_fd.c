/* SPDX-License-Identifier: Apache-2.0 */
/* --result-fd N: the JSON object of a command goes to descriptor N, and stdout and stderr stay
 * the command's.
 *
 * Should:   take the other end of a socket as the caller: when it sends a byte or closes its end,
 *           the run is cancelled, so that no command outlives the program that started it.
 * Must not: pass the descriptor to the command.
 * Fails:    with a usage error, before anything runs. */
#include "cli/cli.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define DESCRIPTOR_MAX (1 << 20)

int descriptor_of(const char *option, const char *text, const char *remedy, int *ret,
		  struct corral_error *err) {
	char *end = NULL;
	long fd = strtol(text, &end, 10);

	if (end == text || *end != '\0' || fd < 0 || fd > DESCRIPTOR_MAX ||
	    fcntl((int)fd, F_GETFD) < 0) {
		return usage_error(err, remedy, "%s: %s is not an open descriptor", option, text);
	}
	*ret = (int)fd;
	return 0;
}

int result_place(const struct invocation *inv, struct result_place *ret, struct corral_error *err) {
	static const char remedy[] =
		"pass a socket or a pipe of the calling program: --result-fd 3";
	struct stat st;
	int fd = STDOUT_FILENO;

	*ret = (struct result_place){.fd = STDOUT_FILENO};
	if (inv->result_fd == NULL) {
		return 0;
	}
	if (descriptor_of("--result-fd", inv->result_fd, remedy, &fd, err) != 0) {
		return -1;
	}
	if (fd <= STDERR_FILENO) {
		return usage_error(err, remedy, "--result-fd: descriptor %d is the command's", fd);
	}
	if ((fcntl(fd, F_GETFL) & O_ACCMODE) == O_RDONLY || fstat(fd, &st) != 0 ||
	    fcntl(fd, F_SETFD, FD_CLOEXEC) != 0) {
		return usage_error(err, remedy, "--result-fd: descriptor %d cannot be written", fd);
	}
	ret->fd = fd;
	ret->cancel = S_ISSOCK(st.st_mode) ? fd : 0;
	return 0;
}

/* The bytes that cancelled the run are read first: the kernel would reset the connection of a
 * socket that is closed with unread bytes, and the caller could lose the result. */
int result_print(const struct result_place *place, const char *text, struct corral_error *err) {
	char bytes[64];

	while (place->cancel > 0 && recv(place->cancel, bytes, sizeof bytes, MSG_DONTWAIT) > 0) {
	}
	return print_text_to(place->fd, text, err);
}
