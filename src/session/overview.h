/* SPDX-License-Identifier: Apache-2.0 */
/* The state of the daemon, of the user's runs and of the audit log, as JSON for front ends: the
 * page of `corral ui`, the methods ui.* of the admin socket.
 *
 * Sessions and their commands are the daemon's.  Plain runs know nothing of a daemon: their records
 * (`corral ps`, the audit log, pending copies) are read on request, and watched with inotify(7)
 * only while a front end is subscribed.
 *
 * Bounds, for H7: a list has at most OVERVIEW_LIMIT_MAX rows and a cursor; a search of the audit
 * log ends after OVERVIEW_SEARCH_MS, and its answer has the cursor at which it goes on. */
#ifndef CORRAL_SESSION_OVERVIEW_H
#define CORRAL_SESSION_OVERVIEW_H

#include "base/buf.h"
#include "session/daemon.h"

#include <stddef.h>

#define OVERVIEW_LIMIT 50 /* rows of a list, unless the query has a number */
#define OVERVIEW_LIMIT_MAX 500
#define OVERVIEW_SEARCH_MS 50

/* The restrictions of a list; NULL and 0: none. */
struct overview_query {
	const char *search; /* a part of a record's text, without regard to case in ASCII */
	const char *before; /* the "next" of the answer before */
	const char *kind;   /* of audit records: "run", "deny", "deny.net", "leak", … */
	const char *state;  /* of sessions: "alive", or the name of a state */
	const char *session;
	int limit;
	char text[1024]; /* storage of overview_query_read() */
};

/* Reads "search=npm&limit=20", percent-encoded; NULL is "".  -1 with *f for an unknown name, a name
 * that occurs twice, or a malformed value. */
int overview_query_read(const char *text, struct overview_query *ret, struct fault *f);

/* Each adds one JSON object to *out; on failure -1 with *f, and *out has nothing more.  Times are
 * milliseconds since 1970 unless they come from an audit record (RFC 3339).  docs/ui-data.md has
 * the members. */

/* {"now": {"runs", "sessions"}, "refused", "waiting", "pending", "totals"}: one screen. */
int overview_json(struct daemon *d, const struct overview_query *q, struct buf *out,
		  struct fault *f);

/* By name: "overview", "sessions", "session/ID", "runs", "run/ID", "audit", "pending",
 * "pending/ID", "charts", "questions".  FAULT_NO_SESSION: there is no such thing (an HTTP server
 * answers 404); MESSAGE_INVALID_PARAMS: the query is wrong (400). */
int overview_view(struct daemon *d, const char *name, const struct overview_query *q,
		  struct buf *out, struct fault *f);

/* ---- actions ---- */

/* Each adds {"done": …} to *out. */

/* answer: "allow" (this call), "allow-for-run" or "refuse". */
int overview_answer(struct daemon *d, const char *question, const char *answer, struct buf *out,
		    struct fault *f);
/* Copies the pending changes of a run into its workspace, as `corral apply ID` does, never forced.
 */
int overview_apply(struct daemon *d, const char *id, struct buf *out, struct fault *f);
int overview_discard(struct daemon *d, const char *id, struct buf *out, struct fault *f);

/* ---- events ---- */

/* Kinds: "session" (its state), "run" (started or ended: "state"), "output", "denial", "decision",
 * "question", "answered", "pending", "lost" (events were left out: read the views again). */
struct overview_subscriber {
	/* json is one object, without a newline, valid during the call.  It must not wait, and must
	 * not unsubscribe another subscriber. */
	void (*event)(void *arg, const char *kind, const char *json, size_t len);
	void *arg;
	struct overview_subscriber *next;
};

/* The subscriber belongs to the caller, which unsubscribes before it is freed; also within event().
 */
void overview_subscribe(struct daemon *d, struct overview_subscriber *s);
void overview_unsubscribe(struct daemon *d, struct overview_subscriber *s);

#endif
