/* libcorral: run a command inside a kernel-enforced boundary.
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
 * A handle or a place for an answer that is NULL is CORRAL_E_USAGE, and nothing is done;
 * what asks a NULL result, process or verdict is told -1, 0, "" or NULL.
 * Nothing here prints, exits, installs a signal handler or changes the calling
 * process.  Handles are not shared between threads without a lock; different
 * handles may be used from different threads at once. */
#ifndef CORRAL_H
#define CORRAL_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define CORRAL_VERSION "0.1.0"

/* The library is built with hidden symbols; what stands here is all it exports. */
#pragma GCC visibility push(default)

/* ---- errors ---- */

enum corral_error_kind {
	CORRAL_E_NONE = 0,
	CORRAL_E_USAGE,     /* wrong option, key, value or file */
	CORRAL_E_REFUSED,   /* the policy says no */
	CORRAL_E_SETUP,     /* the sandbox, or a required guarantee, cannot be had; nothing ran */
	CORRAL_E_NOT_FOUND, /* the command or the file does not exist inside */
	CORRAL_E_NOT_EXECUTABLE, /* the command exists and cannot be executed */
	CORRAL_E_MEMORY,
	/* Of the file tools: */
	CORRAL_E_OUTSIDE,   /* outside the boundary: the view does not show the path */
	CORRAL_E_SENSITIVE, /* sensitive file: a rule hides it */
	CORRAL_E_PROTECTED, /* protected name: it can be read and not changed */
	CORRAL_E_FILE_KIND, /* a directory, FIFO, socket or device where a file is needed, … */
	CORRAL_E_TOO_LARGE, /* more than the tool takes at once, or than limits.file_size */
	CORRAL_E_NO_MATCH,  /* edit: the text is not in the file */
	CORRAL_E_SEVERAL,   /* edit: the text is there more than once */
	CORRAL_E_LEAK,      /* send: the scanner refused the content */
	CORRAL_E_FILE,      /* the system refused it: sys_errno says why */
};

struct corral_error {
	enum corral_error_kind kind;
	int sys_errno;     /* 0 when no system call failed */
	char layer[24];    /* "policy", "mounts", "landlock", … */
	char message[360]; /* one sentence */
	char remedy[240];  /* what to do about it, or "" */
};

/* ---- policy ---- */

struct corral_policy;

/* A policy that starts from the built-in defaults and reads the standing files
 * (/etc/corral, the user's, the workspace's) when it is used.  NULL when memory
 * is out. */
struct corral_policy *corral_policy_new(void);
void corral_policy_free(struct corral_policy *policy);

/* Sets one key by its dotted name (corral-policy(5)); lists and maps take one
 * element a call.  The strings are copied.  An unknown key fails here; the
 * value is judged when the policy is used, together with all the others. */
int corral_policy_set(struct corral_policy *policy, const char *key, const char *value,
		      struct corral_error *err);

/* As corral_policy_set, with the words that `explain` shows as the origin. */
int corral_policy_set_from(struct corral_policy *policy, const char *key, const char *value,
			   const char *origin, struct corral_error *err);

/* Adds one policy file above the standing ones: a path, "-" for stdin, "fd:N".
 * A path is read at each use.  "-" and "fd:N" can be read only once: that
 * happens at the first use, and from then on the policy is fixed. */
int corral_policy_file(struct corral_policy *policy, const char *path, struct corral_error *err);

/* Reads none of the standing files; the floor of /etc/corral holds all the same. */
void corral_policy_no_config(struct corral_policy *policy);

/* A person at a terminal: no time-out and no cap on output unless set. */
void corral_policy_for_person(struct corral_policy *policy);

/* Text for people, one JSON object for programs. */
enum corral_format { CORRAL_TEXT, CORRAL_JSON };

/* Each stores a string that the caller frees with free(). */
int corral_policy_show(const struct corral_policy *policy, enum corral_format format, char **text,
		       struct corral_error *err);
