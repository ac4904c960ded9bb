/* The rows of syscalls.h.
 *
 * Should:   say for every refused call why, and for every risky call that is
 *           allowed why that is safe.
 * Must not: rely on the build machine's headers for a number or a constant.
 * Fails:    closed: what has no row in syscalls.inc is refused. */
#include "data/syscalls.h"

#include "base/auto.h"

#include <errno.h>

#define SYSCALL(call, x86_64, aarch64) [CALL_##call] = {#call, {x86_64, aarch64}},
const struct syscall_name syscall_names[CALL_COUNT] = {
#include "data/syscalls.inc"
};
#undef SYSCALL

const char *const syscall_group_names[GROUP_COUNT] = {
	[GROUP_NAMESPACES] = "namespaces",
	[GROUP_MOUNT] = "mount",
	[GROUP_MOUNT_NEW] = "new mount",
	[GROUP_SURFACE] = "kernel surface",
	[GROUP_KEYRING] = "keyring",
	[GROUP_HANDLES] = "handles",
	[GROUP_PROCESSES] = "processes",
	[GROUP_SYSTEM] = "system",
	[GROUP_EXECUTION] = "execution",
	[GROUP_TERMINAL] = "terminal",
	[GROUP_SOCKETS] = "sockets",
	[GROUP_SETUID] = "set-user-id",
	[GROUP_IPC] = "ipc",
	[GROUP_FILES] = "files",
	[GROUP_MARKS] = "marks",
};

/* clang-format off */
#define REFUSE(group, call, error, reason) {CALL_##call, GROUP_##group, RULE_REFUSE, error, CHECK_NONE, reason}
#define EXAMINE(group, call, check, reason) {CALL_##call, GROUP_##group, RULE_CHECK, 0, CHECK_##check, reason}
#define ASK(group, call, reason) {CALL_##call, GROUP_##group, RULE_ASK, 0, CHECK_NONE, reason}
#define PERMIT(group, call, reason) {CALL_##call, GROUP_##group, RULE_ALLOW, 0, CHECK_NONE, reason}

