/* SPDX-License-Identifier: Apache-2.0 */
/* Attacks of commands on zygote, leader and their own end.
 *
 * A copy of this program in the workspace makes them: with SESSION_ATTACK in its environment it
 * attacks instead of testing. */
#include "sessions_world.h"

/* ---- the attacks, inside ---- */

/* The parent of a process, from /proc; -1. */
static pid_t parent_of(pid_t pid) {
	char path[64], text[512];

	(void)snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
	if (fd >= 0) {
		close(fd);
	}
	text[n < 0 ? 0 : n] = '\0';
	char *at = strrchr(text, ')');
	return at == NULL ? -1 : (pid_t)strtol(at + 4, NULL, 10);
}

static bool is_open(const char *file, pid_t pid, int flags) {
	char path[64];

	(void)snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, file);
	int fd = open(path, flags | O_CLOEXEC);
	if (fd >= 0) {
		close(fd);
	}
	return fd >= 0;
}

/* Everything that would give the memory or a descriptor of another process. */
static int reaches(pid_t pid) {
	char byte;
	char link[64], target[64];
	struct iovec here = {&byte, 1}, there = {(void *)(uintptr_t)&workspace, 1};
	int got = 0;

	int pidfd = (int)syscall(SYS_pidfd_open, pid, 0U);
	for (int fd = 0; pidfd >= 0 && fd < 300; fd++) {
		got |= syscall(SYS_pidfd_getfd, pidfd, fd, 0U) >= 0 ? 1 : 0;
	}
	got |= ptrace(PTRACE_ATTACH, pid, NULL, NULL) == 0 ? 2 : 0;
	got |= process_vm_readv(pid, &here, 1, &there, 1, 0) > 0 ? 4 : 0;
	got |= is_open("mem", pid, O_RDONLY) ? 8 : 0;
	for (int fd = 0; fd < 300; fd++) {
		(void)snprintf(link, sizeof link, "/proc/%d/fd/%d", (int)pid, fd);
		got |= readlink(link, target, sizeof target) > 0 ? 16 : 0;
		got |= open(link, O_RDWR | O_CLOEXEC) >= 0 ? 32 : 0;
	}
	got |= is_open("environ", pid, O_RDONLY) ? 64 : 0;
	return got;
}

/* A child of this command, on which the same has to work as far as the sandbox allows it. */
static int reaches_twin(void) {
	pid_t child = fork();

	if (child == 0) {
		(void)pause();
		_exit(0);
	}
	int got = reaches(child);
	(void)kill(child, SIGKILL);
	return got;
}

static pid_t leader_of_this(void) {
	return getppid(); /* the command's parent */
}

/* The third process of a pid namespace, whose /proc hides processes that are not dumpable.  Else
 * zygote and leaders are children of one process, and the zygote is the oldest of them. */
static pid_t zygote_of_this(void) {
	pid_t first = parent_of(leader_of_this()), found = -1;

	if (first < 0) {
		return 3;
	}
	DIR *proc = opendir("/proc");

	for (struct dirent *d; proc != NULL && (d = readdir(proc)) != NULL;) {
		pid_t pid = (pid_t)strtol(d->d_name, NULL, 10);
		if (pid > 0 && pid != first && parent_of(pid) == first &&
		    (found < 0 || pid < found)) {
			found = pid;
		}
	}
	return found;
}

/* Many processes that fork and exit for ever, each child in a session of its own. */
#define RELAYS 24

static void relay(void) {
	(void)signal(SIGCHLD, SIG_IGN);
	for (int i = 0; i < RELAYS; i++) {
		if (fork() == 0) {
			for (;;) {
				(void)setsid();
				if (fork() > 0) {
					_exit(0);
				}
			}
		}
	}
	(void)!write(STDOUT_FILENO, "forks\n", 6);
	(void)pause();
}

/* Sends bytes of a report to every descriptor that this process could have. */
static int forges(void) {
	static const char report[40];
	int got = 0;

	for (int fd = 3; fd < 1024; fd++) {
		got += send(fd, report, sizeof report, MSG_NOSIGNAL | MSG_DONTWAIT) > 0;
	}
	return got;
}

__attribute__((constructor)) static void attack(void) {
	const char *what = getenv("SESSION_ATTACK");

	if (what == NULL) {
		return;
	}
	if (strcmp(what, "reach") == 0) {
		printf("zygote %d leader %d twin %s\n", reaches(zygote_of_this()),
		       reaches(leader_of_this()), reaches_twin() != 0 ? "yes" : "no");
		(void)fflush(stdout);
		_exit(0);
	}
	if (strcmp(what, "forge") == 0) {
		_exit(forges() == 0 ? 5 : 6);
	}
	if (strcmp(what, "relay") == 0) {
		relay();
	}
	if (strcmp(what, "pair") == 0) {
		(void)fork();
		(void)!write(STDOUT_FILENO, "runs\n", 5);
		(void)pause();
	}
	pid_t to = strstr(what, "leader") != NULL ? leader_of_this() : zygote_of_this();
	_exit(kill(to, strncmp(what, "stop", 4) == 0 ? SIGSTOP : SIGKILL) == 0 ? 0 : 1);
}

static int attack_with(struct corral_session *s, const char *what, char *out, size_t cap) {
	const char *argv[] = {"./attack", NULL};
	char variable[64];
	const char *env[] = {variable, NULL};
	struct corral_exec_options o = CORRAL_EXEC_OPTIONS_INIT;

	(void)snprintf(variable, sizeof variable, "SESSION_ATTACK=%s", what);
	o.env = env;
	struct corral_result *r = run(s, argv, &o);
	if (r == NULL) {
		return -1;
	}
	(void)snprintf(out, cap, "%s", corral_result_stdout(r, NULL, NULL));
	if (corral_result_stderr(r, NULL, NULL)[0] != '\0') {
		printf("# %s", corral_result_stderr(r, NULL, NULL));
	}
	int status = corral_result_status(r);
	corral_result_free(r);
	return status;
}

/* ---- zygote and leader ---- */

static void check_reach(struct corral_session *s) {
	char out[256];

	CHECK_INT(attack_with(s, "reach", out, sizeof out), 0);
	CHECK_STR(out, "zygote 0 leader 0 twin yes\n");
}

TEST(Z2_no_command_reaches_the_memory_or_a_descriptor_of_zygote_or_leader) {
	each_level(check_reach);
}

static void check_zygote_killed(struct corral_session *s) {
	const char *argv[] = {"true", NULL};
	struct corral_result *r = NULL;
	struct corral_error err = {0};
	int out[2];
	char text[64];

	REQUIRE(pipe2(out, O_CLOEXEC) == 0);
	struct corral_exec *x = start(s, HIDDEN " echo ready; sleep 1000", out[1]);
	REQUIRE(x != NULL);
	(void)close(out[1]);
	read_line(out[0], text, sizeof text);
	(void)attack_with(s, "kill zygote", text, sizeof text);
	CHECK_STR(ends_with(x), "lost");
	CHECK(all_closed(out[0]));
	struct pollfd slot = {.fd = corral_session_fd(s), .events = POLLIN};
	CHECK_INT(poll(&slot, 1, ENDS_MS), 1);
	CHECK_INT(corral_session_alive(s), 0);
	CHECK_INT(corral_session_run(s, argv, NULL, &r, &err), -1);
	CHECK(strstr(err.message, "session has ended") != NULL);
	(void)close(out[0]);
}

TEST(Z6_the_session_ends_with_its_zygote) {
	each_level(check_zygote_killed);
}

static void check_leader_killed(struct corral_session *s) {
	char out[64];
	struct pollfd slot = {.fd = corral_session_fd(s), .events = POLLIN};

	(void)attack_with(s, "kill leader", out, sizeof out);
	CHECK_INT(poll(&slot, 1, ENDS_MS), 1);
	CHECK_INT(corral_session_alive(s), 0);
}

TEST(Z6_the_session_ends_with_a_leader) {
	each_level(check_leader_killed);
}

static void check_stopped(struct corral_session *s) {
	char out[64];

	(void)attack_with(s, "stop zygote", out, sizeof out);
	CHECK_INT(sh(s, "echo on", out, sizeof out), 0);
	CHECK_STR(out, "on\n");
	(void)attack_with(s, "stop leader", out, sizeof out);
	CHECK_INT(sh(s, "echo on", out, sizeof out), 0);
	CHECK_STR(out, "on\n");
}

TEST(Z6_a_command_cannot_stop_zygote_or_leader_for_long) {
	each_level(check_stopped);
}

static void check_forged(struct corral_session *s) {
	char out[64];

	struct corral_exec *x = start(s, "sleep 0.3; exit 0", CORRAL_NULL);
	REQUIRE(x != NULL);
	CHECK_INT(attack_with(s, "forge", out, sizeof out), 5);
	CHECK_STR(ends_with(x), "exit");
}

TEST(Z4_no_command_reports_the_end_of_another) {
	each_level(check_forged);
}

/* What a process can see of its layers. */
#define LAYERS                                                                                     \
	"grep -E '^(Seccomp|NoNewPrivs|Cap|Uid|Gid|Groups|Sig(Ign|Blk|Cgt))' /proc/self/status; "  \
	"ulimit -a; umask; pwd; nice; cat /proc/self/oom_score_adj; readlink /proc/self/fd/0; "    \
	"env | sort | grep -v -e _ID= -e TMPDIR= -e /corral; cut -d' ' -f5,6 "                     \
	"/proc/self/mountinfo; "                                                                   \
	"ls /; ls -a .; touch /usr/x kept/x 2>&1; ls /root 2>&1; "                                 \
	"test $(ps -e 2>/dev/null | wc -l) -lt 9 && echo alone"

