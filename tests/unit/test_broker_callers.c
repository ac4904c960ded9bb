/* SPDX-License-Identifier: Apache-2.0 */
/* The broker, the guard that it lives in, and its callers: what is the guard's own, callers that
 * end or hide. */
#include "broker_world.h"

#include <pthread.h>

/* ---- the guard's own ---- */

static int guard_file(const char *name) {
	char path[64];
	(void)snprintf(path, sizeof path, "/proc/%d/%s", getppid(), name);
	return open_close(path, O_RDONLY);
}

static int guard_below(const char *name) {
	char path[64];
	(void)snprintf(path, sizeof path, "/proc/%d", getppid());
	return chdir(path) != 0 ? -1 : open_close(name, O_RDONLY);
}

ATTEMPT(guard_memory, guard_file("mem"))
ATTEMPT(guard_maps, guard_file("maps"))
ATTEMPT(guard_environment, guard_file("environ"))
ATTEMPT(guard_task, (guard_below("mem")))
ATTEMPT(guard_exe, guard_file("exe"))
ATTEMPT(guard_cwd, guard_file("cwd/file"))
ATTEMPT(guard_root, guard_file("root/proc/self/cwd/file"))
ATTEMPT(guard_exe_below, guard_below("exe"))
ATTEMPT(guard_cwd_below, guard_below("./cwd/file"))
ATTEMPT(guard_up, guard_file("../self/cwd/file"))

TEST(nothing_of_the_guard_is_reached_on_a_callers_behalf) {
	static const struct row guards[] = {
		ROW(guard_memory, EACCES),      ROW(guard_maps, EACCES),
		ROW(guard_environment, EACCES), ROW(guard_task, EACCES),
		ROW(guard_exe, EACCES),         ROW(guard_cwd, EACCES),
		ROW(guard_root, EACCES),        ROW(guard_exe_below, EACCES),
		ROW(guard_cwd_below, EACCES),   ROW(guard_up, 0),
	};
	for (size_t i = 0; i < ARRAY_LEN(guards); i++) {
		world_make();
		int control = without_broker(guards[i].attempt);
		int got = with_broker(ALL_FAMILIES, guards[i].attempt);
		if (control != 0 || got != guards[i].error) {
			test_failed = true;
			printf("# %s: control %d, with the broker %d, wanted %d\n", guards[i].name,
			       control, got, guards[i].error);
		}
		world_remove();
	}
}

/* ---- callers ---- */

static int killed_callers(void) {
	for (int i = 0; i < 100; i++) {
		pid_t pid = fork();
		if (pid == 0) {
			for (;;) {
				(void)open_close("a/b/deep", O_RDONLY);
				(void)chmod("file", 0600);
			}
		}
		usleep((useconds_t)(i * 7 % 400));
		(void)kill(pid, SIGKILL);
		CHECK_INT(wait_for(pid), SIGNALLED + SIGKILL);
	}
	CHECK_INT(open_close("file", O_RDONLY), 0);
	return 0;
}

TEST(callers_that_are_killed_are_forgotten) {
	world_make();
	CHECK_INT(with_broker(BROKER_FILES | BROKER_METADATA, killed_callers), 0);
	world_remove();
}

/* A thread with a directory, a umask and descriptors of its own. */
static void *lone_thread(void *arg) {
	(void)arg;
	int fd = open("a", O_PATH | O_CLOEXEC);
	if (unshare(CLONE_FS | CLONE_FILES) != 0 || chdir("a/b") != 0) {
		return (void *)1;
	}
	(void)umask(077);
	CHECK_INT(dup3(open("/", O_PATH | O_CLOEXEC), fd, O_CLOEXEC), fd);
	CHECK_INT(write_to("from-thread", O_WRONLY | O_CREAT), 0);
	CHECK_INT(chmod("deep", 0640), 0);
	CHECK_INT(openat(fd, "b/deep", O_RDONLY), -1);
	CHECK_INT(open_close("/proc/self/cwd/file", O_RDONLY), 0);
	CHECK_INT(open_close("/proc/thread-self/cwd/deep", O_RDONLY), 0);
	return (void *)(uintptr_t)test_failed;
}

