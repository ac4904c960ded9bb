/* SPDX-License-Identifier: Apache-2.0 */
/* Plans a run in a container, and reports which guarantee the engine keeps.
 *
 * Should:   refuse a setting that the engine cannot enforce, by its key; make the plan of the
 *           kernel's namespaces for everything else, without the directories of this system.
 * Must not: report a guarantee by a mechanism that is not among the arguments (C2).
 * Fails:    closed. */
#include "docker/container.h"

#include "base/auto.h"
#include "base/str.h"

#include <limits.h>
#include <stdio.h>

#define WHERE "container"

static bool is_on(const struct value *v) {
	return v->set && v->num != 0;
}

static bool is_limit(const struct value *v) {
	return v->set && v->num != LIMIT_NONE;
}

static bool has_items(const struct value *v) {
	return v->count > 0;
}

static bool is_filtered(const struct policy *p) {
	int64_t mode = policy_num(p, KEY_NET_MODE);
	return mode == NET_FILTERED || mode == NET_RESTRICTED;
}

static bool is_deny(const struct value *v) {
	return v->set && v->num == COMMANDS_DENY;
}

static bool is_full_access(const struct value *v) {
	return v->set && v->num == MODE_FULL_ACCESS;
}

static bool is_above(const struct value *v) {
	return v->set && v->num == LEVEL_FULL;
}

static bool is_another_level(const struct value *v) {
	return v->set && v->num != LEVEL_AUTO && v->num != LEVEL_STANDARD;
}

/* Settings that no argument of the engine enforces. */
static const struct {
	enum key_id key;
	bool (*is_there)(const struct value *v);
	const char *why;
} refused[] = {
	{KEY_NET_PUBLISH, has_items, "the gate cannot make a socket in the network of a container"},
	{KEY_COMMANDS_DEFAULT, is_deny, "the engine does not restrict which programs run"},
	{KEY_FS_COW, is_on, "the engine does not keep the changes of a mounted directory apart"},
	{KEY_NESTED, is_on, "the engine's filter refuses namespaces"},
	{KEY_ENV_SECRETS, has_items, "the engine would store their values with the container"},
	{KEY_PROVIDERS, has_items, "the engine would store their keys with the container"},
	{KEY_LIMITS_DISK, is_limit, "the growth of a container is not measured"},
	{KEY_MODE, is_full_access, "a container protects files"},
	{KEY_LEVEL, is_another_level, "a container is level standard"},
	{KEY_MIN_LEVEL, is_above, "a container is level standard"},
};

static int check_settings(const struct policy *p, struct err *e) {
	char origin[128];

	for (size_t i = 0; i < ARRAY_LEN(refused); i++) {
		const struct value *v = &p->values[refused[i].key];
		if (!refused[i].is_there(v)) {
			continue;
		}
		const struct origin *from = v->count > 0 ? &v->items[0].origin : &v->origin;
		(void)err_set(
			e, ERR_SETUP, WHERE, "%s (%s) is not possible with the backend %s: %s",
			keys[refused[i].key].name, policy_origin_text(from, origin, sizeof origin),
			engine_name(p), refused[i].why);
		return err_fix(e, "use --backend auto, or remove %s", keys[refused[i].key].name);
	}
	return 0;
}

/* Another id inside would be another owner of new files outside. */
static int check_host(const struct policy *p, const struct host *h, struct err *e) {
	bool uid = p->values[KEY_UID].set && policy_num(p, KEY_UID) != h->uid;
	bool gid = p->values[KEY_GID].set && policy_num(p, KEY_GID) != h->gid;

	if (uid || gid || h->asks) {
		(void)err_set(e, ERR_SETUP, WHERE, "%s is not possible with the backend %s",
			      h->asks ? "--ask" : "another uid or gid than the caller's",
			      engine_name(p));
		return err_fix(e, "use --backend auto");
	}
	if (h->container == NULL || h->run_dir == NULL) {
		(void)err_set(e, ERR_SETUP, WHERE,
			      "this host was recorded without a container engine");
		return err_fix(e, "use --backend auto");
	}
	return 0;
}

/* As if the kernel had everything: the engine's mounts take the place of the kernel's. */
static struct host host_of(const struct host *h) {
	const struct host_container *c = h->container;
	struct host all = *h;

	all.userns = all.seccomp = all.notify = all.sockets = true;
	all.landlock_abi = INT_MAX;
	all.privileged = true; /* the number of processes is the cgroup's, for every uid */
	all.cgroup = (struct host_cgroup){
		.kind = CGROUP_V2,
		.memory = c->memory,
		.pids = c->pids,
		.cpu = c->cpu,
		.why = "the container engine has no such controller on this host",
	};
	all.sampling_why = "processes of a container engine cannot be measured";
	return all;
}

