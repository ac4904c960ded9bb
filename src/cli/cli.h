/* SPDX-License-Identifier: Apache-2.0 */
/* The command line on top of libcorral, as any other program would use it.
 *
 * Should:   include corral.h, base/ and data/ and nothing else of this tree.
 * Must not: print an error or choose an exit code outside main.c. */
#ifndef CORRAL_CLI_CLI_H
#define CORRAL_CLI_CLI_H

#include "corral.h"

#include "base/buf.h"
#include "base/err.h"
#include "data/options.h"

#include <stdbool.h>
#include <stddef.h>

enum tty_choice { TTY_AUTO, TTY_ALWAYS, TTY_NEVER };

struct verb;

/* One call of the program, parsed. */
struct invocation {
	const struct verb *verb;
	struct corral_policy *policy;
	const char *command_string;             /* -c, or NULL */
	const char *shell;                      /* --shell, or NULL */
	const char *host;                       /* --host, or NULL */
	const char *allow;                      /* --allow, or NULL */
	const struct option_row *policy_option; /* the first that `status` alone does not take */
	enum tty_choice tty;
	bool help, json, verbose, pass_stdin, for_write, force, all, yes, dry_run, snapshot;
	bool redact, sarif, staged, list_kinds;
	bool mcp;
	bool replay;
	bool ask;
	const char *ask_fd;    /* --ask-fd, or NULL */
	bool ask_daemon;       /* --ask-daemon */
	const char *result_fd; /* --result-fd, or NULL */
	bool for_exec, as_path, as_host, as_command, prompt, seatbelt, last_run;
	const char *run_id;
	bool dashes; /* "--" stands before all arguments that are no options */
	/* of the vault; NULL: not given */
	const char *agent, *scope_workspace, *scope_host, *expose, *key, *from_file, *passphrase_fd;
	/* of the audit log; NULL: not given */
	const char *since, *until, *session, *verdict, *path, *kind, *format;
	bool follow;
	const char *tools;     /* of mcp; NULL: all */
	const char *http_port; /* --http, or NULL */
	/* of sessions; NULL: not given */
	const char *session_name, *token_file, *token_time, *exec_time, *exec_dir;
	const char **exec_env; /* of session exec: "NAME=VALUE", until exit; NULL: none */
	size_t nexec_env;
	const char *idle_exit;                /* of daemon; NULL: never */
	const char *bridge, *copy;            /* of session create */
	const char *oci_runtime, *oci_policy; /* of oci; NULL: not given */
	bool serial, terminal, detach;
	bool ui_open, ui_print;
	bool oci_pods;
	bool policy_stream; /* --policy - or fd:N */
	char **argv;        /* the whole command line, for hand_over.c */
	char **words;       /* the arguments that are no options: the command, or files */
	size_t nwords;
	/* --timings: when the option was read */
	bool timings;
	int64_t timings_at;       /* CLOCK_MONOTONIC, ns */
	int64_t timings_start_us; /* processor time of this process until then */
	bool reported;            /* the failure is printed as JSON, stderr needs no copy */
};

/* Each returns the exit status, or -1 with *err filled. */
typedef int verb_fn(struct invocation *inv, struct corral_error *err);

struct verb {
	const char *name;     /* one word, or two: "policy show" */
	uint64_t takes;       /* the FOR_ bit of its options */
	bool command;         /* the first argument that is no option begins a command */
	const char *synopsis; /* after the name */
	const char *summary;
	verb_fn *run;
	bool service;   /* a verb of corrald */
	size_t leading; /* arguments before the command */
};

verb_fn verb_run, verb_shell, verb_explain, verb_status, verb_test, verb_check, verb_why,
	verb_learn, verb_policy_show, verb_policy_check, verb_commands_import, verb_policy_schema,
	verb_policy_trust, verb_diff, verb_apply, verb_discard, verb_ps, verb_home_list,
	verb_home_clean, verb_completion, verb_help, verb_profile_list, verb_profile_show,
	verb_scan, verb_policy_import, verb_secret_set, verb_secret_list, verb_secret_rm,
	verb_secret_import, verb_secret_rekey, verb_secret_export, verb_audit_list, verb_audit_tail,
	verb_audit_show, verb_audit_stats, verb_audit_verify, verb_audit_export, verb_hook,
	verb_agents, verb_agents_install, verb_agents_uninstall, verb_agents_check, verb_mcp,
	verb_daemon, verb_daemon_status, verb_daemon_metrics, verb_daemon_reload, verb_daemon_stop,
	verb_daemon_questions, verb_daemon_answer, verb_session_create, verb_session_exec,
	verb_session_attach, verb_session_list, verb_session_agents, verb_session_show,
	verb_session_stop, verb_session_activity, verb_session_token, verb_session_revoke,
	verb_tool_install, verb_tool_list, verb_tool_rm, verb_ui, verb_oci;

/* `session exec` with a terminal, which corrald has. */
int verb_exec_terminal(const struct invocation *inv, const char *const *argv,
		       struct corral_error *err);

