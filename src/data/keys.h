/* SPDX-License-Identifier: Apache-2.0 */
/* The keys of a policy: the parsers, the command line, `policy show`, `policy schema`, the
 * narrowing rule and the check of the manual read the same row. */
#ifndef CORRAL_DATA_KEYS_H
#define CORRAL_DATA_KEYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum key_id {
	KEY_PROFILE,
	KEY_MODE,
	KEY_WORKSPACE,
	KEY_ANY_WORKSPACE,
	KEY_CHDIR,
	KEY_BACKEND,
	KEY_DOCKER_IMAGE,
	KEY_LEVEL,
	KEY_MIN_LEVEL,
	KEY_REQUIRE,
	KEY_ALLOW_DEGRADED,
	KEY_ACCEPT_NO_SANDBOX,
	KEY_ACCEPT_FULL_ACCESS,
	KEY_NESTED,
	KEY_PROVIDERS,
	KEY_SKILL,
	KEY_UID,
	KEY_GID,
	KEY_FS_VIEW,
	KEY_FS_READ,
	KEY_FS_WRITE,
	KEY_FS_DENY,
	KEY_FS_PROTECT,
	KEY_FS_PROTECT_NAMES,
	KEY_FS_HOME,
	KEY_FS_TOOLCHAINS,
	KEY_FS_WORKSPACE_AT,
	KEY_FS_AGENT,
	KEY_FS_COW,
	KEY_FS_TOOLS,
	KEY_NET_MODE,
	KEY_NET_ALLOW,
	KEY_NET_DENY,
	KEY_NET_PRIVATE,
	KEY_NET_PROXY,
	KEY_NET_PUBLISH,
	KEY_NET_HOST_PORTS,
	KEY_NET_SOCKETS,
	KEY_SECCOMP_EXTRA_DENY,
	KEY_ENV_PASS,
	KEY_ENV_SET,
	KEY_ENV_ALLOW_DANGEROUS,
	KEY_ENV_PATH,
	KEY_ENV_PATH_PREPEND,
	KEY_ENV_TOOLS,
	KEY_ENV_PREFIX,
	KEY_ENV_LABELS,
	KEY_ENV_SECRETS,
	KEY_ENV_AGENT,
	KEY_COMMANDS_DEFAULT,
	KEY_COMMANDS,
	KEY_LIMITS_TIMEOUT,
	KEY_LIMITS_IDLE_TIMEOUT,
	KEY_LIMITS_GRACE,
	KEY_LIMITS_OUTPUT,
	KEY_LIMITS_PROCESSES,
	KEY_LIMITS_OPEN_FILES,
	KEY_LIMITS_FILE_SIZE,
	KEY_LIMITS_CPU_TIME,
	KEY_LIMITS_MEMORY,
	KEY_LIMITS_CPUS,
	KEY_LIMITS_DISK,
	KEY_LIMITS_TMP_SIZE,
	KEY_SCAN_ARGS,
	KEY_SCAN_OUTPUT,
	KEY_SCAN_FILES,
	KEY_SCAN_NET,
	KEY_DENIALS,
	KEY_ASK_TIMEOUT,
	KEY_AUDIT_ENABLED,
	KEY_AUDIT_REQUIRED,
	KEY_LOCK,
	KEY_LOCK_WAIT,
	KEY_SESSION_TIMEOUT,
	KEY_SESSION_IDLE_TIMEOUT,
	KEY_SESSION_CPU_TOTAL,
	KEY_DAEMON_START,
	KEY_DAEMON_IDLE,
	KEY_DAEMON_POOL,
	KEY_COUNT
};

enum key_type {
	TYPE_BOOL,     /* num is 0 or 1 */
	TYPE_ENUM,     /* num indexes choices */
	TYPE_STRING,   /* str */
	TYPE_PATH,     /* str, absolute and normal once resolved */
	TYPE_COUNT,    /* num */
	TYPE_BYTES,    /* num, from 512, "64K", "4G" */
	TYPE_DURATION, /* num in milliseconds, from 30 (seconds), "500ms", "2m" */
	TYPE_CPUS,     /* num in thousandths of a processor, from 1.5 */
	TYPE_DATE,     /* str, "2026-11-17"; from an option also ACCEPTED_NOW */
	/* Lists from here on. */
	TYPE_NAMES,      /* items: names from `choices`, or free */
	TYPE_PATHS,      /* items: paths, optional with a trailing '?' */
	TYPE_RULES,      /* items: paths, patterns, "!" exceptions, "@" sets; in their order */
	TYPE_MAP,        /* items: "NAME=VALUE" */
	TYPE_HOSTS,      /* items: rules of policy/host_rule.h, "@" sets */
	TYPE_NETWORKS,   /* items: "10.0.0.0/8" */
	TYPE_PORTS,      /* items: "8080" */
	TYPE_PORT_PAIRS, /* items: "3000", "3000:13000" */
	TYPE_SOCKETS,    /* items: "PATH", "PATH:DEST" */
	TYPE_COMMANDS,   /* items: rules of policy/command_rule.h */
};

/* How an untrusted project file may change a key. */
enum key_narrow {
	NARROW_NEVER,  /* may not set it at all */
	NARROW_LOWER,  /* a smaller number, or an earlier choice, than the current value */
	NARROW_HIGHER, /* a later choice than the current one, or a switch turned on
			* (min_level, fs.cow) */
	NARROW_ADD,    /* adding items makes the boundary tighter (deny, protect, require) */
	NARROW_RULES,  /* each group of rules is checked on its own; see command_rule.h */
	NARROW_FREE,   /* cannot loosen the boundary (env.set: the command's variables only) */
};

/* accept_full_access of --dangerously-allow-full-access. */
#define ACCEPTED_NOW "now"

/* No limit. */
#define LIMIT_NONE ((int64_t)-1)

struct key {
	const char *name; /* dotted: "limits.timeout" */
	enum key_type type;
	enum key_narrow narrow;
	bool none_allowed;          /* "none" means no limit */
	int64_t min, max;           /* numbers only */
	const char *const *choices; /* enums and closed name lists; NULL-terminated */
	const char *const *later;   /* choices that are not implemented: rejected by name */
	const char *later_why;      /* why a key of this type cannot have them; NULL: not yet */
	const char *help;           /* one sentence, for the schema and the manual */
};

extern const struct key keys[KEY_COUNT];

/* The row with that dotted name, or NULL. */
const struct key *key_by_name(const char *name);

enum mode { MODE_READ_ONLY, MODE_WORKSPACE_WRITE, MODE_FULL_ACCESS };
/* In the order of the key's choices; the others are names of rows (backend/backend.h). */
enum backend_id { BACKEND_AUTO };
enum level { LEVEL_NONE, LEVEL_MINIMAL, LEVEL_STANDARD, LEVEL_FULL, LEVEL_AUTO };
enum view { VIEW_MINIMAL, VIEW_SYSTEM, VIEW_HOST };
enum home { HOME_EPHEMERAL, HOME_PERSISTENT, HOME_WORKSPACE };
enum net { NET_NONE, NET_FILTERED, NET_RESTRICTED, NET_FULL };
enum commands { COMMANDS_DENY, COMMANDS_ALLOW };
enum denials_recorded { DENIALS_OFF, DENIALS_CHANGES, DENIALS_ALL };
enum tools { TOOLS_WORKSPACE, TOOLS_VIEW };
enum lock { LOCK_NONE, LOCK_WORKSPACE };

/* What happens to a secret that the leak scanner finds; each one is stricter than the one before.
 */
enum leak_action { LEAK_OFF, LEAK_WARN, LEAK_REDACT, LEAK_BLOCK, LEAK_KILL };

#endif
