/* SPDX-License-Identifier: Apache-2.0 */
/* The command line: one row makes the parser, --help, the completions and the
 * manual's check. */
#ifndef CORRAL_DATA_OPTIONS_H
#define CORRAL_DATA_OPTIONS_H

#include "data/keys.h"

enum option_id {
	OPTION_SETS_KEY = 0, /* the row's key gets the argument (or the fixed value) */
	OPTION_HELP,
	OPTION_JSON,
	OPTION_COMMAND_STRING, /* -c STRING */
	OPTION_POLICY_FILE,
	OPTION_NO_CONFIG,
	OPTION_VERBOSE,
	OPTION_STDIN,
	OPTION_FOR_WRITE,
	OPTION_TTY,
	OPTION_SET, /* --set KEY=VALUE */
	OPTION_FORCE,
	OPTION_EVERY, /* --all */
	OPTION_YES,
	OPTION_DRY_RUN,
	OPTION_MCP,   /* --mcp */
	OPTION_SHELL, /* --shell PATH */
	OPTION_REDACT,
	OPTION_SARIF,
	OPTION_STAGED,
	OPTION_LIST_KINDS,
	OPTION_ALLOW,        /* --allow FINGERPRINT */
	OPTION_HOST,         /* --host FILE */
	OPTION_SNAPSHOT,     /* --snapshot */
	OPTION_SECRET_AGENT, /* from here on: of the vault */
	OPTION_SECRET_WORKSPACE,
	OPTION_SECRET_HOST,
	OPTION_SECRET_EXPOSE,
	OPTION_SECRET_KEY,
	OPTION_FROM_FILE,
	OPTION_PASSPHRASE_FD,
	OPTION_FOR_EXEC, /* --exec */
	OPTION_AS_PATH,  /* --path, --host, --command of why */
	OPTION_AS_HOST,
	OPTION_AS_COMMAND,
	OPTION_PROMPT,   /* --prompt */
	OPTION_SEATBELT, /* --seatbelt */
	OPTION_LAST_RUN, /* --last, --run of why */
	OPTION_RUN_ID,
	OPTION_REPLAY, /* --replay */
	OPTION_ASK,    /* --ask, --ask-fd N */
	OPTION_ASK_DAEMON,
	OPTION_ASK_FD,
	OPTION_RESULT_FD,   /* --result-fd N */
	OPTION_TIMINGS,     /* --timings */
	OPTION_AUDIT_SINCE, /* from here on: of the audit log */
	OPTION_AUDIT_UNTIL,
	OPTION_AUDIT_SESSION,
	OPTION_AUDIT_VERDICT,
	OPTION_AUDIT_PATH,
	OPTION_AUDIT_KIND,
	OPTION_AUDIT_FORMAT,
	OPTION_AUDIT_FOLLOW,
	OPTION_TOOLS, /* --tools, --http of mcp */
	OPTION_HTTP,
	OPTION_SESSION_NAME, /* from here on: of sessions */
	OPTION_TOKEN_FILE,
	OPTION_TOKEN_TIME,
	OPTION_EXEC_TIME,
	OPTION_EXEC_DIR,
	OPTION_EXEC_ENV,
	OPTION_EXEC_PASS,
	OPTION_SERIAL,
	OPTION_TERMINAL,
	OPTION_DETACH,
	OPTION_IDLE_EXIT,
	OPTION_UI_OPEN,
	OPTION_UI_PRINT,
	OPTION_OCI_PODS,
	OPTION_OCI_POLICY,
	OPTION_OCI_RUNTIME,
	OPTION_BRIDGE,
	OPTION_COPY,
	OPTION_ID_COUNT
};

/* The headings of --help, in this order. */
enum option_group {
	GROUP_FILES,
	GROUP_BOUNDARY,
	GROUP_NETWORK,
	GROUP_ENV,
	GROUP_SECRETS,
	GROUP_LIMITS,
	GROUP_RUN,
	GROUP_COUNT
};

/* The verbs that take the option; no verb takes two options of one name.  FOR_PLAIN: verbs
 * without a policy. */
