/* SPDX-License-Identifier: Apache-2.0 */
/* The module itself is included, so that its reading of trees which this host
 * does not have can be tested; everything else goes through its interface. */
#include "linux/cgroup.c"
#include "linux/cgroup_probe.c"

#include "limits_world.h"

#include <sched.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>

#define MIB (1024 * 1024)
#define NOBODY 65534

/* ---- helpers ---- */

static bool real_v1(struct host_cgroup *ret) {
	cgroup_probe(ret);
	return geteuid() == 0 && ret->kind == CGROUP_V1 && ret->memory && ret->pids && ret->cpu;
}

#define NEED_V1(host)                                                                              \
	if (!real_v1(&(host))) {                                                                   \
		SKIP("needs root and version 1 memory, pids and cpu controllers");                 \
	}

/* Directories beneath dir with the form of our names and this pid (0: any). */
static int count_ours(const char *dir, pid_t owner) {
	auto_dir d = opendir(dir);
	const struct dirent *entry;
	int count = 0;
	while (d != NULL && (entry = readdir(d)) != NULL) {
		pid_t found = name_owner(entry->d_name);
		count += found > 0 && (owner == 0 || found == owner);
	}
	return count;
}

static void touch_memory(size_t bytes) {
	char *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED) {
		_exit(98);
	}
	for (size_t i = 0; i < bytes; i += 4096) {
		((volatile char *)p)[i] = 1;
	}
}

static void touch_much(void) {
	touch_memory((size_t)96 * MIB);
}

static void touch_little(void) {
	touch_memory((size_t)4 * MIB);
}

static void do_nothing(void) {
}

/* ---- reading /proc/self/cgroup and names ---- */

TEST(own_group_is_read_per_controller) {
	const char *text =
		"12:cpuset:/set\n11:cpu,cpuacct:/a/b\n4:memory:/\n1:name=pids:/named\n0::/u/s\n";
	char out[64];
	REQUIRE(own_group(text, "cpu", out, sizeof out));
	CHECK_STR(out, "/a/b");
	REQUIRE(own_group(text, "memory", out, sizeof out));
	CHECK_STR(out, "");
	REQUIRE(own_group(text, NULL, out, sizeof out));
	CHECK_STR(out, "/u/s");
	CHECK(!own_group(text, "pids", out, sizeof out));
	CHECK(!own_group("garbage", "pids", out, sizeof out));
}

TEST(a_group_outside_the_namespace_or_too_long_is_not_ours) {
	char out[8];
	CHECK(!own_group("0::/../x\n", NULL, out, sizeof out));
	CHECK(!own_group("0::/12345678\n", NULL, out, sizeof out));
	CHECK(own_group("0::/123456\n", NULL, out, sizeof out));
}

TEST(only_names_of_our_form_have_an_owner) {
	static const struct {
		const char *name;
		pid_t owner;
	} rows[] = {
		{"corral-42-0123456789abcdef", 42},
		{"corral-42-0123456789abcde", 0},
		{"corral-42-0123456789abcdef0", 0},
		{"corral-42-0123456789ABCDEF", 0},
		{"corral--0123456789abcdef", 0},
		{"corral-4x-0123456789abcdef", 0},
		{"corral-0-0123456789abcdef", 0},
		{"corral-99999999999-0123456789abcdef", 0},
		{"corral-session", 0},
		{"system.slice", 0},
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CHECK_INT(name_owner(rows[i].name), rows[i].owner);
	}
}

/* ---- version 2 on a made-up tree ---- */

struct tree {
	char root[64];
};

static void tree_file(const struct tree *t, const char *file, const char *text) {
	char path[256];
	(void)snprintf(path, sizeof path, "%s%s", t->root, file);
	auto_fd fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (fd < 0 || fd_write_all(fd, text, strlen(text)) != 0) {
		abort();
	}
}

struct tree_group {
	const char *path, *controllers, *subtree, *procs;
	bool root; /* no cgroup.type */
};

