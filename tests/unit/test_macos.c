/* SPDX-License-Identifier: Apache-2.0 */
/* corral for macOS, the parts that make no call of it: options, the words that start a command, the
 * files of a run, the tree of processes, limits, and the result. */
#include "every_option.h"
#include "plan_world.h"

#include "data/other_builds.h"
#include "macos/arguments.h"
#include "macos/choices.h"
#include "macos/limits.h"
#include "macos/result.h"
#include "macos/run_files.h"
#include "macos/tree.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define RUN_DIR "/private/tmp/corral-1000-0123456789abcdef"

/* ---- a Mac, and options read there ---- */

static void mac_init(struct world *w) {
	world_init(w);
	host_as_macos(&w->h);
	w->h.run_dir = RUN_DIR;
	w->h.environ = w->environ;
	w->h.fs.ctx = &w->fs;
}

static int read_words(struct world *w, struct choices *c, struct err *e, const char *const *words,
		      size_t n) {
	static const char *kept[32]; /* the choices refer to them; a literal ends with its block */

	assert(n < ARRAY_LEN(kept));
	memcpy(kept, words, n * sizeof *words);
	kept[n] = NULL;
	*e = (struct err){0};
	return choices_read(&w->a, &w->h, kept, n, c, e);
}
#define READ(w, c, e, ...)                                                                         \
	read_words(w, c, e, (const char *const[]){__VA_ARGS__},                                    \
		   ARRAY_LEN(((const char *const[]){__VA_ARGS__})))

/* ---- options ---- */

static int read_one(void *arg, const char *const *words, size_t n, struct err *e) {
	static struct choices c;

	return read_words(arg, &c, e, words, n);
}

TEST(no_option_is_accepted_and_ignored) {
	static struct world w;
	struct buf help;

	mac_init(&w);
	buf_init(&help);
	choices_help(&help);
	check_every_option(&help, read_one, &w);
	CHECK(strstr(help.data, "--seatbelt") != NULL);
	buf_done(&help);
	world_done(&w);
}

TEST(options_set_the_policy_and_add_to_the_defaults) {
	static struct choices c, plain;
	static struct world w;
	struct err e;

	mac_init(&w);
	REQUIRE(READ(&w, &plain, &e, "true") == 0);
	REQUIRE(READ(&w, &c, &e, "--timeout=2m", "-m", "64M", "--json", "--protect", "a.txt",
		     "--set", "limits.processes=7", "--", "x", "-t") == 0);
	CHECK_INT(policy_num(&c.policy, KEY_LIMITS_TIMEOUT), 120000);
	CHECK_INT(policy_num(&c.policy, KEY_LIMITS_MEMORY), 64 << 20);
	CHECK_INT(policy_num(&c.policy, KEY_LIMITS_PROCESSES), 7);
	CHECK_INT(c.policy.values[KEY_FS_PROTECT].count,
		  plain.policy.values[KEY_FS_PROTECT].count + 1);
	CHECK(plain.policy.values[KEY_FS_PROTECT].count > 1);
	CHECK_INT(policy_num(&plain.policy, KEY_LIMITS_TIMEOUT), 120000); /* of a tool call */
	CHECK_INT(policy_num(&c.policy, KEY_NET_MODE), NET_NONE);
	CHECK_STR(c.policy.values[KEY_WORKSPACE].str, w.h.cwd);
	CHECK(c.run.json && !plain.run.json);
	CHECK_INT(c.run.argc, 2);
	CHECK_STR(c.run.argv[1], "-t");
	world_done(&w);
}

