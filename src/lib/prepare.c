/* SPDX-License-Identifier: Apache-2.0 */
/* Prepares one use of a policy: probes the host, resolves all layers, builds the plan, and falls
 * back to a weaker plan when the host refuses a mechanism.
 *
 * Should:   do it anew for every call, so that a changed file, directory or
 *           environment has effect at once.
 * Must not: start a command; use a fact of this host in a plan for a snapshot.
 * Fails:    closed, with the error of the function that failed. */
#include "lib/tools.h"

#include "backend/early.h"
#include "backend/probe.h"
#include "backend/timings.h"
#include "backend/userns_cache.h"
#include "base/auto.h"
#include "base/errno_name.h"
#include "base/path.h"
#include "base/str.h"
#include "data/remedies.h"
#include "plan/limits.h"

#include <limits.h>
#include <stdio.h>
#include <unistd.h>

#define SYSTEM_FILE "/etc/corral/policy.toml"
#define USER_FILE ".config/corral/corral.toml"
#define XDG_FILE "corral/corral.toml"
#define TRUST_FILE "trusted"

const char *prepare_trust_file(struct arena *a, const struct host *host) {
	return host->state_dir == NULL ? NULL : path_join(a, host->state_dir, TRUST_FILE);
}

/* The caller's CORRAL_WORKSPACE, the default workspace; NULL when it has none.  In a sandbox Corral
 * sets the variable itself, with CORRAL_LEVEL: there it reports the outer workspace, and the
 * default of a nested run is the working directory. */
static const char *chosen_workspace(const struct host *host) {
	const char *dir = plan_caller_variable(host, "CORRAL_WORKSPACE");
	bool reported = plan_caller_variable(host, "CORRAL_LEVEL") != NULL;
	return dir == NULL || dir[0] == '\0' || reported ? NULL : dir;
}

/* The use of a resolved policy. */
struct purpose {
	bool skip_hash;
	bool recorded;              /* for a snapshot's host: policy files are not part of it */
	const struct policy_fs *fs; /* NULL: this host's files */
};

/* The file of --policy is the caller's also if the host is a snapshot; a relative path would begin
 * in the directory of the snapshot. */
static int own_path(struct arena *a, const char *file, const char **ret, struct err *e) {
	char cwd[PATH_MAX];
	*ret = file;
	if (file == NULL || file[0] == '/' || streq(file, "-") || str_starts(file, "fd:")) {
		return 0;
	}
	if (getcwd(cwd, sizeof cwd) == NULL || cwd[0] != '/') {
		(void)err_sys(e, "library", "cannot read the current directory");
		return err_fix(e, "change to a directory that exists: cd DIR");
	}
	*ret = path_join(a, cwd, file);
	return *ret == NULL ? err_memory(e, "library") : 0;
}

int prepare_standing_paths(struct arena *a, const struct host *host, struct standing_paths *ret,
			   struct err *e) {
	const char *config = plan_caller_variable(host, "XDG_CONFIG_HOME");
	*ret = (struct standing_paths){.machine = SYSTEM_FILE};
	if (host->home != NULL) {
		ret->user = path_join(a, host->home, USER_FILE);
		if (ret->user == NULL) {
			return err_memory(e, "library");
		}
	}
	if (config != NULL && config[0] == '/') {
		ret->xdg = path_join(a, config, XDG_FILE);
		bool same = ret->xdg != NULL && ret->user != NULL && streq(ret->xdg, ret->user);
		ret->xdg = same ? NULL : ret->xdg;
	}
	return 0;
}

