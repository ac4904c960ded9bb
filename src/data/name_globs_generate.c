/* SPDX-License-Identifier: Apache-2.0 */
/* Parses the rows of data/names.c and writes the patterns as C source: a program of the build.
 *
 * Should:   write what glob_parse() makes of each row.
 * Must not: be linked into the library.
 * Fails:    by ending the build: a row that is not a valid pattern. */
#include "data/name_globs.h"

#include "data/names.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char *const kinds[] = {
	[GLOB_DEPTH] = "GLOB_DEPTH",
	[GLOB_LITERAL] = "GLOB_LITERAL",
	[GLOB_ENDING] = "GLOB_ENDING",
	[GLOB_PATTERN] = "GLOB_PATTERN",
};

static _Noreturn void die(const char *what, const char *of) {
	(void)fprintf(stderr, "patterns of names: %s: %s\n", of, what);
	_exit(1);
}

/* The pattern of a row, for glob_parse(). */
static const char *pattern_of(struct arena *a, const char *written) {
	const char *text = written + (written[0] == '!');

	if (text[0] == '/') {
		return text + 1;
	}
	const char *deep = strncmp(text, "**/", 3) == 0 ? text : arena_printf(a, "**/%s", text);
	if (deep == NULL) {
		die("out of memory", written);
	}
	return deep;
}

/* No row needs an escape sequence of C. */
static void print_name(const struct glob_name *name, const char *written) {
	if (memchr(name->text, '"', name->len) != NULL ||
	    memchr(name->text, '\\', name->len) != NULL) {
		die("quotation mark or backslash", written);
	}
	printf("{%s, \"%.*s\", %zu}, ", kinds[name->kind], (int)name->len, name->text, name->len);
}

static void print_row(struct arena *a, const char *written) {
	struct glob g;
	struct err e = {0};

	if (glob_parse(a, pattern_of(a, written), true, &g, &e) != 0) {
		die(e.what, written);
	}
	printf("\t{(const struct glob_name[]){");
	for (size_t i = 0; i < g.count; i++) {
		print_name(&g.names[i], written);
	}
	printf("}, %zu, true, UINT64_C(0x%" PRIx64 ")},\n", g.count, g.need);
}

static void print_set(struct arena *a, const struct name_set *set, const char *storage) {
	printf("%sconst struct glob %s_globs[] = {\n", storage, set->name);
	for (size_t i = 0; i < set->count; i++) {
		print_row(a, set->rows[i].pattern);
	}
	printf("};\n");
}

int main(void) {
	struct arena a;

	arena_init(&a);
	printf("/* Written by data/name_globs_generate.c. */\n#include \"data/name_globs.h\"\n");
	print_set(&a, &repository_names, "");
	for (size_t i = 0; i < name_sets_count; i++) {
		print_set(&a, &name_sets[i], "static ");
	}
	printf("const struct glob *const name_set_globs[] = {\n");
	for (size_t i = 0; i < name_sets_count; i++) {
		printf("\t%s_globs,\n", name_sets[i].name);
	}
	printf("};\n");
	arena_done(&a);
	return fflush(stdout) == 0 && !ferror(stdout) ? 0 : 1;
}
