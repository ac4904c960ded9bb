/* What `corral status` found out, before it is put into words. */
#ifndef CORRAL_LIB_STATUS_H
#define CORRAL_LIB_STATUS_H

#include "lib/internal.h"

#include "linux/mechanisms.h"

/* One thing that would make a run stronger here. */
struct remedy {
	const char *raises; /* what gets better */
	const char *text;   /* what to do */
};

#define REMEDIES_MAX 14

struct status {
	struct mechanisms mechanisms;
	struct prepared run; /* the plan of a run with this policy, and the host it is for */
	bool starts;         /* the set-up of that run was gone through */
	struct err failure;  /* why not */
	struct err here; /* why no run can be made in this directory; the report is for another */
	struct remedy remedies[REMEDIES_MAX];
	size_t nremedies;
};

/* Fills remedies from everything else. */
void advice_find(struct status *s);

void status_text(const struct status *s, struct buf *out);
void status_json(const struct status *s, struct buf *out);

#endif