int corral_policy_schema(char **text, struct corral_error *err);

/* The resolved policy and the plan for this host, nothing run.  argv may be NULL. */
int corral_explain(const struct corral_policy *policy, const char *const *argv,
		   enum corral_format format, char **text, struct corral_error *err);

/* One line on level, engine, workspace and network of a run, and one for each note,
 * such as an optional path that was skipped; no newline at the end. */
int corral_summary(const struct corral_policy *policy, char **text, struct corral_error *err);

/* Checks one policy file on its own. */
int corral_policy_check(const char *path, struct corral_error *err);

/* Pins the present content of a project file: until it changes, it may widen. */
int corral_policy_trust(const char *path, struct corral_error *err);

/* ---- what this host has ---- */

struct corral_probe {
	size_t size;         /* set by the caller to sizeof */
	int landlock_abi;    /* 0: none */
	int user_namespaces; /* 1 when they can be made */
	int seccomp;
	char userns_why[240]; /* why not, and the remedy */
	char level[16];       /* "full", "standard", "minimal", "none" */
};

int corral_probe(struct corral_probe *probe, struct corral_error *err);

/* Every mechanism of this host, tried out, and what a run with this policy gets
 * of them: level, engine, guarantees, and what would raise them.  The set-up of
 * such a run is gone through, without a command; *starts (may be NULL) is 1 when
 * it would start.  The text is freed with free(); corral(1) has the keys of the JSON. */
int corral_status(const struct corral_policy *policy, enum corral_format format, char **text,
		  int *starts, struct corral_error *err);

/* Plants bait on this host, tries it outside and inside runs with this policy,
 * and compares what the host then shows with what each run reported.  program is
 * the absolute path of the corral program, which is the probe.  *failed (may be
 * NULL) counts the checks that failed, those that could not be made although the
 * report claims their guarantee included.  The text is freed with free();
 * corral(1) has the keys of the JSON.  Starts child processes of its own and
 * waits for them. */
int corral_selftest(const struct corral_policy *policy, const char *program,
		    enum corral_format format, char **text, int *failed, struct corral_error *err);

/* ---- running ---- */

/* Special values where a descriptor is expected. */
#define CORRAL_NULL (-1)    /* /dev/null */
#define CORRAL_CAPTURE (-2) /* kept in the result, up to limits.output a stream */

struct corral_options {
	size_t size;    /* set by the caller to sizeof */
	int in;         /* descriptor or CORRAL_NULL */
	int out, err;   /* descriptor, CORRAL_NULL or CORRAL_CAPTURE */
	const int *fds; /* further descriptors, numbered from 3 inside */
	size_t nfds;
	int terminal; /* 1: a pty of its own, relayed to in and out, which are terminals */
	int forward; /* 1: INT, TERM, HUP, QUIT, USR1, USR2 that reach this thread go to the command
		      */
	int last;    /* 1: this process ends next, so corral_run need not wait until the kernel has
		      * taken the empty sandbox down; the result then has no usage */
	void (*warn)(void *arg,
		     const char *text); /* told of limits that do not hold here, or NULL */
	void *warn_arg;
};

/* stdin from /dev/null, both streams captured, nothing else. */
#define CORRAL_OPTIONS_INIT                                                                        \
	{                                                                                          \
		sizeof(struct corral_options), CORRAL_NULL, CORRAL_CAPTURE, CORRAL_CAPTURE, NULL,  \
			0, 0, 0, 0, NULL, NULL                                                     \
	}

struct corral_result;

/* Runs argv, which ends with NULL, to its end.  0 when the command ran, however
 * it ended, and *result is the caller's to free; -1 when it did not.  options
 * NULL means CORRAL_OPTIONS_INIT.  Descriptors stay the caller's and are never
 * handed to the command: their bytes are relayed. */
int corral_run(const struct corral_policy *policy, const char *const *argv,
	       const struct corral_options *options, struct corral_result **result,
	       struct corral_error *err);

