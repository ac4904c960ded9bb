/* SPDX-License-Identifier: Apache-2.0 */
/* libcorral: run a command in a kernel-enforced sandbox.
 *
 *     struct corral_error err;
 *     struct corral_policy *policy = corral_policy_new();
 *     struct corral_result *result;
 *     const char *argv[] = {"npm", "test", NULL};
 *
 *     corral_policy_set(policy, "limits.timeout", "60s", &err);
 *     if (corral_run(policy, argv, NULL, &result, &err) != 0) { ... err.message ... }
 *     printf("%d\n", corral_result_exit_code(result));
 *     corral_result_free(result);
 *     corral_policy_free(policy);
 *
 * Every call that can fail returns 0 or -1 and fills *err (which may be NULL).
 * A handle or an output pointer that is NULL is CORRAL_E_USAGE, and nothing is done;
 * accessors of a NULL result, process or verdict return -1, 0, "" or NULL.
 * A text that a call stores in *text is freed with free(), that of corral_secret_export() with
 * corral_secret_free().  corral(1) has the keys of each JSON object.
 * A struct with a size: clear it, or begin with its _INIT, and set size to sizeof.  A program
 * then works with every libcorral.so of the same number, older or newer than its header
 * (libcorral(3), COMPATIBILITY): fields that the program does not have are zero, and a field
 * that the library does not have is CORRAL_E_USAGE when it is set.
 * No call prints, exits, installs a signal handler or changes the calling
 * process.  A handle needs a lock to be shared between threads; different
 * handles may be used from different threads at once. */
#ifndef CORRAL_H
#define CORRAL_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define CORRAL_VERSION "0.1.0"

/* The library is built with hidden visibility; it exports only these functions. */
#pragma GCC visibility push(default)

/* ---- errors ---- */

enum corral_error_kind {
	CORRAL_E_NONE = 0,
	CORRAL_E_USAGE,     /* wrong option, key, value or file */
	CORRAL_E_REFUSED,   /* refused by policy */
	CORRAL_E_SETUP,     /* no sandbox, or a required guarantee is not available; nothing ran */
	CORRAL_E_NOT_FOUND, /* the command or the file does not exist in the sandbox */
	CORRAL_E_NOT_EXECUTABLE, /* the command exists and cannot be executed */
	CORRAL_E_MEMORY,
	/* Of the file tools: */
	CORRAL_E_OUTSIDE,   /* the sandbox does not show the path */
	CORRAL_E_SENSITIVE, /* a rule hides the file */
	CORRAL_E_PROTECTED, /* a protected name: readable, but not writable */
	CORRAL_E_FILE_KIND, /* a directory, FIFO, socket or device instead of a file, … */
	CORRAL_E_TOO_LARGE, /* larger than the tool's limit, or than limits.file_size */
	CORRAL_E_NO_MATCH,  /* edit: the text is not in the file */
	CORRAL_E_SEVERAL,   /* edit: the text occurs more than once */
	CORRAL_E_LEAK,      /* the scanner found a secret in the arguments, or in a file to send */
	CORRAL_E_FILE,      /* a system call failed: see sys_errno */
};

struct corral_error {
	enum corral_error_kind kind;
	int sys_errno;     /* 0 when no system call failed */
	char layer[24];    /* "policy", "mounts", "landlock", … */
	char message[360]; /* one sentence */
	char remedy[240];  /* how to fix it, or "" */
};

/* ---- policy ---- */

struct corral_policy;

/* A policy that starts from the built-in defaults and reads the configuration files
 * (/etc/corral, the user's, the workspace's) when it is used.  NULL out of memory. */
struct corral_policy *corral_policy_new(void);
void corral_policy_free(struct corral_policy *policy);

/* A policy that begins with the settings of another one, which has to live longer and must not be
 * changed meanwhile; NULL when memory is out. */
struct corral_policy *corral_policy_derive(const struct corral_policy *policy);

/* Sets one key by its dotted name (corral-policy(5)); lists and maps take one
 * element a call.  The strings are copied.  An unknown key fails here; the
 * value is checked when the policy is used, together with all the others. */
int corral_policy_set(struct corral_policy *policy, const char *key, const char *value,
		      struct corral_error *err);

/* As corral_policy_set, with the origin that `explain` and messages print. */
int corral_policy_set_from(struct corral_policy *policy, const char *key, const char *value,
			   const char *origin, struct corral_error *err);

/* Adds one policy file with precedence over the configuration files: a path, "-" for stdin,
 * "fd:N".  A path is read at each use.  "-" and "fd:N" are read once, at the first use; after
 * that the policy cannot be changed. */
int corral_policy_file(struct corral_policy *policy, const char *path, struct corral_error *err);

/* Reads no configuration file; the floor of /etc/corral still holds. */
void corral_policy_no_config(struct corral_policy *policy);

/* The settings above as one JSON object, from which another process makes an equal policy:
 * {"settings": [[key, value, origin], ...], "file": path or null, "no_config": false}.  The values
 * may be secrets (env.set).  CORRAL_E_USAGE for a policy file that is a stream. */
int corral_policy_save(const struct corral_policy *policy, char **text, struct corral_error *err);

/* One version of the configuration files of the system and the user, read and checked: policies
 * that use it do not read these files.  A file that is invalid, or that another user could have
 * written, is an error. */
