/* SPDX-License-Identifier: Apache-2.0 */
/* Checks that a plan enforces the [floor] of /etc/corral/policy.toml.
 *
 * The policy contains the floor's values already.  Some levels, engines and hosts do not enforce
 * all of them.  The caller may accept such a loss with --allow-degraded; the floor does not.
 *
 * Should:   refuse a run for every value of the floor that would not be enforced (P4).
 * Must not: respect --allow-degraded.
 * Fails:    closed: such a run does not start. */
#include "plan/internal.h"

#include "base/auto.h"
#include "base/path.h"
#include "base/str.h"

/* The guarantee that enforces a key.  Limits of time, output, file size and open files are
 * enforced at every level, by the supervisor and by rlimits. */
static const struct {
	enum key_id key;
	enum guarantee by;
} carriers[] = {
	{KEY_MODE, GUARANTEE_FS_WRITE},
	{KEY_FS_VIEW, GUARANTEE_FS_READ},
	{KEY_FS_READ, GUARANTEE_FS_READ},
	{KEY_FS_WRITE, GUARANTEE_FS_WRITE},
	{KEY_FS_DENY, GUARANTEE_FS_DENY},
	{KEY_FS_PROTECT, GUARANTEE_FS_DENY},
	{KEY_FS_PROTECT_NAMES, GUARANTEE_FS_DENY},
	{KEY_FS_HOME, GUARANTEE_FS_WRITE},
	{KEY_FS_TOOLCHAINS, GUARANTEE_FS_READ},
	{KEY_FS_COW, GUARANTEE_FS_WRITE},
	{KEY_NET_MODE, GUARANTEE_NET},
	{KEY_NET_ALLOW, GUARANTEE_NET},
	{KEY_NET_DENY, GUARANTEE_NET},
	{KEY_NET_PRIVATE, GUARANTEE_NET},
	{KEY_NET_PUBLISH, GUARANTEE_NET},
	{KEY_NET_HOST_PORTS, GUARANTEE_NET},
	{KEY_NET_SOCKETS, GUARANTEE_IPC},
	{KEY_ENV_PASS, GUARANTEE_ENV},
	{KEY_ENV_ALLOW_DANGEROUS, GUARANTEE_ENV},
	{KEY_ENV_SECRETS, GUARANTEE_ENV},
	{KEY_COMMANDS_DEFAULT, GUARANTEE_EXEC},
	{KEY_LIMITS_PROCESSES, GUARANTEE_LIMITS_PROCESSES},
	{KEY_LIMITS_MEMORY, GUARANTEE_LIMITS_MEMORY},
	{KEY_LIMITS_DISK, GUARANTEE_LIMITS_DISK},
	{KEY_LIMITS_CPUS, GUARANTEE_LIMITS_CPU},
};

/* Whether the floor's value restricts anything: the loosest value does not. */
static bool restricts(enum key_id key, const struct value *floor) {
	switch (key) {
	case KEY_MODE:
		return floor->num != MODE_FULL_ACCESS;
	case KEY_FS_VIEW:
		return floor->num != VIEW_HOST;
	case KEY_FS_HOME:
		return floor->num != HOME_WORKSPACE;
	case KEY_FS_TOOLCHAINS:
		return floor->num == 0;
	case KEY_COMMANDS_DEFAULT:
		return floor->num != COMMANDS_ALLOW;
	case KEY_FS_COW:
		return floor->num != 0;
	case KEY_NET_MODE:
		return floor->num != NET_FULL;
	case KEY_FS_DENY:
	case KEY_FS_PROTECT:
	case KEY_FS_PROTECT_NAMES:
	case KEY_NET_DENY:
		return floor->count > 0;
	default:
		return floor->num != LIMIT_NONE;
	}
}

static int refuse(enum key_id key, const struct value *floor, const char *why, struct err *e) {
	char origin[128];
	err_set(e, ERR_REFUSED, WHERE, "%s (%s) cannot be enforced on this host: %s",
		keys[key].name, policy_origin_text(&floor->origin, origin, sizeof origin),
		why == NULL ? "this host does not have it" : why);
	return err_fix(e, "use a higher level (`corral status` lists how to reach one); no option "
			  "overrides the floor");
}

/* CPU affinity counts whole processors; a number that was rounded up is more than the floor
 * allows. */
static bool holds_cpus(const struct plan *plan, int64_t millis) {
	return plan->cpu_millis != LIMIT_NONE ||
	       (plan->processors != 0 && plan->engine != ENGINE_NONE &&
		plan->processors * 1000 <= millis);
}

