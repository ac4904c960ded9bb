/* SPDX-License-Identifier: Apache-2.0 */
/* Not attempts but starts: each prepares something that a child inherits and
 * then becomes the command after it, in the caller's place or the attacker's. */
#include "probe.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#define GROUPS 16 /* more than a caller of the suite has */

static int become(char **argv) {
	execvp(argv[0], argv);
	return probe_result(-1);
}

/* Gives up root for good: the account at argv[1], its group, and the further groups
 * as a list with commas, or "-".  A row may replace all of it, up to the "--". */
static int as(int argc, char **argv) {
	(void)argc;
	gid_t groups[GROUPS];
	size_t count = 0;
	for (char *rest = argv[3], *name = NULL;
	     strcmp(argv[3], "-") != 0 && (name = strsep(&rest, ",")) != NULL;) {
		if (count == GROUPS) {
			errno = E2BIG;
			return probe_result(-1);
		}
		groups[count++] = (gid_t)probe_number(name);
	}
	gid_t gid = (gid_t)probe_number(argv[2]);
	uid_t uid = (uid_t)probe_number(argv[1]);
	if (setgroups(count, groups) != 0 || setresgid(gid, gid, gid) != 0 ||
	    setresuid(uid, uid, uid) != 0) {
		return probe_result(-1);
	}
	return become(argv + 5);
}

static int with_fd(int argc, char **argv) {
	(void)argc;
	int fd = open(argv[2], O_RDONLY);
	if (fd < 0 || dup2(fd, (int)probe_number(argv[1])) < 0) {
		return probe_result(-1);
	}
	return become(argv + 3);
}

static int with_socket(int argc, char **argv) {
	(void)argc;
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);
	if (fd < 0 || dup2(fd, (int)probe_number(argv[1])) < 0) {
		return probe_result(-1);
	}
	return become(argv + 2);
}

static int with_tcp(int argc, char **argv) {
	(void)argc;
	struct sockaddr_in to = {.sin_family = AF_INET,
				 .sin_port = htons((in_port_t)probe_number(argv[2])),
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	if (fd < 0 || connect(fd, (struct sockaddr *)&to, sizeof(to)) != 0 ||
	    dup2(fd, (int)probe_number(argv[1])) < 0) {
		return probe_result(-1);
	}
	return become(argv + 3);
}

static int with_blocked(int argc, char **argv) {
	(void)argc;
	sigset_t all;
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	return become(argv + 1);
}

/* Makes the terminal at argv[1] the controlling one; "all" puts it on the three
 * standard descriptors, "stdin" on the first only. */
static int with_tty(int argc, char **argv) {
	(void)argc;
	setsid();
	int fd = open(argv[1], O_RDWR);
	if (fd < 0 || ioctl(fd, TIOCSCTTY, 0) != 0) {
		return probe_result(-1);
	}
	int last = strcmp(argv[2], "all") == 0 ? 2 : 0;
	for (int i = 0; i <= last; i++) {
		dup2(fd, i);
	}
	close(fd);
	return become(argv + 3);
}

/* Runs a copy of this program that has no name. */
static int from_memory(int argc, char **argv) {
	(void)argc;
	char block[65536];
	ssize_t got = 0;
	int self = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	int copy = (int)syscall(SYS_memfd_create, "probe", 1U);
	if (self < 0 || copy < 0) {
		return probe_result(-1);
	}
	while ((got = read(self, block, sizeof(block))) > 0) {
		if (write(copy, block, (size_t)got) != got) {
			return probe_result(-1);
		}
	}
	/* argv[0] becomes the program's name; the attempt's name follows it. */
	char *none[] = {NULL};
	fexecve(copy, argv, none);
	return probe_result(-1);
}

struct ruleset {
	uint64_t files;
};

struct beneath {
	uint64_t access;
	int32_t parent;
} __attribute__((packed));

/* A Landlock ruleset that grants everything beneath the root: it must not give
 * back what an outer one took. */
static int with_wide_landlock(int argc, char **argv) {
	(void)argc;
	const uint64_t all = (1U << 13) - 1; /* the rights of the first ABI */
	struct ruleset ruleset = {all};
	int fd = (int)syscall(SYS_landlock_create_ruleset, &ruleset, sizeof(ruleset), 0);
	struct beneath rule = {all, open("/", O_PATH | O_CLOEXEC)};
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	if (fd < 0 || syscall(SYS_landlock_add_rule, fd, 1, &rule, 0) != 0 ||
	    syscall(SYS_landlock_restrict_self, fd, 0) != 0) {
		return probe_result(-1);
	}
	return become(argv + 1);
}

/* The rights of the third ABI, or of the kernel's older one: 13, 14, 15. */
static uint64_t rights_to_files(void) {
	long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, 1U);
	return (1U << (abi < 1 ? 0 : 12 + (abi < 3 ? abi : 3))) - 1;
}

