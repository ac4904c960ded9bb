/* SPDX-License-Identifier: Apache-2.0 */
/* Runs one command in a sandbox of its own, and lists the runs that are alive. */
#ifndef CORRAL_RUN_H
#define CORRAL_RUN_H

#include "error.h"
#include "format.h"
#include "policy.h"
#include "result.h"

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

/* Special values where a descriptor is expected. */
#define CORRAL_NULL (-1)    /* /dev/null */
#define CORRAL_CAPTURE (-2) /* kept in the result, up to limits.output a stream */

enum corral_ask {
	CORRAL_ASK_NO,       /* they fail */
	CORRAL_ASK_TERMINAL, /* the user, on the controlling terminal; needs forward or terminal */
	CORRAL_ASK_FD,       /* a program, by lines of JSON on ask_fd */
	CORRAL_ASK_DAEMON,   /* the user's daemon: `corral daemon answer`, or a front end of it */
};

/* One step of a run and its time. */
struct corral_timing {
	const char *step;
	int64_t us;
};

struct corral_options {
	size_t size;    /* set by the caller to sizeof */
	int in;         /* descriptor or CORRAL_NULL */
	int out, err;   /* descriptor, CORRAL_NULL or CORRAL_CAPTURE */
	const int *fds; /* further descriptors, numbered from 3 in the sandbox */
	size_t nfds;
	int terminal; /* 1: a pty of its own, relayed to in and out, which are terminals */
	int forward; /* 1: INT, TERM, HUP, QUIT, USR1, USR2 that reach this thread go to the command
		      */
	int last;    /* 1: this process exits next, so corral_run need not wait for the kernel's
		      * teardown of the empty sandbox; the result then has no usage, unless output
		      * is captured */
	void (*warn)(void *arg,
		     const char *text); /* called for limits not enforced on this host; or NULL */
	void *warn_arg;
	char *id; /* or NULL: CORRAL_ID_SIZE bytes that get the id of the run, also when the run
		   * fails; "" for a failure before it had one */
	char **failure; /* or NULL: gets the JSON object of a run that failed, as
			 * corral_failure_json() and with the denial of a refused command; NULL for
			 * a run that did not fail, and out of memory; free() it */
	int live; /* 1: if err is a terminal, and in is none or `terminal` is set: a line there with
		   * time, processes, memory and refused calls, while the command is quiet */
	int ask;  /* enum corral_ask: whether refused operations wait for an answer; corral_run only
		   */
	int ask_fd; /* with CORRAL_ASK_FD: a connected stream socket; libcorral(3) has the protocol
		     */
	int cancel_fd; /* 0: none; else a descriptor: when it is readable, or its other end is
			* closed, the run ends as after a time-out, with the reason "cancelled";
			* corral_run only */
	void (*output)(void *arg, int stream, const char *bytes,
		       size_t len); /* or NULL: corral_run calls it for the output that it
				     * captures, as it comes, without secrets that scan.output
				     * redacts; stream is 1 or 2 */
	void *output_arg;
	int timings; /* 1: the result has the time of each step */
	int pool; /* 1: use a waiting sandbox (daemon.pool), or start to keep some for the next run;
		   * only for a process with one thread that exits next; corral_run only */
	const struct corral_timing *earlier; /* with timings: steps of the caller before the call,
					      * which the result lists first; valid until the run
					      * has ended */
	size_t nearlier;
};

#define CORRAL_ID_SIZE 16

/* stdin from /dev/null, stdout and stderr captured. */
#define CORRAL_OPTIONS_INIT                                                                        \
	{                                                                                          \
		sizeof(struct corral_options), CORRAL_NULL, CORRAL_CAPTURE, CORRAL_CAPTURE, NULL,  \
			0, 0, 0, 0, NULL, NULL, NULL, NULL, 0, CORRAL_ASK_NO, 0, 0, NULL, NULL, 0, \
			0, NULL, 0                                                                 \
	}

/* Runs argv, which ends with NULL, to its end.  0 when the command ran, with any
 * ending; free *result with corral_result_free().  -1 when it did not run.  options
 * NULL means CORRAL_OPTIONS_INIT.  The command never gets the caller's descriptors:
 * their bytes are relayed. */
int corral_run(const struct corral_policy *policy, const char *const *argv,
	       const struct corral_options *options, struct corral_result **result,
	       struct corral_error *err);

/* Starts argv and returns once it runs.  The command is killed when this process ends, also when
 * children of this process live on.  The command inherits the descriptors themselves, so neither
 * CORRAL_CAPTURE nor a terminal is possible; options NULL means CORRAL_NULL three times. */
struct corral_process;
int corral_spawn(const struct corral_policy *policy, const char *const *argv,
		 const struct corral_options *options, struct corral_process **process,
		 struct corral_error *err);

/* Becomes readable when the command has ended.  Owned by the process. */
int corral_process_fd(const struct corral_process *process);

/* Sends a signal to the command's process group.  Async-signal-safe. */
int corral_process_signal(const struct corral_process *process, int signal);

/* Waits for the end and frees the process, also when it fails. */
int corral_wait(struct corral_process *process, struct corral_result **result,
		struct corral_error *err);

/* Kills all processes of the sandbox and frees the process. */
void corral_process_free(struct corral_process *process);

/* The caller's runs that are alive: pid, level, workspace, command, start time. */
int corral_runs(enum corral_format format, char **text, struct corral_error *err);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif
