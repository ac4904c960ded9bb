/* SPDX-License-Identifier: Apache-2.0 */
/* Creates, limits, reads and removes the cgroup of a run, v1 and v2.
 *
 * A v2 run has one cgroup for all controllers, and CLONE_INTO_CGROUP starts its child in
 * it.  A v1 run has one cgroup per controller, and its child joins each before it executes
 * the command.  Cgroups are created beneath the caller's own (or, v2, beside it), so that
 * the limits of the caller apply to the run as well.
 *
 * Invariants, cited by tests:
 *  Q1  the probe (cgroup_probe.c) writes nothing;
 *  Q2  a group is named corral-PID-RANDOM after the process that owns it;
 *  Q3  the sweep removes only groups of that form with an owner that does not exist;
 *  Q4  after cgroup_free(), and after a failed cgroup_new(), no group remains.
 *
 * Should:   write the limits of the plan before the command runs.
 * Must not: write a file outside the run's own group, with one exception: a parent's
 *           cgroup.subtree_control, to enable a controller that the plan needs.
 * Fails:    closed.  Only memory.swap.max and memory.memsw.limit_in_bytes may be missing:
 *           the kernel has them only with swap accounting. */
#include "linux/cgroup.h"

#include "base/auto.h"
#include "base/fd.h"
#include "base/str.h"
#include "linux/cgroup_files.h"
#include "linux/spawn.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>

#define NAME_PREFIX "corral-"
#define NAME_RANDOM 16 /* hexadecimal digits */
#define NAME_SIZE 48   /* the prefix, a pid, a dash, the digits */
#define PATH_SIZE (sizeof((struct host_cgroup *)0)->dir[0] + NAME_SIZE)

/* Killed processes exit asynchronously; half a second is enough for one that does not hang in
 * the kernel, and the next run sweeps the rest. */
#define REMOVE_TRIES 500
#define REMOVE_PAUSE_NS 1000000L

/* The kernel's default period for processor quotas, in microseconds. */
#define CPU_PERIOD_US 100000

struct group {
	char path[PATH_SIZE];
	int dir_fd, join_fd; /* join_fd: the join file, for writing */
	bool has[CONTROLLERS];
};

struct cgroup {
	enum cgroup_kind kind;
	struct group groups[CONTROLLERS];
	size_t ngroups;
	int join_fds[CONTROLLERS];
};

/* ---- small files ---- */

static int write_text(int dir, const char *file, const char *text) {
	auto_fd fd = openat(dir, file, O_WRONLY | O_CLOEXEC);
	if (fd < 0) {
		return -1;
	}
	return fd_write_all(fd, text, strlen(text));
}

/* The number after "key " in a flat keyed file; -1 without that key. */
static int64_t keyed_number(const char *text, const char *key) {
	size_t len = strlen(key);
	for (const char *line = text; line != NULL && *line != '\0';) {
		if (strncmp(line, key, len) == 0 && line[len] == ' ') {
			return strtoll(line + len + 1, NULL, 10);
		}
		line = strchr(line, '\n');
		line = line == NULL ? NULL : line + 1;
	}
	return -1;
}

/* ---- sweep ---- */

/* The owner's pid when name has the form of Q2, else 0. */
static pid_t name_owner(const char *name) {
	char *end;
	if (!str_starts(name, NAME_PREFIX)) {
		return 0;
	}
	name += strlen(NAME_PREFIX);
	size_t digits = strspn(name, "0123456789");
	if (digits == 0 || digits > 9 || name[digits] != '-') {
		return 0;
	}
	const char *random = name + digits + 1;
	if (strlen(random) != NAME_RANDOM || strspn(random, "0123456789abcdef") != NAME_RANDOM) {
		return 0;
	}
	return (pid_t)strtol(name, &end, 10);
}

/* Removes the groups of killed runs beside the new group.  A group that still has processes
 * cannot be removed (EBUSY), so a live run is safe even if the pid was reused. */
