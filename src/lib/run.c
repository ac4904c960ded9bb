/* SPDX-License-Identifier: Apache-2.0 */
/* corral_run(), corral_spawn() and corral_wait().
 *
 * Should:   check the arguments before anything else; allocate the result before the command
 *           runs, so that an ended command always has one.
 * Must not: change the caller's descriptors, signal mask or working directory.
 * Fails:    closed: an invalid option stops the run. */
#include "lib/internal.h"

#include "backend/early.h"
#include "backend/timings.h"
#include "command/judge.h"
#include "lib/ask.h"
#include "lib/descriptors.h"
#include "lib/leaks.h"
#include "lib/pool.h"
#include "lib/sized.h"
#include "base/auto.h"
#include "base/str.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct corral_process {
	struct prepared prepared;
	struct running running;
	struct keeping keeping;
	struct corral_result *result; /* filled at the end */
};

static int check_argv(const char *const *argv, struct err *e) {
	if (argv == NULL || argv[0] == NULL) {
		return err_set(e, ERR_USAGE, "library",
			       "argv is empty: there is no command to run");
	}
	return 0;
}

static int check_options(const struct corral_options *o, bool capture, struct err *e) {
	const struct descriptors given = {o->in,   o->out,  o->err,      o->fds,
					  o->nfds, capture, "corral_run"};

	if (descriptors_check(&given, e) != 0) {
		return -1;
	}
	if (o->ask != CORRAL_ASK_NO && !capture) {
		return err_set(e, ERR_USAGE, "library",
			       "corral_spawn does not support ask; use corral_run");
	}
	if (o->ask == CORRAL_ASK_FD && descriptor_check(o->ask_fd, "ask_fd", e) != 0) {
		return -1;
	}
	if (o->cancel_fd != 0 && descriptor_check(o->cancel_fd, "cancel_fd", e) != 0) {
		return -1;
	}
	if ((o->cancel_fd != 0 || o->output != NULL) && !capture) {
		return err_set(
			e, ERR_USAGE, "library",
			"corral_spawn does not support cancel_fd and output; use corral_run");
	}
	if (o->terminal && !capture) {
		return err_set(e, ERR_USAGE, "library",
			       "corral_spawn does not support a terminal; use corral_run");
	}
	if (o->terminal && (o->in < 0 || o->out < 0 || !isatty(o->in) || !isatty(o->out))) {
		return err_set(e, ERR_USAGE, "library",
			       "terminal is set, but in or out is not a terminal");
	}
	return 0;
}

/* ret holds the defaults, which stay when options is NULL. */
static int take_options(const struct corral_options *options, bool capture,
			struct corral_options *ret, struct err *e) {
	return sized_in(&sized_options, options, ret, e) != 0 ? -1 : check_options(ret, capture, e);
}

/* The id, for a caller that wants it also after a failure. */
static void give_id(const struct corral_options *o, const struct prepared *p) {
	if (o->id != NULL) {
		(void)snprintf(o->id, CORRAL_ID_SIZE, "%s",
			       p->host.run_id == NULL ? "" : p->host.run_id); /* it fits */
	}
}

static void give_no_failure(const struct corral_options *o) {
	if (o->failure != NULL) {
		*o->failure = NULL;
	}
}

/* Records a run that failed, and gives its JSON to a caller that wants it. */
static void give_failure(const struct corral_options *o, const struct corral_policy *policy,
			 const char *const *argv, struct prepared *p, const struct err *e) {
	struct corral_error failure;

	command_propose(policy, argv, p);
	const struct failed_run run = {
		.id = p->host.run_id,
		.refused = p->refused == NULL ? NULL : &p->refused->denial,
		.leaks = &p->args_leaks,
		.audited = audit_failure(p, argv, e),
	};
	if (o->failure != NULL) {
		(void)lib_fail(e, &failure);
		(void)result_failure_json(&failure, &run, o->failure);
	}
}

