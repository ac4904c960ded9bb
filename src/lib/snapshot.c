/* SPDX-License-Identifier: Apache-2.0 */
/* corral_snapshot(): records this host for corral_explain_host().
 *
 * A plan for other kernel features asks about other files.  So plans are built for several
 * combinations of features while the files are recorded; the facts of such a plan can then be
 * edited in the snapshot.  Finally the snapshot is read back, and must give the same plan as the
 * host itself: otherwise a secret that was replaced, or a fact that was not recorded, would give a
 * wrong one.
 *
 * Should:   set a sandbox up as `corral explain` does, so that the facts are those that worked.
 * Must not: return a snapshot that gives another plan.
 * Fails:    with the error that a run would have. */
#include "lib/internal.h"

#include "backend/probe.h"
#include "base/auto.h"
#include "base/str.h"

#include <sys/utsname.h>

/* The ABI of Landlock from which the plan differs, below that of this host. */
static const int older_abis[] = {0, 3};

/* Builds a plan for its questions; a plan that is refused has asked some of them. */
static void ask(struct snapshot *s, const struct policy *p, const struct host *h) {
	struct plan plan;
	struct err ignored = {0};
	(void)plan_build(s->a, p, h, &plan, &ignored);
}

static void ask_for_kernels(struct snapshot *s, const struct policy *p) {
	ask(s, p, &s->host); /* no combination below, if it has half of a feature */
	for (unsigned features = 0; features < 4; features++) {
		struct host h = s->host;
		h.userns = (features & 1) != 0;
		h.notify = h.sockets = (features & 2) != 0;
		ask(s, p, &h);
		for (size_t i = 0; i < ARRAY_LEN(older_abis); i++) {
			h.landlock_abi = older_abis[i];
			ask(s, p, &h);
		}
	}
}

/* All that make_plan() probes only for some policies. */
static void find_facts(struct prepared *p, struct snapshot *s) {
	struct host h = p->host;
	struct utsname name;
	struct err ignored = {0};

	if (h.run_dir == NULL) {
		(void)probe_without_namespaces(&p->arena, &h, &ignored); /* none: NULL */
		p->host.run_dir = h.run_dir;
	}
	probe_cgroups(&h);
	s->cgroup = h.cgroup;
	probe_try_cgroups(&p->arena, &h);
	s->scope = h.cgroup;
	probe_sampling(&h);
	s->sampling_why = h.sampling_why;
	s->kernel = uname(&name) == 0 ? arena_strdup(&p->arena, name.release) : NULL;
}

static int count_variables(struct prepared *p, struct err *e) {
	size_t n = 0;
	while (p->host.environ != NULL && p->host.environ[n] != NULL) {
		n++;
	}
	p->host.environ_used = arena_array(&p->arena, n + 1, 1);
	return p->host.environ_used == NULL ? err_memory(e, "snapshot") : 0;
}

static int record(const struct corral_policy *policy, struct prepared *p, struct snapshot *s,
		  struct err *e) {
	struct snapshot facts = {0};
	if (count_variables(p, e) != 0) {
		return -1;
	}
	find_facts(p, &facts);
	snapshot_record(s, &p->arena, &p->host);
	s->cgroup = facts.cgroup;
	s->scope = facts.scope;
	s->sampling_why = facts.sampling_why;
	s->kernel = facts.kernel;
	s->host.cgroup = (struct host_cgroup){.why = HOST_CGROUP_UNCHECKED};
	s->host.sampling_why = NULL;
	/* With the policy files of this host, and without: a snapshot does not contain them. */
	for (int recorded = 0; recorded < 2; recorded++) {
		struct policy again;
		struct err ignored = {0};
		if (prepared_resolve_again(policy, s, recorded != 0, &again, &ignored) == 0) {
			ask_for_kernels(s, &again);
		}
	}
	return snapshot_check(s, e);
}

/* The plan from the recorded answers, and from the snapshot that was written, as JSON. */
static int explain_both(const struct corral_policy *policy, struct snapshot *recorded,
			struct snapshot *written, struct buf out[2], struct err *e) {
	struct snapshot *hosts[] = {recorded, written};
	for (size_t i = 0; i < 2; i++) {
		struct prepared p = {0};
		struct corral_policy own = {0};
		arena_init(&p.arena);
		policy_derive(policy, &own);
		int rc = prepared_plan_recorded(&own, hosts[i], &p, e);
		if (rc == 0) {
			plan_explain(&p.plan, &p.policy, true, &out[i]);
		}
		arena_done(&own.arena);
		arena_done(&p.arena);
		if (rc != 0) {
			return -1;
		}
	}
	return 0;
}

static int verify(const struct corral_policy *policy, struct snapshot *recorded,
		  const struct buf *text, struct err *e) {
	auto_free struct snapshot *written = calloc(1, sizeof *written);
	struct buf out[2];

	if (written == NULL) {
		return err_memory(e, "snapshot");
	}
	buf_init(&out[0]);
	buf_init(&out[1]);
	int rc = snapshot_read(written, recorded->a, "the snapshot", text, e);
	if (rc == 0) {
		rc = explain_both(policy, recorded, written, out, e);
	}
	if (rc == 0 && (buf_failed(&out[0]) || buf_failed(&out[1]))) {
		rc = err_memory(e, "snapshot");
	}
	if (rc == 0 && !streq(out[0].data, out[1].data)) {
		(void)err_set(
			e, ERR_SETUP, "snapshot",
			"the snapshot without secrets would give another plan than this host");
		rc = err_fix(e, "remove credentials from the settings of git and of package "
				"managers, or use fewer options, such as no @registries");
	}
	buf_done(&out[0]);
	buf_done(&out[1]);
	return rc;
}

static int take_snapshot(const struct corral_policy *policy, struct prepared *p, char **text,
			 struct err *e) {
	if (policy->stream != NULL) { /* it is resolved several times */
		return err_set(e, ERR_USAGE, "snapshot",
			       "a snapshot cannot be taken with a policy from a stream (%s)",
			       policy->file);
	}
	auto_free struct snapshot *s = calloc(1, sizeof *s);
	if (s == NULL) {
		return err_memory(e, "snapshot");
	}
	if (prepared_plan(policy, false, p, e) != 0 || record(policy, p, s, e) != 0) {
		return -1;
	}
	struct buf out;
	buf_init(&out);
	snapshot_write(s, &out);
	if (buf_failed(&out)) {
		buf_done(&out);
		return err_memory(e, "snapshot");
	}
	if (verify(policy, s, &out, e) != 0) {
		buf_done(&out);
		return -1;
	}
	return lib_give(&out, text, e);
}

int corral_snapshot(const struct corral_policy *policy, char **text, struct corral_error *err) {
	struct prepared p = {0};
	struct err e = {0};

	if (lib_need(policy, "the policy", err) != 0 || lib_need(text, "text", err) != 0) {
		return -1;
	}
	int rc = take_snapshot(policy, &p, text, &e);
	arena_done(&p.arena);
	return rc == 0 ? 0 : lib_fail(&e, err);
}
