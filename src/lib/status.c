/* What this host can enforce, and what a run gets of it.
 *
 * Should:   find out by doing: mechanisms are tried out one by one, and a run
 *           with this policy is planned and started for real.
 * Must not: write into the workspace or the private home; claim a level that
 *           the trial run did not reach.
 * Fails:    only when there is nothing to report: a host on which nothing works
 *           is an answer. */
#include "lib/status.h"

#include "base/auto.h"
#include "base/str.h"
#include "linux/probe.h"

/* The trial has to start, not to do anything; a host on which it takes longer
 * than this has not started it. */
#define TRIAL_TIMEOUT "10s"

/* Nothing is written there: the trial's command does nothing. */
#define NEUTRAL_PLACE "/usr"

static int set(struct corral_policy *policy, const char *key, const char *value, struct err *e) {
	struct corral_error err;
	if (corral_policy_set_from(policy, key, value, "corral status", &err) != 0) {
		return err_set(e, ERR_SETUP, "status", "%s", err.message);
	}
	return 0;
}

/* Nothing is kept of the trial. */
static int settle(struct corral_policy *own, struct err *e) {
	if (own->stream != NULL) {
		return 0; /* it is read once and then fixed; it stands as it is */
	}
	if (set(own, "fs.home", "ephemeral", e) != 0) {
		return -1;
	}
	return own->person ? 0 : set(own, "limits.timeout", TRIAL_TIMEOUT, e);
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

/* Starts a command that does nothing.  One that is not there all the same had
 * its sandbox first. */
static bool try_run(const struct corral_policy *policy, struct err *e) {
	static const char *const nothing[] = {"/bin/sh", "-c", ":", NULL};
	struct corral_options how = CORRAL_OPTIONS_INIT;
	struct corral_result *result = NULL;
	struct corral_error err;

	how.out = how.err = CORRAL_NULL;
	if (corral_run(policy, nothing, &how, &result, &err) == 0) {
		bool ended = corral_result_exit_code(result) == 0;
		(void)(ended ? 0
			     : err_set(e, ERR_SETUP, "status", "the trial run ended by %s",
				       corral_result_reason(result)));
		corral_result_free(result);
		return ended;
	}
	if (err.kind == CORRAL_E_NOT_FOUND || err.kind == CORRAL_E_NOT_EXECUTABLE) {
		return true;
	}
	(void)err_set(e, ERR_SETUP, err.layer, "%s", err.message);
	e->sys = err.sys_errno;
	(void)err_fix(e, "%s", err.remedy);
	return false;
}

static int gather(const struct corral_policy *policy, struct status *s, struct err *e) {
	struct corral_policy own = {0};

	policy_derive(policy, &own);
	if (settle(&own, e) != 0) {
		arena_done(&own.arena);
		return -1;
	}
	mechanisms_probe(&s->mechanisms);
	s->planned =
		prepared_plan(&own, false, &s->run, &s->failure) == 0 || plan_elsewhere(&own, s);
	bool ours = s->planned || s->failure.kind == ERR_SETUP || s->failure.kind == ERR_REFUSED;
	if (ours) {
		host_probe_groups(&s->run.host); /* the report names them, needed or not */
		s->starts = s->planned && try_run(&own, &s->failure);
		status_advise(s);
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

	if (policy == NULL) {
		(void)err_set(&e, ERR_USAGE, "library", "the policy is NULL");
		return lib_fail(&e, err);
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
