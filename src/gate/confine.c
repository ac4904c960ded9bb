/* SPDX-License-Identifier: Apache-2.0 */
/* The gate's own sandbox: a seccomp filter, Landlock without any right, no capabilities.
 *
 * The gate parses bytes of hostile programs and hostile servers, in the host's network namespace
 * and without a user namespace of its own.  An attacker who takes it over can use internet sockets,
 * pipes and the gate's open descriptors, and has no file, no other process and no privilege.
 *
 * Should:   allow the system calls that a relay needs and nothing else.
 * Must not: allow a call because it may be useful: a row is a call that src/gate makes.
 * Fails:    closed: an error ends the gate before it serves a connection, and a call that is not
 *           in the list kills it.  Connections fail then; nothing passes unjudged. */
#include "gate/confine.h"

#include "base/auto.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#if defined(__x86_64__)
#define NATIVE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define NATIVE AUDIT_ARCH_AARCH64
#elif defined(__riscv) && __riscv_xlen == 64
#define NATIVE AUDIT_ARCH_RISCV64
#else
#error "the gate's filter is for x86-64, aarch64 and riscv64"
#endif

/* clang-format off */

#define LOAD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
/* The low word: the kernel reads these arguments as int. */
#define ARG(n) LOAD(args[n])
#define KEEP(mask) BPF_STMT(BPF_ALU | BPF_AND | BPF_K, (uint32_t)(mask))
#define ALLOW BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
#define KILL BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS)
#define EQUAL(value, yes, no) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)(value), yes, no)

#define ONE(value) EQUAL(value, 0, 1), ALLOW
#define CALL(name) ONE(SYS_##name)
#define EITHER(a, b) EQUAL(a, 2, 0), EQUAL(b, 1, 0), KILL
#define LENGTH(...) (sizeof((struct sock_filter[]){__VA_ARGS__}) / sizeof(struct sock_filter))
#define WHERE(value, ...) EQUAL(value, 0, LENGTH(__VA_ARGS__)), __VA_ARGS__

/* x32 calls have another number and match no row. */
static const struct sock_filter filter[] = {
	LOAD(arch), EQUAL(NATIVE, 1, 0), KILL,
	LOAD(nr),

	/* bytes */
	CALL(splice), CALL(write), /* TCP urgent data, into a pipe */
	CALL(recvfrom), CALL(sendto),
	CALL(recvmsg), CALL(sendmsg), /* the channel, with SCM_RIGHTS */

	/* waiting */
#ifdef SYS_epoll_wait
	CALL(epoll_wait),
#endif
	CALL(epoll_pwait), /* libc's epoll_wait() on aarch64 */
	CALL(epoll_ctl),
#ifdef SYS_poll
	CALL(poll), /* EOF of a peer */
#endif
	CALL(ppoll), /* libc's poll() on aarch64 */
	CALL(clock_gettime), /* where the vDSO does not serve it */

	/* connections; no listen(2) or bind(2): listeners were opened before.  So was the rtnetlink
	 * socket of local_address.c, which without CAP_NET_ADMIN can only read routes. */
	WHERE(SYS_socket,
		ARG(0), EITHER(AF_INET, AF_INET6),
		ARG(1), KEEP(~(SOCK_NONBLOCK | SOCK_CLOEXEC)), EITHER(SOCK_STREAM, SOCK_DGRAM),
		ARG(2), ONE(0), /* neither MPTCP, which can add other addresses, nor ICMP */
		KILL),
	CALL(connect), CALL(accept4), CALL(shutdown), CALL(close), CALL(pipe2),
	CALL(getsockname), CALL(getsockopt),
	WHERE(SYS_setsockopt,
		ARG(1),
		WHERE(SOL_SOCKET, ARG(2), ONE(SO_LINGER), ONE(SO_KEEPALIVE), ONE(SO_RCVLOWAT),
		      ONE(SO_OOBINLINE), KILL),
		WHERE(IPPROTO_TCP, ARG(2), ONE(TCP_NODELAY), ONE(TCP_KEEPIDLE), KILL),
		KILL),
	WHERE(SYS_fcntl, ARG(1), ONE(F_GETFL), ONE(F_SETFL), ONE(F_SETPIPE_SZ), KILL),
	WHERE(SYS_ioctl, ARG(1),
		ONE(SIOCGIFINDEX), /* the scope id of a link-local name server */
		KILL),

	CALL(getrandom), /* unpredictable DNS query ids */
	CALL(setitimer), /* interrupts a call on a shared socket (client_socket.c) */
	CALL(rt_sigreturn), CALL(restart_syscall),
	CALL(exit), CALL(exit_group),
	KILL,
};

/* clang-format on */

/* ---- Landlock: own definitions, as in linux/kernel_api.h ---- */

struct ruleset {
	uint64_t fs, net, scoped;
};

/* The ruleset handles every right of the ABI and grants none. */
static const struct {
	int abi;
	uint64_t fs, scoped;
	size_t size; /* of the ruleset structure in that ABI */
} additions[] = {
	{1, (1U << 13) - 1, 0, sizeof(uint64_t)},
	{2, 1U << 13, 0, sizeof(uint64_t)}, /* REFER */
	{3, 1U << 14, 0, sizeof(uint64_t)}, /* TRUNCATE */
	{4, 0, 0, 2 * sizeof(uint64_t)},    /* TCP ports: not handled, the gate connects to any */
	{5, 1U << 15, 0, 2 * sizeof(uint64_t)},                /* IOCTL_DEV */
	{6, 0, (1U << 0) | (1U << 1), sizeof(struct ruleset)}, /* abstract sockets, signals */
};

static int close_files(int abi) {
	struct ruleset rules = {0};
	size_t size = 0;

	for (size_t i = 0; i < ARRAY_LEN(additions) && additions[i].abi <= abi; i++) {
		rules.fs |= additions[i].fs;
		rules.scoped |= additions[i].scoped;
		size = additions[i].size;
	}
	if (size == 0) {
		return 0; /* no Landlock; the seccomp filter allows no call with a path */
	}
	auto_fd fd = (int)syscall(SYS_landlock_create_ruleset, &rules, size, 0);
	return fd < 0 || syscall(SYS_landlock_restrict_self, fd, 0) != 0 ? -errno : 0;
}

/* ---- the rest ---- */

/* The bounding set may stay: the filter allows no execve(2). */
static int drop_privileges(void) {
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct sets[2] = {{0}, {0}};

	if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) != 0 ||
	    syscall(SYS_capset, &head, sets) != 0 || syscall(SYS_capget, &head, sets) != 0) {
		return -errno;
	}
	for (size_t i = 0; i < ARRAY_LEN(sets); i++) {
		if ((sets[i].effective | sets[i].permitted | sets[i].inheritable) != 0) {
			return -EPERM;
		}
	}
	return 0;
}

static int set_limits(void) {
	static const struct rlimit no_core = {0, 0};
	struct rlimit files;

	if (setrlimit(RLIMIT_CORE, &no_core) != 0 || getrlimit(RLIMIT_NOFILE, &files) != 0) {
		return -errno;
	}
	/* Up to the hard limit: fewer descriptors mean fewer concurrent connections. */
	if (files.rlim_cur >= GATE_FILES) {
		return 0;
	}
	files.rlim_cur = files.rlim_max < GATE_FILES ? files.rlim_max : GATE_FILES;
	return setrlimit(RLIMIT_NOFILE, &files) == 0 ? 0 : -errno;
}

static int load_filter(void) {
	struct sock_filter copy[ARRAY_LEN(filter)]; /* the kernel's type has no const */
	struct sock_fprog program = {.len = (unsigned short)ARRAY_LEN(copy), .filter = copy};

	memcpy(copy, filter, sizeof copy);
	return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) == 0 ? 0 : -errno;
}

int gate_confine(int landlock_abi) {
	int rc;

	/* First: without privileges, Landlock and seccomp need no_new_privs. */
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) {
		return -errno;
	}
	if ((rc = set_limits()) != 0 || (rc = close_files(landlock_abi)) != 0 ||
	    (rc = drop_privileges()) != 0) {
		return rc;
	}
	/* No ptrace(2) by other processes of the user, no core file. */
	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0) {
		return -errno;
	}
	return load_filter(); /* last: it allows none of the calls above */
}
