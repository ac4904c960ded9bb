/* SPDX-License-Identifier: Apache-2.0 */
/* The answer to "why": allowed or refused, by which rule, and the smallest grant.
 *
 * why_path.c, why_host.c and why_command.c call the code that decides for a run, and propose
 * candidates for a grant.  why.c plans the run again with each candidate and puts the same
 * question: a grant is printed only if the answer is then "allowed".  why_print.c turns an answer
 * or the record of a denial into text, JSON or a paragraph for a language model. */
#ifndef CORRAL_LIB_WHY_H
#define CORRAL_LIB_WHY_H

#include "lib/internal.h"

/* A name, a private network and an explicit net.mode: no question needs more. */
#define WHY_SETTINGS 3
#define WHY_CANDIDATES 3

struct why_setting {
	const char *key, *value;
};

struct why_grant {
	struct why_setting settings[WHY_SETTINGS];
	size_t n;
};

enum why_verdict { WHY_ALLOWED, WHY_UNDECIDED, WHY_REFUSED };

/* Strings belong to an arena of the caller; NULL: unknown, or none. */
struct why_answer {
	const char *op;     /* "read", "write", "exec", "connect", "resolve", "run" */
	const char *object; /* the path, host or command in question */
	const char *resolved;
	enum why_verdict verdict;
	const char *error; /* of the system call, "EROFS" */
	const char *rule, *origin;
	const char *reason; /* a sentence without a full stop */
	const char *note;   /* likewise: a limit of an allowed access */
	bool apart; /* allowed in a private HOME or /tmp: the host's own file is another one */
	const char *options;    /* the grant as options of `corral run`, quoted for a shell */
	struct why_grant grant; /* the same as settings; empty for a record */
	const char *barrier; /* refused, and Corral proposes no grant: "floor", "credential", … */
	const char *advice;  /* without a grant: the next step */
	const char *level;   /* of the run */
	uint64_t count;      /* of a record: how often; 0 */
};

/* One question with the plan of a run. */
struct why_ask {
	struct prepared p;
	/* A run that has begun: nothing is set up to try the plan, and it has this engine.  NULL:
	 * no run. */
	const struct plan *run;
	const struct corral_question *q;
	struct why_lookup *lookup; /* shared by all plans of one question */
	struct why_answer answer;
	struct why_grant candidates[WHY_CANDIDATES]; /* the smallest first */
	size_t ncandidates;
};

/* Plans a run and puts the question of ask->q. */
int why_put_question(const struct corral_policy *policy, struct why_ask *ask, struct err *e);

/* The first candidate with which the same question is answered "allowed", if need be together with
 * a second grant.  *ret belongs to arena a. */
bool why_find_grant(const struct corral_policy *policy, const struct why_ask *ask, struct arena *a,
		    struct why_grant *ret);

/* An allowed access to a private HOME or /tmp has a grant that shows the host's own file. */
bool why_is_solved(const struct why_answer *before, const struct why_answer *after);

/* Adds the settings of a grant to a policy: 0 or -1. */
int why_set_all(struct corral_policy *policy, const struct why_grant *g, const char *origin);

/* Copies the settings into an arena; false: out of memory or of room. */
bool why_append(struct arena *a, struct why_grant *to, const struct why_grant *from);

/* Each fills ask->answer and the candidates by ask->p.  -1 with *e: the question is not valid. */
int why_path(struct why_ask *ask, struct err *e);
int why_host(struct why_ask *ask, struct err *e);
int why_command(struct why_ask *ask, struct err *e);

/* The address records of the name, looked up once. */
struct why_lookup *why_lookup_new(void);
void why_lookup_free(struct why_lookup *l);

/* A candidate with one setting; value NULL: out of memory, and no candidate. */
void why_propose(struct why_ask *ask, enum key_id key, const char *value);

/* As arena_strdup(), but NULL for "". */
const char *why_text(struct why_ask *ask, const char *s);

/* why_path.c, for the program of a command: fills *ret only.  True: *ret is about a file that
 * exists in the sandbox or, hidden, on the host. */
bool why_program(struct why_ask *ask, const char *path, struct why_answer *ret, struct err *e);

/* ---- why_print.c ---- */

/* One denial, as a result or the audit log has it. */
struct why_denial {
	const char *op, *object, *access; /* access NULL: the op says it */
	const char *error, *rule, *origin, *reason;
	const char *grant;   /* options; NULL: none */
	const char *barrier; /* as in struct why_answer */
	uint64_t count;
};

struct why_answer why_of_denial(const struct why_denial *d);

/* "--write /srv/data --net filtered"; returns false out of memory. */
bool why_put_options(const struct why_grant *g, struct buf *out);

/* Text and paragraph are without control characters; names come from programs and files. */
void why_print(const struct why_answer *a, enum corral_format format, struct buf *out);

#endif
