/* SPDX-License-Identifier: Apache-2.0 */
/* What `corral status` advises on hosts that this machine is not. */
#include "base/auto.h"
#include "lib/status.h"
#include "test.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* A host on which nothing is missing. */
static struct status good(void) {
	return (struct status){
		.mechanisms = {.landlock_abi = 7,
			       .seccomp = true,
			       .kill_process = true,
			       .refuse = true,
			       .notify = true,
			       .listener = true,
			       .ptrace_scope = MECHANISM_UNKNOWN,
			       .apparmor_restricts_userns = MECHANISM_UNKNOWN,
			       .max_user_namespaces = 15000,
			       .unprivileged_userns_clone = MECHANISM_UNKNOWN},
		.run = {.host = {.userns = true}, .plan = {.engine = ENGINE_NAMESPACES}},
		.starts = true,
	};
}

static bool advises(struct status s, const char *words) {
	advice_find(&s);
	for (size_t i = 0; i < s.nremedies; i++) {
		if (strstr(s.remedies[i].text, words) != NULL) {
			return true;
		}
	}
	return false;
}

static size_t count(struct status s) {
	advice_find(&s);
	return s.nremedies;
}

TEST(a_host_that_has_everything_gets_no_advice) {
	CHECK_INT(count(good()), 0);
}

TEST(a_switch_that_is_off_is_named) {
	struct status s = good();
	s.run.host.userns = false;
	s.starts = false;
	s.mechanisms.max_user_namespaces = 0;
	CHECK(advises(s, "user.max_user_namespaces="));
	CHECK(!advises(s, "unprivileged_userns_clone"));
	s.mechanisms.max_user_namespaces = 15000;
	s.mechanisms.unprivileged_userns_clone = 0;
	CHECK(advises(s, "unprivileged_userns_clone=1"));
	CHECK(!advises(s, "user.max_user_namespaces="));
	s.run.host.privileged = true; /* root is not meant by it */
	CHECK(!advises(s, "unprivileged_userns_clone=1"));
}

TEST(apparmor_is_named_only_where_it_is_in_the_way) {
	struct status s = good();
	s.mechanisms.apparmor = true;
	s.mechanisms.apparmor_restricts_userns = 1;
	CHECK_INT(count(s), 0); /* a profile lets them through */
	s.run.host.userns = false;
	CHECK(advises(s, "packaging/apparmor/corral"));
	s.mechanisms.apparmor_restricts_userns = 0;
	CHECK(!advises(s, "packaging/apparmor/corral"));
}

TEST(a_container_is_told_its_flags_and_a_nested_run_that_there_are_none) {
	struct status s = good();
	s.mechanisms.container.kind = CONTAINER_DOCKER;
	CHECK_INT(count(s), 0);
	s.run.plan.shares_proc = s.starts = true;
	CHECK(advises(s, "docker run --security-opt systempaths=unconfined") && count(s) == 1);
	s.run.host.userns = false;
	s.mechanisms.filtered = true;
	CHECK(advises(s, "docker run --security-opt seccomp=unconfined") && count(s) == 1);
	s.mechanisms.container.pod = true;
	CHECK(advises(s, "seccompProfile") && !advises(s, "docker"));
	s.mechanisms.container.pod = false;
	s.mechanisms.max_user_namespaces = 0; /* then its flags would change nothing */
	CHECK(!advises(s, "--security-opt"));
	s.mechanisms.inside_corral = true;
	s.mechanisms.max_user_namespaces = 0;
	CHECK(!advises(s, "--security-opt"));
	CHECK(!advises(s, "sysctl"));
	CHECK(advises(s, "inside Corral"));
}

