/* SPDX-License-Identifier: Apache-2.0 */
/* Reads shell strings, each ended by NUL, from stdin; prints for each the number of simple commands
 * and the first words, or the fault. */
#include "command/shell.h"

#include <stdio.h>
#include <stdlib.h>

static void dump(const char *text) {
	struct arena a;
	struct shell_script script;
	struct shell_fault fault;

	arena_init(&a);
	if (!shell_parse(&a, text, &script, &fault)) {
		printf("fault %s\n", fault.why == NULL ? "memory" : fault.why);
	} else {
		printf("%zu", script.ncommands);
		for (size_t i = 0; i < script.ncommands; i++) {
			const struct shell_command *c = &script.commands[i];
			printf(" %s", c->nwords == 0 ? "=" : c->words[0].dynamic ? "$" : "w");
		}
		printf("\n");
	}
	arena_done(&a);
}

int main(void) {
	char *text = NULL;
	size_t cap = 0;

	while (getdelim(&text, &cap, '\0', stdin) > 0) {
		dump(text);
	}
	free(text);
	return 0;
}