/* Starts argv and returns once it runs.  It ends at the latest with this process, whatever that has
 * forked.  Descriptors are handed over as they
 * are, so neither CORRAL_CAPTURE nor a terminal is possible here; options NULL
 * means CORRAL_NULL three times. */
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

/* Kills everything inside and frees the process. */
void corral_process_free(struct corral_process *process);

/* ---- results ---- */

void corral_result_free(struct corral_result *result);

/* "exit", "signal", "timeout", "idle", "oom", "limit", "cancelled", or "lost": a process of
 * the sandbox was killed from outside, and Corral killed the command. */
const char *corral_result_reason(const struct corral_result *result);
int corral_result_exit_code(const struct corral_result *result); /* -1 when it did not exit */
int corral_result_signal(const struct corral_result *result);    /* 0 when none */

/* What a shell would report: the exit code, 124 after a time-out, 128+n. */
int corral_result_status(const struct corral_result *result);

int64_t corral_result_duration_ms(const struct corral_result *result);
const char *corral_result_level(const struct corral_result *result); /* "full", "standard", … */

/* What cut the run short, for people: "the time-out of 2 s (--timeout)"; ""
 * when the command ended by itself. */
const char *corral_result_ending(const struct corral_result *result);

/* After a failure of the command: which rule of the sandbox it probably met and
 * what to do, judged by what it printed last; "" when nothing of that is known.
 * Advice, not a record of what was refused. */
const char *corral_result_hint(const struct corral_result *result);

/* A descriptor of the caller's that could not be read or written, so that bytes
 * were lost: its errno, with "stdin", "stdout" or "stderr" in *stream; 0 when
 * none failed.  A reader that closed its end is not a failure. */
int corral_result_lost(const struct corral_result *result, const char **stream);

/* What the run left on the host that could run or be obeyed later, the gravest first:
 * the n-th path and its kind, "setuid", "hook", "startup", "repository", "executable",
 * "symlink", "socket" or "fifo"; 0, and 1 behind the last.  Names are the command's
 * own and may hold any byte but NUL.  more counts what is not in the list. */
int corral_result_created(const struct corral_result *result, size_t n, const char **path,
			  const char **kind);
uint64_t corral_result_created_more(const struct corral_result *result);

/* What the network's gate decided about one destination. */
struct corral_decision {
	size_t size;            /* set by the caller to sizeof */
	const char *op;         /* "connect", "resolve", "request", "proxy" or "publish" */
	const char *name;       /* of the host; NULL when none was known */
	const char *address;    /* NULL when it came to none */
	int port;               /* 0: none */
	const char *verdict;    /* "allowed", "denied", or "failed": allowed, and it did not work */
	const char *rule;       /* as it was written; NULL when none speaks of it */
	const char *why;        /* one clause; NULL when it was allowed */
	const char *allow_with; /* denied: the option that would allow it; NULL when none would */
	uint64_t count;         /* how often */
	uint64_t sent, received; /* bytes, as the command sees them */
};

#define CORRAL_DECISION_INIT                                                                       \
	{ .size = sizeof(struct corral_decision) }

/* The n-th decision, in the order in which they were made first; 0, and 1 behind the last.
 * The texts belong to the result.  more counts what is not in the list; recorded is 0
 * where no gate was there (net.mode none and full): an empty list then means nothing. */
int corral_result_network(const struct corral_result *result, size_t n,
			  struct corral_decision *decision);
uint64_t corral_result_network_more(const struct corral_result *result);
int corral_result_network_recorded(const struct corral_result *result);

/* The gate ended before the run, which had no network from then on: what happened, for
 * people; what was decided last may not be in the list.  NULL when it did its work. */
const char *corral_result_network_failed(const struct corral_result *result);

