/* SPDX-License-Identifier: Apache-2.0 */
/* The layers that set limits, in processes that went through them. */
#include "limits_world.h"

#include "base/auto.h"
#include "base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>

#define NOBODY 65534
#define NAMESPACES_MAX "/proc/sys/user/max_user_namespaces"

/* ---- rlimits ---- */

static struct rlimit limit_now(int resource) {
	struct rlimit l = {0, 0};
	(void)getrlimit((__rlimit_resource_t)resource, &l);
	return l;
}

static void expect_rlimits(void) {
	struct rlimit cpu = limit_now(RLIMIT_CPU), files = limit_now(RLIMIT_NOFILE),
		      size = limit_now(RLIMIT_FSIZE), core = limit_now(RLIMIT_CORE);
	bool good = cpu.rlim_cur == 5 && cpu.rlim_max == 6 && files.rlim_cur == 128 &&
		    files.rlim_max == 128 && size.rlim_cur == 4096 && size.rlim_max == 4096 &&
		    core.rlim_cur == 0 && core.rlim_max == 0;
	_exit(good ? 7 : 8);
}

TEST(rlimits_are_set_hard_and_processor_time_warns_a_second_before) {
	struct plan plan = plan_without_limits();
	const struct rlimit_row rows[] = {
		{RLIMIT_CORE, 0}, {RLIMIT_CPU, 5}, {RLIMIT_NOFILE, 128}, {RLIMIT_FSIZE, 4096}};
	struct rlimit before = limit_now(RLIMIT_NOFILE);

	memcpy(plan.rlimits, rows, sizeof rows);
	plan.nrlimits = ARRAY_LEN(rows);
	CHECK(exited_with(run_limited(&plan, NULL, 0, expect_rlimits), 7));
	CHECK(limit_now(RLIMIT_NOFILE).rlim_cur == before.rlim_cur); /* we are still free */
}

static void expect_first_process_free(void) {
	struct plan plan = plan_without_limits();
	struct kit kit = {.plan = &plan};
	struct err e = {0};
	const struct rlimit_row rows[] = {
		{RLIMIT_CPU, 5}, {RLIMIT_NOFILE, 128}, {RLIMIT_FSIZE, 4096}};
	struct rlimit cpu = limit_now(RLIMIT_CPU), files = limit_now(RLIMIT_NOFILE);

	memcpy(plan.rlimits, rows, sizeof rows);
	plan.nrlimits = ARRAY_LEN(rows);
	if (layer_limits.enter(&kit, &e) != 0) {
		_exit(9);
	}
	_exit(limit_now(RLIMIT_CPU).rlim_cur == cpu.rlim_cur &&
			      limit_now(RLIMIT_NOFILE).rlim_cur == files.rlim_cur &&
			      limit_now(RLIMIT_FSIZE).rlim_cur == 4096
		      ? 7
		      : 8);
}

TEST(the_first_process_has_only_the_limits_on_what_it_writes) {
	CHECK(exited_with(run_forked(expect_first_process_free), 7));
}

static void expect_smaller_hard_limit_kept(void) {
	struct plan plan = plan_without_limits();
	struct kit kit = {.plan = &plan};
	struct err e = {0};
	const struct rlimit small = {50, 100};

	plan.rlimits[0] = (struct rlimit_row){RLIMIT_NOFILE, 4096};
	plan.nrlimits = 1;
	if (setrlimit(RLIMIT_NOFILE, &small) != 0 || layer_limits.start(&kit, &e) != 0) {
		_exit(9);
	}
	struct rlimit l = limit_now(RLIMIT_NOFILE);
	_exit(l.rlim_cur == 100 && l.rlim_max == 100 ? 7 : 8);
}

TEST(a_smaller_hard_limit_of_the_caller_stays) {
	CHECK(exited_with(run_forked(expect_smaller_hard_limit_kept), 7));
}

