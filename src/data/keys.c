/* SPDX-License-Identifier: Apache-2.0 */
/* The table of policy keys, one row each, in the order of enum key_id.
 *
 * Should:   be the only place that has a key's name, type, range, narrowing rule and the
 *           values that are not implemented.
 * Must not: hold defaults; those are rows of data/profiles.c.
 * Fails:    closed: a key without a row is an error in a policy.
 *
 * `later`: values that are not implemented and are rejected by name.  For enums choices, for paths
 * the glob characters that are rejected. */
#include "data/keys.h"

#include "data/providers.h"

#include <string.h>

#define KIB ((int64_t)1024)
#define MIB (1024 * KIB)
#define GIB (1024 * MIB)

/* A year: a longer one means "none", and milliseconds stay far from overflow. */
#define DURATION_MAX ((int64_t)365 * 24 * 3600 * 1000)

/* The highest id; the one above it means "no change" to the kernel. */
#define ID_MAX ((int64_t)UINT32_MAX - 1)

/* 2^60: more than any file system has, and sums do not overflow. */
#define BYTES_MAX ((int64_t)1 << 60)

static const char *const modes[] = {"read-only", "workspace-write", "full-access", NULL};
static const char *const backends[] = {"auto",  "linux",   "docker", "podman",
				       "macos", "windows", NULL};
static const char *const levels[] = {"none", "minimal", "standard", "full", "auto", NULL};
static const char *const thresholds[] = {"none", "minimal", "standard", "full", NULL};
static const char *const views[] = {"minimal", "system", "host", NULL};
static const char *const homes[] = {"ephemeral", "persistent", "workspace", NULL};
static const char *const nets[] = {"none", "filtered", "restricted", "full", NULL};
static const char *const verdicts[] = {"deny", "allow", NULL};
/* One order for all four keys, so that "stricter" is one comparison; a value that a direction does
 * not have is in its list of rejected values. */
static const char *const scans[] = {"off", "warn", "redact", "block", "kill", NULL};
static const char *const locks[] = {"none", "workspace", NULL};
static const char *const daemon_starts[] = {"no", "on-demand", NULL};
static const char *const recorded[] = {"off", "changes", "all", NULL};
static const char *const scan_args_later[] = {"redact", "kill", NULL};
static const char *const scan_files_later[] = {"warn", "kill", NULL};
static const char *const scan_net_later[] = {"redact", NULL};
static const char *const reaches[] = {"workspace", "view", NULL};
static const char *const patterns_later[] = {"*", "?", "[", NULL};

/* clang-format off */
static const char *const guarantees[] = {
	"fs.write", "fs.read", "fs.deny", "net", "net.names", "ipc", "pid", "env",
	"limits.time", "limits.output", "limits.memory", "limits.processes", "limits.cpu", "limits.disk",
	"lifetime", "exec", "privileges", "leaks", NULL,
};

