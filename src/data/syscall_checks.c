/* SPDX-License-Identifier: Apache-2.0 */
/* The checks of syscalls.h: which arguments of a call are refused.
 *
 * Should:   name for every refusal the value and the reason.
 * Must not: use a constant of the build machine's headers.
 * Fails:    closed where a list names the allowed values; open where it names the refused
 *           ones, so that a new flag of the kernel needs a row. */
#include "data/syscalls.h"

#include "base/auto.h"

#include <errno.h>

/* clang-format off */
#define ALL_BITS 0xffffffffU
#define COUNT(...) (sizeof((uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t))
#define ANY_BIT(arg, mask) {arg, ARG_ANY_BIT, mask, 0, {0}}
#define ONE_OF(arg, mask, ...) {arg, ARG_ONE_OF, mask, COUNT(__VA_ARGS__), {__VA_ARGS__}}
#define NONE_OF(arg, mask, ...) {arg, ARG_NONE_OF, mask, COUNT(__VA_ARGS__), {__VA_ARGS__}}
#define WHEN(test, error, reason) {1, {test}, error, reason}
#define WHEN_BOTH(first, second, error, reason) {2, {first, second}, error, reason}

/* CLONE_NEW*: NS 0x20000, CGROUP 0x2000000, UTS 0x4000000, IPC 0x8000000, USER
 * 0x10000000, PID 0x20000000, NET 0x40000000; the same argument on both
 * architectures.  The low byte is the exit signal here, so TIME is not reachable. */
static const struct syscall_refusal refusals_clone[] = {
	WHEN(ANY_BIT(0, 0x7e020000), EPERM, "a new namespace"),
};

/* The allowed flags: VM, FS, FILES, SIGHAND, THREAD, SYSVSEM.  An allow list, and not the
 * CLONE_NEW* bits (0x7e020080), because Linux 7.1 gives 0x100000 another meaning here: an
 * empty mount namespace. */
static const struct syscall_refusal refusals_unshare[] = {
	WHEN(ANY_BIT(0, ~0x00050f00U), EPERM, "a new namespace, or an unknown flag"),
};

#define FIRST_PROCESS_ 1 /* pid 1 of the run's pid namespace; without one, the host's */

static const struct syscall_refusal refusals_first_process[] = {
	WHEN(ONE_OF(0, ALL_BITS, FIRST_PROCESS_), EPERM, "pid 1"),
};

/* A process can join the process group of pid 1, or of the warden, if it is in that session. */
static const struct syscall_refusal refusals_ioprio[] = {
	WHEN(NONE_OF(0, ALL_BITS, 1), EPERM, "all but IOPRIO_WHO_PROCESS: groups and users include pid 1"),
	WHEN(ONE_OF(1, ALL_BITS, FIRST_PROCESS_), EPERM, "pid 1"),
};

static const struct syscall_refusal refusals_setpriority[] = {
	WHEN(NONE_OF(0, ALL_BITS, 0), EPERM, "all but PRIO_PROCESS, as of ioprio_set"),
	WHEN(ONE_OF(1, ALL_BITS, FIRST_PROCESS_), EPERM, "pid 1"),
};

static const struct syscall_refusal refusals_madvise[] = {
	WHEN(ONE_OF(2, ALL_BITS, 12), EINVAL, "MADV_MERGEABLE; the error of a kernel without it"),
};

static const struct syscall_refusal refusals_memfd[] = {
	WHEN(ANY_BIT(1, 0x4), EINVAL, "MFD_HUGETLB"),
};

static const struct syscall_refusal refusals_mmap[] = {
	WHEN(ANY_BIT(3, 0x40000), ENOMEM, "MAP_HUGETLB; the error of an empty pool, on which programs use normal pages"),
};

static const struct syscall_refusal refusals_shmget[] = {
	WHEN(ANY_BIT(2, 04000), ENOMEM, "SHM_HUGETLB"),
};

static const struct syscall_refusal refusals_personality[] = {
	/* PER_LINUX; the query; UNAME26; ADDR_NO_RANDOMIZE, for debuggers.  Not PER_LINUX32: the
	 * filter kills a 32-bit system call. */
	WHEN(NONE_OF(0, ALL_BITS, 0, 0xffffffff, 0x20000, 0x40000), EPERM,
	     "READ_IMPLIES_EXEC, address layouts, 32-bit and other systems' personalities"),
};

