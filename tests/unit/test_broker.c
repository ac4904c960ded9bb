/* The broker, call by call: what it allows has the same effect as the plain call;
 * what it refuses changes nothing, and succeeds without it. */
#include "broker_world.h"

#include <limits.h>
#include <pthread.h>
#include <sys/time.h>
#include <time.h>
#include <utime.h>

/* ---- attempts: 0, or the errno ---- */

#define ATTEMPT(name, call)                                                                        \
	static int name(void) {                                                                    \
		return (call) < 0 ? errno : 0;                                                     \
	}

static int open_close(const char *path, int flags) {
	int fd = open(path, flags | O_CLOEXEC, 0666);
	return fd < 0 ? -1 : close(fd);
}

static int write_to(const char *path, int flags) {
	int fd = open(path, flags | O_CLOEXEC, 0666);
	if (fd < 0) {
		return -1;
	}
	ssize_t n = write(fd, "more", 4);
	close(fd);
	return n == 4 ? 0 : -1;
}

/* On a descriptor that was opened for reading, O_PATH so that opening is not in question. */
static int by_fd(const char *path, int (*mark)(int fd)) {
	int fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0);
	int r = fd < 0 ? -1 : mark(fd);
	int error = errno;
	if (fd >= 0) {
		close(fd);
	}
	errno = error;
	return r;
}

static int by_fd_path(const char *path, int (*act)(const char *path)) {
	char text[64];
	int fd = open(path, O_PATH | O_CLOEXEC);
	if (fd < 0) {
		return -1;
	}
	(void)snprintf(text, sizeof text, "/proc/self/fd/%d", fd);
	int r = act(text), error = errno;
	close(fd);
	errno = error;
	return r;
}

static int open_beneath(const char *dir, const char *name) {
	int at = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	int fd = at < 0 ? -1 : openat(at, name, O_RDONLY | O_CLOEXEC);
	return fd < 0 ? -1 : close(fd);
}

static const struct timespec old[2] = {{1000, 0}, {2000, 0}};
static const struct timeval old_micro[2] = {{1000, 0}, {2000, 0}};
static const struct utimbuf old_seconds = {1000, 2000};

static int mark_mode(int fd) {
	return fchmod(fd, 0600);
}
static int mark_owner(int fd) {
	return fchown(fd, getuid(), getgid());
}
static int mark_times(int fd) {
	return futimens(fd, old);
}
static int mark_set(int fd) {
	return fsetxattr(fd, "user.new", "2", 1, 0);
}
static int mark_remove(int fd) {
	return fremovexattr(fd, "user.old");
}
static int mode_600(const char *path) {
	return chmod(path, 0600);
}
static int append_to(const char *path) {
	return write_to(path, O_WRONLY | O_APPEND);
}
static int read_from(const char *path) {
	return open_close(path, O_RDONLY);
}
static int connect_self_chmod(const char *path) {
	return fchmodat(AT_FDCWD, path, 0600, 0);
}

