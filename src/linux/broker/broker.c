/* SPDX-License-Identifier: Apache-2.0 */
/* Receives seccomp user notifications, finds the handler of each call, and answers.
 *
 * Should:   answer every notification that it received, with the handler's result.
 * Must not: allocate, lock, or call libc beyond thin system call wrappers: this runs in the
 *           guard, whose memory is a copy of a program that may have had other threads.
 * Fails:    closed: a call without a row gets the errno of its rule in the filter, or ENOSYS, and
 *           without /proc all get EPERM. */
#include "linux/broker/broker.h"

#include "base/auto.h"
#include "linux/bpf.h"
#include "linux/broker/ask.h"
#include "linux/broker/call.h"
#include "linux/broker/domain.h"
#include "linux/broker/refused.h"
#include "linux/broker/view.h"
#include "linux/kernel_api.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Wakes the caller on the guard's CPU, which halves the round trip.  Linux 6.6. */
#define NOTIF_SET_FLAGS SECCOMP_IOW(4, __u64)
#define NOTIF_SYNC_WAKE_UP 1UL

/* clang-format off */
#define ROW(families, call, reason) {CALL_##call, serve_##call, families, reason}

const struct broker_row broker_rows[] = {
	ROW(BROKER_METADATA, chmod, "Landlock has no right for modes"),
	ROW(BROKER_METADATA, chown, "Landlock has no right for owners"),
	ROW(BROKER_METADATA, fchmod, "a descriptor for reading is enough to change a mode"),
	ROW(BROKER_METADATA, fchmodat, "as chmod"),
	ROW(BROKER_METADATA, fchmodat2, "as chmod"),
	ROW(BROKER_METADATA, fchown, "as fchmod"),
	ROW(BROKER_METADATA, fchownat, "as chown"),
	ROW(BROKER_METADATA, fremovexattr, "as fchmod"),
	ROW(BROKER_METADATA, fsetxattr, "as fchmod"),
	ROW(BROKER_METADATA, futimesat, "as utimensat"),
	ROW(BROKER_METADATA, lchown, "as chown"),
	ROW(BROKER_METADATA, lremovexattr, "as setxattr"),
	ROW(BROKER_METADATA, lsetxattr, "as setxattr"),
	ROW(BROKER_METADATA, removexattr, "as setxattr"),
	ROW(BROKER_METADATA, setxattr, "Landlock has no right for extended attributes, and ACLs are among them"),
	ROW(BROKER_METADATA, utime, "as utimensat"),
	ROW(BROKER_METADATA, utimensat, "Landlock has no right for timestamps, and make(1) relies on them"),
	ROW(BROKER_METADATA, utimes, "as utimensat"),

	ROW(BROKER_METADATA | BROKER_FILES, getxattr, "Landlock has no right for extended attributes, and no mount covers a pattern"),
	ROW(BROKER_METADATA | BROKER_FILES, lgetxattr, "as getxattr"),
	ROW(BROKER_METADATA | BROKER_FILES, listxattr, "as getxattr"),
	ROW(BROKER_METADATA | BROKER_FILES, llistxattr, "as getxattr"),
	ROW(BROKER_METADATA | BROKER_FILES, readlink, "as getxattr: a symlink's target is read without opening it"),
	ROW(BROKER_METADATA | BROKER_FILES, readlinkat, "as readlink"),

	ROW(BROKER_TRUNCATE | BROKER_FILES, truncate, "Landlock has a right for it since ABI 3, and none for a file inside a granted tree"),

	ROW(BROKER_FILES, creat, "as open"),
	ROW(BROKER_FILES, link, "a hard link to a protected file would be writable"),
	ROW(BROKER_FILES, linkat, "as link"),
	ROW(BROKER_FILES, mkdir, "a rule may forbid to create this name"),
	ROW(BROKER_FILES, mkdirat, "as mkdir"),
	ROW(BROKER_FILES, mknod, "as mkdir"),
	ROW(BROKER_FILES, mknodat, "as mkdir"),
	ROW(BROKER_FILES, open, "Landlock cannot deny a path inside a granted tree"),
	ROW(BROKER_FILES, openat, "as open"),
	ROW(BROKER_FILES, rename, "a denied file under another name would not be denied"),
	ROW(BROKER_FILES, renameat, "as rename"),
	ROW(BROKER_FILES, renameat2, "as rename"),
	ROW(BROKER_FILES, rmdir, "as unlink"),
	ROW(BROKER_FILES, symlink, "as mkdir"),
	ROW(BROKER_FILES, symlinkat, "as mkdir"),
	ROW(BROKER_FILES, umask, "the broker creates files with the caller's umask, and reading it from /proc costs more than creating a file"),
	ROW(BROKER_FILES, unlink, "a protected file could be replaced"),
	ROW(BROKER_FILES, unlinkat, "as unlink"),

	ROW(BROKER_SOCKETS, bind, "without a network namespace the wildcard address is the host's"),
	ROW(BROKER_SOCKETS, connect, "Landlock has rules for ports and not for addresses, and for unix sockets only since ABI 9"),
	ROW(BROKER_SOCKETS, getpeername, "for a socket that the gate connected it returns the address that the program wanted"),
	ROW(BROKER_SOCKETS, ioctl, "TIOCGPTPEER: a new pty is in the host's /dev/pts"),
	ROW(BROKER_SOCKETS, listen, "the run may connect only to its own listeners; an unbound socket listens on every address"),
	ROW(BROKER_SOCKETS, socketpair, "sendto(2) on a datagram pair can name another receiver behind a pointer"),

	ROW(BROKER_SIGNALS, fcntl, "F_SETOWN chooses a process that gets signals, and F_SETSIG the signal"),
	ROW(BROKER_SIGNALS, kill, "without a pid namespace it reaches every process of the user; Landlock confines signals since ABI 6"),
	ROW(BROKER_SIGNALS, pidfd_send_signal, "as kill"),
	ROW(BROKER_SIGNALS, rt_sigqueueinfo, "as kill"),
	ROW(BROKER_SIGNALS, rt_tgsigqueueinfo, "as kill"),
	ROW(BROKER_SIGNALS, tgkill, "as kill"),
	ROW(BROKER_SIGNALS, tkill, "as kill"),

	ROW(BROKER_PRIORITY, ioprio_set, "it reaches every process of the user"),
	ROW(BROKER_PRIORITY, sched_setaffinity, "as ioprio_set"),
	ROW(BROKER_PRIORITY, sched_setattr, "as ioprio_set"),
	ROW(BROKER_PRIORITY, sched_setparam, "as ioprio_set"),
	ROW(BROKER_PRIORITY, sched_setscheduler, "as ioprio_set"),
	ROW(BROKER_PRIORITY, setpriority, "as ioprio_set"),

	ROW(BROKER_DOMAINS, landlock_add_rule, "a ruleset that the broker keeps must not change any more"),
	ROW(BROKER_DOMAINS, landlock_restrict_self, "the broker makes calls for the process under the same ruleset"),
	ROW(BROKER_DOMAINS, mount, "a new overlay empties its work directory, whatever the rules about names in it"),
	ROW(BROKER_DOMAINS, prlimit64, "RLIMIT_LOCKS marks the processes of a domain"),

	ROW(BROKER_WATCH, access, "a hidden file is recorded as a denial; no check"),
	ROW(BROKER_WATCH, chdir, "as access"),
	ROW(BROKER_WATCH, execve, "a program that may not be executed is recorded as a denial; no check"),
	ROW(BROKER_WATCH, execveat, "as execve"),
	ROW(BROKER_WATCH, faccessat, "as access"),
	ROW(BROKER_WATCH, faccessat2, "as access"),
	ROW(BROKER_WATCH, lstat, "as access"),
	ROW(BROKER_WATCH, newfstatat, "as access"),
	ROW(BROKER_WATCH, sendto, "a datagram without a route is recorded as a denial; no check"),
	ROW(BROKER_WATCH, stat, "as access"),
	ROW(BROKER_WATCH, statx, "as access"),
};
/* clang-format on */

