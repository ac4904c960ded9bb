/* SPDX-License-Identifier: Apache-2.0 */
/* Limits in a plan: what is asked of the kernel on which host, and what is promised. */
#include "plan/limits.h"

#include "base/auto.h"
#include "data/syscalls.h"
#include "linux/sample_interval.h"
#include "test.h"

#include <sys/resource.h>

#define MIB (1024 * 1024)

/* ---- the plan ---- */

struct asked {
	enum key_id key;
	int64_t value;
};

static struct plan plan_for(const struct asked *asked, size_t n, const struct host *h,
			    enum engine engine) {
	struct policy p = {0};
	struct plan plan = {.engine = engine};
	struct err e = {0};
	for (size_t i = 0; i < n; i++) {
		p.values[asked[i].key] = (struct value){
			.set = true, .num = asked[i].value, .origin = {.kind = ORIGIN_OPTION}};
	}
	CHECK_INT(plan_limits(&plan, &p, h, &e), 0);
	return plan;
}

#define PLAN_FOR(h, engine, ...)                                                                   \
	plan_for((const struct asked[]){__VA_ARGS__},                                              \
		 ARRAY_LEN(((const struct asked[]){__VA_ARGS__})), (h), (engine))

static const struct host ordinary = {
	.uid = 1000, .userns = true, .cgroup = {.why = "not delegated"}};
static const struct host ordinary_v2 = {
	.uid = 1000,
	.userns = true,
	.cgroup = {.kind = CGROUP_V2, .memory = true, .pids = true, .why = "no cpu here"}};
static const struct host root_v1 = {
	.privileged = true,
	.userns = true,
	.cgroup = {.kind = CGROUP_V1, .memory = true, .pids = true, .cpu = true}};
static const struct host root_bare = {.privileged = true, .cgroup = {.why = "none"}};

static int64_t planned_rlimit(const struct plan *plan, int resource) {
	for (size_t i = 0; i < plan->nrlimits; i++) {
		if (plan->rlimits[i].resource == resource) {
			return (int64_t)plan->rlimits[i].value;
		}
	}
	return -1;
}

static const struct guarantee_report *promised(const struct plan *plan, enum guarantee g) {
	return &plan->guarantees[g];
}

static bool says(const struct guarantee_report *p, const char *words) {
	return p->why != NULL && strstr(p->why, words) != NULL;
}

TEST(without_limits_every_guarantee_is_absent_and_names_the_option) {
	struct plan plan = PLAN_FOR(&ordinary, ENGINE_NAMESPACES, {KEY_LIMITS_TIMEOUT, LIMIT_NONE});
	for (enum guarantee g = GUARANTEE_LIMITS_TIME; g <= GUARANTEE_LIMITS_DISK; g++) {
		CHECK_INT(promised(&plan, g)->state, STATE_ABSENT);
		CHECK(says(promised(&plan, g), "no limit is set (--"));
	}
	CHECK_INT(plan.nrlimits, 6);
	CHECK_INT(planned_rlimit(&plan, RLIMIT_CORE), 1);
	CHECK_INT(planned_rlimit(&plan, RLIMIT_MSGQUEUE), 409600);
	CHECK_INT(planned_rlimit(&plan, RLIMIT_SIGPENDING), 4096);
	CHECK_INT(planned_rlimit(&plan, RLIMIT_RTPRIO), 0);
	CHECK_INT(planned_rlimit(&plan, RLIMIT_NICE), 0);
	CHECK_INT(planned_rlimit(&plan, RLIMIT_MEMLOCK), 8 * MIB);
	CHECK(!plan.use_cgroup);
	CHECK_INT(plan.timeout_ms, LIMIT_NONE);
	CHECK_INT(plan.output_bytes, LIMIT_NONE);
}

