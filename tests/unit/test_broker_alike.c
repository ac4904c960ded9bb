/* SPDX-License-Identifier: Apache-2.0 */
/* The broker where the policy has nothing to say: errors and effects are the kernel's own. */
#include "broker_world.h"

#include <limits.h>
#include <sys/time.h>
#include <time.h>

/* ---- attempts: the same with and without ---- */

static const struct timespec old[2] = {{1000, 0}, {2000, 0}};

static const char *too_long(void) {
	static char path[PATH_MAX + 10];
	memset(path, 'a', sizeof path - 1);
	for (size_t i = 0; i < sizeof path; i += 100) {
		path[i] = '/';
	}
	return path;
}

static const char *just_fits(void) {
	static char path[PATH_MAX];
	memset(path, '/', sizeof path - 1);
	memcpy(path, ".", 1);
	memcpy(path + sizeof path - 5, "file", 4);
	return path;
}

#define MUCH 70000 /* more than an attribute holds */
static const char *much(void) {
	static char bytes[MUCH];
	return bytes;
}

static const char *long_name(void) {
	static char name[300];
	memset(name, 'n', sizeof name - 1);
	return name;
}

/* A string that ends where its page does, before one that is not mapped. */
static const char *at_page_end(const char *text, bool with_nul) {
	char *pages = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (pages == MAP_FAILED || munmap(pages + 4096, 4096) != 0) {
		abort();
	}
	size_t len = strlen(text) + with_nul;
	return memcpy(pages + 4096 - len, text, len);
}

/* Links in a row; /proc/self and its cwd are two more, and forty are allowed. */
static int chain(int links) {
	char name[32], next[32];
	for (int i = 0; i < links; i++) {
		(void)snprintf(name, sizeof name, "chain%d", i);
		(void)snprintf(next, sizeof next, "chain%d", i + 1);
		if (symlink(i + 1 < links ? next : "/proc/self/cwd/file", name) != 0) {
			return -1;
		}
	}
	return open_close("chain0", O_RDONLY);
}

static int at_fd(const char *dir, int flags, const char *name) {
	int at = open(dir, flags | O_CLOEXEC);
	int fd = at < 0 ? -1 : openat(at, name, O_RDONLY | O_CLOEXEC);
	int error = errno;
	if (fd >= 0) {
		close(fd);
	}
	if (at >= 0) {
		close(at);
	}
	errno = error;
	return fd < 0 ? -1 : 0;
}

static int stdin_is(const char *path, int flags) {
	int fd = open(path, flags | O_CLOEXEC);
	return fd < 0 || dup2(fd, 0) < 0 ? -1 : open_close("/dev/stdin", O_RDONLY);
}

static int dev_fd(const char *path) {
	char text[32];
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	(void)snprintf(text, sizeof text, "/dev/fd/%d", fd);
	return fd < 0 ? -1 : open_close(text, O_RDONLY);
}

static int removed_file(void) {
	int fd = open("gone", O_RDWR | O_CREAT | O_CLOEXEC, 0644);
	return fd < 0 || unlink("gone") != 0 || fchmod(fd, 0600) != 0 ? -1 : futimens(fd, old);
}

static int memory_file(void) {
	char text[32];
	int fd = (int)syscall(SYS_memfd_create, "m", 0U);
	(void)snprintf(text, sizeof text, "/proc/self/fd/%d", fd);
	return fd < 0 || fchmod(fd, 0700) != 0 ? -1 : open_close(text, O_RDWR);
}

static int a_pipe(void) {
	int fds[2];
	char text[32];
	if (pipe(fds) != 0 || fchmod(fds[0], 0600) != 0) {
		return -1;
	}
	(void)snprintf(text, sizeof text, "/proc/self/fd/%d", fds[1]);
	return open_close(text, O_WRONLY);
}

