/* SPDX-License-Identifier: Apache-2.0 */
/* The policy handle: the caller's settings, copied and not yet checked.
 *
 * Should:   keep settings in the order of the calls; reject an unknown key at once, in the
 *           call that set it.
 * Must not: read files or probe the host: prepare.c does at each use.
 * Fails:    closed: a setting that cannot be stored is an error, never dropped. */
#include "lib/internal.h"

#include "base/auto.h"
#include "base/str.h"

struct corral_policy *corral_policy_new(void) {
	return calloc(1, sizeof(struct corral_policy));
}

void corral_policy_free(struct corral_policy *policy) {
	if (policy == NULL) {
		return;
	}
	if (policy->stream != NULL && !policy->derived) {
		arena_done(&policy->stream->arena);
		free(policy->stream);
	}
	arena_done(&policy->arena);
	free(policy);
}

void policy_derive(const struct corral_policy *from, struct corral_policy *own) {
	*own = *from;
	arena_init(&own->arena);
	own->settings_cap = own->nsettings; /* full: the next setting copies the array */
}

struct corral_policy *corral_policy_derive(const struct corral_policy *policy) {
	struct corral_policy *own = policy == NULL ? NULL : calloc(1, sizeof *own);

	if (own != NULL) {
		policy_derive(policy, own);
		own->derived = true;
	}
	return own;
}

/* A setting after the stream was resolved would have no effect. */
static int check_open(const struct corral_policy *policy, struct err *e) {
	if (policy == NULL) {
		return err_set(e, ERR_USAGE, "library", "the policy is NULL");
	}
	if (policy->stream != NULL && policy->stream->read) {
		return err_set(e, ERR_USAGE, "library",
			       "the policy was already read from %s; settings are too late",
			       policy->file);
	}
	return 0;
}

static int add_setting(struct corral_policy *policy, const struct setting *setting, struct err *e) {
	struct setting copy = {
		.key = arena_strdup(&policy->arena, setting->key),
		.value = arena_strdup(&policy->arena, setting->value),
		.origin = arena_strdup(&policy->arena, setting->origin),
	};
	if (copy.key == NULL || copy.value == NULL || copy.origin == NULL ||
	    arena_grow(&policy->arena, &policy->settings, policy->nsettings, &policy->settings_cap,
		       sizeof *policy->settings) != 0) {
		return err_memory(e, "library");
	}
	policy->settings[policy->nsettings++] = copy;
	return 0;
}

static int set_key(struct corral_policy *policy, const struct setting *setting, struct err *e) {
	if (check_open(policy, e) != 0) {
		return -1;
	}
	if (setting->key == NULL || setting->value == NULL || setting->origin == NULL) {
		return err_set(e, ERR_USAGE, "library", "the key, the value or the origin is NULL");
	}
	if (key_by_name(setting->key) == NULL && !str_starts(setting->key, "commands.")) {
		(void)err_set(e, ERR_USAGE, "policy", "%s: unknown key \"%s\"", setting->origin,
			      setting->key);
		return err_fix(e, "list the keys: corral policy show, or man corral-policy");
	}
	return add_setting(policy, setting, e);
}

int corral_policy_set_from(struct corral_policy *policy, const char *key, const char *value,
			   const char *origin, struct corral_error *err) {
	struct err e = {0};
	struct setting setting = {.key = key, .value = value, .origin = origin};
	return set_key(policy, &setting, &e) == 0 ? 0 : lib_fail(&e, err);
}

int corral_policy_set(struct corral_policy *policy, const char *key, const char *value,
		      struct corral_error *err) {
	return corral_policy_set_from(policy, key, value, "corral_policy_set", err);
}

static int set_file(struct corral_policy *policy, const char *path, struct err *e) {
	if (check_open(policy, e) != 0) {
		return -1;
	}
	if (path == NULL || path[0] == '\0') {
		return err_set(e, ERR_USAGE, "policy", "the name of the policy file is empty");
	}
	if (policy->file != NULL) {
		(void)err_set(e, ERR_USAGE, "policy", "two policy files: %s and %s", policy->file,
			      path);
		return err_fix(e, "merge them into one file, or use --set KEY=VALUE");
	}
	char *copy = arena_strdup(&policy->arena, path);
	if (copy == NULL) {
		return err_memory(e, "library");
	}
	if (streq(path, "-") || str_starts(path, "fd:")) {
		policy->stream = calloc(1, sizeof *policy->stream);
		if (policy->stream == NULL) {
			return err_memory(e, "library");
		}
	}
	policy->file = copy;
	return 0;
}

int corral_policy_file(struct corral_policy *policy, const char *path, struct corral_error *err) {
	struct err e = {0};
	return set_file(policy, path, &e) == 0 ? 0 : lib_fail(&e, err);
}

void corral_policy_no_config(struct corral_policy *policy) {
	if (policy != NULL) {
		policy->no_config = true;
	}
}

void corral_policy_passphrase(struct corral_policy *policy,
			      const struct corral_passphrase *passphrase) {
	if (policy != NULL && passphrase != NULL) {
		policy->passphrase = (struct passphrase_source){.read = passphrase->read,
								.arg = passphrase->arg};
	}
}

void corral_policy_for_person(struct corral_policy *policy) {
	if (policy != NULL) {
		policy->person = true;
	}
}