TEST(wrong_options_name_themselves) {
	static const char *const lines[][2] = {
		{"--nonsense", "x"},         {"--json=1", "x"},        {"--net", "filtered"},
		{"--set", "nonsense=1"},     {"--set", "fs.cow=true"}, {"-c", "ls"},
		{"--policy", "/tmp/p.toml"}, {"--timeout", "soon"},    {"--cow", "x"},
	};
	static struct choices c;
	static struct world w;
	struct err e;

	mac_init(&w);
	for (size_t i = 0; i < ARRAY_LEN(lines); i++) {
		CHECK_INT(read_words(&w, &c, &e, lines[i], 2), -1);
		CHECK_INT(e.kind, ERR_USAGE);
	}
	CHECK_INT(READ(&w, &c, &e, "--net", "filtered"), -1);
	CHECK(strstr(e.fix, "--host-port") != NULL);
	CHECK_INT(READ(&w, &c, &e, "--json"), -1);
	CHECK(strstr(e.what, "no command") != NULL);
	CHECK_INT(READ(&w, &c, &e, "--seatbelt"), 0);
	world_done(&w);
}

/* ---- the plan of a run ---- */

static const char *variable_of(const struct plan *p, const char *name) {
	size_t n = strlen(name);
	for (size_t i = 0; p->env[i] != NULL; i++) {
		if (strncmp(p->env[i], name, n) == 0 && p->env[i][n] == '=') {
			return p->env[i] + n + 1;
		}
	}
	return "";
}

TEST(a_run_has_a_private_tmpdir_and_home_and_enforces_nothing) {
	static struct choices c;
	static struct world w;
	static struct plan plan;
	struct err e;

	mac_init(&w);
	REQUIRE(READ(&w, &c, &e, "--home", "ephemeral", "--", "true") == 0);
	REQUIRE(plan_build(&w.a, &c.policy, &w.h, &plan, &e) == 0);
	CHECK(path_within(variable_of(&plan, "TMPDIR"), RUN_DIR));
	CHECK(path_within(variable_of(&plan, "HOME"), RUN_DIR));
	for (size_t i = 0; i < plan.nmounts; i++) {
		bool made =
			plan.mounts[i].kind == MOUNT_PRIVATE || plan.mounts[i].kind == MOUNT_FILE;
		CHECK(!made || path_within(plan.mounts[i].target, RUN_DIR));
	}
	for (enum guarantee g = 0; g < GUARANTEE_COUNT; g++) {
		if (plan.guarantees[g].state == STATE_ENFORCED) {
			printf("# %s is reported as enforced\n", guarantee_name(g));
			CHECK(false);
		}
	}
	CHECK_INT(plan.guarantees[GUARANTEE_LEAKS].state, STATE_ABSENT);
	world_done(&w);
}

/* ---- the words that start a command ---- */

TEST(the_command_stands_behind_the_profile_and_two_dashes) {
	struct arena a;
	struct seatbelt_param params[] = {{"WORKSPACE", "/w s"}, {"READABLE_0", "/usr"}};
	const struct seatbelt_profile profile = {
		.text = "(version 1)", .params = params, .nparams = 2};
	char *const argv[] = {(char[]){"-n"}, (char[]){"x=y"}, NULL};
	const struct macos_command command = {.profile = &profile, .argv = argv};
	static const char *const want[] = {
		SANDBOX_EXEC,        "-p", "(version 1)", "-DWORKSPACE=/w s",
		"-DREADABLE_0=/usr", "--", "-n",          "x=y"};

	arena_init(&a);
	char **got = macos_arguments(&a, &command);
	REQUIRE(got != NULL);
	for (size_t i = 0; i < ARRAY_LEN(want); i++) {
		REQUIRE(got[i] != NULL);
		CHECK_STR(got[i], want[i]);
	}
	CHECK(got[ARRAY_LEN(want)] == NULL);
	CHECK(got[0][0] == '/');
	const char **pairs = macos_parameters(&a, &profile);
	REQUIRE(pairs != NULL);
	for (size_t i = 0; i < 2; i++) {
		CHECK_STR(pairs[2 * i], params[i].name);
		CHECK_STR(pairs[2 * i + 1], params[i].value);
	}
	CHECK(pairs[4] == NULL);
	arena_done(&a);
}

/* ---- the files of a run ---- */

