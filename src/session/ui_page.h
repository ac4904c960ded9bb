/* SPDX-License-Identifier: Apache-2.0 */
/* The page of `corral ui` in the daemon: src/ui serves it, session/overview.h has its data. */
#ifndef CORRAL_SESSION_UI_PAGE_H
#define CORRAL_SESSION_UI_PAGE_H

#include "session/daemon.h"

/* The method page.open: starts the server if there is none, and returns an address with a token of
 * one use. */
request_fn ui_page_open;

/* Serves the clients that are due; returns the next deadline, CLOCK_MONOTONIC, or 0. */
int64_t ui_page_check(struct daemon *d, int64_t now);

/* Whether a browser has the page open: the daemon is not idle then. */
bool ui_page_is_open(const struct daemon *d);

void ui_page_end(struct daemon *d);

#endif
