/* SPDX-License-Identifier: Apache-2.0 */
/* Attempts on files: names, handles, descriptors, attributes. */
#include "probe.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <dirent.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>
#include <stdint.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <pthread.h>

static int open_result(const char *path, int flags, mode_t mode) {
	int fd = open(path, flags | O_CLOEXEC, mode);
	int status = probe_result(fd);
	if (fd >= 0) {
		close(fd);
	}
	return status;
}

static int open_read(int argc, char **argv) {
	(void)argc;
	return open_result(argv[1], O_RDONLY | O_NONBLOCK, 0);
}

static int open_write(int argc, char **argv) {
	(void)argc;
	return open_result(argv[1], O_WRONLY | O_NONBLOCK, 0);
}

static int open_trunc(int argc, char **argv) {
	(void)argc;
	return open_result(argv[1], O_RDONLY | O_TRUNC, 0);
}

static int create_mode(int argc, char **argv) {
	(void)argc;
	return open_result(argv[1], O_WRONLY | O_CREAT | O_EXCL, (mode_t)probe_number(argv[2]));
}

static int write_file(int argc, char **argv) {
	(void)argc;
	int fd = open(argv[1], O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	return probe_result(fd < 0 ? -1 : write(fd, "x", 1));
}

static int read_some(int argc, char **argv) {
	(void)argc;
	int fd = open(argv[1], O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	return fd < 0 ? probe_result(-1) : probe_print_fd(fd);
}

static int rename_exchange(int argc, char **argv) {
	(void)argc;
	return probe_result(renameat2(AT_FDCWD, argv[1], AT_FDCWD, argv[2], RENAME_EXCHANGE));
}

static int rename_whiteout(int argc, char **argv) {
	(void)argc;
	return probe_result(renameat2(AT_FDCWD, argv[1], AT_FDCWD, argv[2], 1U << 2));
}

/* Swaps two names again and again, for as long as others look at them: in bursts,
 * so that looks shortly after each other differ, and with pauses, so that several
 * in a row can see the same. */
static int exchange_for(int argc, char **argv) {
	(void)argc;
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	long until = now.tv_sec * 1000 + now.tv_nsec / 1000000 + probe_number(argv[3]);
	for (unsigned swaps = 1;; swaps++) {
		if (renameat2(AT_FDCWD, argv[1], AT_FDCWD, argv[2], RENAME_EXCHANGE) != 0) {
			return probe_result(-1);
		}
		if (swaps % 501 == 0) { /* odd: pauses in either state */
			usleep(2000);
		}
		clock_gettime(CLOCK_MONOTONIC, &now);
		if (now.tv_sec * 1000 + now.tv_nsec / 1000000 >= until) {
			return 0;
		}
	}
}

/* A path whose first four characters another thread changes all the while. */
struct shown_path {
	char text[256] __attribute__((aligned(4)));
	uint32_t good, bad;
	atomic_bool over;
};

static void *flip_path(void *data) {
	struct shown_path *s = data;
	volatile uint32_t *start = (volatile uint32_t *)(void *)s->text;

	while (!atomic_load(&s->over)) {
		*start = s->bad;
		*start = s->good;
	}
	return NULL;
}

static void make_and_remove(const char *shown, const char *good) {
	int fd = open(shown, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	if (fd >= 0) {
		close(fd);
	}
	if (mkdir(shown, 0700) == 0) {
		rmdir(good);
	}
	unlink(good);
}

/* Opens, or makes and removes, a file whose path changes between GOOD and BAD, which are of the
 * same length and differ in the first four characters, or in none: then another process changes
 * what it names. */
static int path_race(int argc, char **argv) {
	(void)argc;
	struct shown_path s = {.over = false};
	pthread_t flipper;

	if (strlen(argv[2]) != strlen(argv[3]) || strlen(argv[2]) < sizeof(s.good) ||
	    strlen(argv[2]) >= sizeof(s.text) || strcmp(argv[2] + 4, argv[3] + 4) != 0) {
		return 2;
	}
	memcpy(s.text, argv[2], strlen(argv[2]) + 1);
	memcpy(&s.good, argv[2], sizeof(s.good));
	memcpy(&s.bad, argv[3], sizeof(s.bad));
	if (pthread_create(&flipper, NULL, flip_path, &s) != 0) {
		return probe_result(-1);
	}
	for (long i = probe_number(argv[4]); i > 0; i--) {
		if (strcmp(argv[1], "read") != 0) {
			make_and_remove(s.text, argv[2]);
			continue;
		}
		int fd = open(s.text, O_RDONLY | O_CLOEXEC);
		if (fd >= 0) {
			probe_print_fd(fd);
		}
	}
	atomic_store(&s.over, true);
	return pthread_join(flipper, NULL);
}

static int set_attribute(int argc, char **argv) {
	(void)argc;
	return probe_result(setxattr(argv[1], argv[2], argv[3], strlen(argv[3]), 0));
}

static int set_capability(int argc, char **argv) {
	(void)argc;
	/* VFS_CAP_REVISION_2 with the effective bit: every capability of the low word. */
	const unsigned int caps[5] = {0x02000001, 0xffffffff, 0, 0, 0};
	return probe_result(setxattr(argv[1], "security.capability", caps, sizeof(caps), 0));
}

static int get_attribute(int argc, char **argv) {
	(void)argc;
	char value[64];
	return probe_result(getxattr(argv[1], argv[2], value, sizeof(value)));
}

static int make_node(int argc, char **argv) {
	(void)argc;
	mode_t type = argv[2][0] == 'c' ? S_IFCHR : argv[2][0] == 'b' ? S_IFBLK : S_IFIFO;
	dev_t dev = makedev((unsigned)probe_number(argv[3]), (unsigned)probe_number(argv[4]));
	return probe_result(mknod(argv[1], type | 0666, dev));
}

static int make_node_mode(int argc, char **argv) {
	(void)argc;
	return probe_result(mknod(argv[1], S_IFREG | (mode_t)probe_number(argv[2]), 0));
}

static int openat_descriptor(int argc, char **argv) {
	(void)argc;
	int fd = openat((int)probe_number(argv[1]), argv[2], O_RDONLY | O_CLOEXEC);
	return fd < 0 ? probe_result(-1) : probe_print_fd(fd);
}

static int fchdir_read(int argc, char **argv) {
	(void)argc;
	if (fchdir((int)probe_number(argv[1])) != 0) {
		return probe_result(-1);
	}
	int fd = open(argv[2], O_RDONLY | O_CLOEXEC);
	return fd < 0 ? probe_result(-1) : probe_print_fd(fd);
}

static int truncate_descriptor(int argc, char **argv) {
	(void)argc;
	return probe_result(ftruncate((int)probe_number(argv[1]), 0));
}

/* What can be done to the pipe behind a descriptor that others hold too. */
static int disturb_descriptor(int argc, char **argv) {
	(void)argc;
	int fd = (int)probe_number(argv[2]);
	const char *how = argv[1];
	if (strcmp(how, "nonblock") == 0) {
		return probe_result(fcntl(fd, F_SETFL, O_NONBLOCK));
	}
	if (strcmp(how, "size") == 0) {
		return probe_result(fcntl(fd, F_SETPIPE_SZ, 4096));
	}
	char name[64];
	snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
	int other = open(name, (strcmp(how, "read") == 0 ? O_RDONLY : O_WRONLY) | O_NONBLOCK);
	if (other < 0) {
		return probe_result(-1);
	}
	return strcmp(how, "read") == 0 ? probe_print_fd(other)
					: probe_result(write(other, "forged\n", 7));
}

static int tmpfile_link(int argc, char **argv) {
	(void)argc;
	char from[64];
	int fd = open(argv[1], O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (fd < 0) {
		return probe_result(-1);
	}
	snprintf(from, sizeof(from), "/proc/self/fd/%d", fd);
	return probe_result(linkat(AT_FDCWD, from, AT_FDCWD, argv[2], AT_SYMLINK_FOLLOW));
}

static int copy_range(int argc, char **argv) {
	(void)argc;
	int from = open(argv[1], O_RDONLY | O_CLOEXEC);
	int to = open(argv[2], O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	if (from < 0 || to < 0) {
		return probe_result(-1);
	}
	return probe_result(copy_file_range(from, NULL, to, NULL, 4096, 0));
}

static int watch(int argc, char **argv) {
	(void)argc;
	int fd = inotify_init1(IN_CLOEXEC);
	return probe_result(fd < 0 ? -1 : inotify_add_watch(fd, argv[1], IN_ALL_EVENTS));
}

/* Says whether anybody opened something in the directory in the meantime. */
static int watch_opens(int argc, char **argv) {
	(void)argc;
	char room[4096];
	int fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	if (fd < 0 || inotify_add_watch(fd, argv[1], IN_OPEN) < 0) {
		return probe_result(-1);
	}
	usleep((useconds_t)probe_number(argv[2]) * 1000);
	ssize_t got = read(fd, room, sizeof(room));
	for (ssize_t at = 0; at < got;) {
		const struct inotify_event *event = (const void *)(room + at);
		printf("opened=%s\n", event->len == 0 ? "" : event->name);
		at += (ssize_t)sizeof(*event) + event->len;
	}
	return probe_result(0);
}

#define HANDLE_SPACE 128

struct handle_room {
	struct file_handle head;
	unsigned char bytes[HANDLE_SPACE];
};

static int handle_save(int argc, char **argv) {
	(void)argc;
	struct handle_room room = {.head.handle_bytes = HANDLE_SPACE};
	int mount = 0;
	if (name_to_handle_at(AT_FDCWD, argv[1], &room.head, &mount, 0) != 0) {
		return probe_result(-1);
	}
	int fd = open(argv[2], O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	return probe_result(fd < 0 ? -1 : write(fd, &room, sizeof(room)));
}

static int handle_open(int argc, char **argv) {
	(void)argc;
	struct handle_room room;
	int file = open(argv[1], O_RDONLY | O_CLOEXEC);
	int mount = open(argv[2], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (file < 0 || mount < 0 || read(file, &room, sizeof(room)) != (ssize_t)sizeof(room)) {
		return probe_result(-1);
	}
	int fd = open_by_handle_at(mount, &room.head, O_RDONLY | O_CLOEXEC);
	return fd < 0 ? probe_result(-1) : probe_print_fd(fd);
}

static int list_descriptors(int argc, char **argv) {
	(void)argc;
	(void)argv;
	DIR *dir = opendir("/proc/self/fd");
	if (dir == NULL) {
		return probe_result(-1);
	}
	for (struct dirent *entry = readdir(dir); entry != NULL; entry = readdir(dir)) {
		char target[512];
		if (entry->d_name[0] == '.' || probe_number(entry->d_name) == dirfd(dir)) {
			continue;
		}
		ssize_t got = readlinkat(dirfd(dir), entry->d_name, target, sizeof(target) - 1);
		target[got < 0 ? 0 : got] = '\0';
		printf("fd=%s %s\n", entry->d_name, target);
	}
	closedir(dir);
	return 0;
}

/* clang-format off */
static const struct probe rows[] = {
	{"open-read", 1, open_read, "PATH"},
	{"open-write", 1, open_write, "PATH"},
	{"open-trunc", 1, open_trunc, "PATH"},
	{"create-mode", 2, create_mode, "PATH MODE"},
	{"write", 1, write_file, "PATH"},
	{"read-some", 1, read_some, "PATH"},
	{"rename-exchange", 2, rename_exchange, "A B"},
	{"rename-whiteout", 2, rename_whiteout, "A B"},
	{"exchange-for", 3, exchange_for, "A B MILLISECONDS"},
	{"path-race", 4, path_race, "read|make GOOD BAD TIMES"},
	{"set-attribute", 3, set_attribute, "PATH NAME VALUE"},
	{"set-capability", 1, set_capability, "PATH"},
	{"get-attribute", 2, get_attribute, "PATH NAME"},
	{"make-node", 4, make_node, "PATH c|b|p MAJOR MINOR"},
	{"make-node-mode", 2, make_node_mode, "PATH MODE"},
	{"openat-fd", 2, openat_descriptor, "FD NAME"},
	{"fchdir-read", 2, fchdir_read, "FD NAME"},
	{"ftruncate-fd", 1, truncate_descriptor, "FD"},
	{"disturb-fd", 2, disturb_descriptor, "nonblock|size|read|write FD"},
	{"tmpfile-link", 2, tmpfile_link, "DIR NAME"},
	{"copy-range", 2, copy_range, "FROM TO"},
	{"watch", 1, watch, "PATH"},
	{"watch-opens", 2, watch_opens, "DIR MILLISECONDS"},
	{"handle-save", 2, handle_save, "PATH FILE"},
	{"handle-open", 2, handle_open, "FILE DIR"},
	{"list-fds", 0, list_descriptors, ""},
};
/* clang-format on */

const struct probe_table probe_files = {rows, PROBE_COUNT(rows)};
