/* SPDX-License-Identifier: Apache-2.0 */
/* Reports for each guarantee whether the plan enforces it, and by which mechanism.
 *
 * Should:   give every guarantee a state and, below "enforced", the reason (L5).
 * Must not: report a guarantee as enforced if the kernel lacks its mechanism.
 * Fails:    closed: a required guarantee that is not enforced refuses the run. */
#include "plan/internal.h"

#include "base/auto.h"
#include "base/str.h"
#include "data/syscalls.h"

#include <assert.h>

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
	[GUARANTEE_EXEC] = "exec",
	[GUARANTEE_PRIVILEGES] = "privileges",
	[GUARANTEE_LEAKS] = "leaks",
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
	[ENGINE_SECCOMP] = "seccomp",
	[ENGINE_LANDLOCK] = "landlock",
	[ENGINE_SEATBELT] = "seatbelt",
	[ENGINE_NAMESPACES] = "namespaces",
	[ENGINE_CONTAINER] = "container",
};

const char *guarantee_name(enum guarantee g) {
	return guarantee_names[g];
}

void guarantees_emit(struct emit *j, const struct guarantee_report guarantees[GUARANTEE_COUNT]) {
	emit_array(j, "guarantees");
	for (enum guarantee g = 0; guarantees != NULL && g < GUARANTEE_COUNT; g++) {
		const struct guarantee_report *p = &guarantees[g];
		emit_object(j, NULL);
		emit_string(j, "name", guarantee_name(g));
		emit_string(j, "state", plan_state_name(p->state));
		emit_strings(j, "by", p->by, ARRAY_LEN(p->by));
		if (p->why != NULL) {
			emit_string(j, "why", p->why);
		}
		emit_end_object(j);
	}
	emit_end_array(j);
}

const char *plan_state_name(enum state s) {
	return state_names[s];
}

const char *plan_level_name(enum level l) {
	return level_names[l];
}

const char *plan_engine_name(enum engine n) {
	return engine_names[n];
}

/* The mount namespace is sufficient; Landlock enforces the same grants a second time. */
static struct guarantee_report files(bool landlock) {
	return (struct guarantee_report){
		.state = STATE_ENFORCED,
		.by = {"mount", landlock ? "landlock" : NULL},
	};
}

static struct guarantee_report guarantee_rules(const struct plan *plan, const char *by) {
	struct guarantee_report made = {.state = STATE_ENFORCED, .by = {by}};
	if (plan->exceptions == 0) {
		return made;
	}
	if (plan->inner) {
		made.state = STATE_WEAKER;
		made.why =
			"a nested sandbox is allowed: while it is set up it can create protected "
			"names as empty files, which are removed after the run";
		return made;
	}
	if (plan->judges) {
		made.by[1] = "broker";
		bool alone = plan_lacks_namespaces(plan) || plan->rules.hides;
		if (alone && (plan->exceptions & TRAIT_READS) != 0) {
			made.state = STATE_WEAKER;
			made.why = "a program file that only the broker hides can still be "
				   "executed, so its mapped content can be read; whether a hidden "
				   "file exists can be seen";
		}
		return made;
	}
	made.state = plan->rules.required ? STATE_ABSENT : STATE_WEAKER;
	if (plan->names_open) {
		made.why = "files that exist and that Corral protects by itself, such as "
			   ".git/config, can be changed: seccomp user notification is not "
			   "available";
		return made;
	}
	if (plan->rules.required) {
		made.why = "patterns, and rules for paths that do not exist yet, cannot be "
			   "enforced: seccomp user notification is not available";
		return made;
	}
	made.why = "protected names that do not exist yet can be created, files that only a "
		   "pattern protects, such as .envrc, can be changed, and a file that the host "
		   "replaces is no longer protected: seccomp user notification is not available";
	return made;
}

struct guarantee_report guarantee_deny(const struct plan *plan, const char *by) {
	struct guarantee_report made = guarantee_rules(plan, by);

	if (made.state == STATE_ENFORCED && plan->unkept != NULL) {
		made.state = STATE_WEAKER;
		made.why = plan->unkept;
	}
	return made;
}

/* A unix socket is reached through its file.  No mount flag, and no Landlock right before ABI 9,
 * forbids connect(2) to it: there the broker checks connect(2), but not the address of a
 * datagram. */
#define WHY_SOCKETS                                                                                \
	"a socket of the host that lies in the workspace or in a granted directory can be "        \
	"connected to"
#define WHY_DATAGRAMS                                                                              \
	"datagrams can be sent to a socket of the host that lies in the workspace or in a "        \
	"granted directory: --allow-degraded ipc accepts that"
