/* SPDX-License-Identifier: Apache-2.0 */
/* Does to files what its standard input says, one call a line, and tells the answer.
 *
 *     doer ROOT
 *
 * Should:   make the one call that a line "NAME WORD..." names, and answer "ERRNO DATA";
 *           words and data in hexadecimal, "-" for nothing.  A path is "HOW:REST": HOW is
 *           empty for a relative path, w for one below ROOT, r for one below ROOT through
 *           /proc/self/root, c for /proc/self/cwd, a digit for a held directory and its
 *           *at() call, p and a digit for the same through /proc/self/fd.
 * Must not: decide anything: the same lines go to a copy of it outside.
 * Fails:    with exit 2 when it does not understand. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#define WORDS_MAX 5
#define HELD_MAX 10
#define TEXT_MAX 4096

/* Newer than the build machine's headers may be. */
#define NR_openat2 437

static const char *root;
static int held[HELD_MAX];

/* What a call gave besides its answer. */
static char data[1 << 16];
static size_t data_len;

struct place {
	int at;
	char path[TEXT_MAX];
};

static void confused(const char *what) {
	fprintf(stderr, "doer: %s\n", what);
	exit(2);
}

static struct place place_of(const char *word) {
	struct place p = {.at = AT_FDCWD};
	const char *rest = strchr(word, ':');

	if (rest == NULL) {
		confused("a path has no colon");
	}
	rest++;
	switch (word[0]) {
	case 'w':
		snprintf(p.path, sizeof(p.path), "%s/%s", root, rest);
		break;
	case 'r':
		snprintf(p.path, sizeof(p.path), "/proc/self/root%s/%s", root, rest);
		break;
	case 'c':
		snprintf(p.path, sizeof(p.path), "/proc/self/cwd/%s", rest);
		break;
	case 'p':
		snprintf(p.path, sizeof(p.path), "/proc/self/fd/%d/%s", held[word[1] - '0'], rest);
		break;
	default:
		p.at = word[0] == ':' ? AT_FDCWD : held[word[0] - '0'];
		snprintf(p.path, sizeof(p.path), "%s", rest);
	}
	return p;
}

/* ---- reading ---- */

static int fill(int fd) {
	if (fd < 0) {
		return -1;
	}
	ssize_t got = read(fd, data, sizeof(data));
	int saved = errno;
	close(fd);
	errno = saved;
	data_len = got > 0 ? (size_t)got : 0;
	return got < 0 ? -1 : 0;
}

static int do_read(char **w) {
	struct place p = place_of(w[1]);
	return fill(openat(p.at, p.path, O_RDONLY | O_NONBLOCK | O_CLOEXEC));
}

static int do_openat2(char **w) {
	struct place p = place_of(w[1]);
	const uint64_t how[3] = {O_RDONLY | O_NONBLOCK | O_CLOEXEC, 0, 0};
	int fd = (int)syscall(NR_openat2, p.at, p.path, how, sizeof(how));
	/* A filter may send programs back to openat, as an old kernel would. */
	return fd < 0 && errno == ENOSYS ? do_read(w) : fill(fd);
}

/* A path descriptor first, then what it stands for. */
static int do_reopen(char **w) {
	struct place p = place_of(w[1]);
	char name[64];
	int fd = openat(p.at, p.path, O_PATH | O_CLOEXEC);

	if (fd < 0) {
		return -1;
	}
	snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
	int answer = fill(open(name, O_RDONLY | O_NONBLOCK | O_CLOEXEC));
	int saved = errno;
	close(fd);
	errno = saved;
	return answer;
}

static int do_map(char **w) {
	struct place p = place_of(w[1]);
	struct stat info;
	int fd = openat(p.at, p.path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);

	if (fd < 0 || fstat(fd, &info) != 0) {
		return -1;
	}
	size_t len = (size_t)info.st_size < sizeof(data) ? (size_t)info.st_size : sizeof(data);
	char *at = mmap(NULL, len, PROT_READ, MAP_PRIVATE, fd, 0);
	int saved = errno;
	close(fd);
	errno = saved;
	if (at == MAP_FAILED) {
		return -1;
	}
	memcpy(data, at, len);
	data_len = len;
	munmap(at, len);
	return 0;
}

