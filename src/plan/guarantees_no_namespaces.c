/* SPDX-License-Identifier: Apache-2.0 */
/* Reports the guarantees of the engines without namespaces, which share the host's processes, ipc
 * and network.
 *
 * Should:   report a guarantee as enforced only when no process inside can bypass it.
 * Must not: rely on the broker for a system call that the filter does not send to it.
 * Fails:    closed: a loss that lets the host's files be damaged is grave. */
#include "plan/internal.h"

#include "data/syscalls.h"

#define WHY_OPEN "this level does not protect files"
#define WHY_FULL_ACCESS "mode is full-access"
#define WHY_NOTHING "level none enforces only limits, time-out and a clean environment"
#define NO_BROKER "seccomp user notification is not available"

static bool has_traits(const struct plan *plan, unsigned traits) {
	return (plan->traits & traits) == traits;
}

static struct guarantee_report open_files(const struct plan *plan) {
	return (struct guarantee_report){.state = STATE_ABSENT,
					 .why = plan->full_access ? WHY_FULL_ACCESS : WHY_OPEN};
}

static struct guarantee_report fs_write(const struct plan *plan) {
	struct guarantee_report made = {.state = STATE_ENFORCED, .by = {"landlock", "broker"}};
	if (plan->engine != ENGINE_LANDLOCK) {
		return open_files(plan);
	}
	if (plan->broker) {
		return made;
	}
	made.state = STATE_WEAKER;
	made.by[1] = NULL;
	made.why = "modes, owners, times and attributes of all the caller's files can be "
		   "changed: " NO_BROKER;
	if (plan->landlock_abi < LANDLOCK_ABI_TRUNCATE) {
		made.grave = true;
		made.why = "all the caller's files can be truncated: Landlock before ABI 3 has no "
			   "truncate right, and " NO_BROKER;
	}
	return made;
}

static struct guarantee_report fs_read(const struct plan *plan) {
	if (plan->engine != ENGINE_LANDLOCK) {
		return open_files(plan);
	}
	struct guarantee_report made = {.state = STATE_ENFORCED, .by = {"landlock", "broker"}};
	if (!plan->broker) {
		made.state = STATE_WEAKER;
		made.by[1] = NULL;
		made.why = "attributes and symlink targets of all the caller's files can be "
			   "read: " NO_BROKER;
	}
	return made;
}

static struct guarantee_report fs_deny(const struct plan *plan) {
	if (plan->engine != ENGINE_LANDLOCK) {
		return open_files(plan);
	}
	struct guarantee_report made = guarantee_deny(plan, "landlock");
	if (made.state == STATE_ENFORCED && plan->spread) {
		made.state = STATE_WEAKER;
		made.why = "names in a hidden directory can be listed";
	}
	return made;
}

static struct guarantee_report net(const struct plan *plan) {
	if (plan->level == LEVEL_NONE && plan->own_net) {
		return (struct guarantee_report){.state = STATE_ABSENT, .why = WHY_NOTHING};
	}
	if (!plan->own_net) {
		return (struct guarantee_report){.state = STATE_ABSENT, .why = "net.mode is full"};
	}
	if (!has_traits(plan, TRAIT_SOCKETS)) {
		return (struct guarantee_report){.state = STATE_ENFORCED, .by = {"seccomp"}};
	}
	return (struct guarantee_report){
		.state = STATE_WEAKER,
		.by = {"seccomp", "broker"},
		.why = net_has_names(&plan->net)
			       ? "only allowed destinations are reached, but a server in the "
				 "sandbox listens on the host's loopback, where programs of the "
				 "host can reach it"
			       : "no destination is reached, but a server in the sandbox listens "
				 "on the host's loopback, where programs of the host can reach it",
	};
}

static struct guarantee_report names(const struct plan *plan) {
	struct guarantee_report made = guarantees_named(plan);
	if (plan->level == LEVEL_NONE && made.state == STATE_ENFORCED) {
		return (struct guarantee_report){.state = STATE_ABSENT, .why = WHY_NOTHING};
	}
	if (made.state == STATE_ENFORCED) {
		made.state = STATE_WEAKER;
		made.by[1] = "broker";
		made.why = "DNS queries go over TCP: the C library is configured for that, but a "
			   "program whose own resolver uses only UDP resolves no name";
	}
	return made;
}

