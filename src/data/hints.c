#include "data/hints.h"

#include "base/auto.h"

/* One line a reason, one line a phrase. */
/* clang-format off */
#define OFFLINE HINT_OFFLINE, "net.mode", "the network is off inside; --allow-host NAME opens one host, --net full the host's network; or fetch what is needed outside first"
#define LOOPBACK HINT_LOOPBACK, "net.mode", "loopback is the sandbox's own inside; --host-port PORT reaches a service of the host's, --net full all of its network"
#define RIGHTS HINT_ALWAYS, "privileges", "nothing gains rights inside: set-user-id is inert and no capability is held; do this step outside"
#define SERVICES HINT_ALWAYS, "ipc", "the host's services (systemd, D-Bus, Docker) are out of reach inside; do this step outside"
#define NESTED HINT_ALWAYS, "namespaces", "no namespace can be made inside; switch the program's own sandbox off, this one holds for it"
#define COUNTERS HINT_ALWAYS, "system calls", "performance counters and tracing of the kernel are closed inside; measure outside"
#define FOREIGN HINT_ALWAYS, "system calls", "32-bit programs and calls of a foreign architecture are ended inside; use a 64-bit build"
#define SOCKETS HINT_ALWAYS, "system calls", "only unix, IPv4, IPv6 and route sockets can be made inside"
#define OUTSIDE HINT_ALWAYS, "pid", "processes outside can be neither seen nor signalled"
#define OWNERS HINT_ALWAYS, "ids", "no user or group but your own exists inside"
#define LIMIT HINT_ALWAYS, "limits", "no limit can be raised inside; see the Limits options of corral run"
#define WRITE HINT_READ_ONLY, "fs.write", "read-only inside, as all is but the workspace (unless the mode is read-only), /tmp and a private HOME; grant more with --write PATH"
#define DENIED HINT_DENIED, "fs.deny", "hidden by a rule; corral explain shows which"
#define UNSEEN HINT_UNSEEN, "fs.read", "not part of the view inside, whether or not it exists; grant it with --read PATH or --write PATH"
#define PRIVATE HINT_PRIVATE, "fs.home", "HOME is a private one inside; files of your own appear when they are granted with --read PATH"
#define CLOSED HINT_CLOSED, "fs.read", "not part of the view inside, whether or not it exists; grant it with --read PATH or --write PATH"
#define LOCKED HINT_LOCKED, "fs.write", "closed inside, as all is but the workspace (unless the mode is read-only), TMPDIR and a private HOME; grant more with --write PATH"
#define STREAMS HINT_SHARED, "net.mode", "without a network of its own a command has TCP, on the loopback and to hosts that --allow-host names; --net full gives the host's"
#define FAR HINT_SHARED, "pid", "processes outside can be seen, but not signalled"
#define FLAGS HINT_SHARED, "fs.write", "flags of files cannot be set at this level; do this step outside"
#define TMP_SIZE HINT_ALWAYS, "limits.tmp_size", "/tmp and /dev/shm are private and bounded inside; raise the bound with --tmp-size"

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
	{"could not write config file", HINT_ALWAYS, "fs.protect", "git's configuration names programs, so it is kept as it is inside; change it outside, or except it: --protect '!.git/config'"},
	{"not a git repository: ", UNSEEN},              /* a worktree of a repository elsewhere */
	/* files; a line that names its path is believed before one that does not */
	{"Permission denied", DENIED},
	{"EACCES", DENIED},
	{"No such file or directory", DENIED},           /* beneath a hidden directory */
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
	{"No such file or directory", UNSEEN},
	{"ENOENT", UNSEEN},
	{"Directory nonexistent", UNSEEN},     /* dash */
	{"no such file or directory", UNSEEN}, /* Go, Ruby */
	{"No such file or directory", PRIVATE},
	{"no such file or directory", PRIVATE},

	{"No such process", OUTSIDE},
	{"ESRCH", OUTSIDE},

	/* limits */
	{"error setting limit", LIMIT},                  /* ulimit */
	{"No space left on device", TMP_SIZE},
	{"ENOSPC", TMP_SIZE},
	{"Resource temporarily unavailable", HINT_ALWAYS, "limits.processes", "perhaps the limit on processes; raise it with --processes"},
	{"Too many open files", HINT_ALWAYS, "limits.open_files", "raise the limit with --open-files"},
	{"File size limit exceeded", HINT_ALWAYS, "limits.file_size", "raise the limit with --max-file-size"},

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
const struct hint hint_link_denied = {"", HINT_ALWAYS, "fs.deny", "a hard link: another name of this file is denied; except that name with \"!\", or make this one a copy"};
const struct hint hint_link_unknown = {"", HINT_ALWAYS, "fs.deny", "the file has several names (hard links), and the search for denied ones did not come to an end: a directory cannot be read, or the tree is too large; grant less, or make it a copy"};
const struct hint hint_unlisted = {"", HINT_ALWAYS, "net.allow", "only hosts that a rule allows are reached inside; add one with --allow-host NAME[:PORT]"};
const struct hint hint_forbidden = {"", HINT_ALWAYS, "net.names", "refused although a rule speaks of it; corral explain shows the rules"};
/* clang-format on */
