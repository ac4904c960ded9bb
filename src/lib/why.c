/* SPDX-License-Identifier: Apache-2.0 */
/* corral_why(): plans the run, puts one question to the code that decides, and finds a grant.
 *
 * Should:   print a grant only if the plan with it answers "allowed" to the same question.
 * Must not: start a command; search for grants without a bound.
 * Fails:    with the error that a run would have; without a grant that helps there is none. */
#include "lib/why.h"

#include "command/judge.h"
#include "lib/sized.h"

/* A refusal after the first grant may need a second one: a private address of an allowed name. */
#define GRANT_ROUNDS 2

const char *why_text(struct why_ask *ask, const char *s) {
	return s == NULL || s[0] == '\0' ? NULL : arena_strdup(&ask->p.arena, s);
}

void why_propose(struct why_ask *ask, enum key_id key, const char *value) {
	const char *copy = why_text(ask, value);

	if (copy == NULL || ask->ncandidates == WHY_CANDIDATES) {
		return;
	}
	ask->candidates[ask->ncandidates++] =
		(struct why_grant){.settings = {{keys[key].name, copy}}, .n = 1};
}

/* The engine of the run, also if only its start has shown that this host refuses namespaces. */
static int plan_as_run(const struct corral_policy *policy, struct why_ask *ask, struct err *e) {
	struct err refused = {.kind = ERR_NO_CLONE};

	if (prepared_plan(policy, ask->run != NULL, &ask->p, e) != 0) {
		return -1;
	}
	bool other = ask->run != NULL && plan_lacks_namespaces(ask->run) &&
		     !plan_lacks_namespaces(&ask->p.plan);
	if (other && prepared_replan(&ask->p, &refused) != 0) {
		*e = refused;
		return -1;
	}
	return 0;
}

int why_put_question(const struct corral_policy *policy, struct why_ask *ask, struct err *e) {
	static int (*const subjects[])(struct why_ask *, struct err *) = {
		[CORRAL_SUBJECT_PATH] = why_path,
		[CORRAL_SUBJECT_HOST] = why_host,
		[CORRAL_SUBJECT_COMMAND] = why_command,
	};

	if (ask->q->subject == CORRAL_SUBJECT_COMMAND) {
		ask->p.command = ask->q->argv[0];
		ask->p.shell = command_runs_string(ask->q->argv) ? ask->q->argv[0] : NULL;
	}
	if (plan_as_run(policy, ask, e) != 0 || subjects[ask->q->subject](ask, e) != 0) {
		return -1;
	}
	ask->answer.level = plan_level_name(ask->p.plan.level);
	return 0;
}

/* ---- the grant ---- */

int why_set_all(struct corral_policy *policy, const struct why_grant *g, const char *origin) {
	for (size_t i = 0; i < g->n; i++) {
		if (corral_policy_set_from(policy, g->settings[i].key, g->settings[i].value, origin,
					   NULL) != 0) {
			return -1;
		}
	}
	return 0;
}

bool why_append(struct arena *a, struct why_grant *to, const struct why_grant *from) {
	if (to->n + from->n > WHY_SETTINGS) {
		return false;
	}
	for (size_t i = 0; i < from->n; i++) {
		struct why_setting copy = {arena_strdup(a, from->settings[i].key),
					   arena_strdup(a, from->settings[i].value)};
		if (copy.key == NULL || copy.value == NULL) {
			return false;
		}
		to->settings[to->n++] = copy;
	}
	return true;
}

bool why_is_solved(const struct why_answer *before, const struct why_answer *after) {
	return after->verdict == WHY_ALLOWED && (before->verdict == WHY_REFUSED || !after->apart);
}