static int tmpfile_then_link(void) {
	char text[32];
	int fd = open("empty", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	(void)snprintf(text, sizeof text, "/proc/self/fd/%d", fd);
	return fd < 0 ? -1 : linkat(AT_FDCWD, text, AT_FDCWD, "linked", AT_SYMLINK_FOLLOW);
}

static int moved_dirfd(void) {
	int at = open("a/b", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return at < 0 || rename("a", "z") != 0 ? -1 : fchmodat(at, "deep", 0600, 0);
}

static int same_flags(void) {
	int fd = open("file", O_WRONLY | O_APPEND | O_SYNC);
	if (fd < 0 ||
	    (fcntl(fd, F_GETFL) & (O_APPEND | O_SYNC | O_NONBLOCK | O_ACCMODE)) !=
		    (O_WRONLY | O_APPEND | O_SYNC) ||
	    fcntl(fd, F_GETFD) != 0) {
		return -1;
	}
	int other = open("file", O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	return other == fd + 1 && fcntl(other, F_GETFD) == FD_CLOEXEC &&
			       (fcntl(other, F_GETFL) & O_NONBLOCK) != 0
		       ? 0
		       : -1;
}

static int too_many(void) {
	for (int i = 0; i < 100000; i++) {
		if (open("file", O_RDONLY | O_CLOEXEC) < 0) {
			return -1;
		}
	}
	return 0;
}

/* 0: a symlink with this target. */
static int target_is(const char *path, const char *target) {
	char got[PATH_MAX];
	ssize_t n = readlink(path, got, sizeof got);

	return n == (ssize_t)strlen(target) && memcmp(got, target, (size_t)n) == 0 ? 0 : -1;
}

static int target_at(const char *dir, const char *name) {
	char got[PATH_MAX];
	int at = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	ssize_t n = readlinkat(at, name, got, sizeof got);

	return n < 0 ? -1 : 0;
}

/* A directory, and then a symlink in its place. */
static int target_of_change(void) {
	char got[PATH_MAX];

	if (readlink("empty", got, sizeof got) >= 0 || errno != EINVAL || rmdir("empty") != 0 ||
	    symlink("file", "empty") != 0) {
		return -1;
	}
	return target_is("empty", "file");
}

static int target_of_descriptor(void) {
	char link[32], got[PATH_MAX];
	int fd = open("file", O_RDONLY | O_CLOEXEC);

	(void)snprintf(link, sizeof link, "/dev/fd/%d", fd);
	return fd < 0 || readlink(link, got, sizeof got) < 0 ? -1 : 0;
}

ATTEMPT(target, target_is("to-file", "file"))
ATTEMPT(target_of_file, target_is("file", ""))
ATTEMPT(target_of_dir, target_is("a/b", ""))
ATTEMPT(target_of_usr, target_is("/usr/lib", ""))
ATTEMPT(target_of_root, target_is("/", ""))
ATTEMPT(target_of_dot, target_is(".", ""))
ATTEMPT(target_of_up, target_is("a/..", ""))
ATTEMPT(target_of_slash, target_is("to-file/", ""))
ATTEMPT(target_of_nothing, target_is("missing", ""))
ATTEMPT(target_of_nothing_usr, target_is("/usr/missing/x", ""))
ATTEMPT(target_in_file, target_is("file/x", ""))
ATTEMPT(target_of_loop, target_is("loop/x", ""))
ATTEMPT(target_behind_link, target_is("me/cwd/to-file", "file"))
ATTEMPT(target_of_dir_behind_link, target_is("me/cwd/a", ""))
ATTEMPT(target_of_thread, target_is("me/task/1", ""))
ATTEMPT(target_in_dir, target_at("a", "../to-file"))
ATTEMPT(target_in_dir_of_dir, target_at("a", "b"))
ATTEMPT(target_in_dir_of_nothing, target_at("a", "missing"))
ATTEMPT(target_that_changes, target_of_change())
ATTEMPT(target_of_dev_fd, target_of_descriptor())
ATTEMPT(target_of_empty, target_is("", ""))
ATTEMPT(a_loop, open_close("loop", O_RDONLY))
ATTEMPT(chain_of_38, chain(38))
ATTEMPT(chain_of_39, chain(39))
ATTEMPT(a_long_path, open_close(too_long(), O_RDONLY))
ATTEMPT(a_path_that_fits, open_close(just_fits(), O_RDONLY))
ATTEMPT(a_long_name, open_close(long_name(), O_RDONLY | O_CREAT))
ATTEMPT(a_long_name_made, mkdir(long_name(), 0777))
ATTEMPT(an_empty_path, open_close("", O_RDONLY))
ATTEMPT(an_empty_path_made, open_close("", O_WRONLY | O_CREAT))
ATTEMPT(an_empty_chmod, chmod("", 0600))
ATTEMPT(bad_pointer, syscall(SYS_openat, AT_FDCWD, 8L, O_RDONLY))
ATTEMPT(bad_pointer_chmod, syscall(SYS_chmod, 8L, 0600))
ATTEMPT(bad_pointer_times, syscall(SYS_utimensat, AT_FDCWD, "file", 8L, 0))
ATTEMPT(bad_pointer_rename, syscall(SYS_rename, "file", 8L))
ATTEMPT(bad_pointer_symlink, syscall(SYS_symlink, -4096L, "x"))
ATTEMPT(page_end, open_close(at_page_end("file", true), O_RDONLY))
ATTEMPT(page_end_open, open_close(at_page_end("file", false), O_RDONLY))
ATTEMPT(file_slash, open_close("file/", O_RDONLY))
ATTEMPT(file_as_dir, open_close("file/x", O_RDONLY))
ATTEMPT(file_as_dir_made, mkdir("file/x", 0777))
ATTEMPT(new_slash, open_close("new/", O_WRONLY | O_CREAT))
ATTEMPT(dir_to_write, open_close("a", O_WRONLY))
ATTEMPT(dir_to_create, open_close("a", O_RDONLY | O_CREAT))
ATTEMPT(dir_flag, open_close("file", O_RDONLY | O_DIRECTORY))
ATTEMPT(exclusive, open_close("file", O_WRONLY | O_CREAT | O_EXCL))
ATTEMPT(exclusive_link, open_close("to-new", O_WRONLY | O_CREAT | O_EXCL))
ATTEMPT(no_follow, open_close("to-file", O_RDONLY | O_NOFOLLOW))
ATTEMPT(no_follow_made, open_close("to-new", O_WRONLY | O_CREAT | O_NOFOLLOW))
ATTEMPT(no_follow_dir, open_close("to-file", O_RDONLY | O_NOFOLLOW | O_DIRECTORY))
ATTEMPT(missing, open_close("missing", O_RDONLY))
ATTEMPT(missing_dir, open_close("missing/file", O_RDONLY))
ATTEMPT(missing_dir_made, open_close("missing/file", O_WRONLY | O_CREAT))
ATTEMPT(missing_link, open_close("to-new", O_RDONLY))
ATTEMPT(missing_chmod, chmod("missing", 0600))
ATTEMPT(no_dirfd, openat(99, "file", O_RDONLY))
ATTEMPT(no_dirfd_absolute, close(openat(99, "/dev/null", O_RDONLY)))
ATTEMPT(dirfd_below, at_fd("a", O_RDONLY | O_DIRECTORY, "b/deep"))
ATTEMPT(dirfd_up, at_fd("a/b", O_RDONLY | O_DIRECTORY, "../../file"))
ATTEMPT(dirfd_path, at_fd("a", O_PATH, "b/deep"))
ATTEMPT(dirfd_of_file, at_fd("file", O_RDONLY, "x"))
ATTEMPT(dirfd_of_proc, at_fd("/proc/self", O_RDONLY | O_DIRECTORY, "cwd/file"))
ATTEMPT(dirfd_of_proc_root, at_fd("/proc", O_RDONLY | O_DIRECTORY, "self/cwd/file"))
ATTEMPT(no_fchmod, fchmod(99, 0600))
ATTEMPT(no_fchmod_cwd, syscall(SYS_fchmod, AT_FDCWD, 0600))
ATTEMPT(bad_flags, syscall(SYS_utimensat, AT_FDCWD, "file", old, 0x4000))
ATTEMPT(bad_times, syscall(SYS_utimes, "file", (struct timeval[2]){{0, 1000000}, {0, 0}}))
ATTEMPT(times_now, utimensat(AT_FDCWD, "file", NULL, 0))
ATTEMPT(times_omit, utimensat(AT_FDCWD, "file", (struct timespec[2]){{0, UTIME_OMIT}, {5, 0}}, 0))
ATTEMPT(no_attribute, removexattr("file", "user.none"))
ATTEMPT(no_attribute_name, setxattr("file", "", "x", 1, 0))
ATTEMPT(attribute_there, setxattr("file", "user.old", "x", 1, XATTR_CREATE))
ATTEMPT(large_attribute, setxattr("file", "user.new", much(), MUCH, 0))
ATTEMPT(mkdir_there, mkdir("a", 0777))
ATTEMPT(mkdir_dot, mkdir(".", 0777))
ATTEMPT(mkdir_root, mkdir("/", 0777))
ATTEMPT(mkdir_usr, mkdir("/usr", 0777))
ATTEMPT(mkdir_link, mkdir("to-new/", 0777))
ATTEMPT(rmdir_dot, rmdir("a/."))
ATTEMPT(rmdir_up, rmdir("a/b/.."))
ATTEMPT(rmdir_full, rmdir("a"))
ATTEMPT(rmdir_file, rmdir("file"))
ATTEMPT(unlink_dir, unlink("a"))
ATTEMPT(unlink_slash, unlink("file/"))
ATTEMPT(unlink_missing, unlink("missing"))
ATTEMPT(unlinkat_flags, unlinkat(AT_FDCWD, "file", 0x4000))
ATTEMPT(rename_dot, rename("a/.", "x"))
ATTEMPT(rename_missing, rename("missing", "x"))
ATTEMPT(rename_below, rename("a", "a/b/c"))
ATTEMPT(rename_noreplace, renameat2(AT_FDCWD, "file", AT_FDCWD, "a", RENAME_NOREPLACE))
ATTEMPT(symlink_empty, symlink("", "x"))
ATTEMPT(symlink_there, symlink("x", "file"))
ATTEMPT(link_dir, link("a", "x"))
ATTEMPT(link_there, link("file", "a/b/deep"))
ATTEMPT(link_flags, linkat(AT_FDCWD, "file", AT_FDCWD, "x", 0x4000))
ATTEMPT(truncate_dir, truncate("a", 0))
ATTEMPT(truncate_fifo, truncate("fifo", 0))
ATTEMPT(truncate_negative, truncate("file", -1))
ATTEMPT(standard_input, stdin_is("file", O_RDONLY))
ATTEMPT(by_dev_fd, dev_fd("file"))
ATTEMPT(no_dev_fd, open_close("/dev/fd/99", O_RDONLY))
ATTEMPT(removed, removed_file())
ATTEMPT(in_memory, memory_file())
ATTEMPT(piped, a_pipe())
ATTEMPT(linked_later, tmpfile_then_link())
ATTEMPT(dirfd_that_moved, moved_dirfd())
ATTEMPT(flags_stay, same_flags())
ATTEMPT(descriptors_end, too_many())
ATTEMPT(proc_status, open_close("/proc/self/status", O_RDONLY))
ATTEMPT(proc_mounts, open_close("/proc/mounts", O_RDONLY))
ATTEMPT(proc_net, open_close("/proc/net/tcp", O_RDONLY))
ATTEMPT(proc_thread, open_close("/proc/thread-self/status", O_RDONLY))
ATTEMPT(proc_nobody, open_close("/proc/4194305/status", O_RDONLY))
ATTEMPT(proc_exe, open_close("/proc/self/exe", O_RDONLY))

static const struct row alike[] = {
	ROW(target, 0),
	ROW(target_of_file, EINVAL),
	ROW(target_of_dir, EINVAL),
	ROW(target_of_usr, EINVAL),
	ROW(target_of_root, EINVAL),
	ROW(target_of_dot, EINVAL),
	ROW(target_of_up, EINVAL),
	ROW(target_of_slash, ENOTDIR),
	ROW(target_of_nothing, ENOENT),
	ROW(target_of_nothing_usr, ENOENT),
	ROW(target_in_file, ENOTDIR),
	ROW(target_of_loop, ELOOP),
	ROW(target_behind_link, 0),
	ROW(target_of_dir_behind_link, EINVAL),
	ROW(target_of_thread, ENOENT),
	ROW(target_in_dir, 0),
	ROW(target_in_dir_of_dir, EINVAL),
	ROW(target_in_dir_of_nothing, ENOENT),
	ROW(target_that_changes, 0),
	ROW(target_of_dev_fd, 0),
	ROW(target_of_empty, ENOENT),
	ROW(a_loop, ELOOP),
	ROW(chain_of_38, 0),
	ROW(chain_of_39, ELOOP),
	ROW(a_long_path, ENAMETOOLONG),
	ROW(a_path_that_fits, 0),
	ROW(a_long_name, ENAMETOOLONG),
	ROW(a_long_name_made, ENAMETOOLONG),
	ROW(an_empty_path, ENOENT),
	ROW(an_empty_path_made, ENOENT),
	ROW(an_empty_chmod, ENOENT),
	ROW(bad_pointer, EFAULT),
	ROW(bad_pointer_chmod, EFAULT),
	ROW(bad_pointer_times, EFAULT),
	ROW(bad_pointer_rename, EFAULT),
	ROW(bad_pointer_symlink, EFAULT),
	ROW(page_end, 0),
	ROW(page_end_open, EFAULT),
	ROW(file_slash, ENOTDIR),
	ROW(file_as_dir, ENOTDIR),
	ROW(file_as_dir_made, ENOTDIR),
	ROW(new_slash, EISDIR),
	ROW(dir_to_write, EISDIR),
	ROW(dir_to_create, EISDIR),
	ROW(dir_flag, ENOTDIR),
	ROW(exclusive, EEXIST),
	ROW(exclusive_link, EEXIST),
	ROW(no_follow, ELOOP),
	ROW(no_follow_made, ELOOP),
	ROW(no_follow_dir, ENOTDIR),
	ROW(missing, ENOENT),
	ROW(missing_dir, ENOENT),
	ROW(missing_dir_made, ENOENT),
	ROW(missing_link, ENOENT),
	ROW(missing_chmod, ENOENT),
	ROW(no_dirfd, EBADF),
	ROW(no_dirfd_absolute, 0),
	ROW(dirfd_below, 0),
	ROW(dirfd_up, 0),
	ROW(dirfd_path, 0),
	ROW(dirfd_of_file, ENOTDIR),
	ROW(dirfd_of_proc, 0),
	ROW(dirfd_of_proc_root, 0),
	ROW(no_fchmod, EBADF),
	ROW(no_fchmod_cwd, EBADF),
	ROW(bad_flags, EINVAL),
	ROW(bad_times, EINVAL),
	ROW(times_now, 0),
	ROW(times_omit, 0),
	ROW(no_attribute, ENODATA),
	ROW(no_attribute_name, ERANGE),
	ROW(attribute_there, EEXIST),
	ROW(large_attribute, E2BIG),
	ROW(mkdir_there, EEXIST),
	ROW(mkdir_dot, EEXIST),
	ROW(mkdir_root, EEXIST),
	ROW(mkdir_usr, EEXIST),
	ROW(mkdir_link, EEXIST),
	ROW(rmdir_dot, EINVAL),
	ROW(rmdir_up, ENOTEMPTY),
	ROW(rmdir_full, ENOTEMPTY),
	ROW(rmdir_file, ENOTDIR),
	ROW(unlink_dir, EISDIR),
	ROW(unlink_slash, ENOTDIR),
	ROW(unlink_missing, ENOENT),
	ROW(unlinkat_flags, EINVAL),
	ROW(rename_dot, EBUSY),
	ROW(rename_missing, ENOENT),
	ROW(rename_below, EINVAL),
	ROW(rename_noreplace, EEXIST),
	ROW(symlink_empty, ENOENT),
	ROW(symlink_there, EEXIST),
	ROW(link_dir, EPERM),
	ROW(link_there, EEXIST),
	ROW(link_flags, EINVAL),
	ROW(truncate_dir, EISDIR),
	ROW(truncate_fifo, EINVAL),
	ROW(truncate_negative, EINVAL),
	ROW(standard_input, 0),
	ROW(by_dev_fd, 0),
	ROW(no_dev_fd, ENOENT),
	ROW(removed, 0),
	ROW(in_memory, 0),
	ROW(piped, 0),
	ROW(linked_later, 0),
	ROW(dirfd_that_moved, 0),
	ROW(flags_stay, 0),
	ROW(descriptors_end, EMFILE),
	ROW(proc_status, 0),
	ROW(proc_mounts, 0),
	ROW(proc_net, 0),
	ROW(proc_thread, 0),
	ROW(proc_nobody, ENOENT),
	ROW(proc_exe, 0),
};

static void check_alike(const struct row *r) {
	world_make();
	int control = without_broker(r->attempt);
	uint64_t plainly = world_print();

	world_make();
	int got = with_broker(ALL_FAMILIES, r->attempt);
	if (control != r->error || got != r->error || world_print() != plainly) {
		test_failed = true;
		printf("# %s: control %d (%s), with the broker %d (%s), wanted %d; the tree is "
		       "%s\n",
		       r->name, control, strerror(control), got, strerror(got), r->error,
		       world_print() == plainly ? "as plainly" : "another");
	}
	world_remove();
}

TEST(what_the_policy_does_not_speak_of_is_as_without_the_broker) {
	for (size_t i = 0; i < ARRAY_LEN(alike); i++) {
		check_alike(&alike[i]);
	}
}

TEST(a_walk_ends_where_the_kernel_does) {
	for (size_t i = 0; i < ARRAY_LEN(alike); i++) {
		check_walking(&alike[i]);
	}
}

TESTS_MAIN
