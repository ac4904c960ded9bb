/* SPDX-License-Identifier: Apache-2.0 */
/* Sessions: one sandbox for many commands, at both levels.
 *
 * The attacks on the zygote are made by a copy of this program in the workspace: with
 * SESSION_ATTACK in its environment it attacks instead of testing. */
#include <corral.h>

#include "test.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define ENDS_MS 20000 /* a second on an idle host */

static char workspace[PATH_MAX];

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
	pid_t to = strstr(what, "leader") != NULL ? leader_of_this() : zygote_of_this();
	_exit(kill(to, strncmp(what, "stop", 4) == 0 ? SIGSTOP : SIGKILL) == 0 ? 0 : 1);
}

/* ---- the world ---- */

static void world_begin(void) {
	(void)snprintf(workspace, sizeof workspace, "/var/tmp/corral-sessions-XXXXXX");
	if (mkdtemp(workspace) == NULL) {
		abort();
	}
	char self[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
	self[n < 0 ? 0 : n] = '\0';
	char to[PATH_MAX + 16];
	(void)snprintf(to, sizeof to, "%s/kept", workspace);
	if (mkdir(to, 0755) != 0 || setenv("PATH", "/usr/bin:/bin", 1) != 0) {
		abort();
	}
	(void)snprintf(to, sizeof to, "%s/attack", workspace);
	pid_t child = fork();
	if (child == 0) {
		(void)execl("/bin/cp", "cp", self, to, (char *)NULL);
		_exit(127);
	}
	(void)waitpid(child, NULL, 0);
}

static void world_end(void) {
	pid_t child = fork();

	if (child == 0) {
		(void)execl("/bin/rm", "rm", "-rf", workspace, (char *)NULL);
		_exit(127);
	}
	(void)waitpid(child, NULL, 0);
}

static struct corral_policy *policy_of(const char *level) {
	struct corral_policy *policy = corral_policy_new();
	char kept[PATH_MAX + 16];

	corral_policy_no_config(policy);
	(void)corral_policy_set(policy, "workspace", workspace, NULL);
	(void)corral_policy_set(policy, "fs.home", "ephemeral", NULL);
	(void)corral_policy_set(policy, "level", level, NULL);
	(void)corral_policy_set(policy, "limits.grace", "200ms", NULL);
	(void)corral_policy_set(policy, "audit.enabled", "false", NULL);
	(void)snprintf(kept, sizeof kept, "%s/kept", workspace);
	(void)corral_policy_set(policy, "fs.protect", kept, NULL);
	return policy;
}

/* NULL: this host has no such level. */
static struct corral_session *open_with(struct corral_policy *policy) {
	struct corral_session *s = NULL;
	struct corral_error err = {0};

	if (corral_session_open(policy, NULL, &s, &err) != 0) {
		printf("# %s: %s: %s\n", err.layer, err.message, err.remedy);
	}
	return s;
}

static void each_level(void (*check)(struct corral_session *s)) {
	static const char *const levels[] = {"full", "standard"};

	world_begin();
	for (size_t i = 0; i < 2; i++) {
		struct corral_policy *policy = policy_of(levels[i]);
		struct corral_session *s = open_with(policy);
		if (s == NULL) {
			printf("# this host has no level %s\n", levels[i]);
		} else {
			CHECK_STR(corral_session_level(s), levels[i]);
			printf("# level %s\n", levels[i]);
			check(s);
			corral_session_close(s);
		}
		corral_policy_free(policy);
	}
	world_end();
}

/* ---- commands ---- */

static struct corral_result *run(struct corral_session *s, const char *const *argv,
				 const struct corral_exec_options *o) {
	struct corral_result *r = NULL;
	struct corral_error err = {0};

	if (corral_session_run(s, argv, o, &r, &err) != 0) {
		printf("# %s: %s\n", err.layer, err.message);
		return NULL;
	}
	return r;
}

/* Runs a shell command; its exit status, or -1. */
static int sh_with(struct corral_session *s, const char *script, struct corral_exec_options *o,
		   char *out, size_t cap) {
	const char *argv[] = {"sh", "-c", script, NULL};
	struct corral_result *r = run(s, argv, o);

	if (r == NULL) {
		return -1;
	}
	if (out != NULL) {
		(void)snprintf(out, cap, "%s", corral_result_stdout(r, NULL, NULL));
	}
	if (corral_result_stderr(r, NULL, NULL)[0] != '\0') {
		printf("# stderr of %s: %s\n", script, corral_result_stderr(r, NULL, NULL));
	}
	int status = corral_result_status(r);
	corral_result_free(r);
	return status;
}

static int sh(struct corral_session *s, const char *script, char *out, size_t cap) {
	return sh_with(s, script, NULL, out, cap);
}

static struct corral_exec *start(struct corral_session *s, const char *script, int out) {
	const char *argv[] = {"sh", "-c", script, NULL};
	struct corral_exec_options o = CORRAL_EXEC_OPTIONS_INIT;
	struct corral_exec *x = NULL;
	struct corral_error err = {0};

	o.out = out;
	o.err = CORRAL_NULL;
	if (corral_session_exec(s, argv, &o, &x, &err) != 0) {
		printf("# %s: %s\n", err.layer, err.message);
	}
	return x;
}

/* Waits; the reason. */
static const char *ends_with(struct corral_exec *x) {
	static char reason[512];
	struct corral_result *r = NULL;
	struct corral_error err = {0};

	if (corral_exec_wait(x, &r, &err) != 0) {
		(void)snprintf(reason, sizeof reason, "%s", err.message);
		return reason;
	}
	(void)snprintf(reason, sizeof reason, "%s", corral_result_reason(r));
	corral_result_free(r);
	return reason;
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

/* The next line of a pipe. */
static void read_line(int fd, char *out, size_t cap) {
	size_t n = 0;

	while (n + 1 < cap && read(fd, out + n, 1) == 1 && out[n] != '\n') {
		n++;
	}
	out[n] = '\0';
}

/* True when no process has the pipe's other end any more. */
static bool all_closed(int in) {
	struct pollfd slot = {.fd = in, .events = POLLIN};
	char bytes[256];

	for (;;) {
		if (poll(&slot, 1, ENDS_MS) != 1) {
			return false;
		}
		if (read(in, bytes, sizeof bytes) <= 0) {
			return true;
		}
	}
}

static bool open_now(int in) {
	struct pollfd slot = {.fd = in, .events = POLLIN};

	return poll(&slot, 1, 300) == 0;
}

/* ---- tests ---- */

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
	const char *env[] = {"ADDED=value", "HOME=/other", NULL};
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
	CHECK_INT(sh_with(s, "cat; echo $ADDED $HOME; pwd; echo third >&3", &o, out, sizeof out),
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

/* ---- several at once ---- */

struct job {
	struct corral_session *s;
	int number;
	bool right;
};

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

/* ---- ends ---- */

/* The command's grandchild, in a session of its own, holds the pipe. */
#define HIDDEN "setsid sh -c 'setsid sleep 1000 & setsid sleep 1000' &"

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

static void check_fork_loop(struct corral_session *s) {
	const char *argv[] = {"./attack", NULL}, *env[] = {"SESSION_ATTACK=relay", NULL};
	struct corral_exec_options o = CORRAL_EXEC_OPTIONS_INIT;
	struct corral_exec *x = NULL;
	struct corral_error err = {0};
	int out[2], kept[2];
	char line[64];

	REQUIRE(pipe2(out, O_CLOEXEC) == 0 && pipe2(kept, O_CLOEXEC) == 0);
	struct corral_exec *other = start(s, "echo ready; sleep 1000", kept[1]);
	(void)close(kept[1]);
	read_line(kept[0], line, sizeof line);
	o.out = out[1];
	o.err = CORRAL_NULL;
	o.env = env;
	REQUIRE(corral_session_exec(s, argv, &o, &x, &err) == 0);
	(void)close(out[1]);
	CHECK(open_now(out[0]));
	corral_exec_kill(x);
	CHECK_STR(ends_with(x), "cancelled");
	CHECK(all_closed(out[0]));
	CHECK(open_now(kept[0]));
	CHECK_INT(sh(s, "true", NULL, 0), 0);
	corral_exec_free(other);
	(void)close(out[0]);
	(void)close(kept[0]);
}

TEST(Z5_a_kill_ends_a_command_that_forks_in_a_loop) {
	each_level(check_fork_loop);
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
