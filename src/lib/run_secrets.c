/* SPDX-License-Identifier: Apache-2.0 */
/* The secrets of one run: selected from the vault, named in the plan, copied for the command.
 *
 * Should:   open the vault only if the policy names a secret or an agent, and never for the
 *           self-test, whose home is not the caller's; close it before any process is created.
 * Must not: copy a value to any memory but the vault's and that of backend/secrets.h (V3).
 * Fails:    closed: a secret that the run cannot have stops it before anything runs. */
#include "lib/internal.h"

#include "base/auto.h"
#include "base/path.h"
#include "base/str.h"
#include "vault/select.h"

#include <limits.h>
#include <stdlib.h>
#include <sys/utsname.h>

#define WHERE "vault"

#define KEY_NAME "vault.key"
#define DIR_NAME "vault"

int run_secrets_place(struct arena *a, const struct host *h, struct vault_place *ret,
		      struct err *e) {
	const char *config = plan_caller_variable(h, "XDG_CONFIG_HOME");
	if (h->home == NULL || h->state_dir == NULL) {
		(void)err_set(e, ERR_SETUP, WHERE, "there is no home directory for the vault");
		return err_fix(e, "set HOME to a directory that exists");
	}
	bool xdg = config != NULL && config[0] == '/';
	ret->dir = path_join(a, h->state_dir, DIR_NAME);
	ret->key_file = path_join(a, xdg ? config : h->home,
				  xdg ? "corral/" KEY_NAME : ".config/corral/" KEY_NAME);
	return ret->dir == NULL || ret->key_file == NULL ? err_memory(e, WHERE) : 0;
}

/* "NAME=VARIABLE" or "NAME". */
static int split(struct arena *a, const char *text, struct select_wanted *ret) {
	size_t len = strcspn(text, "=");
	ret->name = arena_strndup(a, text, len);
	ret->variable = text[len] == '=' ? arena_strdup(a, text + len + 1) : NULL;
	return ret->name == NULL || (text[len] == '=' && ret->variable == NULL) ? -1 : 0;
}

static int read_wanted(struct prepared *p, struct select_run *run, struct err *e) {
	const struct value *names = &p->policy.values[KEY_ENV_SECRETS];
	struct select_wanted *list = arena_array(&p->arena, names->count + 1, sizeof *list);
	if (list == NULL) {
		return err_memory(e, WHERE);
	}
	for (size_t i = 0; i < names->count; i++) {
		if (split(&p->arena, names->items[i].str, &list[i]) != 0) {
			return err_memory(e, WHERE);
		}
		list[i].optional = names->items[i].optional;
	}
	run->agent = policy_str(&p->policy, KEY_ENV_AGENT);
	run->wanted = list;
	run->nwanted = names->count;
	return run->agent == NULL ? 0 : secret_check_agent(run->agent, e);
}

/* The floor of /etc/corral may list the secrets that runs may have; its items are names. */
static int check_floor(const struct policy *policy, const struct secret *s, struct err *e) {
	const struct value *floor = policy_floor(policy, KEY_ENV_SECRETS);
	for (size_t i = 0; floor != NULL && i < floor->count; i++) {
		const char *name = floor->items[i].str;
		size_t len = strcspn(name, "=");
		if (strlen(s->name) == len && strncmp(name, s->name, len) == 0) {
			return 0;
		}
	}
	return floor == NULL
		       ? 0
		       : err_set(e, ERR_REFUSED, WHERE,
				 "secret %s is not in env.secrets of the floor of /etc/corral",
				 s->name);
}

/* The names, for the plan. */
static int name_secrets(struct prepared *p, const struct selected *list, size_t n, struct err *e) {
	struct host_secret *names = arena_array(&p->arena, n + 1, sizeof *names);
	if (names == NULL) {
		return err_memory(e, WHERE);
	}
	for (size_t i = 0; i < n; i++) {
		const struct secret *s = list[i].secret;
		if (check_floor(&p->policy, s, e) != 0) {
			return -1;
		}
		names[i] = (struct host_secret){
			.name = arena_strdup(&p->arena, s->name),
			.agent = arena_strdup(&p->arena, s->agent),
			.variable = arena_strdup(&p->arena, list[i].variable),
			.file = s->expose == EXPOSE_FILE,
		};
		if (names[i].name == NULL || names[i].agent == NULL || names[i].variable == NULL) {
			return err_memory(e, WHERE);
		}
	}
	p->host.secrets = names;
	p->host.nsecrets = n;
	return 0;
}