static int resolve_into(const struct corral_policy *policy, const struct host *host,
			const struct purpose *purpose, struct arena *a, struct policy *ret,
			struct err *e) {
	/* A stream's policy outlives this call and its struct host: all inputs are copied out of
	 * the host's arena. */
	struct policy_inputs in = {
		.fs = purpose->fs,
		.cwd = arena_strdup(a, host->cwd),
		.workspace = chosen_workspace(host), /* the resolved value is a copy */
		.system_file = purpose->recorded ? NULL : SYSTEM_FILE,
		.trust_file = purpose->recorded ? NULL : prepare_trust_file(a, host),
		.tools_dir = purpose->recorded || host->state_dir == NULL
				     ? NULL
				     : path_join(a, host->state_dir, TOOLS_NAME),
		.extra_file = policy->file,
		.no_config = policy->no_config || purpose->recorded,
		.tool_call = !policy->person,
		.skip_hash = purpose->skip_hash,
		.settings = policy->settings,
		.nsettings = policy->nsettings,
	};
	if (purpose->recorded && own_path(a, policy->file, &in.extra_file, e) != 0) {
		return -1;
	}
	struct standing_paths standing;
	if (prepare_standing_paths(a, host, &standing, e) != 0) {
		return -1;
	}
	in.user_file = standing.user;
	in.xdg_file = standing.xdg;
	if (host->home != NULL) {
		in.home = arena_strdup(a, host->home);
	}
	if (policy->config != NULL) {
		in.standing = policy->config->files;
		in.nstanding = policy->config->nfiles;
	}
	if (in.cwd == NULL || (host->home != NULL && in.home == NULL) ||
	    (host->state_dir != NULL && !purpose->recorded && in.trust_file == NULL)) {
		return err_memory(e, "library");
	}
	return policy_resolve(a, &in, ret, e);
}

static int resolve_stream(const struct corral_policy *policy, const struct host *host,
			  const struct purpose *purpose, struct policy *ret, struct err *e) {
	struct stream_policy *s = policy->stream;
	if (!s->read) {
		s->read = true;
		s->recorded = purpose->recorded;
		struct purpose any = {.recorded = purpose->recorded, .fs = purpose->fs};
		if (resolve_into(policy, host, &any, &s->arena, &s->policy, e) != 0) {
			return -1;
		}
		s->resolved = true;
	}
	if (!s->resolved || s->recorded != purpose->recorded) {
		return err_set(e, ERR_USAGE, "policy",
			       s->resolved ? "%s was already read for another host"
					   : "%s was already read and was not a valid policy",
			       policy->file);
	}
	*ret = s->policy;
	return 0;
}

static int resolve_for(const struct corral_policy *policy, const struct purpose *purpose,
		       struct prepared *p, struct err *e) {
	int rc = policy->stream != NULL
			 ? resolve_stream(policy, &p->host, purpose, &p->policy, e)
			 : resolve_into(policy, &p->host, purpose, &p->arena, &p->policy, e);
	return rc != 0 ? -1 : backend_choose(&p->policy, &p->backend, e);
}

int prepared_resolve(const struct corral_policy *policy, bool to_run, struct prepared *p,
		     struct err *e) {
	arena_init(&p->arena);
	if (policy == NULL) {
		return err_set(e, ERR_USAGE, "library", "the policy is NULL");
	}
	if (probe_host(&p->arena, &p->host, e) != 0) {
		return -1;
	}
	timings_stamp(p->timings, STEP_PROBE);
	/* A person sees it only in the audit log, which computes it. */
	struct purpose purpose = {.skip_hash = to_run && (policy->person || p->hash_later)};
	int rc = resolve_for(policy, &purpose, p, e) != 0 ? -1 : tools_check(p, e);
	timings_stamp(p->timings, STEP_POLICY);
	return rc;
}

void prepared_hash(void *prepared) {
	struct prepared *p = prepared;
	struct err unused = {0};

	if (p->policy.sha256[0] == '\0') {
		(void)policy_hash(&p->arena, &p->policy, &unused); /* else it is missing */
	}
}

/* ---- the plan ---- */

/* The facts of a snapshot, as a probe of that host would have found them. */
static int find_recorded(struct prepared *p, struct err *e) {
	const struct snapshot *s = p->recorded;

	if (plan_may_lack_namespaces(&p->policy, &p->host) && p->host.run_dir == NULL) {
		return err_set(e, ERR_SETUP, "snapshot",
			       "the recorded host has no directory for temporary files "
			       "(caller.run_dir)");
	}
	if (plan_wants_groups(&p->policy, &p->host)) {
		bool scope = plan_wants_scope(&p->policy) && s->cgroup.kind == CGROUP_NONE;
		p->host.cgroup = scope ? s->scope : s->cgroup;
	}
	if (plan_wants_samples(&p->policy, &p->host)) {
		p->host.sampling_why = s->sampling_why;
	}
	return 0;
}

