/* SPDX-License-Identifier: Apache-2.0 */
/* `corral scan`: targets, their findings, and reports. */
#ifndef CORRAL_CLI_SCAN_H
#define CORRAL_CLI_SCAN_H

#include "cli/cli.h"

#include <sys/types.h>

struct hit {
	char kind[96], view[32], fingerprint[40];
	const char *reason; /* of a table */
	uint64_t offset, length, line;
};

/* A file, or the staged content of one. */
struct target {
	char *path; /* as it is printed */
	char *blob; /* id of the staged content; NULL: the file itself */
	struct hit *hits;
	size_t nhits, cap;
	int failed; /* errno, 0: it was read */
};

struct targets {
	struct target *items;
	size_t n, cap;
};

void targets_done(struct targets *t);
/* Takes the strings; NULL means out of memory. */
int targets_add(struct targets *t, char *path, char *blob, struct corral_error *err);

/* Appends a finding; used as the `found` of a stream whose arg is the target. */
void target_found(void *arg, const struct corral_finding *finding);

/* Adds the files beneath a path: those that git does not ignore in a work tree, else all but
 * .git. */
int targets_walk(struct targets *t, const char *path, struct corral_error *err);

/* Adds the files of the staged change. */
int targets_staged(struct targets *t, struct corral_error *err);

/* Runs git with its stdout in *out; its status, or -1 with *err filled.  args begin after the
 * options that keep a repository from running programs. */
struct git_call {
	const char *dir; /* or NULL */
	const char *top; /* the work tree, whatever the repository says; or NULL */
	const char *args[12];
	bool quiet; /* no messages of git */
};
int git_output(const struct git_call *call, struct buf *out, struct corral_error *err);

/* Scans the targets, several at once. */
int targets_scan(struct targets *t, const struct corral_scanner *scanner, struct corral_error *err);

/* Reports on stdout. */
int report_text(const struct targets *t, struct corral_error *err);
int report_json(const struct targets *t, struct corral_error *err);
int report_sarif(const struct targets *t, struct corral_error *err);

#endif
