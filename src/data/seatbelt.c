/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of the macOS backend.
 *
 * Should:   hold one row for each path, service and rule, with its reason.
 * Must not: name a service that acts for the command outside its sandbox: one that opens files,
 *           starts programs (launchservicesd, the pasteboard) or connects to hosts (trustd fetches
 *           the addresses that a certificate names).
 * Fails:    closed: a service without a row cannot be looked up.
 *
 * The sources of these facts are sandbox(7) and the profiles of /System/Library/Sandbox/Profiles
 * as public projects quote them; none was tried on a Mac by this project. */
#include "data/seatbelt.h"

#include "base/auto.h"

/* Not /System as a whole: /System/Volumes/Data has all files of the users under a second name. */
static const struct path_row macos_roots_rows[] = {
	{.path = "/Library/Apple", .reason = "parts of the system", .flags = PATH_EXEC},
	{.path = "/Library/Developer/CommandLineTools",
	 .reason = "compilers, git and make of Apple",
	 .flags = PATH_EXEC},
	{.path = "/Library/Frameworks", .reason = "installed frameworks", .flags = PATH_EXEC},
	{.path = "/Library/Java", .reason = "installed Java machines", .flags = PATH_EXEC},
	{.path = "/Library/Preferences/Logging", .reason = "the C library reads it at start"},
	{.path = "/System/Cryptexes",
	 .reason = "the loader's shared cache since macOS 13",
	 .flags = PATH_EXEC},
	{.path = "/System/Library",
	 .reason = "frameworks, the loader's shared cache",
	 .flags = PATH_EXEC},
	{.path = "/System/iOSSupport", .reason = "frameworks", .flags = PATH_EXEC},
	{.path = "/bin", .reason = "programs", .flags = PATH_EXEC | PATH_MINIMAL},
	{.path = "/nix/store", .reason = "software of Nix", .flags = PATH_EXEC | PATH_MINIMAL},
	{.path = "/opt", .reason = "Homebrew on Apple silicon, MacPorts", .flags = PATH_EXEC},
	{.path = "/private/etc", .reason = "names, certificates, shells"},
	{.path = "/private/var/db/dyld", .reason = "the loader's shared cache", .flags = PATH_EXEC},
	{.path = "/private/var/db/timezone", .reason = "the time zone"},
	{.path = "/private/var/select", .reason = "which shell is /bin/sh"},
	{.path = "/sbin", .reason = "programs", .flags = PATH_EXEC | PATH_MINIMAL},
	{.path = "/usr", .reason = "programs and libraries", .flags = PATH_EXEC | PATH_MINIMAL},
};
const struct path_table macos_roots = {"macos_roots", macos_roots_rows,
				       ARRAY_LEN(macos_roots_rows)};

static const struct path_row macos_hidden_rows[] = {
	{.path = "/Library/Keychains", .reason = "keys and certificates of the system"},
	{.path = "/System/Volumes", .reason = "the data volume: all files under a second name"},
	{.path = "/Volumes", .reason = "other disks, backups of Time Machine"},
	{.path = "/dev", .reason = "disks and terminals; single devices are shown"},
	{.path = "/private/etc/krb5.keytab", .reason = "Kerberos keys"},
	{.path = "/private/etc/master.passwd", .reason = "password hashes"},
	{.path = "/private/etc/ssh", .reason = "host keys"},
	{.path = "/private/etc/sudoers", .reason = "rules of sudo"},
	{.path = "/private/etc/sudoers.d", .reason = "rules of sudo"},
	{.path = "/private/tmp", .reason = "files and sockets of other programs"},
	{.path = "/private/var/db/dslocal", .reason = "accounts and password hashes"},
	{.path = "/private/var/folders", .reason = "temporary files of all users"},
	{.path = "/private/var/root", .reason = "the home of root"},
};
const struct path_table macos_hidden = {"macos_hidden", macos_hidden_rows,
					ARRAY_LEN(macos_hidden_rows)};

static const struct path_row macos_credentials_rows[] = {
	{.path = "Library/Accounts", .reason = "tokens of internet accounts"},
	{.path = "Library/Application Support/1Password", .reason = "a password manager"},
	{.path = "Library/Application Support/AddressBook", .reason = "contacts"},
	{.path = "Library/Application Support/BraveSoftware", .reason = "cookies, passwords"},
	{.path = "Library/Application Support/Firefox", .reason = "cookies, passwords"},
	{.path = "Library/Application Support/Google/Chrome", .reason = "cookies, passwords"},
	{.path = "Library/Application Support/com.apple.TCC", .reason = "grants of privacy"},
	{.path = "Library/Calendars", .reason = "private data"},
	{.path = "Library/Containers", .reason = "data of sandboxed applications"},
	{.path = "Library/Cookies", .reason = "sessions of web sites"},
	{.path = "Library/Group Containers", .reason = "data of sandboxed applications"},
	{.path = "Library/Keychains", .reason = "passwords and keys"},
	{.path = "Library/Mail", .reason = "private data"},
	{.path = "Library/Messages", .reason = "private data"},
	{.path = "Library/Mobile Documents", .reason = "iCloud Drive"},
	{.path = "Library/Safari", .reason = "history, sessions"},
};
const struct path_table macos_credentials = {"macos_credentials", macos_credentials_rows,
					     ARRAY_LEN(macos_credentials_rows)};

