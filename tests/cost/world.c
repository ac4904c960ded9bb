/* SPDX-License-Identifier: Apache-2.0 */
/* A small machine that is the same on every host, for counting.
 *
 *     world TEMPLATE ROOT COMMAND [ARG...]
 *
 * Should:   mount a tmpfs with a copy of TEMPLATE on ROOT, with a new /proc and six devices,
 *           make it the root, and run the command there twice, as user 1000 in its project: the
 *           second run finds the home that the first one made.
 * Must not: be taken for a boundary: it only keeps the host's files, mounts and pids out.
 * Fails:    closed, with status 99 and the step that failed; a command that fails gives its
 *           own status. */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define FAILED 99
#define ACCOUNT 1000 /* user and group; the template's passwd names them */
#define PROJECT "/home/user/project"

static const char *const devices[] = {"null", "zero", "full", "random", "urandom", "tty"};

static void need(int result, const char *step) {
	if (result < 0) {
		fprintf(stderr, "world: %s: %s\n", step, strerror(errno));
		exit(FAILED);
	}
}

static void put(const char *path, const char *format, ...) {
	char text[64];
	va_list list;
	va_start(list, format);
	int length = vsnprintf(text, sizeof(text), format, list);
	va_end(list);
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	need(fd, path);
	need(write(fd, text, (size_t)length) == length ? 0 : -1, path);
	close(fd);
}

static int run(char *const *argv, int out, int err) {
	int status;
	pid_t pid = fork();
	need(pid, "fork");
	if (pid == 0) {
		need(out == STDOUT_FILENO ? 0 : dup2(out, STDOUT_FILENO), "dup2");
		need(err == STDERR_FILENO ? 0 : dup2(err, STDERR_FILENO), "dup2");
		execv(argv[0], argv);
		need(-1, argv[0]);
	}
	need(waitpid(pid, &status, 0), "waitpid");
	while (waitpid(-1, NULL, 0) > 0) {
		/* This is pid 1: processes that outlived theirs count too. */
	}
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* An ordinary caller has all this in a user namespace of its own, where it is user 1000 from the
 * start. */
static void leave_host(void) {
	uid_t uid = geteuid();
	gid_t gid = getegid();
	int more = uid == 0 ? 0 : CLONE_NEWUSER;
	need(unshare(more | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWUTS | CLONE_NEWIPC |
		     CLONE_NEWNET),
	     "unshare");
	if (more != 0) {
		put("/proc/self/setgroups", "deny");
		put("/proc/self/uid_map", "%d %d 1", ACCOUNT, (int)uid);
		put("/proc/self/gid_map", "%d %d 1", ACCOUNT, (int)gid);
	}
	need(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL), "making mounts private");
}

static void bind_device(const char *root, const char *name) {
	char from[64], to[4096];
	snprintf(from, sizeof(from), "/dev/%s", name);
	snprintf(to, sizeof(to), "%s/dev/%s", root, name);
	int fd = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	need(fd, to);
	close(fd);
	need(mount(from, to, NULL, MS_BIND, NULL), from);
}

static void fill(const char *template, char *root) {
	char from[4096], proc[4096];
	snprintf(from, sizeof(from), "%s/.", template);
	char program[] = "/bin/cp", option[] = "-a";
	char *const copy[] = {program, option, from, root, NULL};
	need(mount("tmpfs", root, "tmpfs", MS_NOSUID | MS_NODEV, "mode=755"), "tmpfs");
	need(run(copy, STDOUT_FILENO, STDERR_FILENO) == 0 ? 0 : -1, "cp");
	for (size_t i = 0; i < sizeof(devices) / sizeof(devices[0]); i++) {
		bind_device(root, devices[i]);
	}
	snprintf(proc, sizeof(proc), "%s/proc", root);
	need(mount("proc", proc, "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL), "proc");
}

static void enter(const char *root) {
	need(chdir(root), root);
	need((int)syscall(SYS_pivot_root, ".", "."), "pivot_root");
	need(umount2(".", MNT_DETACH), "umount");
	need(chdir("/"), "/");
}

/* Gives away every right that the mounts needed. */
static void become_user(void) {
	if (geteuid() == 0) {
		need(setgroups(0, NULL), "setgroups");
	}
	need(setresgid(ACCOUNT, ACCOUNT, ACCOUNT), "setresgid");
	need(setresuid(ACCOUNT, ACCOUNT, ACCOUNT), "setresuid");
	need(prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0), "ambient capabilities");
	need(chdir(PROJECT), PROJECT);
}

/* Copies what stands in a pipe, which holds all that these commands print. */
static void copy_out(int from, int to) {
	static char text[65536];
	ssize_t length = read(from, text, sizeof(text));
	need(length < 0 || write(to, text, (size_t)length) != length ? -1 : 0, "copying output");
	close(from);
}

/* The same with pipes of the user's own behind stdout and stderr: what corral does depends on their
 * owner. */
static int run_piped(char *const *argv) {
	int out[2], err[2];
	need(pipe2(out, O_CLOEXEC), "pipe");
	need(pipe2(err, O_CLOEXEC), "pipe");
	int status = run(argv, out[1], err[1]);
	close(out[1]);
	close(err[1]);
	copy_out(out[0], STDOUT_FILENO);
	copy_out(err[0], STDERR_FILENO);
	return status;
}

static long faults(void) {
	struct rusage usage;
	need(getrusage(RUSAGE_CHILDREN, &usage), "getrusage");
	return usage.ru_minflt;
}

/* The page faults of the second run are this program's only line on stderr. */
static int run_twice(char *const *argv) {
	int status = run_piped(argv);
	if (status == 0) {
		long before = faults();
		status = run_piped(argv);
		fprintf(stderr, "faults %ld\n", faults() - before);
	}
	return status;
}

int main(int argc, char **argv) {
	if (argc < 4) {
		fprintf(stderr, "usage: world TEMPLATE ROOT COMMAND [ARG...]\n");
		return FAILED;
	}
	leave_host();
	pid_t pid = fork(); /* pid 1 of the new namespace */
	need(pid, "fork");
	if (pid == 0) {
		fill(argv[1], argv[2]);
		enter(argv[2]);
		become_user();
		return run_twice(argv + 3);
	}
	int status;
	need(waitpid(pid, &status, 0), "waitpid");
	return WIFEXITED(status) ? WEXITSTATUS(status) : FAILED;
}
