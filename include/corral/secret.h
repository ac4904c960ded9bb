/* SPDX-License-Identifier: Apache-2.0 */
/* The vault of secrets: sets, lists, imports and exports them. */
#ifndef CORRAL_SECRET_H
#define CORRAL_SECRET_H

#include "error.h"
#include "format.h"
#include "policy.h"

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

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
