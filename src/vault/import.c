/* SPDX-License-Identifier: Apache-2.0 */
/* Chooses the parser of an imported file, and keeps its entries.
 *
 * Should:   name file and line in every error.
 * Must not: print any byte of a value, or of a line that could be one.
 * Fails:    closed: a file with one bad line imports nothing. */
#include "vault/import.h"

#include "base/str.h"

#include <stdlib.h>

#define WHERE "vault"

int import_fail(const struct import *in, int line, const char *why, struct err *e) {
	return err_set(e, ERR_USAGE, WHERE, "%.200s:%d: %s", in->file, line, why);
}

int import_add(struct import *in, const struct import_entry *entry, struct err *e) {
	struct err why = {0};
	if (secret_check_name(entry->name, &why) != 0 ||
	    secret_check_variable(entry->name, &why) != 0) {
		(void)import_fail(in, entry->line, why.what, e);
		return why.fix[0] == '\0' ? -1 : err_fix(e, "%s", why.fix);
	}
	for (size_t i = 0; i < in->n; i++) {
		if (streq(in->list[i].name, entry->name)) {
			return import_fail(in, entry->line, "the name occurs a second time", e);
		}
	}
	if (entry->len > VAULT_VALUE_MAX) {
		return import_fail(in, entry->line, "the value is larger than 64 KiB", e);
	}
	if (in->n == VAULT_SECRETS_MAX) {
		return import_fail(in, entry->line, "too many secrets", e);
	}
	if (in->n == in->cap) {
		size_t cap = in->cap == 0 ? 16 : in->cap * 2;
		struct import_entry *grown = realloc(in->list, cap * sizeof *grown);
		if (grown == NULL) {
			return err_memory(e, WHERE);
		}
		in->list = grown;
		in->cap = cap;
	}
	in->list[in->n++] = *entry;
	return 0;
}

void import_done(struct import *in) {
	free(in->list);
	in->list = NULL;
	in->n = in->cap = 0;
}

int import_parse(char *text, size_t len, struct import *ret, struct err *e) {
	text[len] = '\0';
	if (str_starts(text, "\xef\xbb\xbf")) { /* byte order mark */
		text += 3;
		len -= 3;
	}
	size_t blank = strspn(text, " \t\r\n");
	return (text[blank] == '{' ? import_json : import_dotenv)(text, len, ret, e);
}
