/* SPDX-License-Identifier: Apache-2.0 */
/* Runs the self-test: plants bait, runs the test program outside and in the sandbox, and
 * compares the effects on the host with the guarantees that the run reported.
 *
 * Should:   use corral_run() as any caller does, and take the guarantee from the
 *           result of that same run; count a check as failed that could not be made, if its
 *           guarantee is reported as enforced.
 * Must not: use the caller's own files, processes or variables as bait.
 * Fails:    -1 only when nothing could be tried; a broken sandbox is a finding. */
#include "selftest/selftest.h"

#include "backend/probe.h"
#include "base/auto.h"
#include "base/credentials.h"
#include "base/clock.h"
#include "base/path.h"
#include "base/str.h"
#include "data/acts.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <stdio.h>

static const char *const verdict_names[VERDICT_COUNT] = {
	[VERDICT_PASS] = "pass",
	[VERDICT_LIMIT] = "limit",
	[VERDICT_FAIL] = "fail",
	[VERDICT_SKIP] = "skip",
};

const char *selftest_verdict_name(enum verdict v) {
	return verdict_names[v];
}

/* ---- verdicts ---- */

static void set_verdict(struct finding *f, enum verdict v, const char *why, const char *more) {
	f->verdict = v;
	(void)snprintf(f->reason, sizeof f->reason, "%s%s%s", why, more[0] == '\0' ? "" : ": ",
		       more);
}

/* Whether the reported reason of a weaker guarantee names this very attempt. */
static bool is_known(const struct finding *f) {
	const char *why = f->reported.why == NULL ? "" : f->reported.why;
	return f->reported.state == STATE_ABSENT ||
	       (f->check->known_by != NULL && strstr(why, f->check->known_by) != NULL);
}

void selftest_finding_judge(struct finding *f) {
	bool promised = f->check->guarantee != GUARANTEE_COUNT;

	bool controlled = f->outside.happened && f->outside.effect;

	f->required = !promised || f->reported.state == STATE_ENFORCED;
	if (!controlled && f->check->alone == NULL) {
		set_verdict(f, VERDICT_SKIP, "the control without a sandbox failed as well",
			    f->outside.detail);
	} else if (!f->inside.happened) {
		set_verdict(f, VERDICT_SKIP, "the attempt was not made", f->inside.detail);
	} else if (f->granted) {
		set_verdict(f, f->inside.effect ? VERDICT_PASS : VERDICT_FAIL,
			    f->inside.effect ? "" : "the policy allows it, but it failed",
			    f->inside.effect ? "" : f->inside.detail);
	} else if (!f->inside.effect) {
		set_verdict(f, VERDICT_PASS, controlled ? "" : "no control",
			    controlled ? "" : f->check->alone);
	} else if (!promised) {
		set_verdict(f, VERDICT_FAIL, "it does not hold", f->inside.detail);
	} else if (f->required) {
		set_verdict(f, VERDICT_FAIL,
			    "the attempt succeeded, but the report claims enforced",
			    f->inside.detail);
	} else if (is_known(f)) {
		set_verdict(f, VERDICT_LIMIT, "as reported", f->reported.why);
	} else {
		set_verdict(f, VERDICT_FAIL,
			    "the attempt succeeded, but the report lists a different weakness",
			    f->reported.why == NULL ? "" : f->reported.why);
	}
}

bool selftest_finding_fails(const struct finding *f) {
	return f->verdict == VERDICT_FAIL || (f->verdict == VERDICT_SKIP && f->required);
}

/* ---- attempts ---- */

/* Whether the sandbox shows this file of the host, and not another mount at the same path. */
static bool plan_shows(const struct plan *plan, const char *path) {
	const struct mount *over = NULL;

	for (size_t i = 0; i < plan->nmounts; i++) {
		if (path_within(path, plan->mounts[i].target)) {
			over = &plan->mounts[i]; /* L1: deeper ones follow */
		}
	}
	return over != NULL && over->kind == MOUNT_BIND &&
	       plan_visibility(plan, path) >= VISIBILITY_READ;
}

/* The first device that the caller may open and the policy does not show.  It is opened and not
 * read, and none of these does anything when it is opened. */
