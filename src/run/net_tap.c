/* SPDX-License-Identifier: Apache-2.0 */
/* Scans the requests that the gate sends (gate/scan.h), and answers how much of each may leave.
 *
 * The content of a body is one stream; so is each head and each line of a chunk extension or
 * trailer.  No stream is flushed early: bytes that may begin a secret leave with the bytes that
 * follow them, or with the end of the request.
 *
 * Should:   create a stream only for a request that has the part.
 * Must not: trust the gate: it parses input of hostile programs.
 * Fails:    closed: what cannot be scanned is refused, unless the action is warn. */
#include "run/net_tap.h"

#include "run/leak_text.h"

#include <stdio.h>
#include <stdlib.h>

/* Questions that are answered before the supervisor's loop goes on. */
#define QUESTIONS 64

/* The state of one request. */
struct net_request {
	struct net_tap *tap;
	struct leak_stream *text, *body;
	struct scan_question now;
	uint64_t clean; /* bytes of the body that the scanner released */
	bool refused;
	char host[LEAK_HOST_MAX];
};

static bool holds(const struct net_tap *t) {
	return t->watch.action > LEAK_WARN;
}

static enum leak_place place_of(const struct scan_question *q, const struct leak_finding *f) {
	return q->part == SCAN_BODY                          ? LEAK_IN_BODY
	       : q->part == SCAN_HEAD && f->offset < q->line ? LEAK_IN_LINE
							     : LEAK_IN_HEADER;
}

static void on_found(void *arg, const struct leak_finding *finding) {
	struct net_request *r = arg;
	struct leak_watch *w = &r->tap->watch;

	leak_log_add(w->log, finding, place_of(&r->now, finding), w->action, r->host);
	r->refused = true; /* T4 */
	w->kill = w->kill || w->action == LEAK_KILL;
}

static int on_output(void *arg, const void *data, size_t len) {
	struct net_request *r = arg;
	(void)data;

	r->clean += r->now.part == SCAN_BODY ? len : 0;
	return 0;
}

static struct leak_stream *open_stream(struct net_request *r, struct leak_stream **at) {
	struct leak_watch *w = &r->tap->watch;

	if (*at == NULL && w->scanner != NULL) {
		*at = leak_stream_new(w->scanner, on_found, holds(r->tap) ? on_output : NULL, r);
		if (*at != NULL && holds(r->tap)) {
			leak_stream_cut(*at);
		}
	}
	return *at;
}

static bool open_requests(struct net_tap *t) {
	struct leak_watch *w = &t->watch;

	if (w->scanner == NULL && !w->failed) {
		w->scanner = w->source->scanner(w->source->arg);
	}
	if (t->requests == NULL) {
		t->requests = calloc(SCAN_SLOTS, sizeof *t->requests);
	}
	w->failed = w->failed || w->scanner == NULL || t->requests == NULL;
	return !w->failed;
}

/* The server's name is the command's choice: it may hold the secret. */
static void take_host(struct net_request *r) {
	const struct scan_question *q = &r->now;
	char text[HOSTNAME_MAX + 1 + IP_TEXT];

	if (q->name[0] != '\0') {
		(void)snprintf(text, sizeof text, "%s", q->name);
	} else {
		(void)ip_text(&q->ip, text); /* it fits */
	}
	leak_text_clean(r->tap->watch.scanner, text, r->host, sizeof r->host);
}

static void begin(struct net_request *r) {
	r->refused = false;
	r->clean = 0;
	take_host(r);
	if (r->text != NULL) {
		leak_stream_reset(r->text, r);
	}
	if (r->body != NULL) {
		leak_stream_reset(r->body, r);
	}
}

static void scan(struct net_request *r, const void *data, size_t len) {
	struct leak_stream *s = open_stream(r, r->now.part == SCAN_BODY ? &r->body : &r->text);
	bool end = (r->now.flags & SCAN_END) != 0;

	if (s == NULL || leak_stream_feed(s, data, len) != 0 || (end && leak_stream_end(s) != 0)) {
		r->tap->watch.failed = true;
	} else if (end) {
		leak_stream_reset(s, r);
	}
}

static void answer(struct net_tap *t, int line, const struct scan_question *q, const void *data,
		   size_t len) {
	struct scan_answer a = {.ticket = q->ticket, .refused = true};

	if (open_requests(t)) {
		struct net_request *r = &t->requests[q->slot];
		r->tap = t;
		r->now = *q;
		if ((q->flags & SCAN_FIRST) != 0) {
			begin(r);
		}
		scan(r, data, len);
		a.clean = r->clean;
		a.refused = r->refused || t->watch.failed;
	}
	if ((q->flags & SCAN_ANSWER) != 0) {
		scan_answer_send(line, &a);
	}
}

void net_tap_serve(void *arg, int line) {
	struct net_tap *t = arg;
	unsigned char data[SCAN_BYTES];
	struct scan_question q;
	size_t len = 0;

	for (int i = 0; i < QUESTIONS && scan_question_receive(line, &q, data, &len) > 0; i++) {
		answer(t, line, &q, data, len);
	}
}

void net_tap_done(struct net_tap *t) {
	for (size_t i = 0; t->requests != NULL && i < SCAN_SLOTS; i++) {
		leak_stream_free(t->requests[i].text);
		leak_stream_free(t->requests[i].body);
	}
	free(t->requests);
	t->requests = NULL;
}
