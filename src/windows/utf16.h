/* SPDX-License-Identifier: Apache-2.0 */
/* Text between UTF-8, which Corral uses, and UTF-16, which the Windows API takes. */
#ifndef CORRAL_WINDOWS_UTF16_H
#define CORRAL_WINDOWS_UTF16_H

#include "base/buf.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The code units of a string, without the final NUL; SIZE_MAX if it is not UTF-8. */
size_t utf16_length(const char *text);

/* The same units in new memory, with a final NUL; NULL if the string is not UTF-8 or memory is
 * out.  ret_units may be NULL. */
uint16_t *utf16_new(const char *text, size_t *ret_units);

/* Appends units as UTF-8; false: a surrogate is alone, and nothing else of it was appended. */
bool utf16_text(const uint16_t *units, size_t n, struct buf *out);

/* The number of units before the final NUL. */
size_t utf16_count(const uint16_t *units);

#endif
