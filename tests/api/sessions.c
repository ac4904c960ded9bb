/* SPDX-License-Identifier: Apache-2.0 */
/* Sessions: one sandbox for many commands, at both levels: requests, commands at once, results. */
#include "sessions_world.h"

static void check_plain(struct corral_session *s) {
	char out[256];

	CHECK_INT(sh(s, "echo one", out, sizeof out), 0);
	CHECK_STR(out, "one\n");
	CHECK_INT(sh(s, "exit 7", NULL, 0), 7);
	CHECK_INT(sh(s, "kill -9 $$", NULL, 0), 128 + 9);
	CHECK_INT(sh(s, "echo kept >file", NULL, 0), 0);
	CHECK_INT(sh(s, "cat file", out, sizeof out), 0);
	CHECK_STR(out, "kept\n");
	CHECK(corral_session_alive(s));
}

TEST(commands_run_one_after_another_and_report_their_end) {
	each_level(check_plain);
}

static void check_request(struct corral_session *s) {
	const char *env[] = {"ADDED=value", "SHELL=/other", NULL};
	struct corral_exec_options o = CORRAL_EXEC_OPTIONS_INIT;
	char out[4096];
	int in[2], more[2];

	REQUIRE(pipe2(in, O_CLOEXEC) == 0 && pipe2(more, O_CLOEXEC) == 0);
	REQUIRE(write(in[1], "input\n", 6) == 6 && close(in[1]) == 0);
	o.in = in[0];
	o.fds = &more[1];
	o.nfds = 1;
	o.env = env;
	o.directory = "/tmp";
	CHECK_INT(sh_with(s, "cat; echo $ADDED $SHELL; pwd; echo third >&3", &o, out, sizeof out),
		  0);
	CHECK_STR(out, "input\nvalue /other\n/tmp\n");
	(void)close(more[1]);
	read_line(more[0], out, sizeof out);
	CHECK_STR(out, "third");
	(void)close(more[0]);
	(void)close(in[0]);
}

TEST(a_command_has_the_descriptors_variables_and_directory_of_its_request) {
	each_level(check_request);
}

/* Z3: ls has its own descriptor of the directory. */
static void check_descriptors(struct corral_session *s) {
	char out[256];
	int many[3];

	for (int i = 0; i < 3; i++) {
		many[i] = open("/dev/zero", O_RDONLY); /* not close-on-exec */
	}
	CHECK_INT(sh(s, "ls /proc/self/fd", out, sizeof out), 0);
	CHECK_STR(out, "0\n1\n2\n3\n");
	for (int i = 0; i < 3; i++) {
		(void)close(many[i]);
	}
}

TEST(Z3_a_command_has_no_other_descriptor) {
	each_level(check_descriptors);
}

static void check_long(struct corral_session *s) {
	static char text[100000], variable[100010];
	const char *argv[] = {"sh", "-c", "echo ${#1} ${#LONG}", "sh", text, NULL};
	const char *env[] = {variable, NULL};
	struct corral_exec_options o = CORRAL_EXEC_OPTIONS_INIT;

	memset(text, 'x', sizeof text - 1);
	(void)snprintf(variable, sizeof variable, "LONG=%s", text);
	o.env = env;
	struct corral_result *r = run(s, argv, &o);
	REQUIRE(r != NULL);
	CHECK_STR(corral_result_stdout(r, NULL, NULL), "99999 99999\n");
	corral_result_free(r);
}

TEST(long_arguments_are_passed_in_a_memfd) {
	each_level(check_long);
}

