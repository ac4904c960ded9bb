/* SPDX-License-Identifier: Apache-2.0 */
/* Reports the guarantees of the macOS backend.
 *
 * Should:   name the accesses that Seatbelt does not restrict.
 * Must not: report a guarantee as enforced: no run on a Mac has shown it yet.
 * Fails:    closed: `require` refuses each of them. */
#include "plan/internal.h"

#include "plan/net/net.h"

#define NOT_RUN "the Seatbelt backend has not been run on macOS: only its profile was checked"

static struct guarantee_report weaker(const char *by, const char *why) {
	return (struct guarantee_report){.state = STATE_WEAKER, .by = {by}, .why = why};
}

static struct guarantee_report deny(const struct plan *plan) {
	if (plan->unkept != NULL) {
		return weaker("seatbelt", plan->unkept);
	}
	return weaker("seatbelt", NOT_RUN "; a directory that holds a protected name can be "
					  "renamed into the run's TMPDIR and changed there");
}

static struct guarantee_report net(const struct plan *plan) {
	if (!plan->own_net) {
		return (struct guarantee_report){.state = STATE_ABSENT, .why = "net.mode is full"};
	}
	return weaker("seatbelt", plan->net.npublish > 0
					  ? NOT_RUN "; the run has the host's loopback: programs "
						    "of the host reach a published port"
					  : NOT_RUN "; services of the system that a program may "
						    "look up could connect for it");
}

static struct guarantee_report names(const struct plan *plan) {
	struct guarantee_report made = guarantees_named(plan);
	return made.state == STATE_ENFORCED ? weaker("gate", NOT_RUN) : made;
}

static struct guarantee_report exec(const struct plan *plan) {
	if (!plan->exec_limited) {
		return plan->guarantees[GUARANTEE_EXEC];
	}
	return weaker("seatbelt", NOT_RUN "; an interpreter that is listed runs every script");
}

void guarantees_seatbelt(struct plan *plan) {
	struct guarantee_report *guarantees = plan->guarantees;
	guarantees[GUARANTEE_FS_WRITE] = weaker("seatbelt", NOT_RUN);
	guarantees[GUARANTEE_FS_READ] =
		weaker("seatbelt", NOT_RUN "; attributes of the directories above a shown path can "
					   "be read");
	guarantees[GUARANTEE_FS_DENY] = deny(plan);
	guarantees[GUARANTEE_NET] = net(plan);
	guarantees[GUARANTEE_NET_NAMES] = names(plan);
	guarantees[GUARANTEE_IPC] =
		weaker("seatbelt", NOT_RUN "; Mach services of data/seatbelt.c can be looked up, "
					   "and POSIX semaphores are the host's");
	guarantees[GUARANTEE_PID] =
		weaker("seatbelt", NOT_RUN "; other processes can be listed, but neither signalled "
					   "nor inspected");
	guarantees[GUARANTEE_ENV] = weaker("environment", NOT_RUN);
	guarantees[GUARANTEE_LIFETIME] =
		weaker("supervisor", NOT_RUN "; macOS has no pid namespace: a process that leaves "
					     "its session while it is being killed can survive");
	guarantees[GUARANTEE_EXEC] = exec(plan);
	guarantees[GUARANTEE_PRIVILEGES] = weaker(
		"seatbelt", NOT_RUN "; macOS has no no_new_privs, and it was not tried whether "
				    "Seatbelt refuses set-user-id programs");
}

void guarantees_seatbelt_lower(struct plan *plan) {
	plan->guarantees[GUARANTEE_LEAKS] = (struct guarantee_report){
		.state = STATE_ABSENT, .why = "corral for macOS has no leak scanner"};
	for (enum guarantee g = 0; g < GUARANTEE_COUNT; g++) {
		if (plan->guarantees[g].state == STATE_ENFORCED) {
			plan->guarantees[g].state = STATE_WEAKER;
			plan->guarantees[g].why = NOT_RUN;
		}
	}
}
