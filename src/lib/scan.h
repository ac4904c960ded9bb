/* SPDX-License-Identifier: Apache-2.0 */
/* The leak scanner's files in the user's configuration: the key of the fingerprints and the allow
 * list. */
#ifndef CORRAL_LIB_SCAN_H
#define CORRAL_LIB_SCAN_H

#include "base/arena.h"
#include "leak/leak.h"

struct scan_config {
	bool has_key; /* false: no directory for it; the key is random then */
	unsigned char key[LEAK_KEY];
	const char **allow;
	size_t nallow, cap;
};

/* Reads both; creates the key (0600) when it is missing. */
int scan_config_read(struct arena *a, struct scan_config *ret, struct err *e);

/* The same for a run, which creates no file: without a key it uses none. */
int scan_config_find(struct arena *a, struct scan_config *ret, struct err *e);

/* Adds a line to the allow list. */
int scan_config_allow(struct arena *a, const char *fingerprint, struct err *e);

#endif