static char *beneath(struct arena *a, const char *dir, const char *name) {
	char *path = path_join(a, dir, name);
	return path == NULL ? (abort(), NULL) : path;
}

TEST(the_files_of_a_run_are_private_and_go_with_it) {
	char place[] = "/tmp/corral-test-XXXXXX";
	struct arena a;
	struct err e = {0};
	struct stat st;

	arena_init(&a);
	REQUIRE(mkdtemp(place) != NULL);
	char *run = beneath(&a, place, "run"), *other = beneath(&a, place, "other");
	char *tmp = beneath(&a, run, "tmp"), *home = beneath(&a, run, "home/deep");
	char *text = beneath(&a, run, "tmp/gitconfig"), *kept = beneath(&a, other, "kept");
	struct mount mounts[] = {
		{.kind = MOUNT_PRIVATE, .target = tmp},
		{.kind = MOUNT_BIND, .target = other},
		{.kind = MOUNT_PRIVATE, .target = home},
		{.kind = MOUNT_FILE, .target = text, .text = "[user]\n"},
	};
	const struct plan plan = {.run_dir = run, .mounts = mounts, .nmounts = ARRAY_LEN(mounts)};
	REQUIRE(mkdir(other, 0755) == 0);
	int fd = open(kept, O_CREAT | O_WRONLY | O_CLOEXEC, 0644);
	REQUIRE(fd >= 0);
	close(fd);

	REQUIRE(macos_prepare(&plan, &e) == 0);
	CHECK(stat(home, &st) == 0 && (st.st_mode & 0777) == 0700);
	CHECK(stat(text, &st) == 0 && st.st_size == 7 && (st.st_mode & 0777) == 0600);
	CHECK_INT(macos_prepare(&plan, &e), -1); /* somebody made it before */
	CHECK_INT(e.sys, EEXIST);

	/* Nothing is written elsewhere, whatever a plan says. */
	struct mount outside[] = {{.kind = MOUNT_FILE, .target = kept, .text = "x"}};
	char *second = beneath(&a, place, "second");
	const struct plan wrong = {.run_dir = second, .mounts = outside, .nmounts = 1};
	CHECK_INT(macos_prepare(&wrong, &e), -1);
	CHECK(stat(kept, &st) == 0 && st.st_size == 0);
	macos_clean(&wrong);

	/* A link of the command: the directory behind it stays. */
	REQUIRE(symlink(other, beneath(&a, tmp, "link")) == 0);
	macos_clean(&plan);
	CHECK(lstat(run, &st) != 0 && errno == ENOENT);
	CHECK(stat(kept, &st) == 0);
	CHECK(unlink(kept) == 0 && rmdir(other) == 0 && rmdir(place) == 0);
	arena_done(&a);
}

/* ---- the tree of processes ---- */

#define SELF 50
#define FIRST 100

static bool in_tree(const struct tree *t, pid_t pid, uint64_t started) {
	for (size_t i = 0; i < t->count; i++) {
		if (t->members[i].pid == pid && t->members[i].started_us == started) {
			return true;
		}
	}
	return false;
}

TEST(a_tree_has_descendants_and_members_of_the_session) {
	/* A child is listed before its parent. */
	const struct process all[] = {
		{103, 102, 7, 4},     {1, 0, 1, 1},           {SELF, 1, SELF, 1},
		{102, 101, FIRST, 3}, {101, FIRST, FIRST, 2}, {FIRST, SELF, FIRST, 1},
		{104, 1, FIRST, 5},   {200, 1, 200, 1},       {201, 200, 200, 2},
	};
	static struct tree t;

	t = (struct tree){.first = FIRST};
	tree_update(&t, all, ARRAY_LEN(all), SELF);
	CHECK_INT(t.count, 5);
	CHECK(in_tree(&t, 103, 4) && in_tree(&t, 104, 5));
	CHECK(!in_tree(&t, 1, 1) && !in_tree(&t, SELF, 1) && !in_tree(&t, 201, 2));
	CHECK(!t.full);
}

