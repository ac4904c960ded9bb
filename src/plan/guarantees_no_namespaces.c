/* What is promised where processes, ipc and network are the host's.
 *
 * Should:   count as enforced only what no process inside can get around.
 * Must not: promise for the broker what the filter does not ask it.
 * Fails:    closed: a loss that lets the host's files be damaged is grave. */
#include "plan/internal.h"

#include "data/syscalls.h"

#define WHY_OPEN "this level does not protect files"
#define WHY_NOTHING "level none enforces limits, time-out and a clean environment only"

static bool asks(const struct plan *plan, unsigned traits) {
	return (plan->traits & traits) == traits;
}

static struct guarantee_report fs_write(const struct plan *plan) {
	struct guarantee_report made = {.state = STATE_ENFORCED, .by = {"landlock", "broker"}};
	if (plan->engine != ENGINE_LANDLOCK) {
		return (struct guarantee_report){.state = STATE_ABSENT, .why = WHY_OPEN};
	}
	if (plan->broker) {
		return made;
	}
	made.state = STATE_WEAKER;
	made.by[1] = NULL;
	made.why = "modes, owners, times and attributes of the caller's files can be changed "
		   "anywhere: nobody answers what the filter would ask";
	if (plan->landlock_abi < LANDLOCK_ABI_TRUNCATE) {
		made.grave = true;
		made.why = "the caller's files can be emptied anywhere: Landlock before ABI 3 does "
			   "not judge truncation, and nobody answers what the filter would ask";
	}
	return made;
}

static struct guarantee_report fs_read(const struct plan *plan) {
	if (plan->engine != ENGINE_LANDLOCK) {
		return (struct guarantee_report){.state = STATE_ABSENT, .why = WHY_OPEN};
	}
	struct guarantee_report made = {.state = STATE_ENFORCED, .by = {"landlock", "broker"}};
	if (!plan->broker) {
		made.state = STATE_WEAKER;
		made.by[1] = NULL;
		made.why = "attributes and the words of links can be read anywhere: nobody answers "
			   "what the filter would ask";
	}
	return made;
}

static struct guarantee_report fs_deny(const struct plan *plan) {
	if (plan->engine != ENGINE_LANDLOCK) {
		return (struct guarantee_report){.state = STATE_ABSENT, .why = WHY_OPEN};
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
	if (!asks(plan, TRAIT_SOCKETS)) {
		return (struct guarantee_report){.state = STATE_ENFORCED, .by = {"seccomp"}};
	}
	return (struct guarantee_report){
		.state = STATE_WEAKER,
		.by = {"seccomp", "broker"},
		.why = net_has_names(&plan->net)
			       ? "nothing leaves but to what is allowed, but a server inside "
				 "listens on the host's loopback, where programs of the host can "
				 "reach it"
			       : "nothing leaves, but a server inside listens on the host's "
				 "loopback, where "
				 "programs of the host can reach it",
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
		made.why = "names are asked for by TCP: the C library does so here, a program with "
			   "a resolver of its own that knows UDP alone finds no name";
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
	/* Without the broker no unix socket but a pair can be made. */
	made.by[1] = asks(plan, TRAIT_SOCKETS) ? "broker" : NULL;
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
	made.by[1] = asks(plan, TRAIT_SIGNALS) ? "broker" : NULL;
	made.why = scoped || asks(plan, TRAIT_SIGNALS)
			   ? "other processes can be seen with their command lines, but neither "
			     "signalled nor traced"
			   : "other processes of the caller can be seen and signalled: Landlock "
			     "before ABI 6 does not judge signals";
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
	bool judged = asks(plan, TRAIT_SIGNALS);
	made.state = STATE_WEAKER;
	made.by[1] = judged ? "broker" : NULL;
	made.why =
		judged ? "processes are ended one by one, because Landlock before ABI 6 keeps no "
			 "signals inside; a command that forks fast can outlive its guard"
		       : "the command can kill the process that ends what it leaves behind";
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
}
