/* SPDX-License-Identifier: Apache-2.0 */
/* corral_session_run(), corral_session_exec() and corral_exec_wait(): the commands of a session.
 *
 * Should:   check each command as a run is checked (command rules, secrets in its arguments), give
 *           it an id, a result and an audit record of its own.
 * Must not: change the session's prepared run: each command has a copy.
 * Fails:    closed: a command that is refused is not sent to the sandbox. */
#include "lib/session.h"

#include "backend/probe.h"
#include "base/auto.h"
#include "base/str.h"
#include "command/judge.h"
#include "lib/descriptors.h"
#include "lib/sized.h"
#include "lib/tools.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/* ---- options ---- */

static int check_numbers(const struct corral_exec_options *o, struct err *e) {
	const struct {
		const char *name;
		int64_t value;
	} rows[] = {
		{"timeout_ms", o->timeout_ms},     {"idle_timeout_ms", o->idle_timeout_ms},
		{"output_bytes", o->output_bytes}, {"cpu_seconds", o->cpu_seconds},
		{"file_bytes", o->file_bytes},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		if (rows[i].value < 0) {
			return err_set(e, ERR_USAGE, "library", "%s is negative", rows[i].name);
		}
	}
	return 0;
}

static int check_environment(const char *const *env, struct err *e) {
	for (size_t i = 0; env != NULL && env[i] != NULL; i++) {
		const char *end = strchr(env[i], '=');
		if (end == NULL || end == env[i]) {
			return err_set(e, ERR_USAGE, "library", "env: \"%s\" is not NAME=value",
				       env[i]);
		}
	}
	return 0;
}

static int check_options(const struct corral_exec_options *o, bool capture, struct err *e) {
	const struct descriptors given = {
		o->in, o->out, o->err, o->fds, o->nfds, capture, "corral_session_run"};

	if (descriptors_check(&given, e) != 0) {
		return -1;
	}
	if (o->terminal != 0 && !capture) {
		(void)err_set(e, ERR_USAGE, "library",
			      "corral_session_exec does not support a terminal");
		return err_fix(e, "use corral_session_run");
	}
	return check_numbers(o, e) != 0 ? -1 : check_environment(o->env, e);
}

/* ---- one command ---- */

/* Ids, notes and a copy of the arguments; the same for the guarantees, notes and names of its
 * result. */
#define COMMAND_ARENA ((size_t)8 * 1024)

/* As a run: else a directory of PATH would be executed. */
static int check_program(const char *const *argv, struct err *e) {
	return argv[0][0] != '\0' ? 0 : err_set(e, ERR_USAGE, "exec", "no command was given");
}

/* The names and values are checked as those of --env: a client of a session can set no variable
 * that the session's own policy could not. */
static int add_variables(struct prepared *p, const char *const *env, struct err *e) {
	return env == NULL || env[0] == NULL
		       ? 0
		       : policy_add_variables(&p->policy, env, "of the command", &p->arena, e);
}

/* The session's plan for this command: with an id and notes of its own. */
static int prepare(struct corral_session *s, const char *const *argv,
		   const struct corral_exec_options *o, struct prepared *ret, struct err *e) {
	*ret = s->prepared;
	arena_init_small(&ret->arena, COMMAND_ARENA);
	ret->command = argv[0];
	ret->shell = command_runs_string(argv) ? argv[0] : NULL;
	ret->host.command = ret->command;
	ret->host.shell = ret->shell;
	ret->plan.notes_cap = ret->plan.nnotes; /* a new note copies the list */
	ret->shown_argv = NULL;
	ret->refused = NULL;
	ret->args_leaks = (struct leak_log){0};
	if (run_id_probe(&ret->arena, &ret->host, e) != 0 || check_program(argv, e) != 0 ||
	    add_variables(ret, o->env, e) != 0 ||
	    tools_check(ret, e) != 0 || /* without env.tools it makes no system call */
	    command_start_in(ret, o->directory, e) != 0 || command_check(ret, argv, e) != 0 ||
	    leaks_check_command(ret, argv, &ret->args_leaks, e) != 0) {
		return -1;
	}
	audit_redact(ret, argv);
	return 0;
}

