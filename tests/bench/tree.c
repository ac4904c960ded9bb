/* SPDX-License-Identifier: Apache-2.0 */
/* A tree of many small files, for measuring what rules cost on one.
 *
 *     tree DIR DIRECTORIES FILES
 *
 * Makes so many directories below DIR, which must be empty or missing, 32 in each at
 * most, and spreads the files over them evenly.  Names and endings are those of an
 * installed dependency tree. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FAN 32
#define PATH_MAX_HERE 512

static const char *const endings[] = {"js",  "json", "md", "ts", "d.ts",
				      "map", "c",    "h",  "py", "txt"};

static void die(const char *what) {
	fprintf(stderr, "tree: %s: %s\n", what, strerror(errno));
	exit(1);
}

/* The directories are numbered as a heap is: the parent of n is (n - 1) / FAN. */
static void path_of(size_t n, char *path, size_t room) {
	char tail[PATH_MAX_HERE] = "", step[PATH_MAX_HERE];

	for (; n > 0; n = (n - 1) / FAN) {
		snprintf(step, sizeof(step), "/lib-%zu%s", n % FAN, tail);
		memcpy(tail, step, sizeof(tail));
	}
	snprintf(path, room, ".%s", tail);
}

static void fill(size_t number, size_t files) {
	char path[PATH_MAX_HERE];
	static const char text[] = "export default 1;\n";

	path_of(number, path, sizeof(path));
	if (number > 0 && mkdir(path, 0755) != 0) {
		die(path);
	}
	int dir = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0) {
		die(path);
	}
	for (size_t i = 0; i < files; i++) {
		char name[64];
		snprintf(name, sizeof(name), "file%zu.%s", i,
			 endings[i % (sizeof(endings) / sizeof(endings[0]))]);
		int fd = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
		if (fd < 0 || write(fd, text, sizeof(text) - 1) < 0) {
			die(name);
		}
		close(fd);
	}
	close(dir);
}

int main(int argc, char **argv) {
	size_t dirs = argc == 4 ? strtoul(argv[2], NULL, 10) : 0;
	size_t files = argc == 4 ? strtoul(argv[3], NULL, 10) : 0;

	if (dirs == 0) {
		fprintf(stderr, "usage: tree DIR DIRECTORIES FILES\n");
		return 2;
	}
	if ((mkdir(argv[1], 0755) != 0 && errno != EEXIST) || chdir(argv[1]) != 0) {
		die(argv[1]);
	}
	for (size_t n = 0; n < dirs; n++) {
		/* The remainder goes to the first ones. */
		fill(n, files / dirs + (n < files % dirs));
	}
	return 0;
}
