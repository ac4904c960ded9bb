/* SPDX-License-Identifier: Apache-2.0 */
/* The command of the counted runs: a static program, which opens no libraries.
 *
 *     command              does nothing
 *     command N            creates N empty files in the working directory
 *     command CALL N       makes the files that the call needs, and then the call N times, on
 *                          another file each time; the names of the calls are in the table */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define NAME 64

static int make(const char *name) {
	int fd = open(name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	return fd < 0 ? -1 : close(fd);
}

static int open_close(const char *name, int flags) {
	int fd = open(name, flags | O_CLOEXEC, 0600);

	return fd < 0 ? -1 : close(fd);
}

static int do_create(const char *name, const char *other) {
	(void)other;
	return open_close(name, O_WRONLY | O_CREAT | O_EXCL);
}

static int do_rewrite(const char *name, const char *other) {
	(void)other;
	return open_close(name, O_WRONLY | O_CREAT | O_TRUNC);
}

static int do_write(const char *name, const char *other) {
	(void)other;
	return open_close(name, O_WRONLY);
}

static int do_read(const char *name, const char *other) {
	(void)other;
	return open_close(name, O_RDONLY);
}

static int do_miss(const char *name, const char *other) {
	(void)name;
	return open(other, O_RDONLY | O_CLOEXEC) < 0 ? 0 : -1;
}

static int do_mkdir(const char *name, const char *other) {
	(void)other;
	return mkdir(name, 0700);
}

static int do_unlink(const char *name, const char *other) {
	(void)other;
	return unlink(name);
}

static int do_chmod(const char *name, const char *other) {
	(void)other;
	return chmod(name, 0640);
}

/* The file is opened for reading, which the default rules do not send to the broker. */
static int do_fchmod(const char *name, const char *other) {
	int fd = open(name, O_RDONLY | O_CLOEXEC);
	int result = fd < 0 ? -1 : fchmod(fd, 0640);

	(void)other;
	return fd < 0 ? -1 : close(fd) | result;
}

static int do_symlink(const char *name, const char *other) {
	(void)name;
	return symlink("elsewhere", other);
}

static const struct {
	const char *name;
	int (*call)(const char *name, const char *other);
	int needs_file;
} calls[] = {
	{"create", do_create, 0}, {"rewrite", do_rewrite, 1}, {"write", do_write, 1},
	{"read", do_read, 1},     {"mkdir", do_mkdir, 0},     {"unlink", do_unlink, 1},
	{"rename", rename, 1},    {"link", link, 1},          {"symlink", do_symlink, 0},
	{"chmod", do_chmod, 1},   {"miss", do_miss, 0},       {"fchmod", do_fchmod, 1},
};

static void need(int result, const char *name) {
	if (result != 0) {
		perror(name);
		exit(1);
	}
}

/* The names have the time in them: an earlier run has left its files. */
static void repeat(size_t call, long count) {
	char name[NAME], other[NAME];
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	for (int doing = 0; doing < 2; doing++) {
		for (long i = 0; i < count; i++) {
			snprintf(name, sizeof(name), "%09ld-%ld", now.tv_nsec, i);
			snprintf(other, sizeof(other), "%09ld-%ld-other", now.tv_nsec, i);
			if (doing) {
				need(calls[call].call(name, other), name);
			} else if (calls[call].needs_file) {
				need(make(name), name);
			}
		}
	}
}

static void create(long count) {
	for (long i = 0; i < count; i++) {
		char name[NAME];
		snprintf(name, sizeof(name), "%d-%ld", (int)getppid(), i);
		need(make(name), name);
	}
}

int main(int argc, char **argv) {
	if (argc < 3) {
		create(argc > 1 ? strtol(argv[1], NULL, 10) : 0);
		return 0;
	}
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		if (strcmp(calls[i].name, argv[1]) == 0) {
			repeat(i, strtol(argv[2], NULL, 10));
			return 0;
		}
	}
	fprintf(stderr, "command: no call named %s\n", argv[1]);
	return 1;
}
