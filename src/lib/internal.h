/* SPDX-License-Identifier: Apache-2.0 */
/* The structs behind the opaque handles of corral.h, and the functions that lib's files share.
 *
 * Should:   convert the caller's keys to policy settings, struct err to struct
 *           corral_error, an outcome to a result.
 * Must not: print, exit, or keep state outside the caller's handles.
 * Fails:    closed: a policy that cannot be resolved or planned runs nothing. */
#ifndef CORRAL_LIB_INTERNAL_H
#define CORRAL_LIB_INTERNAL_H

#include "corral.h"

#include "audit/audit.h"
#include "backend/backend.h"
#include "backend/home.h"
#include "backend/secrets.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/emit.h"
#include "base/err.h"
#include "base/rfc3339.h"
#include "base/run_id.h"
#include "cow/cow.h"
#include "plan/plan.h"
#include "plan/snapshot.h"
#include "policy/policy.h"
#include "run/run.h"
#include "run/runs.h"
#include "vault/vault.h"

#include <sys/types.h>
#include <time.h>

/* A policy file that is a stream can be read once.  The resolved policy is kept: a second
 * read would return an empty policy, without the caller's rules. */
struct stream_policy {
	bool read; /* the stream was consumed, with or without success */
	bool resolved;
	bool recorded;      /* for the host of a snapshot */
	struct arena arena; /* owns the memory of policy */
	struct policy policy;
};

/* Environment and directories that the self-test uses instead of the caller's, so that no
 * file of the caller is bait. */
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
	bool derived;                        /* the stream belongs to another policy */
	struct passphrase_source passphrase; /* of the vault; read NULL: none */
	const struct plant *plant;           /* of the self-test; NULL */
	const struct corral_config *config;  /* standing files that were read before; NULL */
};

/* The system's file and the user's, in one version. */
struct corral_config {
	struct arena arena;
	struct standing_file files[3];
	size_t nfiles;
};

/* The standing files of a caller: /etc/corral/policy.toml, ~/.config, XDG_CONFIG_HOME. */
struct standing_paths {
	const char *machine, *user, *xdg; /* the last two may be NULL */
};
int prepare_standing_paths(struct arena *a, const struct host *host, struct standing_paths *ret,
			   struct err *e);

/* How a use of a policy treats its secrets: only a run reads the values. */
enum secrets_use { SECRETS_IGNORED, SECRETS_NAMED, SECRETS_GIVEN };

/* A command that the command rules refuse, and the key that would allow it; "": none does. */
struct refused_command {
	struct corral_denial denial;
	const char *key, *value;
};

/* One use of a policy on this host, from its files to the finished plan. */
struct early;

struct prepared {
	const char *command;    /* argv[0], for warnings; NULL: none is run */
	const char *shell;      /* argv[0], if it is a shell with -c; NULL */
	bool streams_inherited; /* corral_spawn() */
	bool asks;              /* --ask */
	bool is_session;        /* the sandbox is for several commands */
	struct arena arena;
	struct host host;
	struct policy policy;
	const struct backend *backend; /* of the policy; NULL until it is resolved */
	struct plan plan;
	struct err no_namespaces;        /* the failure that made this a plan without; ERR_NONE */
	struct leak_log args_leaks;      /* secrets in the arguments, until the result has them */
	char **shown_argv;               /* the command line without secrets; NULL: it has none */
	struct refused_command *refused; /* the command rules refuse the command; NULL */
	enum secrets_use secrets_use;
	bool hash_later;                 /* prepared_hash() computes policy.sha256 */
	struct secrets secrets;          /* with SECRETS_GIVEN; the caller calls secrets_free() */
	const struct snapshot *recorded; /* the host is this snapshot; NULL: this one */
	struct timings *timings;         /* stamps of the run; NULL: not wanted */
	bool wants_early;                /* the caller starts a command next */
	struct early *early;             /* makes its namespaces; release() frees it; NULL: none */
	const struct corral_timing *earlier; /* the caller's steps before it */
	size_t nearlier;
	const char **warned; /* the warnings that the caller has; a later plan has them again */
	size_t nwarned, warned_cap;
};

struct stray {
	const char *name;
	ino_t ino;
	off_t size;
	struct timespec changed;
};

/* Names at the top of the private home before a run, and in other directories of it.  A run with
 * grants in more directories has no note about files beside the last ones. */
#define PLACES_MAX 32
struct stray_watch {
	struct arena arena;
	const struct plan *plan;        /* NULL: there is no private home that is kept */
	const char *places[PLACES_MAX]; /* these, as paths beneath the home */
	size_t nplaces;
	struct stray *names;
	size_t n, cap;
	bool local; /* the home has a .local */
	bool blind; /* not all names could be read */
};

/* The resources of a run outside its sandbox. */
struct keeping {
	struct home_use home;
	struct stray_watch strays;
	int listed;               /* its line in `corral ps`; -1: none */
	int locked;               /* the lock of the workspace; -1: none */
	struct prepared *audited; /* the run that is recorded at its end; NULL: none */
	const char *const *argv;
	bool used; /* copy-on-write: run and fds are valid */
	struct cow_run run;
	struct cow_fds fds;
};

