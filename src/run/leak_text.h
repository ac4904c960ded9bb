/* SPDX-License-Identifier: Apache-2.0 */
/* Replaces secrets in the short texts of records: host names, the command line. */
#ifndef CORRAL_RUN_LEAK_TEXT_H
#define CORRAL_RUN_LEAK_TEXT_H

#include "leak/leak.h"

/* Copies the text, with [redacted:KIND] for each secret, and cuts it at cap.  Without a scanner or
 * memory the copy is "[not scanned]".  True: it had a secret. */
bool leak_text_clean(const struct leak_scanner *scanner, const char *text, char *ret, size_t cap);

#endif