/* The secrets belong to the session. */
static void prepared_done(struct prepared *p) {
	leak_log_done(&p->args_leaks);
	arena_done(&p->arena);
}

static bool same_name(const char *a, const char *b) {
	size_t n = strcspn(a, "=");

	return strncmp(a, b, n + 1) == 0;
}

/* The session's variables, those of `more` in their places or after them. */
static const char *const *environment(struct arena *a, const struct corral_session *s,
				      const char *const *more) {
	size_t added = 0, n = s->nenv;

	while (more != NULL && more[added] != NULL) {
		added++;
	}
	if (added == 0) {
		return s->env;
	}
	const char **env = arena_array(a, n + added + 1, sizeof *env);
	if (env == NULL) {
		return NULL;
	}
	memcpy(env, s->env, n * sizeof *env);
	for (size_t i = 0; i < added; i++) {
		size_t at = 0;
		while (at < n && !same_name(more[i], env[at])) {
			at++;
		}
		env[at] = more[i];
		n += at == n;
	}
	return env;
}

/* A limit of 0 is the policy's. */
static int64_t lower(int64_t wanted, int64_t policy) {
	if (wanted == 0) {
		return policy;
	}
	return policy == LIMIT_NONE || wanted < policy ? wanted : policy;
}

/* A person at a terminal has the defaults of a person: no built-in limit of a tool call. */
static int64_t standing(const struct prepared *p, enum key_id id, int64_t value, bool person) {
	const struct value *v = &p->policy.values[id];

	return person && v->origin.kind == ORIGIN_BUILTIN && policy_floor(&p->policy, id) == NULL
		       ? LIMIT_NONE
		       : value;
}

static void add_limit(struct warm_command *c, int resource, int64_t value) {
	if (value > 0) {
		c->rlimits[c->nrlimits++] =
			(struct warm_rlimit){.resource = resource, .value = (uint64_t)value};
	}
}

static int request_of(struct corral_session *s, struct prepared *p, const char *const *argv,
		      const struct corral_exec_options *o, struct session_command *ret) {
	const struct plan *plan = &p->plan;
	bool person = o->terminal != 0;
	/* The judged directory; a symlink may lead elsewhere by then. */
	bool judged =
		o->directory != NULL && policy_num(&p->policy, KEY_FS_TOOLS) == TOOLS_WORKSPACE;

	*ret = (struct session_command){
		.warm = {.argv = argv,
			 .env = environment(&p->arena, s, o->env),
			 .directory = judged ? plan->cwd : o->directory,
			 .terminal = o->terminal != 0},
		.in = o->in,
		.out = o->out,
		.err = o->err,
		.more_fds = o->fds,
		.nmore_fds = o->nfds,
		.timeout_ms = lower(o->timeout_ms, standing(p, KEY_LIMITS_TIMEOUT, plan->timeout_ms,
							    person || o->unlimited_time != 0)),
		.idle_ms = lower(o->idle_timeout_ms, plan->idle_ms),
		.output_bytes = lower(o->output_bytes,
				      standing(p, KEY_LIMITS_OUTPUT, plan->output_bytes, person)),
		.leaks = &s->source,
		.key = o->key,
		.rows = o->rows == 0 ? 24 : o->rows,
		.cols = o->columns == 0 ? 80 : o->columns,
		.modes = o->modes,
		.watch = {o->output, o->output_arg, o->output_all != 0},
		.sent = o->sent,
		.sent_arg = o->sent_arg,
		.ready = o->ready,
		.ready_arg = o->ready_arg,
		.ready_fd = o->ready_fd,
	};
	add_limit(&ret->warm, RLIMIT_CPU, o->cpu_seconds);
	add_limit(&ret->warm, RLIMIT_FSIZE, o->file_bytes);
	/* The texts of the result name them. */
	p->plan.timeout_ms = ret->timeout_ms;
	p->plan.idle_ms = ret->idle_ms;
	return ret->warm.env == NULL ? -1 : 0;
}

