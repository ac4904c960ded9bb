/* SPDX-License-Identifier: Apache-2.0 */
/* Judges the refusals of a run with `--ask`: denied at once, granted by an earlier answer, or a
 * question for the user.
 *
 * The code of `corral why` decides.  A question is asked only if a grant exists with which a new
 * plan allows the access: so neither a floor, a credential, Corral's own files, nor a name that no
 * option opens is ever asked about.  The answers "run" and "always" become settings of a policy,
 * whose plan answers later questions: they allow what the same option would have allowed.
 *
 * Should:   judge the real path, by the engine of the run.
 * Must not: ask about what the caller could not do on the host either.
 * Fails:    closed: each error is a denial. */
#include "lib/ask.h"

#include "base/auto.h"
#include "base/str.h"
#include "data/syscalls.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>

/* Questions to one plan; each leaves some hundred bytes in its arena. */
#define QUESTIONS_PER_PLAN 256
#define ORIGIN "--ask"

/* ---- plans ---- */

static void plan_drop(struct ask_plan *p) {
	if (p->used > 0) {
		arena_done(&p->ask.p.arena);
	}
	*p = (struct ask_plan){.used = 0};
}

/* The answer of a plan about one path; NULL: it cannot be planned any more. */
static const struct why_answer *put(struct asking *a, struct ask_plan *p,
				    const struct corral_policy *policy, const char *path,
				    bool write) {
	struct err e = {0};

	if (p->used >= QUESTIONS_PER_PLAN) {
		plan_drop(p);
	}
	p->q = (struct corral_question){
		.size = sizeof p->q,
		.text = path,
		.subject = CORRAL_SUBJECT_PATH,
		.access = write ? CORRAL_ACCESS_WRITE : CORRAL_ACCESS_READ,
	};
	p->ask.q = &p->q;
	p->ask.run = &a->p->plan;
	p->ask.answer = (struct why_answer){0};
	p->ask.ncandidates = 0;
	int rc = p->used == 0 ? why_put_question(policy, &p->ask, &e) : why_path(&p->ask, &e);
	p->used++;
	if (rc != 0) {
		plan_drop(p);
		return NULL;
	}
	return &p->ask.answer;
}

/* ---- judging ---- */

static bool is_write(const struct ask_question *q) {
	return (q->flags & O_ACCMODE) != O_RDONLY || (q->flags & (O_TRUNC | O_CREAT)) != 0;
}

/* Refused, or allowed in a private directory that has no such file while the host's own has. */
static bool is_refused(const struct why_answer *base) {
	return base->verdict == WHY_REFUSED || base->apart;
}

static enum ask_verdict judge(struct asking *a, const struct ask_question *q, struct ask_file *f,
			      const struct why_answer **ret) {
	const char *path = ask_file_inside(&f->arena, &a->p->plan, f->real);
	bool write = is_write(q);
	const struct why_answer *base =
		path == NULL ? NULL : put(a, &a->base, a->policy, path, write);

	if (base == NULL || base->barrier != NULL || !is_refused(base)) {
		return ASK_DENY;
	}
	const struct why_ask *from = &a->base.ask;
	const struct corral_policy *policy = a->policy;
	if (a->ngrants > 0) {
		const struct why_answer *now = put(a, &a->now, &a->with, path, write);
		if (now == NULL || now->barrier != NULL) {
			return ASK_DENY;
		}
		if (why_is_solved(base, now)) {
			return ASK_GRANT;
		}
		from = &a->now.ask;
		policy = &a->with;
	}
	*ret = &from->answer;
	return why_find_grant(policy, from, &f->arena, &f->grant) && f->grant.n > 0 ? ASK_USER
										    : ASK_DENY;
}

/* ---- the calls of a run ---- */

static void file_free(struct ask_file *f) {
	if (f != NULL) {
		drop_fd(&f->fd);
		arena_done(&f->arena);
		free(f);
	}
}

static void host_free(struct ask_host *h) {
	if (h != NULL) {
		arena_done(&h->arena);
		free(h);
	}
}

static void release(void *arg, struct ask_object *o) {
	(void)arg;
	if (o->host) {
		host_free(o->held);
	} else {
		file_free(o->held);
	}
	free(o->name);
	free(o->options);
	free(o->why);
	*o = (struct ask_object){0};
}

static bool describe(const struct ask_question *q, const struct ask_file *f,
		     const struct why_answer *answer, struct ask_object *ret) {
	struct buf options;

	buf_init(&options);
	ret->op = !f->exists ? "create" : is_write(q) ? "write" : "read";
	ret->name = strdup(f->real);
	ret->why = answer == NULL || answer->reason == NULL ? NULL : strdup(answer->reason);
	if (why_put_options(&f->grant, &options)) {
		ret->options = f->grant.n == 0 ? strdup("") : buf_take(&options);
	}
	buf_done(&options);
	return ret->name != NULL && ret->options != NULL;
}