static bool has_warning(const struct prepared *p, const char *text) {
	for (size_t i = 0; i < p->nwarned; i++) {
		if (streq(p->warned[i], text)) {
			return true;
		}
	}
	return false;
}

/* Gives the caller each warning once: the plan of another round has most of them again. */
static int give_warnings(struct prepared *p, const struct corral_options *o, struct err *e) {
	for (size_t i = 0; o->warn != NULL && i < p->plan.nwarnings; i++) {
		const char *text = p->plan.warnings[i];
		if (has_warning(p, text)) {
			continue;
		}
		if (arena_grow(&p->arena, &p->warned, p->nwarned, &p->warned_cap,
			       sizeof *p->warned) != 0) {
			return err_memory(e, "library");
		}
		p->warned[p->nwarned++] = text;
		o->warn(o->warn_arg, text);
	}
	return 0;
}

static int request_init(struct prepared *p, const char *const *argv, const struct corral_options *o,
			struct run_request *ret, struct err *e) {
	/* argv of the caller is const, that of execve() is not: the run gets copies. */
	char **words = agent_argv(&p->arena, &p->policy, argv);
	if (words == NULL) {
		return err_memory(e, "library");
	}
	*ret = (struct run_request){
		.backend = p->backend,
		.plan = &p->plan,
		.policy = &p->policy,
		.host = &p->host,
		.argv = words,
		.secrets = p->secrets.memory == NULL ? NULL : &p->secrets,
		.timings = p->timings,
		.early = p->early,
		.in = o->in,
		.out = o->out,
		.err = o->err,
		.more_fds = o->fds,
		.nmore_fds = o->nfds,
		.terminal = o->terminal != 0,
		.forward = o->forward != 0,
		.cancel = o->cancel_fd,
		.watch = {o->output, o->output_arg},
		.last = o->last != 0 && o->ask == CORRAL_ASK_NO,
		.live = o->live != 0 && isatty(o->err) && (o->terminal != 0 || !isatty(o->in)),
	};
	return give_warnings(p, o, e);
}

static int run_and_keep(struct prepared *p, struct run_request *request,
			struct corral_result *result, struct err *e) {
	struct keeping k;
	if (keeping_begin(p, &k, request, e) != 0) {
		return -1;
	}
	timings_stamp(p->timings, STEP_RECORDS);
	int rc = run_command(&p->arena, request, &result->outcome, e);
	keeping_end(&k, result, rc == 0 ? NULL : e);
	return rc;
}

/* While the first process sets the sandbox up. */
static void work_meanwhile(void *prepared) {
	struct prepared *p = prepared;

	early_free(take_ptr(p->early));
	prepared_hash(p);
}

/* One attempt with the plan as it is. */
static int run_once(struct prepared *p, const char *const *argv, const struct corral_options *o,
		    const struct ask_request *ask, struct corral_result **ret, struct err *e) {
	struct run_request request;
	struct run_leaks leaks;
	struct pool_use pool;

	if (request_init(p, argv, o, &request, e) != 0) {
		return -1;
	}
	struct corral_result *result = result_new(p);
	if (result == NULL) {
		return err_memory(e, "library");
	}
	request.leaks = &leaks.source;
	request.meanwhile = (struct run_meanwhile){work_meanwhile, p};
	request.ask = ask;
	pool_begin(p, o, &request, &pool);
	int rc = leaks_begin(&leaks, p, e) != 0 ? -1 : run_and_keep(p, &request, result, e);
	leaks_end(&leaks);
	pool_end(&pool, p, rc == 0);
	if (rc != 0) {
		corral_result_free(result);
		return -1;
	}
	result_complete(result);
	result_take_hash(result, p);
	result->args_leaks = p->args_leaks;
	p->args_leaks = (struct leak_log){0};
	result_timings_take(p, result);
	*ret = result;
	return 0;
}