#define AF_UNIX_ 1
#define AF_INET_ 2
#define AF_INET6_ 10
#define AF_NETLINK_ 16
#define TYPE_MASK 0xf /* above it are SOCK_CLOEXEC and SOCK_NONBLOCK */

static const struct syscall_refusal refusals_socket[] = {
	WHEN(NONE_OF(0, ALL_BITS, AF_UNIX_, AF_INET_, AF_INET6_, AF_NETLINK_), EAFNOSUPPORT,
	     "every other family: packet, vsock, alg, key, rxrpc, …"),
	WHEN_BOTH(ONE_OF(0, ALL_BITS, AF_INET_, AF_INET6_), ONE_OF(1, TYPE_MASK, 3), EPERM, "raw sockets"),
	WHEN_BOTH(ONE_OF(0, ALL_BITS, AF_INET_, AF_INET6_), NONE_OF(1, TYPE_MASK, 1, 2), EPROTONOSUPPORT,
	          "RDM, SEQPACKET (which is SCTP), DCCP, and PACKET, which the kernel turns into AF_PACKET"),
	/* 0, ICMP, TCP, UDP, ICMPv6.  MPTCP 262, SCTP 132, DCCP 33, UDP-Lite 136, SMC 256,
	 * L2TP 115 and later ones are rarely used kernel code that Landlock's port rules ignore. */
	WHEN_BOTH(ONE_OF(0, ALL_BITS, AF_INET_, AF_INET6_), NONE_OF(2, ALL_BITS, 0, 1, 6, 17, 58), EPROTONOSUPPORT,
	          "a protocol other than TCP, UDP and ping"),
	WHEN_BOTH(ONE_OF(0, ALL_BITS, AF_NETLINK_), NONE_OF(2, ALL_BITS, 0), EPROTONOSUPPORT,
	          "netlink other than ROUTE: xfrm, netfilter, audit, uevents, …"),
};

static const struct syscall_refusal refusals_socketpair[] = {
	WHEN(NONE_OF(0, ALL_BITS, AF_UNIX_), EAFNOSUPPORT, "only unix sockets support socketpair(2)"),
};

/* Set-group-id is usual for shared directories; for files the broker refuses it (metadata.c). */
#define SET_USER_ID 04000
#define SET_IDS 06000
/* O_CREAT and the kernel's __O_TMPFILE: without either, the mode is not an argument. */
#define CREATES 020000100

static const struct syscall_refusal refusals_mode_second[] = {
	WHEN(ANY_BIT(1, SET_USER_ID), EPERM, "set-user-id"),
};

static const struct syscall_refusal refusals_mode_third[] = {
	WHEN(ANY_BIT(2, SET_USER_ID), EPERM, "set-user-id"),
};

static const struct syscall_refusal refusals_node_second[] = {
	WHEN(ANY_BIT(1, SET_IDS), EPERM, "set-user-id, set-group-id"),
	WHEN(ONE_OF(1, 0170000, 0020000, 0060000), EPERM, "a device"),
};

static const struct syscall_refusal refusals_node_third[] = {
	WHEN(ANY_BIT(2, SET_IDS), EPERM, "set-user-id, set-group-id"),
	WHEN(ONE_OF(2, 0170000, 0020000, 0060000), EPERM, "a device"),
};

static const struct syscall_refusal refusals_rename[] = {
	WHEN(ANY_BIT(4, ~3U), EINVAL, "neither RENAME_NOREPLACE nor RENAME_EXCHANGE"),
};

/* First in every check of an open: later rows may send the call to the broker, and the rows
 * of a base come after those. */
#define SET_IDS_OF_OPEN(flags, mode) \
	WHEN_BOTH(ANY_BIT(flags, CREATES), ANY_BIT(mode, SET_IDS), EPERM, "set-user-id, set-group-id")

static const struct syscall_refusal refusals_open[] = {
	SET_IDS_OF_OPEN(1, 2),
};

static const struct syscall_refusal refusals_openat[] = {
	SET_IDS_OF_OPEN(2, 3),
};

/* ---- engines without namespaces ---- */

#define WRITES 020001103 /* O_WRONLY, O_RDWR, O_CREAT, O_TRUNC, __O_TMPFILE */
#define O_TRUNC_ 01000
#define O_ACCMODE_ 03

static const struct syscall_refusal refusals_change_open[] = {
	SET_IDS_OF_OPEN(1, 2),
	WHEN(ANY_BIT(1, WRITES), ASK_BROKER, "a change"),
};