/* The error of a command that was not run; returns -1. */
static int fail_command(const struct err *e, struct corral_error *err) {
	(void)lib_fail(e, err);
	if (err != NULL) {
		session_words(err->remedy, sizeof err->remedy);
	}
	return -1;
}

/* The texts of the result.  A time-out that is not the session's is of `session exec` itself. */
static void name_options(const struct corral_session *s, const struct prepared *p,
			 struct corral_result *r) {
	struct advice *a = &r->outcome.advice;
	const struct plan *own = &p->plan, *of = &s->prepared.plan;
	bool timed = (r->outcome.reason == REASON_TIMEOUT && own->timeout_ms != of->timeout_ms) ||
		     (r->outcome.reason == REASON_IDLE && own->idle_ms != of->idle_ms);

	if (a->hint != NULL) {
		if (a->text[0] == '\0') {
			(void)snprintf(a->text, sizeof a->text, "%s", a->hint->text); /* it fits */
		}
		session_words(a->text, sizeof a->text);
	}
	result_complete(r);
	if (!timed) {
		session_words(r->ending, sizeof r->ending);
	}
}

/* After the command has ended, for its result. */
static void complete(struct corral_session *s, struct prepared *p, const char *const *argv,
		     struct corral_result *r) {
	const struct keeping k = {.listed = s->keeping.listed, .audited = p, .argv = argv};

	if (s->keeping.used) {
		r->cow = true;
		r->cow_changes = -1; /* they are counted when the session ends */
		(void)snprintf(r->cow_id, sizeof r->cow_id, "%s", s->keeping.run.id);
	}
	(void)pthread_mutex_lock(&s->lock); /* the head of the log is locked for this process */
	audit_end(&k, r);
	audit_release(k.listed); /* other runs write records while the session waits */
	(void)pthread_mutex_unlock(&s->lock);
	name_options(s, p, r);
	r->args_leaks = p->args_leaks;
	p->args_leaks = (struct leak_log){0};
}

static void give_failure(const struct corral_session *s, const struct corral_exec_options *o,
			 const char *const *argv, struct prepared *p, const struct err *e) {
	struct corral_error failure;

	command_propose(s->policy, argv, p);
	const struct failed_run failed = {
		.id = p->host.run_id,
		.refused = p->refused == NULL ? NULL : &p->refused->denial,
		.leaks = &p->args_leaks,
		.audited = audit_failure(p, argv, e),
	};
	if (o->failure != NULL) {
		(void)fail_command(e, &failure);
		(void)result_failure_json(&failure, &failed, o->failure);
	}
}

static void give_id(const struct corral_exec_options *o, const struct prepared *p) {
	if (o->id != NULL) {
		(void)snprintf(o->id, CORRAL_ID_SIZE, "%s", p->host.run_id); /* it fits */
	}
	if (o->failure != NULL) {
		*o->failure = NULL;
	}
}

static int check_call(const struct corral_session *session, const char *const *argv,
		      const void *ret, struct corral_error *err) {
	if (lib_need(session, "the session", err) != 0 || lib_need(argv, "argv", err) != 0 ||
	    lib_need(argv[0], "argv[0]", err) != 0) {
		return -1;
	}
	return lib_need(ret, "the place for the result", err);
}

/* ---- to the end ---- */

static void tell_decisions(void *arg, const struct netlog *news) {
	const struct corral_exec_options *o = arg;
	struct buf out;
	struct emit j;

	buf_init(&out);
	emit_init(&j, &out, false);
	emit_object(&j, NULL);
	network_emit(&j, news);
	emit_end_object(&j);
	if (!buf_failed(&out)) {
		o->decided(o->decided_arg, out.data);
	}
	buf_done(&out);
}

