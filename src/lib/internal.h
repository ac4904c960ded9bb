/* What stands behind the opaque handles of corral.h.
 *
 * Should:   translate: public words to policy settings, struct err to struct
 *           corral_error, an outcome to a result.
 * Must not: print, exit, or keep state outside the caller's handles.
 * Fails:    closed: what cannot be resolved or planned is not run. */
#ifndef CORRAL_LIB_INTERNAL_H
#define CORRAL_LIB_INTERNAL_H

#include "corral.h"

#include "base/arena.h"
#include "base/buf.h"
#include "base/emit.h"
#include "base/err.h"
#include "cow/cow.h"
#include "linux/home.h"
#include "linux/runs.h"
#include "plan/plan.h"
#include "policy/policy.h"
#include "run/run.h"

#include <sys/types.h>
#include <time.h>

/* A policy file that is a stream gives its bytes once.  The resolution is kept,
 * because a second read would find nothing, and nothing is a policy without the
 * caller's rules. */
struct stream_policy {
	bool read; /* the stream was consumed, with or without success */
	bool resolved;
	struct arena arena; /* owns what policy points to */
	struct policy policy;
};

/* What the self-test puts in the place of the host's own, so that nothing of the
 * caller's is bait. */
struct plant {
	const char *const *environ;
	const char *home, *state_dir;
};

struct corral_policy {
	struct arena arena; /* owns the copied strings */
	struct setting *settings;
	size_t nsettings, settings_cap;
	const char *file;             /* NULL when none was added */
	struct stream_policy *stream; /* set when file is "-" or "fd:N" */
	bool no_config, person;
	const struct plant *plant; /* of the self-test; NULL */
};

/* One use of a policy on this host, from its files to the finished plan. */
struct prepared {
	const char *command; /* argv[0], for warnings; NULL: none is run */
	struct arena arena;
	struct host host;
	struct policy policy;
	struct plan plan;
	bool broker_refused; /* the kernel gave no listener, whatever the probe found */
};

struct stray {
	const char *name;
	ino_t ino;
	off_t size;
	struct timespec changed;
};

/* Names at the top of the private home before a run. */
struct stray_watch {
	struct arena arena;
	const struct plan *plan; /* NULL: there is no private home that is kept */
	const char *beside;      /* a second directory, as a path beneath the home; NULL */
	struct stray *names;
	size_t n, cap;
	bool local; /* the home has a .local */
	bool blind; /* they could not all be had */
};

/* What a run holds beside its sandbox. */
struct keeping {
	struct home_use home;
	struct stray_watch strays;
	int listed; /* its line in `corral ps`; -1: none */
	bool used;  /* changes are kept apart, in */
	struct cow_run run;
	struct cow_fds fds;
};

/* What was enforced, copied out of the plan, which a result outlives. */
struct enforcement {
	const char *level, *engine; /* names from tables, never freed */
	char policy_sha256[65];
	struct guarantee_report guarantees[GUARANTEE_COUNT];
	int64_t timeout_ms, idle_ms, memory_bytes;
	struct sampled sampled;
	const char **notes;
	size_t nnotes;
};

/* What the command made at the top of its private home. */
#define STRAYS_MAX 16
struct strays {
	const char *path; /* of the home, on the host; NULL: there are none */
	const char *names[STRAYS_MAX];
	size_t n, more;
};

struct corral_result {
	struct arena arena; /* owns the strings of enforcement and strays */
	struct strays strays;
	struct enforcement enforcement;
	struct outcome outcome;
	bool cow;            /* changes were kept apart */
	char cow_id[16];     /* "" when there were none */
	int64_t cow_changes; /* -1: they could not be counted */
	char ending[192];
	char hint[ADVICE_TEXT + 64]; /* a rule and the text */
};

/* What the gate refused, as members of "denials"; and all that it decided. */
void network_emit_denials(struct emit *j, const struct netlog *n);
void network_emit(struct emit *j, const struct netlog *n);

/* Copies e field by field; out may be NULL.  Returns -1, so that a public call
 * fails in one line. */
int lib_fail(const struct err *e, struct corral_error *out);

/* 0, or -1 with a usage error: a pointer that a call cannot do without is NULL. */
int lib_need(const void *pointer, const char *what, struct corral_error *err);

/* Hands the text over to the caller, or reports that some of it is missing. */
int lib_give(struct buf *b, char **text, struct err *e);

/* Fills host and policy; p->arena is the caller's to free, also on failure. */
int prepared_resolve(const struct corral_policy *policy, bool to_run, struct prepared *p,
		     struct err *e);

/* As prepared_resolve, and the plan. */
int prepared_plan(const struct corral_policy *policy, bool to_run, struct prepared *p,
		  struct err *e);

/* After a run that failed: when the host refused a mechanism (ERR_NO_… in *e), plans
 * again without it.  0: another try is worth it; -1: *e stands, or says
 * why the policy cannot be kept without it. */
int prepared_replan(struct prepared *p, struct err *e);

/* Goes through a run's set-up, and its fall-backs, without a command, so that the
 * plan is one that this host has carried out.  -1: a run would fail, and why. */
int prepared_rehearse(struct prepared *p, struct err *e);

/* Makes the private home ready and lists the run; makes the place for changes ready, if the
 * plan keeps them apart, and names it in the request.  And gives all of it up when the run
 * is over or did not begin: result has the count of changes then, failure the remedy for
 * an overlay that the kernel refused.  Either may be NULL. */
int keeping_begin(const struct prepared *p, struct keeping *k, struct run_request *request,
		  struct err *e);
void keeping_end(struct keeping *k, struct corral_result *result, struct err *failure);

/* strays.c: before a run, and after it; r is NULL when there is nobody to tell. */
void strays_begin(struct stray_watch *w, const struct plan *plan);
void strays_end(struct stray_watch *w, struct corral_result *r);

/* After a run that failed: says which rule hides the command, or names the interpreter, when the
 * command is a script whose interpreter is missing. */
void missing_explain(struct prepared *p, const char *command, struct err *e);

/* Removes every pending change of a state that is ours: the self-test's. */
void pending_remove_all(const char *state_dir);

/* A policy of our own that says what another says, to set keys on: it borrows the
 * other's strings, and ends with arena_done(&own->arena). */
void policy_derive(const struct corral_policy *from, struct corral_policy *own);

/* Where `policy trust` keeps its pins; NULL when the host has no state directory
 * or memory is out. */
const char *prepare_trust_file(struct arena *a, const struct host *host);

/* An empty result that knows what the plan enforces; NULL when memory is out. */
struct corral_result *result_new(const struct prepared *p);

/* Computes what follows from the outcome, once it is in place. */
void result_complete(struct corral_result *result);

#endif