static int by_name(const void *a, const void *b) {
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static int do_list(char **w) {
	struct place p = place_of(w[1]);
	char *names[1024];
	size_t n = 0;
	int fd = openat(p.at, p.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);

	if (dir == NULL) {
		return -1;
	}
	for (struct dirent *d;
	     (d = readdir(dir)) != NULL && n < sizeof(names) / sizeof(names[0]);) {
		names[n++] = strdup(d->d_name);
	}
	closedir(dir);
	qsort(names, n, sizeof(names[0]), by_name);
	for (size_t i = 0; i < n; i++) {
		size_t len = strlen(names[i]) + 1;
		if (data_len + len <= sizeof(data)) {
			memcpy(data + data_len, names[i], len);
			data_len += len;
		}
		free(names[i]);
	}
	return 0;
}

static int do_exec(char **w) {
	struct place p = place_of(w[1]);
	int ends[2], status = 0;
	char *argv[] = {p.path, NULL};

	if (pipe2(ends, O_CLOEXEC) != 0) {
		return -1;
	}
	pid_t pid = fork();
	if (pid == 0) {
		dup2(ends[1], 1);
		dup2(open("/dev/null", O_WRONLY | O_CLOEXEC),
		     2); /* what a shell says of a script */
		execveat(p.at, p.path, argv, environ, 0);
		_exit(errno == ENOENT ? 77 : 78);
	}
	close(ends[1]);
	(void)fill(ends[0]);
	waitpid(pid, &status, 0);
	errno = WEXITSTATUS(status) == 77 ? ENOENT : EACCES;
	return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : -1;
}

/* What happens in a directory from now on, and what has happened since. */
static int watcher = -1;

static int do_watch(char **w) {
	struct place p = place_of(w[1]);
	if (watcher < 0) {
		watcher = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	}
	return inotify_add_watch(watcher, p.path,
				 IN_CREATE | IN_CLOSE_WRITE | IN_DELETE | IN_MOVE) < 0
		       ? -1
		       : 0;
}

static int do_heard(char **w) {
	(void)w;
	_Alignas(struct inotify_event) char room[TEXT_MAX];
	ssize_t got = read(watcher, room, sizeof(room));
	for (ssize_t at = 0; at < got;) {
		const struct inotify_event *event = (const void *)(room + at);
		data_len += (size_t)snprintf(data + data_len, sizeof(data) - data_len, "%s\n",
					     event->len == 0 ? "" : event->name);
		at += (ssize_t)sizeof(*event) + event->len;
	}
	return got < 0 && errno != EAGAIN ? -1 : 0;
}

/* ---- changing ---- */

static int put(int fd, const char *text) {
	if (fd < 0) {
		return -1;
	}
	ssize_t got = write(fd, text, strlen(text));
	int saved = errno;
	close(fd);
	errno = saved;
	return got < 0 ? -1 : 0;
}

static int do_append(char **w) {
	struct place p = place_of(w[1]);
	return put(openat(p.at, p.path, O_WRONLY | O_APPEND | O_NONBLOCK | O_CLOEXEC), w[2]);
}

static int do_create(char **w) {
	struct place p = place_of(w[1]);
	return put(
		openat(p.at, p.path, O_WRONLY | O_CREAT | O_TRUNC | O_NONBLOCK | O_CLOEXEC, 0644),
		w[2]);
}

static int do_exclusive(char **w) {
	struct place p = place_of(w[1]);
	return put(openat(p.at, p.path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600), w[2]);
}

static int do_empty(char **w) {
	struct place p = place_of(w[1]);
	int fd = openat(p.at, p.path, O_RDONLY | O_TRUNC | O_NONBLOCK | O_CLOEXEC);
	return fd < 0 ? -1 : close(fd);
}

/* Through a path descriptor: what /proc/self/fd leads to is written. */
static int do_rewrite(char **w) {
	struct place p = place_of(w[1]);
	char name[64];
	int fd = openat(p.at, p.path, O_PATH | O_CLOEXEC);

	if (fd < 0) {
		return -1;
	}
	snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
	int answer = put(open(name, O_WRONLY | O_APPEND | O_NONBLOCK | O_CLOEXEC), w[2]);
	int saved = errno;
	close(fd);
	errno = saved;
	return answer;
}

static int do_truncate(char **w) {
	struct place p = place_of(w[1]);
	return truncate(p.path, 1);
}

static int do_mkdir(char **w) {
	struct place p = place_of(w[1]);
	return mkdirat(p.at, p.path, 0755);
}

static int do_fifo(char **w) {
	struct place p = place_of(w[1]);
	return mknodat(p.at, p.path, S_IFIFO | 0600, 0);
}

static int do_socket(char **w) {
	struct place p = place_of(w[1]);
	struct sockaddr_un name = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (strlen(p.path) >= sizeof(name.sun_path)) {
		confused("a socket's name is too long");
	}
	memcpy(name.sun_path, p.path, strlen(p.path) + 1);
	int answer = fd < 0 ? -1 : bind(fd, (struct sockaddr *)&name, sizeof(name));
	int saved = errno;
	close(fd);
	errno = saved;
	return answer;
}

static int do_nameless(char **w) {
	struct place dir = place_of(w[1]), to = place_of(w[2]);
	char name[64];
	int fd = openat(dir.at, dir.path, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

	if (fd < 0) {
		return -1;
	}
	if (write(fd, w[3], strlen(w[3])) < 0) {
		confused("a nameless file cannot be written");
	}
	snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
	int answer = linkat(AT_FDCWD, name, to.at, to.path, AT_SYMLINK_FOLLOW);
	int saved = errno;
	close(fd);
	errno = saved;
	return answer;
}

static int do_unlink(char **w) {
	struct place p = place_of(w[1]);
	return unlinkat(p.at, p.path, 0);
}

static int do_rmdir(char **w) {
	struct place p = place_of(w[1]);
	return unlinkat(p.at, p.path, AT_REMOVEDIR);
}

static int do_symlink(char **w) {
	struct place p = place_of(w[2]);
	return symlinkat(w[1], p.at, p.path);
}

static int do_link(char **w) {
	struct place from = place_of(w[1]), to = place_of(w[2]);
	return linkat(from.at, from.path, to.at, to.path, 0);
}

static int rename_with(char **w, unsigned flags) {
	struct place from = place_of(w[1]), to = place_of(w[2]);
	return renameat2(from.at, from.path, to.at, to.path, flags);
}

static int do_rename(char **w) {
	return rename_with(w, 0);
}

static int do_exchange(char **w) {
	return rename_with(w, RENAME_EXCHANGE);
}

static int do_chmod(char **w) {
	struct place p = place_of(w[1]);
	return fchmodat(p.at, p.path, (mode_t)strtoul(w[2], NULL, 8), 0);
}

static int do_times(char **w) {
	struct place p = place_of(w[1]);
	const struct timespec epoch[2] = {{1, 0}, {1, 0}};
	return utimensat(p.at, p.path, epoch, 0);
}

static int do_attribute(char **w) {
	struct place p = place_of(w[1]);
	return setxattr(p.path, "user.doer", "x", 1, 0);
}

/* ---- where it stands ---- */

static int do_chdir(char **w) {
	struct place p = place_of(w[1]);
	return chdir(p.path);
}

static int do_hold(char **w) {
	int fd = open(place_of(w[2]).path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	int *slot = &held[w[1][0] - '0'];

	if (fd < 0) {
		return -1;
	}
	close(*slot);
	*slot = fd;
	return 0;
}

static const struct {
	const char *name;
	int words;
	int (*run)(char **w);
} calls[] = {
	{"append", 2, do_append},     {"attribute", 1, do_attribute}, {"chdir", 1, do_chdir},
	{"chmod", 2, do_chmod},       {"create", 2, do_create},       {"empty", 1, do_empty},
	{"exchange", 2, do_exchange}, {"exclusive", 2, do_exclusive}, {"exec", 1, do_exec},
	{"fifo", 1, do_fifo},         {"heard", 0, do_heard},         {"hold", 2, do_hold},
	{"link", 2, do_link},         {"list", 1, do_list},           {"map", 1, do_map},
	{"mkdir", 1, do_mkdir},       {"nameless", 3, do_nameless},   {"openat2", 1, do_openat2},
	{"read", 1, do_read},         {"rename", 2, do_rename},       {"reopen", 1, do_reopen},
	{"rewrite", 2, do_rewrite},   {"rmdir", 1, do_rmdir},         {"socket", 1, do_socket},
	{"symlink", 2, do_symlink},   {"times", 1, do_times},         {"truncate", 1, do_truncate},
	{"unlink", 1, do_unlink},     {"watch", 1, do_watch},
};

static void unhex(char *word) {
	size_t n = strcmp(word, "-") == 0 ? 0 : strlen(word) / 2;

	for (size_t i = 0; i < n; i++) {
		const char digits[] = {word[2 * i], word[2 * i + 1], '\0'};
		word[i] = (char)strtoul(digits, NULL, 16);
	}
	word[n] = '\0';
}

static void obey(char *line) {
	char *w[WORDS_MAX] = {0};
	int n = 0, answer = 0;

	line[strcspn(line, "\n")] = '\0';
	for (char *word; n < WORDS_MAX && (word = strsep(&line, " ")) != NULL; n++) {
		w[n] = word;
		if (n > 0) {
			unhex(word);
		}
	}
	data_len = 0;
	size_t row = 0, count = sizeof(calls) / sizeof(calls[0]);
	while (row < count && strcmp(calls[row].name, w[0]) != 0) {
		row++;
	}
	if (row == count || calls[row].words != n - 1) {
		confused("no such call");
	}
	answer = calls[row].run(w);
	printf("%d ", answer == 0 ? 0 : errno);
	for (size_t i = 0; i < data_len; i++) {
		printf("%02x", (unsigned char)data[i]);
	}
	puts(data_len == 0 ? "-" : "");
	fflush(stdout);
}

int main(int argc, char **argv) {
	char *line = NULL;
	size_t room = 0;

	if (argc != 2) {
		confused("usage: doer ROOT");
	}
	root = argv[1];
	umask(022);
	for (size_t i = 0; i < HELD_MAX; i++) {
		held[i] = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	}
	while (getline(&line, &room, stdin) > 0) {
		obey(line);
	}
	free(line);
	return 0;
}
