/* SPDX-License-Identifier: Apache-2.0 */
/* The self-test: plants bait on the host, attacks it without and with the sandbox, and compares
 * the effects on the host with the guarantees that the run reported. */
#ifndef CORRAL_SELFTEST_SELFTEST_H
#define CORRAL_SELFTEST_SELFTEST_H

#include "lib/internal.h"

#include <limits.h>
#include <sys/types.h>

/* ---- bait ---- */

/* The bait, in one new directory (mode 0700):
 *
 *   ws/inside     a file in the workspace
 *   ws/denied     a secret in the workspace, denied by the policy
 *   ws/kept       a file in the workspace, protected by the policy
 *   ws/sock       a socket of the host in the workspace
 *   ws/dir        an empty directory in the workspace
 *   ws/set-id     a copy of this program, set-user-id or set-group-id for another id of the
 *                 caller, if it has one
 *   readable/file a file in a directory that the policy grants for reading
 *   hidden/secret a secret that is not granted
 *   hidden/file   a file that is not granted
 *   hidden/sock   a socket of the host
 *   home/.ssh/id_rsa   a secret in the home of the caller
 *   other/secret, other/file   the workspace of another run
 *   state         the state directory of the runs (private home)
 *
 * and also an abstract socket, a TCP and a UDP port on 127.0.0.1, a
 * sleeping process, and two environment variables with the secret. */
enum listener {
	LISTEN_HIDDEN,
	LISTEN_WORKSPACE,
	LISTEN_ABSTRACT,
	LISTEN_TCP,
	LISTEN_UDP,
	LISTENERS
};

struct bait {
	char dir[256];
	char token[33]; /* the secret; also marks the processes of this test */
	int listeners[LISTENERS];
	unsigned port[LISTENERS]; /* of TCP and UDP */
	pid_t sleeper;            /* 0: none */
	const char *program;      /* the test program: corral itself */
	char **environ;           /* the caller's, and two variables more */
	bool bounded;             /* the runs have to drop the capability bounding set */
};

int bait_plant(struct arena *a, const char *program, struct bait *b, struct err *e);

/* Starts the sleeping process, when there is none. */
int bait_sleeper(struct bait *b, struct err *e);

/* Writes the planted content of one file again. */
void bait_reset(const struct bait *b, const char *path);

/* Kills the process, closes the sockets and removes the directory; false when
 * the directory could not be removed. */
bool bait_remove(struct bait *b);

/* dir + "/" + name. */
struct bait_path {
	char text[PATH_MAX];
};
struct bait_path bait_path(const struct bait *b, const char *name);

/* ---- outside: runs without a sandbox, and the state of the host ---- */

/* Runs the test program without a sandbox.  Collects its output for at most CONTROL_MS, or until
 * PROBE_STAYING was printed `enough` times (if not 0); kills and reaps it.  Returns its exit
 * status, or -1 when it did not exit. */
int outside_run(const struct bait *b, char *const *words, int enough, struct buf *out);

/* The number of processes with the token in their command line, without this one. */
size_t outside_count(const char *token);

/* Kills those processes, which are the test's own. */
void outside_kill(const char *token);

/* The restrictions of this process, from /proc/thread-self/status. */
struct restraint {
	long seccomp, no_new_privs;
	unsigned long long capabilities; /* the effective set */
};
struct restraint outside_restraint(void);

/* Where the arguments of the process begin in its memory; 0 when that cannot be read. */
unsigned long long outside_arguments(pid_t pid);

/* ---- checks ---- */

/* The outcome of one attempt. */
struct seen {
	bool happened;    /* the attempt was made, with or without success */
	bool effect;      /* the host shows that it succeeded */
	char detail[160]; /* "done", the errno, or why the attempt was not made */
};

enum verdict { VERDICT_PASS, VERDICT_LIMIT, VERDICT_FAIL, VERDICT_SKIP, VERDICT_COUNT };

struct finding {
	const struct check *check;
	struct seen outside, inside;
	struct guarantee_report reported; /* by the run itself; unused without a guarantee */
	bool granted;                     /* this policy allows the act */
	bool required;                    /* reported as enforced, so a skip is a failure */
	enum verdict verdict;
	char reason[320]; /* for every verdict except a "pass" with a control */
};

struct selftest {
	struct arena arena;
	struct bait bait;
	struct plant plant;
	struct corral_policy policy; /* the caller's, with the bait's settings added */
	struct prepared planned;
	struct restraint before;
	struct finding *findings;
	size_t nfindings;
	int64_t duration_ms;
};

struct check {
	const char *name;
	const char *tried;        /* the attempt, as text */
	enum guarantee guarantee; /* GUARANTEE_COUNT: none, and always required */
	const char *act[3];       /* arguments of the test program; see selftest_word() */
	bool by_policy;           /* a policy may allow it: then it has to succeed */
	bool child;               /* in a grandchild with its own session */
	bool beside;              /* while another run has the workspace "other" */
	/* Whether the host shows that it succeeded; restores the bait. */
	bool (*effect)(struct bait *b, const char *target, const char *out);
	const char *known_by; /* a weaker guarantee covers this check if its reason has this text */
	/* Why the attempt may fail outside, too, for an ordinary user or on this host; then the
	 * check has no control, and says so.  NULL: it is skipped without a control. */
	const char *alone;
	/* Replaces selftest_attempt(), for checks of more than one act. */
	void (*own)(struct selftest *t, struct finding *f);
};

/* effects.c: of the checks about privileges, devices and mounts. */
bool effect_mounted(struct bait *b, const char *target, const char *out);
bool effect_gained(struct bait *b, const char *target, const char *out);
bool effect_node(struct bait *b, const char *target, const char *out);
bool effect_set_id(struct bait *b, const char *target, const char *out);
bool effect_new_privs(struct bait *b, const char *target, const char *out);
bool effect_capabilities(struct bait *b, const char *target, const char *out);

extern const struct check checks[];
extern const size_t checks_count;

/* Sets the verdict from the two outcomes and the reported guarantee. */
void selftest_finding_judge(struct finding *f);

/* True when the finding makes the whole test fail. */
bool selftest_finding_fails(const struct finding *f);

const char *selftest_verdict_name(enum verdict v);

/* A run in another workspace of the bait, which stays until it is stopped. */
struct other_run;
struct other_run *other_run_start(struct selftest *t); /* NULL: it did not start */
void other_run_stop(struct other_run *o);              /* NULL is accepted */

/* The default: the act without the sandbox, then in it. */
void selftest_attempt(struct selftest *t, struct finding *f);

/* Runs the test program in the sandbox with further settings (NULL: none), and fills f->reported
 * and f->inside, except its effect.  The caller frees the result; NULL when there was no run. */
struct corral_result *selftest_run(struct selftest *t, struct finding *f, char *const *words,
				   const char *const settings[][2]);

/* Expands an argument of an act: "ws:NAME" a path in the workspace, "dir:NAME" one in the
 * bait, "tcp:" and "udp:" a port, "pid:" the sleeper, "arguments:" where its arguments are in
 * its memory, "head:" and "tail:" the token in two halves, "token:" and "abstract:" the whole,
 * "device:" a device of the host; any other is copied. */
char *selftest_word(struct selftest *t, const char *word, bool inside);

/* ---- print ---- */

void selftest_text(const struct selftest *t, struct buf *out);
void selftest_json(const struct selftest *t, struct buf *out);

#endif
