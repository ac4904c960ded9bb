/* SPDX-License-Identifier: Apache-2.0 */
/* The walk of the file tools: two lines, the words of a link and a path.
 *
 * The kernel knows the answer: where the plan shows one tree as the root, a path leads
 * where openat2 takes it in that root (RESOLVE_IN_ROOT), by the kernel's leap and name
 * by name alike.  A path that does not lead anywhere does so for both. */
#include "fuzz.h"

#include "base/auto.h"
#include "base/str.h"
#include "files/place.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <sys/wait.h>

static char top[] = "/tmp/corral-fuzz-walk-XXXXXX";
static int root = -1;

static void remove_tree(void) {
	pid_t child = fork();
	if (child == 0) {
		execl("/bin/rm", "rm", "-rf", top, (char *)NULL);
		_exit(127);
	}
	(void)!waitpid(child, NULL, 0);
}

/* Short names, so that mutations hit them. */
static void make_tree(void) {
	static const char *const dirs[] = {"a", "a/b", "a/b/c", "d"};
	static const struct {
		const char *words, *path;
	} links[] = {{"a", "l"},      {"/a/b", "d/m"},       {"../d", "a/n"},
		     {"n/m", "a/o"},  {"loop", "loop"},      {"/", "d/r"},
		     {"none", "a/p"}, {"../../..", "a/b/q"}, {"f", "a/b/g"}};
	HOLDS(mkdtemp(top) != NULL && atexit(remove_tree) == 0);
	root = open(top, O_PATH | O_DIRECTORY | O_CLOEXEC);
	HOLDS(root >= 0);
	for (size_t i = 0; i < ARRAY_LEN(dirs); i++) {
		HOLDS(mkdirat(root, dirs[i], 0755) == 0);
	}
	for (size_t i = 0; i < ARRAY_LEN(links); i++) {
		HOLDS(symlinkat(links[i].words, root, links[i].path) == 0);
	}
	auto_fd file = openat(root, "a/b/f", O_CREAT | O_WRONLY | O_CLOEXEC, 0644);
	HOLDS(file >= 0);
}

/* The kernel's answer; false when there is none.  It returns EAGAIN for "..", if any process of
 * the machine renames or mounts something meanwhile. */
static bool by_kernel(const char *path, struct stat *ret) {
	struct open_how how = {.flags = O_PATH | O_CLOEXEC,
			       .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS};
	auto_fd fd = -1;
	do {
		fd = (int)syscall(SYS_openat2, root, path, &how, sizeof how);
	} while (fd < 0 && errno == EAGAIN);
	return fd >= 0 && fstat(fd, ret) == 0;
}

static bool by_walk(const struct plan *plan, const char *path, bool fast, struct stat *ret) {
	struct lens lens = {.plan = plan, .fast = fast};
	struct place p;
	struct err e = {0};

	if (place_find(&lens, path, 0, &p, &e) != 0) {
		HOLDS(e.kind != ERR_NONE && e.what[0] != '\0');
		return false;
	}
	bool there = p.kind == PLACE_FILE;
	HOLDS(there || p.kind == PLACE_MISSING);
	HOLDS(p.path[0] == '/' && (there ? p.fd >= 0 : p.fd < 0));
	*ret = p.st;
	place_done(&p);
	return there;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
	struct input in = {data, size < 2048 ? size : 2048};
	auto_free char *words = input_until(&in, '\n'), *path = input_rest(&in);
	struct stat wanted, got;

	if (root < 0) {
		make_tree();
	}
	if (words == NULL || path[0] == '\0') {
		return 0;
	}
	(void)unlinkat(root, "x", 0);
	(void)!symlinkat(words, root, "x"); /* empty words make no link */
	struct mount mount = {.kind = MOUNT_BIND, .target = "/", .source = top, .writable = true};
	struct plan plan = {.engine = ENGINE_NAMESPACES,
			    .mounts = &mount,
			    .nmounts = 1,
			    .cwd = "/",
			    .home_at = "/nowhere"};
	bool there = by_kernel(path, &wanted);
	for (int fast = 0; fast < 2; fast++) {
		HOLDS(by_walk(&plan, path, fast == 1, &got) == there);
		HOLDS(!there || (got.st_dev == wanted.st_dev && got.st_ino == wanted.st_ino));
	}
	return 0;
}