static void tree_group(const struct tree *t, const struct tree_group *g) {
	const char *const files[][2] = {{"cgroup.controllers", g->controllers},
					{"cgroup.subtree_control", g->subtree},
					{"cgroup.procs", g->procs},
					{g->root ? NULL : "cgroup.type", "domain\n"}};
	char path[256];
	(void)snprintf(path, sizeof path, "%s%s", t->root, g->path);
	if (mkdir(path, 0755) != 0 && errno != EEXIST) {
		abort();
	}
	for (size_t i = 0; i < ARRAY_LEN(files); i++) {
		if (files[i][0] != NULL) {
			(void)snprintf(path, sizeof path, "%s/%s", g->path, files[i][0]);
			tree_file(t, path, files[i][1]);
		}
	}
}

static void tree_init(struct tree *t) {
	const char *tmp = getenv("TMPDIR");
	(void)snprintf(t->root, sizeof t->root, "%.40s/corral-test-XXXXXX",
		       tmp != NULL ? tmp : "/tmp");
	if (mkdtemp(t->root) == NULL || chmod(t->root, 0755) != 0) {
		abort();
	}
}

static void remove_tree(const char *path) {
	auto_dir d = opendir(path);
	const struct dirent *entry;
	while (d != NULL && (entry = readdir(d)) != NULL) {
		char below[512];
		if (streq(entry->d_name, ".") || streq(entry->d_name, "..")) {
			continue;
		}
		(void)snprintf(below, sizeof below, "%s/%s", path, entry->d_name);
		if (unlink(below) != 0) {
			remove_tree(below);
		}
	}
	(void)rmdir(path);
}

/* A desktop session: the scope holds us, the slice above it may be divided. */
static void tree_session(struct tree *t, const char *given) {
	tree_init(t);
	tree_group(t,
		   &(struct tree_group){"", "cpu memory pids\n", "cpu memory pids\n", "1\n", true});
	tree_group(t, &(struct tree_group){"/app", "memory pids cpuset\n", given, "", false});
	tree_group(t, &(struct tree_group){"/app/x.scope", "memory pids\n", "", "77\n", false});
}

TEST(a_slice_above_a_busy_scope_is_chosen_and_what_it_lacks_is_told) {
	struct tree t;
	struct host_cgroup h = {0};
	char want[80];
	tree_session(&t, "memory pids\n");
	/* Keep the walk from going on to the root, which root could write. */
	(void)snprintf(want, sizeof want, "%s/app", t.root);
	probe_v2(want, "/x.scope", &h);
	CHECK_INT(h.kind, CGROUP_V2);
	CHECK_STR(h.dir[0], want);
	CHECK(h.memory && h.pids && !h.cpu);
	CHECK_STR(h.why, WHY_PARTIAL);
	remove_tree(t.root);
}

TEST(an_empty_group_may_be_told_to_hand_down_and_a_busy_one_not) {
	struct tree t;
	char app[80];
	struct host_cgroup h = {0}, busy = {0};
	tree_session(&t, "");
	(void)snprintf(app, sizeof app, "%s/app", t.root);
	probe_v2(app, "/x.scope", &h);
	CHECK(h.memory && h.pids && !h.cpu);
	tree_file(&t, "/app/cgroup.procs", "5\n");
	probe_v2(app, "/x.scope", &busy);
	CHECK_INT(busy.kind, CGROUP_NONE);
	CHECK_STR(busy.why, WHY_PARTIAL);
	remove_tree(t.root);
}

TEST(the_real_root_hands_down_although_it_holds_processes) {
	struct tree t;
	struct host_cgroup h = {0};
	tree_init(&t);
	tree_group(&t, &(struct tree_group){"", "cpu memory pids\n", "", "1\n", true});
	probe_v2(t.root, "", &h);
	CHECK(h.memory && h.pids && h.cpu);
	CHECK(h.why == NULL);
	CHECK_STR(h.dir[0], t.root);
	remove_tree(t.root);
}

TEST(groups_of_another_user_are_not_used) {
	struct tree t;
	struct host_cgroup h = {0};
	if (geteuid() != 0) {
		SKIP("needs root, to become somebody else");
	}
	tree_session(&t, "memory pids\n");
	REQUIRE(seteuid(NOBODY) == 0);
	probe_v2(t.root, "/app/x.scope", &h);
	REQUIRE(seteuid(0) == 0);
	CHECK_INT(h.kind, CGROUP_NONE);
	CHECK_STR(h.why, WHY_NOT_OURS);
	remove_tree(t.root);
}

