/* SPDX-License-Identifier: Apache-2.0 */
/* Chooses the engine (namespaces, Landlock, seccomp) and the level of a run.
 *
 * Should:   take the highest level that the host reaches, or exactly the requested one.
 * Must not: lower a requested level: a level that the host does not reach is an error that names
 *           the missing kernel feature.
 * Fails:    closed: below min_level, and at level none without --accept-no-sandbox. */
#include "plan/internal.h"

#include "base/str.h"

/* The newest Landlock ABI whose rights the landlock layer has been checked against. */
#define LANDLOCK_ABI_KNOWN 10

/* From here on Landlock also covers the network, which level "full" promises. */
#define LANDLOCK_ABI_FULL 4

static bool has_namespaces(const struct host *h) {
	return h->userns && h->seccomp;
}

static bool has_landlock(const struct host *h) {
	return h->landlock_abi > 0 && h->seccomp;
}

/* The level of the namespaces engine. */
static enum level namespaces_level(const struct host *h) {
	return h->landlock_abi >= LANDLOCK_ABI_FULL ? LEVEL_FULL : LEVEL_STANDARD;
}

/* The engine that reaches exactly this level; ENGINE_NONE when none does. */
static enum engine engine_for(const struct host *h, enum level level) {
	bool namespaces = has_namespaces(h) && namespaces_level(h) == level;
	switch (level) {
	case LEVEL_FULL:
		return namespaces ? ENGINE_NAMESPACES : ENGINE_NONE;
	case LEVEL_STANDARD:
		if (namespaces) {
			return ENGINE_NAMESPACES;
		}
		if (h->seatbelt) {
			return ENGINE_SEATBELT;
		}
		return has_landlock(h) ? ENGINE_LANDLOCK : ENGINE_NONE;
	case LEVEL_MINIMAL:
		return h->seccomp ? ENGINE_SECCOMP : ENGINE_NONE;
	case LEVEL_NONE:
	case LEVEL_AUTO:
		break;
	}
	return ENGINE_NONE;
}

static enum level highest(const struct host *h) {
	enum level level = LEVEL_FULL;
	while (level > LEVEL_NONE && engine_for(h, level) == ENGINE_NONE) {
		level--;
	}
	return level;
}

/* ---- errors ---- */

static const char *userns_why(const struct host *h) {
	if (h->userns) {
		return "user namespaces work";
	}
	return h->userns_why == NULL ? "user namespaces cannot be created" : h->userns_why;
}

static int not_reached(const struct host *h, enum level wanted, const char *setting,
		       const struct origin *from, struct err *e) {
	char origin[128];
	if (h->landlock_abi == 0 && plan_caller_variable(h, "CORRAL_LEVEL") != NULL) {
		(void)err_set(e, ERR_SETUP, WHERE,
			      "this process runs in a Corral sandbox, which forbids a nested "
			      "sandbox; %s %s is required (%s)",
			      setting, plan_level_name(wanted),
			      policy_origin_text(from, origin, sizeof origin));
		return err_fix(e, "start the outer sandbox with --allow-nested, or run the command "
				  "without the inner `corral run`: the outer sandbox confines it");
	}
	if (plan_caller_variable(h, "CORRAL_LEVEL") != NULL) {
		(void)err_set(
			e, ERR_SETUP, WHERE,
			"%s %s is required (%s), but inside a Corral sandbox a run reaches %s",
			setting, plan_level_name(wanted),
			policy_origin_text(from, origin, sizeof origin),
			plan_level_name(highest(h)));
		return err_fix(e, "use --level %s: the outer sandbox stays in force",
			       plan_level_name(highest(h)));
	}
	if (h->seatbelt) {
		(void)err_set(e, ERR_SETUP, WHERE,
			      "%s %s is required (%s), but macOS reaches %s with Seatbelt", setting,
			      plan_level_name(wanted),
			      policy_origin_text(from, origin, sizeof origin),
			      plan_level_name(highest(h)));
		return err_fix(e, "use --level %s", plan_level_name(highest(h)));
	}
	err_set(e, ERR_SETUP, WHERE,
		"%s %s is required (%s), but this host reaches %s: seccomp %s, Landlock ABI %d, %s",
		setting, plan_level_name(wanted), policy_origin_text(from, origin, sizeof origin),
		plan_level_name(highest(h)), h->seccomp ? "works" : "is missing", h->landlock_abi,
		userns_why(h));
	if (wanted == LEVEL_FULL && has_namespaces(h)) {
		return err_fix(e, "use a kernel with Landlock ABI %d (Linux 6.7), or --level %s",
			       LANDLOCK_ABI_FULL, plan_level_name(highest(h)));
	}
	return err_fix(e, "use --level %s; `corral status` lists how to reach a higher level",
		       plan_level_name(highest(h)));
}

