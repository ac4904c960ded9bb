/* SPDX-License-Identifier: Apache-2.0 */
/* The backends docker and podman: the arguments of the engine, settings that are refused, the
 * report of guarantees. */
#include "docker/container.h"

#include "plan_world.h"

#define IMAGE "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static const struct host_container engine = {
	.program = "/usr/bin/docker", .seccomp = true, .memory = true, .pids = true, .cpu = true};

static int64_t choice(const char *name) {
	int64_t i = 0;
	while (!streq(keys[KEY_BACKEND].choices[i], name)) {
		i++;
	}
	return i;
}

static void world_of(struct world *w, const char *name) {
	world_init(w);
	set_num(w, KEY_BACKEND, choice(name));
	set_str(w, KEY_DOCKER_IMAGE, IMAGE);
	set_num(w, KEY_FS_HOME, HOME_EPHEMERAL);
	w->h.container = &engine;
	w->h.run_dir = "/tmp/corral-1000-x";
	w->h.run_id = "abc";
	w->h.cwd = "/home/ann/work/app";
}

static int prepare(struct world *w) {
	w->h.environ = w->environ;
	w->h.fs.ctx = &w->fs;
	w->e = (struct err){0};
	return container_prepare(&w->a, &w->p, &w->h, &w->plan, &w->e);
}

/* The place of a word, or of a word and the one after it. */
static size_t find(const struct world *w, const char *first, const char *second) {
	const struct container_run *c = w->plan.container;
	for (size_t i = 0; i < c->nrun; i++) {
		if (streq(c->run[i], first) &&
		    (second == NULL || (i + 1 < c->nrun && streq(c->run[i + 1], second)))) {
			return i;
		}
	}
	return SIZE_MAX;
}

#define HAS(w, first, second) CHECK(find(w, first, second) != SIZE_MAX)
#define LACKS(w, first, second) CHECK(find(w, first, second) == SIZE_MAX)

/* The command line of the design documents, but for its image, which has no digest there, and the
 * socket, whose file is read-only here: a connection needs no more. */
TEST(the_documents_command_line_is_in_the_arguments_word_for_word) {
	struct world w;
	world_of(&w, "docker");
	node(&w, "/home/ann/agent/bridge/index.js", 'f', NULL);
	node(&w, "/home/ann/run/bridge.sock", 's', NULL);
	set_num(&w, KEY_LIMITS_MEMORY, (int64_t)512 << 20);
	set_num(&w, KEY_LIMITS_CPUS, 1000);
	set_str(&w, KEY_FS_WORKSPACE_AT, "/workspace");
	set_str(&w, KEY_FS_AGENT, "/home/ann/agent");
	add_item(&w, KEY_NET_SOCKETS, "/home/ann/run/bridge.sock:/run/bridge.sock");
	add_item(&w, KEY_ENV_SET, "ASH_BRIDGE_SOCKET=/run/bridge.sock");
	add_item(&w, KEY_ENV_SET, "ASH_AGENT_DIR=/agent");
	if (prepare(&w) != 0) {
		printf("# %s\n", w.e.what);
		REQUIRE(false);
	}
	CHECK_STR(w.plan.container->run[0], "docker");
	CHECK_STR(w.plan.container->run[1], "run");
	CHECK_STR(w.plan.container->run[2], "--rm");
	HAS(&w, "--name", "corral-abc");
	HAS(&w, "--network=none", "--memory=512m");
	HAS(&w, "--cpus=1", NULL);
	HAS(&w, "-v", "/home/ann/work/app:/workspace");
	HAS(&w, "-v", "/home/ann/agent:/agent:ro");
	HAS(&w, "-v", "/home/ann/run/bridge.sock:/run/bridge.sock:ro");
	HAS(&w, "-e", "ASH_BRIDGE_SOCKET=/run/bridge.sock");
	HAS(&w, "-e", "ASH_AGENT_DIR=/agent");
	HAS(&w, "-w", "/workspace");
	CHECK_STR(w.plan.container->run[w.plan.container->nrun - 1], IMAGE);
	world_done(&w);
}

