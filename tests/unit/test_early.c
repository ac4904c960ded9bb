/* SPDX-License-Identifier: Apache-2.0 */
/* The early process and the network process: the first process that they serve, and that they leave
 * no trace (E8). */
#include "linux/early.h"

#include "base/auto.h"
#include "linux/kernel_api.h"
#include "linux/processors.h"
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define PATIENCE_MS 60000
#define UNTOUCHED 77 /* errno, which supervisor and early process share */

struct seen {
	pid_t pid;
	int value;
	long joined; /* the result of early_join() */
	bool ignored, own_net, own_mounts, bounded, has_quotas, nests, lo_is_up;
	cpu_set_t allowed;
};

static struct seen *seen;
static struct early *started;
static struct stat net, mounts;
static int value;

static bool is_other(const char *path, const struct stat *ours) {
	struct stat st;

	return stat(path, &st) == 0 && st.st_ino != ours->st_ino;
}

static bool lo_is_up(void) {
	struct ifreq lo = {.ifr_name = "lo"};
	auto_fd fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	return fd >= 0 && ioctl(fd, SIOCGIFFLAGS, &lo) == 0 && (lo.ifr_flags & IFF_UP) != 0;
}

static void first_process(void *arg) {
	struct sigaction now;

	seen->joined = early_join(started, -1);
	seen->lo_is_up = lo_is_up();
	seen->pid = getpid();
	seen->value = *(int *)arg;
	seen->ignored = sigaction(SIGUSR1, NULL, &now) != 0 || now.sa_handler == SIG_IGN;
	seen->own_net = is_other("/proc/self/ns/net", &net);
	seen->own_mounts = is_other("/proc/self/ns/mnt", &mounts);
	seen->bounded = prctl(PR_CAPBSET_READ, CAP_SYS_ADMIN, 0, 0, 0) == 0 &&
			prctl(PR_CAPBSET_READ, CAP_CHOWN, 0, 0, 0) == 0;
	seen->has_quotas = early_has_quotas(started);
	seen->nests = unshare(CLONE_NEWUSER) == 0 || errno != ENOSPC;
	_exit(5);
}

#define NOT_HERE "no early process here: one processor, no user namespaces, or a sanitizer"

/* early_start(), but NULL where a process cannot make these namespaces. */
static struct early *start(void) {
	int status = -1;
	pid_t pid = fork();

	if (pid == 0) {
		_exit(unshare(CLONE_NEWUSER | CLONE_NEWNET | EARLY_SPACES) == 0 ? 0 : 1);
	}
	return pid > 0 && waitpid(pid, &status, 0) == pid && status == 0 ? early_start() : NULL;
}

/* The pid of the one child of a process; 0: none. */
static pid_t child_of(pid_t pid) {
	char path[64], text[64] = "";

	(void)snprintf(path, sizeof path, "/proc/%d/task/%d/children", (int)pid, (int)pid);
	auto_fd fd = open(path, O_RDONLY | O_CLOEXEC);
	return fd < 0 || read(fd, text, sizeof text - 1) <= 0 ? 0 : (pid_t)strtol(text, NULL, 10);
}

static struct processors of_supervisor;

/* As child_main() of linux/spawn.c and the processes that it becomes. */
static void restored_process(void *arg) {
	(void)arg;
	processors_stay();
	int rc = processors_restore(0, &of_supervisor) == 0
			 ? (int)syscall(SYS_sched_getaffinity, 0, sizeof seen->allowed,
					&seen->allowed)
			 : -1;
	_exit(rc > 0 ? 0 : 1);
}

/* Its state is the letter after the name. */
static bool sleeps(pid_t pid) {
	char path[64], text[128] = "";

	(void)snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
	auto_fd fd = open(path, O_RDONLY | O_CLOEXEC);
	return fd >= 0 && read(fd, text, sizeof text - 1) > 0 && strstr(text, ") S ") != NULL;
}

