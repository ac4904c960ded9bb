/* SPDX-License-Identifier: Apache-2.0 */
/* The token of the command: without privileges, without groups of administrators, at low
 * integrity. */
#ifndef CORRAL_WINDOWS_TOKEN_H
#define CORRAL_WINDOWS_TOKEN_H

#include "windows/api.h"

#include "base/err.h"

#include <stdbool.h>

#ifdef _WIN32
int token_restricted(HANDLE *ret, struct err *e);
#endif

/* The properties of a token, for the machine's facts and for the check of a new process. */
struct token_facts {
	bool restricted;   /* no privilege but SeChangeNotifyPrivilege is there */
	bool low;          /* the integrity level is low or below */
	bool appcontainer; /* a lowbox token */
	unsigned capabilities;
};

#ifdef _WIN32
void token_look(HANDLE token, struct token_facts *ret);
#endif

#endif
