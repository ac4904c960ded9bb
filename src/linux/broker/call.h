/* SPDX-License-Identifier: Apache-2.0 */
/* struct call is one seccomp user notification; functions that read its caller and answer it.
 *
 * Functions of this room return -errno, which becomes the caller's errno. */
#ifndef CORRAL_LINUX_BROKER_CALL_H
#define CORRAL_LINUX_BROKER_CALL_H

#include "linux/broker/broker.h"

#include <limits.h>
#include <signal.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

struct call {
	struct broker *b;
	uint64_t id;
	pid_t tid; /* the calling thread, in the guard's pid namespace */
	enum syscall_id call;
	uint64_t args[6];
	bool as_written; /* do not redirect /tmp to the run's own directory */
	bool confined;   /* the caller is in a sandbox of its own: no question may grant it more */
};

/* The handler has answered, or a helper process or the gate will. */
#define CALL_ANSWERED LONG_MIN

/* ioctl(2) on the listener; libcs differ in the type of its request. */
static inline int call_ioctl(const struct broker *b, unsigned long request, void *arg) {
	return (int)syscall(SYS_ioctl, b->listener, request, arg);
}

static inline int call_int(const struct call *c, int arg) {
	return (int)(uint32_t)c->args[arg]; /* the kernel uses the low 32 bits, too */
}

/* The caller still waits in this call (SECCOMP_IOCTL_NOTIF_ID_VALID).  Then data that was
 * read from its pid before belongs to it: the pid was not reused. */
bool caller_waits(const struct call *c);

/* The number of the calling thread in /proc.  The same as tid, unless the run shares the procfs of
 * the pid namespace above (plan->shares_proc); then a caller that is gone has 0. */
pid_t caller_entry(const struct call *c);

/* Copies the caller's memory: 0, -EFAULT, -EPERM when the guard may not read it, -ESRCH when
 * the caller is gone. */
int caller_bytes(const struct call *c, uint64_t address, void *out, size_t len);

/* Writes into the caller's memory: as caller_bytes(). */
int caller_write(const struct call *c, uint64_t address, const void *data, size_t len);

/* Copy a string with its NUL.  -ENAMETOOLONG when it is longer than cap.  Without a pid namespace
 * call caller_waits() after caller_copy(); caller_string() does both.  caller_path() is for a path
 * that is resolved next: for a relative one caller_fd() makes that check.  caller_strings() copies
 * two paths of up to PATH_MAX bytes. */
int caller_copy(const struct call *c, uint64_t address, char *out, size_t cap);
int caller_string(const struct call *c, uint64_t address, char *out, size_t cap);
int caller_path(const struct call *c, uint64_t address, char out[PATH_MAX]);
int caller_strings(const struct call *c, const uint64_t address[2], char *first, char *second);

/* Opens the file of the caller's descriptor, or its working directory (AT_FDCWD), as O_PATH.
 * -EBADF when the caller has no such descriptor. */
int caller_fd(const struct call *c, int fd);

/* Duplicates the caller's descriptor (pidfd_getfd), for sockets; auto_taken closes it. */
int caller_take_fd(const struct call *c, int fd);

/* Around a call on a socket that the caller shares, and may set to blocking at any time: a
 * timer interrupts a call that blocks with EINTR (K5). */
struct wait_limit {
	sigset_t before; /* signals are blocked otherwise */
};
void caller_wait_limit(struct wait_limit *l);
void caller_wait_unlimited(const struct wait_limit *l);

/* close(2) that does not block (K5): ours may be the last reference to a socket with SO_LINGER. */
void caller_give_back(const int *fd);
#define auto_taken __attribute__((cleanup(caller_give_back))) int

/* The number after `field` at the start of a line in a /proc file; -1: no such line. */
long caller_status_number(const char *text, const char *field, unsigned base);

/* The same, from the file at `path` below /proc.  -ENOENT: no file; -ENODATA: no such line. */
long caller_number(const struct call *c, const char *path, const char *field, unsigned base);

/* The same, from /proc/PID/status: "Umask:" (octal), "Tgid:", "PPid:".  -ESRCH. */
long caller_status(const struct call *c, pid_t pid, const char *field, unsigned base);

/* Whether an unblocked signal is pending for the calling thread.  LIKELY and DOUBTFUL: a signal
 * directed at the whole process, which has other threads, and the kernel may have chosen one of
 * them; *ret_shared receives these signals. */
enum pending_signal_of_caller { SIGNAL_NONE, SIGNAL_DOUBTFUL, SIGNAL_LIKELY, SIGNAL_SURE };
enum pending_signal_of_caller pending_signal_of_caller(const struct call *c, uint64_t *ret_shared);

/* Installs the descriptor in the caller as the call's result, and closes ours.  If it writes to
 * an executable, ours is closed before the caller continues, so that the caller can close and
 * execute the file at once (ETXTBSY).  Other files need a chmod first, which the broker serves
 * after closing ours. */
long call_give(const struct call *c, int fd, bool cloexec, bool executable);

/* The same without answering: returns the descriptor's number in the caller, or -errno. */
int call_add(const struct call *c, int fd, bool cloexec);

/* Answers; does nothing when the caller is gone. */
void call_answer(const struct call *c, long result);

/* Answers ENOENT without a record: the path is not in a directory that the sandbox hides. */
long call_missing(const struct call *c);

/* For a handler that answers before it cleans up. */
static inline long call_done(const struct call *c, long result) {
	call_answer(c, result);
	return CALL_ANSWERED;
}

/* Answers SECCOMP_USER_NOTIF_FLAG_CONTINUE: only where no check is the protection (K1). */
long call_let_pass(const struct call *c);

/* Runs `work` in a helper process, which may block; it ends with the work, or when the caller
 * no longer waits.  The return value of work is the answer.  The process has these two
 * descriptors (-1: none), the listener and /proc. */
typedef long call_work(const struct call *c, int fd, const void *arg);
long helper_run(const struct call *c, int fd, int other, call_work *work, const void *arg);

/* The same for work that blocks like the call itself.  A signal for the caller stops it: the
 * blocking call in work returns EINTR; work that loops checks helper_stopped() and returns
 * -EINTR, which is not the answer then. */
long helper_run_waiting(const struct call *c, int fd, int other, call_work *work, const void *arg);
bool helper_stopped(void);

/* Work calls it after its blocking call has returned: from here on it cannot be stopped. */
void helper_finish(void);

/* Runs work that belongs to no call, in a process without descriptors: 0 or -EAGAIN. */
int broker_start(struct broker *b, void (*work)(struct broker *b));

/* Closes fd here, and later in a helper process, which then frees an unlinked file: freeing
 * many extents takes seconds.  Accepts -1. */
void broker_release(int fd);

/* Files of at least this many blocks of 512 bytes: freeing their extents, in the worst case
 * one for each 4 KiB, may block the guard for too long (K5). */
#define CALL_LARGE 8192

/* A path below /proc, built by pieces, such as "12/fd/3".  A text that does not fit is cut,
 * and then names no file. */
struct text {
	char s[64];
	size_t len;
};
void caller_text_add(struct text *t, const char *s);
void caller_text_number(struct text *t, uint64_t n);

/* "/proc/self/fd/N" */
struct text caller_fd_path(int fd);

/* The name of the caller's controlling terminal in the sandbox; -ENXIO: it has none there. */
int own_terminal_path(const struct call *c, struct text *ret);
uint64_t own_terminal_number(const char *stat, size_t len);

/* 0 when a process or thread descends from the guard, and is not the guard itself; -ESRCH when
 * it does not exist, -EPERM otherwise. */
int signals_caller_owns(const struct call *c, pid_t pid);

/* Handlers, by file. */
long serve_open(struct call *c);
long serve_openat(struct call *c);
long serve_creat(struct call *c);
long serve_truncate(struct call *c);
long serve_umask(struct call *c);

long serve_rename(struct call *c);
long serve_renameat(struct call *c);
long serve_renameat2(struct call *c);
long serve_link(struct call *c);
long serve_linkat(struct call *c);
long serve_unlink(struct call *c);
long serve_unlinkat(struct call *c);
long serve_rmdir(struct call *c);
long serve_symlink(struct call *c);
long serve_symlinkat(struct call *c);
long serve_mkdir(struct call *c);
long serve_mkdirat(struct call *c);
long serve_mknod(struct call *c);
long serve_mknodat(struct call *c);

long serve_chmod(struct call *c);
long serve_fchmod(struct call *c);
long serve_fchmodat(struct call *c);
long serve_fchmodat2(struct call *c);
long serve_chown(struct call *c);
long serve_fchown(struct call *c);
long serve_lchown(struct call *c);
long serve_fchownat(struct call *c);
long serve_utime(struct call *c);
long serve_utimes(struct call *c);
long serve_futimesat(struct call *c);
long serve_utimensat(struct call *c);
long serve_setxattr(struct call *c);
long serve_lsetxattr(struct call *c);
long serve_fsetxattr(struct call *c);
long serve_removexattr(struct call *c);
long serve_lremovexattr(struct call *c);
long serve_fremovexattr(struct call *c);

long serve_getxattr(struct call *c);
long serve_lgetxattr(struct call *c);
long serve_listxattr(struct call *c);
long serve_llistxattr(struct call *c);
long serve_readlink(struct call *c);
long serve_readlinkat(struct call *c);

long serve_ioctl(struct call *c);

long serve_connect(struct call *c);
long serve_getpeername(struct call *c);
long serve_bind(struct call *c);
long serve_listen(struct call *c);
long serve_socketpair(struct call *c);

long serve_landlock_add_rule(struct call *c);
long serve_landlock_restrict_self(struct call *c);
long serve_mount(struct call *c);
long serve_prlimit64(struct call *c);

long serve_ioprio_set(struct call *c);
long serve_sched_setaffinity(struct call *c);
long serve_sched_setattr(struct call *c);
long serve_sched_setparam(struct call *c);
long serve_sched_setscheduler(struct call *c);
long serve_setpriority(struct call *c);

long serve_access(struct call *c);
long serve_chdir(struct call *c);
long serve_execve(struct call *c);
long serve_execveat(struct call *c);
long serve_faccessat(struct call *c);
long serve_faccessat2(struct call *c);
long serve_lstat(struct call *c);
long serve_newfstatat(struct call *c);
long serve_sendto(struct call *c);
long serve_stat(struct call *c);
long serve_statx(struct call *c);

long serve_fcntl(struct call *c);
long serve_kill(struct call *c);
long serve_tkill(struct call *c);
long serve_tgkill(struct call *c);
long serve_rt_sigqueueinfo(struct call *c);
long serve_rt_tgsigqueueinfo(struct call *c);
long serve_pidfd_send_signal(struct call *c);

#endif
