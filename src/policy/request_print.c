/* SPDX-License-Identifier: Apache-2.0 */
/* Prints the requests of an agent's table and a skill, each with its answer.
 *
 * Should:   name for each request that is not granted the reason and the remedy.
 * Must not: let a value break out of its line: control characters are replaced.
 * Fails:    only out of memory. */
#include "policy/internal.h"

#include <stdio.h>

static const char *const answers[] = {
	[REQUEST_GRANTED] = "granted",
	[REQUEST_REDUCED] = "reduced",
	[REQUEST_REFUSED] = "refused",
};

static void print_json(const struct policy *p, struct buf *out) {
	struct emit j;
	emit_init(&j, out, false);
	emit_array(&j, NULL);
	for (size_t i = 0; i < p->nrequests; i++) {
		const struct request *r = &p->requests[i];
		emit_object(&j, NULL);
		emit_string(&j, "by", r->asker);
		emit_string(&j, "key", request_key(r));
		emit_string(&j, "value", r->text);
		emit_string(&j, "answer", answers[r->answer]);
		emit_string(&j, "given", r->given);
		emit_string(&j, "reason", r->why);
		emit_string(&j, "remedy", r->fix);
		policy_origin_emit(&j, "origin", &r->origin);
		emit_end_object(&j);
	}
	emit_end_array(&j);
}

static void print_one(const struct request *r, struct buf *out) {
	char text[160], from[300];
	buf_printf(out, "  %s  %s: %s %s", answers[r->answer], r->asker, request_key(r),
		   value_shown(r->text, text, sizeof text));
	if (r->given != NULL) {
		buf_printf(out, " -> %s", r->given);
	}
	buf_printf(out, "  # %s\n", policy_origin_text(&r->origin, from, sizeof from));
	if (r->why != NULL) {
		char why[400], fix[400] = "";
		value_shown(r->why, why, sizeof why);
		if (r->fix != NULL) {
			value_shown(r->fix, fix, sizeof fix);
		}
		buf_printf(out, "           %s%s%s\n", why, fix[0] == '\0' ? "" : "; ", fix);
	}
}

void policy_print_requests(const struct policy *p, bool json, struct buf *out) {
	if (json) {
		print_json(p, out);
		return;
	}
	if (p->nrequests > 0) {
		buf_puts(out, "\nrequests\n");
	}
	for (size_t i = 0; i < p->nrequests; i++) {
		print_one(&p->requests[i], out);
	}
}
