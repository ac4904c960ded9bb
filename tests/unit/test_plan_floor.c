/* SPDX-License-Identifier: Apache-2.0 */
/* A floor is enforced, or the run is refused (P4). */
#include "plan_world.h"

static void floor_num(struct world *w, struct value *floor, enum key_id id, int64_t num) {
	memset(floor, 0, KEY_COUNT * sizeof *floor);
	floor[id] = (struct value){
		.set = true, .num = num, .origin = {.kind = ORIGIN_FLOOR, .name = "/etc/x"}};
	w->p.floor = floor;
}

TEST(a_limit_of_the_floor_that_this_host_does_not_enforce_refuses_the_run) {
	static const struct {
		enum key_id key;
		int64_t num;
	} rows[] = {
		{KEY_LIMITS_MEMORY, 1 << 20}, {KEY_LIMITS_CPUS, 500}, {KEY_LIMITS_PROCESSES, 10}};
	struct value floor[KEY_COUNT];
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct world w;
		world_init(&w);
		w.h.privileged = true; /* an rlimit would count for nobody else's sake */
		w.h.sampling_why = "nobody can look";
		set_num(&w, rows[i].key, rows[i].num);
		CHECK_INT(build(&w), 0);
		floor_num(&w, floor, rows[i].key, rows[i].num);
		CHECK_INT(build(&w), -1);
		CHECK_INT(w.e.kind, ERR_REFUSED);
		CHECK(strstr(w.e.what, keys[rows[i].key].name) != NULL);
		w.h.cgroup.memory = w.h.cgroup.cpu = w.h.cgroup.pids = true;
		CHECK_INT(build(&w), 0);
		world_done(&w);
	}
}

TEST(the_floors_level_counts_where_the_built_in_one_was_answered) {
	struct value floor[KEY_COUNT];
	struct world w;
	world_init(&w);
	w.p.values[KEY_MIN_LEVEL].origin = (struct origin){.kind = ORIGIN_BUILTIN};
	w.h.userns = false;
	w.h.landlock_abi = 0;
	w.h.notify = false;
	w.h.run_dir = "/tmp/run";
	add_item(&w, KEY_ALLOW_DEGRADED, "fs.read");
	add_item(&w, KEY_ALLOW_DEGRADED, "fs.write");
	CHECK_INT(build(&w), 0);
	floor_num(&w, floor, KEY_MIN_LEVEL, LEVEL_MINIMAL);
	CHECK_INT(build(&w), 0);
	CHECK_INT(w.plan.level, LEVEL_MINIMAL);
	floor_num(&w, floor, KEY_MIN_LEVEL, LEVEL_STANDARD);
	CHECK_INT(build(&w), -1);
	CHECK(strstr(w.e.what, "min_level") != NULL);
	world_done(&w);
}

TESTS_MAIN
