/* SPDX-License-Identifier: Apache-2.0 */
/* The filter in the kernel: loaded by the layer in a child, then real calls.
 *
 * Arguments are chosen so that the kernel's own answer differs from the
 * filter's: a bad descriptor or pointer shows who answered. */
#include "unit/test.h"

#include "base/arena.h"
#include "base/auto.h"
#include "data/syscalls.h"
#include "linux/bpf.h"
#include "linux/layer.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define NOBODY 65534
#define LOADED 0
#define NOT_LOADED 99

/* Loads the filter through the layer, as a run does. */
static int enter_filter(struct err *e) {
	static struct plan plan = {.engine = ENGINE_NAMESPACES, .level = LEVEL_FULL};
	struct arena arena;
	struct kit kit = {.plan = &plan, .arena = &arena};

	arena_init(&arena);
	if (layer_seccomp.prepare(&kit, e) != 0) {
		return -1;
	}
	return layer_seccomp.enter(&kit, e); /* the arena ends with the child */
}

/* Runs body in a child, filtered or not; wait(2)'s status. */
static int in_child(bool filtered, int (*body)(void)) {
	struct err e;
	int status;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		if (filtered &&
		    (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || enter_filter(&e) != LOADED)) {
			_exit(NOT_LOADED);
		}
		_exit(body());
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid) {
		abort();
	}
	return status;
}

struct live {
	enum syscall_id id;
	long args[4];
	int want;
};

#define BAD (-1L)

/* clang-format off */
static const struct live refused[] = {
	{CALL_unshare, {CLONE_NEWUSER}, EPERM},
	{CALL_unshare, {CLONE_NEWUSER | 1L << 40}, EPERM},
	{CALL_setns, {BAD, 0}, EPERM},
	{CALL_clone3, {0, 0}, ENOSYS},
	{CALL_mount, {0, 0, 0, 0}, EPERM},
	{CALL_umount2, {0, 0}, EPERM},
	{CALL_chroot, {0}, EPERM},
	{CALL_fsopen, {0, 0}, ENOSYS},
	{CALL_open_tree, {BAD, 0, 0}, ENOSYS},
	{CALL_io_uring_setup, {1, 0}, EPERM},
	{CALL_io_uring_enter, {BAD, 0, 0, 0}, EPERM},
	{CALL_bpf, {0xffff, 0, 0}, EPERM},
	{CALL_perf_event_open, {0, 0, 0, 0}, EPERM},
	{CALL_userfaultfd, {1}, EPERM},
	{CALL_keyctl, {0xffff}, EPERM},
	{CALL_open_by_handle_at, {BAD, 0, 0}, EPERM},
	{CALL_pidfd_getfd, {BAD, BAD, 0}, EPERM},
	{CALL_personality, {0x400000}, EPERM},
	{CALL_ioctl, {BAD, 0x5412, 0}, EPERM},
	{CALL_ioctl, {BAD, 0x12300005412, 0}, EPERM},
	{CALL_ioctl, {BAD, 0xc0406618, 0}, ENOTTY},
	{CALL_ioctl, {BAD, 0x40086602, 0}, EOPNOTSUPP},
	{CALL_socket, {38, 15, 0}, EAFNOSUPPORT},
	{CALL_socket, {40 | 1L << 32, 15, 0}, EAFNOSUPPORT},
	{CALL_socket, {2, 3, 255}, EPERM},
	{CALL_socket, {2, 1, 262}, EPROTONOSUPPORT},
	{CALL_socket, {16, 3, 6}, EPROTONOSUPPORT},
	{CALL_socketpair, {2, 1, 0, 0}, EAFNOSUPPORT},
	{CALL_setsockopt, {BAD, 6, 31, 0}, ENOPROTOOPT},
	{CALL_setsockopt, {BAD, 1, 51, 0}, ENOPROTOOPT},
	{CALL_prctl, {35, 14, 0, 0}, EPERM},
	{CALL_prctl, {62, 1, 0, 0}, EINVAL},
	{CALL_mmap, {0, 4096, 3, 0x40022}, ENOMEM},
	{CALL_memfd_create, {0, 4}, EINVAL},
	{CALL_fchmod, {BAD, 04755}, EPERM},
	{CALL_fchmodat, {BAD, 0, 04755}, EPERM},
	{CALL_openat, {BAD, 0, O_CREAT | O_WRONLY, 04644}, EPERM},
	{CALL_openat, {BAD, 0, O_TMPFILE | O_RDWR, 04644}, EPERM},
};