ATTEMPT(chmod_file, chmod("file", 0600))
ATTEMPT(chmod_absolute, chmod(in_world("ws/file"), 0600))
ATTEMPT(chmod_through_link, chmod("to-file", 0600))
ATTEMPT(chmod_deep, chmod("a/../a/./b//deep", 0600))
ATTEMPT(chmod_beyond_root, chmod("/../../proc/../tmp/../proc/self/cwd/file", 0600))
ATTEMPT(chmod_self_cwd, chmod("/proc/self/cwd/file", 0600))
ATTEMPT(chmod_thread_self, chmod("/proc/thread-self/cwd/file", 0600))
ATTEMPT(chmod_me, chmod("me/cwd/file", 0600))
ATTEMPT(chmod_dir_slash, chmod("empty/", 0700))
ATTEMPT(chmod_fd_path, by_fd_path("file", mode_600))
ATTEMPT(fchmod_file, by_fd("file", mark_mode))
ATTEMPT(fchmodat_file, connect_self_chmod("file"))
ATTEMPT(fchmodat2_file, syscall(452, AT_FDCWD, "file", 0600, AT_SYMLINK_NOFOLLOW))
ATTEMPT(chown_file, chown("file", getuid(), getgid()))
ATTEMPT(lchown_link, lchown("to-ro", getuid(), getgid()))
ATTEMPT(fchown_file, by_fd("file", mark_owner))
ATTEMPT(fchownat_file, fchownat(AT_FDCWD, "file", getuid(), getgid(), 0))
ATTEMPT(utime_file, syscall(SYS_utime, "file", &old_seconds))
ATTEMPT(utimes_file, syscall(SYS_utimes, "file", old_micro))
ATTEMPT(futimesat_file, syscall(SYS_futimesat, AT_FDCWD, "file", old_micro))
ATTEMPT(utimensat_file, utimensat(AT_FDCWD, "file", old, 0))
ATTEMPT(utimensat_link, utimensat(AT_FDCWD, "to-ro", old, AT_SYMLINK_NOFOLLOW))
ATTEMPT(futimens_file, by_fd("file", mark_times))
ATTEMPT(setxattr_file, setxattr("file", "user.new", "2", 1, 0))
ATTEMPT(lsetxattr_file, lsetxattr("file", "user.new", "2", 1, 0))
ATTEMPT(fsetxattr_file, by_fd("file", mark_set))
ATTEMPT(removexattr_file, removexattr("file", "user.old"))
ATTEMPT(lremovexattr_file, lremovexattr("file", "user.old"))
ATTEMPT(fremovexattr_file, by_fd("file", mark_remove))

ATTEMPT(chmod_ro, chmod("../ro/file", 0600))
ATTEMPT(chmod_ro_link, chmod("to-ro", 0600))
ATTEMPT(chmod_out, chmod("../out/file", 0600))
ATTEMPT(chmod_secret, chmod("secret", 0600))
ATTEMPT(chmod_prot, chmod("prot", 0600))
ATTEMPT(chmod_ro_self, chmod("/proc/self/cwd/../ro/file", 0600))
ATTEMPT(chmod_ro_fd_path, by_fd_path("../ro/file", mode_600))
ATTEMPT(fchmod_ro, by_fd("../ro/file", mark_mode))
ATTEMPT(fchmodat_ro, connect_self_chmod("../ro/file"))
ATTEMPT(fchmodat2_ro, syscall(452, AT_FDCWD, "../ro/file", 0600, 0))
ATTEMPT(chown_ro, chown("../ro/file", getuid(), getgid()))
ATTEMPT(lchown_ro, lchown("../ro/file", getuid(), getgid()))
ATTEMPT(fchown_ro, by_fd("../ro/file", mark_owner))
ATTEMPT(fchownat_ro, fchownat(AT_FDCWD, "../ro/file", getuid(), getgid(), 0))
ATTEMPT(utime_ro, syscall(SYS_utime, "../ro/file", &old_seconds))
ATTEMPT(utimes_ro, syscall(SYS_utimes, "../ro/file", old_micro))
ATTEMPT(futimesat_ro, syscall(SYS_futimesat, AT_FDCWD, "../ro/file", old_micro))
ATTEMPT(utimensat_ro, utimensat(AT_FDCWD, "../ro/file", old, 0))
ATTEMPT(futimens_ro, by_fd("../ro/file", mark_times))
ATTEMPT(setxattr_ro, setxattr("../ro/file", "user.new", "2", 1, 0))
ATTEMPT(lsetxattr_ro, lsetxattr("../ro/file", "user.new", "2", 1, 0))
ATTEMPT(fsetxattr_ro, by_fd("../ro/file", mark_set))
ATTEMPT(removexattr_ro, removexattr("../ro/file", "user.old"))
ATTEMPT(lremovexattr_ro, lremovexattr("../ro/file", "user.old"))
ATTEMPT(fremovexattr_ro, by_fd("../ro/file", mark_remove))

