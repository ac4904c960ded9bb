/* SPDX-License-Identifier: Apache-2.0 */
/* Plans the actions of the leak scanner in a run, and reports the guarantee `leaks`.
 *
 * Should:   report `leaks` as enforced only if no known secret reaches the caller, and say what of
 *           the network is scanned.
 * Must not: depend on the engine: the supervisor scans the streams, at every level.
 * Fails:    closed: a stream that is not scanned makes the guarantee absent; scan.net without a
 *           gate is an error. */
#include "plan/leaks.h"

/* The guarantee for requests, by the action of scan.net; a run without a network makes none. */
static const char *network_text(const struct plan *plan) {
	if (!plan->net.gate && plan->own_net) {
		return NULL;
	}
	switch (plan->scan_net) {
	case LEAK_OFF:
	case LEAK_REDACT:
		break;
	case LEAK_WARN:
		return "stdout and stderr; secrets in plain HTTP requests are reported and sent; "
		       "TLS is not read";
	case LEAK_BLOCK:
	case LEAK_KILL:
		return "stdout, stderr and plain HTTP requests; TLS is not read";
	}
	return "stdout and stderr; requests to the network are not scanned (--scan-net block)";
}

static struct guarantee_report report_leaks(const struct plan *plan, enum leak_action output,
					    bool inherited) {
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
	return (struct guarantee_report){
		.state = STATE_ENFORCED, .by = {"scanner"}, .why = network_text(plan)};
}

static int plan_net(struct plan *plan, const struct policy *p, struct err *e) {
	enum leak_action action = (enum leak_action)policy_num(p, KEY_SCAN_NET);
	char from[64];

	plan->scan_net = plan->net.gate ? action : LEAK_OFF;
	if (action == LEAK_OFF || plan->net.mode != NET_FULL) {
		return 0;
	}
	(void)err_set(e, ERR_USAGE, "leaks",
		      "scan.net = %s (%s) cannot be enforced: with net.mode full the command uses "
		      "the host's network directly",
		      keys[KEY_SCAN_NET].choices[action],
		      policy_origin_text(&p->values[KEY_SCAN_NET].origin, from, sizeof from));
	return err_fix(e, "use --net restricted, or --scan-net off");
}

int plan_leaks(struct plan *plan, const struct policy *p, const struct host *h, struct err *e) {
	enum leak_action output = (enum leak_action)policy_num(p, KEY_SCAN_OUTPUT);

	plan->scan_args = (enum leak_action)policy_num(p, KEY_SCAN_ARGS);
	plan->scan_output = h->streams_inherited ? LEAK_OFF : output;
	plan->scan_terminal = plan->scan_output == LEAK_WARN &&
			      p->values[KEY_SCAN_OUTPUT].origin.kind == ORIGIN_BUILTIN;
	if (plan_net(plan, p, e) != 0) {
		return -1;
	}
	plan->guarantees[GUARANTEE_LEAKS] = report_leaks(plan, output, h->streams_inherited);
	return 0;
}
