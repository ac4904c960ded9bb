/* SPDX-License-Identifier: Apache-2.0 */
/* Functions that the verbs of the service share, and the daemon's main function. */
#ifndef CORRAL_SESSION_VERBS_H
#define CORRAL_SESSION_VERBS_H

#include "cli/cli.h"
#include "session/client.h"

#include <jansson.h>

/* Runs the daemon in the foreground until SIGTERM, or until it was idle for this time (0: never).
 * -1 with *e, or with *err filled and e->kind ERR_NONE. */
int daemon_main(int64_t idle_ms, struct err *e, struct corral_error *err);

/* ---- verb_daemon.c ---- */

int verb_no_words(const struct invocation *inv, struct corral_error *err);

/* One request on the admin socket; params are stolen. */
int verb_request(const char *method, json_t *params, json_t **ret, struct corral_error *err);
int verb_print_json(const json_t *value, struct corral_error *err);

/* RFC 3339, or "-" for 0. */
#define VERB_TIME_SIZE 25
const char *verb_time_text(json_int_t ms, char ret[VERB_TIME_SIZE]);

/* ---- verb_session_exec.c ---- */

/* Connects for a request about a session: with a token, or inside the session itself, to its own
 * socket (*ret_own), else to the admin socket. */
int verb_connect(const struct invocation *inv, const char *session, struct client *c, bool *ret_own,
		 struct corral_error *err);

/* The parameters of session.exec. */
int verb_exec_params(const struct invocation *inv, bool own, const char *const *argv, json_t **ret,
		     struct corral_error *err);

/* Prints the notes of an answer, and returns the status of the command. */
int verb_exec_report(const struct invocation *inv, const struct result_place *place,
		     const json_t *answer, struct corral_error *err);

/* ---- verb_session_terminal.c ---- */

/* session.exec with a terminal. */
int verb_exec_terminal(const struct invocation *inv, const char *const *argv,
		       struct corral_error *err);

/* ---- verb_session.c ---- */

/* "30s", "10m", "8h", "2d" in milliseconds; NULL is 0. */
int verb_duration(const char *text, const char *option, json_int_t *ret, struct corral_error *err);

/* verb_mcp_session.c: of `corral mcp --session`. */
int verb_mcp_session(struct invocation *inv, struct corral_error *err);

#endif
