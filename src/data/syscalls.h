/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of the seccomp filter: which system calls a sandboxed command may make.
 *
 * A deny list with an upper bound.  A call that is known (syscalls.inc) and has no rule is
 * allowed; a known call with a rule gets that rule; a number without a row, above the newest
 * or in a hole, returns ENOSYS, so that a call of a newer kernel stays closed. */
#ifndef CORRAL_DATA_SYSCALLS_H
#define CORRAL_DATA_SYSCALLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum syscall_arch { SYSCALL_X86_64, SYSCALL_AARCH64, SYSCALL_RISCV64, SYSCALL_ARCHS };

#define SYSCALL(name, x86_64, aarch64, riscv64) CALL_##name,
enum syscall_id {
#include "data/syscalls.inc"
	CALL_COUNT
};
#undef SYSCALL

/* The highest number in syscalls.inc, on every architecture. */
#define SYSCALL_NEWEST 469

struct syscall_name {
	const char *name;
	int16_t nr[SYSCALL_ARCHS]; /* -1: not on this architecture */
};

extern const struct syscall_name syscall_names[CALL_COUNT];

/* The call of that name; CALL_COUNT when there is none. */
enum syscall_id syscall_by_name(const char *name);

/* Why the policy may not deny the call: no program could start or end.  NULL: it may. */
const char *syscall_needed(enum syscall_id id);

enum syscall_group {
	GROUP_NAMESPACES,
	GROUP_MOUNT,
	GROUP_MOUNT_NEW,
	GROUP_SURFACE,
	GROUP_KEYRING,
	GROUP_HANDLES,
	GROUP_MEMORY,
	GROUP_PROCESSES,
	GROUP_SYSTEM,
	GROUP_EXECUTION,
	GROUP_TERMINAL,
	GROUP_SOCKETS,
	GROUP_SETUID,
	GROUP_IPC,
	GROUP_FILES,
	GROUP_MARKS,
	GROUP_COUNT
};

extern const char *const syscall_group_names[GROUP_COUNT];

/* The properties of a plan that change the filter.  None of them: the namespaces engine. */
enum syscall_trait {
	TRAIT_NO_NAMESPACES = 1, /* no namespaces: processes, ipc and network are the host's */
	TRAIT_OPEN = 2,          /* and no Landlock: files and other processes are open */
	TRAIT_NO_NET = 4,        /* only the filter closes the network */
	TRAIT_BROKER = 8,        /* the broker answers seccomp user notifications */
	TRAIT_SOCKETS = 16,      /* and can take the caller's sockets (pidfd_getfd) */
	TRAIT_SIGNALS = 32,      /* and checks signals, which Landlock does not */
	TRAIT_TRUNCATE = 64,     /* and truncate(2), which Landlock does not */
	TRAIT_CHANGES = 128,     /* and changes of file names and content */
	TRAIT_READS = 256,       /* and every open of a file */
	TRAIT_MEMORY = 512,      /* and keeps shared memory in a directory of the run's own */
	TRAIT_MARKS = 1024,      /* and changes of modes, owners, times and attributes */
	TRAIT_GATE = 2048,       /* and forwards connections to the gate */
	TRAIT_DATAGRAMS =
		4096,        /* unix datagrams: Landlock checks them, or their loss is accepted */
	TRAIT_PINNED = 8192, /* CPU affinity enforces limits.cpus, and must not change */
	TRAIT_EXEC = 16384,  /* only listed programs may be executed */
	TRAIT_WATCH = 32768, /* the broker records reads of hidden files; it checks nothing */
	TRAIT_WATCH_EXEC = 65536, /* likewise programs that may not be executed */
	TRAIT_DOMAINS = 131072, /* the command may enter Landlock domains; the broker keeps them */
	TRAIT_INNER = 262144,   /* the command may create namespaces, and mount in them */
};

/* Checks of arguments; several calls share one if the argument has the same position.  The
 * checks of engines without namespaces come last. */
enum syscall_check_id {
	CHECK_NONE,
	CHECK_CLONE,
	CHECK_FIRST_PROCESS,
	CHECK_IOCTL,
	CHECK_IOPRIO,
	CHECK_MADVISE,
	CHECK_MEMFD,
	CHECK_MMAP,
	CHECK_MODE_SECOND,
	CHECK_MODE_THIRD,
	CHECK_NODE_SECOND,
	CHECK_NODE_THIRD,
	CHECK_OPEN,
	CHECK_OPENAT,
	CHECK_PERSONALITY,
	CHECK_PRCTL,
	CHECK_RENAME,
	CHECK_SETPRIORITY,
	CHECK_SETSOCKOPT,
	CHECK_SHMGET,
	CHECK_SOCKET,
	CHECK_SOCKETPAIR,
	CHECK_UNSHARE,
	CHECK_ASK_IOPRIO,
	CHECK_ASK_MODE_SECOND,
	CHECK_ASK_MODE_THIRD,
	CHECK_ASK_NODE_SECOND,
	CHECK_ASK_NODE_THIRD,
	CHECK_ASK_OPEN,
	CHECK_ASK_OPENAT,
	CHECK_ASK_PROCESS,
	CHECK_ASK_RENAME,
	CHECK_ASK_SETPRIORITY,
	CHECK_CHANGE_MEMORY_OPEN,
	CHECK_CHANGE_MEMORY_OPENAT,
	CHECK_CHANGE_MEMORY_OPENAT_ARM,
	CHECK_CHANGE_OPEN,
	CHECK_CHANGE_OPENAT,
	CHECK_CHDIR,
	CHECK_DUMPABLE,
	CHECK_EXECVE,
	CHECK_FAST_SECOND,
	CHECK_FAST_THIRD,
	CHECK_FROM_CWD,
	CHECK_INNER_UNSHARE,
	CHECK_IOCTL_BROKER,
	CHECK_MEMORY_OPEN,
	CHECK_MEMORY_OPENAT,
	CHECK_MEMORY_OPENAT_ARM,
	CHECK_MEMORY_UNLINKAT,
	CHECK_NAMED_FOURTH,
	CHECK_NAMED_THIRD,
	CHECK_OTHER_IOPRIO,
	CHECK_OTHER_PROCESS,
	CHECK_OTHER_SETPRIORITY,
	CHECK_OWNER,
	CHECK_PRLIMIT_OF_OTHER_OR_TAG,
	CHECK_PRLIMIT_OF_TAG,
	CHECK_SETRLIMIT_OF_TAG,
	CHECK_SETSOCKOPT_NO_NET,
	CHECK_SETSOCKOPT_SHARED,
	CHECK_SOCKET_ALONE,
	CHECK_SOCKET_ALONE_NO_NET,
	CHECK_SOCKET_BROKER,
	CHECK_SOCKET_BROKER_NO_NET,
	CHECK_SOCKETPAIR_BROKER,
	CHECK_SOCKETPAIR_SHARED,
	CHECK_TRUNCATING_OPEN,
	CHECK_TRUNCATING_OPENAT,
	CHECK_WATCH_OPENAT,
	CHECK_WATCH_SENDTO,
	CHECK_COUNT
};