const size_t broker_rows_count = ARRAY_LEN(broker_rows);

_Static_assert(ARRAY_LEN(broker_rows) < UINT8_MAX, "row_of holds a row's number and one");

/* The guard's number in a procfs of the pid namespace above.  Without it every path in /proc counts
 * as the guard's. */
static void add_entry_of_self(struct text *self) {
	char link[16];
	ssize_t n = syscall(SYS_readlinkat, AT_FDCWD, "/proc/self", link, sizeof link);

	for (ssize_t i = 0; i < n; i++) {
		caller_text_add(self, (char[]){link[i], '\0'});
	}
	self->len -= n <= 0; /* "/proc" */
	self->s[self->len] = '\0';
}

/* Without one of these directories the broker refuses every call. */
static void open_places(struct broker *b) {
	struct text self = {.len = 0};
	struct stat st;

	b->self = getpid();
	caller_text_add(&self, "/proc/");
	if (b->plan->shares_proc) {
		add_entry_of_self(&self);
	} else {
		caller_text_number(&self, (uint64_t)b->self);
	}
	memcpy(b->self_path, self.s, sizeof b->self_path);
	b->proc = open("/proc", O_PATH | O_CLOEXEC | O_DIRECTORY);
	b->fds = open("/proc/self/fd", O_PATH | O_CLOEXEC | O_DIRECTORY);
	b->root = open("/", O_PATH | O_CLOEXEC | O_DIRECTORY);
	if (b->fds < 0 || b->root < 0 || fstat(b->proc, &st) != 0) {
		drop_fd(&b->proc);
	} else {
		b->proc_dev = st.st_dev;
	}
	b->view = b->root;
	if (b->nests && b->proc >= 0) {
		if (syscall(SYS_newfstatat, AT_FDCWD, "/proc/self/ns/user", &st, 0) != 0) {
			drop_fd(&b->proc);
		} else {
			b->userns = st.st_ino;
		}
	}
}