static const struct syscall_refusal refusals_change_openat[] = {
	SET_IDS_OF_OPEN(2, 3),
	WHEN(ANY_BIT(2, WRITES), ASK_BROKER, "a change"),
};

/* For records of hidden files; each notification is a round trip, so those that tell little are left
 * out.  A path from a directory's descriptor, as in tree walks, begins in a directory that the
 * sandbox shows.  AT_EMPTY_PATH: fstat(2).  O_NOCTTY without O_NONBLOCK: compilers open a header in
 * each directory of the search path with it, after they examined these directories by stat(3). */
#define FROM_CWD ONE_OF(0, ALL_BITS, 0xffffff9c)
#define EMPTY_PATH 0x1000
#define NOCTTY 0400
#define NONBLOCK 04000

static const struct syscall_refusal refusals_watch_openat[] = {
	SET_IDS_OF_OPEN(2, 3),
	WHEN_BOTH(FROM_CWD, ONE_OF(2, NOCTTY, 0), ASK_BROKER, "a file by its name"),
	WHEN_BOTH(FROM_CWD, ANY_BIT(2, NONBLOCK), ASK_BROKER, "a file by its name"),
};

static const struct syscall_refusal refusals_chdir[] = {
	WHEN(NONE_OF(1, ALL_BITS, SYSCALL_FIRST_EXEC), ASK_BROKER, "a directory by its name"),
};

static const struct syscall_refusal refusals_execve[] = {
	WHEN(NONE_OF(3, ALL_BITS, SYSCALL_FIRST_EXEC), ASK_BROKER, "a program of the command"),
};

static const struct syscall_refusal refusals_truncating_open[] = {
	WHEN_BOTH(ONE_OF(1, O_ACCMODE_, 0), ANY_BIT(1, O_TRUNC_), EACCES, "truncates through a descriptor for reading"),
};

static const struct syscall_refusal refusals_truncating_openat[] = {
	WHEN_BOTH(ONE_OF(2, O_ACCMODE_, 0), ANY_BIT(2, O_TRUNC_), EACCES, "truncates through a descriptor for reading"),
};

static const struct syscall_refusal refusals_dumpable[] = {
	/* PR_SET_DUMPABLE, 0.  All processes of the run are one principal; RLIMIT_CORE prevents dumps. */
	WHEN_BOTH(ONE_OF(0, ALL_BITS, 4), ONE_OF(1, ALL_BITS, 0), LEFT_UNDONE, "hides the caller's memory from its siblings and from the broker"),
};

#define FASTOPEN 0x20000000 /* MSG_FASTOPEN */

static const struct syscall_refusal refusals_fast_second[] = {
	WHEN(ANY_BIT(2, FASTOPEN), EOPNOTSUPP, "TCP Fast Open"),
};

/* The low word of the address of the destination: not zero, except by chance. */
static const struct syscall_refusal refusals_watch_sendto[] = {
	WHEN(ANY_BIT(3, FASTOPEN), EOPNOTSUPP, "TCP Fast Open"),
	WHEN(NONE_OF(4, ALL_BITS, 0), ASK_BROKER, "a destination"),
};

static const struct syscall_refusal refusals_fast_third[] = {
	WHEN(ANY_BIT(3, FASTOPEN), EOPNOTSUPP, "TCP Fast Open"),
};

static const struct syscall_refusal refusals_from_cwd[] = {
	WHEN(FROM_CWD, ASK_BROKER, "a file by its name"),
};

static const struct syscall_refusal refusals_named_third[] = {
	WHEN_BOTH(FROM_CWD, ONE_OF(2, EMPTY_PATH, 0), ASK_BROKER, "a file by its name"),
};

static const struct syscall_refusal refusals_named_fourth[] = {
	WHEN_BOTH(FROM_CWD, ONE_OF(3, EMPTY_PATH, 0), ASK_BROKER, "a file by its name"),
};

static const struct syscall_refusal refusals_ioctl_broker[] = {
	WHEN(ONE_OF(1, ALL_BITS, 0x5441), ASK_BROKER, "TIOCGPTPEER opens the other end of a new terminal"),
};

/* O_NOFOLLOW, and the flags that shm_open(3) never sets: O_DIRECTORY, O_PATH.  musl sets
 * O_LARGEFILE in every open, which has the value of the other architecture's O_NOFOLLOW. */
