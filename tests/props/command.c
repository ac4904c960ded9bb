/* SPDX-License-Identifier: Apache-2.0 */
/* The command's side of the parity test: what a program inside can do.
 *
 * "ok WHERE DIGEST": done, on the file that the kernel calls so; "other WHERE" when
 * that is no regular file; "no ERRNO". */
#include "parity.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

static void refuse(void) {
	printf("no %s\n", strerrorname_np(errno));
}

/* With '\n' and blanks of names made harmless. */
static const char *where(int fd) {
	static char space[2][PATH_MAX];
	static int turn;
	char *out = space[turn++ % 2];
	char from[32];
	ssize_t n;

	(void)snprintf(from, sizeof from, "/proc/self/fd/%d", fd);
	n = readlink(from, out, PATH_MAX - 1);
	out[n < 0 ? 0 : n] = '\0';
	for (char *p = out; *p != '\0'; p++) {
		*p = *p <= ' ' ? '?' : *p;
	}
	return out;
}

static void do_read(const char *path) {
	char bytes[65536];
	struct stat st;
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	ssize_t n;
	uint64_t hash = DIGEST_START;

	if (fd < 0 || fstat(fd, &st) != 0) {
		refuse();
		return;
	}
	if (S_ISFIFO(st.st_mode) || S_ISCHR(st.st_mode)) {
		printf("other %s\n", where(fd));
		close(fd);
		return;
	}
	while ((n = read(fd, bytes, sizeof bytes)) > 0) {
		hash = digest(hash, bytes, (size_t)n);
	}
	if (n < 0) {
		refuse();
	} else {
		printf("ok %s %016llx\n", where(fd), (unsigned long long)hash);
	}
	close(fd);
}

static void do_write(const char *path, int flags, const char *content) {
	struct stat st;
	int fd = open(path, O_WRONLY | O_CREAT | O_NONBLOCK | O_NOCTTY | O_CLOEXEC | flags, 0666);

	if (fd < 0 || fstat(fd, &st) != 0) {
		refuse();
		return;
	}
	if (!S_ISREG(st.st_mode)) {
		printf("other %s\n", where(fd));
	} else if (write(fd, content, strlen(content)) < 0) {
		refuse();
	} else {
		printf("ok %s -\n", where(fd));
	}
	close(fd);
}

static int by_name(const struct dirent **a, const struct dirent **b) {
	return strcmp((*a)->d_name, (*b)->d_name);
}

static void do_list(const char *path) {
	struct dirent **entries = NULL;
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_NONBLOCK | O_CLOEXEC);
	int n = fd < 0 ? -1 : scandirat(fd, ".", &entries, NULL, by_name);
	uint64_t hash = DIGEST_START;

	if (n < 0) {
		refuse();
		return;
	}
	for (int i = 0; i < n; i++) {
		const char *name = entries[i]->d_name;
		if (strcmp(name, ".") != 0 && strcmp(name, "..") != 0) {
			hash = digest(hash, name, strlen(name) + 1);
		}
		free(entries[i]);
	}
	free(entries);
	printf("ok %s %016llx\n", where(fd), (unsigned long long)hash);
	close(fd);
}

/* "ok TO leads|hangs IN": whether the link leads to something that can be read, and
 * which directory it lay in; it goes again. */
static void do_link(const char *words, const char *path) {
	char parent[2 * PATH_MAX];
	struct stat st;

	if (symlink(words, path) != 0) {
		refuse();
		return;
	}
	(void)snprintf(parent, sizeof parent, "%s", path);
	char *slash = strrchr(parent, '/');
	slash[slash == parent] = '\0';
	int dir = open(parent, O_PATH | O_CLOEXEC);
	int fd = open(path, O_PATH | O_CLOEXEC);
	int there = fd >= 0 && fstat(fd, &st) == 0;
	int file = there && (S_ISREG(st.st_mode) || S_ISDIR(st.st_mode));
	int again = file ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	int readable = again >= 0;
	printf("ok %s %s %s\n", there ? where(fd) : "-", readable ? "leads" : "hangs", where(dir));
	if (fd >= 0) {
		close(fd);
	}
	if (again >= 0) {
		close(again);
	}
	close(dir);
	(void)unlink(path);
}

/* The directory that the path's last name lies in: before the call, which may change that. */
static int open_parent(const char *path) {
	char parent[2 * PATH_MAX];
	size_t len = strlen(path);

	while (len > 1 && path[len - 1] == '/') {
		len--;
	}
	while (len > 0 && path[len - 1] != '/') {
		len--;
	}
	(void)snprintf(parent, sizeof parent, "%.*s", len == 0 ? 1 : (int)len,
		       len == 0 ? "." : path);
	return open(parent, O_PATH | O_CLOEXEC);
}

/* "ok IN -": which directory the name lay in. */
static void do_change(const struct operation *op) {
	int dir = open_parent(op->first), rc;

	if (strcmp(op->what, "mkdir") == 0) {
		rc = mkdir(op->first, 0777);
	} else if (strcmp(op->what, "move") == 0) {
		rc = renameat2(AT_FDCWD, op->first, AT_FDCWD, op->second, RENAME_NOREPLACE);
	} else {
		rc = unlink(op->first);
		rc = rc != 0 && errno == EISDIR ? rmdir(op->first) : rc;
	}
	if (rc != 0) {
		refuse();
	} else {
		printf("ok %s -\n", where(dir));
	}
	if (dir >= 0) {
		close(dir);
	}
}

int main(void) {
	static struct operation op;

	while (next_operation(&op)) {
		if (strcmp(op.what, "read") == 0) {
			do_read(op.first);
		} else if (strcmp(op.what, "write") == 0) {
			do_write(op.first, O_TRUNC, op.content);
		} else if (strcmp(op.what, "create") == 0) {
			do_write(op.first, O_EXCL, op.content);
		} else if (strcmp(op.what, "list") == 0) {
			do_list(op.first);
		} else if (strcmp(op.what, "link") == 0) {
			do_link(op.first, op.second);
		} else if (strcmp(op.what, "mkdir") == 0 || strcmp(op.what, "remove") == 0 ||
			   strcmp(op.what, "move") == 0) {
			do_change(&op);
		} else {
			return 2;
		}
	}
	return 0;
}