ATTEMPT(truncate_file, truncate("file", 3))
ATTEMPT(truncate_ro, truncate("../ro/file", 3))
ATTEMPT(truncate_prot, truncate("prot", 3))
ATTEMPT(truncate_secret, truncate("secret", 3))

ATTEMPT(read_file, open_close("file", O_RDONLY))
ATTEMPT(read_ro, open_close("to-ro", O_RDONLY))
ATTEMPT(read_prot, open_close("prot", O_RDONLY))
ATTEMPT(read_dir, open_close("a/b", O_RDONLY | O_DIRECTORY))
ATTEMPT(read_fd_path, by_fd_path("file", read_from))
ATTEMPT(path_link, open_close("to-secret", O_PATH | O_NOFOLLOW))
ATTEMPT(append_file, write_to("file", O_WRONLY | O_APPEND))
ATTEMPT(append_fd_path, by_fd_path("file", append_to))
ATTEMPT(rewrite_file, write_to("file", O_WRONLY | O_TRUNC))
ATTEMPT(make_file, write_to("new", O_WRONLY | O_CREAT | O_EXCL))
ATTEMPT(make_deep, write_to("a/b/new", O_RDWR | O_CREAT))
ATTEMPT(make_through_link, write_to("to-new", O_WRONLY | O_CREAT))
ATTEMPT(make_existing, write_to("file", O_WRONLY | O_CREAT))
ATTEMPT(make_masked_umask, (umask(077), write_to("new", O_WRONLY | O_CREAT)))
ATTEMPT(creat_file, (umask(027), close(creat("new", 0666))))
ATTEMPT(tmpfile_dir, write_to("empty", O_WRONLY | O_TMPFILE))
ATTEMPT(write_null, write_to("/dev/null", O_WRONLY))
ATTEMPT(create_null, write_to("/dev/null", O_WRONLY | O_CREAT | O_TRUNC))
ATTEMPT(write_fifo, write_to("fifo", O_RDWR))

ATTEMPT(read_secret, open_close("secret", O_RDONLY))
ATTEMPT(read_secret_fd_path, by_fd_path("secret", read_from))
ATTEMPT(read_closed_fd, open_beneath("closed", "key"))
ATTEMPT(read_secret_link, open_close("to-secret", O_RDONLY))
ATTEMPT(read_secret_self, open_close("/proc/self/cwd/secret", O_RDONLY))
ATTEMPT(read_secret_me, open_close("me/cwd/secret", O_RDONLY))
ATTEMPT(read_secret_root,
	open_close(in_world("../proc/thread-self/root/proc/self/cwd/secret") + strlen(world) + 3,
		   O_RDONLY))
ATTEMPT(read_closed, open_close("closed/key", O_RDONLY))
ATTEMPT(list_closed, open_close("closed", O_RDONLY | O_DIRECTORY))
ATTEMPT(make_closed, write_to("closed/new", O_WRONLY | O_CREAT))
ATTEMPT(make_closed_link, write_to("to-closed-new", O_WRONLY | O_CREAT))
ATTEMPT(append_secret, write_to("secret", O_WRONLY | O_APPEND))
ATTEMPT(append_prot, write_to("prot", O_WRONLY | O_APPEND))
ATTEMPT(cut_prot, open_close("prot", O_RDONLY | O_TRUNC))
ATTEMPT(create_prot, open_close("prot", O_WRONLY | O_CREAT))
ATTEMPT(append_ro, write_to("to-ro", O_WRONLY | O_APPEND))
ATTEMPT(make_ro, write_to("../ro/new", O_WRONLY | O_CREAT))
ATTEMPT(tmpfile_ro, write_to("../ro/empty", O_WRONLY | O_TMPFILE))
ATTEMPT(creat_ro, creat("../ro/new", 0666))