static const struct live passed[] = {
	{CALL_ioctl, {BAD, 0x5401, 0}, EBADF},
	{CALL_fchmod, {BAD, 02755}, EBADF},
	{CALL_openat, {BAD, 0, O_RDONLY, 04644}, EFAULT},
	{CALL_setsockopt, {BAD, 6, 1, 0}, EBADF},
	{CALL_unshare, {CLONE_FS}, 0},
	{CALL_personality, {0xffffffff}, 0},
	{CALL_getppid, {0}, 0},
	{CALL_landlock_restrict_self, {BAD, 0xffff}, EINVAL},
};
/* clang-format on */

static int errno_of(const struct live *l) {
	long nr = syscall_names[l->id].nr[bpf_native()];

	errno = 0;
	(void)syscall(nr, l->args[0], l->args[1], l->args[2], l->args[3], 0L, 0L);
	return errno;
}

/* The exit status is the first row (from 1) that answered something else. */
static int try_rows(const struct live *rows, size_t count) {
	for (size_t i = 0; i < count; i++) {
		if (errno_of(&rows[i]) != rows[i].want) {
			return (int)i + 1;
		}
	}
	return 0;
}

static int try_refused(void) {
	return try_rows(refused, ARRAY_LEN(refused));
}

static int try_passed(void) {
	return try_rows(passed, ARRAY_LEN(passed));
}

static void report_row(int status, const struct live *rows, size_t count) {
	int row = WIFEXITED(status) ? WEXITSTATUS(status) : 0;

	if (row > 0 && (size_t)row <= count) {
		printf("# row %d, %s: unexpected answer\n", row,
		       syscall_names[rows[row - 1].id].name);
	}
}

TEST(refused_calls_give_the_documented_errno) {
	int status = in_child(true, try_refused);

	report_row(status, refused, ARRAY_LEN(refused));
	CHECK_INT(status, 0);
}

/* How many rows the kernel answers otherwise when nothing filters. */
static int count_different(void) {
	int different = 0;

	for (size_t i = 0; i < ARRAY_LEN(refused); i++) {
		different += errno_of(&refused[i]) != refused[i].want;
	}
	return different;
}

/* Not all of them: a host may lack a call, or refuse it by itself. */
TEST(most_rows_would_not_hold_without_the_filter) {
	int status = in_child(false, count_different);

	REQUIRE(WIFEXITED(status));
	printf("# %d of %zu rows answer otherwise without the filter\n", WEXITSTATUS(status),
	       ARRAY_LEN(refused));
	CHECK((size_t)WEXITSTATUS(status) > ARRAY_LEN(refused) / 2);
}

TEST(allowed_calls_reach_the_kernel) {
	int status = in_child(true, try_passed);

	report_row(status, passed, ARRAY_LEN(passed));
	CHECK_INT(status, 0);
}

/* Each row of the allow lists; the exit status is the first (from 1) that answers otherwise. */
static int try_listed(const struct arg_answers *a, enum syscall_id id) {
	for (size_t i = 0; i < a->count; i++) {
		const struct arg_answer *row = &a->rows[i];
		int want = row->error == LET_THROUGH ? EBADF : row->error;
		struct live l = {id, {BAD, row->value}, 0};

		if (a->pair) {
			l.args[1] = row->value >> 16;
			l.args[2] = row->value & 0xffff;
		}
		if (errno_of(&l) != want) {
			return (int)i + 1;
		}
	}
	return 0;
}

static int try_requests(void) {
	return try_listed(&ioctl_answers, CALL_ioctl);
}

static int try_sockopts(void) {
	return try_listed(&sockopt_answers, CALL_setsockopt);
}

TEST(listed_requests_reach_the_kernel) {
	CHECK_INT(in_child(true, try_requests), 0);
	CHECK_INT(in_child(true, try_sockopts), 0);
}

static int try_future_calls(void) {
	for (long nr = SYSCALL_NEWEST + 1; nr < 600; nr++) {
		if (syscall(nr, 0, 0, 0, 0, 0, 0) != -1 || errno != ENOSYS) {
			return 1;
		}
	}
	return syscall(-1L) != -1 || errno != ENOSYS;
}