static int threads(void) {
	pthread_t t;
	void *bad;
	struct stat st;
	CHECK_INT(pthread_create(&t, NULL, lone_thread, NULL), 0);
	CHECK_INT(pthread_join(t, &bad), 0);
	CHECK(bad == NULL);
	CHECK_INT(stat("a/b/from-thread", &st), 0);
	CHECK_INT(st.st_mode & 0777, 0600);
	CHECK_INT(stat("a/b/deep", &st), 0);
	CHECK_INT(st.st_mode & 0777, 0640);
	return 0;
}

TEST(a_thread_is_seen_with_its_own_directory_umask_and_descriptors) {
	world_make();
	CHECK_INT(without_broker(threads), 0);
	world_make();
	CHECK_INT(with_broker(ALL_FAMILIES, threads), 0);
	world_remove();
}

static int hidden_caller(void) {
	(void)prctl(PR_SET_DUMPABLE, 0);
	return chmod("file", 0600) < 0 ? errno : 0;
}

TEST(a_caller_that_may_not_be_looked_into_is_refused) {
	if (geteuid() == 0) {
		SKIP("root may look into every process");
	}
	world_make();
	CHECK_INT(without_broker(hidden_caller), 0);
	CHECK_INT(with_broker(ALL_FAMILIES, hidden_caller), EPERM);
	world_remove();
}

static int write_and_run(void) {
	for (int i = 0; i < 40; i++) {
		int fd = open("script", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0755);
		CHECK_INT(write(fd, "#!/bin/true\n", 12), 12);
		close(fd);
		pid_t pid = fork();
		if (pid == 0) {
			(void)execl("./script", "script", (char *)NULL);
			_exit(errno);
		}
		CHECK_INT(wait_for(pid), 0); /* ETXTBSY: somebody still had it open for writing */
	}
	return 0;
}

TEST(a_file_can_be_run_as_soon_as_it_is_closed) {
	world_make();
	CHECK_INT(with_broker(ALL_FAMILIES, write_and_run), 0);
	world_remove();
}

/* Names come and go here without the broker: it is asked about marks alone. */
static int mark_removed(void) {
	int fd = open("prot", O_RDONLY | O_CLOEXEC);
	if (fd < 0 || unlink("prot") != 0) {
		return 1;
	}
	return fchmod(fd, 0600) != 0 ? errno : 0;
}

TEST(a_removed_file_is_judged_by_the_place_that_it_had) {
	world_make();
	CHECK_INT(without_broker(mark_removed), 0);
	world_make();
	CHECK_INT(with_broker(BROKER_METADATA, mark_removed), EROFS);
	world_remove();
}

static int other_session(void) {
	pid_t pid = fork();
	if (pid == 0) {
		int fd = setsid() < 0 ? -1 : open("/dev/tty", O_RDWR | O_CLOEXEC);
		_exit(fd < 0 ? errno : 0);
	}
	return wait_for(pid);
}

TEST(the_guards_terminal_is_not_handed_to_another_session) {
	world_make();
	/* Nobody here has a terminal, and the guard's own would be opened by its name. */
	CHECK_INT(without_broker(other_session), ENXIO);
	CHECK_INT(with_broker(ALL_FAMILIES, other_session), ENXIO);
	world_remove();
}

static int set_user_id(void) {
	CHECK_INT(chmod("file", 04755), -1);
	CHECK_INT(errno, EPERM);
	CHECK_INT(open("new", O_CREAT | O_WRONLY | O_CLOEXEC, 04755), -1);
	CHECK_INT(mkdir("newdir", 04755), -1);
	CHECK_INT(mknod("node", S_IFREG | 04755, 0), -1);
	CHECK_INT(errno, EPERM);
	CHECK_INT(chmod("file", 02755), -1);
	CHECK_INT(errno, EPERM);
	CHECK_INT(chmod("a", 02755), 0);
	return 0;
}

TEST(no_set_user_id_bit_is_set) {
	world_make();
	CHECK_INT(with_broker(ALL_FAMILIES, set_user_id), 0);
	struct stat st;
	CHECK_INT(stat(in_world("ws/file"), &st), 0);
	CHECK_INT(st.st_mode & 07777, 0644);
	world_remove();
}

TESTS_MAIN