/* A command whose outcome is known. */
struct ended {
	struct corral_session *session;
	struct prepared *prepared;
	const char *const *argv;
	const struct corral_exec_options *options;
	struct corral_result *result;
};

/* The caller learns the result before the descriptors of the command are closed. */
static void tell_end(void *arg) {
	const struct ended *x = arg;
	const struct corral_exec_options *o = x->options;

	complete(x->session, x->prepared, x->argv, x->result);
	if (o->ended != NULL) {
		o->ended(o->ended_arg, x->result);
	}
}

static int run(struct corral_session *s, const char *const *argv,
	       const struct corral_exec_options *o, struct prepared *p, struct corral_result **ret,
	       struct err *e) {
	struct session_command c;
	struct corral_exec_options caller = *o;

	if (request_of(s, p, argv, o, &c) != 0) {
		return err_memory(e, "library");
	}
	if (o->decided != NULL) {
		c.net = (struct net_listener){tell_decisions, &caller};
	}
	struct corral_result *r = result_new(p);
	if (r == NULL) {
		return err_memory(e, "library");
	}
	struct ended ended = {s, p, argv, o, r};
	c.ended = tell_end;
	c.ended_arg = &ended;
	if (session_run(&s->engine, &c, &r->outcome, e) != 0) {
		missing_explain(p, argv[0], e);
		corral_result_free(r);
		return -1;
	}
	*ret = r;
	return 0;
}

int corral_session_run(struct corral_session *session, const char *const *argv,
		       const struct corral_exec_options *options, struct corral_result **result,
		       struct corral_error *err) {
	struct corral_exec_options o = CORRAL_EXEC_OPTIONS_INIT;
	struct prepared p;
	struct err e = {0};

	if (check_call(session, argv, result, err) != 0) {
		return -1;
	}
	if (sized_in(&sized_exec_options, options, &o, &e) != 0 ||
	    check_options(&o, true, &e) != 0) {
		return lib_fail(&e, err);
	}
	int rc = prepare(session, argv, &o, &p, &e);
	give_id(&o, &p);
	if (rc == 0) {
		rc = run(session, argv, &o, &p, result, &e);
	}
	if (rc != 0) {
		give_failure(session, &o, argv, &p, &e);
	}
	prepared_done(&p);
	return rc == 0 ? 0 : fail_command(&e, err);
}

/* ---- with a handle ---- */

/* Output that does not pass through this process is neither scanned nor bounded. */
static int inherit_streams(struct prepared *p, struct err *e) {
	static const char why[] =
		"the command inherits the caller's descriptors, which Corral does "
		"not read; use corral_session_run()";
	const struct guarantee_report absent = {.state = STATE_ABSENT, .why = why};
	const struct value *required = &p->policy.values[KEY_REQUIRE];

	p->plan.guarantees[GUARANTEE_LEAKS] = absent;
	if (p->plan.output_bytes != LIMIT_NONE) {
		p->plan.guarantees[GUARANTEE_LIMITS_OUTPUT] = absent;
	}
	for (size_t i = 0; i < required->count; i++) {
		const char *name = required->items[i].str;
		if (streq(name, "leaks") || streq(name, "limits.output")) {
			return err_set(e, ERR_SETUP, "session",
				       "%s is required, but would be "
				       "absent: %s",
				       name, why);
		}
	}
	return 0;
}

static char **copy_argv(struct arena *a, const char *const *argv) {
	size_t n = 0;

	while (argv[n] != NULL) {
		n++;
	}
	char **copy = arena_array(a, n + 1, sizeof *copy);
	for (size_t i = 0; copy != NULL && i < n; i++) {
		copy[i] = arena_strdup(a, argv[i]);
		if (copy[i] == NULL) {
			return NULL;
		}
	}
	return copy;
}

static int start(struct corral_exec *x, const char *const *argv,
		 const struct corral_exec_options *o, struct err *e) {
	struct corral_session *s = x->session;
	struct prepared *p = &x->prepared;
	const int streams[] = {o->in, o->out, o->err};
	struct session_command c;

	x->argv = copy_argv(&p->arena, argv);
	if (x->argv == NULL || request_of(s, p, argv, o, &c) != 0) {
		return err_memory(e, "library");
	}
	x->result = result_new(p);
	if (x->result == NULL) {
		return err_memory(e, "library");
	}
	return session_start(&s->engine, &c, streams, &x->engine, e);
}

static void exec_release(struct corral_exec *x) {
	corral_result_free(x->result);
	prepared_done(&x->prepared);
	free(x);
}

int corral_session_exec(struct corral_session *session, const char *const *argv,
			const struct corral_exec_options *options, struct corral_exec **exec,
			struct corral_error *err) {
	struct corral_exec_options o = {
		.size = sizeof o, .in = CORRAL_NULL, .out = CORRAL_NULL, .err = CORRAL_NULL};
	struct err e = {0};

	if (check_call(session, argv, exec, err) != 0) {
		return -1;
	}
	if (sized_in(&sized_exec_options, options, &o, &e) != 0 ||
	    check_options(&o, false, &e) != 0) {
		return lib_fail(&e, err);
	}
	struct corral_exec *x = calloc(1, sizeof *x);
	if (x == NULL) {
		(void)err_memory(&e, "library");
		return lib_fail(&e, err);
	}
	x->session = session;
	int rc = prepare(session, argv, &o, &x->prepared, &e);
	give_id(&o, &x->prepared);
	if (rc == 0) {
		rc = inherit_streams(&x->prepared, &e) != 0 ? -1 : start(x, argv, &o, &e);
	}
	if (rc != 0) {
		give_failure(session, &o, argv, &x->prepared, &e);
		exec_release(x);
		return lib_fail(&e, err);
	}
	*exec = x;
	return 0;
}

int corral_exec_fd(const struct corral_exec *exec) {
	return exec == NULL ? -1 : exec->engine.status;
}

int corral_exec_signal(const struct corral_exec *exec, int signal) {
	if (exec == NULL) {
		errno = EINVAL;
		return -1;
	}
	return session_signal(&exec->engine, signal);
}

int corral_session_kill(struct corral_session *session, uint64_t key) {
	return session == NULL ? 0 : (int)session_kill_key(&session->engine, key);
}

int corral_session_resize(struct corral_session *session, uint64_t key, unsigned short rows,
			  unsigned short columns) {
	return session == NULL ? 0 : (int)session_resize_key(&session->engine, key, rows, columns);
}

void corral_exec_kill(struct corral_exec *exec) {
	if (exec != NULL) {
		session_kill(&exec->engine, REASON_CANCELLED);
	}
}

int corral_exec_wait(struct corral_exec *exec, struct corral_result **result,
		     struct corral_error *err) {
	struct err e = {0};

	if (lib_need(exec, "the command", err) != 0) {
		return -1;
	}
	if (lib_need(result, "result", err) != 0) {
		corral_exec_free(exec);
		return -1;
	}
	const char *const *argv = (const char *const *)exec->argv;
	int rc = session_wait(&exec->engine, &exec->result->outcome, &e);
	if (rc == 0) {
		complete(exec->session, &exec->prepared, argv, exec->result);
		*result = take_ptr(exec->result);
	} else {
		missing_explain(&exec->prepared, argv[0], &e);
		(void)audit_failure(&exec->prepared, argv, &e); /* there is no JSON */
	}
	exec_release(exec);
	return rc == 0 ? 0 : fail_command(&e, err);
}

void corral_exec_free(struct corral_exec *exec) {
	if (exec == NULL) {
		return;
	}
	session_abandon(&exec->engine);
	exec_release(exec);
}
