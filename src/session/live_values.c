/* SPDX-License-Identifier: Apache-2.0 */
/* Values of a live session: those that its policy resolved to, its processor time, its end.
 *
 * Should:   end a session whose processes have used the time of --cpu-total, or that is idle.
 * Must not: end one for time that a sample counts twice.
 * Fails:    open for the values, which are for people; a limit that cannot be sampled is not
 *           reached. */
#include "session/daemon.h"

#include "base/clock.h"

#include <stdio.h>

#define CPU_SAMPLE_MS 1000

static const char *text_of(const json_t *object, const char *key) {
	const char *text = json_string_value(json_object_get(object, key));
	return text == NULL ? "" : text;
}

static int64_t limit_of(const json_t *object, const char *key) {
	return json_integer_value(json_object_get(object, key)); /* 0: none */
}

void live_set_limits(struct live *l, const json_t *value) {
	int64_t timeout = limit_of(value, "timeout_ms");

	l->deadline = timeout == 0 ? 0 : l->began + timeout;
	l->cpu_limit_ms = limit_of(value, "cpu_total_ms");
	l->idle_limit_ms = limit_of(value, "idle_timeout_ms");
	l->ready_at = clock_ms();
}

/* CLOCK_MONOTONIC as milliseconds since 1970; 0 stays 0. */
static int64_t wall_time(int64_t at) {
	return at == 0 ? 0 : daemon_now() + at - clock_ms();
}

void live_record_resolved(struct live *l, const json_t *value) {
	struct err e = {0};
	const struct session_resolved r = {.workspace = text_of(value, "workspace"),
					   .profile = text_of(value, "profile"),
					   .mode = text_of(value, "mode"),
					   .net = text_of(value, "net"),
					   .policy = text_of(value, "policy"),
					   .deadline = wall_time(l->deadline)};

	if (store_set_resolved(l->daemon->store, l->id, &r, &e) != 0) {
		daemon_log("%s: cannot record its values: %s", l->id, e.what);
	}
}

void live_record_warnings(const struct live *l, const json_t *warnings) {
	size_t i;
	json_t *text;

	json_array_foreach(warnings, i, text) {
		daemon_activity(l->daemon, l->id, "warning", json_string_value(text));
	}
}

/* The state in memory follows the database; if that cannot be changed, the processes decide. */
void live_change_state(struct live *l, enum session_event event, const char *reason,
		       const char *level) {
	struct store *store = l->daemon->store;
	struct err e = {.what = "an earlier change is not recorded"};
	struct state_change c = {.id = l->id,
				 .from = l->state,
				 .event = event,
				 .reason = reason,
				 .level = level,
				 .now = daemon_now()};

	(void)store_settle(store); /* what stays is late */
	if (store_is_late(store, l->id) || store_change_state(store, &c, &l->state, &e) != 0) {
		daemon_log("%s: cannot record a change of state: %s", l->id, e.what);
		(void)state_next(l->state, event, &l->state);
		store_keep_state(store, &c, l->state);
	}
	overview_event(l->daemon, "session",
		       json_pack("{s:s, s:s, s:s, s:s}", "id", l->id, "state", state_name(l->state),
				 "reason", reason, "level", level));
}

void live_record_activity(const struct live *l, const char *message) {
	json_t *row = json_loads(message, 0, NULL);
	const char *kind = json_string_value(json_object_get(row, "kind"));
	const char *text = json_string_value(json_object_get(row, "text"));

	if (kind != NULL && text != NULL) {
		daemon_activity(l->daemon, l->id, kind, text);
	}
	json_decref(row);
}

void live_record_ending(struct live *l, const char *text) {
	json_t *value = json_loads(text, 0, NULL);
	const char *limit = json_string_value(json_object_get(value, "text"));

	if (limit != NULL && l->kill_at == 0) { /* else it stops for another reason */
		(void)snprintf(l->reason, sizeof l->reason, "its sandbox was ended by %s", limit);
		daemon_activity(l->daemon, l->id, "limit", l->reason);
	}
	json_decref(value);
}

const struct cpu_total *live_cpu(struct live *l) {
	static const struct cpu_places places = {"/proc", "/sys/fs/cgroup"};

	(void)cpu_total_read(&places, l->supervisor, &l->cpu); /* else it is the last one */
	return &l->cpu;
}

void live_check_cpu(struct live *l, int64_t now) {
	if (l->cpu_limit_ms == 0 || l->state != SESSION_RUNNING || now < l->cpu_at) {
		return;
	}
	l->cpu_at = now + CPU_SAMPLE_MS;
	const struct cpu_total *used = live_cpu(l);
	if (used->ms >= l->cpu_limit_ms) {
		char why[200];
		(void)snprintf(why, sizeof why,
			       "its processes used %lld.%lld s of processor time (%s), the limit "
			       "is %lld s (session.cpu_total, --cpu-total)",
			       (long long)used->ms / 1000, (long long)used->ms % 1000 / 100,
			       used->by_cgroup ? "by cgroup" : "sampled",
			       (long long)l->cpu_limit_ms / 1000);
		live_stop(l, why);
	}
}

/* Processes in the background, the bridge and open connections are no commands. */
int64_t live_check_idle(struct live *l, int64_t now) {
	if (l->idle_limit_ms == 0 || l->state != SESSION_RUNNING) {
		return 0;
	}
	if (l->calls != NULL || atomic_load(&l->counts->running) > 0) {
		return now + l->idle_limit_ms;
	}
	int64_t ended = atomic_load(&l->counts->ended_at);
	int64_t end = (ended > l->ready_at ? ended : l->ready_at) + l->idle_limit_ms;
	if (now < end) {
		return end;
	}
	char why[160];
	(void)snprintf(why, sizeof why,
		       "no command ran for %lld.%lld s (session.idle_timeout, "
		       "--session-idle-timeout)",
		       (long long)l->idle_limit_ms / 1000,
		       (long long)l->idle_limit_ms % 1000 / 100);
	live_stop(l, why);
	return 0;
}