/* With fs.cow: the id of the changes that are pending, for the calls below, and how
 * many there are (changes may be NULL; -1 when they cannot be counted).  NULL when nothing was
 * changed, or nothing was kept apart.  Belongs to the result. */
const char *corral_result_cow(const struct corral_result *result, int64_t *changes);

/* What the command made, and which files it changed, at the top of its private home or beside the
 * workspace there, and not in the caller's own, caches and settings of programs aside: the n-th
 * name, relative to the home, NULL behind the last.  Names are the command's own.  home is where
 * they are kept on the host; NULL when there are none. */
const char *corral_result_stray(const struct corral_result *result, size_t n);
const char *corral_result_home(const struct corral_result *result);

/* Captured bytes, NUL-terminated, or NULL when the stream was not captured; they
 * belong to the result.  dropped counts what lies between the head and the tail
 * that were kept.  len and dropped may be NULL. */
const char *corral_result_stdout(const struct corral_result *result, size_t *len,
				 uint64_t *dropped);
const char *corral_result_stderr(const struct corral_result *result, size_t *len,
				 uint64_t *dropped);

/* The one-line JSON object of corral(1); freed with free(). */
int corral_result_json(const struct corral_result *result, char **text, struct corral_error *err);

/* The same object for a run that failed before it began: reason "setup" or
 * "refused", with the error; freed with free().  -1 when memory is out. */
int corral_error_json(const struct corral_error *failure, char **text);

/* ---- file tools ---- */

/* What an agent does with files without a command, within the boundary that its
 * commands have.  A path is what a command inside would write: absolute, or beneath
 * the directory that the command would start in.  It is walked through the same
 * view, links included, and what was judged is what is opened; no name is looked up
 * twice.  What a command could not read or write is refused with
 *   CORRAL_E_OUTSIDE    the view does not show it, or it belongs to one run alone
 *                       (/tmp, /proc, a home that is not kept);
 *   CORRAL_E_SENSITIVE  fs.deny or a table of credentials hides it, or a pattern of
 *                       fs.deny another name of the same file (a hard link);
 *   CORRAL_E_PROTECTED  it can be read and not changed.
 * The message names the rule and its origin, the remedy what would allow it.  The
 * boundary holds whatever level the host reaches. */
struct corral_files;

/* Resolves the policy once, for all calls; each call looks at the host anew.  The
 * policy has to outlive the handle. */
int corral_files_new(const struct corral_policy *policy, struct corral_files **files,
		     struct corral_error *err);
void corral_files_free(struct corral_files *files);

/* Refuse every path with a symbolic link on its way, wherever it leads. */
void corral_files_reject_symlinks(struct corral_files *files);

/* Do without openat2 and O_TMPFILE, as where they are missing: slower, the same answers. */
void corral_files_by_name(struct corral_files *files);

/* A part of a file; length 0 means all from offset on. */
struct corral_range {
	uint64_t offset;
	size_t length;
	uint64_t size; /* stored by the call: of the whole file */
};

/* Reads a regular file, or a part of it; range NULL means all.  Fewer bytes than
 * asked for come at its end.  *bytes has a NUL behind its *len bytes and is freed with
 * free().  More than 25 MiB at once is CORRAL_E_TOO_LARGE; a directory, FIFO, socket
 * or device is CORRAL_E_FILE_KIND, and is never opened. */
int corral_files_read(const struct corral_files *files, const char *path,
		      struct corral_range *range, char **bytes, size_t *len,
		      struct corral_error *err);

#define CORRAL_WRITE_PARENTS 1U /* make missing directories */
#define CORRAL_WRITE_NEW 2U     /* fail with EEXIST when the file is there */

/* Replaces a file's content or makes the file.  A reader sees the old content or the
 * new one; the mode stays, set-user-id bits aside, and a new file gets 0666 less the
 * umask.  Other names (hard links) and extended attributes of the file are not kept.
 * A file whose directory cannot be written, and one of another user, is written in
 * place.
 * A last link is followed when it leads to something that may be written. */
