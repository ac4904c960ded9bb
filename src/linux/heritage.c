/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the inherited attributes of this process.
 *
 * Should:   read everything that the command of a cold run would inherit from its caller and that
 *           no layer sets anew: ids, namespaces, root, control group, limits, priorities, CPU
 *           affinity, memory policy, umask, LSM label; and which program this is.
 * Must not: leave one out because it is rarely used: the command would get the keeper's instead of
 *           the caller's.  A Landlock domain cannot be read; J3 compares it.
 * Fails:    closed: an attribute that cannot be read keeps the run out of the pool. */
#include "backend/pool.h"

#include "base/auto.h"
#include "linux/kernel_api.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <stdio.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#define GROUPS_MAX 256
#define IO_WHO_PROCESS 1

/* Values of one call each; some differ with the kernel, and an error is a value too. */
static void read_numbers(struct buf *out) {
	unsigned char affinity[1024] = {0};
	unsigned long nodes[128] = {0};
	int mode = 0;
	struct sched_attributes sched = {.size = sizeof sched};
	long numbers[] = {
		syscall(SYS_sched_getattr, 0, &sched, sizeof sched, 0),
		syscall(SYS_sched_getaffinity, 0, sizeof affinity, affinity),
		syscall(SYS_get_mempolicy, &mode, nodes, sizeof nodes * 8, NULL, 0),
		syscall(SYS_getpriority, PRIO_PROCESS, 0),
		syscall(SYS_ioprio_get, IO_WHO_PROCESS, 0),
		syscall(SYS_personality, 0xffffffffUL),
		prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0),
		prctl(PR_GET_SECUREBITS, 0, 0, 0, 0),
		prctl(PR_GET_TIMERSLACK, 0, 0, 0, 0),
		prctl(PR_GET_THP_DISABLE, 0, 0, 0, 0),
		prctl(PR_GET_SPECULATION_CTRL, PR_SPEC_STORE_BYPASS, 0, 0, 0),
		prctl(PR_GET_SPECULATION_CTRL, PR_SPEC_INDIRECT_BRANCH, 0, 0, 0),
	};

	buf_add(out, numbers, sizeof numbers);
	buf_add(out, &sched, sizeof sched);
	buf_add(out, affinity, sizeof affinity);
	buf_add(out, &mode, sizeof mode);
	buf_add(out, nodes, sizeof nodes);
}

static void read_umask(struct buf *out) {
	mode_t mask = umask(0);

	(void)umask(mask); /* returns the 0 that was set */
	buf_add(out, &mask, sizeof mask);
}

static int read_limits(struct buf *out) {
	for (int i = 0; i < RLIM_NLIMITS; i++) {
		struct rlimit now;
		if (getrlimit(i, &now) != 0) {
			return -1;
		}
		buf_add(out, &now, sizeof now);
	}
	return 0;
}

static int read_ids(struct buf *out) {
	gid_t groups[GROUPS_MAX];
	uid_t ids[6];
	int n = getgroups(GROUPS_MAX, groups);

	if (n < 0 || getresuid(&ids[0], &ids[1], &ids[2]) != 0 ||
	    getresgid(&ids[3], &ids[4], &ids[5]) != 0) {
		return -1;
	}
	buf_add(out, ids, sizeof ids);
	buf_add(out, groups, (size_t)n * sizeof groups[0]);
	return 0;
}

/* A caller of another version of the program makes another sandbox. */
static int read_program(struct buf *out) {
	struct stat st;

	if (stat("/proc/self/exe", &st) != 0) {
		return -1;
	}
	buf_add(out, &st.st_dev, sizeof st.st_dev);
	buf_add(out, &st.st_ino, sizeof st.st_ino);
	buf_add(out, &st.st_mtim, sizeof st.st_mtim);
	return 0;
}

/* Namespaces, and the root directory. */
static int read_places(struct buf *out) {
	static const char *const paths[] = {
		"/proc/self/ns/mnt", "/proc/self/ns/user",   "/proc/self/ns/pid",
		"/proc/self/ns/net", "/proc/self/ns/ipc",    "/proc/self/ns/uts",
		"/proc/self/root",   "/proc/self/ns/cgroup", "/proc/self/ns/time_for_children",
	};
	const size_t optional = 7; /* since Linux 4.6 and 5.6 */

	for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
		struct stat st = {.st_ino = 0};
		bool failed = stat(paths[i], &st) != 0;
		if (failed && i < optional) {
			return -1;
		}
		buf_add(out, &st.st_dev, sizeof st.st_dev);
		buf_add(out, &st.st_ino, sizeof st.st_ino);
	}
	return 0;
}

static int read_file(struct buf *out, const char *path, bool optional) {
	char text[4096];
	auto_fd fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text);

	if ((n < 0 && !optional) || n == (ssize_t)sizeof text) {
		return -1;
	}
	buf_add(out, &n, sizeof n);
	buf_add(out, text, n < 0 ? 0 : (size_t)n);
	return 0;
}

int heritage_read(struct buf *out) {
	if (prctl(PR_GET_SECCOMP, 0, 0, 0, 0) != 0 || read_ids(out) != 0 || read_limits(out) != 0 ||
	    read_places(out) != 0 || read_program(out) != 0 ||
	    read_file(out, "/proc/self/cgroup", false) != 0 ||
	    read_file(out, "/proc/self/oom_score_adj", false) != 0 ||
	    read_file(out, "/proc/self/attr/current", true) != 0) {
		return -1;
	}
	read_numbers(out);
	read_umask(out);
	return buf_failed(out) ? -1 : 0;
}