TEST(a_flag_is_advised_only_where_it_is_the_cause) {
	struct status s = good();
	s.run.host.userns = false;
	s.mechanisms.container.kind = CONTAINER_PODMAN;
	CHECK_INT(count(s), 0); /* no filter is in force, and no capability is missing */
	s.mechanisms.apparmor = true;
	CHECK(advises(s, "apparmor=unconfined") && count(s) == 1);
	(void)snprintf(s.mechanisms.apparmor_label, sizeof s.mechanisms.apparmor_label,
		       "unconfined");
	CHECK_INT(count(s), 0);
	s.run.host.privileged = s.mechanisms.lacks_setfcap = true;
	CHECK(advises(s, "--cap-add SETFCAP") && count(s) == 1);
	s.mechanisms.filtered = true; /* it may have refused what came before the map */
	CHECK(advises(s, "--cap-add SETFCAP") && advises(s, "seccomp=unconfined"));
	(void)err_set(&s.run.no_namespaces, ERR_NO_NAMESPACES, "user", "cannot write the id maps");
	s.run.no_namespaces.sys = EPERM; /* it let the namespaces pass */
	CHECK(advises(s, "--cap-add SETFCAP") && count(s) == 1);
	s.run.host.privileged = false;
	CHECK(advises(s, "seccomp=unconfined") && count(s) == 1);
	s.mechanisms.chrooted = true;
	CHECK(advises(s, "pivot_root") && count(s) == 1);
}

TEST(without_a_container_the_filter_of_a_service_is_named) {
	struct status s = good();
	s.run.host.userns = false;
	CHECK_INT(count(s), 0);
	s.mechanisms.filtered = true;
	CHECK(advises(s, "RestrictNamespaces=no") && count(s) == 1);
}

TEST(gvisor_gets_no_advice_for_linux) {
	struct status s = good();
	s.run.host.userns = s.mechanisms.listener = s.starts = false;
	s.mechanisms.landlock_abi = 0;
	s.mechanisms.landlock_errno = ENOSYS;
	s.mechanisms.container.kind = CONTAINER_GVISOR;
	CHECK(advises(s, "not possible") && count(s) == 1);
}

TEST(nspawn_is_told_how_to_allow_landlock) {
	struct status s = good();
	s.mechanisms.landlock_abi = 0;
	s.mechanisms.landlock_errno = EPERM;
	s.mechanisms.container.kind = CONTAINER_NSPAWN;
	CHECK(advises(s, "--system-call-filter=\"landlock_") && count(s) == 1);
}

TEST(landlock_is_missing_in_three_ways) {
	struct status s = good();
	s.mechanisms.landlock_abi = 0;
	s.mechanisms.landlock_errno = EOPNOTSUPP;
	CHECK(advises(s, "lsm=") && count(s) == 1);
	s.mechanisms.landlock_errno = ENOSYS;
	CHECK(advises(s, "CONFIG_SECURITY_LANDLOCK") && count(s) == 1);
	s.mechanisms.landlock_errno = EPERM;
	CHECK(advises(s, "landlock_restrict_self") && count(s) == 1);
}

TEST(an_old_landlock_is_told_what_a_newer_one_adds) {
	for (int abi = 1; abi <= 8; abi++) {
		struct status s = good();
		s.mechanisms.landlock_abi = abi;
		CHECK_INT(advises(s, "ABI 4"), abi < 4);
		CHECK_INT(advises(s, "ABI 6"), abi >= 4 && abi < 6);
	}
}

TEST(filters_and_listeners_are_told_apart) {
	struct status s = good();
	s.mechanisms.listener = false;
	CHECK(advises(s, "NEW_LISTENER") && count(s) == 1);
	s.mechanisms.seccomp = false;
	CHECK(advises(s, "CONFIG_SECCOMP_FILTER") && count(s) == 1);
}

TEST(control_groups_say_why_they_cannot_be_used) {
	struct status s = good();
	s.run.host.cgroup.why = "because";
	CHECK(advises(s, "because"));
}

static bool raises(struct status s, const char *guarantee) {
	advice_find(&s);
	return s.nremedies == 1 && strstr(s.remedies[0].raises, guarantee) != NULL;
}

TEST(control_groups_raise_only_limits_that_are_not_enforced_without_them) {
	struct status s = good();
	s.run.host.cgroup.why = "because";
	s.run.plan.guarantees[GUARANTEE_LIMITS_PROCESSES].state = STATE_ENFORCED;
	CHECK(raises(s, "limits.memory") && raises(s, "limits.cpu"));
	CHECK(!raises(s, "limits.processes"));
	s.run.plan.guarantees[GUARANTEE_LIMITS_PROCESSES].state = STATE_WEAKER;
	CHECK(raises(s, "limits.processes"));
	s.run.plan.guarantees[GUARANTEE_LIMITS_PROCESSES].state = STATE_ENFORCED;
	s.starts = false; /* then there is no plan */
	CHECK(raises(s, "limits.processes"));
}

TESTS_MAIN