static void check_failures(struct corral_session *s) {
	const char *absent[] = {"no-such-command", NULL}, *file[] = {"./plain", NULL};
	const char *true_[] = {"true", NULL};
	struct corral_exec_options o = CORRAL_EXEC_OPTIONS_INIT;
	struct corral_result *r = NULL;
	struct corral_exec *x = NULL;
	struct corral_error err = {0};

	CHECK_INT(corral_session_run(s, absent, NULL, &r, &err), -1);
	CHECK_INT(err.kind, CORRAL_E_NOT_FOUND);
	CHECK(strstr(err.message, "no-such-command") != NULL);
	CHECK_INT(sh(s, "echo text >plain", NULL, 0), 0);
	CHECK_INT(corral_session_run(s, file, NULL, &r, &err), -1);
	CHECK_INT(err.kind, CORRAL_E_NOT_EXECUTABLE);
	o.directory = "/no/such/directory";
	CHECK_INT(corral_session_run(s, true_, &o, &r, &err), -1);
	CHECK(strstr(err.message, "/no/such/directory") != NULL);
	REQUIRE(corral_session_exec(s, absent, NULL, &x, &err) == 0);
	CHECK_INT(corral_exec_wait(x, &r, &err), -1);
	CHECK_INT(err.kind, CORRAL_E_NOT_FOUND);
	CHECK_INT(sh(s, "true", NULL, 0), 0);
}

TEST(a_command_that_cannot_start_is_an_error_and_the_session_goes_on) {
	each_level(check_failures);
}

/* ---- what a caller is told while it waits ---- */

struct told {
	int times, answer; /* a descriptor; -1: none */
};

static void tell(void *arg) {
	struct told *t = arg;

	t->times++;
	CHECK(t->answer < 0 || write(t->answer, "go\n", 3) == 3);
}

/* The command ends only when the caller was told of the event. */
static void check_ready(struct corral_session *s) {
	struct corral_exec_options o = CORRAL_EXEC_OPTIONS_INIT;
	struct told ready = {.answer = -1}, sent = {.answer = -1};
	int event[2], answer[2];
	char out[16];

	REQUIRE(pipe2(event, O_CLOEXEC) == 0 && pipe2(answer, O_CLOEXEC) == 0);
	o.ready = tell, o.ready_arg = &ready, o.ready_fd = event[0];
	o.sent = tell, o.sent_arg = &sent;
	CHECK_INT(sh_with(s, "sleep 0.05", &o, NULL, 0), 0);
	CHECK_INT(ready.times, 0); /* nothing was readable */
	CHECK_INT(sent.times, 1);
	CHECK(write(event[1], "x", 1) == 1);
	ready.answer = answer[1];
	o.fds = &answer[0];
	o.nfds = 1;
	CHECK_INT(sh_with(s, "read line <&3 && echo $line", &o, out, sizeof out), 0);
	CHECK_STR(out, "go\n");
	CHECK_INT(ready.times, 1); /* although it stays readable */
	CHECK_INT(sent.times, 2);
	for (int i = 0; i < 2; i++) {
		(void)close(event[i]);
		(void)close(answer[i]);
	}
}

TEST(a_caller_is_told_once_when_the_command_was_sent_and_when_its_descriptor_is_readable) {
	each_level(check_ready);
}

struct told_end {
	int times, status;
	const struct corral_result *result;
	struct corral_session *session;
	int killed; /* commands with the key, by then */
	char output[16];
};

static void tell_end(void *arg, const struct corral_result *result) {
	struct told_end *t = arg;
	t->times++;
	t->status = corral_result_status(result);
	t->result = result;
	t->killed = corral_session_kill(t->session, 7);
	(void)snprintf(t->output, sizeof t->output, "%s", corral_result_stdout(result, NULL, NULL));
}

/* The result is whole when the caller learns of it; a command that did not start has none. */
static void check_ended(struct corral_session *s) {
	struct corral_exec_options o = CORRAL_EXEC_OPTIONS_INIT;
	const char *argv[] = {"sh", "-c", "echo end; exit 3", NULL};
	const char *absent[] = {"no-such-command", NULL};
	struct corral_result *r = NULL;
	struct corral_error err = {0};
	struct told_end end = {.session = s};

	o.ended = tell_end, o.ended_arg = &end, o.key = 7;
	REQUIRE(corral_session_run(s, argv, &o, &r, &err) == 0);
	CHECK_INT(end.times, 1);
	CHECK_INT(end.status, 3);
	CHECK_STR(end.output, "end\n");
	CHECK(end.result == r);
	CHECK_INT(end.killed, 0); /* what it has left behind lives on */
	corral_result_free(r);
	CHECK_INT(corral_session_run(s, absent, &o, &r, &err), -1);
	CHECK_INT(end.times, 1);
}