static void sweep(const char *parent) {
	auto_dir dir = opendir(parent);
	const struct dirent *entry;

	if (dir == NULL) {
		return; /* only a clean-up: the creation of the group reports errors */
	}
	while ((entry = readdir(dir)) != NULL) {
		pid_t owner = name_owner(entry->d_name);
		if (owner > 0 && kill(owner, 0) != 0 && errno == ESRCH) {        /* Q3 */
			(void)unlinkat(dirfd(dir), entry->d_name, AT_REMOVEDIR); /* EBUSY: later */
		}
	}
}

/* ---- creation ---- */

enum amount { ZERO, ONE, BYTES, PROCESSES, BANDWIDTH, PERIOD, QUOTA };

struct knob {
	enum cgroup_kind kind;
	enum controller controller;
	const char *file;
	enum amount amount;
	bool optional; /* missing if the kernel has no swap accounting */
};

static const struct knob knobs[] = {
	{CGROUP_V2, MEMORY, "memory.max", BYTES, false},
	/* Without swap: a run above its limit would slow down the whole host. */
	{CGROUP_V2, MEMORY, "memory.swap.max", ZERO, true},
	/* The OOM killer ends all processes: a half-killed build is worse than an ended one. */
	{CGROUP_V2, MEMORY, "memory.oom.group", ONE, false},
	{CGROUP_V2, PIDS, "pids.max", PROCESSES, false},
	{CGROUP_V2, CPU, "cpu.max", BANDWIDTH, false},
	{CGROUP_V1, MEMORY, "memory.limit_in_bytes", BYTES, false},
	/* Memory and swap together; must not be below the row above, so it comes after it. */
	{CGROUP_V1, MEMORY, "memory.memsw.limit_in_bytes", BYTES, true},
	{CGROUP_V1, PIDS, "pids.max", PROCESSES, false},
	{CGROUP_V1, CPU, "cpu.cfs_period_us", PERIOD, false},
	{CGROUP_V1, CPU, "cpu.cfs_quota_us", QUOTA, false},
};

static int64_t plan_value(const struct plan *plan, enum controller c) {
	const int64_t values[CONTROLLERS] = {[MEMORY] = plan->memory_bytes,
					     [PIDS] = plan->max_processes,
					     [CPU] = plan->cpu_millis};
	return values[c];
}

/* limits.processes counts one process of Corral in a run.  Without namespaces the inner warden is
 * in the group, beside the guard. */
static int64_t group_processes(const struct plan *plan) {
	return plan->max_processes + (plan_lacks_namespaces(plan) ? 1 : 0);
}

static void amount_text(const struct plan *plan, enum amount amount, char *out, size_t cap) {
	int64_t quota = plan->cpu_millis * (CPU_PERIOD_US / 1000);

	if (amount == BANDWIDTH) {
		(void)snprintf(out, cap, "%" PRId64 " %d", quota, CPU_PERIOD_US);
		return;
	}
	const int64_t numbers[] = {
		[ZERO] = 0,
		[ONE] = 1,
		[BYTES] = plan->memory_bytes,
		[PROCESSES] = group_processes(plan),
		[PERIOD] = CPU_PERIOD_US,
		[QUOTA] = quota,
	};
	(void)snprintf(out, cap, "%" PRId64, numbers[amount]);
}

static int group_limit(const struct cgroup *c, const struct group *g, const struct plan *plan,
		       struct err *e) {
	for (size_t i = 0; i < ARRAY_LEN(knobs); i++) {
		const struct knob *k = &knobs[i];
		char text[48];
		if (k->kind != c->kind || !g->has[k->controller]) {
			continue;
		}
		amount_text(plan, k->amount, text, sizeof text);
		if (write_text(g->dir_fd, k->file, text) == 0 || (k->optional && errno == ENOENT)) {
			continue;
		}
		err_sys_at(e, "cgroup", "cannot write the limit", k->file);
		return err_fix(e,
			       "run without the limit, or set one that the parent cgroup allows");
	}
	return 0;
}