static bool find_grant(const struct corral_policy *policy, const struct why_ask *ask,
		       unsigned rounds, struct arena *a, struct why_grant *ret) {
	bool found = false;

	for (size_t i = 0; !found && i < ask->ncandidates; i++) {
		struct corral_policy with;
		struct why_ask again = {.q = ask->q, .lookup = ask->lookup, .run = ask->run};
		struct why_grant rest = {0};
		struct err e = {0};

		policy_derive(policy, &with);
		if (why_set_all(&with, &ask->candidates[i], "corral why") == 0 &&
		    why_put_question(&with, &again, &e) == 0) {
			found = why_is_solved(&ask->answer, &again.answer) ||
				(rounds > 1 && again.answer.verdict == WHY_REFUSED &&
				 find_grant(&with, &again, rounds - 1, a, &rest));
		}
		if (found) {
			*ret = (struct why_grant){0};
			found = why_append(a, ret, &ask->candidates[i]) &&
				why_append(a, ret, &rest);
		}
		arena_done(&again.p.arena);
		arena_done(&with.arena);
	}
	return found;
}

bool why_find_grant(const struct corral_policy *policy, const struct why_ask *ask, struct arena *a,
		    struct why_grant *ret) {
	return find_grant(policy, ask, GRANT_ROUNDS, a, ret);
}

/* Candidates, and none helps. */
static void explain_no_grant(struct why_ask *ask) {
	struct why_answer *a = &ask->answer;

	for (size_t i = 0; i < ask->ncandidates; i++) {
		for (size_t k = 0; k < ask->candidates[i].n; k++) {
			const struct key *key = key_by_name(ask->candidates[i].settings[k].key);
			if (key != NULL &&
			    policy_floor(&ask->p.policy, (enum key_id)(key - keys)) != NULL) {
				a->barrier = "floor";
			}
		}
	}
	if (a->barrier == NULL && a->advice == NULL && a->verdict == WHY_REFUSED) {
		a->advice = "no single option allows it; do this step outside";
	}
}

static int add_grant(const struct corral_policy *policy, struct why_ask *ask, struct err *e) {
	struct why_answer *a = &ask->answer;
	struct buf out;

	if (!why_find_grant(policy, ask, &ask->p.arena, &a->grant)) {
		a->grant = (struct why_grant){0};
		explain_no_grant(ask);
		return 0;
	}
	buf_init(&out);
	a->options =
		why_put_options(&a->grant, &out) ? arena_strdup(&ask->p.arena, out.data) : NULL;
	a->advice = NULL;
	buf_done(&out);
	return a->options == NULL ? err_memory(e, "library") : 0;
}

/* ---- the public call ---- */

static int check_question(const struct corral_question *q, struct err *e) {
	bool command = q->subject == CORRAL_SUBJECT_COMMAND;

	if (q->subject < CORRAL_SUBJECT_PATH || q->subject > CORRAL_SUBJECT_COMMAND ||
	    q->access < CORRAL_ACCESS_READ || q->access > CORRAL_ACCESS_EXEC) {
		return err_set(e, ERR_USAGE, "library", "unknown subject or access of a question");
	}
	if (command ? q->argv == NULL || q->argv[0] == NULL : q->text == NULL) {
		return err_set(e, ERR_USAGE, "library", "the question has no %s",
			       command ? "argv" : "text");
	}
	return 0;
}

int corral_why(const struct corral_policy *policy, const struct corral_question *question,
	       enum corral_format format, char **text, int *allowed, struct corral_error *err) {
	struct corral_question q = {.size = sizeof q};
	struct why_ask ask = {.q = &q};
	struct err e = {0};
	struct buf out;

	if (lib_need(policy, "the policy", err) != 0 || lib_need(question, "question", err) != 0 ||
	    lib_need(text, "text", err) != 0) {
		return -1;
	}
	if (sized_in(&sized_question, question, &q, &e) != 0 || check_question(&q, &e) != 0) {
		return lib_fail(&e, err);
	}
	ask.lookup = why_lookup_new();
	buf_init(&out);
	int rc =
		ask.lookup == NULL ? err_memory(&e, "library") : why_put_question(policy, &ask, &e);
	if (rc == 0) {
		rc = add_grant(policy, &ask, &e);
	}
	if (rc == 0) {
		why_print(&ask.answer, format, &out);
		rc = lib_give(&out, text, &e);
	}
	if (rc == 0 && allowed != NULL) {
		*allowed = ask.answer.verdict != WHY_REFUSED;
	}
	why_lookup_free(ask.lookup);
	buf_done(&out);
	arena_done(&ask.p.arena);
	return rc == 0 ? 0 : lib_fail(&e, err);
}
