/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the audit records of a run: the run itself, its refusals, secrets and leaks; and those of
 * the file tools.
 *
 * Should:   write all records of a run with one append, after the command has ended, so that the
 *           command starts no later; use the descriptor that `corral ps` needs anyway.
 * Must not: write a secret: the command is redacted before the run, while the values are known.
 * Fails:    open, unless audit.required is set: the result says that the record is missing. */
#include "lib/internal.h"

#include "base/auto.h"
#include "base/errno_name.h"
#include "base/path.h"
#include "base/str.h"
#include "lib/leaks.h"

#include <stdio.h>
#include <string.h>

#define DIR_NAME "audit"

/* The most refusals of one run that have records of their own; the run has the number of all. */
#define RECORDS_MAX 256

/* Reserved at once: with this size the C library needs no more memory from the kernel. */
#define RECORD_USUAL 1000

/* ---- the place ---- */

int audit_find(struct arena *a, const struct host *host, struct audit_place *ret, struct err *e) {
	if (host->state_dir == NULL) {
		(void)err_set(e, ERR_SETUP, AUDIT_WHERE,
			      "there is no home directory for the audit log");
		return err_fix(e, "set HOME to a directory that exists");
	}
	*ret = (struct audit_place){
		.dir = path_join(a, host->state_dir, DIR_NAME), .head = -1, .head_at = RUNS_SIZE};
	return ret->dir == NULL ? err_memory(e, AUDIT_WHERE) : 0;
}

typedef int place_fn(const struct audit_place *p, const struct buf *records, struct err *e);

/* The log of a host; the head is in the file of the runs, which a run has open. */
struct log {
	struct arena *arena;
	const struct host *host;
	int fd; /* of runs_open(); -1: it is opened */
};

static int with_place(const struct log *log, const struct buf *records, place_fn *call,
		      struct err *e) {
	struct audit_place place;
	auto_fd own = -1;

	if (audit_find(log->arena, log->host, &place, e) != 0) {
		return -1;
	}
	own = log->fd < 0 ? runs_open(log->host->state_dir) : -1;
	place.head = log->fd < 0 ? own : log->fd;
	if (place.head < 0) {
		(void)err_sys_at(e, AUDIT_WHERE, "cannot open the head of the audit log in",
				 log->host->state_dir);
		return err_fix(e, "make the state directory writable, set XDG_STATE_HOME, or set "
				  "audit.enabled = false");
	}
	return call(&place, records, e);
}

static int try_place(const struct audit_place *p, const struct buf *records, struct err *e) {
	(void)records;
	return audit_prepare(p, e);
}

static bool is_enabled(const struct prepared *p) {
	return p->host.run_id != NULL && policy_num(&p->policy, KEY_AUDIT_ENABLED) != 0;
}

int audit_begin(struct prepared *p, int fd, struct err *e) {
	const struct log log = {&p->arena, &p->host, fd};

	if (!is_enabled(p) || policy_num(&p->policy, KEY_AUDIT_REQUIRED) == 0) {
		return 0;
	}
	return with_place(&log, NULL, try_place, e);
}

/* ---- the command without its secrets ---- */

void audit_redact(struct prepared *p, const char *const *argv) {
	static char redacted[] = "[redacted]", *nothing[] = {redacted, NULL};
	struct run_leaks leaks;
	struct err unused = {0};

	/* leaks_check_command() has scanned the arguments, unless scan.args is off.  Without the
	 * log, the list of `corral ps` still keeps them, also after the run. */
	if (p->shown_argv != NULL || p->host.run_id == NULL || !leaks_may_show(argv) ||
	    (p->args_leaks.n == 0 && p->plan.scan_args != LEAK_OFF)) {
		return;
	}
	bool ready = leaks_begin(&leaks, p, &unused) == 0;
	p->shown_argv = leak_names_clean_argv(
		&p->arena, ready ? leaks.source.scanner(leaks.source.arg) : NULL, argv);
	leaks_end(&leaks);
	if (p->shown_argv == NULL) { /* out of memory */
		p->shown_argv = nothing;
	}
}