struct corral_config;
int corral_config_read(struct corral_config **config, struct corral_error *err);
void corral_config_free(struct corral_config *config);

/* The config has to outlive the policy. */
void corral_policy_use_config(struct corral_policy *policy, const struct corral_config *config);

/* A JSON array: path and SHA-256 of each file, null for one that does not exist. */
int corral_config_show(const struct corral_config *config, char **text, struct corral_error *err);

/* A person at a terminal: no time-out and no cap on output unless set. */
void corral_policy_for_person(struct corral_policy *policy);

/* Text for people; one JSON object for programs; one paragraph for a language model, of
 * corral_explain(), corral_explain_host() and corral_why(): elsewhere it is CORRAL_TEXT. */
enum corral_format { CORRAL_TEXT, CORRAL_JSON, CORRAL_PROMPT, CORRAL_SEATBELT };

/* Reads the passphrase of a vault: stores it in out without a NUL and returns its length, or -1
 * when there is none.  fresh is 1 for the new one of corral_secret_rekey() or of a new vault. */
struct corral_passphrase {
	long (*read)(void *arg, int fresh, char *out, size_t cap);
	void *arg;
};

/* For a policy with env.secrets or env.agent: called if the vault has a passphrase.  The struct is
 * copied; without it such a run fails. */
void corral_policy_passphrase(struct corral_policy *policy,
			      const struct corral_passphrase *passphrase);

int corral_policy_show(const struct corral_policy *policy, enum corral_format format, char **text,
		       struct corral_error *err);
/* Tools: programs that a run gets with the key env.tools, first in PATH and read-only.  Each run
 * compares their content with the hash of the installation.  Inside a sandbox the first two
 * fail. */
int corral_tool_install(const char *name, const char *path, struct corral_error *err);
int corral_tool_remove(const char *name, struct corral_error *err);
int corral_tool_list(enum corral_format format, char **text, struct corral_error *err);

/* The JSON Schema of a policy file, and of a skill.toml. */
int corral_policy_schema(char **text, struct corral_error *err);
int corral_skill_schema(char **text, struct corral_error *err);

/* The resolved policy and the plan for this host; runs nothing.  argv may be NULL. */
int corral_explain(const struct corral_policy *policy, const char *const *argv,
		   enum corral_format format, char **text, struct corral_error *err);

/* The same for another host, argv may be NULL: path names a snapshot of it.  Uses no
 * fact and no file of this host, and no policy file but that of corral_policy_file(). */
int corral_explain_host(const struct corral_policy *policy, const char *path,
			const char *const *argv, enum corral_format format, char **text,
			struct corral_error *err);

/* Records the facts and files of this host that plans for this policy depend on, as JSON without
 * secrets; runs nothing.  corral(1) lists the contents. */
int corral_snapshot(const struct corral_policy *policy, char **text, struct corral_error *err);

/* One line on level, engine, workspace and network of a run, and one for each note,
 * such as an optional path that was skipped; no newline at the end. */
int corral_summary(const struct corral_policy *policy, char **text, struct corral_error *err);

/* Checks one policy file on its own. */
int corral_policy_check(const char *path, struct corral_error *err);

/* The same, and one line for each of its values that makes the boundary wider, such as a network
 * or a credential that is passed; "" when there is none. */
int corral_policy_review(const char *path, char **text, struct corral_error *err);

/* The configuration of another product as the text of a policy file (TOML), with a comment for
 * each value and for each setting that has no equivalent.  `agent` chooses one of several agents
 * with a sandbox section; NULL if there is one. */
int corral_policy_import(const char *path, const char *agent, char **text,
			 struct corral_error *err);

/* Trusts the present content of a project file: until it changes, it may widen the policy. */
int corral_policy_trust(const char *path, struct corral_error *err);

/* ---- features of this host ---- */

struct corral_probe {
	size_t size;         /* set by the caller to sizeof */
	int landlock_abi;    /* 0: none */
	int user_namespaces; /* 1 when they can be created */
	int seccomp;
	char userns_why[240]; /* if not: the reason and the remedy */
	char level[16];       /* "full", "standard", "minimal", "none" */
};

int corral_probe(struct corral_probe *probe, struct corral_error *err);

/* Tries every mechanism of this host, and sets a run with this policy up, without a command.
 * Reports level, engine, guarantees, and how to raise them.  *starts (may be NULL) is 1 when the
 * run would start. */
int corral_status(const struct corral_policy *policy, enum corral_format format, char **text,
		  int *starts, struct corral_error *err);

/* Plants bait on this host, attacks it without a sandbox and in runs with this policy, and
 * compares the effects on the host with the guarantees that each run reported.  program is the
 * absolute path of the corral program, which makes the attempts.  *failed (may be NULL) counts the
 * failed checks, including checks that could not be made although their guarantee is reported as
 * enforced.  Starts child processes of its own and waits for them. */
int corral_selftest(const struct corral_policy *policy, const char *program,
		    enum corral_format format, char **text, int *failed, struct corral_error *err);

/* ---- running ---- */

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

struct corral_result;

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

/* ---- sessions ---- */

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

/* 1 while it accepts commands; 0 after its processes have ended: one of them exceeded a limit of
 * the session, or a process of the sandbox was killed, which a command of it can do. */