const struct key keys[KEY_COUNT] = {
	[KEY_PROFILE] = {
		.name = "profile",
		.type = TYPE_STRING,
		.narrow = NARROW_NEVER,
		.help = "The profile (a named set of values) that the policy starts from.",
	},
	[KEY_MODE] = {
		.name = "mode",
		.type = TYPE_ENUM,
		.narrow = NARROW_LOWER,
		.choices = modes,
		.help = "Which files the command may change: none, the workspace, or all; "
			"full-access protects nothing and needs accept_full_access.",
	},
	[KEY_WORKSPACE] = {
		.name = "workspace",
		.type = TYPE_PATH,
		.narrow = NARROW_NEVER,
		.help = "The directory that the command works in.",
	},
	[KEY_ANY_WORKSPACE] = {
		.name = "any_workspace",
		.type = TYPE_BOOL,
		.narrow = NARROW_NEVER,
		.help = "Accept a home or system directory as the workspace.",
	},
	[KEY_CHDIR] = {
		.name = "chdir",
		.type = TYPE_PATH,
		.narrow = NARROW_FREE,
		.help = "The directory that the command starts in.",
	},
	[KEY_BACKEND] = {
		.name = "backend",
		.type = TYPE_ENUM,
		.narrow = NARROW_NEVER,
		.choices = backends,
		.help = "What enforces the policy; auto is the operating system's own sandbox.",
	},
	[KEY_LEVEL] = {
		.name = "level",
		.type = TYPE_ENUM,
		.narrow = NARROW_NEVER,
		.choices = levels,
		.help = "The level of enforcement to use; auto takes the highest there is.",
	},
	[KEY_MIN_LEVEL] = {
		.name = "min_level",
		.type = TYPE_ENUM,
		.narrow = NARROW_HIGHER,
		.choices = thresholds,
		.help = "Refuse to run below this level of enforcement.",
	},
	[KEY_REQUIRE] = {
		.name = "require",
		.type = TYPE_NAMES,
		.narrow = NARROW_ADD,
		.choices = guarantees,
		.help = "Guarantees that must be fully enforced; otherwise the run is "
			"refused.",
	},
	[KEY_ALLOW_DEGRADED] = {
		.name = "allow_degraded",
		.type = TYPE_NAMES,
		.narrow = NARROW_NEVER,
		.choices = guarantees,
		.help = "Guarantees that may be missing if the host cannot give them.",
	},
	[KEY_ACCEPT_NO_SANDBOX] = {
		.name = "accept_no_sandbox",
		.type = TYPE_BOOL,
		.narrow = NARROW_NEVER,
		.help = "Accept level none: only a clean environment, limits and time-out.",
	},
	[KEY_ACCEPT_FULL_ACCESS] = {
		.name = "accept_full_access",
		.type = TYPE_DATE,
		.narrow = NARROW_NEVER,
		.help = "The date on which you accepted mode full-access; only in your own "
			"file or the administrator's.",
	},
	[KEY_NESTED] = {
		.name = "nested",
		.type = TYPE_BOOL,
		.narrow = NARROW_NEVER,
		.help = "Let the command start a sandbox of its own inside: Landlock, and with "
			"namespaces also mounts.",
	},
	[KEY_PROVIDERS] = {
		.name = "providers",
		.type = TYPE_NAMES,
		.narrow = NARROW_NEVER,
		.choices = provider_names,
		.help = "Model providers and agents that the command works with: their "
			"hosts, keys and settings.",
	},
	[KEY_SKILL] = {
		.name = "skill",
		.type = TYPE_PATH,
		.narrow = NARROW_NEVER,
		.help = "A skill.toml, or its directory: the command gets of the policy only what "
			"the skill requests.",
	},
	[KEY_UID] = {
		.name = "uid",
		.type = TYPE_COUNT,
		.narrow = NARROW_NEVER,
		.min = 1, /* programs would take themselves for root */
		.max = ID_MAX,
		.help = "The user id of the command in the sandbox; the caller's if unset.",
	},
	[KEY_GID] = {
		.name = "gid",
		.type = TYPE_COUNT,
		.narrow = NARROW_NEVER,
		.min = 1,
		.max = ID_MAX,
		.help = "The group id of the command in the sandbox; the caller's if "
			"unset.",
	},
	[KEY_FS_VIEW] = {
		.name = "fs.view",
		.type = TYPE_ENUM,
		.narrow = NARROW_LOWER,
		.choices = views,
		.help = "How much of the host's file system can be read.",
	},
	[KEY_FS_READ] = {
		.name = "fs.read",
		.type = TYPE_PATHS,
		.narrow = NARROW_NEVER,
		.later = patterns_later,
		.help = "More paths that can be read.",
	},
	[KEY_FS_WRITE] = {
		.name = "fs.write",
		.type = TYPE_PATHS,
		.narrow = NARROW_NEVER,
		.later = patterns_later,
		.help = "More paths that can be written.",
	},
	[KEY_FS_DENY] = {
		.name = "fs.deny",
		.type = TYPE_RULES,
		.narrow = NARROW_ADD,
		.help = "Paths and patterns that can be neither read nor written.",
	},
	[KEY_FS_PROTECT] = {
		.name = "fs.protect",
		.type = TYPE_RULES,
		.narrow = NARROW_ADD,
		.help = "Paths and patterns that can be read but not changed or created.",
	},
	[KEY_FS_PROTECT_NAMES] = {
		.name = "fs.protect_names",
		.type = TYPE_NAMES,
		.narrow = NARROW_ADD,
		.help = "File names that can be read but not changed or created, in every "
			"directory and in upper or lower case.",
	},
	[KEY_FS_HOME] = {
		.name = "fs.home",
		.type = TYPE_ENUM,
		.narrow = NARROW_LOWER,
		.choices = homes,
		.help = "Whether the private home is kept after the run, or the workspace "
			"is the "
			"home.",
	},
	[KEY_FS_TOOLCHAINS] = {
		.name = "fs.toolchains",
		.type = TYPE_BOOL,
		.narrow = NARROW_LOWER,
		.help = "Mount the toolchains of the caller's home, read-only.",
	},
	[KEY_FS_WORKSPACE_AT] = {
		.name = "fs.workspace_at",
		.type = TYPE_PATH,
		.narrow = NARROW_NEVER,
		.help = "The workspace's mount point in the sandbox; its own path if "
			"unset.",
	},
	[KEY_FS_AGENT] = {
		.name = "fs.agent",
		.type = TYPE_PATH,
		.narrow = NARROW_NEVER,
		.help = "A directory that is mounted read-only at /agent.",
	},
	[KEY_FS_COW] = {
		.name = "fs.cow",
		.type = TYPE_BOOL,
		.narrow = NARROW_HIGHER,
		.help = "Copy-on-write: keep changes of the workspace apart until they are "
			"applied.",
	},
	[KEY_FS_TOOLS] = {
		.name = "fs.tools",
		.type = TYPE_ENUM,
		.narrow = NARROW_LOWER,
		.choices = reaches,
		.help = "Where the file tools and path arguments may point: the workspace "
			"only, or the whole view.",
	},
	[KEY_NET_MODE] = {
		.name = "net.mode",
		.type = TYPE_ENUM,
		.narrow = NARROW_LOWER,
		.choices = nets,
		.help = "How much of the network can be reached.",
	},
	[KEY_NET_ALLOW] = {
		.name = "net.allow",
		.type = TYPE_HOSTS,
		.narrow = NARROW_NEVER,
		.help = "Hosts that a filtered network allows.",
	},
	[KEY_NET_DENY] = {
		.name = "net.deny",
		.type = TYPE_HOSTS,
		.narrow = NARROW_ADD,
		.help = "Hosts that are denied, also if net.allow lists them.",
	},
	[KEY_NET_PRIVATE] = {
		.name = "net.private",
		.type = TYPE_NETWORKS,
		.narrow = NARROW_NEVER,
		.help = "Private networks that allowed names may resolve to.",
	},
	[KEY_NET_PROXY] = {
		.name = "net.proxy",
		.type = TYPE_BOOL,
		.narrow = NARROW_NEVER,
		.help = "Offer HTTP and SOCKS proxies with the same rules, and set "
			"http_proxy and similar variables.",
	},
	[KEY_NET_PUBLISH] = {
		.name = "net.publish",
		.type = TYPE_PORT_PAIRS,
		.narrow = NARROW_NEVER,
		.help = "Ports of the command that are published on this host's loopback.",
	},
	[KEY_NET_HOST_PORTS] = {
		.name = "net.host_ports",
		.type = TYPE_PORTS,
		.narrow = NARROW_NEVER,
		.help = "Ports of this host's loopback that the command reaches at its own "
			"127.0.0.1.",
	},
	[KEY_NET_SOCKETS] = {
		.name = "net.sockets",
		.type = TYPE_SOCKETS,
		.narrow = NARROW_NEVER,
		.help = "Unix sockets of this host that the command may connect to.",
	},
	[KEY_SECCOMP_EXTRA_DENY] = {
		.name = "seccomp.extra_deny",
		.type = TYPE_NAMES,
		.narrow = NARROW_ADD,
		.help = "System calls that fail with EPERM, besides those that the filter "
			"refuses anyway.",
	},
	[KEY_ENV_PASS] = {
		.name = "env.pass",
		.type = TYPE_NAMES,
		.narrow = NARROW_NEVER,
		.help = "More variables to pass from the caller.",
	},
	[KEY_ENV_SET] = {
		.name = "env.set",
		.type = TYPE_MAP,
		.narrow = NARROW_FREE,
		.help = "Variables to set for the command.",
	},
	[KEY_ENV_ALLOW_DANGEROUS] = {
		.name = "env.allow_dangerous",
		.type = TYPE_NAMES,
		.narrow = NARROW_NEVER,
		.help = "Variables to accept although they change how programs load code.",
	},
	[KEY_ENV_PATH] = {
		.name = "env.path",
		.type = TYPE_STRING,
		.narrow = NARROW_NEVER,
		.help = "PATH of the command: absolute directories, separated by colons.",
	},
	[KEY_ENV_PATH_PREPEND] = {
		.name = "env.path_prepend",
		.type = TYPE_PATHS,
		.narrow = NARROW_NEVER,
		.later = patterns_later,
		.help = "Directories before all others of PATH, which the command cannot "
			"write.",
	},
	[KEY_ENV_TOOLS] = {
		.name = "env.tools",
		.type = TYPE_NAMES,
		.narrow = NARROW_NEVER,
		.help = "Installed tools (corral tool install) that come before all of PATH; their "
			"hashes are checked.",
	},
	[KEY_ENV_PREFIX] = {
		.name = "env.prefix",
		.type = TYPE_STRING,
		.narrow = NARROW_NEVER,
		.help = "The product whose names for ids and places are set too, such as "
			"ASH for ASH_SANDBOX_ID.",
	},
	[KEY_ENV_LABELS] = {
		.name = "env.labels",
		.type = TYPE_MAP,
		.narrow = NARROW_NEVER,
		.help = "Names of this run for the command, such as SESSION_ID, set with "
			"env.prefix and as CORRAL_*.",
	},
	[KEY_ENV_SECRETS] = {
		.name = "env.secrets",
		.type = TYPE_NAMES,
		.narrow = NARROW_NEVER,
		.help = "Secrets of the vault that the command gets: NAME or "
			"NAME=VARIABLE.",
	},
	[KEY_ENV_AGENT] = {
		.name = "env.agent",
		.type = TYPE_STRING,
		.narrow = NARROW_NEVER,
		.help = "The agent whose secrets the command gets.",
	},
	[KEY_COMMANDS_DEFAULT] = {
		.name = "commands.default",
		.type = TYPE_ENUM,
		.narrow = NARROW_LOWER,
		.choices = verdicts,
		.help = "Whether a command without a rule is allowed or denied.",
	},
	[KEY_COMMANDS] = {
		.name = "commands.NAME",
		.type = TYPE_COMMANDS,
		.narrow = NARROW_RULES,
		.help = "A command that is listed, and which of its subcommands are "
			"allowed or blocked.",
	},
	[KEY_LIMITS_TIMEOUT] = {
		.name = "limits.timeout",
		.type = TYPE_DURATION,
		.narrow = NARROW_LOWER,
		.none_allowed = true,
		.min = 1,
		.max = DURATION_MAX,
		.help = "The longest that a command may run.",
	},
	[KEY_LIMITS_IDLE_TIMEOUT] = {
		.name = "limits.idle_timeout",
		.type = TYPE_DURATION,
		.narrow = NARROW_LOWER,
		.none_allowed = true,
		.min = 1,
		.max = DURATION_MAX,
		.help = "The longest that a command may run without output.",
	},
	[KEY_LIMITS_GRACE] = {
		.name = "limits.grace",
		.type = TYPE_DURATION,
		.narrow = NARROW_LOWER,
		.min = 0,
		.max = (int64_t)3600 * 1000,
		.help = "The time between SIGTERM and SIGKILL.",
	},
	[KEY_LIMITS_OUTPUT] = {
		.name = "limits.output",
		.type = TYPE_BYTES,
		.narrow = NARROW_LOWER,
		.none_allowed = true,
		.min = 0,
		.max = GIB, /* kept in memory, twice */
		.help = "How much of each output stream is kept.",
	},
	[KEY_LIMITS_PROCESSES] = {
		.name = "limits.processes",
		.type = TYPE_COUNT,
		.narrow = NARROW_LOWER,
		.none_allowed = true,
		.min = 1,
		.max = 4194304, /* the kernel's own PID_MAX_LIMIT */
		.help = "The most processes at one time.",
	},
	[KEY_LIMITS_OPEN_FILES] = {
		.name = "limits.open_files",
		.type = TYPE_COUNT,
		.narrow = NARROW_LOWER,
		.min = 16,      /* with fewer the loader cannot start a program */
		.max = 1048576, /* the kernel's default fs.nr_open */
		.help = "The most open files of one process.",
	},
	[KEY_LIMITS_FILE_SIZE] = {
		.name = "limits.file_size",
		.type = TYPE_BYTES,
		.narrow = NARROW_LOWER,
		.none_allowed = true,
		.min = 0,
		.max = BYTES_MAX,
		.help = "The largest file that can be written.",
	},
	[KEY_LIMITS_CPU_TIME] = {
		.name = "limits.cpu_time",
		.type = TYPE_DURATION,
		.narrow = NARROW_LOWER,
		.none_allowed = true,
		.min = 1000, /* the kernel counts in whole seconds */
		.max = DURATION_MAX,
		.help = "The processor time of one process.",
	},
	[KEY_LIMITS_MEMORY] = {
		.name = "limits.memory",
		.type = TYPE_BYTES,
		.narrow = NARROW_LOWER,
		.none_allowed = true,
		.min = MIB, /* a shell needs more */
		.max = BYTES_MAX,
		.help = "The memory of all processes together.",
	},
	[KEY_LIMITS_CPUS] = {
		.name = "limits.cpus",
		.type = TYPE_CPUS,
		.narrow = NARROW_LOWER,
		.none_allowed = true,
		.min = 10, /* the kernel's smallest quota, 1 ms in 100 */
		.max = (int64_t)8192 * 1000,
		.help = "How many processors may be used at one time.",
	},
	[KEY_LIMITS_DISK] = {
		.name = "limits.disk",
		.type = TYPE_BYTES,
		.narrow = NARROW_LOWER,
		.none_allowed = true,
		.min = 64 * KIB, /* a few blocks */
		.max = BYTES_MAX,
		.help = "How many bytes a run may add to its writable directories.",
	},
	[KEY_LIMITS_TMP_SIZE] = {
		.name = "limits.tmp_size",
		.type = TYPE_BYTES,
		.narrow = NARROW_LOWER,
		.min = 64 * KIB, /* a few pages: the skeleton is in it too */
		.max = BYTES_MAX,
		.help = "The size of the private /tmp and home together.",
	},
	[KEY_SCAN_ARGS] = {
		.name = "scan.args",
		.type = TYPE_ENUM,
		.narrow = NARROW_HIGHER,
		.choices = scans,
		.later = scan_args_later,
		.later_why = "a changed argument is another command, and a refused command "
			     "has nothing to end; the nearest action is block",
		.help = "A secret in the arguments, in env.set, in env.pass or in stdin: "
			"off, "
			"warn, or block.",
	},
	[KEY_SCAN_OUTPUT] = {
		.name = "scan.output",
		.type = TYPE_ENUM,
		.narrow = NARROW_HIGHER,
		.choices = scans,
		.help = "A secret in stdout or stderr: off, warn, redact, block (drop the "
			"rest "
			"of the stream), or kill (end the run).",
	},
	[KEY_SCAN_FILES] = {
		.name = "scan.files",
		.type = TYPE_ENUM,
		.narrow = NARROW_HIGHER,
		.choices = scans,
		.later = scan_files_later,
		.later_why = "a file tool has no record for a warning and no run to end; "
			     "the nearest action is redact, or block",
		.help = "A secret in a file that a file tool sends out: off, redact, or "
			"block.",
	},
	[KEY_SCAN_NET] = {
		.name = "scan.net",
		.type = TYPE_ENUM,
		.narrow = NARROW_HIGHER,
		.choices = scans,
		.later = scan_net_later,
		.later_why = "a changed request is another request; the nearest action is "
			     "block",
		.help = "A secret in a plain HTTP request through the gate: off, warn, "
			"block "
			"(refuse the request), or kill (end the run).",
	},
	[KEY_DENIALS] = {
		.name = "denials",
		.type = TYPE_ENUM,
		.narrow = NARROW_HIGHER,
		.choices = recorded,
		.help = "Which refused operations the result lists: off, changes (of "
			"files, "
			"and connections), or all (reads and executions too, which costs a "
			"round trip for each file that is opened).",
	},
	[KEY_ASK_TIMEOUT] = {
		.name = "ask.timeout",
		.type = TYPE_DURATION,
		.narrow = NARROW_LOWER,
		.min = 1,
		.max = DURATION_MAX,
		.help = "How long a question of --ask waits for its answer; then it is denied.",
	},
	[KEY_AUDIT_ENABLED] = {
		.name = "audit.enabled",
		.type = TYPE_BOOL,
		.narrow = NARROW_HIGHER,
		.help = "Write a record of each run and each decision to the audit log.",
	},
	[KEY_AUDIT_REQUIRED] = {
		.name = "audit.required",
		.type = TYPE_BOOL,
		.narrow = NARROW_HIGHER,
		.help = "Refuse to run when the audit log cannot be written.",
	},
#include "data/keys_service.inc"
};
/* clang-format on */

const struct key *key_by_name(const char *name) {
	for (size_t i = 0; i < KEY_COUNT; i++) {
		if (strcmp(keys[i].name, name) == 0) {
			return &keys[i];
		}
	}
	return NULL;
}