int corral_files_write(const struct corral_files *files, const char *path, const void *bytes,
		       size_t len, unsigned flags, struct corral_error *err);

struct corral_edit {
	const char *old_text; /* to the byte, not empty */
	const char *new_text;
	int all; /* 1: wherever it is; 0: it has to be there once */
};

/* Replaces text in a file as corral_files_write does; *count (may be NULL) says how
 * often.  CORRAL_E_NO_MATCH when it is not there, CORRAL_E_SEVERAL when it is there
 * more than once. */
int corral_files_edit(const struct corral_files *files, const char *path,
		      const struct corral_edit *edit, size_t *count, struct corral_error *err);

struct corral_entry {
	const char *name; /* bytes, as the host has them */
	const char *kind; /* "file", "directory", "link", "denied", "other" */
	uint64_t size;
	unsigned mode; /* 07777 */
};

/* Lists a directory, sorted by the bytes of the names, as it looks from inside; the
 * root is one.  *entries is one block that is freed with free().  More than 100,000
 * entries are CORRAL_E_TOO_LARGE. */
int corral_files_list(const struct corral_files *files, const char *path,
		      struct corral_entry **entries, size_t *count, struct corral_error *err);

/* Sees the whole content; an answer that is not 0 refuses it. */
struct corral_scan {
	int (*scan)(void *arg, const char *bytes, size_t n);
	void *arg;
};

/* The whole of a regular file of at most 25 MiB, to be sent to somebody; scan may be
 * NULL.  What was scanned is what is stored in *bytes, which is freed with free();
 * a refusal is CORRAL_E_LEAK. */
int corral_files_send(const struct corral_files *files, const char *path,
		      const struct corral_scan *scan, char **bytes, size_t *len,
		      struct corral_error *err);

/* Makes a symbolic link.  target is stored as it is written; it has to lead to
 * something inside that may be read, whether it exists or not, and programs on the host
 * that follow the link must arrive beneath a directory that commands may write: an
 * absolute path into a private HOME, /tmp, or /usr is CORRAL_E_OUTSIDE, and so is ".."
 * behind a name that does not exist. */
int corral_files_symlink(const struct corral_files *files, const char *target, const char *path,
			 struct corral_error *err);

struct corral_check {
	const char *path;
	int write; /* 1: may it be written; 0: may it be read */
};

/* The verdict alone: *allowed (may be NULL) is 1 or 0, and the text names the error,
 * the rule, its origin and the remedy; corral(1) has the keys of the JSON.  Freed with
 * free().  A path that the kernel would not walk is refused too; -1 when there is no
 * verdict, as for an empty path. */
int corral_files_check(const struct corral_files *files, const struct corral_check *check,
		       enum corral_format format, char **text, int *allowed,
		       struct corral_error *err);

/* ---- URLs that a tool fetches outside the sandbox ---- */

/* A tool that fetches what a model names can be led to the host's own services and
 * networks.  Refused are
 *   what is neither http nor https;
 *   what two readers could take for two hosts: backslashes, user names, percent-encoded
 *   hosts, letters that are not ASCII, addresses in octal or as one number;
 *   names of local networks and of metadata services, one label alone;
 *   addresses that are not of the public internet, and this host's own, written so or as
 *   what a name leads to; one of several is enough.
 * Of a policy net.private and net.deny count; net.allow is about commands inside. */
struct corral_url;

struct corral_url_options {
	size_t size;                        /* set by the caller to sizeof */
	const struct corral_policy *policy; /* or NULL */
	int text_only; /* 1: no name is looked up; there are no addresses then */
};

/* 0 with the verdict in *checked, be it a refusal; a name that leads nowhere is one.  -1
 * when there is none.  options may be NULL.  Takes as long as resolv.conf's time-outs.  Fetch
 * from the addresses of the verdict: a second look-up could give others.  Each redirect
 * is a URL to check. */
