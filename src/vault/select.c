/* SPDX-License-Identifier: Apache-2.0 */
/* Selects the secrets of a run: those of its agent, and those that it names.
 *
 * Should:   say for every refusal which scope excludes the run.
 * Must not: give a shared secret to a run that does not name it, or one agent's secret to another
 *           (V4).
 * Fails:    closed: one name that cannot be given stops the run. */
#include "vault/select.h"

#include "base/auto.h"
#include "base/path.h"
#include "base/str.h"

#include <stdlib.h>

#define WHERE "vault"

struct choice {
	struct selected *list;
	size_t n;
};

/* The reason why this run cannot have the secret, or NULL. */
static const char *excluded(const struct secret *s, const struct select_run *run) {
	if (s->expose == EXPOSE_NEVER) {
		return "it is stored with expose = never";
	}
	if (s->workspace[0] != '\0' && !path_within(run->workspace, s->workspace)) {
		return "it is for another workspace";
	}
	if (s->host[0] != '\0' && !streq(s->host, run->host)) {
		return "it is for another host";
	}
	return NULL;
}

static int add(struct choice *c, const struct selected *one, struct err *e) {
	for (size_t i = 0; i < c->n; i++) {
		struct selected *have = &c->list[i];
		if (have->secret == one->secret && have->of_agent) {
			/* Named as well: its variable counts. */
			*have = c->list[--c->n];
			i--;
		} else if (streq(have->variable, one->variable)) {
			return have->secret == one->secret
				       ? 0
				       : err_set(e, ERR_USAGE, WHERE,
						 "secrets %s and %s would set the same variable %s",
						 have->secret->name, one->secret->name,
						 one->variable);
		}
	}
	c->list[c->n++] = *one;
	return 0;
}

static int unknown(const struct vault *v, const struct select_run *run, const char *name,
		   struct err *e) {
	for (size_t i = 0; i < v->n; i++) {
		if (!streq(v->list[i].name, name)) {
			continue;
		}
		(void)err_set(e, ERR_REFUSED, WHERE, "secret %s is not for this run: %s", name,
			      run->agent == NULL ? "it belongs to an agent"
						 : "it belongs to another agent");
		return err_fix(e, "list the secrets: corral secret list; name the agent: --agent "
				  "ID");
	}
	(void)err_set(e, ERR_USAGE, WHERE, "there is no secret %s", name);
	return err_fix(e, "set it: corral secret set %s; list the secrets: corral secret list",
		       name);
}

static int add_named(const struct vault *v, const struct select_run *run,
		     const struct select_wanted *w, struct choice *c, struct err *e) {
	const struct secret *s = run->agent == NULL ? NULL : vault_find(v, w->name, run->agent);
	s = s != NULL ? s : vault_find(v, w->name, "");
	const char *why = s == NULL ? NULL : excluded(s, run);
	if (w->optional && (s == NULL || why != NULL)) {
		return 0;
	}
	if (s == NULL) {
		return unknown(v, run, w->name, e);
	}
	if (why != NULL) {
		(void)err_set(e, ERR_REFUSED, WHERE, "secret %s is not for this run: %s", w->name,
			      why);
		return err_fix(e, "list the scopes: corral secret list");
	}
	const char *variable = w->variable != NULL ? w->variable : s->name;
	if (w->variable == NULL && secret_check_variable(variable, e) != 0) {
		return -1;
	}
	return add(c, &(struct selected){.secret = s, .variable = variable}, e);
}

static int add_of_agent(const struct vault *v, const struct select_run *run, struct choice *c,
			struct err *e) {
	for (size_t i = 0; run->agent != NULL && i < v->n; i++) {
		const struct secret *s = &v->list[i];
		if (!streq(s->agent, run->agent) || excluded(s, run) != NULL) {
			continue;
		}
		struct selected one = {.secret = s, .variable = s->name, .of_agent = true};
		if (secret_check_variable(s->name, e) != 0 || add(c, &one, e) != 0) {
			return -1;
		}
	}
	return 0;
}

int vault_select(const struct vault *v, const struct select_run *run, struct selected **ret,
		 size_t *ret_n, struct err *e) {
	auto_free struct selected *list = calloc(v->n + run->nwanted + 1, sizeof *list);
	struct choice c = {.list = list};
	if (list == NULL) {
		return err_memory(e, WHERE);
	}
	if (add_of_agent(v, run, &c, e) != 0) {
		return -1;
	}
	for (size_t i = 0; i < run->nwanted; i++) {
		if (add_named(v, run, &run->wanted[i], &c, e) != 0) {
			return -1;
		}
	}
	*ret = take_ptr(list);
	*ret_n = c.n;
	return 0;
}
