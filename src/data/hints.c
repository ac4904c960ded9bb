#include "data/hints.h"

#include "base/auto.h"

/* One line a reason, one line a phrase. */
/* clang-format off */
#define OFFLINE HINT_OFFLINE, "net.mode", "the network is off inside; --allow-host NAME opens one host, --profile coding your package registries, --net full the host's network; or fetch what is needed outside first"
#define LOOPBACK HINT_LOOPBACK, "net.mode", "loopback is the sandbox's own inside; --host-port PORT reaches a service of the host's, --socket PATH a unix socket of it, --net full all of its network"
#define RIGHTS HINT_ALWAYS, "privileges", "nothing gains rights inside: set-user-id is inert and no capability is held; do this step outside"
#define SERVICES HINT_ALWAYS, "ipc", "the host's services (systemd, D-Bus, Docker) are out of reach inside; do this step outside, or pass the service's unix socket: --socket PATH"
#define NESTED HINT_ALWAYS, "namespaces", "no namespace can be made inside; switch the program's own sandbox off, this one holds for it"
#define COUNTERS HINT_ALWAYS, "system calls", "performance counters and tracing of the kernel are closed inside; measure outside"
#define FOREIGN HINT_ALWAYS, "system calls", "32-bit programs and calls of a foreign architecture are ended inside; use a 64-bit build"
#define SOCKETS HINT_ALWAYS, "system calls", "only unix, IPv4, IPv6 and route sockets can be made inside"
#define OUTSIDE HINT_ALWAYS, "pid", "processes outside can be neither seen nor signalled"
#define OWNERS HINT_ALWAYS, "ids", "no user or group but your own exists inside"
#define LIMIT HINT_ALWAYS, "limits", "no limit can be raised inside; see the Limits options of corral run"
#define WRITE HINT_READ_ONLY, "fs.write", "read-only inside, as all is but the workspace (unless the mode is read-only), /tmp and a private HOME; `corral check path PATH --write` names the rule and the option"
#define PROTECTED HINT_PROTECTED, "fs.protect", "protected by a rule; `corral check path PATH --write` names it"
#define KEPT HINT_BUSY, "fs.protect", "it is, or holds, what stays in its place until the run ends: a granted tree, a repository of git, a protected or denied name; no single option allows it: do this step outside"
#define DENIED HINT_DENIED, "fs.deny", "hidden by a rule; `corral check path PATH` names it"
#define UNSEEN HINT_UNSEEN, "fs.read", "not part of the view inside; `corral check path PATH` names the option"
#define PRIVATE HINT_PRIVATE, "fs.home", "not part of the view inside; `corral check path PATH` names the option"
#define CLOSED HINT_CLOSED, "fs.read", "not part of the view inside; `corral check path PATH` names the option"
#define LOCKED HINT_LOCKED, "fs.write", "read-only inside; `corral check path PATH --write` names the option"
#define STREAMS HINT_SHARED, "net.mode", "without a network of its own a command has TCP, on the loopback and to hosts that --allow-host names; --net full gives the host's"
#define FAR HINT_SHARED, "pid", "processes outside can be seen, but not signalled"
#define FLAGS HINT_ALWAYS, "fs.write", "flags of files cannot be set inside; do this step outside"
#define REMOTE HINT_REMOTE, "fs.read", "a repository that the view does not show; `corral check path PATH` names the option"
#define SOCKET HINT_SOCKET, "net.sockets", "unix sockets of the host are closed inside; --socket PATH passes one"
#define TMP_SIZE HINT_LIMIT, "limits.tmp_size", "/tmp and /dev/shm are private and bounded inside; raise the bound: --tmp-size"
#define PROCESSES HINT_LIMIT, "limits.processes", "the limit on processes; raise it: --processes"
#define OPEN_FILES HINT_LIMIT, "limits.open_files", "the limit on open files; raise it: --open-files"
#define FILE_SIZE HINT_LIMIT, "limits.file_size", "the limit on the size of a file; raise it: --max-file-size"
#define BESIDE HINT_BESIDE, "fs.write", "only single files of this directory are writable inside"
#define SUBMODULE "git's lists of submodules are kept as they are inside: add the submodule outside, or let the command change them: --protect '!.gitmodules' --protect '!.git/config'"

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

	/* rights that nobody has inside */
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

	{"Please tell me who you are", HINT_ALWAYS, "fs.home", "git's settings in your HOME are not shown inside; set user.name and user.email in the repository"},
	{"Failed to register submodule", HINT_ALWAYS, "fs.protect", SUBMODULE},
	{"could not set 'core.worktree'", HINT_ALWAYS, "fs.protect", "git writes the configuration of each submodule anew, which is kept as it is inside: update it outside, or let the command change it: --protect '!.git/modules/**/config'"},
	{"/.git/modules/", HINT_ALWAYS, "fs.protect", SUBMODULE},
	{"failed to create link", HINT_ALWAYS, "fs.write", "no hard link is made from one mount to another, and a repository and each grant are mounts of their own: leave out --local, and git copies"},
	{"could not write config file", HINT_ALWAYS, "fs.protect", "git's configuration names programs, so it is kept as it is inside; change it outside, or except it: --protect '!.git/config'"},
	{"not a git repository: ", UNSEEN},              /* a worktree of a repository elsewhere */
	{"does not appear to be a git repository", REMOTE},
	{"fatal: repository '", REMOTE},                 /* "… does not exist" */
	/* files; a line that names its path is believed before one that does not */
	{"Read-only file system", PROTECTED},
	{"read-only file system", PROTECTED},            /* Go */
	{"EROFS", PROTECTED},
	{"Permission denied", DENIED},
	{"EACCES", DENIED},
	{"No such file or directory", DENIED},           /* beneath a hidden directory */
	{"Read-only file system", BESIDE},               /* the new file of an atomic save */
	{"read-only file system", BESIDE},
	{"EROFS", BESIDE},
	{"couldn't open temporary file", BESIDE},        /* sed -i, where what is outside is not there */
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

	/* said for so many reasons that everything above is more likely */
	{"Operation not permitted", RIGHTS},
	{"operation not permitted", RIGHTS},
	{"EPERM", RIGHTS},
};
/* clang-format on */

const size_t hints_count = ARRAY_LEN(hints);

/* clang-format off */
const struct hint hint_link = {"", HINT_DENIED, "fs.deny", "a file with several names (hard links), of which a rule denies one"};
const struct hint hint_unlisted = {"", HINT_ALWAYS, "net.allow", "only hosts that a rule allows are reached inside; add one with --allow-host NAME[:PORT]"};
const struct hint hint_forbidden = {"", HINT_ALWAYS, "net.names", "refused although a rule speaks of it; corral explain shows the rules"};
const struct hint hint_failed = {"", HINT_ALWAYS, "net.names", "a rule allows it, and it failed outside the sandbox"};
/* clang-format on */