int corral_session_alive(struct corral_session *session);

/* Becomes readable when it has ended.  Owned by the session. */
int corral_session_fd(const struct corral_session *session);

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
	const char *const *env; /* "NAME=value", added to the environment; ends with NULL */
	const char *directory;  /* in the sandbox; relative: to that of the policy */
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

/* ---- results ---- */

void corral_result_free(struct corral_result *result);

/* "exit", "signal", "timeout", "idle", "oom", "limit", "cancelled", or "lost": a process of
 * the sandbox was killed from outside, and Corral killed the command; "leak": the command printed
 * a secret, and scan.output is kill. */
const char *corral_result_reason(const struct corral_result *result);
int corral_result_exit_code(const struct corral_result *result); /* -1 when it did not exit */
int corral_result_signal(const struct corral_result *result);    /* 0 when none */

/* The status as a shell reports it: the exit code, 124 after a time-out, 128+n. */
int corral_result_status(const struct corral_result *result);

int64_t corral_result_duration_ms(const struct corral_result *result);
const char *corral_result_level(const struct corral_result *result); /* "full", "standard", … */

/* Which run it was. */
struct corral_identity {
	size_t size;           /* set by the caller to sizeof */
	const char *id;        /* the same in `corral ps`, `corral diff` and `corral audit` */
	const char *started;   /* RFC 3339, UTC, with milliseconds */
	const char *workspace; /* on the host */
	const char *mode;      /* "read-only", "workspace-write" or "full-access" */
	const char *net;       /* "none", "filtered", "restricted" or "full" */
	const char *agent;     /* env.agent, or the label AGENT_ID; NULL: neither is set */
	const char *session;   /* the label SESSION_ID of env.labels; NULL: it is not set */
};

#define CORRAL_IDENTITY_INIT                                                                       \
	{ .size = sizeof(struct corral_identity) }

/* 0, or -1 when the size is not set.  The texts belong to the result. */
int corral_result_identity(const struct corral_result *result, struct corral_identity *identity);

/* The n-th warning or remark on the plan; NULL after the last. */
const char *corral_result_note(const struct corral_result *result, size_t n);

/* What ended the run, as text: "the time-out of 2 s (--timeout)"; ""
 * when the command ended by itself. */
const char *corral_result_ending(const struct corral_result *result);

/* After a failure of the command: the rule of the sandbox that probably refused it, and the
 * remedy, guessed from its last output; "" when unknown.  Advice, not a record of refusals. */
const char *corral_result_hint(const struct corral_result *result);

/* The errno of a caller's descriptor that could not be read or written, so that bytes
 * were lost, with "stdin", "stdout" or "stderr" in *stream; 0 when
 * none failed.  A reader that closed its end is not a failure. */
int corral_result_lost(const struct corral_result *result, const char **stream);

/* The files that the run left on the host and that a program may run or read later, the gravest
 * first: the n-th path and its kind, "setuid", "hook", "startup", "repository", "executable",
 * "symlink", "socket" or "fifo".  Returns 0, or 1 after the last.  The command chose the names;
 * they may contain any byte except NUL.  more counts the paths that are not in the list. */
int corral_result_created(const struct corral_result *result, size_t n, const char **path,
			  const char **kind);
uint64_t corral_result_created_more(const struct corral_result *result);

/* A decision of the network's gate about one destination. */
struct corral_decision {
	size_t size;            /* set by the caller to sizeof */
	const char *op;         /* "connect", "resolve", "request", "proxy" or "publish" */
	const char *name;       /* of the host; NULL when not known */
	const char *address;    /* NULL when not resolved */
	int port;               /* 0: none */
	const char *verdict;    /* "allowed", "denied", or "failed": allowed, and it did not work */
	const char *rule;       /* as it was written; NULL when no rule matches */
	const char *why;        /* one clause; NULL when it was allowed */
	const char *allow_with; /* denied: the option that would allow it; NULL when none would */
	uint64_t count;         /* how often */
	uint64_t sent, received; /* bytes, as the command sees them */
};

#define CORRAL_DECISION_INIT                                                                       \
	{ .size = sizeof(struct corral_decision) }

/* The n-th decision, in the order of their first occurrence; returns 0, 1 after the last, or -1
 * when its size is not set. The texts belong to the result.  more counts decisions that are not in
 * the list; recorded is 0 for a run without a gate (net.mode none and full): an empty list then
 * means nothing. */
int corral_result_network(const struct corral_result *result, size_t n,
			  struct corral_decision *decision);
uint64_t corral_result_network_more(const struct corral_result *result);
int corral_result_network_recorded(const struct corral_result *result);

/* If the gate ended before the run, which then had no network: the reason, as text; the last
 * decisions may be missing from the list.  NULL when the gate worked to the end. */
const char *corral_result_network_failed(const struct corral_result *result);

/* An operation that the command was refused, and that its caller could have done on the host.  The
 * command chose path and host; they may contain any byte except NUL. */
