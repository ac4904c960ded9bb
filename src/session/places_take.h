/* SPDX-License-Identifier: Apache-2.0 */
/* The daemon's side of its directories (client/places.h): it creates, locks and cleans them. */
#ifndef CORRAL_SESSION_PLACES_TAKE_H
#define CORRAL_SESSION_PLACES_TAKE_H

#include "client/places.h"

/* Creates the directories and checks their owner and mode; takes both locks.  ERR_REFUSED when
 * another daemon holds one. */
int places_take(struct places *p, struct err *e);

/* Removes the directory of a bridge's socket, if there is one. */
void places_remove_bridge(const struct places *p, const char *id);

/* Removes the copy of a session, if there is one, in a process of its own (H7): the sandbox may
 * have created any tree in it. */
void places_remove_copy(const struct places *p, const char *id);

/* Removes the sockets of sessions of an earlier daemon. */
void places_sweep(const struct places *p);

void places_release(struct places *p);

#endif
