/* SPDX-License-Identifier: Apache-2.0 */
/* Words that mean something to the product, from its own tables. */
#ifndef CORRAL_TESTS_FUZZ_WORDS_H
#define CORRAL_TESTS_FUZZ_WORDS_H

#include <stddef.h>

size_t words_count(void);
const char *word_at(size_t index);

#endif
