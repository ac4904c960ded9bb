/* SPDX-License-Identifier: Apache-2.0 */
/* The plan: the mounts, Landlock rights, seccomp traits, network rules, limits and environment of
 * one run on this host.
 *
 * Pure data, printable, complete before any process is created.  plan_build() is a function of
 * its arguments: it opens no file and reads the host through struct host only.
 *
 * Invariants, cited by tests:
 *  L1  mounts are ordered so that a path comes after every path above it;
 *  L2  the result does not depend on the order in which rules were written;
 *  L3  a deny is never pierced by a grant above it or at the same path;
 *  L4  nothing is created beneath the workspace by set-up;
 *  L5  every guarantee is enforced, weaker or absent, with its reason;
 *  L6  a repository outside is shown only when its own files name the workspace as
 *      its working tree. */
#ifndef CORRAL_PLAN_PLAN_H
#define CORRAL_PLAN_PLAN_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "plan/host.h"
#include "plan/net/net.h"
#include "plan/rules.h"
#include "policy/policy.h"

#include <limits.h>

/* The Landlock ABI that introduced a right, where more than one file needs it. */
#define LANDLOCK_ABI_TRUNCATE 3
#define LANDLOCK_ABI_SCOPES 6 /* signals and abstract sockets */
#define LANDLOCK_ABI_UNIX 9   /* sockets with a path */

enum guarantee {
	GUARANTEE_FS_WRITE,
	GUARANTEE_FS_READ,
	GUARANTEE_FS_DENY,
	GUARANTEE_NET,
	GUARANTEE_NET_NAMES,
	GUARANTEE_IPC,
	GUARANTEE_PID,
	GUARANTEE_ENV,
	GUARANTEE_LIMITS_TIME,
	GUARANTEE_LIMITS_OUTPUT,
	GUARANTEE_LIMITS_MEMORY,
	GUARANTEE_LIMITS_PROCESSES,
	GUARANTEE_LIMITS_CPU,
	GUARANTEE_LIMITS_DISK,
	GUARANTEE_LIFETIME,
	GUARANTEE_EXEC,
	GUARANTEE_PRIVILEGES,
	GUARANTEE_LEAKS,
	GUARANTEE_COUNT
};

enum state { STATE_ABSENT, STATE_WEAKER, STATE_ENFORCED };

struct guarantee_report {
	enum state state;
	const char *by[4]; /* mechanisms: "mount", "landlock", …; NULL-terminated when shorter */
	const char *why;   /* weaker: the loss; absent: the reason; enforced: NULL */
	bool grave; /* weaker by so much that the run is refused unless the loss is accepted */
};

enum mount_kind {
	MOUNT_DIR,       /* an empty directory of the new root */
	MOUNT_LINK,      /* a symlink of the new root; text = its target */
	MOUNT_FILE,      /* a small file of the new root; text = its content */
	MOUNT_BIND,      /* source, recursive; writable or not */
	MOUNT_COW,       /* source under an overlay; changes go to a directory of Corral's state */
	MOUNT_PRIVATE,   /* a writable directory of the run's own tmpfs */
	MOUNT_PROC,      /* a fresh procfs; with plan.shares_proc the caller's, read-only */
	MOUNT_DEVICE,    /* one device node of the host */
	MOUNT_PTS,       /* a new devpts instance */
	MOUNT_QUEUES,    /* mqueue: the POSIX message queues of the new ipc namespace */
	MOUNT_MASK_FILE, /* an empty, unreadable file over the target */
	MOUNT_MASK_DIR,  /* an empty directory over the target */
	MOUNT_COVER,     /* the same, in which the target's entries are mounted again */
	MOUNT_TEXT,      /* a small read-only file of Corral over the target; text = its content */
	MOUNT_PIN, /* a bind mount of the target on itself, so that it cannot be renamed; writable =
		    * false makes it read-only as well, true leaves its rights as they are */
};

