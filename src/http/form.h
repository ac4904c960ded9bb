/* SPDX-License-Identifier: Apache-2.0 */
/* Values of a query or of a form (application/x-www-form-urlencoded). */
#ifndef CORRAL_HTTP_FORM_H
#define CORRAL_HTTP_FORM_H

#include "http/request.h"

/* Copies the value of a name, decoded, with a NUL.  False: there is none, or two, or it is longer
 * than size - 1, has a NUL or a bad percent-encoding; out is "" then. */
bool http_form_value(struct http_span form, const char *name, char *out, size_t size);

/* Decodes percent-encoding alone, as in a path. */
bool http_path_decode(struct http_span part, char *out, size_t size);

#endif