TEST(a_container_has_no_rights_and_its_image_is_not_pulled) {
	static const char *const words[] = {
		"--pull=never",
		"--read-only",
		"--cap-drop=ALL",
		"--security-opt=no-new-privileges",
		"--security-opt=seccomp=/tmp/corral-1000-x/seccomp.json",
		"--user=1000:1000",
		"--network=none",
		"--ipc=private"};
	static const char *const names[] = {"docker", "podman"};

	for (size_t n = 0; n < ARRAY_LEN(names); n++) {
		struct world w;
		world_of(&w, names[n]);
		REQUIRE(prepare(&w) == 0);
		CHECK_STR(w.plan.container->run[0], names[n]);
		for (size_t i = 0; i < ARRAY_LEN(words); i++) {
			HAS(&w, words[i], NULL);
		}
		for (size_t i = 0; i < w.plan.container->nrun; i++) {
			CHECK(strstr(w.plan.container->run[i], "privileged=") == NULL);
			CHECK(!str_starts(w.plan.container->run[i], "/usr:"));
		}
		world_done(&w);
	}
}

TEST(existing_names_get_mounts_and_later_ones_are_reported) {
	struct world w;
	world_of(&w, "docker");
	node(&w, "/home/ann/work/app/a.key", 'f', NULL);
	node(&w, "/home/ann/work/app/keep/guarded", 'f', NULL);
	add_pattern(&w, KEY_FS_DENY, "*.key");
	add_pattern(&w, KEY_FS_PROTECT, "keep/guard*");
	REQUIRE(prepare(&w) == 0);
	HAS(&w, "-v", "/tmp/corral-1000-x/hidden:/home/ann/work/app/a.key:ro");
	HAS(&w, "-v", "/home/ann/work/app/keep/guarded:/home/ann/work/app/keep/guarded:ro");
	LACKS(&w, "-v", "/home/ann/work/app/src/main.c:/home/ann/work/app/src/main.c:ro");
	CHECK_INT(w.plan.guarantees[GUARANTEE_FS_DENY].state, STATE_WEAKER);
	CHECK_INT(w.plan.guarantees[GUARANTEE_LIFETIME].state, STATE_WEAKER);
	CHECK_INT(w.plan.guarantees[GUARANTEE_NET].state, STATE_ENFORCED);
	CHECK_INT(w.plan.level, LEVEL_STANDARD);
	add_item(&w, KEY_REQUIRE, "lifetime");
	CHECK_INT(prepare(&w), -1);
	CHECK(strstr(w.e.what, "lifetime is required") != NULL);
	world_done(&w);
}

TEST(settings_that_the_engine_cannot_enforce_are_refused_by_name) {
	static const struct {
		enum key_id key;
		int64_t num;
	} rows[] = {
		{KEY_NET_MODE, NET_FILTERED},
		{KEY_NET_MODE, NET_RESTRICTED},
		{KEY_FS_COW, 1},
		{KEY_NESTED, 1},
		{KEY_LEVEL, LEVEL_FULL},
		{KEY_MIN_LEVEL, LEVEL_FULL},
		{KEY_LIMITS_DISK, 1 << 20},
		{KEY_COMMANDS_DEFAULT, COMMANDS_DENY},
		{KEY_MODE, MODE_FULL_ACCESS},
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct world w;
		world_of(&w, "docker");
		set_num(&w, rows[i].key, rows[i].num);
		CHECK_INT(prepare(&w), -1);
		CHECK(strstr(w.e.what, keys[rows[i].key].name) != NULL);
		CHECK(w.e.fix[0] != '\0');
		world_done(&w);
	}
}

TEST(a_limit_that_the_engine_lacks_is_refused) {
	static const struct host_container weak = {.program = "/usr/bin/podman", .seccomp = true};
	struct world w;
	world_of(&w, "podman");
	w.h.container = &weak;
	set_num(&w, KEY_LIMITS_CPUS, 1000);
	CHECK_INT(prepare(&w), -1);
	CHECK(strstr(w.e.what, "limit") != NULL);
	world_done(&w);
}

TEST(a_path_with_a_colon_is_refused) {
	struct world w;
	world_of(&w, "docker");
	node(&w, "/srv/a:b/x", 'f', NULL);
	add_item(&w, KEY_FS_READ, "/srv/a:b");
	CHECK_INT(prepare(&w), -1);
	CHECK(strstr(w.e.what, "colon") != NULL);
	world_done(&w);
}

TESTS_MAIN
