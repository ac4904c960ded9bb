/* SPDX-License-Identifier: Apache-2.0 */
/* Turns limits that the run has reached into denials.
 *
 * Should:   name the limit, its value, where that was written, and the option that doubles it.
 * Must not: guess: a limit is listed if the kernel, a sampler, the broker or the supervisor reports
 *           that it was reached.  RLIMIT_NPROC and a full /tmp are reported by none of them.
 *           Offer an option that the system's floor forbids.
 * Fails:    open: out of memory there is no denial. */
#include "run/denied_limits.h"

#include "base/auto.h"
#include "run/denials_judge.h"

#include <errno.h>
#include <signal.h>

/* ---- which limits were reached ---- */

static bool memory_reached(const struct outcome *o) {
	return o->usage.memory_limited || o->usage.run_state.overrun == OVERRUN_MEMORY;
}

static bool processes_reached(const struct outcome *o) {
	return o->usage.processes_limited || o->usage.run_state.overrun == OVERRUN_PROCESSES;
}

static bool disk_reached(const struct outcome *o) {
	return o->usage.run_state.overrun == OVERRUN_DISK;
}

static bool timeout_reached(const struct outcome *o) {
	return o->reason == REASON_TIMEOUT;
}

static bool idle_reached(const struct outcome *o) {
	return o->reason == REASON_IDLE;
}

static bool rlimit_reached(const struct outcome *o) {
	return o->reason == REASON_LIMIT && o->usage.run_state.overrun == OVERRUN_NONE;
}

static bool file_size_reached(const struct outcome *o) {
	return rlimit_reached(o) && o->signal == SIGXFSZ;
}

static bool cpu_time_reached(const struct outcome *o) {
	return rlimit_reached(o) && o->signal != SIGXFSZ;
}

static bool output_reached(const struct outcome *o) {
	return o->out_dropped > 0 || o->err_dropped > 0;
}

static const struct limit {
	enum key_id key;
	const char *option;
	const char *what;
	int error;                                /* that the command got; 0: none */
	bool (*reached)(const struct outcome *o); /* NULL: the broker reports it */
} limits[] = {
	{KEY_LIMITS_TIMEOUT, "--timeout", "the time of the run", 0, timeout_reached},
	{KEY_LIMITS_IDLE_TIMEOUT, "--idle-timeout", "the time without output", 0, idle_reached},
	{KEY_LIMITS_MEMORY, "--memory", "memory", 0, memory_reached},
	{KEY_LIMITS_PROCESSES, "--processes", "processes and threads", EAGAIN, processes_reached},
	{KEY_LIMITS_DISK, "--disk", "disk space", 0, disk_reached},
	{KEY_LIMITS_FILE_SIZE, "--max-file-size", "the size of a file", EFBIG, file_size_reached},
	{KEY_LIMITS_CPU_TIME, "--cpu-time", "the CPU time of a process", 0, cpu_time_reached},
	{KEY_LIMITS_OUTPUT, "--max-output", "captured output", 0, output_reached},
	{KEY_LIMITS_OPEN_FILES, "--open-files", "open files of a process", EMFILE, NULL},
};

/* ---- the denial ---- */

/* The next higher value that the key and the system's floor allow; 0: there is none. */
static uint64_t higher(const struct policy *policy, enum key_id key, uint64_t value,
		       uint64_t found) {
	const struct value *floor = policy_floor(policy, key);
	uint64_t most = (uint64_t)keys[key].max, more = value == 0 ? 1 : value;

	if (floor != NULL && floor->num != LIMIT_NONE && (uint64_t)floor->num < most) {
		most = (uint64_t)floor->num;
	}
	do {
		more = more <= most / 2 ? 2 * more : most;
	} while (more < most && more <= found);
	return more > value ? more : 0;
}

static bool limit_describe(const struct judging *g, const struct limit *l, uint64_t found,
			   struct denial *ret) {
	const struct value *set = &g->policy->values[l->key];
	const struct value *floor = policy_floor(g->policy, l->key);
	uint64_t value = (uint64_t)set->num, more;
	char origin[128], now[HINT_LIMIT_TEXT];

	if (!set->set || set->num == LIMIT_NONE) {
		return false;
	}
	bool bound = floor != NULL && floor->num == set->num;
	bool seconds = keys[l->key].type == TYPE_DURATION && value % 1000 == 0;
	more = higher(g->policy, l->key, value, found);
	policy_origin_text(bound ? &floor->origin : &set->origin, origin, sizeof origin);
	(void)hint_limit_text(l->key, value, now);
	*ret = (struct denial){
		.op = DENIAL_LIMIT,
		.limit = keys[l->key].name,
		.value = arena_strdup(g->a, now),
		.error = found > 0 ? 0 : l->error, /* a sampler kills the run */
		.rule = keys[l->key].name,
		.origin = arena_strdup(g->a, origin),
		.why = arena_printf(g->a, "the run reached its limit of %s%s on %s (%s, %s)", now,
				    seconds ? " s" : "", l->what, keys[l->key].name, origin),
		.count = 1,
	};
	if (more != 0) {
		char then[HINT_LIMIT_TEXT];
		ret->allow_with =
			arena_printf(g->a, "%s %s", l->option, hint_limit_text(l->key, more, then));
	}
	ret->remedy = ret->allow_with == NULL
			      ? arena_printf(g->a,
					     "no option raises it further: change it where "
					     "it is written (%s)",
					     origin)
			      : arena_printf(g->a, "raise it: %s", ret->allow_with);
	return ret->value != NULL && ret->origin != NULL && ret->why != NULL && ret->remedy != NULL;
}

bool denied_limits_judge(const struct judging *g, const struct journal_refusal *r,
			 struct denial *ret) {
	for (size_t i = 0; i < ARRAY_LEN(limits); i++) {
		if (limits[i].reached == NULL && limits[i].error == r->error &&
		    limit_describe(g, &limits[i], 0, ret)) {
			ret->count = r->count;
			return true;
		}
	}
	return false;
}

void denied_limits_add(struct outcome *o, const struct plan *plan, const struct policy *policy) {
	const struct judging g = {.a = &o->denials.arena, .plan = plan, .policy = policy};
	struct denial one;

	if (policy == NULL || plan->denials == DENIALS_OFF) {
		return;
	}
	for (size_t i = 0; i < ARRAY_LEN(limits); i++) {
		if (limits[i].reached == NULL || !limits[i].reached(o)) {
			continue;
		}
		bool sampled = o->usage.run_state.overrun != OVERRUN_NONE;
		int64_t found = sampled ? o->usage.run_state.overrun_value : 0;
		if (limit_describe(&g, &limits[i], (uint64_t)found, &one)) {
			denials_add(&o->denials, &one);
		}
	}
}
