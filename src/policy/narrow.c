/* SPDX-License-Identifier: Apache-2.0 */
/* Intersects the merged policy with the tables of the run's agent and with its skill (P6).
 *
 * All layers that grant come first, the command line too: then the tables of the agent, file by
 * file, then the skill.  The floor follows.
 *
 * Should:   refuse an agent without a table where trusted files have tables of agents: a misspelt
 *           name would get the whole policy.
 * Must not: use the trust in a file: no table can widen the policy.
 * Fails:    closed. */
#include "policy/resolver.h"

#include "policy/request.h"

static int refuse_agent(const struct value *agent, struct err *e) {
	char id[80], from[SHOWN_MAX];
	value_shown(agent->str, id, sizeof id);
	(void)err_set(e, ERR_REFUSED, "policy",
		      "no policy file has a table [agent.%s] for the agent (%s), but other agents "
		      "have tables",
		      id, policy_origin_text(&agent->origin, from, sizeof from));
	return err_fix(e, "correct the name, or add a table, which may be empty: [agent.%s]", id);
}

static int apply_table(struct resolver *r, enum source_id id, const struct asker *by,
		       const char *agent, bool *found, struct err *e) {
	struct where w = resolve_where(r, id);
	bool here = false;
	struct policy *layer = arena_alloc(r->a, sizeof *layer);
	if (layer == NULL) {
		return err_memory(e, "policy");
	}
	if (agent_layer(&w, r->sources[id].doc, agent, layer, &here, e) != 0) {
		return -1;
	}
	*found = *found || here;
	if (!r->sources[id].trusted) {
		resolve_bind(layer);
	}
	return here ? request_apply(by, layer, &r->policy, e) : 0;
}

static int narrow_agent(struct resolver *r, struct err *e) {
	const struct value *agent = &r->policy.values[KEY_ENV_AGENT];
	bool found = false, expected = false;
	if (!agent->set) {
		return 0;
	}
	const struct asker by = {.a = r->a,
				 .name = arena_printf(r->a, "agent %s", agent->str),
				 .fs = r->in->fs,
				 .home = r->in->home};
	if (by.name == NULL) {
		return err_memory(e, "policy");
	}
	for (enum source_id id = 0; id < SOURCE_COUNT; id++) {
		const struct source *s = &r->sources[id];
		if (s->doc == NULL || (r->in->no_config && id < SOURCE_PROJECT)) {
			continue;
		}
		expected = expected || (s->trusted && agent_has_tables(s->doc));
		if (apply_table(r, id, &by, agent->str, &found, e) != 0) {
			return -1;
		}
	}
	return found || !expected ? 0 : refuse_agent(agent, e);
}

static int narrow_skill(struct resolver *r, struct err *e) {
	if (r->skill.name == NULL) {
		return 0;
	}
	const struct asker by = {.a = r->a,
				 .name = arena_printf(r->a, "skill %s", r->skill.name),
				 .fs = r->in->fs,
				 .home = r->in->home,
				 .closed = true};
	return by.name == NULL ? err_memory(e, "policy")
			       : request_apply(&by, &r->skill.requires, &r->policy, e);
}

int narrow_policy(struct resolver *r, struct err *e) {
	return narrow_agent(r, e) != 0 ? -1 : narrow_skill(r, e);
}
