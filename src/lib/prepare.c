/* One use of a policy: probe the host, resolve all layers, build the plan.
 *
 * Should:   do it afresh for every call, so that a changed file, directory or
 *           environment counts at once.
 * Must not: start anything.
 * Fails:    closed, with the error of the room where the reason is known. */
#include "lib/internal.h"

#include "base/str.h"
#include "linux/probe.h"
#include "plan/limits.h"

#define SYSTEM_FILE "/etc/corral/policy.toml"
#define USER_FILE ".config/corral/corral.toml"
#define TRUST_FILE "trusted"

const char *trust_file_path(struct arena *a, const struct host *host) {
	return host->state_dir == NULL ? NULL : path_join(a, host->state_dir, TRUST_FILE);
}

static int resolve_into(const struct corral_policy *policy, const struct host *host, bool to_run,
			struct arena *a, struct policy *ret, struct err *e) {
	/* A stream's policy outlives this call and the host with it: nothing that goes
	 * in may belong to the host's arena. */
	struct policy_inputs in = {
		.cwd = arena_strdup(a, host->cwd),
		.system_file = SYSTEM_FILE,
		.trust_file = trust_file_path(a, host),
		.extra_file = policy->file,
		.no_config = policy->no_config,
		.tool_call = !policy->person,
		.skip_hash = to_run && policy->person, /* only JSON shows it */
		.settings = policy->settings,
		.nsettings = policy->nsettings,
	};
	if (host->home != NULL) {
		in.home = arena_strdup(a, host->home);
		in.user_file = path_join(a, host->home, USER_FILE);
	}
	if (in.cwd == NULL || (host->home != NULL && (in.home == NULL || in.user_file == NULL)) ||
	    (host->state_dir != NULL && in.trust_file == NULL)) {
		return err_memory(e, "library");
	}
	return policy_resolve(a, &in, ret, e);
}

static int resolve_stream(const struct corral_policy *policy, const struct host *host,
			  struct policy *ret, struct err *e) {
	struct stream_policy *s = policy->stream;
	if (!s->read) {
		s->read = true;
		if (resolve_into(policy, host, false, &s->arena, &s->policy, e) != 0) {
			return -1;
		}
		s->resolved = true;
	}
	if (!s->resolved) {
		return err_set(e, ERR_USAGE, "policy",
			       "%s was read before and held no valid policy", policy->file);
	}
	*ret = s->policy;
	return 0;
}

int prepared_resolve(const struct corral_policy *policy, bool to_run, struct prepared *p,
		     struct err *e) {
	arena_init(&p->arena);
	if (policy == NULL) {
		return err_set(e, ERR_USAGE, "library", "the policy is NULL");
	}
	if (host_probe(&p->arena, &p->host, e) != 0) {
		return -1;
	}
	if (policy->stream != NULL) {
		return resolve_stream(policy, &p->host, &p->policy, e);
	}
	return resolve_into(policy, &p->host, to_run, &p->arena, &p->policy, e);
}

int prepared_plan(const struct corral_policy *policy, bool to_run, struct prepared *p,
		  struct err *e) {
	if (prepared_resolve(policy, to_run, p, e) != 0) {
		return -1;
	}
	if (!to_run) {
		host_probe_switches(&p->host);
	}
	if (plan_wants_groups(&p->policy, &p->host)) {
		host_probe_groups(&p->host);
	}
	return plan_build(&p->arena, &p->policy, &p->host, &p->plan, e);
}