#define WHY_ABSTRACT                                                                               \
	"abstract sockets of the host can be reached: net.mode is full, and the kernel has no "    \
	"Landlock ABI 6"

static const char *ipc_loss(const struct plan *plan) {
	bool abstract = !plan->own_net && plan->landlock_abi < LANDLOCK_ABI_SCOPES;
	if (plan->landlock_abi >= LANDLOCK_ABI_UNIX) {
		return NULL;
	}
	if ((plan->traits & TRAIT_SOCKETS) == 0) {
		return abstract ? WHY_ABSTRACT "; and " WHY_SOCKETS : WHY_SOCKETS;
	}
	if ((plan->traits & TRAIT_DATAGRAMS) != 0) {
		return abstract ? WHY_ABSTRACT "; and " WHY_DATAGRAMS : WHY_DATAGRAMS;
	}
	return abstract ? WHY_ABSTRACT : NULL;
}

static struct guarantee_report ipc(const struct plan *plan) {
	const char *why = ipc_loss(plan);
	struct guarantee_report made = {.state = why == NULL ? STATE_ENFORCED : STATE_WEAKER,
					.by = {"ipcns", "mount"},
					.why = why};
	size_t n = 2;
	if (plan->traits & TRAIT_SOCKETS) {
		made.by[n++] = "broker";
	}
	if (plan->own_net) {
		made.by[n++] = "netns"; /* abstract sockets belong to a network namespace */
	} else if (plan->landlock_abi >= LANDLOCK_ABI_SCOPES) {
		made.by[n++] = "landlock";
	}
	return made;
}

/* A socket that belongs to another network namespace connects to that network.  A process can only
 * receive one over a unix socket (SCM_RIGHTS), and without the broker nothing checks connects to
 * unix sockets. */
static struct guarantee_report net(const struct plan *plan) {
	struct guarantee_report made = {.state = STATE_ENFORCED, .by = {"netns", "seccomp"}};
	if (!plan->own_net) {
		return (struct guarantee_report){.state = STATE_ABSENT, .why = "net.mode is full"};
	}
	if ((plan->traits & TRAIT_SOCKETS) != 0) {
		made.by[2] = "broker";
	} else if (plan->landlock_abi < LANDLOCK_ABI_UNIX) {
		made.state = STATE_WEAKER;
		made.why = "a socket of another network namespace that is passed over a unix "
			   "socket in a granted directory can be used: no broker checks connects";
	}
	return made;
}

/* A limit of the policy that this host does not enforce is a warning at every run; `require` makes
 * it an error. */
static const struct {
	enum key_id key;
	enum guarantee guarantee;
} limits_of_groups[] = {
	{KEY_LIMITS_MEMORY, GUARANTEE_LIMITS_MEMORY},
	{KEY_LIMITS_CPUS, GUARANTEE_LIMITS_CPU},
	{KEY_LIMITS_PROCESSES, GUARANTEE_LIMITS_PROCESSES},
};

/* Printed at every run. */
static const char *level_warning(const struct plan *plan) {
	switch (plan->level) {
	case LEVEL_MINIMAL:
		return "level minimal: no network, but files are NOT protected; `corral status` "
		       "lists how to reach a higher level";
	case LEVEL_NONE:
		if (plan->full_access) {
			return "mode full-access: NOTHING is protected; the command can change all "
			       "your files and reach every host";
		}
		return "level none: NOTHING is protected; the command runs with all your rights";
	default:
		return NULL;
	}
}

/* The names that Corral protects by itself need no request of the policy, so that a run says when
 * one of them is open.  In another run the outer one protects the same names. */
static void warn_of_names(struct builder *b) {
	const struct guarantee_report *made = &b->plan->guarantees[GUARANTEE_FS_DENY];
	bool unchecked = b->plan->exceptions != 0 && !b->plan->judges && !b->plan->inner;

	if (unchecked && b->plan->level >= LEVEL_STANDARD && made->state == STATE_WEAKER &&
	    plan_caller_variable(b->h, "CORRAL_LEVEL") == NULL &&
	    !plan_accepts_loss(b->p, guarantee_names[GUARANTEE_FS_DENY])) {
		plan_warn(b, plan_keep_printf(b,
					      "fs.deny is weaker on this host: %s; to run without "
					      "this warning: --allow-degraded fs.deny",
					      made->why));
	}
}

