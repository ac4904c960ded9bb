/* SPDX-License-Identifier: Apache-2.0 */
/* `--ask` for a run of the library: which refusals become questions, and the grant of an answer. */
#ifndef CORRAL_LIB_ASK_H
#define CORRAL_LIB_ASK_H

#include "lib/why.h"
#include "run/ask.h"

/* A plan that is asked again and again.  Its arena grows with each question, so it is made anew
 * after some. */
struct ask_plan {
	struct why_ask ask;
	struct corral_question q;
	size_t used; /* 0: there is no plan */
};

struct asking {
	struct ask_request request; /* for run_request.ask */
	struct prepared *p;         /* of the run */
	const struct corral_policy *policy;
	struct corral_policy with; /* the policy with the answers "run" and "always" */
	size_t ngrants;            /* in it */
	struct ask_plan base, now; /* the plan of policy, and of with */
	int view;                  /* the sandbox's mount namespace; -1: none */
	bool daemon;               /* the daemon answers */
};

/* Checks the options; *ret is usable when they ask for nothing, too. */
int ask_setup(struct asking *a, const struct corral_policy *policy, struct prepared *p,
	      const struct corral_options *o, struct err *e);
/* After each plan: whether it can ask. */
int ask_check_plan(struct asking *a, struct err *e);
/* The request for a run; NULL: it does not ask. */
const struct ask_request *ask_request_of(const struct asking *a);
void ask_teardown(struct asking *a);

/* ---- ask_file.c: the object of a refused open ---- */

struct ask_file {
	int fd;      /* of host_hold(): the file, or the directory of a new one */
	bool exists; /* false: fd is the directory */
	bool directory;
	const char *name;        /* of a new file; in real */
	char real[2 * PATH_MAX]; /* of the file, which need not exist */
	char dir[PATH_MAX];      /* real path of fd */
	struct why_grant grant;
	struct arena arena; /* of the grant */
};

/* Finds the file on the host; false: the caller could not open it there either, or it is none that
 * a descriptor can be given for. */
bool ask_file_find(const struct asking *a, const struct ask_question *q, struct ask_file *f);
/* Opens it, if it is the same file at the same path still: a descriptor or -errno. */
int ask_file_open(const struct asking *a, const struct ask_file *f, const struct ask_question *q);
/* The path in the sandbox for a path of the host. */
const char *ask_file_inside(struct arena *a, const struct plan *plan, const char *real);

/* ---- ask_host.c: a host that no rule allows ---- */

struct ask_host {
	struct why_grant grant;
	struct arena arena;
};

enum ask_verdict ask_host_judge(struct asking *a, const struct ask_question *q, struct ask_host *h);

/* ---- ask_daemon.c ---- */

/* A socket on which the daemon answers, which the caller closes. */
int ask_daemon_open(const struct prepared *p, int *ret, struct err *e);

/* ---- ask_keep.c ---- */

/* Adds the settings to the user's policy file, atomically; -1 with *e. */
int ask_keep(const struct host *h, const struct why_grant *g, struct err *e);

#endif