#define FOR_VERB(n) (UINT64_C(1) << (n))
#define FOR_RUN FOR_VERB(0)
#define FOR_SHELL FOR_VERB(1)
#define FOR_EXPLAIN FOR_VERB(2)
#define FOR_POLICY FOR_VERB(3)
#define FOR_TEST FOR_VERB(4)
#define FOR_PLAIN FOR_VERB(5)
#define FOR_STATUS FOR_VERB(6) /* a report; policy options only with --snapshot (cli/status.c) */
#define FOR_CHECK FOR_VERB(7)  /* a policy; --write selects the check, it grants nothing */
#define FOR_DIFF FOR_VERB(8)   /* these three on pending changes */
#define FOR_APPLY FOR_VERB(9)
#define FOR_DISCARD FOR_VERB(10)
#define FOR_LIST FOR_VERB(11) /* ps, home list: a report */
#define FOR_CLEAN FOR_VERB(12)
#define FOR_SCAN FOR_VERB(13)
#define FOR_MCP FOR_VERB(14)
#define FOR_SESSION_CREATE FOR_VERB(15) /* a policy */
#define FOR_SESSION_EXEC FOR_VERB(16)
#define FOR_SESSION_LIST FOR_VERB(17)
#define FOR_WHY FOR_VERB(18) /* as check: --write selects the question */
#define FOR_LEARN FOR_VERB(19)
#define FOR_SECRET_SET FOR_VERB(20) /* the verbs of the vault */
#define FOR_SECRET_LIST FOR_VERB(21)
#define FOR_SECRET_RM FOR_VERB(22)
#define FOR_SECRET_IMPORT FOR_VERB(23)
#define FOR_SECRET_REKEY FOR_VERB(24)
#define FOR_SECRET_EXPORT FOR_VERB(25)
#define FOR_POLICY_IMPORT FOR_VERB(26)
#define FOR_AUDIT_LIST FOR_VERB(27) /* the verbs with filters */
#define FOR_AUDIT_TAIL FOR_VERB(28)
#define FOR_AUDIT_EXPORT FOR_VERB(29)
#define FOR_SESSION_ACTIVITY FOR_VERB(30)
#define FOR_AGENTS FOR_VERB(31) /* agents install, uninstall */
#define FOR_DAEMON FOR_VERB(32)
#define FOR_UI FOR_VERB(33)
#define FOR_OCI FOR_VERB(34)

#define FOR_EVERY_VERB (~UINT64_C(0))

/* Verbs that plan a run, and those that also check or explain one. */
#define FOR_ALL                                                                                    \
	(FOR_RUN | FOR_SHELL | FOR_EXPLAIN | FOR_POLICY | FOR_TEST | FOR_MCP | FOR_LEARN |         \
	 FOR_SESSION_CREATE)
#define FOR_ALL_CHECK (FOR_ALL | FOR_CHECK | FOR_WHY)
#define FOR_SECRETS                                                                                \
	(FOR_SECRET_SET | FOR_SECRET_LIST | FOR_SECRET_RM | FOR_SECRET_IMPORT | FOR_SECRET_REKEY | \
	 FOR_SECRET_EXPORT)
#define FOR_SESSIONS                                                                               \
	(FOR_SESSION_CREATE | FOR_SESSION_EXEC | FOR_SESSION_LIST | FOR_SESSION_ACTIVITY)
#define FOR_AUDIT (FOR_AUDIT_LIST | FOR_AUDIT_TAIL | FOR_AUDIT_EXPORT)

struct option_row {
	const char *name; /* without the dashes; NULL when there is only the letter */
	char letter;      /* or 0 */
	const char *
		argument; /* its argument in --help: DIR, PATH and FILE complete as such; or NULL */
	enum option_id id;
	enum key_id key;            /* OPTION_SETS_KEY */
	const char *fixed;          /* the value, when the option takes no argument */
	bool commas;                /* the argument is a list with commas between */
	const char *const *choices; /* of options that set no key; NULL-terminated */
	enum option_group group;
	uint64_t verbs;
	const char *help;
};

extern const struct option_row options[];
extern const size_t options_count;
extern const char *const option_groups[GROUP_COUNT];

/* The allowed values of the argument: the row's own choices or its key's; NULL: any. */
const char *const *option_choices(const struct option_row *row);

#endif