void guarantees_warn(struct builder *b) {
	struct plan *plan = b->plan;
	const char *warning = level_warning(plan);
	char origin[256];

	if (warning != NULL) {
		plan_warn(b, warning);
	}
	warn_of_names(b);
	for (size_t i = 0; i < ARRAY_LEN(limits_of_groups); i++) {
		const struct value *v = &b->p->values[limits_of_groups[i].key];
		const struct guarantee_report *made =
			&plan->guarantees[limits_of_groups[i].guarantee];
		bool requested = v->set && v->num != LIMIT_NONE && v->origin.kind != ORIGIN_BUILTIN;
		bool rounded = limits_of_groups[i].key == KEY_LIMITS_CPUS &&
			       plan->processors * 1000 > v->num;
		if (requested && (made->state == STATE_ABSENT || rounded)) {
			plan_warn(b, plan_keep_printf(
					     b, "%s (%s) is %s: %s",
					     keys[limits_of_groups[i].key].name,
					     policy_origin_text(&v->origin, origin, sizeof origin),
					     rounded ? "weaker" : "not enforced on this host",
					     made->why));
		}
	}
}

struct guarantee_report guarantees_named(const struct plan *plan) {
	if (!plan->own_net || plan->net.mode == NET_NONE) {
		return (struct guarantee_report){
			.state = STATE_ABSENT,
			.why = plan->own_net ? "no name is allowed: net.mode is none"
					     : "every name is allowed: net.mode is full",
		};
	}
	return (struct guarantee_report){.state = STATE_ENFORCED, .by = {"gate"}};
}

/* Other processes are in another user namespace and outside of the Landlock domain: the kernel
 * refuses everything that it checks as tracing. */
static struct guarantee_report pid(const struct plan *plan) {
	if (!plan->shares_proc) {
		return (struct guarantee_report){.state = STATE_ENFORCED,
						 .by = {"pidns", "procfs"}};
	}
	return (struct guarantee_report){
		.state = STATE_WEAKER,
		.by = {"pidns", "userns", "landlock"},
		.why = "no procfs of its own can be mounted here, so /proc is that of the caller: "
		       "its other processes can be seen with their command lines, mounts and "
		       "connections, but neither signalled nor traced, and a process has another "
		       "number in /proc than in kill(2)",
	};
}

static struct guarantee_report exec_with_mounts(const struct plan *plan) {
	struct guarantee_report made = {.state = STATE_ENFORCED,
					.by = {"mount", "landlock", "seccomp"}};

	if (plan->landlock_abi == 0) {
		made.by[1] = "seccomp";
		made.by[2] = NULL;
		made.state = STATE_WEAKER;
		made.why =
			"programs in the directories of the loader can be executed: the kernel has "
			"no Landlock";
	} else if (plan->exec_why != NULL) {
		made.state = STATE_WEAKER;
		made.why = plan->exec_why;
	}
	return made;
}

static struct guarantee_report guarantee_exec(const struct plan *plan) {
	if (!plan->exec_limited) {
		return (struct guarantee_report){
			.state = STATE_ABSENT,
			.why = plan->level < LEVEL_STANDARD
				       ? "this level does not restrict files"
				       : "every program may be executed: commands.default is allow",
		};
	}
	if (!plan_lacks_namespaces(plan)) {
		return exec_with_mounts(plan);
	}
	return (struct guarantee_report){
		.state = STATE_WEAKER,
		.by = {"landlock", "seccomp"},
		.why = "a program that is not listed can be run with the dynamic loader: without a "
		       "mount "
		       "namespace no mount is noexec",
	};
}

/* The limit of user namespaces in /proc/sys/user is a second obstacle, which some hosts lack
 * (layers/quotas.c); the filter refuses them everywhere. */
static struct guarantee_report privileges(const struct plan *plan) {
	struct guarantee_report made = {
		.state = STATE_ENFORCED,
		.by = {"capabilities", "no_new_privs", "userns", "seccomp"}};

	if (plan->inner) {
		made.state = STATE_WEAKER;
		made.why = "a nested sandbox is allowed: " PRIVILEGES_NAMESPACES;
	}
	return made;
}

void guarantees_make(struct plan *plan) {
	struct guarantee_report *guarantees = plan->guarantees;
	bool landlock = plan->landlock_abi > 0;

	guarantees[GUARANTEE_EXEC] = guarantee_exec(plan);

	if (plan->engine == ENGINE_SEATBELT) {
		guarantees_seatbelt(plan);
		return;
	}
	if (plan_lacks_namespaces(plan)) {
		guarantees_no_namespaces(plan);
		return;
	}

	guarantees[GUARANTEE_FS_WRITE] = files(landlock);
	guarantees[GUARANTEE_FS_READ] = files(landlock);
	guarantees[GUARANTEE_FS_DENY] = guarantee_deny(plan, "mount");
	guarantees[GUARANTEE_IPC] = ipc(plan);
	guarantees[GUARANTEE_PID] = pid(plan);
	guarantees[GUARANTEE_ENV] =
		(struct guarantee_report){.state = STATE_ENFORCED, .by = {"environment"}};
	guarantees[GUARANTEE_LIFETIME] =
		(struct guarantee_report){.state = STATE_ENFORCED, .by = {"pidns"}};
	guarantees[GUARANTEE_NET_NAMES] = guarantees_named(plan);
	guarantees[GUARANTEE_NET] = net(plan);
	guarantees[GUARANTEE_PRIVILEGES] = privileges(plan);
}

static int check_one(const struct plan *plan, const struct item *wanted, struct err *e) {
	for (enum guarantee g = 0; g < GUARANTEE_COUNT; g++) {
		if (!streq(wanted->str, guarantee_names[g])) {
			continue;
		}
		const struct guarantee_report *made = &plan->guarantees[g];
		if (made->state == STATE_ENFORCED) {
			return 0;
		}
		char origin[128];
		err_set(e, ERR_SETUP, WHERE, "%s is required (%s), but would be %s: %s",
			wanted->str, policy_origin_text(&wanted->origin, origin, sizeof origin),
			plan_state_name(made->state),
			made->why == NULL ? "this host does not have it" : made->why);
		bool unlimited = g == GUARANTEE_EXEC && made->state == STATE_ABSENT;
		bool unset = g >= GUARANTEE_LIMITS_TIME && g <= GUARANTEE_LIMITS_DISK &&
			     made->state == STATE_ABSENT;
		return err_fix(e,
			       "%suse a host that enforces %s (`corral status`), or remove %s from "
			       "--require",
			       unset       ? "set that limit, or "
			       : unlimited ? "set commands.default = deny, or "
					   : "",
			       wanted->str, wanted->str);
	}
	return err_set(e, ERR_USAGE, WHERE, "unknown guarantee in require: %s", wanted->str);
}

bool plan_accepts_loss(const struct policy *p, const char *name) {
	const struct value *list = &p->values[KEY_ALLOW_DEGRADED];
	for (size_t i = 0; i < list->count; i++) {
		if (streq(list->items[i].str, name)) {
			return true;
		}
	}
	return false;
}

static bool is_written(const struct value *list) {
	for (size_t i = 0; i < list->count; i++) {
		if (list->items[i].origin.kind != ORIGIN_BUILTIN) {
			return true;
		}
	}
	return false;
}

/* Whether the policy requests the guarantee, by its mode, its network or a rule.  A level below
 * standard does not protect files by definition. */
static bool is_requested(const struct plan *plan, const struct policy *p, enum guarantee g) {
	switch (g) {
	case GUARANTEE_FS_WRITE:
	case GUARANTEE_FS_READ:
		return plan->level >= LEVEL_STANDARD;
	case GUARANTEE_FS_DENY:
		return plan->names_open || is_written(&p->values[KEY_FS_DENY]) ||
		       is_written(&p->values[KEY_FS_PROTECT]) ||
		       is_written(&p->values[KEY_FS_PROTECT_NAMES]);
	case GUARANTEE_NET:
		return plan->own_net && plan->level >= LEVEL_MINIMAL;
	case GUARANTEE_EXEC:
		return p->values[KEY_COMMANDS_DEFAULT].set &&
		       policy_num(p, KEY_COMMANDS_DEFAULT) == COMMANDS_DENY;
	default:
		return false;
	}
}

static int check_requested(const struct plan *plan, const struct policy *p, struct err *e) {
	for (enum guarantee g = 0; g < GUARANTEE_COUNT; g++) {
		const struct guarantee_report *made = &plan->guarantees[g];
		bool lost = made->state == STATE_ABSENT || made->grave;
		if (!lost || !is_requested(plan, p, g) ||
		    plan_accepts_loss(p, guarantee_names[g])) {
			continue;
		}
		err_set(e, ERR_SETUP, WHERE, "%s would be %s: %s", guarantee_names[g],
			plan_state_name(made->state), made->why);
		return err_fix(e,
			       "accept it with --allow-degraded %s; `corral status` lists the "
			       "missing features",
			       guarantee_names[g]);
	}
	return 0;
}

int guarantees_check(const struct plan *plan, const struct policy *p, struct err *e) {
	const struct value *require = &p->values[KEY_REQUIRE];
	for (enum guarantee g = 0; g < GUARANTEE_COUNT; g++) {
		const struct guarantee_report *made = &plan->guarantees[g];
		assert(made->state == STATE_ENFORCED || made->why != NULL); /* L5 */
	}
	for (size_t i = 0; i < require->count; i++) {
		if (check_one(plan, &require->items[i], e) != 0) {
			return -1;
		}
	}
	return floor_check(plan, p, e) != 0 ? -1 : check_requested(plan, p, e);
}
