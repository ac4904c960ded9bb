/* SPDX-License-Identifier: Apache-2.0 */
/* A small world for the broker's tests: a tree with a plan, a guard that serves, a
 * command that asks.
 *
 *     ws/           writable; the working directory
 *       file        what may be changed         a/b/deep   a file further down
 *       secret      masked                      closed/    masked, with key in it
 *       prot        pinned, read-only           pin/       pinned, with rights as they are
 *     ro/file       readable
 *     out/file      in no view
 *
 * No Landlock here: what a test sees refused, the broker refused. */
#ifndef CORRAL_TESTS_UNIT_BROKER_WORLD_H
#define CORRAL_TESTS_UNIT_BROKER_WORLD_H

#include "test.h"

#include "base/auto.h"
#include "linux/bpf.h"
#include "linux/broker/broker.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

#define ALL_FAMILIES (~0U)

/* What an attempt ended with, beside an errno. */
#define SIGNALLED 180
#define CHECK_FAILED 255

static char world[64]; /* its directory */
static struct mount world_mounts[16];
static char world_paths[16][128];
static struct plan world_plan;
static bool world_walks; /* no openat2: every path is walked */
static bool world_young; /* nothing in it stood before the run */

/* ---- the tree ---- */

static inline const char *in_world(const char *name) {
	static char path[8][256];
	static unsigned turn;
	char *out = path[turn++ % 8];
	(void)snprintf(out, sizeof path[0], "%s/%s", world, name);
	return out;
}

static inline void put(const char *name, const char *content) {
	int fd = open(in_world(name), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (fd < 0 || write(fd, content, strlen(content)) != (ssize_t)strlen(content)) {
		perror(name);
		abort();
	}
	close(fd);
	(void)setxattr(in_world(name), "user.old", "1", 1, 0); /* a file system may have none */
}

static inline int rm_one(const char *path, const struct stat *st, int kind, struct FTW *at) {
	(void)st, (void)kind, (void)at;
	return remove(path);
}

/* A command's program lies in its view. */
static inline const char *own_program(void) {
	static char path[120]; /* a mount's target has 128 */
	ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);

	path[n < 0 ? 0 : n] = '\0';
	return path;
}

static inline void world_remove(void) {
	if (world[0] != '\0') {
		(void)nftw(world, rm_one, 16, FTW_DEPTH | FTW_PHYS);
		world[0] = '\0';
	}
}

static inline void add_mount(enum mount_kind kind, const char *path, bool writable) {
	size_t i = world_plan.nmounts++;
	if (i == ARRAY_LEN(world_mounts)) {
		abort();
	}
	(void)snprintf(world_paths[i], sizeof world_paths[i], "%s",
		       path[0] == '/' ? path : in_world(path));
	world_mounts[i] = (struct mount){.kind = kind,
					 .target = world_paths[i],
					 .source = world_paths[i],
					 .writable = writable};
}

static inline void world_make(void) {
	static const char *const dirs[] = {"ws",       "ws/a", "ws/a/b",   "ws/closed", "ws/pin",
					   "ws/empty", "ro",   "ro/empty", "out"};
	static const char *const files[] = {"ws/file", "ws/a/b/deep",   "ws/secret",
					    "ws/prot", "ws/closed/key", "ws/pin/file",
					    "ro/file", "out/file"};

	world_remove();
	(void)umask(022);
	(void)snprintf(world, sizeof world, "/tmp/broker-test-XXXXXX");
	if (mkdtemp(world) == NULL) {
		abort();
	}
	for (size_t i = 0; i < ARRAY_LEN(dirs); i++) {
		if (mkdir(in_world(dirs[i]), 0755) != 0) {
			abort();
		}
	}
	for (size_t i = 0; i < ARRAY_LEN(files); i++) {
		put(files[i], "content");
	}
	if (symlink("../ro/file", in_world("ws/to-ro")) != 0 ||
	    symlink("secret", in_world("ws/to-secret")) != 0 ||
	    symlink("new", in_world("ws/to-new")) != 0 ||
	    symlink("closed/new", in_world("ws/to-closed-new")) != 0 ||
	    symlink("loop", in_world("ws/loop")) != 0 ||
	    symlink("file", in_world("ws/to-file")) != 0 ||
	    symlink("/proc/self", in_world("ws/me")) != 0 ||
	    mkfifo(in_world("ws/fifo"), 0644) != 0 || chdir(in_world("ws")) != 0) {
		abort();
	}
	world_plan = (struct plan){.engine = ENGINE_LANDLOCK,
				   .mounts = world_mounts,
				   .home_at = "/nowhere",
				   .landlock_abi = 7,
				   .own_net = true};
	add_mount(MOUNT_BIND, "/usr", false);
	add_mount(MOUNT_BIND, own_program(), false);
	add_mount(MOUNT_PROC, "/proc", false);
	add_mount(MOUNT_DEVICE, "/dev/null", false);
	add_mount(MOUNT_BIND, "ro", false);
	add_mount(MOUNT_BIND, "ws", true);
	add_mount(MOUNT_MASK_DIR, "ws/closed", false);
	add_mount(MOUNT_PIN, "ws/pin", true);
	add_mount(MOUNT_PIN, "ws/prot", false);
	add_mount(MOUNT_MASK_FILE, "ws/secret", false);
}

