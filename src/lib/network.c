/* SPDX-License-Identifier: Apache-2.0 */
/* The gate's decisions in the result: through the API, and as JSON.
 *
 * Should:   report each decision with its rule, its reason and the option that changes it.
 * Must not: report an empty list as "no connections" for a run without a gate:
 *           "network_recorded" distinguishes them.
 * Fails:    as emit.c: out of memory the whole object fails. */
#include "lib/internal.h"

#include "lib/sized.h"

int corral_result_network(const struct corral_result *result, size_t n,
			  struct corral_decision *decision) {
	struct err unused = {0};

	if (result == NULL || decision == NULL ||
	    sized_check(&sized_decision, decision, &unused) != 0) {
		return -1;
	}
	const struct netlog *log = &result->outcome.network;
	if (n >= log->count) {
		return 1;
	}
	const struct netlog_item *item = &log->items[n];
	const struct corral_decision known = {
		.op = netlog_op_name(item->op),
		.name = item->name,
		.address = item->address,
		.port = item->port,
		.verdict = netlog_outcome_name(item->outcome),
		.rule = item->rule,
		.why = item->why,
		.allow_with = item->remedy,
		.count = item->count,
		.sent = item->sent,
		.received = item->received,
	};
	return sized_out(&sized_decision, &known, decision, &unused);
}

uint64_t corral_result_network_more(const struct corral_result *result) {
	return result == NULL ? 0 : result->outcome.network.more;
}

int corral_result_network_recorded(const struct corral_result *result) {
	return result != NULL && result->outcome.network.recorded;
}

static const char *failure(const struct netlog *n) {
	return n->ended ? "the process that serves the network ended before the run" : NULL;
}

const char *corral_result_network_failed(const struct corral_result *result) {
	return result == NULL ? NULL : failure(&result->outcome.network);
}

static void put_port(struct emit *j, uint16_t port) {
	if (port == 0) {
		emit_null(j, "port");
	} else {
		emit_int(j, "port", port);
	}
}

static void put_decision(struct emit *j, const struct netlog_item *item) {
	emit_object(j, NULL);
	emit_string(j, "op", netlog_op_name(item->op));
	emit_string(j, "name", item->name);
	emit_string(j, "address", item->address);
	put_port(j, item->port);
	emit_string(j, "verdict", netlog_outcome_name(item->outcome));
	emit_string(j, "rule", item->rule);
	emit_string(j, "why", item->why);
	emit_int(j, "count", (int64_t)item->count);
	emit_int(j, "sent", (int64_t)item->sent);
	emit_int(j, "received", (int64_t)item->received);
	emit_end_object(j);
}

void network_emit(struct emit *j, const struct netlog *n) {
	emit_array(j, "network");
	for (size_t i = 0; i < n->count; i++) {
		put_decision(j, &n->items[i]);
	}
	emit_end_array(j);
	emit_int(j, "network_more", (int64_t)n->more);
	emit_bool(j, "network_recorded", n->recorded);
	emit_string(j, "network_failed", failure(n));
}
