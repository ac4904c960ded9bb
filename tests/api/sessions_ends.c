/* SPDX-License-Identifier: Apache-2.0 */
/* The ends of commands and sessions: background processes, kills, limits, the owner's end. */
#include "sessions_world.h"

/* ---- ends ---- */

static void check_background(struct corral_session *s) {
	int out[2], other[2];
	char line[64];

	REQUIRE(pipe2(out, O_CLOEXEC) == 0 && pipe2(other, O_CLOEXEC) == 0);
	struct corral_exec *x = start(s, HIDDEN " sleep 0.1; echo ready", out[1]);
	REQUIRE(x != NULL);
	(void)close(out[1]);
	read_line(out[0], line, sizeof line);
	CHECK_STR(ends_with(x), "exit"); /* although its children go on */
	CHECK(open_now(out[0]));
	/* Another command sees and ends them. */
	x = start(s, "echo started; sleep 1000", other[1]);
	REQUIRE(x != NULL);
	(void)close(other[1]);
	read_line(other[0], line, sizeof line);
	CHECK_INT(sh(s, "for i in $(seq 20); do pkill -f '[s]leep 1000'; sleep 0.05; done; :", NULL,
		     0),
		  0);
	CHECK(all_closed(out[0]));
	CHECK(all_closed(other[0]));
	corral_exec_free(x);
	(void)close(out[0]);
	(void)close(other[0]);
}

TEST(background_processes_outlive_their_command_and_others_can_signal_them) {
	each_level(check_background);
}

static void check_kill(struct corral_session *s) {
	int killed[2], kept[2];
	char line[64];

	REQUIRE(pipe2(killed, O_CLOEXEC) == 0 && pipe2(kept, O_CLOEXEC) == 0);
	struct corral_exec *other = start(s, HIDDEN " echo ready; sleep 1000", kept[1]);
	struct corral_exec *x = start(s, HIDDEN " echo ready; sleep 1000", killed[1]);
	REQUIRE(x != NULL && other != NULL);
	(void)close(killed[1]);
	(void)close(kept[1]);
	read_line(killed[0], line, sizeof line);
	read_line(kept[0], line, sizeof line);
	corral_exec_kill(x);
	CHECK_STR(ends_with(x), "cancelled");
	struct pollfd slot = {.fd = killed[0], .events = POLLIN};
	CHECK_INT(poll(&slot, 1, 0), 1); /* at once: all of them are gone */
	CHECK(all_closed(killed[0]));
	CHECK(open_now(kept[0])); /* the other command's are not */
	CHECK(corral_session_alive(s));
	corral_exec_free(other);
	CHECK(all_closed(kept[0]));
	(void)close(killed[0]);
	(void)close(kept[0]);
}

TEST(Z5_a_kill_ends_the_tree_of_one_command_and_no_other) {
	each_level(check_kill);
}

/* corral_session_run() in a thread, killed from another. */
static void *keyed(void *arg) {
	struct job *j = arg;
	struct corral_exec_options o = CORRAL_EXEC_OPTIONS_INIT;
	const char *argv[] = {"sh", "-c", HIDDEN " echo begun; sleep 1000", NULL};

	o.key = (uint64_t)j->number;
	struct corral_result *r = run(j->s, argv, &o);
	j->right = r != NULL && strcmp(corral_result_reason(r), "cancelled") == 0;
	corral_result_free(r);
	return NULL;
}

static void check_key(struct corral_session *s) {
	struct job first = {.s = s, .number = 1}, second = {.s = s, .number = 2};
	pthread_t threads[2];

	REQUIRE(pthread_create(&threads[0], NULL, keyed, &first) == 0);
	REQUIRE(pthread_create(&threads[1], NULL, keyed, &second) == 0);
	CHECK_INT(corral_session_kill(s, 3), 0);
	while (corral_session_kill(s, 1) == 0) {
		(void)usleep(1000); /* until it has started */
	}
	(void)pthread_join(threads[0], NULL);
	CHECK(first.right);
	CHECK_INT(corral_session_kill(s, 1), 0);
	while (corral_session_kill(s, 2) == 0) {
		(void)usleep(1000);
	}
	(void)pthread_join(threads[1], NULL);
	CHECK(second.right);
}