ATTEMPT(rename_file, rename("file", "a/moved"))
ATTEMPT(rename_over, rename("file", "a/b/deep"))
ATTEMPT(renameat_file, renameat(AT_FDCWD, "file", AT_FDCWD, "moved"))
ATTEMPT(exchange_files, renameat2(AT_FDCWD, "file", AT_FDCWD, "a/b/deep", RENAME_EXCHANGE))
ATTEMPT(rename_dir_slash, rename("empty/", "filled/"))
ATTEMPT(rename_in_pin, rename("pin/file", "pin/moved"))
ATTEMPT(link_file, link("file", "second"))
ATTEMPT(link_link, link("to-ro", "second"))
ATTEMPT(linkat_follow, linkat(AT_FDCWD, "to-file", AT_FDCWD, "second", AT_SYMLINK_FOLLOW))
ATTEMPT(unlink_file, unlink("file"))
ATTEMPT(unlink_link, unlink("to-secret"))
ATTEMPT(unlinkat_dir, unlinkat(AT_FDCWD, "empty", AT_REMOVEDIR))
ATTEMPT(rmdir_empty, rmdir("empty/"))
ATTEMPT(symlink_any, symlink("/etc/shadow", "anywhere"))
ATTEMPT(symlinkat_any, symlinkat("secret", AT_FDCWD, "another"))
ATTEMPT(mkdir_new, (umask(027), mkdir("made/", 0777)))
ATTEMPT(mkdirat_new, mkdirat(AT_FDCWD, "a/made", 0700))
ATTEMPT(mkfifo_new, mkfifo("pipe", 0644))
ATTEMPT(mknod_new, mknod("node", S_IFREG | 0640, 0))

ATTEMPT(rename_secret, rename("secret", "open"))
ATTEMPT(rename_onto_secret, rename("file", "secret"))
ATTEMPT(rename_prot, rename("prot", "moved"))
ATTEMPT(rename_onto_prot, rename("file", "prot"))
ATTEMPT(rename_pin, rename("pin", "moved"))
ATTEMPT(rename_out, rename("file", "../ro/file"))
ATTEMPT(rename_in, rename("../ro/file", "stolen"))
ATTEMPT(rename_whole, rename("../ws", "../moved"))
ATTEMPT(exchange_secret, renameat2(AT_FDCWD, "file", AT_FDCWD, "secret", RENAME_EXCHANGE))
ATTEMPT(link_secret, link("secret", "second"))
ATTEMPT(link_prot, link("prot", "second"))
ATTEMPT(link_ro, link("../ro/file", "second"))
ATTEMPT(link_into_ro, link("file", "../ro/second"))
ATTEMPT(unlink_secret, unlink("secret"))
ATTEMPT(unlink_prot, unlink("prot"))
ATTEMPT(unlink_ro, unlink("../ro/file"))
ATTEMPT(unlinkat_key, unlinkat(AT_FDCWD, "closed/key", 0))
ATTEMPT(rmdir_ro, rmdir("../ro/empty"))
ATTEMPT(symlink_ro, symlink("x", "../ro/new"))
ATTEMPT(symlink_closed, symlink("x", "closed/new"))
ATTEMPT(mkdir_ro, mkdir("../ro/new", 0777))
ATTEMPT(mkdir_closed, mkdirat(AT_FDCWD, "closed/new", 0777))
ATTEMPT(mkfifo_ro, mkfifo("../ro/new", 0666))
ATTEMPT(mknod_closed, mknod("closed/new", S_IFREG | 0644, 0))

struct row {
	const char *name;
	inside_fn *attempt;
	int error; /* with the broker; without it every one succeeds */
};