static const char *find_device(const struct selftest *t) {
	static const char *const devices[] = {
		"/dev/sda",  "/dev/vda",          "/dev/xvda",    "/dev/nvme0n1", "/dev/mmcblk0",
		"/dev/dm-0", "/dev/loop0",        "/dev/mem",     "/dev/kmsg",    "/dev/fuse",
		"/dev/kvm",  "/dev/loop-control", "/dev/net/tun", "/dev/autofs",
	};
	for (size_t i = 0; i < ARRAY_LEN(devices); i++) {
		auto_fd fd = open(devices[i], O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
		bool granted = t->planned.plan.level >= LEVEL_STANDARD &&
			       plan_shows(&t->planned.plan, devices[i]);
		if (fd >= 0 && !granted) {
			return devices[i];
		}
	}
	return devices[0];
}

char *selftest_word(struct selftest *t, const char *word, bool inside) {
	const struct bait *b = &t->bait;
	const char *rest = strchr(word, ':');
	size_t half = strlen(b->token) / 2;

	if (rest == NULL) {
		return arena_strdup(&t->arena, word);
	}
	rest++;
	if (str_starts(word, "ws:")) {
		return inside ? path_join(&t->arena, t->planned.plan.workspace_at, rest)
			      : arena_printf(&t->arena, "%s/ws/%s", b->dir, rest);
	}
	if (str_starts(word, "dir:")) {
		return path_join(&t->arena, b->dir, rest);
	}
	if (str_starts(word, "tcp:") || str_starts(word, "udp:")) {
		return arena_printf(&t->arena, "%u",
				    b->port[word[0] == 't' ? LISTEN_TCP : LISTEN_UDP]);
	}
	if (str_starts(word, "pid:")) {
		return arena_printf(&t->arena, "%d", (int)b->sleeper);
	}
	if (str_starts(word, "arguments:")) {
		return arena_printf(&t->arena, "%llu", outside_arguments(b->sleeper));
	}
	if (str_starts(word, "device:")) {
		return arena_strdup(&t->arena, find_device(t));
	}
	if (str_starts(word, "head:")) {
		return arena_strndup(&t->arena, b->token, half);
	}
	/* The sleeper's own argument, so that no other process of the test matches. */
	return str_starts(word, "tail:") ? arena_printf(&t->arena, "%s-sleeper", b->token + half)
					 : arena_strdup(&t->arena, b->token);
}

/* The argv of an attempt; NULL out of memory. */
static char **compose(struct selftest *t, const struct check *c, bool inside) {
	size_t n = 0;
	char **words = arena_array(&t->arena, ARRAY_LEN(c->act) + 4, sizeof *words);

	if (words == NULL) {
		return NULL;
	}
	words[n++] = arena_strdup(&t->arena, t->bait.program);
	words[n++] = arena_strdup(&t->arena, PROBE_WORD);
	if (c->child) {
		words[n++] = arena_strdup(&t->arena, ACT_CHILD);
	}
	for (size_t i = 0; i < ARRAY_LEN(c->act) && c->act[i] != NULL; i++) {
		words[n++] = selftest_word(t, c->act[i], inside);
	}
	for (size_t i = 0; i < n; i++) {
		if (words[i] == NULL) {
			return NULL;
		}
	}
	return words;
}

/* Parses the outcome that the test program printed. */
static void parse_output(struct seen *seen, const char *out) {
	const char *refused = strstr(out, PROBE_REFUSED);

	seen->happened = refused != NULL || strstr(out, PROBE_DONE) != NULL;
	if (refused != NULL) {
		refused += strlen(PROBE_REFUSED);
		(void)snprintf(seen->detail, sizeof seen->detail, "%.*s",
			       (int)strcspn(refused, "\n"), refused);
	} else {
		(void)snprintf(seen->detail, sizeof seen->detail, "%s",
			       seen->happened ? "done" : "no output of the test program");
	}
}

/* Death by a signal (SIGSYS) is a refusal, too. */
static void parse_result(struct seen *seen, const struct corral_result *result) {
	const char *out = corral_result_stdout(result, NULL, NULL);

	parse_output(seen, out == NULL ? "" : out);
	if (!seen->happened && corral_result_signal(result) > 0) {
		seen->happened = true;
		(void)snprintf(seen->detail, sizeof seen->detail, "killed by signal %d",
			       corral_result_signal(result));
	}
}

static void take_report(struct selftest *t, struct finding *f,
			const struct guarantee_report *made) {
	if (f->check->guarantee != GUARANTEE_COUNT) {
		const struct guarantee_report *p = &made[f->check->guarantee];
		f->reported.state = p->state;
		f->reported.why = p->why == NULL ? NULL : arena_strdup(&t->arena, p->why);
	}
}

static int set_all(struct corral_policy *policy, const char *const settings[][2],
		   struct corral_error *err) {
	for (size_t i = 0; settings != NULL && settings[i][0] != NULL; i++) {
		if (corral_policy_set_from(policy, settings[i][0], settings[i][1], "corral test",
					   err) != 0) {
			return -1;
		}
	}
	return 0;
}

struct corral_result *selftest_run(struct selftest *t, struct finding *f, char *const *words,
				   const char *const settings[][2]) {
	struct corral_policy own;
	struct corral_result *result = NULL;
	struct corral_error err = {0};

	policy_derive(&t->policy, &own);
	if (set_all(&own, settings, &err) == 0 &&
	    corral_run(&own, (const char *const *)words, NULL, &result, &err) == 0) {
		take_report(t, f, result->enforcement.guarantees);
		parse_result(&f->inside, result);
	} else {
		take_report(t, f, t->planned.plan.guarantees);
		(void)snprintf(f->inside.detail, sizeof f->inside.detail, "%.20s: %.130s",
			       err.layer, err.message);
	}
	arena_done(&own.arena);
	return result;
}

static bool policy_grants(const struct selftest *t, const struct check *c, const char *path) {
	if (str_starts(c->act[1], "ws:")) {
		/* With copy-on-write the change does not reach the host. */
		return policy_num(&t->planned.policy, KEY_MODE) != MODE_READ_ONLY &&
		       t->planned.plan.cow_dir == NULL;
	}
	return plan_shows(&t->planned.plan, path);
}

static void attempt_inside(struct selftest *t, struct finding *f, const char *target) {
	const struct check *c = f->check;
	char **words = compose(t, c, true); /* now: the control may have replaced the sleeper */
	struct other_run *other = c->beside && words != NULL ? other_run_start(t) : NULL;

	if (words == NULL || (c->beside && other == NULL)) {
		(void)snprintf(f->inside.detail, sizeof f->inside.detail, "%s",
			       words == NULL ? "out of memory" : "the other run did not start");
		return;
	}
	f->granted = c->by_policy && policy_grants(t, c, words[3]);
	struct corral_result *result = selftest_run(t, f, words, NULL);
	other_run_stop(other);
	if (result != NULL) {
		const char *text = corral_result_stdout(result, NULL, NULL);
		f->inside.effect = c->effect(&t->bait, target, text == NULL ? "" : text);
		corral_result_free(result);
	}
}

void selftest_attempt(struct selftest *t, struct finding *f) {
	const struct check *c = f->check;
	char **outside = compose(t, c, false);
	char *target = c->act[1] == NULL ? NULL : selftest_word(t, c->act[1], false);
	struct buf out;

	if (outside == NULL) {
		return; /* the check is reported as skipped */
	}
	buf_init(&out);
	(void)outside_run(&t->bait, outside, 0, &out); /* c->effect() decides */
	const char *text = out.data == NULL ? "" : out.data;
	parse_output(&f->outside, text);
	f->outside.effect = c->effect(&t->bait, target, text);
	buf_done(&out);
	attempt_inside(t, f, target);
}

/* ---- the whole test ---- */

/* Adds the settings that the bait needs to the caller's policy. */
static int settle(struct selftest *t, struct corral_error *err) {
	const struct bait_path ws = bait_path(&t->bait, "ws"),
			       readable = bait_path(&t->bait, "readable");
	const char *const settings[][2] = {
		{"workspace", ws.text},
		{"fs.read", t->bait.program},
		{"fs.read", readable.text},
		{"limits.timeout", "10s"}, /* ends an attempt that hangs */
		{NULL, NULL},
	};
	return set_all(&t->policy, settings, err);
}

/* Adds the bait's denied and protected files, with allow_degraded for hosts that cannot enforce
 * them.  The caller's own rules were planned before without allow_degraded. */
static int settle_denials(struct selftest *t, struct corral_error *err) {
	const struct bait_path denied = bait_path(&t->bait, "ws/denied"),
			       kept = bait_path(&t->bait, "ws/kept");
	const char *const settings[][2] = {
		{"fs.deny", denied.text},
		{"fs.protect", kept.text},
		{"allow_degraded", guarantee_name(GUARANTEE_FS_DENY)},
		{NULL, NULL},
	};
	return set_all(&t->policy, settings, err);
}

static int plan(struct selftest *t, struct err *e) {
	struct prepared plain = {0};
	struct corral_error err;

	if (settle(t, &err) != 0) {
		return err_set(e, ERR_SETUP, "test", "%s", err.message);
	}
	int rc = prepared_plan(&t->policy, false, &plain, e);
	arena_done(&plain.arena);
	if (rc != 0) {
		return -1;
	}
	if (settle_denials(t, &err) != 0) {
		return err_set(e, ERR_SETUP, "test", "%s", err.message);
	}
	if (prepared_plan(&t->policy, false, &t->planned, e) != 0) {
		return -1;
	}
	probe_cgroups(&t->planned.host); /* groups_left() needs the directories */
	/* Dropping the bounding set needs CAP_SETPCAP, which each has in a new user namespace. */
	t->bait.bounded = !plan_lacks_namespaces(&t->planned.plan) ||
			  (t->before.capabilities & (1ULL << CAP_SETPCAP)) != 0;
	return 0;
}

static int plant(struct selftest *t, const struct corral_policy *policy, const char *program,
		 struct err *e) {
	if (bait_plant(&t->arena, program, &t->bait, e) != 0) {
		return -1;
	}
	t->plant = (struct plant){
		.environ = (const char *const *)t->bait.environ,
		.home = path_join(&t->arena, t->bait.dir, "home"),
		.state_dir = path_join(&t->arena, t->bait.dir, "state"),
	};
	t->before = outside_restraint();
	t->findings = arena_array(&t->arena, checks_count, sizeof *t->findings);
	if (t->plant.home == NULL || t->plant.state_dir == NULL || t->findings == NULL) {
		return err_memory(e, "test");
	}
	policy_derive(policy, &t->policy);
	t->policy.plant = &t->plant;
	return plan(t, e);
}

static int check_inputs(const struct corral_policy *policy, const char *program, struct err *e) {
	if (policy == NULL || program == NULL || program[0] != '/') {
		return err_set(
			e, ERR_USAGE, "library",
			"the policy is NULL, or the path of the corral program is not absolute");
	}
	if (policy->stream != NULL) {
		(void)err_set(
			e, ERR_USAGE, "test",
			"the policy from %s can be read only once, and the test needs it often",
			policy->file);
		return err_fix(e, "write it to a file: --policy FILE");
	}
	if (access(program, X_OK) != 0) {
		return err_sys_at(e, "test", "cannot execute the test program", program);
	}
	return credentials_check(e); /* before bait is planted */
}

static int test_all(struct selftest *t, const struct corral_policy *policy, const char *program,
		    struct err *e) {
	int64_t began = clock_ms();

	if (check_inputs(policy, program, e) != 0 || plant(t, policy, program, e) != 0) {
		return -1;
	}
	for (size_t i = 0; i < checks_count; i++) {
		struct finding *f = &t->findings[t->nfindings++];
		f->check = &checks[i];
		(checks[i].own != NULL ? checks[i].own : selftest_attempt)(t, f);
		selftest_finding_judge(f);
	}
	t->duration_ms = clock_ms() - began;
	return 0;
}

int corral_selftest(const struct corral_policy *policy, const char *program,
		    enum corral_format format, char **text, int *failed, struct corral_error *err) {
	struct err e = {0};
	struct buf out;
	int bad = 0;

	if (lib_need(policy, "the policy", err) != 0 || lib_need(program, "program", err) != 0 ||
	    lib_need(text, "text", err) != 0) {
		return -1;
	}
	auto_free struct selftest *t = calloc(1, sizeof *t);
	if (t == NULL) {
		(void)err_memory(&e, "library");
		return lib_fail(&e, err);
	}
	buf_init(&out);
	int rc = test_all(t, policy, program, &e);
	(void)bait_remove(&t->bait); /* the last check removed it, unless the test failed before */
	if (rc == 0) {
		(format == CORRAL_JSON ? selftest_json : selftest_text)(t, &out);
		rc = lib_give(&out, text, &e);
	}
	for (size_t i = 0; i < t->nfindings; i++) {
		bad += selftest_finding_fails(&t->findings[i]);
	}
	if (rc == 0 && failed != NULL) {
		*failed = bad;
	}
	arena_done(&t->planned.arena);
	arena_done(&t->policy.arena);
	arena_done(&t->arena);
	return rc == 0 ? 0 : lib_fail(&e, err);
}
