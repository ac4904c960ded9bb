/* SPDX-License-Identifier: Apache-2.0 */
/* Texts of the kernel about control groups, cut short or strange.
 *
 * An input is the text.  A group is this process's own only when a line says
 * so; a controller is there only as a whole word; a number is read only behind
 * its whole key; a name is ours only in the form that we give. */
#include "linux/cgroup.c"
#include "linux/cgroup_probe.c"

#include "fuzz.h"

#include <ctype.h>

/* Whether a separator or an end stands at both sides of some occurrence. */
static bool has_word_naive(const char *list, const char *word) {
	size_t n = strlen(word);
	for (const char *at = list; (at = strstr(at, word)) != NULL; at++) {
		bool left = at == list || strchr(" ,\n", at[-1]) != NULL;
		bool right = strchr(" ,\n", at[n]) != NULL; /* the NUL counts */
		if (left && right) {
			return true;
		}
	}
	return false;
}

static void group_is_own(const char *text, const char *controller) {
	char own[256], line[600];
	if (!own_group(text, controller, own, sizeof own)) {
		return;
	}
	/* Some line of the text ends in ":" and this path; "" stands for the root. */
	(void)snprintf(line, sizeof line, ":%s\n", own);
	bool root = own[0] == '\0';
	HOLDS(strstr(text, line) != NULL || (root && strchr(text, ':') != NULL));
	HOLDS(!str_starts(own, "/.."));
}

static void number_is_keyed(const char *text, const char *key) {
	char with_space[32];
	int64_t n = keyed_number(text, key);
	(void)snprintf(with_space, sizeof with_space, "%s ", key);
	bool first = str_starts(text, with_space);
	char line[34];
	(void)snprintf(line, sizeof line, "\n%s", with_space);
	HOLDS(n == -1 || first || strstr(text, line) != NULL);
}

static void name_is_ours(const char *name) {
	pid_t owner = name_owner(name);
	if (owner == 0) {
		return;
	}
	char again[64];
	const char *random = strrchr(name, '-') + 1;
	HOLDS(owner > 0 && strlen(name) < sizeof again);
	const char *digits = name + strlen(NAME_PREFIX) + strspn(name + strlen(NAME_PREFIX), "0");
	(void)snprintf(again, sizeof again, "%d-%s", (int)owner, random);
	HOLDS(streq(digits, again));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
	struct input in = {data, size};
	auto_free char *text = input_rest(&in);
	for (int i = 0; i < CONTROLLERS; i++) {
		HOLDS(has_word(text, controller_names[i]) ==
		      has_word_naive(text, controller_names[i]));
		group_is_own(text, controller_names[i]);
	}
	group_is_own(text, NULL);
	number_is_keyed(text, "oom_kill");
	number_is_keyed(text, "max");
	name_is_ours(text);
	return 0;
}