TEST(a_process_that_left_is_followed_and_one_with_its_pid_is_not) {
	const struct process before[] = {{FIRST, SELF, FIRST, 1}, {101, FIRST, FIRST, 2}};
	const struct process left[] = {{101, 1, 101, 2}, {102, 101, 101, 3}};
	const struct process reused[] = {{101, 1, 101, 9}, {102, 1, 101, 3}};
	static struct tree t;

	t = (struct tree){.first = FIRST};
	tree_update(&t, before, ARRAY_LEN(before), SELF);
	tree_update(&t, left, ARRAY_LEN(left), SELF);
	CHECK_INT(t.count, 2);
	CHECK(in_tree(&t, 101, 2) && in_tree(&t, 102, 3));
	tree_update(&t, reused, ARRAY_LEN(reused), SELF);
	CHECK_INT(t.count, 1);
	CHECK(in_tree(&t, 102, 3) && !in_tree(&t, 101, 9));
	tree_update(&t, reused, 0, SELF);
	CHECK_INT(t.count, 0);
}

TEST(a_tree_that_is_too_large_says_so) {
	static struct process all[TREE_MAX + 2];
	static struct tree t;

	t = (struct tree){.first = FIRST};
	for (size_t i = 0; i < ARRAY_LEN(all); i++) {
		all[i] = (struct process){(pid_t)(FIRST + i), SELF, FIRST, i};
	}
	tree_update(&t, all, TREE_MAX, SELF);
	CHECK(!t.full);
	CHECK_INT(t.count, TREE_MAX);
	tree_update(&t, all, ARRAY_LEN(all), SELF);
	CHECK(t.full);
}

/* ---- limits ---- */

TEST(a_limit_ends_the_run_and_time_comes_first) {
	const struct plan plan = {
		.timeout_ms = 1000, .idle_ms = 100, .sampled = {.memory = 1 << 20, .processes = 2}};
	const struct plan none = {.timeout_ms = LIMIT_NONE, .idle_ms = LIMIT_NONE};
	const struct tree_usage small = {.memory = 1 << 20, .processes = 2};
	const struct tree_usage large = {.memory = (1 << 20) + 1, .processes = 2};
	const struct tree_usage many = {.memory = 1, .processes = 3};
	const struct macos_times early = {0, 50, 99}, silent = {0, 50, 150}, late = {0, 999, 1000};

	CHECK_INT(macos_limits(&plan, &early, &small, false), ENDING_EXITED);
	CHECK_INT(macos_limits(&plan, &early, &large, false), ENDING_MEMORY);
	CHECK_INT(macos_limits(&plan, &early, &many, false), ENDING_PROCESSES);
	CHECK_INT(macos_limits(&plan, &silent, &small, false), ENDING_IDLE);
	CHECK_INT(macos_limits(&plan, &late, &large, false), ENDING_TIMEOUT);
	/* What cannot be measured is not within its limit. */
	CHECK_INT(macos_limits(&plan, &early, NULL, false), ENDING_UNMEASURED);
	CHECK_INT(macos_limits(&none, &late, NULL, false), ENDING_EXITED);
	CHECK_INT(macos_limits(&none, &late, &large, true), ENDING_PROCESSES);
	CHECK_INT(macos_grace_ms(&(struct plan){.grace_ms = LIMIT_NONE}), 60000);
	CHECK_INT(macos_grace_ms(&(struct plan){.grace_ms = 5}), 5);
}

/* ---- the result ---- */

#define EXITED(code) ((code) << 8)

