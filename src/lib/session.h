/* SPDX-License-Identifier: Apache-2.0 */
/* The structs of a session and of one of its commands. */
#ifndef CORRAL_LIB_SESSION_H
#define CORRAL_LIB_SESSION_H

#include "lib/internal.h"

#include "lib/leaks.h"
#include "run/session.h"

struct corral_session {
	struct prepared prepared; /* constant after open: a command works on a copy */
	struct session engine;
	struct keeping keeping;
	struct run_leaks leaks;
	struct leak_source source; /* leaks.source, behind the lock */
	const char *const *env;    /* of every command, with the values of secrets */
	size_t nenv;
	const struct corral_policy *policy; /* the caller's */
	pthread_mutex_t lock;               /* of leaks, and of the audit log's descriptor */
	char ending[160];                   /* of corral_session_ending() */
};

/* session_words.c: puts "corral session create" before the options of a text for the user. */
void session_words(char *text, size_t cap);

struct corral_exec {
	struct corral_session *session;
	struct prepared prepared;
	struct session_exec engine;
	struct corral_result *result;
	char **argv;
};

#endif