TEST(an_ordinary_run_needs_no_cgroup) {
	struct plan plan = PLAN_FOR(&ordinary_v2, ENGINE_NAMESPACES, {KEY_LIMITS_PROCESSES, 512},
				    {KEY_LIMITS_OPEN_FILES, 4096}, {KEY_LIMITS_FILE_SIZE, 1 << 30},
				    {KEY_LIMITS_TMP_SIZE, 1 << 20}, {KEY_LIMITS_TIMEOUT, 120000},
				    {KEY_LIMITS_GRACE, 2000}, {KEY_LIMITS_OUTPUT, MIB});
	CHECK(!plan.use_cgroup);
	CHECK_INT(plan.max_processes, LIMIT_NONE);
	CHECK_INT(planned_rlimit(&plan, RLIMIT_NPROC), 512);
	CHECK_INT(planned_rlimit(&plan, RLIMIT_NOFILE), 4096);
	CHECK_INT(planned_rlimit(&plan, RLIMIT_FSIZE), 1 << 30);
	CHECK_INT(planned_rlimit(&plan, RLIMIT_AS), -1);
	CHECK_INT(plan.timeout_ms, 120000);
	CHECK_INT(plan.grace_ms, 2000);
	CHECK_INT(plan.tmp_size, 1 << 20);
	CHECK_INT(promised(&plan, GUARANTEE_LIMITS_PROCESSES)->state, STATE_ENFORCED);
	CHECK_STR(promised(&plan, GUARANTEE_LIMITS_PROCESSES)->by[0], "rlimit");
	CHECK_INT(promised(&plan, GUARANTEE_LIMITS_TIME)->state, STATE_ENFORCED);
	CHECK_STR(promised(&plan, GUARANTEE_LIMITS_OUTPUT)->by[0], "supervisor");
	CHECK_INT(promised(&plan, GUARANTEE_LIMITS_DISK)->state, STATE_WEAKER);
	CHECK(says(promised(&plan, GUARANTEE_LIMITS_DISK), "sum of all files in the workspace"));
}

TEST(memory_without_a_controller_is_sampled_and_so_weaker) {
	struct plan plan = PLAN_FOR(&ordinary, ENGINE_NAMESPACES, {KEY_LIMITS_MEMORY, MIB});
	CHECK_INT(promised(&plan, GUARANTEE_LIMITS_MEMORY)->state, STATE_WEAKER);
	CHECK_STR(promised(&plan, GUARANTEE_LIMITS_MEMORY)->by[0], "sampling");
	CHECK(says(promised(&plan, GUARANTEE_LIMITS_MEMORY), "sampled every 5 to 100 ms"));
	CHECK_INT(plan.sampled.memory, MIB);
	CHECK_INT(plan_memory_bytes(&plan), MIB);
	CHECK_INT(plan.memory_bytes, LIMIT_NONE);
	CHECK(!plan.use_cgroup);
}

TEST(systemd_is_asked_only_for_a_limit_that_was_set) {
	static const enum key_id asked[] = {KEY_LIMITS_MEMORY, KEY_LIMITS_CPUS,
					    KEY_LIMITS_PROCESSES};
	struct policy p = {0};
	CHECK(!plan_wants_scope(&p));
	p.values[KEY_LIMITS_PROCESSES] =
		(struct value){.set = true, .num = 512, .origin = {.kind = ORIGIN_BUILTIN}};
	CHECK(!plan_wants_scope(&p));
	for (size_t i = 0; i < ARRAY_LEN(asked); i++) {
		p = (struct policy){0};
		p.values[asked[i]] =
			(struct value){.set = true, .num = 9, .origin = {.kind = ORIGIN_OPTION}};
		CHECK(plan_wants_scope(&p));
	}
}

TEST(the_report_names_the_intervals_of_the_sampler) {
	CHECK_INT(PACE_MIN_MS, 5);
	CHECK_INT(PACE_MAX_MS, 100);
}

TEST(memory_that_can_neither_be_bounded_nor_measured_is_absent) {
	const struct host h = {
		.uid = 1000, .userns = true, .cgroup = {.why = "x"}, .sampling_why = "hidepid"};
	struct plan plan = PLAN_FOR(&h, ENGINE_NAMESPACES, {KEY_LIMITS_MEMORY, MIB});
	CHECK_INT(promised(&plan, GUARANTEE_LIMITS_MEMORY)->state, STATE_ABSENT);
	CHECK_STR(promised(&plan, GUARANTEE_LIMITS_MEMORY)->why, "hidepid");
	CHECK_INT(plan.sampled.memory, 0);
}

