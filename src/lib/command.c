/* SPDX-License-Identifier: Apache-2.0 */
/* Checks a command by the rules of commands.NAME, before a run and for `corral check command`.
 *
 * Should:   judge with PATH, directory and workspace of the plan that would run the command.
 * Must not: run anything.
 * Fails:    closed: a refused command is an error of the run. */
#include "lib/command_verdict.h"

#include "base/path.h"
#include "base/str.h"
#include "files/place.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

const char *command_search_path(const struct plan *plan) {
	for (size_t i = 0; i < plan->nenv; i++) {
		if (str_starts(plan->env[i], "PATH=")) {
			return plan->env[i] + strlen("PATH=");
		}
	}
	return "";
}

/* A name that does not exist yet is resolved up to its last directory that does. */
static bool resolve(void *ctx, const char *path, char *ret, size_t cap) {
	const struct prepared *p = ctx;
	struct lens v = {.plan = &p->plan, .policy = &p->policy, .fast = true, .for_command = true};
	struct place found;
	struct err ignored;

	if (place_find(&v, path, 0, &found, &ignored) != 0) {
		return false;
	}
	int n = snprintf(ret, cap, "%s", found.path[0] == '\0' ? "/" : found.path);
	place_done(&found);
	return n > 0 && (size_t)n < cap;
}

int command_decide(struct prepared *p, const char *const *argv, struct command_verdict *ret,
		   struct err *e) {
	struct command_question q = {
		.policy = &p->policy,
		.path = command_search_path(&p->plan),
		.cwd = p->plan.cwd,
		.workspace = p->plan.workspace_at,
		.home = p->plan.home_at,
		.resolve = resolve,
		.ctx = p,
	};
	return command_judge(&p->arena, &q, argv, ret, e);
}

/* The rules about a command's arguments hold for the directory that they are relative to. */
static int check_directory(struct prepared *p, struct err *e) {
	const struct plan *plan = &p->plan;
	const char *at = plan->cwd;

	if (policy_num(&p->policy, KEY_FS_TOOLS) != TOOLS_WORKSPACE ||
	    path_within(at, plan->workspace_at) || path_within(at, "/tmp")) {
		return 0;
	}
	(void)err_set(e, ERR_REFUSED, "command",
		      "the directory %.80s is outside the workspace %.80s (fs.tools)", at,
		      plan->workspace_at);
	return err_fix(e, "use a directory in the workspace, or --set fs.tools=view");
}

int command_start_in(struct prepared *p, const char *directory, struct err *e) {
	char real[PATH_MAX];

	if (directory == NULL) {
		return 0;
	}
	/* As the kernel resolves it: ".." after a symlink is not the directory before it. */
	p->plan.cwd = resolve(p, directory, real, sizeof real)
			      ? arena_strdup(&p->arena, real)
			      : path_join(&p->arena, p->plan.cwd, directory);
	return p->plan.cwd == NULL ? err_memory(e, "library") : check_directory(p, e);
}

/* A note of the result. */
static int note(struct prepared *p, const struct command_verdict *v, struct err *e) {
	struct plan *plan = &p->plan;
	const char *text = arena_printf(&p->arena, "the command rules cannot decide about `%s`: %s",
					v->command, v->reason);

	if (text == NULL || arena_grow(&p->arena, &plan->notes, plan->nnotes, &plan->notes_cap,
				       sizeof *plan->notes) != 0) {
		return err_memory(e, "library");
	}
	plan->notes[plan->nnotes++] = text;
	return 0;
}

/* The option that sets the key; NULL: none does. */
static const char *option_of(struct arena *a, const char *key, const char *value) {
	const char *set = arena_printf(a, "%s=", key);
	struct buf out;

	if (set == NULL || key[0] == '\0' || value[0] == '\0') {
		return NULL;
	}
	buf_init(&out);
	if (streq(key, keys[KEY_COMMANDS].name)) {
		buf_puts(&out, "--allow-command ");
		buf_shell_word(&out, "", value);
	} else {
		buf_puts(&out, "--set ");
		buf_shell_word(&out, set, value);
	}
	const char *text = buf_failed(&out) ? NULL : arena_strdup(a, out.data);
	buf_done(&out);
	return text;
}

/* For the JSON of the failure and the audit log; without memory there is none. */
static void keep_refusal(struct prepared *p, const struct command_verdict *v) {
	struct arena *a = &p->arena;
	struct refused_command *r = arena_array(a, 1, sizeof *r);

	if (r == NULL) {
		return;
	}
	r->key = arena_strdup(a, v->key);
	r->value = arena_strdup(a, v->value);
	r->denial = (struct corral_denial){
		.op = "execute",
		.access = "execute",
		.command = arena_strdup(a, v->command),
		.rule = arena_strdup(a, v->rule),
		.origin = arena_strdup(a, v->origin),
		.why = arena_strdup(a, v->reason),
		.remedy = arena_strdup(a, v->remedy),
		.count = 1,
	};
	p->refused = r->key == NULL || r->value == NULL ? NULL : r;
}