static void check_layers(struct corral_session *s) {
	const char *argv[] = {"sh", "-c", LAYERS, NULL};
	struct corral_policy *policy = policy_of(corral_session_level(s));
	struct corral_result *cold = NULL, *warm = run(s, argv, NULL);

	REQUIRE(warm != NULL && corral_run(policy, argv, NULL, &cold, NULL) == 0);
	CHECK_STR(corral_result_stdout(warm, NULL, NULL), corral_result_stdout(cold, NULL, NULL));
	CHECK(strstr(corral_result_stdout(warm, NULL, NULL), "NoNewPrivs:\t1") != NULL);
	CHECK_STR(corral_result_level(warm), corral_result_level(cold));
	corral_result_free(warm);
	corral_result_free(cold);
	corral_policy_free(policy);
}

TEST(Z1_a_command_has_the_layers_of_a_run) {
	each_level(check_layers);
}

/* A command that forks in a loop, and holds the other end of this pipe. */
static struct corral_exec *start_relay(struct corral_session *s, int *ret) {
	const char *argv[] = {"./attack", NULL}, *env[] = {"SESSION_ATTACK=relay", NULL};
	struct corral_exec_options o = CORRAL_EXEC_OPTIONS_INIT;
	struct corral_exec *x = NULL;
	struct corral_error err = {0};
	int out[2];

	if (pipe2(out, O_CLOEXEC) != 0) {
		return NULL;
	}
	o.out = out[1];
	o.err = CORRAL_NULL;
	o.env = env;
	CHECK(corral_session_exec(s, argv, &o, &x, &err) == 0);
	(void)close(out[1]);
	char line[16];
	read_line(out[0], line, sizeof line);
	*ret = out[0];
	return x;
}

static void check_fork_loop(struct corral_session *s) {
	int out = -1, kept[2];
	char line[64];

	REQUIRE(pipe2(kept, O_CLOEXEC) == 0);
	struct corral_exec *other = start(s, "echo ready; sleep 1000", kept[1]);
	(void)close(kept[1]);
	read_line(kept[0], line, sizeof line);
	struct corral_exec *x = start_relay(s, &out);
	REQUIRE(x != NULL);
	CHECK(open_now(out));
	corral_exec_kill(x);
	CHECK_STR(ends_with(x), "cancelled");
	CHECK(all_closed(out));
	CHECK(open_now(kept[0]));
	CHECK_INT(sh(s, "true", NULL, 0), 0);
	corral_exec_free(other);
	(void)close(out);
	(void)close(kept[0]);
}

TEST(Z5_a_kill_ends_a_command_that_forks_in_a_loop) {
	each_level(check_fork_loop);
}

/* /proc hides the processes of a program without the right to read it, and what is below them. */
static void check_hidden(struct corral_session *s) {
	const char *env[] = {"SESSION_ATTACK=pair", NULL};
	const char *argv[] = {"sh", "-c", "(sleep 1000 & exec ./hidden) & exec ./hidden", NULL};
	struct corral_exec_options o = CORRAL_EXEC_OPTIONS_INIT;
	struct corral_exec *x = NULL;
	struct corral_error err = {0};
	int out[2], kept[2];
	char line[64];

	CHECK_INT(sh(s, "rm -f hidden; cp attack hidden && chmod 111 hidden", NULL, 0), 0);
	REQUIRE(pipe2(out, O_CLOEXEC) == 0 && pipe2(kept, O_CLOEXEC) == 0);
	struct corral_exec *other = start(s, "echo ready; sleep 1000", kept[1]);
	(void)close(kept[1]);
	read_line(kept[0], line, sizeof line);
	o.out = out[1];
	o.err = CORRAL_NULL;
	o.env = env;
	REQUIRE(corral_session_exec(s, argv, &o, &x, &err) == 0);
	(void)close(out[1]);
	for (int i = 0; i < 4; i++) {
		read_line(out[0], line, sizeof line);
	}
	corral_exec_kill(x);
	CHECK_STR(ends_with(x), "cancelled");
	CHECK(all_closed(out[0]));
	CHECK(open_now(kept[0]));
	corral_exec_free(other);
	(void)close(out[0]);
	(void)close(kept[0]);
}

TEST(Z5_a_kill_ends_processes_that_proc_hides) {
	each_level(check_hidden);
}

static void check_kill_alone(struct corral_session *s) {
	struct corral_exec *x[2] = {NULL};
	int out[2];

	for (int i = 0; i < 2; i++) {
		x[i] = start_relay(s, &out[i]);
		REQUIRE(x[i] != NULL);
		CHECK(open_now(out[i]));
	}
	for (int i = 0; i < 2; i++) {
		corral_exec_kill(x[i]); /* one order */
	}
	for (int i = 0; i < 2; i++) {
		CHECK(all_closed(out[i]));
		(void)close(out[i]);
	}
	for (int i = 0; i < 2; i++) {
		corral_exec_free(x[i]);
	}
}

TEST(Z8_trees_that_fork_are_killed_although_no_thread_waits_for_them) {
	each_level(check_kill_alone);
}

TESTS_MAIN