struct corral_denial {
	size_t size;            /* set by the caller to sizeof */
	const char *op;         /* "open", "mkdir", "rename", "chmod", "connect", "resolve", … */
	const char *access;     /* "read", "write", "create", "delete", "network", "syscall", … */
	const char *path;       /* as the command named it, absolute; NULL: not about a file */
	const char *resolved;   /* without symlinks; NULL: the same, or not known */
	const char *host;       /* the name or address; NULL: about a file or a system call */
	const char *errno_name; /* "EROFS", …; NULL: the command got no errno */
	const char *rule;       /* the policy key or table that refuses it, with its pattern */
	const char *origin;     /* where that was written; NULL: not known */
	const char *why;        /* one sentence */
	const char *remedy; /* what would allow it, or that nothing does; NULL: see allow_with */
	const char *allow_with; /* the smallest option that would allow it; NULL: none, or none that
				 * a program should add by itself (a credential) */
	uint64_t count;         /* how often */
	int port;               /* 0: none */
	int sensitive;          /* a rule about credentials hides the path */
	const char *command;    /* the simple command that a rule refuses; NULL */
	const char *limit;      /* the key of a limit that was reached, "limits.memory"; NULL */
	const char *value;      /* of that limit, as its option takes it; NULL */
};

#define CORRAL_DENIAL_INIT                                                                         \
	{ .size = sizeof(struct corral_denial) }

/* The n-th denial, files and sockets first, then the network gate's: 0, 1 after the last, or -1
 * when its size is not set.  The texts belong to the result.  more counts refusals that are not in
 * the list; recorded is 0 for a run without a broker: an empty list then means nothing. */
int corral_result_denial(const struct corral_result *result, size_t n,
			 struct corral_denial *denial);
uint64_t corral_result_denials_more(const struct corral_result *result);
int corral_result_denials_recorded(const struct corral_result *result);

/* A secret that the leak scanner found: its kind and its place, never its value. */
struct corral_leak {
	size_t size;             /* set by the caller to sizeof */
	const char *kind;        /* "github-token", or the name of the variable that holds it */
	const char *stream;      /* "arguments", "environment", "stdin", "stdout", "stderr"; of a
				  * plain HTTP request "http-line", "http-header", "http-body" */
	const char *view;        /* how it was encoded: "raw", "base64", "url+hex", … */
	const char *fingerprint; /* equal for equal secrets of this run */
	const char *action;      /* "warned", "redacted", "blocked" or "killed" */
	uint64_t offset, length; /* of its first occurrence in the command's own stream */
	uint64_t count;          /* how often */
	const char *host;        /* of a request: the server; "" */
};

#define CORRAL_LEAK_INIT                                                                           \
	{ .size = sizeof(struct corral_leak) }

/* The n-th secret: 0, 1 after the last, or -1 when its size is not set.  The texts belong to the
 * result.  more counts findings that are not in the list; scanned is 0 when the output was not
 * scanned, or not to its end: an empty list then means nothing. */
int corral_result_leak(const struct corral_result *result, size_t n, struct corral_leak *leak);
uint64_t corral_result_leaks_more(const struct corral_result *result);
int corral_result_leaks_scanned(const struct corral_result *result);

/* Whether the audit log has the record of this run: 1; 0: audit.enabled is false; -1: it could not
 * be written, and *why (which may be NULL) says why. */
int corral_result_audited(const struct corral_result *result, const char **why);

/* With fs.cow: the id of the pending changes, for the calls below, and their number
 * (changes may be NULL; -1 when they cannot be counted).  NULL without changes, or without
 * fs.cow.  Belongs to the result. */
const char *corral_result_cow(const struct corral_result *result, int64_t *changes);

/* With corral_options.timings: the n-th step of the run and its time.  0; 1 after the last; -1 for
 * a NULL argument.  corral(1), --timings, has the steps. */
int corral_result_timing(const struct corral_result *result, size_t n, const char **step,
			 int64_t *us);

/* Files that the command created or changed at the top of its private home, or beside the
 * workspace there, instead of in the caller's home; without caches and settings of programs.  The
 * n-th name, relative to the home, NULL after the last.  The command chose the names.  home is the
 * path of the private home on the host; NULL when there are no such files. */
const char *corral_result_stray(const struct corral_result *result, size_t n);
const char *corral_result_home(const struct corral_result *result);

/* Captured bytes, NUL-terminated, or NULL when the stream was not captured; they
 * belong to the result.  dropped counts the bytes between the kept head and tail.
 * len and dropped may be NULL. */
const char *corral_result_stdout(const struct corral_result *result, size_t *len,
				 uint64_t *dropped);
const char *corral_result_stderr(const struct corral_result *result, size_t *len,
				 uint64_t *dropped);

/* The one-line JSON object of corral(1). */
int corral_result_json(const struct corral_result *result, char **text, struct corral_error *err);

/* The same object for a run that failed before it began: reason "setup" or "refused", with the
 * error.  -1 out of memory. */
int corral_error_json(const struct corral_error *failure, char **text);

/* The same with the id that corral_options.id received, and the start time. */
int corral_failure_json(const struct corral_error *failure, const char *id, char **text);

/* ---- file tools ---- */