/* Two keys of guarantees that may be enforced because of another key only. */
static int check_alone(const struct plan *plan, const struct policy *p, struct err *e) {
	const struct value *tmp = policy_floor(p, KEY_LIMITS_TMP_SIZE);
	const struct value *cpus = policy_floor(p, KEY_LIMITS_CPUS);
	if (tmp != NULL && plan->engine < ENGINE_NAMESPACES) {
		return refuse(KEY_LIMITS_TMP_SIZE, tmp, "this engine has no private /tmp", e);
	}
	if (cpus != NULL && cpus->num != LIMIT_NONE && !holds_cpus(plan, cpus->num)) {
		return refuse(KEY_LIMITS_CPUS, cpus, plan->guarantees[GUARANTEE_LIMITS_CPU].why, e);
	}
	return 0;
}

int floor_check(const struct plan *plan, const struct policy *p, struct err *e) {
	for (size_t i = 0; i < ARRAY_LEN(carriers); i++) {
		const struct value *floor = policy_floor(p, carriers[i].key);
		const struct guarantee_report *made = &plan->guarantees[carriers[i].by];
		bool lost = made->state == STATE_ABSENT || made->grave;
		if (floor != NULL && lost && restricts(carriers[i].key, floor)) {
			return refuse(carriers[i].key, floor, made->why, e);
		}
	}
	return check_alone(plan, p, e);
}

/* ---- grants of paths that the floor's patterns match ---- */

/* Collects the floor's patterns.  One without a leading slash applies beneath every granted tree;
 * here each is taken once and anchored at the root, because a grant of the matching file itself
 * must not open it (P4).  An absolute one applies in a tree by itself; `placed` includes it, for a
 * socket outside all trees, which the broker does not check. */
static int rules_of_floor(struct builder *b, bool placed, struct rules *ret, struct err *e) {
	const struct rules *all = &b->plan->rules;
	*ret = (struct rules){.list = arena_array(b->a, all->count + 1, sizeof *ret->list)};
	if (ret->list == NULL) {
		return err_memory(e, WHERE);
	}
	for (size_t i = 0; i < all->count; i++) {
		struct rule r = all->list[i];
		if (r.anywhere && r.anchor == all->anchors[0].path) {
			r.anchor = "/";
			ret->list[ret->count++] = r;
		} else if (placed && !r.anywhere && r.group == GROUP_FLOOR) {
			ret->list[ret->count++] = r;
		}
	}
	return 0;
}

struct granted {
	const char *path, *note;
	const struct origin *origin;
	bool writable;
};

static int check_granted(const struct rules *floor, struct granted g, struct err *e) {
	const struct ruling ruling = rules_judge(floor, g.path);
	const struct rule *r = ruling.deny;
	char requested[128], origin[128];
	if (r == NULL && g.writable) {
		r = ruling.protect;
	}
	if (r == NULL) {
		return 0;
	}
	err_set(e, ERR_REFUSED, WHERE, "%s %s (%s) goes beyond the system's floor: %s %s (%s)",
		g.note, g.path, policy_origin_text(g.origin, requested, sizeof requested),
		r->effect == EFFECT_DENY ? "fs.deny" : "fs.protect", r->written,
		policy_origin_text(&r->origin, origin, sizeof origin));
	return err_fix(e,
		       "request less, or ask the administrator to relax /etc/corral/policy.toml");
}

/* Checks its path on the host and its path inside. */
static int check_tree(const struct rules *floor, const struct mount *m, struct err *e) {
	struct granted g = {m->source, m->note, &m->origin, m->writable};
	if (check_granted(floor, g, e) != 0) {
		return -1;
	}
	g.path = m->target;
	return check_granted(floor, g, e);
}

int floor_grants(struct builder *b, struct err *e) {
	const struct net_plan *net = &b->plan->net;
	struct rules floor, for_sockets;
	if (b->plan->rules.nanchors == 0) {
		return 0;
	}
	if (rules_of_floor(b, false, &floor, e) != 0 ||
	    rules_of_floor(b, true, &for_sockets, e) != 0) {
		return -1;
	}
	for (size_t i = 0; floor.count > 0 && i < b->nrequests; i++) {
		const struct mount_request *w = &b->requests[i];
		if (pattern_ground_is(w) && check_tree(&floor, &w->m, e) != 0) {
			return -1;
		}
	}
	for (size_t i = 0; for_sockets.count > 0 && i < net->nsockets; i++) {
		const struct net_socket *s = &net->sockets[i];
		struct granted g = {s->source, "net.sockets", &s->origin, false};
		if (check_granted(&for_sockets, g, e) != 0) {
			return -1;
		}
	}
	return 0;
}

bool floor_allows(struct builder *b, enum key_id key, const char *path) {
	const struct value *floor = policy_floor(b->p, key);
	for (size_t i = 0; floor != NULL && i < floor->count; i++) {
		const char *bound = host_fs_resolve(b, floor->items[i].str);
		if (path_within(path, bound == NULL ? floor->items[i].str : bound)) {
			return true;
		}
	}
	return floor == NULL;
}
