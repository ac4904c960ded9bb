/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the controlling terminal of a caller in another session than pid 1: of a command of a
 * session with a terminal, or of a program in `script`.
 *
 * Opened by pid 1, /dev/tty would be pid 1's terminal (K4).  The caller's own has a name in the
 * sandbox's devpts, by which the caller may open it itself.
 *
 * Should:   name a terminal of the sandbox's devpts only.
 * Must not: trust the name of the process, which may contain any character.
 * Fails:    closed: -ENXIO, as without a terminal. */
#include "linux/broker/call.h"

#include "base/auto.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

/* The devices of slaves of ptys; the kernel's number of a device has its minor number in two
 * parts. */
#define PTY_MAJOR 136
#define MAJOR_OF(n) ((n) >> 8 & 0xfff)
#define MINOR_OF(n) (((n)&0xff) | ((n) >> 12 & 0xfff00))

/* Behind the name: state, parent, process group, session, terminal. */
#define FIELDS_BEFORE 4

/* The field tty_nr of /proc/PID/stat; 0: none. */
uint64_t own_terminal_number(const char *stat, size_t len) {
	uint64_t value = 0;
	size_t at = len;

	while (at > 0 && stat[at - 1] != ')') {
		at--;
	}
	if (at == 0) {
		return 0;
	}
	for (int spaces = 0; at < len && spaces <= FIELDS_BEFORE; at++) {
		spaces += stat[at] == ' ';
	}
	for (; at < len && stat[at] >= '0' && stat[at] <= '9' && value < UINT32_MAX; at++) {
		value = value * 10 + (uint64_t)(stat[at] - '0');
	}
	return value;
}

int own_terminal_path(const struct call *c, struct text *ret) {
	struct text path = {.len = 0};
	char stat[512];

	caller_text_number(&path, (uint64_t)caller_entry(c));
	caller_text_add(&path, "/stat");
	auto_fd fd = openat(c->b->proc, path.s, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, stat, sizeof stat);
	uint64_t number = n < 0 ? 0 : own_terminal_number(stat, (size_t)n);
	if (plan_lacks_namespaces(c->b->plan) || MAJOR_OF(number) != PTY_MAJOR) {
		return -ENXIO;
	}
	ret->len = 0;
	caller_text_add(ret, "/dev/pts/");
	caller_text_number(ret, MINOR_OF(number));
	return 0;
}