#define NOFOLLOW_ 0400000
#define NO_MEMORY_ 010200000
#define NOFOLLOW_ARM_ 0100000
#define NO_MEMORY_ARM_ 010040000
#define O_EXCL_ 0200

static const struct syscall_refusal refusals_memory_open[] = {
	SET_IDS_OF_OPEN(1, 2),
	WHEN_BOTH(ONE_OF(1, O_ACCMODE_, 0), ANY_BIT(1, O_TRUNC_), ASK_BROKER, "truncates through a descriptor for reading, which Landlock checks since ABI 3"),
	WHEN_BOTH(ANY_BIT(1, NOFOLLOW_), ONE_OF(1, NO_MEMORY_, 0), ASK_BROKER, "perhaps shared memory"),
	WHEN(ANY_BIT(1, O_EXCL_), ASK_BROKER, "sem_open(3) of glibc"),
};

static const struct syscall_refusal refusals_memory_openat[] = {
	SET_IDS_OF_OPEN(2, 3),
	WHEN_BOTH(ONE_OF(2, O_ACCMODE_, 0), ANY_BIT(2, O_TRUNC_), ASK_BROKER, "truncates through a descriptor for reading, which Landlock checks since ABI 3"),
	WHEN_BOTH(ANY_BIT(2, NOFOLLOW_), ONE_OF(2, NO_MEMORY_, 0), ASK_BROKER, "perhaps shared memory"),
	WHEN(ANY_BIT(2, O_EXCL_), ASK_BROKER, "sem_open(3) of glibc"),
};

static const struct syscall_refusal refusals_memory_openat_arm[] = {
	SET_IDS_OF_OPEN(2, 3),
	WHEN_BOTH(ONE_OF(2, O_ACCMODE_, 0), ANY_BIT(2, O_TRUNC_), ASK_BROKER, "truncates through a descriptor for reading, which Landlock checks since ABI 3"),
	WHEN_BOTH(ANY_BIT(2, NOFOLLOW_ARM_), ONE_OF(2, NO_MEMORY_ARM_, 0), ASK_BROKER, "perhaps shared memory"),
	WHEN(ANY_BIT(2, O_EXCL_), ASK_BROKER, "sem_open(3) of glibc"),
};

/* Beside the rows for changes: shm_open(3) for reading. */
static const struct syscall_refusal refusals_read_memory_open[] = {
	WHEN_BOTH(ANY_BIT(1, NOFOLLOW_), ONE_OF(1, NO_MEMORY_, 0), ASK_BROKER, "perhaps shared memory"),
};

static const struct syscall_refusal refusals_read_memory_openat[] = {
	WHEN_BOTH(ANY_BIT(2, NOFOLLOW_), ONE_OF(2, NO_MEMORY_, 0), ASK_BROKER, "perhaps shared memory"),
};

static const struct syscall_refusal refusals_read_memory_openat_arm[] = {
	WHEN_BOTH(ANY_BIT(2, NOFOLLOW_ARM_), ONE_OF(2, NO_MEMORY_ARM_, 0), ASK_BROKER, "perhaps shared memory"),
};

static const struct syscall_refusal refusals_memory_unlinkat[] = {
	/* AT_FDCWD: shm_unlink(3) passes an absolute path. */
	WHEN_BOTH(ONE_OF(0, ALL_BITS, 0xffffff9c), ONE_OF(2, 0x200, 0), ASK_BROKER, "perhaps shared memory"),
};

static const struct syscall_refusal refusals_ask_priority[] = {
	WHEN(ANY_BIT(1, ALL_BITS), ASK_BROKER, "another process than the caller"),
};

static const struct syscall_refusal refusals_ask_process[] = {
	WHEN(ANY_BIT(0, ALL_BITS), ASK_BROKER, "another process than the caller"),
};

static const struct syscall_refusal refusals_other_priority[] = {
	WHEN(ANY_BIT(1, ALL_BITS), EPERM, "another process than the caller"),
};

static const struct syscall_refusal refusals_other_process[] = {
	WHEN(ANY_BIT(0, ALL_BITS), EPERM, "another process than the caller"),
};

/* A nested sandbox may create every kind of namespace but TIME, which no sandbox uses. */
static const struct syscall_refusal refusals_inner_unshare[] = {
	WHEN(ANY_BIT(0, ~0x7e070f00U), EPERM, "a time namespace, or an unknown flag"),
};

