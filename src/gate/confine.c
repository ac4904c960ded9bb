/* The gate's own sandbox: sockets of the internet, pipes, and the descriptors that it has.
 *
 * It reads what hostile programs and hostile servers send, in the host's network namespace
 * and without a user namespace of its own.  Who takes it over by that finds no file, no
 * other process, no privilege, and no way to more than it already held.
 *
 * Should:   leave what a relay needs and nothing else.
 * Must not: allow a call because it may be useful: a row is a call that src/gate makes.
 * Fails:    closed: an error ends the gate before it has served anybody, and a call that is not
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
#else
#error "the gate's filter is for x86-64 and aarch64"
#endif

/* clang-format off */

#define LOAD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
/* The low word, which is all that the kernel reads of these arguments. */
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

/* What a compiled-in list of calls says about a call that came some other way (x32): it is not
 * in it. */
static const struct sock_filter filter[] = {
	LOAD(arch), EQUAL(NATIVE, 1, 0), KILL,
	LOAD(nr),

	/* bytes */
	CALL(splice), CALL(write), /* an urgent byte, into a pipe */
	CALL(recvfrom), CALL(sendto),
	CALL(recvmsg), CALL(sendmsg), /* the channel: sockets travel with its messages */

	/* waiting */
#ifdef SYS_epoll_wait
	CALL(epoll_wait),
#endif
	CALL(epoll_pwait), /* what a libc makes of it */
	CALL(epoll_ctl),
#ifdef SYS_poll
	CALL(poll), /* whether a peer has ended */
#endif
	CALL(ppoll), /* what a libc makes of it */
	CALL(clock_gettime), /* where it is no function of the kernel's page */

	/* connections; nothing listens that did not before.  The socket by which routes are asked
	 * for (local_address.c) was opened before: who holds it reads routes, and changes none. */
	WHERE(SYS_socket,
		ARG(0), EITHER(AF_INET, AF_INET6),
		ARG(1), KEEP(~(SOCK_NONBLOCK | SOCK_CLOEXEC)), EITHER(SOCK_STREAM, SOCK_DGRAM),
		ARG(2), ONE(0), /* neither MPTCP, which hides where it goes, nor ICMP */
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
		ONE(SIOCGIFINDEX), /* of a name server's address that holds on one link alone */
		KILL),

	CALL(getrandom), /* numbers of questions that nobody guesses */
	CALL(setitimer), /* so that nothing waits for what others decide about */
	CALL(rt_sigreturn), CALL(restart_syscall),
	CALL(exit), CALL(exit_group),
	KILL,
};

/* clang-format on */

/* ---- Landlock: our own names, as linux/kernel_api.h has them ---- */

struct ruleset {
	uint64_t fs, net, scoped;
};

/* Every right that an ABI knows is handled, and none is granted. */
static const struct {
	int abi;
	uint64_t fs, scoped;
	size_t size; /* older kernels take a shorter structure */
} additions[] = {
	{1, (1U << 13) - 1, 0, sizeof(uint64_t)},
	{2, 1U << 13, 0, sizeof(uint64_t)},     /* moving between directories */
	{3, 1U << 14, 0, sizeof(uint64_t)},     /* truncating */
	{4, 0, 0, 2 * sizeof(uint64_t)},        /* ports, which are the gate's work */
	{5, 1U << 15, 0, 2 * sizeof(uint64_t)}, /* requests to devices */
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
		return 0; /* the kernel has no Landlock; the filter knows no path */
	}
	auto_fd fd = (int)syscall(SYS_landlock_create_ruleset, &rules, size, 0);
	return fd < 0 || syscall(SYS_landlock_restrict_self, fd, 0) != 0 ? -errno : 0;
}

/* ---- the rest ---- */

/* The bounding set may stay: nothing is executed any more. */
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
	/* As far as it may: with fewer there are fewer connections at once. */
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

	/* First: without it neither of the two below is taken from who has no privilege. */
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) {
		return -errno;
	}
	if ((rc = set_limits()) != 0 || (rc = close_files(landlock_abi)) != 0 ||
	    (rc = drop_privileges()) != 0) {
		return rc;
	}
	/* Neither other processes of the user's read its memory, nor does a core file. */
	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0) {
		return -errno;
	}
	return load_filter(); /* last: it allows none of the above */
}
