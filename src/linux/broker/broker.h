/* The broker: what the kernel's rules cannot say, judged call by call.
 *
 * On the landlock engine, and on the other one for rules about names, a few system
 * calls are not decided by the filter but handed to the first process, the guard or
 * pid 1 (seccomp user notification); here it is called the guard.  It copies the
 * arguments once, judges its copy, performs the call itself on what it judged,
 * and returns the result or hands a descriptor over.
 *
 * Invariants, cited by the code and the tests:
 *  K1  no handler answers "continue" where that is the protection: the arguments
 *      can change after a look at them, so what was judged must be what is done
 *      (those that do judge nothing: O_PATH and umask, see files.c; getpeername, see
 *      connect.c);
 *  K2  a pointer of the caller is read once;
 *  K3  what was judged is held by a descriptor, and the call is made on it;
 *  K4  nothing of the guard's own (its part of /proc, its descriptors, its
 *      terminal) is reached on a caller's behalf;
 *  K5  the guard does not wait on anything that the caller decides about: what
 *      may take long is done by a helper process (a FIFO, a lease, freeing a large
 *      file); what waits all the same, such as a network file system, the wardens
 *      or the supervisor end: they keep the time as well;
 *  K6  what stood before the run under a name that a rule keeps is neither moved,
 *      with a directory above it or alone, nor replaced (preexisting.c);
 *  K7  a socket that is connected, bound or listened on belongs to the run's network
 *      namespace, and a socket file that is connected to was bound in this run or is
 *      named by net.sockets. */
#ifndef CORRAL_LINUX_BROKER_BROKER_H
#define CORRAL_LINUX_BROKER_BROKER_H

#include "data/syscalls.h"
#include "plan/plan.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

/* When a call is asked about; the filter is made from the same rows. */
enum broker_family {
	BROKER_MARKS = 1 << 0,    /* always: Landlock has no right for modes, owners, times */
	BROKER_TRUNCATE = 1 << 1, /* Landlock < 3 */
	BROKER_FILES = 1 << 2,    /* the plan restricts paths inside a granted tree */
	BROKER_SOCKETS = 1 << 3,  /* always */
	BROKER_SIGNALS = 1 << 4,  /* Landlock < 6 */
	BROKER_PRIORITY = 1 << 5, /* always */
};

/* Listening sockets that are remembered; the oldest is forgotten first. */
#define BROKER_LISTENERS 512

/* Repositories of the run's own that are remembered; the oldest is forgotten first, and as
 * protected as any other then. */
#define BROKER_MADE 1024

/* Directories in which something was looked for in vain. */
#define BROKER_PLAIN 256

struct made {
	uint64_t dev, ino;
};

/* A socket that listens: the kernel never gives a cookie twice; an inode's number it may. */
struct listening {
	uint64_t cookie, inode;
};

struct journal;
struct links;
struct wire_peers;
struct ledger;

struct broker {
	const struct plan *plan;
	int listener;  /* seccomp notification descriptor */
	bool signals;  /* the kill family is asked about */
	bool killable; /* the listener has WAIT_KILLABLE_RECV: true unless the engine says otherwise
			*/
	bool quick;    /* the mounts are our own: paths mean the same to everybody but in /proc */
	bool watches_umask; /* umask(2) is asked about */
	bool umask_differs; /* and somebody has another one than this */
	mode_t umask;
	pid_t umask_setter; /* who asked for one last; threads of it may share it */
	pid_t umask_of;     /* whose umask we have; 0: nobody's in particular */
	int umask_holder;   /* a pidfd of that process */
	bool fast;          /* openat2(2) is there; it is not where another filter answers ENOSYS */

	/* The other end of a terminal, opened by somebody outside: a descriptor or -errno.
	 * NULL: there is nobody. */
	int (*peer)(void *arg, int master, int flags);
	void *peer_arg;

	int gate; /* the channel to it; -1: there is none */
	struct wire_peers
		*peers; /* where sockets lead that the gate has connected; NULL: nowhere */
	struct ledger
		*refusals; /* of calls that found no gate, which the gate cannot write; NULL */

	struct journal *journal; /* of what lasts; NULL for none */
	bool asks_links;         /* a denied file may be opened by another of its names */
	struct links *links;     /* which files have one; NULL: nobody has asked yet */

	pid_t self;         /* the guard */
	int proc;           /* /proc, O_PATH; -1: every call is refused */
	int fds;            /* /proc/self/fd, O_PATH */
	int root;           /* "/", O_PATH */
	uint64_t proc_dev;  /* st_dev of /proc */
	char self_path[32]; /* "/proc/" and the guard's number */
	uint64_t network;   /* cookie of the run's network namespace; 0: not asked yet */
	struct listening listening[BROKER_LISTENERS]; /* in this run */
	size_t nlistening;                            /* ever; the place is modulo the size */
	struct timespec began; /* what is younger was not there before the run */
	struct made made[BROKER_MADE];
	size_t nmade;                 /* ever */
	size_t nlinked;               /* hard links of files that nobody could execute */
	uint64_t plain[BROKER_PLAIN]; /* directories that are not in /proc, by a hash of their path
				       */
	uint8_t row_of[SYSCALL_NEWEST + 1]; /* 1 + index into broker_rows; 0: no row */
};

struct call;

struct broker_row {
	enum syscall_id id;
	long (*serve)(struct call *c); /* the result, or -errno, or CALL_ANSWERED */
	unsigned families;
	const char *reason;
};

/* Sorted by family, then by name; a call has one row. */
extern const struct broker_row broker_rows[];
extern const size_t broker_rows_count;

/* Called in the process that serves: /proc/self is opened here. */
void broker_init(struct broker *b, const struct plan *plan, int listener);

/* Serves one call that is waiting; called when poll(2) says that the listener is
 * readable, and again as long as it says so.  Never blocks for longer than a moment.  Helper
 * processes that it starts are children of the guard, who reaps them with everything else. */
void broker_serve(struct broker *b);

#endif