/* RLIMIT_LOCKS, which the kernel no longer uses: the broker marks processes by it (broker/domain.c). */
#define RLIMIT_LOCKS_ 10

static const struct syscall_refusal refusals_setrlimit_of_tag[] = {
	WHEN(ONE_OF(0, ALL_BITS, RLIMIT_LOCKS_), EPERM, "the mark of a Landlock domain"),
};

static const struct syscall_refusal refusals_prlimit_of_tag[] = {
	WHEN(ONE_OF(1, ALL_BITS, RLIMIT_LOCKS_), ASK_BROKER, "the mark of a Landlock domain: only reading it is allowed"),
};

static const struct syscall_refusal refusals_owner[] = {
	WHEN(ONE_OF(1, ALL_BITS, 8, 15), ASK_BROKER, "F_SETOWN, F_SETOWN_EX"),
};

static const struct syscall_refusal refusals_setsockopt_shared[] = {
	WHEN_BOTH(ONE_OF(1, ALL_BITS, 6), ONE_OF(2, ALL_BITS, 30), EPERM, "TCP_FASTOPEN_CONNECT"),
	/* Programs that set it as a precaution report an error; one that needs a shared port gets
	 * EADDRINUSE from bind(2). */
	WHEN_BOTH(ONE_OF(1, ALL_BITS, 1), ONE_OF(2, ALL_BITS, 15), LEFT_UNDONE,
	          "SO_REUSEPORT shares a port, and its connections, with a server of the host"),
};

static const struct syscall_refusal refusals_setsockopt_no_net[] = {
	/* These choose the interface of the packets, whatever their destination address; source
	 * routes (IP_OPTIONS, IPV6_RTHDR) are in no list. */
	WHEN_BOTH(ONE_OF(1, ALL_BITS, 1), ONE_OF(2, ALL_BITS, 25, 62), EPERM, "SO_BINDTODEVICE, SO_BINDTOIFINDEX"),
	/* TCP has no use for a multicast group, but the kernel announces it (IGMP) to the host's
	 * networks. */
	WHEN_BOTH(ONE_OF(1, ALL_BITS, 0), ONE_OF(2, ALL_BITS, 35, 39, 42, 46), EPERM,
	          "IP_ADD_MEMBERSHIP, IP_ADD_SOURCE_MEMBERSHIP, MCAST_JOIN_GROUP, MCAST_JOIN_SOURCE_GROUP"),
	WHEN_BOTH(ONE_OF(1, ALL_BITS, 41), ONE_OF(2, ALL_BITS, 20, 42, 46), EPERM,
	          "IPV6_JOIN_GROUP, MCAST_JOIN_GROUP, MCAST_JOIN_SOURCE_GROUP"),
};

static const struct syscall_refusal refusals_socket_alone[] = {
	WHEN(ONE_OF(0, ALL_BITS, AF_UNIX_), EPERM, "unix sockets; pairs are allowed"),
};

static const struct syscall_refusal refusals_socket_alone_no_net[] = {
	WHEN(ONE_OF(0, ALL_BITS, AF_UNIX_, AF_INET_, AF_INET6_), EPERM, "every socket that connects"),
};

static const struct syscall_refusal refusals_socket_broker[] = {
	WHEN_BOTH(ONE_OF(0, ALL_BITS, AF_UNIX_), NONE_OF(1, TYPE_MASK, 1, 5), EPROTONOSUPPORT, "unix datagrams"),
};

static const struct syscall_refusal refusals_socket_broker_no_net[] = {
	WHEN_BOTH(ONE_OF(0, ALL_BITS, AF_UNIX_), NONE_OF(1, TYPE_MASK, 1, 5), EPROTONOSUPPORT, "unix datagrams"),
	WHEN_BOTH(ONE_OF(0, ALL_BITS, AF_INET_, AF_INET6_), NONE_OF(1, TYPE_MASK, 1), EPERM, "UDP and ping"),
};

static const struct syscall_refusal refusals_socketpair_broker[] = {
	/* The family first: the broker handles only unix sockets. */
	WHEN(NONE_OF(0, ALL_BITS, AF_UNIX_), EAFNOSUPPORT, "only unix sockets support socketpair(2)"),
	WHEN(ONE_OF(1, TYPE_MASK, 2), ASK_BROKER, "datagrams"),
	WHEN(NONE_OF(1, TYPE_MASK, 1, 5), EPROTONOSUPPORT, "neither streams nor packets"),
};