/* Enters a ruleset that lets everything be read and executed, and one directory be changed; its
 * descriptor, or -1. */
static int enter_narrow(const char *changed) {
	const uint64_t all = rights_to_files();
	const uint64_t reads = 1U << 0 | 1U << 2 | 1U << 3, device = 1U << 1 | 1U << 2;
	struct ruleset ruleset = {all};
	int fd = (int)syscall(SYS_landlock_create_ruleset, &ruleset, sizeof(ruleset), 0);
	struct beneath root = {reads, open("/", O_PATH | O_CLOEXEC)};
	struct beneath dir = {all, open(changed, O_PATH | O_CLOEXEC)};
	struct beneath null = {device, open("/dev/null", O_PATH | O_CLOEXEC)};
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	if (fd < 0 || syscall(SYS_landlock_add_rule, fd, 1, &root, 0) != 0 ||
	    syscall(SYS_landlock_add_rule, fd, 1, &dir, 0) != 0 ||
	    syscall(SYS_landlock_add_rule, fd, 1, &null, 0) != 0 ||
	    syscall(SYS_landlock_restrict_self, fd, 0) != 0) {
		return -1;
	}
	return fd;
}

static int with_narrow_landlock(int argc, char **argv) {
	(void)argc;
	return enter_narrow(argv[1]) < 0 ? probe_result(-1) : become(argv + 2);
}

/* Adds a rule about the root to the ruleset that it has entered, then creates a file. */
static int with_open_ruleset(int argc, char **argv) {
	(void)argc;
	int fd = enter_narrow(argv[1]);
	struct beneath root = {rights_to_files(), open("/", O_PATH | O_CLOEXEC)};
	if (fd < 0) {
		return probe_result(-1);
	}
	(void)syscall(SYS_landlock_add_rule, fd, 1, &root, 0); /* the open below shows it */
	return probe_result(open(argv[2], O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
}

struct ruleset_of_ports {
	uint64_t files, ports;
};

struct port {
	uint64_t access, number;
};

/* Enters a ruleset that lets it connect to one TCP port. */
static int with_one_port(int argc, char **argv) {
	(void)argc;
	const uint64_t connects = 1U << 1;
	struct ruleset_of_ports ruleset = {0, connects};
	int fd = (int)syscall(SYS_landlock_create_ruleset, &ruleset, sizeof ruleset, 0);
	struct port rule = {connects, (uint64_t)strtoul(argv[1], NULL, 10)};
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	if (fd < 0 || syscall(SYS_landlock_add_rule, fd, 2, &rule, 0) != 0 ||
	    syscall(SYS_landlock_restrict_self, fd, 0) != 0) {
		return probe_result(-1);
	}
	return become(argv + 2);
}

/* clang-format off */
static const struct probe rows[] = {
	{"as", 5, as, "UID GID GROUP,...|- -- COMMAND..."},
	{"with-fd", 3, with_fd, "FD PATH COMMAND..."},
	{"with-socket", 2, with_socket, "FD COMMAND..."},
	{"with-tcp", 3, with_tcp, "FD PORT COMMAND..."},
	{"with-blocked", 1, with_blocked, "COMMAND..."},
	{"with-tty", 3, with_tty, "TTY all|stdin COMMAND..."},
	{"from-memory", 1, from_memory, "ATTEMPT ARG..."},
	{"with-wide-landlock", 1, with_wide_landlock, "COMMAND..."},
	{"with-narrow-landlock", 2, with_narrow_landlock, "DIR COMMAND..."},
	{"with-open-ruleset", 2, with_open_ruleset, "DIR FILE"},
	{"with-one-port", 2, with_one_port, "PORT COMMAND..."},
};
/* clang-format on */

const struct probe_table probe_wrap = {rows, PROBE_COUNT(rows)};
