/* SPDX-License-Identifier: Apache-2.0 */
/* corral_session_open() and corral_session_close(): sets a sandbox up without a command.
 *
 * Should:   plan a session as a run is planned, and give up the same mechanisms where the host
 *           refuses them.
 * Must not: change the prepared run after open: several threads read it.
 * Fails:    closed: a session that cannot be set up has no handle. */
#include "lib/session.h"

#include "base/auto.h"
#include "data/syscalls.h"
#include "lib/sized.h"

#include <stdio.h>
#include <stdlib.h>

/* The calls of zygote and leaders; a filter without one of them would end the session. */
static int check_filter(const struct plan *plan, struct err *e) {
	static const enum syscall_id needed[] = {
		CALL_chdir,     CALL_clone,   CALL_close,          CALL_close_range, CALL_dup3,
		CALL_execve,    CALL_exit,    CALL_exit_group,     CALL_fcntl,       CALL_futex,
		CALL_getpid,    CALL_madvise, CALL_mmap,           CALL_munmap,      CALL_prctl,
		CALL_prlimit64, CALL_recvmsg, CALL_rt_sigprocmask, CALL_sched_yield, CALL_sendto,
		CALL_setsid,    CALL_wait4,   CALL_waitid,
	};

	for (size_t i = 0; plan->denied != NULL && i < ARRAY_LEN(needed); i++) {
		if (plan->denied[needed[i]]) {
			(void)err_set(e, ERR_USAGE, "session",
				      "seccomp.extra_deny has %s, which a session needs to start "
				      "commands",
				      syscall_names[needed[i]].name);
			return err_fix(e, "use corral_run, or remove it from seccomp.extra_deny");
		}
	}
	return 0;
}

static int check_backend(const struct backend *b, struct err *e) {
	if (b->sessions) {
		return 0;
	}
	(void)err_set(e, ERR_USAGE, "session", "the backend %s has no sessions", b->name);
	return err_fix(e, "use `corral run`, or --backend auto");
}

static int check_plan(const struct plan *plan, struct err *e) {
	if (plan->scan_net != LEAK_OFF) {
		(void)err_set(e, ERR_USAGE, "session",
			      "a session does not support scan.net: the caller's process scans "
			      "the requests while it waits for the command");
		return err_fix(e, "use corral_run, or set scan.net to off");
	}
	return check_filter(plan, e);
}

/* ---- the leak scanner, for several threads ---- */

static const struct leak_scanner *locked_scanner(void *arg) {
	struct corral_session *s = arg;

	(void)pthread_mutex_lock(&s->lock);
	const struct leak_scanner *scanner = s->leaks.source.scanner(s->leaks.source.arg);
	(void)pthread_mutex_unlock(&s->lock);
	return scanner;
}

static bool locked_clean(void *arg, const char *name, char *ret, size_t cap) {
	struct corral_session *s = arg;

	(void)pthread_mutex_lock(&s->lock);
	bool found = s->leaks.source.clean(s->leaks.source.arg, name, ret, cap);
	(void)pthread_mutex_unlock(&s->lock);
	return found;
}

/* ---- open ---- */

static int open_once(struct corral_session *s, struct err *e) {
	static char name[] = "[session]";
	struct prepared *p = &s->prepared;
	const char *label = identity_of(p).session;
	char *id = label == NULL ? NULL : arena_strdup(&p->arena, label);
	char *const argv[] = {name, id, NULL}; /* `corral ps` shows them */
	struct run_request request = {
		.backend = p->backend,
		.plan = &p->plan,
		.policy = &p->policy,
		.host = &p->host,
		.argv = argv,
		.secrets = p->secrets.memory == NULL ? NULL : &p->secrets,
	};

	if (keeping_begin(p, &s->keeping, &request, e) != 0) {
		return -1;
	}
	s->keeping.audited = NULL; /* each command has its record */
	if (session_open(&p->arena, &request, &s->engine, e) == 0) {
		return 0;
	}
	keeping_end(&s->keeping, NULL, e);
	return -1;
}

static int open_prepared(struct corral_session *s, struct err *e) {
	int rc;

	if (check_backend(s->prepared.backend, e) != 0) {
		return -1;
	}
	while ((rc = check_plan(&s->prepared.plan, e)) == 0 && (rc = open_once(s, e)) != 0) {
		if (prepared_replan(&s->prepared, e) != 0) {
			break;
		}
	}
	return rc;
}

static int find_environment(struct corral_session *s, struct err *e) {
	struct prepared *p = &s->prepared;

	s->env = (const char *const *)(p->secrets.memory == NULL
					       ? p->plan.env
					       : secrets_environment(&p->arena, &p->plan,
								     &p->secrets));
	s->nenv = p->plan.nenv;
	return s->env == NULL ? err_memory(e, "library") : 0;
}

static int open_session(struct corral_session *s, const struct corral_policy *policy,
			struct err *e) {
	struct prepared *p = &s->prepared;

	p->secrets_use = SECRETS_GIVEN;
	p->is_session = true;
	if (prepared_plan(policy, true, p, e) != 0) {
		return -1;
	}
	prepared_hash(p);
	if (leaks_begin(&s->leaks, p, e) != 0) {
		return -1;
	}
	s->source =
		(struct leak_source){.scanner = locked_scanner,
				     .clean = s->leaks.source.clean == NULL ? NULL : locked_clean,
				     .arg = s};
	if (open_prepared(s, e) != 0 || find_environment(s, e) != 0) {
		leaks_end(&s->leaks);
		return -1;
	}
	return 0;
}

static void release(struct corral_session *s) {
	secrets_free(&s->prepared.secrets);
	arena_done(&s->prepared.arena);
	(void)pthread_mutex_destroy(&s->lock); /* no thread uses it any more */
	free(s);
}

static void give(const struct corral_session_options *o, const struct prepared *p,
		 const struct err *failure) {
	struct corral_error text;

	if (o->id != NULL) {
		(void)snprintf(o->id, CORRAL_ID_SIZE, "%s",
			       p->host.run_id == NULL ? "" : p->host.run_id); /* it fits */
	}
	if (o->failure != NULL && failure != NULL) {
		(void)lib_fail(failure, &text);
		const struct failed_run run = {.id = p->host.run_id};
		(void)result_failure_json(&text, &run, o->failure);
	}
	for (size_t i = 0; failure == NULL && o->warn != NULL && i < p->plan.nwarnings; i++) {
		o->warn(o->warn_arg, p->plan.warnings[i]);
	}
}

int corral_session_open(const struct corral_policy *policy,
			const struct corral_session_options *options,
			struct corral_session **session, struct corral_error *err) {
	struct corral_session_options o = CORRAL_SESSION_OPTIONS_INIT;
	struct err e = {0};

	if (lib_need(session, "session", err) != 0 || lib_need(policy, "the policy", err) != 0) {
		return -1;
	}
	if (sized_in(&sized_session_options, options, &o, &e) != 0) {
		return lib_fail(&e, err);
	}
	if (o.failure != NULL) {
		*o.failure = NULL;
	}
	struct corral_session *s = calloc(1, sizeof *s);
	if (s == NULL) {
		(void)err_memory(&e, "library");
		return lib_fail(&e, err);
	}
	s->policy = policy;
	(void)pthread_mutex_init(&s->lock, NULL); /* cannot fail with the default attributes */
	int rc = open_session(s, policy, &e);
	give(&o, &s->prepared, rc == 0 ? NULL : &e);
	if (rc != 0) {
		release(s);
		return lib_fail(&e, err);
	}
	*session = s;
	return 0;
}

void corral_session_close(struct corral_session *session) {
	struct usage unused;

	if (session == NULL) {
		return;
	}
	session_close(&session->engine, &unused);
	keeping_end(&session->keeping, NULL, NULL);
	leaks_end(&session->leaks);
	release(session);
}

const char *corral_session_id(const struct corral_session *session) {
	return session == NULL ? "" : session->prepared.host.run_id;
}

const char *corral_session_level(const struct corral_session *session) {
	return session == NULL ? "" : plan_level_name(session->prepared.plan.level);
}

int corral_session_alive(struct corral_session *session) {
	return session != NULL && session_alive(&session->engine);
}

const char *corral_session_ending(struct corral_session *session) {
	if (session == NULL) {
		return "";
	}
	const struct run_state_copy state = child_state(session->engine.running.child);
	if (!result_overrun_text(&state, &session->prepared.plan.sampled, session->ending,
				 sizeof session->ending)) {
		return "";
	}
	session_words(session->ending, sizeof session->ending);
	return session->ending;
}

int64_t corral_session_time(const struct corral_session *session, const char *key) {
	const struct key *row = key == NULL ? NULL : key_by_name(key);

	if (session == NULL || row == NULL || row->type != TYPE_DURATION) {
		return -1;
	}
	const struct value *v = &session->prepared.policy.values[row - keys];
	return v->set ? v->num : -1; /* LIMIT_NONE is -1 too */
}

void corral_session_refused(struct corral_session *session, const char *method, const char *why,
			    uint64_t count) {
	const struct audit_denial d = {.what = AUDIT_DENIED_RPC,
				       .op = "request",
				       .object = method,
				       .why = why,
				       .count = count};

	if (session != NULL && method != NULL) {
		audit_denied(&session->prepared, &d);
	}
}

int corral_session_signal(struct corral_session *session, int signal) {
	return session == NULL ? -1 : session_signal_all(&session->engine, signal);
}

size_t corral_session_commands(const struct corral_session *session) {
	return session == NULL ? 0 : session_commands(&session->engine);
}

int corral_session_fd(const struct corral_session *session) {
	return session == NULL ? -1 : child_pidfd(session->engine.running.child);
}
