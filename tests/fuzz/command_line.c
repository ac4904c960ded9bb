/* SPDX-License-Identifier: Apache-2.0 */
/* The words of a command line, one a line, through the program's own parser;
 * nothing is run.
 *
 * The command reaches the sandbox as it was written: the words that are kept are
 * the last ones of the line, untouched and in order.  "--name=value" and "--name
 * value" mean the same.  What was set is resolved, and read back as policy.c has
 * it for files. */
#define main corral_main
int corral_main(int argc, char **argv);
#include "cli/main.c"
#undef main

#include "fuzz.h"
#include "lib/internal.h"

#include <jansson.h>

#define WORDS_MAX 64

struct line {
	char *words[WORDS_MAX];
	size_t n;
};

/* What one parse came to. */
struct parse {
	struct corral_policy *policy;
	struct invocation inv;
	struct corral_error err;
	char *order[2 * WORDS_MAX]; /* as given: the parser moves words in its own copy */
	int status;
};

static void parse_line(const struct line *line, size_t used, const struct verb *verb,
		       struct parse *ret) {
	*ret = (struct parse){.policy = corral_policy_new()};
	HOLDS(ret->policy != NULL);
	ret->inv = (struct invocation){.verb = verb, .policy = ret->policy};
	memcpy(ret->order, line->words + used, (line->n - used) * sizeof *ret->order);
	ret->status = options_parse(&ret->inv, ret->order, line->n - used, &ret->err);
}

/* ---- the command's words ---- */

static void words_are_the_last(const struct line *line, const struct parse *p) {
	const struct invocation *inv = &p->inv;
	HOLDS(inv->nwords <= line->n);
	for (size_t i = 0; inv->verb->command && i < inv->nwords; i++) {
		HOLDS(inv->words[i] == line->words[line->n - inv->nwords + i]);
	}
}

static void becomes_argv(const struct parse *p) {
	auto_free const char **argv = NULL;
	struct corral_error err;
	size_t n = 0;
	HOLDS(command_argv(&p->inv, &argv, &err) == 0);
	while (argv != NULL && argv[n] != NULL) {
		n++;
	}
	HOLDS(n == p->inv.nwords + (p->inv.command_string != NULL ? 3 : 0));
	for (size_t i = 0; i < p->inv.nwords; i++) {
		HOLDS(argv[n - p->inv.nwords + i] == p->inv.words[i]);
	}
}

/* ---- two spellings ---- */

static bool takes_value(const struct verb *verb, const char *word, size_t len) {
	for (size_t i = 0; i < options_count; i++) {
		const char *name = options[i].name;
		if (name != NULL && strlen(name) == len && strncmp(name, word, len) == 0 &&
		    (options[i].verbs & verb->takes) != 0) {
			return options[i].argument != NULL;
		}
	}
	return false;
}

/* The same line with each "--name=value" as two words.  Only the first words
 * that are options are looked at: what follows belongs to the command. */
static struct line respell(const struct verb *verb, const struct line *from, size_t used,
			   struct arena *a) {
	struct line to = {.n = used};
	size_t i = used;
	memcpy(to.words, from->words, used * sizeof *to.words);
	for (; i < from->n && to.n + 2 < WORDS_MAX; i++) {
		char *word = from->words[i];
		size_t name = str_starts(word, "--") ? strcspn(word + 2, "=") : 0;
		if (name == 0 || word[2 + name] != '=' || !takes_value(verb, word + 2, name)) {
			break;
		}
		to.words[to.n++] = arena_strndup(a, word, 2 + name);
		to.words[to.n++] = word + 2 + name + 1;
	}
	for (; i < from->n && to.n < WORDS_MAX; i++) {
		to.words[to.n++] = from->words[i];
	}
	return to;
}

static void means_the_same(const struct parse *a, const struct parse *b) {
	const struct corral_policy *x = a->policy, *y = b->policy;
	HOLDS(a->status == b->status && streq(a->err.message, b->err.message));
	HOLDS(x->nsettings == y->nsettings && x->no_config == y->no_config);
	for (size_t i = 0; i < x->nsettings; i++) {
		HOLDS(streq(x->settings[i].key, y->settings[i].key) &&
		      streq(x->settings[i].value, y->settings[i].value) &&
		      streq(x->settings[i].origin, y->settings[i].origin));
	}
}

/* ---- what the words set ---- */

static void resolves(const struct corral_policy *settings) {
	struct arena a;
	struct policy p, again;
	struct err e = {0};
	struct buf text;
	const struct policy_inputs in = {
		.cwd = "/usr/src",
		.settings = settings->settings,
		.nsettings = settings->nsettings,
		.no_config = true,
	};
	arena_init(&a);
	buf_init(&text);
	if (policy_resolve(&a, &in, &p, &e) == 0) {
		HOLDS(policy_resolve(&a, &in, &again, &e) == 0 && streq(p.sha256, again.sha256));
		policy_print(&p, true, &text);
		json_t *tree = json_loadb(text.data, text.len, JSON_REJECT_DUPLICATES, NULL);
		HOLDS(tree != NULL);
		json_decref(tree);
	} else {
		HOLDS(e.kind != ERR_NONE && e.what[0] != '\0');
	}
	buf_done(&text);
	arena_done(&a);
}

static void attack(const struct line *line, struct arena *a) {
	struct line copy = *line;
	struct corral_error err = {0};
	size_t used = 0;
	const struct verb *verb = verb_find(copy.words, copy.n, &used, &err);
	if (verb == NULL) {
		HOLDS(err.kind == CORRAL_E_USAGE);
		return;
	}
	struct parse first, second;
	struct line other = respell(verb, line, used, a);
	parse_line(line, used, verb, &first);
	parse_line(&other, used, verb, &second);
	means_the_same(&first, &second);
	if (first.status == 0) {
		words_are_the_last(line, &first);
		becomes_argv(&first);
		resolves(first.policy);
	} else {
		HOLDS(first.err.kind != CORRAL_E_NONE && first.err.message[0] != '\0');
	}
	corral_policy_free(first.policy);
	corral_policy_free(second.policy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
	struct input in = {data, size};
	struct line line = {.n = 0};
	struct arena a;
	arena_init(&a);
	while (line.n < WORDS_MAX / 2 && (line.words[line.n] = input_until(&in, '\n')) != NULL) {
		line.n++;
	}
	if (line.n > 0) {
		attack(&line, &a);
	}
	for (size_t i = 0; i < line.n; i++) {
		free(line.words[i]);
	}
	arena_done(&a);
	return 0;
}
