/* SPDX-License-Identifier: Apache-2.0 */
/* An imported secrets.json or .env file.
 *
 * What is accepted has valid names, each once, and is exported to text that imports alike. */
#include "vault/export.h"
#include "vault/import.h"

#include "fuzz.h"

#include <sodium.h>

static void export_and_import(const struct import *in, bool json) {
	struct vault v = {.lock = -1};
	struct import again = {.file = "again"};
	struct err e = {0};
	char *text = NULL;
	for (size_t i = 0; i < in->n; i++) {
		struct secret s = {.name = in->list[i].name,
				   .agent = "",
				   .workspace = "",
				   .host = "",
				   .value = in->list[i].value,
				   .len = in->list[i].len};
		HOLDS(vault_find(&v, s.name, "") == NULL && vault_put(&v, &s, &e) == 0);
	}
	if (export_text(&v, "", json, &text, &e) != 0) {
		HOLDS(json); /* a value that is not UTF-8 */
		vault_close(&v);
		return;
	}
	HOLDS(import_parse(text, strlen(text), &again, &e) == 0 && again.n == v.n);
	for (size_t i = 0; i < v.n; i++) {
		HOLDS(strcmp(again.list[i].name, v.list[i].name) == 0);
		HOLDS(again.list[i].len == v.list[i].len);
		HOLDS(memcmp(again.list[i].value, v.list[i].value, v.list[i].len) == 0);
	}
	import_done(&again);
	sodium_free(text);
	vault_close(&v);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
	struct import in = {.file = "f"};
	struct err e = {0};
	char *text = malloc(size + 1); /* exact, for the sanitizer */
	HOLDS(sodium_init() >= 0 && text != NULL);
	if (size > 0) {
		memcpy(text, data, size);
	}
	if (import_parse(text, size, &in, &e) == 0) {
		export_and_import(&in, false);
		export_and_import(&in, true);
	} else {
		HOLDS(strncmp(e.what, "f:", 2) == 0);
	}
	import_done(&in);
	free(text);
	return 0;
}