const struct syscall_rule syscall_rules[] = {
	EXAMINE(NAMESPACES, clone, CLONE, "a new user namespace would bring capabilities, and with them mounts"),
	REFUSE(NAMESPACES, clone3, ENOSYS, "its flags are behind a pointer; ENOSYS makes every libc fall back to clone, EPERM would break threads"),
	REFUSE(NAMESPACES, setns, EPERM, "entering another namespace leaves this one's boundary"),
	EXAMINE(NAMESPACES, unshare, UNSHARE, "as clone"),

	REFUSE(MOUNT, chroot, EPERM, "the classic way out of a changed root"),
	REFUSE(MOUNT, mount, EPERM, "the view of files is the boundary"),
	REFUSE(MOUNT, pivot_root, EPERM, "the view of files is the boundary"),
	REFUSE(MOUNT, umount2, EPERM, "would uncover what a mount hides"),

	REFUSE(MOUNT_NEW, fsconfig, ENOSYS, "new mount calls answer as an older kernel does, and programs fall back to mount"),
	REFUSE(MOUNT_NEW, fsmount, ENOSYS, "as fsconfig"),
	REFUSE(MOUNT_NEW, fsopen, ENOSYS, "as fsconfig"),
	REFUSE(MOUNT_NEW, fspick, ENOSYS, "as fsconfig"),
	REFUSE(MOUNT_NEW, mount_setattr, ENOSYS, "could make a read-only mount writable"),
	REFUSE(MOUNT_NEW, move_mount, ENOSYS, "as fsconfig"),
	REFUSE(MOUNT_NEW, open_tree, ENOSYS, "hands out a mount without any capability when it does not clone"),
	REFUSE(MOUNT_NEW, open_tree_attr, ENOSYS, "open_tree and mount_setattr in one"),

	REFUSE(SURFACE, bpf, EPERM, "code for the kernel, and a long history of verifier bugs"),
	REFUSE(SURFACE, fanotify_init, EPERM, "watches whole mounts and is not needed where inotify is"),
	REFUSE(SURFACE, io_uring_enter, EPERM, "its operations bypass this filter, also through an inherited ring"),
	REFUSE(SURFACE, io_uring_register, EPERM, "as io_uring_enter"),
	REFUSE(SURFACE, io_uring_setup, EPERM, "as io_uring_enter; EPERM is what a host that switched it off answers"),
	REFUSE(SURFACE, perf_event_open, EPERM, "observes the kernel and other processes"),
	REFUSE(SURFACE, userfaultfd, EPERM, "lets an attacker stop the kernel at a chosen page"),

	REFUSE(KEYRING, add_key, EPERM, "keyrings are not in any namespace"),
	REFUSE(KEYRING, keyctl, EPERM, "would read the caller's session and user keyrings"),
	REFUSE(KEYRING, request_key, EPERM, "starts a helper of the host as root"),

	PERMIT(HANDLES, name_to_handle_at, "only names a file; opening by that name is refused"),
	REFUSE(HANDLES, open_by_handle_at, EPERM, "opens any file of the file system, whatever the view shows"),

	REFUSE(PROCESSES, kcmp, EPERM, "compares kernel objects of other processes"),
	REFUSE(PROCESSES, migrate_pages, EPERM, "moves the memory of other processes"),
	REFUSE(PROCESSES, move_pages, EPERM, "moves the memory of other processes"),
	REFUSE(PROCESSES, pidfd_getfd, EPERM, "takes a descriptor out of another process"),
	PERMIT(PROCESSES, pidfd_open, "names processes of our own pid namespace only"),
	REFUSE(PROCESSES, process_madvise, EPERM, "acts on the memory of other processes"),
	REFUSE(PROCESSES, process_mrelease, EPERM, "acts on the memory of other processes"),
	PERMIT(PROCESSES, process_vm_readv, "debuggers need it; the pid namespace holds our own processes only, and pid 1 is not dumpable"),
	PERMIT(PROCESSES, process_vm_writev, "as process_vm_readv"),
	PERMIT(PROCESSES, ptrace, "as process_vm_readv; the kernel judges a call again after a tracer changed it"),

	REFUSE(SYSTEM, _sysctl, EPERM, "obsolete way to the kernel's settings"),
	REFUSE(SYSTEM, acct, EPERM, "process accounting of the whole host"),
	PERMIT(SYSTEM, adjtimex, "reading is harmless; setting is told apart only behind the pointer, and the kernel demands CAP_SYS_TIME, which nothing inside has"),
	PERMIT(SYSTEM, clock_adjtime, "as adjtimex"),
	REFUSE(SYSTEM, clock_settime, EPERM, "the host's clock"),
	REFUSE(SYSTEM, create_module, EPERM, "obsolete; with the other module calls"),
	REFUSE(SYSTEM, delete_module, EPERM, "kernel modules"),
	REFUSE(SYSTEM, finit_module, EPERM, "kernel modules"),
	REFUSE(SYSTEM, get_kernel_syms, EPERM, "obsolete; with the other module calls"),
	REFUSE(SYSTEM, init_module, EPERM, "kernel modules"),
	REFUSE(SYSTEM, ioperm, EPERM, "hardware ports"),
	REFUSE(SYSTEM, iopl, EPERM, "hardware ports"),
	REFUSE(SYSTEM, kexec_file_load, EPERM, "replaces the kernel"),
	REFUSE(SYSTEM, kexec_load, EPERM, "replaces the kernel"),
	REFUSE(SYSTEM, lookup_dcookie, EPERM, "obsolete; paths of the host's profiler"),
	REFUSE(SYSTEM, lsm_set_self_attr, EPERM, "changes the security label that the host gave"),
	REFUSE(SYSTEM, modify_ldt, EPERM, "segment tables serve old 16-bit programs and exploits"),
	REFUSE(SYSTEM, nfsservctl, EPERM, "obsolete; the host's file server"),
	REFUSE(SYSTEM, query_module, EPERM, "obsolete; with the other module calls"),
	REFUSE(SYSTEM, quotactl, EPERM, "the host's quotas"),
	REFUSE(SYSTEM, quotactl_fd, EPERM, "the host's quotas"),
	REFUSE(SYSTEM, reboot, EPERM, "the host's power"),
	REFUSE(SYSTEM, setdomainname, EPERM, "a name is part of what the plan set up"),
	REFUSE(SYSTEM, sethostname, EPERM, "a name is part of what the plan set up"),
	REFUSE(SYSTEM, settimeofday, EPERM, "the host's clock"),
	REFUSE(SYSTEM, swapoff, EPERM, "the host's memory"),
	REFUSE(SYSTEM, swapon, EPERM, "the host's memory"),
	REFUSE(SYSTEM, sysfs, EPERM, "obsolete list of file systems"),
	REFUSE(SYSTEM, syslog, EPERM, "kernel messages of the whole host"),
	REFUSE(SYSTEM, uselib, EPERM, "obsolete loader of libraries, a source of bugs"),
	REFUSE(SYSTEM, ustat, EPERM, "obsolete; looks at devices that the view hides"),
	REFUSE(SYSTEM, vhangup, EPERM, "hangs up a terminal"),

	EXAMINE(EXECUTION, personality, PERSONALITY, "some personalities switch off memory protections"),

	EXAMINE(TERMINAL, ioctl, IOCTL, "a few requests type into a terminal that others read"),

	EXAMINE(SOCKETS, setsockopt, SETSOCKOPT, "two options load kernel protocols that had page cache bugs"),
	EXAMINE(SOCKETS, socket, SOCKET, "rare protocol families are the kernel's weakest code, and vsock ignores namespaces"),
	EXAMINE(SOCKETS, socketpair, SOCKETPAIR, "as socket"),

	EXAMINE(SETUID, chmod, MODE_SECOND, "a set-user-id file would outlive the sandbox and run with its owner's rights"),
	EXAMINE(SETUID, creat, MODE_SECOND, "as chmod"),
	EXAMINE(SETUID, fchmod, MODE_SECOND, "as chmod"),
	EXAMINE(SETUID, fchmodat, MODE_THIRD, "as chmod"),
	EXAMINE(SETUID, fchmodat2, MODE_THIRD, "as chmod"),
	EXAMINE(SETUID, mkdir, MODE_SECOND, "as chmod"),
	EXAMINE(SETUID, mkdirat, MODE_THIRD, "as chmod"),
	EXAMINE(SETUID, mknod, MODE_SECOND, "as chmod"),
	EXAMINE(SETUID, mknodat, MODE_THIRD, "as chmod"),
	EXAMINE(SETUID, open, OPEN, "as chmod, when the call creates a file"),
	EXAMINE(SETUID, openat, OPENAT, "as chmod, when the call creates a file"),
	REFUSE(SETUID, openat2, ENOSYS, "its mode is behind a pointer: it could leave a set-user-id file in the workspace; who uses it falls back to openat"),
};

const size_t syscall_rules_count = ARRAY_LEN(syscall_rules);

/* ---- engines that share the host's processes, ipc and network ---- */

#define IN(traits, ...) {__VA_ARGS__, traits, 0, 0}
#define IN_BUT(traits, without, ...) {__VA_ARGS__, traits, without, 0}
#define IN_ON(traits, arch, ...) {__VA_ARGS__, traits, 0, 1U << (arch)}
#define SHARED TRAIT_SHARED
#define ASKED (TRAIT_SHARED | TRAIT_BROKER)
#define MARKS TRAIT_MARKS
#define SOCKETS (TRAIT_SHARED | TRAIT_SOCKETS)
#define QUIET (TRAIT_SHARED | TRAIT_SOCKETS | TRAIT_NO_NET)
#define SIGNALS (TRAIT_SHARED | TRAIT_SIGNALS)
#define CHANGES TRAIT_CHANGES
#define READS TRAIT_READS
#define MEMORY (TRAIT_SHARED | TRAIT_MEMORY)

const struct shared_rule shared_rules[] = {
	IN(TRAIT_CHANGES | TRAIT_SOCKETS, ASK(SOCKETS, bind, "a socket's name is a name like others")),
	IN(QUIET, ASK(SOCKETS, bind, "an address beside the loopback would be open to the host's networks")),
	IN(MARKS, EXAMINE(MARKS, chmod, ASK_MODE_SECOND, "Landlock does not judge what is not content: modes, owners, times, attributes")),
	IN(CHANGES, EXAMINE(MARKS, chmod, PROGRAM_MODE_SECOND, "what is made executable is recorded")),
	IN(MARKS, ASK(MARKS, chown, "as chmod")),
	IN(SOCKETS, ASK(SOCKETS, connect, "a socket file of the host, or an address outside")),
	IN(TRAIT_GATE, ASK(SOCKETS, connect, "the gate decides where it leads")),
	IN(CHANGES, EXAMINE(FILES, creat, ASK_MODE_SECOND, "Landlock cannot except a path from a tree that it grants")),
	IN(MARKS, EXAMINE(MARKS, fchmod, ASK_MODE_SECOND, "as chmod; a descriptor for reading is enough for it")),
	IN(CHANGES, EXAMINE(MARKS, fchmod, PROGRAM_MODE_SECOND, "as chmod")),
	IN(MARKS, EXAMINE(MARKS, fchmodat, ASK_MODE_THIRD, "as chmod")),
	IN(CHANGES, EXAMINE(MARKS, fchmodat, PROGRAM_MODE_THIRD, "as chmod")),
	IN(MARKS, EXAMINE(MARKS, fchmodat2, ASK_MODE_THIRD, "as chmod")),
	IN(CHANGES, EXAMINE(MARKS, fchmodat2, PROGRAM_MODE_THIRD, "as chmod")),
	IN(MARKS, ASK(MARKS, fchown, "as chmod")),
	IN(MARKS, ASK(MARKS, fchownat, "as chmod")),
	IN(MARKS, REFUSE(MARKS, file_setattr, ENOSYS, "as chmod; programs fall back to the ioctl")),
	IN_BUT(SHARED, TRAIT_OPEN, REFUSE(MARKS, file_setattr, ENOSYS, "as chmod; programs fall back to the ioctl")),
	IN(MARKS, ASK(MARKS, fremovexattr, "as chmod")),
	IN(MARKS, ASK(MARKS, fsetxattr, "as chmod")),
	IN(MARKS, ASK(MARKS, futimesat, "as chmod")),
	IN(TRAIT_GATE, ASK(SOCKETS, getpeername, "a program should see the peer that it asked for")),
	IN_BUT(SOCKETS, TRAIT_OPEN, EXAMINE(MARKS, ioctl, IOCTL_BROKER, "as chmod, for the flags of a file; and a new terminal lies among the host's")),
	IN_BUT(SHARED, TRAIT_OPEN, EXAMINE(MARKS, ioctl, IOCTL_SHARED, "as chmod, for the flags of a file")),
	IN(MARKS, EXAMINE(MARKS, ioctl, IOCTL_SHARED, "as chmod, for the flags of a file")),
	IN(ASKED, EXAMINE(PROCESSES, ioprio_set, ASK_PRIORITY, "the caller's other processes could be slowed down")),
	IN(SHARED, EXAMINE(PROCESSES, ioprio_set, OTHER_PRIORITY, "the caller's other processes could be slowed down")),
	IN(SIGNALS, ASK(PROCESSES, kill, "Landlock before ABI 6 lets signals out")),
	/* What the broker does on a caller's behalf would be judged by its own domain, and not
	 * by one that the caller made: that one would be a promise that nobody keeps. */
	IN(CHANGES, REFUSE(FILES, landlock_create_ruleset, EOPNOTSUPP, "an inner domain would not hold for calls that the broker makes")),
	IN(READS, REFUSE(FILES, landlock_create_ruleset, EOPNOTSUPP, "an inner domain would not hold for calls that the broker makes")),
	IN(CHANGES, REFUSE(FILES, landlock_restrict_self, EOPNOTSUPP, "as landlock_create_ruleset")),
	IN(READS, REFUSE(FILES, landlock_restrict_self, EOPNOTSUPP, "as landlock_create_ruleset")),
	IN(MARKS, ASK(MARKS, lchown, "as chmod")),
	IN(CHANGES, ASK(FILES, link, "as creat")),
	IN(MEMORY, ASK(FILES, link, "sem_open(3) makes a semaphore under another name")),
	IN(CHANGES, ASK(FILES, linkat, "as creat")),
	IN(MEMORY, ASK(FILES, linkat, "sem_open(3) makes a semaphore under another name")),
	IN(QUIET, ASK(SOCKETS, listen, "an unbound socket would listen on every address")),
	IN(MARKS, ASK(MARKS, lremovexattr, "as chmod")),
	IN(MARKS, ASK(MARKS, lsetxattr, "as chmod")),
	IN(CHANGES, EXAMINE(FILES, mkdir, ASK_MODE_SECOND, "as creat")),
	IN(MEMORY, EXAMINE(FILES, mkdir, ASK_MODE_SECOND, "mkdtemp(3) with a template in /tmp")),
	IN(CHANGES, EXAMINE(FILES, mkdirat, ASK_MODE_THIRD, "as creat")),
	IN(MEMORY, EXAMINE(FILES, mkdirat, ASK_MODE_THIRD, "mkdtemp(3) with a template in /tmp")),
	IN(CHANGES, EXAMINE(FILES, mknod, ASK_MODE_SECOND, "as creat")),
	IN(CHANGES, EXAMINE(FILES, mknodat, ASK_MODE_THIRD, "as creat")),
	IN(SHARED, REFUSE(IPC, mq_open, EPERM, "message queues are the host's without a namespace")),
	IN(SHARED, REFUSE(IPC, mq_unlink, EPERM, "as mq_open")),
	IN(SHARED, REFUSE(IPC, msgctl, EPERM, "as mq_open")),
	IN(SHARED, REFUSE(IPC, msgget, EPERM, "as mq_open")),
	IN(SHARED, REFUSE(IPC, msgrcv, EPERM, "as mq_open")),
	IN(SHARED, REFUSE(IPC, msgsnd, EPERM, "as mq_open")),
	IN(READS, EXAMINE(FILES, open, ASK_OPEN, "as creat, for reading too")),
	IN(CHANGES, EXAMINE(FILES, open, CHANGE_OPEN, "as creat")),
	IN(MEMORY, EXAMINE(FILES, open, MEMORY_OPEN, "shm_open(3) and sem_open(3) open in /dev/shm, which is the host's; their flags tell")),
	IN(SHARED | TRAIT_TRUNCATE, EXAMINE(FILES, open, TRUNCATING_OPEN, "Landlock before ABI 3 does not judge truncation")),
	IN(READS, EXAMINE(FILES, openat, ASK_OPENAT, "as creat, for reading too")),
	IN(CHANGES, EXAMINE(FILES, openat, CHANGE_OPENAT, "as creat")),
	IN_ON(MEMORY, SYSCALL_X86_64, EXAMINE(FILES, openat, MEMORY_OPENAT, "as open")),
	IN_ON(MEMORY, SYSCALL_AARCH64, EXAMINE(FILES, openat, MEMORY_OPENAT_ARM, "as open; the flags have other numbers")),
	IN(SHARED | TRAIT_TRUNCATE, EXAMINE(FILES, openat, TRUNCATING_OPENAT, "Landlock before ABI 3 does not judge truncation")),
	IN(SIGNALS, ASK(PROCESSES, pidfd_send_signal, "as kill")),
	IN(TRAIT_BROKER, EXAMINE(PROCESSES, prctl, DUMPABLE, "whom the broker may not look into it cannot serve: gpg-agent, ssh-agent, a Corral inside")),
	IN(SHARED, EXAMINE(PROCESSES, prlimit64, OTHER_PROCESS, "the limits of the caller's other processes could be lowered")),
	IN(TRAIT_OPEN, REFUSE(PROCESSES, process_vm_readv, EPERM, "the caller's other processes can be reached")),
	IN(TRAIT_OPEN, REFUSE(PROCESSES, process_vm_writev, EPERM, "the caller's other processes can be reached")),
	IN(TRAIT_OPEN, REFUSE(PROCESSES, ptrace, EPERM, "the caller's other processes can be reached")),
	IN(MARKS, ASK(MARKS, removexattr, "as chmod")),
	IN(MARKS, REFUSE(MARKS, removexattrat, ENOSYS, "as chmod; programs fall back to removexattr")),
	IN_BUT(SHARED, TRAIT_OPEN, REFUSE(MARKS, removexattrat, ENOSYS, "as chmod; programs fall back to removexattr")),
	IN(CHANGES, ASK(FILES, rename, "as creat")),
	IN(CHANGES, ASK(FILES, renameat, "as creat")),
	IN(CHANGES, ASK(FILES, renameat2, "as creat")),
	IN(CHANGES, ASK(FILES, rmdir, "as creat")),
	IN(MEMORY, ASK(FILES, rmdir, "what mkdtemp(3) has made")),
	IN(SIGNALS, ASK(PROCESSES, rt_sigqueueinfo, "as kill")),
	IN(SIGNALS, ASK(PROCESSES, rt_tgsigqueueinfo, "as kill")),
	IN(ASKED, EXAMINE(PROCESSES, sched_setaffinity, ASK_PROCESS, "as ioprio_set; threads name themselves by number")),
	IN(SHARED, EXAMINE(PROCESSES, sched_setaffinity, OTHER_PROCESS, "as ioprio_set")),
	IN(ASKED, EXAMINE(PROCESSES, sched_setattr, ASK_PROCESS, "as sched_setaffinity")),
	IN(SHARED, EXAMINE(PROCESSES, sched_setattr, OTHER_PROCESS, "as ioprio_set")),
	IN(ASKED, EXAMINE(PROCESSES, sched_setparam, ASK_PROCESS, "as sched_setaffinity")),
	IN(SHARED, EXAMINE(PROCESSES, sched_setparam, OTHER_PROCESS, "as ioprio_set")),
	IN(ASKED, EXAMINE(PROCESSES, sched_setscheduler, ASK_PROCESS, "as sched_setaffinity")),
	IN(SHARED, EXAMINE(PROCESSES, sched_setscheduler, OTHER_PROCESS, "as ioprio_set")),
	IN(SHARED, REFUSE(IPC, semctl, EPERM, "as mq_open")),
	IN(SHARED, REFUSE(IPC, semget, EPERM, "as mq_open")),
	IN(SHARED, REFUSE(IPC, semop, EPERM, "as mq_open")),
	IN(SHARED, REFUSE(IPC, semtimedop, EPERM, "as mq_open")),
	IN_BUT(TRAIT_GATE, TRAIT_SHARED, EXAMINE(SOCKETS, sendmmsg, FAST_THIRD, "finds no way to the gate; clients go back to connect(2)")),
	IN(SHARED | TRAIT_NO_NET, EXAMINE(SOCKETS, sendmmsg, FAST_THIRD, "TCP Fast Open connects without connect(2)")),
	IN_BUT(TRAIT_GATE, TRAIT_SHARED, EXAMINE(SOCKETS, sendmsg, FAST_SECOND, "as sendmmsg")),
	IN(SHARED | TRAIT_NO_NET, EXAMINE(SOCKETS, sendmsg, FAST_SECOND, "as sendmmsg")),
	IN_BUT(TRAIT_GATE, TRAIT_SHARED, EXAMINE(SOCKETS, sendto, FAST_THIRD, "as sendmmsg")),
	IN(SHARED | TRAIT_NO_NET, EXAMINE(SOCKETS, sendto, FAST_THIRD, "as sendmmsg")),
	IN(ASKED, EXAMINE(PROCESSES, setpriority, ASK_PRIORITY, "as ioprio_set")),
	IN(SHARED, EXAMINE(PROCESSES, setpriority, OTHER_PRIORITY, "as ioprio_set")),
	IN(SHARED | TRAIT_NO_NET, EXAMINE(SOCKETS, setsockopt, SETSOCKOPT_NO_NET, "what is sent to the loopback could be led past it")),
	IN(SHARED, EXAMINE(SOCKETS, setsockopt, SETSOCKOPT_SHARED, "two more options go around connect(2) and bind(2)")),
	IN(MARKS, ASK(MARKS, setxattr, "as chmod")),
	IN(MARKS, REFUSE(MARKS, setxattrat, ENOSYS, "as chmod; programs fall back to setxattr")),
	IN_BUT(SHARED, TRAIT_OPEN, REFUSE(MARKS, setxattrat, ENOSYS, "as chmod; programs fall back to setxattr")),
	IN(SHARED, REFUSE(IPC, shmat, EPERM, "as mq_open")),
	IN(SHARED, REFUSE(IPC, shmctl, EPERM, "as mq_open")),
	IN(SHARED, REFUSE(IPC, shmget, EPERM, "as mq_open")),
	IN(QUIET, EXAMINE(SOCKETS, socket, SOCKET_BROKER_NO_NET, "TCP alone can be kept to the loopback")),
	IN(SOCKETS, EXAMINE(SOCKETS, socket, SOCKET_BROKER, "a datagram names its receiver behind a pointer")),
	IN(SHARED | TRAIT_NO_NET, EXAMINE(SOCKETS, socket, SOCKET_ALONE_NO_NET, "nobody could judge where it connects to")),
	IN_BUT(SHARED, TRAIT_OPEN, EXAMINE(SOCKETS, socket, SOCKET_ALONE, "nobody could judge which socket file it connects to")),
	IN_BUT(ASKED, TRAIT_OPEN, EXAMINE(SOCKETS, socketpair, SOCKETPAIR_BROKER, "as socket: the half of a pair can send a datagram elsewhere")),
	IN_BUT(SHARED, TRAIT_OPEN, EXAMINE(SOCKETS, socketpair, SOCKETPAIR_SHARED, "as socket: the half of a pair can send a datagram elsewhere")),
	IN(CHANGES, ASK(FILES, symlink, "as creat")),
	IN(CHANGES, ASK(FILES, symlinkat, "as creat")),
	IN(SIGNALS, ASK(PROCESSES, tgkill, "as kill")),
	IN(SIGNALS, ASK(PROCESSES, tkill, "as kill")),
	IN(CHANGES, ASK(FILES, truncate, "as creat")),
	IN(SHARED | TRAIT_TRUNCATE, ASK(FILES, truncate, "Landlock before ABI 3 does not judge truncation")),
	IN(CHANGES, ASK(FILES, umask, "whom the broker makes files for has a umask; it is not judged")),
	IN(CHANGES, ASK(FILES, unlink, "as creat")),
	IN(MEMORY, ASK(FILES, unlink, "shm_unlink(3) and sem_unlink(3)")),
	IN(CHANGES, ASK(FILES, unlinkat, "as creat")),
	IN(MEMORY, EXAMINE(FILES, unlinkat, MEMORY_UNLINKAT, "shm_unlink(3) and sem_unlink(3)")),
	IN(MARKS, ASK(MARKS, utime, "as chmod")),
	IN(MARKS, ASK(MARKS, utimensat, "as chmod")),
	IN(MARKS, ASK(MARKS, utimes, "as chmod")),
};

const size_t shared_rules_count = ARRAY_LEN(shared_rules);

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

/* The flags that stay: VM, FS, FILES, SIGHAND, THREAD, SYSVSEM.  Named by what is
 * allowed and not by the CLONE_NEW* bits (0x7e020080), because Linux 7.1 gives
 * 0x100000 a meaning of its own here: an empty mount namespace. */
static const struct syscall_refusal refusals_unshare[] = {
	WHEN(ANY_BIT(0, ~0x00050f00U), EPERM, "a new namespace, or a flag that is not known"),
};

static const struct syscall_refusal refusals_personality[] = {
	/* Linux; the question; PER_LINUX32; UNAME26 with either; ADDR_NO_RANDOMIZE, for debuggers. */
	WHEN(NONE_OF(0, ALL_BITS, 0, 0xffffffff, 0x8, 0x20000, 0x20008, 0x40000), EPERM,
	     "READ_IMPLIES_EXEC, address layouts and other systems' personalities"),
};

static const struct syscall_refusal refusals_ioctl[] = {
	/* TIOCSTI, TIOCLINUX, TIOCCONS, TIOCSETD; KDSKBENT, KDSKBSENT, KDSKBDIACR,
	 * KDSETKEYCODE, KDSKBDIACRUC. */
	WHEN(ONE_OF(1, ALL_BITS, 0x5412, 0x541c, 0x541d, 0x5423, 0x4b47, 0x4b49, 0x4b4b, 0x4b4d, 0x4bfb), EPERM,
	     "types into a terminal, takes the console, loads a line discipline or rewrites the keyboard"),
	/* BTRFS_IOC_SNAP_CREATE, SUBVOL_CREATE, SNAP_DESTROY and their second versions.  ENOTTY is what
	 * every other file system answers. */
	WHEN(ONE_OF(1, ALL_BITS, 0x50009401, 0x5000940e, 0x5000940f, 0x50009417, 0x50009418, 0x5000943f), ENOTTY,
	     "makes and removes directories by a descriptor for reading: a snapshot shows without a mask what is hidden"),
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
	 * L2TP 115 and what comes later are code that few use and that port rules do not see. */
	WHEN_BOTH(ONE_OF(0, ALL_BITS, AF_INET_, AF_INET6_), NONE_OF(2, ALL_BITS, 0, 1, 6, 17, 58), EPROTONOSUPPORT,
	          "a protocol beside TCP, UDP and ping"),
	WHEN_BOTH(ONE_OF(0, ALL_BITS, AF_NETLINK_), NONE_OF(2, ALL_BITS, 0), EPROTONOSUPPORT,
	          "netlink beside ROUTE: xfrm, netfilter, audit, uevents, …"),
};

