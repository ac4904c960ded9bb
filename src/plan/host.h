/* What this host is and has, as far as a plan depends on it.
 *
 * Filled by linux/probe.c for the real host, by tests for hosts that this
 * machine is not.  The plan looks at nothing else, so the same policy and the
 * same host always give the same plan. */
#ifndef CORRAL_PLAN_HOST_H
#define CORRAL_PLAN_HOST_H

#include "base/buf.h"
#include "plan/git/obeyed.h"
#include "plan/git/identity.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum look_kind { LOOK_NOTHING, LOOK_FILE, LOOK_DIR, LOOK_LINK, LOOK_SOCKET, LOOK_OTHER };

struct look {
	enum look_kind kind;
	uint64_t dev, ino;
	uint32_t uid, mode;
	uint64_t names; /* hard links */
	bool reachable; /* the caller may read or write it */
};

/* The host's file system through a few questions. */
struct host_fs {
	void *ctx;
	/* The entry itself; a final symlink is LOOK_LINK. */
	struct look (*look)(void *ctx, const char *path);
	/* Where a symlink points, as written; false when it is none or too long. */
	bool (*readlink)(void *ctx, const char *path, char *out, size_t cap);
	/* All symlinks resolved; false when it does not exist. */
	bool (*resolve)(void *ctx, const char *path, char *out, size_t cap);
	/* Calls each for every entry of a directory but "." and ".."; false when unreadable. */
	bool (*list)(void *ctx, const char *path, void (*each)(void *arg, const char *name),
		     void *arg);
	/* Whether names in this directory are the same in upper and lower case. */
	bool (*folds)(void *ctx, const char *path);
	/* Appends the whole of a regular file; false when it is none, unreadable or longer
	 * than limit.  A final symlink is not followed. */
	bool (*read)(void *ctx, const char *path, size_t limit, struct buf *out);
};

#define QUERY_WORDS 6

/* A program of the host's that is asked for a setting of its own. */
struct program_query {
	const char *name;    /* under which the answer is kept */
	const char *program; /* canonical path */
	const char *words[QUERY_WORDS + 1];
	const char *home, *path; /* "HOME=…", "PATH=…": its whole environment */
};

enum cgroup_kind { CGROUP_NONE, CGROUP_V1, CGROUP_V2 };

#define HOST_CGROUP_PATH 256

struct host_cgroup {
	enum cgroup_kind kind;
	bool memory, pids, cpu; /* controllers that we may use */
	const char *why;        /* when something is missing: the reason, for the report */
	bool scope; /* v2: this user's systemd makes dir[0] when the run starts (linux/scope.h) */
	/* Where a new group can be made.  v2 uses dir[0]; v1 one per controller. */
	char dir[3][HOST_CGROUP_PATH]; /* memory, pids, cpu */
};

struct host {
	uint32_t uid, gid;
	bool privileged;  /* euid 0 */
	const char *user; /* login name, or NULL */
	const char *home; /* absolute, existing, or NULL */
	const char *cwd;
	const char *command;          /* argv[0] of the run, for warnings; NULL: none is planned */
	const char *state_dir;        /* where Corral keeps its own state, or NULL */
	bool state_closed;            /* it cannot be made or written */
	const char *const *environ;   /* the caller's */
	struct identity git;          /* how the caller signs commits */
	const char *git_settings;     /* what else of the caller's settings holds inside; NULL */
	const char *git_ignores;      /* text of the caller's core.excludesFile; NULL */
	struct git_obeyed git_obeyed; /* what the caller's settings name for every repository */
	bool userns;                  /* user namespaces can be made */
	const char *userns_why;       /* why not, with the remedy */
	int landlock_abi;             /* 0: none */
	bool seccomp;
	/* probe_broker() */
	bool notify;            /* the filter can ask, and the asker's memory can be read */
	const char *notify_why; /* why not */
	bool sockets;           /* and its sockets can be taken */
	/* What an engine without namespaces needs besides; probe_without_namespaces() fills it. */
	const char *run_dir; /* a free name for a directory of the run's own */
	const char *cow_dir; /* a free name for the changes of a run; NULL without a state */
	struct host_cgroup cgroup;
	const char *scope_why; /* why systemd gave no scope when one was tried; NULL: try */
	const char
		*sampling_why; /* why processes cannot be measured from outside; NULL: they can */
	struct host_fs fs;
	/* Appends what the program prints; false when that is nothing.  Kept: it runs once.  NULL:
	 * no program is asked. */
	bool (*ask)(const void *ctx, const struct program_query *q, struct buf *out);
	const void *ask_ctx;
};

/* The caller's variable, or NULL; the first of several wins. */
const char *plan_caller_variable(const struct host *h, const char *name);

#endif
