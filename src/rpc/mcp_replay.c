/* SPDX-License-Identifier: Apache-2.0 */
/* Keeps the events of a stream: rpc/mcp_replay.h.
 *
 * Should:   send each kept event once, in order.
 * Must not: keep more than its bound, apart from the last event.
 * Fails:    open: an event that memory has no room for is sent, and cannot be sent again. */
#include "rpc/mcp_replay.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct mcp_event {
	struct mcp_event *next;
	uint64_t number;
	size_t len;
	char data[];
};

static void put_id(const struct mcp_replay *r, uint64_t event, char id[MCP_REPLAY_ID]) {
	(void)snprintf(id, MCP_REPLAY_ID, "%" PRIu64 "-%" PRIu64, r->number, event);
}

static void drop_first(struct mcp_replay *r) {
	struct mcp_event *e = r->first;

	r->first = e->next;
	r->last = r->first == NULL ? NULL : r->last;
	r->bytes -= e->len;
	free(e);
}

void mcp_replay_add(struct mcp_replay *r, const char *data, size_t len, char id[MCP_REPLAY_ID]) {
	struct mcp_event *e = malloc(sizeof *e + len);
	uint64_t number = r->next++;

	put_id(r, number, id);
	if (e == NULL) {
		return;
	}
	*e = (struct mcp_event){.number = number, .len = len};
	memcpy(e->data, data, len);
	if (r->last == NULL) {
		r->first = e;
	} else {
		r->last->next = e;
	}
	r->last = e;
	r->bytes += len;
	while (r->bytes > MCP_REPLAY_BYTES && r->first != r->last) {
		drop_first(r);
	}
}

void mcp_replay_send(const struct mcp_replay *r, uint64_t after, struct http_exchange *x) {
	char id[MCP_REPLAY_ID];

	for (const struct mcp_event *e = r->first; e != NULL; e = e->next) {
		if (e->number > after) {
			put_id(r, e->number, id);
			http_exchange_event_as(x, id, e->data, e->len);
		}
	}
}

/* A number of at most 18 digits; returns the bytes that it has, 0: none. */
static size_t read_number(const uint8_t *text, size_t len, uint64_t *ret) {
	uint64_t value = 0;
	size_t n = 0;

	while (n < len && n < 18 && text[n] >= '0' && text[n] <= '9') {
		value = value * 10 + (uint64_t)(text[n++] - '0');
	}
	*ret = value;
	return n;
}

bool mcp_replay_parse(struct http_span id, uint64_t *ret_number, uint64_t *ret_event) {
	size_t n = read_number(id.at, id.len, ret_number);

	if (n == 0 || n >= id.len || id.at[n] != '-') {
		return false;
	}
	size_t more = read_number(id.at + n + 1, id.len - n - 1, ret_event);
	return more > 0 && n + 1 + more == id.len;
}

void mcp_replay_done(struct mcp_replay *r) {
	while (r->first != NULL) {
		drop_first(r);
	}
}