/* The enforced limits and guarantees, copied from the plan, which a result outlives. */
struct enforcement {
	const char *level, *engine; /* names from tables, never freed */
	unsigned depth;
	char policy_sha256[65];
	struct guarantee_report guarantees[GUARANTEE_COUNT];
	int64_t timeout_ms, idle_ms, memory_bytes;
	struct sampled sampled;
	const char **notes;
	size_t nnotes;
};

/* Which run it is, for its result and its audit records. */
struct identity_report {
	char id[RUN_ID_LENGTH + 1], started[RFC3339_LENGTH + 1];
	const char *workspace, *mode, *net;
	const char *agent, *session; /* NULL: not set */
};

/* The files that the command created at the top of its private home. */
#define STRAYS_MAX 16
struct strays {
	const char *path; /* of the home, on the host; NULL: there are none */
	const char *names[STRAYS_MAX];
	size_t n, more;
};

/* Whether the log has the record of a run. */
enum audit_state { AUDIT_OFF, AUDIT_WRITTEN, AUDIT_FAILED };

/* One step of a run that was timed. */
struct result_timing {
	char step[48];
	int64_t us;
};

struct corral_result {
	struct arena arena; /* owns the strings of enforcement and strays */
	struct strays strays;
	struct enforcement enforcement;
	struct identity_report identity;
	struct outcome outcome;
	struct leak_log args_leaks;
	struct result_timing *timings; /* in the arena; NULL: not wanted */
	size_t ntimings;
	bool cow;            /* changes were kept apart */
	char cow_id[16];     /* "" when there were none */
	int64_t cow_changes; /* -1: they could not be counted */
	enum audit_state audit;
	char audit_error[640]; /* why the record is missing, and the remedy */
	char ending[192];
	char hint[ADVICE_TEXT + 64]; /* a rule and the text */
};

/* identity.c: borrows the strings of p; and with copies of them in the arena. */
struct identity_report identity_of(const struct prepared *p);
int identity_copy(struct arena *a, const struct identity_report *from, struct identity_report *ret);
/* The fields of a result; NULL: nothing ran, and id, which may be NULL too, is all that is known.
 */
void identity_emit(struct emit *j, const struct identity_report *r, const char *id);

/* The n-th refusal, of the broker or of the gate; false: there is none. */
bool denials_get(const struct outcome *o, size_t n, struct corral_denial *ret);
/* All of them, as the member "denials", after that of a refused command, which may be NULL; all
 * decisions of the gate. */
void denials_emit(struct emit *j, const struct outcome *o, const struct corral_denial *refused);
/* The answers of --ask, as the member "grants"; null without --ask. */
void grants_emit(struct emit *j, const struct grants *g);
void network_emit(struct emit *j, const struct netlog *n);

/* Copies e field by field; out may be NULL.  Returns -1, so that a public call
 * fails in one line. */
int lib_fail(const struct err *e, struct corral_error *out);

/* 0, or -1 with a usage error when a required pointer is NULL. */
int lib_need(const void *pointer, const char *name, struct corral_error *err);

/* Moves the text to *text, or returns an error when out of memory. */
int lib_give(struct buf *b, char **text, struct err *e);

/* Fills host and policy; the caller frees p->arena, also on failure. */
int prepared_resolve(const struct corral_policy *policy, bool to_run, struct prepared *p,
		     struct err *e);

/* As prepared_resolve, and the plan. */
int prepared_plan(const struct corral_policy *policy, bool to_run, struct prepared *p,
		  struct err *e);

/* Computes policy.sha256 of a struct prepared unless it is there; without memory it stays empty. */
void prepared_hash(void *prepared);

/* The same for the host of a snapshot: no fact and no file of this host is used, and no policy file
 * but that of --policy. */
int prepared_plan_recorded(const struct corral_policy *policy, struct snapshot *s,
			   struct prepared *p, struct err *e);

/* Resolves a policy again for a snapshot that is being recorded, so that it answers the questions
 * about the paths of the policy; recorded: as prepared_plan_recorded() does. */
int prepared_resolve_again(const struct corral_policy *policy, struct snapshot *s, bool recorded,
			   struct policy *ret, struct err *e);
/* run_secrets.c: opens the vault if the policy needs it, as p->secrets_use says. */
int run_secrets_find(const struct corral_policy *policy, struct prepared *p, struct err *e);

/* Where this user's vault and its key file are. */
int run_secrets_place(struct arena *a, const struct host *h, struct vault_place *ret,
		      struct err *e);

/* After a failed run: when the host refused a mechanism of the plan (ERR_NO_… in *e), plans
 * again without it.  0: try the new plan; -1: *e is unchanged, or has the reason why the
 * policy cannot be enforced without the mechanism. */
int prepared_replan(struct prepared *p, struct err *e);

/* Sets a sandbox up without a command, with all fall-backs, so that the plan has worked on
 * this host.  -1: a run would fail with *e. */
int prepared_rehearse(struct prepared *p, struct err *e);

