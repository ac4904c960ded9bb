/* SPDX-License-Identifier: Apache-2.0 */
/* The first program of a container with a gate (data/container_start.h).
 *
 * Should:   execute the command after the gate has every listener, with no descriptor of its own.
 * Must not: need a right, a file of the image, or more memory than the command's limits leave.
 * Fails:    closed: without an answer the command is not executed. */
#include "cli/cli.h"

#include "base/auto.h"
#include "base/fdpass.h"
#include "base/unix_address.h"
#include "data/container_start.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

/* Connections that may queue for the gate. */
#define BACKLOG 1024

#define STATUS_SETUP 125
#define STATUS_NO_EXEC 126
#define STATUS_NOT_FOUND 127

static int send_message(int channel, int port, int error, int fd) {
	struct container_start_message m = {.port = port, .error = error};
	struct iovec body = {&m, sizeof m};

	return fdpass_send(channel, body, &fd, fd >= 0, 0);
}

static int open_listener(uint16_t port) {
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(port)};
	auto_fd fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (fd < 0 || bind(fd, (const struct sockaddr *)&at, sizeof at) != 0 ||
	    listen(fd, BACKLOG) != 0) {
		return -1;
	}
	return take_fd(&fd);
}

/* The watcher reports the error. */
static int pass_listeners(int channel, const char *ports) {
	for (const char *at = ports; *at != '\0';) {
		char *end;
		unsigned long port = strtoul(at, &end, 10);
		if (end == at || port == 0 || port > UINT16_MAX) {
			return -1;
		}
		auto_fd fd = open_listener((uint16_t)port);
		if (send_message(channel, (int)port, fd < 0 ? errno : 0, fd) != 0 || fd < 0) {
			return -1;
		}
		at = *end == ',' ? end + 1 : end;
	}
	return 0;
}

static bool is_answered(int channel) {
	char byte;
	ssize_t n;

	do {
		n = recv(channel, &byte, 1, 0);
	} while (n < 0 && errno == EINTR);
	return n == 1;
}

static int connect_watcher(const char *path) {
	struct sockaddr_un at;
	socklen_t len = unix_address_set(&at, path, false);
	auto_fd fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	if (len == 0 || fd < 0 || connect(fd, (const struct sockaddr *)&at, len) != 0) {
		return -1;
	}
	return take_fd(&fd);
}

int container_start_main(char **words, size_t nwords) {
	if (nwords < 3) {
		return 2;
	}
	auto_fd channel = connect_watcher(words[0]);
	if (channel < 0 || pass_listeners(channel, words[1]) != 0 || !is_answered(channel)) {
		(void)fprintf(stderr, "corral: the container cannot reach the gate\n");
		return STATUS_SETUP;
	}
	(void)execvp(words[2], words + 2);
	int error = errno;
	(void)send_message(channel, 0, error, -1); /* else the status alone tells it */
	return error == ENOENT ? STATUS_NOT_FOUND : STATUS_NO_EXEC;
}
