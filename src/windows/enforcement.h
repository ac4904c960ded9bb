/* SPDX-License-Identifier: Apache-2.0 */
/* The guarantees of a run on this machine: pure, from facts about the machine and the choices. */
#ifndef CORRAL_WINDOWS_ENFORCEMENT_H
#define CORRAL_WINDOWS_ENFORCEMENT_H

#include "base/emit.h"
#include "base/err.h"
#include "windows/choices.h"

#include <stdbool.h>
#include <stddef.h>

/* Facts about the machine.  A mechanism counts only if it was seen to work: wine and old versions
 * accept calls that have no effect. */
struct facts {
	bool wine;
	const char *version;          /* "10.0.19045", "wine 8.0" */
	bool appcontainer;            /* CreateAppContainerProfile */
	const char *appcontainer_why; /* else: the reason */
	bool token;                   /* CreateRestrictedToken takes privileges away */
	bool integrity;               /* the token is at low integrity */
	bool job;                     /* kill on close */
	bool job_memory, job_processes, job_cpu, job_ui;
};

enum windows_state { WINDOWS_ABSENT, WINDOWS_WEAKER, WINDOWS_ENFORCED };

#define GUARANTEE_BY_MAX 3

struct windows_guarantee {
	const char *name;
	enum windows_state state;
	const char *by[GUARANTEE_BY_MAX];
	const char *why; /* unless it is enforced */
};

#define GUARANTEES_MAX 24

struct windows_enforcement {
	struct windows_guarantee list[GUARANTEES_MAX];
	size_t count;
	const char *level, *engine;
};

/* The level that the machine gives: standard with AppContainer, else none. */
enum level enforcement_level(const struct facts *facts, const struct run_choices *c);

/* The names are those of the key `require`, in its order. */
void enforcement_make(const struct facts *facts, const struct run_choices *c,
		      struct windows_enforcement *ret);

/* Refuses a run that would have less than the choices require: level, --require, and limits that
 * were set, unless --allow-degraded names them. */
int enforcement_check(const struct facts *facts, const struct run_choices *c,
		      const struct windows_enforcement *g, struct err *e);

void enforcement_put(struct emit *j, const struct windows_enforcement *g);
const char *enforcement_state_name(enum windows_state state);

#endif