/* Below standard no file is protected: --allow-degraded fs.read and fs.write accept that. */
static bool below_is_accepted(const struct policy *p, enum level least) {
	return least <= LEVEL_STANDARD && plan_accepts_loss(p, "fs.read") &&
	       plan_accepts_loss(p, "fs.write");
}

static int check_least(const struct policy *p, const struct host *h, enum level level,
		       struct err *e) {
	const struct value *least = &p->values[KEY_MIN_LEVEL];
	const struct value *floor = policy_floor(p, KEY_MIN_LEVEL);
	if (floor != NULL && floor->num > (int64_t)level) {
		return not_reached(h, (enum level)floor->num, "min_level", &floor->origin, e);
	}
	bool built_in = least->origin.kind == ORIGIN_BUILTIN;
	bool named = p->values[KEY_LEVEL].set && policy_num(p, KEY_LEVEL) != LEVEL_AUTO;
	bool open = policy_num(p, KEY_MODE) == MODE_FULL_ACCESS;
	if (!least->set || least->num <= (int64_t)level || ((named || open) && built_in) ||
	    (built_in && below_is_accepted(p, (enum level)least->num))) {
		return 0;
	}
	return not_reached(h, (enum level)least->num, "min_level", &least->origin, e);
}

/* mode full-access was accepted by a key of its own. */
static int check_none(const struct policy *p, enum level level, struct err *e) {
	if (level != LEVEL_NONE || policy_num(p, KEY_ACCEPT_NO_SANDBOX) ||
	    policy_num(p, KEY_MODE) == MODE_FULL_ACCESS) {
		return 0;
	}
	err_set(e, ERR_REFUSED, WHERE,
		"level none enforces only limits, time-out and a clean environment");
	return err_fix(e, "add --accept-no-sandbox to run without a sandbox");
}

int engine_choose(struct plan *plan, const struct policy *p, const struct host *h, struct err *e) {
	const struct value *requested = &p->values[KEY_LEVEL];
	bool named = requested->set && requested->num != LEVEL_AUTO;
	plan->full_access = policy_num(p, KEY_MODE) == MODE_FULL_ACCESS;
	enum level level = plan->full_access ? LEVEL_NONE
			   : named           ? (enum level)requested->num
					     : highest(h);
	enum engine engine = engine_for(h, level);

	if (engine == ENGINE_NONE && level != LEVEL_NONE) {
		return not_reached(h, level, "level", &requested->origin, e);
	}
	if (check_least(p, h, level, e) != 0 || check_none(p, level, e) != 0) {
		return -1;
	}
	plan->engine = engine;
	plan->level = level;
	if (engine == ENGINE_LANDLOCK || engine == ENGINE_NAMESPACES) {
		plan->landlock_abi =
			h->landlock_abi < LANDLOCK_ABI_KNOWN ? h->landlock_abi : LANDLOCK_ABI_KNOWN;
	}
	plan->shares_proc = engine == ENGINE_NAMESPACES && h->proc_why != NULL;
	nested_choose(plan, p, h);
	plan->broker = level != LEVEL_NONE && plan_lacks_namespaces(plan) && h->notify;
	plan->run_dir = plan_lacks_namespaces(plan) ? h->run_dir : NULL;
	return 0;
}
