/* SPDX-License-Identifier: Apache-2.0 */
/* The same effects on a file by other calls: every variant that takes a
 * directory, a descriptor or a structure is a door of its own. */
#include "probe.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/file.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <utime.h>
#include <unistd.h>

/* Numbers and structures that the build machine's headers may be too old for. */
#define NR_openat2 437
#define NR_fchmodat2 452
#define NR_setxattrat 463
#define NR_listxattrat 465
#define NR_file_setattr 469

struct how {
	uint64_t flags, mode, resolve;
};

struct xattr_value {
	uint64_t value;
	uint32_t size, flags;
};

struct file_attributes {
	uint64_t xflags;
	uint32_t extsize, nextents, project, cowextsize;
};

static int change_openat2(const char *path) {
	struct how how = {.flags = O_WRONLY | O_TRUNC};
	return (int)syscall(NR_openat2, AT_FDCWD, path, &how, sizeof(how));
}

static int change_creat(const char *path) {
	return creat(path, 0600);
}

static int change_truncate(const char *path) {
	return truncate(path, 0);
}

static int change_unlink(const char *path) {
	return unlink(path);
}

static int change_remove(const char *path) {
	return unlinkat(AT_FDCWD, path, 0);
}

static int change_fchmodat2(const char *path) {
	return (int)syscall(NR_fchmodat2, AT_FDCWD, path, 0600, 0);
}

static int change_utime(const char *path) {
	const struct utimbuf epoch = {1, 1};
	return utime(path, &epoch);
}

static int change_utimensat(const char *path) {
	const struct timespec epoch[2] = {{1, 0}, {1, 0}};
	return utimensat(AT_FDCWD, path, epoch, AT_SYMLINK_NOFOLLOW);
}

static int change_setxattrat(const char *path) {
	struct xattr_value value = {(uint64_t)(uintptr_t) "x", 1, 0};
	return (int)syscall(NR_setxattrat, AT_FDCWD, path, 0, "user.probe", &value, sizeof(value));
}

static int change_symlinkat(const char *path) {
	char name[4096];
	snprintf(name, sizeof(name), "%s.link", path);
	return symlinkat("nowhere", AT_FDCWD, name);
}

static int change_mkdirat(const char *path) {
	char name[4096];
	snprintf(name, sizeof(name), "%s.dir", path);
	return mkdirat(AT_FDCWD, name, 0700);
}

static int change_linkat(const char *path) {
	char name[4096];
	snprintf(name, sizeof(name), "%s.hard", path);
	return linkat(AT_FDCWD, path, AT_FDCWD, name, 0);
}

static int change_flags(const char *path) {
	long flags = 0x40; /* FS_NODUMP_FL: the owner may set it */
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	return fd < 0 ? -1 : ioctl(fd, _IOW('f', 2, long), &flags);
}

static int change_file_setattr(const char *path) {
	struct file_attributes attributes = {.xflags = 0x80}; /* FS_XFLAG_NODUMP */
	return (int)syscall(NR_file_setattr, AT_FDCWD, path, &attributes, sizeof(attributes), 0);
}

static int change_fallocate(const char *path) {
	int fd = open(path, O_RDWR | O_CLOEXEC);
	return fd < 0 ? -1 : fallocate(fd, 0, 0, 65536);
}

static int change_mapped(const char *path) {
	int fd = open(path, O_RDWR | O_CLOEXEC);
	char *at = fd < 0 ? MAP_FAILED : mmap(NULL, 1, PROT_WRITE, MAP_SHARED, fd, 0);
	if (at == MAP_FAILED) {
		return -1;
	}
	at[0] = 'x';
	return 0;
}

static const struct {
	const char *name;
	int (*run)(const char *path);
} changes[] = {
	{"openat2", change_openat2},       {"creat", change_creat},
	{"truncate", change_truncate},     {"unlink", change_unlink},
	{"unlinkat", change_remove},       {"fchmodat2", change_fchmodat2},
	{"utime", change_utime},           {"utimensat", change_utimensat},
	{"setxattrat", change_setxattrat}, {"symlinkat", change_symlinkat},
	{"mkdirat", change_mkdirat},       {"linkat", change_linkat},
	{"flags", change_flags},           {"file_setattr", change_file_setattr},
	{"fallocate", change_fallocate},   {"mmap", change_mapped},
};

static int change_by(int argc, char **argv) {
	(void)argc;
	for (size_t i = 0; i < PROBE_COUNT(changes); i++) {
		if (strcmp(changes[i].name, argv[1]) == 0) {
			return probe_result(changes[i].run(argv[2]));
		}
	}
	return 2;
}

