/* SPDX-License-Identifier: Apache-2.0 */
/* Which ioctl(2) requests a sandboxed command may make.
 *
 * Every driver and file system interprets a request number in its own way, most requests
 * need only a descriptor for reading, and every kernel adds some.  So the table is an
 * allow list of the requests that programs need on terminals, pipes, sockets and files.
 *
 * Should:   have one row, with its reason, for each request that is allowed, and for each
 *           refused request for which programs expect another error than ENOTTY.
 * Must not: list a request that changes a file through a descriptor for reading
 *           (flags, versions, encryption keys and policies, verity, subvolumes,
 *           layout, deduplication), or that sends signals, input or settings to other
 *           processes.
 * Fails:    closed: a request that is not listed returns ENOTTY, as from a file that does
 *           not support it; every program handles that. */
#include "data/syscalls.h"

#include "base/auto.h"

#include <errno.h>

/* clang-format off */
static const struct arg_answer rows[] = {
	{0x5401, LET_THROUGH, "TCGETS", "tcgetattr(3) and isatty(3)"},
	{0x5402, LET_THROUGH, "TCSETS", "tcsetattr(3)"},
	{0x5403, LET_THROUGH, "TCSETSW", "as TCSETS, after the output has drained"},
	{0x5404, LET_THROUGH, "TCSETSF", "as TCSETSW, and drops the input"},
	{0x5409, LET_THROUGH, "TCSBRK", "tcdrain(3) and tcsendbreak(3)"},
	{0x540a, LET_THROUGH, "TCXONC", "tcflow(3)"},
	{0x540b, LET_THROUGH, "TCFLSH", "tcflush(3)"},
	{0x540c, LET_THROUGH, "TIOCEXCL", "programs for serial terminals use it on a pty too; the terminal is the run's own"},
	{0x540d, LET_THROUGH, "TIOCNXCL", "takes TIOCEXCL back"},
	{0x540e, LET_THROUGH, "TIOCSCTTY", "login_tty(3): a session on a new pty"},
	{0x540f, LET_THROUGH, "TIOCGPGRP", "tcgetpgrp(3): job control"},
	{0x5410, LET_THROUGH, "TIOCSPGRP", "tcsetpgrp(3): job control"},
	{0x5411, LET_THROUGH, "TIOCOUTQ", "bytes that are not sent yet, of terminals and sockets (SIOCOUTQ)"},
	{0x5412, EPERM, "TIOCSTI", "inserts input into a terminal that other processes read"},
	{0x5413, LET_THROUGH, "TIOCGWINSZ", "the window's size"},
	{0x5414, LET_THROUGH, "TIOCSWINSZ", "terminal multiplexers and script(1) set it on their ptys"},
	{0x541b, LET_THROUGH, "FIONREAD", "bytes that can be read, of terminals, pipes, files and sockets (SIOCINQ)"},
	{0x541c, EPERM, "TIOCLINUX", "pastes into the console and reads its screen"},
	{0x541d, EPERM, "TIOCCONS", "takes the console's output"},
	{0x5420, LET_THROUGH, "TIOCPKT", "packet mode of a pty's master: expect and remote shells"},
	{0x5421, LET_THROUGH, "FIONBIO", "O_NONBLOCK of any descriptor, as most event loops set it"},
	{0x5422, LET_THROUGH, "TIOCNOTTY", "gives up the controlling terminal: daemons"},
	{0x5423, EPERM, "TIOCSETD", "loads a line discipline"},
	{0x5425, LET_THROUGH, "TCSBRKP", "tcsendbreak(3) with a time"},
	{0x5429, LET_THROUGH, "TIOCGSID", "tcgetsid(3)"},
	{0x5441, LET_THROUGH, "TIOCGPTPEER", "openpty(3): the other end of a pty, without a path"},
	{0x5450, LET_THROUGH, "FIONCLEX", "clears FD_CLOEXEC: Python"},
	{0x5451, LET_THROUGH, "FIOCLEX", "sets FD_CLOEXEC: Node, Python, Rust"},
	{0x5452, LET_THROUGH, "FIOASYNC", "O_ASYNC of any descriptor: nginx; fcntl(2) sets the receiver of the signal"},
	{0x8901, EPERM, "FIOSETOWN", "sets the process or group that SIGIO and SIGURG go to; fcntl(2) does the same and is checked"},
	{0x8902, EPERM, "SIOCSPGRP", "as FIOSETOWN"},
	{0x8905, LET_THROUGH, "SIOCATMARK", "sockatmark(3)"},
	{0x8906, LET_THROUGH, "SIOCGSTAMP", "when the last datagram arrived: ping(8)"},
	{0x8910, LET_THROUGH, "SIOCGIFNAME", "if_indextoname(3)"},
	{0x8912, LET_THROUGH, "SIOCGIFCONF", "the interfaces: Java, Python's fcntl recipes"},
	{0x8913, LET_THROUGH, "SIOCGIFFLAGS", "as SIOCGIFCONF, of one interface"},
	{0x8914, EPERM, "SIOCSIFFLAGS", "switches an interface on or off; an ordinary user gets EPERM too"},
	{0x8915, LET_THROUGH, "SIOCGIFADDR", "as SIOCGIFFLAGS"},
	{0x8916, EPERM, "SIOCSIFADDR", "as SIOCSIFFLAGS"},
	{0x8917, LET_THROUGH, "SIOCGIFDSTADDR", "as SIOCGIFFLAGS"},
	{0x8919, LET_THROUGH, "SIOCGIFBRDADDR", "as SIOCGIFFLAGS"},
	{0x891b, LET_THROUGH, "SIOCGIFNETMASK", "as SIOCGIFFLAGS"},
	{0x8921, LET_THROUGH, "SIOCGIFMTU", "as SIOCGIFFLAGS"},
	{0x8927, LET_THROUGH, "SIOCGIFHWADDR", "as SIOCGIFFLAGS: uuid libraries"},
	{0x8933, LET_THROUGH, "SIOCGIFINDEX", "if_nametoindex(3)"},
	{0x8942, LET_THROUGH, "SIOCGIFTXQLEN", "as SIOCGIFFLAGS: ifconfig(8)"},
	{0x8946, EOPNOTSUPP, "SIOCETHTOOL", "reads and writes a driver's settings; on this error psutil assumes an interface without any"},
	{0x894b, LET_THROUGH, "SIOCOUTQNSD", "bytes of a TCP socket that were not sent yet"},
	{0x40045431, LET_THROUGH, "TIOCSPTLCK", "unlockpt(3)"},
	{0x40045436, LET_THROUGH, "TIOCSIG", "a signal to the foreground group of a pty of which the caller has the master: Emacs"},
	{0x40049409, LET_THROUGH, "FICLONE", "cp --reflink; the destination is open for writing"},
	{0x40082102, LET_THROUGH, "SECCOMP_IOCTL_NOTIF_ID_VALID", "a nested Corral serves its own broker"},
	{0x40082104, LET_THROUGH, "SECCOMP_IOCTL_NOTIF_SET_FLAGS", "as SECCOMP_IOCTL_NOTIF_ID_VALID"},
	{0x40086602, EOPNOTSUPP, "FS_IOC_SETFLAGS", "changes file flags through a descriptor for reading; chattr(1) has a message for this error"},
	{0x40182103, LET_THROUGH, "SECCOMP_IOCTL_NOTIF_ADDFD", "as SECCOMP_IOCTL_NOTIF_ID_VALID"},
	{0x401c5820, EOPNOTSUPP, "FS_IOC_FSSETXATTR", "as FS_IOC_SETFLAGS"},
	{0x4020940d, LET_THROUGH, "FICLONERANGE", "as FICLONE, for a part"},
	{0x402c542b, LET_THROUGH, "TCSETS2", "as TCSETS, with any speed; tcsetattr(3) since glibc 2.42"},
	{0x402c542c, LET_THROUGH, "TCSETSW2", "as TCSETS2"},
	{0x402c542d, LET_THROUGH, "TCSETSF2", "as TCSETS2"},
	{0x80045430, LET_THROUGH, "TIOCGPTN", "ptsname(3)"},
	{0x80086601, LET_THROUGH, "FS_IOC_GETFLAGS", "reads a file's flags: lsattr(1), archivers, a nested Corral"},
	{0x801c581f, LET_THROUGH, "FS_IOC_FSGETXATTR", "reads a file's project and flags: lsattr -p"},
	{0x802c542a, LET_THROUGH, "TCGETS2", "as TCGETS; tcgetattr(3) since glibc 2.42"},
	{0xc0182101, LET_THROUGH, "SECCOMP_IOCTL_NOTIF_SEND", "as SECCOMP_IOCTL_NOTIF_ID_VALID"},
	{0xc0502100, LET_THROUGH, "SECCOMP_IOCTL_NOTIF_RECV", "as SECCOMP_IOCTL_NOTIF_ID_VALID"},
};
/* clang-format on */

const struct arg_answers ioctl_answers = {
	.arg = 1, .otherwise = ENOTTY, .count = ARRAY_LEN(rows), .rows = rows};
