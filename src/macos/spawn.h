/* SPDX-License-Identifier: Apache-2.0 */
/* Starts a command under its Seatbelt profile. */
#ifndef CORRAL_MACOS_SPAWN_H
#define CORRAL_MACOS_SPAWN_H

#include "base/arena.h"
#include "base/err.h"
#include "macos/arguments.h"

#include <sys/types.h>

/* Starts the command in a session of its own; returns its pid, or -1. */
pid_t macos_spawn(struct arena *a, const struct macos_command *c, struct err *e);

#endif
