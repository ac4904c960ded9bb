/* SPDX-License-Identifier: Apache-2.0 */
/* The default values of a policy, and the profiles that override them. */
#ifndef CORRAL_DATA_PROFILES_H
#define CORRAL_DATA_PROFILES_H

#include "data/keys.h"

/* A default value, as written in a policy file. */
struct default_row {
	enum key_id key;
	const char *person;    /* for a person at a terminal */
	const char *tool_call; /* for a program; NULL means the same */
	const char *reason;
};

struct profile {
	const char *name;
	const char *help; /* one sentence, for messages and the manual */
};

struct profile_row {
	const char *profile;
	enum key_id key;
	const char *value; /* as written on the command line */
	const char *reason;
};

extern const struct default_row default_rows[];
extern const size_t default_rows_count;
extern const struct profile profiles[]; /* sorted by name */
extern const size_t profiles_count;
extern const struct profile_row profile_rows[]; /* grouped by profile, in the same order */
extern const size_t profile_rows_count;

/* The profile with that name, or NULL. */
const struct profile *profile_by_name(const char *name);

/* False for a profile with a value that is not implemented and refused by name. */
bool profile_is_usable(const char *name);

#endif