/* Each round gives up one mechanism that the host refused. */
static int run_prepared(struct prepared *p, const char *const *argv, const struct corral_options *o,
			struct asking *ask, struct corral_result **ret, struct err *e) {
	int rc;

	timings_stamp(p->timings, STEP_CHECK);
	while ((rc = ask_check_plan(ask, e)) == 0 &&
	       (rc = run_once(p, argv, o, ask_request_of(ask), ret, e)) != 0) {
		if (prepared_replan(p, e) != 0) {
			break;
		}
	}
	return rc;
}

static void release(struct prepared *p) {
	early_free(take_ptr(p->early));
	leak_log_done(&p->args_leaks);
	secrets_free(&p->secrets);
	result_timings_done(p);
	arena_done(&p->arena);
}

int corral_run(const struct corral_policy *policy, const char *const *argv,
	       const struct corral_options *options, struct corral_result **result,
	       struct corral_error *err) {
	struct corral_options o = CORRAL_OPTIONS_INIT;
	struct prepared p = {.command = argv == NULL ? NULL : argv[0],
			     .secrets_use = SECRETS_GIVEN,
			     .hash_later = true,
			     .wants_early = true};
	struct asking ask = {.p = NULL};
	struct err e = {0};

	int rc = -1;
	if (lib_need(result, "result", err) != 0 || lib_need(policy, "the policy", err) != 0) {
		return -1;
	}
	if (check_argv(argv, &e) == 0 && take_options(options, true, &o, &e) == 0 &&
	    result_timings_begin(&p, &o, &e) == 0 && ask_setup(&ask, policy, &p, &o, &e) == 0) {
		give_no_failure(&o);
		p.shell = command_runs_string(argv) ? argv[0] : NULL;
		rc = prepared_plan(policy, true, &p, &e) != 0 || command_check(&p, argv, &e) != 0 ||
				     leaks_check_command(&p, argv, &p.args_leaks, &e) != 0
			     ? -1
			     : 0;
	}
	if (rc == 0) {
		audit_redact(&p, argv);
		rc = run_prepared(&p, argv, &o, &ask, result, &e);
		if (rc != 0) {
			missing_explain(&p, argv[0], &e);
		}
	}
	if (rc != 0) {
		give_failure(&o, policy, argv, &p, &e);
	}
	give_id(&o, &p);
	ask_teardown(&ask);
	release(&p);
	return rc == 0 ? 0 : lib_fail(&e, err);
}

/* Frees the process, except its child. */
static void process_release(struct corral_process *process) {
	corral_result_free(process->result);
	release(&process->prepared);
	free(process);
}

static int start_and_keep(struct corral_process *process, struct run_request *request,
			  struct err *e) {
	struct prepared *p = &process->prepared;
	if (keeping_begin(p, &process->keeping, request, e) != 0) {
		return -1;
	}
	timings_stamp(p->timings, STEP_RECORDS);
	if (run_start(&p->arena, request, &process->running, e) == 0) {
		prepared_hash(p);
		return 0;
	}
	keeping_end(&process->keeping, NULL, e);
	return -1;
}

static int start_once(struct corral_process *process, const char *const *argv,
		      const struct corral_options *o, struct err *e) {
	struct prepared *p = &process->prepared;
	struct run_request request;

	process->result = result_new(p);
	if (process->result == NULL) {
		return err_memory(e, "library");
	}
	if (request_init(p, argv, o, &request, e) == 0 &&
	    start_and_keep(process, &request, e) == 0) {
		return 0;
	}
	corral_result_free(process->result);
	process->result = NULL;
	return -1;
}

static int start_prepared(struct corral_process *process, const char *const *argv,
			  const struct corral_options *o, struct err *e) {
	while (start_once(process, argv, o, e) != 0) {
		if (prepared_replan(&process->prepared, e) != 0) {
			return -1;
		}
	}
	return 0;
}