/* File operations of an agent without a command, with the same access as its commands have.
 * A path is the path in the sandbox: absolute, or relative to the directory in which a
 * command would start.  It is resolved through the same mounts, with symbolic links; the
 * file that was checked is the file that is opened, and no name is resolved twice.  A path
 * that a command could not read or write is refused with
 *   CORRAL_E_OUTSIDE    the sandbox does not show it, or it belongs to a single run
 *                       (/tmp, /proc, a home that is not kept);
 *   CORRAL_E_SENSITIVE  fs.deny or the table of credentials hides it, or a pattern of
 *                       fs.deny hides another name of the same file (a hard link);
 *   CORRAL_E_PROTECTED  it can be read but not changed.
 * The message names the rule and its origin, the remedy the option that allows it.  The
 * checks do not depend on the level of the host. */
struct corral_files;

/* Resolves the policy once, for all calls; each call plans anew on the present host.  The
 * policy has to outlive the handle. */
int corral_files_new(const struct corral_policy *policy, struct corral_files **files,
		     struct corral_error *err);
void corral_files_free(struct corral_files *files);

/* Refuse every path with a symbolic link in it, regardless of its target. */
void corral_files_reject_symlinks(struct corral_files *files);

/* Do not use openat2 and O_TMPFILE, as on kernels without them: slower, with equal results. */
void corral_files_by_name(struct corral_files *files);

/* A part of a file; length 0 means all from offset on. */
struct corral_range {
	uint64_t offset;
	size_t length;
	uint64_t size; /* stored by the call: size of the whole file */
};

/* Reads a regular file, or a part of it; range NULL means all.  At the end of the file fewer
 * bytes are returned.  *bytes has a NUL after its *len bytes and is freed with
 * free().  More than 25 MiB at once is CORRAL_E_TOO_LARGE; a directory, FIFO, socket
 * or device is CORRAL_E_FILE_KIND, and is never opened. */
int corral_files_read(const struct corral_files *files, const char *path,
		      struct corral_range *range, char **bytes, size_t *len,
		      struct corral_error *err);

#define CORRAL_WRITE_PARENTS 1U /* create missing directories */
#define CORRAL_WRITE_NEW 2U     /* fail with EEXIST when the file exists */

/* Replaces a file's content or creates the file.  A reader sees the old content or the
 * new one; the mode stays, set-user-id bits aside, and a new file gets 0666 less the
 * umask.  Other names (hard links) and extended attributes of the file are not kept.
 * A file whose directory cannot be written, and one of another user, is written in
 * place.
 * A symbolic link as the last component is followed when its target may be written. */
int corral_files_write(const struct corral_files *files, const char *path, const void *bytes,
		       size_t len, unsigned flags, struct corral_error *err);

struct corral_edit {
	const char *old_text; /* compared byte by byte; not empty */
	const char *new_text;
	int all; /* 1: every occurrence; 0: it must occur exactly once */
};

/* Replaces text in a file as corral_files_write does; *count (may be NULL) is the number
 * of replacements.  CORRAL_E_NO_MATCH when the text does not occur, CORRAL_E_SEVERAL when
 * it occurs more than once. */
int corral_files_edit(const struct corral_files *files, const char *path,
		      const struct corral_edit *edit, size_t *count, struct corral_error *err);

struct corral_entry {
	const char *name; /* bytes, as the host has them */
	const char *kind; /* "file", "directory", "link", "denied", "other" */
	uint64_t size;
	unsigned mode; /* 07777 */
};

/* Lists a directory, also "/", as the sandbox shows it, sorted by the bytes of the names.
 * *entries is one block that is freed with free().  More than 100,000
 * entries are CORRAL_E_TOO_LARGE. */
int corral_files_list(const struct corral_files *files, const char *path,
		      struct corral_entry **entries, size_t *count, struct corral_error *err);

/* Gets the whole content; a result other than 0 refuses it. */
struct corral_scan {
	int (*scan)(void *arg, const char *bytes, size_t n);
	void *arg;
};

/* Reads a whole regular file of at most 25 MiB that is to be sent elsewhere; scan may be
 * NULL.  *bytes is the same content that was scanned; free it with free().  A refusal, of scan
 * or, as scan.files says, of the leak scanner, is CORRAL_E_LEAK; with scan.files redact a secret
 * is replaced in *bytes. */
int corral_files_send(const struct corral_files *files, const char *path,
		      const struct corral_scan *scan, char **bytes, size_t *len,
		      struct corral_error *err);

/* Creates a symbolic link.  target is stored as given; it must name a path that may be read
 * in the sandbox, whether it exists or not, and on the host it must resolve to a path beneath
 * a directory that commands may write: an absolute path into a private HOME, /tmp, or /usr is
 * CORRAL_E_OUTSIDE, and so is ".." after a name that does not exist. */
int corral_files_symlink(const struct corral_files *files, const char *target, const char *path,
			 struct corral_error *err);

struct corral_check {
	const char *path;
	int write; /* 1: check for writing; 0: for reading */
};

/* The verdict alone: *allowed (may be NULL) is 1 or 0, and the text names the error, the rule, its
 * origin and the remedy.  A path that the kernel would not resolve is refused, too; -1 when there
 * is no verdict, as for an empty path. */
int corral_files_check(const struct corral_files *files, const struct corral_check *check,
		       enum corral_format format, char **text, int *allowed,
		       struct corral_error *err);

/* Whether the rules of commands.NAME and fs.tools allow a command; nothing runs.  *allowed (may be
 * NULL) is 1 or 0; the text names command, rule, origin and remedy.  A command about which the
 * rules cannot decide is refused in profile strict and with commands.default = deny, and allowed
 * otherwise. */
