/* SPDX-License-Identifier: Apache-2.0 */
/* Decides which guarantees a run on Windows enforces, and refuses one that would enforce too
 * little.
 *
 * Should:   name for each guarantee the mechanism, or the reason why it is weaker or absent.
 * Must not: claim a mechanism that the facts do not have: under wine that is nearly all.  Or report
 *           a guarantee as enforced where no row has shown it: the rows ran under wine alone.
 * Fails:    closed: a guarantee without a row is absent. */
#include "windows/enforcement.h"

#include "base/auto.h"
#include "base/str.h"
#include "data/other_builds.h"

#include <stdio.h>

#define WHERE "guarantees"

#define WHY_NO_CONTAINER "this machine has no AppContainer"
#define WHY_UNSET "no limit is set"
#define WHY_LIMIT_ABSENT "the job object of this machine does not enforce this limit"

typedef struct windows_guarantee made_fn(const struct facts *f, const struct run_choices *c);

static bool confined(const struct facts *f, const struct run_choices *c) {
	return enforcement_level(f, c) >= LEVEL_STANDARD;
}

static const char *unconfined(const struct facts *f) {
	return !f->appcontainer && f->appcontainer_why != NULL ? f->appcontainer_why
	       : f->appcontainer                               ? "the level is none"
							       : WHY_NO_CONTAINER;
}

static struct windows_guarantee fs_write(const struct facts *f, const struct run_choices *c) {
	if (!confined(f, c)) {
		return (struct windows_guarantee){.why = unconfined(f)};
	}
	struct windows_guarantee made = {.state = WINDOWS_ENFORCED, .by = {"appcontainer", "acl"}};
	if (f->integrity) {
		made.by[2] = "integrity";
	}
	if (c->values[KEY_MODE].num != MODE_READ_ONLY) {
		made.state = WINDOWS_WEAKER;
		made.why = "names in the workspace that Corral protects on Linux (.git/hooks, "
			   "settings of agents and editors) can be changed; --mode read-only "
			   "protects all";
	}
	return made;
}

static struct windows_guarantee fs_read(const struct facts *f, const struct run_choices *c) {
	return confined(f, c) ? (struct windows_guarantee){.state = WINDOWS_ENFORCED,
							   .by = {"appcontainer", "acl"}}
			      : (struct windows_guarantee){.why = unconfined(f)};
}

static struct windows_guarantee fs_deny(const struct facts *f, const struct run_choices *c) {
	(void)f;
	(void)c;
	return (struct windows_guarantee){
		.why = "rules about names in the workspace are not implemented "
		       "on Windows"};
}

static struct windows_guarantee net(const struct facts *f, const struct run_choices *c) {
	if (c->values[KEY_NET_MODE].num == NET_FULL) {
		return (struct windows_guarantee){.why = "net.mode is full"};
	}
	return confined(f, c) ? (struct windows_guarantee){.state = WINDOWS_ENFORCED,
							   .by = {"appcontainer"}}
			      : (struct windows_guarantee){.why = unconfined(f)};
}

static struct windows_guarantee net_names(const struct facts *f, const struct run_choices *c) {
	(void)f;
	return (struct windows_guarantee){.why = c->values[KEY_NET_MODE].num == NET_FULL
							 ? "every name is allowed: net.mode is full"
							 : "no name is allowed: net.mode is none"};
}

static struct windows_guarantee ipc(const struct facts *f, const struct run_choices *c) {
	if (!confined(f, c)) {
		return (struct windows_guarantee){.why = unconfined(f)};
	}
	struct windows_guarantee made = {
		.state = WINDOWS_WEAKER,
		.by = {"appcontainer"},
		.why = "services of the system that admit every AppContainer can be reached"};
	if (f->job_ui) {
		made.by[1] = "job";
	}
	return made;
}

static struct windows_guarantee pid(const struct facts *f, const struct run_choices *c) {
	return confined(f, c) ? (struct windows_guarantee){.state = WINDOWS_WEAKER,
							   .by = {"appcontainer"},
							   .why = "other processes can be listed, "
								  "but not opened"}
			      : (struct windows_guarantee){.why = unconfined(f)};
}

static struct windows_guarantee env(const struct facts *f, const struct run_choices *c) {
	(void)f;
	(void)c;
	return (struct windows_guarantee){.state = WINDOWS_ENFORCED, .by = {"environment"}};
}

static bool limited(const struct run_choices *c, enum key_id key) {
	return c->values[key].set && c->values[key].num != LIMIT_NONE;
}

static struct windows_guarantee limits_time(const struct facts *f, const struct run_choices *c) {
	if (!limited(c, KEY_LIMITS_TIMEOUT) && !limited(c, KEY_LIMITS_IDLE_TIMEOUT)) {
		return (struct windows_guarantee){.why = WHY_UNSET " (--timeout)"};
	}
	return f->job ? (struct windows_guarantee){.state = WINDOWS_ENFORCED,
						   .by = {"supervisor", "job"}}
		      : (struct windows_guarantee){.why = "there is no job object"};
}

