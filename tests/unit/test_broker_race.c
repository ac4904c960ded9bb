/* SPDX-License-Identifier: Apache-2.0 */
/* The broker against callers that change what it looks at: the path in memory, the
 * tree under the path, the descriptor under the number.
 *
 * In each race one thread asks, over and over, for something that is allowed, and
 * another swaps it for something that is not.  The verdict is the host's: the bytes
 * that were read, the modes of the files outside.  A race counts only when both
 * answers were seen, so that the swaps did fall between two calls; its control is a
 * broker that looks and then lets the call pass. */
#include "broker_world.h"

#include <linux/limits.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/ioctl.h>
#include <sys/uio.h>
#include <time.h>

#define ROUNDS 4000
#define LONGEST 8.0    /* seconds; a loaded machine does fewer rounds */
#define PATIENCE 120.0 /* seconds until both sides have won once, on one processor too */

static atomic_bool over;

static double seconds(void) {
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

struct tally {
	long done, refused, broken;
};

static void add(struct tally *t, bool done, bool broken) {
	t->done += done;
	t->refused += !done;
	t->broken += broken;
}

/* Reads what was opened: "SECRET" must never be seen. */
static bool opened_secret(int fd) {
	char text[16] = "";
	bool secret = read(fd, text, sizeof text - 1) > 0 && strcmp(text, "SECRET") == 0;
	close(fd);
	return secret;
}

static bool goes_on(const struct tally *t, double begin) {
	double spent = seconds() - begin;

	return (t->done + t->refused < ROUNDS && spent < LONGEST) ||
	       ((t->done == 0 || t->refused == 0) && spent < PATIENCE);
}

static int race(void *(*swapper)(void *), void (*once)(struct tally *t)) {
	struct tally t = {0};
	pthread_t thread;
	double begin = seconds();

	atomic_store(&over, false);
	if (pthread_create(&thread, NULL, swapper, NULL) != 0) {
		return 1;
	}
	while (t.broken == 0 && goes_on(&t, begin)) {
		once(&t);
	}
	atomic_store(&over, true);
	(void)pthread_join(thread, NULL);
	printf("# %ld done, %ld refused, %ld broken\n", t.done, t.refused, t.broken);
	CHECK(t.done > 0);
	CHECK(t.refused > 0);
	CHECK_INT(t.broken, 0);
	return 0;
}

static bool ro_changed(void) {
	struct stat st;
	return stat("../ro/file", &st) != 0 || (st.st_mode & 0777) != 0644;
}

/* ---- the path in memory ---- */

static char path_in_memory[64];

/* The other thread sees what was written, and the compiler drops nothing of it. */
static void pause_a_moment(void) {
	for (volatile int i = 0; i < 500; i = i + 1) {
	}
	__asm__ volatile("" ::: "memory");
}

static void *swap_memory(void *arg) {
	(void)arg;
	while (!atomic_load(&over)) {
		memcpy(path_in_memory, "./x/../file", 12);
		pause_a_moment();
		memcpy(path_in_memory, "././/secret", 12);
		pause_a_moment();
	}
	return NULL;
}

static void open_memory(struct tally *t) {
	int fd = open(path_in_memory, O_RDONLY | O_CLOEXEC);
	add(t, fd >= 0, fd >= 0 && opened_secret(fd));
}

static void *swap_memory_ro(void *arg) {
	(void)arg;
	while (!atomic_load(&over)) {
		memcpy(path_in_memory, "./x/../file", 12);
		pause_a_moment();
		memcpy(path_in_memory, ".././ro/file", 13);
		pause_a_moment();
	}
	return NULL;
}

static void chmod_memory(struct tally *t) {
	bool done = chmod(path_in_memory, 0600) == 0;
	add(t, done, ro_changed());
}

static int open_memory_race(void) {
	return race(swap_memory, open_memory);
}

static int chmod_memory_race(void) {
	return race(swap_memory_ro, chmod_memory);
}

/* ---- the tree ---- */

/* "way" leads to the file and to the secret by turns; made new and moved over. */
static void *swap_link(void *arg) {
	const char *bad = arg != NULL ? arg : "secret";
	while (!atomic_load(&over)) {
		(void)!symlink("file", "next");
		(void)rename("next", "way");
		pause_a_moment();
		(void)!symlink(bad, "next");
		(void)rename("next", "way");
		pause_a_moment();
	}
	return NULL;
}

static void *swap_link_ro(void *arg) {
	(void)arg;
	static char bad[] = "../ro/file";
	return swap_link(bad);
}

static void open_link(struct tally *t) {
	int fd = open("way", O_RDONLY | O_CLOEXEC);
	if (fd >= 0 || errno != ENOENT) {
		add(t, fd >= 0, fd >= 0 && opened_secret(fd));
	}
}

static void chmod_link(struct tally *t) {
	bool done = chmod("way", 0600) == 0;
	if (done || errno != ENOENT) {
		add(t, done, ro_changed());
	}
}

static void create_link(struct tally *t) {
	int fd = open("way", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	struct stat st;
	add(t, fd >= 0, stat("secret", &st) != 0 || st.st_size != 6);
	if (fd >= 0) {
		close(fd);
	}
}

/* "dir" is a directory of ours and a link to the masked one by turns. */
static void *swap_dir(void *arg) {
	(void)arg;
	while (!atomic_load(&over)) {
		(void)syscall(SYS_renameat2, AT_FDCWD, "dir", AT_FDCWD, "dir-link",
			      RENAME_EXCHANGE);
		pause_a_moment();
	}
	return NULL;
}

static void make_in_dir(struct tally *t) {
	char name[32], masked[32];
	struct stat st;
	(void)snprintf(name, sizeof name, "dir/%ld", t->done + t->refused);
	(void)snprintf(masked, sizeof masked, "closed/%ld", t->done + t->refused);
	bool done = mkdir(name, 0755) == 0;
	add(t, done, stat(masked, &st) == 0);
}

static int open_link_race(void) {
	return race(swap_link, open_link);
}
static int chmod_link_race(void) {
	return race(swap_link_ro, chmod_link);
}
static int create_link_race(void) {
	return race(swap_link, create_link);
}
static int make_dir_race(void) {
	return race(swap_dir, make_in_dir);
}

/* ---- the descriptor ---- */

static int swapped_fd, good_fd, bad_fd;

static void *swap_fd(void *arg) {
	(void)arg;
	while (!atomic_load(&over)) {
		(void)dup2(good_fd, swapped_fd);
		pause_a_moment();
		(void)dup2(bad_fd, swapped_fd);
		pause_a_moment();
	}
	return NULL;
}

static void fchmod_fd(struct tally *t) {
	add(t, fchmod(swapped_fd, 0600) == 0, ro_changed());
}

static void openat_fd(struct tally *t) {
	int fd = openat(swapped_fd, "key", O_RDONLY | O_CLOEXEC);
	add(t, fd >= 0, fd >= 0 && opened_secret(fd));
}

static int fchmod_race(void) {
	good_fd = open("file", O_RDONLY | O_CLOEXEC);
	bad_fd = open("../ro/file", O_RDONLY | O_CLOEXEC);
	swapped_fd = dup(good_fd);
	return race(swap_fd, fchmod_fd);
}

static int openat_race(void) {
	good_fd = open("dir", O_PATH | O_CLOEXEC);
	bad_fd = open("closed", O_PATH | O_CLOEXEC);
	swapped_fd = dup(good_fd);
	return race(swap_fd, openat_fd);
}

/* ---- the control ---- */

/* Looks at the path and then lets the call pass, as a broker must not. */
static void look_and_pass(struct broker *b) {
	struct seccomp_notif n = {0};
	char path[64] = "";
	if (ioctl(b->listener, SECCOMP_IOCTL_NOTIF_RECV, &n) != 0) {
		return;
	}
	struct iovec to = {path, 12}, from = {(void *)(uintptr_t)n.data.args[1], 12};
	bool got = process_vm_readv((pid_t)n.pid, &to, 1, &from, 1, 0) > 0;
	bool secret = got && memcmp(path, "././/secret", 11) == 0;
	struct seccomp_notif_resp answer = {.id = n.id,
					    .error = secret ? -EACCES : 0,
					    .flags = secret ? 0 : SECCOMP_USER_NOTIF_FLAG_CONTINUE};
	(void)ioctl(b->listener, SECCOMP_IOCTL_NOTIF_SEND, &answer);
}

static int naive_race(void) {
	struct tally t = {0};
	pthread_t thread;
	double end = seconds() + PATIENCE;

	if (pthread_create(&thread, NULL, swap_memory, NULL) != 0) {
		return 1;
	}
	while (t.broken == 0 && seconds() < end) {
		open_memory(&t);
	}
	atomic_store(&over, true);
	(void)pthread_join(thread, NULL);
	printf("# %ld done, %ld refused, %ld broken\n", t.done, t.refused, t.broken);
	return t.broken > 0 ? 0 : 1;
}

/* ---- */

static void make_race_world(void) {
	world_make();
	put("ws/secret", "SECRET");
	put("ws/closed/key", "SECRET");
	if (mkdir(in_world("ws/x"), 0755) != 0 || mkdir(in_world("ws/dir"), 0755) != 0 ||
	    symlink("closed", in_world("ws/dir-link")) != 0) {
		abort();
	}
	put("ws/dir/key", "content");
}

#define RACE(name, fn)                                                                             \
	TEST(name) {                                                                               \
		make_race_world();                                                                 \
		CHECK_INT(with_broker(BROKER_FILES | BROKER_METADATA, fn), 0);                     \
		world_remove();                                                                    \
	}

TEST(a_broker_that_lets_calls_pass_loses_the_race) {
	make_race_world();
	serve_calls = look_and_pass;
	CHECK_INT(with_broker(BROKER_FILES, naive_race), 0);
	serve_calls = broker_serve;
	world_remove();
}

RACE(a_path_that_changes_in_memory_opens_nothing_denied, open_memory_race)
RACE(a_path_that_changes_in_memory_marks_nothing_outside, chmod_memory_race)
RACE(a_link_that_changes_opens_nothing_denied, open_link_race)
RACE(a_link_that_changes_marks_nothing_outside, chmod_link_race)
RACE(a_link_that_changes_cuts_nothing_denied, create_link_race)
RACE(a_directory_that_changes_gets_nothing_in_a_masked_place, make_dir_race)
RACE(a_descriptor_that_changes_marks_nothing_outside, fchmod_race)
RACE(a_descriptor_that_changes_opens_nothing_denied, openat_race)

/* ---- the same by somebody outside, whom the broker does not hold up ---- */

static void *swap_nothing(void *arg) {
	return arg;
}

static int open_link_alone(void) {
	return race(swap_nothing, open_link);
}
static int chmod_link_alone(void) {
	return race(swap_nothing, chmod_link);
}
static int create_link_alone(void) {
	return race(swap_nothing, create_link);
}
static int make_dir_alone(void) {
	return race(swap_nothing, make_in_dir);
}

static void against_host(void *(*swapper)(void *), inside_fn *fn) {
	make_race_world();
	pid_t pid = fork();
	if (pid == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		(void)swapper(NULL);
		_exit(0);
	}
	CHECK_INT(with_broker(BROKER_FILES | BROKER_METADATA, fn), 0);
	(void)kill(pid, SIGKILL);
	(void)wait_for(pid);
	world_remove();
}

#define HOST_RACE(name, swapper, fn)                                                               \
	TEST(name) {                                                                               \
		against_host(swapper, fn);                                                         \
	}

HOST_RACE(a_link_that_the_host_changes_opens_nothing_denied, swap_link, open_link_alone)
HOST_RACE(a_link_that_the_host_changes_marks_nothing_outside, swap_link_ro, chmod_link_alone)
HOST_RACE(a_link_that_the_host_changes_cuts_nothing_denied, swap_link, create_link_alone)
HOST_RACE(a_directory_that_the_host_changes_gets_nothing_in_a_masked_place, swap_dir,
	  make_dir_alone)

TESTS_MAIN