void command_propose(const struct corral_policy *policy, const char *const *argv,
		     struct prepared *p) {
	struct refused_command *r = p->refused;
	struct corral_policy *wider = r == NULL ? NULL : corral_policy_derive(policy);
	char *unused = NULL;
	int allowed = 0;

	if (wider != NULL &&
	    corral_policy_set_from(wider, r->key, r->value, "proposal", NULL) == 0 &&
	    corral_command_check(wider, argv, CORRAL_TEXT, &unused, &allowed, NULL) == 0 &&
	    allowed != 0) {
		r->denial.allow_with = option_of(&p->arena, r->key, r->value);
	}
	free(unused);
	corral_policy_free(wider);
}

int command_check(struct prepared *p, const char *const *argv, struct err *e) {
	struct command_verdict v;

	if (!command_has_rules(&p->policy)) {
		return 0;
	}
	if (command_decide(p, argv, &v, e) != 0) {
		return -1;
	}
	if (v.kind == JUDGED_UNDECIDED) {
		return note(p, &v, e);
	}
	if (v.kind == JUDGED_ALLOWED) {
		return 0;
	}
	keep_refusal(p, &v);
	(void)err_set(e, ERR_REFUSED, "command", "%s: %s", v.command, v.reason);
	return err_fix(e, "%s", v.remedy);
}

static const char *const verdicts[] = {
	[JUDGED_ALLOWED] = "allowed",
	[JUDGED_UNDECIDED] = "undecided",
	[JUDGED_REFUSED] = "refused",
};

static const char *or_null(const char *text) {
	return text[0] == '\0' ? NULL : text;
}

static void print_json(const char *const *argv, const struct command_verdict *v, struct buf *out) {
	struct emit j;

	emit_init(&j, out, false);
	emit_object(&j, NULL);
	emit_int(&j, "version", 1);
	emit_array(&j, "argv");
	for (size_t i = 0; argv[i] != NULL; i++) {
		emit_string(&j, NULL, argv[i]);
	}
	emit_end_array(&j);
	emit_bool(&j, "allowed", v->kind != JUDGED_REFUSED);
	emit_string(&j, "verdict", verdicts[v->kind]);
	emit_string(&j, "command", or_null(v->command));
	emit_string(&j, "rule", or_null(v->rule));
	emit_string(&j, "origin", or_null(v->origin));
	emit_string(&j, "reason", or_null(v->reason));
	emit_string(&j, "remedy", or_null(v->remedy));
	emit_end_object(&j);
}

static void print_text(const char *const *argv, const struct command_verdict *v, struct buf *out) {
	buf_printf(out, "%s:", verdicts[v->kind]);
	for (size_t i = 0; v->kind == JUDGED_ALLOWED && argv[i] != NULL; i++) {
		buf_printf(out, " %s", argv[i]);
	}
	if (v->kind != JUDGED_ALLOWED) {
		buf_printf(out, " %s: %s\n  %s: %s", v->command, v->reason,
			   v->kind == JUDGED_REFUSED ? "remedy" : "it runs; to decide before",
			   v->remedy);
	}
	buf_puts(out, "\n");
}

int corral_command_check(const struct corral_policy *policy, const char *const *argv,
			 enum corral_format format, char **text, int *allowed,
			 struct corral_error *err) {
	struct prepared p = {0};
	struct command_verdict v = {0};
	struct err e = {0};
	struct buf out;

	if (lib_need(text, "text", err) != 0 || lib_need(argv, "argv", err) != 0 ||
	    lib_need(argv[0], "argv[0]", err) != 0) {
		return -1;
	}
	p.command = argv[0];
	p.shell = command_runs_string(argv) ? argv[0] : NULL;
	buf_init(&out);
	int rc = prepared_plan(policy, true, &p, &e);
	if (rc == 0) {
		rc = command_decide(&p, argv, &v, &e);
	}
	if (rc == 0) {
		if (format == CORRAL_JSON) {
			print_json(argv, &v, &out);
		} else {
			print_text(argv, &v, &out);
		}
		rc = lib_give(&out, text, &e);
	}
	if (rc == 0 && allowed != NULL) {
		*allowed = v.kind != JUDGED_REFUSED;
	}
	buf_done(&out);
	arena_done(&p.arena);
	return rc == 0 ? 0 : lib_fail(&e, err);
}