TEST(a_caller_is_told_once_with_the_result_when_the_command_has_ended) {
	each_level(check_ended);
}

/* ---- several at once ---- */

static void *work(void *arg) {
	struct job *j = arg;
	char script[128], want[64], out[64];

	j->right = true;
	for (int i = 0; i < 5; i++) {
		(void)snprintf(script, sizeof script, "echo %d.%d; exit %d", j->number, i,
			       j->number);
		(void)snprintf(want, sizeof want, "%d.%d\n", j->number, i);
		j->right = sh(j->s, script, out, sizeof out) == j->number &&
			   strcmp(out, want) == 0 && j->right;
	}
	return NULL;
}

static void check_parallel(struct corral_session *s) {
	struct job jobs[50];
	pthread_t threads[50];

	for (int i = 0; i < 50; i++) {
		jobs[i] = (struct job){.s = s, .number = i};
		REQUIRE(pthread_create(&threads[i], NULL, work, &jobs[i]) == 0);
	}
	for (int i = 0; i < 50; i++) {
		(void)pthread_join(threads[i], NULL);
		CHECK(jobs[i].right);
	}
}

TEST(fifty_threads_run_commands_at_once) {
	each_level(check_parallel);
}

/* ---- results ---- */

static void *refused(void *arg) {
	struct job *j = arg;
	char script[PATH_MAX + 128], path[PATH_MAX + 32];
	const char *argv[] = {"sh", "-c", script, NULL};
	struct corral_denial d = CORRAL_DENIAL_INIT;

	(void)snprintf(path, sizeof path, "%s/kept/%d", workspace, j->number);
	(void)snprintf(script, sizeof script, "for i in 1 2 3; do mkdir %s; sleep 0.05; done",
		       path);
	struct corral_result *r = run(j->s, argv, NULL);
	j->right = r != NULL && corral_result_denial(r, 0, &d) == 0 && d.path != NULL &&
		   strcmp(d.path, path) == 0 && d.count == 3 && corral_result_denial(r, 1, &d) == 1;
	if (!j->right && r != NULL) {
		for (size_t i = 0; corral_result_denial(r, i, &d) == 0; i++) {
			printf("# %d: %s %s %d\n", j->number, d.op, d.path, (int)d.count);
		}
		printf("# recorded %d\n", corral_result_denials_recorded(r));
	}
	corral_result_free(r);
	return NULL;
}

static void check_denials(struct corral_session *s) {
	struct job jobs[4];
	pthread_t threads[4];

	for (int i = 0; i < 4; i++) {
		jobs[i] = (struct job){.s = s, .number = i};
		REQUIRE(pthread_create(&threads[i], NULL, refused, &jobs[i]) == 0);
	}
	for (int i = 0; i < 4; i++) {
		(void)pthread_join(threads[i], NULL);
		CHECK(jobs[i].right);
	}
}

TEST(each_of_several_results_has_the_denials_of_its_own_command) {
	each_level(check_denials);
}

/* The lock of the log must not stay with a session that waits. */
TEST(another_run_is_in_the_audit_log_while_a_session_is_open) {
	const char *argv[] = {"true", NULL};
	struct corral_error err = {0};
	struct corral_result *result = NULL;

	world_begin();
	struct corral_policy *policy = policy_of("auto");
	REQUIRE(corral_policy_set(policy, "audit.enabled", "true", &err) == 0);
	struct corral_session *s = open_with(policy);
	REQUIRE(s != NULL);
	for (int i = 0; i < 2; i++) {
		REQUIRE(corral_session_run(s, argv, NULL, &result, &err) == 0);
		CHECK_INT(corral_result_audited(result, NULL), 1);
		corral_result_free(result);
		REQUIRE(corral_run(policy, argv, NULL, &result, &err) == 0);
		CHECK_INT(corral_result_audited(result, NULL), 1);
		corral_result_free(result);
	}
	corral_session_close(s);
	corral_policy_free(policy);
	world_end();
}

TESTS_MAIN
