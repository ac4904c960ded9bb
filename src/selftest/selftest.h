/* The self-test: bait on the host, an attempt on it outside and inside, and a
 * verdict that compares what the host then shows with what the run reported. */
#ifndef CORRAL_SELFTEST_SELFTEST_H
#define CORRAL_SELFTEST_SELFTEST_H

#include "lib/internal.h"

#include <limits.h>
#include <sys/types.h>

/* ---- bait ---- */

/* What is planted, all of it in one fresh directory (mode 0700):
 *
 *   ws/inside     a file in the workspace
 *   ws/denied     a secret in the workspace, denied by the policy
 *   ws/kept       a file in the workspace, protected by the policy
 *   ws/sock       a socket of the host in the workspace
 *   readable/file a file in a directory that the policy grants for reading
 *   hidden/secret a secret that nothing grants
 *   hidden/file   a file that nothing grants
 *   hidden/sock   a socket of the host
 *   home/.ssh/id_rsa   a secret in the home of the caller
 *   state         where the runs keep the private home
 *
 * and beside it an abstract socket, a TCP and a UDP port on 127.0.0.1, a
 * sleeping process and two variables that hold the secret. */
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
	char token[33]; /* the secret; names whatever belongs to this test */
	int listeners[LISTENERS];
	unsigned port[LISTENERS]; /* of TCP and UDP */
	pid_t sleeper;            /* 0: none */
	const char *program;      /* the probe */
	char **environ;           /* the caller's, and two variables more */
};

int bait_plant(struct arena *a, const char *program, struct bait *b, struct err *e);

/* Starts the sleeping process, when there is none. */
int bait_sleeper(struct bait *b, struct err *e);

/* Writes the planted content of one file again. */
void bait_reset(const struct bait *b, const char *path);

/* Ends the process, closes the ports and removes the directory; false when
 * something of it is still there. */
bool bait_remove(struct bait *b);

/* dir + "/" + name. */
struct bait_path {
	char text[PATH_MAX];
};
struct bait_path bait_path(const struct bait *b, const char *name);

/* ---- outside: the host as the verdict sees it ---- */

/* The probe without a sandbox.  Collects its output for at most limit_ms, or up
 * to `enough` times the line PROBE_STAYING when that is not 0; the process is
 * ended and reaped.  Its exit status, or -1 when it did not exit. */
int outside_run(const struct bait *b, char *const *words, int enough, struct buf *out);

/* How many processes have the token in their words, ourselves not counted. */
size_t outside_count(const char *token);

/* Ends those processes, which are the test's own. */
void outside_kill(const char *token);

/* How this very process is restricted. */
struct restraint {
	long seccomp, no_new_privs;
};
struct restraint outside_restraint(void);

/* ---- checks ---- */

/* What one attempt showed. */
struct seen {
	bool happened;  /* the act took place, whether or not it succeeded */
	bool effect;    /* the host shows that it succeeded */
	char said[160]; /* "done", the errno, or why it did not take place */
};

enum verdict { VERDICT_PASS, VERDICT_LIMIT, VERDICT_FAIL, VERDICT_SKIP, VERDICT_COUNT };

struct finding {
	const struct check *check;
	struct seen outside, inside;
	struct guarantee_report reported; /* by the run itself; unused without a guarantee */
	bool granted;                     /* this policy allows the act */
	bool required;                    /* the report claims it, so a skip is a failure */
	enum verdict verdict;
	char reason[320]; /* of every verdict but "pass" */
};

struct selftest {
	struct arena arena;
	struct bait bait;
	struct plant plant;
	struct corral_policy policy; /* the caller's, with the bait's keys on top */
	struct prepared planned;
	struct restraint before;
	struct finding *findings;
	size_t nfindings;
	int64_t duration_ms;
};

struct check {
	const char *name;
	const char *tried;        /* for people, what was attempted */
	enum guarantee guarantee; /* GUARANTEE_COUNT: none, and always required */
	const char *act[3];       /* the probe's words; see selftest_word() */
	bool by_policy;           /* a policy may allow it: then it has to succeed */
	bool child;               /* in a grandchild with a session of its own */
	/* Whether the host shows that it succeeded; puts the bait back. */
	bool (*effect)(struct bait *b, const char *target, const char *out);
	const char *known_by; /* a weaker promise covers this check when its reason has this word */
	/* In place of the common way, for what is more than one act. */
	void (*own)(struct selftest *t, struct finding *f);
};

extern const struct check checks[];
extern const size_t checks_count;

/* Decides about what was seen. */
void selftest_finding_judge(struct finding *f);

/* True when the finding makes the whole test fail. */
bool selftest_finding_fails(const struct finding *f);

const char *selftest_verdict_name(enum verdict v);

/* The common way: the act outside, then inside. */
void selftest_attempt(struct selftest *t, struct finding *f);

/* Runs the probe inside with one more pair of settings (NULL: none), and fills
 * f->inside but for its effect, and f->reported.  The result is the caller's to
 * free; NULL when there was no run. */
struct corral_result *selftest_run(struct selftest *t, struct finding *f, char *const *words,
				   const char *const settings[][2]);

/* One word of an act: "ws:NAME" a path in the workspace, "dir:NAME" one in the
 * bait, "tcp:" and "udp:" a port, "pid:" the sleeper, "head:" and "tail:" the
 * token in two halves, "abstract:" the name of that socket; else as it stands. */
char *selftest_word(struct selftest *t, const char *word, bool inside);

/* ---- words ---- */

void selftest_text(const struct selftest *t, struct buf *out);
void selftest_json(const struct selftest *t, struct buf *out);

#endif
