/* SPDX-License-Identifier: Apache-2.0 */
/* One call of a file tool of the library. */
#ifndef CORRAL_LIB_FILE_TASK_H
#define CORRAL_LIB_FILE_TASK_H

#include "base/rights.h"
#include "files/place.h"
#include "lib/internal.h"

struct corral_files {
	struct prepared base; /* host and policy; the plan is made for every call */
	bool reject_links, slow;
	struct file_leaks *leaks; /* of corral_files_leak(); or NULL */
};

/* One call: its plan, and the thread's capabilities, dropped as they are in the sandbox. */
struct file_task {
	struct arena arena;
	struct plan plan;
	struct lens view;
	struct rights rights;
	const struct corral_files *files; /* for the audit log: whose call, on which path */
	const char *at;
	bool write;
};

/* `at`: the path that the call reads, or changes and may create.  file_task_end() follows, also
 * after a failure. */
int file_task_to_read(const struct corral_files *files, const char *at, struct file_task *t,
		      struct err *e);
int file_task_to_write(const struct corral_files *files, const char *at, struct file_task *t,
		       struct err *e);

/* A second path that the call changes. */
int file_task_also_write(struct file_task *t, const char *at, struct err *e);

/* Restores the rights, and records a refusal; returns 0, or -1 with *err. */
int file_task_end(struct file_task *t, int rc, const struct err *e, struct corral_error *err);

#endif
