/* Which system calls a sandboxed command may make, as tables.
 *
 * A deny-list with a lid.  A call that is known (syscalls.inc) and has no rule
 * is allowed; a known call with a rule gets what the rule says; a number that
 * is in no row, above the newest or in a hole, is ENOSYS, so that a newer
 * kernel cannot open a way out behind our back. */
#ifndef CORRAL_DATA_SYSCALLS_H
#define CORRAL_DATA_SYSCALLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum syscall_arch { SYSCALL_X86_64, SYSCALL_AARCH64, SYSCALL_ARCHS };

#define SYSCALL(name, x86_64, aarch64) CALL_##name,
enum syscall_id {
#include "data/syscalls.inc"
	CALL_COUNT
};
#undef SYSCALL

/* The highest number in syscalls.inc, on both architectures. */
#define SYSCALL_NEWEST 469

struct syscall_name {
	const char *name;
	int16_t nr[SYSCALL_ARCHS]; /* -1: not on this architecture */
};

extern const struct syscall_name syscall_names[CALL_COUNT];

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

/* What a plan has or lacks, as far as the filter depends on it.  None of them: the
 * namespaces engine. */
enum syscall_trait {
	TRAIT_NO_NAMESPACES = 1, /* no namespaces: processes, ipc and network are the host's */
	TRAIT_OPEN = 2,          /* and no Landlock: files and other processes are open */
	TRAIT_NO_NET = 4,        /* the filter is what closes the network */
	TRAIT_BROKER = 8,        /* somebody answers what the filter asks */
	TRAIT_SOCKETS = 16,      /* and can take the caller's sockets */
	TRAIT_SIGNALS = 32,      /* and judges signals: Landlock does not */
	TRAIT_TRUNCATE = 64,     /* and truncate(2): Landlock does not */
	TRAIT_CHANGES = 128,     /* and what changes names and content of files */
	TRAIT_READS = 256,       /* and what opens a file at all */
	TRAIT_MEMORY = 512,      /* and keeps shared memory in a directory of the run's own */
	TRAIT_MARKS = 1024,      /* and modes, owners, times and attributes of files */
	TRAIT_GATE = 2048,       /* and hands connections to the gate */
	TRAIT_DATAGRAMS =
		4096,        /* unix datagrams: Landlock judges them, or their loss is accepted */
	TRAIT_PINNED = 8192, /* limits.cpus is held by processor affinity, which must not change */
};

/* Questions about arguments; several calls share one when the argument that
 * matters stands at the same place.  Those of shared engines stand behind. */
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
	CHECK_CHANGE_OPEN,
	CHECK_CHANGE_OPENAT,
	CHECK_DUMPABLE,
	CHECK_FAST_SECOND,
	CHECK_FAST_THIRD,
	CHECK_IOCTL_BROKER,
	CHECK_MEMORY_OPEN,
	CHECK_MEMORY_OPENAT,
	CHECK_MEMORY_OPENAT_ARM,
	CHECK_MEMORY_UNLINKAT,
	CHECK_OTHER_IOPRIO,
	CHECK_OTHER_PROCESS,
	CHECK_OTHER_SETPRIORITY,
	CHECK_OWNER,
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
	CHECK_COUNT
};

/* What becomes of a call.  RULE_ALLOW is for the calls that a reader would look
 * for among the refused ones: the row says why they are not there.  RULE_ASK gives
 * it to the broker, which performs it or refuses. */
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

/* In the place of those, or besides them, for a plan with all traits of `with` and
 * none of `without`; the first row that fits decides.  Sorted by call. */
struct shared_rule {
	struct syscall_rule rule;
	unsigned with, without;
	unsigned archs; /* 1 << enum syscall_arch; 0 for all */
};

extern const struct shared_rule shared_rules[];
extern const size_t shared_rules_count;

/* Arguments are judged by their low 32 bits: the kernel takes them as int or
 * unsigned int, so bits above that must not change the answer. */
enum arg_op {
	ARG_ANY_BIT, /* arg & mask is not zero */
	ARG_ONE_OF,  /* arg & mask is one of the values */
	ARG_NONE_OF, /* arg & mask is none of the values */
};

#define ARG_VALUES_MAX 10 /* longer lists are struct arg_answers */
#define ARG_TESTS_MAX 2   /* no refusal looks at more than two arguments */

struct arg_test {
	uint8_t arg;
	enum arg_op op;
	uint32_t mask;
	size_t count;
	uint32_t values[ARG_VALUES_MAX];
};

/* The error of a refusal that is a question for the broker; and of one that the caller
 * is not told: the call returns 0 and does nothing. */
#define ASK_BROKER (-1)
#define LEFT_UNDONE 0

/* Refused when all tests hold. */
struct syscall_refusal {
	size_t count;
	struct arg_test tests[ARG_TESTS_MAX];
	int error;
	const char *reason;
};

/* The error of a value that an allow list has. */
#define LET_THROUGH (-2)

/* What becomes of a call for one value of an argument. */
struct arg_answer {
	uint32_t value;
	int error; /* LET_THROUGH, or that of a refusal */
	const char *name, *reason;
};

/* An allow list of an argument's values, sorted; the filter finds one by halving. */
struct arg_answers {
	uint8_t arg;
	bool pair;     /* the values are ARG_PAIR of this argument and the next */
	int otherwise; /* the error of a value that is not in the list */
	size_t count;
	const struct arg_answer *rows;
};

/* Two arguments as one value; one that needs more than 16 bits is in no list. */
#define ARG_PAIR(first, second) ((uint32_t)(first) << 16 | (second))

#define ARG_ANSWERS_MAX 160 /* rows of the longest list, with room */

extern const struct arg_answers ioctl_answers, prctl_answers, sockopt_answers;

/* The first refusal that holds decides, those of `base` after its own, and after them
 * the allow list, of the last base alone; when none does, the call is allowed, or the
 * broker is asked. */
struct syscall_check {
	const struct syscall_refusal *refusals;
	size_t count;
	enum syscall_check_id base; /* CHECK_NONE, or what it adds to */
	bool ask;
	const struct arg_answers *answers; /* NULL: none */
};

extern const struct syscall_check syscall_checks[CHECK_COUNT];

#endif
