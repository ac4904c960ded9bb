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
	OPTION_TTY,
	OPTION_SET,            /* --set KEY=VALUE */
};

/* Which verbs take the option. */
enum { FOR_RUN = 1, FOR_SHELL = 2, FOR_EXPLAIN = 4, FOR_POLICY = 8, FOR_ALL = 15 };

struct option_row {
	const char *name;     /* without the dashes */
	char letter;          /* or 0 */
	const char *argument; /* name of its argument in --help, or NULL */
	enum option_id id;
	enum key_id key;      /* OPTION_SETS_KEY */
	const char *fixed;    /* the value, when the option takes no argument */
	unsigned verbs;
	const char *help;
};

extern const struct option_row options[];
extern const size_t options_count;

#endif