/* The rights that Landlock grants beneath a target. */
enum reach { REACH_NONE, REACH_LIST, REACH_READ, REACH_EXEC, REACH_WRITE, REACH_DEVICE };

struct mount {
	enum mount_kind kind;
	const char *target; /* absolute path inside */
	const char *source; /* canonical host path (BIND, COW, DEVICE); TEXT without namespaces: the
			     * file in the run's own directory that is opened instead */
	const char *text;
	const char *secret; /* FILE: the variable of the secret that is its content; NULL: text */
	enum reach reach;
	uint32_t mode; /* of a created file or directory */
	bool writable;
	bool create;  /* the mount point may be created: it lies in the run's own root or tmpfs */
	bool maybe;   /* a mount that fails is left out */
	bool is_file; /* the source is not a directory */
	bool noexec;  /* nothing on it can be executed, unless plan.execs names it */
	bool steady; /* TEXT: the text does not depend on the covered file, so it also covers a file
		      * that replaces it; false: such a new file is masked */
	const char *follow; /* the host path of a single file that is shown or masked: when the host
			     * replaces the file, the new one is treated alike; NULL */
	const char *named;  /* a mask: the host path as the rule names it; NULL */
	bool door; /* with `follow`: its directory, in the run's own root, carries the Landlock
		    * right for the new file */
	uint64_t dev, ino; /* identity of the source when it was planned */
	struct origin origin;
	const char *note; /* why, for explain: "system", "toolchain", "credential" */
};

/* With commands.default = deny: what may be executed (exec.c).  The first kind wins at one path. */
enum exec_kind {
	EXEC_PROGRAM, /* a file that execve(2) may run: a listed command, its interpreter, a loader
		       */
	EXEC_TREE,    /* a directory whose programs a listed command runs */
	EXEC_LIBRARIES, /* a directory whose files may be mapped with PROT_EXEC, but not executed */
	EXEC_CLOSED,    /* a program in such a directory: neither */
};

struct exec_file {
	const char *path; /* inside, without symlinks */
	enum exec_kind kind;
};

struct rlimit_row {
	int resource;
	uint64_t value;
};

/* Only ENGINE_NAMESPACES has pid, ipc and network namespaces; ENGINE_CONTAINER has those of a
 * container engine (docker/container.h).  In the other engines the view is the host's own tree, so
 * target and source are the same path.  From ENGINE_LANDLOCK on files are protected;
 * ENGINE_SEATBELT is that of macOS (plan/seatbelt). */
enum engine {
	ENGINE_NONE,
	ENGINE_SECCOMP,
	ENGINE_LANDLOCK,
	ENGINE_SEATBELT,
	ENGINE_NAMESPACES,
	ENGINE_CONTAINER,
};

struct container_run;

/* Limits that no kernel mechanism of this host enforces: a sampler measures the command and kills
 * it when it exceeds one (linux/sampler.h).  0 for none. */
struct sampled {
	int64_t memory, processes, disk;
};

struct plan {
	enum engine engine;
	enum level level;
	unsigned depth;   /* this sandbox and those of Corral around it; plan/nested.c */
	bool full_access; /* mode: the caller accepted that nothing is protected */
	struct guarantee_report guarantees[GUARANTEE_COUNT];

	struct mount *mounts;
	size_t nmounts, mounts_cap;
	struct mount *standby; /* a steady text that is mounted when the host replaces the symlink
				* that leads to the right file now; NULL */

	uint32_t uid, gid;        /* of the command, inside */
	const char *workspace;    /* on the host */
	const char *workspace_at; /* inside */
	const char *home_source;  /* private home on the host, created by the engine (0700) before
				     the run; NULL when the home is ephemeral or not private */
	const char *home_set;     /* a name for the mount points in it; NULL: the usual ones */
	const char *home_at;
	const char *home_own;     /* the caller's HOME on the host; NULL when the view has none */
	const char *own_dirs[5];  /* state, configuration and sockets of Corral, which no grant
				   * shows; NULL where unknown */
	const char *own_files[2]; /* the policy files in them, as Corral opens them */
	const char *cwd;          /* inside */
	const char *hostname;