int corral_command_check(const struct corral_policy *policy, const char *const *argv,
			 enum corral_format format, char **text, int *allowed,
			 struct corral_error *err);

enum corral_subject { CORRAL_SUBJECT_PATH, CORRAL_SUBJECT_HOST, CORRAL_SUBJECT_COMMAND };
enum corral_access { CORRAL_ACCESS_READ, CORRAL_ACCESS_WRITE, CORRAL_ACCESS_EXEC };

struct corral_question {
	size_t size;             /* set by the caller to sizeof */
	const char *text;        /* a path in the sandbox; or HOST, HOST:PORT or a URL */
	const char *const *argv; /* a command; ends with NULL */
	int subject;             /* enum corral_subject: which of them */
	int access;              /* enum corral_access, to a path */
};

/* Whether a run with this policy on this host would be allowed it, by which rule, where that was
 * written, and the smallest grant that allows it.  A grant was tried: the plan with it allows the
 * same access.  No grant is proposed for a credential, for Corral's own files, for a metadata
 * service, or where a floor forbids it.  Resolves the name of a host that a rule allows.  Runs
 * nothing.  *allowed (may be NULL) is 1 or 0.  The answer has the caller's rights, so it is not
 * for the command inside. */
int corral_why(const struct corral_policy *policy, const struct corral_question *question,
	       enum corral_format format, char **text, int *allowed, struct corral_error *err);

/* The refusals of one run, from the audit log of the user: each as corral_why() prints an answer,
 * with the rule of that time.  id NULL: the last run; else the id, or its last characters, at least
 * four.  *count (may be NULL) is their number. */
int corral_why_run(const char *id, enum corral_format format, char **text, uint64_t *count,
		   struct corral_error *err);

/* Runs `command __manifest` in a sandbox without a network, where it can change nothing, and
 * returns the subcommands that it lists as rules of a policy file, for review; no run uses a
 * manifest.  CORRAL_E_REFUSED when the output is not a manifest. */
int corral_commands_import(const char *command, char **text, struct corral_error *err);

/* ---- URLs that a tool fetches outside the sandbox ---- */

/* Against SSRF: a tool that fetches a URL from a model could reach the host's own services and
 * networks.  Refused are
 *   schemes other than http and https;
 *   URLs that two parsers could read as two hosts: with backslashes, user names,
 *   percent-encoded hosts, non-ASCII letters, addresses in octal or as one number;
 *   names of local networks and of metadata services, and names of a single label;
 *   addresses that are not public, and this host's own, written in the URL or resolved from
 *   its name; one such address of several is enough.
 * Of a policy net.private and net.deny apply; net.allow concerns only sandboxed commands. */
struct corral_url;

struct corral_url_options {
	size_t size;                        /* set by the caller to sizeof */
	const struct corral_policy *policy; /* or NULL */
	int text_only; /* 1: no name is resolved; then there are no addresses */
	int reserved;  /* 0 */
};

/* 0 with the verdict in *checked, also for a refusal; a name that does not resolve is refused.
 * -1 when there is no verdict.  options may be NULL.  Takes up to the time-outs of resolv.conf.
 * Connect to the addresses of the verdict: a second lookup could return others (DNS
 * rebinding).  Check the URL of each redirect again. */
int corral_url_check(const char *url, const struct corral_url_options *options,
		     struct corral_url **checked, struct corral_error *err);
void corral_url_free(struct corral_url *checked);

int corral_url_allowed(const struct corral_url *checked);

/* Host in lower case, an IPv6 address without brackets; "" and 0 when the text was
 * refused before it named one. */
const char *corral_url_host(const struct corral_url *checked);
unsigned corral_url_port(const struct corral_url *checked);

/* The n-th address to connect to; NULL after the last, and for a refused URL. */
const char *corral_url_address(const struct corral_url *checked, size_t n);

/* Of a refusal: "form", "scheme", "host", "name", "address", "net.deny" or "lookup"; the
 * reason; the remedy.  "" for an allowed URL. */
const char *corral_url_rule(const struct corral_url *checked);
const char *corral_url_reason(const struct corral_url *checked);
const char *corral_url_remedy(const struct corral_url *checked);

/* The whole verdict. */
int corral_url_show(const struct corral_url *checked, enum corral_format format, char **text,
		    struct corral_error *err);

/* ---- copy-on-write changes (fs.cow) ---- */

/* All pending changes: id, workspace, start time, number of changes. */
int corral_cow_list(enum corral_format format, char **text, struct corral_error *err);

/* The changes of a run, as a git patch or as JSON, with every mode that apply would set; at most
 * 64 MiB of the files' text, the rest by name.  paths ends with NULL and may be NULL for all; a
 * path is absolute, or relative to the current directory if that is in the workspace, else to the
 * workspace.  Fails while the run is alive. */
int corral_cow_diff(const char *id, const char *const *paths, enum corral_format format,
		    char **text, struct corral_error *err);

struct corral_cow_options {
	size_t size;              /* set by the caller to sizeof */
	const char *const *paths; /* as for corral_cow_diff; NULL for all */
	int force;                /* 1: overwrite changes of the host, and protected names */
	int reserved;             /* 0 */
};