int corral_url_check(const char *url, const struct corral_url_options *options,
		     struct corral_url **checked, struct corral_error *err);
void corral_url_free(struct corral_url *checked);

int corral_url_allowed(const struct corral_url *checked);

/* Host in lower case, an IPv6 address without brackets; "" and 0 when the text was
 * refused before it named one. */
const char *corral_url_host(const struct corral_url *checked);
unsigned corral_url_port(const struct corral_url *checked);

/* The n-th address to connect to; NULL behind the last, and of what is refused. */
const char *corral_url_address(const struct corral_url *checked, size_t n);

/* Of a refusal: "form", "scheme", "host", "name", "address", "net.deny" or "lookup"; why; and
 * what to do.  "" of what is allowed. */
const char *corral_url_rule(const struct corral_url *checked);
const char *corral_url_reason(const struct corral_url *checked);
const char *corral_url_remedy(const struct corral_url *checked);

/* All of it; corral(1) has the keys of the JSON.  Freed with free(). */
int corral_url_show(const struct corral_url *checked, enum corral_format format, char **text,
		    struct corral_error *err);

/* ---- changes that were kept apart (fs.cow) ---- */

/* All that are pending: id, workspace, when, how many changes.  The text is freed with
 * free(); corral(1) has the keys of the JSON. */
int corral_cow_list(enum corral_format format, char **text, struct corral_error *err);

/* What a run changed, as a patch for git or as JSON, with every mode that apply would set;
 * at most 64 MiB of the files' text, the rest by name.  paths ends with NULL and may be
 * NULL for all; a path is absolute or, as a person types it, relative to the current
 * directory, and to the workspace where that lies outside it.  Fails while the run goes
 * on.  The text is freed with free(). */
int corral_cow_diff(const char *id, const char *const *paths, enum corral_format format,
		    char **text, struct corral_error *err);

struct corral_cow_options {
	size_t size;              /* set by the caller to sizeof */
	const char *const *paths; /* as for corral_cow_diff; NULL for all */
	int force;                /* 1: over what the host changed since, and protected names too */
};

/* Puts changes into the workspace, each whole or not at all; CORRAL_E_REFUSED, with
 * nothing touched, when the host changed one of them meanwhile, or when the policy, as
 * it is for that workspace, protects one that paths does not name.  Killed at any
 * moment, or stopped by a full disk, the next call finishes; the remedy of the error then
 * says how far it came.  What remains pending keeps its id; with nothing left
 * the id is gone.  options NULL: all, not forced.  *text says what was done; free it
 * with free(). */
int corral_cow_apply(const struct corral_policy *policy, const char *id,
		     const struct corral_cow_options *options, enum corral_format format,
		     char **text, struct corral_error *err);

/* Removes pending changes, and what an apply that was killed left in the workspace; id NULL
 * removes all whose run has ended. */
int corral_cow_discard(const char *id, struct corral_error *err);

/* ---- live runs, and private homes ---- */

/* The caller's runs that are alive: process, level, workspace, command, since when.  The text is
 * freed with free(); corral(1) has the keys of the JSON. */
int corral_runs(enum corral_format format, char **text, struct corral_error *err);

/* The private homes of workspaces: id, size, last use, workspace.  Likewise. */
int corral_home_list(enum corral_format format, char **text, struct corral_error *err);

struct corral_home_options {
	size_t size;              /* set by the caller to sizeof */
	const char *const *names; /* ids or workspaces; ends with NULL, and may be NULL */
	int all;                  /* 1: without names, every home */
	int dry_run;              /* 1: say which would be removed */
};

/* Removes private homes: those that are named, all, or with options NULL those whose workspace
 * is gone.  A home that a run uses is kept and counted in *left, which may be NULL.  *text has
 * a line for each; free it with free(). */
int corral_home_clean(const struct corral_home_options *options, enum corral_format format,
		      char **text, size_t *left, struct corral_error *err);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif
