/* SPDX-License-Identifier: Apache-2.0 */
/* HTML text: the only way from a value to the page (U1). */
#ifndef CORRAL_UI_HTML_H
#define CORRAL_UI_HTML_H

#include "base/buf.h"

#include <jansson.h>
#include <stdint.h>

/* Appends the format: %s a text, escaped; %u a size_t; %d a long long; %% a percent sign.  The
 * format itself is HTML and has to be a literal. */
void html_put(struct buf *b, const char *format, ...);

/* Escapes bytes: & < > " ' become entities; control characters, the rest of terminal sequences and
 * directional marks become visible signs in <b class=c>; bytes that are not UTF-8 U+FFFD.  Newlines
 * and tabs stay. */
void html_text(struct buf *b, const char *text, size_t len);

/* A part of a URL, percent-encoded. */
void html_url(struct buf *b, const char *text);

/* Times and durations; ms since 1970.  "3 min ago" in a <time>. */
void html_time(struct buf *b, int64_t ms, int64_t now);
void html_duration(struct buf *b, int64_t ms);

/* Members of JSON, for values that may be missing or of another type. */
const char *html_json_text(const json_t *object, const char *key); /* "" */
int64_t html_json_number(const json_t *object, const char *key);   /* 0 */
/* Milliseconds since 1970, of a number or of RFC 3339 text; 0. */
int64_t html_json_time(const json_t *object, const char *key);

#endif
