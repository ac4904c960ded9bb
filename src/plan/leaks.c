/* SPDX-License-Identifier: Apache-2.0 */
/* Plans the actions of the leak scanner in a run, and reports the guarantee `leaks`.
 *
 * Should:   report `leaks` as enforced only if no known secret reaches the caller.
 * Must not: depend on the engine: the supervisor scans the streams, at every level.
 * Fails:    closed: a stream that is not scanned makes the guarantee absent. */
#include "plan/leaks.h"

static struct guarantee_report report_leaks(enum leak_action output, bool inherited) {
	if (inherited) {
		return (struct guarantee_report){
			.state = STATE_ABSENT,
			.why = "the command inherits the caller's descriptors, which Corral does "
			       "not read; use corral_run()",
		};
	}
	if (output == LEAK_OFF) {
		return (struct guarantee_report){
			.state = STATE_ABSENT,
			.why = "the output is not scanned (--scan-output)",
		};
	}
	if (output == LEAK_WARN) {
		return (struct guarantee_report){
			.state = STATE_WEAKER,
			.by = {"scanner"},
			.why = "secrets in the output are reported and not removed "
			       "(--scan-output redact)",
		};
	}
	return (struct guarantee_report){.state = STATE_ENFORCED, .by = {"scanner"}};
}

void plan_leaks(struct plan *plan, const struct policy *p, const struct host *h) {
	plan->scan_args = (enum leak_action)policy_num(p, KEY_SCAN_ARGS);
	plan->scan_output =
		h->streams_inherited ? LEAK_OFF : (enum leak_action)policy_num(p, KEY_SCAN_OUTPUT);
	plan->scan_terminal = plan->scan_output == LEAK_WARN &&
			      p->values[KEY_SCAN_OUTPUT].origin.kind == ORIGIN_BUILTIN;
	plan->guarantees[GUARANTEE_LEAKS] = report_leaks(
		(enum leak_action)policy_num(p, KEY_SCAN_OUTPUT), h->streams_inherited);
}
