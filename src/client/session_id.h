/* SPDX-License-Identifier: Apache-2.0 */
/* The id of a session, "sess_" and a ULID: 48 bits of time and 80 random bits in an alphabet of 32
 * characters.  Ids sort as the sessions were created. */
#ifndef CORRAL_CLIENT_SESSION_ID_H
#define CORRAL_CLIENT_SESSION_ID_H

#include <stdbool.h>
#include <stdint.h>

#define SESSION_ID_LENGTH 31
#define SESSION_NAME_MAX 64

void session_id_make(int64_t since_1970_ms, char ret[SESSION_ID_LENGTH + 1]);

/* The grammar of an id: an id becomes the name of a socket file. */
bool session_id_is_valid(const char *text);

/* The grammar of a name, and of the id of an agent: a letter or digit, then letters, digits, ".",
 * "_" and "-", at most SESSION_NAME_MAX characters.  A name never has the form of an id. */
bool session_name_is_valid(const char *text);

#endif