/* The supervisor scans the requests in its loop, which a spawned command does not have. */
static int check_scan(const struct plan *plan, struct err *e) {
	if (plan->scan_net == LEAK_OFF) {
		return 0;
	}
	(void)err_set(e, ERR_USAGE, "library",
		      "corral_spawn does not support scan.net: the caller's process scans the "
		      "requests while it waits for the command");
	return err_fix(e, "use corral_run, or set scan.net to off");
}

static int start(struct corral_process *process, const struct corral_policy *policy,
		 const char *const *argv, const struct corral_options *o, struct err *e) {
	process->prepared.command = argv[0];
	process->prepared.shell = command_runs_string(argv) ? argv[0] : NULL;
	process->prepared.streams_inherited = true;
	process->prepared.secrets_use = SECRETS_GIVEN;
	process->prepared.hash_later = true;
	if (result_timings_begin(&process->prepared, o, e) != 0 ||
	    prepared_plan(policy, true, &process->prepared, e) != 0 ||
	    check_scan(&process->prepared.plan, e) != 0 ||
	    command_check(&process->prepared, argv, e) != 0 ||
	    leaks_check_command(&process->prepared, argv, &process->prepared.args_leaks, e) != 0) {
		return -1;
	}
	audit_redact(&process->prepared, argv);
	timings_stamp(process->prepared.timings, STEP_CHECK);
	return start_prepared(process, argv, o, e);
}

static int spawn(const struct corral_policy *policy, const char *const *argv,
		 const struct corral_options *options, struct corral_process **ret, struct err *e) {
	struct corral_options o = {
		.size = sizeof o, .in = CORRAL_NULL, .out = CORRAL_NULL, .err = CORRAL_NULL};

	if (check_argv(argv, e) != 0 || take_options(options, false, &o, e) != 0) {
		return -1;
	}
	give_no_failure(&o);
	struct corral_process *process = calloc(1, sizeof *process);
	if (process == NULL) {
		return err_memory(e, "library");
	}
	int rc = start(process, policy, argv, &o, e);
	give_id(&o, &process->prepared);
	if (rc != 0) {
		missing_explain(&process->prepared, argv[0], e);
		give_failure(&o, policy, argv, &process->prepared, e);
		process_release(process);
		return -1;
	}
	*ret = process;
	return 0;
}

int corral_spawn(const struct corral_policy *policy, const char *const *argv,
		 const struct corral_options *options, struct corral_process **process,
		 struct corral_error *err) {
	struct err e = {0};

	if (lib_need(process, "process", err) != 0) {
		return -1;
	}
	int rc = spawn(policy, argv, options, process, &e);
	return rc == 0 ? 0 : lib_fail(&e, err);
}

int corral_process_fd(const struct corral_process *process) {
	return process == NULL ? -1 : child_pidfd(process->running.child);
}

int corral_process_signal(const struct corral_process *process, int signal) {
	if (process == NULL) {
		errno = EINVAL;
		return -1;
	}
	return child_order(process->running.child, ORDER_SIGNAL, 0, signal);
}

int corral_wait(struct corral_process *process, struct corral_result **result,
		struct corral_error *err) {
	struct err e = {0};

	if (lib_need(process, "the process", err) != 0) {
		return -1;
	}
	if (lib_need(result, "result", err) != 0) {
		corral_process_free(process);
		return -1;
	}
	int rc = run_wait(&process->running, &process->result->outcome, &e);
	keeping_end(&process->keeping, process->result, NULL);
	if (rc == 0) {
		result_complete(process->result);
		result_take_hash(process->result, &process->prepared);
		process->result->args_leaks = process->prepared.args_leaks;
		process->prepared.args_leaks = (struct leak_log){0};
		result_timings_take(&process->prepared, process->result);
		*result = process->result;
		process->result = NULL;
	}
	process_release(process);
	return rc == 0 ? 0 : lib_fail(&e, err);
}

void corral_process_free(struct corral_process *process) {
	struct usage unused;

	if (process == NULL) {
		return;
	}
	child_finish(process->running.child, &unused);
	keeping_end(&process->keeping, NULL, NULL);
	process_release(process);
}