#define ROW(name, error)                                                                           \
	{ #name, name, error }

static const struct row rows[] = {
	ROW(chmod_file, 0),
	ROW(chmod_absolute, 0),
	ROW(chmod_through_link, 0),
	ROW(chmod_deep, 0),
	ROW(chmod_beyond_root, 0),
	ROW(chmod_self_cwd, 0),
	ROW(chmod_thread_self, 0),
	ROW(chmod_me, 0),
	ROW(chmod_dir_slash, 0),
	ROW(chmod_fd_path, 0),
	ROW(fchmod_file, 0),
	ROW(fchmodat_file, 0),
	ROW(fchmodat2_file, 0),
	ROW(chown_file, 0),
	ROW(lchown_link, 0),
	ROW(fchown_file, 0),
	ROW(fchownat_file, 0),
	ROW(utime_file, 0),
	ROW(utimes_file, 0),
	ROW(futimesat_file, 0),
	ROW(utimensat_file, 0),
	ROW(utimensat_link, 0),
	ROW(futimens_file, 0),
	ROW(setxattr_file, 0),
	ROW(lsetxattr_file, 0),
	ROW(fsetxattr_file, 0),
	ROW(removexattr_file, 0),
	ROW(lremovexattr_file, 0),
	ROW(fremovexattr_file, 0),

	ROW(chmod_ro, EROFS),
	ROW(chmod_ro_link, EROFS),
	ROW(chmod_out, EROFS),
	ROW(chmod_secret, EACCES),
	ROW(chmod_prot, EROFS),
	ROW(chmod_ro_self, EROFS),
	ROW(chmod_ro_fd_path, EROFS),
	ROW(fchmod_ro, EROFS),
	ROW(fchmodat_ro, EROFS),
	ROW(fchmodat2_ro, EROFS),
	ROW(chown_ro, EROFS),
	ROW(lchown_ro, EROFS),
	ROW(fchown_ro, EROFS),
	ROW(fchownat_ro, EROFS),
	ROW(utime_ro, EROFS),
	ROW(utimes_ro, EROFS),
	ROW(futimesat_ro, EROFS),
	ROW(utimensat_ro, EROFS),
	ROW(futimens_ro, EROFS),
	ROW(setxattr_ro, EROFS),
	ROW(lsetxattr_ro, EROFS),
	ROW(fsetxattr_ro, EROFS),
	ROW(removexattr_ro, EROFS),
	ROW(lremovexattr_ro, EROFS),
	ROW(fremovexattr_ro, EROFS),

	ROW(truncate_file, 0),
	ROW(truncate_ro, EROFS),
	ROW(truncate_prot, EROFS),
	ROW(truncate_secret, EACCES),

	ROW(read_file, 0),
	ROW(read_ro, 0),
	ROW(read_prot, 0),
	ROW(read_dir, 0),
	ROW(read_fd_path, 0),
	ROW(path_link, 0),
	ROW(append_file, 0),
	ROW(append_fd_path, 0),
	ROW(rewrite_file, 0),
	ROW(make_file, 0),
	ROW(make_deep, 0),
	ROW(make_through_link, 0),
	ROW(make_existing, 0),
	ROW(make_masked_umask, 0),
	ROW(creat_file, 0),
	ROW(tmpfile_dir, 0),
	ROW(write_null, 0),
	ROW(create_null, 0),
	ROW(write_fifo, 0),

	ROW(read_secret, EACCES),
	ROW(read_secret_fd_path, EACCES),
	ROW(read_closed_fd, EACCES),
	ROW(read_secret_link, EACCES),
	ROW(read_secret_self, EACCES),
	ROW(read_secret_me, EACCES),
	ROW(read_secret_root, EACCES),
	ROW(read_closed, EACCES),
	ROW(list_closed, EACCES),
	ROW(make_closed, EACCES),
	ROW(make_closed_link, EACCES),
	ROW(append_secret, EACCES),
	ROW(append_prot, EROFS),
	ROW(cut_prot, EROFS),
	ROW(create_prot, EROFS),
	ROW(append_ro, EROFS),
	ROW(make_ro, EROFS),
	ROW(tmpfile_ro, EROFS),
	ROW(creat_ro, EROFS),

	ROW(rename_file, 0),
	ROW(rename_over, 0),
	ROW(renameat_file, 0),
	ROW(exchange_files, 0),
	ROW(rename_dir_slash, 0),
	ROW(rename_in_pin, 0),
	ROW(link_file, 0),
	ROW(link_link, 0),
	ROW(linkat_follow, 0),
	ROW(unlink_file, 0),
	ROW(unlink_link, 0),
	ROW(unlinkat_dir, 0),
	ROW(rmdir_empty, 0),
	ROW(symlink_any, 0),
	ROW(symlinkat_any, 0),
	ROW(mkdir_new, 0),
	ROW(mkdirat_new, 0),
	ROW(mkfifo_new, 0),
	ROW(mknod_new, 0),

	ROW(rename_secret, EBUSY),
	ROW(rename_onto_secret, EBUSY),
	ROW(rename_prot, EBUSY),
	ROW(rename_onto_prot, EBUSY),
	ROW(rename_pin, EBUSY),
	ROW(rename_out, EROFS),
	ROW(rename_in, EROFS),
	ROW(rename_whole, EROFS),
	ROW(exchange_secret, EBUSY),
	ROW(link_secret, EACCES),
	ROW(link_prot, EXDEV),
	ROW(link_ro, EXDEV),
	ROW(link_into_ro, EROFS),
	ROW(unlink_secret, EBUSY),
	ROW(unlink_prot, EBUSY),
	ROW(unlink_ro, EROFS),
	ROW(unlinkat_key, EACCES),
	ROW(rmdir_ro, EROFS),
	ROW(symlink_ro, EROFS),
	ROW(symlink_closed, EACCES),
	ROW(mkdir_ro, EROFS),
	ROW(mkdir_closed, EACCES),
	ROW(mkfifo_ro, EROFS),
	ROW(mknod_closed, EACCES),
};

/* ---- the kernel's own errors: the same with and without ---- */

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

/* The same answers when every path is walked name by name. */
static void check_walking(const struct row *r) {
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

TEST(what_the_policy_does_not_speak_of_is_as_without_the_broker) {
	for (size_t i = 0; i < ARRAY_LEN(alike); i++) {
		check_alike(&alike[i]);
	}
}

static void check_row(const struct row *r) {
	world_make();
	uint64_t before = world_print();
	int control = without_broker(r->attempt);
	uint64_t plainly = world_print();

	world_make();
	int got = with_broker(ALL_FAMILIES, r->attempt);
	uint64_t after = world_print();
	if (control != 0 || got != r->error || after != (r->error != 0 ? before : plainly)) {
		test_failed = true;
		printf("# %s: control %d (%s), with the broker %d (%s), wanted %d; the tree is "
		       "%s\n",
		       r->name, control, strerror(control), got, strerror(got), r->error,
		       after == before    ? "unchanged"
		       : after == plainly ? "as plainly"
					  : "another");
	}
	world_remove();
}

TEST(every_attempt_ends_as_the_plan_says_and_works_without_the_broker) {
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		check_row(&rows[i]);
	}
}

TEST(a_walk_ends_where_the_kernel_does) {
	for (size_t i = 0; i < ARRAY_LEN(alike); i++) {
		check_walking(&alike[i]);
	}
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		check_walking(&rows[i]);
	}
}

