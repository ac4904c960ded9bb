/* SPDX-License-Identifier: Apache-2.0 */
/* The result of a run in a build that records nothing (corral for macOS, corral.exe), as JSON: the
 * keys of `corral run --json` on Linux, in their order. */
#ifndef CORRAL_RUN_BARE_RESULT_H
#define CORRAL_RUN_BARE_RESULT_H

#include "base/buf.h"
#include "base/emit.h"
#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bare_result {
	const char *reason;
	int64_t exit_code; /* -1: it did not exit */
	int signal;        /* 0: none */
	int64_t duration_ms;
	const char *out, *err; /* captured; NULL: they were passed on */
	size_t out_len, err_len;
	uint64_t out_dropped, err_dropped;
	const char *id, *workspace, *mode, *net, *level, *engine; /* NULL: not known */
	int64_t started_ms;         /* since 1970; -1: nothing was started */
	int64_t depth;              /* -1: not known */
	int64_t cpu_ms, max_rss_kb; /* -1: not known */
	const char *const *notes;
	size_t nnotes;
	void (*guarantees)(struct emit *j, const void *arg); /* NULL: there is no plan */
	const void *guarantees_arg;
	const struct err *failure; /* NULL: the command ran */
};

/* -1 when there is no memory. */
int bare_result_json(const struct bare_result *r, struct buf *out);

/* The exit status of corral(1) for a run whose command did not start. */
int bare_result_failure_status(const struct err *e);

#endif