/* Room for "VARIABLE=VALUE" with its NUL. */
static size_t room_for(const struct selected *s) {
	return strlen(s->variable) + 1 + s->secret->len + 1;
}

static void copy_value(struct secrets *to, const struct selected *from,
		       const struct host_secret *name, struct secret_bytes *ret) {
	const struct secret *s = from->secret;
	size_t prefix = name->file ? 0 : strlen(name->variable) + 1;
	char *bytes = secrets_take(to, room_for(from));
	if (!name->file) {
		memcpy(bytes, name->variable, prefix - 1);
		bytes[prefix - 1] = '=';
	}
	if (s->len > 0) {
		memcpy(bytes + prefix, s->value, s->len);
	}
	*ret = (struct secret_bytes){
		.name = name->variable, .bytes = bytes, .len = prefix + s->len};
}

static int copy_values(struct prepared *p, const struct selected *list, size_t n, struct err *e) {
	size_t size = 1;
	for (size_t i = 0; i < n; i++) {
		size += room_for(&list[i]);
	}
	struct secret_bytes *copies = arena_array(&p->arena, n + 1, sizeof *copies);
	if (copies == NULL) {
		return err_memory(e, WHERE);
	}
	if (secrets_new(size, &p->secrets, e) != 0) {
		return -1;
	}
	for (size_t i = 0; i < n; i++) {
		copy_value(&p->secrets, &list[i], &p->host.secrets[i], &copies[i]);
	}
	p->secrets.list = copies;
	p->secrets.n = n;
	return 0;
}

static bool is_wanted(const struct select_run *run, const char *name) {
	for (size_t i = 0; i < run->nwanted; i++) {
		if (streq(run->wanted[i].name, name)) {
			return true;
		}
	}
	return false;
}

static bool is_requested(const struct policy *policy, const char *name) {
	for (size_t i = 0; i < policy->nagent_secrets; i++) {
		if (streq(policy->agent_secrets[i], name)) {
			return true;
		}
	}
	return false;
}

/* A skill gets of the agent's secrets those that it requests. */
static size_t keep_requested(const struct policy *policy, const struct select_run *run,
			     struct selected *list, size_t n) {
	size_t kept = 0;
	for (size_t i = 0; i < n; i++) {
		const char *name = list[i].secret->name;
		if (!policy->agent_secrets_bound || is_wanted(run, name) ||
		    is_requested(policy, name)) {
			list[kept++] = list[i];
		}
	}
	return kept;
}

static int select_from(struct prepared *p, const struct vault *v, const struct select_run *wanted,
		       struct err *e) {
	struct select_run run = *wanted;
	char workspace[PATH_MAX];
	struct utsname host;
	const char *given = policy_str(&p->policy, KEY_WORKSPACE);
	if (given == NULL || realpath(given, workspace) == NULL || uname(&host) != 0) {
		return err_sys_at(e, WHERE, "cannot resolve the workspace",
				  given == NULL ? "" : given);
	}
	run.workspace = workspace;
	run.host = host.nodename;
	auto_free struct selected *list = NULL;
	size_t n = 0;
	if (vault_select(v, &run, &list, &n, e) != 0) {
		return -1;
	}
	n = keep_requested(&p->policy, &run, list, n);
	if (name_secrets(p, list, n, e) != 0) {
		return -1;
	}
	return n == 0 || p->secrets_use == SECRETS_NAMED ? 0 : copy_values(p, list, n, e);
}

int run_secrets_find(const struct corral_policy *policy, struct prepared *p, struct err *e) {
	struct select_run run = {0};
	struct vault_place place;
	struct vault v;
	if (p->secrets_use == SECRETS_IGNORED || policy->plant != NULL ||
	    (p->policy.values[KEY_ENV_SECRETS].count == 0 &&
	     !p->policy.values[KEY_ENV_AGENT].set)) {
		return 0;
	}
	if (read_wanted(p, &run, e) != 0 ||
	    run_secrets_place(&p->arena, &p->host, &place, e) != 0) {
		return -1;
	}
	int rc = vault_open(&place, VAULT_READ, VAULT_KEY_ANY, &policy->passphrase, &v, e) != 0
			 ? -1
			 : select_from(p, &v, &run, e);
	vault_close(&v);
	return rc;
}