static struct windows_guarantee limits_output(const struct facts *f, const struct run_choices *c) {
	(void)f;
	return c->json && limited(c, KEY_LIMITS_OUTPUT)
		       ? (struct windows_guarantee){.state = WINDOWS_ENFORCED, .by = {"supervisor"}}
		       : (struct windows_guarantee){.why = WHY_UNSET " (--json and --max-output)"};
}

static struct windows_guarantee limits_memory(const struct facts *f, const struct run_choices *c) {
	if (!limited(c, KEY_LIMITS_MEMORY)) {
		return (struct windows_guarantee){.why = WHY_UNSET " (--memory)"};
	}
	return f->job_memory ? (struct windows_guarantee){.state = WINDOWS_ENFORCED, .by = {"job"}}
			     : (struct windows_guarantee){.why = WHY_LIMIT_ABSENT};
}

static struct windows_guarantee limits_processes(const struct facts *f,
						 const struct run_choices *c) {
	if (!limited(c, KEY_LIMITS_PROCESSES)) {
		return (struct windows_guarantee){.why = WHY_UNSET " (--processes)"};
	}
	return f->job_processes ? (struct windows_guarantee){.state = WINDOWS_WEAKER,
							     .by = {"job"},
							     .why = "threads are not counted"}
				: (struct windows_guarantee){.why = WHY_LIMIT_ABSENT};
}

static struct windows_guarantee limits_cpu(const struct facts *f, const struct run_choices *c) {
	if (!limited(c, KEY_LIMITS_CPUS)) {
		return (struct windows_guarantee){.why = WHY_UNSET " (--cpus)"};
	}
	return f->job_cpu ? (struct windows_guarantee){.state = WINDOWS_ENFORCED, .by = {"job"}}
			  : (struct windows_guarantee){.why = WHY_LIMIT_ABSENT};
}

static struct windows_guarantee limits_disk(const struct facts *f, const struct run_choices *c) {
	(void)f;
	(void)c;
	return (struct windows_guarantee){.why = "not implemented on Windows"};
}

static struct windows_guarantee lifetime(const struct facts *f, const struct run_choices *c) {
	(void)c;
	return f->job ? (struct windows_guarantee){.state = WINDOWS_ENFORCED, .by = {"job"}}
		      : (struct windows_guarantee){.why = "there is no job object"};
}

static struct windows_guarantee exec(const struct facts *f, const struct run_choices *c) {
	(void)f;
	(void)c;
	return (struct windows_guarantee){.why = "every program may be executed"};
}

static struct windows_guarantee privileges(const struct facts *f, const struct run_choices *c) {
	if (!f->token) {
		return (struct windows_guarantee){
			.why = "this machine does not restrict the token of the command"};
	}
	return confined(f, c)
		       ? (struct windows_guarantee){.state = WINDOWS_ENFORCED,
						    .by = {"token", "appcontainer"}}
		       : (struct windows_guarantee){
				 .state = WINDOWS_WEAKER,
				 .by = {"token"},
				 .why = "the token has no privileges, but services and files of "
					"the caller are not protected, and act with its rights"};
}

static struct windows_guarantee leaks(const struct facts *f, const struct run_choices *c) {
	(void)f;
	(void)c;
	return (struct windows_guarantee){.why = "corral.exe has no leak scanner"};
}

static const struct {
	const char *name;
	made_fn *make;
	enum key_id limit; /* the key that requests it; KEY_COUNT: none */
} rows[] = {
	{"fs.write", fs_write, KEY_COUNT},
	{"fs.read", fs_read, KEY_COUNT},
	{"fs.deny", fs_deny, KEY_COUNT},
	{"net", net, KEY_COUNT},
	{"net.names", net_names, KEY_COUNT},
	{"ipc", ipc, KEY_COUNT},
	{"pid", pid, KEY_COUNT},
	{"env", env, KEY_COUNT},
	{"limits.time", limits_time, KEY_COUNT},
	{"limits.output", limits_output, KEY_COUNT},
	{"limits.memory", limits_memory, KEY_LIMITS_MEMORY},
	{"limits.processes", limits_processes, KEY_LIMITS_PROCESSES},
	{"limits.cpu", limits_cpu, KEY_LIMITS_CPUS},
	{"limits.disk", limits_disk, KEY_COUNT},
	{"lifetime", lifetime, KEY_COUNT},
	{"exec", exec, KEY_COUNT},
	{"privileges", privileges, KEY_COUNT},
	{"leaks", leaks, KEY_COUNT},
};

enum level enforcement_level(const struct facts *facts, const struct run_choices *c) {
	bool wanted = c->values[KEY_LEVEL].num != LEVEL_NONE;
	return wanted && facts->appcontainer && facts->job ? LEVEL_STANDARD : LEVEL_NONE;
}