TEST(the_table_is_sorted_and_every_call_stands_once) {
	for (size_t i = 1; i < broker_rows_count; i++) {
		const struct broker_row *a = &broker_rows[i - 1], *b = &broker_rows[i];
		CHECK(a->families != b->families ||
		      strcmp(syscall_names[a->id].name, syscall_names[b->id].name) < 0);
		for (size_t k = 0; k < i; k++) {
			CHECK(broker_rows[k].id != b->id);
		}
		CHECK(b->reason[0] != '\0' && b->families != 0);
	}
}

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

/* ---- what takes long ---- */

static double seconds(void) {
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static int fifo_both_ends(void) {
	char got[8] = "";
	pid_t writer = fork();
	if (writer == 0) {
		usleep(50000);
		_exit(write_to("fifo", O_WRONLY) == 0 ? 0 : 1);
	}
	int fd = open("fifo", O_RDONLY | O_CLOEXEC);
	CHECK(fd >= 0);
	CHECK_INT(read(fd, got, sizeof got), 4);
	CHECK_STR(got, "more");
	CHECK_INT(read(fd, got, sizeof got), 0); /* nobody else holds the other end */
	CHECK_INT(wait_for(writer), 0);
	CHECK_INT(open("fifo", O_WRONLY | O_NONBLOCK | O_CLOEXEC) >= 0, 1); /* we are the reader */
	close(fd);
	CHECK_INT(open_close("fifo", O_RDONLY | O_NONBLOCK), 0);
	return 0;
}

TEST(a_fifo_waits_for_its_other_end_and_the_guard_does_not) {
	world_make();
	CHECK_INT(without_broker(fifo_both_ends), 0);
	CHECK_INT(with_broker(ALL_FAMILIES, fifo_both_ends), 0);
	world_remove();
}

static int fifo_waits_for_ever(void) {
	pid_t waiter = fork();
	if (waiter == 0) {
		_exit(open_close("fifo", O_RDONLY));
	}
	usleep(50000);
	double before = seconds();
	for (int i = 0; i < 100; i++) {
		CHECK_INT(open_close("file", O_RDONLY), 0);
	}
	CHECK(seconds() - before < 2); /* others are served meanwhile */
	CHECK_INT(waitpid(waiter, NULL, WNOHANG), 0);
	CHECK_INT(kill(waiter, SIGKILL), 0);
	CHECK_INT(wait_for(waiter), SIGNALLED + SIGKILL);
	return 0;
}

TEST(a_helper_ends_with_the_caller_that_it_works_for) {
	world_make();
	double before = seconds();
	/* The guard of this test ends when it has no child any more. */
	CHECK_INT(with_broker(ALL_FAMILIES, fifo_waits_for_ever), 0);
	CHECK(seconds() - before < 10);
	world_remove();
}

static int leased(void) {
	int ready[2];
	char byte;
	if (pipe(ready) != 0) {
		return 1;
	}
	pid_t holder = fork();
	if (holder == 0) {
		int fd = open("file", O_RDONLY | O_CLOEXEC);
		(void)signal(SIGIO, SIG_IGN);
		byte = fcntl(fd, F_SETLEASE, F_RDLCK) == 0 ? 'y' : 'n';
		(void)!write(ready[1], &byte, 1);
		usleep(300000);
		_exit(fcntl(fd, F_SETLEASE, F_UNLCK));
	}
	(void)!read(ready[0], &byte, 1);
	CHECK_INT(byte, 'y');
	double before = seconds();
	pid_t writer = fork();
	if (writer == 0) {
		_exit(write_to("file", O_WRONLY | O_APPEND) == 0 ? 0 : 1);
	}
	usleep(50000);
	CHECK_INT(open_close("a/b/deep", O_RDONLY), 0);
	CHECK(seconds() - before < 0.25);
	CHECK_INT(truncate("a/b/deep", 1), 0);
	CHECK_INT(wait_for(writer), 0);
	CHECK(seconds() - before > 0.2);
	CHECK_INT(wait_for(holder), 0);
	return 0;
}

TEST(a_lease_holds_the_writer_up_and_not_the_guard) {
	world_make();
	CHECK_INT(without_broker(leased), 0);
	CHECK_INT(with_broker(ALL_FAMILIES, leased), 0);
	world_remove();
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
	CHECK_INT(with_broker(BROKER_FILES | BROKER_MARKS, killed_callers), 0);
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
	CHECK_INT(with_broker(BROKER_MARKS, mark_removed), EROFS);
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
