/* SPDX-License-Identifier: Apache-2.0 */
/* Prints the table of leak kinds as a JSON array, for tests that are written in Python. */
#include "base/auto.h"
#include "data/leak_kinds.h"

#include <jansson.h>
#include <stdio.h>

static const char *const edges[] = {
	[LEAK_EDGE_NONE] = "none",
	[LEAK_EDGE_WORD] = "word",
	[LEAK_EDGE_TOKEN] = "token",
	[LEAK_EDGE_BASE64] = "base64",
};

static const char *const checks[] = {
	[LEAK_CHECK_NONE] = "none",       [LEAK_CHECK_GITHUB_CRC32] = "crc32",
	[LEAK_CHECK_NPM_CRC32] = "crc32", [LEAK_CHECK_JWT] = "jwt",
	[LEAK_CHECK_LUHN] = "luhn",       [LEAK_CHECK_ENTROPY] = "entropy",
};

int main(void) {
	json_t *rows = json_array();
	for (size_t i = 0; i < leak_kind_count; i++) {
		const struct leak_kind *k = &leak_kinds[i];
		json_t *row = json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:f}",
					"name", k->name, "family", k->family, "pattern", k->pattern,
					"reason", k->reason, "match", k->match, "miss", k->miss,
					"before", edges[k->before], "after", edges[k->after],
					"check", checks[k->check], "entropy", k->entropy);
		if (row == NULL || json_array_append_new(rows, row) != 0) {
			return 2;
		}
	}
	int failed = json_dumpf(rows, stdout, JSON_INDENT(1));
	json_decref(rows);
	return failed == 0 ? 0 : 2;
}