static long clone_first(struct early *e, int *ret_pidfd) {
	const struct clone_args args = {.flags = CLONE_NEWPID | CLONE_PIDFD};

	return early_clone(e, &args, first_process, &value, ret_pidfd);
}

static void map_seen(void) {
	if (seen == NULL) {
		seen = mmap(NULL, sizeof *seen, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
			    -1, 0);
		REQUIRE(seen != MAP_FAILED);
	}
}

TEST(the_first_process_has_the_memory_of_the_order_and_new_namespaces) {
	siginfo_t info = {.si_status = 0};
	int pidfd = -1;

	map_seen();
	const int bounding_before = prctl(PR_CAPBSET_READ, CAP_CHOWN, 0, 0, 0);
	REQUIRE(stat("/proc/self/ns/net", &net) == 0 && stat("/proc/self/ns/mnt", &mounts) == 0);
	(void)signal(SIGUSR1, SIG_IGN);
	value = 1;
	struct early *e = start();
	if (e == NULL) {
		SKIP(NOT_HERE);
	}
	value = 2;
	started = e;
	REQUIRE(clone_first(e, &pidfd) > 0);
	CHECK(syscall(SYS_waitid, WAIT_PIDFD, pidfd, &info, WEXITED | __WALL, NULL) == 0);
	CHECK_INT(info.si_status, 5);
	CHECK_INT(seen->pid, 1);
	CHECK_INT(seen->value, 2);
	CHECK(!seen->ignored);
	CHECK_INT(seen->joined, 0);
	CHECK(seen->own_net);
	CHECK(seen->lo_is_up);
	CHECK(seen->own_mounts);
	CHECK(seen->bounded);
	CHECK(!seen->has_quotas || !seen->nests);
	CHECK(seen->has_quotas || access("/proc/sys/user/max_user_namespaces", W_OK) != 0);
	CHECK_INT(prctl(PR_CAPBSET_READ, CAP_CHOWN, 0, 0, 0), bounding_before);
	drop_fd(&pidfd);
	CHECK_INT(clone_first(e, &pidfd), 0); /* it has ended */
	CHECK_INT(pidfd, -1);
	early_free(e);
	(void)signal(SIGUSR1, SIG_DFL);
	CHECK(waitpid(-1, NULL, __WALL) == -1 && errno == ECHILD);
}

/* wait: until the early process waits for the order. */
static void check_affinity(bool wait) {
	const struct clone_args args = {.flags = CLONE_NEWPID | CLONE_PIDFD};
	cpu_set_t before, after;
	siginfo_t info = {.si_status = -1};
	int pidfd = -1;

	memset(&before, 0, sizeof before);
	memset(&after, 0, sizeof after);
	map_seen();
	memset(&seen->allowed, 0, sizeof seen->allowed);
	REQUIRE(syscall(SYS_sched_getaffinity, 0, sizeof before, &before) > 0);
	struct early *e = start();
	if (e == NULL) {
		SKIP(NOT_HERE);
	}
	for (int i = 0; wait && i < PATIENCE_MS && !sleeps(child_of(getpid())); i++) {
		(void)poll(NULL, 0, 1);
	}
	processors_read(&of_supervisor);
	REQUIRE(early_clone(e, &args, restored_process, NULL, &pidfd) > 0);
	CHECK(syscall(SYS_waitid, WAIT_PIDFD, pidfd, &info, WEXITED | __WALL, NULL) == 0);
	CHECK_INT(info.si_status, 0);
	CHECK(memcmp(&seen->allowed, &before, sizeof before) == 0);
	REQUIRE(syscall(SYS_sched_getaffinity, 0, sizeof after, &after) > 0);
	CHECK(memcmp(&after, &before, sizeof before) == 0);
	drop_fd(&pidfd);
	early_free(e);
}

TEST(the_first_process_has_the_affinity_of_the_supervisor) {
	check_affinity(false);
	check_affinity(true);
}