/* ---- what the tree looks like ---- */

static uint64_t print_hash;

static inline void print_add(const void *data, size_t len) {
	for (size_t i = 0; i < len; i++) {
		print_hash = (print_hash ^ ((const unsigned char *)data)[i]) * 1099511628211ULL;
	}
}

static inline int print_one(const char *path, const struct stat *st, int kind, struct FTW *at) {
	char text[512];
	(void)kind, (void)at;

	/* Times that a test set are years ago; others are the clock's. */
	long long when = st->st_mtime < 1000000 ? st->st_mtime : 0;
	int n = snprintf(text, sizeof text, "%s %o %u %u %lld %lu", path + strlen(world),
			 st->st_mode, st->st_uid, st->st_gid, when,
			 (unsigned long)(S_ISDIR(st->st_mode) ? 0 : st->st_nlink));
	print_add(text, (size_t)n);
	ssize_t len = S_ISLNK(st->st_mode) ? readlink(path, text, sizeof text) : 0;
	if (S_ISREG(st->st_mode)) {
		int fd = open(path, O_RDONLY | O_CLOEXEC);
		len = fd < 0 ? 0 : read(fd, text, sizeof text);
		if (fd >= 0) {
			close(fd);
		}
	}
	print_add(text, len > 0 ? (size_t)len : 0);
	len = lgetxattr(path, "user.old", text, sizeof text);
	print_add(text, len > 0 ? (size_t)len : 0);
	len = lgetxattr(path, "user.new", text, sizeof text);
	print_add(text, len > 0 ? (size_t)len : 0);
	return 0;
}

/* A number for names, kinds, modes, owners, contents, attributes and old times.
 * nftw() does not sort, so the sums of the files are added up. */
static uint64_t print_sum;

static inline int print_sum_one(const char *path, const struct stat *st, int kind, struct FTW *at) {
	print_hash = 14695981039346656037ULL;
	print_one(path, st, kind, at);
	print_sum += print_hash;
	return 0;
}

static inline uint64_t world_print(void) {
	print_sum = 0;
	(void)nftw(world, print_sum_one, 16, FTW_PHYS);
	return print_sum;
}

/* ---- guard and command ---- */

static inline int ask_about(unsigned families) {
	struct sock_filter code[2 * 128];
	unsigned short n = 0;

	code[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
						 offsetof(struct seccomp_data, nr));
	for (size_t i = 0; i < broker_rows_count; i++) {
		int nr = syscall_names[broker_rows[i].id].nr[bpf_native()];
		if (nr >= 0 && (broker_rows[i].families & families) != 0) {
			code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K,
								 (uint32_t)nr, 0, 1);
			code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K,
								 SECCOMP_RET_USER_NOTIF);
		}
	}
	code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	struct sock_fprog program = {n, code};
	const unsigned killable = 1U << 5; /* WAIT_KILLABLE_RECV */
	(void)prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	int fd = (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
			      SECCOMP_FILTER_FLAG_NEW_LISTENER | killable, &program);
	if (fd < 0) {
		perror("seccomp");
		_exit(70);
	}
	return fd;
}

typedef int inside_fn(void);

/* The command: asks, tells the guard, waits until it has the listener. */
static inline _Noreturn void command(unsigned families, int channel, inside_fn *fn) {
	char go;
	int listener = ask_about(families);
	if (write(channel, &listener, sizeof listener) != sizeof listener ||
	    read(channel, &go, 1) != 1) {
		_exit(71);
	}
	close(listener);
	close(channel);
	(void)alarm(120); /* a test that hangs is one that fails */
	int r = fn();
	fflush(stdout);
	_exit(test_failed ? CHECK_FAILED : r);
}

/* Another one is for controls. */
static void (*serve_calls)(struct broker *b) = broker_serve;

