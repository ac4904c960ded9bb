/* SPDX-License-Identifier: Apache-2.0 */
/* Checks a command by the rules of commands.NAME, before a run and for `corral check command`.
 *
 * Should:   judge with PATH, directory and workspace of the plan that would run the command.
 * Must not: run anything.
 * Fails:    closed: a refused command is an error of the run. */
#include "lib/command_verdict.h"

#include "base/str.h"
#include "files/place.h"

#include <stdio.h>

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