TEST(future_calls_do_not_exist) {
	CHECK_INT(in_child(true, try_future_calls), 0);
}

#ifdef __x86_64__
static int try_i386(void) {
	long result = 20; /* getpid */

	__asm__ volatile("int $0x80" : "+a"(result) : : "memory", "r8", "r9", "r10", "r11");
	return result <= 0;
}

TEST(the_i386_entry_kills_the_process) {
	int status = in_child(false, try_i386);

	if (status != 0) {
		SKIP("this kernel has no i386 entry (status 0x%x)", status);
	}
	status = in_child(true, try_i386);
	CHECK(WIFSIGNALED(status));
	CHECK_INT(WTERMSIG(status), SIGSYS);
}

static int try_x32(void) {
	return syscall(0x40000000L | 39) != -1 || errno != ENOSYS;
}

TEST(the_x32_entry_does_not_exist) {
	CHECK_INT(in_child(true, try_x32), 0);
}
#endif

static void *thread_body(void *arg) {
	char *memory = malloc(1 << 20);

	if (memory == NULL) {
		return NULL;
	}
	memset(memory, 1, 1 << 20);
	free(memory);
	return arg;
}

static int try_threads_and_processes(void) {
	pthread_t threads[4];
	void *result;
	int status, pair[2];
	pid_t pid;

	for (size_t i = 0; i < ARRAY_LEN(threads); i++) {
		if (pthread_create(&threads[i], NULL, thread_body, threads) != 0) {
			return 1;
		}
	}
	for (size_t i = 0; i < ARRAY_LEN(threads); i++) {
		if (pthread_join(threads[i], &result) != 0 || result != threads) {
			return 2;
		}
	}
	pid = fork();
	if (pid == 0) {
		_exit(7);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid || WEXITSTATUS(status) != 7) {
		return 3;
	}
	return socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0;
}

TEST(memory_threads_and_processes_still_work) {
	CHECK_INT(in_child(true, try_threads_and_processes), 0);
}

static int try_exec(void) {
	execl("/bin/sh", "sh", "-c", "echo a | cat >/dev/null && exit 5", (char *)NULL);
	return 1;
}

TEST(a_shell_with_a_pipe_runs_behind_the_filter) {
	int status = in_child(true, try_exec);

	CHECK(WIFEXITED(status));
	CHECK_INT(WEXITSTATUS(status), 5);
}

static int try_without_no_new_privs(void) {
	struct err e;

	if (geteuid() == 0 && setresuid(NOBODY, NOBODY, NOBODY) != 0) {
		return 1;
	}
	return !(enter_filter(&e) != 0 && e.sys == EACCES &&
		 strstr(e.what, "no_new_privs") != NULL);
}

TEST(without_no_new_privs_the_error_says_so) {
	if (prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1) {
		SKIP("no_new_privs is already set here and cannot be taken back");
	}
	CHECK_INT(in_child(false, try_without_no_new_privs), 0);
}

TEST(an_engine_with_the_filter_of_another_is_an_error) {
	static const enum engine engines[] = {ENGINE_NONE, ENGINE_LANDLOCK};

	for (size_t i = 0; i < ARRAY_LEN(engines); i++) {
		struct plan plan = {.engine = engines[i], .level = LEVEL_STANDARD};
		struct kit kit = {.plan = &plan};
		struct err e;

		CHECK_INT(layer_seccomp.prepare(&kit, &e), -1);
		CHECK_INT(kit.filter.len, 0);
	}
}

TEST(level_none_loads_nothing) {
	struct plan plan = {.engine = ENGINE_NONE, .level = LEVEL_NONE};
	struct kit kit = {.plan = &plan};
	struct err e;

	CHECK_INT(layer_seccomp.prepare(&kit, &e), 0);
	CHECK_INT(layer_seccomp.enter(&kit, &e), 0);
	CHECK_INT(prctl(PR_GET_SECCOMP, 0, 0, 0, 0), 0);
}

TEST(the_parent_is_still_free) {
	CHECK_INT(prctl(PR_GET_SECCOMP, 0, 0, 0, 0), 0);
	CHECK(errno_of(&(struct live){CALL_ioctl, {BAD, 0x5412, 0}, 0}) == EBADF);
}

TESTS_MAIN
