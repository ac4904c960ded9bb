/* SPDX-License-Identifier: Apache-2.0 */
/* The form of the table of leak kinds; tests/leak/kinds.py tests patterns against examples. */
#include "base/auto.h"
#include "base/str.h"
#include "data/leak_kinds.h"
#include "test.h"

#include <ctype.h>

/* Redaction holds back this much at most. */
#define LONGEST_MATCH 16384
#define FEWEST_KINDS 171

/* A reader of the subset of PCRE2 that leak_kinds.h allows. */
struct reader {
	const char *at;
	const char *fault;
	size_t groups;
};

static size_t read_choices(struct reader *r, int depth);

static bool take(struct reader *r, const char *word) {
	if (!str_starts(r->at, word)) {
		return false;
	}
	r->at += strlen(word);
	return true;
}

static size_t fault(struct reader *r, const char *text) {
	r->fault = r->fault == NULL ? text : r->fault;
	r->at += strlen(r->at);
	return 0;
}

/* A letter or digit after a backslash has a meaning of its own; only these are in the subset. */
static void read_escape(struct reader *r) {
	char c = *r->at;
	if (c == '\0' || (isalnum((unsigned char)c) && strchr("dwsnrt", c) == NULL)) {
		(void)fault(r, "escape");
		return;
	}
	r->at++;
}

static void read_class(struct reader *r) {
	(void)take(r, "^");
	const char *first = r->at;
	while (*r->at != ']') {
		char c = *r->at++;
		if (c == '\\') {
			read_escape(r);
		} else if (c == '\0' || c == '[') {
			r->at--;
			(void)fault(r, "class");
			return;
		}
	}
	if (r->at == first) {
		(void)fault(r, "empty class");
		return;
	}
	r->at++;
}

/* The longest text of one element without its quantifier. */
static size_t read_element(struct reader *r, int depth) {
	size_t longest = 1;
	if (take(r, "(")) {
		if (!take(r, "?:") && !take(r, "?i:")) {
			r->groups++;
		}
		if (*r->at == '?' || depth > 8) {
			return fault(r, "group");
		}
		longest = read_choices(r, depth + 1);
		return take(r, ")") ? longest : fault(r, "unclosed group");
	}
	if (take(r, "[")) {
		read_class(r);
	} else if (take(r, "\\")) {
		read_escape(r);
	} else if (strchr(".^$*+?{", *r->at) != NULL) {
		return fault(r, "operator");
	} else {
		r->at++;
	}
	return longest;
}

static size_t read_number(struct reader *r) {
	size_t n = 0;
	if (!isdigit((unsigned char)*r->at)) {
		return fault(r, "number");
	}
	while (isdigit((unsigned char)*r->at) && n < 100000) {
		n = n * 10 + (size_t)(*r->at++ - '0');
	}
	return n;
}

static size_t read_times(struct reader *r) {
	if (take(r, "?")) {
		return 1;
	}
	if (!take(r, "{")) {
		return 1;
	}
	size_t least = read_number(r);
	size_t most = take(r, ",") ? read_number(r) : least;
	if (most == 0 || most < least) {
		return fault(r, "quantifier");
	}
	return take(r, "}") ? most : fault(r, "unclosed quantifier");
}

static size_t read_choices(struct reader *r, int depth) {
	size_t longest = 0;
	do {
		size_t length = 0;
		while (*r->at != '\0' && *r->at != '|' && *r->at != ')') {
			size_t element = read_element(r, depth);
			length += element * read_times(r);
		}
		longest = length > longest ? length : longest;
	} while (take(r, "|"));
	return longest;
}

static struct reader read_pattern(const char *pattern, size_t *ret_longest) {
	struct reader r = {.at = pattern};
	*ret_longest = read_choices(&r, 0);
	if (*r.at != '\0') {
		(void)fault(&r, "end");
	}
	return r;
}

TEST(kinds_are_sorted_and_unique) {
	CHECK(leak_kind_count >= FEWEST_KINDS);
	for (size_t i = 1; i < leak_kind_count; i++) {
		if (strcmp(leak_kinds[i - 1].name, leak_kinds[i].name) >= 0) {
			printf("# %s\n", leak_kinds[i].name);
			CHECK(!"sorted");
		}
	}
}

static bool is_word(const char *text) {
	return text != NULL && text[0] != '\0' &&
	       strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789-") == strlen(text);
}

TEST(every_kind_has_all_its_texts) {
	for (size_t i = 0; i < leak_kind_count; i++) {
		const struct leak_kind *k = &leak_kinds[i];
		CHECK(is_word(k->name) && is_word(k->family));
		CHECK(k->pattern != NULL && strlen(k->pattern) > 8);
		CHECK(k->reason != NULL && strlen(k->reason) > 8);
		CHECK(islower((unsigned char)k->reason[0]) && strchr(k->reason, '\n') == NULL);
		CHECK(k->match != NULL && strlen(k->match) >= 20);
		CHECK(k->miss != NULL && strlen(k->miss) >= 8 && !streq(k->match, k->miss));
	}
}

TEST(every_pattern_is_in_the_subset_and_has_a_longest_match) {
	for (size_t i = 0; i < leak_kind_count; i++) {
		const struct leak_kind *k = &leak_kinds[i];
		size_t longest = 0;
		struct reader r = read_pattern(k->pattern, &longest);
		if (r.fault != NULL || longest < 16 || longest > LONGEST_MATCH || r.groups > 1) {
			printf("# %s: %s, %zu bytes, %zu groups\n", k->name,
			       r.fault == NULL ? "no fault" : r.fault, longest, r.groups);
			CHECK(!"in the subset");
		}
		/* Entropy needs to know which part is variable. */
		CHECK((k->check == LEAK_CHECK_ENTROPY) == (k->entropy > 0));
		CHECK(k->check != LEAK_CHECK_ENTROPY || r.groups == 1);
		CHECK(k->entropy < 5);
	}
}

TEST(the_reader_refuses_patterns_outside_the_subset) {
	static const char *const refused[] = {
		"a+",   "a*", ".b", "^a", "a$", "(?=a)", "(?<a>b)", "a{2,}", "a{3,2}",
		"a{0}", "[a", "[]", "(a", "a)", "\\1",   "\\b",     "a\\",   "[[:alpha:]]"};
	for (size_t i = 0; i < ARRAY_LEN(refused); i++) {
		size_t longest = 0;
		if (read_pattern(refused[i], &longest).fault == NULL) {
			printf("# %s\n", refused[i]);
			CHECK(!"refused");
		}
	}
	size_t longest = 0;
	CHECK(read_pattern("a(?:b|cd{2,3})?[^\\]x]{4}", &longest).fault == NULL && longest == 9);
}

TEST(the_families_of_the_requirements_have_kinds) {
	static const char *const names[] = {
		"anthropic-key",   "brave-search-key", "discord-bot-token", "github-token",
		"google-api-key",  "openai-key",       "openrouter-key",    "private-key-pkcs8",
		"slack-app-token", "slack-bot-token",  "telegram-bot-token"};
	size_t n = 0;
	for (size_t i = 0; i < leak_kind_count && n < ARRAY_LEN(names); i++) {
		n += streq(leak_kinds[i].name, names[n]);
	}
	CHECK_INT(n, ARRAY_LEN(names));
}

TESTS_MAIN
