/* Receives calls, finds their row, answers.
 *
 * Should:   answer every call that it received, with the handler's result.
 * Must not: allocate, lock, or run code of libc beyond thin system calls: this runs
 *           in the guard, whose memory is a copy of a program that may have had
 *           other threads.
 * Fails:    closed: a call without a row is ENOSYS, and without /proc all are EPERM. */
#include "linux/broker/broker.h"

#include "base/auto.h"
#include "linux/bpf.h"
#include "linux/broker/call.h"
#include "linux/kernel_api.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The waker and the woken on one processor: half the time of a round trip.  Linux 6.6. */
#define NOTIF_SET_FLAGS SECCOMP_IOW(4, __u64)
#define NOTIF_SYNC_WAKE_UP 1UL

/* clang-format off */
#define ASK(families, call, reason) {CALL_##call, serve_##call, families, reason}

const struct broker_row broker_rows[] = {
	ASK(BROKER_MARKS, chmod, "Landlock has no right for modes"),
	ASK(BROKER_MARKS, chown, "Landlock has no right for owners"),
	ASK(BROKER_MARKS, fchmod, "a descriptor for reading is enough to change a mode"),
	ASK(BROKER_MARKS, fchmodat, "as chmod"),
	ASK(BROKER_MARKS, fchmodat2, "as chmod"),
	ASK(BROKER_MARKS, fchown, "as fchmod"),
	ASK(BROKER_MARKS, fchownat, "as chown"),
	ASK(BROKER_MARKS, fremovexattr, "as fchmod"),
	ASK(BROKER_MARKS, fsetxattr, "as fchmod"),
	ASK(BROKER_MARKS, futimesat, "as utimensat"),
	ASK(BROKER_MARKS, lchown, "as chown"),
	ASK(BROKER_MARKS, lremovexattr, "as setxattr"),
	ASK(BROKER_MARKS, lsetxattr, "as setxattr"),
	ASK(BROKER_MARKS, removexattr, "as setxattr"),
	ASK(BROKER_MARKS, setxattr, "Landlock has no right for attributes; access lists are among them"),
	ASK(BROKER_MARKS, utime, "as utimensat"),
	ASK(BROKER_MARKS, utimensat, "Landlock has no right for times, and make(1) believes them"),
	ASK(BROKER_MARKS, utimes, "as utimensat"),

	ASK(BROKER_MARKS | BROKER_FILES, getxattr, "Landlock has no right for attributes, and no mount covers a pattern"),
	ASK(BROKER_MARKS | BROKER_FILES, lgetxattr, "as getxattr"),
	ASK(BROKER_MARKS | BROKER_FILES, listxattr, "as getxattr"),
	ASK(BROKER_MARKS | BROKER_FILES, llistxattr, "as getxattr"),
	ASK(BROKER_MARKS | BROKER_FILES, readlink, "as getxattr: a link's words are read without opening it"),
	ASK(BROKER_MARKS | BROKER_FILES, readlinkat, "as readlink"),

	ASK(BROKER_TRUNCATE | BROKER_FILES, truncate, "Landlock has a right for it since ABI 3, and none for a file inside a granted tree"),

	ASK(BROKER_FILES, creat, "as open"),
	ASK(BROKER_FILES, link, "a second name for a protected file would be a writable one"),
	ASK(BROKER_FILES, linkat, "as link"),
	ASK(BROKER_FILES, mkdir, "a directory where the policy says that there is none to be made"),
	ASK(BROKER_FILES, mkdirat, "as mkdir"),
	ASK(BROKER_FILES, mknod, "as mkdir"),
	ASK(BROKER_FILES, mknodat, "as mkdir"),
	ASK(BROKER_FILES, open, "Landlock cannot deny inside what it grants"),
	ASK(BROKER_FILES, openat, "as open"),
	ASK(BROKER_FILES, rename, "a denied file under another name would not be denied"),
	ASK(BROKER_FILES, renameat, "as rename"),
	ASK(BROKER_FILES, renameat2, "as rename"),
	ASK(BROKER_FILES, rmdir, "as unlink"),
	ASK(BROKER_FILES, symlink, "as mkdir"),
	ASK(BROKER_FILES, symlinkat, "as mkdir"),
	ASK(BROKER_FILES, umask, "files are made with it, and looking it up takes longer than making them"),
	ASK(BROKER_FILES, unlink, "a protected file could be replaced"),
	ASK(BROKER_FILES, unlinkat, "as unlink"),

	ASK(BROKER_SOCKETS, bind, "without a network namespace the wildcard address is the host's"),
	ASK(BROKER_SOCKETS, connect, "Landlock knows ports and no addresses, and sockets with a path only since ABI 9"),
	ASK(BROKER_SOCKETS, getpeername, "a program that was connected by the gate is told where it wanted to go"),
	ASK(BROKER_SOCKETS, ioctl, "TIOCGPTPEER: a new terminal lies in the host's /dev/pts"),
	ASK(BROKER_SOCKETS, listen, "what listens in this run may be connected to; an unbound socket listens everywhere"),
	ASK(BROKER_SOCKETS, socketpair, "a datagram from the half of a pair names its receiver behind a pointer"),

	ASK(BROKER_SIGNALS, fcntl, "F_SETOWN: a descriptor's events are signals for whom it names, and F_SETSIG chooses which"),
	ASK(BROKER_SIGNALS, kill, "without a pid namespace every process of the user is in reach; Landlock keeps signals in since ABI 6"),
	ASK(BROKER_SIGNALS, pidfd_send_signal, "as kill"),
	ASK(BROKER_SIGNALS, rt_sigqueueinfo, "as kill"),
	ASK(BROKER_SIGNALS, rt_tgsigqueueinfo, "as kill"),
	ASK(BROKER_SIGNALS, tgkill, "as kill"),
	ASK(BROKER_SIGNALS, tkill, "as kill"),

	ASK(BROKER_PRIORITY, ioprio_set, "every process of the user is in reach"),
	ASK(BROKER_PRIORITY, sched_setaffinity, "as ioprio_set"),
	ASK(BROKER_PRIORITY, sched_setattr, "as ioprio_set"),
	ASK(BROKER_PRIORITY, sched_setparam, "as ioprio_set"),
	ASK(BROKER_PRIORITY, sched_setscheduler, "as ioprio_set"),
	ASK(BROKER_PRIORITY, setpriority, "as ioprio_set"),
};
/* clang-format on */