	char **env; /* NULL-terminated */
	size_t nenv, env_cap;

	const struct host_secret *secrets; /* names; backend/secrets.h has the values */
	size_t nsecrets;

	bool own_net; /* net.mode is not full: loopback, and the connections that the gate allows */
	struct net_plan net;
	bool broker;         /* a broker answers the filter's seccomp user notifications */
	bool judges;         /* the broker checks rules about names at each system call */
	bool names_open;     /* without it, on an engine that cannot mount: existing files that
			      * Corral protects by itself can be changed */
	bool nested;         /* a nested sandbox is allowed */
	bool shares_proc;    /* /proc is that of the pid namespace above, read-only */
	bool inner;          /* and may create namespaces: the broker checks changes in them */
	unsigned traits;     /* of the filter: enum syscall_trait */
	unsigned exceptions; /* the traits that protected or hidden paths within a writable tree
			      * need */
	enum denials_recorded denials; /* which refusals the broker records */
	const bool *denied;   /* system calls of seccomp.extra_deny, by enum syscall_id; NULL */
	struct rules rules;   /* about names that no mount can cover */
	const char *stand_in; /* the directory that the broker uses instead of /dev/shm and /tmp;
			       * NULL */
	bool islands;         /* single files are read-only in a writable tree */
	bool spread;          /* a tree was granted entry by entry, to leave one out */
	const char *run_dir; /* a directory for this run alone, created before and removed after it;
			      * NULL with namespaces, which use a tmpfs */
	const char *cow_dir; /* where changes of the workspace go; NULL: into it */
	int landlock_abi;    /* the ABI to use; 0 for none */
	int gate_abi;        /* the same, for the gate */
	bool exec_limited;   /* only `execs` may be executed */
	struct exec_file *execs; /* sorted by path */
	size_t nexecs, execs_cap;
	const char *exec_why; /* why that list is not complete; NULL */
	uint64_t tmp_size;    /* bytes; of the run's own tmpfs */

	struct rlimit_row rlimits[12];
	size_t nrlimits;

	int64_t timeout_ms, idle_ms, grace_ms;           /* LIMIT_NONE for none */
	int64_t output_bytes;                            /* a stream; LIMIT_NONE for none */
	int64_t memory_bytes, cpu_millis, max_processes; /* for the cgroup; LIMIT_NONE */
	bool use_cgroup;
	struct sampled sampled;
	bool scan_terminal; /* the default: of a person's streams only terminals are scanned */
	enum leak_action scan_args, scan_output; /* a secret in the arguments; in the output */
	enum leak_action scan_net; /* in a request of plain HTTP; LEAK_OFF without a gate */
	int64_t processors;        /* CPU affinity: the number of processors; 0: not pinned */

	const struct container_run *container; /* with ENGINE_CONTAINER; else NULL */

	const char *unkept; /* why a protection was not applied in full; NULL: none was left out */
	const char **notes; /* for `corral explain`: skipped optional paths, … */
	size_t nnotes, notes_cap;

	const char **warnings; /* printed at every run */
	size_t nwarnings, warnings_cap;
};

/* All strings belong to the arena, the policy or the host.  Fails with ERR_SETUP when this host
 * cannot provide the level or a required guarantee. */
int plan_build(struct arena *a, const struct policy *p, const struct host *h, struct plan *ret,
	       struct err *e);

/* The memory limit, by the cgroup or by the sampler; LIMIT_NONE. */
static inline int64_t plan_memory_bytes(const struct plan *plan) {
	return plan->sampled.memory != 0 ? plan->sampled.memory : plan->memory_bytes;
}

/* No namespaces of the run's own. */
static inline bool plan_lacks_namespaces(const struct plan *plan) {
	return plan->engine < ENGINE_NAMESPACES;
}

const char *guarantee_name(enum guarantee g);
const char *plan_state_name(enum state s);
/* The limit of a resource of setrlimit(2); UINT64_MAX: none. */
uint64_t plan_rlimit(const struct plan *plan, int resource);

const char *plan_level_name(enum level l);
const char *plan_engine_name(enum engine n);

/* Refuses a plan that lacks a guarantee which the policy requires or requests. */
int guarantees_check(const struct plan *plan, const struct policy *p, struct err *e);

/* "guarantees" as every report has them; NULL: there is no plan. */
void guarantees_emit(struct emit *j, const struct guarantee_report guarantees[GUARANTEE_COUNT]);

/* The access that the sandbox has to a normal absolute path.  Symlinks are not followed. */
enum visibility {
	VISIBILITY_NONE,    /* the view has nothing there */
	VISIBILITY_DENIED,  /* a mask lies over it */
	VISIBILITY_PRIVATE, /* in the run's own HOME */
	VISIBILITY_READ,
	VISIBILITY_WRITE,
};
enum visibility plan_visibility(const struct plan *plan, const char *path);

/* Whether a path inside is a socket of net.sockets that nothing hides. */
bool plan_passes_socket(const struct plan *plan, const char *path);

/* A file of the host at this path is not shown: no mount has it, a mask covers it, or the directory
 * is the run's own (a private HOME or /tmp). */
bool plan_hides_host(const struct plan *plan, const char *path);

/* Whether it still is the socket that the policy names: in a writable tree the command may have
 * put another one under that name. */
bool plan_socket_stands(const struct plan *plan, const char *path, uint64_t dev, uint64_t ino);

/* The mount that shows the path: the deepest one, pins apart; NULL: none. */
const struct mount *plan_mount_over(const struct plan *plan, const char *path);

/* The host's path for a path inside, by the deepest tree of the host that it lies in, even if a
 * mask covers it there; false: it lies in none, or the result is too long. */
bool plan_host_path(const struct plan *plan, const char *path, char out[PATH_MAX]);

/* The bind mount through which a write at this path reaches the host; NULL where the path is the
 * run's own or not writable. */
const struct mount *plan_outside(const struct plan *plan, const char *path);

/* By the mounts alone, without the rules about names. */
enum visibility plan_mount_visibility(const struct plan *plan, const char *path);

/* Whether the command can write a path of the host, at any path inside that shows it, as one of the
 * two functions above sees it. */
bool plan_writes(const struct plan *plan, const char *host,
		 enum visibility (*sees)(const struct plan *, const char *));

/* Whether the command can write the file that the host has for this path inside, also at another
 * path. */
bool plan_writes_elsewhere(const struct plan *plan, const char *path);

/* Whether the command may execute the file at a path inside, if it may read it. */
bool plan_executes(const struct plan *plan, const char *path);

/* Whether a table of credentials names a path of the host or one above it; the path is normal.  No
 * grant is proposed for such a path. */
bool plan_is_credential(const struct host *h, const char *path);

/* The rule that decides about a path. */
struct visibility_rule {
	const char *note; /* "fs.deny", "system", "credential"; NULL: the path is not mounted */
	const struct origin *origin; /* NULL with it */
	const char *written;         /* the pattern, as it was written, and */
	const char *reason;          /* why a table has it; both NULL when a mount decides */
	const char *at; /* target of the mount that decides; NULL for a rule about a name */
};
struct visibility_rule plan_rule_of(const struct plan *plan, const char *path);

/* The boundary as one paragraph for the system prompt of a language model. */
void plan_prompt(const struct plan *plan, const struct policy *p, struct buf *out);

/* The plan with the origin of each rule; text for people, JSON for programs. */
void plan_explain(const struct plan *plan, const struct policy *p, bool json, struct buf *out);

#endif
