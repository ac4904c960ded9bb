/* SPDX-License-Identifier: Apache-2.0 */
/* The command line of a build that has some of the options and keys: corral for macOS, corral.exe.
 *
 * Options and keys are the rows of data/options.c and data/keys.c.  A build's struct subset lists
 * those that work there.  Every other one is an error that names it. */
#ifndef CORRAL_POLICY_SUBSET_H
#define CORRAL_POLICY_SUBSET_H

#include "base/buf.h"
#include "data/options.h"
#include "policy/value.h"

struct subset_key {
	enum key_id key;
	const char *const *only; /* no other value works; NULL: all do */
	const char *fix;         /* the remedy for another value; NULL: that of the subset */
	bool own_default;        /* the build's, not that of data/profiles.c */
};

/* Why a key does not work, where "not implemented" would say too little. */
struct subset_reason {
	enum key_id key;
	const char *why;
};

/* An option that sets no key. */
struct subset_option {
	enum option_id id;
	const char *why_not; /* NULL: it works */
};

struct subset {
	const char *name; /* of the system: "macOS" */
	const char *fix;  /* the remedy for an option that does not work */
	const struct subset_key *keys;
	size_t nkeys;
	const struct subset_reason *reasons;
	size_t nreasons;
	const struct subset_option *options;
	size_t noptions;
	bool every_default; /* also of keys that do not work: the plan reads all */
	/* Reads a path as this system writes it; NULL: as on Linux. */
	int (*take_path)(const struct where *w, const struct key *k, const char *text,
			 struct value *v, struct err *e);
};

struct run_choices {
	struct value values[KEY_COUNT];
	bool help, json, verbose, pass_stdin, seatbelt;
	const char *policy_file; /* --policy; NULL: none */
	const char *const *argv; /* the command */
	size_t argc;
};

/* The arguments after the verb.  A list takes one element an option; later values replace earlier
 * ones of other keys.  `from` has the arena and the bases of relative paths. */
int subset_read(const struct subset *s, const struct where *from, const char *const *words,
		size_t n, struct run_choices *c, struct err *e);

/* The values that nothing has set; tool_call: those for a program. */
int subset_default(const struct subset *s, const struct where *from, bool tool_call,
		   struct run_choices *c, struct err *e);

/* A value that was read, against `only`.  `as` names its source. */
int subset_check(const struct subset *s, const char *as, enum key_id key, const struct value *v,
		 struct err *e);

/* NULL: the key works; else why not.  ret_text has room for a sentence. */
#define SUBSET_WHY_MAX 160
const char *subset_why_not(const struct subset *s, enum key_id key, char ret_text[SUBSET_WHY_MAX]);

int subset_refuse(const struct subset *s, const char *as, const char *why, struct err *e);

/* The options that work, as --help prints them. */
void subset_help(const struct subset *s, struct buf *out);

#endif