/* As another user, in a user namespace: RLIMIT_NPROC of 8 counts only inside. */
static void fork_many_as_nobody(void) {
	struct plan plan = plan_without_limits();
	int status;

	if (getuid() == 0 && setuid(NOBODY) != 0) {
		_exit(97);
	}
	plan.rlimits[0] = (struct rlimit_row){RLIMIT_NPROC, 8};
	plan.nrlimits = 1;
	status = run_limited(&plan, NULL, CLONE_NEWUSER | CLONE_NEWPID, fork_many);
	_exit(status != -1 && WIFEXITED(status) ? WEXITSTATUS(status) : 96);
}

static void fork_many_as_root(void) {
	struct plan plan = plan_without_limits();
	int status;

	plan.rlimits[0] = (struct rlimit_row){RLIMIT_NPROC, 8};
	plan.nrlimits = 1;
	status = run_limited(&plan, NULL, CLONE_NEWUSER | CLONE_NEWPID, fork_many);
	_exit(status != -1 && WIFEXITED(status) ? WEXITSTATUS(status) : 96);
}

TEST(the_process_rlimit_holds_in_a_user_namespace_but_not_for_root) {
	if (geteuid() != 0) {
		SKIP("needs root, to compare with it");
	}
	CHECK(exited_with(run_forked(fork_many_as_nobody), 7));
	/* Why the plan asks for a pids controller when the caller is root. */
	CHECK(exited_with(run_forked(fork_many_as_root), FORKS));
}

/* ---- quotas ---- */

static unsigned outer_uid, outer_gid;

static bool put(const char *path, const char *text) {
	auto_fd fd = open(path, O_WRONLY | O_CLOEXEC);
	return fd >= 0 && fd_write_all(fd, text, strlen(text)) == 0;
}

/* The kernel lets only a mapped user nest. */
static void map_user(void) {
	char uids[32], gids[32];
	(void)snprintf(uids, sizeof uids, "%u %u 1", outer_uid, outer_uid);
	(void)snprintf(gids, sizeof gids, "%u %u 1", outer_gid, outer_gid);
	if (!put("/proc/self/setgroups", "deny") || !put("/proc/self/gid_map", gids) ||
	    !put("/proc/self/uid_map", uids)) {
		_exit(95);
	}
}

static void expect_no_new_namespaces(void) {
	struct plan plan = plan_without_limits();
	struct kit kit = {.plan = &plan};
	struct err e = {0};

	map_user();
	if (layer_quotas.enter(&kit, &e) != 0) {
		_exit(9);
	}
	if (unshare(CLONE_NEWUSER) == 0 || errno != ENOSPC) {
		_exit(8);
	}
	/* Our own mount namespace still serves. */
	_exit(mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 ? 7 : 6);
}

static void unshare_all_kinds(void) {
	map_user();
	_exit(unshare(CLONE_NEWNS) == 0 && unshare(CLONE_NEWNET) == 0 && unshare(CLONE_NEWUSER) == 0
		      ? 7
		      : 8);
}

TEST(quotas_end_nesting_inside_and_leave_the_host_as_it_was) {
	const struct plan plan = plan_without_limits();
	struct buf before = {0}, after = {0};
	const uint64_t flags = CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWNET;

	outer_uid = geteuid();
	outer_gid = getegid();
	REQUIRE(fd_read_file(NAMESPACES_MAX, 32, &before) == 0);
	int control = run_limited(&plan, NULL, flags, unshare_all_kinds);
	if (control == -1) {
		SKIP("user namespaces cannot be made here");
	}
	CHECK(exited_with(control, 7)); /* without the layer all kinds work */
	CHECK(exited_with(run_limited(&plan, NULL, flags, expect_no_new_namespaces), 7));
	CHECK(fd_read_file(NAMESPACES_MAX, 32, &after) == 0);
	CHECK_STR(after.data, before.data);
	buf_done(&before);
	buf_done(&after);
}

TEST(quotas_are_for_the_namespaces_engine_alone) {
	CHECK(layer_quotas.namespaces); /* without one they would be the caller's */
}

TESTS_MAIN
