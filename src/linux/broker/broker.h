/* SPDX-License-Identifier: Apache-2.0 */
/* The broker answers seccomp user notifications: it checks and performs system calls that
 * Landlock, mounts and the BPF filter cannot decide.
 *
 * Without namespaces, and with them for rules about names, the filter sends some system
 * calls of the command to pid 1 or the guard; this room calls both the guard.  The guard
 * copies the arguments once, checks its copy, performs the call itself on the file that it
 * checked, and returns the result or installs a descriptor in the caller
 * (SECCOMP_IOCTL_NOTIF_ADDFD).
 *
 * Why the kernel does not make these calls alone, although a notification costs several times a
 * create on a tmpfs:
 *  - A path that no rule is about is an argument in the caller's memory.  A thread of the caller,
 *    a process that shares its memory, or one that may write to it (process_vm_writev(2), a shared
 *    mapping) can change it between the check and SECCOMP_USER_NOTIF_FLAG_CONTINUE.  The
 *    broker cannot find out that no process does.
 *  - So the kernel would need a rule of its own that refuses the changed path.  Landlock has no
 *    rule about names: a right covers everything beneath a directory, and a right that is granted
 *    there cannot be taken away for one name.  A mount covers a name that exists, and a rule is
 *    also about names that are created later, at any depth.
 *  - A file that the guard creates and closes, so that the caller only has to open it, needs
 *    WRITE_FILE in the caller's domain; the changed path then is a protected file deep in the
 *    tree.
 *  - For opens that read, a domain without READ_FILE where names are denied would refuse the
 *    changed path, but also execve(2) of every program there (K1); READ_DIR would be left for
 *    directories, and a pattern may deny a directory, whose entries are then listed.
 *
 * Invariants, cited by the code and the tests:
 *  K1  no handler answers SECCOMP_USER_NOTIF_FLAG_CONTINUE where the check is the
 *      protection: the caller can change the arguments after the check, so the guard must
 *      do exactly the call that it checked (handlers that continue check nothing: O_PATH
 *      and umask, see files.c; getpeername, see connect.c; calls that are only recorded,
 *      see watched.c).  A Landlock domain cannot be the protection instead: it would lack
 *      READ_FILE in trees with denied names, and execve(2) there needs that right, too;
 *  K2  a pointer of the caller is read once;
 *  K3  the checked file is held by a descriptor, and the call is made on it; or its path is
 *      looked up once more without symlinks, so that only the checked path can be opened
 *      (resolve_fast.c);
 *  K4  no call on a caller's behalf reaches the guard's own /proc entries, descriptors or
 *      terminal;
 *  K5  the guard never waits for an event that the caller controls: a helper process makes
 *      calls that may take long (a FIFO, a lease, freeing a large file); if the guard hangs
 *      all the same, as on a network file system, the wardens or the supervisor, which
 *      enforce the timeout as well, end it;
 *  K6  a file that existed before the run under a name that a rule protects is neither
 *      moved, with a directory above it or alone, nor replaced (preexisting.c);
 *  K7  a socket that is connected, bound or listened on belongs to the run's network
 *      namespace, and a socket file that is connected to was bound in this run or is
 *      named by net.sockets; with --allow-nested it may belong to a network namespace that
 *      was created inside, and then never reaches the gate;
 *  K8  a hand-over that moves its caller to the guard's processor (handover.c) restores the
 *      caller's CPU mask before the caller continues, and the guard forks with its own mask;
 *  K9  with --allow-nested, a call for a process in a Landlock domain of its own is made under
 *      the rulesets of that domain (domain.c), and a path of a process in namespaces of its
 *      own is resolved in its view and checked by the path that the same file has in the
 *      guard's (view.c). */
#ifndef CORRAL_LINUX_BROKER_BROKER_H
#define CORRAL_LINUX_BROKER_BROKER_H

#include "data/syscalls.h"
#include "linux/broker/handover.h"
#include "plan/plan.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

/* When the filter sends a call to the broker; the filter is built from the same rows. */
enum broker_family {
	BROKER_METADATA = 1 << 0, /* always: Landlock has no right for modes, owners, times */
	BROKER_TRUNCATE = 1 << 1, /* Landlock < 3 */
	BROKER_FILES = 1 << 2,    /* the plan restricts paths inside a granted tree */
	BROKER_SOCKETS = 1 << 3,  /* always */
	BROKER_SIGNALS = 1 << 4,  /* Landlock < 6 */
	BROKER_PRIORITY = 1 << 5, /* always */
	BROKER_WATCH = 1 << 6,    /* denials = all: reads of hidden files are recorded */
	BROKER_DOMAINS = 1 << 7,  /* --allow-nested */
};

/* Listening sockets in the table; the oldest is overwritten first. */
#define BROKER_LISTENERS 512

/* Repositories that the run created, in the table; the oldest is overwritten first, and is
 * protected like a preexisting one then. */
#define BROKER_MADE 1024

