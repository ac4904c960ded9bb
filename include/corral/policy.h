/* SPDX-License-Identifier: Apache-2.0 */
/* The policy of a run: its keys, its files, and the configuration files that it reads. */
#ifndef CORRAL_POLICY_H
#define CORRAL_POLICY_H

#include "error.h"
#include "format.h"

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

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

/* The JSON Schema of a policy file, and of a skill.toml. */
int corral_policy_schema(char **text, struct corral_error *err);
int corral_skill_schema(char **text, struct corral_error *err);

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

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif
