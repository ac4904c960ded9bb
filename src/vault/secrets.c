/* SPDX-License-Identifier: Apache-2.0 */
/* The list of secrets in an open vault: found, added, removed, checked.
 *
 * Should:   keep one secret per name and agent, in the order of their names.
 * Must not: copy a value: the list points into the plaintext or to the caller's bytes (V3).
 * Fails:    closed: a name that a loader or Corral uses is refused when it is set. */
#include "vault/vault.h"

#include "base/auto.h"
#include "base/str.h"
#include "data/environment.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#define WHERE "vault"

const char *const vault_expose_names[] = {"env", "file", "never", NULL};
const char *const vault_key_kind_names[] = {"", "file", "keyring", "passphrase", NULL};

static int order(const char *name, const char *agent, const struct secret *s) {
	int by_name = strcmp(name, s->name);
	return by_name != 0 ? by_name : strcmp(agent, s->agent);
}

/* The first secret that does not sort before this one. */
static size_t place_of(const struct vault *v, const char *name, const char *agent) {
	size_t low = 0, high = v->n;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (order(name, agent, &v->list[middle]) > 0) {
			low = middle + 1;
		} else {
			high = middle;
		}
	}
	return low;
}

static bool is_at(const struct vault *v, size_t i, const char *name, const char *agent) {
	return i < v->n && order(name, agent, &v->list[i]) == 0;
}

const struct secret *vault_find(const struct vault *v, const char *name, const char *agent) {
	size_t i = place_of(v, name, agent);
	return is_at(v, i, name, agent) ? &v->list[i] : NULL;
}

static int make_room(struct vault *v, struct err *e) {
	if (v->n >= VAULT_SECRETS_MAX) {
		return err_set(e, ERR_USAGE, WHERE, "the vault holds at most %zu secrets",
			       VAULT_SECRETS_MAX);
	}
	if (v->n < v->cap) {
		return 0;
	}
	size_t cap = v->cap == 0 ? 16 : v->cap * 2;
	struct secret *grown = realloc(v->list, cap * sizeof *grown);
	if (grown == NULL) {
		return err_memory(e, WHERE);
	}
	v->list = grown;
	v->cap = cap;
	return 0;
}

int vault_put(struct vault *v, const struct secret *s, struct err *e) {
	size_t i = place_of(v, s->name, s->agent);
	if (is_at(v, i, s->name, s->agent)) {
		v->list[i] = *s;
		return 0;
	}
	if (make_room(v, e) != 0) {
		return -1;
	}
	memmove(&v->list[i + 1], &v->list[i], (v->n - i) * sizeof *v->list);
	v->list[i] = *s;
	v->n++;
	return 0;
}

bool vault_remove(struct vault *v, const char *name, const char *agent) {
	size_t i = place_of(v, name, agent);
	if (!is_at(v, i, name, agent)) {
		return false;
	}
	memmove(&v->list[i], &v->list[i + 1], (v->n - i - 1) * sizeof *v->list);
	v->n--;
	return true;
}

/* ---- checks ---- */

static bool is_letter(char c) {
	return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_';
}

static bool is_digit(char c) {
	return c >= '0' && c <= '9';
}

static bool name_is_valid(const char *name) {
	size_t n = 0;
	while (is_letter(name[n]) || (n > 0 && is_digit(name[n]))) {
		n++;
	}
	return n > 0 && name[n] == '\0' && n <= VAULT_NAME_MAX;
}

/* Variables that the plan sets itself. */
static const char *const computed[] = {"HOME", "PATH", "PWD", "TMPDIR"};

int secret_check_variable(const char *name, struct err *e) {
	const struct env_row *row = environment_row_for(name);
	for (size_t i = 0; i < ARRAY_LEN(computed); i++) {
		if (streq(computed[i], name)) {
			return err_set(e, ERR_USAGE, WHERE, "%s: Corral sets this variable itself",
				       name);
		}
	}
	if (row == NULL || (row->class != ENV_DANGEROUS && row->class != ENV_RESERVED)) {
		return 0;
	}
	return err_set(e, ERR_USAGE, WHERE, "%s cannot be the name of a secret: %s", name,
		       row->reason);
}

int secret_check_name(const char *name, struct err *e) {
	if (name_is_valid(name)) {
		return 0;
	}
	/* Not printed: a value may have been given in place of the name. */
	(void)err_set(e, ERR_USAGE, WHERE, "the name of a secret is not valid");
	return err_fix(e, "use at most %zu letters, digits and _, and no digit first",
		       VAULT_NAME_MAX);
}

int secret_check_agent(const char *agent, struct err *e) {
	size_t n = 0;
	while (is_letter(agent[n]) || is_digit(agent[n]) ||
	       (n > 0 && agent[n] != '\0' && strchr("-.@:", agent[n]) != NULL)) {
		n++;
	}
	if (n > 0 && agent[n] == '\0' && n <= VAULT_NAME_MAX) {
		return 0;
	}
	(void)err_set(e, ERR_USAGE, WHERE, "the name of the agent is not valid");
	return err_fix(e, "use letters, digits, _ and after the first also - . @ :");
}

static int check_scope(const struct secret *s, struct err *e) {
	if (s->agent[0] != '\0' && secret_check_agent(s->agent, e) != 0) {
		return -1;
	}
	if (s->workspace[0] != '\0' &&
	    (s->workspace[0] != '/' || strlen(s->workspace) >= PATH_MAX)) {
		return err_set(e, ERR_USAGE, WHERE, "the workspace of %s is not an absolute path",
			       s->name);
	}
	if (strlen(s->host) > VAULT_NAME_MAX || str_control_length(s->host) != 0) {
		return err_set(e, ERR_USAGE, WHERE, "the host of %s is not a host name", s->name);
	}
	return 0;
}

int secret_check(const struct secret *s, struct err *e) {
	if (secret_check_name(s->name, e) != 0 || check_scope(s, e) != 0) {
		return -1;
	}
	if (s->len > VAULT_VALUE_MAX) {
		return err_set(e, ERR_USAGE, WHERE, "the value of %s is larger than %zu KiB",
			       s->name, VAULT_VALUE_MAX >> 10);
	}
	if (s->expose == EXPOSE_ENV && s->len > 0 && memchr(s->value, '\0', s->len) != NULL) {
		(void)err_set(e, ERR_USAGE, WHERE,
			      "the value of %s has a NUL byte, which no variable can have",
			      s->name);
		return err_fix(e, "expose it as a file: --expose file");
	}
	return 0;
}

int vault_expose_parse(const char *text, enum vault_expose *ret, struct err *e) {
	for (int i = 0; vault_expose_names[i] != NULL; i++) {
		if (streq(vault_expose_names[i], text)) {
			*ret = (enum vault_expose)i;
			return 0;
		}
	}
	(void)err_set(e, ERR_USAGE, WHERE, "expose = \"%.40s\": %s", text,
		      streq(text, "proxy") ? "not implemented in this version" : "unknown value");
	return err_fix(e, "use env, file or never");
}

int vault_key_kind_parse(const char *text, enum vault_key_kind *ret, struct err *e) {
	for (int i = VAULT_KEY_FILE; vault_key_kind_names[i] != NULL; i++) {
		if (streq(vault_key_kind_names[i], text)) {
			*ret = (enum vault_key_kind)i;
			return 0;
		}
	}
	(void)err_set(e, ERR_USAGE, WHERE, "unknown kind of key \"%.40s\"", text);
	return err_fix(e, "use file, keyring or passphrase");
}
