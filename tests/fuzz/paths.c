/* SPDX-License-Identifier: Apache-2.0 */
/* Paths: two of them, a line each.  The normal form and "lies within" are
 * compared with lists of components, which know no prefix of a string. */
#include "fuzz.h"

#include "base/auto.h"
#include "base/path.h"
#include "base/str.h"

#define PARTS_MAX 512

struct parts {
	char *text; /* cut at each slash */
	const char *at[PARTS_MAX];
	size_t n;
};

/* The components that are left when "." and ".." are done with. */
static struct parts split(const char *path) {
	struct parts p = {.text = strdup(path)};
	char *rest = p.text, *part;
	while ((part = strsep(&rest, "/")) != NULL && p.n < PARTS_MAX) {
		if (streq(part, "..")) {
			p.n -= p.n > 0;
		} else if (part[0] != '\0' && !streq(part, ".")) {
			p.at[p.n++] = part;
		}
	}
	return p;
}

static bool begins_with(const struct parts *all, const struct parts *head) {
	bool same = head->n <= all->n;
	for (size_t i = 0; same && i < head->n; i++) {
		same = streq(all->at[i], head->at[i]);
	}
	return same;
}

static void is_normal(const char *normal, const struct parts *want) {
	struct parts got = split(normal);
	HOLDS(normal[0] == '/' && strstr(normal, "//") == NULL);
	HOLDS(normal[1] == '\0' || normal[strlen(normal) - 1] != '/');
	HOLDS(got.n == want->n && begins_with(&got, want));
	HOLDS(path_depth(normal) == want->n);
	free(got.text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
	struct input in = {data, size < PARTS_MAX ? size : PARTS_MAX};
	auto_free char *one = input_until(&in, '\n'), *two = input_rest(&in);
	struct arena a;
	if (one == NULL) {
		return 0;
	}
	arena_init(&a);
	struct parts first = split(one), second = split(two);
	const char *left = path_normal(&a, one), *right = path_normal(&a, two);
	HOLDS((left != NULL) == (one[0] == '/') && (right != NULL) == (two[0] == '/'));
	if (left != NULL) {
		is_normal(left, &first);
		const char *joined = path_join(&a, left, two);
		auto_free char *both = malloc(strlen(one) + strlen(two) + 2);
		HOLDS(both != NULL && joined != NULL);
		(void)snprintf(both, strlen(one) + strlen(two) + 2, "%s/%s", one, two);
		struct parts together = split(two[0] == '/' ? two : both);
		is_normal(joined, &together);
		free(together.text);
	}
	if (left != NULL && right != NULL) {
		HOLDS(path_within(left, right) == begins_with(&first, &second));
		HOLDS(path_within(right, left) == begins_with(&second, &first));
	}
	free(first.text);
	free(second.text);
	arena_done(&a);
	return 0;
}
