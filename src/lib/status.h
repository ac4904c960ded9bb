/* SPDX-License-Identifier: Apache-2.0 */
/* The findings of `corral status`, for status_print.c. */
#ifndef CORRAL_LIB_STATUS_H
#define CORRAL_LIB_STATUS_H

#include "lib/internal.h"

#include "backend/mechanisms.h"

/* One change of the host that would raise the level. */
struct remedy {
	const char *raises; /* the mechanism or guarantee that it improves */
	const char *text;   /* the command or change */
};

#define REMEDIES_MAX 14

struct status {
	struct mechanisms mechanisms;
	struct prepared run; /* the plan of a run with this policy, and the host it is for */
	bool starts;         /* the trial set-up succeeded */
	struct err failure;  /* !starts: the reason */
	struct err here;     /* why this directory cannot be a workspace; then the trial used
				another one */
	struct remedy remedies[REMEDIES_MAX];
	size_t nremedies;
};

/* Fills remedies from everything else. */
void advice_find(struct status *s);

void status_text(const struct status *s, struct buf *out);
void status_json(const struct status *s, struct buf *out);

#endif
