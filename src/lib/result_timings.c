/* SPDX-License-Identifier: Apache-2.0 */
/* The time that each step of a run took: from the stamps to the list of a result, and to JSON.
 *
 * Should:   list the steps of the caller first, then those of the run in their order; the sum of
 *           the list is the time from the first to the last stamp.
 * Must not: read the clock for a run whose caller does not want the list.
 * Fails:    closed: without memory the run does not start. */
#include "lib/internal.h"

#include "backend/timings.h"

#include <stdio.h>
#include <string.h>

int result_timings_begin(struct prepared *p, const struct corral_options *o, struct err *e) {
	if (o->timings == 0) {
		return 0;
	}
	if (o->nearlier > 0 && o->earlier == NULL) {
		return err_set(e, ERR_USAGE, "library", "nearlier is %zu, but earlier is NULL",
			       o->nearlier);
	}
	p->earlier = o->earlier;
	p->nearlier = o->nearlier;
	return timings_new(&p->timings, e);
}

void result_timings_done(struct prepared *p) {
	timings_free(p->timings);
	p->timings = NULL;
}

int result_timings_make(const struct prepared *p, struct corral_result *r) {
	if (p->timings == NULL) {
		return 0;
	}
	r->timings = arena_array(&r->arena, STEP_COUNT + p->nearlier, sizeof *r->timings);
	return r->timings == NULL ? -1 : 0;
}

static void add(struct corral_result *r, const char *word, const char *step, int64_t us) {
	struct result_timing *t = &r->timings[r->ntimings++];

	t->us = us;
	(void)snprintf(t->step, sizeof t->step, "%s%s", word, step); /* a longer one is cut */
}

/* A step that overlaps the next ones, as the parent's work beside the child's, counts until the
 * first of them ends. */
static void add_steps(struct corral_result *r, const struct timings *stamps) {
	int64_t first = stamps->at[STEP_BEGIN], last = 0;

	for (size_t i = STEP_BEGIN + 1; i < STEP_COUNT; i++) {
		int64_t at = stamps->at[i];
		if (at == 0) {
			continue;
		}
		const char *word, *name = timings_name(i, &word);
		int64_t end = (at - first) / 1000;
		end = end < last ? last : end;
		add(r, word, name, end - last);
		last = end;
	}
}

void result_timings_take(struct prepared *p, struct corral_result *r) {
	if (p->timings == NULL) {
		return;
	}
	timings_stamp(p->timings, STEP_RESULT);
	for (size_t i = 0; i < p->nearlier; i++) {
		add(r, "", p->earlier[i].step, p->earlier[i].us);
	}
	add_steps(r, p->timings);
}

int corral_result_timing(const struct corral_result *result, size_t n, const char **step,
			 int64_t *us) {
	if (result == NULL || step == NULL || us == NULL) {
		return -1;
	}
	if (n >= result->ntimings) {
		return 1;
	}
	*step = result->timings[n].step;
	*us = result->timings[n].us;
	return 0;
}

void result_timings_emit(struct emit *j, const struct corral_result *r) {
	if (r == NULL || r->timings == NULL) {
		emit_null(j, "timings");
		return;
	}
	emit_array(j, "timings");
	for (size_t i = 0; i < r->ntimings; i++) {
		emit_object(j, NULL);
		emit_string(j, "step", r->timings[i].step);
		emit_int(j, "us", r->timings[i].us);
		emit_end_object(j);
	}
	emit_end_array(j);
}