/* Copies changes into the workspace, each file atomically.  CORRAL_E_REFUSED, with nothing
 * changed, when a file was changed on the host since, or when the present policy of that workspace
 * protects a file that paths does not name.  If the call is killed, or stopped by a full disk, the
 * next call completes it; the remedy of the error then has the progress.  Changes that remain
 * pending keep their id; without any the id is removed.  options NULL: all, not forced.  *text
 * lists the applied changes. */
int corral_cow_apply(const struct corral_policy *policy, const char *id,
		     const struct corral_cow_options *options, enum corral_format format,
		     char **text, struct corral_error *err);

/* Removes pending changes, and the temporary files of a killed apply in the workspace; id NULL
 * removes those of all runs that have ended. */
int corral_cow_discard(const char *id, struct corral_error *err);

/* ---- leak scanner ---- */

/* Finds credentials in bytes: tokens, keys and passwords of known kinds, and exact values, also
 * encoded (percent-encoding, base64, hexadecimal, JSON escapes, UTF-16, two of these nested).  A
 * scanner is constant: many streams, in many threads, may use one. */
struct corral_scanner;

/* A value that must not occur, of 8 to 4096 bytes; findings print its name. */
struct corral_scan_value {
	const char *name;
	const void *data;
	size_t len;
};

struct corral_scan_options {
	size_t size;              /* set by the caller to sizeof */
	const char *const *kinds; /* names of corral_scan_kinds(); ends with NULL; NULL: all */
	const char *const *allow; /* fingerprints that are no finding; ends with NULL; or NULL */
	const struct corral_scan_value *values;
	size_t nvalues;
	int raw_only;  /* 1: not in encoded form */
	int no_config; /* 1: the user's key and allow list are not read; fingerprints are of no use
			* after the scanner is freed */
};

int corral_scanner_new(const struct corral_scan_options *options, struct corral_scanner **scanner,
		       struct corral_error *err);
void corral_scanner_free(struct corral_scanner *scanner);

/* A secret that was found; never a part of its value. */
struct corral_finding {
	size_t size;             /* of the library's struct */
	const char *kind;        /* "github-token", or the name of a value */
	const char *reason;      /* what it opens; "" for a value */
	const char *view;        /* "raw", "base64", "url+base64", ... */
	const char *fingerprint; /* the same for the same secret, under the user's key */
	uint64_t offset, length; /* of the secret, encoded, in the stream */
};

/* A finding is valid during the call.  With output, the stream passes its bytes on, each secret
 * replaced by [redacted:KIND]; a result that is not 0 stops the stream. */
struct corral_scan_calls {
	size_t size; /* set by the caller to sizeof */
	void (*found)(void *arg, const struct corral_finding *finding); /* or NULL */
	int (*output)(void *arg, const void *bytes, size_t len);        /* or NULL */
	void *arg;
};

/* One sequence of bytes.  The findings do not depend on how it is cut into pieces.  The scanner
 * must outlive it.  After a failed call only corral_scan_close() is possible. */
struct corral_scan_stream;
int corral_scan_open(const struct corral_scanner *scanner, const struct corral_scan_calls *calls,
		     struct corral_scan_stream **scan, struct corral_error *err);
int corral_scan_feed(struct corral_scan_stream *scan, const void *bytes, size_t len,
		     struct corral_error *err);
int corral_scan_end(struct corral_scan_stream *scan, struct corral_error *err);
void corral_scan_close(struct corral_scan_stream *scan);

/* Bytes that are held back because they may begin a secret; flush passes them on, for a stream
 * that has been idle. */
size_t corral_scan_held(const struct corral_scan_stream *scan);
int corral_scan_flush(struct corral_scan_stream *scan, struct corral_error *err);

/* Begins a new sequence with the same memory. */
int corral_scan_again(struct corral_scan_stream *scan, struct corral_error *err);

/* Adds a fingerprint to the allow list of the user's configuration. */
int corral_scan_allow(const char *fingerprint, struct corral_error *err);

/* The kinds: name, family, reason. */
int corral_scan_kinds(enum corral_format format, char **text, struct corral_error *err);

/* ---- audit log ---- */

enum corral_audit_form {
	CORRAL_AUDIT_TEXT,   /* one line a record */
	CORRAL_AUDIT_DETAIL, /* all members of a record, one a line */
	CORRAL_AUDIT_JSON,   /* the records as they are, one JSON object a line */
	CORRAL_AUDIT_OTLP,   /* one ExportLogsServiceRequest of OpenTelemetry, as JSON */
	CORRAL_AUDIT_OCSF,   /* one event of the Open Cybersecurity Schema Framework a line */
	CORRAL_AUDIT_TRACES, /* one ExportTraceServiceRequest of OpenTelemetry, as JSON */
};

/* Which records, and how they are printed.  NULL and 0: no restriction. */
struct corral_audit_options {
	size_t size; /* set by the caller to sizeof */
	const char *since,
		*until; /* RFC 3339 in UTC, as "2026-11-17T09:30", or an age: "2h", "7d" */
	const char *id; /* of a run, or the last characters of it */
	const char *session, *agent, *verdict;
	const char *path; /* this path or beneath it: refused, or the directory of a run */
	const char *host; /* this name and its subdomains, or an address */
	const char *kind; /* "run", "deny.net", …; "deny" is all kinds that begin with it */
	uint64_t last;    /* only the last records of these */
	int fd;           /* where corral_audit_print() writes */
	int colour;       /* 1: of text */
	int follow;       /* 1: waits for new records, until the reader closes fd */
	enum corral_audit_form form;
	const char *search; /* a part of the record as it is in the log, without regard to case */
	const char *before; /* corral_audit_page(): the "next" of the page before */
	int budget_ms; /* corral_audit_page(), _stats(): the newest records first, and no longer
			* than this; the answer says whether it is complete.  0: no bound */
	int reserved;  /* 0 */
};

