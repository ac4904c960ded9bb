/* SPDX-License-Identifier: Apache-2.0 */
/* Holds plain HTTP requests back until the leak scanner has read them (scan.net).
 *
 * The bytes stay in the client's receive queue: `ahead` counts those at its front that inspect()
 * has read and that wait for an answer.  A head leaves as a whole, and so does the line of a chunk
 * extension or trailer.  Of a body leaves the part that cannot belong to a secret; its end releases
 * the rest.  With `warn` nothing waits.
 *
 * Should:   send the scanner every byte of a request's head, content, chunk extensions and
 *           trailers, in the order in which the server reads them.
 * Must not: forward a byte before its answer, unless the action is warn.
 * Fails:    closed: a supervisor that does not answer gets no byte forwarded. */
#include "gate/relay/flow.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

/* ---- slots ---- */

static void wake(struct loop_alarm *a) {
	struct gate *g = CONTAINER_OF(a, struct gate, scan_wake);

	for (size_t i = 0; i < GATE_FLOWS && g->nstalled > 0; i++) {
		struct flow *f = &g->flows[i];
		if (f->phase != PHASE_FREE && f->scan.stalled) {
			f->scan.stalled = false;
			g->nstalled--;
			flow_step(f, STEP_UP);
		}
	}
}

/* True: the flow has a slot.  Otherwise it continues when one is free. */
static bool take_slot(struct flow *f) {
	struct gate *g = f->gate;

	for (uint32_t i = 0; f->scan.slot == 0 && g->nasked < SCAN_SLOTS && i < SCAN_SLOTS; i++) {
		if (!g->scan_slots[i]) {
			g->scan_slots[i] = true;
			f->scan.slot = i + 1;
		}
	}
	if (f->scan.slot == 0 && !f->scan.stalled) {
		f->scan.stalled = true;
		g->nstalled++;
	}
	return f->scan.slot != 0;
}

static void wake_stalled(struct gate *g) {
	if (g->nstalled > 0) {
		g->scan_wake.ring = wake;
		(void)loop_alarm_set(&g->loop, &g->scan_wake, 0); /* the heap has room for it */
	}
}

static void give_slot(struct flow *f) {
	if (f->scan.slot != 0) {
		f->gate->scan_slots[f->scan.slot - 1] = false;
		f->scan.slot = 0;
		wake_stalled(f->gate);
	}
}

void scan_end(struct flow *f) {
	f->gate->nstalled -= f->scan.stalled;
	f->scan.stalled = false;
	give_slot(f);
}

/* Held bytes keep whole segments in the receive queue, of 64 KiB each on a loopback: with a buffer
 * of the default size the window would close.  The kernel makes the buffer as large as
 * SO_RCVLOWAT, and keeps it so. */
#define ROOM ((size_t)256 * 1024)

void scan_open(struct flow *f) {
	f->talk.whole = f->gate->scans && f->kind != FLOW_PUBLISH;
	if (f->talk.whole) {
		flow_set_low_water(f->client.fd, ROOM);
		flow_set_low_water(f->client.fd, f->low_water);
	}
}

bool scan_pauses(const struct flow *f) {
	bool head = f->talk.whole && f->stash != 0 && !f->scan.head_clean;

	return f->scan.asked || f->scan.stalled || head;
}

/* ---- questions ---- */

static bool ask(struct flow *f, struct scan_question *q, uint8_t *data, size_t len) {
	size_t at = 0;
	uint32_t last = q->flags & (SCAN_END | SCAN_ANSWER);

	q->ticket = flow_ticket(f);
	q->slot = f->scan.slot - 1;
	for (bool more = true; more;) {
		size_t n = len - at < SCAN_BYTES ? len - at : SCAN_BYTES;
		more = at + n < len;
		q->flags = (q->flags & SCAN_FIRST) | (more ? 0 : last);
		if (!scan_ask(f->gate->scanner.fd, q, data + at, n)) {
			flow_reset(f);
			return false;
		}
		q->flags = 0;
		at += n;
	}
	if ((last & SCAN_ANSWER) != 0) {
		f->scan.asked = true;
		f->gate->nasked++;
	}
	return true;
}

static uint32_t answer_flag(const struct flow *f) {
	return f->gate->scan_holds ? SCAN_ANSWER : 0;
}

static bool ask_head(struct flow *f, uint8_t *data, size_t len, size_t line) {
	struct scan_question q = {.part = SCAN_HEAD,
				  .flags = SCAN_FIRST | SCAN_END | answer_flag(f),
				  .line = (uint32_t)line,
				  .ip = f->ip,
				  .port = f->port};

	memcpy(q.name, f->scan.host[0] != '\0' ? f->scan.host : f->name, sizeof q.name);
	f->scan.part = SCAN_HEAD;
	f->scan.clean = f->scan.sent = 0;
	return ask(f, &q, data, len);
}

/* The content of a chunked body is collected in f->gate->scan_text. */
static bool ask_text(struct flow *f, uint8_t *data, size_t len, bool end) {
	struct scan_question q = {.part = SCAN_TEXT, .flags = end ? SCAN_END : 0};

	f->scan.in_line = !end;
	return ask(f, &q, data, len);
}

static bool ask_body(struct flow *f, struct http_body b, uint8_t *data, size_t len) {
	struct scan_question q = {.part = SCAN_BODY, .flags = answer_flag(f)};
	uint8_t *content = f->gate->scan_text;
	size_t ncontent = 0;
	long n;

	for (size_t at = 0; at < len; at += (size_t)n) {
		enum http_piece piece;
		n = http_body_next(&b, data + at, len - at, &piece);
		if (n <= 0) {
			break; /* conversation_client() has read the same bytes */
		}
		if (piece == HTTP_PIECE_DATA) {
			memcpy(content + ncontent, data + at, (size_t)n);
			ncontent += (size_t)n;
		} else if ((piece == HTTP_PIECE_TEXT || f->scan.in_line) &&
			   !ask_text(f, data + at, piece == HTTP_PIECE_TEXT ? (size_t)n : 0,
				     piece == HTTP_PIECE_FRAME)) {
			return false;
		}
	}
	q.flags |= f->talk.state != CONVERSATION_BODY ? SCAN_END : 0;
	f->scan.part = SCAN_BODY;
	return ask(f, &q, content, ncontent);
}

/* ---- answers ---- */

/* The bytes at the front of the queue that may leave; f->scan.from moves behind them. */
static size_t clean_bytes(struct flow *f, const uint8_t *data, size_t len) {
	uint64_t clean = f->scan.clean - f->scan.sent;
	size_t at = 0;

	while (at < len) {
		struct http_body next = f->scan.from;
		enum http_piece piece;
		long n = http_body_next(&next, data + at, len - at, &piece);
		if (n <= 0) {
			break;
		}
		if (piece == HTTP_PIECE_TEXT && at + (size_t)n == len) {
			break; /* T4: the line goes on, and may begin with a part of a secret */
		}
		if (piece == HTTP_PIECE_DATA && (uint64_t)n > clean) {
			n = http_body_next(&f->scan.from, data + at, (size_t)clean, &piece);
			f->scan.sent += clean;
			return at + (size_t)n;
		}
		f->scan.from = next;
		f->scan.sent += piece == HTTP_PIECE_DATA ? (uint64_t)n : 0;
		clean -= piece == HTTP_PIECE_DATA ? (uint64_t)n : 0;
		at += (size_t)n;
	}
	return at;
}

static bool is_complete(const struct flow *f) {
	return f->talk.state != CONVERSATION_BODY;
}

static void release(struct flow *f) {
	bool all = !f->gate->scan_holds || f->scan.part == SCAN_HEAD || is_complete(f);
	size_t bytes = f->scan.ahead;

	if (!all) { /* T4 */
		ssize_t n = recv(f->client.fd, f->gate->scratch, bytes, MSG_PEEK | MSG_DONTWAIT);
		bytes = n <= 0 ? 0 : clean_bytes(f, f->gate->scratch, (size_t)n);
	}
	f->scan.ahead -= bytes;
	f->scan.head_clean = true;
	f->up.allow = f->talk.state == CONVERSATION_OPAQUE ? ALLOW_ALL : bytes;
	if (is_complete(f)) {
		give_slot(f);
	}
}

static void answered(struct gate *g, const struct scan_answer *a) {
	struct flow *f = flow_by_ticket(g, a->ticket);

	g->nasked -= g->nasked > 0;
	wake_stalled(g);
	if (f == NULL || !f->scan.asked) {
		return; /* it has ended */
	}
	f->scan.asked = false;
	if (a->refused != 0) {
		(void)inspect_refuse_leak(f);
		return;
	}
	f->scan.clean = a->clean;
	release(f);
	flow_step(f, STEP_UP);
}

void scan_ready(struct loop_watch *w, uint32_t events) {
	struct gate *g = CONTAINER_OF(w, struct gate, scanner);
	struct scan_answer a;
	int got;
	(void)events;

	for (int i = 0; i < SCAN_SLOTS && (got = scan_answer_receive(w->fd, &a)) != 0; i++) {
		if (got < 0) {
			g->loop.over = true; /* the supervisor has ended */
			return;
		}
		answered(g, &a);
	}
}

/* ---- called by inspect.c and proxy.c ---- */

bool scan_request(struct flow *f, const struct conversation *before,
		  const struct conversation_result *result) {
	uint8_t *data = f->gate->scratch;
	size_t len = (size_t)result->pass;
	bool ok;

	if (result->part == PART_HEAD && !take_slot(f)) {
		f->talk = *before; /* it is read again */
		return true;
	}
	if (result->part == PART_HEAD) {
		memcpy(f->scan.host, result->host.kind == HOST_NAME ? result->host.name : "",
		       result->host.kind == HOST_NAME ? strlen(result->host.name) + 1 : 1);
		ok = ask_head(f, data, len, result->line);
	} else {
		f->scan.from = f->scan.ahead == 0 ? before->body : f->scan.from;
		ok = ask_body(f, before->body, data + f->scan.ahead, len);
	}
	f->scan.ahead += len - f->npassed;
	f->npassed = 0;
	if (ok && !f->scan.asked) {
		release(f);
	}
	return ok;
}

bool scan_answer(struct flow *f) {
	uint8_t *data = f->gate->scratch;
	ssize_t n = recv(f->server.fd, data, HTTP_HEAD_MAX, MSG_PEEK | MSG_DONTWAIT);
	struct http_answer a;

	if (n > 0 && http_answer_read(data, (size_t)n, &a) == SNIFF_DONE && a.status == 100) {
		f->scan.interim = a.len;
	}
	/* recv(2) has taken the socket's error: splice(2) would return EOF. */
	bool broken = n < 0 && errno != EAGAIN && errno != EINTR;
	if (broken) {
		flow_reset(f);
	}
	return !broken;
}

bool scan_unanswered(const struct flow *f) {
	return !f->server_sent || f->scan.received == f->scan.interim;
}

bool scan_proxy_head(struct flow *f) {
	uint8_t *head = f->gate->stash[f->stash - 1];
	const uint8_t *end = memchr(head, '\r', f->stash_len);

	if (!f->talk.whole || f->scan.head_clean) {
		return true;
	}
	if (f->scan.asked || !take_slot(f) ||
	    !ask_head(f, head, f->stash_len, end == NULL ? 0 : (size_t)(end - head))) {
		return false;
	}
	if (!f->scan.asked) {
		release(f);
	}
	return f->scan.head_clean;
}