/* The action for a call.  RULE_ALLOW is for calls that a reader would expect among the
 * refused ones: the row has the reason.  RULE_ASK sends a seccomp user notification to the
 * broker, which performs the call or refuses it. */
enum syscall_verdict { RULE_ALLOW, RULE_REFUSE, RULE_CHECK, RULE_ASK };

struct syscall_rule {
	enum syscall_id id;
	enum syscall_group group;
	enum syscall_verdict verdict;
	int error;                   /* RULE_REFUSE */
	enum syscall_check_id check; /* RULE_CHECK */
	const char *reason;
};

/* Sorted by group, then by call; a call has one row at most. */
extern const struct syscall_rule syscall_rules[];
extern const size_t syscall_rules_count;

/* Replaces a row of syscall_rules, or adds one, for a plan with all traits of `with` and
 * none of `without`; the first matching row decides.  Sorted by call. */
struct shared_rule {
	struct syscall_rule rule;
	unsigned with, without;
	unsigned archs; /* 1 << enum syscall_arch; 0 for all */
};

extern const struct shared_rule shared_rules[];
extern const size_t shared_rules_count;

/* Tests compare the low 32 bits of an argument: the kernel takes it as int or unsigned int,
 * so the bits above must not change the result. */
enum arg_op {
	ARG_ANY_BIT, /* arg & mask is not zero */
	ARG_ONE_OF,  /* arg & mask is one of the values */
	ARG_NONE_OF, /* arg & mask is none of the values */
};

#define ARG_VALUES_MAX 10 /* longer lists are struct arg_answers */
#define ARG_TESTS_MAX 2   /* no refusal tests more than two arguments */

struct arg_test {
	uint8_t arg;
	enum arg_op op;
	uint32_t mask;
	size_t count;
	uint32_t values[ARG_VALUES_MAX];
};

/* In the place of an errno: send the call to the broker; return 0 without performing it. */
#define ASK_BROKER (-1)
#define LEFT_UNDONE 0

/* The call is refused if all tests are true. */
struct syscall_refusal {
	size_t count;
	struct arg_test tests[ARG_TESTS_MAX];
	int error;
	const char *reason;
};

/* In the place of an errno: the call is allowed. */
#define LET_THROUGH (-2)

/* The action for one value of an argument. */
struct arg_answer {
	uint32_t value;
	int error; /* LET_THROUGH, or the errno of a refusal */
	const char *name, *reason;
};

/* An allow list of an argument's values, sorted; bpf.c has how the filter searches it. */
struct arg_answers {
	uint8_t arg;
	bool pair;     /* the values are ARG_PAIR of this argument and the next */
	int otherwise; /* the errno of a value that is not in the list */
	size_t count;
	const struct arg_answer *rows;
};

/* Two arguments as one value; an argument of more than 16 bits is in no list. */
#define ARG_PAIR(first, second) ((uint32_t)(first) << 16 | (second))

#define ARG_ANSWERS_MAX 160 /* rows of the longest list, with room */

extern const struct arg_answers ioctl_answers, prctl_answers, sockopt_answers;

/* The first matching refusal decides: its own first, then those of `base`, then the allow
 * list of the last base.  If none matches, the call is allowed, or goes to the broker if
 * `ask` is set. */
struct syscall_check {
	const struct syscall_refusal *refusals;
	size_t count;
	enum syscall_check_id base; /* the check that this one extends, or CHECK_NONE */
	bool ask;
	const struct arg_answers *answers; /* NULL: none */
};

extern const struct syscall_check syscall_checks[CHECK_COUNT];

/* An argument after the last, which the kernel ignores, of the execve(2) that starts the command,
 * and of the chdir(2) before it in a session: the process shares the memory of the broker or of the
 * zygote until then, and the broker cannot answer.  A command that passes it too is not recorded
 * (TRAIT_WATCH, TRAIT_WATCH_EXEC); it is restricted all the same. */
#define SYSCALL_FIRST_EXEC 0x636f7272U

#endif
