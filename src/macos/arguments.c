/* SPDX-License-Identifier: Apache-2.0 */
/* The profile as words: of sandbox-exec(1), and of sandbox_init_with_parameters().
 *
 * Should:   give both the same profile and the same parameters.
 * Must not: let a word of the command become an option of sandbox-exec.
 * Fails:    closed: NULL when there is no memory.
 *
 * It makes no call of macOS. */
#include "macos/arguments.h"

#include "base/auto.h"

#include <string.h>

char **macos_arguments(struct arena *a, const struct macos_command *c) {
	size_t words = 0, n = 0;
	while (c->argv[words] != NULL) {
		words++;
	}
	char **out = arena_array(a, words + c->profile->nparams + 5, sizeof *out);
	if (out == NULL) {
		return NULL;
	}
	out[n++] = arena_strdup(a, SANDBOX_EXEC);
	out[n++] = arena_strdup(a, "-p");
	out[n++] = arena_strdup(a, c->profile->text);
	for (size_t i = 0; i < c->profile->nparams; i++) {
		out[n++] = arena_printf(a, "-D%s=%s", c->profile->params[i].name,
					c->profile->params[i].value);
	}
	out[n++] = arena_strdup(a, "--");
	for (size_t i = 0; i < n; i++) {
		if (out[i] == NULL) {
			return NULL;
		}
	}
	memcpy(out + n, c->argv, (words + 1) * sizeof *out);
	return out;
}

const char **macos_parameters(struct arena *a, const struct seatbelt_profile *p) {
	const char **out = arena_array(a, 2 * p->nparams + 1, sizeof *out);
	for (size_t i = 0; out != NULL && i < p->nparams; i++) {
		out[2 * i] = p->params[i].name;
		out[2 * i + 1] = p->params[i].value;
	}
	return out;
}
