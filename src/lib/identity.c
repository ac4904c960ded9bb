/* SPDX-License-Identifier: Apache-2.0 */
/* The identity of a run: id, start time, workspace, mode, network, agent and session.
 *
 * Should:   be the same in the result, in `corral ps`, in the copy-on-write store and in the audit
 *           log.
 * Must not: invent an agent or a session that the policy does not name.
 * Fails:    out of memory, as the rest of the result. */
#include "lib/internal.h"

#include "base/str.h"
#include "lib/sized.h"

#include <stdio.h>

/* The value of a label of env.labels; NULL when it is missing or empty. */
static const char *label_of(const struct policy *policy, const char *name) {
	const struct value *labels = &policy->values[KEY_ENV_LABELS];
	size_t len = strlen(name);

	for (size_t i = 0; i < labels->count; i++) {
		const char *text = labels->items[i].str;
		if (strncmp(text, name, len) == 0 && text[len] == '=' && text[len + 1] != '\0') {
			return text + len + 1;
		}
	}
	return NULL;
}

static const char *choice_name(const struct policy *policy, enum key_id key) {
	return keys[key].choices[policy_num(policy, key)];
}

struct identity_report identity_of(const struct prepared *p) {
	const char *agent = policy_str(&p->policy, KEY_ENV_AGENT);
	struct identity_report r = {
		.workspace = p->plan.workspace,
		.mode = choice_name(&p->policy, KEY_MODE),
		.net = choice_name(&p->policy, KEY_NET_MODE),
		.agent = agent != NULL ? agent : label_of(&p->policy, "AGENT_ID"),
		.session = label_of(&p->policy, "SESSION_ID"),
	};
	if (p->host.run_id != NULL) {
		(void)snprintf(r.id, sizeof r.id, "%s", p->host.run_id); /* of this length */
		rfc3339_text(p->host.started_ms, r.started);
	}
	return r;
}

static int copy_text(struct arena *a, const char **text) {
	const char *copy = *text == NULL ? NULL : arena_strdup(a, *text);
	bool failed = *text != NULL && copy == NULL;
	*text = copy;
	return failed ? -1 : 0;
}

/* mode and net are names of a table. */
int identity_copy(struct arena *a, const struct identity_report *from,
		  struct identity_report *ret) {
	*ret = *from;
	return copy_text(a, &ret->workspace) != 0 || copy_text(a, &ret->agent) != 0 ||
			       copy_text(a, &ret->session) != 0
		       ? -1
		       : 0;
}

static const char *or_null(const char *text) {
	return text == NULL || text[0] == '\0' ? NULL : text;
}

void identity_emit(struct emit *j, const struct identity_report *r, const char *id) {
	static const struct identity_report none;
	char started[RFC3339_LENGTH + 1] = "";
	int64_t ms = id == NULL ? -1 : run_id_time(id);

	if (ms >= 0) {
		rfc3339_text(ms, started);
	}
	const struct identity_report *known = r == NULL ? &none : r;
	emit_string(j, "id", or_null(r == NULL ? id : r->id));
	emit_string(j, "started", or_null(r == NULL ? started : r->started));
	emit_string(j, "workspace", known->workspace);
	emit_string(j, "mode", known->mode);
	emit_string(j, "net", known->net);
	emit_string(j, "agent", known->agent);
	emit_string(j, "session", known->session);
}

int corral_result_identity(const struct corral_result *result, struct corral_identity *identity) {
	struct err unused = {0};

	if (result == NULL || identity == NULL ||
	    sized_check(&sized_identity, identity, &unused) != 0) {
		return -1;
	}
	const struct identity_report *r = &result->identity;
	const struct corral_identity known = {
		.id = r->id,
		.started = r->started,
		.workspace = r->workspace,
		.mode = r->mode,
		.net = r->net,
		.agent = r->agent,
		.session = r->session,
	};
	return sized_out(&sized_identity, &known, identity, &unused);
}

const char *corral_result_note(const struct corral_result *result, size_t n) {
	return result == NULL || n >= result->enforcement.nnotes ? NULL
								 : result->enforcement.notes[n];
}
