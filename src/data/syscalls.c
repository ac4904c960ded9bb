/* SPDX-License-Identifier: Apache-2.0 */
/* The rules of the seccomp filter: one row a system call.
 *
 * Should:   give the reason of every refusal, and for every risky call that is allowed
 *           why that is safe.
 * Must not: use a number or a constant of the build machine's headers.
 * Fails:    closed: a call without a row in syscalls.inc returns ENOSYS. */
#include "data/syscalls.h"

#include "base/auto.h"

#include <errno.h>
#include <string.h>

#define SYSCALL(call, x86_64, aarch64, riscv64) [CALL_##call] = {#call, {x86_64, aarch64, riscv64}},
const struct syscall_name syscall_names[CALL_COUNT] = {
#include "data/syscalls.inc"
};
#undef SYSCALL

enum syscall_id syscall_by_name(const char *name) {
	size_t i = 0;
	while (i < CALL_COUNT && strcmp(syscall_names[i].name, name) != 0) {
		i++;
	}
	return (enum syscall_id)i;
}

const char *syscall_needed(enum syscall_id id) {
	static const struct {
		enum syscall_id id;
		const char *why;
	} needed[] = {
		{CALL_execve, "no command could start"},
		{CALL_exit, "no thread could end"},
		{CALL_exit_group, "no process could end"},
		{CALL_rt_sigreturn, "no signal handler could return"},
	};
	for (size_t i = 0; i < ARRAY_LEN(needed); i++) {
		if (needed[i].id == id) {
			return needed[i].why;
		}
	}
	return NULL;
}