static const struct syscall_refusal refusals_socketpair_shared[] = {
	WHEN(NONE_OF(1, TYPE_MASK, 1, 5), EPROTONOSUPPORT, "unix datagrams"),
};

#define CHECK_ROWS(rows) {rows, ARRAY_LEN(rows), CHECK_NONE, false, NULL}
#define CHECK_ROWS_AND(rows, base) {rows, ARRAY_LEN(rows), base, false, NULL}
#define CHECK_THEN_ASK(base) {NULL, 0, base, true, NULL}
#define CHECK_ANSWERS(answers) {NULL, 0, CHECK_NONE, false, &(answers)}

const struct syscall_check syscall_checks[CHECK_COUNT] = {
	[CHECK_CLONE] = CHECK_ROWS(refusals_clone),
	[CHECK_FIRST_PROCESS] = CHECK_ROWS(refusals_first_process),
	[CHECK_IOCTL] = CHECK_ANSWERS(ioctl_answers),
	[CHECK_IOPRIO] = CHECK_ROWS(refusals_ioprio),
	[CHECK_MADVISE] = CHECK_ROWS(refusals_madvise),
	[CHECK_MEMFD] = CHECK_ROWS(refusals_memfd),
	[CHECK_MMAP] = CHECK_ROWS(refusals_mmap),
	[CHECK_MODE_SECOND] = CHECK_ROWS(refusals_mode_second),
	[CHECK_MODE_THIRD] = CHECK_ROWS(refusals_mode_third),
	[CHECK_NODE_SECOND] = CHECK_ROWS(refusals_node_second),
	[CHECK_NODE_THIRD] = CHECK_ROWS(refusals_node_third),
	[CHECK_OPEN] = CHECK_ROWS(refusals_open),
	[CHECK_OPENAT] = CHECK_ROWS(refusals_openat),
	[CHECK_PERSONALITY] = CHECK_ROWS(refusals_personality),
	[CHECK_PRCTL] = CHECK_ANSWERS(prctl_answers),
	[CHECK_SETPRIORITY] = CHECK_ROWS(refusals_setpriority),
	[CHECK_RENAME] = CHECK_ROWS(refusals_rename),
	[CHECK_SETSOCKOPT] = CHECK_ANSWERS(sockopt_answers),
	[CHECK_SHMGET] = CHECK_ROWS(refusals_shmget),
	[CHECK_SOCKET] = CHECK_ROWS(refusals_socket),
	[CHECK_SOCKETPAIR] = CHECK_ROWS(refusals_socketpair),
	[CHECK_UNSHARE] = CHECK_ROWS(refusals_unshare),

	[CHECK_ASK_IOPRIO] = CHECK_ROWS_AND(refusals_ask_priority, CHECK_IOPRIO),
	[CHECK_ASK_MODE_SECOND] = CHECK_THEN_ASK(CHECK_MODE_SECOND),
	[CHECK_ASK_MODE_THIRD] = CHECK_THEN_ASK(CHECK_MODE_THIRD),
	[CHECK_ASK_NODE_SECOND] = CHECK_THEN_ASK(CHECK_NODE_SECOND),
	[CHECK_ASK_NODE_THIRD] = CHECK_THEN_ASK(CHECK_NODE_THIRD),
	[CHECK_ASK_OPEN] = CHECK_THEN_ASK(CHECK_OPEN),
	[CHECK_ASK_OPENAT] = CHECK_THEN_ASK(CHECK_OPENAT),
	[CHECK_ASK_RENAME] = CHECK_THEN_ASK(CHECK_RENAME),
	[CHECK_ASK_PROCESS] = CHECK_ROWS(refusals_ask_process),
	[CHECK_ASK_SETPRIORITY] = CHECK_ROWS_AND(refusals_ask_priority, CHECK_SETPRIORITY),
	[CHECK_CHANGE_MEMORY_OPEN] = CHECK_ROWS_AND(refusals_read_memory_open, CHECK_CHANGE_OPEN),
	[CHECK_CHANGE_MEMORY_OPENAT] = CHECK_ROWS_AND(refusals_read_memory_openat, CHECK_CHANGE_OPENAT),
	[CHECK_CHANGE_MEMORY_OPENAT_ARM] = CHECK_ROWS_AND(refusals_read_memory_openat_arm, CHECK_CHANGE_OPENAT),
	[CHECK_CHANGE_OPEN] = CHECK_ROWS(refusals_change_open),
	[CHECK_CHANGE_OPENAT] = CHECK_ROWS(refusals_change_openat),
	[CHECK_CHDIR] = CHECK_ROWS(refusals_chdir),
	[CHECK_DUMPABLE] = CHECK_ROWS_AND(refusals_dumpable, CHECK_PRCTL),
	[CHECK_EXECVE] = CHECK_ROWS(refusals_execve),
	[CHECK_FAST_SECOND] = CHECK_ROWS(refusals_fast_second),
	[CHECK_FAST_THIRD] = CHECK_ROWS(refusals_fast_third),
	[CHECK_FROM_CWD] = CHECK_ROWS(refusals_from_cwd),
	[CHECK_INNER_UNSHARE] = CHECK_ROWS(refusals_inner_unshare),
	[CHECK_IOCTL_BROKER] = CHECK_ROWS_AND(refusals_ioctl_broker, CHECK_IOCTL),
	[CHECK_MEMORY_OPEN] = CHECK_ROWS(refusals_memory_open),
	[CHECK_MEMORY_OPENAT] = CHECK_ROWS(refusals_memory_openat),
	[CHECK_MEMORY_OPENAT_ARM] = CHECK_ROWS(refusals_memory_openat_arm),
	[CHECK_MEMORY_UNLINKAT] = CHECK_ROWS(refusals_memory_unlinkat),
	[CHECK_NAMED_FOURTH] = CHECK_ROWS(refusals_named_fourth),
	[CHECK_NAMED_THIRD] = CHECK_ROWS(refusals_named_third),
	[CHECK_OTHER_IOPRIO] = CHECK_ROWS_AND(refusals_other_priority, CHECK_IOPRIO),
	[CHECK_OTHER_PROCESS] = CHECK_ROWS(refusals_other_process),
	[CHECK_OTHER_SETPRIORITY] = CHECK_ROWS_AND(refusals_other_priority, CHECK_SETPRIORITY),
	[CHECK_OWNER] = CHECK_ROWS(refusals_owner),
	[CHECK_PRLIMIT_OF_OTHER_OR_TAG] = CHECK_ROWS_AND(refusals_prlimit_of_tag, CHECK_OTHER_PROCESS),
	[CHECK_PRLIMIT_OF_TAG] = CHECK_ROWS_AND(refusals_prlimit_of_tag, CHECK_FIRST_PROCESS),
	[CHECK_SETRLIMIT_OF_TAG] = CHECK_ROWS(refusals_setrlimit_of_tag),
	[CHECK_SETSOCKOPT_NO_NET] = CHECK_ROWS_AND(refusals_setsockopt_no_net, CHECK_SETSOCKOPT_SHARED),
	[CHECK_SETSOCKOPT_SHARED] = CHECK_ROWS_AND(refusals_setsockopt_shared, CHECK_SETSOCKOPT),
	[CHECK_SOCKET_ALONE] = CHECK_ROWS_AND(refusals_socket_alone, CHECK_SOCKET),
	[CHECK_SOCKET_ALONE_NO_NET] = CHECK_ROWS_AND(refusals_socket_alone_no_net, CHECK_SOCKET),
	[CHECK_SOCKET_BROKER] = CHECK_ROWS_AND(refusals_socket_broker, CHECK_SOCKET),
	[CHECK_SOCKET_BROKER_NO_NET] = CHECK_ROWS_AND(refusals_socket_broker_no_net, CHECK_SOCKET),
	[CHECK_SOCKETPAIR_BROKER] = CHECK_ROWS(refusals_socketpair_broker),
	[CHECK_SOCKETPAIR_SHARED] = CHECK_ROWS_AND(refusals_socketpair_shared, CHECK_SOCKETPAIR),
	[CHECK_TRUNCATING_OPEN] = CHECK_ROWS_AND(refusals_truncating_open, CHECK_OPEN),
	[CHECK_TRUNCATING_OPENAT] = CHECK_ROWS_AND(refusals_truncating_openat, CHECK_OPENAT),
	[CHECK_WATCH_OPENAT] = CHECK_ROWS_AND(refusals_watch_openat, CHECK_CHANGE_OPENAT),
	[CHECK_WATCH_SENDTO] = CHECK_ROWS(refusals_watch_sendto),
};
/* clang-format on */
