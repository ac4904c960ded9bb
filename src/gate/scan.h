/* SPDX-License-Identifier: Apache-2.0 */
/* The protocol between the gate, which has the requests of the command, and the supervisor, which
 * has the leak scanner (scan.net).
 *
 * The gate parses the bytes of hostile programs and servers, so it does not get the values of the
 * run's secrets: it sends the text of each request and waits for the number of bytes that may
 * leave.
 *
 * One struct per packet on a SOCK_SEQPACKET pair; the bytes of a question follow it in its packet.
 * The answers come in the order of the questions. */
#ifndef CORRAL_GATE_SCAN_H
#define CORRAL_GATE_SCAN_H

#include "base/hostname.h"

/* Requests that are scanned at once, and answers that may be queued; others wait. */
#define SCAN_SLOTS 64

/* Bytes of one question: a packet fits the default size of a socket buffer. */
#define SCAN_BYTES ((size_t)16 * 1024)

enum scan_part {
	SCAN_HEAD, /* the request line and the fields */
	SCAN_TEXT, /* one line: a chunk extension or a trailer */
	SCAN_BODY, /* content, without the framing of chunks */
	SCAN_PARTS,
};

/* Flags of a question. */
enum {
	SCAN_FIRST = 1,  /* a new request */
	SCAN_END = 2,    /* this part is complete */
	SCAN_ANSWER = 4, /* the gate waits for an answer */
};

struct scan_question {
	uint64_t ticket; /* of the flow; the answer repeats it */
	uint32_t slot;   /* below SCAN_SLOTS; each has the state of one request */
	uint32_t part, flags;
	uint32_t line; /* HEAD: length of the request line */
	/* FIRST: the server, for the record. */
	struct ip ip;
	uint16_t port;
	char name[HOSTNAME_MAX + 1]; /* "": by address */
};

struct scan_answer {
	uint64_t ticket;
	uint64_t clean;  /* bytes of SCAN_BODY, from the request's first on, that may leave */
	uint8_t refused; /* the request has a secret, or cannot be scanned */
};

/* Not const, as struct iovec: nothing is changed.
 *
 * The gate's calls.  scan_ask() blocks until the supervisor has read enough, which ends: the
 * supervisor never waits for the gate.  False: the supervisor has ended. */
bool scan_ask(int line, struct scan_question *q, uint8_t *data, size_t len);
int scan_answer_receive(int line, struct scan_answer *ret); /* 1, 0: none queued, -1: EOF */

/* The supervisor's calls.  data: SCAN_BYTES; returns 1, 0: none queued, -1: EOF, or a question
 * that the gate does not send. */
int scan_question_receive(int line, struct scan_question *ret, void *data, size_t *ret_len);
void scan_answer_send(int line, struct scan_answer *a);

#endif
