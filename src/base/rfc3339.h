/* SPDX-License-Identifier: Apache-2.0 */
/* Times as RFC 3339 text in UTC, "2026-11-17T09:30:00.250Z": text order is time order. */
#ifndef CORRAL_BASE_RFC3339_H
#define CORRAL_BASE_RFC3339_H

#include <stdint.h>

#define RFC3339_LENGTH 24

/* From milliseconds since 1970; the years 0 to 9999. */
void rfc3339_text(int64_t ms, char ret[RFC3339_LENGTH + 1]);

/* Reads "2026-11-17", "2026-11-17T09:30", with seconds, milliseconds and "Z", in UTC.  -1: not a
 * time. */
int rfc3339_read(const char *text, int64_t *ret_ms);

#endif
