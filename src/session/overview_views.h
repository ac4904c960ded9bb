/* SPDX-License-Identifier: Apache-2.0 */
/* The views of session/overview.h, one function each. */
#ifndef CORRAL_SESSION_OVERVIEW_VIEWS_H
#define CORRAL_SESSION_OVERVIEW_VIEWS_H

#include "session/overview.h"

/* Of one call. */
struct view_request {
	struct daemon *daemon;
	const char *id;                 /* after the slash of the name; NULL: none */
	const struct overview_query *q; /* never NULL */
	int limit;
};

typedef int view_fn(const struct view_request *r, json_t **ret, struct fault *f);

/* overview.c: the value of a view, for callers that do not need text. */
int overview_value(struct daemon *d, const char *name, const struct overview_query *q, json_t **ret,
		   struct fault *f);

/* Fills *f from an error of the library. */
int overview_fault(const struct corral_error *err, struct fault *f);
/* A text of the library as a value; NULL with *f. */
json_t *overview_parse(const char *text, struct fault *f);

/* overview_sessions.c */
view_fn overview_view_sessions, overview_view_session;
/* Sessions that have not ended, with the commands that they run. */
json_t *overview_live_sessions(struct daemon *d, int limit, struct fault *f);

/* overview_runs.c */
view_fn overview_view_runs, overview_view_run, overview_view_audit, overview_view_charts;
/* Plain runs that are alive: those of `corral ps` that are not sessions of this daemon. */
json_t *overview_live_runs(struct daemon *d, struct fault *f);
/* {"records", "next", "complete"} of the refusals since `since`. */
json_t *overview_refused(const char *since, int limit, struct fault *f);

/* overview_pending.c */
view_fn overview_view_pending, overview_view_change;
json_t *overview_pending_list(struct fault *f);

/* session/questions.c */
view_fn questions_view;

#endif
