/* SPDX-License-Identifier: Apache-2.0 */
/* Functions that the verbs of a client of the daemon share, in both binaries. */
#ifndef CORRAL_CLIENT_VERBS_H
#define CORRAL_CLIENT_VERBS_H

#include "cli/cli.h"
#include "client/client.h"

#include <jansson.h>

/* ---- verb_values.c ---- */

/* "30s", "10m", "8h", "2d" in milliseconds; NULL is 0. */
int verb_duration(const char *text, const char *option, json_int_t *ret, struct corral_error *err);

int verb_print_json(const json_t *value, struct corral_error *err);

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

#endif