static void number_rows(struct broker *b) {
	for (size_t i = 0; i < ARRAY_LEN(broker_rows); i++) {
		int nr = syscall_names[broker_rows[i].id].nr[bpf_native()];
		/* Without nested sandboxes the filter refuses these calls.  With --denials all it
		 * refuses them by a notification, which only records them. */
		bool refused = broker_rows[i].families == BROKER_DOMAINS &&
			       (b->plan->traits & TRAIT_DOMAINS) == 0;

		if (nr >= 0 && !refused) {
			b->row_of[nr] = (uint8_t)(i + 1);
		}
	}
}

void broker_init(struct broker *b, const struct plan *plan, int listener) {
	memset(b, 0, sizeof *b);
	b->plan = plan;
	b->listener = listener;
	b->signals = plan->landlock_abi < 6;
	b->killable = true;
	b->nests = (plan->traits & TRAIT_INNER) != 0;
	b->knows_domains = (plan->traits & TRAIT_DOMAINS) != 0;
	open_places(b);
	b->fast = !plan_lacks_namespaces(plan); /* layer mounts has used openat2(2) */
	if (!b->fast) {
		int probe = sys_openat2(b->root, ".", O_PATH, RESOLVE_NO_MAGICLINKS);
		b->fast = probe >= 0;
		drop_fd(&probe);
	}
	b->quick = !plan_lacks_namespaces(plan);
	b->watches_umask = (plan->traits & TRAIT_CHANGES) != 0;
	b->umask_holder = -1;
	b->gate = -1;
	b->beneath = -1;
	b->ask = -1;
	b->checks_links = (plan->traits & TRAIT_READS) != 0 && plan->rules.hides;
	/* Not the coarse clock: multigrain timestamps (Linux 6.13) run ahead of it, and a file
	 * that was created just before the run would seem to be newer. */
	(void)clock_gettime(CLOCK_REALTIME, &b->began);
	number_rows(b);
	(void)syscall(SYS_ioctl, listener, NOTIF_SET_FLAGS, NOTIF_SYNC_WAKE_UP); /* best effort */
}

/* Serves the call in the caller's own view, and under its own domain (K9). */
static long serve_nested(struct call *c, const struct broker_row *row) {
	int r = c->b->nests ? view_begin(c) : 0;

	if (r == 0) {
		r = domain_begin(c);
	}
	if (r == 0 && domain_is_set() && !caller_waits(c)) {
		r = -ESRCH; /* the mark may be that of a process with the same id */
	}
	c->confined = r != 0 || view_is_foreign(c->b) || domain_is_set();
	long result = r != 0 ? r : row->serve(c);
	domain_end();
	view_end(c->b);
	return result;
}

static void serve_one(struct broker *b, const struct seccomp_notif *n) {
	struct call c = {.b = b, .id = n->id, .tid = (pid_t)n->pid};
	unsigned row = n->data.nr >= 0 && n->data.nr <= SYSCALL_NEWEST ? b->row_of[n->data.nr] : 0;
	long result;

	memcpy(c.args, n->data.args, sizeof c.args);
	if (row == 0) {
		result = refused_call(&c, n->data.nr);
	} else if (b->proc < 0 || c.tid <= 0) {
		result = -EPERM;
	} else {
		c.call = broker_rows[row - 1].id;
		result = b->knows_domains ? serve_nested(&c, &broker_rows[row - 1])
					  : broker_rows[row - 1].serve(&c);
	}
	if (result != CALL_ANSWERED &&
	    !(result < 0 && !c.confined && ask_begin(&c, (int)-result))) {
		call_answer(&c, result);
	}
}

void broker_serve(struct broker *b) {
	struct seccomp_notif n;

	/* RECV does not block: a notification whose caller was killed since poll is ENOENT.
	 * One per poll, because the guard has signals and timers to handle as well. */
	memset(&n, 0, sizeof n); /* the kernel returns EINVAL otherwise */
	if (call_ioctl(b, SECCOMP_IOCTL_NOTIF_RECV, &n) == 0) {
		serve_one(b, &n);
	}
}