const struct seatbelt_service seatbelt_services[] = {
	{"com.apple.SystemConfiguration.DNSConfiguration", "name servers of the system",
	 SEATBELT_NET_FULL},
	{"com.apple.SystemConfiguration.configd", "proxies and interfaces", SEATBELT_NET_FULL},
	{"com.apple.bsd.dirhelper", "confstr(3): the directory of a user's temporary files",
	 SEATBELT_ALWAYS},
	{"com.apple.system.notification_center",
	 "notify(3): the C library learns by it that the time zone changed", SEATBELT_ALWAYS},
	{"com.apple.system.opendirectoryd.membership", "getgrouplist(3): id, ssh, git",
	 SEATBELT_ALWAYS},
	{"com.apple.trustd.agent",
	 "checks certificates of TLS (Go, curl); it connects to hosts for the command",
	 SEATBELT_NET_FULL},
};
const size_t seatbelt_services_count = ARRAY_LEN(seatbelt_services);

const struct seatbelt_line seatbelt_processes[] = {
	{NULL, "(allow process-fork)", SEATBELT_ALWAYS},
	{"only to processes of this sandbox", "(allow signal (target same-sandbox))",
	 SEATBELT_ALWAYS},
	{NULL, "(allow process-info* (target same-sandbox))", SEATBELT_ALWAYS},
};
const size_t seatbelt_processes_count = ARRAY_LEN(seatbelt_processes);

const struct seatbelt_line seatbelt_basics[] = {
	{"a character device: a regular file of that name would keep the bytes",
	 "(allow file-write-data\n"
	 "  (require-all (path \"/dev/null\") (vnode-type CHARACTER-DEVICE)))",
	 SEATBELT_ALWAYS},
	{NULL,
	 "(allow file-ioctl\n"
	 "  (require-all (path \"/dev/tty\") (vnode-type CHARACTER-DEVICE)))",
	 SEATBELT_ALWAYS},
	{"the shell's names for descriptors",
	 "(allow file-read-data file-read-metadata file-write-data (subpath \"/dev/fd\"))",
	 SEATBELT_ALWAYS},
	{NULL,
	 "(allow file-read-metadata\n"
	 "  (literal \"/dev\") (literal \"/dev/stdin\") (literal \"/dev/stdout\")\n"
	 "  (literal \"/dev/stderr\"))",
	 SEATBELT_ALWAYS},
	{"the loader opens the root directory; the others are symlinks into /private",
	 "(allow file-read-data (literal \"/\"))", SEATBELT_ALWAYS},
	{NULL,
	 "(allow file-read-metadata\n"
	 "  (literal \"/\") (literal \"/etc\") (literal \"/tmp\") (literal \"/var\"))",
	 SEATBELT_ALWAYS},
	{"processors, memory, the version of the system", "(allow sysctl-read)", SEATBELT_ALWAYS},
	{"arguments and environment of the user's other processes",
	 "(deny sysctl-read\n"
	 "  (sysctl-name \"kern.procargs\") (sysctl-name \"kern.procargs2\"))",
	 SEATBELT_ALWAYS},
	{"getpwuid(3)",
	 "(allow mach-lookup\n"
	 "  (global-name \"com.apple.system.opendirectoryd.libinfo\"))",
	 SEATBELT_ALWAYS},
	{"semaphores of Python's multiprocessing", "(allow ipc-posix-sem)", SEATBELT_ALWAYS},
	{"notify(3) reads its page",
	 "(allow ipc-posix-shm-read-data\n"
	 "  (ipc-posix-name \"apple.shm.notification_center\"))",
	 SEATBELT_ALWAYS},
	{"openpty(3): only terminals that this sandbox made", "(allow pseudo-tty)",
	 SEATBELT_ALWAYS},
	{NULL,
	 "(allow file-read* file-write-data file-ioctl\n"
	 "  (require-all (path \"/dev/ptmx\") (vnode-type CHARACTER-DEVICE)))",
	 SEATBELT_ALWAYS},
	{NULL,
	 "(allow file-read* file-write-data file-ioctl\n"
	 "  (require-all (regex \"^/dev/ttys[0-9]+$\") (extension \"com.apple.sandbox.pty\")))",
	 SEATBELT_ALWAYS},
	{"the routing socket of libc",
	 "(allow system-socket\n"
	 "  (require-all (socket-domain AF_SYSTEM) (socket-protocol 2)))",
	 SEATBELT_NET_FULL},
};
const size_t seatbelt_basics_count = ARRAY_LEN(seatbelt_basics);
