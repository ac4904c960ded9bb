/* SPDX-License-Identifier: Apache-2.0 */
/* Prints the findings of `corral test`: one line a check, or one JSON object.
 *
 * Should:   have the same facts in both forms.
 * Must not: print control characters.
 * Fails:    only out of memory. */
#include "selftest/selftest.h"

#include "base/emit.h"
#include "base/str.h"

#include <inttypes.h>

static const char *guarantee_of(const struct finding *f) {
	return f->check->guarantee == GUARANTEE_COUNT ? NULL : guarantee_name(f->check->guarantee);
}

static void count(const struct selftest *t, size_t n[VERDICT_COUNT], size_t *ret_failed) {
	*ret_failed = 0;
	for (size_t i = 0; i < t->nfindings; i++) {
		n[t->findings[i].verdict]++;
		*ret_failed += selftest_finding_fails(&t->findings[i]);
	}
}

static void text_finding(const struct finding *f, struct buf *out) {
	const char *name = guarantee_of(f);

	buf_printf(out, "%-5s %-16s %-13s %-9s ",
		   f->verdict == VERDICT_FAIL ? "FAIL" : selftest_verdict_name(f->verdict),
		   f->check->name, name == NULL ? "-" : name,
		   name == NULL ? "" : plan_state_name(f->reported.state));
	if (f->verdict == VERDICT_PASS) {
		bool empty = streq(f->inside.detail, "done") && !f->inside.effect;
		buf_printf(out, "%s: %s%s%s\n", f->check->tried,
			   empty ? "no effect on the host" : f->inside.detail,
			   f->reason[0] == '\0' ? "" : "; ", f->reason);
		return;
	}
	buf_printf(out, "%s: %s%s\n", f->check->tried, f->reason,
		   f->verdict == VERDICT_SKIP && f->required
			   ? " (counts as failed: the report claims enforced)"
			   : "");
}

void selftest_text(const struct selftest *t, struct buf *out) {
	size_t n[VERDICT_COUNT] = {0}, failed;

	count(t, n, &failed);
	for (size_t i = 0; i < t->nfindings; i++) {
		text_finding(&t->findings[i], out);
	}
	buf_printf(out,
		   "\nlevel %s, engine %s: %zu checks in %" PRId64
		   " ms, %zu passed, %zu known limit%s, %zu skipped, %zu failed\n",
		   plan_level_name(t->planned.plan.level), plan_engine_name(t->planned.plan.engine),
		   t->nfindings, t->duration_ms, n[VERDICT_PASS], n[VERDICT_LIMIT],
		   n[VERDICT_LIMIT] == 1 ? "" : "s", n[VERDICT_SKIP], failed);
	if (!buf_failed(out)) {
		str_hide_controls(out->data, true);
	}
}

static void json_finding(struct emit *j, const struct finding *f) {
	const char *name = guarantee_of(f);

	emit_object(j, NULL);
	emit_string(j, "name", f->check->name);
	emit_string(j, "tried", f->check->tried);
	emit_string(j, "guarantee", name);
	emit_string(j, "reported", name == NULL ? NULL : plan_state_name(f->reported.state));
	emit_bool(j, "required", f->required);
	emit_bool(j, "allowed", f->granted);
	emit_string(j, "outside", f->outside.detail);
	emit_string(j, "inside", f->inside.detail);
	emit_bool(j, "succeeded_outside", f->outside.effect);
	emit_bool(j, "succeeded_inside", f->inside.effect);
	emit_string(j, "state", selftest_verdict_name(f->verdict));
	emit_string(j, "reason", f->reason[0] == '\0' ? NULL : f->reason);
	emit_end_object(j);
}

void selftest_json(const struct selftest *t, struct buf *out) {
	size_t n[VERDICT_COUNT] = {0}, failed;
	struct emit j;

	count(t, n, &failed);
	emit_init(&j, out, false);
	emit_object(&j, NULL);
	emit_int(&j, "version", 1);
	emit_bool(&j, "ok", failed == 0);
	emit_string(&j, "level", plan_level_name(t->planned.plan.level));
	emit_string(&j, "engine", plan_engine_name(t->planned.plan.engine));
	emit_int(&j, "duration_ms", t->duration_ms);
	emit_object(&j, "counts");
	for (enum verdict v = 0; v < VERDICT_COUNT; v++) {
		emit_int(&j, selftest_verdict_name(v), (int64_t)n[v]);
	}
	emit_end_object(&j);
	emit_int(&j, "failed", (int64_t)failed);
	emit_array(&j, "checks");
	for (size_t i = 0; i < t->nfindings; i++) {
		json_finding(&j, &t->findings[i]);
	}
	emit_end_array(&j);
	emit_end_object(&j);
}