/* keeping_begin() prepares the private home, lists the run for `corral ps`, and with fs.cow
 * creates the directory for the changes and names it in the request.  keeping_end() releases
 * all of it after the run: it stores the number of changes in result, and in failure the
 * remedy for an overlay that the kernel refused.  Either may be NULL. */
/* workspace_lock.c.  *ret is -1 without the key `lock`; its close releases the lock. */
int workspace_lock_take(const struct prepared *p, int *ret, struct err *e);

int keeping_begin(struct prepared *p, struct keeping *k, struct run_request *request,
		  struct err *e);
void keeping_end(struct keeping *k, struct corral_result *result, struct err *failure);

/* audit.c.  Before the run: copies argv without the secrets that the leak scanner finds. */
void audit_redact(struct prepared *p, const char *const *argv);
/* With audit.required: whether a record can be written; fd is that of runs_open(), or -1. */
int audit_begin(struct prepared *p, int fd, struct err *e);
/* After it; result NULL: the caller ended the run. */
void audit_end(const struct keeping *k, struct corral_result *result);
/* Unlocks the head of the log, for a descriptor of runs_enter() that stays open. */
void audit_release(int fd);
/* For a run that failed or was refused; false: the log does not have its record. */
bool audit_failure(struct prepared *p, const char *const *argv, const struct err *failure);
/* For a decision of the user. */
void audit_trust(const struct host *host, const char *path, const char *sha256);
/* For a refusal of a file tool; the denial of a run is in its result. */
void audit_denied(const struct prepared *p, const struct audit_denial *d);
/* The secrets that a file tool found in this file; and a file that it gave to its client. */
void audit_file_leaks(const struct prepared *p, const char *path, const struct leak_log *found);
void audit_file_sent(const struct prepared *p, const char *path, uint64_t bytes);
/* The log of this host; head is -1. */
int audit_find(struct arena *a, const struct host *host, struct audit_place *ret, struct err *e);

/* strays.c: before a run, and after it; r is NULL when the run has no result. */
void strays_begin(struct stray_watch *w, const struct plan *plan);
void strays_end(struct stray_watch *w, struct corral_result *r);

/* After a failed run: names in *e the rule that hides the command, or the missing interpreter of
 * a script. */
void missing_explain(struct prepared *p, const char *command, struct err *e);

/* command.c: refuses a command that the rules of commands.NAME refuse; one that they cannot decide
 * about becomes a note of the plan. */
int command_check(struct prepared *p, const char *const *argv, struct err *e);

/* Sets the directory of one command of a session, for the rules; NULL: that of the plan.  With
 * fs.tools=workspace it has to be in the workspace. */
int command_start_in(struct prepared *p, const char *directory, struct err *e);
/* Adds the option to the denial of a refused command, after it was tried on a second plan. */
void command_propose(const struct corral_policy *policy, const char *const *argv,
		     struct prepared *p);

/* agent_flags.c: a copy of argv; in a run with the profile of an agent, whose command argv starts,
 * with the agent's own flags.  NULL out of memory. */
char **agent_argv(struct arena *a, const struct policy *policy, const char *const *argv);

/* Removes all pending changes of the self-test's own state directory. */
void pending_remove_all(const char *state_dir);

/* Copies a policy, to set further keys on the copy: it borrows the other's strings; release it
 * with arena_done(&own->arena). */
void policy_derive(const struct corral_policy *from, struct corral_policy *own);

/* The path of the trust list of `policy trust`; NULL when the host has no state directory,
 * or out of memory. */
const char *prepare_trust_file(struct arena *a, const struct host *host);

/* A result with a copy of the plan's guarantees and limits, still without an outcome; NULL out
 * of memory. */
struct corral_result *result_new(const struct prepared *p);

/* result_timings.c: maps the stamps if the options want them; unmaps them. */
int result_timings_begin(struct prepared *p, const struct corral_options *o, struct err *e);
void result_timings_done(struct prepared *p);
/* Allocates the list of a result; fills it at the end of the run. */
int result_timings_make(const struct prepared *p, struct corral_result *r);
void result_timings_take(struct prepared *p, struct corral_result *r);
/* The member "timings"; null when r is NULL or has none. */
void result_timings_emit(struct emit *j, const struct corral_result *r);

/* Copies the hash of the policy, which prepared_hash() has computed after result_new(). */
void result_take_hash(struct corral_result *result, const struct prepared *p);

/* Computes ending and hint from the outcome. */
void result_complete(struct corral_result *result);
/* The sampled limit that ended a run, or false if none did. */
bool result_overrun_text(const struct run_state_copy *run_state, const struct sampled *limits,
			 char *out, size_t cap);

/* The facts of a run that failed; all may be absent. */
struct failed_run {
	const char *id;
	const struct corral_denial *refused; /* by the rules about commands */
	const struct leak_log *leaks;        /* in the arguments and variables */
	bool audited;
};

/* The JSON object of a run that failed. */
int result_failure_json(const struct corral_error *failure, const struct failed_run *run,
			char **text);

#endif
