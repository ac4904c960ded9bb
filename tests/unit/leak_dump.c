/* SPDX-License-Identifier: Apache-2.0 */
/* Scans stdin with each kind alone, for tests in Python: "kind offset length view" a line.
 *
 *     leak_dump [raw] */
#include "leak/leak.h"

#include "base/buf.h"
#include "base/fd.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void print(void *arg, const struct leak_finding *f) {
	char view[LEAK_VIEW_TEXT];
	(void)arg;
	printf("%s %llu %llu %s\n", f->kind, (unsigned long long)f->offset,
	       (unsigned long long)f->length, leak_view_text(f, view));
}

int main(int argc, char **argv) {
	static const unsigned char key[LEAK_KEY];
	struct buf text;
	struct err e;
	bool *kinds = calloc(leak_kind_count, sizeof *kinds);

	buf_init(&text);
	if (kinds == NULL || fd_read_all(STDIN_FILENO, (size_t)1 << 30, &text) != 0) {
		return 1;
	}
	for (size_t i = 0; i < leak_kind_count; i++) {
		kinds[i] = true;
		struct leak_scanner *sc = leak_scanner_new(
			&(struct leak_rules){.kinds = kinds,
					     .key = key,
					     .raw_only = argc > 1 && strcmp(argv[1], "raw") == 0},
			&e);
		if (sc == NULL || leak_scan(sc, text.data, text.len, print, NULL) != 0) {
			return 1;
		}
		leak_scanner_free(sc);
		kinds[i] = false;
	}
	buf_done(&text);
	free(kinds);
	return 0;
}
