/* SPDX-License-Identifier: Apache-2.0 */
/* corral.exe: the environment of a command. */
#include "test.h"

#include "windows_world.h"

#include "windows/environment.h"

#include <stdint.h>
#include <strings.h>

static const char *const caller[] = {
	"=C:=C:\\x",
	"Path=C:\\Windows;rel;;C:\\bin",
	"SystemRoot=C:\\Windows",
	"SECRET_TOKEN=x",
	"TEMP=C:\\Users\\me\\Temp",
	"LANG=de",
	"USERPROFILE=C:\\me",
	"PSModulePath=C:\\m",
	"Mine=1",
	NULL,
};

static int make_env(struct arena *a, struct run_choices *c, struct environment *env,
		    struct err *e) {
	const struct environment_inputs in = {
		.caller = caller,
		.pass = &c->values[KEY_ENV_PASS],
		.set = &c->values[KEY_ENV_SET],
		.allow_dangerous = &c->values[KEY_ENV_ALLOW_DANGEROUS],
		.private_dir = "C:\\private",
		.workspace = "C:\\ws",
		.run_id = "id",
		.level = "standard",
	};
	return environment_make(a, &in, env, e);
}

TEST(the_environment_is_made_from_nothing) {
	struct arena a;
	struct run_choices c;
	struct environment env;
	struct err e;

	arena_init(&a);
	REQUIRE(READ(&a, &c, &e, "--pass-env", "mine", "--env", "A=b") == 0);
	REQUIRE(make_env(&a, &c, &env, &e) == 0);
	CHECK(environment_get(&env, "SECRET_TOKEN") == NULL);
	CHECK(environment_get(&env, "=C:") == NULL);
	CHECK_STR(environment_get(&env, "PATH"), "C:\\Windows;C:\\bin");
	CHECK_STR(environment_get(&env, "systemroot"), "C:\\Windows");
	CHECK_STR(environment_get(&env, "TEMP"), "C:\\private");
	CHECK_STR(environment_get(&env, "USERPROFILE"), "C:\\private");
	CHECK_STR(environment_get(&env, "LANG"), "de");
	CHECK_STR(environment_get(&env, "MINE"), "1");
	CHECK_STR(environment_get(&env, "A"), "b");
	CHECK_STR(environment_get(&env, "CORRAL_WORKSPACE"), "C:\\ws");
	for (size_t i = 1; i < env.count; i++) {
		CHECK(strcasecmp(env.entries[i - 1], env.entries[i]) < 0);
	}
	arena_done(&a);
}

TEST(a_name_has_one_value_in_any_case) {
	struct arena a;
	struct run_choices c;
	struct environment env;
	struct err e;
	size_t n = 0;

	arena_init(&a);
	REQUIRE(READ(&a, &c, &e, "--env", "path=C:\\one", "--env", "PATH=C:\\two") == 0);
	REQUIRE(make_env(&a, &c, &env, &e) == 0);
	for (size_t i = 0; i < env.count; i++) {
		n += strncasecmp(env.entries[i], "path=", 5) == 0;
	}
	CHECK_INT(n, 1);
	CHECK_STR(environment_get(&env, "Path"), "C:\\two");
	arena_done(&a);
}

TEST(dangerous_and_reserved_variables_are_refused) {
	struct arena a;
	struct run_choices c;
	struct environment env;
	struct err e;

	arena_init(&a);
	REQUIRE(READ(&a, &c, &e, "--pass-env", "PSModulePath") == 0);
	CHECK_INT(make_env(&a, &c, &env, &e), -1);
	CHECK(strstr(e.fix, "--allow-dangerous-env") != NULL);
	REQUIRE(READ(&a, &c, &e, "--env", "corral_level=full") == 0);
	CHECK_INT(make_env(&a, &c, &env, &e), -1);
	REQUIRE(READ(&a, &c, &e, "--env", "node_options=--require x") == 0);
	CHECK_INT(make_env(&a, &c, &env, &e), -1);
	REQUIRE(READ(&a, &c, &e, "--env", "NODE_OPTIONS=x", "--allow-dangerous-env",
		     "NODE_OPTIONS") == 0);
	CHECK_INT(make_env(&a, &c, &env, &e), 0);
	REQUIRE(READ(&a, &c, &e, "--pass-env", "MISSING") == 0);
	CHECK_INT(make_env(&a, &c, &env, &e), -1);
	arena_done(&a);
}

TEST(the_block_ends_with_two_nuls) {
	const char *entries[] = {"A=1", "B="};
	const struct environment two = {.entries = entries, .count = 2}, none = {0};
	uint16_t *block;
	size_t units;
	struct err e;

	REQUIRE(environment_block(&two, &block, &units, &e) == 0);
	const uint16_t want[] = {'A', '=', '1', 0, 'B', '=', 0, 0};
	CHECK_INT(units, ARRAY_LEN(want));
	CHECK(memcmp(block, want, sizeof want) == 0);
	free(block);
	REQUIRE(environment_block(&none, &block, &units, &e) == 0);
	CHECK_INT(units, 2);
	free(block);
}

TESTS_MAIN