/* ---- the records ---- */

struct recording {
	struct prepared *p;
	struct identity_report identity;
	struct audit_run_facts facts;
	struct buf out;
};

static void recording_begin(struct recording *r, struct prepared *p) {
	*r = (struct recording){.p = p, .identity = identity_of(p)};
	buf_init(&r->out);
	buf_reserve(&r->out, RECORD_USUAL);
	prepared_hash(p);
	r->facts = (struct audit_run_facts){
		.id = r->identity.id,
		.session = r->identity.session,
		.agent = r->identity.agent,
		.policy = p->policy.sha256[0] == '\0' ? NULL : p->policy.sha256,
	};
}

static int recording_end(struct recording *r, int fd, struct err *e) {
	const struct log log = {&r->p->arena, &r->p->host, fd};
	int rc = with_place(&log, &r->out, audit_append, e);
	buf_done(&r->out);
	return rc;
}

static struct audit_run run_of(const struct recording *r, const char *const *argv) {
	const struct prepared *p = r->p;
	return (struct audit_run){
		.unsandboxed = policy_num(&p->policy, KEY_MODE) == MODE_FULL_ACCESS ||
			       p->plan.level == LEVEL_NONE,
		.verdict = "allowed",
		.exit_code = -1,
		.level = plan_level_name(p->plan.level),
		.engine = plan_engine_name(p->plan.engine),
		.cwd = p->host.cwd,
		.workspace = r->identity.workspace,
		.mode = r->identity.mode,
		.net = r->identity.net,
		.argv = p->shown_argv != NULL ? (const char *const *)p->shown_argv : argv,
		.cpu_ms = -1,
		.max_rss_kb = -1,
		.processes_peak = -1,
	};
}

static void put_degraded(struct recording *r) {
	const struct prepared *p = r->p;
	const char *why = p->host.userns ? NULL : p->host.userns_why;

	if (policy_num(&p->policy, KEY_LEVEL) != LEVEL_AUTO || p->plan.level >= LEVEL_FULL ||
	    policy_num(&p->policy, KEY_MODE) == MODE_FULL_ACCESS) {
		return;
	}
	for (size_t i = 0; why == NULL && i < GUARANTEE_COUNT; i++) {
		why = p->plan.guarantees[i].why;
	}
	audit_put_degraded(&r->out, &r->facts, plan_level_name(p->plan.level), why);
}

static void put_secrets(struct recording *r) {
	const struct host *h = &r->p->host;

	for (size_t i = 0; i < h->nsecrets; i++) {
		audit_put_secret(&r->out, &r->facts, h->secrets[i].name,
				 h->secrets[i].file ? "file" : "env");
	}
}

/* The kind of the record, and the object that it names. */
static enum audit_denied denied_kind(const struct corral_denial *d, const char **ret_object) {
	const struct {
		bool is;
		enum audit_denied kind;
		const char *object;
	} rows[] = {
		{d->limit != NULL, AUDIT_DENIED_LIMIT, d->limit},
		{streq(d->access, "execute"), AUDIT_DENIED_COMMAND, d->path},
		{d->path != NULL, AUDIT_DENIED_PATH, d->path},
		{d->host != NULL, AUDIT_DENIED_NET, d->host},
		{true, AUDIT_DENIED_SYSCALL, d->op},
	};
	size_t i = 0;

	while (!rows[i].is) {
		i++;
	}
	*ret_object = rows[i].object;
	return rows[i].kind;
}

static uint64_t put_denials(struct recording *r, const struct outcome *o) {
	uint64_t all = o->denials.more;
	struct corral_denial d;

	for (size_t i = 0; denials_get(o, i, &d); i++) {
		const char *object = NULL;
		enum audit_denied what = denied_kind(&d, &object);
		const struct audit_denial record = {
			.what = what,
			.op = d.op,
			.object = object,
			.port = (unsigned)d.port,
			.access = d.access,
			.error = d.errno_name,
			.rule = d.rule,
			.why = d.why,
			.allow_with = d.allow_with,
			.count = d.count,
		};
		all += d.count;
		if (i < RECORDS_MAX) {
			audit_put_denial(&r->out, &r->facts, &record);
		}
	}
	return all;
}

/* path: of a file tool; NULL: of a run. */
static uint64_t put_leaks_of(struct buf *out, const struct audit_run_facts *facts, const char *path,
			     const struct leak_log *log) {
	uint64_t all = log->more;

	for (size_t i = 0; i < log->n; i++) {
		const struct leak_record *found = &log->records[i];
		const struct audit_leak l = {
			.path = path,
			.kind = found->kind,
			.stream = leak_place_name(found->place),
			.view = found->view,
			.fingerprint = found->fingerprint,
			.action = leak_action_name(found->action),
			.count = found->count,
		};
		audit_put_leak(out, facts, &l);
		all += found->count;
	}
	return all;
}

static uint64_t put_leaks(struct recording *r, const struct leak_log *log) {
	return put_leaks_of(&r->out, &r->facts, NULL, log);
}

static void put_grants(struct recording *r, const struct grants *list) {
	for (size_t i = 0; i < list->count; i++) {
		const struct grant *g = &list->items[i];
		const struct audit_grant record = {
			.allowed = g->reply > ASK_REPLY_DENY,
			.host = g->host,
			.op = g->op,
			.object = g->name,
			.answer = ask_reply_name(g->reply),
			.by = g->by,
			.options = g->options,
			.waited_ms = g->waited_ms,
			.count = g->count,
		};
		audit_put_grant(&r->out, &r->facts, &record);
	}
}

static void put_result(struct recording *r, struct audit_run *run,
		       const struct corral_result *result) {
	const struct outcome *o = &result->outcome;

	run->reason = outcome_reason_name(o->reason);
	run->exit_code = o->reason == REASON_EXIT ? o->exit_code : -1;
	run->signal = outcome_signal(o);
	run->duration_ms = o->duration_ms;
	run->cpu_ms = o->usage.cpu_ms;
	run->max_rss_kb = o->usage.max_rss_kb;
	run->processes_peak = o->usage.processes_peak;
	put_grants(r, &o->grants);
	run->denials = put_denials(r, o);
	run->leaks = put_leaks(r, &r->p->args_leaks) + put_leaks(r, &o->leaks);
}

void audit_end(const struct keeping *k, struct corral_result *result) {
	struct prepared *p = k->audited;
	struct recording r;
	struct err e = {0};

	if (p == NULL || !is_enabled(p)) {
		return;
	}
	recording_begin(&r, p);
	struct audit_run run = run_of(&r, k->argv);
	put_degraded(&r);
	put_secrets(&r);
	if (result != NULL) {
		put_result(&r, &run, result);
	} else {
		run.reason = "cancelled";
	}
	audit_put_run(&r.out, &r.facts, &run);
	int rc = recording_end(&r, k->listed, &e);
	if (result != NULL) {
		result->audit = rc == 0 ? AUDIT_WRITTEN : AUDIT_FAILED;
		(void)snprintf(result->audit_error, sizeof result->audit_error, "%s%s%s%s%s",
			       e.what, e.sys == 0 ? "" : ": ", e.sys == 0 ? "" : errno_name(e.sys),
			       e.fix[0] == '\0' ? "" : "; remedy: ", e.fix); /* may be cut */
	}
}

void audit_release(int fd) {
	const struct audit_place place = {.head = fd, .head_at = RUNS_SIZE};

	if (fd >= 0) {
		audit_unlock(&place);
	}
}

/* ---- runs that did not happen ---- */

static const char *reason_of(const struct err *failure) {
	return failure->kind == ERR_REFUSED ? "refused"
	       : failure->kind == ERR_LEAK  ? "leak"
					    : "setup";
}

static void put_refused_command(struct recording *r, const char *const *argv) {
	const struct corral_denial *by = &r->p->refused->denial;
	const struct audit_denial d = {
		.what = AUDIT_DENIED_COMMAND,
		.op = by->op,
		.object = argv[0],
		.access = by->access,
		.rule = by->rule,
		.why = by->why,
		.allow_with = by->allow_with,
		.count = 1,
	};
	audit_put_denial(&r->out, &r->facts, &d);
}

bool audit_failure(struct prepared *p, const char *const *argv, const struct err *failure) {
	struct recording r;
	struct err unused = {0};

	/* Without an id there was no run: a wrong option, key or file. */
	if (failure->kind == ERR_USAGE || p->host.run_id == NULL || p->plan.workspace == NULL ||
	    !is_enabled(p)) {
		return false;
	}
	audit_redact(p, argv);
	recording_begin(&r, p);
	struct audit_run run = run_of(&r, argv);
	run.verdict =
		failure->kind == ERR_REFUSED || failure->kind == ERR_LEAK ? "denied" : "failed";
	run.reason = reason_of(failure);
	run.error = failure->what;
	if (p->refused != NULL) {
		put_refused_command(&r, argv);
		run.denials = 1;
	}
	run.leaks = put_leaks(&r, &p->args_leaks);
	audit_put_run(&r.out, &r.facts, &run);
	return recording_end(&r, -1, &unused) == 0; /* the run failed anyway */
}

/* ---- other decisions ---- */

/* One record outside a run. */
static void append_one(const struct host *host, struct buf *record) {
	struct err unused = {0};
	struct arena a;

	arena_init(&a);
	const struct log log = {&a, host, -1};
	(void)with_place(&log, record, audit_append, &unused); /* the decision stands */
	arena_done(&a);
	buf_done(record);
}

void audit_trust(const struct host *host, const char *path, const char *sha256) {
	const struct audit_run_facts nothing = {0};
	struct buf out;

	buf_init(&out);
	audit_put_trust(&out, &nothing, path, sha256);
	append_one(host, &out);
}

/* Of a decision that is no run's. */
static struct audit_run_facts facts_of(const struct prepared *p) {
	const struct identity_report identity = identity_of(p);

	return (struct audit_run_facts){
		.session = identity.session,
		.agent = identity.agent,
		.policy = p->policy.sha256[0] == '\0' ? NULL : p->policy.sha256,
	};
}

static bool is_logged(const struct prepared *p) {
	return policy_num(&p->policy, KEY_AUDIT_ENABLED) != 0;
}

void audit_denied(const struct prepared *p, const struct audit_denial *d) {
	const struct audit_run_facts facts = facts_of(p);
	struct buf out;

	if (is_logged(p)) {
		buf_init(&out);
		audit_put_denial(&out, &facts, d);
		append_one(&p->host, &out);
	}
}

void audit_file_leaks(const struct prepared *p, const char *path, const struct leak_log *found) {
	const struct audit_run_facts facts = facts_of(p);
	struct buf out;

	if (found->n > 0 && is_logged(p)) {
		buf_init(&out);
		(void)put_leaks_of(&out, &facts, path, found); /* each record has its count */
		append_one(&p->host, &out);
	}
}

void audit_file_sent(const struct prepared *p, const char *path, uint64_t bytes) {
	const struct audit_run_facts facts = facts_of(p);
	struct buf out;

	if (is_logged(p)) {
		buf_init(&out);
		audit_put_sent(&out, &facts, path, bytes);
		append_one(&p->host, &out);
	}
}

int corral_result_audited(const struct corral_result *result, const char **why) {
	if (why != NULL) {
		*why = result == NULL || result->audit != AUDIT_FAILED ? "" : result->audit_error;
	}
	return result == NULL || result->audit == AUDIT_OFF ? 0
	       : result->audit == AUDIT_WRITTEN             ? 1
							    : -1;
}
