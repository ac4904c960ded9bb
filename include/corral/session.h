/* SPDX-License-Identifier: Apache-2.0 */
/* Sessions, and the commands in them. */
#ifndef CORRAL_SESSION_H
#define CORRAL_SESSION_H

#include "error.h"
#include "policy.h"
#include "run.h"

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

/* A session is one sandbox for many commands: it is set up once, with a policy, and each command
 * is started by a fork inside.  Its commands share /tmp, HOME, the processes that they leave in the
 * background, the network and the limits of memory, processes and disk space; its guarantees are
 * those of a run.  They are one principal: a command can signal, slow down or kill the others, and
 * end the session.  All its processes are killed when it is closed and when this process ends.
 *
 * Several threads may use a session at once, and many commands may run at once.  A handle of a
 * command is for one thread; another one kills the command with corral_session_kill().  Close a
 * session when no other call uses it, and after its commands were waited for or freed. */
struct corral_session;
struct corral_exec;

struct corral_session_options {
	size_t size; /* set by the caller to sizeof */
	void (*warn)(void *arg,
		     const char *text); /* called for limits not enforced on this host; or NULL */
	void *warn_arg;
	char *id;       /* or NULL: CORRAL_ID_SIZE bytes that get the id of the session */
	char **failure; /* or NULL: as of struct corral_options */
};

#define CORRAL_SESSION_OPTIONS_INIT                                                                \
	{ .size = sizeof(struct corral_session_options) }

/* Sets the sandbox up, and returns when it is ready for commands.  options may be NULL.  The
 * policy has to outlive the session; later changes of it or of its files have no effect.  A policy
 * with scan.net is CORRAL_E_USAGE. */
int corral_session_open(const struct corral_policy *policy,
			const struct corral_session_options *options,
			struct corral_session **session, struct corral_error *err);

/* Kills every process of the session, waits for their end, and frees it; accepts NULL. */
void corral_session_close(struct corral_session *session);

/* The id, as `corral ps` and with fs.cow `corral diff` have it; "full", "standard", … */
const char *corral_session_id(const struct corral_session *session);
const char *corral_session_level(const struct corral_session *session);

/* 1 while it accepts commands; 0 after its processes have ended: they exceeded a limit of the
 * session, or a process of the sandbox was killed, which a command of it can do. */
int corral_session_alive(struct corral_session *session);

/* After its end: the limit that ended it, with the option that raises it; "" if none did.  Without
 * a cgroup alone: a command that exceeds --memory or --processes is killed, and its session ends
 * only if that does not help.  Valid until the next call with this session. */
const char *corral_session_ending(struct corral_session *session);

/* Becomes readable when it has ended.  Owned by the session. */
int corral_session_fd(const struct corral_session *session);

/* The value of a key of its policy that is a time, in milliseconds: "session.timeout",
 * "session.idle_timeout", "session.cpu_total".  The caller enforces these, as the daemon does.
 * -1: none, or no such key. */
int64_t corral_session_time(const struct corral_session *session, const char *key);

/* Writes the record `deny.rpc` of the audit log: the caller refused requests of the session's
 * commands, or of its clients.  count: how many of them since the last record. */
void corral_session_refused(struct corral_session *session, const char *method, const char *why,
			    uint64_t count);

/* Sends a signal to every process of its commands, also to those in the background. */
int corral_session_signal(struct corral_session *session, int signal);

/* The number of commands that run, or that left processes in the background. */
size_t corral_session_commands(const struct corral_session *session);

/* One command.  Zero and NULL: as the policy says.  A limit can only be lower than that of the
 * policy. */
