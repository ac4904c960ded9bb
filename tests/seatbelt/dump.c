/* SPDX-License-Identifier: Apache-2.0 */
/* Prints the profile of a policy on a described host, and the plan's own answers, for oracle.py.
 *
 * Input: worlds (tests/fuzz/plan_world.h), each ended by a line ".".  More lines in a world:
 *   q PATH                    a canonical path to answer about
 * Output, one line of JSON each: {"error"} or {"profile", "params", "paths": {PATH: [VISIBILITY,
 * EXECUTES, DENIED, PROTECTED]}}.  All texts in hexadecimal: they may be any bytes.
 *
 * With the argument "text" it prints the profile as `corral explain` does, with
 * "patterns" it translates glob patterns instead. */
#include "../fuzz/plan_world.h"

#include "base/auto.h"
#include "base/emit.h"
#include "base/str.h"
#include "plan/seatbelt/internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RUN_DIR "/private/tmp/corral-run"

static void hex(FILE *out, const char *s) {
	fputc('"', out);
	for (; *s != '\0'; s++) {
		fprintf(out, "%02x", (unsigned char)*s);
	}
	fputc('"', out);
}

static char *unhex(const char *word) {
	size_t n = strlen(word) / 2;
	char *text = calloc(n + 1, 1);
	for (size_t i = 0; text != NULL && i < n; i++) {
		const char digits[] = {word[2 * i], word[2 * i + 1], '\0'};
		text[i] = (char)strtoul(digits, NULL, 16);
	}
	if (text == NULL) {
		exit(2);
	}
	return text;
}

/* 2: by a pattern that begins with "**". */
static int by_name(const struct rule *r) {
	return r == NULL ? 0 : r->glob.names[0].kind == GLOB_DEPTH ? 2 : 1;
}

static void answer(const struct plan *plan, char *line) {
	static const char *const words[] = {
		[VISIBILITY_NONE] = "none",       [VISIBILITY_DENIED] = "denied",
		[VISIBILITY_PRIVATE] = "private", [VISIBILITY_READ] = "read",
		[VISIBILITY_WRITE] = "write",
	};
	char *path = unhex(line);
	struct ruling r = rules_judge(&plan->rules, path);
	hex(stdout, path);
	printf(": [\"%s\", %d, %d, %d]", words[plan_visibility(plan, path)],
	       plan_executes(plan, path), by_name(r.deny), by_name(r.protect));
	free(path);
}

static void print(const struct plan *plan, const struct seatbelt_profile *p, char *queries) {
	printf("{\"profile\": ");
	hex(stdout, p->text);
	printf(", \"params\": {");
	for (size_t i = 0; i < p->nparams; i++) {
		printf("%s\"%s\": ", i == 0 ? "" : ", ", p->params[i].name);
		hex(stdout, p->params[i].value);
	}
	printf("}, \"own_net\": %d, \"ports\": [", plan->own_net);
	for (size_t i = 0; i < plan->net.nhost_ports; i++) {
		printf("%s%u", i == 0 ? "" : ", ", (unsigned)plan->net.host_ports[i]);
	}
	printf("], \"paths\": {");
	const char *between = "";
	for (char *line; (line = strsep(&queries, "\n")) != NULL;) {
		if (str_starts(line, "q ")) {
			printf("%s", between);
			answer(plan, line + 2);
			between = ", ";
		}
	}
	printf("}}\n");
}

static void print_text(const struct seatbelt_profile *p) {
	struct buf out;
	buf_init(&out);
	seatbelt_profile_print(p, &out);
	fputs(out.failed ? "" : out.data, stdout);
	buf_done(&out);
}

static void serve(const char *text, bool as_text) {
	struct world w;
	struct plan plan;
	struct seatbelt_profile profile;
	struct err e = {0};
	world_init(&w, (const uint8_t *)text, strlen(text));
	host_as_macos(&w.h);
	w.h.run_dir = RUN_DIR;
	if (plan_build(&w.a, &w.p, &w.h, &plan, &e) != 0 ||
	    seatbelt_profile_make(&w.a, &plan,
				  (struct seatbelt_ports){NET_PROXY_HTTP, NET_PROXY_SOCKS},
				  &profile, &e) != 0) {
		printf("{\"error\": ");
		hex(stdout, e.what);
		printf("}\n");
	} else if (as_text) {
		print_text(&profile);
	} else {
		char *copy = strdup(text);
		print(&plan, &profile, copy);
		free(copy);
	}
	fflush(stdout);
	arena_done(&w.a);
}

/* "FOLD PATTERN PATH...", in hexadecimal: the expression for the anchor "/a", and the pattern's own
 * answer for each relative path; or "error". */
static void translate(char *line) {
	struct arena a;
	struct buf text;
	struct err e = {0};
	struct glob g;
	char *rest = line;
	line[strcspn(line, "\n")] = '\0';
	const char *fold = strsep(&rest, " "), *word = strsep(&rest, " ");
	if (word == NULL) {
		exit(2);
	}
	char *pattern = unhex(word);
	arena_init(&a);
	buf_init(&text);
	if (glob_parse(&a, pattern, fold[0] == '1', &g, &e) != 0) {
		puts("error");
	} else {
		seatbelt_regex(&text, "/a", &g, g.count, true);
		hex(stdout, text.data);
		putchar(' ');
		for (char *at; (at = strsep(&rest, " ")) != NULL;) {
			char *path = unhex(at);
			putchar(glob_matched(&g, glob_walk(&g, path)) ? '1' : '0');
			free(path);
		}
		putchar('\n');
	}
	fflush(stdout);
	buf_done(&text);
	arena_done(&a);
	free(pattern);
}

int main(int argc, char **argv) {
	bool patterns = argc > 1 && streq(argv[1], "patterns");
	bool as_text = argc > 1 && streq(argv[1], "text");
	char *line = NULL;
	size_t room = 0;
	struct buf world;
	buf_init(&world);
	while (getline(&line, &room, stdin) > 0) {
		if (patterns) {
			translate(line);
			continue;
		}
		if (!streq(line, ".\n")) {
			buf_puts(&world, line);
			continue;
		}
		serve(world.data == NULL ? "" : world.data, as_text);
		buf_done(&world);
		buf_init(&world);
	}
	buf_done(&world);
	free(line);
	return 0;
}
