/* SPDX-License-Identifier: Apache-2.0 */
/* corral_status(): the kernel features of this host, and the level and guarantees of a run.
 *
 * Should:   find out by trying: each mechanism by itself, and the set-up of a run with this
 *           policy.
 * Must not: write into the workspace or the private home; claim a level that
 *           the trial set-up did not reach.
 * Fails:    only for an invalid policy or out of memory; a host where no sandbox works is
 *           reported as such. */
#include "lib/status.h"

#include "backend/probe.h"
#include "base/auto.h"
#include "base/credentials.h"
#include "base/str.h"

/* The workspace of the trial; no command is started, so nothing is written there.  The second one
 * is for accounts with a HOME below the first, such as Debian's "games". */
#define NEUTRAL_PLACE "/usr"
#define OTHER_PLACE "/etc"

static int set(struct corral_policy *policy, const char *key, const char *value, struct err *e) {
	struct corral_error err;
	if (corral_policy_set_from(policy, key, value, "corral status", &err) != 0) {
		return err_set(e, ERR_SETUP, "status", "%s", err.message);
	}
	return 0;
}

/* In HOME or in "/", which cannot be a workspace, the trial uses a directory that every host
 * has: the report is about the host.  So is its failure there, which replaces that of this
 * directory. */
static void plan_elsewhere(struct corral_policy *own, struct status *s) {
	const char *home = s->run.host.home;
	const char *place =
		home != NULL && str_starts(home, NEUTRAL_PLACE) ? OTHER_PLACE : NEUTRAL_PLACE;
	struct prepared there = {0};
	struct err e = {0};

	if (own->stream != NULL || set(own, "workspace", place, &e) != 0 ||
	    set(own, "any_workspace", "true", &e) != 0) {
		return;
	}
	bool starts = prepared_plan(own, false, &there, &e) == 0;
	if (!starts && (e.kind == ERR_USAGE || s->failure.kind != ERR_USAGE)) {
		arena_done(&there.arena);
		return;
	}
	arena_done(&s->run.arena);
	s->run = there;
	s->starts = starts;
	s->here = s->failure;
	s->failure = e;
}

/* Tries namespaces when the policy's level did not need them. */
static void try_namespaces(struct corral_policy *own, struct status *s) {
	struct prepared p = {0};
	struct err e = {0};

	if (!s->starts || s->run.plan.engine == ENGINE_NAMESPACES || !s->run.host.userns ||
	    own->stream != NULL) {
		return;
	}
	if (set(own, "level", "auto", &e) == 0 && prepared_plan(own, false, &p, &e) == 0) {
		s->run.host.userns = p.host.userns;
		s->run.no_namespaces = p.no_namespaces;
		s->run.host.userns_why = p.host.userns_why == NULL
						 ? NULL
						 : arena_strdup(&s->run.arena, p.host.userns_why);
	}
	arena_done(&p.arena);
}

static int gather(const struct corral_policy *policy, struct status *s, struct err *e) {
	struct corral_policy own = {0};

	/* The trial uses no kept home; a policy from a stream cannot be changed. */
	policy_derive(policy, &own);
	if (own.stream == NULL && set(&own, "fs.home", "ephemeral", e) != 0) {
		arena_done(&own.arena);
		return -1;
	}
	mechanisms_probe(&s->mechanisms);
	s->starts = prepared_plan(&own, false, &s->run, &s->failure) == 0;
	if (!s->starts) {
		plan_elsewhere(&own, s);
	}
	bool ours = s->starts || s->failure.kind != ERR_USAGE;
	if (ours) {
		try_namespaces(&own, s);
		probe_try_cgroups(&s->run.arena,
				  &s->run.host); /* the report lists them in any case */
		advice_find(s);
	} else {
		*e = s->failure; /* the policy is invalid: no statement about the host */
	}
	arena_done(&own.arena);
	return ours ? 0 : -1;
}

int corral_status(const struct corral_policy *policy, enum corral_format format, char **text,
		  int *starts, struct corral_error *err) {
	struct err e = {0};
	struct buf out;

	if (lib_need(policy, "the policy", err) != 0 || lib_need(text, "text", err) != 0) {
		return -1;
	}
	if (credentials_check(&e) != 0) {
		return lib_fail(&e, err); /* an error of the caller, not of the host */
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