const size_t broker_rows_count = ARRAY_LEN(broker_rows);

_Static_assert(ARRAY_LEN(broker_rows) < UINT8_MAX, "row_of holds a row's number and one");

void broker_init(struct broker *b, const struct plan *plan, int listener) {
	struct text self = {.len = 0};
	struct stat st;

	memset(b, 0, sizeof *b);
	b->plan = plan;
	b->listener = listener;
	b->signals = plan->landlock_abi < 6;
	b->killable = true;
	b->self = getpid();
	caller_text_add(&self, "/proc/");
	caller_text_number(&self, (uint64_t)b->self);
	memcpy(b->self_path, self.s, sizeof b->self_path);
	b->proc = open("/proc", O_PATH | O_CLOEXEC | O_DIRECTORY);
	b->fds = open("/proc/self/fd", O_PATH | O_CLOEXEC | O_DIRECTORY);
	b->root = open("/", O_PATH | O_CLOEXEC | O_DIRECTORY);
	if (b->fds < 0 || b->root < 0 || fstat(b->proc, &st) != 0) {
		drop_fd(&b->proc); /* no call is served without it */
	} else {
		b->proc_dev = st.st_dev;
	}
	int probe = sys_openat2(b->root, ".", O_PATH, RESOLVE_NO_MAGICLINKS);
	b->fast = probe >= 0;
	drop_fd(&probe);
	b->quick = b->fast && !plan_lacks_namespaces(plan);
	b->watches_umask = (plan->traits & TRAIT_CHANGES) != 0;
	b->umask_holder = -1;
	b->gate = -1;
	b->asks_links = (plan->traits & TRAIT_READS) != 0 && plan->rules.hides;
	/* Not the coarse clock: multigrain timestamps (Linux 6.13) run ahead of it, and a file
	 * that was made just before the run would seem to be younger. */
	(void)clock_gettime(CLOCK_REALTIME, &b->began);
	b->umask = umask(0); /* as the command's: both were given it */
	(void)umask(b->umask);
	for (size_t i = 0; i < ARRAY_LEN(broker_rows); i++) {
		int nr = syscall_names[broker_rows[i].id].nr[bpf_native()];

		if (nr >= 0) {
			b->row_of[nr] = (uint8_t)(i + 1);
		}
	}
	(void)syscall(SYS_ioctl, listener, NOTIF_SET_FLAGS,
		      NOTIF_SYNC_WAKE_UP); /* or slower, no more */
}

static void serve_one(struct broker *b, const struct seccomp_notif *n) {
	struct call c = {.b = b, .id = n->id, .tid = (pid_t)n->pid};
	unsigned row = n->data.nr >= 0 && n->data.nr <= SYSCALL_NEWEST ? b->row_of[n->data.nr] : 0;
	long result;

	memcpy(c.args, n->data.args, sizeof c.args);
	if (row == 0) {
		result = -ENOSYS;
	} else if (b->proc < 0 || c.tid <= 0) {
		result = -EPERM;
	} else {
		result = broker_rows[row - 1].serve(&c);
	}
	if (result != CALL_ANSWERED) {
		call_answer(&c, result);
	}
}

void broker_serve(struct broker *b) {
	struct seccomp_notif n;

	/* Receiving does not wait: what was announced and is gone since is ENOENT.  The next
	 * one is for the next poll of the guard, which has signals and a clock to look after
	 * as well. */
	memset(&n, 0, sizeof n); /* the kernel insists */
	if (call_ioctl(b, SECCOMP_IOCTL_NOTIF_RECV, &n) == 0) {
		serve_one(b, &n); /* otherwise the caller was killed before we looked */
	}
}
