/* SPDX-License-Identifier: Apache-2.0 */
/* The dictionary: one row in a table of src/data is one word more here. */
#include "words.h"

#include "base/auto.h"
#include "data/environment.h"
#include "data/keys.h"
#include "data/options.h"
#include "data/paths.h"
#include "data/profiles.h"

#include <string.h>

#define WORDS_MAX 2048

static const char *words[WORDS_MAX];
static size_t nwords;

static void add(const char *word) {
	if (word != NULL && nwords < WORDS_MAX) {
		words[nwords++] = word;
	}
}

static void add_all(const char *const *list) {
	for (; list != NULL && *list != NULL; list++) {
		add(*list);
	}
}

/* What the tables do not hold: the grammar around them. */
static const char *const grammar[] = {
	"version", "floor", "[floor]\n", "none",  "true",       "false", " = ",  "\"",  "'",
	"\"\"\"",  "[[",    "]]",        "[",     "]",          "{",     "}",    ", ",  ":",
	"\n",      "- ",    "--",        "=",     "?",          "\\",    "*",    "..",  "/",
	"~/",      "1.5",   "4G",        "500ms", "2m",         "64K",   "0x1F", "1e3", "nan",
	"inf",     "|",     ">",         "&a",    "1979-05-27", "fd:0",
};

static void collect(void) {
	for (size_t i = 0; i < KEY_COUNT; i++) {
		const char *dot = strrchr(keys[i].name, '.');
		add(keys[i].name);
		add(dot == NULL ? NULL : dot + 1);
		add_all(keys[i].choices);
	}
	for (size_t i = 0; i < options_count; i++) {
		add(options[i].name);
	}
	for (size_t i = 0; i < profiles_count; i++) {
		add(profiles[i].name);
	}
	for (size_t i = 0; i < path_tables_count; i++) {
		for (size_t k = 0; k < path_tables[i]->count; k++) {
			add(path_tables[i]->rows[k].path);
		}
	}
	for (size_t i = 0; i < env_rows_count; i++) {
		add(env_rows[i].pattern);
	}
	for (size_t i = 0; i < ARRAY_LEN(grammar); i++) {
		add(grammar[i]);
	}
}

size_t words_count(void) {
	if (nwords == 0) {
		collect();
	}
	return nwords;
}

const char *word_at(size_t index) {
	return words[index % words_count()];
}