static inline int serve_until_end(struct broker *b, pid_t child) {
	struct pollfd fds[] = {{.fd = b->listener, .events = POLLIN},
			       {.fd = (int)syscall(SYS_pidfd_open, child, 0U), .events = POLLIN}};
	int status = 0;
	time_t end = 0;
	for (;;) {
		(void)poll(fds, 2, 20);
		if ((fds[0].revents & POLLIN) != 0) {
			serve_calls(b);
		}
		int got;
		pid_t pid;
		while ((pid = waitpid(-1, &got, WNOHANG)) > 0) {
			if (pid == child) {
				status = got;
				kill(-child, SIGKILL);
				fds[1].fd = -1;
				end = time(NULL);
			}
		}
		if (pid < 0) {
			return status; /* everyone has gone, helpers as well */
		}
		if (end != 0 && time(NULL) > end + 10) {
			printf("# somebody is left behind\n");
			fflush(stdout);
			_exit(CHECK_FAILED);
		}
		if ((fds[0].revents & POLLHUP) != 0) {
			fds[0].fd = -1; /* nobody is left to ask */
		}
	}
}

static inline _Noreturn void guard(unsigned families, inside_fn *fn) {
	static struct broker b;
	int channel[2], listener;

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* a test that is ended leaves nobody */
	(void)prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
	(void)setsid();
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, channel) != 0) {
		_exit(72);
	}
	fflush(stdout);
	pid_t child = fork();
	if (child == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(channel[0]);
		(void)setpgid(0, 0);
		command(families, channel[1], fn);
	}
	close(channel[1]);
	if (read(channel[0], &listener, sizeof listener) != sizeof listener) {
		_exit(73);
	}
	int pidfd = (int)syscall(SYS_pidfd_open, child, 0U);
	listener = (int)syscall(SYS_pidfd_getfd, pidfd, listener, 0U);
	if (listener < 0) {
		_exit(74);
	}
	close(pidfd);
	(void)prctl(PR_SET_DUMPABLE, 0); /* as the engine's guard is */
	broker_init(&b, &world_plan, listener);
	b.umask = umask(0);
	(void)umask(b.umask);
	b.fast = b.fast && !world_walks;
	b.began.tv_sec = world_young ? 1 : b.began.tv_sec;
	if (write(channel[0], "g", 1) != 1) {
		_exit(75);
	}
	close(channel[0]);
	int status = serve_until_end(&b, child);
	_exit(WIFEXITED(status) ? WEXITSTATUS(status) : SIGNALLED + WTERMSIG(status));
}

static inline int wait_for(pid_t pid) {
	int status;
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
	}
	return WIFEXITED(status) ? WEXITSTATUS(status) : SIGNALLED + WTERMSIG(status);
}

/* Runs fn with the broker; its result, CHECK_FAILED, or SIGNALLED and the signal. */
static inline int with_broker(unsigned families, inside_fn *fn) {
	fflush(stdout);
	pid_t pid = fork();
	if (pid == 0) {
		test_failed = false; /* of this attempt alone */
		guard(families, fn);
	}
	return wait_for(pid);
}

/* The same without: the control. */
static inline int without_broker(inside_fn *fn) {
	fflush(stdout);
	pid_t pid = fork();
	if (pid == 0) {
		test_failed = false;
		int r = fn();
		fflush(stdout);
		_exit(test_failed ? CHECK_FAILED : r);
	}
	return wait_for(pid);
}

/* What a command tries: 0, or the errno. */
#define ATTEMPT(name, call)                                                                        \
	static int name(void) {                                                                    \
		return (call) < 0 ? errno : 0;                                                     \
	}

static inline int open_close(const char *path, int flags) {
	int fd = open(path, flags | O_CLOEXEC, 0666);
	return fd < 0 ? -1 : close(fd);
}

static inline int write_to(const char *path, int flags) {
	int fd = open(path, flags | O_CLOEXEC, 0666);
	if (fd < 0) {
		return -1;
	}
	ssize_t n = write(fd, "more", 4);
	close(fd);
	return n == 4 ? 0 : -1;
}

struct row {
	const char *name;
	inside_fn *attempt;
	int error; /* with the broker */
};

#define ROW(name, error)                                                                           \
	{ #name, name, error }

/* The same answers when every path is walked name by name. */
static inline void check_walking(const struct row *r) {
	world_make();
	world_walks = true;
	int got = with_broker(ALL_FAMILIES, r->attempt);
	world_walks = false;
	if (got != r->error) {
		test_failed = true;
		printf("# %s: %d (%s), wanted %d\n", r->name, got, strerror(got), r->error);
	}
	world_remove();
}

#endif