/* `session exec SESSION [--] COMMAND [ARG...]`, by its command line alone: its time is that of this
 * process's start.  False: it is another line, or this way does not serve it, and nothing was done.
 * *ret_status is -1 after a failure. */
bool verb_session_exec_quick(char **argv, int *ret_status, struct corral_error *err);

/* The verbs, in the order of --help. */
extern const struct verb verbs[];
extern const size_t verbs_count;

/* The verb that the first one or two arguments name; *ret_used is their number.  NULL when
 * there is none, with *err filled. */
const struct verb *verb_find(char **words, size_t nwords, size_t *ret_used,
			     struct corral_error *err);

/* Whether the word is the first half of a verb of two words, such as "policy" of "policy show". */
bool verb_is_group(const char *word);

/* Parses the options and the other arguments into inv; inv->verb and inv->policy are set. */
int options_parse(struct invocation *inv, char **words, size_t nwords, struct corral_error *err);

/* A usage error (exit status 2).  Fills *err and returns -1. */
int usage_error(struct corral_error *err, const char *remedy, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
#define usage_error(...) err_failed(usage_error(__VA_ARGS__))

/* An inherited descriptor or resource limit is unusable (exit status 125).  Likewise. */
int setup_error(struct corral_error *err, const char *remedy, const char *message);
#define setup_error(...) err_failed(setup_error(__VA_ARGS__))

int memory_error(struct corral_error *err);
#define memory_error(...) err_failed(memory_error(__VA_ARGS__))

/* An error of a function that is not the library's.  Likewise. */
int internal_error(const struct err *e, struct corral_error *err);
#define internal_error(...) err_failed(internal_error(__VA_ARGS__))

/* Refuses a process whose real and effective ids differ.  Only for verbs that call no
 * library function with this check. */
int check_caller(struct corral_error *err);

/* Writes text and a newline, where it lacks one, to stdout. */
int print_text(const char *text, struct corral_error *err);
int print_text_to(int fd, const char *text, struct corral_error *err);

/* The open descriptor whose number is the value of an option. */
int descriptor_of(const char *option, const char *text, const char *remedy, int *ret,
		  struct corral_error *err);

/* result_fd.c: where the JSON object goes. */
struct result_place {
	int fd;     /* stdout without --result-fd */
	int cancel; /* 0: none; else readable, or closed, when the caller wants the end */
};
int result_place(const struct invocation *inv, struct result_place *ret, struct corral_error *err);
int result_print(const struct result_place *place, const char *text, struct corral_error *err);

/* Prints one line on stderr, with the prefix "corral: ". */
void print_note(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* strays.c: prints the files that the command wrote into the private home, where the user does not
 * look for them, and the grant that would have kept the first one. */
void note_strays(const struct corral_result *result);

/* The status for a person, and a note if the streams lost data, else "". */
#define LOST_NOTE 128
int lost_status(const struct corral_result *result, char ret_note[LOST_NOTE]);

/* Runs argv with the caller's stdin, stdout and stderr; with `terminal` on a pty. */
int run_for_person(struct invocation *inv, const char *const *argv, bool terminal,
		   struct corral_error *err);

/* banner.c: with -v on a terminal, the header and the footer of a run; banner_end() returns false
 * when it printed nothing. */
void banner_begin(const struct invocation *inv, const char *const *argv);
bool banner_end(const struct invocation *inv, const struct corral_result *result);
/* Whether there is a live line between them. */
bool banner_is_live(const struct invocation *inv);

/* timings.c: --timings.  Reads the clocks; passes the steps until now to the library, in `own`;
 * prints the list of a result on stderr. */
#define TIMINGS_OWN 2
void timings_begin(struct invocation *inv);
void timings_request(const struct invocation *inv, struct corral_timing own[TIMINGS_OWN],
		     struct corral_options *how);
void timings_print(const struct corral_result *result);

/* The command as an argv, or NULL in *ret when there is none; the caller frees the array. */
int command_argv(const struct invocation *inv, const char ***ret, struct corral_error *err);

/* The acts of `corral test`, inside and outside; returns the exit status. */
int probe_main(char **words, size_t nwords);

/* The first program of a container (data/container_start.h); returns only with an error. */
int container_start_main(char **words, size_t nwords);

/* prompt.c: reads a line from the terminal without echo, up to cap bytes; -1 when there is no
 * terminal, or the user gave up. */
long prompt_hidden(const char *text, char *out, size_t cap);

/* Lets the library read the vault's passphrase from --passphrase-fd, or at the terminal. */
void secret_offer_passphrase(struct invocation *inv);

/* Prints the help of a verb; NULL for the overview. */
int help_print(const struct verb *verb, struct corral_error *err);

/* Likewise for the verbs of two words that begin with `word`, such as "policy", where that alone is
 * none. */
bool help_is_of_group(const char *word);
int help_print_group(const char *word, struct corral_error *err);

/* `best` is the candidate nearest to `word`, or NULL when none is near. */
struct nearest {
	const char *word;
	const char *best;
	size_t distance;
};
void nearest_init(struct nearest *n, const char *word);
void nearest_offer(struct nearest *n, const char *candidate);

#endif