static struct guarantee_report ipc(const struct plan *plan) {
	struct guarantee_report made = {.state = STATE_ENFORCED, .by = {"seccomp"}};
	if (plan->engine != ENGINE_LANDLOCK) {
		return (struct guarantee_report){
			.state = STATE_ABSENT,
			.why = "sockets and shared memory of the caller can be "
			       "reached through their files"};
	}
	/* Without the broker the filter allows socketpair(2) only. */
	made.by[1] = has_traits(plan, TRAIT_SOCKETS) ? "broker" : NULL;
	return made;
}

static struct guarantee_report pid(const struct plan *plan) {
	bool scoped = plan->landlock_abi >= LANDLOCK_ABI_SCOPES;
	struct guarantee_report made = {.state = STATE_WEAKER, .by = {"landlock"}};
	if (plan->engine != ENGINE_LANDLOCK) {
		return (struct guarantee_report){
			.state = STATE_ABSENT,
			.why = "memory and environment of the caller's processes "
			       "can be read"};
	}
	made.by[1] = has_traits(plan, TRAIT_SIGNALS) ? "broker" : NULL;
	made.why = scoped || has_traits(plan, TRAIT_SIGNALS)
			   ? "other processes can be seen with their command lines, but neither "
			     "signalled nor traced"
			   : "other processes of the caller can be seen and signalled: Landlock "
			     "before ABI 6 does not restrict signals";
	return made;
}

static struct guarantee_report env(const struct plan *plan) {
	struct guarantee_report made = {.state = STATE_ENFORCED, .by = {"environment"}};
	if (plan->engine != ENGINE_LANDLOCK) {
		made.state = STATE_WEAKER;
		made.why = "the environment of the caller's own processes can be read in /proc";
	}
	return made;
}

static struct guarantee_report lifetime(const struct plan *plan) {
	struct guarantee_report made = {.state = STATE_ENFORCED, .by = {"guard", "landlock"}};
	if (plan->landlock_abi >= LANDLOCK_ABI_SCOPES) {
		return made;
	}
	bool judged = has_traits(plan, TRAIT_SIGNALS);
	made.state = STATE_WEAKER;
	made.by[1] = judged ? "broker" : NULL;
	made.why = judged ? "processes are killed one by one, because Landlock before ABI 6 does "
			    "not restrict signals; a command that forks fast can outlive its guard"
			  : "the command can kill the guard, the process that kills its remaining "
			    "processes";
	return made;
}

/* The layer capabilities is entered at every level, the filter from minimal on. */
static struct guarantee_report privileges(const struct plan *plan) {
	struct guarantee_report made = {.state = STATE_ENFORCED,
					.by = {"capabilities", "no_new_privs", "seccomp"}};
	if (plan->level == LEVEL_NONE) {
		made.state = STATE_WEAKER;
		made.by[2] = NULL;
		made.why = PRIVILEGES_NAMESPACES
			", set-user-id bits can be set on files, and a file or process of the "
			"caller that the command changes acts with all the caller's rights";
	} else if (plan->engine != ENGINE_LANDLOCK) {
		made.state = STATE_WEAKER;
		made.why = "no process of the run gains privileges, but a file or process of the "
			   "caller that it changes acts with all the caller's rights: this level "
			   "protects neither";
	}
	return made;
}

void guarantees_no_namespaces(struct plan *plan) {
	struct guarantee_report *guarantees = plan->guarantees;
	guarantees[GUARANTEE_FS_WRITE] = fs_write(plan);
	guarantees[GUARANTEE_FS_READ] = fs_read(plan);
	guarantees[GUARANTEE_FS_DENY] = fs_deny(plan);
	guarantees[GUARANTEE_NET] = net(plan);
	guarantees[GUARANTEE_NET_NAMES] = names(plan);
	guarantees[GUARANTEE_IPC] = ipc(plan);
	guarantees[GUARANTEE_PID] = pid(plan);
	guarantees[GUARANTEE_ENV] = env(plan);
	guarantees[GUARANTEE_LIFETIME] = lifetime(plan);
	guarantees[GUARANTEE_PRIVILEGES] = privileges(plan);
}