TEST(a_run_without_such_limits_is_not_sampled) {
	struct plan plan = PLAN_FOR(&ordinary, ENGINE_LANDLOCK, {KEY_LIMITS_FILE_SIZE, MIB});
	CHECK_INT(plan.sampled.memory, 0);
	CHECK_INT(plan.sampled.processes, 0);
	CHECK_INT(plan.sampled.disk, 0);
	CHECK_INT(plan.processors, 0);
}

TEST(memory_with_a_controller_is_enforced_and_the_group_counts_processes_too) {
	struct plan plan = PLAN_FOR(&ordinary_v2, ENGINE_NAMESPACES, {KEY_LIMITS_MEMORY, MIB},
				    {KEY_LIMITS_PROCESSES, 64});
	CHECK(plan.use_cgroup);
	CHECK_INT(plan.memory_bytes, MIB);
	CHECK_INT(plan.max_processes, 64);
	CHECK_INT(promised(&plan, GUARANTEE_LIMITS_MEMORY)->state, STATE_ENFORCED);
	CHECK_STR(promised(&plan, GUARANTEE_LIMITS_PROCESSES)->by[0], "rlimit");
	CHECK_STR(promised(&plan, GUARANTEE_LIMITS_PROCESSES)->by[1], "cgroup");
}

TEST(root_needs_the_pids_controller_for_a_process_limit) {
	struct plan with = PLAN_FOR(&root_v1, ENGINE_NAMESPACES, {KEY_LIMITS_PROCESSES, 64});
	struct plan bare = PLAN_FOR(&root_bare, ENGINE_NAMESPACES, {KEY_LIMITS_PROCESSES, 64});
	CHECK(with.use_cgroup);
	CHECK_INT(with.max_processes, 64);
	CHECK_INT(promised(&with, GUARANTEE_LIMITS_PROCESSES)->state, STATE_ENFORCED);
	CHECK_STR(promised(&with, GUARANTEE_LIMITS_PROCESSES)->by[0], "cgroup");
	CHECK(!bare.use_cgroup);
	CHECK_INT(promised(&bare, GUARANTEE_LIMITS_PROCESSES)->state, STATE_WEAKER);
	CHECK_STR(promised(&bare, GUARANTEE_LIMITS_PROCESSES)->by[0], "sampling");
	CHECK_INT(bare.sampled.processes, 64);
}

TEST(outside_a_user_namespace_the_process_rlimit_is_not_used) {
	struct plan plan = PLAN_FOR(&ordinary, ENGINE_LANDLOCK, {KEY_LIMITS_PROCESSES, 64});
	CHECK_INT(planned_rlimit(&plan, RLIMIT_NPROC), -1);
	CHECK_INT(promised(&plan, GUARANTEE_LIMITS_PROCESSES)->state, STATE_WEAKER);
	CHECK_INT(plan.sampled.processes, 64);
}

/* Every run has it, and sampling is for those that ask. */
TEST(the_built_in_number_of_processes_is_not_sampled) {
	struct policy p = {0};
	struct value floor[KEY_COUNT] = {0};
	struct plan plan = {.engine = ENGINE_LANDLOCK};
	struct err e = {0};
	p.values[KEY_LIMITS_PROCESSES] = (struct value){.set = true, .num = 512};
	CHECK_INT(plan_limits(&plan, &p, &ordinary, &e), 0);
	CHECK_INT(plan.sampled.processes, 0);
	CHECK_INT(promised(&plan, GUARANTEE_LIMITS_PROCESSES)->state, STATE_ABSENT);
	CHECK(says(promised(&plan, GUARANTEE_LIMITS_PROCESSES), "--processes"));
	CHECK(!plan_wants_samples(&p, &ordinary));
	floor[KEY_LIMITS_PROCESSES] = (struct value){.set = true, .num = 1000};
	p.floor = floor;
	CHECK_INT(plan_limits(&plan, &p, &ordinary, &e), 0);
	CHECK_INT(plan.sampled.processes, 512);
	CHECK(plan_wants_samples(&p, &ordinary));
}

TEST(growth_on_disk_is_sampled) {
	struct plan plan = PLAN_FOR(&ordinary, ENGINE_LANDLOCK, {KEY_LIMITS_DISK, MIB});
	CHECK_INT(plan.sampled.disk, MIB);
	CHECK_INT(promised(&plan, GUARANTEE_LIMITS_DISK)->state, STATE_WEAKER);
	CHECK_STR(promised(&plan, GUARANTEE_LIMITS_DISK)->by[0], "sampling");
	CHECK(says(promised(&plan, GUARANTEE_LIMITS_DISK), "sampled"));
}