/* The directories of the system are the image's; the checks of guarantees come later. */
static struct policy policy_of(const struct policy *p) {
	struct policy own = *p;

	own.values[KEY_FS_VIEW].num = VIEW_MINIMAL;
	own.values[KEY_FS_TOOLCHAINS].num = 0;
	own.values[KEY_LEVEL].num = LEVEL_AUTO;
	own.values[KEY_MIN_LEVEL].num = LEVEL_NONE;
	own.values[KEY_REQUIRE].count = 0;
	if (is_filtered(p)) {
		/* Without a broker no connect(2) is forwarded to the gate; programs use its
		 * proxies. */
		own.values[KEY_NET_PROXY] = (struct value){
			.set = true, .num = 1, .origin = p->values[KEY_NET_MODE].origin};
	}
	return own;
}

#define ENFORCED(...) ((struct guarantee_report){.state = STATE_ENFORCED, .by = {__VA_ARGS__}})
#define WEAKER(reason, ...)                                                                        \
	((struct guarantee_report){.state = STATE_WEAKER, .by = {__VA_ARGS__}, .why = (reason)})

#define LATER                                                                                      \
	"names that did not exist when the run started are neither hidden nor protected: a "       \
	"container has no broker"

static void report(struct plan *plan, const struct host *h, bool later) {
	struct guarantee_report *g = plan->guarantees;

	g[GUARANTEE_FS_WRITE] = ENFORCED("engine", "mount");
	g[GUARANTEE_FS_READ] = ENFORCED("engine", "mount");
	g[GUARANTEE_FS_DENY] = later ? WEAKER(LATER, "mount") : ENFORCED("mount");
	g[GUARANTEE_NET] =
		plan->net.gate ? ENFORCED("engine", "netns", "gate") : ENFORCED("engine", "netns");
	if (!plan->own_net) {
		g[GUARANTEE_NET] = (struct guarantee_report){.why = "net.mode is full"};
	}
	g[GUARANTEE_IPC] = WEAKER("a socket of the host that lies in the workspace or in a granted "
				  "directory can be reached: a container has no broker",
				  "engine", "ipcns");
	g[GUARANTEE_PID] = ENFORCED("engine", "pidns");
	g[GUARANTEE_ENV] = h->container->proxies
				   ? WEAKER("docker's client adds the variables of \"proxies\" in "
					    "its config.json",
					    "environment")
				   : ENFORCED("environment");
	g[GUARANTEE_PRIVILEGES] = ENFORCED("engine", "capabilities", "no_new_privs", "seccomp");
	g[GUARANTEE_LIFETIME] =
		WEAKER("if corral and its watcher are killed at the same moment, the engine runs "
		       "the command to its end",
		       "watcher");
}

/* A limit that someone chose; a run goes without those of the built-in policy, and reports it. */
static bool lacks(const struct policy *p, enum key_id key, bool controller) {
	const struct value *v = &p->values[key];
	return !controller && is_limit(v) && v->origin.kind != ORIGIN_BUILTIN;
}

int container_prepare(struct arena *a, const struct policy *p, const struct host *h,
		      struct plan *ret, struct err *e) {
	bool later = false;

	if (check_settings(p, e) != 0 || check_host(p, h, e) != 0) {
		return -1;
	}
	struct container_run *c = arena_alloc(a, sizeof *c);
	if (c == NULL) {
		return err_memory(e, WHERE);
	}
	*c = (struct container_run){.nports = 0};
	const struct host all = host_of(h);
	const struct policy own = policy_of(p);
	if (plan_build(a, &own, &all, ret, e) != 0) {
		return -1;
	}
	if (ret->processors != 0 || ret->sampled.memory != 0 || ret->sampled.processes != 0 ||
	    lacks(p, KEY_LIMITS_MEMORY, h->container->memory) ||
	    lacks(p, KEY_LIMITS_PROCESSES, h->container->pids)) {
		(void)err_set(e, ERR_SETUP, WHERE,
			      "%s does not enforce a limit of this policy on this host (memory %s, "
			      "processes %s, cpu %s)",
			      engine_name(p), h->container->memory ? "yes" : "no",
			      h->container->pids ? "yes" : "no", h->container->cpu ? "yes" : "no");
		return err_fix(e, "use --backend auto, or set the limit to none");
	}
	ret->engine = ENGINE_CONTAINER;
	ret->level = LEVEL_STANDARD;
	ret->landlock_abi = 0;
	ret->broker = ret->judges = ret->use_cgroup = false;
	ret->traits = 0;
	ret->run_dir = h->run_dir;
	if (container_names(a, h, ret, &later, e) != 0 || container_gate(a, p, h, ret, c, e) != 0 ||
	    container_arguments(a, p, h, ret, c, e) != 0) {
		return -1;
	}
	ret->container = c;
	report(ret, h, later);
	return guarantees_check(ret, p, e);
}
