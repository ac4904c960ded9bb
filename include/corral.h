/* SPDX-License-Identifier: Apache-2.0 */
/* libcorral: run a command in a kernel-enforced sandbox.
 *
 *     struct corral_error err;
 *     struct corral_policy *policy = corral_policy_new();
 *     struct corral_result *result;
 *     const char *argv[] = {"npm", "test", NULL};
 *
 *     corral_policy_set(policy, "limits.timeout", "60s", &err);
 *     if (corral_run(policy, argv, NULL, &result, &err) != 0) { ... err.message ... }
 *     printf("%d\n", corral_result_exit_code(result));
 *     corral_result_free(result);
 *     corral_policy_free(policy);
 *
 * Every call that can fail returns 0 or -1 and fills *err (which may be NULL).
 * A handle or an output pointer that is NULL is CORRAL_E_USAGE, and nothing is done;
 * accessors of a NULL result, process or verdict return -1, 0, "" or NULL.
 * A text that a call stores in *text is freed with free(), that of corral_secret_export() with
 * corral_secret_free().  corral(1) has the keys of each JSON object.
 * A struct with a size: clear it, or begin with its _INIT, and set size to sizeof.  A program
 * then works with every libcorral.so of the same number, older or newer than its header
 * (libcorral(3), COMPATIBILITY): fields that the program does not have are zero, and a field
 * that the library does not have is CORRAL_E_USAGE when it is set.
 * No call prints, exits, installs a signal handler or changes the calling
 * process.  A handle needs a lock to be shared between threads; different
 * handles may be used from different threads at once. */
#ifndef CORRAL_H
#define CORRAL_H

/* One header for each part of the library.  The library is built with hidden visibility; it
 * exports only the functions that these headers declare. */
#include "corral/error.h"
#include "corral/format.h"
#include "corral/policy.h"
#include "corral/tools.h"
#include "corral/explain.h"
#include "corral/host.h"
#include "corral/run.h"
#include "corral/session.h"
#include "corral/result.h"
#include "corral/files.h"
#include "corral/commands.h"
#include "corral/why.h"
#include "corral/url.h"
#include "corral/cow.h"
#include "corral/scan.h"
#include "corral/audit.h"
#include "corral/homes.h"
#include "corral/secret.h"

#define CORRAL_VERSION "0.1.0"

#endif
