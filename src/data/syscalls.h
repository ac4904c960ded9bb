/* Which system calls a sandboxed command may make, as tables.
 *
 * A deny-list with a lid.  A call that is known (syscalls.inc) and has no rule
 * is allowed; a known call with a rule gets what the rule says; a number that
 * is in no row, above the newest or in a hole, is ENOSYS, so that a newer
 * kernel cannot open a way out behind our back. */
#ifndef CORRAL_DATA_SYSCALLS_H
#define CORRAL_DATA_SYSCALLS_H

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
	GROUP_PROCESSES,
	GROUP_SYSTEM,
	GROUP_EXECUTION,
	GROUP_TERMINAL,
	GROUP_SOCKETS,
	GROUP_SETUID,
	GROUP_COUNT
};

extern const char *const syscall_group_names[GROUP_COUNT];

/* Questions about arguments; several calls share one when the argument that
 * matters stands at the same place. */
enum syscall_check_id {
	CHECK_NONE,
	CHECK_CLONE,
	CHECK_IOCTL,
	CHECK_MODE_SECOND,
	CHECK_MODE_THIRD,
	CHECK_OPEN,
	CHECK_OPENAT,
	CHECK_PERSONALITY,
	CHECK_SETSOCKOPT,
	CHECK_SOCKET,
	CHECK_SOCKETPAIR,
	CHECK_UNSHARE,
	CHECK_COUNT
};

/* What becomes of a call.  RULE_ALLOW is for the calls that a reader would look
 * for among the refused ones: the row says why they are not there. */
enum syscall_verdict { RULE_ALLOW, RULE_REFUSE, RULE_CHECK };

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

/* Arguments are judged by their low 32 bits: the kernel takes them as int or
 * unsigned int, so bits above that must not change the answer. */
enum arg_op {
	ARG_ANY_BIT, /* arg & mask is not zero */
	ARG_ONE_OF,  /* arg & mask is one of the values */
	ARG_NONE_OF, /* arg & mask is none of the values */
};

#define ARG_VALUES_MAX 10 /* the longest list is ioctl's */
#define ARG_TESTS_MAX 2   /* no refusal looks at more than two arguments */

struct arg_test {
	uint8_t arg;
	enum arg_op op;
	uint32_t mask;
	size_t count;
	uint32_t values[ARG_VALUES_MAX];
};

/* Refused when all tests hold. */
struct syscall_refusal {
	size_t count;
	struct arg_test tests[ARG_TESTS_MAX];
	int error;
	const char *reason;
};

/* The first refusal that holds decides; when none does, the call is allowed. */
struct syscall_check {
	const struct syscall_refusal *refusals;
	size_t count;
};

extern const struct syscall_check syscall_checks[CHECK_COUNT];

#endif
