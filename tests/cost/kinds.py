# SPDX-License-Identifier: Apache-2.0
"""The kinds of system calls that have ceilings, and the calls that are not counted."""

# A call that stands nowhere here is of the kind "other".  The names are strace's, of every architecture.
KINDS = {
    "open": "open openat openat2 creat",
    "look": "stat lstat fstat newfstatat statx access faccessat faccessat2 readlink readlinkat getdents64 statfs "
            "fstatfs getcwd",
    "transfer": "read write pread64 pwrite64 readv writev sendto recvfrom sendmmsg recvmmsg splice",
    "descriptor": "close close_range fcntl dup dup2 dup3 pipe pipe2 socket socketpair pidfd_open pidfd_getfd eventfd2 "
                  "timerfd_create signalfd4 epoll_create1 memfd_create inotify_init1",
    "make": "mkdir mkdirat mknodat symlink symlinkat link linkat unlink unlinkat rename renameat renameat2 ftruncate",
    "mount": "mount umount2 pivot_root open_tree move_mount mount_setattr fsopen fsconfig fsmount",
    "memory": "mmap munmap mremap mprotect madvise brk",
    "signal": "rt_sigaction rt_sigprocmask rt_sigpending kill tgkill pidfd_send_signal",
    "process": "fork vfork clone clone3 execve execveat",
    "limit": "prctl prlimit64 capget capset seccomp landlock_create_ruleset landlock_add_rule landlock_restrict_self",
}

# Calls whose number depends on something else than on the code, and on what.
LEFT_OUT = {
    "poll": "one for each wake-up",
    "ppoll": "one for each wake-up",
    "epoll_wait": "one for each wake-up",
    "epoll_pwait": "one for each wake-up",
    "wait4": "one for each wake-up",
    "waitid": "one for each wake-up",
    "sendmsg": "pid 1 reports a command that runs for longer than a moment",
    "recvmsg": "one for each sendmsg",
    "restart_syscall": "a signal came while a call waited",
    "rt_sigreturn": "a signal came",
    "futex": "only when another thread holds the lock",
    "nanosleep": "one for each round of a wait",
    "clock_nanosleep": "one for each round of a wait",
    "clock_gettime": "a system call only where the vDSO cannot read the clock",
    "gettimeofday": "a system call only where the vDSO cannot read the clock",
    "time": "a system call only where the vDSO cannot read the clock",
    "rmdir": "several processes remove the run's directory, and those that come late are killed",
    "shutdown": "the outer warden is killed before it or after it",
    "exit": "pid 1 is killed before it or after it",
    "exit_group": "pid 1 is killed before it or after it",
}

# The same for calls whose arguments and results match.
LEFT_OUT_MATCHING = {
    r"^SIGRT(MIN|_1), ": "glibc's posix_spawn(3), as of make(1), ignores its own signals in a child, and pid 1 resets these",
    r"^PR_CAPBSET_DROP,": "one for each capability that the kernel has",
    r'^AT_FDCWD, "/etc/resolv.conf", AT_STATX': "the supervisor looks for a new one at each wake-up",
    r"FIONREAD": "the end of a stream is found so, or by a read",
    r'^\d+, +"", 65536\)': "the end of a stream is found so, or by FIONREAD",
    r'^\d+, +"", \d+, MSG_DONTWAIT': "the gate sees the end of its lifeline, or is killed before",
}

# The same for all calls of a process from the one whose arguments match to its next close.
LEFT_OUT_SPANS = {
    r'^"/tmp/", O_RDONLY': "one run in sixteen, by chance, looks for directories of dead runs",
    r'^"/proc/\d+/task/\d+/children"': "the supervisor looks for them when pid 1 takes longer than 50 ms to die",
}

# Calls that found nothing to do, or were interrupted: the scheduler decides about them.
TURNED_BACK = ("EAGAIN", "EINTR", "ERESTARTSYS", "ERESTARTNOINTR", "ERESTART_RESTARTBLOCK", "ERESTARTNOHAND")

# Counts that are read from the arguments and results of the calls, or from elsewhere; ceilings name them like a kind.
OTHER_COUNTS = {
    "calls": "all of them",
    "other": "calls of no kind",
    "mounts": "mounts that were made",
    "processes": "processes that were made",
    "notifications": "calls of the command that the broker answered",
    "served": "calls of the broker for one of the last ten that it answered: the median",
    "filter": "instructions of the longest seccomp filter",
    "faults": "page faults without input or output, of all processes",
    "instructions": "that plan_build() executes, with all that it calls",
    "allocations": "calls of malloc, calloc and realloc, until `corral explain` has printed the plan",
    "mapped": "bytes that the kernel maps for the binary when it starts",
}