static int make_plan(struct prepared *p, struct err *e) {
	int rc = p->recorded != NULL ? find_recorded(p, e)
				     : p->backend->probe(&p->arena, &p->policy, &p->host, e);
	return rc != 0 ? -1 : p->backend->prepare(&p->arena, &p->policy, &p->host, &p->plan, e);
}

/* The failure as the reason in the report: message, errno, remedy. */
static const char *reason_of_failure(struct prepared *p, const struct err *e) {
	const char *fix = remedy_for(e->where, e->sys);
	char text[sizeof e->what + 512];
	(void)snprintf(text, sizeof text, "%s%s%s%s%s%s", e->what, e->sys == 0 ? "" : " (",
		       e->sys == 0 ? "" : errno_name(e->sys), e->sys == 0 ? "" : ")",
		       fix == NULL ? "" : "; ", fix == NULL ? "" : fix); /* may be cut */
	return arena_strdup(&p->arena, text);
}

/* When a plan with namespaces fails, plans without them; but only if this host cannot create
 * namespaces. */
static int replan_refused(struct prepared *p, struct err *e) {
	struct err refused = {0};
	if (e->kind != ERR_SETUP || !p->host.userns || probe_makes_namespaces(&refused)) {
		return -1;
	}
	p->host.userns = false;
	p->host.userns_why = reason_of_failure(p, &refused);
	p->no_namespaces = refused;
	return make_plan(p, e);
}

/* Whether namespaces are useful without a procfs of their own (plan.shares_proc).  Only with a
 * Landlock domain that scopes signals: then the broker needs no list of processes.  A session lists
 * the processes of each command, and a nested sandbox mounts a procfs: both need their own. */
static bool can_share_proc(const struct prepared *p) {
	return p->host.landlock_abi >= LANDLOCK_ABI_SCOPES && !p->is_session &&
	       policy_num(&p->policy, KEY_NESTED) == 0;
}

static void use_failure(struct prepared *p, bool proc, const char *why) {
	if (proc && can_share_proc(p)) {
		p->host.proc_why = why;
	} else {
		p->host.userns = false;
		p->host.userns_why = why;
	}
}

static void use_cached_failure(struct prepared *p) {
	bool proc = false;
	const char *why = userns_cache_find(&p->arena, &p->host, &proc);

	if (why != NULL) {
		use_failure(p, proc, why);
	}
}

/* Whether the plan will probably have the namespaces that an early process makes. */
static bool suits_early(const struct prepared *p) {
	return p->wants_early && p->backend->early &&
	       !plan_may_lack_namespaces(&p->policy, &p->host) &&
	       policy_num(&p->policy, KEY_NET_MODE) != NET_FULL &&
	       policy_num(&p->policy, KEY_DAEMON_POOL) <= 0;
}

/* Whether a run with this setting may lack the namespaces, or has others. */
static bool may_decide_early(const struct setting *set) {
	static const struct {
		enum key_id key;
		const char *suits[2]; /* values that have them */
	} deciding[] = {
		{KEY_PROFILE, {NULL}},
		{KEY_MODE, {"read-only", "workspace-write"}},
		{KEY_BACKEND, {"auto", "linux"}},
		{KEY_LEVEL, {"auto", "full"}},
		{KEY_NET_MODE, {"none", "filtered"}},
		{KEY_DAEMON_POOL, {NULL}},
	};

	for (size_t i = 0; i < ARRAY_LEN(deciding); i++) {
		if (streq(set->key, keys[deciding[i].key].name)) {
			const char *const *suits = deciding[i].suits;
			return suits[0] == NULL ||
			       (!streq(set->value, suits[0]) && !streq(set->value, suits[1]));
		}
	}
	return false;
}

/* Before the host is probed and the policy files are read, unless the caller's own settings may
 * decide against it; settle_early() corrects the guess. */
static void guess_early(const struct corral_policy *policy, struct prepared *p) {
	bool decided = !p->wants_early || policy->file != NULL;

	for (size_t i = 0; i < policy->nsettings && !decided; i++) {
		decided = may_decide_early(&policy->settings[i]);
	}
	if (!decided) {
		p->early = early_start();
	}
}

