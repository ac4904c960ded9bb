/* SPDX-License-Identifier: Apache-2.0 */
/* The table of hints: error messages of programs, and the rule of the sandbox that causes them.
 *
 * Should:   hold one row a phrase, with the rule and a remedy that can be pasted; the more
 *           specific phrase first.
 * Must not: allow or refuse anything: a hint is printed after the command has ended.
 * Fails:    a missing row leaves the error of the program without a hint. */
#include "data/hints.h"

#include "base/auto.h"

/* One line a reason, one line a phrase. */
/* clang-format off */
#define OFFLINE HINT_OFFLINE, "net.mode", "the sandbox has no network (net.mode none); allow one host: --allow-host NAME; your package registries: --profile coding; the host's network: --net full"
#define LOOPBACK HINT_LOOPBACK, "net.mode", "127.0.0.1 is the sandbox's own loopback; reach a port of the host: --host-port PORT; a unix socket: --socket PATH; the host's network: --net full"
#define RIGHTS HINT_ALWAYS, "privileges", "no root in the sandbox: set-user-id has no effect and processes have no capabilities; do this step outside"
#define SERVICES HINT_ALWAYS, "ipc", "the sandbox cannot reach services of the host (systemd, D-Bus, Docker); do this step outside, or pass the service's unix socket: --socket PATH"
#define NESTED HINT_ALWAYS, "namespaces", "the sandbox does not allow new namespaces; turn off the program's own sandbox"
#define CALLS HINT_CALLS, "seccomp.extra_deny", "the policy refuses system calls by name, or the step needs root, which the sandbox does not have"
#define COUNTERS HINT_ALWAYS, "system calls", "the sandbox refuses performance counters and kernel tracing; measure outside"
#define FOREIGN HINT_ALWAYS, "system calls", "the sandbox kills 32-bit programs (system calls of another architecture); use a 64-bit build"
#define SOCKETS HINT_ALWAYS, "system calls", "the sandbox allows only unix, IPv4, IPv6 and NETLINK_ROUTE sockets"
#define OUTSIDE HINT_ALWAYS, "pid", "processes outside the sandbox cannot be seen or signalled"
#define OWNERS HINT_ALWAYS, "ids", "the sandbox maps only your own user and group id"
#define LIMIT HINT_ALWAYS, "limits", "a command cannot raise its limits; see Limits in `corral run --help`"
#define WRITE HINT_READ_ONLY, "fs.write", "read-only in the sandbox; writable: workspace (not in mode read-only), /tmp, private HOME; `corral check path PATH --write` names the rule and the option"
#define PROTECTED HINT_PROTECTED, "fs.protect", "protected by a rule; `corral check path PATH --write` names it"
#define KEPT HINT_BUSY, "fs.protect", "it is or contains a mount point, a git repository, or a protected or denied name, which cannot be renamed or removed while the run lasts, or a symlink that would lead out of a git repository; do this step outside"
#define DENIED HINT_DENIED, "fs.deny", "denied by a rule; `corral check path PATH` names it"
#define UNSEEN HINT_UNSEEN, "fs.read", "not mounted in the sandbox; `corral check path PATH` names the option"
#define PRIVATE HINT_PRIVATE, "fs.home", "not mounted in the sandbox; `corral check path PATH` names the option"
#define CLOSED HINT_CLOSED, "fs.read", "not readable in the sandbox; `corral check path PATH` names the option"
#define LOCKED HINT_LOCKED, "fs.write", "read-only in the sandbox; `corral check path PATH --write` names the option"
#define STREAMS HINT_SHARED, "net.mode", "without a network namespace a command has only TCP, on the loopback and to hosts of --allow-host; the host's network: --net full"
#define FAR HINT_SHARED, "pid", "processes outside the sandbox can be seen, but not signalled"
#define FLAGS HINT_ALWAYS, "fs.write", "the sandbox does not allow setting file flags; do this step outside"
#define REMOTE HINT_REMOTE, "fs.read", "this repository is not mounted in the sandbox; `corral check path PATH` names the option"
#define SOCKET HINT_SOCKET, "net.sockets", "the sandbox cannot connect to unix sockets of the host; pass one: --socket PATH"
#define TMP_SIZE HINT_LIMIT, "limits.tmp_size", "/tmp and /dev/shm of the sandbox have a size limit; raise it: --tmp-size SIZE"
#define PROCESSES HINT_LIMIT, "limits.processes", "the limit on processes; raise it: --processes N"
#define OPEN_FILES HINT_LIMIT, "limits.open_files", "the limit on open files; raise it: --open-files N"
#define FILE_SIZE HINT_LIMIT, "limits.file_size", "the limit on the size of a file; raise it: --max-file-size SIZE"
#define BESIDE HINT_BESIDE, "fs.write", "only single files of this directory are writable in the sandbox, so no file can be created in it; grant the directory: --write DIR"
#define SUBMODULE "git's submodule files are read-only in the sandbox: add the submodule outside, or allow changes: --protect '!.gitmodules' --protect '!.git/config'"