TEST(a_group_that_cannot_be_seen_is_reported) {
	struct tree t;
	struct host_cgroup h = {0};
	tree_init(&t);
	probe_v2(t.root, "/docker/abc", &h);
	CHECK_INT(h.kind, CGROUP_NONE);
	CHECK_STR(h.why, WHY_HIDDEN);
	remove_tree(t.root);
}

TEST(a_limit_that_cannot_be_written_fails_and_leaves_no_group) {
	struct tree t;
	struct host_cgroup h = {.kind = CGROUP_V2, .memory = true, .pids = true};
	struct plan plan = plan_without_limits();
	struct cgroup *c = NULL;
	struct err e = {0};
	char text[64] = "";

	tree_init(&t);
	tree_group(&t, &(struct tree_group){"", "memory pids\n", "memory\n", "", true});
	(void)snprintf(h.dir[0], sizeof h.dir[0], "%s", t.root);
	plan.memory_bytes = 64 * MIB;
	plan.max_processes = 8;
	CHECK_INT(cgroup_new(&plan, &h, &c, &e), -1);
	CHECK(c == NULL);
	CHECK_INT(e.kind, ERR_SETUP);
	/* A plain directory does not bring the group's files along. */
	CHECK(strstr(e.what, "cgroup.procs") != NULL);
	CHECK_INT(count_ours(t.root, 0), 0);
	/* Only the missing controller was handed down. */
	auto_fd dir = open(t.root, O_PATH | O_CLOEXEC);
	CHECK(read_head(dir, "cgroup.subtree_control", text, sizeof text));
	CHECK_STR(text, "+pids \n"); /* a plain file keeps the tail of "memory\n" */
	remove_tree(t.root);
}

TEST(a_planned_limit_without_its_controller_is_an_error) {
	const struct host_cgroup h = {.kind = CGROUP_V2, .pids = true, .why = "no memory here"};
	struct plan plan = plan_without_limits();
	struct cgroup *c = NULL;
	struct err e = {0};
	plan.memory_bytes = MIB;
	CHECK_INT(cgroup_new(&plan, &h, &c, &e), -1);
	CHECK(strstr(e.what, "no memory here") != NULL);
}

/* ---- version 2 for real ---- */

static void sleep_for_ever(void) {
	for (;;) {
		(void)pause();
	}
}

/* Starts a child in the group that never ends by itself. */
static pid_t start_sleeper(const struct cgroup *c) {
	struct clone_args args = {.exit_signal = SIGCHLD};
	const int *fds;
	size_t n = cgroup_join_fds(c, false, &fds);
	if (cgroup_fd(c) >= 0) {
		args.flags = CLONE_INTO_CGROUP;
		args.cgroup = (uint64_t)cgroup_fd(c);
	}
	pid_t pid = (pid_t)syscall(SYS_clone3, &args, sizeof args);
	if (pid == 0) {
		for (size_t i = 0; i < n; i++) {
			if (write(fds[i], "0", 1) != 1) {
				_exit(99);
			}
		}
		sleep_for_ever();
	}
	for (size_t i = 0; i < c->ngroups; i++) {
		while (pid > 0 && !group_holds(&c->groups[i], pid) && kill(pid, 0) == 0) {
			(void)sched_yield();
		}
	}
	return pid;
}

TEST(a_version_2_group_takes_the_child_at_birth_and_its_end_kills_it) {
	struct host_cgroup h = {.kind = CGROUP_V2};
	const struct plan plan = plan_without_limits();
	struct cgroup *c = NULL;
	struct err e = {0};
	int status = 0;
	const char *mount =
		mounted(CGROUP_MOUNT, CGROUP2_SUPER_MAGIC) ? CGROUP_MOUNT : CGROUP_MOUNT_HYBRID;

	if (geteuid() != 0 || !mounted(mount, CGROUP2_SUPER_MAGIC) || !writable(AT_FDCWD, mount)) {
		SKIP("needs root and a writable version 2 mount");
	}
	(void)snprintf(h.dir[0], sizeof h.dir[0], "%s", mount);
	REQUIRE(cgroup_new(&plan, &h, &c, &e) == 0);
	CHECK(cgroup_fd(c) >= 0);
	pid_t pid = start_sleeper(c);
	REQUIRE(pid > 0);
	CHECK(group_holds(&c->groups[0], pid));
	CHECK_INT(count_ours(mount, getpid()), 1);
	cgroup_free(c);
	CHECK_INT(waitpid(pid, &status, 0), pid);
	CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	CHECK_INT(count_ours(mount, getpid()), 0);
}

