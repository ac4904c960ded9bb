/* Which engine carries the policy out on this host, and at which level.
 *
 * Should:   take the highest level that the host reaches, or exactly the one that
 *           was asked for.
 * Must not: clamp: more than the host has is an error that says what is missing.
 * Fails:    closed: below min_level, and at level none without the word for it. */
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

/* The engine that gives exactly this level here; ENGINE_NONE when none does. */
static enum engine engine_for(const struct host *h, enum level level) {
	bool namespaces = has_namespaces(h) && namespaces_level(h) == level;
	switch (level) {
	case LEVEL_FULL:
		return namespaces ? ENGINE_NAMESPACES : ENGINE_NONE;
	case LEVEL_STANDARD:
		if (namespaces) {
			return ENGINE_NAMESPACES;
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

/* ---- what is missing ---- */

static const char *userns_why(const struct host *h) {
	if (h->userns) {
		return "user namespaces work";
	}
	return h->userns_why == NULL ? "user namespaces cannot be made" : h->userns_why;
}

static int not_reached(const struct host *h, enum level wanted, const char *what,
		       const struct origin *from, struct err *e) {
	char origin[128];
	if (h->landlock_abi == 0 && plan_caller_variable(h, "CORRAL_LEVEL") != NULL) {
		(void)err_set(e, ERR_SETUP, WHERE,
			      "this runs inside another Corral, which lets no sandbox be set up in "
			      "it; %s %s is needed (%s)",
			      what, plan_level_name(wanted),
			      policy_origin_text(from, origin, sizeof origin));
		return err_fix(e, "start the outer one with --allow-nested; or run the command "
				  "without the inner one: the outer boundary holds for it");
	}
	err_set(e, ERR_SETUP, WHERE,
		"%s %s is asked for (%s) and this host reaches %s: seccomp %s, Landlock ABI %d, %s",
		what, plan_level_name(wanted), policy_origin_text(from, origin, sizeof origin),
		plan_level_name(highest(h)), h->seccomp ? "is there" : "is missing",
		h->landlock_abi, userns_why(h));
	if (wanted == LEVEL_FULL && has_namespaces(h)) {
		return err_fix(e, "use a kernel with Landlock ABI %d (Linux 6.7), or --level %s",
			       LANDLOCK_ABI_FULL, plan_level_name(highest(h)));
	}
	return err_fix(e, "accept --level %s, or raise it: `corral status` says how",
		       plan_level_name(highest(h)));
}

/* Below standard no file is protected: whoever names that loss may run there. */
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
	if (!least->set || least->num <= (int64_t)level || (named && built_in) ||
	    (built_in && below_is_accepted(p, (enum level)least->num))) {
		return 0;
	}
	return not_reached(h, (enum level)least->num, "min_level", &least->origin, e);
}

static int check_none(const struct policy *p, enum level level, struct err *e) {
	if (level != LEVEL_NONE || policy_num(p, KEY_ACCEPT_NO_SANDBOX)) {
		return 0;
	}
	err_set(e, ERR_REFUSED, WHERE,
		"level none would enforce nothing but limits, time-out and a clean environment");
	return err_fix(e, "say --accept-no-sandbox if that is meant");
}

int engine_choose(struct plan *plan, const struct policy *p, const struct host *h, struct err *e) {
	const struct value *asked = &p->values[KEY_LEVEL];
	bool named = asked->set && asked->num != LEVEL_AUTO;
	enum level level = named ? (enum level)asked->num : highest(h);
	enum engine engine = engine_for(h, level);

	if (engine == ENGINE_NONE && level != LEVEL_NONE) {
		return not_reached(h, level, "level", &asked->origin, e);
	}
	if (check_least(p, h, level, e) != 0 || check_none(p, level, e) != 0) {
		return -1;
	}
	plan->engine = engine;
	plan->level = level;
	if (engine >= ENGINE_LANDLOCK) {
		plan->landlock_abi =
			h->landlock_abi < LANDLOCK_ABI_KNOWN ? h->landlock_abi : LANDLOCK_ABI_KNOWN;
	}
	plan->broker = level != LEVEL_NONE && plan_lacks_namespaces(plan) && h->notify;
	plan->run_dir = plan_lacks_namespaces(plan) ? h->run_dir : NULL;
	return 0;
}
