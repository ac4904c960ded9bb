/* SPDX-License-Identifier: Apache-2.0 */
/* The result of a run on macOS, from how it ended. */
#ifndef CORRAL_MACOS_RESULT_H
#define CORRAL_MACOS_RESULT_H

#include "base/buf.h"
#include "base/err.h"
#include "macos/watch.h"
#include "policy/policy.h"

struct macos_result {
	const struct plan *plan;             /* NULL: there is none */
	const struct policy *policy;         /* NULL as well */
	const struct macos_outcome *outcome; /* NULL: no command was started */
	const struct err *failure;           /* NULL: the command ran */
	struct capture *captures;            /* of stdout and stderr, or NULL */
	const char *id;
	int64_t started_ms; /* since 1970; -1: nothing was started */
};

/* The reason, in the words of Linux. */
const char *macos_reason(const struct plan *plan, const struct macos_outcome *o);

/* The JSON object of `corral run --json`; -1 when there is no memory. */
int macos_result_json(const struct macos_result *r, struct buf *out);

/* The guarantees of a plan, for `corral status`; text or one JSON object. */
void macos_status_print(const struct plan *plan, bool json, struct buf *out);

/* The exit status of corral(1), of a command that ran. */
int macos_status(const struct macos_outcome *o);

#endif