TEST(reasons_and_statuses_are_those_of_linux) {
	const struct plan plan = {.nrlimits = 0},
			  limited = {.rlimits = {{RLIMIT_CPU, 1}}, .nrlimits = 1};
	static const struct {
		struct macos_outcome o;
		bool limited;
		const char *reason;
		int status;
	} rows[] = {
		{{.ending = ENDING_EXITED, .status = EXITED(3)}, false, "exit", 3},
		{{.ending = ENDING_EXITED, .status = SIGSEGV}, false, "signal", 128 + SIGSEGV},
		{{.ending = ENDING_EXITED, .status = SIGXCPU}, true, "limit", 128 + SIGXCPU},
		{{.ending = ENDING_EXITED, .status = SIGXCPU}, false, "signal", 128 + SIGXCPU},
		{{.ending = ENDING_TIMEOUT, .status = SIGKILL}, false, "timeout", 124},
		{{.ending = ENDING_IDLE, .status = EXITED(0)}, false, "idle", 124},
		{{.ending = ENDING_MEMORY, .status = SIGKILL}, false, "oom", 128 + SIGKILL},
		{{.ending = ENDING_PROCESSES, .status = SIGKILL}, false, "limit", 128 + SIGKILL},
		{{.ending = ENDING_UNMEASURED, .status = SIGKILL}, false, "limit", 128 + SIGKILL},
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CHECK_STR(macos_reason(rows[i].limited ? &limited : &plan, &rows[i].o),
			  rows[i].reason);
		CHECK_INT(macos_status(&rows[i].o), rows[i].status);
	}
}

TEST(the_result_says_that_enforcement_has_not_been_run) {
	static struct choices c;
	static struct world w;
	static struct plan plan;
	struct err e;
	struct buf out;
	struct capture captures[2];
	const struct macos_outcome o = {
		.ending = ENDING_EXITED, .status = EXITED(3), .max_memory = 4096};

	mac_init(&w);
	REQUIRE(READ(&w, &c, &e, "--", "true") == 0);
	REQUIRE(plan_build(&w.a, &c.policy, &w.h, &plan, &e) == 0);
	capture_init(&captures[0], LIMIT_NONE);
	capture_init(&captures[1], LIMIT_NONE);
	capture_add(&captures[0], "hello\n", 6);
	const struct macos_result r = {.plan = &plan,
				       .policy = &c.policy,
				       .outcome = &o,
				       .captures = captures,
				       .id = "id"};
	buf_init(&out);
	REQUIRE(macos_result_json(&r, &out) == 0);
	CHECK(strstr(out.data, "\"reason\":\"exit\",\"exit_code\":3,\"signal\":null") != NULL);
	CHECK(strstr(out.data, "\"stdout\":\"hello\\n\",\"stderr\":\"\"") != NULL);
	CHECK(strstr(out.data, "\"notes\":[\"" NOT_RUN_MACOS "\"]") != NULL);
	CHECK(strstr(out.data, "\"name\":\"fs.write\",\"state\":\"weaker\"") != NULL);
	CHECK(strstr(out.data, "\"max_rss_kb\":4") != NULL);
	CHECK(strstr(out.data, "\"error\"") == NULL);
	buf_done(&out);
	for (int json = 0; json < 2; json++) {
		buf_init(&out);
		macos_status_print(&plan, json == 1, &out);
		REQUIRE(!buf_failed(&out));
		CHECK(strstr(out.data, NOT_RUN_MACOS) != NULL);
		CHECK(strstr(out.data, "fs.write") != NULL);
		buf_done(&out);
	}
	capture_done(&captures[0]);
	capture_done(&captures[1]);
	world_done(&w);
}

TEST(a_failure_has_the_same_object_and_an_error) {
	struct err e = {0};
	struct buf out;
	const struct macos_result r = {.failure = &e, .id = "id", .started_ms = -1};

	(void)err_set(&e, ERR_SETUP, "seatbelt", "cannot");
	buf_init(&out);
	REQUIRE(macos_result_json(&r, &out) == 0);
	CHECK(strstr(out.data, "\"reason\":\"setup\",\"exit_code\":null") != NULL);
	CHECK(strstr(out.data, "\"guarantees\":[]") != NULL);
	CHECK(strstr(out.data, "\"error\":{\"layer\":\"seatbelt\",\"message\":\"cannot\"") != NULL);
	buf_done(&out);
}

TESTS_MAIN
