/* SPDX-License-Identifier: Apache-2.0 */
/* Walks the options of `run`, for the builds that have some of them: corral for macOS and
 * corral.exe. */
#ifndef CORRAL_TESTS_UNIT_EVERY_OPTION_H
#define CORRAL_TESTS_UNIT_EVERY_OPTION_H

#include "test.h"

#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"
#include "data/options.h"

/* Reads a command line as the build does. */
typedef int read_fn(void *arg, const char *const *words, size_t n, struct err *e);

/* Every option of `run` is either in --help or an error that names it. */
static inline void check_every_option(const struct buf *help, read_fn *read, void *arg) {
	REQUIRE(help->len > 0);
	for (size_t i = 0; i < options_count; i++) {
		const struct option_row *row = &options[i];
		char as[64], listed[80];
		struct err e = {0};
		if ((row->verbs & FOR_RUN) == 0 || row->name == NULL) {
			continue;
		}
		(void)snprintf(as, sizeof as, "--%s", row->name);
		(void)snprintf(listed, sizeof listed, "  --%s ", row->name);
		int rc = read(arg, (const char *const[]){as, "1", "--", "x"}, 4, &e);
		if (strstr(help->data, listed) == NULL) {
			CHECK_INT(rc, -1);
			CHECK_INT(e.kind, ERR_USAGE);
			CHECK(str_starts(e.what, as));
		}
	}
}

#endif
