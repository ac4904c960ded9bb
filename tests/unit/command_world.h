/* SPDX-License-Identifier: Apache-2.0 */
/* A policy with rules about commands, and tables of texts with the verdict of each. */
#ifndef CORRAL_TESTS_UNIT_COMMAND_WORLD_H
#define CORRAL_TESTS_UNIT_COMMAND_WORLD_H

#include "command/judge.h"

#include "policy_world.h"

/* Document 004's rules for git, and a toolchain. */
#define RULES                                                                                      \
	"[commands.git]\nblocked = ['push --force', 'reset --hard', 'clean -fd']\n"                \
	"[commands.go]\nallowed = ['build', 'test', 'mod tidy']\nblocked = ['install']\n"          \
	"[commands.npm]\nblocked = ['install --global', 'publish']\n"                              \
	"[commands.tool]\nblocked = ['drop', '--wipe', 'sub erase']\n"

static struct world box;
static bool ready;

static void end(void) {
	world_done(&box);
}

static void begin(const char *extra) {
	char text[2048];

	if (ready) {
		world_done(&box);
	} else {
		(void)atexit(end); /* if it fails, a directory is left in /tmp */
	}
	world_init(&box);
	ready = true;
	(void)snprintf(text, sizeof text, "%s" RULES, extra);
	write_file(box.user, text);
	if (policy_resolve(&box.a, &box.in, &box.p, &box.e) != 0) {
		printf("# %s\n", box.e.what);
		abort();
	}
}

static struct command_verdict judge(const char *const *argv) {
	struct command_question q = {.policy = &box.p,
				     .path = "/usr/bin:/bin",
				     .cwd = "/ws",
				     .workspace = "/ws",
				     .home = "/home/me"};
	struct command_verdict v;

	CHECK(command_judge(&box.a, &q, argv, &v, &box.e) == 0);
	return v;
}

static const char names[] = {
	[JUDGED_ALLOWED] = '+', [JUDGED_UNDECIDED] = '?', [JUDGED_REFUSED] = '-'};

struct row {
	char want;
	const char *text;
};

/* Each text as `sh -c TEXT`; and where it has no shell syntax, as words. */
static void check_rows(const struct row *rows, size_t n) {
	for (size_t i = 0; i < n; i++) {
		const char *string[] = {"/bin/sh", "-c", rows[i].text, NULL};
		struct command_verdict v = judge(string);
		bool same = names[v.kind] == rows[i].want;
		if (!same) {
			printf("# %s: %c, not %c: %s\n", rows[i].text, names[v.kind], rows[i].want,
			       v.reason);
		}
		CHECK(same);
		CHECK(v.kind == JUDGED_ALLOWED || (v.reason[0] != '\0' && v.remedy[0] != '\0'));
		CHECK(v.kind != JUDGED_REFUSED || (v.rule[0] != '\0' && v.origin[0] != '\0'));
		/* Builtins and reserved words of a shell are no programs. */
		bool builtin = strpbrk(rows[i].text, "$`'\"\\;|&<>(){}*\n=~!") != NULL;
		static const char *const shell[] = {"exec ",   "command ", "eval ", ". ",
						    "source ", "if ",      "jobs ", "coproc "};
		for (size_t k = 0; k < ARRAY_LEN(shell); k++) {
			builtin = builtin || str_starts(rows[i].text, shell[k]);
		}
		if (!builtin) {
			char copy[256], *save = NULL;
			const char *words[32] = {NULL};
			size_t k = 0;
			(void)snprintf(copy, sizeof copy, "%s", rows[i].text);
			for (char *w = strtok_r(copy, " ", &save); w != NULL && k < 31;
			     w = strtok_r(NULL, " ", &save)) {
				words[k++] = w;
			}
			CHECK_INT(judge(words).kind, v.kind);
		}
	}
}

#endif