/* Cache of directories that are known not to be in /proc. */
#define BROKER_PLAIN 256

/* Pidfds of threads whose sockets the broker took. */
#define BROKER_PIDFDS 8

struct kept_pidfd {
	pid_t tid; /* 0: none */
	int fd;
};

struct made {
	uint64_t dev, ino;
};

/* The working directory of the caller of one notification, which a call with two paths needs
 * twice.  Longer ones are read twice. */
struct cwd_text {
	uint64_t id;
	size_t len; /* 0: none */
	char text[512];
};

/* The number in /proc of the caller of one notification (caller_entry()). */
struct proc_entry {
	uint64_t id;
	pid_t tid;
	long pid; /* not positive: the caller is gone */
};

/* A listening socket.  The kernel never reuses a socket cookie; it may reuse an inode number. */
struct listening {
	uint64_t cookie, inode;
};

struct journal;
struct links;
struct wire_peers;
struct warm_state;
struct ledger;

struct broker {
	const struct plan *plan;
	int listener;  /* seccomp notification descriptor */
	bool signals;  /* the filter sends kill(2) and the like to the broker */
	bool killable; /* the filter has SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV */
	bool quick;    /* own mount namespace: outside /proc a path means the same to the guard */
	bool watches_umask; /* the filter sends umask(2) to the broker */
	bool umask_differs; /* a process has set a umask other than the following */
	mode_t umask;       /* the one that the command started with; set by the caller */
	pid_t umask_setter; /* thread that called umask(2) last; its threads may share it */
	pid_t umask_of;     /* process that has the guard's present umask; 0: unknown */
	int umask_holder;   /* a pidfd of that process */
	struct cwd_text cwd;
	struct proc_entry entry;
	struct kept_pidfd pidfds[BROKER_PIDFDS];
	bool exists; /* the last open with O_CREAT found the file: the next may, too */
	bool fast;   /* openat2(2) works; an outer seccomp filter may return ENOSYS */

	/* Lets the supervisor open the slave of a pty: a descriptor or -errno.  NULL: no
	 * supervisor reads reports. */
	int (*peer)(void *arg, int master, int flags);
	void *peer_arg;

	int gate;    /* the channel to the gate; -1: none */
	int beneath; /* the workspace's .git beneath the mount that pins it, O_PATH; -1: none */
	struct wire_peers
		*peers; /* original destinations of sockets that the gate connected; NULL */
	struct ledger *refusals; /* connects refused because the gate has ended; NULL */

	int ask; /* the channel to the supervisor for --ask; -1: none */

	struct warm_state *warm; /* of a session: refusals get the number of their command; NULL */
	struct journal *journal; /* lasting files that the command created; NULL: none */
	bool checks_links;       /* a denied file may be opened by another hard link */
	struct links *links;     /* the search for those; NULL: not started */

	struct handover handover; /* off in helper processes */

	pid_t self;         /* the guard */
	int proc;           /* /proc, O_PATH; -1: every call is refused */
	int fds;            /* /proc/self/fd, O_PATH */
	int root;           /* "/", O_PATH */
	bool nests;         /* callers may be in namespaces of their own (view.c) */
	bool knows_domains; /* and in Landlock domains of their own (domain.c) */
	int view;           /* the root of the present caller: `root`, or another one (view.c) */
	uint64_t userns;    /* inode of the guard's user namespace, with `nests` */
	uint64_t proc_dev;  /* st_dev of /proc */
	uint64_t plain_dev; /* st_dev of a file system that is not procfs; 0: none yet */
	char self_path[32]; /* "/proc/" and the guard's number there */
	uint64_t network;   /* cookie of the run's network namespace; 0: not read yet */
	struct listening listening[BROKER_LISTENERS]; /* of this run */
	size_t nlistening;                            /* added so far; index modulo the size */
	struct timespec began; /* a file with a later birth time was created by the run */
	struct made made[BROKER_MADE];
	size_t nmade;                 /* added so far; index modulo the size */
	size_t nlinked;               /* hard links of files without an x bit */
	uint64_t plain[BROKER_PLAIN]; /* hashes of paths of directories that are not in /proc */
	uint8_t row_of[SYSCALL_NEWEST + 1]; /* 1 + index into broker_rows; 0: no row */
};

struct call;

struct broker_row {
	enum syscall_id id;
	long (*serve)(struct call *c); /* returns the result, -errno, or CALL_ANSWERED */
	unsigned families;
	const char *reason;
};

/* Sorted by family, then by name; a call has one row. */
extern const struct broker_row broker_rows[];
extern const size_t broker_rows_count;

/* Call it in the process that serves: it opens /proc/self. */
void broker_init(struct broker *b, const struct plan *plan, int listener);

/* Serves one notification; call it whenever poll(2) reports POLLIN for the listener.  It does
 * not block for long (K5).  Its helper processes are children of the guard, which reaps them. */
void broker_serve(struct broker *b);

#endif
