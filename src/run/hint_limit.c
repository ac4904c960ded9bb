/* SPDX-License-Identifier: Apache-2.0 */
/* Hints about resource limits: the value of the limit, and the option that doubles it.
 *
 * Should:   print a size with its unit, and an option that can be pasted.
 * Must not: offer an option that the system's floor forbids.
 * Fails:    open: without such a limit there is no hint. */
#include "run/hint.h"

#include "base/auto.h"
#include "base/str.h"

#include <inttypes.h>
#include <stdio.h>
#include <sys/resource.h>

static uint64_t rlimit_of(const struct plan *plan, int resource) {
	for (size_t i = 0; i < plan->nrlimits; i++) {
		if (plan->rlimits[i].resource == resource) {
			return plan->rlimits[i].value;
		}
	}
	return 0;
}

static uint64_t processes_of(const struct plan *plan) {
	uint64_t group = plan->max_processes > 0 ? (uint64_t)plan->max_processes : 0;
	uint64_t rlimit = rlimit_of(plan, RLIMIT_NPROC);
	return rlimit != 0 ? rlimit : group;
}

static uint64_t open_files_of(const struct plan *plan) {
	return rlimit_of(plan, RLIMIT_NOFILE);
}

static uint64_t file_size_of(const struct plan *plan) {
	return rlimit_of(plan, RLIMIT_FSIZE);
}

/* Without namespaces TMPDIR is on the host's file system, which has no such limit. */
static uint64_t tmp_size_of(const struct plan *plan) {
	return plan_lacks_namespaces(plan) ? 0 : plan->tmp_size;
}

static const struct limit {
	enum key_id key;
	const char *option;
	uint64_t (*value)(const struct plan *plan); /* 0: the run has no such limit */
} limits[] = {
	{KEY_LIMITS_PROCESSES, "--processes", processes_of},
	{KEY_LIMITS_OPEN_FILES, "--open-files", open_files_of},
	{KEY_LIMITS_FILE_SIZE, "--max-file-size", file_size_of},
	{KEY_LIMITS_TMP_SIZE, "--tmp-size", tmp_size_of},
};

const char *hint_limit_text(enum key_id key, uint64_t value, char out[HINT_LIMIT_TEXT]) {
	static const char *const units[] = {"", "K", "M", "G", "T"};
	bool duration = keys[key].type == TYPE_DURATION;
	const char *suffix = duration && value % 1000 != 0 ? "ms" : "";
	size_t unit = 0;

	if (duration && value % 1000 == 0) {
		value /= 1000;
	}
	while (keys[key].type == TYPE_BYTES && value >= 1024 && value % 1024 == 0 &&
	       unit + 1 < ARRAY_LEN(units)) {
		value /= 1024;
		unit++;
	}
	(void)snprintf(out, HINT_LIMIT_TEXT, "%" PRIu64 "%s%s", value, units[unit], suffix);
	return out;
}

bool hint_for_limit(const struct plan *plan, const struct policy *policy, const struct hint *hint,
		    struct advice *ret) {
	char origin[128], now[HINT_LIMIT_TEXT], more[HINT_LIMIT_TEXT];

	for (size_t i = 0; i < ARRAY_LEN(limits); i++) {
		const struct limit *l = &limits[i];
		uint64_t value = streq(keys[l->key].name, hint->rule) ? l->value(plan) : 0;
		if (value == 0) {
			continue;
		}
		const struct value *floor = policy_floor(policy, l->key);
		const struct origin *from = &policy->values[l->key].origin;
		(void)policy_origin_text(floor != NULL ? &floor->origin : from, origin,
					 sizeof origin);
		(void)hint_limit_text(l->key, value, now);
		if (floor != NULL) {
			(void)snprintf(ret->text, sizeof ret->text,
				       "perhaps the limit of %s (%s); no option raises it", now,
				       origin);
		} else {
			(void)snprintf(ret->text, sizeof ret->text,
				       "perhaps the limit of %s (%s); to raise it: %s %s", now,
				       origin, l->option,
				       hint_limit_text(l->key,
						       value <= UINT64_MAX / 2 ? 2 * value : value,
						       more));
		}
		return true;
	}
	return false;
}