/* clang-format off */
const char *const syscall_group_names[GROUP_COUNT] = {
	[GROUP_NAMESPACES] = "namespaces",
	[GROUP_MOUNT] = "mount",
	[GROUP_MOUNT_NEW] = "new mount",
	[GROUP_SURFACE] = "kernel surface",
	[GROUP_KEYRING] = "keyring",
	[GROUP_HANDLES] = "handles",
	[GROUP_MEMORY] = "memory",
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

#define REFUSE(group, call, error, reason) {CALL_##call, GROUP_##group, RULE_REFUSE, error, CHECK_NONE, reason}
#define EXAMINE(group, call, check, reason) {CALL_##call, GROUP_##group, RULE_CHECK, 0, CHECK_##check, reason}
#define ASK(group, call, reason) {CALL_##call, GROUP_##group, RULE_ASK, 0, CHECK_NONE, reason}
#define PERMIT(group, call, reason) {CALL_##call, GROUP_##group, RULE_ALLOW, 0, CHECK_NONE, reason}

const struct syscall_rule syscall_rules[] = {
	EXAMINE(NAMESPACES, clone, CLONE, "a new user namespace would bring capabilities, and with them mounts"),
	REFUSE(NAMESPACES, clone3, ENOSYS, "its flags are behind a pointer; ENOSYS makes every libc fall back to clone, EPERM would break threads"),
	REFUSE(NAMESPACES, setns, EPERM, "entering another namespace leaves this one's boundary"),
	EXAMINE(NAMESPACES, unshare, UNSHARE, "as clone"),

	REFUSE(MOUNT, chroot, EPERM, "the classic escape from a changed root"),
	REFUSE(MOUNT, mount, EPERM, "the view of files is the boundary"),
	REFUSE(MOUNT, pivot_root, EPERM, "the view of files is the boundary"),
	REFUSE(MOUNT, umount2, EPERM, "would uncover files that a mount hides"),

	REFUSE(MOUNT_NEW, fsconfig, ENOSYS, "new mount calls return ENOSYS as on an older kernel, and programs fall back to mount"),
	REFUSE(MOUNT_NEW, fsmount, ENOSYS, "as fsconfig"),
	REFUSE(MOUNT_NEW, fsopen, ENOSYS, "as fsconfig"),
	REFUSE(MOUNT_NEW, fspick, ENOSYS, "as fsconfig"),
	REFUSE(MOUNT_NEW, listmount, ENOSYS, "lists mounts by ids of the host; programs fall back to /proc"),
	REFUSE(MOUNT_NEW, mount_setattr, ENOSYS, "could make a read-only mount writable"),
	REFUSE(MOUNT_NEW, move_mount, ENOSYS, "as fsconfig"),
	REFUSE(MOUNT_NEW, open_tree, ENOSYS, "returns a mount without any capability when it does not clone"),
	REFUSE(MOUNT_NEW, open_tree_attr, ENOSYS, "open_tree and mount_setattr in one"),
	REFUSE(MOUNT_NEW, statmount, ENOSYS, "as listmount"),

	REFUSE(SURFACE, bpf, EPERM, "code for the kernel, and a long history of verifier bugs"),
	REFUSE(SURFACE, fanotify_init, EPERM, "watches whole mounts and is not needed where inotify is"),
	REFUSE(SURFACE, fanotify_mark, EPERM, "as fanotify_init; nothing inside has a descriptor for it"),
	REFUSE(SURFACE, io_uring_enter, EPERM, "its operations bypass this filter, also through an inherited ring"),
	REFUSE(SURFACE, io_uring_register, EPERM, "as io_uring_enter"),
	REFUSE(SURFACE, io_uring_setup, EPERM, "as io_uring_enter; a host with io_uring disabled returns EPERM too"),
	REFUSE(SURFACE, perf_event_open, EPERM, "observes the kernel and other processes"),
	REFUSE(SURFACE, userfaultfd, EPERM, "lets an attacker pause the kernel at a chosen page"),

	REFUSE(KEYRING, add_key, EPERM, "keyrings are not in any namespace"),
	REFUSE(KEYRING, keyctl, EPERM, "would read the caller's session and user keyrings"),
	REFUSE(KEYRING, request_key, EPERM, "starts a helper of the host as root"),

	REFUSE(HANDLES, name_to_handle_at, EOPNOTSUPP, "returns file handles and mount ids of the host, for open_by_handle_at; the error of a file system without handles"),
	REFUSE(HANDLES, open_by_handle_at, EPERM, "opens any file of the file system, also outside of the view"),

	EXAMINE(MEMORY, madvise, MADVISE, "merging pages with other processes (KSM) reveals their content by timing"),
	EXAMINE(MEMORY, memfd_create, MEMFD, "as mmap"),
	REFUSE(MEMORY, memfd_secret, ENOSYS, "memory that the kernel cannot inspect; no program here needs it"),
	EXAMINE(MEMORY, mmap, MMAP, "huge pages come from a pool of the host that the limits do not count"),
	REFUSE(MEMORY, remap_file_pages, ENOSYS, "obsolete; mmap does the same"),
	REFUSE(MEMORY, set_mempolicy_home_node, ENOSYS, "set_mempolicy and mbind suffice"),
	EXAMINE(MEMORY, shmget, SHMGET, "as mmap"),

	REFUSE(PROCESSES, get_robust_list, EPERM, "an address in other processes; only checkpoint tools need it"),
	EXAMINE(PROCESSES, ioprio_set, IOPRIO, "pid 1 enforces the time-out and runs the broker: it must not be slowed down"),
	REFUSE(PROCESSES, kcmp, EPERM, "compares kernel objects of other processes"),
	REFUSE(PROCESSES, migrate_pages, EPERM, "moves the memory of other processes"),
	REFUSE(PROCESSES, move_pages, EPERM, "moves the memory of other processes"),
	REFUSE(PROCESSES, pidfd_getfd, EPERM, "takes a descriptor out of another process"),
	PERMIT(PROCESSES, pidfd_open, "names processes of our own pid namespace only"),
	EXAMINE(PROCESSES, prctl, PRCTL, "an allow list (data/prctls.c): a new kernel's options stay closed"),
	EXAMINE(PROCESSES, prlimit64, FIRST_PROCESS, "as ioprio_set: a limit of processor time or descriptors would end pid 1"),
	REFUSE(PROCESSES, process_madvise, EPERM, "acts on the memory of other processes"),
	REFUSE(PROCESSES, process_mrelease, EPERM, "acts on the memory of other processes"),
	PERMIT(PROCESSES, process_vm_readv, "debuggers need it; the pid namespace holds our own processes only, and pid 1 is not dumpable"),
	PERMIT(PROCESSES, process_vm_writev, "as process_vm_readv"),
	PERMIT(PROCESSES, ptrace, "as process_vm_readv; the kernel filters a call again after a tracer changed it"),
	EXAMINE(PROCESSES, sched_setaffinity, FIRST_PROCESS, "as ioprio_set"),
	EXAMINE(PROCESSES, sched_setattr, FIRST_PROCESS, "as ioprio_set"),
	EXAMINE(PROCESSES, sched_setparam, FIRST_PROCESS, "as ioprio_set"),
	EXAMINE(PROCESSES, sched_setscheduler, FIRST_PROCESS, "as ioprio_set"),
	EXAMINE(PROCESSES, setpriority, SETPRIORITY, "as ioprio_set"),

	REFUSE(SYSTEM, _sysctl, EPERM, "obsolete way to the kernel's settings"),
	REFUSE(SYSTEM, acct, EPERM, "process accounting of the whole host"),
	PERMIT(SYSTEM, adjtimex, "reading is harmless; setting needs CAP_SYS_TIME, which no process in the sandbox has (the filter cannot tell them apart behind the pointer)"),
	REFUSE(SYSTEM, afs_syscall, ENOSYS, "not implemented in any kernel; a later implementation must stay refused"),
	PERMIT(SYSTEM, clock_adjtime, "as adjtimex"),
	REFUSE(SYSTEM, clock_settime, EPERM, "the host's clock"),
	REFUSE(SYSTEM, create_module, EPERM, "obsolete; with the other module calls"),
	REFUSE(SYSTEM, delete_module, EPERM, "kernel modules"),
	REFUSE(SYSTEM, epoll_ctl_old, ENOSYS, "as afs_syscall"),
	REFUSE(SYSTEM, epoll_wait_old, ENOSYS, "as afs_syscall"),
	REFUSE(SYSTEM, finit_module, EPERM, "kernel modules"),
	REFUSE(SYSTEM, get_kernel_syms, EPERM, "obsolete; with the other module calls"),
	REFUSE(SYSTEM, getpmsg, ENOSYS, "as afs_syscall"),
	REFUSE(SYSTEM, init_module, EPERM, "kernel modules"),
	REFUSE(SYSTEM, ioperm, EPERM, "hardware ports"),
	REFUSE(SYSTEM, iopl, EPERM, "hardware ports"),
	REFUSE(SYSTEM, kexec_file_load, EPERM, "replaces the kernel"),
	REFUSE(SYSTEM, kexec_load, EPERM, "replaces the kernel"),
	REFUSE(SYSTEM, lookup_dcookie, EPERM, "obsolete; paths of the host's profiler"),
	REFUSE(SYSTEM, lsm_get_self_attr, ENOSYS, "the host's security label; programs fall back to /proc/self/attr"),
	REFUSE(SYSTEM, lsm_list_modules, ENOSYS, "as lsm_get_self_attr"),
	REFUSE(SYSTEM, lsm_set_self_attr, EPERM, "changes the security label that the host gave"),
	REFUSE(SYSTEM, modify_ldt, EPERM, "segment tables serve old 16-bit programs and exploits"),
	REFUSE(SYSTEM, nfsservctl, EPERM, "obsolete; the host's file server"),
	REFUSE(SYSTEM, putpmsg, ENOSYS, "as afs_syscall"),
	REFUSE(SYSTEM, query_module, EPERM, "obsolete; with the other module calls"),
	REFUSE(SYSTEM, quotactl, EPERM, "the host's quotas"),
	REFUSE(SYSTEM, quotactl_fd, EPERM, "the host's quotas"),
	REFUSE(SYSTEM, reboot, EPERM, "the host's power"),
	REFUSE(SYSTEM, security, ENOSYS, "as afs_syscall"),
	REFUSE(SYSTEM, setdomainname, EPERM, "the plan sets the host name"),
	REFUSE(SYSTEM, sethostname, EPERM, "the plan sets the host name"),
	REFUSE(SYSTEM, settimeofday, EPERM, "the host's clock"),
	REFUSE(SYSTEM, swapoff, EPERM, "the host's memory"),
	REFUSE(SYSTEM, swapon, EPERM, "the host's memory"),
	REFUSE(SYSTEM, sysfs, EPERM, "obsolete list of file systems"),
	REFUSE(SYSTEM, syslog, EPERM, "kernel messages of the whole host"),
	REFUSE(SYSTEM, tuxcall, ENOSYS, "as afs_syscall"),
	REFUSE(SYSTEM, uselib, EPERM, "obsolete loader of libraries, a source of bugs"),
	REFUSE(SYSTEM, ustat, EPERM, "obsolete; looks at devices that the view hides"),
	REFUSE(SYSTEM, vhangup, EPERM, "hangs up a terminal"),
	REFUSE(SYSTEM, vserver, ENOSYS, "as afs_syscall"),

	EXAMINE(EXECUTION, personality, PERSONALITY, "some personalities switch off memory protections"),

	EXAMINE(TERMINAL, ioctl, IOCTL, "an allow list (data/ioctls.c): requests type into terminals, and change files through descriptors for reading"),

	EXAMINE(SOCKETS, setsockopt, SETSOCKOPT, "an allow list (data/sockopts.c): options load protocols and programs into the kernel"),
	EXAMINE(SOCKETS, socket, SOCKET, "rare protocol families are the kernel's weakest code, and vsock ignores namespaces"),
	EXAMINE(SOCKETS, socketpair, SOCKETPAIR, "as socket"),

	EXAMINE(SETUID, chmod, MODE_SECOND, "a set-user-id file would outlive the sandbox and run with its owner's rights"),
	EXAMINE(SETUID, creat, NODE_SECOND, "as chmod"),
	EXAMINE(SETUID, fchmod, MODE_SECOND, "as chmod"),
	EXAMINE(SETUID, fchmodat, MODE_THIRD, "as chmod"),
	EXAMINE(SETUID, fchmodat2, MODE_THIRD, "as chmod"),
	EXAMINE(SETUID, mkdir, MODE_SECOND, "as chmod"),
	EXAMINE(SETUID, mkdirat, MODE_THIRD, "as chmod"),
	EXAMINE(SETUID, mknod, NODE_SECOND, "as chmod; every user can create the whiteout device of overlayfs"),
	EXAMINE(SETUID, mknodat, NODE_THIRD, "as chmod; every user can create the whiteout device of overlayfs"),
	EXAMINE(SETUID, open, OPEN, "as chmod, when the call creates a file"),
	EXAMINE(SETUID, openat, OPENAT, "as chmod, when the call creates a file"),
	REFUSE(SETUID, openat2, ENOSYS, "its mode is behind a pointer: it could create a set-user-id file in the workspace; programs fall back to openat"),
	EXAMINE(FILES, renameat2, RENAME, "RENAME_WHITEOUT leaves a device behind"),

	REFUSE(MARKS, file_setattr, ENOSYS, "flags of a file, as FS_IOC_SETFLAGS of data/ioctls.c"),
};

const size_t syscall_rules_count = ARRAY_LEN(syscall_rules);

/* ---- engines without namespaces, and calls that the broker handles ---- */

#define IN(traits, ...) {__VA_ARGS__, traits, 0, 0}
#define IN_BUT(traits, without, ...) {__VA_ARGS__, traits, without, 0}
#define IN_ON(traits, archs, ...) {__VA_ARGS__, traits, 0, archs}
/* The flags of open(2) have numbers of their own on Arm. */
#define ARM (1U << SYSCALL_AARCH64)
#define NOT_ARM (1U << SYSCALL_X86_64 | 1U << SYSCALL_RISCV64)
#define SHARED TRAIT_NO_NAMESPACES
#define ASKED (TRAIT_NO_NAMESPACES | TRAIT_BROKER)
#define MARKS TRAIT_MARKS
#define SOCKETS (TRAIT_NO_NAMESPACES | TRAIT_SOCKETS)
#define QUIET (TRAIT_NO_NAMESPACES | TRAIT_SOCKETS | TRAIT_NO_NET)
#define SIGNALS (TRAIT_NO_NAMESPACES | TRAIT_SIGNALS)
#define CHANGES TRAIT_CHANGES
#define READS TRAIT_READS
#define SEEN (TRAIT_NO_NAMESPACES | TRAIT_MARKS)
#define MEMORY (TRAIT_NO_NAMESPACES | TRAIT_MEMORY)

const struct shared_rule shared_rules[] = {
	IN(TRAIT_WATCH, ASK(FILES, access, "a hidden file is recorded as a denial; no check")),
	IN(TRAIT_SOCKETS, ASK(SOCKETS, bind, "a socket file is a file that path rules cover; the socket may belong to another network namespace; and without a namespace an address other than the loopback is open to the host's networks")),
	IN(TRAIT_WATCH, EXAMINE(FILES, chdir, CHDIR, "as access")),
	IN(MARKS, EXAMINE(MARKS, chmod, ASK_MODE_SECOND, "Landlock does not check changes of metadata: modes, owners, times, attributes")),
	IN(MARKS, ASK(MARKS, chown, "as chmod")),
	IN(TRAIT_INNER, PERMIT(MOUNT, chroot, "needs a user namespace of its own; the broker resolves a caller's path from the caller's root")),
	IN(TRAIT_INNER, PERMIT(NAMESPACES, clone, "a nested sandbox; the mounts of the run are locked in its mount namespace, and the broker checks each change there")),
	IN(TRAIT_SOCKETS, ASK(SOCKETS, connect, "a socket file of the host, an address outside, or a socket of another network namespace; the gate decides about addresses outside")),
	IN(CHANGES, EXAMINE(FILES, creat, ASK_NODE_SECOND, "Landlock cannot except a path from a tree that it grants")),
	IN(TRAIT_WATCH_EXEC, EXAMINE(EXECUTION, execve, EXECVE, "a program that may not be executed is recorded as a denial; no check")),
	IN(TRAIT_WATCH_EXEC, ASK(EXECUTION, execveat, "as execve")),
	IN(TRAIT_WATCH, EXAMINE(FILES, faccessat, FROM_CWD, "as access")),
	IN(TRAIT_WATCH, EXAMINE(FILES, faccessat2, FROM_CWD, "as access")),
	IN(MARKS, EXAMINE(MARKS, fchmod, ASK_MODE_SECOND, "as chmod; a descriptor for reading is enough for it")),
	IN(MARKS, EXAMINE(MARKS, fchmodat, ASK_MODE_THIRD, "as chmod")),
	IN(MARKS, EXAMINE(MARKS, fchmodat2, ASK_MODE_THIRD, "as chmod")),
	IN(MARKS, ASK(MARKS, fchown, "as chmod")),
	IN(MARKS, ASK(MARKS, fchownat, "as chmod")),
	IN(SIGNALS, EXAMINE(PROCESSES, fcntl, OWNER, "as kill: the owner of a descriptor gets its signals (SIGIO)")),
	IN(MARKS, ASK(MARKS, fremovexattr, "as chmod")),
	IN(MARKS, ASK(MARKS, fsetxattr, "as chmod")),
	IN(MARKS, ASK(MARKS, futimesat, "as chmod")),
	IN(TRAIT_GATE, ASK(SOCKETS, getpeername, "a program should see the peer that it connected to, not the relay")),
	IN(READS, ASK(MARKS, getxattr, "attributes can be read without opening the file, and Landlock does not check that")),
	IN(SEEN, ASK(MARKS, getxattr, "attributes can be read without opening the file, and Landlock does not check that")),
	IN(READS, REFUSE(MARKS, getxattrat, ENOSYS, "as getxattr, which programs fall back to")),
	IN(SEEN, REFUSE(MARKS, getxattrat, ENOSYS, "as getxattr, which programs fall back to")),
	IN_BUT(SOCKETS, TRAIT_OPEN, EXAMINE(TERMINAL, ioctl, IOCTL_BROKER, "a new terminal is in the host's devpts")),
	IN(ASKED, EXAMINE(PROCESSES, ioprio_set, ASK_IOPRIO, "the caller's other processes could be slowed down")),
	IN(SHARED, EXAMINE(PROCESSES, ioprio_set, OTHER_IOPRIO, "the caller's other processes could be slowed down")),
	IN(SIGNALS, ASK(PROCESSES, kill, "Landlock before ABI 6 does not check signals")),
	IN(TRAIT_DOMAINS, ASK(FILES, landlock_add_rule, "a ruleset that the broker keeps for a domain must not change any more")),
	/* The kernel checks the broker's calls against the broker's Landlock domain, not against
	 * the caller's: an inner domain would not be enforced, unless the broker knows it. */
	IN_BUT(CHANGES, TRAIT_DOMAINS, REFUSE(FILES, landlock_create_ruleset, EOPNOTSUPP, "an inner domain would not hold for calls that the broker makes")),
	IN_BUT(READS, TRAIT_DOMAINS, REFUSE(FILES, landlock_create_ruleset, EOPNOTSUPP, "an inner domain would not hold for calls that the broker makes")),
	IN_BUT(TRAIT_SOCKETS, TRAIT_NO_NAMESPACES | TRAIT_DOMAINS, REFUSE(FILES, landlock_create_ruleset, EOPNOTSUPP, "an inner domain would not hold for calls that the broker makes")),
	IN(TRAIT_DOMAINS, ASK(FILES, landlock_restrict_self, "the broker keeps the ruleset, and makes the calls of the domain's processes under it")),
	IN(CHANGES, REFUSE(FILES, landlock_restrict_self, EOPNOTSUPP, "as landlock_create_ruleset")),
	IN(READS, REFUSE(FILES, landlock_restrict_self, EOPNOTSUPP, "as landlock_create_ruleset")),
	IN_BUT(TRAIT_SOCKETS, TRAIT_NO_NAMESPACES, REFUSE(FILES, landlock_restrict_self, EOPNOTSUPP, "as landlock_create_ruleset")),
	IN(MARKS, ASK(MARKS, lchown, "as chmod")),
	IN(READS, ASK(MARKS, lgetxattr, "as getxattr")),
	IN(SEEN, ASK(MARKS, lgetxattr, "as getxattr")),
	IN(CHANGES, ASK(FILES, link, "as creat")),
	IN(MEMORY, ASK(FILES, link, "sem_open(3) makes a semaphore under another name")),
	IN(CHANGES, ASK(FILES, linkat, "as creat")),
	IN(MEMORY, ASK(FILES, linkat, "sem_open(3) makes a semaphore under another name")),
	IN(TRAIT_SOCKETS, ASK(SOCKETS, listen, "a socket may belong to another network namespace; an unbound one would listen on every address; and the broker allows connections to the run's own listeners")),
	IN(READS, ASK(MARKS, listxattr, "as getxattr")),
	IN(SEEN, ASK(MARKS, listxattr, "as getxattr")),
	IN(READS, REFUSE(MARKS, listxattrat, ENOSYS, "as listxattr, which programs fall back to")),
	IN(SEEN, REFUSE(MARKS, listxattrat, ENOSYS, "as listxattr, which programs fall back to")),
	IN(READS, ASK(MARKS, llistxattr, "as getxattr")),
	IN(SEEN, ASK(MARKS, llistxattr, "as getxattr")),
	IN(MARKS, ASK(MARKS, lremovexattr, "as chmod")),
	IN(MARKS, ASK(MARKS, lsetxattr, "as chmod")),
	IN(TRAIT_WATCH, ASK(FILES, lstat, "as access")),
	IN(TRAIT_EXEC, REFUSE(MEMORY, memfd_create, ENOSYS, "a file without a mount: neither Landlock nor noexec restricts its execve, and MFD_NOEXEC_SEAL not its mmap by the dynamic loader; programs fall back as on an old kernel")),
	IN(CHANGES, EXAMINE(FILES, mkdir, ASK_MODE_SECOND, "as creat")),
	IN(MEMORY, EXAMINE(FILES, mkdir, ASK_MODE_SECOND, "mkdtemp(3) with a template in /tmp")),
	IN(CHANGES, EXAMINE(FILES, mkdirat, ASK_MODE_THIRD, "as creat")),
	IN(MEMORY, EXAMINE(FILES, mkdirat, ASK_MODE_THIRD, "mkdtemp(3) with a template in /tmp")),
	IN(CHANGES, EXAMINE(FILES, mknod, ASK_NODE_SECOND, "as creat")),
	IN(CHANGES, EXAMINE(FILES, mknodat, ASK_NODE_THIRD, "as creat")),
	IN(TRAIT_INNER, ASK(MOUNT, mount, "the run's own mounts are locked; but a new overlay empties its work directory, whatever the rules about names in it")),
	IN(SHARED, REFUSE(IPC, mq_open, EPERM, "message queues are the host's without a namespace")),
	IN(SHARED, REFUSE(IPC, mq_unlink, EPERM, "as mq_open")),
	IN(SHARED, REFUSE(IPC, msgctl, EPERM, "as mq_open")),
	IN(SHARED, REFUSE(IPC, msgget, EPERM, "as mq_open")),
	IN(SHARED, REFUSE(IPC, msgrcv, EPERM, "as mq_open")),
	IN(SHARED, REFUSE(IPC, msgsnd, EPERM, "as mq_open")),
	IN(TRAIT_WATCH, EXAMINE(FILES, newfstatat, NAMED_FOURTH, "as access")),
	IN(READS, EXAMINE(FILES, open, ASK_OPEN, "as creat, for reading too")),
	IN(TRAIT_WATCH, EXAMINE(FILES, open, ASK_OPEN, "as access")),
	IN(CHANGES | MEMORY, EXAMINE(FILES, open, CHANGE_MEMORY_OPEN, "as creat; and shm_open(3) for reading")),
	IN(CHANGES, EXAMINE(FILES, open, CHANGE_OPEN, "as creat")),
	IN(MEMORY, EXAMINE(FILES, open, MEMORY_OPEN, "shm_open(3) and sem_open(3) open files in /dev/shm, which is the host's; the filter recognizes them by their flags")),
	IN(SHARED | TRAIT_TRUNCATE, EXAMINE(FILES, open, TRUNCATING_OPEN, "Landlock before ABI 3 does not check truncation")),
	IN(READS, EXAMINE(FILES, openat, ASK_OPENAT, "as creat, for reading too")),
	IN(TRAIT_WATCH, EXAMINE(FILES, openat, WATCH_OPENAT, "as access")),
	IN_ON(CHANGES | MEMORY, NOT_ARM, EXAMINE(FILES, openat, CHANGE_MEMORY_OPENAT, "as open")),
	IN_ON(CHANGES | MEMORY, ARM, EXAMINE(FILES, openat, CHANGE_MEMORY_OPENAT_ARM, "as open; the flags have other numbers")),
	IN(CHANGES, EXAMINE(FILES, openat, CHANGE_OPENAT, "as creat")),
	IN_ON(MEMORY, NOT_ARM, EXAMINE(FILES, openat, MEMORY_OPENAT, "as open")),
	IN_ON(MEMORY, ARM, EXAMINE(FILES, openat, MEMORY_OPENAT_ARM, "as open; the flags have other numbers")),
	IN(SHARED | TRAIT_TRUNCATE, EXAMINE(FILES, openat, TRUNCATING_OPENAT, "Landlock before ABI 3 does not check truncation")),
	IN(SIGNALS, ASK(PROCESSES, pidfd_send_signal, "as kill")),
	IN(TRAIT_INNER, PERMIT(MOUNT, pivot_root, "as chroot")),
	IN(TRAIT_BROKER, EXAMINE(PROCESSES, prctl, DUMPABLE, "the broker cannot read the memory of a caller that is not dumpable: gpg-agent, ssh-agent, a nested Corral")),
	IN(SHARED | TRAIT_DOMAINS, EXAMINE(PROCESSES, prlimit64, PRLIMIT_OF_OTHER_OR_TAG, "the broker marks the processes of a Landlock domain by a limit; and as below")),
	IN(TRAIT_DOMAINS, EXAMINE(PROCESSES, prlimit64, PRLIMIT_OF_TAG, "the broker marks the processes of a Landlock domain by a limit")),
	IN(SHARED, EXAMINE(PROCESSES, prlimit64, OTHER_PROCESS, "the limits of the caller's other processes could be lowered")),
	IN(TRAIT_OPEN, REFUSE(PROCESSES, process_vm_readv, EPERM, "the caller's other processes can be reached")),
	IN(TRAIT_OPEN, REFUSE(PROCESSES, process_vm_writev, EPERM, "the caller's other processes can be reached")),
	IN(TRAIT_OPEN, REFUSE(PROCESSES, ptrace, EPERM, "the caller's other processes can be reached")),
	IN(READS, ASK(MARKS, readlink, "as getxattr, for a symlink's target")),
	IN(SEEN, ASK(MARKS, readlink, "as getxattr, for a symlink's target")),
	IN(READS, ASK(MARKS, readlinkat, "as readlink")),
	IN(SEEN, ASK(MARKS, readlinkat, "as readlink")),
	IN(MARKS, ASK(MARKS, removexattr, "as chmod")),
	IN(MARKS, REFUSE(MARKS, removexattrat, ENOSYS, "as chmod; programs fall back to removexattr")),
	IN_BUT(SHARED, TRAIT_OPEN, REFUSE(MARKS, removexattrat, ENOSYS, "as chmod; programs fall back to removexattr")),
	IN(CHANGES, ASK(FILES, rename, "as creat")),
	IN(CHANGES, ASK(FILES, renameat, "as creat")),
	IN(CHANGES, EXAMINE(FILES, renameat2, ASK_RENAME, "as creat")),
	IN(CHANGES, ASK(FILES, rmdir, "as creat")),
	IN(MEMORY, ASK(FILES, rmdir, "directories of mkdtemp(3)")),
	IN(SIGNALS, ASK(PROCESSES, rt_sigqueueinfo, "as kill")),
	IN(SIGNALS, ASK(PROCESSES, rt_tgsigqueueinfo, "as kill")),
	IN(TRAIT_PINNED, REFUSE(PROCESSES, sched_setaffinity, EPERM, "the affinity mask enforces limits.cpus where no cgroup does")),
	IN(ASKED, EXAMINE(PROCESSES, sched_setaffinity, ASK_PROCESS, "as ioprio_set; threads pass their own tid")),
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
	IN_BUT(TRAIT_SOCKETS, TRAIT_NO_NAMESPACES, EXAMINE(SOCKETS, sendmmsg, FAST_THIRD, "TCP Fast Open connects without connect(2), past the broker and the gate; clients fall back to it")),
	IN(SHARED | TRAIT_NO_NET, EXAMINE(SOCKETS, sendmmsg, FAST_THIRD, "TCP Fast Open connects without connect(2)")),
	IN_BUT(TRAIT_SOCKETS, TRAIT_NO_NAMESPACES, EXAMINE(SOCKETS, sendmsg, FAST_SECOND, "as sendmmsg")),
	IN(SHARED | TRAIT_NO_NET, EXAMINE(SOCKETS, sendmsg, FAST_SECOND, "as sendmmsg")),
	IN_BUT(TRAIT_SOCKETS | TRAIT_WATCH, TRAIT_NO_NAMESPACES, EXAMINE(SOCKETS, sendto, WATCH_SENDTO, "as sendmmsg; and a datagram without a route is recorded as a denial")),
	IN_BUT(TRAIT_SOCKETS, TRAIT_NO_NAMESPACES, EXAMINE(SOCKETS, sendto, FAST_THIRD, "as sendmmsg")),
	IN(SHARED | TRAIT_NO_NET, EXAMINE(SOCKETS, sendto, FAST_THIRD, "as sendmmsg")),
	IN(TRAIT_INNER, PERMIT(SYSTEM, setdomainname, "of a namespace of its own: the run's needs a capability that it does not have")),
	IN(TRAIT_INNER, PERMIT(SYSTEM, sethostname, "as setdomainname")),
	IN(TRAIT_INNER, PERMIT(NAMESPACES, setns, "namespaces of the run's own processes: pid 1 is not dumpable, so that its own cannot be opened")),
	IN(ASKED, EXAMINE(PROCESSES, setpriority, ASK_SETPRIORITY, "as ioprio_set")),
	IN(SHARED, EXAMINE(PROCESSES, setpriority, OTHER_SETPRIORITY, "as ioprio_set")),
	IN(TRAIT_DOMAINS, EXAMINE(PROCESSES, setrlimit, SETRLIMIT_OF_TAG, "as prlimit64")),
	IN(SHARED | TRAIT_NO_NET, EXAMINE(SOCKETS, setsockopt, SETSOCKOPT_NO_NET, "packets for the loopback could leave through another interface")),
	IN(SHARED, EXAMINE(SOCKETS, setsockopt, SETSOCKOPT_SHARED, "two more options bypass connect(2) and bind(2)")),
	IN(MARKS, ASK(MARKS, setxattr, "as chmod")),
	IN(MARKS, REFUSE(MARKS, setxattrat, ENOSYS, "as chmod; programs fall back to setxattr")),
	IN_BUT(SHARED, TRAIT_OPEN, REFUSE(MARKS, setxattrat, ENOSYS, "as chmod; programs fall back to setxattr")),
	IN(SHARED, REFUSE(IPC, shmat, EPERM, "as mq_open")),
	IN(SHARED, REFUSE(IPC, shmctl, EPERM, "as mq_open")),
	IN(SHARED, REFUSE(IPC, shmget, EPERM, "as mq_open")),
	IN(QUIET, EXAMINE(SOCKETS, socket, SOCKET_BROKER_NO_NET, "only TCP can be confined to the loopback")),
	IN(SOCKETS, EXAMINE(SOCKETS, socket, SOCKET_BROKER, "a datagram's address is behind a pointer")),
	IN_BUT(TRAIT_SOCKETS, TRAIT_NO_NAMESPACES | TRAIT_DATAGRAMS, EXAMINE(SOCKETS, socket, SOCKET_BROKER, "a datagram's address is behind a pointer, and may be a socket file of the host")),
	IN(SHARED | TRAIT_NO_NET, EXAMINE(SOCKETS, socket, SOCKET_ALONE_NO_NET, "without a broker its destination cannot be checked")),
	IN_BUT(SHARED, TRAIT_OPEN, EXAMINE(SOCKETS, socket, SOCKET_ALONE, "without a broker its socket file cannot be checked")),
	IN_BUT(ASKED, TRAIT_OPEN, EXAMINE(SOCKETS, socketpair, SOCKETPAIR_BROKER, "as socket: one end of a pair can send a datagram to another address")),
	IN_BUT(TRAIT_SOCKETS, TRAIT_NO_NAMESPACES | TRAIT_DATAGRAMS, EXAMINE(SOCKETS, socketpair, SOCKETPAIR_BROKER, "as socket: one end of a pair can send a datagram to another address")),
	IN_BUT(SHARED, TRAIT_OPEN, EXAMINE(SOCKETS, socketpair, SOCKETPAIR_SHARED, "as socket: one end of a pair can send a datagram to another address")),
	IN(TRAIT_WATCH, ASK(FILES, stat, "as access")),
	IN(TRAIT_WATCH, EXAMINE(FILES, statx, NAMED_THIRD, "as access")),
	IN(CHANGES, ASK(FILES, symlink, "as creat")),
	IN(CHANGES, ASK(FILES, symlinkat, "as creat")),
	IN(SIGNALS, ASK(PROCESSES, tgkill, "as kill")),
	IN(SIGNALS, ASK(PROCESSES, tkill, "as kill")),
	IN(CHANGES, ASK(FILES, truncate, "as creat")),
	IN(SHARED | TRAIT_TRUNCATE, ASK(FILES, truncate, "Landlock before ABI 3 does not check truncation")),
	IN(CHANGES, ASK(FILES, umask, "the broker needs the caller's umask when it creates files; no check")),
	IN(TRAIT_INNER, PERMIT(MOUNT, umount2, "as chroot: the run's own mounts are locked")),
	IN(CHANGES, ASK(FILES, unlink, "as creat")),
	IN(MEMORY, ASK(FILES, unlink, "shm_unlink(3) and sem_unlink(3)")),
	IN(CHANGES, ASK(FILES, unlinkat, "as creat")),
	IN(MEMORY, EXAMINE(FILES, unlinkat, MEMORY_UNLINKAT, "shm_unlink(3) and sem_unlink(3)")),
	IN(TRAIT_INNER, EXAMINE(NAMESPACES, unshare, INNER_UNSHARE, "as clone")),
	IN(MARKS, ASK(MARKS, utime, "as chmod")),
	IN(MARKS, ASK(MARKS, utimensat, "as chmod")),
	IN(MARKS, ASK(MARKS, utimes, "as chmod")),
};

const size_t shared_rules_count = ARRAY_LEN(shared_rules);
/* clang-format on */
