/* SPDX-License-Identifier: Apache-2.0 */
/* The result of a run as JSON, with the keys of `corral run --json` on Linux, in their order. */
#ifndef CORRAL_WINDOWS_REPORT_H
#define CORRAL_WINDOWS_REPORT_H

#include "base/buf.h"
#include "base/err.h"
#include "windows/choices.h"
#include "windows/enforcement.h"

#include <stdint.h>

enum windows_reason {
	REASON_EXITED,
	REASON_TIMED_OUT,
	REASON_WAS_IDLE,
	REASON_CANCELLED_HERE,
	REASON_REFUSED,
	REASON_SETUP_FAILED,
};

struct windows_report {
	enum windows_reason reason;
	uint32_t exit_code; /* REASON_EXITED */
	int64_t duration_ms;
	char *out, *err; /* captured; NULL: they were passed on */
	size_t out_len, err_len;
	uint64_t out_dropped, err_dropped;
	const char *id, *workspace;
	int64_t started_ms; /* since 1970; -1: nothing was started */
	int64_t cpu_ms;     /* -1: unknown */
	const char *const *notes;
	size_t nnotes;
};

/* choices and g are NULL when the run failed before they were known; failure is NULL when the
 * command ran. */
int report_json(const struct windows_report *r, const struct run_choices *c,
		const struct windows_enforcement *g, const struct err *failure, struct buf *out);

/* The exit status of corral.exe: as that of corral(1), with the whole exit code of the command. */
uint32_t report_status(const struct windows_report *r);

#endif
