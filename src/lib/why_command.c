/* SPDX-License-Identifier: Apache-2.0 */
/* `corral why -- COMMAND`: the verdict of the command rules, then whether the sandbox has the
 * program and may execute it.
 *
 * Should:   search the PATH of the run, as execvp(3) inside would.
 * Must not: run anything.
 * Fails:    closed: a program that is not found is refused. */
#include "lib/why.h"

#include "base/str.h"
#include "lib/command_verdict.h"

#include <limits.h>
#include <stdio.h>

static const char *joined(struct why_ask *ask) {
	struct buf out;

	buf_init(&out);
	for (size_t i = 0; ask->q->argv[i] != NULL; i++) {
		buf_puts(&out, i == 0 ? "" : " ");
		buf_shell_word(&out, "", ask->q->argv[i]);
	}
	const char *text = buf_failed(&out) ? NULL : arena_strdup(&ask->p.arena, out.data);
	buf_done(&out);
	return text;
}

static void take_verdict(struct why_ask *ask, const struct command_verdict *v) {
	struct why_answer *a = &ask->answer;

	a->verdict = v->kind == JUDGED_REFUSED ? WHY_REFUSED : WHY_UNDECIDED;
	a->rule = why_text(ask, v->rule);
	a->origin = why_text(ask, v->origin);
	a->reason = why_text(ask, v->reason);
	a->advice = why_text(ask, v->remedy);
	if (v->key[0] != '\0' && v->value[0] != '\0') {
		const char *key = arena_strdup(&ask->p.arena, v->key);
		const char *value = arena_strdup(&ask->p.arena, v->value);
		if (key != NULL && value != NULL) {
			ask->candidates[0] = (struct why_grant){.settings = {{key, value}}, .n = 1};
			ask->ncandidates = 1;
		}
	}
}

/* Fills the answer with the best of the places of PATH: the first that may be executed, else the
 * first that is refused.  False: none has the program. */
static bool search(struct why_ask *ask, const char *name, struct err *e) {
	struct why_answer one, refused = {0};
	struct why_grant grant = {0};
	bool found = false;

	for (const char *p = command_search_path(&ask->p.plan); *p != '\0';) {
		size_t len = strcspn(p, ":");
		const char *path = arena_printf(&ask->p.arena, "%.*s/%s", (int)len, p, name);
		struct err ignored = {0};
		if (path == NULL) {
			(void)err_memory(e, "library");
			return false;
		}
		if (len > 0 && why_program(ask, path, &one, &ignored)) {
			if (one.verdict == WHY_ALLOWED) {
				ask->answer = one;
				return true;
			}
			if (!found) {
				refused = one;
				grant = ask->ncandidates > 0 ? ask->candidates[0] : grant;
				found = true;
			}
		}
		p += len + (p[len] == ':');
	}
	ask->answer = refused;
	ask->candidates[0] = grant;
	ask->ncandidates = grant.n > 0;
	return found;
}

static int find_program(struct why_ask *ask, const char *name, struct err *e) {
	bool there = strchr(name, '/') != NULL ? why_program(ask, name, &ask->answer, e)
					       : search(ask, name, e);

	if (e->kind != ERR_NONE) {
		return -1;
	}
	if (!there && ask->answer.verdict != WHY_REFUSED) {
		ask->answer = (struct why_answer){
			.verdict = WHY_REFUSED,
			.reason = "the sandbox has no such program",
			.advice = "install it, or show its directory (--read DIR) and add that to "
				  "PATH "
				  "(--set env.path_prepend=DIR)",
		};
	}
	return 0;
}

int why_command(struct why_ask *ask, struct err *e) {
	struct command_verdict v = {0};
	const char *object = joined(ask);

	if (object == NULL) {
		return err_memory(e, "library");
	}
	if (command_decide(&ask->p, ask->q->argv, &v, e) != 0) {
		return -1;
	}
	if (v.kind != JUDGED_ALLOWED) {
		take_verdict(ask, &v);
	} else if (find_program(ask, ask->q->argv[0], e) != 0) {
		return -1;
	} else if (ask->answer.verdict == WHY_ALLOWED && ask->answer.resolved == NULL) {
		ask->answer.resolved = ask->answer.object;
	}
	ask->answer.op = "run";
	ask->answer.object = object;
	return 0;
}