static const struct syscall_refusal refusals_socketpair[] = {
	WHEN(NONE_OF(0, ALL_BITS, AF_UNIX_), EAFNOSUPPORT, "only unix sockets come in pairs"),
};

static const struct syscall_refusal refusals_setsockopt[] = {
	WHEN_BOTH(ONE_OF(1, ALL_BITS, 6), ONE_OF(2, ALL_BITS, 31), EPERM, "TCP_ULP loads tls and espintcp"),
	WHEN_BOTH(ONE_OF(1, ALL_BITS, 17), ONE_OF(2, ALL_BITS, 100), EPERM, "UDP_ENCAP feeds packets to IPsec"),
};

/* Set-group-id (02000) stays allowed: shared directories are made with it. */
#define SET_USER_ID 04000
/* O_CREAT and the kernel's __O_TMPFILE: without either, the mode is not an argument. */
#define CREATES 020000100

static const struct syscall_refusal refusals_mode_second[] = {
	WHEN(ANY_BIT(1, SET_USER_ID), EPERM, "set-user-id"),
};

static const struct syscall_refusal refusals_mode_third[] = {
	WHEN(ANY_BIT(2, SET_USER_ID), EPERM, "set-user-id"),
};

static const struct syscall_refusal refusals_open[] = {
	WHEN_BOTH(ANY_BIT(1, CREATES), ANY_BIT(2, SET_USER_ID), EPERM, "set-user-id"),
};

static const struct syscall_refusal refusals_openat[] = {
	WHEN_BOTH(ANY_BIT(2, CREATES), ANY_BIT(3, SET_USER_ID), EPERM, "set-user-id"),
};

/* ---- of shared engines ---- */

#define WRITES 020001103 /* O_WRONLY, O_RDWR, O_CREAT, O_TRUNC, __O_TMPFILE */
#define O_TRUNC_ 01000
#define O_ACCMODE_ 03

static const struct syscall_refusal refusals_change_open[] = {
	WHEN_BOTH(ANY_BIT(1, CREATES), ANY_BIT(2, SET_USER_ID), EPERM, "set-user-id"),
	WHEN(ANY_BIT(1, WRITES), ASK_BROKER, "a change"),
};

static const struct syscall_refusal refusals_change_openat[] = {
	WHEN_BOTH(ANY_BIT(2, CREATES), ANY_BIT(3, SET_USER_ID), EPERM, "set-user-id"),
	WHEN(ANY_BIT(2, WRITES), ASK_BROKER, "a change"),
};

static const struct syscall_refusal refusals_truncating_open[] = {
	WHEN_BOTH(ONE_OF(1, O_ACCMODE_, 0), ANY_BIT(1, O_TRUNC_), EACCES, "truncates through a descriptor for reading"),
};

static const struct syscall_refusal refusals_truncating_openat[] = {
	WHEN_BOTH(ONE_OF(2, O_ACCMODE_, 0), ANY_BIT(2, O_TRUNC_), EACCES, "truncates through a descriptor for reading"),
};

static const struct syscall_refusal refusals_dumpable[] = {
	/* PR_SET_DUMPABLE, 0.  Who is inside is one principal; cores are bounded away. */
	WHEN_BOTH(ONE_OF(0, ALL_BITS, 4), ONE_OF(1, ALL_BITS, 0), LEFT_UNDONE, "closes the caller to its own siblings, and to us"),
};

#define FASTOPEN 0x20000000 /* MSG_FASTOPEN */

static const struct syscall_refusal refusals_fast_second[] = {
	WHEN(ANY_BIT(2, FASTOPEN), EOPNOTSUPP, "TCP Fast Open"),
};

static const struct syscall_refusal refusals_fast_third[] = {
	WHEN(ANY_BIT(3, FASTOPEN), EOPNOTSUPP, "TCP Fast Open"),
};

static const struct syscall_refusal refusals_ioctl_shared[] = {
	/* FS_IOC_SETFLAGS with either size, FS_IOC_FSSETXATTR, FS_IOC_SETVERSION, FAT_IOCTL_SET_ATTRIBUTES,
	 * FS_IOC_ENABLE_VERITY. */
	WHEN(ONE_OF(1, ALL_BITS, 0x40086602, 0x40046602, 0x401c5820, 0x40087602, 0x40047602, 0x40047211, 0x40806685), EOPNOTSUPP,
	     "flags of a file, which need no descriptor for writing"),
};