#define CORRAL_AUDIT_OPTIONS_INIT                                                                  \
	{ .size = sizeof(struct corral_audit_options), .fd = 1 }

/* Prints records of the user's log, the oldest first; *count (may be NULL) is their number. */
int corral_audit_print(const struct corral_audit_options *options, uint64_t *count,
		       struct corral_error *err);

/* At most `last` records (0: 100), the newest first, as {"records": [...], "next": cursor or null,
 * "complete": true}.  "complete" is false when budget_ms was over first: "next" then goes on with
 * the older records.  The log is read backwards, so a page costs the same at any size of it.  With
 * `since` the reading ends at the first older record. */
int corral_audit_page(const struct corral_audit_options *options, char **text,
		      struct corral_error *err);

/* Runs over time, denials by rule, hosts, the slowest runs.  options may be NULL. */
int corral_audit_stats(const struct corral_audit_options *options, enum corral_format format,
		       char **text, struct corral_error *err);

/* Checks the hash chain of the whole log against its head: *intact (may be NULL) is 0 when a
 * record was edited, removed, moved or cut off.  The text names each. */
int corral_audit_verify(enum corral_format format, char **text, int *intact,
			struct corral_error *err);

/* ---- live runs, and private homes ---- */

/* The caller's runs that are alive: pid, level, workspace, command, start time. */
int corral_runs(enum corral_format format, char **text, struct corral_error *err);

/* The private homes of workspaces: id, size, last use, workspace. */
int corral_home_list(enum corral_format format, char **text, struct corral_error *err);

struct corral_home_options {
	size_t size;              /* set by the caller to sizeof */
	const char *const *names; /* ids or workspaces; ends with NULL, and may be NULL */
	int all;                  /* 1: without names, every home */
	int dry_run;              /* 1: only list the homes that would be removed */
};

/* Removes private homes: those that are named, all, or with options NULL those whose workspace is
 * gone.  A home that a run uses is kept and counted in *left, which may be NULL.  *text has a line
 * for each. */
int corral_home_clean(const struct corral_home_options *options, enum corral_format format,
		      char **text, size_t *left, struct corral_error *err);

/* ---- the vault of secrets ---- */

/* The secrets of this user, encrypted at rest; corral(1), SECRETS, has the files, the keys and the
 * rules.  A run gets those that its policy names: env.secrets and env.agent.  A vault that does
 * not exist is empty; one that cannot be read, or was changed, is CORRAL_E_SETUP.  No call returns
 * or prints a value, except corral_secret_export(). */
struct corral_secret_options {
	size_t size;       /* set by the caller to sizeof */
	const char *agent; /* whose secret it is; NULL: shared */
	/* Of set and import; NULL: as the secret has it, or for a new one the default. */
	const char
		*workspace; /* only for runs in this directory or beneath; "", the default: any */
	const char *host;   /* only on the host of this name; "", the default: any */
	const char *expose; /* "env", the default, "file" or "never" */
	const char *key; /* of a new vault, and for rekey: "file" (NULL), "keyring", "passphrase" */
	const struct corral_passphrase *passphrase; /* or NULL */
};

#define CORRAL_SECRET_OPTIONS_INIT                                                                 \
	{ .size = sizeof(struct corral_secret_options) }

/* Adds a secret or replaces it.  name is the variable that a command gets; the value has at most
 * 64 KiB, and no NUL if it is exposed as a variable.  Wipe your copy of it. */
int corral_secret_set(const char *name, const void *value, size_t len,
		      const struct corral_secret_options *options, struct corral_error *err);

/* CORRAL_E_USAGE when there is none of this name and agent. */
int corral_secret_remove(const char *name, const struct corral_secret_options *options,
			 struct corral_error *err);

/* Names, scopes and times; all of them, or those of options->agent. */
int corral_secret_list(const struct corral_secret_options *options, enum corral_format format,
		       char **text, struct corral_error *err);

/* Sets all secrets of a file, a flat JSON object of strings or a .env file; "-" is stdin.  All or
 * none: an error names the line.  *count (may be NULL) is their number; a file that does not exist
 * has 0. */
int corral_secret_import(const char *path, const struct corral_secret_options *options,
			 size_t *count, struct corral_error *err);

/* Encrypts the vault under a new key of the kind options->key, and removes the old key. */
int corral_secret_rekey(const struct corral_secret_options *options, struct corral_error *err);

/* The names and values of the shared secrets, or of those of options->agent, as a .env file or
 * JSON object that corral_secret_import() reads.  Free the text with corral_secret_free(), which
 * wipes it. */
int corral_secret_export(const struct corral_secret_options *options, enum corral_format format,
			 char **text, struct corral_error *err);
void corral_secret_free(char *text);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif
