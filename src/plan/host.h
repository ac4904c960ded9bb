/* SPDX-License-Identifier: Apache-2.0 */
/* The facts about a host that a plan depends on: kernel features, the caller, its files.
 *
 * linux/probe.c fills it for the real host, tests fill it for other hosts.  The plan reads nothing
 * else, so the same policy and the same host always give the same plan. */
#ifndef CORRAL_PLAN_HOST_H
#define CORRAL_PLAN_HOST_H

#include "base/buf.h"
#include "plan/git/obeyed.h"
#include "plan/git/identity.h"
#include "plan/name_filter.h"

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

/* The host's file system, through call-backs. */
struct host_fs {
	void *ctx;
	/* The entry itself; a final symlink is LOOK_LINK. */
	struct look (*look)(void *ctx, const char *path);
	/* The target of a symlink, as written; false when it is not a symlink or too long. */
	bool (*readlink)(void *ctx, const char *path, char *out, size_t cap);
	/* All symlinks resolved; false when it does not exist. */
	bool (*resolve)(void *ctx, const char *path, char *out, size_t cap);
	/* Calls each for every entry of a directory but "." and ".."; false when unreadable. */
	bool (*list)(void *ctx, const char *path, void (*each)(void *arg, const char *name),
		     void *arg);
	/* The same for entries that are or may be symlinks.  NULL: `list` has them. */
	bool (*links)(void *ctx, const char *path, void (*each)(void *arg, const char *name),
		      void *arg);
	/* Adds the names in a directory that is small enough to be listed faster than looked into;
	 * false, or NULL: look each name up. */
	bool (*names)(void *ctx, const char *path, struct name_filter *out);
	/* Whether names in this directory are case-insensitive. */
	bool (*folds)(void *ctx, const char *path);
	/* Appends the whole of a regular file; false when it is another kind of file, unreadable
	 * or longer than limit.  A final symlink is not followed. */
	bool (*read)(void *ctx, const char *path, size_t limit, struct buf *out);
	/* The first bytes of a regular file, at most cap; 0 when unreadable.  NULL: no file can be
	 * read. */
	size_t (*head)(void *ctx, const char *path, char *out, size_t cap);
};

#define QUERY_WORDS 6

/* A program of the host that is run to print one of its settings. */
struct program_query {
	const char *name;    /* under which the output is cached */
	const char *program; /* canonical path */
	const char *words[QUERY_WORDS + 1];
	const char *home, *path; /* "HOME=…", "PATH=…": its whole environment */
};

/* How a plan used a variable of the caller, for a snapshot. */
enum variable_use {
	VARIABLE_UNUSED,
	VARIABLE_PASSED,   /* to the command: the plan does not depend on its value */
	VARIABLE_EXPANDED, /* in a setting: it may be a password */
	VARIABLE_READ,
};

/* host.cgroup.why before a probe. */
#define HOST_CGROUP_UNCHECKED "cgroups were not checked: no limit needs them"

/* A secret of the vault that the run gets. */
struct host_secret {
	const char *name;
	const char *agent;    /* whose it is; "": shared */
	const char *variable; /* "NAME"; of a file the variable is NAME_FILE */
	bool file;
};

enum cgroup_kind { CGROUP_NONE, CGROUP_V1, CGROUP_V2 };

#define HOST_CGROUP_PATH 256

struct host_cgroup {
	enum cgroup_kind kind;
	bool memory, pids, cpu; /* controllers that Corral may use */
	const char *why;        /* why a controller is missing, for `corral status` */
	bool scope; /* v2: this user's systemd makes dir[0] when the run starts (linux/scope.h) */
	/* Where a new cgroup can be created.  v2 uses dir[0]; v1 one per controller. */
	char dir[3][HOST_CGROUP_PATH]; /* memory, pids, cpu */
};

/* A container engine, as its own command reports it (docker/engine.c). */
struct host_container {
	const char *program;    /* path of its command */
	const char *start;      /* the program that connects a container to the gate; NULL: none */
	bool rootless;          /* containers have the caller's rights, not root's */
	bool seccomp;           /* it loads profiles */
	bool memory, pids, cpu; /* limits that it enforces */
	bool init;              /* it has a pid 1 of its own */
	bool proxies;           /* its client adds variables of its own */
	uint64_t processes;     /* the highest RLIMIT_NPROC that the caller may set; 0: unknown */
};

struct host {
	uint32_t uid, gid;
	bool privileged;  /* euid 0 */
	const char *user; /* login name, or NULL */
	const char *home; /* absolute, existing, or NULL */
	const char *cwd;
	const char *command;    /* argv[0] of the run, for warnings; NULL: none is planned */
	const char *shell;      /* argv[0], if it is a shell with -c; NULL */
	bool asks;              /* --ask: the supervisor decides about refused opens */
	bool streams_inherited; /* corral_spawn(): the run has no relay of its streams */
	const char *run_id;     /* of this run (base/run_id.h); NULL for the host of a snapshot */
	const char *run_uuid;   /* for the variables of env.prefix; or NULL */
	int64_t started_ms;     /* since 1970 */
	const char *state_dir;  /* where Corral keeps its own state, or NULL */
	bool state_closed;      /* it cannot be created or written */
	bool home_taken;        /* other runs use the private home, with other mount points in it */
	const char *const *environ;   /* the caller's */
	unsigned char *environ_used;  /* of each, an enum variable_use; NULL: not recorded */
	struct identity git;          /* user.name and user.email of the caller */
	const char *git_settings;     /* the caller's other git settings for the sandbox; NULL */
	const char *git_ignores;      /* text of the caller's core.excludesFile; NULL */
	struct git_obeyed git_obeyed; /* hooks and files that the caller's git settings name */
	bool userns;                  /* user namespaces can be created */
	const char *userns_why;       /* why not, with the remedy */
	const char *proc_why;         /* why a run can mount no procfs of its own; NULL: it can */
	int landlock_abi;             /* 0: none */
	bool seccomp;
	bool seatbelt; /* macOS: sandbox-exec(1); then none of the three above */
	/* probe_broker() */
	bool notify_refused; /* the kernel gave no listener, also if a probe finds that it has one
			      */
	bool notify; /* seccomp user notification works, and the caller's memory can be read */
	const char *notify_why; /* why not */
	bool sockets;           /* and its sockets can be duplicated (pidfd_getfd) */
	/* For an engine without namespaces; probe_without_namespaces() fills it. */
	const char *run_dir; /* an unused path for the directory of the run */
	const char *cow_dir; /* an unused path for the changes of a run; NULL without a state
			      * directory */
	const struct host_container *container; /* for the backends docker and podman; NULL */
	struct host_cgroup cgroup;
	const char *scope_why; /* why systemd gave no scope when one was tried; NULL: try */
	const char
		*sampling_why; /* why processes cannot be measured from outside; NULL: they can */
	const struct host_secret *secrets; /* lib/run_secrets.c selects them; NULL: none */
	size_t nsecrets;
	struct host_fs fs;
	/* Appends the output of the program; false when there is none.  Cached: it runs once.
	 * NULL: no program is run. */
	bool (*ask)(const void *ctx, const struct program_query *q, struct buf *out);
	const void *ask_ctx;
};

/* The host as macOS has it: Seatbelt, and no mechanism of Linux. */
void host_as_macos(struct host *h);

/* The caller's variable, or NULL; the first of several wins. */
const char *plan_caller_variable(const struct host *h, const char *name);
/* The same for another use than VARIABLE_READ. */
const char *plan_variable_for(const struct host *h, const char *name, enum variable_use use);
/* Records a use of environ[i]. */
void plan_variable_used(const struct host *h, size_t i, enum variable_use use);

#endif
