/* SPDX-License-Identifier: Apache-2.0 */
/* The options of other tools (Docker, bubblewrap, firejail), with Corral's option for each.
 *
 * Should:   hold one row a name, sorted.
 * Must not: make the name work: the row only completes the usage error.
 * Fails:    without a row the usage error has no suggestion from this table. */
#include "data/synonyms.h"

#include "base/auto.h"

const struct option_synonym option_synonyms[] = {
	{"bind", "--write PATH, or --read PATH"},
	{"cwd", "--workspace DIR, or --chdir DIR"},
	{"network", "--net MODE"},
	{"no-net", "--net none, which is the default"},
	{"no-network", "--net none, which is the default"},
	{"offline", "--net none, which is the default"},
	{"port", "--publish PORT"},
	{"read-only", "--mode read-only, or --read PATH for one path"},
	{"readonly", "--mode read-only, or --read PATH for one path"},
	{"ro", "--mode read-only, or --read PATH for one path"},
	{"ro-bind", "--read PATH"},
	{"rw", "--write PATH; the workspace is writable already"},
	{"unshare-net", "--net none, which is the default"},
	{"volume", "--write PATH, or --read PATH"},
	{"workdir", "--workspace DIR, or --chdir DIR"},
};
const size_t option_synonyms_count = ARRAY_LEN(option_synonyms);