static int read_mapped(int from, int to) {
	char *at = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, from, 0);
	return at == MAP_FAILED || write(to, at, strnlen(at, 4096)) < 0 ? -1 : 0;
}

/* Prints what waits in a pipe. */
static int empty_into(int pipe, int to) {
	char text[4096];
	ssize_t got = read(pipe, text, sizeof(text));
	return got < 0 || write(to, text, (size_t)got) < 0 ? -1 : 0;
}

static int read_splice(int from, int to) {
	int ends[2];
	if (pipe(ends) != 0 || splice(from, NULL, ends[1], NULL, 4096, 0) < 0) {
		return -1;
	}
	return empty_into(ends[0], to);
}

static int read_sendfile(int from, int to) {
	int ends[2];
	if (pipe(ends) != 0 || sendfile(ends[1], from, NULL, 4096) < 0) {
		return -1;
	}
	return empty_into(ends[0], to);
}

static int read_by(int argc, char **argv) {
	(void)argc;
	int fd = -1;
	if (strcmp(argv[1], "openat2") == 0) {
		struct how how = {.flags = O_RDONLY};
		fd = (int)syscall(NR_openat2, AT_FDCWD, argv[2], &how, sizeof(how));
		return fd < 0 ? probe_result(-1) : probe_print_fd(fd);
	}
	if (strcmp(argv[1], "opath") == 0) {
		char name[64];
		snprintf(name, sizeof(name), "/proc/self/fd/%d", open(argv[2], O_PATH));
		fd = open(name, O_RDONLY);
		return fd < 0 ? probe_result(-1) : probe_print_fd(fd);
	}
	fd = open(argv[2], O_RDONLY | O_CLOEXEC);
	if (fd < 0) {
		return probe_result(-1);
	}
	return probe_result(strcmp(argv[1], "mmap") == 0     ? read_mapped(fd, 1)
			    : strcmp(argv[1], "splice") == 0 ? read_splice(fd, 1)
							     : read_sendfile(fd, 1));
}

/* What is not content but tells of it. */
static int ask_by(int argc, char **argv) {
	(void)argc;
	char room[512];
	struct stat plain;
	if (strcmp(argv[1], "stat") == 0) {
		return probe_result(stat(argv[2], &plain));
	}
	if (strcmp(argv[1], "statx") == 0) {
		return probe_result(syscall(SYS_statx, AT_FDCWD, argv[2], 0, 0xfff, room));
	}
	if (strcmp(argv[1], "access") == 0) {
		return probe_result(faccessat(AT_FDCWD, argv[2], F_OK, 0));
	}
	if (strcmp(argv[1], "readlink") == 0) {
		/* EINVAL, "not a link", says as much as success. */
		ssize_t got = readlink(argv[2], room, sizeof(room));
		return probe_result(got < 0 && errno != EINVAL ? -1 : 0);
	}
	if (strcmp(argv[1], "listxattrat") == 0) {
		return probe_result(
			syscall(NR_listxattrat, AT_FDCWD, argv[2], 0, room, sizeof(room)));
	}
	if (strcmp(argv[1], "handle") == 0) {
		/* EOVERFLOW, "give me more room", says as much as success. */
		struct file_handle handle = {0};
		int mount = 0, got = name_to_handle_at(AT_FDCWD, argv[2], &handle, &mount, 0);
		return probe_result(got < 0 && errno != EOVERFLOW ? -1 : 0);
	}
	return probe_result(open(argv[2], O_PATH | O_CLOEXEC));
}

/* Holds a lock or a lease for some time. */
static int hold(int argc, char **argv) {
	(void)argc;
	int fd = open(argv[2], strcmp(argv[1], "lease") == 0 ? O_RDWR : O_RDONLY);
	if (fd < 0) {
		return probe_result(-1);
	}
	signal(SIGIO, SIG_IGN); /* what a broken lease tells its holder */
	int got = strcmp(argv[1], "lease") == 0 ? fcntl(fd, F_SETLEASE, F_WRLCK)
						: flock(fd, LOCK_EX | LOCK_NB);
	int status = probe_result(got);
	fflush(stdout);
	usleep((useconds_t)probe_number(argv[3]) * 1000);
	return status;
}

/* clang-format off */
static const struct probe rows[] = {
	{"change-by", 2, change_by, "CALL PATH"},
	{"read-by", 2, read_by, "openat2|opath|mmap|splice|sendfile PATH"},
	{"ask-by", 2, ask_by, "stat|statx|access|readlink|listxattrat|handle|opath PATH"},
	{"hold", 3, hold, "lease|lock PATH MILLISECONDS"},
};
/* clang-format on */

const struct probe_table probe_calls = {rows, PROBE_COUNT(rows)};
