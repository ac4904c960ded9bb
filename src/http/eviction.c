/* SPDX-License-Identifier: Apache-2.0 */
/* Selects the connection that a server without a free place closes for a new client.
 *
 * Should:   prefer connections that have sent no request: clients without a token cannot keep out
 *           those that have one.
 * Must not: select a connection whose request is being answered.
 * Fails:    never: if every connection has a request it selects none, and the client gets 503. */
#include "http/connection.h"

/* In the order of preference, the last first. */
enum silence {
	SILENT_NOT,   /* it has a request */
	SILENT_IDLE,  /* between two requests */
	SILENT_NEW,   /* it has never sent an admitted request */
	SILENT_ENDED, /* it has got its error */
};

static enum silence silence_of(const struct http_exchange *x) {
	if (x->phase == PHASE_LINGER) {
		return SILENT_ENDED;
	}
	bool waits = x->phase == PHASE_HEAD || x->phase == PHASE_IDLE ||
		     (x->phase == PHASE_BODY && !x->admitted);
	return !waits ? SILENT_NOT : x->admitted ? SILENT_IDLE : SILENT_NEW;
}

struct http_exchange *http_longest_silent(const struct http_server *s) {
	struct http_exchange *found = NULL;

	for (struct http_exchange *x = s->all; x != NULL; x = x->next) {
		enum silence silence = silence_of(x);
		enum silence most = found == NULL ? SILENT_NOT : silence_of(found);
		if (silence > most ||
		    (silence != SILENT_NOT && silence == most && x->since <= found->since)) {
			found = x;
		}
	}
	return found;
}

int64_t http_evictable_at(const struct http_exchange *x) {
	return silence_of(x) == SILENT_NEW ? x->since + GRACE_MS : 0;
}