static const struct syscall_refusal refusals_ioctl_broker[] = {
	WHEN(ONE_OF(1, ALL_BITS, 0x40086602, 0x40046602, 0x401c5820, 0x40087602, 0x40047602, 0x40047211, 0x40806685), EOPNOTSUPP,
	     "flags of a file, which need no descriptor for writing"),
	WHEN(ONE_OF(1, ALL_BITS, 0x5441), ASK_BROKER, "TIOCGPTPEER opens the other end of a new terminal"),
};

/* O_NOFOLLOW, and what never goes with shared memory: O_DIRECTORY, O_PATH.  musl
 * says O_LARGEFILE with every open, which is the other architecture's O_NOFOLLOW. */
#define NOFOLLOW_ 0400000
#define NO_MEMORY_ 010200000
#define NOFOLLOW_ARM_ 0100000
#define NO_MEMORY_ARM_ 010040000
#define O_EXCL_ 0200
#define EXECUTE_ 0111

static const struct syscall_refusal refusals_program_mode_second[] = {
	WHEN(ANY_BIT(1, SET_USER_ID), EPERM, "set-user-id"),
	WHEN(ANY_BIT(1, EXECUTE_), ASK_BROKER, "a program"),
};

static const struct syscall_refusal refusals_program_mode_third[] = {
	WHEN(ANY_BIT(2, SET_USER_ID), EPERM, "set-user-id"),
	WHEN(ANY_BIT(2, EXECUTE_), ASK_BROKER, "a program"),
};

static const struct syscall_refusal refusals_memory_open[] = {
	WHEN_BOTH(ONE_OF(1, O_ACCMODE_, 0), ANY_BIT(1, O_TRUNC_), ASK_BROKER, "truncates through a descriptor for reading, which Landlock judges since ABI 3"),
	WHEN_BOTH(ANY_BIT(1, CREATES), ANY_BIT(2, SET_USER_ID), EPERM, "set-user-id"),
	WHEN_BOTH(ANY_BIT(1, NOFOLLOW_), ONE_OF(1, NO_MEMORY_, 0), ASK_BROKER, "perhaps shared memory"),
	WHEN(ANY_BIT(1, O_EXCL_), ASK_BROKER, "sem_open(3) of glibc"),
};

static const struct syscall_refusal refusals_memory_openat[] = {
	WHEN_BOTH(ONE_OF(2, O_ACCMODE_, 0), ANY_BIT(2, O_TRUNC_), ASK_BROKER, "truncates through a descriptor for reading, which Landlock judges since ABI 3"),
	WHEN_BOTH(ANY_BIT(2, CREATES), ANY_BIT(3, SET_USER_ID), EPERM, "set-user-id"),
	WHEN_BOTH(ANY_BIT(2, NOFOLLOW_), ONE_OF(2, NO_MEMORY_, 0), ASK_BROKER, "perhaps shared memory"),
	WHEN(ANY_BIT(2, O_EXCL_), ASK_BROKER, "sem_open(3) of glibc"),
};

static const struct syscall_refusal refusals_memory_openat_arm[] = {
	WHEN_BOTH(ONE_OF(2, O_ACCMODE_, 0), ANY_BIT(2, O_TRUNC_), ASK_BROKER, "truncates through a descriptor for reading, which Landlock judges since ABI 3"),
	WHEN_BOTH(ANY_BIT(2, CREATES), ANY_BIT(3, SET_USER_ID), EPERM, "set-user-id"),
	WHEN_BOTH(ANY_BIT(2, NOFOLLOW_ARM_), ONE_OF(2, NO_MEMORY_ARM_, 0), ASK_BROKER, "perhaps shared memory"),
	WHEN(ANY_BIT(2, O_EXCL_), ASK_BROKER, "sem_open(3) of glibc"),
};

static const struct syscall_refusal refusals_memory_unlinkat[] = {
	/* AT_FDCWD; beneath a directory that the caller has opened there is none. */
	WHEN_BOTH(ONE_OF(0, ALL_BITS, 0xffffff9c), ONE_OF(2, 0x200, 0), ASK_BROKER, "perhaps shared memory"),
};

static const struct syscall_refusal refusals_ask_priority[] = {
	WHEN(NONE_OF(0, ALL_BITS, 0, 1), EPERM, "a whole user"),
	WHEN(ANY_BIT(1, ALL_BITS), ASK_BROKER, "another process than the caller"),
};

static const struct syscall_refusal refusals_ask_process[] = {
	WHEN(ANY_BIT(0, ALL_BITS), ASK_BROKER, "another process than the caller"),
};

static const struct syscall_refusal refusals_other_priority[] = {
	/* PRIO_PROCESS is 0, IOPRIO_WHO_PROCESS 1; groups and users are 1 and 2, 2 and 3. */
	WHEN(NONE_OF(0, ALL_BITS, 0, 1), EPERM, "a whole user"),
	WHEN(ANY_BIT(1, ALL_BITS), EPERM, "another process than the caller"),
};

static const struct syscall_refusal refusals_other_process[] = {
	WHEN(ANY_BIT(0, ALL_BITS), EPERM, "another process than the caller"),
};

static const struct syscall_refusal refusals_setsockopt_shared[] = {
	WHEN_BOTH(ONE_OF(1, ALL_BITS, 6), ONE_OF(2, ALL_BITS, 30), EPERM, "TCP_FASTOPEN_CONNECT"),
	/* Programs that set it just in case complain when they cannot; one that means to share
	 * a port finds it in use. */
	WHEN_BOTH(ONE_OF(1, ALL_BITS, 1), ONE_OF(2, ALL_BITS, 15), LEFT_UNDONE,
	          "SO_REUSEPORT shares a port, and its connections, with a server of the host"),
};