static bool load(struct sock_filter *rows, size_t n) {
	const struct sock_fprog filter = {.len = (unsigned short)n, .filter = rows};

	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
	       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

/* Refuses sched_setaffinity(2), as the filters of some services and of a run with --cpus do. */
static bool refuse_affinity(void) {
	struct sock_filter rows[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_sched_setaffinity, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	return load(rows, sizeof rows / sizeof rows[0]);
}

/* What happens to unshare(CLONE_NEWNET), by which the network process makes its namespace. */
static bool answer_network(uint32_t action) {
	struct sock_filter rows[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_unshare, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, CLONE_NEWNET, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, action),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	return load(rows, sizeof rows / sizeof rows[0]);
}

TEST(it_works_where_the_affinity_must_not_change) {
	int status = -1;

	(void)fflush(stdout);
	pid_t pid = fork(); /* the filter stays */
	if (pid == 0) {
		test_failed = !refuse_affinity();
		check_affinity(true);
		(void)fflush(stdout);
		_exit(test_failed ? 1 : test_skip_reason[0] != '\0' ? 2 : 0);
	}
	REQUIRE(pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status));
	if (WEXITSTATUS(status) == 2) {
		SKIP(NOT_HERE);
	}
	CHECK_INT(WEXITSTATUS(status), 0);
}

TEST(it_changes_neither_errno_nor_dumpable_nor_the_signal_mask) {
	sigset_t mask;

	errno = UNTOUCHED;
	struct early *e = start();
	if (e == NULL) {
		SKIP(NOT_HERE);
	}
	pid_t pid = child_of(getpid());
	CHECK(pid > 0);
	errno = UNTOUCHED;
	for (int i = 0; i < 1000; i++) {
		CHECK_INT(errno, UNTOUCHED);
		(void)poll(NULL, 0, 0);
	}
	CHECK_INT(prctl(PR_GET_DUMPABLE), 1);
	CHECK(pthread_sigmask(SIG_SETMASK, NULL, &mask) == 0 && sigismember(&mask, SIGTERM) == 0);
	early_free(e);
	CHECK(waitpid(-1, NULL, __WALL) == -1 && errno == ECHILD);
}

TEST(one_that_was_killed_leaves_no_first_process) {
	int pidfd = -1;
	struct early *e = start();
	if (e == NULL) {
		SKIP(NOT_HERE);
	}
	REQUIRE(kill(child_of(getpid()), SIGKILL) == 0);
	CHECK_INT(clone_first(e, &pidfd), -1);
	CHECK_INT(errno, EOWNERDEAD);
	CHECK_INT(pidfd, -1);
	early_free(e);
	CHECK(waitpid(-1, NULL, __WALL) == -1 && errno == ECHILD);
}

/* The younger of two children of a process; 0: there is one child or none. */
static pid_t second_child_of(pid_t pid) {
	char path[64], text[64] = "";

	(void)snprintf(path, sizeof path, "/proc/%d/task/%d/children", (int)pid, (int)pid);
	auto_fd fd = open(path, O_RDONLY | O_CLOEXEC);
	const char *more =
		fd < 0 || read(fd, text, sizeof text - 1) <= 0 ? NULL : strchr(text, ' ');
	return more == NULL ? 0 : (pid_t)strtol(more, NULL, 10);
}

/* While it makes the namespace, which takes half a millisecond. */
static bool stop_network_process(void) {
	pid_t pid = 0;

	for (int i = 0; i < 1000000 && pid == 0; i++) {
		pid = second_child_of(getpid());
	}
	return pid > 0 && kill(pid, SIGSTOP) == 0;
}

static void check_stopped(bool network) {
	siginfo_t info = {.si_status = 0};
	int pidfd = -1, up[2];

	map_seen();
	REQUIRE(pipe2(up, O_CLOEXEC) == 0); /* in a child: without the fix it waits for ever */
	pid_t supervisor = fork();
	if (supervisor == 0) {
		struct early *e = early_start();
		started = e;
		pid_t pid = e == NULL ? 0 : child_of(getpid());
		bool good = pid > 0 &&
			    (network ? stop_network_process() : kill(pid, SIGSTOP) == 0) &&
			    clone_first(e, &pidfd) > 0;
		early_free(e);
		good = good &&
		       syscall(SYS_waitid, WAIT_PIDFD, pidfd, &info, WEXITED | __WALL, NULL) == 0 &&
		       info.si_status == 5;
		(void)!write(up[1], e == NULL ? "-" : good ? "1" : "0", 1);
		_exit(0);
	}
	(void)close(up[1]);
	struct pollfd answer = {.fd = up[0], .events = POLLIN};
	char got = '0';
	CHECK(poll(&answer, 1, PATIENCE_MS) == 1 && read(up[0], &got, 1) == 1);
	(void)close(up[0]);
	(void)kill(supervisor, SIGKILL);
	(void)waitpid(supervisor, NULL, 0);
	if (got == '-') {
		SKIP(NOT_HERE);
	}
	CHECK_INT(got, '1');
}

TEST(one_that_was_stopped_is_continued) {
	check_stopped(false);
	check_stopped(true);
}

#define KILLED 2

/* What early_join() returns with that answer; KILLED: the first process was; 1: something else is
 * wrong.  In a child, because the filter stays. */
static long joined_with(uint32_t action) {
	int status = -1, pidfd = -1;
	siginfo_t info = {.si_status = 0};

	map_seen();
	seen->joined = 1;
	pid_t pid = fork();
	if (pid == 0) {
		started = answer_network(action) ? early_start() : NULL;
		if (started == NULL) {
			_exit(2);
		}
		bool ended = clone_first(started, &pidfd) > 0;
		early_free(started); /* reaps the network process, as the supervisor does */
		ended = ended &&
			syscall(SYS_waitid, WAIT_PIDFD, pidfd, &info, WEXITED | __WALL, NULL) == 0;
		ended = ended && waitpid(-1, NULL, __WALL) == -1 && errno == ECHILD;
		_exit(!ended ? 1 : info.si_code == CLD_EXITED ? 0 : 3);
	}
	bool ended = pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status);
	return !ended || WEXITSTATUS(status) == 1 ? 1
	       : WEXITSTATUS(status) == 3         ? KILLED
						  : seen->joined;
}

