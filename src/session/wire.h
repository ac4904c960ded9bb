/* SPDX-License-Identifier: Apache-2.0 */
/* Messages between the daemon and the supervisor of a session, on a SOCK_SEQPACKET pair.
 *
 * A message has a kind, the number of the call that it belongs to, a JSON text and up to three
 * descriptors.  A text that does not fit goes in a sealed memfd. */
#ifndef CORRAL_SESSION_WIRE_H
#define CORRAL_SESSION_WIRE_H

#include <stddef.h>
#include <stdint.h>

enum wire_kind {
	WIRE_READY = 1, /* supervisor: the sandbox exists */
	WIRE_FAILED,    /* supervisor: it does not, and the error */
	WIRE_EXEC,      /* daemon: a command, with stdin, stdout and stderr or none */
	WIRE_STARTED,   /* supervisor: a command of the short way: {"argv", "cwd", "started"} */
	WIRE_RESULT,    /* supervisor: of a command */
	WIRE_ERROR,     /* supervisor: the command did not run */
	WIRE_SIGNAL,    /* daemon: {"signal": N} for the command of this call */
	WIRE_CANCEL,    /* daemon: kill the tree of the command of this call */
	WIRE_STOP,      /* daemon: end the session, with a grace period; the text: why */
	WIRE_ATTACH,    /* daemon: {"command", "rows", "columns"} and the client's socket */
	WIRE_ACTIVITY,  /* supervisor: {"kind", "text"}, to be recorded */
	WIRE_TOOL,      /* daemon: a call of a tool (session/supervisor_tool.h) */
	WIRE_PROGRESS,  /* supervisor: output of a call that runs */
	WIRE_DECISIONS, /* supervisor: of the gate, while a command runs */
	WIRE_DENIED,    /* daemon: {"method", "why", "count"}: requests were refused */
	WIRE_ENDING,    /* supervisor: {"text"}: why its sandbox has ended */
	WIRE_DETACHED,  /* supervisor: the answer of a client that detached; the command goes on */
	WIRE_ENDED,     /* supervisor: a result or error as above, of a command that went on so */
};

#define WIRE_FDS 3

struct wire_message {
	uint32_t kind, call;
	char *text; /* freed by session_wire_done(); NUL-terminated */
	size_t len;
	int fds[WIRE_FDS];
	size_t nfds;
};

/* 0 or -errno; -EAGAIN: the other side does not read.  The descriptors stay the caller's. */
int session_wire_send(int channel, const struct wire_message *m);

/* 0 or -errno: -EAGAIN nothing is queued, -EBADMSG end of file or a malformed message. */
int session_wire_receive(int channel, struct wire_message *ret);

/* A copy of the text; without memory for it the message has none. */
void session_wire_set_text(struct wire_message *m, const char *text);

void session_wire_done(struct wire_message *m);

#endif