struct corral_exec_options {
	size_t size;    /* set by the caller to sizeof */
	int in;         /* descriptor or CORRAL_NULL */
	int out, err;   /* descriptor, CORRAL_NULL or, for corral_session_run, CORRAL_CAPTURE */
	const int *fds; /* further descriptors, numbered from 3 in the sandbox; at most 64 */
	size_t nfds;
	/* "NAME=value", added to the environment; ends with NULL.  Checked as env.set is. */
	const char *const *env;
	const char *directory; /* in the sandbox; relative: to that of the policy */
	int64_t timeout_ms, idle_timeout_ms;
	int64_t output_bytes; /* kept of each stream */
	int64_t cpu_seconds;  /* of each process of the command */
	int64_t file_bytes;   /* the largest file that it may write */
	uint64_t key;         /* a number of the caller's, for corral_session_kill(); 0: none */
	char *id;             /* or NULL: as of struct corral_options */
	char **failure;       /* likewise */
	/* Of corral_session_run: called with captured output as it comes; NULL: not wanted. */
	void (*output)(void *arg, int stream, const char *bytes, size_t len);
	void *output_arg;
	/* For corral_session_run: the command gets a new pty as its controlling terminal and its
	 * three streams; `in` is typed into it, its output goes to `out`, and `err` is not used. */
	int terminal;
	unsigned short rows, columns; /* 0: 24 and 80 */
	const struct termios *modes;  /* of <termios.h>; NULL: those of a new pty */
	int unlimited_time;           /* 1: the built-in time-out of tool calls does not apply */
	int output_all;               /* 1: `output` also gets bytes for a descriptor */
	/* Of corral_session_run: called with the gate's new decisions while the command runs, and
	 * once more at its end; NULL: not wanted.  JSON: `network` and `network_more`, as in the
	 * result; after 64 in a second the rest are only counted.  Several commands that run at
	 * once are all told. */
	void (*decided)(void *arg, const char *json);
	void *decided_arg;
	/* Of corral_session_run: called once, when the command was sent to the sandbox, and not for
	 * one that was refused before; NULL: not wanted. */
	void (*sent)(void *arg);
	void *sent_arg;
	/* Of corral_session_run: called once, when ready_fd is readable while it waits for the
	 * command, or before it waits for a reader of the output; NULL: not wanted.  So a thread
	 * can wait for a command and for its next one. */
	void (*ready)(void *arg);
	void *ready_arg;
	int ready_fd;
	int reserved;
	/* Of corral_session_run: called once with the result, which the function returns a moment
	 * later: the output was passed on, and the audit log has its record.  So a caller can
	 * answer its own client before the descriptors of the command are closed.  NULL: not
	 * wanted. */
	void (*ended)(void *arg, const struct corral_result *result);
	void *ended_arg;
};

/* stdin from /dev/null, stdout and stderr captured. */
#define CORRAL_EXEC_OPTIONS_INIT                                                                   \
	{                                                                                          \
		.size = sizeof(struct corral_exec_options), .in = CORRAL_NULL,                     \
		.out = CORRAL_CAPTURE, .err = CORRAL_CAPTURE                                       \
	}

/* Runs argv in the session to its end, as corral_run does.  The result is that of a run, with an id
 * of its own, except that processes_peak is not known.  The denials are those of the command and
 * its descendants; network decisions and created files are those of the session during the command.
 * Processes that the command leaves in the background live until the session ends.  At the time-out
 * all processes of the command are killed, and no other.  options NULL means
 * CORRAL_EXEC_OPTIONS_INIT. */
int corral_session_run(struct corral_session *session, const char *const *argv,
		       const struct corral_exec_options *options, struct corral_result **result,
		       struct corral_error *err);

/* Sets the size of the terminal of the commands with this key, from any thread and at any time;
 * the number of them. */
int corral_session_resize(struct corral_session *session, uint64_t key, unsigned short rows,
			  unsigned short columns);

/* Kills the commands with this key, as corral_exec_kill() does, from any thread and at any time;
 * the number of them. */
int corral_session_kill(struct corral_session *session, uint64_t key);

/* Starts argv and returns at once; corral_exec_wait() reports a command that could not be started.
 * The command inherits the descriptors themselves, so CORRAL_CAPTURE is not possible, and the
 * guarantees leaks and limits.output are absent; options NULL means CORRAL_NULL three times.  Time
 * limits are enforced by corral_exec_wait(). */
int corral_session_exec(struct corral_session *session, const char *const *argv,
			const struct corral_exec_options *options, struct corral_exec **exec,
			struct corral_error *err);

/* Becomes readable when the command has ended, or could not be started.  Owned by the handle. */
int corral_exec_fd(const struct corral_exec *exec);

/* Sends a signal to the command's process group, if it has started. */
int corral_exec_signal(const struct corral_exec *exec, int signal);

/* Kills all processes of the command, also those that left its process group, and no process of
 * another command.  corral_exec_wait() returns when they are gone; the reason is "cancelled".  If
 * they fork too fast to be killed one by one, all processes of the session are stopped for some
 * milliseconds (SIGSTOP, SIGCONT). */
void corral_exec_kill(struct corral_exec *exec);

/* Waits for the end and frees the handle, also when it fails. */
int corral_exec_wait(struct corral_exec *exec, struct corral_result **result,
		     struct corral_error *err);

/* Kills all processes of the command and frees the handle; accepts NULL. */
void corral_exec_free(struct corral_exec *exec);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif
