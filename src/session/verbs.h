/* SPDX-License-Identifier: Apache-2.0 */
/* Functions that the verbs of the service share, and the daemon's main function. */
#ifndef CORRAL_SESSION_VERBS_H
#define CORRAL_SESSION_VERBS_H

#include "client/verbs.h"

#include <jansson.h>

/* Runs the daemon in the foreground until SIGTERM, or until it was idle for this time (0: never).
 * -1 with *e, or with *err filled and e->kind ERR_NONE. */
int daemon_main(int64_t idle_ms, struct err *e, struct corral_error *err);

/* ---- verb_daemon.c ---- */

int verb_no_words(const struct invocation *inv, struct corral_error *err);

/* One request on the admin socket; params are stolen. */
int verb_request(const char *method, json_t *params, json_t **ret, struct corral_error *err);

/* RFC 3339, or "-" for 0. */
#define VERB_TIME_SIZE 25
const char *verb_time_text(json_int_t ms, char ret[VERB_TIME_SIZE]);

/* verb_mcp_session.c: of `corral mcp --session`. */
int verb_mcp_session(struct invocation *inv, struct corral_error *err);

#endif
