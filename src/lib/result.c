/* SPDX-License-Identifier: Apache-2.0 */
/* The result of a run: accessors, the text of its ending, and the JSON object.
 *
 * Should:   outlive policy and plan; have the same keys in every JSON object, whether
 *           the command ran or not, so that a program needs one parser.
 * Must not: claim more than was done: "denials_recorded" is false where no broker recorded them,
 *           "leaks_scanned" when a stream was not scanned.
 * Fails:    out of memory the whole object fails. */
#include "lib/internal.h"

#include "base/auto.h"
#include "base/emit.h"
#include "base/errno_name.h"
#include "lib/leaks.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

/* The exit status of timeout(1). */
#define STATUS_TIMED_OUT 124
#define STATUS_REFUSED 126
#define STATUS_SIGNAL 128

static int copy_guarantee(struct arena *a, const struct guarantee_report *from,
			  struct guarantee_report *to) {
	to->state = from->state;
	for (size_t i = 0; i < ARRAY_LEN(from->by) && from->by[i] != NULL; i++) {
		to->by[i] = arena_strdup(a, from->by[i]);
		if (to->by[i] == NULL) {
			return -1;
		}
	}
	if (from->why != NULL) {
		to->why = arena_strdup(a, from->why);
		return to->why == NULL ? -1 : 0;
	}
	return 0;
}

/* The warnings first: a person reads them on stderr, a program only here. */
static int copy_notes(struct arena *a, const struct plan *plan, struct enforcement *to) {
	size_t n = plan->nwarnings + plan->nnotes;
	to->notes = arena_array(a, n + 1, sizeof *to->notes);
	for (size_t i = 0; to->notes != NULL && i < n; i++) {
		const char *text =
			i < plan->nwarnings ? plan->warnings[i] : plan->notes[i - plan->nwarnings];
		to->notes[i] = arena_strdup(a, text);
		if (to->notes[i] == NULL) {
			return -1;
		}
		to->nnotes++;
	}
	return to->notes == NULL ? -1 : 0;
}

void result_take_hash(struct corral_result *result, const struct prepared *p) {
	memcpy(result->enforcement.policy_sha256, p->policy.sha256,
	       sizeof result->enforcement.policy_sha256);
}

struct corral_result *result_new(const struct prepared *p) {
	struct corral_result *r = calloc(1, sizeof *r);
	if (r == NULL) {
		return NULL;
	}
	arena_init_small(&r->arena, p->arena.block_size); /* small in a session */
	r->enforcement = (struct enforcement){
		.level = plan_level_name(p->plan.level),
		.engine = plan_engine_name(p->plan.engine),
		.depth = p->plan.depth,
		.timeout_ms = p->plan.timeout_ms,
		.idle_ms = p->plan.idle_ms,
		.memory_bytes = plan_memory_bytes(&p->plan),
		.sampled = p->plan.sampled,
	};
	result_take_hash(r, p);
	for (size_t i = 0; i < GUARANTEE_COUNT; i++) {
		if (copy_guarantee(&r->arena, &p->plan.guarantees[i],
				   &r->enforcement.guarantees[i]) != 0) {
			corral_result_free(r);
			return NULL;
		}
	}
	const struct identity_report identity = identity_of(p);
	if (result_timings_make(p, r) != 0 ||
	    copy_notes(&r->arena, &p->plan, &r->enforcement) != 0 ||
	    identity_copy(&r->arena, &identity, &r->identity) != 0) {
		corral_result_free(r);
		return NULL;
	}
	return r;
}

void corral_result_free(struct corral_result *result) {
	if (result == NULL) {
		return;
	}
	leak_log_done(&result->args_leaks);
	outcome_done(&result->outcome);
	arena_done(&result->arena);
	free(result);
}

/* "2 s", "2.5 s", "500 ms". */
static const char *time_text(int64_t ms, char *out, size_t cap) {
	if (ms < 1000) {
		(void)snprintf(out, cap, "%" PRId64 " ms", ms);
	} else if (ms % 1000 == 0) {
		(void)snprintf(out, cap, "%" PRId64 " s", ms / 1000);
	} else {
		(void)snprintf(out, cap, "%.1f s", (double)ms / 1000.0);
	}
	return out;
}