TEST(another_thread_kills_a_command_by_its_key) {
	each_level(check_key);
}

static void check_timeout(struct corral_session *s) {
	const char *argv[] = {"sh", "-c", HIDDEN " trap '' TERM; echo begun; sleep 1000", NULL};
	struct corral_exec_options o = CORRAL_EXEC_OPTIONS_INIT;
	int out[2];

	REQUIRE(pipe2(out, O_CLOEXEC) == 0);
	o.timeout_ms = 500;
	o.fds = &out[1];
	o.nfds = 1;
	struct corral_result *r = run(s, argv, &o);
	(void)close(out[1]);
	REQUIRE(r != NULL);
	CHECK_STR(corral_result_reason(r), "timeout");
	CHECK_INT(corral_result_status(r), 124);
	CHECK_STR(corral_result_stdout(r, NULL, NULL), "begun\n");
	CHECK(corral_result_duration_ms(r) >= 500);
	corral_result_free(r);
	CHECK(all_closed(out[0]));
	CHECK_INT(sh(s, "true", NULL, 0), 0);
	(void)close(out[0]);
}

TEST(Z5_a_time_out_ends_the_tree_and_the_session_goes_on) {
	each_level(check_timeout);
}

static void check_limits(struct corral_session *s) {
	struct corral_exec_options o = CORRAL_EXEC_OPTIONS_INIT;
	const char *spin[] = {"sh", "-c", "while :; do :; done", NULL};
	char out[64];

	o.cpu_seconds = 1;
	struct corral_result *r = run(s, spin, &o);
	REQUIRE(r != NULL);
	CHECK_INT(corral_result_signal(r), SIGXCPU);
	corral_result_free(r);
	o = (struct corral_exec_options)CORRAL_EXEC_OPTIONS_INIT;
	o.file_bytes = 1000;
	CHECK(sh_with(s, "head -c 5000 /dev/zero >f", &o, NULL, 0) != 0);
	CHECK_INT(sh(s, "stat -c %s f; head -c 5000 /dev/zero >g; stat -c %s g; rm f g", out,
		     sizeof out),
		  0);
	CHECK_STR(out, "1000\n5000\n");
}

TEST(a_limit_of_one_command_is_not_that_of_the_next) {
	each_level(check_limits);
}

/* Sanitized, pid 1 and the zygote use more memory than the command would get. */
#ifdef __SANITIZE_ADDRESS__
#define MEMORY "600M"
#else
#define MEMORY "64M"
#endif

/* Where the memory of a session is limited by a control group. */
static void check_memory(void) {
	const char *greedy[] = {"sh", "-c", "exec tail /dev/zero", NULL};
	struct corral_policy *policy = policy_of("full");

	(void)corral_policy_set(policy, "limits.memory", MEMORY, NULL);
	(void)corral_policy_set(policy, "require", "limits.memory", NULL);
	struct corral_session *s = open_with(policy);
	if (s == NULL) {
		printf("# no control group limits memory here\n");
	}
	for (int i = 0; s != NULL && i < 2 && corral_session_alive(s); i++) {
		struct corral_result *r = run(s, greedy, NULL);
		CHECK(r != NULL && strcmp(corral_result_reason(r), "oom") == 0);
		corral_result_free(r);
		CHECK_INT(sh(s, "kill -9 $$", NULL, 0), 128 + 9);
		r = run(s, (const char *const[]){"sh", "-c", "kill -9 $$", NULL}, NULL);
		CHECK(r != NULL && strcmp(corral_result_reason(r), "signal") == 0);
		corral_result_free(r);
	}
	corral_session_close(s);
	corral_policy_free(policy);
}

TEST(a_command_that_the_oom_killer_ends_has_that_reason_and_the_next_has_not) {
	world_begin();
	check_memory();
	world_end();
}

static size_t open_descriptors(void) {
	DIR *dir = opendir("/proc/self/fd");
	size_t n = 0;

	while (dir != NULL && readdir(dir) != NULL) {
		n++;
	}
	(void)closedir(dir);
	return n;
}

