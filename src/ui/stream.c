/* SPDX-License-Identifier: Apache-2.0 */
/* Event streams of open pages.
 *
 * Should:   send each event to each page, or report that some were lost.
 * Must not: queue more than STREAM_QUEUE_MAX for a page that does not read (U4); send an event to a
 *           page whose visit is over.
 * Fails:    by ending the oldest stream when there are too many; its page connects again. */
#include "ui/server.h"

#include "base/auto.h"
#include "base/clock.h"

#include <string.h>

static void send_event(struct stream *s, const char *kind, const char *json, size_t len) {
	struct buf line;

	buf_init(&line);
	buf_printf(&line, "{\"kind\":\"%s\",\"event\":", kind);
	buf_add(&line, json, len);
	buf_puts(&line, "}");
	if (!buf_failed(&line)) {
		http_exchange_event(s->x, line.data, line.len);
	}
	buf_done(&line);
}

void stream_open(struct ui *u, struct http_exchange *x, const struct visit *v) {
	struct stream *place = &u->streams[0];

	if (http_span_exactly(http_exchange_request(x)->method, "HEAD")) {
		respond_fields(x);
		http_exchange_reply(x, 200, "text/event-stream", NULL, 0);
		return;
	}
	for (size_t i = 0; i < STREAMS_MAX; i++) {
		struct stream *s = &u->streams[i];
		bool better = s->x == NULL ? place->x != NULL
					   : place->x != NULL && s->since < place->since;
		place = better ? s : place;
	}
	if (place->x != NULL) {
		http_exchange_end(place->x);
	}
	*place = (struct stream){.x = x, .cookie = v->cookie, .since = clock_ms()};
	respond_fields(x);
	http_exchange_events(x);
	send_event(place, "hello", "{}", 2);
}

void stream_gone(struct ui *u, const struct http_exchange *x) {
	for (size_t i = 0; i < STREAMS_MAX; i++) {
		if (u->streams[i].x == x) {
			u->streams[i].x = NULL;
		}
	}
}

void stream_end_strangers(struct ui *u) {
	for (size_t i = 0; i < STREAMS_MAX; i++) {
		struct stream *s = &u->streams[i];
		if (s->x != NULL && !auth_knows(&u->auth, &s->cookie, clock_ms())) {
			http_exchange_end(s->x);
			s->x = NULL;
		}
	}
}

size_t ui_pages(const struct ui *u) {
	size_t n = 0;

	for (size_t i = 0; i < STREAMS_MAX; i++) {
		n += u->streams[i].x != NULL;
	}
	return n;
}

void ui_event(struct ui *u, const char *kind, const char *json, size_t len) {
	stream_end_strangers(u);
	for (size_t i = 0; i < STREAMS_MAX; i++) {
		struct stream *s = &u->streams[i];
		if (s->x == NULL) {
			continue;
		}
		size_t queued = http_exchange_queued(s->x);
		if (queued + len > STREAM_QUEUE_MAX) {
			s->lost = true;
			continue;
		}
		if (s->lost) {
			s->lost = false;
			send_event(s, "lost", "{}", 2);
		}
		send_event(s, kind, json, len);
	}
}