TEST(a_refused_network_process_is_reported_and_a_killed_one_ends_the_first_process) {
	struct early *e = start();
	if (e == NULL) {
		SKIP(NOT_HERE);
	}
	early_free(e);
	CHECK_INT(joined_with(SECCOMP_RET_ALLOW), 0);
	CHECK_INT(joined_with(SECCOMP_RET_ERRNO | EUSERS), -EUSERS);
	long killed = joined_with(SECCOMP_RET_KILL_PROCESS);
	CHECK(killed == KILLED || killed == -EPIPE); /* whichever it notices first */
}

TEST(it_dies_with_its_supervisor) {
	int up[2];
	pid_t early = 0;

	REQUIRE(pipe2(up, O_CLOEXEC) == 0);
	pid_t supervisor = fork();
	if (supervisor == 0) {
		pid_t pid = start() == NULL ? 0 : child_of(getpid());
		(void)!write(up[1], &pid, sizeof pid);
		(void)pause();
		_exit(0);
	}
	REQUIRE(read(up[0], &early, sizeof early) == sizeof early);
	auto_fd pidfd = early == 0 ? -1 : (int)syscall(SYS_pidfd_open, early, 0U);
	(void)kill(supervisor, SIGKILL);
	(void)waitpid(supervisor, NULL, 0);
	(void)close(up[0]);
	(void)close(up[1]);
	if (early == 0) {
		SKIP(NOT_HERE);
	}
	REQUIRE(pidfd >= 0);
	struct pollfd end = {.fd = pidfd, .events = POLLIN};
	CHECK(poll(&end, 1, PATIENCE_MS) == 1);
}

TESTS_MAIN