static size_t before_all;

static void check_leftovers(struct corral_session *s) {
	size_t before = open_descriptors();

	for (int i = 0; i < 3; i++) {
		CHECK_INT(sh(s, "true", NULL, 0), 0);
		struct corral_exec *x = start(s, "true", CORRAL_NULL);
		CHECK_STR(ends_with(x), "exit");
		corral_exec_free(start(s, "sleep 1000", CORRAL_NULL));
	}
	CHECK_INT(open_descriptors(), before);
}

TEST(commands_and_sessions_leave_no_descriptor_open) {
	before_all = open_descriptors();
	each_level(check_leftovers);
	CHECK_INT(open_descriptors(), before_all);
}

static void check_signal(struct corral_session *s) {
	int out[2];
	char line[64];

	REQUIRE(pipe2(out, O_CLOEXEC) == 0);
	struct corral_exec *x = start(s,
				      "trap 'echo got; exit 3' USR1; echo ready; "
				      "while :; do sleep 0.1; done",
				      out[1]);
	REQUIRE(x != NULL);
	(void)close(out[1]);
	read_line(out[0], line, sizeof line);
	CHECK_INT(corral_exec_signal(x, SIGUSR1), 0);
	read_line(out[0], line, sizeof line);
	CHECK_STR(line, "got");
	CHECK_STR(ends_with(x), "exit");
	(void)close(out[0]);
}

TEST(a_signal_reaches_the_process_group_of_a_command) {
	each_level(check_signal);
}

/* ---- the owner ---- */

static void check_close(struct corral_session *s) {
	(void)s;
	static const char *const levels[] = {"full", "standard"};
	for (size_t i = 0; i < 2; i++) {
		struct corral_policy *policy = policy_of(levels[i]);
		struct corral_session *own = open_with(policy);
		int out[2];
		char line[64];
		REQUIRE(pipe2(out, O_CLOEXEC) == 0);
		struct corral_exec *x =
			own == NULL ? NULL : start(own, HIDDEN " echo ready", out[1]);
		(void)close(out[1]);
		if (x != NULL) {
			read_line(out[0], line, sizeof line);
			CHECK_STR(ends_with(x), "exit");
			CHECK(open_now(out[0]));
			corral_session_close(own);
			CHECK(all_closed(out[0]));
		}
		(void)close(out[0]);
		corral_policy_free(policy);
	}
}

TEST(Z7_close_ends_background_processes) {
	world_begin();
	check_close(NULL);
	world_end();
}

static _Noreturn void own_and_die(const char *level, int out) {
	struct corral_policy *policy = policy_of(level);
	struct corral_session *s = open_with(policy);
	int ready[2];
	char line[16];

	if (s == NULL || pipe2(ready, O_CLOEXEC) != 0) {
		_exit(1);
	}
	struct corral_exec_options o = CORRAL_EXEC_OPTIONS_INIT;
	const char *argv[] = {"sh", "-c", HIDDEN " echo ready >&3; sleep 1000", NULL};
	struct corral_exec *x = NULL;
	o.out = out;
	o.err = CORRAL_NULL;
	o.fds = &ready[1];
	o.nfds = 1;
	if (corral_session_exec(s, argv, &o, &x, NULL) != 0) {
		_exit(1);
	}
	read_line(ready[0], line, sizeof line);
	(void)kill(getpid(), SIGKILL);
	_exit(1);
}

TEST(Z7_a_session_ends_with_its_owner) {
	static const char *const levels[] = {"full", "standard"};

	world_begin();
	for (size_t i = 0; i < 2; i++) {
		int out[2], status = 0;
		REQUIRE(pipe(out) == 0);
		pid_t owner = fork();
		if (owner == 0) {
			(void)close(out[0]);
			own_and_die(levels[i], out[1]);
		}
		(void)close(out[1]);
		REQUIRE(waitpid(owner, &status, 0) == owner);
		if (WIFEXITED(status)) {
			printf("# this host has no level %s\n", levels[i]);
		} else {
			CHECK(all_closed(out[0]));
		}
		(void)close(out[0]);
	}
	world_end();
}

TESTS_MAIN