static const struct syscall_refusal refusals_setsockopt_no_net[] = {
	/* The address says where a connection ends, these where its packets go first. */
	WHEN_BOTH(ONE_OF(1, ALL_BITS, 1), ONE_OF(2, ALL_BITS, 25, 62), EPERM, "SO_BINDTODEVICE, SO_BINDTOIFINDEX"),
	WHEN_BOTH(ONE_OF(1, ALL_BITS, 0), ONE_OF(2, ALL_BITS, 4), EPERM, "IP_OPTIONS has source routes"),
	WHEN_BOTH(ONE_OF(1, ALL_BITS, 41), ONE_OF(2, ALL_BITS, 57, 6), EPERM, "IPV6_RTHDR, and IPV6_2292PKTOPTIONS, which has it too"),
	/* A stream has no use for a group, but the kernel tells the host's networks of it. */
	WHEN_BOTH(ONE_OF(1, ALL_BITS, 0), ONE_OF(2, ALL_BITS, 35, 39, 42, 46), EPERM,
	          "IP_ADD_MEMBERSHIP, IP_ADD_SOURCE_MEMBERSHIP, MCAST_JOIN_GROUP, MCAST_JOIN_SOURCE_GROUP"),
	WHEN_BOTH(ONE_OF(1, ALL_BITS, 41), ONE_OF(2, ALL_BITS, 20, 27, 42, 46), EPERM,
	          "IPV6_JOIN_GROUP, IPV6_JOIN_ANYCAST, MCAST_JOIN_GROUP, MCAST_JOIN_SOURCE_GROUP"),
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
	/* The family first: what is no unix socket is none of the broker's. */
	WHEN(NONE_OF(0, ALL_BITS, AF_UNIX_), EAFNOSUPPORT, "only unix sockets come in pairs"),
	WHEN(ONE_OF(1, TYPE_MASK, 2), ASK_BROKER, "datagrams"),
	WHEN(NONE_OF(1, TYPE_MASK, 1, 5), EPROTONOSUPPORT, "neither streams nor packets"),
};

static const struct syscall_refusal refusals_socketpair_shared[] = {
	WHEN(NONE_OF(1, TYPE_MASK, 1, 5), EPROTONOSUPPORT, "unix datagrams"),
};

#define CHECK_ROWS(rows) {rows, ARRAY_LEN(rows), CHECK_NONE, false}
#define CHECK_ROWS_AND(rows, base) {rows, ARRAY_LEN(rows), base, false}
#define CHECK_THEN_ASK(base) {NULL, 0, base, true}

const struct syscall_check syscall_checks[CHECK_COUNT] = {
	[CHECK_CLONE] = CHECK_ROWS(refusals_clone),
	[CHECK_IOCTL] = CHECK_ROWS(refusals_ioctl),
	[CHECK_MODE_SECOND] = CHECK_ROWS(refusals_mode_second),
	[CHECK_MODE_THIRD] = CHECK_ROWS(refusals_mode_third),
	[CHECK_OPEN] = CHECK_ROWS(refusals_open),
	[CHECK_OPENAT] = CHECK_ROWS(refusals_openat),
	[CHECK_PERSONALITY] = CHECK_ROWS(refusals_personality),
	[CHECK_SETSOCKOPT] = CHECK_ROWS(refusals_setsockopt),
	[CHECK_SOCKET] = CHECK_ROWS(refusals_socket),
	[CHECK_SOCKETPAIR] = CHECK_ROWS(refusals_socketpair),
	[CHECK_UNSHARE] = CHECK_ROWS(refusals_unshare),

	[CHECK_ASK_MODE_SECOND] = CHECK_THEN_ASK(CHECK_MODE_SECOND),
	[CHECK_ASK_MODE_THIRD] = CHECK_THEN_ASK(CHECK_MODE_THIRD),
	[CHECK_ASK_OPEN] = CHECK_THEN_ASK(CHECK_OPEN),
	[CHECK_ASK_OPENAT] = CHECK_THEN_ASK(CHECK_OPENAT),
	[CHECK_ASK_PRIORITY] = CHECK_ROWS(refusals_ask_priority),
	[CHECK_ASK_PROCESS] = CHECK_ROWS(refusals_ask_process),
	[CHECK_CHANGE_OPEN] = CHECK_ROWS(refusals_change_open),
	[CHECK_CHANGE_OPENAT] = CHECK_ROWS(refusals_change_openat),
	[CHECK_DUMPABLE] = CHECK_ROWS(refusals_dumpable),
	[CHECK_FAST_SECOND] = CHECK_ROWS(refusals_fast_second),
	[CHECK_FAST_THIRD] = CHECK_ROWS(refusals_fast_third),
	[CHECK_IOCTL_BROKER] = CHECK_ROWS_AND(refusals_ioctl_broker, CHECK_IOCTL),
	[CHECK_MEMORY_OPEN] = CHECK_ROWS(refusals_memory_open),
	[CHECK_MEMORY_OPENAT] = CHECK_ROWS(refusals_memory_openat),
	[CHECK_MEMORY_OPENAT_ARM] = CHECK_ROWS(refusals_memory_openat_arm),
	[CHECK_MEMORY_UNLINKAT] = CHECK_ROWS(refusals_memory_unlinkat),
	[CHECK_IOCTL_SHARED] = CHECK_ROWS_AND(refusals_ioctl_shared, CHECK_IOCTL),
	[CHECK_OTHER_PRIORITY] = CHECK_ROWS(refusals_other_priority),
	[CHECK_OTHER_PROCESS] = CHECK_ROWS(refusals_other_process),
	[CHECK_PROGRAM_MODE_SECOND] = CHECK_ROWS(refusals_program_mode_second),
	[CHECK_PROGRAM_MODE_THIRD] = CHECK_ROWS(refusals_program_mode_third),
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
};
/* clang-format on */