const struct hint hints[] = {
	/* names and routes */
	{"Could not resolve", OFFLINE},              /* curl, git, ssh */
	{"unable to resolve host address", OFFLINE}, /* wget */
	{"Temporary failure in name resolution", OFFLINE},
	{"Temporary failure resolving", OFFLINE}, /* apt */
	{"Name or service not known", OFFLINE},
	{"nodename nor servname provided", OFFLINE},
	{"Network is unreachable", OFFLINE},
	{"network is unreachable", OFFLINE}, /* Go */
	{"EAI_AGAIN", OFFLINE},              /* Node */
	{"ENOTFOUND", OFFLINE},
	{"ENETUNREACH", OFFLINE},
	{"UnknownHostException", OFFLINE},        /* Java */
	{"dial tcp: lookup", OFFLINE},            /* Go */
	{"failed to lookup address", OFFLINE},    /* Rust */
	{"no servers could be reached", OFFLINE}, /* dig */
	{"communications error to", OFFLINE},
	{"No matching distribution found", OFFLINE}, /* pip */
	{"Could not fetch URL", OFFLINE},
	{"spurious network error", OFFLINE}, /* cargo */

	/* the host's services */
	{"docker.sock", SOCKET},
	{"socket", SOCKET},                              /* psql, mysql, redis */
	{"Cannot connect to the Docker daemon", SERVICES},
	{"docker.sock", SERVICES},
	{"not been booted with systemd", SERVICES},
	{"reboot parameter file", SERVICES},             /* reboot */
	{"Failed to connect to bus", SERVICES},
	{"message bus", SERVICES},                       /* dbus-send */
	{"authentication agent", SERVICES},              /* ssh-add */
	{"Failed to get D-Bus connection", SERVICES},
	{"Cannot autolaunch D-Bus", SERVICES},

	/* sandboxes inside */
	{"reating new namespace", NESTED},               /* bubblewrap, as root */
	{"create new namespace", NESTED}, /* bubblewrap */
	{"unshare failed", NESTED},
	{"unshare: ", NESTED},
	{"nsenter: ", NESTED},
	{"No usable sandbox", NESTED},        /* Chromium */
	{"the sandbox's namespaces", NESTED}, /* Corral itself */
	{"CLONE_NEWUSER", NESTED},
	{"newuidmap", NESTED},

	/* privileges: no process in the sandbox has any */
	{"no new privileges", RIGHTS}, /* sudo */
	{"effective uid is not 0", RIGHTS},
	{"PERM_SUDOERS", RIGHTS},                        /* sudo, as root */
	{"setresuid", RIGHTS},                           /* setpriv */
	{"failed mount system call", RIGHTS},
	{": not mounted", RIGHTS},                       /* umount */
	{"must be setuid", RIGHTS},
	{"must be suid", RIGHTS},
	{"must be superuser", RIGHTS},
	{"must be root", RIGHTS},
	{"are you root?", RIGHTS},
	{"only root can", RIGHTS},
	{"Only root can", RIGHTS},
	{"su: Authentication failure", RIGHTS},
	{"superuser privilege", RIGHTS},                 /* dpkg */
	{"Only root may", RIGHTS},                       /* adduser */
	{"PAM: Authentication failure", RIGHTS},         /* chsh */
	{"Authentication token manipulation", RIGHTS},   /* passwd */
	{"permission denied on key", RIGHTS},            /* sysctl */
	{"modprobe: FATAL", RIGHTS},
	{"Cannot access the Hardware Clock", RIGHTS},
	{"root privileges", RIGHTS},
	{"cannot lock /etc", RIGHTS},                    /* useradd */
	{"cannot set niceness", RIGHTS},
	{"crontabs/", RIGHTS},                           /* crontab */

	{"perf_event_paranoid", COUNTERS},
	{"No permission to enable", COUNTERS}, /* perf */
	{"perf_event_open", COUNTERS},
	{"read kernel buffer failed", COUNTERS},         /* dmesg */
	{"Address family not supported", SOCKETS},
	{"changing ownership of", OWNERS},
	{"changing group of", OWNERS},

	{"Please tell me who you are", HINT_ALWAYS, "fs.home", "the sandbox does not show git's configuration in your HOME; set user.name and user.email in the repository"},
	{"Failed to register submodule", HINT_ALWAYS, "fs.protect", SUBMODULE},
	{"could not set 'core.worktree'", HINT_ALWAYS, "fs.protect", "git rewrites each submodule's config, which is read-only in the sandbox: update it outside, or allow changes: --protect '!.git/modules/**/config'"},
	{"/.git/modules/", HINT_ALWAYS, "fs.protect", SUBMODULE},
	{"failed to create link", HINT_ALWAYS, "fs.write", "hard links cannot cross mounts, and each grant is a mount of its own; without --local git copies"},
	{"could not lock config file", HINT_ALWAYS, "fs.protect", "git's configuration can name programs, so it is read-only in the sandbox; change it outside, or allow changes: --protect '!.git/config'"},
	{"could not write config file", HINT_ALWAYS, "fs.protect", "git's configuration can name programs, so it is read-only in the sandbox; change it outside, or allow changes: --protect '!.git/config'"},
	{"not a git repository: ", UNSEEN},              /* a worktree of a repository elsewhere */
	{"does not appear to be a git repository", REMOTE},
	{"fatal: repository '", REMOTE},                 /* "… does not exist" */
	/* files; rows that need a path in the line stand before rows that do not */
	{"Read-only file system", PROTECTED},
	{"read-only file system", PROTECTED},            /* Go */
	{"EROFS", PROTECTED},
	{"Permission denied", DENIED},
	{"EACCES", DENIED},
	{"No such file or directory", DENIED},           /* beneath a hidden directory */
	{"Read-only file system", BESIDE},               /* the new file of an atomic save */
	{"read-only file system", BESIDE},
	{"EROFS", BESIDE},
	{"couldn't open temporary file", BESIDE},        /* sed -i, where the directory is read-only */
	{"cannot create", LOCKED},
	{"cannot touch", LOCKED},
	{"cannot remove", LOCKED},
	{"cannot move", LOCKED},
	{"Permission denied", CLOSED},
	{"permission denied", CLOSED},                   /* Go */
	{"EACCES", CLOSED},
	{"Permission denied", LOCKED},
	{"permission denied", LOCKED},
	{"EACCES", LOCKED},
	{"while setting flags", FLAGS},                  /* chattr */
	{"kill: ", FAR},
	{"ptrace(", FAR},                                /* strace */
	{"resource limit: Operation not permitted", FAR}, /* prlimit */
	{"SOCK_DGRAM", STREAMS},                         /* a line of Python's traceback */
	{"socket: Operation not permitted", STREAMS},    /* ping */
	{"read only lock file", WRITE},                  /* apt, as root */
	{"Read-only file system", WRITE},
	{"read-only file system", WRITE},
	{"EROFS", WRITE},
	{"Device or resource busy", KEPT},
	{"resource busy", KEPT},
	{"EBUSY", KEPT},
	{"No such file or directory", UNSEEN},
	{"ENOENT", UNSEEN},
	{"Directory nonexistent", UNSEEN},     /* dash */
	{"no such file or directory", UNSEEN}, /* Go, Ruby */
	{"No such file or directory", PRIVATE},
	{"no such file or directory", PRIVATE},
	{"Directory nonexistent", PRIVATE},

	{"No such process", OUTSIDE},
	{"ESRCH", OUTSIDE},

	/* limits */
	{"error setting limit", LIMIT},                  /* ulimit */
	{"No space left on device", TMP_SIZE},
	{"ENOSPC", TMP_SIZE},
	{"Resource temporarily unavailable", PROCESSES},
	{"Cannot fork", PROCESSES},                      /* dash */
	{"can't fork", PROCESSES},                       /* busybox */
	{"Too many open files", OPEN_FILES},
	{"File size limit exceeded", FILE_SIZE},
	{"File too large", FILE_SIZE},

	{"Bad system call", FOREIGN},
	{"Connection refused", LOOPBACK},
	{"connection refused", LOOPBACK},                /* Go */
	{"ECONNREFUSED", LOOPBACK},
	{"Couldn't connect to server", LOOPBACK},        /* curl */

	/* too general: every row above is more likely */
	{"Operation not permitted", CALLS},
	{"operation not permitted", CALLS},
	{"EPERM", CALLS},
	{"Operation not permitted", RIGHTS},
	{"operation not permitted", RIGHTS},
	{"EPERM", RIGHTS},
};
/* clang-format on */

const size_t hints_count = ARRAY_LEN(hints);

/* clang-format off */
const struct hint hint_link = {"", HINT_DENIED, "fs.deny", "a file with several hard links, one of which a rule denies"};
const struct hint hint_unlisted = {"", HINT_ALWAYS, "net.allow", "no rule allows this host; allow it: --allow-host NAME[:PORT]"};
const struct hint hint_forbidden = {"", HINT_ALWAYS, "net.names", "refused by a rule; `corral explain` lists the rules"};
const struct hint hint_failed = {"", HINT_ALWAYS, "net.names", "a rule allows it; the connection failed outside the sandbox"};
/* clang-format on */
