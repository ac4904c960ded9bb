/* What this host can enforce, and what a run gets of it.
 *
 * Should:   find out by doing: mechanisms are tried out one by one, and a run
 *           with this policy is planned and its set-up gone through.
 * Must not: write into the workspace or the private home; claim a level that
 *           the trial run did not reach.
 * Fails:    only when there is nothing to report: a host on which nothing works
 *           is an answer. */
#include "lib/status.h"

#include "base/auto.h"
#include "base/credentials.h"
#include "linux/probe.h"

/* Nothing is written there: no command is started. */
#define NEUTRAL_PLACE "/usr"

static int set(struct corral_policy *policy, const char *key, const char *value, struct err *e) {
	struct corral_error err;
	if (corral_policy_set_from(policy, key, value, "corral status", &err) != 0) {
		return err_set(e, ERR_SETUP, "status", "%s", err.message);
	}
	return 0;
}

/* Asked for in a home or in "/", where no run is made, the answer is still about
 * the host: it is planned for a directory that every host has. */
static bool plan_elsewhere(struct corral_policy *own, struct status *s) {
	struct prepared there = {0};
	struct err e = {0};

	if (own->stream != NULL || set(own, "workspace", NEUTRAL_PLACE, &e) != 0 ||
	    set(own, "any_workspace", "true", &e) != 0 ||
	    prepared_plan(own, false, &there, &e) != 0) {
		arena_done(&there.arena);
		return false;
	}
	arena_done(&s->run.arena);
	s->run = there;
	s->here = s->failure;
	return true;
}

/* A policy whose level needs none has not tried them. */
static void try_namespaces(struct corral_policy *own, struct status *s) {
	struct prepared p = {0};
	struct err e = {0};

	if (!s->starts || s->run.plan.engine == ENGINE_NAMESPACES || !s->run.host.userns ||
	    own->stream != NULL) {
		return;
	}
	if (set(own, "level", "auto", &e) == 0 && prepared_plan(own, false, &p, &e) == 0) {
		s->run.host.userns = p.host.userns;
		s->run.host.userns_why = p.host.userns_why == NULL
						 ? NULL
						 : arena_strdup(&s->run.arena, p.host.userns_why);
	}
	arena_done(&p.arena);
}

static int gather(const struct corral_policy *policy, struct status *s, struct err *e) {
	struct corral_policy own = {0};

	/* Nothing is kept of the trial; a policy from a stream is fixed as it is. */
	policy_derive(policy, &own);
	if (own.stream == NULL && set(&own, "fs.home", "ephemeral", e) != 0) {
		arena_done(&own.arena);
		return -1;
	}
	mechanisms_probe(&s->mechanisms);
	s->starts =
		prepared_plan(&own, false, &s->run, &s->failure) == 0 || plan_elsewhere(&own, s);
	bool ours = s->starts || s->failure.kind != ERR_USAGE;
	if (ours) {
		try_namespaces(&own, s);
		host_try_groups(&s->run.arena,
				&s->run.host); /* the report names them, needed or not */
		advice_find(s);
	} else {
		*e = s->failure; /* the policy is wrong, which says nothing about the host */
	}
	arena_done(&own.arena);
	return ours ? 0 : -1;
}

int corral_status(const struct corral_policy *policy, enum corral_format format, char **text,
		  int *starts, struct corral_error *err) {
	struct err e = {0};
	struct buf out;

	if (lib_need(policy, "the policy", err) != 0 ||
	    lib_need(text, "the place for the text", err) != 0) {
		return -1;
	}
	if (credentials_check(&e) != 0) {
		return lib_fail(&e, err); /* about the caller, not about the host */
	}
	auto_free struct status *s = calloc(1, sizeof *s);
	if (s == NULL) {
		(void)err_memory(&e, "library");
		return lib_fail(&e, err);
	}
	buf_init(&out);
	int rc = gather(policy, s, &e);
	if (rc == 0) {
		(format == CORRAL_JSON ? status_json : status_text)(s, &out);
		rc = lib_give(&out, text, &e);
	}
	if (rc == 0 && starts != NULL) {
		*starts = s->starts;
	}
	arena_done(&s->run.arena);
	return rc == 0 ? 0 : lib_fail(&e, err);
}
