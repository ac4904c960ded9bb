/* One call that waits for its answer, and what may be asked about its caller.
 *
 * Functions of this room return -errno, because that is what the caller gets;
 * nobody prints it. */
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
	pid_t tid; /* the calling thread, as the guard sees it */
	uint64_t args[6];
	bool as_written; /* no directory of the run's own stands in for /tmp */
};

/* The handler has answered by itself, or left it to a helper process. */
#define CALL_ANSWERED LONG_MIN

/* ioctl(2) on the listener; libcs differ in the type of its request. */
static inline int call_ioctl(const struct broker *b, unsigned long request, void *arg) {
	return (int)syscall(SYS_ioctl, b->listener, request, arg);
}

static inline int call_int(const struct call *c, int arg) {
	return (int)(uint32_t)c->args[arg]; /* the kernel looks at the low word alone */
}

/* The same caller still waits in the same call.  What was read from it before
 * this said yes was its own: neither its number nor its memory can have become
 * another's. */
bool caller_waits(const struct call *c);

/* Copies the caller's memory: 0, -EFAULT, -EPERM for a caller that may not be
 * looked into, -ESRCH for one that is gone. */
int caller_bytes(const struct call *c, uint64_t address, void *out, size_t len);

/* Writes into the caller's memory: as caller_bytes(). */
int caller_write(const struct call *c, uint64_t address, const void *data, size_t len);

/* A string with its NUL.  -ENAMETOOLONG when it is not within cap bytes.  The first does
 * not ask whether the caller still waits: who uses it has to. */
int caller_copy(const struct call *c, uint64_t address, char *out, size_t cap);
int caller_string(const struct call *c, uint64_t address, char *out, size_t cap);

/* An O_PATH descriptor of ours for what the caller's descriptor stands for, or for
 * its working directory (AT_FDCWD).  -EBADF when there is none. */
int caller_fd(const struct call *c, int fd);

/* The caller's descriptor itself (pidfd_getfd), for sockets; auto_taken gives it back. */
int caller_take_fd(const struct call *c, int fd);

/* Around a call on a socket that the caller has as well, and may set as it likes meanwhile: one
 * that waits all the same ends with EINTR (K5). */
struct patience {
	sigset_t before;
};
void caller_wait_limit(struct patience *p);
void caller_wait_unlimited(const struct patience *p);

/* close(2) that does not wait (K5): ours may be the last one of a socket with SO_LINGER. */
void caller_give_back(const int *fd);
#define auto_taken __attribute__((cleanup(caller_give_back))) int

/* The number behind a field that begins a line of a file of /proc; -1 when there is none. */
long caller_status_number(const char *text, const char *field, unsigned base);

/* A number of a file of /proc, by the word that begins its line.  -ENOENT, or -ENODATA
 * when it is not there. */
long caller_number(const struct call *c, const char *path, const char *field, unsigned base);

/* Of /proc/PID/status: "Umask:" (octal), "Tgid:", "PPid:".  -ESRCH. */
long caller_status(const struct call *c, pid_t pid, const char *field, unsigned base);

/* Whether a signal that it does not block waits for the calling thread.  Not sure: one for the
 * whole process, which has other threads, and the kernel may have chosen one of them; these are
 * returned. */
enum pending_signal_of_caller { SIGNAL_NONE, SIGNAL_DOUBTFUL, SIGNAL_LIKELY, SIGNAL_SURE };
enum pending_signal_of_caller pending_signal_of_caller(const struct call *c, uint64_t *ret_shared);

/* Gives the descriptor to the caller as the call's result, and closes ours.  That of an
 * executable which can be written to is closed before the caller goes on, so that the
 * caller can close and execute the file at once (ETXTBSY); of another file it need not
 * be, because the right to execute it is given by a call that comes to us. */
long call_give(const struct call *c, int fd, bool cloexec, bool executable);

/* The same without an answer: its number in the caller, or -errno. */
int call_add(const struct call *c, int fd, bool cloexec);

/* Answers; a caller that is gone is nobody's loss. */
void call_answer(const struct call *c, long result);

/* Answers before the handler cleans up. */
static inline long call_done(const struct call *c, long result) {
	call_answer(c, result);
	return CALL_ANSWERED;
}

/* Leaves the call to the kernel: only for what needs no protection (K1). */
long call_let_pass(const struct call *c);

/* Does `work` in a process of its own, which may block; it ends when the work
 * does, or when the caller waits no longer.  What work returns is the answer.  It
 * has these two descriptors (-1: none) and no others. */
typedef long call_work(const struct call *c, int fd, const void *arg);
long helper_run(const struct call *c, int fd, int other, call_work *work, const void *arg);

/* The same for work that waits for others as the call would.  A signal for the caller stops it:
 * what it waits in returns EINTR, and work that goes on all the same asks helper_stopped() and
 * returns -EINTR, which is not the answer then. */
long helper_run_waiting(const struct call *c, int fd, int other, call_work *work, const void *arg);
bool helper_stopped(void);

/* In a worker that has got what it waited for: it cannot be stopped any more. */
void helper_finish(void);

/* Work for no call in particular, in a process without descriptors: 0 or -EAGAIN. */
int broker_start(struct broker *b, void (*work)(struct broker *b));

/* Closes it here and a moment later in a helper, whose one is the last of a file without a
 * name then: freeing many extents takes seconds.  -1 is fine. */
void broker_release(int fd);

/* Files of this size in blocks of 512 bytes, and larger ones: freeing their extents, at
 * least one for each 4 KiB, may take longer than the guard waits (K5). */
#define CALL_LARGE 8192

/* "12", and "12/fd/3" by pieces; what does not fit is cut, which names no file. */
struct text {
	char s[64];
	size_t len;
};
void caller_text_add(struct text *t, const char *s);
void caller_text_number(struct text *t, uint64_t n);

/* "/proc/self/fd/N" */
struct text caller_fd_path(int fd);

/* Whether a process or thread descends from the guard, and is not the guard: 0, -ESRCH when
 * there is none, -EPERM when it is none of ours. */
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

long serve_ioprio_set(struct call *c);
long serve_sched_setaffinity(struct call *c);
long serve_sched_setattr(struct call *c);
long serve_sched_setparam(struct call *c);
long serve_sched_setscheduler(struct call *c);
long serve_setpriority(struct call *c);

long serve_fcntl(struct call *c);
long serve_kill(struct call *c);
long serve_tkill(struct call *c);
long serve_tgkill(struct call *c);
long serve_rt_sigqueueinfo(struct call *c);
long serve_rt_tgsigqueueinfo(struct call *c);
long serve_pidfd_send_signal(struct call *c);

#endif
