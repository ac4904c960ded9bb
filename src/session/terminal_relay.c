/* SPDX-License-Identifier: Apache-2.0 */
/* Relays the bytes of a terminal, and keeps the last of them.
 *
 * Should:   read the command's output without pause while no client is there; wait for a client
 *           that is slow, as a terminal does.
 * Must not: block; keep more than the backlog and one message of input.
 * Fails:    by disconnecting the client; the command goes on. */
#include "session/terminal_relay.h"

#include "base/auto.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

struct terminal_relay *terminal_relay_new(int *ret_outer) {
	struct terminal_relay *t = calloc(1, sizeof *t);
	int pair[2];

	if (t == NULL || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) {
		free(t);
		return NULL;
	}
	t->inner = pair[0];
	t->client = -1;
	*ret_outer = pair[1];
	return t;
}

void terminal_relay_free(struct terminal_relay *t) {
	drop_fd(&t->inner);
	drop_fd(&t->client);
	free(t);
}

/* After a cut the backlog begins with a line: half an escape sequence would be printed. */
static void begin_with_line(struct terminal_relay *t) {
	if (t->len < BACKLOG_SIZE) {
		return;
	}
	for (size_t i = 0; i < t->len; i++) {
		if (t->backlog[(t->begin + i) % BACKLOG_SIZE] == '\n') {
			t->unsent = t->len - i - 1;
			return;
		}
	}
}

void terminal_relay_attach(struct terminal_relay *t, int client) {
	drop_fd(&t->client);
	t->client = client;
	t->typed = 0; /* of the client before */
	t->unsent = t->len;
	begin_with_line(t);
}

/* ---- output ---- */

/* Room for output that no client has to lose. */
static size_t room(const struct terminal_relay *t) {
	return BACKLOG_SIZE - (t->client < 0 ? 0 : t->unsent);
}

static void keep(struct terminal_relay *t, const char *data, size_t len) {
	for (size_t i = 0; i < len; i++) {
		t->backlog[(t->begin + t->len) % BACKLOG_SIZE] = data[i];
		if (t->len < BACKLOG_SIZE) {
			t->len++;
		} else {
			t->begin = (t->begin + 1) % BACKLOG_SIZE;
		}
	}
	t->unsent += len;
	t->unsent = t->unsent > t->len ? t->len : t->unsent;
}

static void read_output(struct terminal_relay *t) {
	char chunk[TERMINAL_CHUNK];
	size_t most = room(t) < sizeof chunk ? room(t) : sizeof chunk;
	ssize_t n = recv(t->inner, chunk, most, MSG_DONTWAIT);

	if (n > 0) {
		keep(t, chunk, (size_t)n);
	} else if (n == 0 || (errno != EAGAIN && errno != EINTR)) {
		drop_fd(&t->inner);
	}
}

/* True: the client is gone. */
static bool send_output(struct terminal_relay *t) {
	while (t->unsent > 0) {
		size_t at = (t->begin + t->len - t->unsent) % BACKLOG_SIZE;
		size_t most = t->unsent < TERMINAL_CHUNK ? t->unsent : TERMINAL_CHUNK;
		most = at + most > BACKLOG_SIZE ? BACKLOG_SIZE - at : most;
		ssize_t n = send(t->client, t->backlog + at, most, MSG_DONTWAIT | MSG_NOSIGNAL);
		if (n < 0) {
			return errno != EAGAIN && errno != EINTR;
		}
		t->unsent -= (size_t)n;
	}
	return false;
}

/* ---- input ---- */

static void type(struct terminal_relay *t) {
	ssize_t n = t->inner < 0 ? (ssize_t)t->typed
				 : send(t->inner, t->input, t->typed, MSG_DONTWAIT | MSG_NOSIGNAL);
	if (n < 0) {
		return; /* the next step tries it again, or the inner end is gone */
	}
	t->typed -= (size_t)n;
	memmove(t->input, t->input + n, t->typed);
}

/* The next message of the client, as events. */
static unsigned read_message(struct terminal_relay *t) {
	char message[1 + TERMINAL_CHUNK];
	ssize_t n = recv(t->client, message, sizeof message, MSG_DONTWAIT);

	if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
		return 0;
	}
	if (n > 1 && message[0] == TERMINAL_INPUT) {
		t->typed = (size_t)n - 1;
		memcpy(t->input, message + 1, t->typed);
		type(t);
		return 0;
	}
	if (n == 1 + (ssize_t)sizeof t->size && message[0] == TERMINAL_SIZE) {
		memcpy(&t->size, message + 1, sizeof t->size);
		return TERMINAL_RESIZED;
	}
	return TERMINAL_LEFT; /* end of file, or a malformed message */
}

/* ---- both ---- */

void terminal_relay_poll(const struct terminal_relay *t, struct pollfd slots[2]) {
	slots[0] = (struct pollfd){.fd = t->inner};
	slots[1] = (struct pollfd){.fd = t->client};
	slots[0].events = (short)((room(t) > 0 ? POLLIN : 0) | (t->typed > 0 ? POLLOUT : 0));
	slots[1].events = (short)((t->typed == 0 ? POLLIN : 0) | (t->unsent > 0 ? POLLOUT : 0));
	if (slots[0].events == 0) {
		slots[0].fd = -1; /* else POLLHUP would be reported without end */
	}
}

unsigned terminal_relay_step(struct terminal_relay *t, const struct pollfd slots[2]) {
	unsigned events = 0;

	if (t->typed > 0) {
		type(t);
	}
	if ((slots[0].revents & (POLLIN | POLLHUP | POLLERR)) != 0 && t->inner >= 0 &&
	    room(t) > 0) {
		read_output(t);
	}
	if (t->client >= 0 && slots[1].fd == t->client &&
	    (slots[1].revents & (POLLIN | POLLHUP | POLLERR)) != 0 && t->typed == 0) {
		events |= read_message(t);
	}
	if (t->client >= 0 && send_output(t)) {
		events |= TERMINAL_LEFT;
	}
	if ((events & TERMINAL_LEFT) != 0) {
		drop_fd(&t->client);
	}
	if (t->inner < 0 && (t->client < 0 || t->unsent == 0)) {
		events |= TERMINAL_OVER;
	}
	return events;
}