#define MIB (1024.0 * 1024.0)

bool result_overrun_text(const struct run_state_copy *run_state, const struct sampled *limits,
			 char *out, size_t cap) {
	switch (run_state->overrun) {
	case OVERRUN_MEMORY:
		(void)snprintf(out, cap,
			       "the memory limit of %.1f MiB: a sample found %.1f MiB (raise it "
			       "with --memory)",
			       (double)limits->memory / MIB,
			       (double)run_state->overrun_value / MIB);
		break;
	case OVERRUN_PROCESSES:
		(void)snprintf(out, cap,
			       "the limit of %" PRId64 " processes: a sample found %" PRId64
			       " (raise it with --processes)",
			       limits->processes, run_state->overrun_value);
		break;
	case OVERRUN_DISK:
		(void)snprintf(out, cap,
			       "the limit of %.1f MiB on disk space: the run added %.1f MiB "
			       "(raise it with --disk)",
			       (double)limits->disk / MIB, (double)run_state->overrun_value / MIB);
		break;
	case OVERRUN_UNMEASURED:
		(void)snprintf(out, cap,
			       "the death of the process that samples the limits (--memory, "
			       "--processes, --disk)");
		break;
	case OVERRUN_NONE:
		return false;
	}
	return true;
}

static void ending_oom(const struct corral_result *r, char *out, size_t cap) {
	const struct enforcement *n = &r->enforcement;

	if (n->memory_bytes == LIMIT_NONE) {
		(void)snprintf(out, cap, "the kernel's OOM killer");
	} else if (!result_overrun_text(&r->outcome.usage.run_state, &n->sampled, out, cap)) {
		(void)snprintf(out, cap, "the memory limit of %.1f MiB (--memory)",
			       (double)n->memory_bytes / MIB);
	}
}

static void ending_limit(const struct corral_result *r, char *out, size_t cap) {
	if (!result_overrun_text(&r->outcome.usage.run_state, &r->enforcement.sampled, out, cap)) {
		(void)snprintf(out, cap, "%s",
			       r->outcome.signal == SIGXFSZ
				       ? "the limit on file size (--max-file-size)"
				       : "the limit on CPU time (--cpu-time)");
	}
}

/* The texts fit: each is shorter than the field `ending`. */
static void complete_ending(struct corral_result *r) {
	char text[32];
	char *out = r->ending;
	size_t cap = sizeof r->ending;

	switch (r->outcome.reason) {
	case REASON_TIMEOUT:
		(void)snprintf(out, cap, "the time-out of %s (--timeout)",
			       time_text(r->enforcement.timeout_ms, text, sizeof text));
		break;
	case REASON_IDLE:
		(void)snprintf(out, cap, "the time-out of %s without output (--idle-timeout)",
			       time_text(r->enforcement.idle_ms, text, sizeof text));
		break;
	case REASON_OOM:
		ending_oom(r, out, cap);
		break;
	case REASON_LIMIT:
		ending_limit(r, out, cap);
		break;
	case REASON_LEAK:
		(void)snprintf(out, cap, "%s", leaks_ending(&r->outcome.leaks));
		break;
	case REASON_LOST:
		(void)snprintf(out, cap, "the death of a process of the sandbox");
		break;
	case REASON_EXIT:
	case REASON_SIGNAL:
	case REASON_CANCELLED:
		break;
	}
}

static void complete_hint(struct corral_result *r) {
	const struct advice *a = &r->outcome.advice;

	if (a->hint != NULL) {
		(void)snprintf(r->hint, sizeof r->hint, "%s: %s%s%s", hint_advice_rule(a), a->path,
			       a->path[0] == '\0' ? "" : ": ", hint_advice_text(a));
	}
}

void result_complete(struct corral_result *r) {
	complete_ending(r);
	complete_hint(r);
}

const char *corral_result_reason(const struct corral_result *result) {
	return result == NULL ? "" : outcome_reason_name(result->outcome.reason);
}

int corral_result_exit_code(const struct corral_result *result) {
	return result == NULL ? -1 : result->outcome.exit_code;
}

int corral_result_signal(const struct corral_result *result) {
	return result == NULL ? 0 : outcome_signal(&result->outcome);
}

int corral_result_status(const struct corral_result *result) {
	if (result == NULL) {
		return -1;
	}
	const struct outcome *o = &result->outcome;
	if (o->reason == REASON_TIMEOUT || o->reason == REASON_IDLE) {
		return STATUS_TIMED_OUT;
	}
	if (o->reason == REASON_LEAK) {
		return STATUS_REFUSED;
	}
	if (o->signal > 0) {
		return STATUS_SIGNAL + o->signal;
	}
	/* Neither an exit nor a signal: pid 1 was killed, and the command with it (SIGKILL). */
	return o->exit_code >= 0 ? o->exit_code : STATUS_SIGNAL + SIGKILL;
}

int64_t corral_result_duration_ms(const struct corral_result *result) {
	return result == NULL ? -1 : result->outcome.duration_ms;
}

const char *corral_result_level(const struct corral_result *result) {
	return result == NULL ? "" : result->enforcement.level;
}

const char *corral_result_ending(const struct corral_result *result) {
	return result == NULL ? "" : result->ending;
}

const char *corral_result_hint(const struct corral_result *result) {
	return result == NULL ? "" : result->hint;
}

const char *corral_result_cow(const struct corral_result *result, int64_t *changes) {
	if (changes != NULL) {
		*changes = result == NULL ? 0 : result->cow_changes;
	}
	return result == NULL || result->cow_id[0] == '\0' ? NULL : result->cow_id;
}

int corral_result_lost(const struct corral_result *result, const char **stream) {
	static const char *const names[] = {"stdin", "stdout", "stderr"};
	for (size_t i = 0; result != NULL && i < ARRAY_LEN(names); i++) {
		if (result->outcome.stream_errors[i] != 0) {
			if (stream != NULL) {
				*stream = names[i];
			}
			return result->outcome.stream_errors[i];
		}
	}
	return 0;
}

int corral_result_created(const struct corral_result *result, size_t n, const char **path,
			  const char **kind) {
	if (result == NULL || path == NULL || kind == NULL) {
		return -1;
	}
	const struct created *c = &result->outcome.created;
	if (n >= c->count) {
		return 1;
	}
	*path = c->items[n].path;
	*kind = lasting_name(c->items[n].kind);
	return 0;
}

uint64_t corral_result_created_more(const struct corral_result *result) {
	return result == NULL ? 0 : result->outcome.created.more;
}

const char *corral_result_stray(const struct corral_result *result, size_t n) {
	return result == NULL || n >= result->strays.n ? NULL : result->strays.names[n];
}

const char *corral_result_home(const struct corral_result *result) {
	return result == NULL ? NULL : result->strays.path;
}

static const char *captured(const char *bytes, size_t n, uint64_t lost, size_t *len,
			    uint64_t *dropped) {
	if (len != NULL) {
		*len = n;
	}
	if (dropped != NULL) {
		*dropped = lost;
	}
	return bytes;
}

const char *corral_result_stdout(const struct corral_result *result, size_t *len,
				 uint64_t *dropped) {
	static const struct outcome none;
	const struct outcome *o = result == NULL ? &none : &result->outcome;
	return captured(o->out, o->out_len, o->out_dropped, len, dropped);
}

const char *corral_result_stderr(const struct corral_result *result, size_t *len,
				 uint64_t *dropped) {
	static const struct outcome none;
	const struct outcome *o = result == NULL ? &none : &result->outcome;
	return captured(o->err, o->err_len, o->err_dropped, len, dropped);
}

static void put_int_or_null(struct emit *j, const char *key, bool known, int64_t n) {
	if (known) {
		emit_int(j, key, n);
	} else {
		emit_null(j, key);
	}
}