TEST(one_process_leaves_room_for_our_pid_1) {
	struct plan plan = PLAN_FOR(&ordinary, ENGINE_NAMESPACES, {KEY_LIMITS_PROCESSES, 1});
	CHECK_INT(planned_rlimit(&plan, RLIMIT_NPROC), 2);
}

TEST(processor_time_is_rounded_up_and_weaker_because_it_is_per_process) {
	struct plan plan = PLAN_FOR(&ordinary, ENGINE_NAMESPACES, {KEY_LIMITS_CPU_TIME, 1001});
	CHECK_INT(planned_rlimit(&plan, RLIMIT_CPU), 2);
	CHECK_INT(promised(&plan, GUARANTEE_LIMITS_CPU)->state, STATE_WEAKER);
	CHECK_STR(promised(&plan, GUARANTEE_LIMITS_CPU)->by[0], "rlimit");
}

TEST(a_share_of_processors_is_enforced_only_by_the_cpu_controller) {
	struct plan with = PLAN_FOR(&root_v1, ENGINE_NAMESPACES, {KEY_LIMITS_CPUS, 1500});
	struct plan without = PLAN_FOR(&ordinary_v2, ENGINE_NAMESPACES, {KEY_LIMITS_CPUS, 1500});
	struct plan both = PLAN_FOR(&root_v1, ENGINE_NAMESPACES, {KEY_LIMITS_CPUS, 1500},
				    {KEY_LIMITS_CPU_TIME, 1000});
	CHECK_INT(promised(&with, GUARANTEE_LIMITS_CPU)->state, STATE_ENFORCED);
	CHECK_INT(with.cpu_millis, 1500);
	CHECK_INT(promised(&without, GUARANTEE_LIMITS_CPU)->state, STATE_WEAKER);
	CHECK_STR(promised(&without, GUARANTEE_LIMITS_CPU)->by[0], "affinity");
	CHECK(says(promised(&without, GUARANTEE_LIMITS_CPU), "rounded up"));
	CHECK_INT(without.processors, 2);
	CHECK(without.traits & TRAIT_PINNED);
	CHECK_INT(without.cpu_millis, LIMIT_NONE);
	CHECK_INT(promised(&both, GUARANTEE_LIMITS_CPU)->state, STATE_WEAKER);
	CHECK_STR(promised(&both, GUARANTEE_LIMITS_CPU)->by[1], "rlimit");
}

TEST(a_whole_number_of_processors_is_not_rounded) {
	struct plan whole = PLAN_FOR(&ordinary, ENGINE_LANDLOCK, {KEY_LIMITS_CPUS, 2000});
	struct plan none = PLAN_FOR(&ordinary, ENGINE_NONE, {KEY_LIMITS_CPUS, 2000});
	CHECK_INT(whole.processors, 2);
	CHECK_INT(promised(&whole, GUARANTEE_LIMITS_CPU)->state, STATE_WEAKER);
	CHECK(!says(promised(&whole, GUARANTEE_LIMITS_CPU), "rounded"));
	CHECK(says(promised(&none, GUARANTEE_LIMITS_CPU), "can change it"));
	CHECK_INT(none.traits & TRAIT_PINNED, 0);
}

TEST(an_idle_limit_alone_is_a_weaker_time_limit) {
	struct plan plan = PLAN_FOR(&ordinary, ENGINE_NAMESPACES, {KEY_LIMITS_IDLE_TIMEOUT, 1000});
	CHECK_INT(promised(&plan, GUARANTEE_LIMITS_TIME)->state, STATE_WEAKER);
	CHECK_INT(plan.idle_ms, 1000);
}

TEST(a_negative_limit_is_refused) {
	struct policy p = {0};
	struct plan plan = {.engine = ENGINE_NAMESPACES};
	struct err e = {0};
	p.values[KEY_LIMITS_MEMORY] = (struct value){.set = true, .num = -5};
	CHECK_INT(plan_limits(&plan, &p, &ordinary, &e), -1);
	CHECK_INT(e.kind, ERR_USAGE);
}

TESTS_MAIN