static struct windows_guarantee make(size_t row, const struct facts *facts,
				     const struct run_choices *c) {
	struct windows_guarantee made = rows[row].make(facts, c);

	if (made.state == WINDOWS_ENFORCED && !facts->wine) {
		made.state = WINDOWS_WEAKER;
		made.why = NOT_RUN_WINDOWS;
	}
	return made;
}

void enforcement_make(const struct facts *facts, const struct run_choices *c,
		      struct windows_enforcement *ret) {
	const char *const *names = keys[KEY_REQUIRE].choices;
	enum level level = enforcement_level(facts, c);

	*ret = (struct windows_enforcement){
		.level = keys[KEY_LEVEL].choices[level],
		.engine = level == LEVEL_NONE ? "job" : "appcontainer",
	};
	for (; names[ret->count] != NULL && ret->count < GUARANTEES_MAX; ret->count++) {
		struct windows_guarantee *made = &ret->list[ret->count];
		*made = (struct windows_guarantee){.why = "not implemented on Windows"};
		for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
			if (streq(rows[i].name, names[ret->count])) {
				*made = make(i, facts, c);
			}
		}
		made->name = names[ret->count];
	}
}

static bool has(const struct value *list, const char *name) {
	for (size_t i = 0; i < list->count; i++) {
		if (streq(list->items[i].str, name)) {
			return true;
		}
	}
	return false;
}

static int check_level(const struct facts *facts, const struct run_choices *c, struct err *e) {
	enum level level = enforcement_level(facts, c);
	bool chosen = c->values[KEY_LEVEL].num == LEVEL_NONE;
	const char *why = unconfined(facts);

	if (level >= LEVEL_STANDARD) {
		if ((enum level)c->values[KEY_MIN_LEVEL].num <= level) {
			return 0;
		}
		(void)err_set(e, ERR_SETUP, WHERE,
			      "the level would be standard: Windows has no "
			      "higher one");
		return err_fix(e, "lower --min-level");
	}
	if (!chosen) {
		(void)err_set(e, ERR_SETUP, WHERE, "files and network would not be protected: %s",
			      why);
		return err_fix(e, "only limits and a new environment: --level none "
				  "--accept-no-sandbox");
	}
	if (c->values[KEY_ACCEPT_NO_SANDBOX].num == 0) {
		(void)err_set(e, ERR_REFUSED, WHERE,
			      "level none protects neither files nor the "
			      "network");
		return err_fix(e, "accept that with --accept-no-sandbox");
	}
	bool demanded = c->values[KEY_MIN_LEVEL].num > LEVEL_NONE &&
			c->values[KEY_MIN_LEVEL].origin.kind != ORIGIN_BUILTIN;
	return demanded ? err_set(e, ERR_SETUP, WHERE, "the level would be none, below --min-level")
			: 0;
}

int enforcement_check(const struct facts *facts, const struct run_choices *c,
		      const struct windows_enforcement *g, struct err *e) {
	if (check_level(facts, c, e) != 0) {
		return -1;
	}
	for (size_t i = 0; i < g->count; i++) {
		const struct windows_guarantee *made = &g->list[i];
		bool required = has(&c->values[KEY_REQUIRE], made->name);
		if (required && made->state != WINDOWS_ENFORCED) {
			(void)err_set(e, ERR_SETUP, WHERE, "%s is required, but would be %s: %s",
				      made->name, enforcement_state_name(made->state), made->why);
			return err_fix(e, "remove %s from --require", made->name);
		}
	}
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		bool requested = rows[i].limit != KEY_COUNT && limited(c, rows[i].limit);
		struct windows_guarantee made = make(i, facts, c);
		if (requested && made.state == WINDOWS_ABSENT &&
		    !has(&c->values[KEY_ALLOW_DEGRADED], rows[i].name)) {
			(void)err_set(e, ERR_SETUP, WHERE, "%s would be absent: %s", rows[i].name,
				      made.why);
			return err_fix(e, "accept it with --allow-degraded %s", rows[i].name);
		}
	}
	return 0;
}

const char *enforcement_state_name(enum windows_state state) {
	static const char *const names[] = {
		[WINDOWS_ABSENT] = "absent",
		[WINDOWS_WEAKER] = "weaker",
		[WINDOWS_ENFORCED] = "enforced",
	};
	return names[state];
}

void enforcement_put(struct emit *j, const struct windows_enforcement *g) {
	emit_array(j, "guarantees");
	for (size_t i = 0; i < g->count; i++) {
		const struct windows_guarantee *made = &g->list[i];
		emit_object(j, NULL);
		emit_string(j, "name", made->name);
		emit_string(j, "state", enforcement_state_name(made->state));
		emit_strings(j, "by", made->by, GUARANTEE_BY_MAX);
		if (made->why != NULL) {
			emit_string(j, "why", made->why);
		}
		emit_end_object(j);
	}
	emit_end_array(j);
}