static void settle_early(struct prepared *p) {
	if (!suits_early(p)) {
		early_free(take_ptr(p->early));
	} else if (p->early == NULL) {
		p->early = early_start();
	}
}

int prepared_plan(const struct corral_policy *policy, bool to_run, struct prepared *p,
		  struct err *e) {
	if (policy != NULL) {
		guess_early(policy, p);
	}
	if (prepared_resolve(policy, to_run, p, e) != 0) {
		return -1;
	}
	p->host.command = p->command;
	p->host.streams_inherited = p->streams_inherited;
	p->host.asks = p->asks;
	p->host.shell = p->shell;
	if (policy->plant != NULL) {
		p->host.environ = policy->plant->environ;
		p->host.home = policy->plant->home;
		p->host.state_dir = policy->plant->state_dir;
		p->host.state_closed = false;
	}
	if (run_secrets_find(policy, p, e) != 0 || run_id_probe(&p->arena, &p->host, e) != 0) {
		return -1;
	}
	if (policy_num(&p->policy, KEY_FS_COW)) {
		p->host.cow_dir = cow_dir_of(&p->arena, p->host.state_dir, p->host.run_id);
	}
	/* A report always tries namespaces; a run uses the cached failure. */
	if (to_run && policy_num(&p->policy, KEY_LEVEL) == LEVEL_AUTO) {
		use_cached_failure(p);
	}
	settle_early(p);
	if (make_plan(p, e) != 0 && replan_refused(p, e) != 0) {
		return -1;
	}
	timings_stamp(p->timings, STEP_PLAN);
	return to_run ? 0 : prepared_rehearse(p, e);
}

/* ---- the host of a snapshot ---- */

/* An answer that the snapshot lacks is the cause of any later error. */
static int check_answers(const struct snapshot *s, int rc, struct err *e) {
	struct err missing = {0};
	if (snapshot_check(s, &missing) != 0) {
		*e = missing;
		return -1;
	}
	return rc;
}

int prepared_resolve_again(const struct corral_policy *policy, struct snapshot *s, bool recorded,
			   struct policy *ret, struct err *e) {
	struct policy_fs fs = {.ctx = s, .find = snapshot_find};
	struct purpose purpose = {.recorded = recorded, .fs = &fs};
	return resolve_into(policy, &s->host, &purpose, s->a, ret, e);
}

int prepared_plan_recorded(const struct corral_policy *policy, struct snapshot *s,
			   struct prepared *p, struct err *e) {
	struct policy_fs fs = {.ctx = s, .find = snapshot_find};
	struct purpose purpose = {.recorded = true, .fs = &fs};
	p->host = s->host;
	p->recorded = s;
	if (check_answers(s, resolve_for(policy, &purpose, p, e), e) != 0) {
		return -1;
	}
	if (policy_num(&p->policy, KEY_FS_COW) && p->host.state_dir != NULL) {
		p->host.cow_dir = path_join(&p->arena, p->host.state_dir, "cow/recorded");
	}
	return check_answers(s, make_plan(p, e), e);
}

/* ---- falling back ---- */

static bool plans_namespaces(const struct prepared *p) {
	return !plan_lacks_namespaces(&p->plan);
}

static void give_up_namespaces(struct prepared *p, const char *why) {
	use_failure(p, false, why);
}

/* A refused clone3() costs microseconds; a set-up that fails later is worth remembering. */
static void remember_and_give_up_namespaces(struct prepared *p, const char *why) {
	userns_cache_keep(&p->host, false, why);
	give_up_namespaces(p, why);
}

static void remember_and_give_up_proc(struct prepared *p, const char *why) {
	userns_cache_keep(&p->host, true, why);
	use_failure(p, true, why);
}

static bool plans_broker(const struct prepared *p) {
	return p->plan.broker;
}

static void give_up_broker(struct prepared *p, const char *why) {
	p->host.notify_refused = true;
	p->host.notify = p->host.sockets = false;
	p->host.notify_why = why;
}

static bool plans_scope(const struct prepared *p) {
	return p->host.scope_why == NULL;
}

static void give_up_scope(struct prepared *p, const char *why) {
	p->host.scope_why = why;
}

static bool plans_shared_home(const struct prepared *p) {
	return p->plan.home_source != NULL && !p->host.home_taken;
}

static void give_up_shared_home(struct prepared *p, const char *why) {
	(void)why; /* the plan warns */
	p->host.home_taken = true;
}

/* One mechanism that the host refused, and the facts that a plan without it is made from. */
static const struct fallback {
	enum err_kind kind;
	bool (*is_planned)(const struct prepared *p);
	void (*give_up)(struct prepared *p, const char *why);
} fallbacks[] = {
	{ERR_NO_CLONE, plans_namespaces, give_up_namespaces},
	{ERR_NO_NAMESPACES, plans_namespaces, remember_and_give_up_namespaces},
	{ERR_NO_PROC, plans_namespaces, remember_and_give_up_proc},
	{ERR_NO_BROKER, plans_broker, give_up_broker},
	{ERR_NO_SCOPE, plans_scope, give_up_scope},
	{ERR_HOME_TAKEN, plans_shared_home, give_up_shared_home},
};

int prepared_replan(struct prepared *p, struct err *e) {
	for (size_t i = 0; i < ARRAY_LEN(fallbacks); i++) {
		if (fallbacks[i].kind != e->kind || !fallbacks[i].is_planned(p)) {
			continue;
		}
		const char *why = reason_of_failure(p, e);
		if (why == NULL) {
			return err_memory(e, "library");
		}
		bool had = p->host.userns;
		fallbacks[i].give_up(p, why);
		if (had && !p->host.userns) {
			p->no_namespaces = *e;
		}
		int rc = make_plan(p, e);
		timings_retry(p->timings);
		return rc;
	}
	return -1;
}

/* The same plan without the parts that outlast a run: the kept home, and git's settings
 * beside it. */
static int stage_plan(struct prepared *p, struct plan *ret, struct err *e) {
	const struct plan *plan = &p->plan;
	*ret = *plan;
	ret->home_source = NULL;
	ret->mounts = arena_array(&p->arena, plan->nmounts + 1, sizeof *ret->mounts);
	if (ret->mounts == NULL) {
		return err_memory(e, "library");
	}
	ret->nmounts = 0;
	for (size_t i = 0; i < plan->nmounts; i++) {
		struct mount m = plan->mounts[i];
		bool home = plan->home_source != NULL && m.source != NULL &&
			    streq(m.source, plan->home_source);
		if (plan_lacks_namespaces(plan) &&
		    (home || m.kind == MOUNT_FILE || m.kind == MOUNT_LINK)) {
			continue;
		}
		if (home) {
			m.kind = MOUNT_PRIVATE;
			m.source = NULL;
			m.mode = 0700;
		}
		ret->mounts[ret->nmounts++] = m;
	}
	return 0;
}

static int rehearse_once(struct prepared *p, struct run_request *request, struct outcome *ret,
			 struct err *e) {
	struct keeping k;
	if (keeping_begin(p, &k, request, e) != 0) {
		return -1;
	}
	int rc = run_command(&p->arena, request, ret, e);
	keeping_end(&k, NULL, rc == 0 ? NULL : e);
	return rc;
}

int prepared_rehearse(struct prepared *p, struct err *e) {
	char *const nothing[] = {(char[]){"corral"}, NULL};
	for (;;) {
		struct plan stage;
		if (stage_plan(p, &stage, e) != 0) {
			return -1;
		}
		struct run_request request = {
			.backend = p->backend,
			.plan = &stage,
			.policy = &p->policy,
			.host = &p->host,
			.argv = nothing,
			.in = RUN_NULL,
			.out = RUN_NULL,
			.err = RUN_NULL,
			.rehearse = true,
		};
		struct outcome outcome = {0};
		if (rehearse_once(p, &request, &outcome, e) == 0) {
			outcome_done(&outcome);
			if (!plan_lacks_namespaces(&p->plan) && !p->plan.shares_proc) {
				userns_cache_drop(&p->host);
			}
			return 0;
		}
		if (prepared_replan(p, e) != 0) {
			return -1;
		}
	}
}
