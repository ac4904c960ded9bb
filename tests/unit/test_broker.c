/* SPDX-License-Identifier: Apache-2.0 */
/* The broker, call by call: what it allows has the same effect as the plain call;
 * what it refuses changes nothing, and succeeds without it. */
#include "broker_world.h"

#include "linux/kernel_api.h"

#include <sys/time.h>
#include <time.h>
#include <utime.h>

/* ---- attempts: 0, or the errno ---- */

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

/* ---- the rows ---- */

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

TEST(a_walk_ends_where_the_plan_says) {
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		check_walking(&rows[i]);
	}
}

/* Where the kernel has multigrain timestamps, a look between two changes moves the clock of
 * files ahead of the coarse one. */
static void move_clock_of_files(void) {
	struct stat st;

	for (int i = 0; i < 2; i++) {
		CHECK_INT(chmod(in_world("ws/file"), 0644), 0);
		CHECK_INT(stat(in_world("ws/file"), &st), 0);
	}
}

TEST(a_file_that_was_made_just_before_the_run_is_not_younger_than_it) {
	struct file_status st = {0};
	struct broker b;

	world_make();
	for (int i = 0; i < 100; i++) {
		move_clock_of_files();
		put("ws/new", "");
		broker_init(&b, &world_plan, -1);
		CHECK_INT(sys_statx(AT_FDCWD, in_world("ws/new"), 0, FILE_STATUS_BORN, &st), 0);
		CHECK(st.born.sec < b.began.tv_sec ||
		      (st.born.sec == b.began.tv_sec && st.born.nsec <= b.began.tv_nsec));
		drop_fd(&b.proc);
		drop_fd(&b.fds);
		drop_fd(&b.root);
		CHECK_INT(unlink(in_world("ws/new")), 0);
	}
	world_remove();
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

TESTS_MAIN