static void put_stream(struct emit *j, const char *key, const char *bytes, size_t len) {
	if (bytes == NULL) {
		emit_null(j, key);
	} else {
		emit_bytes(j, key, bytes, len);
	}
}

static void put_ending(struct emit *j, const char *reason, const struct outcome *o) {
	emit_int(j, "version", 1);
	emit_string(j, "reason", reason);
	put_int_or_null(j, "exit_code", o->reason == REASON_EXIT && o->exit_code >= 0,
			o->exit_code);
	put_int_or_null(j, "signal", outcome_signal(o) > 0, outcome_signal(o));
	emit_int(j, "duration_ms", o->duration_ms);
	put_stream(j, "stdout", o->out, o->out_len);
	put_stream(j, "stderr", o->err, o->err_len);
	emit_object(j, "truncated");
	emit_int(j, "stdout", (int64_t)o->out_dropped);
	emit_int(j, "stderr", (int64_t)o->err_dropped);
	emit_end_object(j);
}

/* n is NULL when there was no plan. */
static void put_enforcement(struct emit *j, const struct enforcement *n, const char *audit_error) {
	emit_string(j, "level", n == NULL ? NULL : n->level);
	emit_string(j, "engine", n == NULL ? NULL : n->engine);
	put_int_or_null(j, "depth", n != NULL, n == NULL ? 0 : n->depth);
	emit_string(j, "policy_sha256",
		    n == NULL || n->policy_sha256[0] == '\0' ? NULL : n->policy_sha256);
	guarantees_emit(j, n == NULL ? NULL : n->guarantees);
	emit_array(j, "notes");
	for (size_t i = 0; n != NULL && i < n->nnotes; i++) {
		emit_string(j, NULL, n->notes[i]);
	}
	if (audit_error[0] != '\0') {
		emit_string(j, NULL, audit_error);
	}
	emit_end_array(j);
}

static void put_hint(struct emit *j, const struct advice *a) {
	if (a->hint == NULL) {
		emit_null(j, "hint");
		return;
	}
	emit_object(j, "hint");
	emit_string(j, "rule", hint_advice_rule(a));
	emit_string(j, "path", a->path[0] == '\0' ? NULL : a->path);
	emit_string(j, "text", hint_advice_text(a));
	emit_end_object(j);
}

static void put_leaks(struct emit *j, const struct corral_result *r) {
	const struct leak_log *logs[2] = {&r->args_leaks, &r->outcome.leaks};
	leaks_emit(j, logs, r->outcome.leaks_scanned);
}

static void put_created(struct emit *j, const struct created *c) {
	emit_array(j, "created");
	for (size_t i = 0; i < c->count; i++) {
		emit_object(j, NULL);
		emit_string(j, "path", c->items[i].path);
		emit_string(j, "kind", lasting_name(c->items[i].kind));
		emit_end_object(j);
	}
	emit_end_array(j);
	emit_int(j, "created_more", (int64_t)c->more);
	emit_bool(j, "created_recorded", c->recorded);
}

/* r is NULL when nothing ran. */
static void put_cow(struct emit *j, const struct corral_result *r) {
	if (r == NULL || !r->cow) {
		emit_null(j, "cow");
		return;
	}
	emit_object(j, "cow");
	emit_string(j, "id", r->cow_id[0] == '\0' ? NULL : r->cow_id);
	put_int_or_null(j, "changes", r->cow_changes >= 0, r->cow_changes);
	emit_end_object(j);
}

/* r is NULL when nothing ran. */
static void put_strays(struct emit *j, const struct corral_result *r) {
	if (r == NULL || r->strays.path == NULL) {
		emit_null(j, "left_in_home");
		return;
	}
	emit_object(j, "left_in_home");
	emit_string(j, "path", r->strays.path);
	emit_strings(j, "names", r->strays.names, r->strays.n);
	emit_int(j, "more", (int64_t)r->strays.more);
	emit_end_object(j);
}

static void put_usage(struct emit *j, const struct usage *u) {
	emit_object(j, "usage");
	put_int_or_null(j, "cpu_ms", u->cpu_ms >= 0, u->cpu_ms);
	put_int_or_null(j, "max_rss_kb", u->max_rss_kb >= 0, u->max_rss_kb);
	put_int_or_null(j, "processes_peak", u->processes_peak >= 0, u->processes_peak);
	emit_end_object(j);
}

int corral_result_json(const struct corral_result *result, char **text, struct corral_error *err) {
	struct buf out;
	struct emit j;
	struct err e = {0};

	if (lib_need(result, "the result", err) != 0 || lib_need(text, "text", err) != 0) {
		return -1;
	}
	buf_init(&out);
	emit_init(&j, &out, false);
	emit_object(&j, NULL);
	put_ending(&j, outcome_reason_name(result->outcome.reason), &result->outcome);
	identity_emit(&j, &result->identity, NULL);
	put_enforcement(&j, &result->enforcement,
			result->audit == AUDIT_FAILED ? result->audit_error : "");
	put_hint(&j, &result->outcome.advice);
	denials_emit(&j, &result->outcome, NULL);
	grants_emit(&j, &result->outcome.grants);
	put_leaks(&j, result);
	network_emit(&j, &result->outcome.network);
	put_created(&j, &result->outcome.created);
	put_cow(&j, result);
	put_strays(&j, result);
	put_usage(&j, &result->outcome.usage);
	emit_bool(&j, "audited", result->audit == AUDIT_WRITTEN);
	emit_bool(&j, "warm", result->outcome.warm);
	result_timings_emit(&j, result);
	emit_end_object(&j);
	return lib_give(&out, text, &e) == 0 ? 0 : lib_fail(&e, err);
}

static void put_error(struct emit *j, const struct corral_error *failure) {
	emit_object(j, "error");
	emit_string(j, "layer", failure->layer);
	emit_string(j, "message", failure->message);
	emit_string(j, "errno", errno_name(failure->sys_errno));
	emit_string(j, "remedy", failure->remedy[0] == '\0' ? NULL : failure->remedy);
	emit_end_object(j);
}

static const char *failure_reason(enum corral_error_kind kind) {
	return kind == CORRAL_E_REFUSED ? "refused" : kind == CORRAL_E_LEAK ? "leak" : "setup";
}

int corral_error_json(const struct corral_error *failure, char **text) {
	return corral_failure_json(failure, NULL, text);
}

int corral_failure_json(const struct corral_error *failure, const char *id, char **text) {
	const struct failed_run run = {.id = id};
	return result_failure_json(failure, &run, text);
}

int result_failure_json(const struct corral_error *failure, const struct failed_run *run,
			char **text) {
	static char empty[] = "";
	const struct outcome nothing = {
		.exit_code = -1,
		.out = empty,
		.err = empty,
		.usage = {.cpu_ms = -1, .max_rss_kb = -1, .processes_peak = -1}};
	const struct leak_log *leaks[2] = {run->leaks};
	struct err e;
	struct buf out;
	struct emit j;

	if (failure == NULL || text == NULL) {
		return -1;
	}
	buf_init(&out);
	emit_init(&j, &out, false);
	emit_object(&j, NULL);
	put_ending(&j, failure_reason(failure->kind), &nothing);
	identity_emit(&j, NULL, run->id);
	put_enforcement(&j, NULL, "");
	put_hint(&j, &nothing.advice);
	denials_emit(&j, &nothing, run->refused);
	grants_emit(&j, &nothing.grants);
	leaks_emit(&j, leaks, false); /* there is no output to scan */
	network_emit(&j, &nothing.network);
	put_created(&j, &nothing.created);
	put_cow(&j, NULL);
	put_strays(&j, NULL);
	put_usage(&j, &nothing.usage);
	emit_bool(&j, "audited", run->audited);
	emit_bool(&j, "warm", false);
	result_timings_emit(&j, NULL);
	put_error(&j, failure);
	emit_end_object(&j);
	return lib_give(&out, text, &e);
}
