/* SPDX-License-Identifier: Apache-2.0 */
/* The terminal of a command between libcorral and a client, which may go and come back.
 *
 *   pty ── libcorral ──inner──► backlog ──client──► corral session exec --terminal, attach
 *
 * The client's socket is a SOCK_SEQPACKET.  To the client go bytes of output.  From the client come
 * messages of one kind each: TERMINAL_INPUT and bytes, or TERMINAL_SIZE and a struct
 * terminal_size.  A client that closes its end detaches. */
#ifndef CORRAL_SESSION_TERMINAL_RELAY_H
#define CORRAL_SESSION_TERMINAL_RELAY_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TERMINAL_INPUT 'i'
#define TERMINAL_SIZE 's'

/* The longest message, in both directions. */
#define TERMINAL_CHUNK 4096

struct terminal_size {
	uint16_t rows, columns;
};

/* The last output, which a client gets when it attaches. */
#define BACKLOG_SIZE ((size_t)64 * 1024)

struct terminal_relay {
	uint32_t command; /* its number in the session */
	/* With the supervisor's lock: the request that is answered when the client detaches or the
	 * command ends, 0: none; and whether it has ended. */
	uint32_t call;
	bool ended;
	char name[64]; /* of the command, for messages */
	int inner;     /* -1: the command has ended, and its output was read */
	int client;    /* -1: none */
	struct terminal_size size;
	size_t typed; /* bytes of input that libcorral has not taken */
	char input[TERMINAL_CHUNK];
	size_t begin, len; /* of the backlog, a ring */
	size_t unsent;     /* its last bytes, which the client does not have */
	char backlog[BACKLOG_SIZE];
	struct terminal_relay *next;
};

/* What a step found. */
enum terminal_event {
	TERMINAL_LEFT = 1,    /* the client is gone */
	TERMINAL_RESIZED = 2, /* `size` is new */
	TERMINAL_OVER = 4,    /* nothing is left to relay */
};

/* *ret_outer is libcorral's end.  NULL: out of memory or descriptors. */
struct terminal_relay *terminal_relay_new(int *ret_outer);
void terminal_relay_free(struct terminal_relay *t);

/* Takes the descriptor; the client gets the backlog first.  An earlier client is disconnected. */
void terminal_relay_attach(struct terminal_relay *t, int client);

void terminal_relay_poll(const struct terminal_relay *t, struct pollfd slots[2]);
unsigned terminal_relay_step(struct terminal_relay *t, const struct pollfd slots[2]);

#endif