/* Enables the controllers that the group needs in the parent's cgroup.subtree_control. */
static int hand_down(const char *parent, const bool need[CONTROLLERS], struct err *e) {
	char given[256] = "", text[64];
	int at = 0;
	auto_fd dir = open(parent, O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (dir < 0 || !read_head(dir, "cgroup.subtree_control", given, sizeof given)) {
		return err_sys_at(e, "cgroup", "cannot read cgroup.subtree_control in", parent);
	}
	for (int i = 0; i < CONTROLLERS; i++) {
		if (need[i] && !has_word(given, controller_names[i])) {
			at += snprintf(text + at, sizeof text - (size_t)at, "+%s ",
				       controller_names[i]);
		}
	}
	if (at > 0 && write_text(dir, "cgroup.subtree_control", text) != 0) {
		return err_sys_at(e, "cgroup",
				  "cannot enable controllers (cgroup.subtree_control) in", parent);
	}
	return 0;
}

/* The file to which a process writes "0" to join.  In version 1 it is `tasks`, for the thread that
 * writes: a process with one thread moves as a whole, and the kernel takes no lock.  For
 * cgroup.procs it stops every fork and exit on the host, and waits for an RCU grace period, 7 to
 * 25 ms.  Version 2 has no such file for a process, and clone3() joins its group. */
static const char *join_file(enum cgroup_kind kind) {
	return kind == CGROUP_V1 ? "tasks" : "cgroup.procs";
}

static int group_make(struct cgroup *c, const char *parent, const char *name,
		      const bool has[CONTROLLERS], struct err *e) {
	struct group *g = &c->groups[c->ngroups];

	sweep(parent);
	(void)snprintf(g->path, sizeof g->path, "%s/%s", parent, name); /* fits by PATH_SIZE */
	memcpy(g->has, has, sizeof g->has);
	g->dir_fd = g->join_fd = -1;
	if (mkdir(g->path, 0755) != 0) {
		return err_sys_at(e, "cgroup", "cannot create the cgroup", g->path);
	}
	c->ngroups++; /* from here on cgroup_free() removes it */
	g->dir_fd = open(g->path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (g->dir_fd < 0) {
		return err_sys_at(e, "cgroup", "cannot open the cgroup", g->path);
	}
	g->join_fd = openat(g->dir_fd, join_file(c->kind), O_WRONLY | O_CLOEXEC);
	if (g->join_fd < 0) {
		char file[PATH_SIZE + sizeof "/cgroup.procs"];
		(void)snprintf(file, sizeof file, "%s/%s", g->path, join_file(c->kind)); /* fits */
		return err_sys_at(e, "cgroup", "cannot open", file);
	}
	c->join_fds[c->ngroups - 1] = g->join_fd;
	return 0;
}

static int make_groups(struct cgroup *c, const struct host_cgroup *host, const char *name,
		       const bool need[CONTROLLERS], struct err *e) {
	if (c->kind == CGROUP_V2) {
		if (hand_down(host->dir[0], need, e) != 0) {
			return -1;
		}
		return group_make(c, host->dir[0], name, need, e);
	}
	for (int i = 0; i < CONTROLLERS; i++) {
		bool only[CONTROLLERS] = {
			[MEMORY] = i == MEMORY, [PIDS] = i == PIDS, [CPU] = i == CPU};
		if (need[i] && group_make(c, host->dir[i], name, only, e) != 0) {
			return -1;
		}
	}
	return 0;
}

static int check_needs(const struct plan *plan, const struct host_cgroup *host,
		       bool ret[CONTROLLERS], struct err *e) {
	const bool has[CONTROLLERS] = {host->memory, host->pids, host->cpu};

	if (host->kind == CGROUP_NONE) {
		return err_set(e, ERR_SETUP, "cgroup", "cannot create a cgroup: %s",
			       host->why != NULL ? host->why : "this host has none");
	}
	for (int i = 0; i < CONTROLLERS; i++) {
		ret[i] = plan_value(plan, i) != LIMIT_NONE;
		if (ret[i] && !has[i]) {
			return err_set(e, ERR_SETUP, "cgroup",
				       "the cgroup controller %s is not available: %s",
				       controller_names[i],
				       host->why != NULL ? host->why : "this host has none");
		}
	}
	return 0;
}

int cgroup_new(const struct plan *plan, const struct host_cgroup *host, struct cgroup **ret,
	       struct err *e) {
	char name[NAME_SIZE];
	bool need[CONTROLLERS];
	uint64_t random;
	pid_t owner = getpid();

	if (check_needs(plan, host, need, e) != 0) {
		return -1;
	}
	if (getrandom(&random, sizeof random, 0) != (ssize_t)sizeof random) {
		return err_sys(e, "cgroup", "cannot get random bytes for the cgroup's name");
	}
	(void)snprintf(name, sizeof name, NAME_PREFIX "%d-%016" PRIx64, (int)owner, random);
	assert(name_owner(name) == owner); /* Q2 */

	struct cgroup *c = calloc(1, sizeof *c);
	if (c == NULL) {
		return err_memory(e, "cgroup");
	}
	c->kind = host->kind;
	if (make_groups(c, host, name, need, e) != 0) {
		goto remove; /* Q4 */
	}
	for (size_t i = 0; i < c->ngroups; i++) {
		if (group_limit(c, &c->groups[i], plan, e) != 0) {
			goto remove;
		}
	}
	*ret = c;
	return 0;
remove:
	cgroup_free(c);
	return -1;
}

int cgroup_fd(const struct cgroup *c) {
	return c != NULL && c->kind == CGROUP_V2 ? c->groups[0].dir_fd : -1;
}

size_t cgroup_join_fds(const struct cgroup *c, bool always, const int **ret) {
	bool joins = c != NULL && (always || c->kind == CGROUP_V1);
	*ret = joins ? c->join_fds : NULL;
	return joins ? c->ngroups : 0;
}

/* ---- usage ---- */

static int64_t number_in(const struct group *g, const char *file) {
	char text[32];
	return read_head(g->dir_fd, file, text, sizeof text) ? strtoll(text, NULL, 10) : -1;
}

/* Version 1 has no such counter: failcnt stays zero where swap is limited as well. */
static bool peak_is_limit(const struct group *g) {
	int64_t limit = number_in(g, "memory.limit_in_bytes");
	return limit > 0 && (number_in(g, "memory.max_usage_in_bytes") >= limit ||
			     number_in(g, "memory.memsw.max_usage_in_bytes") >= limit);
}

/* oom_kill counts the OOM killer of the whole host as well; `oom` is about this cgroup. */
static void memory_usage(const struct cgroup *c, const struct group *g, struct usage *u) {
	bool v2 = c->kind == CGROUP_V2;
	char text[512];
	if (!read_head(g->dir_fd, v2 ? "memory.events" : "memory.oom_control", text, sizeof text)) {
		return;
	}
	u->oom_kills = keyed_number(text, "oom_kill");
	u->oom = u->oom_kills > 0;
	u->memory_limited = u->oom && (v2 ? keyed_number(text, "oom") > 0 : peak_is_limit(g));
}

static void pids_usage(const struct group *g, struct usage *u) {
	char text[256];
	if (read_head(g->dir_fd, "pids.peak", text, sizeof text)) {
		u->processes_peak = strtoll(text, NULL, 10);
	}
	if (read_head(g->dir_fd, "pids.events", text, sizeof text)) {
		u->processes_limited = keyed_number(text, "max") > 0;
	}
}

int64_t cgroup_oom_kills(const struct cgroup *c) {
	struct usage u = {.oom_kills = 0};

	for (size_t i = 0; c != NULL && i < c->ngroups; i++) {
		if (c->groups[i].has[MEMORY]) {
			memory_usage(c, &c->groups[i], &u);
		}
	}
	return u.oom_kills;
}

void cgroup_usage(const struct cgroup *c, struct usage *u) {
	u->processes_peak = -1;
	u->oom_kills = 0;
	u->oom = u->memory_limited = u->processes_limited = false;
	for (size_t i = 0; c != NULL && i < c->ngroups; i++) {
		const struct group *g = &c->groups[i];
		if (g->has[MEMORY]) {
			memory_usage(c, g, u);
		}
		if (g->has[PIDS]) {
			pids_usage(g, u);
		}
	}
}

/* ---- removal ---- */

/* Whole lines only: a truncated pid would be another process. */
static bool read_members(const struct group *g, char *out, size_t cap) {
	if (!read_head(g->dir_fd, "cgroup.procs", out, cap)) {
		return false;
	}
	char *last = strrchr(out, '\n');
	*(last == NULL ? out : last) = '\0';
	return true;
}

static bool group_holds(const struct group *g, pid_t pid) {
	char text[4096], word[16];
	(void)snprintf(word, sizeof word, "%d", (int)pid);
	return read_members(g, text, sizeof text) && has_word(text, word);
}

/* The kernel may reuse a pid between the read and the kill, so a pidfd pins the process first,
 * and its membership is read again. */
static void kill_member(const struct group *g, pid_t pid) {
	auto_fd pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (pidfd >= 0 && group_holds(g, pid)) {
		/* ESRCH: it has ended. */
		(void)syscall(SYS_pidfd_send_signal, pidfd, SIGKILL, NULL, 0);
	}
}

/* One pass over the first members; group_remove() repeats it on EBUSY. */
static void kill_members(const struct group *g) {
	char text[1024];
	char *at = text;

	if (write_text(g->dir_fd, "cgroup.kill", "1") == 0) {
		return; /* version 2 since Linux 5.14 */
	}
	if (!read_members(g, text, sizeof text)) {
		return;
	}
	for (;;) {
		long pid = strtol(at, &at, 10);
		if (pid <= 0) {
			break;
		}
		if (pid != getpid()) {
			kill_member(g, (pid_t)pid);
		}
	}
}

static void group_remove(const struct group *g) {
	const struct timespec pause = {.tv_nsec = REMOVE_PAUSE_NS};
	for (int i = 0; i < REMOVE_TRIES; i++) {
		if (rmdir(g->path) == 0 || errno != EBUSY) {
			return; /* another error is permanent; the next run's sweep tries again */
		}
		kill_members(g);
		(void)nanosleep(&pause, NULL); /* a signal only makes the wait shorter */
	}
}

void cgroup_free(struct cgroup *c) {
	if (c == NULL) {
		return;
	}
	for (size_t i = 0; i < c->ngroups; i++) {
		struct group *g = &c->groups[i];
		group_remove(g);
		auto_fd_(&g->join_fd);
		auto_fd_(&g->dir_fd);
	}
	free(c);
}

/* ---- another owner ---- */

void cgroup_describe(const struct cgroup *c, struct cgroup_image *ret) {
	*ret = (struct cgroup_image){.ngroups = 0};
	for (size_t i = 0; c != NULL && i < c->ngroups; i++) {
		_Static_assert(sizeof ret->groups[i].path >= PATH_SIZE, "a path fits");
		memcpy(ret->groups[i].path, c->groups[i].path, PATH_SIZE);
		memcpy(ret->groups[i].has, c->groups[i].has, sizeof ret->groups[i].has);
	}
	if (c != NULL) {
		ret->kind = c->kind;
		ret->ngroups = (uint32_t)c->ngroups;
	}
}

struct cgroup *cgroup_adopt(const struct cgroup_image *i) {
	if (i->ngroups == 0 || i->ngroups > CONTROLLERS) {
		return NULL;
	}
	struct cgroup *c = calloc(1, sizeof *c);
	if (c == NULL) {
		return NULL;
	}
	c->kind = (enum cgroup_kind)i->kind;
	for (; c->ngroups < i->ngroups; c->ngroups++) {
		struct group *g = &c->groups[c->ngroups];
		memcpy(g->path, i->groups[c->ngroups].path, PATH_SIZE);
		memcpy(g->has, i->groups[c->ngroups].has, sizeof g->has);
		g->path[PATH_SIZE - 1] = '\0';
		g->join_fd = -1;
		g->dir_fd = open(g->path, O_PATH | O_DIRECTORY | O_CLOEXEC);
		if (g->dir_fd < 0) {
			cgroup_forget(c);
			return NULL;
		}
	}
	return c;
}

void cgroup_forget(struct cgroup *c) {
	for (size_t i = 0; c != NULL && i < c->ngroups; i++) {
		drop_fd(&c->groups[i].join_fd);
		drop_fd(&c->groups[i].dir_fd);
	}
	free(c);
}
