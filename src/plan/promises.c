/* What the plan promises, clause by clause, and by which mechanism.
 *
 * Should:   give every guarantee a state and, below "enforced", the reason (L5).
 * Must not: promise what the host's kernel does not have.
 * Fails:    closed: a required guarantee that is not enforced refuses the run. */
#include "plan/internal.h"

#include "base/auto.h"
#include "base/str.h"

/* Landlock keeps abstract sockets and signals inside from this ABI on. */
#define LANDLOCK_ABI_SCOPES 6

static const char *const guarantee_names[GUARANTEE_COUNT] = {
	[GUARANTEE_FS_WRITE] = "fs.write",
	[GUARANTEE_FS_READ] = "fs.read",
	[GUARANTEE_FS_DENY] = "fs.deny",
	[GUARANTEE_NET] = "net",
	[GUARANTEE_NET_NAMES] = "net.names",
	[GUARANTEE_IPC] = "ipc",
	[GUARANTEE_PID] = "pid",
	[GUARANTEE_ENV] = "env",
	[GUARANTEE_LIMITS_TIME] = "limits.time",
	[GUARANTEE_LIMITS_OUTPUT] = "limits.output",
	[GUARANTEE_LIMITS_MEMORY] = "limits.memory",
	[GUARANTEE_LIMITS_PROCESSES] = "limits.processes",
	[GUARANTEE_LIMITS_CPU] = "limits.cpu",
	[GUARANTEE_LIMITS_DISK] = "limits.disk",
	[GUARANTEE_LIFETIME] = "lifetime",
};

static const char *const state_names[] = {
	[STATE_ABSENT] = "absent",
	[STATE_WEAKER] = "weaker",
	[STATE_ENFORCED] = "enforced",
};

static const char *const level_names[] = {
	[LEVEL_NONE] = "none", [LEVEL_MINIMAL] = "minimal", [LEVEL_STANDARD] = "standard",
	[LEVEL_FULL] = "full", [LEVEL_AUTO] = "auto",
};

static const char *const engine_names[] = {
	[ENGINE_NONE] = "none",
	[ENGINE_NAMESPACES] = "namespaces",
	[ENGINE_LANDLOCK] = "landlock",
};

const char *guarantee_name(enum guarantee g) {
	return guarantee_names[g];
}

const char *state_name(enum state s) {
	return state_names[s];
}

const char *level_name(enum level l) {
	return level_names[l];
}

const char *engine_name(enum engine n) {
	return engine_names[n];
}

/* The mount namespace alone decides; Landlock says the grants a second time. */
static struct promise files(bool landlock) {
	return (struct promise){
		.state = STATE_ENFORCED,
		.by = {"mount", landlock ? "landlock" : NULL},
	};
}

/* A socket is reached through its file, and connecting needs no right that a
 * mount or Landlock up to ABI 8 could take away. */
#define WHY_SOCKETS                                                                                \
	"a socket of the host that lies in the workspace or in a granted directory can be "        \
	"connected to"

static struct promise ipc(bool own_net, bool scopes) {
	struct promise made = {.state = STATE_WEAKER, .by = {"ipcns", "mount"}, .why = WHY_SOCKETS};
	size_t n = 2;
	if (own_net) {
		made.by[n++] = "netns"; /* abstract sockets belong to a network namespace */
	}
	if (scopes) {
		made.by[n++] = "landlock";
	}
	if (!own_net && !scopes) {
		made.why = "abstract sockets of the host can be reached: net.mode is full, and "
			   "the kernel has no Landlock ABI 6; and " WHY_SOCKETS;
	}
	return made;
}

/* A limit that somebody asked for and that does not hold here is told at every
 * run; `require` is for who would rather not run at all. */
static const struct {
	enum key_id key;
	enum guarantee guarantee;
} limits_of_groups[] = {
	{KEY_LIMITS_MEMORY, GUARANTEE_LIMITS_MEMORY},
	{KEY_LIMITS_CPUS, GUARANTEE_LIMITS_CPU},
	{KEY_LIMITS_PROCESSES, GUARANTEE_LIMITS_PROCESSES},
};

void promises_warn(struct builder *b) {
	struct plan *plan = b->plan;
	char origin[256];
	for (size_t i = 0; i < ARRAY_LEN(limits_of_groups); i++) {
		const struct value *v = &b->p->values[limits_of_groups[i].key];
		const struct promise *made = &plan->promises[limits_of_groups[i].guarantee];
		bool asked = v->set && v->num != LIMIT_NONE && v->origin.kind != ORIGIN_BUILTIN;
		if (asked && made->state == STATE_ABSENT) {
			plan->warnings[plan->nwarnings++] = keep_printf(
				b, "%s (%s) is not enforced here: %s",
				keys[limits_of_groups[i].key].name,
				origin_text(&v->origin, origin, sizeof origin), made->why);
		}
	}
}

void promises_make(struct plan *plan) {
	struct promise *promises = plan->promises;
	bool landlock = plan->landlock_abi > 0;

	promises[GUARANTEE_FS_WRITE] = files(landlock);
	promises[GUARANTEE_FS_READ] = files(landlock);
	promises[GUARANTEE_FS_DENY] = (struct promise){.state = STATE_ENFORCED, .by = {"mount"}};
	promises[GUARANTEE_IPC] = ipc(plan->own_net, plan->landlock_abi >= LANDLOCK_ABI_SCOPES);
	promises[GUARANTEE_PID] =
		(struct promise){.state = STATE_ENFORCED, .by = {"pidns", "procfs"}};
	promises[GUARANTEE_ENV] = (struct promise){.state = STATE_ENFORCED, .by = {"environment"}};
	promises[GUARANTEE_LIFETIME] = (struct promise){.state = STATE_ENFORCED, .by = {"pidns"}};
	if (plan->own_net) {
		promises[GUARANTEE_NET] =
			(struct promise){.state = STATE_ENFORCED, .by = {"netns", "seccomp"}};
		promises[GUARANTEE_NET_NAMES] = (struct promise){
			.state = STATE_ABSENT, .why = "no name is allowed: net.mode is none"};
	} else {
		promises[GUARANTEE_NET] =
			(struct promise){.state = STATE_ABSENT, .why = "net.mode is full"};
		promises[GUARANTEE_NET_NAMES] = (struct promise){
			.state = STATE_ABSENT, .why = "every name is allowed: net.mode is full"};
	}
}

static int check_one(const struct plan *plan, const struct item *wanted, struct err *e) {
	for (enum guarantee g = 0; g < GUARANTEE_COUNT; g++) {
		if (!streq(wanted->str, guarantee_names[g])) {
			continue;
		}
		const struct promise *made = &plan->promises[g];
		if (made->state == STATE_ENFORCED) {
			return 0;
		}
		char origin[128];
		err_set(e, ERR_SETUP, WHERE, "%s is required (%s) and would be %s: %s", wanted->str,
			origin_text(&wanted->origin, origin, sizeof origin),
			state_name(made->state),
			made->why == NULL ? "this host does not have it" : made->why);
		return err_fix(e, "set what %s needs, or leave %s out of require", wanted->str,
			       wanted->str);
	}
	return err_set(e, ERR_USAGE, WHERE, "require names no guarantee: %s", wanted->str);
}

int promises_check(const struct plan *plan, const struct policy *p, struct err *e) {
	const struct value *require = &p->values[KEY_REQUIRE];
	for (size_t i = 0; i < require->count; i++) {
		if (check_one(plan, &require->items[i], e) != 0) {
			return -1;
		}
	}
	return 0;
}