/* ---- version 1 for real ---- */

TEST(the_probe_writes_nothing_and_finds_the_callers_groups) {
	struct host_cgroup h;
	NEED_V1(h);
	for (int i = 0; i < CONTROLLERS; i++) {
		CHECK(str_starts(h.dir[i], CGROUP_MOUNT));
		CHECK_INT(access(h.dir[i], F_OK), 0);
		CHECK_INT(count_ours(h.dir[i], getpid()), 0);
	}
	CHECK(h.why == NULL);
}

TEST(an_unprivileged_caller_is_told_why_version_1_is_closed) {
	struct host_cgroup h;
	NEED_V1(h);
	REQUIRE(seteuid(NOBODY) == 0);
	cgroup_probe(&h);
	REQUIRE(seteuid(0) == 0);
	CHECK_INT(h.kind, CGROUP_NONE);
	CHECK_STR(h.why, WHY_V1);
}

TEST(memory_beyond_the_limit_is_killed_and_called_oom) {
	struct host_cgroup h;
	struct plan plan = plan_without_limits();
	struct cgroup *c = NULL;
	struct usage u;
	struct err e = {0};

	NEED_V1(h);
	plan.memory_bytes = 32 * MIB;
	CHECK(exited_with(run_forked(touch_much), 0)); /* without the group it is fine */
	REQUIRE(cgroup_new(&plan, &h, &c, &e) == 0);
	CHECK(exited_with(run_limited(&plan, c, 0, touch_little), 0));
	cgroup_usage(c, &u);
	CHECK(!u.oom);
	int status = run_limited(&plan, c, 0, touch_much);
	CHECK(status != -1 && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	cgroup_usage(c, &u);
	CHECK(u.oom);
	CHECK_INT(u.processes_peak, -1); /* this run has no pids group */
	cgroup_free(c);
	CHECK_INT(count_ours(h.dir[MEMORY], getpid()), 0);
}

TEST(forks_beyond_the_limit_are_refused_and_counted) {
	struct host_cgroup h;
	struct plan plan = plan_without_limits();
	struct cgroup *c = NULL;
	struct usage u;
	struct err e = {0};

	NEED_V1(h);
	plan.max_processes = 8;
	CHECK(exited_with(run_forked(fork_many), FORKS));
	REQUIRE(cgroup_new(&plan, &h, &c, &e) == 0);
	CHECK(exited_with(run_limited(&plan, c, 0, do_nothing), 0));
	cgroup_usage(c, &u);
	CHECK(!u.processes_limited);
	CHECK(exited_with(run_limited(&plan, c, 0, fork_many),
			  7)); /* the forking one is the eighth */
	cgroup_usage(c, &u);
	CHECK(u.processes_limited);
	CHECK(u.processes_peak == 8 || u.processes_peak == -1); /* old kernels keep no peak */
	CHECK(!u.oom);
	cgroup_free(c);
	CHECK_INT(count_ours(h.dir[PIDS], getpid()), 0);
}

TEST(a_share_of_processors_is_written_as_quota_and_period) {
	struct host_cgroup h;
	struct plan plan = plan_without_limits();
	struct cgroup *c = NULL;
	struct err e = {0};
	char text[32] = "";

	NEED_V1(h);
	plan.cpu_millis = 1500;
	REQUIRE(cgroup_new(&plan, &h, &c, &e) == 0);
	CHECK(read_head(c->groups[0].dir_fd, "cpu.cfs_quota_us", text, sizeof text));
	CHECK_STR(text, "150000\n");
	CHECK(read_head(c->groups[0].dir_fd, "cpu.cfs_period_us", text, sizeof text));
	CHECK_STR(text, "100000\n");
	cgroup_free(c);
	amount_text(&plan, BANDWIDTH, text, sizeof text);
	CHECK_STR(text, "150000 100000"); /* version 2's cpu.max */
}

static void expect_pids_group(void) {
	char text[4096], own[512];
	bool in = read_head(AT_FDCWD, "/proc/self/cgroup", text, sizeof text) &&
		  own_group(text, "pids", own, sizeof own) && strstr(own, "/" NAME_PREFIX) != NULL;
	_exit(in ? 7 : 8);
}

TEST(a_child_in_a_new_user_namespace_joins_by_the_openers_right) {
	struct host_cgroup h;
	struct plan plan = plan_without_limits();
	struct cgroup *c = NULL;
	struct err e = {0};

	NEED_V1(h);
	plan.max_processes = 8;
	REQUIRE(cgroup_new(&plan, &h, &c, &e) == 0);
	CHECK(exited_with(run_limited(&plan, c, CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNS,
				      expect_pids_group),
			  7));
	CHECK(exited_with(run_forked(expect_pids_group), 8)); /* the test itself is outside */
	cgroup_free(c);
}

/* By `tasks`: the kernel stops no other process of the host for it. */
TEST(a_version_1_group_is_joined_without_a_lock_on_the_host) {
	struct host_cgroup h;
	struct plan plan = plan_without_limits();
	struct cgroup *c = NULL;
	struct err e = {0};
	const int *join = NULL;
	char fd[64], file[PATH_MAX] = "";

	NEED_V1(h);
	plan.max_processes = 8;
	REQUIRE(cgroup_new(&plan, &h, &c, &e) == 0);
	REQUIRE(cgroup_join_fds(c, false, &join) == 1);
	(void)snprintf(fd, sizeof fd, "/proc/self/fd/%d", join[0]);
	CHECK(readlink(fd, file, sizeof file - 1) > 0);
	CHECK_STR(strrchr(file, '/') + 1, "tasks");
	cgroup_free(c);
}

TEST(the_end_kills_what_is_left_in_a_version_1_group) {
	struct host_cgroup h;
	struct plan plan = plan_without_limits();
	struct cgroup *c = NULL;
	struct err e = {0};
	int status = 0;

	NEED_V1(h);
	plan.max_processes = 8;
	plan.memory_bytes = 64 * MIB;
	REQUIRE(cgroup_new(&plan, &h, &c, &e) == 0);
	pid_t pid = start_sleeper(c);
	REQUIRE(pid > 0);
	cgroup_free(c);
	CHECK_INT(waitpid(pid, &status, 0), pid);
	CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	for (int i = 0; i < CONTROLLERS; i++) {
		CHECK_INT(count_ours(h.dir[i], getpid()), 0);
	}
}

/* A process that owns a group and is killed before it can remove it. */
static pid_t make_and_die(const struct plan *plan, const struct host_cgroup *h) {
	pid_t pid = fork();
	if (pid == 0) {
		struct cgroup *c;
		struct err e;
		if (cgroup_new(plan, h, &c, &e) != 0) {
			_exit(1);
		}
		(void)kill(getpid(), SIGKILL);
	}
	return pid > 0 && waitpid(pid, NULL, 0) == pid ? pid : -1;
}

TEST(the_next_run_sweeps_the_group_of_a_killed_owner_and_no_other) {
	struct host_cgroup h;
	struct plan plan = plan_without_limits();
	struct cgroup *c = NULL, *live = NULL;
	struct err e = {0};
	char other[320];

	NEED_V1(h);
	plan.max_processes = 8;
	pid_t dead = make_and_die(&plan, &h);
	REQUIRE(dead > 0);
	CHECK_INT(count_ours(h.dir[PIDS], dead), 1);
	(void)snprintf(other, sizeof other, "%s/corral-%d-other", h.dir[PIDS], (int)dead);
	REQUIRE(mkdir(other, 0755) == 0);
	CHECK_INT(cgroup_new(&plan, &h, &live, &e), 0);
	CHECK_INT(count_ours(h.dir[PIDS], dead), 0);
	CHECK_INT(cgroup_new(&plan, &h, &c, &e), 0);
	CHECK_INT(count_ours(h.dir[PIDS], getpid()), 2); /* the live one was left */
	CHECK_INT(rmdir(other), 0);                      /* and so was the stranger */
	cgroup_free(live);
	cgroup_free(c);
	CHECK_INT(count_ours(h.dir[PIDS], getpid()), 0);
}

TESTS_MAIN
