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
	OPTION_LAST_RUN, /* --last, --run of why */
	OPTION_RUN_ID,
	OPTION_REPLAY, /* --replay */
	OPTION_ASK,    /* --ask, --ask-fd N */
	OPTION_ASK_FD,
	OPTION_AUDIT_SINCE, /* from here on: of the audit log */
	OPTION_AUDIT_UNTIL,
	OPTION_AUDIT_SESSION,
	OPTION_AUDIT_VERDICT,
	OPTION_AUDIT_PATH,
	OPTION_AUDIT_KIND,
	OPTION_AUDIT_FORMAT,
	OPTION_AUDIT_FOLLOW,
	OPTION_TOOLS,        /* --tools */
	OPTION_SESSION_NAME, /* from here on: of sessions */
	OPTION_SESSION_TIME,
	OPTION_TOKEN_FILE,
	OPTION_TOKEN_TIME,
	OPTION_EXEC_TIME,
	OPTION_EXEC_DIR,
	OPTION_SERIAL,
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
enum {
	FOR_RUN = 1,
	FOR_SHELL = 2,
	FOR_EXPLAIN = 4,
	FOR_POLICY = 8,
	FOR_TEST = 16,
	FOR_ALL = 31 | 3 << 14 | 1 << 19,
	FOR_ALL_CHECK = 159 | 3 << 14 | 3 << 18, /* and check, why */
	FOR_PLAIN = 32,
	FOR_STATUS = 64, /* a report; policy options only with --snapshot (cli/status.c) */
	FOR_CHECK = 128, /* a policy; --write selects the check, it grants nothing */
	FOR_DIFF = 256,  /* these three on pending changes */
	FOR_APPLY = 512,
	FOR_DISCARD = 1024,
	FOR_LIST = 2048, /* ps, home list: a report */
	FOR_CLEAN = 4096,
	FOR_SCAN = 8192,
	FOR_MCP = 1 << 14,
	FOR_SESSION_CREATE = 1 << 15, /* a policy */
	FOR_SESSION_EXEC = 1 << 16,
	FOR_SESSION_LIST = 1 << 17,
	FOR_WHY = 1 << 18, /* as check: --write selects the question */
	FOR_LEARN = 1 << 19,
	FOR_SECRET_SET = 1 << 20, /* the verbs of the vault */
	FOR_SECRET_LIST = 1 << 21,
	FOR_SECRET_RM = 1 << 22,
	FOR_SECRET_IMPORT = 1 << 23,
	FOR_SECRET_REKEY = 1 << 24,
	FOR_SECRET_EXPORT = 1 << 25,
	FOR_SECRETS = 63 << 20, /* all six */
	FOR_POLICY_IMPORT = 1 << 26,
	FOR_AUDIT_LIST = 1 << 27,
	FOR_AUDIT_TAIL = 1 << 28,
	FOR_AUDIT_EXPORT = 1 << 29,
	FOR_AUDIT = 7 << 27, /* the verbs with filters */
	FOR_SESSION_ACTIVITY = 1 << 30,
	FOR_SESSIONS = 7 << 15 | 1 << 30,
};

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
	unsigned verbs;
	const char *help;
};

extern const struct option_row options[];
extern const size_t options_count;
extern const char *const option_groups[GROUP_COUNT];

/* The allowed values of the argument: the row's own choices or its key's; NULL: any. */
const char *const *option_choices(const struct option_row *row);

#endif