static enum ask_verdict consider_host(struct asking *a, const struct ask_question *q,
				      struct ask_object *ret) {
	struct ask_host *h = calloc(1, sizeof *h);
	struct buf options;

	if (h == NULL) {
		return ASK_DENY;
	}
	arena_init(&h->arena);
	buf_init(&options);
	enum ask_verdict v = ask_host_judge(a, q, h);
	*ret = (struct ask_object){.op = "connect", .host = true, .held = h};
	if (v == ASK_USER && why_put_options(&h->grant, &options)) {
		ret->name = strdup(h->grant.settings[0].value);
		ret->options = buf_take(&options);
		ret->why = strdup("no rule of net.allow allows this host");
	} else if (v == ASK_GRANT) {
		ret->name = strdup(q->path);
		ret->options = strdup("");
	}
	buf_done(&options);
	return ret->name != NULL && ret->options != NULL ? v : ASK_DENY;
}

static enum ask_verdict consider(void *arg, const struct ask_question *q, struct ask_object *ret) {
	struct asking *a = arg;
	if (q->kind == ASK_HOST) {
		return consider_host(a, q, ret);
	}
	struct ask_file *f = calloc(1, sizeof *f);
	const struct why_answer *answer = NULL;

	if (f == NULL) {
		return ASK_DENY;
	}
	bool found = ask_file_find(a, q, f);
	arena_init(&f->arena);
	enum ask_verdict v = found ? judge(a, q, f, &answer) : ASK_DENY;
	if (v == ASK_DENY) {
		file_free(f);
		return ASK_DENY;
	}
	ret->held = f;
	return describe(q, f, answer, ret) ? v : ASK_DENY; /* the caller releases *ret */
}

static int perform(void *arg, const struct ask_object *o, const struct ask_question *q) {
	return ask_file_open(arg, o->held, q);
}

static bool keep(void *arg, const struct ask_object *o, bool always, char *note, size_t size) {
	struct asking *a = arg;
	const struct ask_file *f = o->host ? NULL : o->held;
	const struct ask_host *h = o->host ? o->held : NULL;
	const struct why_grant *grant = f != NULL ? &f->grant : &h->grant;
	struct err e = {0};

	if (why_set_all(&a->with, grant, ORIGIN) == 0) {
		a->ngrants++;
		plan_drop(&a->now);
	}
	if (!always || ask_keep(&a->p->host, grant, &e) == 0) {
		return true;
	}
	(void)snprintf(note, size, "granted for this run only: %s", e.what); /* may be cut */
	return false;
}

static void take_view(void *arg, int view) {
	struct asking *a = arg;

	drop_fd(&a->view);
	a->view = view;
}

/* ---- a run ---- */

static int check(const struct corral_policy *policy, const struct corral_options *o,
		 struct err *e) {
	if (o->ask == CORRAL_ASK_TERMINAL && !o->forward && !o->terminal) {
		return err_set(e, ERR_USAGE, "ask",
			       "CORRAL_ASK_TERMINAL needs forward or terminal: a signal must not "
			       "leave the terminal's modes changed");
	}
	if (o->ask < CORRAL_ASK_NO || o->ask > CORRAL_ASK_DAEMON) {
		return err_set(e, ERR_USAGE, "ask", "unknown value of ask: %d", o->ask);
	}
	if (o->ask != CORRAL_ASK_NO && policy->stream != NULL) {
		(void)err_set(e, ERR_USAGE, "ask",
			      "--ask cannot be combined with a policy from stdin or a descriptor: "
			      "an answer is tried with the policy, which can be read once only");
		return err_fix(e, "write the policy to a file: --policy FILE");
	}
	return 0;
}

int ask_setup(struct asking *a, const struct corral_policy *policy, struct prepared *p,
	      const struct corral_options *o, struct err *e) {
	*a = (struct asking){.p = p, .policy = policy, .view = -1};
	if (check(policy, o, e) != 0) {
		return -1;
	}
	p->asks = o->ask != CORRAL_ASK_NO;
	if (!p->asks) {
		return 0;
	}
	policy_derive(policy, &a->with);
	a->daemon = o->ask == CORRAL_ASK_DAEMON;
	a->request = (struct ask_request){
		.fd = o->ask == CORRAL_ASK_FD ? o->ask_fd : -1,
		.daemon = a->daemon,
		.calls = {a, consider, perform, keep, release, take_view},
	};
	return 0;
}

int ask_check_plan(struct asking *a, struct err *e) {
	const struct plan *plan = &a->p->plan;

	if (!a->p->asks) {
		return 0;
	}
	a->request.timeout_ms = policy_num(&a->p->policy, KEY_ASK_TIMEOUT);
	if (plan->broker && (plan->traits & TRAIT_READS) != 0) {
		/* Once: a second plan of the same run has the same questions. */
		return a->daemon && a->request.fd < 0 ? ask_daemon_open(a->p, &a->request.fd, e)
						      : 0;
	}
	(void)err_set(e, ERR_SETUP, "ask",
		      "--ask needs the broker (level standard or full, seccomp user notification), "
		      "which this run does not have");
	return err_fix(e, "see corral status, or grant what the command needs beforehand: --read, "
			  "--write");
}

const struct ask_request *ask_request_of(const struct asking *a) {
	return a->p->asks ? &a->request : NULL;
}

void ask_teardown(struct asking *a) {
	if (a->p == NULL || !a->p->asks) {
		return;
	}
	plan_drop(&a->base);
	plan_drop(&a->now);
	arena_done(&a->with.arena);
	drop_fd(&a->view);
	if (a->daemon) {
		drop_fd(&a->request.fd);
	}
}
