/* SPDX-License-Identifier: Apache-2.0 */
/* Plans the secrets of a run: a variable each, or a file on the sandbox's own tmpfs, or without
 * namespaces in the run's own directory.
 *
 * Should:   plan names and places; backend/secrets.h fills in the values.
 * Must not: hold a value: a plan is printed.
 * Fails:    closed: without Landlock other sandboxes could read the file, and a secret that is
 *           exposed as a file stops the run. */
#include "plan/internal.h"

#include "base/str.h"
#include "data/providers.h"

#define SECRETS_DIR OWN_DIR "/secrets"

/* Without namespaces the run's directory is the only place that other sandboxes do not have. */
static const char *path_of(struct builder *b, const struct host_secret *s) {
	return b->no_namespaces
		       ? plan_keep_printf(b, "%s/.secret-%s", b->plan->run_dir, s->variable)
		       : plan_keep_printf(b, SECRETS_DIR "/%s", s->variable);
}

int plan_secrets_show(struct builder *b, struct err *e) {
	const struct host *h = b->h;
	bool any = false;

	b->plan->secrets = h->secrets;
	b->plan->nsecrets = h->nsecrets;
	for (size_t i = 0; i < h->nsecrets; i++) {
		const struct host_secret *s = &h->secrets[i];
		if (!s->file) {
			continue;
		}
		if (b->plan->engine < ENGINE_LANDLOCK) {
			(void)err_set(e, ERR_SETUP, WHERE,
				      "secret %s is exposed as a file, which needs namespaces or "
				      "Landlock: other sandboxes could read it",
				      s->name);
			return err_fix(e,
				       "expose it as a variable: corral secret set %s --expose "
				       "env",
				       s->name);
		}
		struct mount m = {
			.kind = MOUNT_FILE,
			.target = path_of(b, s),
			.text = "",
			.secret = s->variable,
			.mode = 0400,
			.reach = REACH_READ,
			.is_file = true,
			.note = "secret",
		};
		mount_request_add(b, m, RANK_OWN);
		any = true;
	}
	if (any && !b->no_namespaces) {
		mount_request_dir(b, OWN_DIR, 0755, REACH_READ);
		mount_request_dir(b, SECRETS_DIR, 0700, REACH_READ);
	}
	return 0;
}

bool plan_secrets_has(const struct host *h, const char *variable) {
	for (size_t i = 0; i < h->nsecrets; i++) {
		if (streq(h->secrets[i].variable, variable)) {
			return true;
		}
	}
	return false;
}

static bool has_key(const struct builder *b, const struct provider *row) {
	for (size_t i = 0; i < PROVIDER_ITEMS && row->variables[i] != NULL; i++) {
		size_t n = strlen(row->variables[i]);
		if (plan_secrets_has(b->h, row->variables[i])) {
			return true;
		}
		for (size_t k = 0; k < b->plan->nenv; k++) {
			const char *entry = b->plan->env[k];
			if (strncmp(entry, row->variables[i], n) == 0 && entry[n] == '=') {
				return true;
			}
		}
	}
	return row->variables[0] == NULL;
}

/* A provider whose key is nowhere, unless the login of an account is granted. */
static void warn_without_key(struct builder *b, const struct provider *row) {
	const char *login = row->login == NULL || b->h->home == NULL
				    ? NULL
				    : plan_keep_printf(b, "%s/%s", b->h->home, row->login);
	if (has_key(b, row) ||
	    (login != NULL && plan_visibility(b->plan, login) >= VISIBILITY_READ)) {
		return;
	}
	plan_warn(b, plan_keep_printf(b,
				      "provider %s has no key: %s is neither in the vault nor in "
				      "your environment; store it: corral secret set %s%s%s",
				      row->name, row->variables[0], row->variables[0],
				      row->login == NULL ? "" : "; or grant the login: --read ~/",
				      row->login == NULL ? "" : row->login));
}

void plan_secrets_variables(struct builder *b) {
	const struct value *names = &b->p->values[KEY_PROVIDERS];
	for (size_t i = 0; i < b->plan->nsecrets; i++) {
		const struct host_secret *s = &b->plan->secrets[i];
		if (s->file) {
			plan_set_entry(
				b, plan_keep_printf(b, "%s_FILE=%s", s->variable, path_of(b, s)));
		} else {
			plan_set_entry(b, plan_keep_printf(b, "%s=", s->variable));
		}
	}
	for (size_t i = 0; i < names->count; i++) {
		const struct provider *row = provider_by_name(names->items[i].str);
		if (row != NULL) {
			warn_without_key(b, row);
		}
	}
}
